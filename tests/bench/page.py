#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""page: what the page of the cluster costs a browser; on a leader with virtual hosts (tests/sim/virtual_cluster.py)

    page-10k    10,000 units that run: from the address to the first whole picture of them; then how long the page's own thread is busy
                in each second while 1,000 units are submitted in it, with the overview open; and the page's heap at the end. With
                --minutes=N, and nothing else: how much the heap grows from the end of the first of so many minutes of that to the last

The browser has no window, and shares the processors with the leader and with what submits.
"""

import argparse
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from bench import ROUNDS, emit, say

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "sim"), str(TESTS / "integration")]

from browser import browser_on  # noqa: E402
from virtual_cluster import BUILD, Failure, VirtualCluster  # noqa: E402

HOSTS, UNITS = 20, 10000
RATE, SECONDS = 1000, 10
LONG_S = 600


def metrics(page):
    return {row["name"]: row["value"] for row in page.devtools("Performance.getMetrics")["metrics"]}


def first_picture_ms(page, address):
    page.go(address)
    return shown_ms(page, 10)


def shown_ms(page, seconds):
    """When the page first says that there are UNITS units, by its own clock."""
    end = time.monotonic() + seconds
    while True:
        now, text = page.run("return [performance.now(), document.getElementById('counts')?.innerText ?? '']")
        if f"{UNITS:,} units" in text:
            return now
        if time.monotonic() > end:
            raise Failure(f"the page shows {text!r}")
        time.sleep(0.01)


def submit(cluster, seconds):
    done = subprocess.run([BUILD / "tests/bench/watch-client", cluster.socket, "load@", "watch", "2", "1", str(RATE), str(seconds)],
                          text=True, capture_output=True, timeout=LONG_S)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())


def heap_mb(page):
    page.devtools("HeapProfiler.collectGarbage")
    return metrics(page)["JSHeapUsedSize"] / 1e6


@contextmanager
def opened(cluster):
    """The page, and how long its first picture took."""
    dashboard = subprocess.Popen([BUILD / "src/ctl/argosyctl", f"--socket={cluster.socket}", "--quiet", "dashboard"], stdout=subprocess.PIPE, text=True)
    try:
        with browser_on(None) as page:
            page.looks_like(1280, 800)
            first = first_picture_ms(page, dashboard.stdout.readline().strip())
            page.devtools("Performance.enable")
            yield page, first
    finally:
        dashboard.terminate()
        dashboard.wait()


def one(cluster):
    with opened(cluster) as (page, first):
        before, began = metrics(page), time.monotonic()
        submit(cluster, SECONDS)
        busy = (metrics(page)["TaskDuration"] - before["TaskDuration"]) / (time.monotonic() - began) * 1000
        heap = heap_mb(page)
    say(f"page-10k: first picture after {first:.0f} ms, {busy:.0f} ms/s, {heap:.1f} MB")
    return first, busy, heap


# The units are destroyed after each minute, and the heap is read when the page has heard of it: what is in it then is what the page keeps.
def grown(cluster, minutes):
    heaps = []
    with opened(cluster) as (page, _):
        for _ in range(minutes):
            cluster.submit("load@.service")
            submit(cluster, 60)
            cluster.ctl("destroy --no-block load@*", timeout=LONG_S)
            shown_ms(page, 60)
            heaps.append(heap_mb(page))
            say(f"page-10k: {heaps[-1]:.1f} MB")
    return heaps[-1] - heaps[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=0)
    minutes = parser.parse_args().minutes
    first, busy, heap = [], [], []
    with VirtualCluster(HOSTS) as cluster:
        cluster.submit("page@.service")
        cluster.ctl(f"start page@{{1..{UNITS}}}", timeout=LONG_S)
        if minutes > 0:
            emit("page-10k", "heap-growth", "MB", [grown(cluster, minutes)])
            return
        for _ in range(ROUNDS):
            cluster.submit("load@.service")
            for to, value in zip((first, busy, heap), one(cluster)):
                to.append(value)
            cluster.ctl("destroy --no-block load@*", timeout=LONG_S)
    emit("page-10k", "first-picture", "ms", first)
    emit("page-10k", "main-thread", "ms/s", busy)
    emit("page-10k", "heap", "MB", heap)


if __name__ == "__main__":
    try:
        main()
    except Failure as reason:
        sys.exit(f"page: {reason}")
