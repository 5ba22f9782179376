// SPDX-License-Identifier: LGPL-2.1-or-later
// The cluster at a glance: what is wrong and since when, what is moving, and all units on their nodes as one picture.

import { countLevels, LEVELS, LEVEL_WORDS, moving, nodeLevel, nodeText, problems, sortRows } from "./derive.js";
import { fill, h, name, nodeLink, put } from "./dom.js";
import { colours, Picture } from "./picture.js";
import { count, since } from "./words.js";

const SHOWN = 12; // of what is wrong, and of what moves; the lists have all

function lines(found, now, more, empty) {
  if (found.length === 0) return [h("li", { class: "none" }, empty)];
  const items = found.slice(0, SHOWN).map((p) => h("li", { class: p.level ?? "moves" },
    h("span", {}, h("a", { href: p.link }, name(p.about)), " ", name(p.text)), p.since > 0 ? h("span", { class: "since" }, since(p.since, now)) : null));
  if (found.length > SHOWN) items.push(h("li", { class: "none" }, h("a", { href: more }, `and ${found.length - SHOWN} more`)));
  return items;
}

export function show(root, { copy, rows, go }) {
  const wrong = h("ul", { class: "found", id: "wrong" }), moves = h("ul", { class: "found", id: "moving" });
  const legend = h("ul", { class: "legend", id: "counts", "aria-label": "Units by state" });
  const nodes = h("div", { class: "nodes" });
  const cards = new Map();

  root.append(h("h1", {}, "Overview"), legend,
    h("div", { class: "two" },
      h("section", { "aria-labelledby": "h-wrong" }, h("h2", { id: "h-wrong" }, "Problems"), wrong),
      h("section", { "aria-labelledby": "h-moving" }, h("h2", { id: "h-moving" }, "In progress"), moves)),
    h("section", { "aria-labelledby": "h-nodes" }, h("h2", { id: "h-nodes" }, "Nodes"), nodes));

  function card(key) {
    if (cards.has(key)) return cards.get(key);
    const picture = new Picture((row) => go(`#/unit/${encodeURIComponent(row.unit)}`));
    const state = h("span", { class: "state" }), counts = h("p", { class: "counts" });
    const element = h("article", { class: "card" }, h("h3", {}, key ? nodeLink(key) : "On no node", " ", state), picture.canvas, counts);
    const made = { element, picture, state, counts };
    cards.set(key, made);
    return made;
  }

  function drawNodes(all) {
    const byNode = new Map([...copy.rows.node.keys()].sort().map((node) => [node, []]));
    for (const row of all) {
      const key = row.level === "idle" && !row.since ? null : row.node && byNode.has(row.node) ? row.node : "";
      if (key === null) continue;
      if (!byNode.has(key)) byNode.set(key, []);
      byNode.get(key).push(row);
    }
    const paint = colours(), elements = [];
    for (const [key, own] of byNode) {
      const { element, picture, state, counts } = card(key), node = copy.rows.node.get(key);
      const numbers = countLevels(own);
      elements.push(element);
      element.className = `card ${node ? nodeLevel(node, copy) : "waits"}`;
      put(state, node ? `${nodeText(node, copy)}${copy.leader === key ? ", leads" : ""}` : "");
      put(counts, LEVELS.filter((level) => numbers[level] > 0).map((level) => `${numbers[level].toLocaleString("en")} ${LEVEL_WORDS[level]}`).join(", ") || "no units");
      if (element.isConnected) picture.draw(sortRows(own), Math.floor(element.clientWidth - 24), paint);
    }
    if (elements.length !== nodes.children.length || elements.some((element, i) => nodes.children[i] !== element)) {
      nodes.replaceChildren(...elements);
      requestAnimationFrame(() => drawNodes(all)); // now they have a width
    }
  }

  function update() {
    const all = rows(), counts = countLevels(all);
    fill(wrong, lines(problems(copy, all), copy.now, "#/units?is:failed", copy.complete ? "None." : "Not known yet."));
    fill(moves, lines(moving(copy, all), copy.now, "#/units?is:changing", "Nothing."));
    fill(legend, [h("li", {}, h("b", {}, count(copy.rows.node.size, "node"))), h("li", {}, h("b", {}, count(all.length, "unit"))),
      ...LEVELS.filter((level) => counts[level] > 0).map((level) =>
        h("li", { class: level }, h("a", { href: `#/units?is:${LEVEL_WORDS[level]}` }, `${counts[level].toLocaleString("en")} ${LEVEL_WORDS[level]}`)))]);
    drawNodes(all);
  }
  update();
  return { update, resize: update };
}
