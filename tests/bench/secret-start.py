#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""secret-start: from `argosyctl start` of a unit with a secret, which its node has had before, to its return when the unit is active

An idle cluster of three nodes. Beside it the same for a unit that has a plain file of its node for a credential (LoadCredential=). Both are one-shots
that stay active, so that nothing but the start is waited for. They are stopped in between, and take turns.
"""

from bench import alternate, emit_share, main

PER_ROUND = 40  # single starts are short, and scatter
VALUE = "hunter2"
UNIT = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n"
SECRET = f"{UNIT}[X-Argosy]\nHost=n2\nSecret=key\n"
FILE = f"{UNIT}LoadCredential=key:/root/key\n[X-Argosy]\nHost=n2\n"


class SecretStart:
    def __init__(self, bench):
        self.bench, self.ours, self.theirs = bench, [], []
        bench.nodes[0].run("argosyctl secret set key", input=VALUE)
        for node in bench.nodes:
            node.write("/root/key", VALUE)
        for name, text in [("secret", SECRET), ("file", FILE)]:
            bench.submit(f"{name}.service", text)
            self._once(name)

    def _once(self, name):
        took = 1000 * self.bench.timed(f"start {name}", self.bench.nodes[0])
        self.bench.assert_active(name, 1)
        self.bench.ctl(f"stop {name}")
        return took

    def measure(self):
        alternate(PER_ROUND, lambda: self.ours.append(self._once("secret")), lambda: self.theirs.append(self._once("file")))


def run(bench, rounds):
    starts = SecretStart(bench)
    for _ in range(rounds):
        starts.measure()
    emit_share("secret-start", 50, "ms", starts.ours, starts.theirs)


main(run)
