# SPDX-License-Identifier: LGPL-2.1-or-later
"""check - builds everything and runs every test: the order and the cycles of rooms, the files that comments name, unit tests and fuzz corpus, integration on real nodes

The last line is "N passed, N failed". A skipped test counts as failed, and nothing is tried twice.

Scenarios wait more than they work, and unit tests work more than they wait: so they run beside each other, and scenarios, which have limits of
time, come first on the processors.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed import staging

SOURCE = Path(__file__).resolve().parents[2]
SCENARIOS = SOURCE / "tests/integration"
NO_SCENARIOS = ["boxes.py", "browser.py", "lib.py", "over_http.py", "page_states.py", "users_and_containers.py", "views.py"]  # what they are written with

JOBS = 5  # scenarios wait more than they work: two of them use a third of two cores
NODES = 15  # at a time: each has seven instances of inotify, and many machines allow 128 in all
HAS_NODES = re.compile(r"^ *main\(.*?\bnodes=(\d)", re.M)  # in a scenario; others have 3
BACKGROUND = SOURCE / "tools/lib/background"  # what computes has what scenarios leave, and little more
BEGIN_FIRST = ["package", "quadlet-images", "quadlet-registries", "dashboard", "disks", "joining", "lives", "fleet", "faults", "addresses", "failing"]  # the longest, so that none of them is what the end waits for
ALONE = {"attacks", "deploying-attackers", "network-attackers"}  # after all others: they take what processors and inotify watches there are, and judge what they measure
SCENARIO_TIMEOUT_S = 240
LONG_TIMEOUT_S = 1200
# What a scenario says of tests that this machine cannot run, or runs in another way.
SAID_OF_TESTS = ("left out: ", "otherwise: ")
TEST_LINE = re.compile(r"^(ok|failed) (\d+\.\d) (\S+)$")

# A build compiles as dpkg does for the package, so what is tested is what is shipped: debian/rules hardens, tools/package leaves out
# line numbers (a fifth of the compiler's time goes into them). So the package's build finds all of it in the compiler's cache.
COMPILING = {"DEB_BUILD_MAINT_OPTIONS": "hardening=+all", "DEB_CFLAGS_STRIP": "-g", "DEB_CFLAGS_APPEND": "-Werror",
             "CCACHE_DIR": str(SOURCE / ".cache/ccache"), "CCACHE_MAXSIZE": "500M",
             "CCACHE_SLOPPINESS": "locale",  # in which the compiler complains; debhelper has its own
             "CCACHE_DEPEND": "1"}  # includes are those that the compiler tells; a preprocessor that runs before it takes a third as long again
ASAN = ["-Dwerror=true", "-Db_sanitize=address,undefined"]
TSAN = ["-Dwerror=true", "-Db_sanitize=thread"]


class Score:
    def __init__(self):
        self.passed, self.failed, self.said = 0, [], []
        self._lock = threading.Lock()
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def note(self, name, passed, seconds, output=""):
        """One test's result; its output is shown only when it failed."""
        with self._lock:
            if passed:
                self.passed += 1
            else:
                self.failed.append(name)
            word = self._paint("32", "ok    ") if passed else self._paint("31;1", "FAILED")
            print(f"{word} {seconds:6.1f} s  {name}", flush=True)
            if not passed and output.strip():
                print("    | " + output.strip().replace("\n", "\n    | "), flush=True)

    def _paint(self, colour, text):
        return f"\033[{colour}m{text}\033[0m" if self._colour else text


class Places:
    """So many nodes at a time. Who comes first is first, so that a scenario of many nodes does not wait for ever."""

    def __init__(self, count):
        self._free, self._turn, self._changed = count, threading.Lock(), threading.Condition()

    @contextmanager
    def taken(self, count):
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self._free >= count)
            self._free -= count
        try:
            yield
        finally:
            with self._changed:
                self._free += count
                self._changed.notify_all()


def heading(text):
    print(f"\n== {text}", flush=True)


