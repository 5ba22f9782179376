#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""New files and restarts go through units a few at a time, and come back if they are bad."""

import re

from lib import QUICK, SLEEPER, Cluster, eventually, main

COUNT = 12
UNITS = f"r@{{1..{COUNT}}}"


def service(seconds, options=""):
    """A unit that takes a moment to start, and notes when it came up and went down."""
    note = "/bin/sh -c 'echo $(date +%%s%%N) %n {} >>/root/events'"
    return (f"[Service]\nExecStartPre=/bin/sleep 0.2\nExecStart=/bin/sleep {seconds}\nExecStartPost={note.format('up')}\n"
            f"ExecStop={note.format('down')}\n[X-Argosy]\n{options}\n")


BROKEN = "[Service]\nExecStart=/bin/sh -c 'exit 7'\nRestart=no\n"


def write(node, text, name="r@.service"):
    node.write(f"/root/units/{name}", text)
    return f"/root/units/{name}"


def running_with(c, seconds):
    """How many units run with that argument, as the processes say."""
    out = "".join(node.run("ps -eo args") for node in c.running_nodes)
    return len(re.findall(rf"^/bin/sleep {seconds}$", out, re.MULTILINE))


def most_down(c):
    """How many were down at once, by what the units have noted. All nodes have the same clock."""
    events, down, most = [], set(), 0
    for node in c.nodes:
        path = node.path("/root/events")
        for line in path.read_text().splitlines() if path.exists() else []:
            at, unit, what = line.split()
            events.append((int(at), unit if "@" in unit else f"{unit} on {node.name}", what))
    for _, unit, what in sorted(events):
        if what == "down":
            down.add(unit)
        else:
            down.discard(unit)
        most = max(most, len(down))
    return most


def watch(c, command, on="n1"):
    """Runs it; how many were down at most meanwhile, and its result."""
    for node in c.nodes:
        node.run("rm -f /root/events")
    result = c.begin(command, on=c.node(on)).result(within=120)
    return most_down(c), result


def test_an_update_takes_down_no_more_than_it_may(c: Cluster):
    c.start(UNITS, service(7001))
    path = write(c.node("n1"), service(7002))
    down, result = watch(c, f"update {path} --max-unavailable=3 --health=0.3s")
    assert result.status == 0, result.err
    assert 0 < down <= 3, f"{down} were down at once"
    eventually(lambda: running_with(c, 7002) == COUNT and running_with(c, 7001) == 0)
    c.assert_once("r@*", COUNT)


def test_an_update_that_fails_goes_back(c: Cluster):
    c.start("r@{1..6}", service(7001))
    path = write(c.node("n1"), BROKEN)
    others = c.invocations("r@{2..6}")
    down, result = watch(c, f"update {path}")
    assert result.status == 1 and "r@1.service on n" in result.err and "file of before again" in result.err, result.err
    assert down <= 1
    eventually(lambda: running_with(c, 7001) == 6)
    assert others.items() <= c.invocations("r@*").items(), "another one was touched"
    assert "7001" in c.ctl("cat r@.service")


def test_a_rolling_restart_restarts_each_once(c: Cluster):
    c.start("r@{1..6}", service(7001))
    before = c.invocations("r@*")
    down, result = watch(c, "restart --rolling --max-unavailable=50% --health=0.3s r@")
    assert result.status == 0, result.err
    assert 0 < down <= 3, f"{down} were down at once"
    after = c.invocations("r@*")
    assert before.keys() == after.keys() and not set(before.values()) & set(after.values())


def test_a_global_unit_is_updated_node_by_node(c: Cluster):
    c.start("g.service", service(7001, "Global=yes"))
    eventually(lambda: running_with(c, 7001) == 3)
    path = write(c.node("n1"), service(7002, "Global=yes"), "g.service")
    down, result = watch(c, f"update {path} --health=0.5s")
    assert result.status == 0, result.err
    assert down == 1
    eventually(lambda: running_with(c, 7002) == 3)
    before = c.invocations("g")
    path = write(c.node("n1"), BROKEN + "[X-Argosy]\nGlobal=yes\n", "g.service")
    said = c.ctl_fails(f"update {path}", on=c.node("n1"), saying="everything has the file of before again").err
    assert said.count("exit-code") == said.count("goes back") == 1, said
    eventually(lambda: running_with(c, 7002) == 3)
    assert len(set(before.values()) & set(c.invocations("g").values())) == 2, "more than one node was touched"


