# SPDX-License-Identifier: LGPL-2.1-or-later
"""leader-sim, hosts-sim and its kin: built in a build directory of its own, as it is shipped but for line numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
BUILD = SOURCE / "build-sim"
DIGESTS = SOURCE / "tests/sim/leader/stories.digests"
TARGET, HOSTS, RAFT, BUS = "tests/sim/leader-sim", "tests/sim/hosts-sim", "tests/sim/hosts-sim-raft", "tests/sim/hosts-sim-bus"
PREFIXES = {TARGET: "", HOSTS: "hosts-", RAFT: "raft-", BUS: "bus-"}  # of the files of their red stories
SHARES = {TARGET: 1, HOSTS: 1, RAFT: 1, BUS: 0.2}  # of the time of a night: of whole hosts a tenth is on a bus
RED = re.compile(r"^red: seed (\d+), (?:step \d+, )?([^;]*);", re.MULTILINE)
OPTIONS = ["-Doptimization=2", "-Ddebug=false", "-Djemalloc=disabled", "-Dman=disabled"]


def must(argv, **more):
    done = subprocess.run([str(arg) for arg in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"sim: {' '.join(str(arg) for arg in argv[:3])} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def build(directory=BUILD, options=OPTIONS, target=TARGET):
    """Its path."""
    if not (Path(directory) / "build.ninja").exists():
        must(["meson", "setup", directory, SOURCE, *options])
    must(["ninja", "-C", directory, target])
    return Path(directory) / target


def short_name(target):
    return Path(target).name


def story_name(target, seed):
    """Of the file of a red one."""
    return f"{PREFIXES[target]}seed-{seed}.story"


def run(program, *args):
    """Its exit status; it says everything itself."""
    return subprocess.run([str(program), *map(str, args)]).returncode


def processors():
    return len(os.sched_getaffinity(0))
