// SPDX-License-Identifier: LGPL-2.1-or-later
// The frame: which view is shown, the line that says how the cluster is and how old that is, and the keys.

import { problems, Rows } from "./derive.js";
import { h, put } from "./dom.js";
import { Feed } from "./feed.js";
import { readRights } from "./rights.js";
import { logout, show as login } from "./login.js";
import { show as events } from "./view-events.js";
import { show as job } from "./view-job.js";
import { show as jobs } from "./view-jobs.js";
import { show as node } from "./view-node.js";
import { show as nodes } from "./view-nodes.js";
import { show as overview } from "./view-overview.js";
import { show as unit } from "./view-unit.js";
import { show as units } from "./view-units.js";
import { span } from "./words.js";

const DRAW_MS = 400; // no more often than this: what happens faster nobody can read
const STALE_MS = 20000; // a sign of life comes every 15 s
const QUIET_S = 8; // the host is asked after 4
const SLOW_MS = 3000; // for a first word

const VIEWS = [["", "Overview", overview], ["units", "Units", units], ["nodes", "Nodes", nodes], ["jobs", "Jobs", jobs], ["events", "Events", events]];
const PAGES = { unit, node, job, ...Object.fromEntries(VIEWS.map(([path, , show]) => [path, show])) };
const KEYS = "Keys: 1 to 5 for the views, / for the filter, arrows and Enter in a list, Escape to go back.";

const main = document.getElementById("main"), banner = document.getElementById("banner");
const health = document.getElementById("health"), leader = document.getElementById("leader"), fresh = document.getElementById("fresh");
const views = document.getElementById("views");
const leave = logout(() => feed.retry());
if (leave) document.querySelector("header").append(leave);
let view = null, asksWho = false, timer = null, drawn = 0, wasComplete = false;

const opened = Date.now();
const feed = new Feed((events) => {
  rows.take(events);
  view?.events?.(events);
  if (events.some((event) => event.kind === "leader")) hurry();
  if (feed.copy.complete && !wasComplete) {
    drawn = 0; // the first picture
    readRights();
  }
  wasComplete = feed.copy.complete;
  soon();
});
const rows = new Rows(feed.copy);
const context = { copy: feed.copy, rows: () => rows.all(), go: (to) => (location.hash = to) };

function soon() {
  timer ??= setTimeout(() => requestAnimationFrame(draw), Math.max(0, DRAW_MS - (performance.now() - drawn)));
}

// Nobody waits for the end of a pause to be told that nobody leads.
function hurry() {
  clearTimeout(timer);
  timer = null;
  drawn = 0;
}

function draw() {
  timer = null;
  drawn = performance.now();
  drawFrame();
  if (feed.status.state !== "login") view?.update();
}

// ---- how it is, and how old that is

function isStale() {
  return feed.status.state !== "live" || Date.now() - feed.heard > STALE_MS;
}

function drawHealth() {
  const { copy } = feed;
  if (!copy.complete && !copy.silence) return put(health, "not known yet"), (health.className = "pill unsure");
  const wrong = problems(copy, rows.all()), number = (level) => wrong.filter((p) => p.level === level).length;
  const bad = number("bad"), waits = number("waits"), unsure = number("unsure");
  health.className = `pill ${bad > 0 ? "bad" : waits > 0 ? "waits" : unsure > 0 ? "unsure" : "good"}`;
  const words = [bad > 0 && `${bad} wrong`, waits > 0 && `${waits} waiting`, unsure > 0 && "some unknown"].filter(Boolean);
  put(health, copy.silence ? "Nobody leads" : words.join(", ") || "All is well");
  document.title = wrong.length > 0 ? `(${wrong.length}) argosy` : "argosy";
}

// What is wrong with what is shown; "": nothing.
function oldness(stale) {
  const { copy, heard, status: { state, detail } } = feed, now = Date.now();
  if (!stale) return copy.silence ? `Nobody leads the cluster for ${span((now - copy.silence.since / 1000) / 1000)}: ${copy.silence.reason}. Units go on running; what is shown is as it was before.` : "";
  if (state === "login" || (heard === 0 && now - opened < SLOW_MS && !detail)) return "";
  const age = heard > 0 ? `This is as it was ${span((now - heard) / 1000)} ago` : `Nothing has been heard since this page was opened ${span((now - opened) / 1000)} ago`;
  return state === "refused" ? `${age}: you may not see this, ${detail}.` : `${age}${detail ? `: ${detail}` : ""}. It is tried again.`;
}

function drawFrame() {
  const stale = isStale(), { state } = feed.status, said = oldness(stale);
  document.body.classList.toggle("stale", stale && said !== "");
  document.body.classList.toggle("asks", state === "login");
  if (stale) {
    health.className = "pill unsure";
    put(health, feed.heard > 0 ? "unknown" : said ? "not known yet" : "…");
    document.title = "(?) argosy";
  } else drawHealth();
  put(leader, feed.copy.leader && said ? `${feed.copy.leader} led` : feed.copy.leader ? `${feed.copy.leader} leads` : ""); // that nobody does is said larger
  const quiet = Math.floor((Date.now() - feed.heard) / 1000);
  fresh.className = `aside ${quiet < QUIET_S ? "" : "quiet"}`;
  put(fresh, stale ? "" : quiet < QUIET_S ? "live" : `heard ${span(quiet)} ago`);
  banner.hidden = said === "";
  put(banner, said);
  if (state === "login" && !asksWho) {
    view?.done?.();
    main.replaceChildren();
    view = login(main, () => feed.retry());
    asksWho = true;
  } else if (state === "live" && asksWho) route();
}

// ---- which view

function route() {
  const [, path, rest] = /^#\/([a-z]*)[/?]?(.*)$/.exec(location.hash) ?? [null, "", ""];
  let text = "";
  try {
    text = decodeURIComponent(rest);
  } catch {} // half of a letter, in an address that somebody has cut
  view?.done?.();
  main.replaceChildren();
  asksWho = false;
  for (const link of views.children)
    if (link.hash === `#/${path}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  readRights();
  view = (PAGES[path] ?? overview)(main, { ...context, name: text, query: text });
  scrollTo(0, 0);
}

views.append(...VIEWS.map(([path, label]) => h("a", { href: `#/${path}` }, label)));
for (const link of views.children) link.title = KEYS;

// Where one came from: Escape goes there, and never off the page.
const trail = [];
let goesBack = false;

function goBack() {
  const to = trail.pop() || "#/";
  if (to === (location.hash || "#/")) return;
  goesBack = true;
  location.hash = to;
}

addEventListener("hashchange", ({ oldURL }) => {
  if (!goesBack) trail.push(new URL(oldURL).hash);
  goesBack = false;
  route();
  main.focus({ preventScroll: true });
});
addEventListener("resize", () => view?.resize?.());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view?.resize?.());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && document.activeElement?.matches("input, select")) return document.activeElement.blur();
  if (event.target.closest("input, select, textarea")) return;
  if (event.key === "Escape") goBack();
  else if (event.key === "/") {
    if (!document.getElementById("filter")) location.hash = "#/units";
    requestAnimationFrame(() => document.getElementById("filter")?.focus());
  } else if (VIEWS[event.key - 1]) location.hash = `#/${VIEWS[event.key - 1][0]}`;
  else return;
  event.preventDefault();
});
setInterval(() => {
  if (document.visibilityState === "visible") feed.look();
  soon(); // the ages
}, 1000);
route();
