#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""start-900-files: 900 instances of one template that names a folder of four files of 4 KiB, bound over one of the node's, on three nodes

Argosy starts from the submitted template: the files go to the nodes, and each instance gets its folder. The plain clients beside it find all of that
in place: the same drop-in, folders of links to the same files, and the same mount in each unit's own namespace.
"""

from bench import TEMPLATE, Bench, alternate, emit, main, say
from plain import Plain, without_argosyd

COUNT = 900
UNITS = f"load@{{1..{COUNT}}}"
FILES, FILE_BYTES = 4, 4096
PLACE = "/etc/bench"
WITH_FILES = f"{TEMPLATE}[X-Argosy]\nFile=conf:{PLACE}\n"
COPY = "/run/bench-files"  # on the file system of /run/argosy


class PlainWithFiles(Plain):
    """Their folders, too. The files are copies, so that argosy's own go with its units."""

    def __init__(self, bench):
        super().__init__(bench)
        for node in self._nodes:
            node.run(f"rm -rf {COPY} && cp -a /run/argosy/units/$(ls /run/argosy/units | head -n 1) {COPY}")

    def put_files(self):
        super().put_files()
        for node in self._nodes:
            node.run(f"while read name; do cp -al {COPY} /run/argosy/units/$name; done", input="\n".join(self._names[node.name]) + "\n")


class WithFiles:
    def __init__(self, bench: Bench):
        self.bench, self.ours, self.theirs = bench, [], []
        for node in bench.nodes:
            node.run(f"mkdir -p {PLACE}")
        bench.nodes[0].run("mkdir -p /root/units/conf")
        for number in range(FILES):
            bench.nodes[0].run(f"head -c {FILE_BYTES} /dev/urandom >/root/units/conf/{number}")
        self._start()
        say(f"units per node: {bench.spread('load@*')}")
        self.plain = PlainWithFiles(bench)
        self._destroy()

    def _start(self):
        self.bench.submit("load@.service", WITH_FILES)
        seconds = self.bench.timed(f"start {UNITS}")
        self.bench.assert_active("load@*", COUNT)
        return seconds

    def _destroy(self):
        self.bench.ctl("destroy 'load@*'")

    def measure_ours(self):
        self.ours.append(self._start())
        self._destroy()

    def measure_theirs(self):
        with without_argosyd(self.bench):
            self.plain.put_files()
            self.theirs.append(self.plain.run("start"))
            self.bench.assert_active("plain@*", COUNT)
            self.plain.run("stop")
            self.plain.remove_files()


def run(bench, rounds):
    measured = WithFiles(bench)
    alternate(rounds, measured.measure_ours, measured.measure_theirs)
    emit("start-900-files", "wall", "s", measured.ours, measured.theirs)


main(run)
