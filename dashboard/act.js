// SPDX-License-Identifier: LGPL-2.1-or-later
// What changes something says first what it would do. Where the cluster makes plans (start, undo) it is asked for one; of the rest the
// page says what is known: what runs where, and what has to leave.

import { newKey, post } from "./ask.js";
import { h, name } from "./dom.js";
import { count } from "./words.js";

const SHOWN = 50; // units of a plan

const planned = new Set(["start", "undo"]);

function planLines({ units }) {
  if (units.length === 0) return [h("li", {}, "Nothing would change.")];
  const bad = units.filter((unit) => !unit.ok).length;
  const head = h("li", { class: "sum" }, `${count(units.length, "unit")} ${units.length === 1 ? "is" : "are"} changed${bad > 0 ? `, of which ${bad} cannot be` : ""}:`);
  const lines = [...units].sort((a, b) => a.ok - b.ok).slice(0, SHOWN).map((unit) => {
    const words = [unit.message || (unit.node ? `on ${unit.node}` : "")];
    if (unit.from && unit.from !== unit.node) words.push(`leaves ${unit.from}`);
    if (unit.because_of) words.push(`because of ${unit.because_of}`);
    for (const refusal of unit.refusals ?? []) words.push(`${refusal.node}: ${refusal.reason}`);
    return h("li", { class: unit.ok ? "" : "bad" }, name(unit.unit), ": ", words.filter(Boolean).join("; ") || "as it is");
  });
  return [head, ...lines, units.length > SHOWN ? h("li", {}, `and ${count(units.length - SHOWN, "more unit")}`) : ""];
}

// A request of containers is answered when hosts have asked registries, and have pulled what is to run.
const SLOW_MS = 1000, NO_ANSWER_YET = "No answer yet. Of containers hosts may have to ask a registry, or to pull images, first.";

// what: {title, body (of POST /v1/jobs), known: lines in words}. went(job) when it has been done.
export function act(what, went) {
  const plan = h("ul", { class: "plan", "aria-live": "polite" }, what.known.map((line) => h("li", {}, line)));
  const said = h("p", { class: "said", role: "alert" });
  const reason = h("input", { type: "text", id: "reason", maxlength: "200", autocomplete: "off", placeholder: "kept with the job" });
  const go = h("button", { type: "submit", class: what.harm ? "harm" : "go" }, what.title);
  const key = newKey();
  const close = () => {
    dialog.close();
    dialog.remove();
  };
  const send = async (event) => {
    event.preventDefault();
    go.disabled = true;
    said.textContent = "";
    const slow = setTimeout(() => { said.textContent = NO_ANSWER_YET; }, SLOW_MS);
    try {
      const body = reason.value ? { ...what.body, reason: reason.value } : what.body;
      const done = await post("/v1/jobs", body, { "Idempotency-Key": key });
      close();
      went(done);
    } catch (error) {
      said.textContent = error.message;
      go.disabled = false;
    } finally {
      clearTimeout(slow);
    }
  };
  const dialog = h("dialog", { "aria-labelledby": "act-title", on: { cancel: close } },
    h("form", { method: "dialog", on: { submit: send } },
      h("h2", { id: "act-title" }, what.title, "?"), h("p", {}, "What this does:"), plan,
      h("label", { for: "reason" }, "Reason"), reason, said,
      h("p", { class: "buttons" }, h("button", { type: "button", on: { click: close } }, "Cancel"), go)));

  document.body.append(dialog);
  dialog.showModal();
  if (planned.has(what.body.verb)) ask();
  async function ask() {
    go.disabled = true;
    plan.replaceChildren(h("li", {}, "The cluster is asked…"));
    try {
      const answer = await post("/v1/plan", what.body);
      plan.replaceChildren(...planLines(answer));
      go.disabled = false;
      if (!reason.matches(":focus")) go.focus(); // nobody is typing
    } catch (error) {
      plan.replaceChildren();
      said.textContent = error.message;
      go.disabled = error.status !== 0; // what is refused here would be refused there
    }
  }
}

// needs: the right without which there is no such button.
export const button = (label, needs, what, went) =>
  h("button", { type: "button", "data-needs": needs, class: what().harm ? "harm" : "", on: { click: () => act(what(), went) } }, label);
