// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs: the newest page, kept by events, and older ones when they are asked for.

import { ask } from "./ask.js";
import { jobMatcher, targetsOf, targetsText } from "./derive.js";
import { fill, h, jobLink, name, put, table } from "./dom.js";
import { count, since } from "./words.js";

const PAGE = 50, PAGES_AT_ONCE = 10; // looked through for those that the filter wants
const LEVEL = { done: "good", running: "moves", held: "waits", cancelled: "idle", overtaken: "idle" };
const STATES = ["running", "held", "done", "failed", "cancelled", "overtaken"];

export const jobTable = (jobs, now) => table(["=Job", "=State", "What", "Author", "Reason", "=Age"], jobs.map((job) =>
  [[h("span", { class: `dot ${LEVEL[job.state] ?? "bad"}` }), " ", jobLink(job.job)], job.state, [job.verb, " ", name(targetsText(job))], name(job.author), name(job.reason || job.message || ""),
    h("span", { class: "since" }, since(job.time, now))]));

export { targetsOf };

export function show(root, { copy, query }) {
  const out = h("div", {}), said = h("p", { class: "said", role: "status" });
  const more = h("button", { type: "button", on: { click: () => read() } }, "Older");
  const filter = h("input", { type: "search", id: "filter", value: query, placeholder: "author:anna, verb:start, unit:web@1, or any word  ( / )", "aria-label": "Filter of jobs", autocomplete: "off", spellcheck: "false" });
  const state = h("select", { "aria-label": "State" }, h("option", { value: "" }, "any state"), STATES.map((word) => h("option", { value: word }, word)));
  const shown = h("span", { class: "shown", role: "status", id: "shown" });
  const jobs = new Map();
  let next, reading = false;

  root.append(h("h1", {}, "Jobs"), h("p", { class: "tools" }, filter, state, shown), out, said, h("p", { class: "buttons" }, more));

  function found() {
    const matches = jobMatcher(filter.value);
    return [...jobs.values()].filter((job) => (!state.value || job.state === state.value) && matches(job)).sort((a, b) => b.job - a.job);
  }

  // A page, and others as long as none of them has what is looked for.
  async function read() {
    if (reading) return;
    reading = more.disabled = true;
    const before = found().length;
    try {
      for (let i = 0; i < PAGES_AT_ONCE && next !== null && found().length === before; i++) {
        const answer = await ask(`/v1/jobs?limit=${PAGE}${next ? `&page=${encodeURIComponent(next)}` : ""}`);
        for (const job of answer.jobs) jobs.set(job.job, job);
        next = answer.next ?? null;
      }
      put(said, "");
    } catch (error) {
      put(said, error.message);
    }
    reading = false;
    more.disabled = next === null;
    draw();
  }

  function draw() {
    for (const job of copy.rows.job.values()) if (!jobs.has(job.job) || jobs.get(job.job).state !== job.state) jobs.set(job.job, { ...jobs.get(job.job), ...job, time: jobs.get(job.job)?.time ?? job.time }); // an event's time is its own
    const list = found();
    fill(out, [list.length > 0 ? jobTable(list, copy.now) : h("p", { class: "none" }, next === null ? "No job is like that." : "None of the jobs that were read so far is like that.")]);
    put(shown, list.length === jobs.size ? count(jobs.size, "job") : `${list.length.toLocaleString("en")} of ${count(jobs.size, "job")}`);
  }
  filter.addEventListener("input", () => {
    history.replaceState(null, "", filter.value ? `#/jobs?${encodeURIComponent(filter.value)}` : "#/jobs");
    draw();
  });
  state.addEventListener("change", draw);
  read();
  return { update: draw };
}
