#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""update-pull: how long a container is down when it is updated to an image of 50 MB, which no host has before

Nine instances of one template on three nodes, one after the other (`argosyctl update --pull`). Beside it, taking turns: `systemctl restart` of each of them
on its node. The registry is a program of this script's, outside the nodes (fake_registry.py). A unit is down from its ExecStop= to the ExecStartPost= of
its next run, as rolling.py has it, both commands included.

early: units that were stopped before the last host had the image.
"""

import re

from bench import Bench, Failure, alternate, emit, emit_share, main, say
from fake_registry import FakeRegistry, let_nodes_in

COUNT = 9
UNITS = f"load@{{1..{COUNT}}}"
IMAGE_BYTES = 50 << 20
NOTES = "/root/notes"
NOTE = f"/bin/sh -c 'read t r </proc/uptime; echo $t %n {{}} >>{NOTES}'"
CONTAINER = f"""\
[Container]
Image={{image}}
Network=host
Exec=sh -c "trap \\"exit 0\\" TERM; while :; do sleep 1000 & wait; done"
[Service]
ExecStop={NOTE.format('down')}
ExecStartPost={NOTE.format('up')}
"""
PULLED = re.compile(r"\[\s*([\d.]+)\].*The image \S+@(sha256:\w+) was pulled")


class Updates:
    def __init__(self, bench: Bench):
        self.bench, self.number = bench, 0
        self.ours, self.theirs, self.early = [], [], []
        self.registry = FakeRegistry(bench.bed)
        let_nodes_in(self.registry, bench.nodes)
        self._publish(1)
        bench.nodes[0].write("/root/units/load@.container", CONTAINER.format(image=f"{self.registry.address}/load:1"))
        bench.ctl("submit /root/units/load@.container")
        bench.ctl(f"start {UNITS}")
        bench.assert_active("load@*", COUNT)

    def _publish(self, padding=IMAGE_BYTES):
        """Another image under the same tag, and all of it is one new layer."""
        self.number += 1
        return self.registry.publish("load:1", f"number {self.number}", padding=padding + self.number)

    def _down(self):
        """How long each unit was, and when the first went down."""
        notes, down_at, down_s = [], {}, {}
        for node in self.bench.nodes:
            path = node.path(NOTES)
            lines = path.read_text().splitlines() if path.exists() else []
            notes += [(float(at), unit, what) for at, unit, what in map(str.split, lines)]
        for at, unit, what in sorted(notes):
            if what == "down":
                down_at.setdefault(unit, at)
            elif unit in down_at and unit not in down_s:
                down_s[unit] = at - down_at[unit]
        if len(down_s) != COUNT:
            raise Failure(f"{len(down_s)} of {COUNT} units went down and came up")
        return down_s, down_at

    def _forget(self):
        for node in self.bench.nodes:
            node.run(f"rm -f {NOTES}")

    def _pulled_at(self, digest):
        """When the last host had it, on the clock that all nodes share; it is late by what the journal takes."""
        times = []
        for node in self.bench.nodes:
            found = PULLED.findall(node.run("journalctl -u argosyd -o short-monotonic --no-hostname"))
            times += [float(at) for at, pulled in found if pulled == digest]
        if len(times) != len(self.bench.nodes):
            raise Failure(f"{len(times)} hosts have pulled {digest}")
        return max(times)

    def measure_ours(self):
        digest = self._publish()
        self._forget()
        self.bench.ctl("update --pull --health=0 load@.service", self.bench.nodes[0])
        down_s, down_at = self._down()
        self.ours += [1000 * seconds for seconds in down_s.values()]
        pulled = self._pulled_at(digest)
        self.early.append(sum(at < pulled - 0.01 for at in down_at.values()))
        say(f"update: down {max(down_s.values()):.3f} s at most; the first {min(down_at.values()) - pulled:.3f} s after the last pull")
        for node in self.bench.nodes:
            node.run("systemd-run --pipe --wait --quiet podman image prune -af")

    def measure_theirs(self):
        self._forget()
        for node in self.bench.nodes:
            for unit in node.units("load@*"):
                node.run(f"systemctl restart {unit.name}")
        self.theirs += [1000 * seconds for seconds in self._down()[0].values()]


def run(bench, rounds):
    updates = Updates(bench)
    alternate(rounds, updates.measure_ours, updates.measure_theirs)
    emit_share("update-pull", 50, "ms", updates.ours, updates.theirs)
    emit("update-pull", "early", "units", updates.early)


main(run, containers=True)