def test_what_a_restart_does_not_change_stays_as_it_was(c: Cluster):
    path = write(c.nodes[0], "[Service]\nExecStart=/bin/sleep 600\nEnvironmentFile=/nowhere\n[X-Argosy]\nGlobal=yes\n", "nowhere.service")
    c.ctl_fails(f"start {path}", saying="start failed (resources)")
    eventually(lambda: all(row["error"] for row in c.json("list-units nowhere")))
    c.ctl_fails("restart --rolling nowhere", saying="nothing more is changed")
    assert all(row["error"] for row in c.json("list-units nowhere")), c.json("list-units nowhere")
    c.ctl_fails(f"update {path}", saying="it has that file already")
    c.ctl("destroy nowhere")


def test_an_update_survives_its_leader(c: Cluster):
    c.start("r@{1..6}", service(7001))
    leader = c.leader()
    client = next(node for node in c.nodes if node.name != leader.name)
    path = write(client, service(7002))
    update = c.begin(f"update {path} --health=0.5s", on=client)
    eventually(lambda: running_with(c, 7002) >= 1)
    leader.kill()
    result = update.result(within=120)
    assert result.status == 0, result.err
    eventually(lambda: running_with(c, 7002) == 6)
    leader.boot()
    c.wait_online()
    eventually(lambda: running_with(c, 7001) == 0)
    c.assert_once("r@*", 6)


def test_an_update_can_be_given_up(c: Cluster):
    c.start("r@{1..6}", service(7001))
    path = write(c.node("n1"), service(7002))
    update = c.begin(f"update {path} --health=1h", on=c.node("n1"))
    eventually(lambda: running_with(c, 7002) == 1)
    assert c.file_row("r@.service")["state"] == "updating"
    c.ctl_fails(f"update {path}", on=c.node("n1"), saying="it is being updated")
    c.ctl_fails("why r@.service", status=3, saying="it is being updated, 6 of 6 are left; 1 down or new, and 1 may be")
    c.ctl("update --abort r@")
    result = update.result()
    assert result.status == 1 and "its owner gave it up" in result.err, result.err
    eventually(lambda: running_with(c, 7001) == 6)


def test_a_drain_keeps_to_the_budget(c: Cluster):
    c.start("r@{1..9}", service(7001, "MaxUnavailable=1"))
    down, result = watch(c, "drain n2")
    assert result.status == 0, result.err
    assert down <= 1, f"{down} were down at once"
    eventually(lambda: len(c.active("r@*")) == 9)  # a drain is over when the node is empty, not when all are up elsewhere
    assert c.spread("r@*").get("n2", 0) == 0
    c.assert_once("r@*", 9)


def test_what_goes_down_with_a_unit_keeps_to_its_own_budget(c: Cluster):
    names = [str(i) for i in range(1, 4)]
    c.submit("under@.service", SLEEPER)
    c.submit("bound@.service", "[Unit]\nBindsTo=under@%i.service\nAfter=under@%i.service\n" + SLEEPER +
             "[X-Argosy]\nMachineOf=under@%i.service\nMaxUnavailable=1\n")
    c.ctl("start under@{1..3} bound@{1..3}")
    before = {i: c.row(f"bound@{i}.service")["since"] for i in names}
    path = write(c.node("n1"), "[Service]\nExecStart=/bin/sleep 5000\n", "under@.service")
    c.ctl(f"update --max-unavailable=3 --health=200ms {path}", c.node("n1"))
    since = sorted((c.row(f"under@{i}.service")["since"], c.row(f"bound@{i}.service")["since"]) for i in names)
    assert all(c.row(f"bound@{i}.service")["since"] > before[i] for i in names), "systemd did not take them down"
    for (_, was_back), (next_up, _) in zip(since, since[1:]):
        assert was_back <= next_up, f"the next one was taken down while one was down: {since}"
    c.ctl("destroy under@{1..3} bound@{1..3} under@.service bound@.service")


def test_nonsense_is_refused(c: Cluster):
    c.ctl_fails("update nothing@.service", saying="there is no file of that name")
    c.start("r@1")
    c.ctl_fails("update r@1", saying="name its template")
    c.ctl_fails("update 'r@*'", status=2, saying="name the template")
    c.ctl_fails("update r@ --max-unavailable=0", status=2, saying="a number from 1 on")
    c.ctl_fails("update --abort r@", saying="nothing is under way")
    path = write(c.node("n1"), SLEEPER + "[X-Argosy]\nMaxUnavailable=none\n")
    c.ctl_fails(f"update {path}", on=c.node("n1"), saying="r@.service:4: MaxUnavailable=none is neither")


main(conf=QUICK)
