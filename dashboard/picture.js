// SPDX-License-Identifier: LGPL-2.1-or-later
// A node's units as squares, the worst first: large enough to be pointed at where they are few, and still a picture where they are
// thousands. Who cannot see it has the numbers beside it, and the list.

import { LEVELS } from "./derive.js";

const SIZES = [14, 10, 7, 5, 4, 3, 2];
const AREA = 240; // pixels of height that a node's units may take

export class Picture {
  constructor(open) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "picture";
    this.canvas.setAttribute("aria-hidden", "true");
    this.open = open;
    this.rows = [];
    this.canvas.addEventListener("click", (event) => this.#at(event, (row) => this.open(row)));
    this.canvas.addEventListener("mousemove", (event) => {
      this.canvas.title = "";
      this.#at(event, (row) => (this.canvas.title = `${row.unit}: ${row.text}`));
    });
  }

  // The rows are sorted by level.
  draw(rows, width, colours) {
    const said = `${width} ${colours.bad} ${rows.map((row) => row.level[0]).join("")}`;
    this.rows = rows;
    if (said === this.said || width <= 0) return;
    this.said = said;
    this.size = SIZES.find((size) => Math.ceil(rows.length / this.#columns(width, size)) * size <= AREA) ?? SIZES.at(-1);
    this.columns = this.#columns(width, this.size);
    const height = Math.max(this.size, Math.ceil(rows.length / this.columns) * this.size), dots = devicePixelRatio || 1;
    this.canvas.width = width * dots;
    this.canvas.height = height * dots;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d"), gap = this.size > 4 ? 2 : this.size > 2 ? 1 : 0;
    context.scale(dots, dots);
    rows.forEach((row, i) => {
      context.fillStyle = colours[row.level];
      context.fillRect((i % this.columns) * this.size, Math.floor(i / this.columns) * this.size, this.size - gap, this.size - gap);
    });
  }

  #columns(width, size) { return Math.max(1, Math.floor(width / size)); }

  #at(event, then) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left) / this.size), y = Math.floor((event.clientY - box.top) / this.size);
    const row = x < this.columns ? this.rows[y * this.columns + x] : undefined;
    if (row) then(row);
  }
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(LEVELS.map((level) => [level, style.getPropertyValue(`--${level}`).trim()]));
}
