#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several nodes that one command empties: what has to leave them moves once, to where it can stay."""

from lib import PATIENT, Cluster, eventually, main

# Leaves a line in /root/runs of its node for every run, and goes on.
COUNTED = "[Service]\nExecStartPre=/bin/sh -c 'echo %n >>/root/runs'\nExecStart=/bin/sleep infinity\n"


def test_what_leaves_several_nodes_is_started_once_more_and_never_on_one_of_them(c: Cluster):
    c.start("w@{1..16}", COUNTED)
    before = c.invocations("w@*")
    left = {unit for unit, node in before if node in ("n1", "n2")}
    assert 0 < len(left) < 16
    c.ctl("drain n1 n2")
    eventually(lambda: len(c.active("w@*")) == 16)  # a drain is over when the nodes are empty, not when all are up elsewhere
    assert set(c.spread("w@*")) == {"n3", "n4"}
    c.assert_once("w@*", 16)
    runs = {unit: c.runs(unit) for unit, _ in before}
    assert runs == {unit: 2 if unit in left else 1 for unit, _ in before}, runs
    assert {key: run for key, run in before.items() if key[0] not in left}.items() <= c.invocations("w@*").items()
    c.ctl("uncordon n1 n2")
    assert "drain" not in c.ctl("list-nodes")


def test_what_nobody_takes_stays_and_every_node_says_so(c: Cluster):
    c.start("v@{1..8}", COUNTED)
    before = c.invocations("v@*")
    result = c.ctl_fails("drain n1 n2 n3 n4", saying=("n1: 2 units cannot leave", "n4: 2 units cannot leave", "n2: the node is being drained"))
    assert all(unit + ":" in result.err for unit, _ in before), result.err
    assert c.invocations("v@*") == before, "what cannot leave was stopped"
    c.ctl("uncordon n4")
    eventually(lambda: c.spread("v@*") == {"n4": 8})
    assert max(c.runs(unit) for unit, _ in before) == 2


def test_one_wrong_name_changes_nothing(c: Cluster):
    c.ctl_fails("drain n1 n7 n2", saying="there is no node 'n7'; nothing was changed")
    c.ctl_fails("cordon n1 n7", saying="there is no node 'n7'; nothing was changed")
    assert "drain" not in c.ctl("list-nodes") and "cordoned" not in c.ctl("list-nodes")


main(nodes=4, conf=PATIENT)
