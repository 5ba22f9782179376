#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""sse: who is told over HTTP what happens, how late, and at whose cost; on a leader with virtual hosts (tests/sim/virtual_cluster.py)

    sse-1k      1,000 streams of Server-Sent Events over the unix socket while 1,000 units are submitted each second: whether all are
                told of all, how late, and what a stream costs the daemon that waits

One process reads all streams (sse-client.c) and another one submits (watch-client.c), on the same processors as the leader.
"""

import subprocess
import sys
from pathlib import Path

from bench import ROUNDS, emit, say

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import BUILD, Failure, VirtualCluster  # noqa: E402

HOSTS = 20
STREAMS, RATE, SECONDS = 1000, 1000, 10
SETTLE_S = 10  # behind the last event
LONG_S = 600


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss_Anon:") or line.startswith("Anonymous:"):
            return int(line.split()[1])
    raise Failure("no smaps_rollup")


def one(cluster, streams, rate):
    """Events that are missing, the median and the 99th percentile of ms, kB of one stream that waits."""
    before = resident_kb(cluster.argosyd.pid)
    socket = cluster.socket.with_name("http.sock")
    reader = subprocess.Popen([BUILD / "tests/bench/sse-client", socket, "/v1/events?kind=unit", str(streams), str(SECONDS + SETTLE_S)],
                              text=True, stdout=subprocess.PIPE)
    if reader.stdout.readline() != "ready\n":
        raise Failure("the streams did not begin")
    held = (resident_kb(cluster.argosyd.pid) - before) / streams
    done = subprocess.run([BUILD / "tests/bench/watch-client", cluster.socket, "load@", "watch", "2", "1", str(rate), str(SECONDS)],
                          text=True, capture_output=True, timeout=LONG_S)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    least, most, p50_us, p99_us = (int(word) for word in reader.stdout.readline().split())
    reader.wait()
    say(f"sse-1k: {streams} streams, {rate}/s: each told of {least} to {most} events of {rate * SECONDS} units; p99 {p99_us / 1000:.1f} ms, {held:.1f} kB")
    return rate * SECONDS - least, p50_us / 1000, p99_us / 1000, held


def main():
    missing, p50_ms, p99_ms, held = [], [], [], []
    with VirtualCluster(HOSTS) as cluster:
        for _ in range(ROUNDS):
            cluster.submit("load@.service")
            figures = one(cluster, STREAMS, RATE)
            for to, value in zip((missing, p50_ms, p99_ms, held), figures):
                to.append(value)
            cluster.ctl("destroy --no-block load@*", timeout=LONG_S)
    emit("sse-1k", "missing", "events", [max(missing)])
    emit("sse-1k", "p50", "ms", p50_ms)
    emit("sse-1k", "p99", "ms", p99_ms)
    emit("sse-1k", "held", "kB", held)


if __name__ == "__main__":
    try:
        main()
    except Failure as reason:
        sys.exit(f"sse: {reason}")
