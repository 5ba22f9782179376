# SPDX-License-Identifier: LGPL-2.1-or-later
"""A copy of the source in which faults are put, built and tested.

It is kept (below the build directory of the caller's choice), so that a second run compiles only what has changed.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]

UNIT_TIMEOUT_S = 120  # without a fault
HANGS_S, HANGS_TIMES = 10, 10  # and with one, besides so many times what it took without: a test that hangs has noticed, too
SCENARIO_TIMEOUT_S = 240
STORIES_TIMEOUT_S = 900

# Programs of stories whose name is not NAME-sim.
PROGRAMS = {"sim/hosts-bus": "sim/hosts-sim-bus"}
# Seeds that are played, until the check that is to notice has.
STORIES = ["1..25", "26..100", "101..400", "401..1000"]

OPTIONS = ["-Doptimization=0", "-Ddebug=false", "-Djemalloc=disabled", "-Dman=disabled"]

# cmocka's "[  FAILED  ] function", or "[  ERROR   ]" where setup or teardown failed too; a scenario's "failed SECONDS function"
FAILED = re.compile(r"^\[  (?:FAILED|ERROR ) +\] (\w+)$|^failed \d+\.\d (\S+)$", re.MULTILINE)
RED = re.compile(r"^red: seed \d+, (?:step \d+, )?check ([a-z-]+);", re.MULTILINE)
BEGUN = re.compile(r"^\[ RUN      \] (\w+)$", re.MULTILINE)


class Misfit(Exception):
    """The fault does not fit the source, or the workshop cannot be used."""


def is_scenario(room_test):
    return room_test.startswith("integration/")


def is_story(room_test):
    """Its function is a check of stories."""
    return room_test.startswith("sim/")


TRAILING_COMMENT = re.compile(r"\s// .*$")


@cache
def squeeze(text):
    """Code without blanks and without the comment behind it: what does not depend on where a formatter breaks a line."""
    return "".join(TRAILING_COMMENT.sub("", text).split())


def end_of(squeezed, first, wanted):
    """The line behind those that are `wanted` together, from the first one on; None: they are something else."""
    so_far = ""
    for number in range(first, len(squeezed)):
        so_far += squeezed[number]
        if so_far == wanted:
            return number + 1
        if not wanted.startswith(so_far):
            return None
    return None


def position(source, fault):
    """(path, its lines, number of the fault's first line, that of the line behind it); Misfit unless it is there exactly once."""
    path = source / fault.file
    if not path.exists():
        raise Misfit(f"there is no {fault.file}")
    lines = path.read_text().splitlines(keepends=True)
    found = [(number, number + 1) for number, line in enumerate(lines) if line.strip() == fault.line]
    if not found:
        squeezed, wanted = [squeeze(line) for line in lines], squeeze(fault.line)
        found = [(number, end) for number, line in enumerate(squeezed) if line and (end := end_of(squeezed, number, wanted))]
    if len(found) != 1:
        raise Misfit(f"{fault.file} has this line {len(found)} times, not once: {fault.line}")
    return path, lines, *found[0]


class Workshop:
    def __init__(self, directory, options=OPTIONS):
        self._options = options
        self.source, self.build = Path(directory) / "source", Path(directory) / "build"
        self.original = self.source  # where a fault finds the text that it is about
        self._tests, self._took_s, self._healthy_stories = {}, {}, threading.Lock()  # took: without a fault
        self._red_alone = None  # the seeds of which some were red with the fault that was put in

    def open(self):
        """Brings the copy up to date and learns what tests there are."""
        self._copy()
        if not (self.build / "build.ninja").exists():
            self._must(["meson", "setup", self.build, self.source, *self._options])
        self._must(["ninja", "-C", self.build, "build.ninja"])
        for test in json.loads((self.build / "meson-info/intro-tests.json").read_text()):
            self._tests[test["name"]] = test

    def _copy(self):
        """Files that did not change keep their time, so they are not compiled again."""
        listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                                capture_output=True, check=True).stdout.decode().split("\0")
        wanted = {name for name in listed if name and (SOURCE / name).is_file()}
        for path in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.source)) not in wanted:
                path.unlink()
        for name in wanted:
            original, copy = SOURCE / name, self.source / name
            if self._is_ours(name) and copy.exists():
                continue
            if not copy.exists() or copy.read_bytes() != original.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(original, copy)

    def _is_ours(self, _name):
        """Somebody else writes this file of the copy, from the original."""
        return False

    def _must(self, argv):
        done = subprocess.run([str(arg) for arg in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Misfit(f"{' '.join(str(arg) for arg in argv[:3])} failed:\n{done.stdout[-3000:]}")
        return done.stdout

    @staticmethod
    def _try(argv):
        """What it said when it failed; nothing if it did not."""
        done = subprocess.run([str(arg) for arg in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout or "it failed" if done.returncode != 0 else ""

    # faults

    def put_in(self, fault):
        """Replaces the fault's line, which may be broken into several; the file has no other fault then. Returns a function that brings it back."""
        _, lines, first, end = position(self.original, fault)
        path = self.source / fault.file
        before = path.read_text()
        indent = lines[first][:len(lines[first]) - len(lines[first].lstrip())]
        lines[first:end] = [f"{indent}{fault.instead}\n"]
        path.write_text("".join(lines))
        return lambda: path.write_text(before)

    # tests

    def targets(self, room_test):
        """What the test needs."""
        return ["all"] if is_scenario(room_test) else list(filter(None, map(self._target, self._test(room_test)["cmd"])))

    def may_run_beside(self, room_test):
        """Others, and itself."""
        return is_story(room_test) or not is_scenario(room_test) and self._test(room_test)["is_parallel"]

    def make(self, room_test):
        """Builds what the test needs; Misfit with the compiler's words if that fails."""
        self._must(["ninja", "-C", self.build, *self.targets(room_test)])

    def _target(self, word):
        """What ninja calls the file that a word of a command names; None: it is none that a build makes (meson writes a file of the
        source as BUILD/../source/FILE)."""
        if not word.startswith(str(self.build)):
            return None
        target = os.path.relpath(word, self.build)
        return None if target.startswith("..") else target

    def build_targets(self, *targets):
        self._must(["ninja", "-C", self.build, *targets])

    def run(self, room_test, function, planted=""):
        """(whether it passed, the functions in which it failed, its output). Only that function runs; of stories all checks look on. `planted` is the
        fault that programs are told to have (many.py)."""
        if is_story(room_test):
            return self.play(room_test, function, planted)
        if is_scenario(room_test):
            scenario = self.source / "tests" / f"{room_test}.py"
            return self._run([sys.executable, scenario, function], SCENARIO_TIMEOUT_S,
                             {"ARGOSY_BUILD": str(self.build), "ARGOSY_TESTBED": "mutants"})
        test, healthy_s = self._test(room_test), self._took_s.get((room_test, function))
        timeout_s = UNIT_TIMEOUT_S if healthy_s is None else HANGS_S + HANGS_TIMES * healthy_s
        return self._run(test["cmd"], timeout_s, test["env"] | {"ARGOSY_TEST": function, "ARGOSY_PLANTED": planted})

    def look_at_healthy(self, room_test, function):
        """It passes as long as nothing is wrong, alone: otherwise its failing later would mean nothing. Returns why it does not."""
        began = time.monotonic()
        passed, failed, output = self.run(room_test, function)
        self._took_s[room_test, function] = time.monotonic() - began
        if not passed:
            return f"{room_test} {function} fails without any fault: {' '.join(sorted(failed))}\n{output[-3000:]}"
        if not is_scenario(room_test) and f"[ RUN      ] {function}\n" not in output:
            return f"{room_test} has no {function}"
        return ""

    def play(self, room_test, check, planted=""):
        """Like run(): stories, until that check is red. These are played without a fault, too; if it was put in, by check_without()."""
        failed, output, is_green = set(), "", True
        for seeds in STORIES:
            passed, _, told = self._play(room_test, seeds, planted)
            failed.update(RED.findall(told))
            output, is_green = output + told, is_green and passed
            if check in failed:
                if planted:
                    self._check_healthy_stories(room_test, seeds)
                else:
                    self._red_alone = seeds
                break
        return is_green, failed, output

    def _play(self, room_test, seeds, planted):
        program = self.build / "tests" / PROGRAMS.get(room_test, f"{room_test}-sim")
        return self._run([program, "--seeds", seeds], STORIES_TIMEOUT_S, {"ARGOSY_PLANTED": planted})

    def _check_healthy_stories(self, room_test, seeds):
        with self._healthy_stories:
            if (room_test, seeds) not in self._took_s:
                began = time.monotonic()
                passed, _, told = self._play(room_test, seeds, "")
                if not passed:
                    raise Misfit(f"{room_test} is red without any fault, in {seeds}: {told[-3000:]}")
                self._took_s[room_test, seeds] = time.monotonic() - began

    def check_without(self, room_test):
        """Of stories: what a fault has made red that was put in is played without it, when it is out again. Misfit: that is red, too."""
        if is_story(room_test):
            self.make(room_test)
            self._check_healthy_stories(room_test, self._red_alone)

    def _test(self, name):
        if name not in self._tests:
            raise Misfit(f"there is no test {name}")
        return self._tests[name]

    def _run(self, argv, timeout, environment):
        process = subprocess.Popen([str(arg) for arg in argv], text=True, errors="replace", stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.build, start_new_session=True,
                                   env=os.environ | environment)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        failed = {name or scenario.replace("-", "_") for name, scenario in FAILED.findall(output)}
        begun = BEGUN.findall(output)
        if process.returncode != 0 and not failed and begun:
            failed = {begun[-1]}  # it hung or died in there
        return process.returncode == 0, failed, output
