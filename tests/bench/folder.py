#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""apply-1k: what it takes to compare a folder with the cluster

A folder of 1,000 unit files, and a cluster of three nodes that has them. Ten files are changed; `plan` is `apply --plan` of
that from the command to its end: 1,000 files are read and checked, and their hashes are compared by the leader, and ten
differences are printed. `apply` is the same folder applied, `same` applied once more, when there is nothing to do. The units
are not to run, so that none of these waits for systemd. The command is asked for on a node that does not lead.
"""

from bench import Bench, emit, main

UNITS, CHANGED = 1000, 10
FOLDER = "/root/folder"
DIFFERS = 5  # the exit status of a plan that is not empty


def unit_file(number, revision):
    return f"[Unit]\nDescription=Unit {number}\n\n[Service]\nExecStart=/root/bench/pause\nEnvironment=REVISION={revision}\n"


def write(folder, numbers, revision):
    for number in numbers:
        (folder / f"unit{number}.service").write_text(unit_file(number, revision))


def run(bench: Bench, rounds):
    asked = next(node for node in bench.nodes if node.name != bench.leader().name)
    folder = asked.path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, range(UNITS), 0)
    (folder / "argosy.set").write_text(f"inactive unit{{0..{UNITS - 1}}}\n")
    bench.ctl(f"apply {FOLDER}", on=asked)
    plan_ms, apply_ms, same_ms = [], [], []
    for number in range(rounds):
        write(folder, range(number * CHANGED, (number + 1) * CHANGED), 1)
        plan_ms.append(1000 * bench.timed(f"apply --plan {FOLDER}", on=asked, status=DIFFERS))
        apply_ms.append(1000 * bench.timed(f"apply {FOLDER}", on=asked))
        same_ms.append(1000 * bench.timed(f"apply {FOLDER}", on=asked))
    [job, *_] = bench.json("list-jobs --limit=1", on=asked)
    assert job["changed"] == CHANGED, job
    emit("apply-1k", "plan", "ms", plan_ms)
    emit("apply-1k", "apply", "ms", apply_ms)
    emit("apply-1k", "same", "ms", same_ms)


main(run)
