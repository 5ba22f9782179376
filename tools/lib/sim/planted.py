# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the planted faults of tools/mutants stories find, and after how many seeds.

Drawn, by a number that is printed, among those whose line the first 200 seeds execute: gcov says which. Each fault has a place in the draw of
its own, so a fault more or less in the table moves no other one. What was found out is kept below the build directory: a run that was stopped
goes on where it was, unless the program without a fault is another one by then.
"""

import hashlib
import json
import subprocess
import sys
import threading
import time

from mutants.faults import FAULTS
from mutants.table import split_test
from mutants.workshop import Misfit, Workshop, is_scenario, is_story, position

from . import program

SEEDS_OF_COVERAGE, SEEDS_MAX = 200, 1000
CHUNK = 25  # seeds of one process
TIMEOUT_S = 3600  # a story that is endless ends itself long before
MUST_FIND = 0.7
DIRECTORY = program.SOURCE / "build-sim-planted"
COVERAGE_DIRECTORY = program.SOURCE / "build-sim-coverage"
OPTIONS = ["-Doptimization=1", *program.OPTIONS[1:]]  # each fault compiles a file or two: that is sooner done than at -O2
COVERAGE = ["-Doptimization=0", "-Db_coverage=true", "-Ddebug=false", "-Djemalloc=disabled", "-Dman=disabled", "-Db_lto=false"]


def candidates():
    """Without those that were planted for stories, and those that only a real node shows."""
    return [fault for fault in FAULTS if not is_scenario(split_test(fault)[0]) and not is_story(split_test(fault)[0])]


# ---- which are drawn


def counts_of(gcda, directory):
    """{file below the source: {line: how often it was executed}}"""
    said = subprocess.run(["gcov", "--json-format", "--stdout", *gcda], cwd=directory, capture_output=True, text=True).stdout
    counts = {}
    for text in said.splitlines():
        for part in json.loads(text)["files"]:
            lines = counts.setdefault(part["file"].removeprefix("../"), {})
            for line in part["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return counts


def executed(jobs):
    """The faults of the table whose line the first seeds execute. What processes count is added up where they end."""
    binary = program.build(COVERAGE_DIRECTORY, COVERAGE)
    known = COVERAGE_DIRECTORY / f"counts-{digest_of(binary)}.json"
    if not known.exists():
        for old in COVERAGE_DIRECTORY.rglob("*.gcda"):
            old.unlink()
        p = Play(binary, 1, SEEDS_OF_COVERAGE)
        p.run(jobs)
        if p.red or p.error:
            sys.exit(f"sim: red without any fault: {p.red or p.error}")
        write_json(known, counts_of(sorted(COVERAGE_DIRECTORY.rglob("*.gcda")), COVERAGE_DIRECTORY))
    counts = {file: {int(line): n for line, n in lines.items()} for file, lines in json.loads(known.read_text()).items()}
    return [fault for fault in candidates() if is_executed(fault, counts)]


def digest_of(binary):
    return hashlib.sha256(binary.read_bytes()).hexdigest()[:16]


def write_json(path, what):
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(what, indent=0))
    new.replace(path)


def is_executed(fault, counts):
    """By its line, or the one above that has code, for a line in the middle of a statement."""
    *_, end = position(program.SOURCE, fault)
    lines = counts.get(fault.file, {})
    with_code = [line for line in lines if line <= end]
    return bool(with_code) and lines[max(with_code)] > 0


def place(fault, draw):
    return hashlib.sha256(f"{draw} {fault.name}".encode()).digest()


def draw_faults(n, draw, jobs):
    found = executed(jobs)
    drawn = sorted(found, key=lambda fault: place(fault, draw))[:n]
    print(f"{len(candidates())} faults, {len(found)} of them executed by the first {SEEDS_OF_COVERAGE} seeds; {len(drawn)} drawn by {draw}", flush=True)
    return drawn


# ---- what was found out before


class Verdicts:
    """[seeds until it was found or None, how] by fault. What was found stays found as long as stories are the same ones (program.DIGESTS): checks
    only come to them. What was not is played again by another program."""

    def __init__(self, binary):
        stories = hashlib.sha256(program.DIGESTS.read_bytes()).hexdigest()[:16]
        self._binary, self._path = digest_of(binary), DIRECTORY / "verdicts" / f"{stories}.json"
        self._known = json.loads(self._path.read_text()) if self._path.exists() else {}

    def get(self, fault):
        *verdict, binary = self._known.get(self._key(fault), [None, "", None])
        return verdict if verdict[0] or binary == self._binary else None

    def set(self, fault, verdict):
        self._known[self._key(fault)] = [*verdict, self._binary]
        write_json(self._path, self._known)

    @staticmethod
    def _key(fault):
        return f"{fault.name} {hashlib.sha256(f'{fault.file}{fault.line}{fault.instead}'.encode()).hexdigest()[:8]}"


# ---- one fault


class Play:
    """Seeds in order, on all processors: the first red one is that of one process."""

    def __init__(self, binary, first, last):
        self._binary, self._next, self._last, self._lock = binary, first, last, threading.Lock()
        self.red, self.error = None, ""  # red: (seed, how)

    def _take(self):
        with self._lock:
            first = self._next
            self._next += CHUNK
            return (first, min(first + CHUNK - 1, self._last)) if first <= self._last and not self.red and not self.error else None

    def _add(self, done):
        red = program.RED.search(done.stderr)
        with self._lock:
            if red and (not self.red or int(red.group(1)) < self.red[0]):
                self.red = (int(red.group(1)), red.group(2))
            elif done.returncode != 0 and not red:
                self.error = f"error: it ended with {done.returncode}"

    def _run(self):
        while seeds := self._take():
            try:
                self._add(subprocess.run([self._binary, "--seeds", f"{seeds[0]}..{seeds[1]}", "--first-red", "--figures"], text=True,
                                         capture_output=True, errors="replace", timeout=TIMEOUT_S))
            except subprocess.TimeoutExpired:
                self.error = "error: endless"

    def run(self, jobs):
        threads = [threading.Thread(target=self._run) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def play(workshop, first, last, jobs):
    """[seeds that were played until one was red, or None; how]"""
    workshop.build_targets(program.TARGET)
    p = Play(workshop.build / program.TARGET, first, last)
    p.run(jobs)
    return [p.red[0] - first + 1, p.red[1]] if p.red else [None, p.error]


def judge(workshop, fault, first, last, jobs):
    take_out = None
    try:
        take_out = workshop.put_in(fault)
        return play(workshop, first, last, jobs)
    except Misfit as reason:
        return [None, f"error: {str(reason)[-200:]}"]
    finally:
        if take_out:
            take_out()


def open_workshop(jobs):
    """And what is known of the program without a fault, of which no seed may be red: otherwise its being red later would mean nothing."""
    workshop = Workshop(DIRECTORY, OPTIONS)
    workshop.open()
    workshop.build_targets(program.TARGET)
    verdicts = Verdicts(workshop.build / program.TARGET)
    healthy = Fault0()
    if not verdicts.get(healthy):
        seed, how = play(workshop, 1, SEEDS_MAX, jobs)
        if seed:
            sys.exit(f"sim: seed {seed} is red without any fault: {how}")
        verdicts.set(healthy, [None, ""])
    return workshop, verdicts


class Fault0:  # pylint: disable=too-few-public-methods
    """None is put in."""
    name = file = line = instead = ""


def show(fault, verdict):
    seeds, how = verdict
    print(f"{seeds or '-':>6}  {fault.name:<52} {how}", flush=True)


def play_planted(n, draw, jobs):
    drawn, began, found = draw_faults(n, draw, jobs), time.monotonic(), []
    workshop, verdicts = open_workshop(jobs)
    for fault in drawn:
        if not verdicts.get(fault):
            verdicts.set(fault, judge(workshop, fault, 1, SEEDS_MAX, jobs))
        show(fault, verdicts.get(fault))
        found += [verdicts.get(fault)[0]] if verdicts.get(fault)[0] else []
    median = f", half of these within {sorted(found)[len(found) // 2]}" if found else ""
    print(f"\n{len(found)} of {len(drawn)} found within {SEEDS_MAX} seeds{median}; {time.monotonic() - began:.0f} s")
    return 0 if len(found) >= MUST_FIND * len(drawn) else 1


def play_canaries(n, draw, first, jobs):
    """Whether fresh seeds find that many faults, so that a run without a red seed means something. Returns how many were not found."""
    drawn = draw_faults(n, draw, jobs)
    workshop = Workshop(DIRECTORY, OPTIONS)
    workshop.open()
    verdicts = [judge(workshop, fault, first, first + SEEDS_MAX - 1, jobs) for fault in drawn]
    for fault, verdict in zip(drawn, verdicts):
        show(fault, verdict)
    return sum(seeds is None for seeds, _ in verdicts)
