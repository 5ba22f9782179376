# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a process has used: CPU time, memory, and argosyd's own counters."""

import re
import time
from pathlib import Path

from bench import Failure, wait_for

COUNTERS = re.compile(r"Counters: (.*)")


def cpu_ms(pid):
    """CPU time of all threads of the process. Threads of argosyd do not end while it runs."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def thread_cpu_ms(tid):
    """CPU time of one thread; the first one of argosyd runs its loop."""
    return int(Path(f"/proc/{tid}/task/{tid}/schedstat").read_text().split()[0]) / 1e6


def rss_mb(pid):
    return _kb(f"/proc/{pid}/status", "VmRSS") / 1024


def private_kb(pid):
    """The memory that would be free again if the process ended."""
    return sum(_kb(f"/proc/{pid}/smaps_rollup", field) for field in ["Private_Clean", "Private_Dirty", "Private_Hugetlb"])


def pss_kb(pid):
    return _kb(f"/proc/{pid}/smaps_rollup", "Pss")


def _kb(path, field):
    for line in Path(path).read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise Failure(f"{path} has no {field}")


def all_counters(node):
    """What argosyd has counted since it started; it says so in the journal when asked."""
    since = time.time()
    node.run(f"kill -USR1 {node.argosyd_pid()}")
    found = []

    def appeared():
        found[:] = COUNTERS.findall(node.journal("argosyd", since=since))
        return found

    wait_for(appeared, f"{node.name}: the line of counters", within=10)
    return {key: int(value) for key, value in (word.split("=") for word in found[-1].split())}


def counters(node):
    """Calls to PID 1 and signals from it."""
    seen = all_counters(node)
    return [seen["calls"], seen["signals"]]
