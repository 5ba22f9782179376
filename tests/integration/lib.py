# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scenarios of this directory are written with.

A scenario is a file that keeps one promise of argosy, told on real nodes:

    from lib import Cluster, eventually, main

    def test_units_of_a_dead_node_start_elsewhere(c: Cluster):
        c.start("worker@{1..6}")
        c.node("n2").kill()
        eventually(lambda: c.spread("worker@*").get("n2") is None and len(c.active("worker@*")) == 6)

    main(nodes=3, conf=["Cluster.LeaseSec=2"])

All tests of a file share one testbed. Before each, everything is healed, booted and destroyed; with main(alone=True) every
node is a freshly installed host, a cluster of its own. What a test says about where units run is always asked of the nodes'
own systemd, not of argosy, unless the test is about what argosy shows.

A test waits for what it needs, however long that takes: machines are slow and fast, idle and busy. A time is asserted only where
argosy promises one. What a unit does in a test begins and ends when the test says so (WAITS), not after some seconds. Nodes are
asked one after the other, so a unit that moves meanwhile may be seen on two of them: twice() knows the difference.

What takes long is marked @long: it runs with `tools/check --long`, or when it is named.

Run one by itself with `tests/integration/NAME.py [PATTERN]` (as root, on a build in build/ or $ARGOSY_BUILD); with
ARGOSY_KEEP=1 the testbed of a failed run stays up. Every test prints one line, "ok SECONDS NAME" or "failed SECONDS NAME",
which is what tools/check counts.
"""

import inspect
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from itertools import combinations
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tools/lib"), str(SOURCE / "tests/lib")]

import testbed  # noqa: E402
from testbed import Failure, Node, Result, Testbed, with_type  # noqa: E402
from testbed.containers import Ability  # noqa: E402
from testbed.containers import are_known as containers_are_known  # noqa: E402
from testbed.containers import prepare as prepare_containers  # noqa: E402
from testbed.staging import is_sanitized  # noqa: E402

SLEEPER = "[Service]\nExecStart=/bin/sleep infinity\n"

# One that goes on where it is while its argosyd is started again, or is slow: that may take longer than a lease that is QUICK.
KEPT = SLEEPER + "[X-Argosy]\nNodeLost=keep\n"

# Leaves a line in /root/runs of its node for every run.
ONE_SHOT = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo %n >>/root/runs'\n"

# Does what follows when there is a file /root/go on its node: see Cluster.let_go().
WAITS = "while [ ! -e /root/go ]; do sleep 0.05; done"

# A node that is cut off counts as lost after 2 s instead of 5.
QUICK = ["Cluster.LeaseSec=2", "Cluster.HeartbeatSec=0.4"]

# No node is lost for being slow, in scenarios in which none is to be lost.
# By how much what is measured may be worse in each check: other scenarios run beside one, and use memory and processors.
MARGIN = 1 if os.environ.get("ARGOSY_LONG") else 3
TURN_US = 10_000 * MARGIN  # of CPU: the longest turn of a daemon's loop, whatever others ask or do
TURN_TRIES = 3
PATIENT = ["Cluster.LeaseSec=60"]
BUILD = Path(os.environ.get("ARGOSY_BUILD") or SOURCE / "build")
EXAMPLES = SOURCE / "examples"

# A daemon that does any of this has a bug, whatever the test was about.
ACCIDENTS = (r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|Assertion .* failed"
             r"|code=dumped|status=(4/ILL|6/ABRT|7/BUS|8/FPE|11/SEGV)|Watchdog timeout")

POLL_S = 0.05
POLL_SHARE = 0.05  # of the time that passed already: asking takes processor time from what is waited for
POLL_MOST_S = 0.25
PATIENCE_S = 45

__all__ = ["Cluster", "Failure", "Node", "Result", "BUILD", "EXAMPLES", "KEPT", "MARGIN", "ONE_SHOT", "PATIENT", "QUICK", "SLEEPER", "SOURCE", "WAITS", "Turns", "eventually",
           "long", "main", "sanitized", "stays", "take_flag", "unsanitized"]


def long(test):
    """Marks a test that takes longer than what everybody runs all the time can bear."""
    test.is_long = True
    return test


def sanitized():
    """Whether the build under test has a sanitizer in it, whose allocator keeps what is given back."""
    return is_sanitized(BUILD)


def unsanitized(test):
    """Marks a test of what a sanitizer makes impossible. It is no part of a run with one."""
    test.is_unsanitized = True
    return test


def eventually(condition, within=PATIENCE_S, what=None):
    """Waits until the condition holds and returns its value; what cannot be asked or read yet (a file that is not there, a daemon
    that is just being started) is "not yet". Only a failing test waits as long as that."""
    began = time.monotonic()
    while True:
        try:
            seen = condition()
            if seen:
                return seen
        except (Failure, KeyError, IndexError, ValueError, OSError, HTTPException) as error:
            seen = error
        passed = time.monotonic() - began
        if passed > within:
            raise AssertionError(f"not within {within} s: {what or _source_of(condition)} (last seen: {seen!r})")
        time.sleep(min(max(POLL_S, POLL_SHARE * passed), POLL_MOST_S))


def remove_marks(node):
    """What units of tests, and what tests, have left below /root of that node."""
    for name in ("runs", "units", "events", "go"):
        node.remove(f"/root/{name}")


def stays(condition, during, what=None):
    """The condition holds all the time."""
    deadline = time.monotonic() + during
    while time.monotonic() < deadline:
        assert condition(), f"did not stay so for {during} s: {what or _source_of(condition)}"
        time.sleep(POLL_S)


def _source_of(function):
    return " ".join(inspect.getsource(function).split())


class Running:
    """A command that goes on inside a node while the test does."""

    def __init__(self, node, argv):
        self._what = f"{node.name}: {' '.join(argv)}"
        self._process = node.popen(argv, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)

    @property
    def is_over(self):
        return self._process.poll() is not None

    def line(self):
        """The next line of output; "" at its end."""
        return self._process.stdout.readline()

    def result(self, within=60):
        try:
            out, err = self._process.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self._what}: still runs after {within} s") from None
        return Result(self._process.returncode, out, err)

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)  # also what it has started
        self._process.communicate()


class Cluster(testbed.Cluster):
    """A testbed, argosy's verbs on it, and what tests expect of them."""

    def ctl_fails(self, command, on=None, status=1, saying=(), **options):
        """Runs argosyctl, which must fail with that status and say all of that."""
        result = self.ctl_result(command, on, **options)
        assert result.status == status, f"argosyctl {command}: exit status {result.status}, not {status}\n{result.err}{result.out}"
        for words in [saying] if isinstance(saying, str) else saying:
            assert words in result.err + result.out, f"argosyctl {command} does not say \"{words}\":\n{result.err}{result.out}"
        return result

    def begin(self, command, on=None):
        """Runs argosyctl beside the test."""
        return Running(self._node_to_ask(on), ["argosyctl", *shlex.split(command)])

    def submit(self, name, text, on=None, replace=False):
        """Makes a unit known to the cluster."""
        node = self._node_to_ask(on)
        node.write(f"/root/units/{name}", text)
        self.ctl(f"submit {'--replace ' if replace else ''}/root/units/{name}", on=node)

    def start(self, units, text=SLEEPER, on=None):
        """Submits what the names stand for with that text, and starts them."""
        for name in dict.fromkeys(_file_of(unit) for unit in units.split()):
            self.submit(name, text, on)
        return self.ctl(f"start {units}", on)

    def leader(self, on=None) -> Node:
        return self.node(eventually(lambda: self.leader_name(on), what="a leader"))

    def followers(self):
        leader = self.leader().name
        return [node for node in self.running_nodes if node.name != leader]

    def row(self, unit, on=None):
        """The unit's only row of list-units."""
        rows = self.rows(unit, on=on)
        if len(rows) != 1:
            raise Failure(f"{unit} has {len(rows)} rows: {rows}")
        return rows[0]

    def shown(self, unit, on=None):
        """What list-units says of the unit, e.g. "loaded inactive dead"."""
        row = self.row(unit, on)
        return f"{row['load']} {row['active']} {row['sub']}"

    def file_row(self, unit, on=None):
        """The unit's row of list-unit-files."""
        [row] = self.json(f"list-unit-files {shlex.quote(with_type(unit))}", on)
        return row

    def known(self, on=None):
        """All units that the cluster knows."""
        return {row["unit"] for row in self.json("list-unit-files", on)}

    def runs(self, unit):
        """How often a ONE_SHOT has run, on all nodes together."""
        paths = [node.path("/root/runs") for node in self.nodes]
        return sum(path.read_text().splitlines().count(with_type(unit)) for path in paths if path.exists())

    def let_go(self, *nodes):
        """What WAITS there goes on, now and later."""
        for node in nodes or self.running_nodes:
            node.write("/root/go", "")

    def lives(self, pattern):
        """{unit: {node: id of the run}} of what is up, or on its way up or down, in the order in which the nodes are asked."""
        found = defaultdict(dict)
        for node in self.running_nodes:
            for unit in node.units(with_type(pattern)):
                if unit.active not in ("inactive", "failed"):
                    found[unit.name][node.name] = node.invocation(unit)
        return found

    def twice(self, pattern):
        """{unit: nodes} of what two nodes ran at the same moment: one of them had the same run before and after the other had one."""
        before = self.lives(pattern)
        if all(len(nodes) < 2 for nodes in before.values()):
            return {}
        after = self.lives(pattern)
        found = {}
        for unit in before:
            order = [node.name for node in self.nodes if node.name in before[unit] or node.name in after[unit]]
            for first, second in combinations(order, 2):
                stayed = {name for name in order if name in before[unit] and before[unit][name] == after[unit].get(name)}
                if (first in stayed and second in before[unit]) or (second in stayed and first in after[unit]):
                    found.setdefault(unit, set()).update((first, second))
        return found

    def where(self, unit):
        """The one node on which the unit is active, or None; on two nodes at once is an error."""
        while True:
            nodes = self.active(unit).get(with_type(unit), [])
            if len(nodes) < 2:
                return self.node(nodes[0]) if nodes else None
            twice = self.twice(unit)
            assert not twice, f"active more than once: {twice}"

    def assert_once(self, pattern, count):
        """Exactly so many units are active, none of them twice."""
        found = self.active(pattern)
        twice = {unit: nodes for unit, nodes in found.items() if len(nodes) > 1} and self.twice(pattern)
        assert not twice, f"active more than once: {twice}"
        assert len(found) == count, f"{len(found)} units of {pattern} are active, not {count}"

    def invocation(self, unit):
        """The id of the unit's current run, wherever that is; no two nodes run it."""
        runs = self.invocations(unit)
        assert len(runs) == 1, f"{unit} runs {len(runs)} times: {runs}"
        return next(iter(runs.values()))

    # between tests

    def reaches_the_leader(self, node):
        """Whether the node's argosyd answers without a warning that it knows of no leader."""
        result = self.ctl_result("list-nodes", on=node)
        return result.status == 0 and not result.err

    def wait_knows(self, node):
        """The node's log is complete, and the node was told that all of it but the newest entry is committed."""
        for number in (1, 2):
            self.submit(f"marker-{number}.service", SLEEPER)
            index = self.status()["index"]
            eventually(lambda: any(member["name"] == node.name and (member["log_index"] or 0) >= index for member in self.status()["members"]))

    def sees_all_online(self, node):
        """The rows of list-nodes, if the node's argosyd has all nodes online in it, and no warning that it knows of no leader; otherwise None."""
        result = self.ctl_result("list-nodes --json=short", on=node)
        rows = json.loads(result.out) if result.status == 0 and not result.err else []
        return rows if {row["state"] for row in rows} == {"online"} else None

    def wait_online(self, within=60):
        """Returns the rows of list-nodes."""
        def rows():
            seen = None
            for node in self.nodes:
                seen = self.sees_all_online(node)
                if not seen:
                    break
            return seen

        return eventually(rows, within, "all nodes online, and each of them with a leader")

    def on_all(self, task):
        """Does task(node) for all nodes at once."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(task, self.nodes))

    def power_everything(self):
        """All nodes on and healed."""
        self.bed.heal()
        self.bed.boot([node.name for node in self.nodes if not node.is_on()])
        for node in self.nodes:
            node.resume_everything()
            node.reset_failed()

    def reset(self):
        """Everything on, healed, and empty."""
        self.power_everything()
        for node in self.nodes:
            node.start_unit("argosyd.service")  # wait_online() waits for it
        rows = self.wait_online()
        cordoned = [row["node"] for row in rows if row["mode"]]
        if cordoned:
            self.ctl(f"uncordon {' '.join(cordoned)}")
        self.leave_nothing()
        leader = next((row["node"] for row in rows if row["role"] == "leader"), None)
        # A voter that was cut off has the newest entry only when the leader's link to it works again.
        if not self.caught_up(leader):
            eventually(lambda: self.caught_up(self.leader()), what="all voters have caught up")

    def leave_nothing(self):
        """No unit, and none that is still on its way down, and then no file of theirs."""
        self.let_go()  # what ignores SIGTERM ends with WAITS
        if self.known():
            self.ctl("destroy '*'")
        eventually(lambda: not self.json("list-units"))
        for node in self.nodes:
            remove_marks(node)

    def caught_up(self, leader):
        """Whether all voters have the newest entry: only the leader knows."""
        return all(member["lag"] == 0 for member in self.status(leader)["members"] if member["role"] == "voter")

    def make_fresh(self, node):
        """A host as after an installation: a cluster of its own that knows nothing."""
        node.run("systemctl stop argosyd.socket argosyd.service run-argosy-secrets.mount")
        # What an earlier test's cluster ran would be a stranger's to this one.
        node.run("systemctl show --property=Id,FragmentPath '*' | grep -B1 ^FragmentPath=/run/systemd/system/ | sed -n s/^Id=//p"
                 " | xargs --no-run-if-empty systemctl stop")
        remove_marks(node)
        # Images of containers, which lie on the same disk, are podman's.
        node.run("find /var/lib/argosy /run/argosy /run/systemd/system -mindepth 1 ! -path '/var/lib/argosy/containers*' -delete")
        node.run("systemctl start argosyd.socket argosyd.service")

    def reset_alone(self):
        self.power_everything()
        self.let_go()  # what ignores SIGTERM ends with WAITS
        self.on_all(self.make_fresh)

    def join(self, node, to, options=""):
        token = self.ctl("cluster token --quiet", on=to).strip()
        return self.ctl(f"cluster join {to.address} {token} {options}", on=node)

    def members(self, on=None):
        """{node: "voter online"}"""
        return {member["name"]: f"{member['role']} {member['state']}" for member in self.status(on)["members"]}


class Turns:
    """The longest turn of each daemon's loop, in CPU time, and which of them are too long because of what they do.

    On a virtual machine whose host takes back free memory, whoever touches a page first, the kernel for a thread included, may wait 25 to 90 ms of that
    thread's CPU time: a program that does nothing else met that once in some millions of pages, and turns were seen that touched no page of the process
    for the first time and took 87 ms where others take 1. So one turn that is too long proves nothing by itself. What takes so long by what it does comes
    each time: it is measured again, and fails if the same daemon has such a turn each of TURN_TRIES times."""

    def __init__(self, c, nodes=None):
        self._c, self._nodes = c, nodes or c.nodes

    def begin(self):
        for node in self._nodes:
            node.run("systemctl kill --signal=SIGUSR1 argosyd")  # they are counted anew

    def longest(self):
        """{node: microseconds} since begin()."""
        return {node.name: self._c.json("counters", node)["turn_cpu_max_us"] for node in self._nodes}

    def assert_short(self, measure, what):
        """measure(): does again what is measured, and returns longest()."""
        late, seen = {node.name for node in self._nodes}, []
        while late and len(seen) < TURN_TRIES:
            seen.append(measure())
            late &= {name for name, us in seen[-1].items() if us > TURN_US}
            if late and len(seen) < TURN_TRIES:
                print(f"    {what}: once more for turns of {seen[-1]} us", flush=True)
        assert not late, f"{what}: the longest turns took so many microseconds, each time: {seen}"


def _file_of(unit):
    """web@{1..9} and web@3.service both come from web@.service."""
    name = with_type(unit)
    stem, at, _ = name.partition("@")
    return f"{stem}@.{name.rpartition('.')[2]}" if at else name


def _accidents(bed, since):
    """Journal lines of argosyd on any node that tell of a crash or of a sanitizer's find."""
    return bed.journal(since, ACCIDENTS, lines=20 * len(bed.nodes)).splitlines()


