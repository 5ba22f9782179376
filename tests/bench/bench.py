# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the benchmarks are written with: rounds, the JSON lines, units that cost nothing, and the plain clients beside argosy.

A benchmark is a script that boots a testbed, measures five times (ROUNDS), and prints one JSON line per figure:

    {"bench": ID, "metric": NAME, "value": X, "unit": U, "baseline": Y, "ratio": X/Y}

The value is the median. Where a baseline is measured beside it, the two alternate and change their order from round to round,
so that a machine which gets slower or faster meanwhile treats both alike. What happens goes to standard error.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tools/lib"), str(SOURCE / "tests/lib")]

from testbed import Cluster, Failure, Testbed  # noqa: E402
from testbed import containers as testbed_containers  # noqa: E402

ROUNDS = 5
PATIENCE_S = 120
LONG_S = 600  # for requests about thousands of units
POLL_S = 0.02

# Where the benchmarks' programs lie inside the nodes.
PROGRAMS = "/root/bench"

TEMPLATE = f"""\
[Service]
ExecStart={PROGRAMS}/pause
StandardOutput=null
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def emit(bench, metric, unit, values, baselines=None):
    """One figure: the medians of what was measured."""
    say(f"{bench} {metric}: {_all(values)}" + (f" beside {_all(baselines)}" if baselines else ""))
    _print_figure(bench, metric, unit, statistics.median(values), statistics.median(baselines) if baselines else None)


def emit_share(bench, percent, unit, values, baselines=None):
    """One figure of many single measurements: what so many percent of them stay below."""
    say(f"{bench}: {len(values)} measured, the largest {max(values):.3f} {unit}")
    _print_figure(bench, f"p{percent}", unit, percentile(values, percent), percentile(baselines, percent) if baselines else None)


def _print_figure(bench, metric, unit, value, baseline):
    figure = {"bench": bench, "metric": metric, "value": _rounded(value), "unit": unit}
    if baseline is not None:
        figure |= {"baseline": _rounded(baseline), "ratio": round(value / baseline, 3) if baseline else None}
    print(json.dumps(figure), flush=True)


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _rounded(value):
    return round(value, 3)


def _all(values):
    return " ".join(f"{value:.3f}" for value in values)


def alternate(rounds, ours, theirs):
    """Runs both in every round, the one that goes first changing."""
    for number in range(rounds):
        for measure in [ours, theirs] if number % 2 == 0 else [theirs, ours]:
            measure()


def wait_for(condition, what, within=PATIENCE_S):
    """The seconds until the condition holds; a node that cannot answer yet has not said yes."""
    began = time.monotonic()
    while True:
        try:
            seen = condition()
            if seen:
                return time.monotonic() - began
        except Failure as reason:
            seen = reason
        if time.monotonic() - began > within:
            raise Failure(f"{what}: not within {within} s (last seen: {seen})")
        time.sleep(POLL_S)


class Bench(Cluster):
    """A testbed with the benchmarks' programs in its nodes, and argosy's verbs on it."""

    def __init__(self, bed):
        super().__init__(bed)
        self.programs = Path(os.environ.get("ARGOSY_BUILD") or SOURCE / "build") / "tests/bench"
        for program in ["plain-client", "pause", "probe", "poll-client"]:
            self.copy_program(program)

    def copy_program(self, program):
        for node in self.nodes:
            node.path(PROGRAMS).mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.programs / program, node.path(f"{PROGRAMS}/{program}"))

    def timed(self, command, on=None, status=0):
        """Runs argosyctl; the seconds from its start to its end, as a person sees them."""
        argv = self._node_to_ask(on).command(["argosyctl", *command.split()])
        return timed_command(argv, status)

    def submit(self, name, text=TEMPLATE):
        self.nodes[0].write(f"/root/units/{name}", text)
        self.ctl(f"submit /root/units/{name}")

    def is_whole(self):
        """Every node online, the log with a leader."""
        asked = self.running_nodes[-1]
        return set(self.node_states(asked).values()) == {"online"} and self.leader_name(asked)

    def wait_whole(self):
        wait_for(self.is_whole, "all nodes online, with a leader")

    def leader(self):
        name = self.leader_name()
        if not name:
            raise Failure("there is no leader")
        return self.node(name)

    def assert_active(self, pattern, count):
        """Exactly so many units run, none of them twice, in the eyes of the nodes' own systemd."""
        found = self.active(pattern)
        if len(found) != count or any(len(nodes) != 1 for nodes in found.values()):
            raise Failure(f"{len(found)} units of {pattern} are active, {sum(map(len, found.values()))} times; "
                          f"expected {count}, once each")


def timed_command(argv, status=0):
    """The seconds from the command's start to its end, which must be this one."""
    began = time.monotonic()
    done = subprocess.run(argv, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    if done.returncode != status:
        raise Failure(f"{' '.join(argv[-4:])}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return seconds


def _prepare_containers(bed):
    ability = testbed_containers.prepare(bed)
    if not ability.runs or ability.podman_args:
        raise Failure(f"this machine's nodes run no containers as podman runs them ({ability.why})")
    wait_for(lambda: testbed_containers.are_known(Cluster(bed)), "nodes with the label podman")


def main(run, nodes=3, conf=(), configurations=None, parts=(), count=None, containers=False):
    """Boots the testbed and runs the benchmark on it. configurations: {METRIC: conf}, one testbed after the other, each told its
    metric. parts: what may be wanted alone; `run` is told which of them is, if any. count: how many units, unless the command line says
    another number; `run` is told. containers: the nodes can run them; where they cannot, nothing is measured."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often everything is measured ({ROUNDS})")
    if parts:
        parser.add_argument("--only", choices=parts, help="measure nothing else")
    if count:
        parser.add_argument("--count", type=int, default=count, help=f"how many units ({count})")
    args = parser.parse_args()
    counts = [args.count] if count else []
    only = [args.only] if parts else []
    name = os.environ.get("ARGOSY_TESTBED") or f"bench-{Path(sys.argv[0]).stem}"
    try:
        for metric, settings in (configurations or {None: conf}).items():
            with Testbed(name, say).up(nodes, conf=settings, containers=containers) as bed:
                if containers:
                    _prepare_containers(bed)
                run(Bench(bed), args.rounds, *counts, *([metric] if metric else only))
    except Failure as reason:
        sys.exit(f"{Path(sys.argv[0]).stem}: {reason}")
