# SPDX-License-Identifier: LGPL-2.1-or-later
"""Forming one cluster of freshly booted nodes, in the way a person would: a token from the first, a join on the others."""

import json
import time

from .host import Failure

TIMEOUT_S = 30


def form(nodes, voters, say):
    first, *others = nodes
    for node in nodes:
        _require_argosyd(node)
    for node in others:
        token = first.run("argosyctl cluster token").strip()
        node.run(f"argosyctl cluster join {first.address} {token}")
    _wait_for(first, len(nodes), min(voters, len(nodes)))
    say(f"{len(nodes)} nodes, {voters} voters, leader {leader(first)}")


def _require_argosyd(node):
    if node.exec(["systemctl", "is-active", "--quiet", "argosyd.service"]).status != 0:
        raise Failure(f"{node.name}: argosyd did not start; its journal says\n{node.journal('argosyd', 20)}")


def status(node):
    """`cluster status` as that node sees it."""
    return json.loads(node.run("argosyctl cluster status --json"))


def leader(node):
    """The name of the leader as that node sees it, or None."""
    return status(node).get("leader") or None


def _wait_for(node, hosts, voters):
    """Joining returns before the newest voter has caught up; there is no event for that, so look now and then."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        seen = status(node)
        now_voters = [host for host in seen["hosts"] if host["role"] in ("voter", "leader")]
        if seen.get("leader") and len(seen["hosts"]) == hosts and len(now_voters) == voters:
            return
        if time.monotonic() > deadline:
            raise Failure(f"no cluster of {hosts} hosts with {voters} voters and a leader after {TIMEOUT_S} s:\n"
                          f"{json.dumps(seen, indent=2)}\n{node.journal('argosyd', 20)}")
        time.sleep(0.05)