def shipped():
    """Options with which a build compiles and links as dpkg does."""
    flags = {name: subprocess.run(["dpkg-buildflags", "--get", name], check=True, text=True, capture_output=True, env=os.environ | COMPILING).stdout.strip()
             for name in ["CFLAGS", "CPPFLAGS", "LDFLAGS"]}
    return ["-Dbuildtype=plain", f"-Dc_args={flags['CFLAGS']} {flags['CPPFLAGS']}", f"-Dc_link_args={flags['LDFLAGS']}"]


def build(directory, options):
    """Sets up and compiles; a failure ends the run, with the compiler's words."""
    heading(f"building in {directory.name}/")
    configure = ["meson", "setup", directory, SOURCE, *options]
    if (directory / "build.ninja").exists():
        configure.append("--reconfigure")
    for command in [configure, ["ninja", "-C", directory]]:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | COMPILING)
        if done.returncode != 0:
            print(done.stdout[-20000:])
            print("\n0 passed, 1 failed")
            sys.exit(f"check: {' '.join(str(word) for word in command[:2])} failed")


def run_tool(score, name, *arguments, background=False):
    """One of those that look at the source as it is, or make something of it: returns what it prints."""
    began = time.monotonic()
    done = subprocess.run([*([BACKGROUND] if background else []), SOURCE / "tools" / name, *arguments], text=True, capture_output=True, env=os.environ | COMPILING,
                          start_new_session=background)
    score.note(name, done.returncode == 0, time.monotonic() - began, done.stderr)
    return done.stdout if done.returncode == 0 else ""


def look_at_source(score, directory, patterns, background):
    """All of these tools at a time: each uses one processor."""
    tools = [("rooms", directory), ("rooms", "--fields", directory), ("names",), ("clocks",)]
    with ThreadPoolExecutor(len(tools)) as pool:
        for future in [pool.submit(run_tool, score, *tool, background=background) for tool in tools if matches(tool[0], patterns)]:
            future.result()


def run_unit_tests(score, directory, prefix, patterns, long, background):
    """All of `meson test`: unit tests, simulations, replays of the fuzz corpus."""
    names = [test["name"] for test in json.loads((directory / "meson-info/intro-tests.json").read_text()) if matches(prefix + test["name"], patterns)]
    if not names:
        return
    heading(f"unit tests{prefix and f' ({prefix[:-1]})'}")
    log = directory / f"meson-logs/testlog{'-' + BACKGROUND.name if background else ''}.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", directory, "--no-rebuild", "--quiet", "--timeout-multiplier", "40" if long else "4",
               *(["--wrapper", str(BACKGROUND)] if background else []),  # each is a session of its own
               "--num-processes", str(3 * os.cpu_count()), *(names if patterns else [])]  # those that take long wait most of their time
    environment = os.environ | ({"ARGOSY_LONG": "1"} if long else {})
    done = subprocess.run(command, text=True, capture_output=True, env=environment)
    tests = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for test in tests:
        score.note(prefix + test["name"], test["result"] in ("OK", "EXPECTEDFAIL"), test["duration"],
                   test.get("stdout", "") + test.get("stderr", "") + f"({test['result']})")
    if done.returncode != 0 and all(test["result"] == "OK" for test in tests):
        score.note(prefix + "meson-test", False, 0, done.stdout + done.stderr)


def scenarios(patterns):
    return [path for path in sorted(SCENARIOS.glob("*.py")) if path.name not in NO_SCENARIOS and matches(path.stem, patterns)]


def matches(name, patterns):
    return not patterns or any(pattern in name for pattern in patterns)


