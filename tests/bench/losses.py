#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""node-loss, leader-loss: a power cut, and the time until the cluster serves again: with everything at its default, and with the
shortest times that are sensible

node-loss: from the cut of a node with 300 units to all of them active elsewhere. leader-loss: from the cut of the leader to the
end of a request that somebody makes on another node at that moment.
"""

import os
import time

from bench import Bench, emit, main, say, wait_for

COUNT = 900
UNITS = f"loss@{{1..{COUNT}}}"

# The configuration permits less, but then one lost packet is a lost host or leader: TCP sends it again after 0.2 s, and
# after 0.4 s more. A lease of five beats outlives both; an election takes place only where the leader's word, every third of the
# time, is missing three times, which on a network without losses it never is.
SHORTEST = ["Cluster.LeaseSec=1", "Cluster.HeartbeatSec=0.2", "Cluster.ElectionTimeoutSec=0.15"]


def running(node):
    """How many of the units have a process on the node: read off its control groups, so that nobody there is asked."""
    count = 0
    for path, directories, _ in os.walk(node.cgroup("")):
        if os.path.basename(path).startswith("loss@"):
            with open(f"{path}/cgroup.events") as events:
                count += "populated 1" in events.read()
    return count


class Losses:
    def __init__(self, bench: Bench):
        self.bench, self.node_s, self.leader_s = bench, [], []

    def lose_node(self):
        bench = self.bench
        bench.submit("loss@.service")
        bench.ctl(f"start {UNITS}")
        victim = next(node for node in bench.nodes if node.name != bench.leader().name)
        others = [node for node in bench.nodes if node.name != victim.name]
        lost = running(victim)
        victim.kill()
        self.node_s.append(wait_for(lambda: sum(map(running, others)) >= COUNT, f"{lost} units of {victim.name} active elsewhere"))
        say(f"{victim.name} with {lost} units: {self.node_s[-1]:.3f} s")
        bench.assert_active("loss@*", COUNT)
        self._bring_back(victim)
        bench.ctl("destroy '*'")

    def lose_leader(self):
        bench = self.bench
        victim = bench.leader()
        client = next(node for node in bench.nodes if node.name != victim.name)
        name = f"after-{len(self.leader_s)}.service"
        client.write(f"/root/units/{name}", "[Service]\nExecStart=/bin/true\n")
        time.sleep(1)  # whatever the last request left to do
        began = time.monotonic()
        victim.kill()
        bench.ctl(f"submit /root/units/{name}", on=client)
        self.leader_s.append(time.monotonic() - began)
        say(f"leader {victim.name}: {self.leader_s[-1]:.3f} s")
        self._bring_back(victim)

    def _bring_back(self, node):
        node.boot()
        self.bench.wait_whole()


def run(bench, rounds, metric):
    losses = Losses(bench)
    for _ in range(rounds):
        losses.lose_node()
        losses.lose_leader()
    emit("node-loss", metric, "s", losses.node_s)
    emit("leader-loss", metric, "s", losses.leader_s)


main(run, configurations={"default": (), "shortest": SHORTEST})
