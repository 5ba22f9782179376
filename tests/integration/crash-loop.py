#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""argosyd is killed again and again on every node while 300 units are started: every acknowledged request is kept, and when the
dust has settled no unit runs twice."""

import itertools
import json
import random
import threading

from lib import QUICK, SLEEPER, Cluster, eventually, main

UNITS, BATCH, KILLS = 300, 10, 10


class Killer(threading.Thread):
    """kill -9 of argosyd, one node after the other, without a pause between them that would let the cluster settle."""

    def __init__(self, nodes, seed):
        super().__init__()
        self._nodes, self._random, self._end = nodes, random.Random(seed), threading.Event()
        self._changed, self.kills = threading.Condition(), 0

    def run(self):
        for node in itertools.cycle(self._nodes):
            if self._end.wait(self._random.uniform(0.2, 0.7)):
                return
            if node.exec(["systemctl", "kill", "-s", "KILL", "argosyd"]).status == 0:
                with self._changed:
                    self.kills += 1
                    self._changed.notify_all()

    def wait_for(self, kills):
        with self._changed:
            assert self._changed.wait_for(lambda: self.kills >= kills, timeout=30), f"{self.kills} kills in 30 s"

    def end(self):
        self._end.set()
        self.join()


def shown_active(c):
    return {(row["unit"], row["node"]) for row in c.rows("w@*") if row["active"] == "active"}


def test_kill_9_in_a_loop_during_300_starts(c: Cluster):
    c.submit("w@.service", SLEEPER)
    killer = Killer(c.nodes, seed=7)
    killer.start()
    acknowledged, asked = set(), 0
    try:
        for first, node in zip(range(1, UNITS + 1, BATCH), itertools.cycle(c.nodes)):
            killer.wait_for(kills=asked * KILLS // UNITS)  # however fast the nodes are, the kills are spread over the starts
            result = c.ctl_result(f"start --no-block --json=short w@{{{first}..{first + BATCH - 1}}}", on=node)
            asked += BATCH
            acknowledged |= {row["unit"] for row in json.loads(result.out or "[]") if row["ok"]}
        killer.wait_for(KILLS)
    finally:
        killer.end()
    print(f"{killer.kills} kills, {len(acknowledged)} of {asked} acknowledged")
    assert len(acknowledged) >= UNITS / 2

    c.wait_online()
    eventually(lambda: acknowledged <= set(c.active("w@*")), within=20, what="all acknowledged units are active")
    c.assert_once("w@*", len(c.active("w@*")))
    wanted = {row["unit"] for row in c.json("list-unit-files") if row["desired"] == "launched"}
    eventually(lambda: set(c.active("w@*")) == wanted, what="what runs is what is wanted")
    eventually(lambda: shown_active(c) == {(unit, nodes[0]) for unit, nodes in c.active("w@*").items()},
               what="what is shown is what runs")


main(nodes=3, conf=QUICK)
