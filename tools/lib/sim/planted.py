# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the planted faults of tools/mutants stories find, and after how many seeds.

Drawn, by a number that is printed, among those that the first 200 seeds come to. Each fault has a place in the draw of its own, so a fault more or
less in the table moves no other one.

All faults in functions are compiled into one program (mutants/schemata.py), so one build serves every draw; what stands outside of functions, in
tables and constants, is not drawn. Without a fault the first thousand stories are played once, each by itself: that none is red, what digest each
has, which faults each one comes to, and which of these matter there: say something else than what is there without. Then a story is played once more
for all faults that are drawn and matter in it: where it comes to one of them it is forked, and one process goes on with the fault.

So of what was not found it is known what it lacks. What matters in no story lacks a situation; what matters and changes no story lacks something
that depends on it, or is only work; what changes some and is not found lacks a check.

All that are drawn are played in rounds of more and more seeds, those that were found left out, so what is cheap to know is known soon. What was found
out is kept below the build directory after each round: a run that was stopped goes on where it was. What was not found is played again by another
program, what was found only if stories without a fault are other ones.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from mutants.faults import FAULTS
from mutants.many import ManyFaults, write_json
from mutants.statements import is_pure
from mutants.table import split_test
from mutants.workshop import SOURCE, Misfit, is_scenario, is_story, squeeze

from . import program

SEEDS_TO_COME_TO, SEEDS_MAX = 200, 1000
TIMEOUT_S = 3600  # a story that is endless ends itself long before
MUST_FIND = 0.7
PROGRAM = "tests/sim/leader/leader-sim.c"  # gets what tries faults
DIRECTORY = program.SOURCE / "build-sim-planted"
ROUNDS = [25, 100, 400]  # seeds; then all
GIVE_UP = 20  # stories in which a fault mattered and that are the same all the same: it counts as not found, and is not played on


def candidates():
    """Without those that were planted for stories, and those that only a real node shows."""
    return [fault for fault in FAULTS if not is_scenario(split_test(fault)[0]) and not is_story(split_test(fault)[0])]


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


