// SPDX-License-Identifier: LGPL-2.1-or-later
// The stream of events as it comes, from when this is opened.

import { h, put } from "./dom.js";

const KEPT = 1000, DRAWN_AT_ONCE = 200;
const QUIET = new Set(["kind", "time", "cursor", "mark", "gone", "changed"]);

function words(event) {
  const told = Object.entries(event).filter(([key, value]) => !QUIET.has(key) && value !== "" && value !== false && (event.changed.length === 0 || event.changed.includes(key) || ["unit", "node", "job"].includes(key)));
  return told.map(([key, value]) => `${key}=${value}`).join(" ");
}

export const isNews = (event) => event.kind !== "stream" && event.time && event.mark === "" && event.changed;

// The newest first; no more than `kept` stay.
export function drawEvents(out, events, kept) {
  const news = events.filter(isNews);
  if (news.length === 0) return;
  out.prepend(...news.slice(-DRAWN_AT_ONCE).reverse().map((event) => h("li", {}, h("time", {}, new Date(event.time / 1000).toLocaleTimeString()), " ",
    h("b", {}, event.kind), " ", h("bdi", {}, `${event.gone ? "is gone: " : ""}${words(event)}`))));
  while (out.childElementCount > kept) out.lastElementChild.remove();
}

export function show(root) {
  const out = h("ol", { class: "events", "aria-label": "Events", tabindex: "0" }), said = h("p", { class: "said", role: "status" }, "Events appear here as they happen.");
  let paused = false, left = 0;
  const pause = h("button", { type: "button", "aria-pressed": "false", on: { click: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) left = 0;
    put(said, paused ? "Paused: what comes meanwhile is not shown." : "");
  } } }, "Pause");

  root.append(h("h1", {}, "Events"), h("p", { class: "tools" }, pause, said), out);
  return {
    events(events) {
      const news = events.filter(isNews);
      if (paused || news.length === 0) return;
      left += Math.max(0, news.length - DRAWN_AT_ONCE);
      put(said, left > 0 ? `${left} more came too fast to be read here; argosyctl watch has them.` : "");
      drawEvents(out, news, KEPT);
    },
    update() {},
  };
}
