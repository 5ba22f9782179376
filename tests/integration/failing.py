#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""When things go wrong, each unit does what its file says: it waits for its node or not, is stopped when that is cut off or
not."""

import time

from lib import KEPT, QUICK, SLEEPER, Cluster, eventually, main, stays

STUBBORN = "[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; sleep infinity & wait; wait'\nTimeoutStopSec=1\n"
FENCED = STUBBORN + "[X-Argosy]\nCutOff=stop\nCutOffSec=1\n"
FENCED_AND_KEPT = FENCED + "NodeLost=keep\n"
FENCED_LATER = STUBBORN + "[X-Argosy]\nCutOff=stop\nCutOffSec=4\n"
DELAYED = SLEEPER + "[X-Argosy]\nNodeLostDelaySec=4s\n"

PICKY = """[Service]
ExecStart=/bin/sh -c 'echo start >> /run/picky-starts; test ! -e /run/picky-is-bad && exec sleep infinity'
[X-Argosy]
RestartElsewhere=2
"""
HOPELESS = "[Service]\nExecStart=/bin/false\n[X-Argosy]\nRestartElsewhere=1\nHost={} {}\n"


def units_on(c, pattern, node):
    return {unit for unit, nodes in c.active(pattern).items() if node.name in nodes}


def started_at(node, unit):
    """In seconds since 1970, by the clock that all nodes share."""
    return float(node.run(f'date -d "$(systemctl show --timestamp=us --property=InactiveExitTimestamp --value {unit})" +%s.%N'))


def why(c, unit):
    return c.ctl_result(f"why {unit}").out


def assert_never_twice(c, pattern, until):
    def look():
        twice = c.twice(pattern)
        assert not twice, f"ran twice: {twice}"
        return until()
    eventually(look)


def test_cut_off_units_have_stopped_before_they_start_elsewhere(c: Cluster):
    c.start("fenced@{1..4}", FENCED)
    c.start("plain@{1..4}")
    spare = next(name for name, role in c.members().items() if not role.startswith("voter"))
    alive, paused = next(node for node in c.followers() if node.name != spare), c.node(spare)
    rest = [node for node in c.nodes if node.name not in (alive.name, paused.name)]
    plain = c.invocations("plain@*", [alive, paused])
    assert units_on(c, "fenced@*", alive) and units_on(c, "fenced@*", paused) and plain
    paused.pause()
    for node in (alive, paused):
        node.partition()
    assert_never_twice(c, "fenced@*", lambda: sum(len(units_on(c, "fenced@*", node)) for node in rest) == 4)
    assert not units_on(c, "fenced@*", alive) and not units_on(c, "fenced@*", paused)
    assert c.invocations("plain@*", [alive, paused]) == plain, "a unit that did not ask for it was stopped"
    for node in (alive, paused):
        node.heal()
    paused.resume()
    c.wait_online()
    assert_never_twice(c, "fenced@*", lambda: len(c.active("fenced@*")) == 4)
    eventually(lambda: all(len(nodes) == 1 for nodes in c.active("plain@*").values()))


def test_a_dead_argosyd_saves_no_cut_off_unit_and_it_returns_with_its_node(c: Cluster):
    c.start("fenced@{1..4}", FENCED_AND_KEPT)
    node = c.followers()[0]
    [unit] = units_on(c, "fenced@*", node)
    node.run("systemctl kill -s KILL argosyd.service; systemctl stop argosyd.socket argosyd.service")
    eventually(lambda: not units_on(c, "fenced@*", node))
    eventually(lambda: "NodeLost=keep" in why(c, unit))
    node.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: units_on(c, "fenced@*", node) == {unit})
    c.assert_once("fenced@*", 4)


def test_whoever_is_not_cut_off_goes_on(c: Cluster):
    c.start("fenced@{1..4}", FENCED_LATER)
    runs = c.invocations("fenced@*")
    for node in c.nodes:
        node.run("systemctl restart argosyd; systemctl daemon-reload; systemctl daemon-reexec")
        node.run("systemctl kill -s KILL 'argosy-guard@*.service'")
        c.wait_online()
    stays(lambda: c.invocations("fenced@*") == runs, during=6.5)  # lease and CutOffSec= are over
    c.ctl("destroy 'fenced@*'")
    eventually(lambda: not c.active("argosy-guard@*"), what="no guard without units")


def test_units_wait_for_a_lost_node_as_long_as_they_say(c: Cluster):
    c.start("kept@{1..4}", KEPT)
    c.start("late@{1..4}", DELAYED)
    node = c.followers()[0]
    [kept], [late] = units_on(c, "kept@*", node), units_on(c, "late@*", node)
    killed = time.time()
    node.kill()
    eventually(lambda: "its node is lost; it moves in " in why(c, late))
    eventually(lambda: late in c.active("late@*"))
    waited = started_at(c.where(late), late) - killed
    assert waited > 5, f"it moved after {waited:.1f} s, not after a lease and 4 s"
    assert kept not in c.active("kept@*")
    assert "NodeLost=keep: it waits for the node" in why(c, kept)
    c.ctl_fails(f"start {kept}", saying="its node is lost, and NodeLost=keep: it waits for the node")
    node.boot()
    eventually(lambda: units_on(c, "kept@*", node) == {kept})
    assert not units_on(c, "late@*", node)


def test_what_fails_on_a_node_is_started_on_another_one(c: Cluster):
    node = c.followers()[0]
    others = [other for other in c.nodes if other.name != node.name]
    node.run("touch /run/picky-is-bad")
    for other in others:
        c.ctl(f"cordon {other.name}")
    c.submit("picky.service", PICKY)
    c.ctl_result("start picky")  # whether it fails before its job ends is systemd's to say
    assert c.row("picky.service")["node"] == node.name
    for other in others:
        c.ctl(f"uncordon {other.name}")
    eventually(lambda: c.where("picky.service") not in (None, node))  # for a moment it is active where it fails, too
    assert node.run("cat /run/picky-starts").split() == ["start", "start"]


def test_what_fails_everywhere_ends_as_failed_and_says_so(c: Cluster):
    hosts = [node.name for node in c.followers()[:2]]
    c.submit("hopeless.service", HOPELESS.format(*hosts))
    c.ctl_result("start hopeless")
    eventually(lambda: "no other node takes it (RestartElsewhere=1)" in why(c, "hopeless"))
    assert why(c, "hopeless").count("it failed there") == 2
    assert c.shown("hopeless.service") == "loaded failed failed"
    assert "no other node takes it" in c.ctl_result("status hopeless").out


def test_what_loops_is_seen_and_moves_if_it_says_so(c: Cluster):
    """systemd never gives these up: a pause between two runs keeps them below its start limit."""
    loop = "[Service]\nExecStart=/bin/sh -c 'sleep 0.3; exit {}'\nRestart=always\nRestartSec=0.2\n[Unit]\nStartLimitIntervalSec=0\n"
    c.submit("loop.service", loop.format(3))
    c.submit("again.service", loop.format(0))
    c.submit("hop.service", loop.format(3) + "[X-Argosy]\nRestartElsewhere=2\n")
    c.ctl("start loop again hop")
    first = c.row("hop.service")["node"]
    eventually(lambda: c.row("loop.service")["looping"])
    assert c.row("loop.service")["restarts"] >= 3
    assert "loop.service" in c.ctl("list-units --state=failed,looping")
    assert "it fails again and again" in why(c, "loop")
    eventually(lambda: c.row("hop.service")["node"] != first)
    eventually(lambda: c.row("again.service")["restarts"] >= 4)
    assert not c.row("again.service")["looping"]
    c.ctl("destroy loop again hop")


main(nodes=4, conf=QUICK)
