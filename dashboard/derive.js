// SPDX-License-Identifier: LGPL-2.1-or-later
// What a copy of the cluster means: how each unit is, what is wrong, what is moving. Nothing here knows of a page.

import { jobHasEnded } from "./copy.js";
import { count } from "./words.js";

// The worse the smaller; in this order they are shown.
export const LEVELS = ["bad", "waits", "moves", "unsure", "good", "idle"];
export const LEVEL_WORDS = {
  bad: "failed", waits: "waiting", moves: "changing", unsure: "unknown", good: "running", idle: "stopped",
};

const MOVING = new Set(["activating", "deactivating", "reloading", "refreshing", "maintenance"]);
const isTemplate = (name) => /@\.[^@]+$/.test(name);

// Of a node that cannot be asked. A unit that is placed there is to run there or nowhere; any other may still be there, and that is all.
function ofUnheard(copy, unit, state) {
  const node = copy.rows.node.get(state.node)?.state ?? "";
  if (node !== "lost" && node !== "down") return ["unsure", "unknown: its node is not heard"];
  return unit.node === state.node ? ["waits", `its node ${state.node} is ${node}, and it runs nowhere else`] : ["unsure", `unknown: the node is ${node}, it may still run there`];
}

const hasNote = (state, word) => (state.note ?? "").split(",").includes(word);

function ofState(copy, unit, state) {
  if (state.looping) return ["bad", `looping: restarted ${count(state.restarts, "time")}${state.result && state.result !== "success" ? ` (${state.result})` : ""}`];
  if (state.active === "failed") return ["bad", `failed${state.result && state.result !== "success" ? ` (${state.result})` : ""}`];
  if (state.error) return ["bad", state.error];
  if (state.active === "unknown") return ofUnheard(copy, unit, state);
  if (MOVING.has(state.active)) return ["moves", `${state.active} (${state.sub})`];
  if (state.active === "active") {
    const odd = [hasNote(state, "mismatch") && "its node does not match its file any more", state.stale && "its file is newer than what runs", hasNote(state, "older-secret") && "it has an older version of a secret", hasNote(state, "pulling") && "its new image is being pulled"];
    return ["good", [state.sub, ...odd].filter(Boolean).join("; ")];
  }
  if (hasNote(state, "pulling")) return ["moves", "its image is being pulled"];
  if (state.drift) return ["waits", "somebody stopped it there without argosy"];
  if (unit.desired === "launched" && unit.node === state.node && unit.state !== "launched") return ["moves", "is to be started"];
  return ["idle", `${state.active} (${state.sub})`];
}

// Of a unit of which no node says anything.
function ofNone(unit) {
  if (unit.state === "failed") return ["bad", "failed"];
  if (unit.desired === "launched" || unit.desired === "loaded")
    return unit.node && unit.node !== "-" ? ["moves", `goes to ${unit.node}`] : ["waits", "no node takes it yet"];
  return ["idle", unit.desired === "destroyed" ? "is being destroyed" : "is not wanted anywhere"];
}

function row(copy, unit, state) {
  const [level, text] = state ? ofState(copy, unit, state) : ofNone(unit);
  const placed = unit.node && unit.node !== "-" ? unit.node : "";
  const since = state?.active === "unknown" ? copy.rows.node.get(state.node)?.since : state ? state.since : unit.since;
  return {
    unit: unit.unit, node: state ? state.node : placed, level, text, desired: unit.desired, since: since ?? 0,
    description: unit.description ?? "", set: unit.set ?? "",
  };
}

export function rowsOfUnit(copy, name) {
  const states = [...copy.states(name)];
  const unit = copy.rows.unit.get(name) ?? { unit: name, desired: "", node: "-", state: "" };
  if (states.length === 0) return copy.rows.unit.has(name) ? [row(copy, unit, null)] : [];
  return states.map((state) => row(copy, unit, state));
}

// A row for each unit, or for each node of one that is on several, in the order of their names. Templates have none: they are files.
// What it costs follows what has changed: thousands of units stand there while a few of them move.
export class Rows {
  #of = new Map(); // unit -> its rows
  #order = null; // names; null: some came or went
  #keys = new Map(); // name -> what it is ordered by: web@9 comes before web@10
  #list = null;

  constructor(copy) {
    this.copy = copy;
    this.forget();
  }

  forget() {
    this.changed = null; // all of them
    this.#list = null;
  }

  // These have come; the copy has them.
  take(events) {
    for (const event of events) {
      if (event.kind === "unit" || event.kind === "state") this.changed?.add(event.unit);
      else if (event.kind === "node" || event.kind === "stream") this.forget();
      else continue;
      this.#list = null;
    }
  }

  #read(name) {
    const rows = isTemplate(name) ? [] : rowsOfUnit(this.copy, name);
    if (rows.length > 0 !== this.#of.has(name)) this.#order = null;
    if (rows.length > 0) this.#of.set(name, rows);
    else this.#of.delete(name);
  }

  #key(name) {
    if (!this.#keys.has(name)) this.#keys.set(name, name.replace(/[0-9]+/g, (digits) => digits.padStart(12, "0")));
    return this.#keys.get(name);
  }

