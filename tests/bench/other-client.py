#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""other-client: how long another client of systemd waits for an answer while argosy starts 5,000 units

The files are written before, the units loaded. The other client asks every PROBE_MS for a unit that is loaded, which costs
systemd nothing but its turn. Beside it: the same while the plain client starts them.
"""

import subprocess
from contextlib import contextmanager

from bench import LONG_S, PROGRAMS, Failure, alternate, emit_share, main
from plain import Plain, without_argosyd

COUNT = 5000
UNITS = f"load@{{1..{COUNT}}}"
PROBE_MS = 5
PROBED = "dbus.socket"
ROUNDS_MAX = 3


class OtherClient:
    def __init__(self, bench):
        self.bench, self.node, self.plain = bench, bench.nodes[0], None
        self.ours_ms, self.theirs_ms = [], []

    def warm_up(self):
        self._load()
        self.bench.timed(f"start {UNITS}")
        self.plain = Plain(self.bench)
        self._destroy()

    def _load(self):
        self.bench.submit("load@.service")
        self.bench.ctl(f"load {UNITS}", timeout=LONG_S)

    def _destroy(self):
        self.bench.ctl(f"destroy {UNITS}", timeout=LONG_S)

    def measure_ours(self):
        self._load()
        with self._probing(self.ours_ms):
            self.bench.timed(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        self._destroy()

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            with self._probing(self.theirs_ms):
                self.plain.run("start")
            self.bench.assert_active("plain@*", COUNT)
            self.plain.run("stop")
            self.plain.remove_files()

    @contextmanager
    def _probing(self, found_ms):
        probe = subprocess.Popen(self.node.command([f"{PROGRAMS}/probe", str(PROBE_MS), PROBED]),
                                 text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        yield
        out, err = probe.communicate("")
        if probe.returncode != 0:
            raise Failure(f"probe: {err.strip()}")
        found_ms += [float(line) for line in out.split()]


def run(bench, rounds):
    other = OtherClient(bench)
    other.warm_up()
    alternate(min(rounds, ROUNDS_MAX), other.measure_ours, other.measure_theirs)
    for percent in [50, 99]:
        emit_share("other-client", percent, "ms", other.ours_ms, other.theirs_ms)


main(run, nodes=1)
