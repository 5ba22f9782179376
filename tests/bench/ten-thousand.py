#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idle-10k, agent-memory, kill-seen, resync-10k: what 10,000 units on one node cost, half of them active

The leader is n1, alone in the log; all units are on n2, which is an agent and nothing else. What is measured of argosyd is
the larger figure of the two, except for agent-memory, which is n2's.

Booting, making and removing 10,000 units and looking at them for minutes is one round; there are ROUNDS_MAX of them at most.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

from bench import LONG_S, PROGRAMS, TEMPLATE, Bench, Failure, emit, emit_share, main, say, wait_for
from measure import all_counters, counters, cpu_ms, private_kb
from plain import run_client, span, without_argosyd

ROUNDS_MAX = 1

ACTIVE = IDLE = 5000
FEW = 500  # of each, for the memory of few units
PINNED = TEMPLATE + "[X-Argosy]\nMachineMetadata=bench=units\n"
NAMES = [f"active@{{1..{ACTIVE}}}.service", f"idle@{{1..{IDLE}}}.service"]

SETTLE_S = 12    # what comes after: units are dropped from memory, freed pages are given back
WINDOW_S = 60
OTHER_WAYS = {"fleet-way": 20, "old-way": 30}  # seconds; what they do is the same in every one
KILLS = 300
RESYNCS = 5
MOVED = 1000     # so many units stop and as many start while argosyd is stopped


