# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stories that were red once, each before what it found was mended (tests/sim/RECORD.md): none of them is any more.

Usage: test_stories.py PROGRAM FOLDER
"""

import subprocess
import sys
from pathlib import Path


def play(program, story):
    done = subprocess.run([program, "--file", story], text=True, capture_output=True, errors="replace")
    if done.returncode != 0:
        print(f"{story.name} is red again:\n{done.stderr}")
    return done.returncode == 0


def main():
    program, folder = sys.argv[1:]
    stories = sorted(Path(folder).glob("*.story"))
    if not stories:
        sys.exit("there is no story")
    if not all([play(program, story) for story in stories]):
        sys.exit(1)
    print(f"{len(stories)} stories")


if __name__ == "__main__":
    main()
