# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the planted faults of tools/mutants stories find, and after how many seeds.

Drawn, by a number that is printed, among those whose line the first 200 seeds execute: gcov says which. Each fault has a place in the draw of
its own, so a fault more or less in the table moves no other one.

All of these that can be chosen while a program runs are compiled into one (mutants/schemata.py), so one build serves every draw; the few others
are built one by one. Without a fault the first thousand stories are played once, each by itself: that none is red, what digest each has, and which
faults each one comes to. So with a fault only the stories are played that come to it, and of each it is known whether it is another one than
without. What differs in no story never matters in them: an order of events is missing; what differs and is not found, a check.

All that are drawn are played in rounds of more and more seeds, those that were found left out, so what is cheap to know is known soon. What was found
out is kept below the build directory after each fault of a round: a run that was stopped goes on where it was. What was not found is played
again by another program, what was found only if stories without a fault are other ones.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from mutants import schemata
from mutants.faults import FAULTS
from mutants.table import split_test
from mutants.workshop import SOURCE, Misfit, Workshop, is_scenario, is_story, position, squeeze

from . import program

SEEDS_OF_COVERAGE, SEEDS_MAX = 200, 1000
CHUNK = 25  # seeds of one process
TIMEOUT_S = 3600  # a story that is endless ends itself long before
MUST_FIND = 0.7
PROGRAM = "tests/sim/leader/leader-sim.c"  # gets what chooses among faults
DIRECTORY = program.SOURCE / "build-sim-planted"
COVERAGE_DIRECTORY = program.SOURCE / "build-sim-coverage"
ROUNDS = [25, 100, 400]  # seeds; then all
OPTIONS_ALONE = ["-Doptimization=1", *program.OPTIONS[1:]]  # each fault compiles a file or two: that is sooner done than at -O2
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
        p = Play(binary, range(1, SEEDS_OF_COVERAGE + 1)).run(jobs)
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


# ---- the program, and what it does without a fault


def digest_of_source():
    """Of all that stories are made from, but for blanks and comments."""
    h = hashlib.sha256()
    for folder in ["include", "proto", "src", "tests/lib", "tests/sim"]:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".proto") and path.is_file():
                h.update(f"{path.relative_to(SOURCE)}\0".encode())
                h.update("".join(squeeze(line) for line in path.read_text().splitlines() if not line.lstrip().startswith("//")).encode())
    return h.hexdigest()[:16]


class ManyFaults(Workshop):
    """One program, all faults of which it can have. `alone`: names of those that it cannot have."""

    def __init__(self, faults):
        super().__init__(DIRECTORY / "many", program.OPTIONS)
        self._faults, self._planted, self.alone = schemata.fitting(SOURCE, faults), set(), set()

    def _is_ours(self, name):
        return name in self._planted

    def open(self):
        """Builds it, without those that do not compile."""
        self._planted = {fault.file for fault in self._faults} | {PROGRAM}
        super().open()
        while True:
            schemata.plant(SOURCE, self.source, self._faults, PROGRAM)
            words = self._try(["ninja", "-C", self.build, "-k", "0", program.TARGET])
            if not words:
                break
            bad = schemata.misfits_of(words, self._faults)
            if not bad:
                sys.exit(f"sim: the program with all faults does not compile:\n{words[-3000:]}")
            self._faults = [fault for fault in self._faults if fault not in bad]
        self.planted = {fault.name for fault in self._faults}