class TenThousand:
    def __init__(self, bench: Bench):
        self.bench = bench
        self.leader, self.node = bench.nodes
        self.figures = {}

    def note(self, *figure):
        """name, metric, unit, value"""
        *key, value = figure
        self.figures.setdefault(tuple(key), []).append(value)

    def report(self):
        for (name, metric, unit), values in self.figures.items():
            emit(name, metric, unit, values)

    # making and removing them

    def make(self, first, last):
        for verb, name in [("load", "idle"), ("start", "active")]:
            self.bench.ctl(f"{verb} {name}@{{{first}..{last}}}", timeout=LONG_S)

    def submit(self):
        for name in ["idle", "active"]:
            self.bench.submit(f"{name}@.service", PINNED)

    def remove(self):
        self.bench.ctl("destroy '*'", timeout=LONG_S)

    # what they cost while nothing happens

    def watch(self):
        """{CPU ms of argosyd, CPU ms of PID 1, calls, signals} a minute. The counters are read outside of the time that counts."""
        nodes, pids = self.bench.nodes, [node.argosyd_pid_outside() for node in self.bench.nodes]
        time.sleep(SETTLE_S)
        before = [counters(node) for node in nodes]
        time.sleep(1)
        began, first = time.monotonic(), [cpu_ms(pid) for pid in [*pids, self.node.init_pid()]]
        time.sleep(WINDOW_S)
        minutes = (time.monotonic() - began) / 60
        *cpu, pid1 = [(cpu_ms(pid) - start) / minutes for pid, start in zip([*pids, self.node.init_pid()], first)]
        after = [counters(node) for node in nodes]
        say("CPU ms a minute: " + " ".join(f"{node.name} {ms:.1f}" for node, ms in zip(nodes, cpu)) + f" PID 1 {pid1:.1f}")
        calls, signals = (max(late[k] - early[k] for early, late in zip(before, after)) / minutes for k in range(2))
        return {"cpu": cpu, "pid1": pid1, "calls": calls, "signals": signals}

    def idle(self, empty, full):
        self.note("idle-10k", "cpu-over-empty", "ms/min", max(f - e for e, f in zip(empty["cpu"], full["cpu"])))
        self.note("idle-10k", "pid1", "ms/min", full["pid1"])
        self.note("idle-10k", "calls", "1/min", full["calls"])
        self.note("idle-10k", "signals", "1/min", full["signals"])

    def other_way(self, way):
        """The same units, followed by asking. argosyd does not run."""
        client = subprocess.Popen(self.node.command([f"{PROGRAMS}/poll-client", way, *NAMES]), text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        began, pid1 = time.monotonic(), cpu_ms(self.node.init_pid())
        time.sleep(OTHER_WAYS[way])
        out, err = client.communicate("")
        pid1, minutes = cpu_ms(self.node.init_pid()) - pid1, (time.monotonic() - began) / 60
        if client.returncode != 0:
            raise Failure(f"poll-client {way}: {err.strip()}")
        rounds, calls, signals, cpu = (float(word) for word in out.split())
        say(f"{way}: {rounds:.0f} rounds begun in {60 * minutes:.1f} s")
        for metric, unit, value in [("cpu", "ms/min", cpu), ("pid1", "ms/min", pid1), ("calls", "1/min", calls),
                                    ("signals", "1/min", signals)]:
            self.note("idle-10k", f"{way}-{metric}", unit, value / minutes)

    # memory

    def memory_kb(self):
        time.sleep(SETTLE_S)
        kb = private_kb(self.node.argosyd_pid_outside())
        say(f"private memory of argosyd: {kb} kB")
        return kb

    # a unit is killed

    def kill_seen(self):
        victims = list(self._processes("active@"))[:KILLS]
        if len(victims) < KILLS:
            raise Failure(f"only {len(victims)} units run")
        lines = "".join(f"{unit} {pid}\n" for unit, pid in victims)
        found_ms = [float(line) for line in self._ask_leader("kill", input=lines).split()]
        for percent in [50, 99]:
            emit_share("kill-seen", percent, "ms", found_ms)
        self.bench.ctl("start " + " ".join(unit for unit, _ in victims), timeout=LONG_S)

    def _processes(self, prefix):
        """(unit, process id as seen from here) of the node's units."""
        for path, _, _ in os.walk(self.node.cgroup("")):
            unit = os.path.basename(path)
            if unit.startswith(prefix):
                for pid in Path(f"{path}/cgroup.procs").read_text().split():
                    yield unit, int(pid)

    def _ask_leader(self, *words, input=None):
        path = f"/proc/{self.leader.init_pid()}/root/run/argosy/argosy.sock"
        done = subprocess.run([self.bench.programs / "leader-sees", path, *words], input=input, text=True, capture_output=True)
        if done.returncode != 0:
            raise Failure(done.stderr.strip())
        return done.stdout

    # gaps

    def after_sigstop(self):
        """argosyd does not run while units change. (systemd holds signals back then, and not the oldest come first.)"""
        argosyd = self.node.argosyd_pid_outside()
        os.kill(argosyd, signal.SIGSTOP)
        try:
            self._move("stop", "active", "start", "idle")
        finally:
            began = time.monotonic()
            os.kill(argosyd, signal.SIGCONT)
        seen = [float(self._ask_leader("active", str(count), f"{name}@*"))
                for name, count in [("active", ACTIVE - MOVED), ("idle", MOVED)]]
        self.note("resync-10k", "sigstop", "ms", 1000 * (max(seen) - began))
        self._move("stop", "idle", "start", "active")
        wait_for(lambda: self._leader_counts() == (ACTIVE, 0), "the leader to see the units as they were")

    def _move(self, *words):
        for verb, name in zip(words[::2], words[1::2]):
            span([run_client(self.node, verb, [f"{name}@{number}.service" for number in range(1, MOVED + 1)])], f"{verb} {name}")

    def after_reexec(self):
        before = all_counters(self.node)["resyncs"]
        self.node.run("systemctl daemon-reexec", timeout=LONG_S)
        found = {}

        def is_over():
            found.update(all_counters(self.node))
            return found["resyncs"] > before

        wait_for(is_over, "the resync after daemon-reexec")
        self.note("resync-10k", "reexec", "ms", found["resync_us"] / 1000)
        if self._leader_counts() != (ACTIVE, 0):
            raise Failure(f"the leader sees {self._leader_counts()} active units, expected {(ACTIVE, 0)}")

    def _leader_counts(self):
        """How many units of each kind are active in the eyes of the leader."""
        active = [row["unit"] for row in self.bench.rows("active@*", "idle@*") if row["active"] == "active"]
        return sum(unit.startswith("active@") for unit in active), sum(unit.startswith("idle@") for unit in active)


def with_memory(ten, look):
    """Makes the units, and notes what memory they take; `look` is called without and with all of them."""
    empty = look()
    base = ten.memory_kb()
    ten.submit()
    ten.make(1, FEW)
    few = ten.memory_kb()
    ten.make(FEW + 1, ACTIVE)
    full = look()
    many = ten.memory_kb()
    ten.note("agent-memory", "base", "MB", base / 1024)
    ten.note("agent-memory", "per-unit-1k", "B", (few - base) * 1024 / (2 * FEW))
    ten.note("agent-memory", "per-unit", "B", (many - base) * 1024 / (ACTIVE + IDLE))
    return empty, full


def round_of(ten):
    empty, full = with_memory(ten, ten.watch)
    ten.idle(empty, full)
    ten.kill_seen()
    for _ in range(RESYNCS):
        ten.after_sigstop()
        ten.after_reexec()
    with without_argosyd(ten.bench):
        for way in OTHER_WAYS:
            ten.other_way(way)
    ten.remove()


def run(bench, rounds, only=None):
    ten = TenThousand(bench)
    for _ in range(min(rounds, ROUNDS_MAX)):
        if only == "memory":
            with_memory(ten, lambda: None)
        else:
            round_of(ten)
    ten.report()


# The lease is long because a host that is stopped for longer is lost, and this is about the host's own way back.
main(run, nodes=2, conf=["n2:Node.Labels=bench=units", "Cluster.LeaseSec=60"], parts=["memory"])
