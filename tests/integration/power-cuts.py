#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes lose their power, also with every byte that was not synced: their units start elsewhere, nothing else is touched,
and what was acknowledged is kept."""

from lib import QUICK, SLEEPER, WAITS, Cluster, eventually, main, stays


def others(c, victim):
    return [node for node in c.nodes if node.name != victim.name]


def assert_untouched(c, before, nodes):
    now = c.invocations("w@*", nodes)
    stopped = {run for run, id in before.items() if now.get(run) != id}
    assert not stopped, f"healthy units were stopped: {stopped}"


def own_jobs(c, verb, on):
    return [job for job in c.json("list-jobs --author=cluster --all", on=on) if job["verb"] == verb]


def assert_told(c, victim, moved, on):
    # Why a unit was started again in the night, and when: it has an answer everywhere.
    [lost] = own_jobs(c, "host lost", on)
    assert lost["targets"] == [victim.name] and "was not heard of for" in lost["reason"], lost
    units = c.json(f"job show {lost['job']}", on=on)[0]["units"]
    assert {unit["unit"] for unit in units} == moved
    assert all(unit["from"] == victim.name != unit["node"] and unit["time"] > 0 for unit in units), units
    unit = sorted(moved)[0]
    assert c.json(f"history {unit}", on=on)[0]["job"] == lost["job"]
    assert f"{victim.name} -> " in c.ctl(f"history {unit}", on=on)
    why = c.ctl(f"why {unit}", on=on)
    assert f"the cluster moved it here from {victim.name} at" in why and f"(job {lost['job']})" in why, why
    c.ctl_fails(f"undo {lost['job']}", on=on, saying="has changed nothing that can be put back")
    return lost["job"]


def test_units_of_a_dead_node_start_elsewhere_and_stay_there(c: Cluster):
    c.start("w@{1..9}")
    victim = c.followers()[0]
    rest = others(c, victim)
    before = c.invocations("w@*", rest)
    moved = {run[0] for run in c.invocations("w@*", [victim])}
    victim.kill()
    observer = c.leader(rest[0])
    eventually(lambda: c.node_states(observer)[victim.name] == "lost")
    eventually(lambda: len(c.active("w@*")) == 9)
    c.assert_once("w@*", 9)
    assert_untouched(c, before, rest)
    assert_told(c, victim, moved, observer)

    victim.boot()
    c.wait_online()
    eventually(lambda: [job["targets"] for job in own_jobs(c, "host back", observer)] == [[victim.name]])
    stays(lambda: c.spread("w@*").get(victim.name) is None, 1, "what moved stays where it is")
    c.assert_once("w@*", 9)
    assert_untouched(c, before, rest)


def test_units_of_a_lost_node_are_unknown_until_they_are_placed(c: Cluster):
    victim = c.followers()[0]
    c.start("pinned", SLEEPER + f"[X-Argosy]\nMachineID={victim.machine_id}\n")
    victim.kill(lose_unsynced=True)
    observer = others(c, victim)[0]
    eventually(lambda: c.node_states(observer)[victim.name] == "lost")
    assert c.row("pinned", observer)["active"] in ("unknown", "inactive")
    victim.boot()
    eventually(lambda: c.where("pinned") and c.where("pinned").name == victim.name, what="it starts again where it belongs")


def test_the_leader_dies_and_the_others_carry_on(c: Cluster):
    c.start("w@{1..9}")
    victim = c.leader()
    rest = others(c, victim)
    before = c.invocations("w@*", rest)
    victim.kill(lose_unsynced=True)
    c.ctl("start w@100", on=rest[0])
    assert c.leader(rest[0]).name != victim.name
    eventually(lambda: len(c.active("w@*")) == 10)
    c.assert_once("w@*", 10)
    assert_untouched(c, before, rest)

    victim.boot()
    c.wait_online()
    c.assert_once("w@*", 10)
    assert_untouched(c, before, rest)
    assert c.status(victim)["index"] >= 1


def test_a_waiting_command_survives_the_leader(c: Cluster):
    leader, (node, asker) = c.leader(), c.followers()
    c.submit("slow.service", f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{WAITS}'\n"
                             f"[X-Argosy]\nMachineID={node.machine_id}\n")
    waiting = c.begin("start slow", on=asker)
    eventually(lambda: c.shown("slow", asker) == "loaded activating start")
    leader.kill()
    eventually(lambda: c.leader_name(asker) not in (None, leader.name))
    c.let_go(node)
    result = waiting.result()
    assert result.status == 0, result
    assert c.shown("slow", asker) == "loaded active exited"


def test_what_was_acknowledged_survives_the_loss_of_unsynced_bytes_everywhere(c: Cluster):
    c.submit("w@.service", SLEEPER)
    asker = c.leader()
    starting = [c.begin(f"start --no-block -v w@{{{first}..{first + 9}}}", on=asker) for first in range(1, 61, 10)]
    acknowledged = sum(10 for request in starting if request.result().status == 0)
    assert acknowledged == 60
    for node in c.nodes:
        node.kill(lose_unsynced=True)
    c.bed.boot([node.name for node in c.nodes])
    eventually(lambda: len(c.active("w@*")) == 60)
    c.assert_once("w@*", 60)


main(nodes=3, conf=QUICK)
