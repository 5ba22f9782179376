#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""virtual: what a leader costs that has 1,000 hosts and 100,000 units, all of them virtual (tests/sim/virtual_cluster.py)

One argosyd with the log of one voter, one process with all virtual hosts, argosyctl; nothing else, no testbed and no systemd. The
virtual hosts answer at once and share the processors with the leader, so what is told of the leader is CPU time; wall is what a
person waits for on such a machine.

--hosts N, --units N: others. A million units is what a cluster may have: with more than half of that the figures are virtual-start-1m
and so on, and those of the table are of --hosts 10000 --units 990000, one run.
"""

import argparse
import sys
import time
from pathlib import Path

from bench import emit, say
from measure import cpu_ms, private_kb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import Failure, VirtualCluster, wait_for  # noqa: E402

HOSTS, UNITS = 1000, 100000
MANY = 500000    # of a run that has rows of its own
BATCH = 100000   # names of one command
LOSSES = 5
SETTLE_S = 10    # freed pages are given back
IDLE_S = 20
LONG_S = 3600
MAY_RUN = 5      # exit status: units of hosts that were lost may still run there


class Virtual:
    def __init__(self, cluster, units):
        self.c, self.units, self.pid = cluster, units, cluster.argosyd.pid

    def batches(self):
        return [f"load@{{{first}..{min(first + BATCH - 1, self.units)}}}" for first in range(1, self.units + 1, BATCH)]

    def emit(self, what, metric, unit, values):
        emit(f"virtual-{what}-1m" if self.units > MANY else f"virtual-{what}", metric, unit, values)

    def measure(self, what, run):
        """Wall, CPU time of the leader for each unit, and its longest turns, while `run` is done."""
        self.c.counters()  # from here on
        began, cpu = time.monotonic(), cpu_ms(self.pid)
        run()
        seconds, cpu = time.monotonic() - began, cpu_ms(self.pid) - cpu
        seen = self.c.counters()
        self.emit(what, "wall", "s", [seconds])
        self.emit(what, "leader-cpu", "us", [1000 * cpu / self.units])
        self.emit(what, "turn", "ms", [seen["turn_max_us"] / 1000])
        self.emit(what, "turn-cpu", "ms", [seen["turn_cpu_max_us"] / 1000])

    def verb(self, verb, also=()):
        for names in self.batches():
            began = time.monotonic()
            self.c.ctl(f"{verb} {names}", timeout=LONG_S, also=also)
            say(f"{verb} {names}: {time.monotonic() - began:.1f} s, leader {private_kb(self.pid) // 1024} MB")

    def destroy_all(self):
        self.verb("destroy --no-block", also=[MAY_RUN])
        wait_for(lambda: self.c.stats()["units"] == 0, "no host has any unit", within=LONG_S)

    def private_b(self):
        time.sleep(SETTLE_S)
        return 1024 * private_kb(self.pid)

    def start(self):
        before = self.private_b()
        self.c.submit("load@.service")
        self.measure("start", lambda: self.verb("start"))
        self.assert_active(self.units)
        self.emit("memory", "per-unit", "B", [(self.private_b() - before) / self.units])

    def idle(self):
        began, cpu = time.monotonic(), cpu_ms(self.pid)
        time.sleep(IDLE_S)
        self.emit("idle", "leader-cpu", "ms/min", [60 * (cpu_ms(self.pid) - cpu) / (time.monotonic() - began)])

    def loss(self):
        """A host loses power: until its units run elsewhere, without the lease that has to pass before that."""
        seconds, turns = [], []
        for _ in range(LOSSES):
            state = {name for name, state in self.c.nodes().items() if state == "lost"}
            self.c.counters()
            self.c.tell("lose 1")
            wait_for(lambda: {name for name, now in self.c.nodes().items() if now == "lost"} - state, "the host is lost", within=LONG_S)
            seconds.append(wait_for_time(lambda: self.c.stats()["active"] == self.units))
            turns.append(self.c.counters()["turn_cpu_max_us"] / 1000)
        self.emit("loss", "wall", "s", seconds)
        self.emit("loss", "turn-cpu", "ms", [max(turns)])

    def destroy(self):
        self.measure("destroy", self.destroy_all)
        self.assert_active(0)

    def assert_active(self, count):
        seen = self.c.stats()
        if seen["active"] != count or seen["units"] != count or seen["violations"]:
            raise Failure(f"{count} units were to be active: {seen}\n{self.c.words()}")


def wait_for_time(condition):
    began = time.monotonic()
    wait_for(condition, "all units run again", within=LONG_S)
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS, help=f"how many virtual hosts ({HOSTS})")
    parser.add_argument("--units", type=int, default=UNITS, help=f"how many units ({UNITS})")
    args = parser.parse_args()
    began = time.monotonic()
    with VirtualCluster(args.hosts, patience_s=LONG_S) as cluster:
        virtual = Virtual(cluster, args.units)
        virtual.emit("join", "wall", "s", [time.monotonic() - began])
        say(f"leader with {args.hosts} hosts: {private_kb(cluster.argosyd.pid) // 1024} MB")
        virtual.start()
        virtual.idle()
        virtual.loss()
        virtual.destroy()
        say(f"virtual hosts: {private_kb(cluster.virtual.pid) // 1024} MB")


try:
    main()
except Failure as reason:
    sys.exit(f"virtual: {reason}")
