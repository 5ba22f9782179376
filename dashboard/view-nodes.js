// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes, what their units use of them, and the hosts' part in the cluster's log.

import { ask } from "./ask.js";
import { countLevels, LEVELS, LEVEL_WORDS, nodeLevel, nodeText } from "./derive.js";
import { fill, h, name, nodeLink, table } from "./dom.js";
import { bytes, since } from "./words.js";

const USE_MS = 10000; // each asks all nodes
const MIB = 1024 * 1024;

// A part of what there is, as a bar and in words. of: 0, that is not known.
const meter = (part, of, words) => [of > 0 ? h("meter", { min: 0, max: 1, value: Math.min(1, part / of) }) : "", " ", h("span", { class: "amount" }, words)];

// What all units of a node use together: node -> {cpu (cores, as of the second reading), memory (bytes)}; null: no unit's is known.
export class Load {
  #before = new Map(); // of one run of a unit on a node
  readings = 0;

  take(usage) {
    const now = new Map(), load = new Map();
    for (const row of usage) {
      const key = `${row.node} ${row.unit} ${row.run}`, was = this.#before.get(key);
      if (!load.has(row.node)) load.set(row.node, { cpu: null, memory: null });
      const of = load.get(row.node);
      if (typeof row.memory === "number") of.memory += row.memory;
      if (was && row.time > was.time && typeof row["cpu-time"] === "number") of.cpu += Math.max(0, row["cpu-time"] - was["cpu-time"]) / (row.time - was.time);
      now.set(key, row);
    }
    this.#before = now;
    this.readings++;
    return load;
  }
}

// Of a lost host it is known what it had, not what it has; of one without a log, or while nobody leads, nothing.
function logOf({ lag, state }) {
  if (typeof lag !== "number") return "-";
  if (lag > 0) return `${lag} behind`;
  return state === "lost" || state === "unknown" ? "was up to date" : "up to date";
}

export function show(root, { copy, rows }) {
  const out = h("div", {}), hosts = h("div", {}), said = h("p", { class: "said", role: "status" });
  const stop = new AbortController(), measured = new Load();
  let load = null, offers = new Map(), asked = "", timer;

  root.append(h("h1", {}, "Nodes"), out, said, h("h2", {}, "Hosts"), hosts);

  async function readHosts() {
    try {
      const { hosts: list } = await ask("/v1/hosts", { signal: stop.signal });
      hosts.replaceChildren(table(["=Host", "=State", "=Role", "Address", "=Log", "=Version"], list.map((host) =>
        [name(host.host), host.state, `${host.role}${host.leader ? ", leads" : ""}`, host.address, logOf(host), host.version])));
      offers = new Map((await ask("/v1/nodes", { signal: stop.signal })).nodes.map((row) => [row.node, row]));
      update();
    } catch (error) {
      if (!stop.signal.aborted) hosts.replaceChildren(h("p", { class: "said" }, error.message));
    }
  }

  async function readUse() {
    try {
      const { usage, errors } = await ask("/v1/usage", { signal: stop.signal });
      load = measured.take(usage);
      said.textContent = (errors ?? []).join("; ");
      update();
    } catch (error) {
      if (!stop.signal.aborted) said.textContent = error.message;
    }
    if (!stop.signal.aborted) timer = setTimeout(readUse, measured.readings === 1 ? 1000 : USE_MS);
  }

  function loadCells(node) {
    const of = load?.get(node.node) ?? { cpu: 0, memory: 0 }, offered = offers.get(node.node) ?? {};
    if (nodeLevel(node, copy) === "bad" || !load) return ["", ""];
    const cores = (offered["offers-cpu"] ?? 0) / 1000, memory = (offered["offers-memory"] ?? 0) * MIB;
    return [measured.readings < 2 ? "…" : of.cpu === null ? "unknown" : meter(of.cpu, cores, `${of.cpu.toFixed(1)}${cores > 0 ? ` of ${cores.toLocaleString("en")}` : ""}`),
      of.memory === null ? "unknown" : meter(of.memory, memory, `${bytes(of.memory)}${memory > 0 ? ` of ${bytes(memory)}` : ""}`)];
  }

  function update() {
    const counts = new Map();
    for (const row of rows()) {
      if (!counts.has(row.node)) counts.set(row.node, []);
      counts.get(row.node).push(row);
    }
    const cells = [...copy.rows.node.values()].sort((a, b) => (a.node < b.node ? -1 : 1)).map((node) => {
      const numbers = countLevels(counts.get(node.node) ?? []), level = nodeLevel(node, copy);
      return [[h("span", { class: `dot ${level}` }), " ", nodeLink(node.node)], h("span", { class: `text ${level}` }, `${nodeText(node, copy)}${copy.leader === node.node ? ", leads" : ""}`),
        h("span", { class: "since" }, since(node.since, copy.now)), LEVELS.filter((l) => numbers[l] > 0).map((l) => `${numbers[l].toLocaleString("en")} ${LEVEL_WORDS[l]}`).join(", ") || "none",
        ...loadCells(node), name(node.labels)];
    });
    fill(out, [table(["=Node", "State", "=Age", "Units", "=CPU, cores", "=Memory", "Labels"], cells)]);
    const members = JSON.stringify([copy.leader, [...copy.rows.node.values()].map((node) => [node.node, node.state, node.role])]);
    if (members !== asked) {
      asked = members;
      readHosts();
    }
  }
  update();
  readUse();
  return { update, done: () => { stop.abort(); clearTimeout(timer); } };
}
