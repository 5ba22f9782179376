#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-20k, destroy-20k: 20,000 instances of one template on three nodes that are all voters, until all are known at the client

As start-3000.py does it with fewer, and destroyed again; beside both the plain clients, all three at the same time. turn-cpu: the
most CPU time that one turn of the loop took meanwhile, on the node where it is most, the leader or another one. After the figures,
on standard error: when after the command units had become active, as a picture.

--count N: with another number of units; the figures keep their names.
"""

import time

from bench import LONG_S, Bench, alternate, emit, main, say
from measure import all_counters
from plain import Plain, without_argosyd

COUNT = 20000
ROUNDS_MAX = 3  # each takes minutes
COLUMNS, ROWS = 72, 8

BATCHES = ["start", "destroy"]


class Start20k:
    def __init__(self, bench: Bench, count):
        self.bench, self.count, self.units, self.plain = bench, count, f"load@{{1..{count}}}", None
        self.ours, self.theirs = {batch: [] for batch in BATCHES}, {batch: [] for batch in BATCHES}
        self.turns_ms = {batch: [] for batch in BATCHES}
        self.picture = ""

    def warm_up(self):
        self._start()
        say(f"units per node: {self.bench.spread('load@*')}")
        self.plain = Plain(self.bench)
        self._destroy()

    def measure_ours(self):
        began = now_us()
        self._measure("start", self._start)
        if not self.picture:
            self.picture = draw([(at - began) / 1e6 for at in self._active_since_us()])
        self._measure("destroy", self._destroy)

    def _measure(self, batch, measure):
        for node in self.bench.nodes:
            all_counters(node)  # from here on
        self.ours[batch].append(measure())
        self.turns_ms[batch].append(max(all_counters(node)["turn_cpu_max_us"] for node in self.bench.nodes) / 1000)

    def _start(self):
        self.bench.submit("load@.service")
        seconds = self.bench.timed(f"start {self.units}")
        self.bench.assert_active("load@*", self.count)
        return seconds

    def _destroy(self):
        seconds = self.bench.timed(f"destroy {self.units}")
        self.bench.assert_active("load@*", 0)
        return seconds

    def _active_since_us(self):
        """When each unit became active, by the clock that all nodes share."""
        return [int(line) for node in self.bench.nodes
                for line in node.run("systemctl show 'load@*' -P ActiveEnterTimestampMonotonic", timeout=LONG_S).split()]

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            self.theirs["start"].append(self.plain.run("start"))
            self.bench.assert_active("plain@*", self.count)
            self.theirs["destroy"].append(self.plain.run("destroy"))
            self.bench.assert_active("plain@*", 0)
            self.plain.remove_files()

    def report(self):
        for batch in BATCHES:
            emit(f"{batch}-20k", "wall", "s", self.ours[batch], self.theirs[batch])
            emit(f"{batch}-20k", "turn-cpu", "ms", self.turns_ms[batch])
        say(self.picture)


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def draw(seconds):
    """How many became active when: a column for each 1/COLUMNS of the time, and how far it had come by then."""
    end = max(seconds)
    counts = [0] * COLUMNS
    for at in seconds:
        counts[min(COLUMNS - 1, max(0, int(at / end * COLUMNS)))] += 1
    most = max(counts)
    lines = [f"{round(most * row / ROWS / (end / COLUMNS)):>6}/s |" + "".join("#" if count * ROWS >= most * (row - 0.5) else " "
             for count in counts) for row in range(ROWS, 0, -1)]
    ordered = sorted(seconds)
    shares = ", ".join(f"{percent} % after {ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]:.1f} s"
                       for percent in [1, 25, 50, 75, 99])
    return "\n".join([*lines, f"{'':8} +{'-' * COLUMNS}", f"{'':8} 0{f'{end:.1f} s':>{COLUMNS}}", f"{len(seconds)} units: {shares}"])


def run(bench, rounds, count):
    many = Start20k(bench, count)
    many.warm_up()
    alternate(min(rounds, ROUNDS_MAX), many.measure_ours, many.measure_theirs)
    many.report()


main(run, count=COUNT)
