#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-1k, stop-1k, start-5k, stop-5k: instances of one template on one node

As many-units.py does it, with a cluster of one node, so that systemd alone is the limit. agent-cpu is the CPU time of argosyd,
which is agent, leader and log at once here, per unit. Beside the starts and stops:

baseline    the plain client, its files in place, in the same slices
one-slice   the same client on instances of the same template without slices of their own, as one would write them by hand; its
            baseline is argosy's `wall`. It takes long, and is measured in the first ONE_SLICE_ROUNDS rounds only
"""

from bench import LONG_S, TEMPLATE, Bench, alternate, emit, main
from measure import cpu_ms
from plain import DIRECTORY, Plain, run_client, span, without_argosyd

SIZES = {"1k": 1000, "5k": 5000}
ONE_SLICE = "5k"
ONE_SLICE_ROUNDS = 2


class OneNode:
    def __init__(self, bench: Bench, size):
        self.bench, self.node, self.size, self.count = bench, bench.nodes[0], size, SIZES[size]
        self.units = f"load@{{1..{self.count}}}"
        self.ours, self.theirs, self.one_slice, self.cpu = ({"start": [], "stop": []} for _ in range(4))
        self.plain = None

    def warm_up(self):
        self.bench.submit("load@.service")
        self.bench.ctl(f"start {self.units}", timeout=LONG_S)
        self.bench.assert_active("load@*", self.count)
        self.plain = Plain(self.bench, twin=f"plain{self.size}")
        self._destroy()

    def _destroy(self):
        self.bench.ctl(f"destroy {self.units}", timeout=LONG_S)

    def measure_ours(self):
        self.bench.submit("load@.service")
        for verb, left in [("start", self.count), ("stop", 0)]:
            before = cpu_ms(self.node.argosyd_pid_outside())
            self.ours[verb].append(self.bench.timed(f"{verb} {self.units}"))
            self.cpu[verb].append((cpu_ms(self.node.argosyd_pid_outside()) - before) / self.count)
            self.bench.assert_active("load@*", left)
        self._destroy()

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            for verb, left in [("start", self.count), ("stop", 0)]:
                self.theirs[verb].append(self.plain.run(verb))
                self.bench.assert_active("plain*@*", left)
            self.plain.remove_files()
            if self.size == ONE_SLICE and len(self.one_slice["start"]) < ONE_SLICE_ROUNDS:
                self._measure_one_slice()

    def _measure_one_slice(self):
        self.node.write(f"{DIRECTORY}/one@.service", TEMPLATE)
        for verb, left in [("start", self.count), ("stop", 0)]:
            self.one_slice[verb].append(span([run_client(self.node, verb, [f"one@{{1..{self.count}}}.service"])], f"one {verb}"))
            self.bench.assert_active("one@*", left)
        self.node.run(f"rm {DIRECTORY}/one@.service && systemctl daemon-reload")

    def report(self):
        for verb in ["start", "stop"]:
            name = f"{verb}-{self.size}"
            emit(name, "wall", "s", self.ours[verb], self.theirs[verb])
            if self.one_slice[verb]:
                emit(name, "one-slice", "s", self.one_slice[verb], self.ours[verb])
            emit(name, "agent-cpu", "ms/unit", self.cpu[verb])


def run(bench, rounds):
    for size in SIZES:
        one = OneNode(bench, size)
        one.warm_up()
        alternate(rounds, one.measure_ours, one.measure_theirs)
        one.report()


main(run, nodes=1)
