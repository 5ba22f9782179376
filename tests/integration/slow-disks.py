#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk under /var/lib/argosy hangs, for longer than a lease lasts or for a moment: nobody is lost, nobody loses the lead, no
unit stops, and the others go on with their work."""

import time
from contextlib import contextmanager

from lib import QUICK, SLEEPER, Cluster, eventually, long, main, stays

LEASE_S = 2  # QUICK's
ELECTION_S = 1.2  # voters wait for a leader between once and twice 0.6 s before they want another


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


def asked_to_vote(c):
    return next((node for node in c.nodes if f"waiting for {node.name} to open its copy of the log" in c.ctl("cluster status")), None)


def test_of_a_spare_that_is_to_vote(c: Cluster):
    """It becomes a voter when it can write a log, and until then does all the rest; so does the one that hears of new voters."""
    c.start("w@{1..6}")
    c.ctl("cluster voters 1")
    eventually(lambda: list(c.members().values()).count("spare online") == 2)
    spares, runs = c.followers(), c.invocations("w@*")
    with stalled_disk(spares[0]), stalled_disk(spares[1]):
        c.ctl("cluster voters 3", on=c.leader())
        first = eventually(lambda: asked_to_vote(c), what="one of them is asked")
        second = next(node for node in spares if node != first)
        stays(lambda: set(c.node_states().values()) == {"online"}, LEASE_S + 1, "it answers while it cannot open a log")
        first.go_on_with_disk()
        eventually(lambda: c.members()[first.name] == "voter online")
        stays(lambda: set(c.node_states().values()) == {"online"}, LEASE_S + 1, "it answers while it cannot note who votes")
    eventually(lambda: list(c.members().values()) == ["voter online"] * 3)
    assert c.invocations("w@*") == runs


def longest_request(c, seconds):
    """How long the slowest change took of those that all hosts are asked for in turn, and at least once each."""
    longest, number, until = 0, 0, time.monotonic() + seconds
    while number < len(c.nodes) or time.monotonic() < until:
        on, began = c.nodes[number % len(c.nodes)], time.monotonic()
        c.ctl(f"label {on.name} number={number}", on=on)  # an entry of the log, and nothing else
        longest, number = max(longest, time.monotonic() - began), number + 1
    return longest


def a_stall_is_hardly_felt(c, node, seconds):
    """No unit stops, and nobody waits longer than for an election: if one had been called, it would be over by then."""
    c.start("w@{1..6}")
    runs, calm = c.invocations("w@*"), longest_request(c, seconds=0.5)
    with stalled_disk(node):
        longest = longest_request(c, seconds)
    assert longest < 2 * calm + ELECTION_S, f"a request took {longest:.2f} s, and {calm:.2f} s without that"
    assert c.invocations("w@*") == runs
    assert set(c.node_states().values()) == {"online"}
    eventually(lambda: all(member["lag"] == 0 for member in c.status()["members"]), what="its log has caught up")
    assert c.invocations("w@*") == runs


def test_of_the_leader_for_1_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.leader(), 1)


def test_of_the_leader_for_2_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.leader(), 2)


@long
def test_of_the_leader_for_5_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.leader(), 5)


def test_of_a_voter_for_1_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.followers()[0], 1)


def test_of_a_voter_for_2_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.followers()[0], 2)


@long
def test_of_a_voter_for_5_s(c: Cluster):
    a_stall_is_hardly_felt(c, c.followers()[0], 5)


main(nodes=3, conf=QUICK)
