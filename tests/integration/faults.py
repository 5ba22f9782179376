#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every way in which systemd, a bus or our own process can lose an event: afterwards the truth is shown, and no unit was stopped.

    tests/integration/faults.py              the short form, as in tools/check
    tests/integration/faults.py --long       longer stops, more transitions, and signals that PID 1 really drops

The units are bound to n2, where the trouble is; n1 leads and hears of them by messages only.
"""

import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from statistics import median

from lib import SLEEPER, Cluster, eventually, main, stays, take_flag
from views import Views

LONG = take_flag("--long")

PID1_STOPPED_S = 30 if LONG else 3
ARGOSYD_STOPPED_S = 60 if LONG else 3
TRANSITIONS = 2000 if LONG else 300
CRASHES = 2000 if LONG else 300
VICTIMS = 10 if LONG else 7

ON_N2 = "[X-Argosy]\nMachineMetadata=number=2\n"
WORKER = "[Unit]\nStartLimitIntervalSec=0\n" + SLEEPER + ON_N2
CRASHING = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=0\n" + ON_N2
N_WORKERS = 20


def names(stem, last):
    return [f"{stem}@{number}.service" for number in range(1, last + 1)]


def runs(node, pattern):
    """{unit: (invocation, main process)} of what is active there."""
    shown = node.run(f"systemctl show --property=Id,InvocationID,MainPID,ActiveState '{pattern}'")
    found = {}
    for block in shown.split("\n\n"):
        unit = dict(line.partition("=")[::2] for line in block.splitlines())
        if unit.get("ActiveState") == "active":
            found[unit["Id"]] = unit["InvocationID"], unit["MainPID"]
    return found


def crew(c, *others):
    """Workers on n2 that nobody may stop, and views of them and others."""
    c.start(f"w@{{1..{N_WORKERS}}}", WORKER)
    node = c.node("n2")
    before = runs(node, "w@*")
    assert len(before) == N_WORKERS
    return node, before, Views(c, names("w", N_WORKERS) + list(others))


class Beside(threading.Thread):
    """Something that is done again and again beside the test, at least twice."""

    def __init__(self, action):
        super().__init__()
        self._action, self._end, self._error, self.times = action, threading.Event(), None, 0

    def run(self):
        try:
            while not self._end.is_set() or self.times < 2:
                self._action()
                self.times += 1
        except Exception as error:
            self._error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self.join()
        if self._error:
            raise self._error


def all_verbs(c, stem):
    """Units go through all verbs; returns which of them are to be active."""
    c.submit(f"{stem}@.service", WORKER)
    c.ctl(f"load {stem}@{{1..40}}")
    c.ctl(f"start {stem}@{{1..30}}")
    c.ctl(f"stop {stem}@{{1..10}}")
    c.ctl(f"restart {stem}@{{11..15}}")
    c.ctl(f"destroy {stem}@{{26..30}}")
    return {f"{stem}@{number}.service" for number in range(11, 26)}


def test_daemon_reload_while_units_are_loaded_and_started(c: Cluster):
    node, before, views = crew(c, *names("r", 40))
    with Beside(lambda: node.run("systemctl daemon-reload")):
        expected = all_verbs(c, "r")
    views.agree()
    assert set(runs(node, "r@*")) == expected
    assert runs(node, "w@*") == before


def test_daemon_reexec_while_units_are_loaded_and_started(c: Cluster):
    node, before, views = crew(c, *names("x", 40))
    _, pid = before.pop("w@1.service")
    since = time.time()
    with Beside(lambda: node.run("systemctl daemon-reexec; sleep 0.3")):  # time to do anything at all in between
        expected = all_verbs(c, "x")
        node.run(f"kill -KILL {pid}")
    views.agree()
    assert c.shown("w@1") == "loaded failed failed"
    assert set(runs(node, "x@*")) == expected
    assert runs(node, "w@*") == before
    lost = "Lost the connection to systemd: (Connection reset by peer|Broken pipe)"
    eventually(lambda: re.search(lost, node.journal("argosyd", since=since, lines=200)))
    said = node.journal("argosyd", since=since, lines=200)
    assert "Bad file descriptor" not in said, said


def test_the_message_bus_dies_and_is_restarted(c: Cluster):
    node, before, views = crew(c, "late.service")
    argosyd = node.argosyd_pid()
    for command in ["kill --signal=KILL dbus.service; busctl list", "restart dbus.service"]:
        bus = node.run("systemctl start dbus.service; systemctl show --property=MainPID --value dbus.service")
        node.run(f"systemctl {command}")
        eventually(lambda: node.run("systemctl show --property=MainPID --value dbus.service") not in (bus, "0\n"))
        c.start("late", WORKER)
        node.run("systemctl kill --signal=KILL w@2")
        views.agree()
        assert c.shown("late") == "loaded active running" and c.shown("w@2") == "loaded failed failed"
        c.ctl("destroy late")
    before.pop("w@2.service")
    assert runs(node, "w@*") == before and node.argosyd_pid() == argosyd


def test_pid_1_does_not_answer(c: Cluster):
    node, before, views = crew(c, *names("late", 5))
    _, victim = before.pop("w@3.service")
    argosyd, pid1 = node.argosyd_pid(), node.init_pid()
    c.submit("late@.service", WORKER)
    os.kill(pid1, signal.SIGSTOP)
    try:
        node.run(f"kill -KILL {victim}")
        starting, stopping = c.begin("start late@{1..5}"), c.begin("stop w@{4..6}")
        stays(lambda: len(c.rows("w@*", on=node)) == N_WORKERS and set(c.node_states().values()) == {"online"}
              and not starting.is_over and not stopping.is_over, PID1_STOPPED_S)
        c.ctl_fails("stop --timeout=2s w@7", saying="goes on")
    finally:
        os.kill(pid1, signal.SIGCONT)
    assert starting.result().status == 0 and stopping.result().status == 0
    views.agree()
    for number in (4, 5, 6, 7):
        del before[f"w@{number}.service"]
    assert c.shown("w@3") == "loaded failed failed" and c.shown("w@7") == "loaded inactive dead"
    assert len(runs(node, "late@*")) == 5
    assert runs(node, "w@*") == before and node.argosyd_pid() == argosyd


def no_watchdog(node):
    """systemd would end a daemon that says nothing for a minute, and with reason."""
    node.run("mkdir -p /run/systemd/system/argosyd.service.d && cd /run/systemd/system/argosyd.service.d && "
             "printf '[Service]\\nWatchdogSec=0\\n' >test.conf && systemctl daemon-reload && systemctl restart argosyd")


def test_argosyd_is_stopped_while_much_happens(c: Cluster):
    node, before, views = crew(c, "spare.service")
    c.submit("spare.service", WORKER)
    c.ctl("load spare")
    if LONG:
        no_watchdog(node)
        c.wait_online()
    argosyd, began, done = node.argosyd_pid(), time.monotonic(), 0
    restless = " ".join(f"w@{number}" for number in range(1, 11))
    node.pause()
    try:
        while done < TRANSITIONS or time.monotonic() < began + ARGOSYD_STOPPED_S:
            node.run(f"systemctl stop {restless}; systemctl start {restless}")
            done += 20
        node.run("systemctl stop w@1; systemctl kill --signal=KILL w@2; systemctl start spare")
        now = runs(node, "w@*")
    finally:
        node.resume()
    c.wait_online()
    views.agree()
    assert c.shown("w@1") == "loaded inactive dead" and c.row("w@1")["drift"]
    assert c.shown("w@2") == "loaded failed failed" and c.shown("spare") == "loaded active running"
    now.pop("w@2.service", None)
    assert runs(node, "w@*") == now and len(now) == N_WORKERS - 2 and node.argosyd_pid() == argosyd
    assert all(now[f"w@{number}.service"] == before[f"w@{number}.service"] for number in range(11, N_WORKERS + 1))


# What somebody with systemctl does to a unit, and what is shown then; None: as before. The unit is active at the beginning.
BY_HAND = [
    ("systemctl stop {unit}", "loaded inactive dead"),
    ("systemctl start {unit}", "loaded active running"),
    ("systemctl restart {unit}", "loaded active running"),
    ("systemctl set-property --runtime {unit} CPUWeight=50", "loaded active running"),
    ("systemctl set-property {unit} TasksMax=50", "loaded active running"),
    ("mkdir -p /etc/systemd/system/{unit}.d && echo '[Service]\nNice=1' >/etc/systemd/system/{unit}.d/a.conf", "loaded active running"),
    ("systemctl daemon-reload", "loaded active running"),
    ("EDITOR='sh -c \"echo [Service] >$1\" --' systemctl edit --runtime {unit} || true", "loaded active running"),
    ("systemctl revert {unit}", "loaded active running"),
    ("systemctl mask {unit}", "masked active running"),
    ("systemctl kill --signal=KILL {unit}", "masked failed failed"),
    ("systemctl unmask {unit}", "loaded failed failed"),
    ("systemctl reset-failed {unit}", "loaded inactive dead"),
    ("systemctl show {unit}", "loaded inactive dead"),
    ("systemctl start {unit}", "loaded active running"),
    ("systemctl freeze {unit} && systemctl thaw {unit}", "loaded active running"),
]


def test_what_systemctl_does_is_shown(c: Cluster):
    node, before, views = crew(c, "plain.service")
    c.start("plain", WORKER)
    for command, shown in BY_HAND:
        node.run(command.format(unit="plain.service"))
        if LONG:
            views.agree()
        eventually(lambda: c.shown("plain") == shown, what=f"{shown} after {command}")
    views.agree()
    for command in ["rm /run/systemd/system/plain.service", "systemctl mask --runtime --force plain && systemctl unmask --runtime plain"]:
        for verb in ["restart", "stop", "start"]:  # up or down, the file is written again when it is needed
            node.run(f"{command}; systemctl daemon-reload")
            c.ctl(f"{verb} plain")
    views.agree()
    assert c.shown("plain") == "loaded active running"
    assert runs(node, "w@*") == before


def test_units_come_and_go_by_other_hands(c: Cluster):
    node, before, views = crew(c, "spare.service", "pin.timer")
    c.submit("spare.service", WORKER)
    c.ctl("load spare")
    for _ in range(3 if LONG else 1):
        node.run("systemctl show --property=Id spare.service")  # systemd loads and drops it
        node.run("systemd-run --quiet --on-active=1h --unit=pin --timer-property=Unit=spare.service true || "
                 "systemd-run --quiet --on-active=1h --unit=spare")  # a timer keeps it in memory
        views.agree()
        node.run("systemctl start spare")
        views.agree()
        assert c.shown("spare") == "loaded active running" and not c.row("spare")["drift"]
        node.run("systemctl stop spare pin.timer; systemctl stop spare.timer || true")
        views.agree()
        assert c.shown("spare") == "loaded inactive dead"
    assert runs(node, "w@*") == before


def cpu_s(node, group):
    """What the processes of a control group have used."""
    return int((node.cgroup(group) / "cpu.stat").read_text().split()[1]) / 1e6


def reports(node):
    """How many changes of units the leader was told."""
    counters = json.loads(node.run("argosyctl counters --json=short"))
    return counters["reports"]


def measure(node, unit):
    return {"restarts": int(node.run(f"systemctl show --property=NRestarts --value {unit}")), "reports": reports(node),
            "argosyd": cpu_s(node, "system.slice/argosyd.service"), "pid1": cpu_s(node, "init.scope"), "seconds": time.monotonic()}


def seen_failing(c, node, runs):
    """Kills one of the units; the seconds until that is shown."""
    unit, (_, pid) = runs.popitem()
    killed = time.monotonic()
    node.run(f"kill -KILL {pid}")
    eventually(lambda: c.shown(unit) == "loaded failed failed")
    return time.monotonic() - killed


def test_a_unit_that_crashes_for_ever_costs_little_and_delays_nobody(c: Cluster):
    node, before, _ = crew(c)
    told = reports(node)
    usual = median(seen_failing(c, node, before) for _ in range(VICTIMS))
    of_victims = reports(node) - told
    c.submit("crash.service", CRASHING)
    c.ctl("start --no-block crash")
    eventually(lambda: measure(node, "crash")["restarts"] > 20)  # the first ones are told one by one
    began = measure(node, "crash")
    beside = median(seen_failing(c, node, before) for _ in range(VICTIMS))
    eventually(lambda: measure(node, "crash")["restarts"] > began["restarts"] + CRASHES, within=120)
    spent = {key: value - began[key] for key, value in measure(node, "crash").items()}
    print(f"{spent}, {of_victims} reports are the victims'; a kill is seen after {beside:.2f} s, without the crashes after {usual:.2f} s")
    # Ten changes of a unit are told at once and then about one a second.
    assert spent["reports"] - of_victims <= 10 + 2 * spent["seconds"]
    assert spent["argosyd"] < 0.5 * spent["pid1"]
    assert beside < usual + 1
    assert c.row("crash")["active"] in ("activating", "failed", "active", "inactive")
    assert runs(node, "w@*") == before
    c.ctl("stop crash")
    assert c.shown("crash") in ("loaded inactive dead", "loaded failed failed")


def memory_mb(pid):
    return int(re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1]) / 1024


def flood(node, enough_mb):
    """Makes PID 1 say so much that it keeps that for a subscriber that does not read, and then no more for it."""
    node.write("/etc/systemd/system/flood@.target", "[Unit]\nDescription=%i\n")
    before, seen = memory_mb(node.init_pid()), []
    while len(seen) < 5 or seen[-1] > seen[-5] + 5 or seen[-1] < before + enough_mb:
        node.run("set -- $(seq -f flood@%g.target 500); systemctl start $*; systemctl stop $*")
        seen.append(memory_mb(node.init_pid()))
        assert len(seen) < 1000, f"PID 1 grew from {before} MB to {seen[-1]} MB and dropped nothing"
    print(f"PID 1 grew from {before:.0f} to {seen[-1]:.0f} MB in {len(seen)} rounds of 1000 jobs")


def signals_that_pid_1_drops(c: Cluster):
    node, before, views = crew(c, "spare.service")
    c.submit("spare.service", WORKER)
    c.ctl("load spare")
    no_watchdog(node)
    c.wait_online()
    node.pause()
    try:
        flood(node, 300)
        node.run("systemctl stop w@1; systemctl kill --signal=KILL w@2; systemctl start spare")
        now = runs(node, "w@*")
    finally:
        node.resume()
    c.wait_online(60)
    views.agree()
    assert c.shown("w@1") == "loaded inactive dead" and c.shown("w@2") == "loaded failed failed"
    assert c.shown("spare") == "loaded active running"
    assert runs(node, "w@*") == now
    print(node.journal("argosyd", lines=10))


if LONG:
    test_signals_that_pid_1_drops = signals_that_pid_1_drops


main(nodes=2, conf=["n1:Node.Labels=number=1", "n2:Node.Labels=number=2"])
