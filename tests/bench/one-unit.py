#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""one-unit: from `argosyctl start FILE`, a unit that nobody knows yet, to its return when the unit is active

An idle cluster of three nodes. Beside it: the file written to a node and started there by the plain client. Both include the
start of the program that is waited for.
"""

from bench import PROGRAMS, TEMPLATE, alternate, emit, main, timed_command

PER_ROUND = 10  # single starts are short, and scatter


class OneUnit:
    def __init__(self, bench):
        self.bench, self.ours, self.theirs = bench, [], []
        self._number = 0

    def _next(self):
        self._number += 1
        return f"one-{self._number}.service"

    def measure_ours(self):
        for _ in range(PER_ROUND):
            name = self._next()
            client = self.bench.nodes[self._number % len(self.bench.nodes)]
            client.write(f"/root/units/{name}", TEMPLATE)
            self.ours.append(1000 * self.bench.timed(f"start /root/units/{name}", client))
            self.bench.assert_active(name, 1)
            self.bench.ctl(f"destroy {name}")

    def measure_theirs(self):
        for _ in range(PER_ROUND):
            name = self._next()
            node = self.bench.nodes[self._number % len(self.bench.nodes)]
            node.write(f"/run/systemd/system/{name}", TEMPLATE)
            self.theirs.append(1000 * timed_command(node.command([f"{PROGRAMS}/plain-client", "start", "1", name])))
            node.run(f"systemctl stop {name} && rm /run/systemd/system/{name}")


def run(bench, rounds):
    one = OneUnit(bench)
    alternate(rounds, one.measure_ours, one.measure_theirs)
    emit("one-unit", "p50", "ms", one.ours, one.theirs)


main(run)