def in_threads(run, jobs):
    threads = [threading.Thread(target=run) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Seeds:
    """What is done with each of some seeds, on all processors, until something is wrong. `play` says what that is, or nothing."""

    def __init__(self, seeds, play):
        self._seeds, self._play, self._lock, self.wrong = iter(list(seeds)), play, threading.Lock(), ""

    def _next(self):
        with self._lock:
            return None if self.wrong else next(self._seeds, None)

    def _run(self):
        while seed := self._next():
            self.wrong = self._play(seed) or self.wrong

    def run(self, jobs):
        in_threads(self._run, jobs)
        return self.wrong


class Healthy:
    """What the stories are without a fault: {seed: [digest, the faults that it comes to, those of them that differ there]}. None may be red: otherwise its
    being red later would mean nothing."""

    def __init__(self, binary, source, planted):
        key = hashlib.sha256(" ".join([source, *sorted(planted)]).encode()).hexdigest()[:16]
        self._binary, self._path, self._lock = binary, DIRECTORY / "healthy" / f"{key}.json", threading.Lock()
        self.stories = {int(seed): story for seed, story in json.loads(self._path.read_text()).items()} if self._path.exists() else {}

    def play(self, last, jobs):
        wrong = Seeds([seed for seed in range(1, last + 1) if seed not in self.stories], self._play).run(jobs)
        if wrong:
            sys.exit(f"sim: red without any fault: {wrong}")
        write_json(self._path, self.stories)

    def _play(self, seed):
        with tempfile.TemporaryDirectory() as folder:
            reached = Path(folder) / "reached"
            done, digests = play_seeds(self._binary, seed, seed, ARGOSY_PLANTED_REACHED=str(reached))
            told = [line.split() for line in reached.read_text().splitlines()] if reached.exists() else []
        with self._lock:
            if done.returncode != 0:
                return done.stderr[-1000:] or f"it ended with {done.returncode}"
            self.stories[seed] = [digests[seed], sorted({name for name, _ in told}), sorted({name for name, differs in told if differs == "1"})]
            if len(self.stories) % 100 == 0:
                write_json(self._path, self.stories)
        return ""

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


@dataclass
class Verdict:
    """`seeds`: until one was red; `played`: seeds so far; of these stories `reached` come to the fault, in `matters` it says something else than what is
    there without, and `differ` are others than without."""
    seeds: int = None
    how: str = ""
    played: int = 0
    reached: int = 0
    matters: int = 0
    differ: int = 0


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


TRIED = re.compile(r"(\S+) (\d+) ([0-9a-f]{16}) (.*)")


class Trials:
    """Stories in which each of some faults is tried where it first matters: the program forks there (mutants/schemata.py)."""

    def __init__(self, binary, stories, verdicts):
        self._binary, self._stories, self._verdicts, self._lock = binary, stories, verdicts, threading.Lock()  # verdicts: {name: Verdict}

    def _names(self, seed):
        _, _, matter = self._stories[seed]
        return [name for name in matter if name in self._verdicts and not self._is_found_before(name, seed)]

    def _is_found_before(self, name, seed):
        return self._verdicts[name].seeds is not None and self._verdicts[name].seeds < seed

    def _play(self, seed):
        with self._lock:
            names = self._names(seed)
        if not names:
            return ""
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "tried"
            done, digests = play_seeds(self._binary, seed, seed, ARGOSY_PLANTED_TRY=",".join(names), ARGOSY_PLANTED_TRIED=str(told))
            tried = TRIED.findall(told.read_text()) if told.exists() else []
        if done.returncode != 0 or digests.get(seed) != self._stories[seed][0]:
            return f"seed {seed} is another story where faults are tried: {done.stderr[-500:]}"
        with self._lock:
            self._note(seed, names, tried)
        return ""

    def _note(self, seed, names, tried):
        for name in names:
            ends = [(status, digest, sign) for of, status, digest, sign in tried if of == name]
            verdict, red = self._verdicts[name], [sign for status, _, sign in ends if status != "0"]
            verdict.matters += 1
            verdict.differ += any(int(digest, 16) not in (0, int(self._stories[seed][0], 16)) for _, digest, _ in ends)
            if red and (verdict.seeds is None or seed < verdict.seeds):
                verdict.seeds, verdict.how = seed, red[0]

    def run(self, first, last, jobs):
        wrong = Seeds(range(first, last + 1), self._play).run(jobs)
        if wrong:
            sys.exit(f"sim: {wrong}")
        for name, verdict in self._verdicts.items():
            verdict.played = verdict.seeds or last
            verdict.reached += sum(name in self._stories[seed][1] for seed in range(first, verdict.played + 1))


def place(fault, draw):
    return hashlib.sha256(f"{draw} {fault.name}".encode()).digest()


class Game:
    """Plays seeds with faults."""

    def __init__(self, jobs):
        self._jobs, self._faults = jobs, candidates()
        many = ManyFaults(DIRECTORY / "many", program.OPTIONS, self._faults, is_pure(SOURCE), PROGRAM)
        try:
            many.open()
            many.build_targets(program.TARGET)
        except Misfit as reason:
            sys.exit(f"sim: {reason}")
        self._source, self._binary = digest_of_source(), many.build / program.TARGET
        self._healthy = Healthy(self._binary, self._source, many.planted)

    def learn(self, last):
        """What stories are without a fault. Returns what is known of faults by that."""
        self._healthy.play(max(last, SEEDS_TO_COME_TO), self._jobs)
        return Verdicts(self._source, self._healthy.digest(SEEDS_TO_COME_TO))

    def draw(self, n, draw):
        """Among those that the first seeds come to."""
        stories = self._healthy.stories
        reached = {name for seed in range(1, SEEDS_TO_COME_TO + 1) for name in stories[seed][1]}
        found = [fault for fault in self._faults if fault.name in reached]
        drawn = sorted(found, key=lambda fault: place(fault, draw))[:n]
        print(f"{len(self._faults)} faults, the first {SEEDS_TO_COME_TO} seeds come to {len(found)}; {len(drawn)} drawn by {draw}", flush=True)
        return drawn

    def play(self, verdicts, last):
        """`verdicts`: (fault, Verdict) of those that are to be played on, up to that seed."""
        together = {}
        for fault, verdict in verdicts:
            together.setdefault(verdict.played + 1, {})[fault.name] = verdict
        for first, of_names in together.items():
            Trials(self._binary, self._healthy.stories, of_names).run(first, last, self._jobs)


def show(fault, verdict):
    how = verdict.how or f"of {verdict.played} stories {verdict.reached} come to it, in {verdict.matters} it matters, {verdict.differ} are others"
    print(f"{verdict.seeds or '-':>6}  {fault.name:<52} {how}", flush=True)


def show_missed(missed):
    """What would help: a story that has the situation, or a check."""
    never, same = [sum(not getattr(v, what) and v.matters >= least for v in missed) for what, least in (("matters", 0), ("differ", 1))]
    print(f"{len(missed)} were missed: {never} never matter, {same} change no story, {len(missed) - never - same} change some")


def play_planted(n, draw, jobs, within=SEEDS_MAX):
    began, game = time.monotonic(), Game(jobs)
    known = game.learn(within)
    drawn = game.draw(n, draw)
    verdicts = [(fault, known.get(fault)) for fault in drawn]
    for last in [*(seeds for seeds in ROUNDS if seeds < within), within]:
        left = [(fault, v) for fault, v in verdicts if not v.seeds and v.played < last and (v.differ or v.matters < GIVE_UP)]
        game.play(left, last)
        for fault, verdict in left:
            known.set(fault, verdict)
            if verdict.seeds or verdict.how:
                show(fault, verdict)
        print(f"-- within {last} seeds: {sum(bool(v.seeds) for _, v in verdicts)} of {len(drawn)}; {time.monotonic() - began:.0f} s", flush=True)
    for fault, verdict in verdicts:
        show(fault, verdict)
    found = sorted(v.seeds for _, v in verdicts if v.seeds and v.seeds <= within)
    show_missed([v for _, v in verdicts if not v.seeds])
    median = f", half of these within {found[len(found) // 2]}" if found else ""
    print(f"\n{len(found)} of {len(drawn)} found within {within} seeds{median}; {time.monotonic() - began:.0f} s")
    return 0 if len(found) >= MUST_FIND * len(drawn) else 1
