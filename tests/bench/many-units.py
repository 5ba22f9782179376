#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-900, stop-900, destroy-900, rss: 900 instances of one template on three nodes

Beside argosyctl runs one plain pipelined client per node, all at the same time, 8 jobs in flight, on units of the same files in
the same slices. argosyd does not run meanwhile: a second listener would make systemd, and so the baseline, slower.

Argosy starts from a submitted template: choosing nodes, replicating and writing files count. The plain clients find their files
in place. Both are over when the client knows that all is done.
"""

import subprocess
from pathlib import Path

from bench import PROGRAMS, Bench, Failure, alternate, emit, main, say

COUNT = 900
WINDOW = 8
UNITS = f"load@{{1..{COUNT}}}"
DIRECTORY = "/run/systemd/system"
COPIES = "/root/plain"

BATCHES = ["start", "stop", "destroy"]


class Plain:
    """One plain client per node, on the same units as argosy's under another name."""

    def __init__(self, bench):
        """Argosy's units are active: what lies in their files, and where they are, becomes the plan."""
        self._nodes, self._names = bench.nodes, {}
        for node in self._nodes:
            node.run(f"mkdir {COPIES} && cd {DIRECTORY} && for f in load@*; do cp -a $f {COPIES}/plain@${{f#load@}}; done")
            units = node.run("systemctl list-units --plain --no-legend --full 'load@*' | cut -d' ' -f1").split()
            self._names[node.name] = [unit.replace("load@", "plain@") for unit in units]

    def put_files(self):
        for node in self._nodes:
            node.run(f"cp -a {COPIES}/. {DIRECTORY}/ && systemctl daemon-reload")

    def remove_files(self):
        for node in self._nodes:
            node.run(f"rm -r {DIRECTORY}/plain@* && systemctl daemon-reload")

    def run(self, verb):
        """Seconds from the first client's first job to the last one's last."""
        where = [DIRECTORY] if verb == "destroy" else []
        clients = [subprocess.Popen(node.command([f"{PROGRAMS}/plain-client", verb, str(WINDOW), *where, *self._names[node.name]]),
                                    text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for node in self._nodes]
        spans = []
        for client in clients:
            out, err = client.communicate()
            if client.returncode != 0:
                raise Failure(f"plain {verb}: {err.strip()}")
            spans.append([float(word) for word in out.split()])
        return max(end for _, end in spans) - min(begin for begin, _ in spans)


class ManyUnits:
    def __init__(self, bench: Bench):
        self.bench, self.plain = bench, None
        self.ours, self.theirs = {batch: [] for batch in BATCHES}, {batch: [] for batch in BATCHES}
        self.rss_mb = []

    def warm_up(self):
        self.bench.submit("load@.service")
        self.bench.ctl(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        say(f"units per node: {self.bench.spread('load@*')}")
        self.plain = Plain(self.bench)
        self.bench.ctl("destroy 'load@*'")

    def measure_ours(self):
        self.bench.submit("load@.service")
        self.ours["start"].append(self.bench.timed(f"start {UNITS}"))
        self.bench.assert_active("load@*", COUNT)
        self._note_rss()
        self.ours["stop"].append(self.bench.timed(f"stop {UNITS}"))
        self.bench.assert_active("load@*", 0)
        self.bench.ctl(f"start {UNITS}")
        self._note_rss()
        self.ours["destroy"].append(self.bench.timed(f"destroy {UNITS}"))
        self.bench.assert_active("load@*", 0)

    def _note_rss(self):
        self.rss_mb.append(max(_rss_mb(node) for node in self.bench.nodes))

    def measure_theirs(self):
        self._switch_argosyd("stop")
        self.plain.put_files()
        self.theirs["start"].append(self.plain.run("start"))
        self.bench.assert_active("plain@*", COUNT)
        self.theirs["stop"].append(self.plain.run("stop"))
        self.bench.assert_active("plain@*", 0)
        self.plain.run("start")
        self.theirs["destroy"].append(self.plain.run("destroy"))
        self.bench.assert_active("plain@*", 0)
        self.plain.remove_files()
        self._switch_argosyd("start")
        self.bench.wait_whole()

    def _switch_argosyd(self, verb):
        for node in self.bench.nodes:
            node.run(f"systemctl {verb} argosyd.socket argosyd.service")

    def report(self):
        for batch in BATCHES:
            emit(f"{batch}-{COUNT}", "wall", "s", self.ours[batch], self.theirs[batch])
        emit("rss", "max", "MB", [max(self.rss_mb)])


def _rss_mb(node):
    for line in Path(f"/proc/{node.argosyd_pid_outside()}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Failure(f"{node.name}: /proc does not know the size of argosyd")


def run(bench, rounds):
    many = ManyUnits(bench)
    many.warm_up()
    alternate(rounds, many.measure_ours, many.measure_theirs)
    many.report()


main(run)
