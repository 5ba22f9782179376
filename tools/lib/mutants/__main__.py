# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of tools/mutants."""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import mutants

from .faults import FAULTS
from .many import ManyFaults
from .table import misfits, split_test, unplanted
from .workshop import OPTIONS, SOURCE, Misfit, is_scenario, is_story


def parse():
    parser = argparse.ArgumentParser(prog="tools/mutants", description=mutants.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only faults with this in their name, file or test")
    parser.add_argument("--integration", action="store_true",
                        help="also the faults that only a scenario on real nodes can show (root; minutes each)")
    parser.add_argument("--fit", action="store_true", help="only see that the table fits the source")
    parser.add_argument("--list", action="store_true", help="show the table")
    parser.add_argument("--dir", default=SOURCE / "build-mutants", help="where the copy is kept (build-mutants)")
    return parser.parse_args()


def chosen(args):
    for fault in FAULTS:
        wanted = not args.patterns or any(pattern in f"{fault.name} {fault.file} {fault.test}" for pattern in args.patterns)
        if wanted and (args.integration or not is_scenario(fault.test)):
            yield fault


def in_turn(work, items, jobs):
    """What the work makes of each, in their order."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)


def each(workshop, work, items, room_test_of):
    """Likewise, side by side as far as the tests may run so."""
    beside = [item for item in items if workshop.may_run_beside(room_test_of(item))]
    alone = [item for item in items if item not in beside]
    yield from in_turn(work, beside, len(os.sched_getaffinity(0)))
    yield from in_turn(work, alone, 1)


def build_and_check(workshop, faults):
    """{test: why it is none that could notice}"""
    tests = list(dict.fromkeys(split_test(fault) for fault in faults))
    workshop.build_targets(*dict.fromkeys(target for room_test, _ in tests for target in workshop.targets(room_test)))
    tests = [test for test in tests if not is_story(test[0])]  # stories are played without a fault as far as they are played with one
    found = each(workshop, lambda test: (test, workshop.look_at_healthy(*test)), tests, lambda test: test[0])
    return {test: reason for test, reason in found if reason}


def verdict_on(fault, workshop, planted=""):
    """(verdict, why)"""
    room_test, function = split_test(fault)
    passed, failed, _ = workshop.run(room_test, function, planted)
    if passed:
        return "survived", f"{fault.test} does not notice"
    if function not in failed:
        return "survived", f"{function or 'nothing'} does not notice, only {' '.join(sorted(failed)) or room_test}"
    return "caught", fault.test


def timed(judge):
    """What it does takes so many seconds, too."""
    def judge_timed(*args):
        began = time.monotonic()
        verdict, why = judge(*args)
        return verdict, why, time.monotonic() - began
    return judge_timed


@timed
def judge_told(workshop, fault):
    """The program is told to have it."""
    try:
        return verdict_on(fault, workshop, fault.name)
    except Misfit as reason:
        return "error", str(reason)


@timed
def judge_alone(workshop, fault):
    """It is put in, and built."""
    room_test, _ = split_test(fault)
    take_out = None
    try:
        take_out = workshop.put_in(fault)
        workshop.make(room_test)
        verdict, why = verdict_on(fault, workshop)
        take_out()
        take_out = None
        if verdict == "caught":
            workshop.check_without(room_test)
        return verdict, why
    except Misfit as reason:
        return "error", str(reason)
    finally:
        if take_out:
            take_out()


def judge_all(workshop, faults, unfit):
    """(fault, verdict, why, seconds) of each. What nobody notices that way may be in a process that was not told: it is built alone, too."""
    for fault in faults:
        if split_test(fault) in unfit:
            yield fault, "error", unfit[split_test(fault)], 0
    faults = [fault for fault in faults if split_test(fault) not in unfit]
    told = [fault for fault in faults if fault.name in workshop.planted and not is_scenario(split_test(fault)[0])]
    alone = [fault for fault in faults if fault not in told]
    for fault, (verdict, *more) in each(workshop, lambda fault: (fault, judge_told(workshop, fault)), told, lambda fault: split_test(fault)[0]):
        if verdict == "caught":
            yield fault, verdict, *more
        else:
            alone.append(fault)
    for fault in alone:
        yield fault, *judge_alone(workshop, fault)


def check_table():
    found = [*misfits(SOURCE, FAULTS), *unplanted(SOURCE, FAULTS)]
    if found:
        raise Misfit("the table (tools/lib/mutants/faults.py) does not fit the source:\n" + "\n".join(found))


def main():
    args = parse()
    faults = list(chosen(args))
    if args.list:
        for fault in faults:
            print(f"{fault.name:<28} {fault.file}\n    - {fault.line}\n    + {fault.instead}\n    {fault.test}")
        return 0
    verdicts, began = Counter(), time.monotonic()
    try:
        check_table()
        if args.fit:
            return 0
        workshop = ManyFaults(args.dir, OPTIONS, FAULTS)
        workshop.open()
        print("building, and running the tests without a fault", flush=True)
        unfit = build_and_check(workshop, faults)
    except Misfit as reason:
        sys.exit(f"mutants: {reason}")
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    for fault, verdict, why, seconds in judge_all(workshop, faults, unfit):
        verdicts[verdict] += 1
        print(f"{verdict:<8} {seconds:5.1f} s  {fault.name:<28} {why}", flush=True)
    print(f"\n{time.monotonic() - began:.0f} s")
    print(f"{verdicts['caught']} caught, {verdicts['survived']} survived, {verdicts['error']} errors")
    return 0 if verdicts["caught"] == len(faults) and faults else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
