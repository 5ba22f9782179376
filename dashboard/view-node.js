// SPDX-License-Identifier: LGPL-2.1-or-later
// One node: how it is, what it has and what its units use of that, its units, and what is done with it.

import { button } from "./act.js";
import { ask } from "./ask.js";
import { isNews, LEVEL_WORDS, nodeLevel, nodeText, recent, rowsOfUnit } from "./derive.js";
import { fields, fill, h, jobLink, name, nodeLink, put, table, unitLink } from "./dom.js";
import { drawEvents } from "./view-events.js";
import { jobTable, targetsOf } from "./view-jobs.js";
import { unitList } from "./view-units.js";
import { bytes, count, since } from "./words.js";

const USE_MS = 5000;
const JOBS = 10, EVENTS = 100; // of what happened
const HOUR_US = 3600e6;
const LEFT = 200; // units that are shown of those that left a lost node

function offersText(row) {
  const parts = [row["offers-cpu"] > 0 ? `${(row["offers-cpu"] / 1000).toLocaleString("en")} cores` : "",
    row["offers-memory"] > 0 ? `${bytes(row["offers-memory"] * 1024 * 1024)} of memory` : ""].filter(Boolean);
  return parts.length > 0 ? ` To units that reserve some it offers ${parts.join(" and ")}.` : "";
}

