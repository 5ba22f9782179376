#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-3000: 3,000 instances of one template on three nodes that are all voters, until all are known at the client

As many-units.py does it with fewer; beside it the plain clients, all three at the same time. leader-cpu and agent-cpu: cordoned.py.
"""

from bench import LONG_S, Bench, alternate, emit, main, say
from cordoned import CordonedLeader
from plain import Plain, without_argosyd

COUNT = 3000
UNITS = f"load@{{1..{COUNT}}}"


class ManyStarts:
    def __init__(self, bench: Bench):
        self.bench, self.plain = bench, None
        self.ours, self.theirs = [], []
        self.cpu, self.plain_cpu = CordonedLeader(bench, COUNT), []

    def warm_up(self):
        self._start()
        say(f"units per node: {self.bench.spread('load@*')}")
        self.plain = Plain(self.bench)
        self._destroy()

    def measure_ours(self):
        self.ours.append(self._start())
        self._destroy()

    def measure_cpu(self):
        with self.cpu.cordoned():
            self.bench.submit("load@.service")
            with self.cpu.counted("start"):
                self.bench.ctl(f"start {UNITS}", timeout=LONG_S)
            self.bench.assert_active("load@*", COUNT)
            self._destroy()

    def _start(self):
        self.bench.submit("load@.service")
        seconds = self.bench.timed(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        return seconds

    def _destroy(self):
        self.bench.ctl(f"destroy {UNITS}", timeout=LONG_S)

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            self.theirs.append(self.plain.run("start"))
            self.plain_cpu.append(self.plain.cpu_us["start"])
            self.bench.assert_active("plain@*", COUNT)
            self.plain.run("stop")
            self.plain.remove_files()


def run(bench, rounds):
    many = ManyStarts(bench)
    many.warm_up()
    alternate(rounds, lambda: (many.measure_ours(), many.measure_cpu()), many.measure_theirs)
    emit("start-3000", "wall", "s", many.ours, many.theirs)
    many.cpu.report({"start": many.plain_cpu})


main(run)
