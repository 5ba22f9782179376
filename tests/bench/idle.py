#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idle: what a cluster costs that has nothing to do, without units, and with 900 loaded and 900 active ones

CPU time of argosyd (all its threads), and what it says to PID 1 and hears from it, on the node where it is most: that of the
leader, as a rule. Each round measures both, for a minute each.
"""

import time

from bench import Bench, alternate, emit, main, say
from measure import counters, cpu_ms

COUNT = 900
SETTLE_S = 10
WINDOW_S = 60


class Idle:
    def __init__(self, bench: Bench):
        self.bench = bench
        self.with_units, self.without, self.calls, self.signals = [], [], [], []

    def measure_without(self):
        self.bench.assert_active("*e@*", 0)
        self.without.append(max(self._cpu(self._watch())))

    def measure_with(self):
        for name in ["idle", "active"]:
            self.bench.submit(f"{name}@.service")
        self.bench.ctl(f"load idle@{{1..{COUNT}}}")
        self.bench.ctl(f"start active@{{1..{COUNT}}}")
        self.bench.assert_active("active@*", COUNT)
        seen = self._watch()
        self.with_units.append(max(self._cpu(seen)))
        self.calls.append(max(calls for _, calls, _ in seen))
        self.signals.append(max(signals for _, _, signals in seen))
        self.bench.ctl("destroy '*'")

    def _cpu(self, seen):
        say("CPU ms a minute: " + " ".join(f"{node.name} {cpu:.1f}" for node, (cpu, _, _) in zip(self.bench.nodes, seen)))
        return [cpu for cpu, _, _ in seen]

    def _watch(self):
        """[(CPU ms, calls, signals)] a minute, for every node. The counters are read outside of the time that counts."""
        nodes = self.bench.nodes
        pids = [node.argosyd_pid_outside() for node in nodes]
        time.sleep(SETTLE_S)  # what comes after: units are dropped from memory, files are looked at
        before = [counters(node) for node in nodes]
        time.sleep(1)
        cpu, began = [cpu_ms(pid) for pid in pids], time.monotonic()
        time.sleep(WINDOW_S)
        minutes = (time.monotonic() - began) / 60
        cpu = [(cpu_ms(pid) - start) / minutes for pid, start in zip(pids, cpu)]
        after = [counters(node) for node in nodes]
        return [(ms, (late[0] - early[0]) / minutes, (late[1] - early[1]) / minutes) for ms, early, late in zip(cpu, before, after)]


def run(bench, rounds):
    idle = Idle(bench)
    alternate(rounds, idle.measure_without, idle.measure_with)
    emit("idle", "with-units", "ms/min", idle.with_units, idle.without)
    emit("idle", "without", "ms/min", idle.without)
    emit("idle", "calls", "1/min", idle.calls)
    emit("idle", "signals", "1/min", idle.signals)


main(run)