class Healthy:
    """What the stories are without a fault: {seed: [digest, the faults that it comes to]}. None may be red: otherwise its being red later would mean
    nothing."""

    def __init__(self, binary, source, planted):
        key = hashlib.sha256(" ".join([source, *sorted(planted)]).encode()).hexdigest()[:16]
        self._binary, self._path, self._lock = binary, DIRECTORY / "healthy" / f"{key}.json", threading.Lock()
        self.stories = {int(seed): story for seed, story in json.loads(self._path.read_text()).items()} if self._path.exists() else {}
        self._red = ""

    def play(self, last, jobs):
        seeds = iter([seed for seed in range(1, last + 1) if seed not in self.stories])
        threads = [threading.Thread(target=self._run, args=(seeds,)) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._red:
            sys.exit(f"sim: red without any fault: {self._red}")

    def _next(self, seeds):
        with self._lock:
            return None if self._red else next(seeds, None)

    def _run(self, seeds):
        while seed := self._next(seeds):
            with tempfile.TemporaryDirectory() as folder:
                reached = Path(folder) / "reached"
                done, digests = play_seeds(self._binary, seed, seed, ARGOSY_PLANTED_REACHED=str(reached))
                names = sorted(set(reached.read_text().split())) if reached.exists() else []
            with self._lock:
                if done.returncode != 0:
                    self._red = done.stderr[-1000:]
                    return
                self.stories[seed] = [digests[seed], names]
                if len(self.stories) % 100 == 0:
                    write_json(self._path, self.stories)

    def digest(self, last):
        return hashlib.sha256("".join(self.stories[seed][0] for seed in range(1, last + 1)).encode()).hexdigest()[:16]


def play_seeds(binary, first, last, **environment):
    """(what became of it, {seed: digest})"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digests"
        done = subprocess.run([binary, "--seeds", f"{first}..{last}", "--first-red", "--figures", "--digests", path], text=True, capture_output=True,
                              errors="replace", timeout=TIMEOUT_S, env=os.environ | environment)
        digests = dict(line.split() for line in path.read_text().splitlines()) if path.exists() else {}
    return done, {int(seed): digest for seed, digest in digests.items()}


# ---- what was found out before


class Verdict:  # pylint: disable=too-few-public-methods
    """`seeds`: until one was red; `played`: seeds so far; `differ`: stories of these that are others than without the fault."""

    def __init__(self, seeds=None, how="", played=0, differ=0, reached=0):  # pylint: disable=too-many-arguments
        self.seeds, self.how, self.played, self.differ, self.reached = seeds, how, played, differ, reached


class Verdicts:
    """By fault. What was found stays found as long as stories are the same ones: checks only come to them. What was not is played again by another
    program."""

    def __init__(self, source, stories):
        self._source, self._path = source, DIRECTORY / "found" / f"{stories}.json"
        self._known = json.loads(self._path.read_text()) if self._path.exists() else {}

    def get(self, fault):
        known = self._known.get(self._key(fault))
        return Verdict(**known["verdict"]) if known and (known["verdict"]["seeds"] or known["source"] == self._source) else Verdict()

    def set(self, fault, verdict):
        self._known[self._key(fault)] = {"source": self._source, "verdict": vars(verdict)}
        write_json(self._path, self._known)

    @staticmethod
    def _key(fault):
        return f"{fault.name} {hashlib.sha256(f'{fault.file}{fault.line}{fault.instead}'.encode()).hexdigest()[:8]}"


# ---- one fault


class Play:
    """Seeds in order, on all processors: the first red one is that of one process. `seeds` are in rising order; `stories` are those without a fault, if
    it is known."""

    def __init__(self, binary, seeds, stories=None, planted=""):  # pylint: disable=too-many-arguments
        self._binary, self._chunks, self._lock = binary, iter(list(chunks(seeds))), threading.Lock()
        self._stories, self._planted = stories or {}, planted
        self.red, self.error, self.differ = None, "", 0  # red: (seed, how)

    def _take(self):
        with self._lock:
            return None if self.red or self.error else next(self._chunks, None)

    def _add(self, done, digests):
        red = program.RED.search(done.stderr)
        with self._lock:
            if red and (not self.red or int(red.group(1)) < self.red[0]):
                self.red = (int(red.group(1)), red.group(2))
            elif done.returncode != 0 and not red:
                self.error = f"error: it ended with {done.returncode}: {done.stderr[-200:]}"
            self.differ += sum(seed in self._stories and self._stories[seed][0] != digest for seed, digest in digests.items())

    def _run(self):
        while chunk := self._take():
            try:
                self._add(*play_seeds(self._binary, *chunk, ARGOSY_PLANTED=self._planted))
            except subprocess.TimeoutExpired:
                self.error = "error: endless"

    def run(self, jobs):
        threads = [threading.Thread(target=self._run) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self


def chunks(seeds):
    """(first, last) of those that follow each other, CHUNK at most."""
    first = last = None
    for seed in seeds:
        if last is not None and seed == last + 1 and last - first + 1 < CHUNK:
            last = seed
            continue
        if first is not None:
            yield first, last
        first = last = seed
    if first is not None:
        yield first, last


class Game:
    """Plays seeds with faults."""

    def __init__(self, jobs):
        self._jobs, self._alone = jobs, None
        self._many = ManyFaults(executed(jobs))
        self._many.open()
        self._source, self._binary = digest_of_source(), self._many.build / program.TARGET
        self._healthy = Healthy(self._binary, self._source, self._many.planted)

    def learn(self, last):
        """What stories are without a fault. Returns what is known of faults by that."""
        self._healthy.play(max(last, SEEDS_OF_COVERAGE), self._jobs)
        return Verdicts(self._source, self._healthy.digest(SEEDS_OF_COVERAGE))

    def judge(self, fault, first, last):
        """Verdict of these seeds alone."""
        try:
            if fault.name in self._many.planted:
                return self._play(self._binary, fault, self._seeds_of(fault, first, last), last, fault.name)
            return self._play_alone(fault, first, last)
        except Misfit as reason:
            return Verdict(how=f"error: {str(reason)[-200:]}", played=last)

    def _seeds_of(self, fault, first, last):
        stories = self._healthy.stories
        return [seed for seed in range(first, last + 1) if fault.name in stories[seed][1]]

    def _play(self, binary, fault, seeds, last, planted):  # pylint: disable=too-many-arguments
        p = Play(binary, seeds, self._healthy.stories, planted).run(self._jobs)
        if p.red:
            return Verdict(*p.red, p.red[0], p.differ, len(seeds))
        return Verdict(None, p.error, last, p.differ, len(seeds))

    def _play_alone(self, fault, first, last):
        take_out = None
        try:
            if not self._alone:
                self._alone = Workshop(DIRECTORY / "alone", OPTIONS_ALONE)
                self._alone.open()
            take_out = self._alone.put_in(fault)
            self._alone.build_targets(program.TARGET)
            return self._play(self._alone.build / program.TARGET, fault, range(first, last + 1), last, "")
        finally:
            if take_out:
                take_out()


def show(fault, verdict):
    how = verdict.how or f"{verdict.differ} of {verdict.played} stories differ, {verdict.reached} come to it"
    print(f"{verdict.seeds or '-':>6}  {fault.name:<52} {how}", flush=True)


def go_on(game, fault, verdict, last):
    """The verdict when seeds up to the last one are played, too."""
    more = game.judge(fault, verdict.played + 1, last)
    return Verdict(more.seeds, more.how, more.played, verdict.differ + more.differ, verdict.reached + more.reached)


def play_planted(n, draw, jobs, within=SEEDS_MAX):
    drawn, began, game = draw_faults(n, draw, jobs), time.monotonic(), Game(jobs)
    verdicts = game.learn(within)
    for last in [*(seeds for seeds in ROUNDS if seeds < within), within]:
        for fault in drawn:
            verdict = verdicts.get(fault)
            if not verdict.seeds and verdict.played < last and not verdict.how.startswith("error"):
                verdict = go_on(game, fault, verdict, last)
                verdicts.set(fault, verdict)
                if verdict.seeds or verdict.how:
                    show(fault, verdict)
        print(f"-- within {last} seeds: {sum(bool(verdicts.get(fault).seeds) for fault in drawn)} of {len(drawn)}; {time.monotonic() - began:.0f} s", flush=True)
    found = []
    for fault in drawn:
        verdict = verdicts.get(fault)
        show(fault, verdict)
        found += [verdict.seeds] if verdict.seeds and verdict.seeds <= within else []
    median = f", half of these within {sorted(found)[len(found) // 2]}" if found else ""
    print(f"\n{len(found)} of {len(drawn)} found within {within} seeds{median}; {time.monotonic() - began:.0f} s")
    return 0 if len(found) >= MUST_FIND * len(drawn) else 1