def _report(bed):
    for node in bed.nodes:
        print(f"\n--- {node.name} ({'on' if node.is_on() else 'off'}) ---\n{node.last_words('argosyd', 40)}")


def _run_test(bed, test, reset, after):
    began, since = time.monotonic(), time.time()
    try:
        cluster = Cluster(bed)
        if reset:
            reset(cluster)
        try:
            test(cluster)
        finally:
            if after:
                after(cluster)
        accidents = _accidents(bed, since)
        assert not accidents, "argosyd had an accident:\n" + "\n".join(accidents)
        passed = True
    except Exception:
        traceback.print_exc(file=sys.stdout)
        _report(bed)
        passed = False
    name = test.__name__.removeprefix("test_").replace("_", "-")
    print(f"{'ok' if passed else 'failed'} {time.monotonic() - began:.1f} {name}", flush=True)
    return passed


def take_flag(flag):
    """Whether the command line has it; main() does not see it any more."""
    given = flag in sys.argv
    sys.argv[1:] = [argument for argument in sys.argv[1:] if argument != flag]
    return given


FILES = 16384  # connections of a test, and what else it has open; many systems begin with 1,024


def allow_many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES if most == resource.RLIM_INFINITY else min(FILES, most), most))


LEFT_OUT, OTHERWISE = "left out: ", "otherwise: "  # tools/check shows such lines
ability = Ability(True, "", "")  # how this machine's nodes run containers (boxes.py)


