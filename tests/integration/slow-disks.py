#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk under /var/lib/argosy hangs for longer than a lease lasts: nobody is lost, nobody loses the lead, no unit stops, and
the others go on with their work."""

import time
from contextlib import contextmanager

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays

LEASE_S = 2  # QUICK's


@contextmanager
def stalled_disk(node):
    node.stall_disk()
    try:
        yield
    finally:
        node.go_on_with_disk()


def goes_on_without(c, node):
    """Whoever asks, also on that node, gets his answer while its disk hangs."""
    c.start("w@{1..6}")
    c.ctl(f"cordon {node.name}")  # what starts there waits for its disk
    runs, term = c.invocations("w@*"), c.status()["term"]
    with stalled_disk(node):
        until = time.monotonic() + LEASE_S + 1
        for number, on in enumerate(c.nodes):
            c.submit(f"x{number}.service", SLEEPER, on=on)
            c.ctl(f"start x{number}", on=on)
            c.ctl(f"stop x{number}", on=on)
        stays(lambda: set(c.node_states().values()) == {"online"}, max(0.1, until - time.monotonic()))
        c.ctl("restart --timeout=30s x0", on=node)
        assert c.status()["term"] == term, "a disk is no reason for an election"
        assert c.invocations("w@*") == runs
    c.ctl(f"uncordon {node.name}")
    eventually(lambda: all(member["lag"] == 0 for member in c.status()["members"]), what="its log has caught up")
    assert c.status()["term"] == term
    assert c.invocations("w@*") == runs


def test_of_the_leader(c: Cluster):
    goes_on_without(c, c.leader())


def test_of_a_voter(c: Cluster):
    goes_on_without(c, c.followers()[0])


def test_of_a_voter_during_an_election(c: Cluster):
    """It votes when it can write its vote, and until then does all the rest."""
    c.start("w@{1..6}")
    old, (voter, other) = c.leader(), c.followers()
    runs = c.invocations("w@*", [voter])
    with stalled_disk(voter):
        old.pause()
        stays(lambda: voter.run("timeout 5 argosyctl counters"), 2 * LEASE_S, "it answers while others want its vote")
    eventually(lambda: c.leader_name(other) not in (None, old.name))
    assert c.node_states(other)[voter.name] == "online"
    old.resume()
    c.wait_online()
    assert c.invocations("w@*", [voter]) == runs


main(nodes=3, conf=QUICK)
