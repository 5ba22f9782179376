#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage-1k: what it takes to read the resource use of 1,000 units

One node with 1,000 active units, watched as by `argosyctl top --local`. `wall` is one reading as argosyd itself measures it, from
the choice of the units to the last row; `loop-lag` is the longest turn of argosyd's loop while a round of readings went on (beside
it, the same time with nobody watching), with whatever else the machine let run in the middle of it; `turn-cpu` the most CPU
time of one turn, which is what argosyd itself did; `loop-cpu` the CPU time of that thread per reading.
The first reading, which opens all files, is left out and told by itself.
"""

import time

from bench import PROGRAMS, emit, main, say
from measure import all_counters, thread_cpu_ms

COUNT = 1000
READINGS = 20  # per round
INTERVAL_MS = 250


def run(bench, rounds):
    node = bench.nodes[0]
    bench.copy_program("watch-usage")
    bench.submit("load@.service")
    bench.ctl(f"start load@{{1..{COUNT}}}", timeout=300)
    bench.assert_active("load@*", COUNT)
    pid = node.argosyd_pid_outside()
    walls, lags, idle, turns, loop, first = [], [], [], [], [], []
    for number in range(rounds):
        all_counters(node)  # from here on
        time.sleep(READINGS * INTERVAL_MS / 1000)
        idle.append(all_counters(node)["turn_max_us"] / 1000)
        before = thread_cpu_ms(pid)
        output = node.run(f"{PROGRAMS}/watch-usage /run/argosy/argosy.sock {READINGS} {INTERVAL_MS}")
        loop.append((thread_cpu_ms(pid) - before) / READINGS)
        seen = all_counters(node)
        lags.append(seen["turn_max_us"] / 1000)
        turns.append(seen["turn_cpu_max_us"] / 1000)
        readings = [line.split() for line in output.splitlines()]
        assert all(int(rows) == COUNT for _, rows in readings), "some units were left out"
        if number == 0:
            first.append(float(readings[0][0]))
        walls += [float(ms) for ms, _ in readings[1:]]
    say(f"the first reading, which opens all files: {first[0]:.3f} ms")
    emit("usage-1k", "wall", "ms", walls)
    emit("usage-1k", "loop-lag", "ms", lags, idle)
    emit("usage-1k", "turn-cpu", "ms", turns)
    emit("usage-1k", "loop-cpu", "ms", loop)
    bench.ctl(f"destroy load@{{1..{COUNT}}}", timeout=300)


main(run, nodes=1)
