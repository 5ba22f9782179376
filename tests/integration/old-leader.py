#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A leader that was frozen while another took over orders nothing when it wakes up."""

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays


def replace_frozen_leader(c):
    """Freezes the leader until the others have another one; returns the old one and the rest."""
    old = c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    old.pause()
    eventually(lambda: c.leader_name(rest[0]) not in (None, old.name))
    return old, rest


def test_it_obeys_the_new_one_and_orders_nothing(c: Cluster):
    c.start("w@{1..9}")
    old, rest = replace_frozen_leader(c)
    eventually(lambda: c.node_states(rest[0])[old.name] == "lost")
    c.ctl("stop w@1", on=rest[0])
    c.ctl("destroy w@2", on=rest[0])
    c.ctl("restart w@3", on=rest[1])
    c.ctl("start w@10", on=rest[1])
    eventually(lambda: sum(c.spread("w@*").get(node.name, 0) for node in rest) == 8)
    runs = c.invocations("w@*", rest)

    old.resume()
    eventually(lambda: c.leader_name(old) == c.leader_name(rest[0]))
    c.wait_online()
    eventually(lambda: old.name not in c.spread("w@*"), what="the old leader's node has given up what moved")
    stays(lambda: c.invocations("w@*", rest) == runs, 2, "nothing changed on the other nodes")
    assert c.where("w@1") is None and "w@2.service" not in c.known()
    c.assert_once("w@*", 8)


def test_a_request_that_waits_at_it_finds_the_new_leader(c: Cluster):
    c.start("w@1")
    old = c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    old.pause()
    waiting = c.begin("start --timeout=60s w@2", on=old)
    eventually(lambda: c.leader_name(rest[0]) not in (None, old.name))
    old.resume()
    result = waiting.result()
    assert result.status == 0, result
    c.wait_online()
    c.assert_once("w@*", 2)


def test_a_short_freeze_of_every_daemon_stops_nothing(c: Cluster):
    c.start("w@{1..6}")
    runs = c.invocations("w@*")
    for node in c.nodes:
        node.pause()
    stays(lambda: c.invocations("w@*") == runs, 3)
    for node in c.nodes:
        node.resume()
    c.wait_online()
    c.ctl("start w@7")
    c.assert_once("w@*", 7)
    now = c.invocations("w@*")
    assert all(now.get(run) == id for run, id in runs.items()), "healthy units were stopped"


main(nodes=3, conf=QUICK)
