#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""allocators: argosyd with jemalloc, and beside it with the C library's malloc, under the same load

A cluster of one node, so that one process is agent, leader and log. A round begins with a fresh host, which starts, stops, starts and
destroys COUNT units three times: a log that has grown would make the memory of later rounds larger. rss and private are the process at the
end, with all units known, a while after the last request. Ten rounds, since a few percent are to be told apart.
"""

import time

from bench import LONG_S, PROGRAMS, Bench, alternate, emit, main
from measure import cpu_ms, private_kb, rss_mb

COUNT = 1000
REPEATS = 3
ROUNDS_MIN = 10
UNITS = f"load@{{1..{COUNT}}}"
SETTLE_S = 12  # freed pages are given back by then
PATH = "/usr/sbin/argosyd"


class Allocators:
    def __init__(self, bench: Bench):
        self.bench, self.node = bench, bench.nodes[0]
        self.figures = {name: {"wall": [], "cpu": [], "rss": [], "private": []} for name in ["jemalloc", "libc"]}

    def measure(self, name):
        self.bench.copy_program(f"argosyd-{name}")
        self.node.run("systemctl stop argosyd.socket argosyd.service run-argosy-secrets.mount && rm -rf /var/lib/argosy/* /run/argosy/* && "
                      f"cp --remove-destination {PROGRAMS}/argosyd-{name} {PATH} && systemctl start argosyd.socket argosyd.service")
        self.bench.wait_whole()
        pid, wall = self.node.argosyd_pid_outside(), 0.0
        before = cpu_ms(pid)
        for last in range(REPEATS):
            self.bench.submit("load@.service")
            wall += sum(self.bench.timed(f"{verb} {UNITS}") for verb in ["start", "stop", "start"])
            if last < REPEATS - 1:
                wall += self.bench.timed(f"destroy {UNITS}")
        seen = self.figures[name]
        seen["wall"].append(wall)
        seen["cpu"].append((cpu_ms(pid) - before) / 1000)
        time.sleep(SETTLE_S)
        seen["rss"].append(rss_mb(pid))
        seen["private"].append(private_kb(pid) / 1024)
        self.bench.ctl(f"destroy {UNITS}", timeout=LONG_S)

    def report(self):
        for metric, unit in [("wall", "s"), ("cpu", "s"), ("rss", "MB"), ("private", "MB")]:
            emit("allocators", metric, unit, self.figures["jemalloc"][metric], self.figures["libc"][metric])


def run(bench, rounds):
    allocators = Allocators(bench)
    alternate(max(rounds, ROUNDS_MIN), lambda: allocators.measure("jemalloc"), lambda: allocators.measure("libc"))
    allocators.report()


main(run, nodes=1)
