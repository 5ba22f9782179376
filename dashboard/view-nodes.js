// SPDX-License-Identifier: LGPL-2.1-or-later
// The nodes, and the hosts' part in the cluster's log.

import { ask } from "./ask.js";
import { countLevels, LEVELS, LEVEL_WORDS, nodeLevel, nodeText } from "./derive.js";
import { h, name, nodeLink, table } from "./dom.js";

export function show(root, { copy, rows }) {
  const out = h("div", {}), hosts = h("div", {});
  let told = "", asked = "";

  root.append(h("h1", {}, "Nodes"), out, h("h2", {}, "Hosts"), hosts);

  async function readHosts() {
    try {
      const said = await ask("/v1/hosts");
      hosts.replaceChildren(table(["Host", "Address", "Part", "State", "Log", "Version"], said.hosts.map((host) =>
        [name(host.host), host.address, `${host.role}${host.leader ? ", leads" : ""}`, host.state, host.lag > 0 ? `${host.lag} behind` : "up to date", host.version])));
    } catch (error) {
      hosts.replaceChildren(h("p", { class: "said" }, error.message));
    }
  }

  function update() {
    const counts = new Map();
    for (const row of rows()) {
      if (!counts.has(row.node)) counts.set(row.node, []);
      counts.get(row.node).push(row);
    }
    const cells = [...copy.rows.node.values()].sort((a, b) => (a.node < b.node ? -1 : 1)).map((node) => {
      const numbers = countLevels(counts.get(node.node) ?? []);
      return [node, LEVELS.filter((level) => numbers[level] > 0).map((level) => `${numbers[level]} ${LEVEL_WORDS[level]}`).join(", ") || "none"];
    });
    const next = JSON.stringify(cells);
    if (next !== told) {
      told = next;
      out.replaceChildren(table(["Node", "State", "Address", "Labels", "Units"], cells.map(([node, units]) =>
        [[h("span", { class: `dot ${nodeLevel(node, copy)}` }), " ", nodeLink(node.node)], `${nodeText(node, copy)}${copy.leader === node.node ? ", leads" : ""}`, node.address, name(node.labels), units])));
    }
    const members = JSON.stringify([copy.leader, [...copy.rows.node.values()].map((node) => [node.node, node.state, node.role])]);
    if (members !== asked) {
      asked = members;
      readHosts();
    }
  }
  update();
  return { update };
}
