#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""health-30: what argosyd uses while podman looks at 30 containers each second (HealthInterval=1s), on three nodes

Podman has a transient timer and service of each, which systemd tells all of its listeners about. None of them is a unit of the cluster: argosyd drops
what it is told by the name of the unit, without a look at the rest. Beside it: the same containers, which nobody looks at.

cpu: of one argosyd in a second. signals: that one argosyd hears in a second; on a machine that cannot look at so many each second, fewer.
"""

import time

from bench import Bench, alternate, emit, main, say
from measure import all_counters, cpu_ms

COUNT, SECONDS = 30, 15
UNITS = f"load@{{1..{COUNT}}}"
CONTAINER = """\
[Container]
Image=localhost/box:1
Network=host
Exec=sh -c "trap \\"exit 0\\" TERM; while :; do sleep 1000 & wait; done"
"""
HEALTH = "HealthCmd=/bin/echo\nHealthInterval=1s\n"


class Health:
    def __init__(self, bench: Bench):
        self.bench, self.cpu, self.plain, self.signals = bench, [], [], []

    def _measure(self, more):
        bench = self.bench
        bench.nodes[0].write("/root/units/load@.container", CONTAINER + more)
        bench.ctl("submit /root/units/load@.container")
        bench.ctl(f"start {UNITS}")
        before = [(all_counters(node)["signals"], cpu_ms(node.argosyd_pid_outside())) for node in bench.nodes]
        time.sleep(SECONDS)
        used = [cpu_ms(node.argosyd_pid_outside()) - cpu for node, (_, cpu) in zip(bench.nodes, before)]
        heard = [all_counters(node)["signals"] - signals for node, (signals, _) in zip(bench.nodes, before)]
        bench.ctl("destroy 'load@*'")
        say(f"{sum(used) / SECONDS:.2f} ms/s and {sum(heard) / SECONDS:.0f} signals/s of all three")
        return sum(used) / SECONDS / len(used), sum(heard) / SECONDS / len(heard)

    def measure_health(self):
        cpu, signals = self._measure(HEALTH)
        self.cpu.append(cpu)
        self.signals.append(signals)

    def measure_plain(self):
        self.plain.append(self._measure("")[0])


def run(bench, rounds):
    health = Health(bench)
    alternate(rounds, health.measure_health, health.measure_plain)
    emit("health-30", "cpu", "ms/s", health.cpu, health.plain)
    emit("health-30", "signals", "1/s", health.signals)


main(run, containers=True)
