# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stories that were red once, each before what it found was mended (tests/sim/RECORD.md): none of them is any more.

Usage: test_stories.py LEADER_SIM
"""

import subprocess
import sys
from pathlib import Path

STORIES = sorted(Path(__file__).resolve().parent.glob("stories/*.story"))


def play(program, story):
    done = subprocess.run([program, "--file", story], text=True, capture_output=True, errors="replace")
    if done.returncode != 0:
        print(f"{story.name} is red again:\n{done.stderr}")
    return done.returncode == 0


def main():
    if not STORIES:
        sys.exit("there is no story")
    if not all([play(sys.argv[1], story) for story in STORIES]):
        sys.exit(1)
    print(f"{len(STORIES)} stories")


if __name__ == "__main__":
    main()