export function show(root, context) {
  const { copy, name: node, go, rows } = context;
  const stop = new AbortController();
  const head = h("div", {}), use = h("p", { class: "use" }), gone = h("p", { class: "said", role: "status" });
  const list = unitList(context, (row) => row.node === node);
  const isLost = () => ["bad", "unsure"].includes(nodeLevel(copy.rows.node.get(node) ?? {}, copy));
  const went = (done) => done.job && go(`#/job/${done.job}`);
  const here = () => rows().filter((row) => row.node === node && row.level !== "idle");
  const leaves = () => {
    const units = here(), others = [...copy.rows.node.values()].filter((n) => n.node !== node && nodeLevel(n, copy) === "good").length;
    return [`${count(units.length, "unit")} here: ${units.slice(0, 8).map((row) => row.unit).join(", ")}${units.length > 8 ? ", …" : ""}.`,
      `They are moved to ${count(others, "other node")}, a few at a time; what no other node takes stays here, and says so. The node is closed for new ones.`];
  };
  const jobs = h("div", {}), events = h("ol", { class: "events", "aria-label": `Events of ${node}` });
  const empty = h("p", { class: "none", role: "status" }), left = h("div", {});
  let timer, before = null, offers = null, told = "", began = false, listed = [];

  const box = h("div", {}, list.elements);
  const rest = h("div", {}, use, h("p", { class: "buttons" },
    button("Cordon", "admin", () => ({ title: `Cordon ${node}`, body: { verb: "cordon", nodes: [node] }, known: ["No unit is placed here from now on; those that are here stay."] }), went),
    button("Drain", "admin", () => ({ title: `Drain ${node}`, harm: true, body: { verb: "drain", nodes: [node] }, known: leaves() }), went),
    button("Uncordon", "admin", () => ({ title: `Uncordon ${node}`, body: { verb: "uncordon", nodes: [node] }, known: ["Units may be placed here again. None comes back by that alone."] }), went)),
    h("h2", {}, "Units"), empty, box, left);
  root.append(h("h1", {}, name(node)), head, gone, rest,
    h("section", { "aria-labelledby": "h-past" }, h("h2", { id: "h-past" }, "Jobs and events"), jobs, events));

  async function readUse() {
    try {
      offers ??= (await ask("/v1/nodes", { signal: stop.signal })).nodes.find((row) => row.node === node) ?? {};
      const { usage } = await ask(`/v1/usage?node=${encodeURIComponent(node)}`, { signal: stop.signal });
      const sum = (key) => usage.reduce((all, row) => all + (row[key] ?? 0), 0), now = { cpu: sum("cpu-time"), time: Math.max(0, ...usage.map((row) => row.time)) };
      const cpu = before && now.time > before.time && now.cpu >= before.cpu ? `${(((now.cpu - before.cpu) / (now.time - before.time)) * 100).toFixed(1)} % of a core, ` : "";
      before = now;
      if (isLost()) put(use, "It cannot be asked what its units use.");
      else put(use, (usage.length > 0 ? `Its units use ${cpu}${bytes(sum("memory"))} of memory and have ${count(sum("tasks"), "task")}.` : "No unit runs here.") +
        offersText(offers));
    } catch (error) {
      if (!stop.signal.aborted) put(use, error.message);
    }
    await readLeft();
    if (!stop.signal.aborted) timer = setTimeout(readUse, USE_MS);
  }

  async function readJobs() {
    try {
      listed = (await ask(`/v1/jobs?limit=${JOBS}&node=${encodeURIComponent(node)}`, { signal: stop.signal })).jobs;
      drawJobs();
    } catch {} // the banner says what is wrong; what the events have told stands here
  }

  // Where the units of a lost node went, by the record that the cluster keeps of the loss.
  async function readLeft() {
    if (nodeLevel(copy.rows.node.get(node) ?? {}, copy) !== "bad") return left.replaceChildren();
    try {
      const { jobs: own } = await ask(`/v1/jobs?limit=${JOBS}&author=cluster&node=${encodeURIComponent(node)}`, { signal: stop.signal });
      const loss = own.find((job) => job.verb === "host lost");
      if (!loss) return;
      const [{ units, more_units: others = 0 }] = (await ask(`/v1/jobs/${loss.job}`, { signal: stop.signal })).jobs;
      drawLeft(loss, units.filter((unit) => unit.from === node), others);
    } catch {} // the banner says what is wrong
  }

  function drawLeft(loss, units, others) {
    if (units.length === 0) return fill(left, [h("p", { class: "none" }, "Nothing has left it so far, see ", jobLink(loss.job), ".")]);
    const now = (unit) => rowsOfUnit(copy, unit.unit).map((row) => h("span", {}, h("span", { class: `dot ${row.level}` }), ` ${row.text.startsWith(LEVEL_WORDS[row.level]) ? "" : `${LEVEL_WORDS[row.level]}: `}${row.text} `));
    const more = units.length - LEFT + others;
    fill(left, [h("h3", {}, `${count(units.length + others, "unit")} left it when it was lost `, jobLink(loss.job)),
      table(["Unit", "To", "State now", "=Age"], units.slice(0, LEFT).map((unit) => [unitLink(unit.unit), unit.node ? nodeLink(unit.node) : "no node yet", now(unit), h("span", { class: "since" }, since(unit.time, copy.now))])),
      more > 0 ? h("p", { class: "none" }, `And ${count(more, "more unit")}.`) : ""]);
  }

  // What somebody did with it; and what it was told of since this was opened.
  function drawJobs() {
    const known = new Map(listed.map((job) => [job.job, job]));
    for (const job of copy.rows.job.values()) if (targetsOf(job).includes(node)) known.set(job.job, { ...known.get(job.job), ...job, time: known.get(job.job)?.time ?? job.time });
    const own = [...known.values()].sort((a, b) => b.job - a.job).slice(0, JOBS);
    const next = JSON.stringify(own.map((job) => [job.job, job.state]));
    if (next === told) return;
    told = next;
    jobs.replaceChildren(own.length > 0 ? jobTable(own, copy.now) : h("p", { class: "none" }, "No job that is kept is about this node."));
  }

  // Of a node that is lost its units are elsewhere or wait for it: an empty list says neither.
  function drawUnits(row) {
    const mine = rows().filter((r) => r.node === node);
    box.hidden = mine.length === 0;
    empty.hidden = mine.length > 0;
    const lost = row && nodeLevel(row, copy) === "bad";
    put(empty, lost ? "No unit is placed on this node any more: those that were here when it was lost are on other nodes, or wait for one." : "No unit is on this node.");
    list.update();
  }

  function update() {
    const row = copy.rows.node.get(node), known = row || !copy.complete;
    put(gone, known ? "" : `There is no node ${node} in this cluster.`);
    rest.hidden = !known;
    if (row)
      fill(head, fields(["State", h("p", { class: nodeLevel(row, copy) }, h("span", { class: `dot ${nodeLevel(row, copy)}` }), " ", nodeText(row, copy), row.since > 0 ? [" for ", h("span", { class: "since" }, since(row.since, copy.now))] : null)],
        ["Role", copy.leader === node ? `${row.role === "leader" ? "voter" : row.role}, leads` : row.role], ["Address", row.address], row.labels ? ["Labels", name(row.labels)] : null));
    drawUnits(row);
    drawJobs();
    if (!began && copy.complete) {
      began = true;
      drawEvents(events, recent(copy, copy.now - HOUR_US, []).filter((event) => event.node === node), EVENTS, copy.now);
    }
    events.hidden = events.childElementCount === 0;
  }
  readUse();
  readJobs();
  update();
  return { update, resize: list.update, events: (news) => drawEvents(events, news.filter((event) => isNews(event) && event.node === node), EVENTS, copy.now), done: () => { stop.abort(); clearTimeout(timer); list.done(); } };
}
