#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Most voters are gone: what runs, runs on; reading goes on and says how old it is; changes fail; and there is a way out."""

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays


def lose_the_majority(c):
    """Cuts the power of two nodes; returns the one that is left and those."""
    left = c.followers()[0]
    c.wait_knows(left)
    gone = [node for node in c.nodes if node.name != left.name]
    for node in gone:
        node.kill()
    return left, gone


def test_reads_answer_changes_fail_and_local_units_can_be_stopped(c: Cluster):
    c.start("w@{1..6}")
    left, gone = lose_the_majority(c)
    runs = c.invocations("w@*", [left])
    mine = sorted(unit for unit, _ in runs)

    eventually(lambda: "Warning" in c.ctl_result("list-units", on=left).err, what="it has noticed")
    for verb in ["list-units", "list-unit-files", "list-nodes", "cat w@1", "cluster status"]:
        answer = c.ctl_result(verb, on=left)
        assert answer.status == 0 and "Warning" in answer.err, f"{verb}: {answer}"
    answer = c.ctl_result(f"status {mine[0]}", on=left, timeout=30)
    assert answer.status == 0 and "Warning" in answer.err and "active (running)" in answer.out, answer
    assert {unit for unit in c.known(on=left) if unit.startswith("w@")} == {"w@.service", *(f"w@{n}.service" for n in range(1, 7))}
    left.write("/root/units/new.service", SLEEPER)
    for change in ["start /root/units/new.service", f"stop {mine[0]}", "destroy w@1", "cluster token"]:
        c.ctl_fails(f"{change} --timeout=1s", on=left, saying="leader")
    assert c.invocations("w@*", [left]) == runs

    local = c.json("list-units --local", on=left)
    assert {row["unit"]: row["active"] for row in local} == {unit: "active" for unit in mine}
    c.ctl(f"stop --local {mine[0]}", on=left)
    assert c.where(mine[0]) is None
    left.run("systemctl restart argosyd")
    stays(lambda: set(c.active("w@*")) == set(mine[1:]), 1.5, "a restart without a leader changes nothing")

    c.bed.boot([node.name for node in gone])
    c.wait_online()
    eventually(lambda: len(c.active("w@*")) == 5)
    c.assert_once("w@*", 5)
    assert eventually(lambda: c.row(mine[0])["drift"])
    now = c.invocations("w@*", [left])
    assert all(now[run] == id for run, id in runs.items() if run[0] != mine[0])


def test_a_host_that_reboots_without_a_leader_starts_nothing(c: Cluster):
    c.start("w@{1..6}")
    left, gone = lose_the_majority(c)
    left.kill()
    left.boot()
    stays(lambda: c.active("w@*") == {}, 2)
    c.bed.boot([node.name for node in gone])
    c.wait_online()
    eventually(lambda: len(c.active("w@*")) == 6)
    c.assert_once("w@*", 6)


def test_recover_makes_a_new_generation_that_the_old_ones_obey(c: Cluster):
    c.start("w@{1..6}")
    c.ctl("stop w@6")
    left, gone = lose_the_majority(c)
    runs = c.invocations("w@*", [left])
    generation = c.status(left)["generation"]

    c.ctl_fails("cluster recover", on=left, status=2, saying="--yes")
    c.ctl_fails("cluster recover --yes", on=left, saying="running")
    left.run("systemctl stop argosyd.socket argosyd.service")
    c.ctl("cluster recover --yes", on=left)
    left.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: c.leader_name(left) == left.name)
    assert c.status(left)["generation"] == generation + 1
    assert c.invocations("w@*", [left]) | runs == c.invocations("w@*", [left]), "recovering stopped units"
    eventually(lambda: len(c.active("w@*")) == 5, what="the units of the lost nodes run here")
    c.ctl("start w@7", on=left)

    for node in gone:  # they come back after all, with the old log
        node.boot()
    eventually(lambda: list(c.members(left).values()) == ["voter online"] * 3)
    eventually(lambda: "w@7.service" in c.known(on=gone[0]))
    assert c.leader_name(gone[0]) == c.leader_name(left)
    c.assert_once("w@*", 6)


def test_after_recover_no_request_is_mistaken_for_one_that_was_lost(c: Cluster):
    left, first, second = [*c.followers(), c.leader()]
    c.wait_knows(left)
    c.submit("k@.service", "[Unit]\nStartLimitIntervalSec=0\n" + SLEEPER + "[X-Argosy]\nNodeLost=keep\n")
    c.ctl("start k@{1..3}")
    unit = next(unit for unit in ["k@1", "k@2", "k@3"] if c.where(unit).name == first.name)
    c.wait_knows(left)
    left.partition()
    eventually(lambda: c.leader_name(first) in [first.name, second.name])
    for _ in range(20):  # what the copy of the log that will be the cluster's has never seen
        c.ctl(f"restart {unit}", on=first)
    lost = c.json("list-jobs --limit=1", first)[0]["job"]
    second.kill()
    first.partition()
    left.heal()
    left.run("systemctl stop argosyd.socket argosyd.service")
    c.ctl("cluster recover --yes", on=left)
    left.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: c.leader_name(left) == left.name)
    before = c.invocation(unit)
    job = int(c.ctl(f"restart {unit} --no-block", on=left))
    # Far behind what was lost, however often the cluster was recovered; the record of who leads may come before it.
    assert job > lost and job % 1000000 in (1, 2), (job, lost)
    c.ctl_fails(f"job show {lost}", on=left, saying=f"there is no job {lost}: the cluster was recovered")
    first.heal()

    def runs():
        return [run for nodes in c.lives(unit).values() for run in nodes.values()]

    eventually(lambda: len(runs()) == 1 and runs() != [before], what="the restart that was asked for after all those that were lost")
    second.boot()
    eventually(lambda: list(c.members(left).values()) == ["voter online"] * 3)


main(nodes=3, conf=QUICK)
