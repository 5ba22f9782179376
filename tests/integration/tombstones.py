#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is stopped or destroyed while its node is cut off is not called gone before it is, under any leader, and never begins
anew beside what a guard has not ended yet."""

from lib import KEPT, QUICK, SLEEPER, Cluster, eventually, main

GLOBAL = SLEEPER + "[X-Argosy]\nGlobal=yes\n"
# Goes on for as long as it is let.
FENCED = ("[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\nTimeoutStopSec=2\n"
          "[X-Argosy]\nCutOff=stop\nCutOffSec=2\n")
MAY_RUN = 5


def cut_off(c, victim):
    """Cuts the node off; returns another one, that follows, as soon as the rest calls it lost."""
    asked = next(node for node in c.followers() if node.name != victim.name)
    victim.partition()
    eventually(lambda: c.node_states(asked)[victim.name] == "lost")
    return asked


def change_leader(c, asked):
    old = c.leader(asked)
    old.run("systemctl restart argosyd.service")
    eventually(lambda: c.leader_name(asked) not in (None, old.name) or c.node_states(asked)[old.name] == "online")


def is_up(node, unit):
    return node.run(f"systemctl show --property=ActiveState --value {unit}").strip() in ("active", "deactivating")


def says(victim):
    return f"may still run on {victim.name} until that host is heard"


def is_reported(c, unit, victim, asked):
    """Whoever asks hears that it may still run there; and it does."""
    row = c.row(unit, asked)
    assert is_up(victim, unit)
    return ("destroyed; it may still run until the host is heard" in c.ctl_result(f"why {unit}", on=asked).out
            and (row["node"], row["active"]) == (victim.name, "unknown"))


def assert_gone(c, unit, victim):
    eventually(lambda: not is_up(victim, unit))
    eventually(lambda: c.ctl_result(f"why {unit}").status == 4)
    assert c.rows(unit) == []


def test_a_unit_that_is_destroyed_while_its_node_is_cut_off(c: Cluster):
    c.start("k@{1..6}", KEPT)
    victim = c.followers()[0]
    units = sorted(unit for unit, _ in c.invocations("k@*", [victim]))
    asked = cut_off(c, victim)
    c.ctl_fails(f"destroy {units[0]}", on=asked, status=MAY_RUN, saying=says(victim))
    c.ctl_fails(f"destroy --no-block {units[1]}", on=asked, status=MAY_RUN, saying=says(victim))
    for unit in units[:2]:
        assert is_reported(c, unit, victim, asked)
    change_leader(c, asked)
    for unit in units[:2]:
        eventually(lambda: is_reported(c, unit, victim, asked))
    victim.heal()
    c.wait_online()
    for unit in units[:2]:
        assert_gone(c, unit, victim)


def test_a_global_unit_on_a_node_that_is_cut_off(c: Cluster):
    c.start("g", GLOBAL)
    victim = c.followers()[0]
    asked = cut_off(c, victim)
    c.ctl_fails("stop g", on=asked, status=MAY_RUN, saying=says(victim))
    assert is_up(victim, "g.service")
    change_leader(c, asked)
    c.ctl_fails("destroy g", on=asked, status=MAY_RUN, saying=says(victim))
    assert is_reported(c, "g.service", victim, asked)
    victim.heal()
    c.wait_online()
    assert_gone(c, "g.service", victim)


def test_a_unit_with_a_guard_begins_anew_when_that_has_ended_it(c: Cluster):
    c.start("f@{1..6}", FENCED)
    victim = c.followers()[0]
    asked = next(node for node in c.followers() if node.name != victim.name)
    units = sorted(unit for unit, _ in c.invocations("f@*", [victim]))
    rest = [node for node in c.nodes if node.name != victim.name]
    victim.partition()
    c.ctl_result(f"destroy --no-block {' '.join(units)}", on=asked)  # its silence may not have been noticed
    c.ctl(f"cordon {victim.name}", on=asked)
    c.ctl(f"start --no-block {' '.join(units)}", on=asked)
    change_leader(c, asked)

    def all_have_begun():
        begun = {unit for unit, _ in c.invocations("f@*", rest)} & set(units)  # asked first
        twice = {unit for unit in begun if is_up(victim, unit)}
        assert not twice, f"ran twice: {twice}"
        return begun == set(units)
    eventually(all_have_begun)
    victim.heal()
    c.wait_online()
    c.assert_once("f@*", 6)


main(nodes=3, conf=QUICK)