  // Nobody changes the array.
  all() {
    if (this.#list) return this.#list;
    if (this.changed === null) {
      this.#of.clear();
      this.#order = null;
      for (const name of this.copy.rows.unit.keys()) this.#read(name);
      for (const name of this.copy.statesOf.keys()) if (!this.copy.rows.unit.has(name)) this.#read(name); // destroyed, and still there
    } else for (const name of this.changed) this.#read(name);
    this.changed = new Set();
    if (!this.#order) {
      if (this.#keys.size > 2 * this.#of.size + 1000) this.#keys.clear();
      this.#order = [...this.#of.keys()].map((name) => [this.#key(name), name]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, name]) => name);
    }
    return (this.#list = this.#order.flatMap((name) => this.#of.get(name)));
  }
}

export const unitRows = (copy) => new Rows(copy).all();

export function countLevels(rows) {
  const counts = Object.fromEntries(LEVELS.map((level) => [level, 0]));
  for (const { level } of rows) counts[level]++;
  return counts;
}

// Another array; rows that are alike stay in their order.
export function sortRows(rows, by = "level") {
  if (by === "level") {
    const piles = Object.fromEntries(LEVELS.map((level) => [level, []]));
    for (const row of rows) piles[row.level].push(row);
    return LEVELS.flatMap((level) => piles[level]);
  }
  if (by === "node") return [...rows].sort((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0));
  return by === "since" ? [...rows].sort((a, b) => b.since - a.since) : rows;
}

// Words that all have to be there: is:failed, is:looping, node:n1, set:shop, or a part of the name, the node or the description.
export function matcher(text) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, key, value] = /^(is|node|set):(.*)$/.exec(word) ?? [];
    if (key === "is") return (r) => LEVEL_WORDS[r.level].startsWith(value) || r.text.startsWith(value);
    if (key) return (r) => r[key].toLowerCase() === value;
    return (r) => `${r.unit} ${r.node} ${r.text} ${r.description}`.toLowerCase().includes(word);
  });
  return (r) => tests.every((test) => test(r));
}

export const targetsOf = (job) => (Array.isArray(job.targets) ? job.targets : job.targets.split(" ").filter(Boolean));

// As a job was asked for, in so many letters as fit, but one target at least; of more than its record has it says how many.
export function targetsText(job, most = 120) {
  if (!Array.isArray(job.targets)) return job.targets.length <= most + 40 ? job.targets : shorter(job.targets.split(" "), most, 0);
  return shorter(job.targets, most, job["more-targets"] ?? 0);
}

function shorter(targets, most, others) {
  let shown = targets.length > 0 ? 1 : 0, letters = targets[0]?.length ?? 0;
  while (shown < targets.length && letters + targets[shown].length < most) letters += targets[shown++].length + 1;
  const more = targets.length - shown + others;
  return `${targets.slice(0, shown).join(" ")}${more > 0 ? ` and ${more} more` : ""}`;
}

// Words that all have to be there: author:anna, verb:start, unit:web@1, state:failed, or a part of any of them or of the reason.
export function jobMatcher(text) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, key, value] = /^(author|verb|unit|state):(.*)$/.exec(word) ?? [];
    if (key === "unit") return (job) => targetsOf(job).some((target) => target.toLowerCase().includes(value));
    if (key) return (job) => job[key].toLowerCase().includes(value);
    return (job) => `${job.job} ${job.author} ${job.verb} ${targetsOf(job).join(" ")} ${job.state} ${job.reason ?? ""} ${job.message ?? ""}`.toLowerCase().includes(word);
  });
  return (job) => tests.every((test) => test(job));
}

// By the words of list-nodes. Down is one that has said that it goes, as a machine does that somebody switches off.
const NODE_LEVEL = { online: "good", suspect: "waits", lost: "bad", offline: "bad", down: "waits", leaving: "moves", unknown: "unsure" };

export function nodeLevel(node, copy) {
  const level = NODE_LEVEL[node.state] ?? "unsure";
  return level === "good" && (copy.rows.drain.has(node.node) || node.mode) ? "moves" : level;
}

export function nodeText(node, copy) {
  const drain = copy.rows.drain.get(node.node);
  const reason = node.mode_reason || node.reason, words = [node.state, node.mode].filter(Boolean).join(", ");
  const left = drain ? `, ${drain.left} to go${drain.stuck > 0 ? `, ${drain.stuck} that no other node takes` : ""}` : "";
  return `${words}${reason ? ` (${reason})` : ""}${left}`;
}

