// SPDX-License-Identifier: LGPL-2.1-or-later
// What has happened: of the last hour the newest of each object, and the stream of events as it comes from then on.

import { ask } from "./ask.js";
import { eventMatcher, eventText, isNews, recent } from "./derive.js";
import { h, name, nodeLink, jobLink, put, unitLink } from "./dom.js";
import { clock, count } from "./words.js";

const KEPT = 1000, DRAWN_AT_ONCE = 200;
const HOUR_US = 3600e6, JOBS = 200;
const KINDS = { "": "all kinds", state: "states of units", unit: "what is wanted of units", job: "jobs", node: "nodes", rollout: "rollouts", drain: "drains", leader: "leaders" };

const subject = (event) => event.job ? jobLink(event.job) : event.unit ? [unitLink(event.unit), event.node && event.kind === "state" ? [" on ", nodeLink(event.node)] : ""]
  : event.node ? nodeLink(event.node) : name(event.kind);

export const eventRow = (event, now) => h("li", {}, h("time", { datetime: new Date(event.time / 1000).toISOString(), title: new Date(event.time / 1000).toLocaleString() }, clock(event.time, now)),
  h("span", { class: "kind" }, event.kind), h("span", {}, subject(event), ": ", name(eventText(event))));

// The newest first; no more than `kept` stay.
export function drawEvents(out, events, kept, now) {
  if (events.length === 0) return;
  out.prepend(...events.slice(-DRAWN_AT_ONCE).reverse().map((event) => eventRow(event, now)));
  while (out.childElementCount > kept) out.lastElementChild.remove();
}

export function show(root, { copy, query }) {
  const out = h("ol", { class: "events", "aria-label": "Events", tabindex: "0" }), said = h("p", { class: "said", role: "status" });
  const filter = h("input", { type: "search", id: "filter", value: query, placeholder: "unit, node, author or any word  ( / )", "aria-label": "Filter of events", autocomplete: "off", spellcheck: "false" });
  const kind = h("select", { "aria-label": "Kind" }, Object.entries(KINDS).map(([key, word]) => h("option", { value: key }, word)));
  const shown = h("span", { class: "shown", role: "status", id: "shown" });
  const all = []; // the oldest first
  let paused = false, began = false, left = 0;
  const pause = h("button", { type: "button", "aria-pressed": "false", on: { click: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) draw();
    put(said, paused ? "Paused: what comes meanwhile is shown afterwards." : "");
  } } }, "Pause");

  root.append(h("h1", {}, "Events"), h("p", { class: "tools" }, filter, kind, pause, shown), said, out);

  const wanted = () => {
    const matches = eventMatcher(filter.value);
    return (event) => (!kind.value || event.kind === kind.value) && matches(event);
  };

  function draw() {
    const found = all.filter(wanted());
    out.replaceChildren(...found.slice(-KEPT).reverse().map((event) => eventRow(event, copy.now)));
    tell(found.length);
  }

  function tell(found = all.filter(wanted()).length) {
    put(shown, found === all.length ? count(found, "event") : `${found.toLocaleString("en")} of ${count(all.length, "event")}`);
    if (out.childElementCount === 0) out.append(h("li", { class: "none" }, all.length > 0 ? "No event is like that." : "Nothing in the last hour. Events appear here as they happen."));
  }

  async function begin() {
    began = true;
    const { jobs } = await ask(`/v1/jobs?limit=${JOBS}`).catch(() => ({ jobs: [] }));
    all.unshift(...recent(copy, copy.now - HOUR_US, jobs).slice(-KEPT));
    draw();
  }

  filter.addEventListener("input", () => {
    history.replaceState(null, "", filter.value ? `#/events?${encodeURIComponent(filter.value)}` : "#/events");
    draw();
  });
  kind.addEventListener("change", draw);
  if (copy.complete) begin();
  return {
    events(events) {
      if (!began) return;
      const news = events.filter(isNews), found = news.filter(wanted());
      if (news.length === 0) return;
      all.push(...news);
      all.splice(0, Math.max(0, all.length - 2 * KEPT));
      if (paused) return;
      left += Math.max(0, found.length - DRAWN_AT_ONCE);
      if (left > 0) put(said, `${left.toLocaleString("en")} more came too fast to be read here; argosyctl watch has them.`);
      out.querySelector(".none")?.remove();
      drawEvents(out, found, KEPT, copy.now);
      tell();
    },
    update() {
      if (!began && copy.complete) begin();
    },
  };
}
