// SPDX-License-Identifier: LGPL-2.1-or-later
// All units as a list with a filter; also those of one node.

import { LEVEL_WORDS, matcher, sortRows } from "./derive.js";
import { h, name, put } from "./dom.js";
import { List } from "./list.js";
import { count, since } from "./words.js";

const SORTS = { level: "the worst first", unit: "by name", node: "by node", since: "the newest first" };

export function unitList(context, only) {
  const { copy, rows, go } = context;
  const list = new List({
    label: "Units", columns: "units",
    open: (row) => go(`#/unit/${encodeURIComponent(row.unit)}`),
    draw: (row) => [
      h("span", { class: `dot ${row.level}`, title: LEVEL_WORDS[row.level] }), h("span", { class: "name" }, name(row.unit)),
      h("span", { class: "node" }, name(row.node || "-")), h("span", { class: `text ${row.level}` }, name(row.text)),
      h("span", { class: "since" }, since(row.since, copy.now))],
  });
  const filter = h("input", { type: "search", id: "filter", placeholder: "name, is:failed, node:n1, set:shop  ( / )", "aria-label": "Filter of units", autocomplete: "off", spellcheck: "false" });
  const sort = h("select", { "aria-label": "Order" }, Object.entries(SORTS).map(([key, word]) => h("option", { value: key }, word)));
  const shown = h("span", { class: "shown", role: "status", id: "shown" });

  function update() {
    const all = rows().filter(only), found = sortRows(filter.value.trim() ? all.filter(matcher(filter.value)) : all, sort.value);
    put(shown, found.length === all.length ? count(all.length, "unit") : `${found.length.toLocaleString("en")} of ${count(all.length, "unit")}`);
    list.set(found);
  }
  filter.addEventListener("input", update);
  sort.addEventListener("change", update);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") list.element.focus();
  });
  return { elements: [h("p", { class: "tools" }, filter, sort, shown), list.element], filter, update, done: () => list.done() };
}

export function show(root, context) {
  const list = unitList(context, () => true);
  list.filter.value = context.query;
  list.filter.addEventListener("input", () => history.replaceState(null, "", list.filter.value ? `#/units?${encodeURIComponent(list.filter.value)}` : "#/units"));
  root.append(h("h1", {}, "Units"), ...list.elements);
  list.update();
  return { update: list.update, resize: list.update, done: list.done };
}