def wait_for_podman(c):
    """Hosts say which podman they have when they have asked it, which takes a moment after the first start."""
    eventually(lambda: containers_are_known(c), what="nodes with the label podman")


def judge_ability(name, tests):
    """Says how the containers of these tests run, if that is not podman's own way. Returns the tests that can be run: all or none,
    as none is of what podman does with a container's own control group."""
    if not ability.runs:
        names = " ".join(test.__name__.removeprefix("test_").replace("_", "-") for test in tests)
        print(f"{LEFT_OUT}{len(tests)} tests of {name}: this machine's nodes run no containers ({ability.why}): {names}")
        return []
    if ability.podman_args:
        print(f"{OTHERWISE}{len(tests)} tests of {name}: their containers run with {ability.podman_args} ({ability.why})")
    return tests


def main(nodes=3, voters=None, conf=(), bare=False, alone=False, after=None, containers=False):
    """Runs the tests of the calling file, those whose name contains the argument if there is one. after: takes away, after each of
    them and however that went, what is not argosy's. containers: the nodes can run them, in podman's way or without control groups of their own;
    which that is, and which tests are left out, is said. "files": the nodes have podman, and no test runs a container."""
    global ability
    allow_many_files()
    module = sys.modules["__main__"]
    tests = [value for name, value in vars(module).items() if name.startswith("test_") and callable(value)]
    if len(sys.argv) > 1:
        tests = [test for test in tests if sys.argv[1].replace("-", "_") in test.__name__]
    elif not os.environ.get("ARGOSY_LONG"):
        tests = [test for test in tests if not hasattr(test, "is_long")]
    if any(hasattr(test, "is_unsanitized") for test in tests) and sanitized():
        tests = [test for test in tests if not hasattr(test, "is_unsanitized")]
    name = os.environ.get("ARGOSY_TESTBED") or f"test-{Path(module.__file__).stem}"

    try:
        bed = Testbed(name).up(nodes, voters, conf, bare=bare, alone=alone, containers=bool(containers))
    except Failure as reason:
        print(f"the testbed did not come up: {reason}")
        sys.exit(1)
    if containers and containers != "files":
        ability = prepare_containers(bed)
        tests = judge_ability(Path(module.__file__).stem, tests)
    if not tests:
        bed.down()
        sys.exit(0)
    if containers:
        wait_for_podman(Cluster(bed))
    reset = None if bare else Cluster.reset_alone if alone else Cluster.reset
    passed = [_run_test(bed, test, reset if index > 0 else None, after) for index, test in enumerate(tests)]
    if not all(passed) and os.environ.get("ARGOSY_KEEP"):
        bed.detach()
        print(f"kept: ARGOSY_TESTBED={name} tools/testbed status")
    else:
        bed.down()
    sys.exit(0 if all(passed) else 1)
