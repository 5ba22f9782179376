// SPDX-License-Identifier: LGPL-2.1-or-later
// A copy of what the cluster says of itself, kept by its events as argosyctl(1), EVENTS, tells how: an event is the whole of one object.
//
//   begins    what is told until `complete` is all that there is of these kinds (none named: of all)
//   unit      with a mark: all its states that do not follow are gone
//   gone      there is no such object any more
//
// The worker that reads the stream keeps one, and each page keeps another.

export const KINDS = ["leader", "node", "unit", "state", "job", "rollout", "drain", "queue", "stream"];
// Which list of /v1/state has which kind.
const LISTS = { nodes: "node", unit_files: "unit", units: "state", jobs: "job", rollouts: "rollout", drains: "drain" };
const ENDED_JOBS_MAX = 500; // that are remembered; those that run always are
const ENDED = new Set(["done", "failed", "cancelled", "overtaken", "refused"]);

export const jobHasEnded = (job) => ENDED.has(job.state);

const keyOf = {
  leader: () => "", queue: () => "", node: (e) => e.node, drain: (e) => e.node, unit: (e) => e.unit, rollout: (e) => e.unit,
  job: (e) => e.job, state: (e) => `${e.unit}\n${e.node}`,
};

export class Copy {
  constructor() {
    this.cursor = "0"; // where to go on: from the beginning
    this.complete = false; // everything has been told
    this.skew = 0; // of the leader's clock before ours, in microseconds
    this.rows = Object.fromEntries(Object.keys(keyOf).map((kind) => [kind, new Map()]));
    this.statesOf = new Map(); // unit -> node -> state
    this.silence = null; // the host that serves the stream says that nobody leads: {reason, since}, since by our clock
    this.untold = null; // kind -> keys that are forgotten at `complete` unless they are told before
  }

  get leader() { return this.silence ? "" : (this.rows.leader.get("")?.leader ?? ""); }
  get now() { return Date.now() * 1000 + this.skew; }
  states(unit) { return this.statesOf.get(unit)?.values() ?? [].values(); }

  #remove(kind, key) {
    const row = this.rows[kind].get(key);
    if (!row) return;
    this.rows[kind].delete(key);
    if (kind !== "state") return;
    const nodes = this.statesOf.get(row.unit);
    nodes.delete(row.node);
    if (nodes.size === 0) this.statesOf.delete(row.unit);
  }

  #put(kind, key, row) {
    this.rows[kind].set(key, row);
    if (kind !== "state") return;
    if (!this.statesOf.has(row.unit)) this.statesOf.set(row.unit, new Map());
    this.statesOf.get(row.unit).set(row.node, row);
  }

  #word(event) {
    const kinds = event.kinds ? event.kinds.split(/[ ,]+/) : Object.keys(keyOf);
    if (event.word === "begins") {
      this.complete = false;
      const begun = kinds.filter((kind) => keyOf[kind]).map((kind) => [kind, new Set(this.rows[kind].keys())]);
      this.untold = { ...this.untold, ...Object.fromEntries(begun) }; // it may be said again, of jobs, before the others are complete
    } else if (event.word === "complete") {
      for (const [kind, keys] of Object.entries(this.untold ?? {})) for (const key of keys) this.#remove(kind, key);
      this.untold = null;
      this.complete = true;
    }
  }

  #forgetOldJobs() {
    const jobs = this.rows.job;
    if (jobs.size <= ENDED_JOBS_MAX + 50) return;
    const ended = [...jobs.values()].filter(jobHasEnded).sort((a, b) => a.job - b.job);
    for (const job of ended.slice(0, Math.max(0, ended.length - ENDED_JOBS_MAX))) jobs.delete(job.job);
  }

  // What no leader has told: it has no place in the stream, and its time is of another clock, so it is ours here.
  #here(event) {
    this.silence = event.leader ? null : { reason: event.reason, since: event.since ?? Date.now() * 1000 };
  }

  // One event, as it came.
  take(event) {
    if (event.mark === "here") return this.#here(event);
    if (event.kind === "leader") this.silence = null;
    if (event.cursor) this.cursor = event.cursor;
    if (event.time) this.skew = event.time - Date.now() * 1000;
    if (event.kind === "stream") return this.#word(event);
    const keyed = keyOf[event.kind];
    if (!keyed) return;
    const key = keyed(event);
    this.untold?.[event.kind]?.delete(key);
    if (event.kind === "unit" && event.mark)
      for (const state of [...this.states(event.unit)]) this.#remove("state", keyOf.state(state));
    if (event.gone) return this.#remove(event.kind, key);
    this.#put(event.kind, key, event);
    if (event.kind === "job") this.#forgetOldJobs();
  }

  // For a page that comes later: events that make the same copy.
  *told() {
    yield { kind: "stream", word: "begins", kinds: "" };
    for (const rows of Object.values(this.rows)) for (const row of rows.values()) yield { ...row, mark: "" };
    if (this.complete) yield { kind: "stream", word: "complete", kinds: "", cursor: this.cursor, time: this.now };
    if (this.silence) yield { kind: "leader", mark: "here", leader: "", ...this.silence };
  }
}

// A state document as events that make the same copy: thousands of units are there at once in that, and one after the other in the stream.
export function* eventsOf(document) {
  yield { kind: "stream", word: "begins", kinds: "" };
  yield { ...document.leader, kind: "leader" };
  yield { ...document.queue, kind: "queue" };
  for (const [list, kind] of Object.entries(LISTS)) for (const row of document[list] ?? []) yield { ...row, kind };
  yield { kind: "stream", word: "complete", kinds: "", cursor: document.cursor };
}
