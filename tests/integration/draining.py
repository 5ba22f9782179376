#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Owners close nodes, empty them and label them."""

import json

from lib import QUICK, SLEEPER, Cluster, eventually, main

STUBBORN = "[Service]\nExecStart=/bin/sh -c 'trap \"sleep 1; exit 0\" TERM; sleep infinity & wait'\nKillMode=mixed\n"
ON_SSD = SLEEPER + "[X-Argosy]\nMachineMetadata=disk=ssd\n"
GLOBAL = SLEEPER + "[X-Argosy]\nGlobal=true\n"


def other_than(c, *names):
    return next(node for node in c.nodes if node.name not in names)


def node_row(c, name):
    [row] = [row for row in c.json("list-nodes") if row["node"] == name]
    return row


def test_a_cordoned_node_takes_no_new_units(c: Cluster):
    c.start("w@{1..3}")
    before, on_n2 = c.invocations("w@*"), c.spread("w@*").get("n2")
    c.ctl("cordon n2 --reason='new disks'")
    c.start("w@{4..9}")
    assert c.spread("w@*").get("n2") == on_n2
    assert before.items() <= c.invocations("w@*").items(), "a unit was moved or restarted"
    assert node_row(c, "n2")["mode"] == "cordoned"
    assert "online,cordoned" in c.ctl("list-nodes")
    c.ctl("cordon n1 n3")
    c.submit("late.service", SLEEPER)
    c.ctl_fails("start late", saying=("n2: the node is cordoned: new disks", "n1: the node is cordoned"))
    c.ctl("uncordon n1 n2 n3")
    eventually(lambda: c.where("late"))


def test_a_drain_moves_units_and_stops_each_before_it_starts_again(c: Cluster):
    c.start("w@{1..6}", STUBBORN)
    c.start("all.service", GLOBAL)
    others = c.invocations("w@*", [c.node("n1"), c.node("n3")])
    drain = c.begin("drain n2", on="n1")
    while not drain.is_over:
        twice = c.twice("w@*")
        assert not twice, f"ran twice during the drain: {twice}"
    result = drain.result()
    assert result.status == 0, result.err
    assert c.spread("w@*").get("n2", 0) == 0
    assert others.items() <= c.invocations("w@*").items(), "a unit of another node was touched"
    eventually(lambda: len(c.active("w@*")) == 6)
    c.assert_once("w@*", 6)
    assert len(c.active("all")["all.service"]) == 3, "a drain stops no global units"


def test_a_unit_that_cannot_leave_is_named_and_goes_on_until_the_deadline(c: Cluster):
    c.ctl("label n3 disk=ssd")
    try:
        c.start("fast.service", ON_SSD)
        run = c.invocation("fast")
        c.ctl_fails("drain n3", saying=("1 unit cannot leave", "fast.service", "n1: needs label disk=ssd", "n3: the node is being drained"))
        assert c.invocation("fast") == run, "what cannot leave was stopped"
        c.ctl("drain n3 --deadline=1s")
        assert c.where("fast") is None
        c.ctl("label n1 disk=ssd")
        eventually(lambda: c.spread("fast") == {"n1": 1})
    finally:
        c.ctl("label n1 disk-")
        c.ctl("label n3 disk-")


def test_a_drain_survives_its_leader(c: Cluster):
    c.start("w@{1..9}", STUBBORN)
    leader = c.leader()
    drained = other_than(c, leader.name)
    drain = c.begin(f"drain {drained.name}", on=other_than(c, leader.name, drained.name))
    eventually(lambda: node_row(c, drained.name)["mode"] == "draining")
    leader.kill()
    result = drain.result()
    assert result.status == 0, result.err
    eventually(lambda: c.spread("w@*") == {other_than(c, leader.name, drained.name).name: 9})
    leader.boot()
    c.wait_online()
    assert node_row(c, drained.name)["mode"] == "draining"


def test_maintenance_empties_a_node_for_a_reboot_and_what_moved_stays(c: Cluster):
    c.start("w@{1..3}")
    c.start("all.service", GLOBAL)
    c.ctl("maintenance n3")
    assert c.spread("w@*").get("n3") is None and c.spread("all").get("n3") is None
    c.node("n3").kill()
    c.node("n3").boot()
    c.wait_online()
    assert node_row(c, "n3")["mode"] == "maintenance"
    assert len(c.active("all")["all.service"]) == 2
    before = c.invocations("w@*")
    c.ctl("uncordon n3")
    eventually(lambda: len(c.active("all")["all.service"]) == 3)
    assert c.invocations("w@*") == before


def test_labels_set_at_run_time_outlive_a_membership(c: Cluster):
    c.ctl("label n3 rack=r7")
    assert node_row(c, "n3")["labels"]["rack"] == "r7"
    c.ctl("cluster remove n3", on="n1")
    eventually(lambda: len(c.json("list-nodes", on="n1")) == 2)
    eventually(lambda: [row["node"] for row in c.json("list-nodes", on="n3")] == ["n3"])
    c.join(c.node("n3"), to=c.node("n1"))
    eventually(lambda: node_row(c, "n3")["labels"].get("rack") == "r7")
    c.ctl("label n3 rack-")
    assert "rack" not in node_row(c, "n3")["labels"]


def test_a_plan_says_what_start_then_does_and_why_says_why_not(c: Cluster):
    c.submit("w@.service", SLEEPER)
    planned = {row["unit"]: row["node"] for row in c.json("plan w@{1..3}")}
    assert c.known() == {"w@.service"}, "a plan stored something"
    c.ctl("start w@{1..3}")
    assert {unit: [node] for unit, node in planned.items()} == c.active("w@*")
    assert "would start" in c.ctl("plan w@4") and "is started already" in c.ctl("plan w@1")
    assert c.ctl_result("why 'w@*'").status == 0
    c.ctl("cordon n1 n2 n3 --reason=closed")
    c.ctl_fails("start w@5")
    c.ctl_fails("why w@5", status=3, saying=("w@5.service: no node takes it at present", "n2: the node is cordoned: closed"))
    [told] = json.loads(c.ctl_result("why w@5 --json=short").out)
    assert len(told["refusals"]) == 3 and not told["as_wanted"]


def test_nonsense_is_refused(c: Cluster):
    c.ctl_fails("cordon n9", saying="there is no node 'n9'")
    c.ctl_fails("label n1 rack", status=2, saying="neither KEY=VALUE nor KEY-")
    c.ctl_fails("label n1 'r k=1'", saying="'r k=1' is no label")
    c.ctl_fails("drain", status=2)
    c.ctl_fails("drain n1 --deadline=never", status=2, saying="time span")


main(conf=QUICK)
