# SPDX-License-Identifier: LGPL-2.1-or-later
"""Canaries: faults with which a check of stories was seen to be red. Fresh seeds are to find them again; a run that does not sees nothing.

Each is drawn from those that the programs' tables of checks name, put into a copy of the source, and the seeds behind those of the run are played
until one is red. What stories find of all faults is another question (planted.py).
"""

import hashlib
import subprocess
import threading

from mutants.faults import FAULTS
from mutants.table import CHECKS, planted
from mutants.workshop import Misfit, Workshop

from . import program

SEEDS_MAX = 1000
CHUNK = 25  # seeds of one process
DIRECTORY = program.SOURCE / "build-sim-canaries"
OPTIONS = ["-Doptimization=1", *program.OPTIONS[1:]]  # a fault compiles a file or two: that is sooner done than at -O2
TABLES = {program.TARGET: "sim/leader", program.HOSTS: "sim/hosts"}


def canaries_of(target):
    names = set(planted(program.SOURCE / CHECKS[TABLES[target]]).values())
    return [fault for fault in FAULTS if fault.name in names]


def draw_canaries(n, draw, targets):
    """[(program, fault)], of each program as many; no fault twice, though two programs may have a check in common."""
    drawn = []
    for i in range(n):
        target, taken = targets[i % len(targets)], {fault.name for _, fault in drawn}
        left = [fault for fault in canaries_of(target) if fault.name not in taken]
        drawn += [(target, fault) for fault in sorted(left, key=lambda fault: hashlib.sha256(f"{draw} {fault.name}".encode()).digest())[:1]]
    return drawn


class Hunt:
    """Seeds in order, on all processors, until one is red."""

    def __init__(self, binary, first):
        self._binary, self._first, self._next, self._lock = binary, first, first, threading.Lock()
        self.red, self.error = None, ""  # red: (seed, how)

    def _take(self):
        with self._lock:
            if self.red or self.error or self._next >= self._first + SEEDS_MAX:
                return None
            self._next += CHUNK
            return self._next - CHUNK

    def _run(self):
        while first := self._take():
            done = subprocess.run([self._binary, "--seeds", f"{first}..{first + CHUNK - 1}", "--first-red", "--figures"], text=True,
                                  capture_output=True, errors="replace")
            red = program.RED.search(done.stderr)
            with self._lock:
                if red and (not self.red or int(red.group(1)) < self.red[0]):
                    self.red = (int(red.group(1)), red.group(2))
                elif done.returncode != 0 and not red:
                    self.error = f"error: it ended with {done.returncode}: {done.stderr[-200:]}"

    def run(self):
        threads = [threading.Thread(target=self._run) for _ in range(program.processors())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self


def hunt(workshop, target, fault, first):
    """(seeds that were played until one was red, or None; how)"""
    take_out = None
    try:
        take_out = workshop.put_in(fault)
        workshop.build_targets(target)
        found = Hunt(workshop.build / target, first).run()
        return (found.red[0] - first + 1, found.red[1]) if found.red else (None, found.error)
    except Misfit as reason:
        return None, f"error: {str(reason)[-200:]}"
    finally:
        if take_out:
            take_out()


def play_canaries(n, draw, first):
    """`first`: the next seed of each program. Returns how many were not found."""
    targets = [target for target in TABLES if target in first]
    if not targets:  # libraft's stories have the checks of the others
        return 0
    workshop, n_missed = Workshop(DIRECTORY, OPTIONS), 0
    workshop.open()
    for target, fault in draw_canaries(n, draw, targets):
        seeds, how = hunt(workshop, target, fault, first[target])
        print(f"{seeds or '-':>6}  {program.short_name(target):<12} {fault.name:<40} {how}", flush=True)
        n_missed += seeds is None
    return n_missed
