// SPDX-License-Identifier: LGPL-2.1-or-later
// One job and its story, and what can be done with it.

import { button } from "./act.js";
import { ask } from "./ask.js";
import { jobHasEnded } from "./copy.js";
import { rowsOfUnit, targetsText } from "./derive.js";
import { fields, h, jobLink, name, put, table, unitLink } from "./dom.js";
import { at, count, span } from "./words.js";

const NUMBERS = [["changed", "changed"], ["failed", "failed"], ["unplaced", "found no node"], ["overtaken", "overtaken by others"], ["cancelled", "cancelled"]];

const SHOWN = 200; // units
const OWN = "cluster"; // who did what nobody asked for; of a person the author has a host, too
const ROWS = 3; // of one unit, on as many nodes
// How a unit ended, what needs somebody first; "": it has not, or nobody can tell.
const ENDS = { failed: "bad", unplaced: "bad", cancelled: "waits", overtaken: "waits", "": "unsure", ok: "good" };

function worstFirst(units) {
  const piles = Object.fromEntries(Object.keys(ENDS).map((end) => [end, []]));
  for (const unit of units) (piles[unit.end] ?? piles[""]).push(unit);
  return Object.values(piles).flat();
}

// Of what the cluster did by itself: from where to where.
const movedOf = (unit) => h("span", {}, unit.from ? name(unit.from) : "no node", " to ", unit.node ? name(unit.node) : "no node", ` at ${at(unit.time)}: `, name(unit.message));

function endOf(unit, ended) {
  if (unit.time > 0) return movedOf(unit);
  const by = unit.end === "overtaken" && unit.by > 0, why = by && unit.end_message === `by job ${unit.by}` ? "" : unit.end_message;
  return h("span", {}, h("span", { class: `dot ${ENDS[unit.end] ?? "unsure"}` }), " ", unit.end || (ended ? "not known" : "not yet"), by ? [" by ", jobLink(unit.by)] : "",
    unit.node ? [" on ", name(unit.node)] : "", why ? [": ", name(why)] : "");
}

const nowOf = (rows) => h("span", {}, rows.length === 0 ? "not there" : rows.slice(0, ROWS).map((row, i) => [i > 0 ? ", " : "", h("span", { class: `dot ${row.level}` }), " ", name(row.text), row.node ? [" on ", name(row.node)] : ""]),
  rows.length > ROWS ? `, and ${rows.length - ROWS} more` : "");

// Its record has the first of them only: all are read when somebody wants to see them.
function targetsOf(job, all) {
  const more = job["more-targets"] ?? 0;
  if (all) return name(all.join(" "));
  return [name(targetsText(job, 2000) || "none"), more > 0 ? [" ", h("button", { type: "button", class: "small", on: { click: () => job.readAll() } }, `Show all ${count(job.targets.length + more, "target")}`)] : ""];
}

export function show(root, { copy, name: number, go }) {
  const head = h("div", {}), units = h("div", {}), said = h("p", { class: "said", role: "status" }), buttons = h("p", { class: "buttons" });
  const stop = new AbortController();
  const went = (done) => (done.job ? go(`#/job/${done.job}`) : read());
  let job = null, told = "", allTargets = null;

  root.append(h("h1", {}, `Job ${number}`), head, said, buttons, h("section", { "aria-labelledby": "h-units" }, h("h2", { id: "h-units" }, "Units"), units));

  async function read() {
    try {
      [job] = (await ask(`/v1/jobs/${encodeURIComponent(number)}`, { signal: stop.signal })).jobs;
      job.readAll = readTargets;
      put(said, "");
      draw();
    } catch (error) {
      if (!stop.signal.aborted) put(said, error.message);
    }
  }

  async function readTargets() {
    try {
      allTargets = (await ask(`/v1/jobs/${encodeURIComponent(number)}/targets`, { signal: stop.signal })).targets;
      draw();
    } catch (error) {
      if (!stop.signal.aborted) put(said, error.message);
    }
  }

  function draw() {
    const ended = jobHasEnded(job), numbers = NUMBERS.filter(([key]) => job[key] > 0).map(([key, word]) => `${count(job[key], "unit")} ${word}`).join(", ");
    head.replaceChildren(fields(["State", `${job.state}${job.message ? `: ${job.message}` : ""}${job.waits ? `, waits for ${job.waits}` : ""}`],
      ["Verb", job.verb], ["Targets", targetsOf(job, allTargets)], ["Author", name(job.author)], job.reason ? ["Reason", name(job.reason)] : null,
      ["Age", `${span((copy.now - job.time) / 1e6)}, since ${at(job.time)}${job.ended ? `; it took ${span((job.ended - job.time) / 1e6)}` : ""}`], numbers ? ["Result", numbers] : null));
    buttons.replaceChildren(
      job.author === OWN ? "" : ended ? button("Undo", "deploy", () => ({ title: `Undo job ${number}`, harm: true, body: { verb: "undo", job: Number(number) }, known: [] }), went)
        : button("Cancel", "operate", () => ({ title: `Cancel job ${number}`, harm: true, body: { verb: "job cancel", jobs: [Number(number)] }, known: ["What it has not done yet is not done; what it has done stays."] }), went),
      ended && job.failed + job.unplaced > 0 ? button("Retry", "operate", () => ({ title: `Retry job ${number}`, body: { verb: "job retry", job: Number(number) }, known: ["What did not end well is asked for again."] }), went) : "",
      job.state === "held" ? button("Release", "operate", () => ({ title: `Release job ${number}`, body: { verb: "job release", jobs: [Number(number)] }, known: ["It begins as soon as its turn comes."] }), went) : "");
    drawUnits();
  }

  // What became of each, and how it is now.
  function drawUnits() {
    const shown = worstFirst(job.units).slice(0, SHOWN).map((unit) => ({ unit, rows: rowsOfUnit(copy, unit.unit) }));
    if (shown.length === 0) return drawNamed();
    const more = job.units.length - shown.length + (job.more_units ?? 0), ended = jobHasEnded(job), next = JSON.stringify([shown, more, ended]);
    if (next === told) return;
    told = next;
    units.replaceChildren(table(["Unit", "Result", "State now"], shown.map(({ unit, rows }) => [unitLink(unit.unit), endOf(unit, ended), nowOf(rows)])),
      more > 0 ? h("p", { class: "none" }, `And ${count(more, "more unit")}.`) : "");
  }

  // Of one that has changed no unit: the names that it was given that are units now.
  function drawNamed() {
    const names = job.targets.flatMap((target) => {
      const [, head, low, high, tail] = /^(.*)\{(\d+)\.\.(\d+)\}(.*)$/.exec(target) ?? [];
      return low === undefined ? [target] : Array.from({ length: Math.min(200, high - low + 1) }, (_, i) => `${head}${Number(low) + i}${tail}`);
    }).map((target) => (/\.[a-z]+$/.test(target) ? target : `${target}.service`));
    const rows = names.flatMap((unit) => rowsOfUnit(copy, unit));
    const next = JSON.stringify(rows);
    if (next === told) return;
    told = next;
    units.replaceChildren(h("ul", { class: "found" }, rows.length > 0 ? rows.map((row) => h("li", { class: row.level }, unitLink(row.unit), " ", name(row.text), row.node ? ` on ${row.node}` : "")) : h("li", { class: "none" }, "None of its targets is a unit now.")));
  }

  let state = null;
  function update() {
    const row = copy.rows.job.get(Number(number));
    if (row && row.state !== state) {
      state = row.state;
      read();
    } else if (job) drawUnits();
  }
  read();
  return { update, done: () => stop.abort() };
}

