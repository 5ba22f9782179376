#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""argosyd is killed again and again on every node while 300 units are started: every acknowledged request is kept, and when the
dust has settled no unit runs twice.

Kills and requests wait for each other, so that a fast machine has its kills and a slow one makes progress."""

import itertools
import json
import random
import threading

from lib import QUICK, SLEEPER, Cluster, eventually, main

UNITS, BATCH, KILLS = 300, 10, 10


class Killer(threading.Thread):
    """kill -9 of argosyd on one node after the other, without a pause between them that would let the cluster settle; but no more
    than one during one request, since nobody could answer any if they came faster than daemons start."""

    def __init__(self, nodes, seed):
        super().__init__(daemon=True)
        self._nodes, self._random, self._ended = nodes, random.Random(seed), False
        self._changed, self._allowed, self.kills = threading.Condition(), False, 0
        self._attempts = 0

    def run(self):
        for node in itertools.cycle(self._nodes):
            with self._changed:
                self._changed.wait_for(lambda: self._allowed or self._ended)
                self._changed.wait_for(lambda: self._ended, timeout=self._random.uniform(0.2, 0.7))
                if self._ended:
                    return
                self._allowed = False
            killed = node.exec(["systemctl", "kill", "-s", "KILL", "argosyd"]).status == 0
            with self._changed:
                self.kills, self._attempts = self.kills + killed, self._attempts + 1
                self._changed.notify_all()

    def allow_one(self):
        with self._changed:
            self._allowed = True
            self._changed.notify_all()

    def wait_for(self, kills):
        while self.kills < kills:
            attempts = self._attempts
            self.allow_one()
            with self._changed:
                assert self._changed.wait_for(lambda: self._attempts > attempts, timeout=60), f"{self.kills} kills, and no more in 60 s"

    def end(self):
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self.join()


def ask(c, killer, node, units):
    """Asks for the starts, while somebody may be killed; whether all of them were acknowledged."""
    killer.allow_one()
    result = c.ctl_result(f"start --no-block --json=short {units}", on=node)
    return [row["ok"] for row in json.loads(result.out or "[]")] == [True] * BATCH


def shown_active(c):
    return {(row["unit"], row["node"]) for row in c.rows("w@*") if row["active"] == "active"}


def test_kill_9_in_a_loop_during_300_starts(c: Cluster):
    c.submit("w@.service", SLEEPER)
    killer = Killer(c.nodes, seed=7)
    killer.start()
    acknowledged, asked, nodes = set(), 0, itertools.cycle(c.nodes)
    try:
        for first in range(1, UNITS + 1, BATCH):
            killer.wait_for(asked * KILLS // UNITS)  # they are spread over the starts
            units = f"w@{{{first}..{first + BATCH - 1}}}"
            eventually(lambda: ask(c, killer, next(nodes), units), what=f"{units} are acknowledged")
            asked += BATCH
            acknowledged |= {f"w@{number}.service" for number in range(first, first + BATCH)}
        killer.allow_one()
        killer.wait_for(KILLS)
    finally:
        killer.end()
    print(f"{killer.kills} kills, {asked} starts")

    c.wait_online()
    eventually(lambda: acknowledged <= set(c.active("w@*")), what="all acknowledged units are active")
    c.assert_once("w@*", len(c.active("w@*")))
    wanted = {row["unit"] for row in c.json("list-unit-files") if row["desired"] == "launched"}
    eventually(lambda: set(c.active("w@*")) == wanted, what="what runs is what is wanted")
    eventually(lambda: shown_active(c) == {(unit, nodes[0]) for unit, nodes in c.active("w@*").items()},
               what="what is shown is what runs")


main(nodes=3, conf=QUICK)
