# SPDX-License-Identifier: LGPL-2.1-or-later
"""A thousand stories are what they were: every entry of the log and every answer, by their digests (leader/stories.digests).

Some of them are played in another order and with another allocator as well, since neither where memory lies nor what was played before may
make a difference; nor may it whether a step of a turn is called that has no work, so what says that a step has some is complete. A commit that changes on purpose what is asked, written or answered makes the file anew: tools/sim --write-digests.

Trials (trials.c) take as long as all the rest, and no digest has anything of them: one part of four has them.

Usage: test_digests.py LEADER_SIM FIRST LAST [TWICE]     TWICE: with trials; and of them the first so many also in the other ways
"""

import ctypes.util
import os
import subprocess
import sys
from pathlib import Path

DIGESTS = Path(__file__).resolve().parent / "leader/stories.digests"


def allocators():
    """The one that they are played with, and another one. jemalloc, where there is one, takes a quarter of the time away: a story is played in
    many processes, and few of them touch pages for the first time. glibc's fills what it gives and takes."""
    jemalloc = ctypes.util.find_library("jemalloc")
    return {"LD_PRELOAD": jemalloc} if jemalloc else {}, {"MALLOC_PERTURB_": "165"}


def play(how, program, first, last, *options, **environment):
    done = subprocess.run([program, "--seeds", f"{first}..{last}", "--compare", DIGESTS, *options], text=True, capture_output=True, errors="replace",
                          env=os.environ | environment)
    if done.returncode != 0:
        print(f"{how}:\n{done.stderr}")
    return done.returncode == 0


def main():
    program, first, last, *twice = sys.argv[1:]
    ours, other = allocators()
    well = play("as they are", program, first, last, *([] if twice else ["--untried"]), **ours)
    if twice:
        some = int(first) + int(twice[0]) - 1
        well &= play("from the last one to the first", program, first, some, "--backwards", **ours)
        well &= play("with all steps of each turn", program, first, some, "--untried", "--all-due", **ours)
        well &= play("with another allocator", program, first, some, **other)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
