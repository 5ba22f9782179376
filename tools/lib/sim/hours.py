# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fresh seeds on all processors for as long as one wants, and what became of them: the report of a night."""

import re
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from . import program

CHUNK = 100  # seeds of one process
RED = re.compile(r"^red: seed (\d+)", re.MULTILINE)
ALWAYS_SHOWN = ["done", "EACCES", "EINVAL", "ENOENT", "EAGAIN", "unanswered", "called-off"]  # outcomes, also when no kind came to them


class Night:
    """What all processes have told so far."""

    def __init__(self, start):
        self.next, self.figures, self.premises = start, Counter(), Counter()
        self.cells, self.faults, self.pairs, self.red = Counter(), Counter(), Counter(), []
        self.lock = threading.Lock()

    def take_seeds(self):
        with self.lock:
            first = self.next
            self.next += CHUNK
            return first, first + CHUNK - 1

    def add(self, output, errors):
        with self.lock:
            self.red += [int(seed) for seed in RED.findall(errors)]
            for line in output.splitlines():
                self._add_line(line.split())

    def _add_line(self, words):
        kind, *names, n = words
        table = {"figure": self.figures, "premise": self.premises, "cell": self.cells, "fault": self.faults, "pair": self.pairs}[kind]
        table[tuple(names) if len(names) > 1 else names[0]] += int(n)


def play(night, binary, until, keep):
    while time.monotonic() < until and len(night.red) < 20:
        first, last = night.take_seeds()
        done = subprocess.run([binary, "--seeds", f"{first}..{last}", "--figures"], text=True, capture_output=True, errors="replace")
        night.add(done.stdout, done.stderr)
        for seed in map(int, RED.findall(done.stderr)):
            keep_red(binary, seed, keep)


def keep_red(binary, seed, keep):
    path = keep / f"seed-{seed}.story"
    keep.mkdir(parents=True, exist_ok=True)
    print(f"red: seed {seed}", flush=True)
    shrunk = subprocess.run([binary, "--seed", str(seed), "--shrink", "--write", path], text=True, capture_output=True, errors="replace")
    print(shrunk.stdout + shrunk.stderr[-2000:], flush=True)
    if path.exists():
        told = subprocess.run([binary, "--file", path, "--prose"], text=True, capture_output=True, errors="replace")
        print(told.stderr[-6000:], flush=True)


def show_table(heading, counts):
    """What never was comes first."""
    print(f"\n{heading}")
    for name, n in sorted(counts.items(), key=lambda row: (row[1], row[0])):
        print(f"{n:>12}  {name if isinstance(name, str) else ' '.join(name)}")


def show_cells(cells):
    kinds = sorted({kind for kind, _ in cells})
    ends = ALWAYS_SHOWN + sorted({end for _, end in cells} - set(ALWAYS_SHOWN))
    print("\nrequests by how they ended; those with the most empty cells first\n" + " " * 22 + "".join(f"{end:>13}" for end in ends))
    for kind in sorted(kinds, key=lambda kind: (-sum(not cells[kind, end] for end in ends), kind)):
        print(f"{kind:<22}" + "".join(f"{cells[kind, end] or '-':>13}" for end in ends))


def show_pairs(pairs, faults):
    empty = [" and ".join(pair) for pair, n in sorted(pairs.items()) if n == 0]
    print(f"\npairs of faults that came together: {len(pairs) - len(empty)} of {len(pairs)}")
    for pair in empty:
        print(f"           -  {pair}")
    rarest = sorted((n, pair) for pair, n in pairs.items() if n > 0)[:10]
    for n, pair in rarest:
        print(f"{n:>12}  {' and '.join(pair)}")
    show_table("faults", faults)


def report(night, start, seconds):
    f = night.figures
    cpu, virtual = max(f["cpu_us"] / 1e6, 1e-6), max(f["virtual_us"] / 1e6, 1e-6)
    print(f"\n{f['stories']} stories from seed {start} on, {len(night.red)} red, in {seconds:.0f} s on {program.processors()} processors")
    print(f"{virtual:.0f} virtual seconds, {virtual / cpu:.0f} per CPU second; {f['events']} events, {f['events'] / cpu:.0f} per CPU second")
    print(f"load: {f['transitions']} transitions of units, {f['transitions'] / virtual:.2f} per virtual second")
    show_table("checks, and how often there was something to look at", night.premises)
    show_cells(night.cells)
    show_pairs(night.pairs, night.faults)
    silent = [name for name, n in night.premises.items() if n == 0]
    if silent:
        print(f"\nred: never anything to look at for {', '.join(silent)}")
    return 1 if night.red or silent else 0


def play_hours(hours, directory, start=None, target=program.TARGET, canaries=0, draw=1):  # pylint: disable=too-many-arguments
    start = start or int(time.time()) * 1000 % 10**12 + 1
    keep = Path(directory) / "red"
    binary, began = program.build(directory, target=target), time.monotonic()
    print(f"seeds from {start} on; red ones are kept in {keep}", flush=True)
    night = Night(start)
    threads = [threading.Thread(target=play, args=(night, binary, began + hours * 3600, keep)) for _ in range(program.processors())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = report(night, start, time.monotonic() - began)
    if canaries == 0:
        return status
    from .planted import play_canaries  # pylint: disable=import-outside-toplevel
    print("\nplanted faults, and how many of the next seeds were played until one was found", flush=True)
    return 1 if play_canaries(canaries, draw, night.next, program.processors()) else status
