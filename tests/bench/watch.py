#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""watch: who is told what happens, how late, and at whose cost; on a leader with virtual hosts (tests/sim/virtual_cluster.py)

    watch-100   100 watchers while 1,000 events happen each second, ten of them stopped: whether the others are told of all, how
                late, how long the loop lets a question wait meanwhile, and what is held for those who are stopped
    resume      10,000 units, and a watcher who is 100 events behind: until he has been told of them

One process watches and submits (watch-client.c), on the same processors as the leader.
"""

import subprocess
import sys
from pathlib import Path

from bench import ROUNDS, emit, say

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import BUILD, Failure, VirtualCluster  # noqa: E402

HOSTS, UNITS = 20, 10000
WATCHERS, STOPPED, RATE, SECONDS = 100, 10, 500, 10  # two events each
EVENTS, TIMES = 100, 50
LONG_S = 600


def client(cluster, *words):
    done = subprocess.run([BUILD / "tests/bench/watch-client", cluster.socket, "load@", *(str(word) for word in words)], text=True,
                          capture_output=True, timeout=LONG_S)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return [int(word) for word in done.stdout.split()]


def watch(cluster):
    missing, late_p50, late_p99, lag_p99, held = [], [], [], [], []
    for _ in range(ROUNDS):
        cluster.submit("load@.service")
        told, expected, p50_us, p99_us, lag_p50_us, lag_us, waiting = client(cluster, "watch", WATCHERS, STOPPED, RATE, SECONDS)
        say(f"watch-100: {told} of {expected} events of units, a question waits {lag_p50_us / 1000:.2f} ms")
        missing.append(expected - told)
        late_p50.append(p50_us / 1000)
        late_p99.append(p99_us / 1000)
        lag_p99.append(lag_us / 1000)
        held.append(waiting / 1024)
        cluster.ctl("destroy --no-block load@*", timeout=LONG_S)
    emit("watch-100", "missing", "events", [max(missing)])
    emit("watch-100", "p50", "ms", late_p50)
    emit("watch-100", "p99", "ms", late_p99)
    emit("watch-100", "loop-lag", "ms", lag_p99)
    emit("watch-100", "held", "kB", [max(held)])


def resume(cluster):
    cluster.submit("load@.service")
    cluster.ctl(f"submit load@{{1..{UNITS}}}", timeout=LONG_S)
    p50_ms, p99_ms = [], []
    for _ in range(ROUNDS):
        p50_us, p99_us, least = client(cluster, "resume", EVENTS, TIMES)
        if least < EVENTS:
            raise Failure(f"a watcher was told of {least} events instead of {EVENTS}")
        p50_ms.append(p50_us / 1000)
        p99_ms.append(p99_us / 1000)
    emit("resume", "p50", "ms", p50_ms)
    emit("resume", "p99", "ms", p99_ms)


def main():
    with VirtualCluster(HOSTS) as cluster:
        watch(cluster)
        resume(cluster)


try:
    main()
except Failure as reason:
    sys.exit(f"watch: {reason}")
