#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""state: what the state document costs, of a leader whose hosts and units are virtual (tests/sim/virtual_cluster.py)

    state-mesos       100 nodes and 20,000 units; 20 clients each fetch it 50 times, beside a loop that does nothing but write the same
                      bytes to as many readers; and how long a turn of the leader's loop takes meanwhile
    state-unchanged   who has the newest, beside a libmicrohttpd that does nothing but answer so
    state-1m          --units=1000000: one client that discards it
    state-since       of as many units, 100 have changed
    state-cold        nobody has asked for a while, and all of it is made

No testbed and no systemd: clients, leader and virtual hosts share the processors, so what is told of turns of the leader's loop is CPU
time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import ROUNDS, emit, say
from measure import private_kb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import BUILD, VirtualCluster  # noqa: E402

HOSTS, UNITS = 100, 20000
BATCH = 100000  # names of one command
CLIENTS, TIMES = 20, 50
ASKS = 5000
CHANGED = 100
LONG_S = 3600


def client(*words):
    done = subprocess.run([BUILD / "tests/bench/state-client", *map(str, words)], text=True, capture_output=True, timeout=LONG_S, check=True)
    return json.loads(done.stdout)


class State:
    def __init__(self, cluster, units):
        self.c, self.units = cluster, units
        self.socket = cluster.socket.parent / "http.sock"

    def start(self):
        self.c.submit("load@.service")
        for first in range(1, self.units + 1, BATCH):
            self.c.ctl(f"start load@{{{first}..{min(first + BATCH - 1, self.units)}}}", timeout=LONG_S)
        self.c.ctl("cordon v1")  # jobs have ended; something is new

    def fetch(self, clients=1, times=1, target="/v1/state"):
        seen = client("fetch", self.socket, target, clients, times)
        assert seen["status"] == 200, seen
        return seen

    def first(self):
        """Nobody has asked for a while: all of it is made."""
        before = private_kb(self.c.argosyd.pid)
        self.c.counters()
        seen = self.fetch()
        turn = self.c.counters()["turn_cpu_max_us"] / 1000
        more = (private_kb(self.c.argosyd.pid) - before) * 1024
        bench = "state-cold" if self.units <= UNITS else "state-cold-1m"
        emit(bench, "wall", "ms", [seen["wall"] / 1000])
        emit(bench, "turn-cpu", "ms", [turn])
        emit(bench, "memory", "ratio", [more / seen["bytes"]])
        say(f"the document has {seen['bytes'] / 1e6:.1f} MB, and so much of it is memory: {more / seen['bytes']:.2f}")
        return seen["bytes"]

    def beside_plain(self, bench, clients, times, size, rounds=ROUNDS):
        ours, plain, turns, firsts = [], [], [], []
        for round_ in range(rounds):
            def fetch():
                self.c.counters()
                seen = self.fetch(clients, times)
                turns.append(self.c.counters()["turn_cpu_max_us"] / 1000)
                ours.append(seen["mean"] / 1000)
                firsts.append(seen["first"] / 1000)

            steps = [fetch, lambda: plain.append(client("plain", size, clients, times)["mean"] / 1000)]
            for step in steps if round_ % 2 == 0 else steps[::-1]:
                step()
        emit(bench, "mean", "ms", ours, plain)
        emit(bench, "first-byte", "ms", firsts)
        emit(bench, "turn-cpu", "ms", turns)

    def unchanged(self):
        ours, bare = [], []
        for round_ in range(ROUNDS):
            tag = self.tag()
            steps = [lambda: ours.append(self.ask(tag)), lambda: bare.append(client("bare", ASKS)["p99"])]
            for step in steps if round_ % 2 == 0 else steps[::-1]:
                step()
        emit("state-unchanged", "p99", "us", ours, bare)

    def tag(self):
        text = subprocess.run(["curl", "--silent", "--unix-socket", self.socket, "--head", "http://localhost/v1/state"], text=True,
                              capture_output=True, timeout=LONG_S, check=True).stdout
        return next(line.split(" ", 1)[1] for line in text.splitlines() if line.startswith("ETag:"))

    def ask(self, tag):
        seen = client("ask", self.socket, "/v1/state", tag, ASKS)
        assert seen["status"] == 304, seen
        return seen["p99"]

    def since(self):
        bench = "state-since" if self.units > UNITS else "state-since-20k"
        cursor = self.tag().strip('"')
        self.c.ctl(f"stop load@{{1..{CHANGED}}}")
        time.sleep(1)  # its job has ended
        seen = self.fetch(1, 200, f"/v1/state?since={cursor}")
        emit(bench, "p50", "ms", [seen["p50"] / 1000])
        emit(bench, "p99", "ms", [seen["p99"] / 1000])
        say(f"what has changed has {seen['bytes']} bytes")
        after = self.fetch()
        emit(bench, "next-version", "ms", [after["mean"] / 1000])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS, help=f"how many virtual hosts ({HOSTS})")
    parser.add_argument("--units", type=int, default=UNITS, help=f"how many units ({UNITS})")
    args = parser.parse_args()
    with VirtualCluster(args.hosts, patience_s=LONG_S) as cluster:
        state = State(cluster, args.units)
        state.start()
        say(f"leader with {args.hosts} hosts and {args.units} units: {private_kb(cluster.argosyd.pid) // 1024} MB")
        size = state.first()
        if args.units <= UNITS:
            state.beside_plain("state-mesos", CLIENTS, TIMES, size)
            state.unchanged()
        else:
            state.beside_plain("state-1m", 1, 5, size, rounds=3)
        state.since()


if __name__ == "__main__":
    main()