// What somebody should look at, the worst first: {level, about, text, since, link}.
export function problems(copy, rows) {
  const found = [];
  const add = (level, about, text, since, link) => found.push({ level, about, text, since, link });

  if (copy.silence || (copy.complete && !copy.leader))
    add("bad", "the cluster", "Nobody leads it: units go on running, and nothing is started, stopped or moved.", copy.silence ? copy.silence.since + copy.skew : copy.rows.leader.get("")?.time ?? 0, "#/nodes");
  const queue = copy.rows.queue.get("");
  if (queue?.closed) add("waits", "the queue", `is closed${queue.reason ? `: ${queue.reason}` : ""}`, queue.time, "#/jobs");
  for (const node of copy.rows.node.values()) {
    const drain = copy.rows.drain.get(node.node);
    const level = nodeLevel(node, copy);
    if (level === "bad" || level === "waits") add(level, node.node, `is ${nodeText(node, copy)}`, node.since ?? node.time, `#/node/${encodeURIComponent(node.node)}`);
    else if (drain?.stuck > 0) add("waits", node.node, nodeText(node, copy), drain.time, `#/node/${encodeURIComponent(node.node)}`);
  }
  const unsure = rows.filter((r) => r.level === "unsure").length + [...copy.rows.node.values()].filter((node) => nodeLevel(node, copy) === "unsure").length;
  if (unsure > 0) add("unsure", "unknown", `${count(unsure, "unit or node", "units and nodes")}: nothing is heard of ${unsure === 1 ? "it" : "them"}`, 0, "#/units?is:unknown");
  for (const rollout of copy.rows.rollout.values())
    if (rollout.phase !== "running" && rollout.phase !== "done")
      add("bad", rollout.unit, `its ${rollout.verb} has ${rollout.phase}${rollout.reason ? `: ${rollout.reason}` : ""}`, rollout.time, `#/unit/${encodeURIComponent(rollout.unit)}`);
  for (const r of rows)
    if (r.level === "bad" || r.level === "waits")
      add(r.level, r.unit, r.node && !r.text.includes(r.node) ? `${r.text}, on ${r.node}` : r.text, r.since, `#/unit/${encodeURIComponent(r.unit)}`);
  return found.sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) || b.since - a.since);
}

// What is under way: {about, text, since, link}.
export function moving(copy, rows) {
  const found = [];
  for (const job of copy.rows.job.values())
    if (!jobHasEnded(job)) found.push({ about: `job ${job.job}`, text: `${job.verb} ${targetsText(job)} (${job.state}), by ${job.author}`, since: job.time, link: `#/job/${job.job}` });
  for (const rollout of copy.rows.rollout.values())
    if (rollout.phase === "running" || rollout.phase === "returning")
      found.push({ about: rollout.unit, text: `${rollout.verb}, ${rollout.phase}`, since: rollout.time, link: `#/unit/${encodeURIComponent(rollout.unit)}` });
  for (const drain of copy.rows.drain.values())
    found.push({ about: drain.node, text: `${drain.mode}, ${drain.left} to go`, since: drain.time, link: `#/node/${encodeURIComponent(drain.node)}` });
  for (const r of rows)
    if (r.level === "moves") found.push({ about: r.unit, text: r.node ? `${r.text}, on ${r.node}` : r.text, since: r.since, link: `#/unit/${encodeURIComponent(r.unit)}` });
  return found;
}

// ---- events

export const isNews = (event) => event.kind !== "stream" && event.time && (event.mark === "" || event.mark === "here") && event.changed;

const TEXTS = {
  leader: (e) => (e.leader ? `${e.leader} leads` : `nobody leads: ${e.reason}`),
  node: (e) => [e.state, e.mode, e.mode_reason || e.reason].filter(Boolean).join(", "),
  state: (e) => `${e.active} (${e.sub})${e.result && e.result !== "success" ? `, ${e.result}` : ""}${e.error ? `, ${e.error}` : ""}`,
  unit: (e) => `desired ${e.desired}${e.node && e.node !== "-" ? `, on ${e.node}` : ", on no node"}`,
  job: (e) => `${e.state}: ${e.verb} ${targetsText(e)}, by ${e.author}${e.reason ? ` (${e.reason})` : ""}${e.message ? `: ${e.message}` : ""}`,
  rollout: (e) => `${e.verb} ${e.phase}${e.reason ? `: ${e.reason}` : ""}`,
  drain: (e) => `${e.mode}, ${e.left} to go`,
  queue: (e) => (e.closed ? `closed${e.reason ? `: ${e.reason}` : ""}` : "open"),
};
export const eventText = (event) => (event.gone ? "is gone" : (TEXTS[event.kind]?.(event) ?? ""));

export function eventMatcher(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (event) => {
    if (words.length === 0) return true;
    const said = `${event.kind} ${event.unit ?? ""} ${event.node ?? ""} ${event.job ?? ""} ${eventText(event)}`.toLowerCase();
    return words.every((word) => said.includes(word));
  };
}

// What has come to be so since then, by the newest that is known of each object and by these jobs, the oldest first.
export function recent(copy, since, jobs) {
  const found = [], add = (kind, row, time) => time >= since && found.push({ ...row, kind, time, gone: false });
  for (const row of copy.rows.state.values()) if (row.active !== "unknown") add("state", row, row.since ?? 0);
  for (const row of copy.rows.node.values()) add("node", row, row.since ?? 0);
  for (const row of jobs) add("job", row, row.ended || row.time);
  return found.sort((a, b) => a.time - b.time);
}
