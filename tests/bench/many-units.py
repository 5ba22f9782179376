#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-900, stop-900, destroy-900, rss: 900 instances of one template on three nodes

Argosy starts from a submitted template: choosing nodes, replicating and writing files count. The plain clients beside it find
their files in place (plain.py). Both are over when the client knows that all is done. leader-cpu and agent-cpu: cordoned.py.
"""

from bench import Bench, alternate, emit, main, say
from cordoned import CordonedLeader
from measure import rss_mb
from plain import Plain, without_argosyd

COUNT = 900
UNITS = f"load@{{1..{COUNT}}}"

BATCHES = ["start", "stop", "destroy"]


class ManyUnits:
    def __init__(self, bench: Bench):
        self.bench, self.plain = bench, None
        self.ours, self.theirs = {batch: [] for batch in BATCHES}, {batch: [] for batch in BATCHES}
        self.cpu, self.plain_cpu = CordonedLeader(bench, COUNT), {batch: [] for batch in BATCHES}
        self.rss_mb = []

    def warm_up(self):
        self.bench.submit("load@.service")
        self.bench.ctl(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        say(f"units per node: {self.bench.spread('load@*')}")
        self.plain = Plain(self.bench)
        self.bench.ctl("destroy 'load@*'")

    def measure_ours(self):
        self.bench.submit("load@.service")
        self.ours["start"].append(self.bench.timed(f"start {UNITS}"))
        self.bench.assert_active("load@*", COUNT)
        self._note_rss()
        self.ours["stop"].append(self.bench.timed(f"stop {UNITS}"))
        self.bench.assert_active("load@*", 0)
        self.bench.ctl(f"start {UNITS}")
        self._note_rss()
        self.ours["destroy"].append(self.bench.timed(f"destroy {UNITS}"))
        self.bench.assert_active("load@*", 0)

    def measure_cpu(self):
        with self.cpu.cordoned():
            self.bench.submit("load@.service")
            for batch, active in [("start", COUNT), ("destroy", 0)]:
                with self.cpu.counted(batch):
                    self.bench.ctl(f"{batch} {UNITS}")
                self.bench.assert_active("load@*", active)

    def _note_rss(self):
        self.rss_mb.append(max(rss_mb(node.argosyd_pid_outside()) for node in self.bench.nodes))

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            self.theirs["start"].append(self.plain.run("start"))
            self.bench.assert_active("plain@*", COUNT)
            self.theirs["stop"].append(self.plain.run("stop"))
            self.bench.assert_active("plain@*", 0)
            self.plain.run("start")
            self.theirs["destroy"].append(self.plain.run("destroy"))
            self.bench.assert_active("plain@*", 0)
            self.plain.remove_files()
        for batch, used in self.plain_cpu.items():
            used.append(self.plain.cpu_us[batch])

    def report(self):
        for batch in BATCHES:
            emit(f"{batch}-{COUNT}", "wall", "s", self.ours[batch], self.theirs[batch])
        self.cpu.report(self.plain_cpu)
        emit("rss", "max", "MB", [max(self.rss_mb)])


def run(bench, rounds):
    many = ManyUnits(bench)
    many.warm_up()
    alternate(rounds, lambda: (many.measure_ours(), many.measure_cpu()), many.measure_theirs)
    many.report()


main(run)
