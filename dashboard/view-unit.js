// SPDX-License-Identifier: LGPL-2.1-or-later
// One unit: how it is, where and why there, its journal as it is written, its file and those that come with it, with what they were before, and the jobs that changed it.

import { button } from "./act.js";
import { ask, follow } from "./ask.js";
import { carriedDiff, carriedOf } from "./carried.js";
import { rowsOfUnit, LEVEL_WORDS } from "./derive.js";
import { diff } from "./diff.js";
import { splitImage } from "./image.js";
import { fields, fill, h, jobLink, name, nodeLink, put, table } from "./dom.js";
import { at, bytes, since } from "./words.js";

const LINES = 100, LINES_MAX = 5000; // of the journal: at first, and that are kept
const USE_MS = 2000;
const JOBS = 20, PAGES_MAX = 50; // of what changed it, and pages that are looked through for them
const AGAIN_MS = 1000; // until a journal that broke off is asked for again

// Its journal, as long as it is shown.
function journal(unit, signal) {
  const out = h("pre", { class: "journal", tabindex: "0", role: "log", "aria-label": `Journal of ${unit}` });
  const said = h("p", { class: "said", role: "status" });
  const newest = new Map(); // node -> of what is shown of it, for when all nodes are asked for as many again
  let again = null; // how often each of these may come once more

  function isShown(key) {
    const left = again?.get(key) ?? 0;
    if (left > 0) again.set(key, left - 1);
    return left > 0;
  }

  function take(lines) {
    const atEnd = out.scrollHeight - out.scrollTop - out.clientHeight < 40;
    put(said, "");
    for (const line of lines) {
      const key = `${line.node}\n${line.line}`;
      if (line.line !== undefined) {
        if (isShown(key)) continue;
        if (!newest.has(line.node)) newest.set(line.node, []);
        newest.get(line.node).push(key);
        if (newest.get(line.node).length > LINES) newest.get(line.node).shift();
      }
      out.append(h("span", { class: line.line === undefined ? "aside" : "" }, `${line.line ?? `-- ${line.detail ?? line.title}`}\n`));
    }
    while (out.childElementCount > LINES_MAX) out.firstElementChild.remove();
    if (atEnd) out.scrollTop = out.scrollHeight;
  }
  // It ends with argosyd, and with a right: it is asked for again, and what is shown already is not shown twice.
  async function read() {
    while (!signal.aborted) {
      again = new Map();
      for (const key of [...newest.values()].flat()) again.set(key, (again.get(key) ?? 0) + 1);
      try {
        await follow(`/v1/journal/${encodeURIComponent(unit)}?lines=${LINES}&follow=true`, signal, take);
        put(said, "The journal broke off; it is asked for again.");
      } catch (error) {
        if (!signal.aborted) put(said, error.message);
        if (error.status >= 400 && error.status < 500) return; // no such unit, or no right to it
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  read();
  return [out, said];
}

// What it uses: a rate is the difference of two answers of the same run.
function use(unit, signal) {
  const out = h("div", { class: "use" });
  let before = new Map();

  async function look() {
    try {
      const { usage } = await ask(`/v1/usage?pattern=${encodeURIComponent(unit)}`, { signal });
      const now = new Map(usage.map((row) => [`${row.node} ${row.run}`, row]));
      const cells = [...now].map(([key, row]) => {
        const was = before.get(key), cpu = was && row.time > was.time ? `${(((row["cpu-time"] - was["cpu-time"]) / (row.time - was.time)) * 100).toFixed(1)} %` : "…";
        return [nodeLink(row.node), cpu, bytes(row.memory), row.tasks ?? ""];
      });
      before = now;
      out.replaceChildren(cells.length > 0 ? table(["Node", "CPU", "Memory", "Tasks"], cells) : h("p", { class: "none" }, "It does not run."));
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(h("p", { class: "said" }, error.message));
    }
    if (!signal.aborted) timer = setTimeout(look, USE_MS);
  }
  let timer = setTimeout(look, 0);
  signal.addEventListener("abort", () => clearTimeout(timer));
  return out;
}

// The newest jobs that have changed it. A page may have none of them, and still a next one: others have changed other units meanwhile.
async function readPages(unit, signal) {
  const found = [];
  let page = "";
  for (let i = 0; i < PAGES_MAX && found.length <= JOBS; i++) { // one more: it was before the last that is shown
    const { history, next } = await ask(`/v1/history/${encodeURIComponent(unit)}?limit=${JOBS}${page}`, { signal });
    found.push(...history);
    if (!next) break;
    page = `&page=${encodeURIComponent(next)}`;
  }
  return found;
}

function showDiff(lines) {
  return h("pre", { class: "file" }, lines.map(([mark, line]) => h("span", { class: mark === "+" ? "come" : mark === "-" ? "gone" : "" }, `${mark} ${line}\n`)));
}

// The file as it was after that job; null: nobody keeps it.
const fileAt = async (unit, job) => (await ask(`/v1/unit-files/${encodeURIComponent(unit)}?at=${job}`)).file;

// Its text; null: nobody keeps it, or it is none.
async function carriedText(unit, file) {
  if (!file) return "";
  const text = (await ask(`/v1/unit-files/${encodeURIComponent(unit)}?rev=${file.hash}`)).file;
  return text === null || text.includes("\ufffd") || new TextEncoder().encode(text).length !== file.bytes ? null : text;
}

const carriedWords = (file) => (file ? `${bytes(file.bytes)}, ${file.hash.slice(0, 12)}` : "not there");

async function showCarried(unit, { name: file, before, after }) {
  const [then, now] = await Promise.all([carriedText(unit, before), carriedText(unit, after)]);
  const mode = before && after && before.mode !== after.mode ? `, ${after.mode === "0555" ? "" : "no longer "}executable` : "";
  return [h("p", {}, name(file), mode, ":"), then === null || now === null ? h("p", {}, `${carriedWords(before)} → ${carriedWords(after)}`)
    : then === now ? null : showDiff(diff(then, now))];
}

// "registry/x:1 sha256:… → sha256:…", with whole digests in what appears beneath the pointer.
function imageChange(was, is) {
  if (was.image === is.image && was.digest === is.digest) return null;
  const shown = ({ digest }) => (digest ? h("span", { title: digest }, digest.slice(0, 19)) : "not pinned");
  return h("p", {}, "Image: ", was.image || is.image, " ", shown(was), " → ", was.image && is.image && was.image !== is.image ? `${is.image} ` : "", shown(is));
}

function showFiles(unit, text, files, out) {
  const read = async (file) => {
    try {
      const content = await carriedText(unit, file);
      out.replaceChildren(h("h3", {}, name(file.name)), content === null ? h("p", { class: "none" }, `It is no text: ${carriedWords(file)}.`) : h("pre", { class: "file" }, content));
    } catch (error) {
      out.replaceChildren(h("p", { class: "said" }, error.message));
    }
  };
  files.replaceChildren(table(["=Name", "=Mode", "=Size", "=SHA-256", "=Text"], carriedOf(text).map((file) => [name(file.name), file.mode, bytes(file.bytes), h("span", { title: file.hash }, file.hash.slice(0, 12)),
    h("button", { type: "button", on: { click: () => read(file) } }, "Show")])));
}

// What a job has done to the file: before is the job that changed the unit before it, or undefined.
function pastButton(unit, job, before, out) {
  const say = (...children) => out.replaceChildren(...children);
  const compare = async () => {
    if (before === undefined) return say(h("p", { class: "none" }, `Nothing that was before job ${job} is kept.`));
    try {
      const [then, now] = await Promise.all([fileAt(unit, before), fileAt(unit, job)]);
      if (then === null || now === null) say(h("p", { class: "none" }, `The file of before job ${job} is not kept any more.`));
      else if (then === now) say(h("p", { class: "none" }, `Job ${job} did not change the file.`));
      else {
        const files = await Promise.all(carriedDiff(carriedOf(then), carriedOf(now)).map((file) => showCarried(unit, file)));
        const was = splitImage(then), is = splitImage(now);
        const lines = was.text === is.text ? null : showDiff(diff(was.text, is.text));
        say(...[h("p", {}, `What job ${job} changed in the file:`), lines, imageChange(was, is), ...files.flat()].filter(Boolean));
      }
    } catch (error) {
      say(h("p", { class: "said" }, error.message));
    }
  };
  return h("button", { type: "button", on: { click: compare } }, "Compare with before");
}

export function show(root, { copy, name: unit, go }) {
  const stop = new AbortController();
  const head = h("div", {}), image = h("p", { class: "image", hidden: "" }), why = h("ul", { class: "found", id: "why" }), file = h("pre", { class: "file" }), past = h("div", { "aria-live": "polite" });
  const files = h("div", {}), one = h("div", { "aria-live": "polite" });
  const carried = h("section", { "aria-labelledby": "h-files", hidden: "" }, h("h2", { id: "h-files" }, "Files that come with it"), files, one);
  const jobs = h("div", {}), gone = h("p", { class: "said", role: "status" });
  let text = "", told = "";

  const went = (done) => done.job && go(`#/job/${done.job}`);
  const where = () => rowsOfUnit(copy, unit).map((row) => `${row.text}${row.node ? ` on ${row.node}` : ""}`).join("; ") || "nothing is known of it";
  const simple = (verb, title, ...more) => () => ({ title: `${title} ${unit}`, harm: verb === "stop", body: { verb, units: [unit] }, known: [`Now: ${where()}.`, ...more] });

  const buttons = h("p", { class: "buttons" },
    button("Start", "operate", simple("start", "Start"), went),
    button("Restart", "operate", simple("restart", "Restart", "It is stopped and started again where it runs; what it does is interrupted."), went),
    button("Stop", "operate", simple("stop", "Stop", "It is stopped on every node where it runs, and is not started again until somebody asks for it."), went));
  const rest = h("div", {}, buttons,
    h("section", { "aria-labelledby": "h-why" }, h("h2", { id: "h-why" }, "Why"), why),
    h("section", { "aria-labelledby": "h-use" }, h("h2", { id: "h-use" }, "Resources"), use(unit, stop.signal)),
    h("section", { "aria-labelledby": "h-journal" }, h("h2", { id: "h-journal" }, "Journal"), journal(unit, stop.signal)),
    h("section", { "aria-labelledby": "h-file" }, h("h2", { id: "h-file" }, "File"), image, file),
    carried);
  root.append(h("h1", {}, name(unit)), head, gone, rest,
    h("section", { "aria-labelledby": "h-jobs" }, h("h2", { id: "h-jobs" }, "Jobs that changed it"), jobs, past));

  function showImage(row) {
    image.hidden = !row?.image;
    put(image, !row?.image ? "" : `Image: ${row.image}${row.digest && !row.image.includes(row.digest) ? ` (${row.digest})` : row.digest ? "" : " (not pinned)"}`);
  }

  async function readWhy() {
    try {
      const said = await ask(`/v1/units/${encodeURIComponent(unit)}`, { signal: stop.signal });
      showImage(said.units[0]);
      why.replaceChildren(...said.why.map((w) => h("li", { class: w.as_wanted ? "good" : "bad" }, w.node && w.node !== "-" ? [nodeLink(w.node), ": "] : null, name(w.why || w.note || "as it is wanted"),
        w.refusals.length > 0 ? h("ul", {}, w.refusals.map((refusal) => h("li", {}, nodeLink(refusal.node), ": ", name(refusal.reason)))) : null)));
    } catch (error) {
      if (!stop.signal.aborted) why.replaceChildren(h("li", { class: "none" }, error.message));
    }
  }

  async function readFile() {
    try {
      text = (await ask(`/v1/unit-files/${encodeURIComponent(unit)}`, { signal: stop.signal })).file ?? "";
      put(file, text);
      carried.hidden = carriedOf(text).length === 0;
      one.replaceChildren();
      showFiles(unit, text, files, one);
    } catch (error) {
      if (!stop.signal.aborted) put(file, error.message);
    }
  }

  async function readHistory() {
    try {
      const history = await readPages(unit, stop.signal);
      jobs.replaceChildren(history.length === 0 ? h("p", { class: "none" }, "None that is kept.")
        : table(["=Job", "=Age", "=Verb", "Author", "Reason", "=File"], history.slice(0, JOBS).map((job, i) => [jobLink(job.job), h("span", { class: "since", title: at(job.time) }, since(job.time, copy.now)), job.verb, name(job.author), name(job.reason ?? ""),
          pastButton(unit, job.job, history[i + 1]?.job, past)])));
    } catch (error) {
      if (!stop.signal.aborted) jobs.replaceChildren(h("p", { class: "said" }, error.message));
    }
  }

  function update() {
    const row = copy.rows.unit.get(unit), states = [...copy.states(unit)], known = row || states.length > 0 || !copy.complete;
    put(gone, known ? "" : `There is no unit ${unit} in this cluster.`);
    rest.hidden = !known;
    head.hidden = !known;
    fill(head, fields(
      row?.description ? ["Description", name(row.description)] : null,
      ["State", rowsOfUnit(copy, unit).map((r) => h("p", { class: r.level }, h("span", { class: `dot ${r.level}` }), " ", /^(looping|unknown)/.test(r.text) || r.text.startsWith(LEVEL_WORDS[r.level]) ? null : `${LEVEL_WORDS[r.level]}: `, name(r.text), r.node ? [" on ", nodeLink(r.node)] : null, r.since > 0 ? [" for ", h("span", { class: "since" }, since(r.since, copy.now))] : null))],
      states.some((s) => s.restarts > 0) ? ["Restarts", states.filter((s) => s.restarts > 0).map((s) => `${s.restarts.toLocaleString("en")}${states.length > 1 ? ` on ${s.node}` : ""}`).join(", ")] : null,
      ["Desired", row?.desired ?? "not in the cluster"], row?.set ? ["Set", name(row.set)] : null));
    const next = JSON.stringify([row?.rev, row?.desired, row?.state, row?.node, states.map((s) => [s.node, s.active, s.sub, s.error, s.looping])]);
    if (next !== told) {
      told = next;
      readWhy();
    }
    const content = `${row?.rev} ${row?.revision}`;
    if (content !== show.content) {
      show.content = content;
      readFile();
      readHistory();
    }
  }
  show.content = null;
  update();
  return { update, done: () => stop.abort() };
}
