#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A unit that is moved while its old node is not heard for less than its lease begins on the new one when it has ended on the old."""

from lib import Cluster, eventually, main

# Nothing here is to be lost: however slow the machine, a test ends before this.
PATIENT = ["Cluster.LeaseSec=60"]


def why(c, unit, on):
    return c.ctl_result(f"why {unit}", on=on).out


def waits_for(c, unit, node, on):
    return f"it waits until it has ended on {node.name}, which is not heard at present" in why(c, unit, on)


def drained(c, drain, runs, victim, rest, others):
    """Lets the drain end, and looks at every unit all the time: those of `runs` never run twice, and end up elsewhere."""
    def all_have_moved():
        begun = {unit for unit, _ in c.invocations("w@*", rest)}  # asked first: what then still runs there runs twice
        twice = begun & {unit for unit, _ in c.invocations("w@*", [victim])}
        assert not twice, f"ran twice: {twice}"
        return begun >= {unit for unit, _ in runs}
    try:
        eventually(all_have_moved)
    except AssertionError as reason:
        told = "".join(why(c, unit, rest[0]) for unit, _ in runs)
        raise AssertionError(f"{reason}\n{told}{c.ctl_result('list-units', on=rest[0]).out}") from None
    result = drain.result()
    assert result.status == 0, result.err
    assert c.spread("w@*").get(victim.name, 0) == 0
    c.assert_once("w@*", 6)
    assert others.items() <= c.invocations("w@*").items(), "a unit of another node was touched"


def test_a_daemon_that_is_dead_during_a_drain(c: Cluster):
    c.start("w@{1..6}")
    victim = c.followers()[0]
    rest = [node for node in c.nodes if node.name != victim.name]
    runs, others = c.invocations("w@*", [victim]), c.invocations("w@*", rest)
    victim.run("systemctl kill -s KILL argosyd.service; systemctl stop argosyd.socket argosyd.service")
    drain = c.begin(f"drain {victim.name}", on=rest[0])
    for unit, _ in runs:
        eventually(lambda: waits_for(c, unit, victim, rest[0]))
    assert c.invocations("w@*") == runs | others, "a unit ended, or began elsewhere"
    victim.run("systemctl start argosyd.socket argosyd.service")
    drained(c, drain, runs, victim, rest, others)


def test_a_leader_that_has_not_heard_the_old_node(c: Cluster):
    c.start("w@{1..6}")
    old, victim = c.leader(), c.followers()[0]
    rest = [node for node in c.nodes if node.name != victim.name]
    asked = next(node for node in rest if node.name != old.name)
    runs, others = c.invocations("w@*", [victim]), c.invocations("w@*", rest)
    victim.partition()
    drain = c.begin(f"drain {victim.name}", on=asked)
    for unit, _ in runs:  # its record names another node now
        eventually(lambda: "it waits until it has ended on" in why(c, unit, asked))
    old.run("systemctl kill -s KILL argosyd.service")
    for unit, _ in runs:
        eventually(lambda: waits_for(c, unit, victim, asked))
    assert c.invocations("w@*") == runs | others, "a unit ended, or began elsewhere"
    victim.heal()
    drained(c, drain, runs, victim, rest, others)


main(nodes=3, conf=PATIENT)
