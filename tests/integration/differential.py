#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What argosy shows is what systemd does: random operations, half of them through argosyctl and half behind its back.

    tests/integration/differential.py                                the short form, as in tools/check
    tests/integration/differential.py --operations 10000 --seed 7    the long form
    tests/integration/differential.py --nodes 1 --lanes 1            one node, one operation at a time

Operations come in bursts, several lanes at a time. After each burst the nodes come to rest, and list-units is compared with
what systemd lists on the nodes: LOAD, ACTIVE and SUB of every unit, and nothing runs that argosy does not show.

The order of operations within a burst depends on the machine; what a seed repeats is their choice. At the end no rolling check
has found a signal missing: none was lost.
"""

import argparse
import random
import re
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass

from lib import Cluster, Failure, eventually, main
from views import Views

SHORT, SHORT_S = 400, 25  # operations of the short form, and how long it goes on at most
HISTORY = 25  # operations on a unit that a story begins with

NO_LIMIT = "[Unit]\nStartLimitIntervalSec=0\n"
FIRST = "[X-Argosy]\nMachineMetadata=number=1\n"
SLEEPER = NO_LIMIT + "[Service]\nExecStart=/bin/sleep infinity\n"

# {unit: its file}. Those that need each other are on one node.
UNITS = {
    "plain.service": SLEEPER,
    "limited.service": "[Service]\nExecStart=/bin/sleep infinity\n",
    "worker@1.service": SLEEPER,
    "worker@2.service": SLEEPER,
    "worker@3.service": SLEEPER,
    "once.service": NO_LIMIT + "[Service]\nType=oneshot\nExecStart=/bin/true\n",
    "keep.service": NO_LIMIT + "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
    "broken.service": NO_LIMIT + "[Service]\nType=oneshot\nExecStart=/bin/false\n",
    "missing.service": NO_LIMIT + "[Service]\nExecStart=/nonexistent\n",
    "early.service": NO_LIMIT + "[Service]\nExecStart=/bin/sh -c 'exit 3'\n",
    "crash.service": "[Unit]\nStartLimitBurst=3\n[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=0\n",
    "phoenix.service": NO_LIMIT + "[Service]\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=0\n",
    "slow.service": NO_LIMIT + "[Service]\nExecStartPre=/bin/sleep 0.2\nExecStart=/bin/sleep infinity\n",
    "tick.service": NO_LIMIT + "[Service]\nType=oneshot\nExecStart=/bin/true\n" + FIRST,
    "tick.timer": "[Timer]\nOnActiveSec=30ms\nAccuracySec=1ms\n" + FIRST,
    "later.service": SLEEPER + FIRST,
    "later.timer": "[Timer]\nOnActiveSec=1d\n" + FIRST,
    "talk.service": SLEEPER + FIRST,
    "talk.socket": "[Socket]\nListenStream=/run/talk.sock\n" + FIRST,
    "group.target": "[Unit]\nWants=member.service\n" + FIRST,
    "member.service": "[Unit]\nPartOf=group.target\n" + SLEEPER.removeprefix("[Unit]\n") + FIRST,
}

OURS = {  # argosyctl: weight
    "start": 9, "stop": 6, "restart": 3, "load": 2, "unload": 2, "destroy": 2, "replace": 4,
}

# What somebody does on a node: (weight, command). {unit}, {file}: its drop-in directory.
THEIRS = [
    (9, "systemctl start {unit}"),
    (7, "systemctl stop {unit}"),
    (2, "systemctl restart {unit}"),
    (2, "systemctl --no-block start {unit}; systemctl --no-block stop {unit}"),
    (3, "systemctl kill --signal=KILL {unit}"),
    (2, "systemctl kill {unit}"),
    (3, "systemctl reset-failed {unit}"),
    (2, "systemctl show --property=Id {unit}"),
    (1, "systemctl freeze {unit}; systemctl thaw {unit}"),
    (4, "systemctl mask {unit}"),
    (1, "systemctl mask --runtime {unit}"),
    (5, "systemctl unmask {unit}"),
    (2, "systemctl unmask --runtime {unit}"),
    (2, "mkdir -p {drop_in} && printf '[Unit]\\nDescription=%s\\n' $$ >{drop_in}/50-edit.conf && systemctl daemon-reload"),
    (2, "mkdir -p {drop_in} && printf '[Unit]\\nDescription=%s\\n' $$ >{drop_in}/50-edit.conf"),
    (2, "rm -rf {drop_in}"),
    (1, "systemctl revert {unit}"),
    (2, "systemctl set-property --runtime {unit} CPUWeight=$((100 + $$ % 100))"),
    (1, "touch /run/systemd/system && systemctl list-unit-files >/dev/null"),
    (2, "systemctl daemon-reload"),
    (1, "systemctl daemon-reexec"),
]

# What argosyctl must never say, since nothing here takes a minute.
STUCK = re.compile(r"goes on|still runs|timed out waiting")


@dataclass
class Operation:
    number: int
    node: str
    command: str
    unit: str
    began: float = 0
    ended: float = 0
    status: int = -1
    said: str = ""

    def __str__(self):
        said = f"  # {self.said}" if self.said else ""
        return f"  {self.began:8.3f} +{self.ended - self.began:5.3f} {self.node}  {self.command}  -> {self.status}{said}"


class Choice:
    """Everything that the seed decides."""

    def __init__(self, seed, nodes):
        self._random, self._nodes, self._versions = random.Random(seed), nodes, 0
        self._hot = list(UNITS)

    def operation(self, number):
        unit, node = self._random.choice(self._hot), self._random.choice(self._nodes)
        if self._random.random() < 0.55:
            [verb] = self._random.choices(list(OURS), OURS.values())
            return Operation(number, node, self._ours(verb, unit), unit)
        [(_, command)] = self._random.choices(THEIRS, [weight for weight, _ in THEIRS])
        return Operation(number, node, command.format(unit=unit, drop_in=f"/etc/systemd/system/{unit}.d"), unit)

    def _ours(self, verb, unit):
        if verb == "replace":
            self._versions += 1
            stem, at, rest = unit.partition("@")
            path = f"units/{stem}@.service" if at else f"units/{unit}"
            return (f"sed -i '/^# version/d' {path} && echo '# version {self._versions}' >>{path} && "
                    f"argosyctl start --timeout=60s --replace units/{unit}")
        if verb in ("start", "load"):
            return f"argosyctl {verb} --timeout=60s units/{unit}"
        return f"argosyctl {verb} --timeout=60s {unit}"

    def burst(self, first, size, lanes):
        """Lanes of operations, all on a few units, so that they meet."""
        self._hot = self._random.sample(list(UNITS), 6)
        result = [[] for _ in range(lanes)]
        for number in range(first, first + size):
            self._random.choice(result).append(self.operation(number))
        return result

    def size(self):
        return self._random.choice([1, 3, 10, 25, 25, 40])


class Lane(threading.Thread):
    def __init__(self, cluster, operations, zero):
        super().__init__()
        self._cluster, self._operations, self._zero = cluster, operations, zero

    def run(self):
        for op in self._operations:
            op.began = time.monotonic() - self._zero
            result = self._cluster.node(op.node).exec(["sh", "-c", op.command])
            op.ended = time.monotonic() - self._zero
            op.status, op.said = result.status, " | ".join((result.err + result.out).split("\n")[:2]).strip(" |")


def run_burst(c, lanes):
    zero = time.monotonic()
    threads = [Lane(c, operations, zero) for operations in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted((op for operations in lanes for op in operations), key=lambda op: op.began)


def stories(found, history, operations, rows=()):
    """What happened to the units that differ, in this burst and before; and the whole burst."""
    units = {difference.split()[0] for difference in found}
    before = [op for op in history if op.unit in units][-HISTORY:]
    near = [op for op in operations if op.unit in units or "daemon-re" in op.command]
    return "\n".join([*(f"shown: {row}" for row in rows if row["unit"] in units),
                      "before this burst:", *map(str, before), "in this burst:", *map(str, near),
                      "the whole burst:", *map(str, operations)])


def details(c, found):
    """Where systemd has the units that differ from."""
    text = ""
    for difference in found:
        unit, _, node = difference.partition(":")[0].split()
        text += c.node(node).run(f"systemctl show --property=FragmentPath,DropInPaths,NeedDaemonReload,TriggeredBy,WantedBy {unit}; "
                                 f"ls -ld /*/systemd/system/{unit}* || true")
        text += c.node(node).journal(lines=60, grep=f"{re.escape(unit)}|Reloading|Reexec") + "\n"
    return text


def prepare(c):
    for node in c.nodes:
        node.run("mkdir -p /root/units")
        for unit, text in UNITS.items():
            stem, at, _ = unit.partition("@")
            node.write(f"/root/units/{stem}@.service" if at else f"/root/units/{unit}", text)
    return Views(c, UNITS, soon=["tick.timer"])


def counters(node):
    """What argosyd counted since its start."""
    since = time.time()
    node.run("systemctl kill --kill-whom=main --signal=USR1 argosyd")
    line = eventually(lambda: node.journal("argosyd", since=since - 1, grep="Counters:", lines=1))
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


def differ(c, seed, n_operations, lanes, within_s):
    choice, done, bursts, began = Choice(seed, [node.name for node in c.nodes]), 0, 0, time.monotonic()
    history = deque(maxlen=2000)
    views = prepare(c)
    while done < n_operations and time.monotonic() < began + within_s:
        operations = run_burst(c, choice.burst(done, min(choice.size(), n_operations - done), lanes))
        done, bursts = done + len(operations), bursts + 1
        told = f"seed {seed}, burst {bursts}, operations {operations[0].number} and on"
        stuck = [op for op in operations if STUCK.search(op.said)]
        assert not stuck, f"{told}: stuck\n" + stories([op.unit for op in stuck], history, operations)
        try:
            found, rows = views.compare()
        except (AssertionError, Failure) as error:
            raise AssertionError(f"{told}: {error}\n" + stories([str(error)], history, operations)) from None
        assert not found, f"{told}:\n" + "\n".join(found) + "\n" + details(c, found) + stories(found, history, operations, rows)
        history += operations
        if done // 1000 > (done - len(operations)) // 1000:
            print(f"seed {seed}: {done} operations, {time.monotonic() - began:.0f} s", flush=True)
    missing = {node.name: counters(node)["discrepancies"] for node in c.nodes}
    assert not any(missing.values()), f"seed {seed}: rolling checks say that signals were lost: {missing}"
    print(f"seed {seed}: {done} operations in {bursts} bursts, {time.monotonic() - began:.0f} s, no difference", flush=True)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, help=f"how many; {SHORT}, but no longer than {SHORT_S} s")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--lanes", type=int, default=4)
    args, rest_of_them = parser.parse_known_args()
    sys.argv[1:] = rest_of_them
    return args


OPTIONS = options()


def test_our_view_and_systemds_never_differ(c: Cluster):
    differ(c, OPTIONS.seed, OPTIONS.operations or SHORT, OPTIONS.lanes, float("inf") if OPTIONS.operations else SHORT_S)


main(nodes=OPTIONS.nodes, conf=["Log.Level=7", *[f"n{number + 1}:Node.Labels=number={number + 1}" for number in range(OPTIONS.nodes)]])
