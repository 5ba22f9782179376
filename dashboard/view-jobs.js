// SPDX-License-Identifier: LGPL-2.1-or-later
// The jobs: the newest page, kept by events, and older ones when they are asked for.

import { ask } from "./ask.js";
import { h, jobLink, name, table } from "./dom.js";
import { since } from "./words.js";

const PAGE = 50;
const level = (job) => (job.state === "done" ? "good" : job.state === "running" || job.state === "held" ? "moves" : "bad");
const targets = (job) => (Array.isArray(job.targets) ? job.targets.join(" ") : job.targets);
export const targetsOf = (job) => (Array.isArray(job.targets) ? job.targets : job.targets.split(" "));

export const jobTable = (jobs, now) => table(["Job", "State", "What", "Who", "Reason", "Before"], jobs.map((job) =>
  [[h("span", { class: `dot ${level(job)}` }), " ", jobLink(job.job)], job.state, [job.verb, " ", name(targets(job))], name(job.author), name(job.reason || job.message || ""), since(job.time, now)]));

export function show(root, { copy }) {
  const out = h("div", {}), said = h("p", { class: "said", role: "status" });
  const more = h("button", { type: "button", on: { click: () => read(next) } }, "Older");
  const jobs = new Map();
  let next = null, told = "";

  root.append(h("h1", {}, "Jobs"), out, said, h("p", { class: "buttons" }, more));

  async function read(page) {
    more.disabled = true;
    try {
      const answer = await ask(`/v1/jobs?limit=${PAGE}${page ? `&page=${encodeURIComponent(page)}` : ""}`);
      for (const job of answer.jobs) jobs.set(job.job, job);
      next = answer.next ?? null;
      said.textContent = "";
    } catch (error) {
      said.textContent = error.message;
    }
    more.disabled = !next;
    draw();
  }

  function draw() {
    for (const job of copy.rows.job.values()) if (!jobs.has(job.job) || jobs.get(job.job).state !== job.state) jobs.set(job.job, { ...jobs.get(job.job), ...job });
    const shown = [...jobs.values()].sort((a, b) => b.job - a.job);
    const saying = JSON.stringify(shown.map((job) => [job.job, job.state, job.message]));
    if (saying === told) return;
    told = saying;
    out.replaceChildren(jobTable(shown, copy.now));
  }
  read(null);
  return { update: draw };
}
