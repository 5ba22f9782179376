# SPDX-License-Identifier: LGPL-2.1-or-later
"""What argosyd's processes use for each unit: the leader on a host that takes no units, and the agents by themselves.

A clock on the wall shakes when a machine does other work; CPU time for each unit does so less. Since a leader that also runs units
is agent and leader in one process, the rounds that count it are rounds of their own, in which its host is cordoned. The others are
voters, so what they use for each unit is the agent's work and a follower's copy of the log.
"""

from contextlib import contextmanager

from bench import Failure, emit
from measure import cpu_ms


class CordonedLeader:
    def __init__(self, bench, count):
        self._bench, self._count = bench, count
        self._leader, self._agents = {}, {}

    @contextmanager
    def cordoned(self):
        """Inside, the leader's host takes no units; it must lead until the end."""
        leader = self._bench.leader()
        self._bench.ctl(f"cordon {leader.name}")
        yield
        if self._bench.leader().name != leader.name:
            raise Failure("the leader changed in the middle of a round")
        self._bench.ctl(f"uncordon {leader.name}")

    @contextmanager
    def counted(self, batch):
        """Adds the CPU time of what happens inside to the figures of the batch."""
        leader, before = self._bench.leader().name, self._used()
        yield
        used = {name: (after - before[name]) * 1000 / self._count for name, after in self._used().items()}
        self._leader.setdefault(batch, []).append(used.pop(leader))
        self._agents.setdefault(batch, []).append(sum(used.values()))

    def _used(self):
        return {node.name: cpu_ms(node.argosyd_pid_outside()) for node in self._bench.nodes}

    def report(self, baselines):
        """leader-cpu and agent-cpu in microseconds for each unit. baselines: {batch: what the plain clients used for each}"""
        for batch, used in self._leader.items():
            emit(f"{batch}-{self._count}", "leader-cpu", "us", used, baselines[batch])
            emit(f"{batch}-{self._count}", "agent-cpu", "us", self._agents[batch], baselines[batch])
