// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements. What others have named (units, reasons, lines of a journal) goes into the page as text and as nothing else: nothing here
// or elsewhere takes markup, and links are ours.

// h("a", {href: "#/units", on: {click: f}, class: "x"}, "text", element, [more], null)
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, f] of Object.entries(value)) element.addEventListener(event, f);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A name that somebody else gave: kept apart from the text around it, whatever its letters do to directions.
export const name = (text) => h("bdi", {}, String(text));

// Writes only what differs, so that who has selected text or reads aloud is not disturbed.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The children anew, but only if they say something else: what grows older by itself (class "since") is written in place, so that who
// stands on a link with the tab key stays there.
export function fill(element, children) {
  const ages = (from) => [...from.querySelectorAll(".since")];
  const made = h("div", {}, children), now = ages(made), texts = now.map((age) => age.textContent);

  for (const age of now) age.textContent = "";
  const said = made.innerHTML;
  now.forEach((age, i) => (age.textContent = texts[i]));
  if (element.said === said) return ages(element).forEach((age, i) => put(age, texts[i]));
  element.said = said;
  element.replaceChildren(...made.childNodes);
}

export const unitLink = (unit) => h("a", { href: `#/unit/${encodeURIComponent(unit)}` }, name(unit));
export const nodeLink = (node) => h("a", { href: `#/node/${encodeURIComponent(node)}` }, name(node));
export const jobLink = (job) => h("a", { href: `#/job/${job}` }, `job ${job}`);

export function fields(...pairs) {
  return h("dl", { class: "fields" }, pairs.filter(Boolean).map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
}

// A head that begins with "=" is of a column whose words are never broken: numbers, states, ages.
export function table(heads, rows) {
  const columns = heads.map((head) => ({ label: head.replace(/^=/, ""), whole: head.startsWith("=") }));
  return h("table", {}, h("thead", {}, h("tr", {}, columns.map(({ label, whole }) => h("th", { scope: "col", class: whole ? "whole" : "" }, label)))),
    h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, i) => h("td", { "data-head": columns[i].label, class: columns[i].whole ? "whole" : "" }, h("div", {}, cell)))))));
}
