# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fresh seeds on all processors for as long as one wants, and what became of them: the report of a night."""

import re
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from . import program

CHUNK = 20  # seeds of one process
STORIES_OF_A_NIGHT = 1000  # of which each check must have said something, as the programs have it themselves
RED_MAX = 20  # that are kept; then something is wrong that any seed shows
RED = re.compile(r"^red: seed (\d+)", re.MULTILINE)
ALWAYS_SHOWN = ["done", "EACCES", "EINVAL", "ENOENT", "EAGAIN", "unanswered", "called-off"]  # outcomes, also when no kind came to them


class Night:
    """What all processes of one program have told so far."""

    def __init__(self, target, binary, start):
        self.target, self.binary, self.next, self.seconds = target, binary, start, 0.0
        self.figures, self.premises = Counter(), Counter()
        self.cells, self.faults, self.pairs, self.red = Counter(), Counter(), Counter(), []

    def take_seeds(self):
        first = self.next
        self.next += CHUNK
        return first, self.next - 1

    def add(self, output, errors, seconds):
        self.seconds += seconds
        self.red += [int(seed) for seed in RED.findall(errors)]
        for line in output.splitlines():
            self._add_line(line.split())

    def _add_line(self, words):
        kind, *names, n = words
        table = {"figure": self.figures, "premise": self.premises, "cell": self.cells, "fault": self.faults, "pair": self.pairs}[kind]
        table[tuple(names) if len(names) > 1 else names[0]] += int(n)

    def silent(self):
        return sorted(name for name, n in self.premises.items() if n == 0)

    def is_red(self):
        return bool(self.red) or (self.figures["stories"] >= STORIES_OF_A_NIGHT and bool(self.silent()))


class Nights:
    """Of all programs, each of which gets its share of the time."""

    def __init__(self, nights, until, keep):
        self.nights, self.until, self.keep = nights, until, keep
        self._lock, self._begun = threading.Lock(), Counter()

    def _take(self):
        """The one that was played least so far, and its next seeds; None: the time is over."""
        with self._lock:
            open_nights = [night for night in self.nights if len(night.red) < RED_MAX]
            if time.monotonic() >= self.until or not open_nights:
                return None
            night = min(open_nights, key=lambda night: (night.seconds / program.SHARES[night.target], self._begun[night.target]))
            self._begun[night.target] += 1
            return night, *night.take_seeds()

    def play(self):
        while taken := self._take():
            night, first, last = taken
            began = time.monotonic()
            done = subprocess.run([night.binary, "--seeds", f"{first}..{last}", "--figures"], text=True, capture_output=True, errors="replace")
            with self._lock:
                night.add(done.stdout, done.stderr, time.monotonic() - began)
            for seed in map(int, RED.findall(done.stderr)):
                keep_red(night, seed, self.keep)


def keep_red(night, seed, keep):
    path = keep / program.story_name(night.target, seed)
    keep.mkdir(parents=True, exist_ok=True)
    print(f"red: {program.short_name(night.target)}, seed {seed}", flush=True)
    shrunk = subprocess.run([night.binary, "--seed", str(seed), "--shrink", "--write", path], text=True, capture_output=True, errors="replace")
    print(shrunk.stdout + shrunk.stderr[-2000:], flush=True)
    if path.exists():
        told = subprocess.run([night.binary, "--file", path, "--prose"], text=True, capture_output=True, errors="replace")
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


def report(night, start):
    f = night.figures
    cpu, virtual = max(f["cpu_us"] / 1e6, 1e-6), max(f["virtual_us"] / 1e6, 1e-6)
    print(f"\n==== {program.short_name(night.target)}: {f['stories']} stories from seed {start} on, {len(night.red)} red")
    print(f"{virtual:.0f} virtual seconds, {virtual / cpu:.0f} per CPU second; {f['events']} events, {f['events'] / cpu:.0f} per CPU second")
    print(f"load: {f['transitions']} transitions of units, {f['transitions'] / virtual:.2f} per virtual second")
    show_table("checks, and how often there was something to look at", night.premises)
    show_cells(night.cells)
    show_pairs(night.pairs, night.faults)


def sum_up(nights, start, seconds, keep):
    """What one reads first in the morning comes last."""
    print(f"\n==== in {seconds:.0f} s on {program.processors()} processors, seeds from {start} on")
    for night in nights:
        silent = night.silent()
        print(f"{program.short_name(night.target):<10} {night.figures['stories']:>8} stories, {night.figures['virtual_us'] / 1e6:.0f} virtual seconds, "
              f"{len(night.red)} red")
        for seed in sorted(night.red):
            print(f"           red: seed {seed}, {keep / program.story_name(night.target, seed)}")
        if silent:
            word = "red: never" if night.figures["stories"] >= STORIES_OF_A_NIGHT else "not"
            print(f"           {word} anything to look at for {', '.join(silent)}")


def play_hours(hours, directory, start=None, targets=(program.TARGET,), canaries=0, draw=1):  # pylint: disable=too-many-arguments
    start = start or int(time.time()) * 1000 % 10**12 + 1
    keep = Path(directory) / "red"
    nights = [Night(target, program.build(directory, target=target), start) for target in targets]
    print(f"seeds from {start} on; red ones are kept in {keep}", flush=True)
    began = time.monotonic()
    played = Nights(nights, began + hours * 3600, keep)
    threads = [threading.Thread(target=played.play) for _ in range(program.processors())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for night in nights:
        report(night, start)
    missed = 0
    if canaries > 0:
        from .canaries import play_canaries  # pylint: disable=import-outside-toplevel
        print(f"\n{canaries} planted faults, drawn by {draw}, and how many of the next seeds were played until one was found", flush=True)
        missed = play_canaries(canaries, draw, {night.target: night.next for night in nights})
    sum_up(nights, start, time.monotonic() - began, keep)
    return 1 if missed or any(night.is_red() for night in nights) else 0
