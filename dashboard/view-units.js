// SPDX-License-Identifier: LGPL-2.1-or-later
// All units as a list with a filter; also those of one node. Several can be selected, and started, restarted or stopped together.

import { button } from "./act.js";
import { LEVEL_WORDS, matcher, sortRows } from "./derive.js";
import { h, name, put } from "./dom.js";
import { List } from "./list.js";
import { count, since } from "./words.js";

const SORTS = { level: "worst first", unit: "by name", node: "by node", since: "newest first" };
const NAMED = 12; // units in a dialogue, the others are counted

// Of thousands of instances the end tells one from the other: where there is no room the beginning gives way.
const parts = (unit) => (unit.includes("@") ? [unit.slice(0, unit.indexOf("@")), unit.slice(unit.indexOf("@"))] : [unit]);

export function unitList(context, only) {
  const { copy, rows, go } = context;
  const selected = new Set(); // names
  let found = [];
  const list = new List({
    label: "Units", columns: "units",
    open: (row) => go(`#/unit/${encodeURIComponent(row.unit)}`),
    toggle: (row) => {
      if (!selected.delete(row.unit)) selected.add(row.unit);
      update();
    },
    draw: (row) => [
      h("span", { class: "mark" }, h("input", { type: "checkbox", tabindex: "-1", "data-needs": "operate", checked: selected.has(row.unit), "aria-label": `Select ${row.unit}` }),
        h("span", { class: `dot ${row.level}`, title: LEVEL_WORDS[row.level] })),
      h("span", { class: "name", title: row.unit }, parts(row.unit).map(name)),
      h("span", { class: "node" }, name(row.node || "-")), h("span", { class: `text ${row.level}`, title: row.text }, name(row.text)),
      h("span", { class: "since" }, since(row.since, copy.now))],
  });
  const filter = h("input", { type: "search", id: "filter", placeholder: "name, is:failed, node:n1, set:shop  ( / )", "aria-label": "Filter of units", autocomplete: "off", spellcheck: "false" });
  const sort = h("select", { "aria-label": "Order" }, Object.entries(SORTS).map(([key, word]) => h("option", { value: key }, word)));
  const shown = h("span", { class: "shown", role: "status", id: "shown" });
  const number = h("span", { id: "selected" }), bar = h("p", { class: "tools selection", hidden: true });

  function clear() {
    selected.clear();
    update();
  }

  // Those that are gone meanwhile would refuse the whole.
  const names = () => [...selected].filter((unit) => copy.rows.unit.has(unit));
  const whom = () => {
    const units = names();
    return `${units.slice(0, NAMED).join(", ")}${units.length > NAMED ? ` and ${units.length - NAMED} more` : ""}`;
  };
  const together = (verb, title, needs, text) => button(title, needs, () => ({
    title: `${title} ${count(names().length, "unit")}`, harm: verb === "stop", body: { verb, units: names() }, known: [`${whom()}.`, text],
  }), (done) => {
    clear();
    if (done.job) go(`#/job/${done.job}`);
  });
  bar.append(number, together("start", "Start", "operate", "Those that do not run are started."),
    together("restart", "Restart", "operate", "They are stopped and started again where they run."),
    together("stop", "Stop", "operate", "They are stopped on every node where they run, and are not started again until somebody asks for it."),
    h("button", { type: "button", on: { click: () => { for (const row of found) selected.add(row.unit); update(); } } }, "Select all shown"),
    h("button", { type: "button", on: { click: clear } }, "Clear"));

  function update() {
    const all = rows().filter(only);
    found = sortRows(filter.value.trim() ? all.filter(matcher(filter.value)) : all, sort.value);
    put(shown, found.length === all.length ? count(all.length, "unit") : `${found.length.toLocaleString("en")} of ${count(all.length, "unit")}`);
    bar.hidden = selected.size === 0;
    put(number, `${selected.size.toLocaleString("en")} selected`);
    list.set(found);
  }
  filter.addEventListener("input", update);
  sort.addEventListener("change", update);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") list.element.focus();
  });
  return { elements: [h("p", { class: "tools" }, filter, sort, shown), bar, list.element], filter, update, done: () => list.done() };
}

export function show(root, context) {
  const list = unitList(context, () => true);
  list.filter.value = context.query;
  list.filter.addEventListener("input", () => history.replaceState(null, "", list.filter.value ? `#/units?${encodeURIComponent(list.filter.value)}` : "#/units"));
  root.append(h("h1", {}, "Units"), ...list.elements);
  list.update();
  return { update: list.update, resize: list.update, done: list.done };
}
