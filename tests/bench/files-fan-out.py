#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""files-fan-out: a file of 512 KiB to 100 hosts, all of them virtual (tests/sim/virtual_cluster.py), until all have it

A unit that runs everywhere and names the file is submitted; then it is started, and each host asks for the file, piece by piece. Beside it the same
bytes through the same streams: two units that have half of it each in their unit files, which leave with the orders. Both are over when the command
that starts them returns.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from bench import ROUNDS, alternate, emit, say

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import TEMPLATE, Failure, VirtualCluster, wait_for  # noqa: E402

HOSTS = 100
BYTES = 512 * 1024
EVERYWHERE = f"{TEMPLATE}[X-Argosy]\nGlobal=yes\n"
MAY_RUN = 5  # exit status: the leader's own host never says that it has nothing


class FanOut:
    def __init__(self, cluster):
        self.c, self.number = cluster, 0
        self.files, self.texts, self.turns, self.late = [], [], [], []

    def timed_start(self, names):
        began = time.monotonic()
        self.c.ctl(f"start {names}")
        took = time.monotonic() - began
        if self.c.stats()["violations"]:
            raise Failure(f"violations\n{self.c.words()}")
        return took

    def destroy(self, names):
        self.c.ctl(f"destroy --no-block {names}", also=[MAY_RUN])
        wait_for(lambda: self.c.stats()["units"] == 0, "no host has any unit")

    def measure_file(self):
        """Each round has a file that no host has."""
        self.number += 1
        name = f"all-{self.number}"
        self.c.write("data", os.urandom(BYTES))
        self.c.submit(f"{name}.service", f"{EVERYWHERE}File=data\n")
        self.c.counters()  # from here on
        before = self.c.stats()
        self.files.append(self.timed_start(name))
        after = self.c.stats()
        if after["files"] - before["files"] != HOSTS or after["active"] != HOSTS:
            raise Failure(f"{HOSTS} hosts were to have the file: {after}")
        self.turns.append(self.c.counters()["turn_cpu_max_us"] / 1000)
        self.late.append(after["late"] - before["late"])
        self.destroy(name)

    def measure_text(self):
        self.number += 1
        names = [f"text-{self.number}-{half}" for half in "ab"]
        for name in names:
            self.c.submit(f"{name}.service", EVERYWHERE + padding(BYTES // 2 - len(EVERYWHERE)))
        self.texts.append(self.timed_start(" ".join(names)))
        self.destroy(" ".join(names))

    def report(self):
        emit("files-fan-out", "wall", "s", self.files, self.texts)
        emit("files-fan-out", "turn-cpu", "ms", [max(self.turns)])
        emit("files-fan-out", "late-beats", "beats", [sum(self.late)])


def padding(size):
    """Comments of so many bytes."""
    lines = "".join(f"# {os.urandom(60).hex()}\n" for _ in range(size // 123 + 1))
    return lines[:size - 1] + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often everything is measured ({ROUNDS})")
    args = parser.parse_args()
    with VirtualCluster(HOSTS) as cluster:
        fan_out = FanOut(cluster)
        alternate(args.rounds, fan_out.measure_file, fan_out.measure_text)
        say(f"{cluster.stats()}")
        fan_out.report()


try:
    main()
except Failure as reason:
    sys.exit(f"files-fan-out: {reason}")
