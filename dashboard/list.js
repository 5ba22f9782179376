// SPDX-License-Identifier: LGPL-2.1-or-later
// A list of any length of which only what can be seen is in the page. One stop for the tab key; arrows, Page and Home and End go through
// it, Enter opens, Space selects.

import { h } from "./dom.js";

const SPARE = 8; // rows above and below

// draw(row) gives the cells; open(row); toggle(row): it is selected, or no more; undefined: nothing can be.
export class List {
  constructor({ label, draw, open, toggle, columns }) {
    Object.assign(this, { draw, open, toggle, rows: [], chosen: 0, drawn: new Map() });
    this.body = h("div", { class: "list-body", role: "presentation" });
    this.scroller = h("div", {
      class: `list ${columns}`, role: "listbox", tabindex: "0", "aria-label": label,
      on: {
        scroll: () => this.#later(),
        keydown: (event) => this.#key(event),
        click: (event) => this.#click(event),
        focus: () => this.#later(),
      },
    }, this.body);
    this.watcher = new ResizeObserver(() => this.#later());
    this.watcher.observe(this.scroller);
  }

  get element() { return this.scroller; }

  set(rows) {
    const was = this.rows[this.chosen];
    this.rows = rows;
    const still = was ? rows.findIndex((row) => row.unit === was.unit && row.node === was.node) : -1;
    this.chosen = still >= 0 ? still : Math.min(this.chosen, Math.max(0, rows.length - 1));
    this.#paint();
  }

  done() { this.watcher.disconnect(); }

  get #height() { // one line, or two where it is narrow
    return parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 32;
  }

  #later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.#paint();
    });
  }

  #paint() {
    const height = this.#height;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / height) - SPARE);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / height) + SPARE);

    this.body.style.height = `${this.rows.length * height}px`;
    this.scroller.style.setProperty("--all", `${Math.max(1, this.rows.length) * height + 2}px`);
    for (const [i, element] of this.drawn) if (i < first || i >= last) {
      element.remove();
      this.drawn.delete(i);
    }
    for (let i = first; i < last; i++) this.#row(i, height);
    this.scroller.setAttribute("aria-activedescendant", this.drawn.get(this.chosen)?.id ?? "");
  }

  #row(i, height) {
    const cells = this.draw(this.rows[i]);
    const said = cells.map((cell) => cell.textContent).join("\u0000") + cells.map((cell) => `${cell.className}${cell.querySelector(":checked") ? "+" : ""}`).join(" ");
    let element = this.drawn.get(i);

    if (!element) {
      element = h("div", { role: "option", id: `row-${i}`, class: "list-row", "aria-posinset": i + 1 });
      element.style.top = `${i * height}px`;
      this.drawn.set(i, element);
      this.body.append(element);
    }
    element.style.top = `${i * height}px`;
    element.setAttribute("aria-selected", String(i === this.chosen));
    element.setAttribute("aria-setsize", this.rows.length);
    if (element.said !== said) {
      element.replaceChildren(...cells);
      element.said = said;
    }
  }

  #choose(i) {
    const height = this.#height, view = this.scroller;
    this.chosen = Math.max(0, Math.min(this.rows.length - 1, i));
    if (this.chosen * height < view.scrollTop) view.scrollTop = this.chosen * height;
    if ((this.chosen + 1) * height > view.scrollTop + view.clientHeight) view.scrollTop = (this.chosen + 1) * height - view.clientHeight;
    this.#paint();
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.#height) - 1);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };

    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) this.#choose(this.chosen + moves[event.key]);
    else if (event.key === "Enter" && this.rows[this.chosen]) this.open(this.rows[this.chosen]);
    else if (event.key === " " && this.toggle && this.rows[this.chosen]) this.toggle(this.rows[this.chosen]);
    else return;
    event.preventDefault();
  }

  #click(event) {
    const element = event.target.closest(".list-row");
    if (!element || getSelection().toString()) return;
    this.chosen = Number(element.id.slice("row-".length));
    if (this.toggle && event.target.closest("input")) return this.toggle(this.rows[this.chosen]);
    this.open(this.rows[this.chosen]);
  }
}
