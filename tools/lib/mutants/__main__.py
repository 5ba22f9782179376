# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of tools/mutants."""

import argparse
import sys
import time
from collections import Counter

import mutants

from .faults import FAULTS
from .table import misfits, split_test, unplanted
from .workshop import SOURCE, Misfit, Workshop, is_scenario, is_story


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


def check_healthy(workshop, faults):
    """The tests pass as long as nothing is wrong, each alone: otherwise their failing later would mean nothing."""
    for room_test, function in dict.fromkeys(split_test(fault) for fault in faults):
        workshop.make(room_test)
        passed, failed, output = workshop.run(room_test, function)
        if not passed:
            raise Misfit(f"{room_test} {function} fails without any fault: {' '.join(sorted(failed))}\n{output[-3000:]}")
        if not is_scenario(room_test) and not is_story(room_test) and f"[ RUN      ] {function}\n" not in output:
            raise Misfit(f"{room_test} has no {function}")


def judge(workshop, fault):
    """(verdict, why)"""
    room_test, function = split_test(fault)
    take_out = None
    try:
        take_out = workshop.put_in(fault)
        workshop.make(room_test)
        passed, failed, _ = workshop.run(room_test, function)
    except Misfit as reason:
        return "error", str(reason)
    finally:
        if take_out:
            take_out()
    if passed:
        return "survived", f"{fault.test} does not notice"
    if function not in failed:
        return "survived", f"{function or 'nothing'} does not notice, only {' '.join(sorted(failed)) or room_test}"
    return "caught", fault.test


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
    workshop = Workshop(args.dir)
    try:
        check_table()
        if args.fit:
            return 0
        workshop.open()
        print("building, and running the tests without a fault", flush=True)
        check_healthy(workshop, faults)
    except Misfit as reason:
        sys.exit(f"mutants: {reason}")
    for fault in faults:
        since = time.monotonic()
        verdict, why = judge(workshop, fault)
        verdicts[verdict] += 1
        print(f"{verdict:<8} {time.monotonic() - since:5.1f} s  {fault.name:<28} {why}", flush=True)
    print(f"\n{time.monotonic() - began:.0f} s")
    print(f"{verdicts['caught']} caught, {verdicts['survived']} survived, {verdicts['error']} errors")
    return 0 if verdicts["caught"] == len(faults) and faults else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
