# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cluster that runs on a testbed: forming it, argosy's verbs, and what the nodes' own systemd says about its units."""

import json
import shlex
import time
from collections import defaultdict

from .host import Failure
from .node import Node, Result

FORM_TIMEOUT_S = 30
REQUEST_TIMEOUT_S = 60
READ_TIMEOUT_S = 10
POLL_S = 0.05


def form(nodes, voters):
    """Makes one cluster of freshly booted nodes, in the way a person would: a token from the first, a join on the others."""
    first, *others = nodes
    for node in nodes:
        _require_argosyd(node)
    for node in others:
        token = first.run("argosyctl cluster token --quiet").strip()
        node.run(f"argosyctl cluster join {first.address} {token}")
    _wait_until_formed(first, len(nodes), min(voters, len(nodes)))


def _require_argosyd(node):
    if not node.units("argosyd.service", ["active"]):
        raise Failure(f"{node.name}: argosyd did not start; its journal says\n{node.last_words('argosyd', 20)}")


def _wait_until_formed(node, members, voters):
    """Joining returns before the newest host has started again, and the newest voter caught up; there is no event for that, so look now and then."""
    deadline = time.monotonic() + FORM_TIMEOUT_S
    while True:
        seen = json.loads(node.run("argosyctl cluster status --json=short"))
        online = [member for member in seen["members"] if member["state"] == "online"]
        voting = [member for member in online if member["role"] == "voter"]
        if seen["leader"] and len(seen["members"]) == len(online) == members and len(voting) == voters:
            return
        if time.monotonic() > deadline:
            raise Failure(f"no cluster of {members} hosts with {voters} voters and a leader after {FORM_TIMEOUT_S} s:\n"
                          f"{json.dumps(seen, indent=2)}\n{node.last_words('argosyd', 20)}")
        time.sleep(POLL_S)


def with_type(name):
    """`web` is short for `web.service`."""
    return name if name.rpartition(".")[2] in ("service", "socket", "timer", "target", "path", "mount") else name + ".service"


class Cluster:
    def __init__(self, bed):
        self.bed = bed

    def node(self, name) -> Node:
        return self.bed.node(name)

    @property
    def nodes(self):
        return self.bed.nodes

    @property
    def running_nodes(self):
        return [node for node in self.nodes if node.is_on()]

    def _node_to_ask(self, on):
        """`on` names a node or is one; None stands for the first that is on."""
        return self.node(on) if isinstance(on, str) else on or self.running_nodes[0]

    # argosyctl

    def ctl_result(self, command, on=None, timeout=REQUEST_TIMEOUT_S, input=None) -> Result:
        """Runs argosyctl on a node, whatever comes of it."""
        return self._node_to_ask(on).exec(["argosyctl", *shlex.split(command)], input=input, timeout=timeout)

    def ctl(self, command, on=None, **options):
        """Runs argosyctl and returns what it printed; Failure unless it succeeds."""
        result = self.ctl_result(command, on, **options)
        if result.status != 0:
            raise Failure(f"argosyctl {command}: exit status {result.status}\n{result.err}{result.out}")
        return result.out

    def json(self, command, on=None):
        """A reading verb's answer. On a node that is just going down nobody takes the socket any more: a short wait, then Failure."""
        return json.loads(self.ctl(f"{command} --json=short", on, timeout=READ_TIMEOUT_S))

    def status(self, on=None):
        return self.json("cluster status", on)

    def leader_name(self, on=None):
        """The leader in the eyes of that node, or None."""
        return self.status(on)["leader"] or None

    def rows(self, *patterns, on=None):
        """list-units, as a list of dictionaries."""
        return self.json(f"list-units {' '.join(shlex.quote(with_type(pattern)) for pattern in patterns)}", on)

    def node_states(self, on=None):
        return {row["node"]: row["state"] for row in self.json("list-nodes", on)}

    # what the nodes' own systemd says

    def active(self, pattern):
        """{unit: [nodes on which it is active]}"""
        found = defaultdict(list)
        for node in self.running_nodes:
            for unit in node.units(with_type(pattern), ["active", "activating", "reloading"]):
                found[unit.name].append(node.name)
        return dict(found)

    def spread(self, pattern):
        """{node: number of units that are active on it}"""
        counts = defaultdict(int)
        for names in self.active(pattern).values():
            for name in names:
                counts[name] += 1
        return dict(counts)

    def invocations(self, pattern, nodes=None):
        """{(unit, node): id of its current run}. The same id later means that the unit was never stopped in between."""
        found = {}
        for node in nodes or self.running_nodes:
            for unit in node.units(with_type(pattern), ["active"]):
                found[unit.name, node.name] = node.invocation(unit)
        return found
