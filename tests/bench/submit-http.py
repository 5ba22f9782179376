#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""submit-http: how fast the cluster takes jobs over HTTP, from one C client on the leader's socket (http-client.c), 3 voters

    submit-http        `submit` of new instances of one template, one unit in each request, 64 kept connections
    submit-http-bulk   1,000 operations of one unit in each request, 8 connections

Beside each the same over the local socket, in the same run (submit-client.c).
"""

import json
import subprocess

from bench import LONG_S, Bench, Failure, emit, main, say
from measure import cpu_ms

REQUESTS, CONNECTIONS = 20000, 64
BULK, BULK_UNITS, BULK_CONNECTIONS = 40, 1000, 8


class Submits:
    def __init__(self, bench: Bench):
        self.bench = bench
        self.leader = bench.leader()

    def client(self, program, socket, requests, units, in_flight):
        """Seconds, the 99th percentile of the milliseconds of a request, and the CPU time of the leader in milliseconds. What it
        submitted is gone again afterwards."""
        self.bench.submit("load@.service")
        path = f"/proc/{self.leader.init_pid()}/root/run/argosy/{socket}"
        before = cpu_ms(self.leader.argosyd_pid_outside())
        done = subprocess.run([self.bench.programs / program, path, "load@", "1", str(requests), str(units), str(in_flight)],
                              text=True, capture_output=True, timeout=LONG_S)
        spent_ms = cpu_ms(self.leader.argosyd_pid_outside()) - before
        if done.returncode != 0:
            raise Failure(done.stderr.strip())
        if self.bench.leader().name != self.leader.name:
            raise Failure("the leader changed in the middle of a round")
        files = json.loads(self.bench.ctl("list-unit-files --json=short 'load@*'", timeout=LONG_S))
        found = sum(1 for file in files if not file["unit"].startswith("load@."))
        if found != requests * units:
            raise Failure(f"{found} units were submitted instead of {requests * units}")
        self.bench.ctl("destroy 'load@*'", timeout=LONG_S)
        seconds, _, p99_us = (float(word) for word in done.stdout.split())
        return seconds, p99_us / 1000, spent_ms

    def run(self, name, unit, rounds, requests, units, in_flight):
        rates, cpu_us, plain_rates, plain_cpu_us = [], [], [], []
        for _ in range(rounds):
            for program, socket, to, cpu in [("submit-client", "argosy.sock", plain_rates, plain_cpu_us),
                                             ("http-client", "http.sock", rates, cpu_us)]:
                seconds, p99_ms, spent_ms = self.client(program, socket, requests, units, in_flight)
                to.append(requests * units / seconds)
                cpu.append(1000 * spent_ms / (requests * units))
                say(f"{name}: {program}: {to[-1]:.0f} {unit}, p99 {p99_ms:.1f} ms, {cpu[-1]:.1f} us")
        emit(name, "rate", unit, rates, plain_rates)
        emit(name, "leader-cpu", "us", cpu_us, plain_cpu_us)


def run(bench, rounds):
    submits = Submits(bench)
    submits.run("submit-http", "1/s", rounds, REQUESTS, 1, CONNECTIONS)
    submits.run("submit-http-bulk", "units/s", rounds, BULK, BULK_UNITS, BULK_CONNECTIONS)


main(run)
