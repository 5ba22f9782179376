#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""rolling-100, drain-300: units that are taken down on purpose, a few at a time, and how long each of them was down

rolling-100: an update of 100 instances on three nodes, ten at a time, from the command to its end; without a health gate, so that
only the work counts. drain-300: from `drain` of a node with 300 of 900 units to its end, all of them active elsewhere.

`down` is the time of the unit that was down longest: from its ExecStop= to the ExecStartPost= of its next run, as the units
themselves have noted it (all nodes have the same clock). These two commands are part of the times.
"""

from bench import LONG_S, Bench, emit, main, say

ROLLING, AT_ONCE = 100, 10
DRAINED, NODES = 300, 3
NOTES = "/root/notes"


def template(number):
    note = f"/bin/sh -c 'read t r </proc/uptime; echo $t %n {{}} >>{NOTES}'"
    return (f"[Service]\nExecStart=/root/bench/pause\nStandardOutput=null\nEnvironment=REVISION={number}\n"
            f"ExecStartPost={note.format('up')}\nExecStop={note.format('down')}\n")


def longest_down(bench, count):
    """Of so many units that all went down and came up again."""
    notes, down_at, down_s = [], {}, {}
    for node in bench.nodes:
        path = node.path(NOTES)
        for line in path.read_text().splitlines() if path.exists() else []:
            at, unit, what = line.split()
            notes.append((float(at), unit, what))
    for at, unit, what in sorted(notes):
        if what == "down":
            down_at[unit] = at
        elif unit in down_at:
            down_s[unit] = at - down_at.pop(unit)
    assert len(down_s) == count and not down_at, f"{len(down_s)} of {count} units went down and came up, {len(down_at)} stay down"
    return max(down_s.values())


def forget_notes(bench):
    for node in bench.nodes:
        node.run(f"rm -f {NOTES}")


class Rolling:
    def __init__(self, bench: Bench):
        self.bench = bench
        self.update_s, self.update_down_s, self.drain_s, self.drain_down_s = [], [], [], []

    def update(self, number):
        bench, node = self.bench, self.bench.nodes[0]
        bench.submit("roll@.service", template(number))
        bench.ctl(f"start roll@{{1..{ROLLING}}}")
        forget_notes(bench)
        node.write("/root/units/roll@.service", template(-1))
        self.update_s.append(bench.timed(f"update --max-unavailable={AT_ONCE} --health=0 /root/units/roll@.service", on=node))
        bench.assert_active("roll@*", ROLLING)
        self.update_down_s.append(longest_down(bench, ROLLING))
        say(f"update: {self.update_s[-1]:.3f} s, one down for {self.update_down_s[-1]:.3f} s")
        bench.ctl("destroy '*'")

    def drain(self):
        bench = self.bench
        victim, *others = bench.nodes
        bench.submit("load@.service", template(0))
        bench.ctl(f"start load@{{1..{DRAINED * NODES}}}", timeout=LONG_S)
        forget_notes(bench)
        drained = bench.spread("load@*")[victim.name]
        self.drain_s.append(bench.timed(f"drain {victim.name}", on=others[0]))
        bench.ctl(f"start load@{{1..{DRAINED * NODES}}}", timeout=LONG_S)  # returns when all are up
        bench.assert_active("load@*", DRAINED * NODES)
        self.drain_down_s.append(longest_down(bench, drained))
        say(f"drain of {drained}: {self.drain_s[-1]:.3f} s, one down for {self.drain_down_s[-1]:.3f} s")
        bench.ctl(f"uncordon {victim.name}")
        bench.ctl("destroy '*'", timeout=LONG_S)


def run(bench, rounds):
    rolling = Rolling(bench)
    for number in range(rounds):
        rolling.update(number)
        rolling.drain()
    emit("rolling-100", "wall", "s", rolling.update_s)
    emit("rolling-100", "down", "s", rolling.update_down_s)
    emit("drain-300", "wall", "s", rolling.drain_s)
    emit("drain-300", "down", "s", rolling.drain_down_s)


main(run)
