#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""submit: how fast the cluster takes jobs, from one C client on the leader's local socket (submit-client.c)

    submit-1, submit-3   `submit` of new instances of one template, one unit each, 64 under way; a log with 1 and with 3 voters
    submit-latency       one after the other on an idle cluster, 3 voters; beside it the log alone, in the same run (bench-store.c)
    submit-bulk          1,000 units in each request, 3 voters; CPU time of the leader for each unit
"""

import json
import os
import subprocess

from bench import LONG_S, SOURCE, Bench, Failure, emit, main, say
from measure import cpu_ms

IN_FLIGHT = 64     # what one connection may have
JOBS = 20000       # of one unit
SEQUENTIAL = 2000  # as many as bench-store.c
BULK, BULK_UNITS, BULK_IN_FLIGHT = 40, 1000, 8


class Submits:
    def __init__(self, bench: Bench):
        self.bench = bench
        self.leader = bench.leader()

    def client(self, requests, units, in_flight):
        """Seconds, and the median and the 99th percentile of the milliseconds of a request. What it submitted is gone again
        afterwards; so is the CPU time of the leader in self.leader_ms."""
        self.bench.submit("load@.service")
        path = f"/proc/{self.leader.init_pid()}/root/run/argosy/argosy.sock"
        before = cpu_ms(self.leader.argosyd_pid_outside())
        done = subprocess.run([self.bench.programs / "submit-client", path, "load@", "1", str(requests), str(units), str(in_flight)],
                              text=True, capture_output=True, timeout=LONG_S)
        self.leader_ms = cpu_ms(self.leader.argosyd_pid_outside()) - before
        if done.returncode != 0:
            raise Failure(done.stderr.strip())
        if self.bench.leader().name != self.leader.name:
            raise Failure("the leader changed in the middle of a round")
        self._assert_there(requests * units)
        self.bench.ctl("destroy 'load@*'", timeout=LONG_S)
        seconds, p50_us, p99_us = (float(word) for word in done.stdout.split())
        return seconds, p50_us / 1000, p99_us / 1000

    def _assert_there(self, count):
        files = json.loads(self.bench.ctl("list-unit-files --json=short 'load@*'", timeout=LONG_S))
        found = sum(1 for file in files if not file["unit"].startswith("load@."))
        if found != count:
            raise Failure(f"{found} units were submitted instead of {count}")

    def jobs(self, bench, rounds):
        rates, cpu_us = [], []
        for _ in range(rounds):
            seconds, _, p99_ms = self.client(JOBS, 1, IN_FLIGHT)
            rates.append(JOBS / seconds)
            cpu_us.append(1000 * self.leader_ms / JOBS)
            say(f"{bench}: p99 {p99_ms:.1f} ms")
        emit(bench, "rate", "1/s", rates)
        emit(bench, "leader-cpu", "us", cpu_us)

    def latency(self, rounds):
        p50_ms, p99_ms, log_p50_ms, log_p99_ms = [], [], [], []
        for _ in range(rounds):
            log = log_alone()
            log_p50_ms.append(log["p50"] / 1000)
            log_p99_ms.append(log["p99"] / 1000)
            _, p50, p99 = self.client(SEQUENTIAL, 1, 1)
            p50_ms.append(p50)
            p99_ms.append(p99)
        emit("submit-latency", "p50", "ms", p50_ms, log_p50_ms)
        emit("submit-latency", "p99", "ms", p99_ms, log_p99_ms)

    def bulk(self, rounds):
        rates, cpu_us = [], []
        for _ in range(rounds):
            seconds, _, _ = self.client(BULK, BULK_UNITS, BULK_IN_FLIGHT)
            rates.append(BULK * BULK_UNITS / seconds)
            cpu_us.append(1000 * self.leader_ms / (BULK * BULK_UNITS))
        emit("submit-bulk", "rate", "units/s", rates)
        emit("submit-bulk", "leader-cpu", "us", cpu_us)


def log_alone():
    """What three members need for one batch, in microseconds."""
    program = os.path.join(os.environ.get("ARGOSY_BUILD") or SOURCE / "build", "tests/unit/store/bench-store")
    done = subprocess.run([program], text=True, capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["metric"]: line["value"] for line in lines if line["bench"] == "store-3"}


def run(bench, rounds):
    submits = Submits(bench)
    submits.latency(rounds)
    submits.jobs("submit-3", rounds)
    submits.bulk(rounds)
    bench.ctl("cluster voters 1")
    submits = Submits(bench)
    submits.jobs("submit-1", rounds)


main(run)
