#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""lists: what lists of units cost over HTTP, of a leader whose hosts and units are virtual (tests/sim/virtual_cluster.py)

    list-whole        /v1/units in one piece: until its first byte and its end, the longest turn of the leader's loop, and what it takes
                      of memory beside the leader's own, at most, as a share of the document
    list-page         one page of 1,000 of them, the first one and one of the last; the baseline is the whole list
    list-pages        all of them page by page, of one client: until the end, turns and memory likewise
    list-unchanged    a page that the client has, beside the same page without its tag

No testbed and no systemd: client, leader and virtual hosts share the processors, so what is told of turns is CPU time.
"""

import argparse
import http.client
import json
import socket
import statistics
import sys
import time
from pathlib import Path

from bench import ROUNDS, emit, say
from state import LONG_S, State

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim"))

from virtual_cluster import VirtualCluster  # noqa: E402

HOSTS, UNITS, PAGE, ASKS = 100, 100000, 1000, 50
PIECE = 64 * 1024


class Client(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LONG_S)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))

    def fetch(self, target, headers={}):
        """(answer, its bytes or what they begin with, seconds to the first and to the last)"""
        began = time.monotonic()
        self.request("GET", target, headers=headers)
        answer = self.getresponse()
        text = answer.read(1)
        first, size = time.monotonic() - began, len(text)
        while piece := answer.read(PIECE):
            size += len(piece)
            text = text if size > 2 * PAGE * 400 else text + piece
        return answer, text, size, first, time.monotonic() - began


class Memory:
    """The most that a process has had since, beyond what it has now."""

    def __init__(self, pid):
        self._proc = Path(f"/proc/{pid}")
        (self._proc / "clear_refs").write_text("5")
        self._before = self._kb("VmRSS")

    def _kb(self, key):
        return next(int(line.split()[1]) for line in (self._proc / "status").read_text().splitlines() if line.startswith(key))

    def bytes(self):
        return (self._kb("VmHWM") - self._before) * 1024


def link(answer):
    return answer.headers["Link"].removeprefix("<").split(">")[0] if "Link" in answer.headers else None


class Lists(State):
    def counted(self, what):
        """What `what` returns, the longest turn meanwhile, and the memory."""
        self.c.counters()
        memory = Memory(self.c.argosyd.pid)
        said = what()
        return said, self.c.counters()["turn_cpu_max_us"] / 1000, memory.bytes()

    def whole(self, client):
        firsts, ends, turns, shares = [], [], [], []
        for _ in range(3):
            (answer, _, size, first, end), turn, memory = self.counted(lambda: client.fetch("/v1/units"))
            assert answer.status == 200, answer.status
            firsts.append(first * 1000)
            ends.append(end * 1000)
            turns.append(turn)
            shares.append(memory / size)
        for series, unit, values in [("first-byte", "ms", firsts), ("wall", "ms", ends), ("turn-cpu", "ms", turns), ("memory", "ratio", shares)]:
            emit("list-whole", series, unit, values)
        say(f"the list has {size / 1e6:.1f} MB")
        return ends

    def pages(self, client):
        def all_of_them():
            target, n, last = f"/v1/units?limit={PAGE}", 0, None
            while target:
                answer, text, *_ = client.fetch(target)
                n, last, target = n + len(json.loads(text)["units"]), target, link(answer)
            assert n == self.units, n
            return last

        began = time.monotonic()
        last, turn, memory = self.counted(all_of_them)
        emit("list-pages", "wall", "ms", [(time.monotonic() - began) * 1000])
        emit("list-pages", "turn-cpu", "ms", [turn])
        emit("list-pages", "memory", "kB", [memory / 1024])
        return last

    def page(self, client, series, target, whole):
        times, unchanged = [], []
        for _ in range(ASKS):
            answer, *_, end = client.fetch(target)
            times.append(end * 1000)
            again, *_, end = client.fetch(target, {"If-None-Match": answer.headers["ETag"]})
            unchanged += [end * 1e6] if again.status == 304 else []
        emit("list-page", series, "ms", [statistics.median(times)], whole)
        say(f"{len(unchanged)} of {ASKS} are unchanged")
        emit("list-unchanged", series, "us", [statistics.median(unchanged)], [statistics.median(times) * 1000])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS, help=f"how many virtual hosts ({HOSTS})")
    parser.add_argument("--units", type=int, default=UNITS, help=f"how many units ({UNITS})")
    args = parser.parse_args()
    with VirtualCluster(args.hosts, patience_s=LONG_S) as cluster:
        lists = Lists(cluster, args.units)
        lists.start()
        client = Client(lists.socket)
        last = lists.pages(client)
        whole = lists.whole(client)
        lists.page(client, "first", f"/v1/units?limit={PAGE}", whole)
        lists.page(client, "last", last, whole)


if __name__ == "__main__":
    main()
