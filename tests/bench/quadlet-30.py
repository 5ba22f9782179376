#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""quadlet-30: 30 containers of one template on three nodes, whose image is there, from `argosyctl start` to all of them active

Argosy starts from the submitted template: choosing nodes, replicating, and each node's generator count. The plain clients beside it find the same
generated units in place (plain.py).
"""

from bench import Bench, alternate, emit, main, say
from plain import Plain, without_argosyd

COUNT = 30
UNITS = f"load@{{1..{COUNT}}}"
CONTAINER = """\
[Container]
Image=localhost/box:1
Network=host
Exec=sh -c "trap \\"exit 0\\" TERM; while :; do sleep 1000 & wait; done"
"""


class Quadlets:
    def __init__(self, bench: Bench):
        self.bench, self.ours, self.theirs = bench, [], []
        self._start()
        say(f"units per node: {bench.spread('load@*')}")
        self.plain = Plain(bench)
        self._destroy()

    def _start(self):
        self.bench.nodes[0].write("/root/units/load@.container", CONTAINER)
        self.bench.ctl("submit /root/units/load@.container")
        seconds = self.bench.timed(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        return seconds

    def _destroy(self):
        self.bench.ctl("destroy 'load@*'")

    def measure_ours(self):
        self.ours.append(self._start())
        self._destroy()

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            self.theirs.append(self.plain.run("start"))
            self.bench.assert_active("plain@*", COUNT)
            self.plain.run("destroy")
            self.plain.remove_files()


def run(bench, rounds):
    quadlets = Quadlets(bench)
    alternate(rounds, quadlets.measure_ours, quadlets.measure_theirs)
    emit(f"quadlet-{COUNT}", "wall", "s", quadlets.ours, quadlets.theirs)


main(run, containers=True)
