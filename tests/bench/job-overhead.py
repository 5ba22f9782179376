#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""job-overhead: what a job of one unit costs the leader, and beside it another build of argosyd

    ARGOSY_BESIDE=PATH   the other argosyd, such as that of the commit before jobs were kept; without it nothing is measured

A cluster of one node, so that no other voter's work counts. A round begins with a fresh host: JOBS requests of one unit each (`submit` of
new instances of one template) from one C client (submit-client.c), 64 under way; CPU time of argosyd for each. Whoever looks whether they
are there is no part of it. The two builds alternate.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench import LONG_S, PROGRAMS, SOURCE, Bench, Failure, alternate, emit, main
from measure import cpu_ms

JOBS = 20000
IN_FLIGHT = 64
SKIPPED = 77  # as meson knows it
PATH = "/usr/sbin/argosyd"


class Builds:
    def __init__(self, bench: Bench, beside):
        self.bench, self.node = bench, bench.nodes[0]
        self.cpu_us = {"this": [], "beside": []}
        this = Path(os.environ.get("ARGOSY_BUILD") or SOURCE / "build") / "src/daemon/argosyd"
        for name, program in [("this", this), ("beside", beside)]:
            shutil.copy2(program, self.node.path(f"{PROGRAMS}/argosyd-{name}"))

    def measure(self, name):
        self.node.run("systemctl stop argosyd.socket argosyd.service run-argosy-secrets.mount && rm -rf /var/lib/argosy/* /run/argosy/* && "
                      f"cp --remove-destination {PROGRAMS}/argosyd-{name} {PATH} && "
                      "systemctl reset-failed && systemctl start argosyd.socket argosyd.service")
        self.bench.wait_whole()
        self.bench.submit("load@.service")
        pid = self.node.argosyd_pid_outside()
        path = f"/proc/{self.node.init_pid()}/root/run/argosy/argosy.sock"
        before = cpu_ms(pid)
        done = subprocess.run([self.bench.programs / "submit-client", path, "load@", "1", str(JOBS), "1", str(IN_FLIGHT)],
                              text=True, capture_output=True, timeout=LONG_S)
        if done.returncode != 0:
            raise Failure(f"argosyd-{name}: {done.stderr.strip()}")
        self.cpu_us[name].append(1000 * (cpu_ms(pid) - before) / JOBS)


def run(bench, rounds):
    builds = Builds(bench, BESIDE)
    alternate(rounds, lambda: builds.measure("this"), lambda: builds.measure("beside"))
    emit("job-overhead", "leader-cpu", "us", builds.cpu_us["this"], builds.cpu_us["beside"])


BESIDE = os.environ.get("ARGOSY_BESIDE")
if not BESIDE and "--help" not in sys.argv:
    print("job-overhead: ARGOSY_BESIDE names no other argosyd to stand beside this one", file=sys.stderr)
    sys.exit(SKIPPED)
main(run, nodes=1)