def run_scenario(score, path, directory, prefix, long):
    environment = os.environ | {"ARGOSY_BUILD": str(directory), "ARGOSY_TESTBED": f"check-{os.getpid()}-{path.stem}"}
    if path.stem == "package":  # that compiles all of argosy, which is no part of the scenario's time
        environment["ARGOSY_PACKAGE"] = run_tool(score, "package").strip()
    began = time.monotonic()
    if long:
        environment["ARGOSY_LONG"] = "1"
    process = subprocess.Popen([sys.executable, path], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=environment)
    watchdog = threading.Timer(LONG_TIMEOUT_S if long else SCENARIO_TIMEOUT_S, process.kill)  # the testbed dies with it
    watchdog.start()
    output, noted_failure = [], False
    for line in process.stdout:
        result = TEST_LINE.match(line.rstrip())
        if result:
            passed = result[1] == "ok"
            score.note(f"{prefix}{path.stem}: {result[3]}", passed, float(result[2]), "".join(output))
            noted_failure |= not passed
            output = []
        elif line.startswith(SAID_OF_TESTS):
            score.said.append(line.strip())
            print(line, end="", flush=True)
        else:
            output.append(line)
    status = process.wait()
    watchdog.cancel()
    if status != 0 and not noted_failure:
        why = f"(ended by the time limit)" if status == -9 else f"(exit status {status})"
        score.note(f"{prefix}{path.stem}", False, time.monotonic() - began, "".join(output) + why)


def run_scenarios(score, directory, prefix, patterns, jobs, long):
    """All but those that are to be alone."""
    paths = sorted(scenarios(patterns), key=lambda path: (BEGIN_FIRST + [path.stem]).index(path.stem))
    heading(f"integration on real nodes{prefix and f' ({prefix[:-1]})'}: {len(paths)} scenarios, {jobs} at a time")
    places = Places(NODES)

    def run(path):
        nodes = HAS_NODES.search(path.read_text())
        with places.taken(int(nodes[1]) if nodes else 3):
            run_scenario(score, path, directory, prefix, long)

    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(run, path) for path in paths if path.stem not in ALONE]:
            future.result()


def run_those_alone(score, directory, prefix, patterns, long):
    for path in scenarios(patterns):
        if path.stem in ALONE:
            run_scenario(score, path, directory, prefix, long)


def run_what_computes(score, builds, patterns, long, background):
    look_at_source(score, builds[0][0], patterns, background)
    for directory, prefix, _ in builds:
        run_unit_tests(score, directory, prefix, patterns, long, background)


def parse():
    parser = argparse.ArgumentParser(prog="tools/check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only tests and scenarios with this in their name")
    parser.add_argument("--sanitize", action="store_true",
                        help="everything under ASan and UBSan, and the unit tests under TSan as well")
    parser.add_argument("--unit", action="store_true", help="no integration tests")
    parser.add_argument("--integration", action="store_true", help="only integration tests")
    parser.add_argument("--long", action="store_true", help="also the integration tests that are marked as long, and the turns of a leader of 300,000 units")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"scenarios at a time ({JOBS}), of at most {NODES} nodes")
    return parser.parse_args()


def main():
    args = parse()
    score, began = Score(), time.monotonic()
    # (directory, what the names of its tests begin with, options); scenarios have the first
    builds = [(SOURCE / "build-asan", "asan/", ASAN), (SOURCE / "build-tsan", "tsan/", TSAN)] if args.sanitize else [(SOURCE / "build-check", "", shipped())]
    if args.integration:
        del builds[1:]
    directory, prefix, _ = builds[0]
    with_scenarios = not args.unit and scenarios(args.patterns)

    for built, _, options in builds:
        build(built, options)
    with ExitStack() as kept, ThreadPoolExecutor(2) as pool:
        parts = []
        if not args.integration:
            parts.append(pool.submit(run_what_computes, score, builds, args.patterns, args.long, bool(with_scenarios)))
        if with_scenarios:
            kept.enter_context(staging.shared(directory))
            parts.append(pool.submit(run_scenarios, score, directory, prefix, args.patterns, args.jobs, args.long))
        for part in parts:
            part.result()
        if with_scenarios:
            run_those_alone(score, directory, prefix, args.patterns, args.long)

    print(f"\n{time.monotonic() - began:.0f} s")
    for line in score.said:
        print(line)
    for name in score.failed:
        print(f"failed: {name}")
    print(f"{score.passed} passed, {len(score.failed)} failed")
    return 1 if score.failed or not score.passed else 0


if __name__ == "__main__":
    sys.exit(main())
