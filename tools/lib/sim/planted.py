# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which of the planted faults of tools/mutants stories find, and after how many seeds.

Drawn, by a number that is printed, among those in the leader's or the model's source whose line the first 200 seeds execute: gcov says which.
"""

import json
import random
import re
import subprocess
import sys
import time

from mutants.faults import FAULTS
from mutants.table import split_test
from mutants.workshop import Misfit, Workshop, is_scenario, is_story, position

from . import program

SEEDS_OF_COVERAGE, SEEDS_MAX = 200, 1000
TIMEOUT_S = 900
ROOMS = ("src/leader/", "src/model/")
COVERAGE = ["-Doptimization=0", "-Db_coverage=true", "-Ddebug=false", "-Djemalloc=disabled", "-Dman=disabled", "-Db_lto=false"]
RED = re.compile(r"^red: seed (\d+), (?:step \d+, )?([^;]*);", re.MULTILINE)


def candidates():
    """Without those that were planted for stories."""
    rooms_tests = {fault: split_test(fault)[0] for fault in FAULTS if fault.file.startswith(ROOMS)}
    return [fault for fault, test in rooms_tests.items() if not is_scenario(test) and not is_story(test)]


def counts_of(gcda, directory):
    """{file below the source: {line: count}} of one object."""
    said = subprocess.run(["gcov", "--json-format", "--stdout", gcda], cwd=directory, capture_output=True, text=True).stdout
    found = {}
    for text in said.splitlines():
        for part in json.loads(text)["files"]:
            lines = found.setdefault(part["file"].removeprefix("../"), {})
            for line in part["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return found


def executed():
    """The faults of the table whose line the first seeds execute."""
    directory = program.SOURCE / "build-sim-coverage"
    for old in directory.rglob("*.gcda") if directory.exists() else []:
        old.unlink()
    binary = program.build(directory, COVERAGE)
    subprocess.run([binary, "--seeds", f"1..{SEEDS_OF_COVERAGE}"], check=True, capture_output=True)
    counts = {}
    files = {fault.file for fault in candidates()}
    for gcda in directory.rglob("*.gcda"):
        name = gcda.name.removesuffix(".c.gcda") + ".c"
        if any(file.endswith("/" + name.split("_")[-1]) for file in files):
            for file, lines in counts_of(gcda, directory).items():
                for line, n in lines.items():
                    counts.setdefault(file, {})[line] = counts.get(file, {}).get(line, 0) + n
    return [fault for fault in candidates() if is_executed(fault, counts)]


def is_executed(fault, counts):
    """By its line, or the one above that has code, for a line in the middle of a statement."""
    _, _, number = position(program.SOURCE, fault)
    lines = counts.get(fault.file, {})
    with_code = [line for line in lines if line <= number + 1]
    return bool(with_code) and lines[max(with_code)] > 0


def play(workshop):
    workshop.build_targets(program.TARGET)
    return subprocess.run([workshop.build / program.TARGET, "--seeds", f"1..{SEEDS_MAX}", "--first-red"], text=True, capture_output=True,
                          errors="replace", timeout=TIMEOUT_S)


def check_healthy(workshop):
    """Without a fault no seed is red: otherwise its being red later would mean nothing."""
    red = RED.search(play(workshop).stderr)
    if red:
        sys.exit(f"sim: seed {red.group(1)} is red without any fault: {red.group(2)}")


def judge(workshop, fault):
    """(seeds until it was found or None, how)"""
    take_out = None
    try:
        take_out = workshop.put_in(fault)
        done = play(workshop)
    except Misfit as reason:
        return None, f"error: {str(reason)[-200:]}"
    except subprocess.TimeoutExpired:
        return None, "endless"
    finally:
        if take_out:
            take_out()
    red = RED.search(done.stderr)
    return (int(red.group(1)), red.group(2)) if red else (None, "")


def play_planted(n, draw):
    found = executed()
    drawn = random.Random(draw).sample(sorted(found, key=lambda fault: fault.name), min(n, len(found)))
    print(f"{len(candidates())} faults of the leader and the model, {len(found)} of them executed by the first {SEEDS_OF_COVERAGE} seeds; "
          f"{len(drawn)} drawn by {draw}", flush=True)
    workshop = Workshop(program.SOURCE / "build-sim-planted", program.OPTIONS)
    workshop.open()
    check_healthy(workshop)
    n_found, began = 0, time.monotonic()
    for fault in drawn:
        seeds, how = judge(workshop, fault)
        n_found += seeds is not None
        print(f"{seeds if seeds is not None else '-':>6}  {fault.name:<44} {how}", flush=True)
    print(f"\n{n_found} of {len(drawn)} found within {SEEDS_MAX} seeds, in {time.monotonic() - began:.0f} s")
    return 0 if n_found >= 0.7 * len(drawn) else 1
