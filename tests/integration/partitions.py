#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The network fails and not the nodes: everything goes on where there is a majority, nothing healthy is stopped, and when it
heals every unit runs once."""

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays


def assert_healed(c, count):
    c.wait_online()
    eventually(lambda: all(len(nodes) == 1 for nodes in c.active("w@*").values()) and len(c.active("w@*")) == count,
               what="every unit runs once")
    c.assert_once("w@*", count)


def cut_off_and_back(c, victim, direction):
    """Cuts a node off until its units run elsewhere, lets the rest work, and heals it again."""
    rest = [node for node in c.nodes if node.name != victim.name]
    before, on_victim = c.invocations("w@*", rest), c.spread("w@*")[victim.name]
    victim.partition(direction)
    eventually(lambda: c.leader_name(rest[0]) not in (None, victim.name)
               and c.node_states(rest[0])[victim.name] == "lost")
    c.ctl("start w@50", on=rest[1])
    eventually(lambda: sum(c.spread("w@*").get(node.name, 0) for node in rest) == 10, what="all run elsewhere")
    assert c.spread("w@*")[victim.name] == on_victim, "a node that was cut off stopped its units"
    victim.heal()
    assert_healed(c, 10)
    now = c.invocations("w@*")
    stopped = {unit for (unit, node), run in before.items() if now.get((unit, node)) != run}
    assert not stopped, f"healthy units were stopped: {stopped}"


def test_a_node_is_cut_off_and_comes_back(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.followers()[0], "both")


def test_a_node_that_only_hears(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.followers()[0], "out")


def test_a_node_that_only_speaks(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.followers()[0], "in")


def test_the_leader_is_cut_off_and_comes_back(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.leader(), "both")


def test_a_leader_that_only_hears(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.leader(), "out")


def test_a_leader_that_only_speaks(c: Cluster):
    c.start("w@{1..9}")
    cut_off_and_back(c, c.leader(), "in")


def lease(c, seconds):
    """Another lease on all nodes; None: as before."""
    for node in c.nodes:
        path = "/etc/argosy/argosy.conf.d/90-lease.conf"
        node.write(path, f"[Cluster]\nLeaseSec={seconds}\n") if seconds else node.run(f"rm {path}")
        node.run("systemctl restart argosyd")
        c.wait_online()


def test_a_short_interruption_moves_nothing(c: Cluster):
    lease(c, 30)  # how long the shortest interruption takes is for the machine to say
    try:
        c.start("w@{1..9}")
        before = c.invocations("w@*")
        leader, victim = c.leader(), c.followers()[0]
        victim.partition()
        stays(lambda: c.leader_name(leader) == leader.name, 0.8)
        victim.heal()
        c.wait_online()
        stays(lambda: c.invocations("w@*") == before and c.leader_name(leader) == leader.name, 1)
    finally:
        lease(c, None)


def test_the_side_without_a_majority_reads_and_changes_nothing(c: Cluster):
    c.start("w@{1..3}")
    old = c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    old.partition()
    eventually(lambda: c.leader_name(rest[0]))
    eventually(lambda: "Warning" in c.ctl_result("list-units", on=old).err, what="an answer without a leader says how old it is")
    assert "w@1.service" in c.ctl("list-units", on=old)
    old.write("/root/units/late.service", SLEEPER)
    c.ctl_fails("start --timeout=2s /root/units/late.service", on=old, saying="leader")
    c.ctl("stop w@1", on=rest[0])
    old.heal()
    c.wait_online()
    eventually(lambda: c.where("w@1") is None, what="the side that was cut off hears of the stop")
    stays(lambda: c.where("w@1") is None and c.where("late") is None, 1)
    assert "late.service" not in c.known()


main(nodes=3, conf=QUICK)
