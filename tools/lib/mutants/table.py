# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether the table fits the source as it is, which needs no build: each fault's line is there once, and so is the test that must notice."""

import re
from collections import Counter
from functools import cache

from .workshop import Misfit, is_scenario, position


def split_test(fault):
    """"agent/plan: function" -> both"""
    return split_name(fault.test)


def split_name(test):
    room_test, _, function = test.partition(": ")
    return room_test, function


def file_of_test(source, room_test):
    """Of the unit test ROOM/NAME: test-NAME.c, or else test-ROOM-NAME.c, in that room or a folder of it; of a scenario its own."""
    room, _, name = room_test.partition("/")
    if is_scenario(room_test):
        found = list((source / "tests").glob(f"{room_test}.py"))
    else:
        tests = source / "tests/unit" / room
        found = list(tests.rglob(f"test-{name}.c")) or list(tests.rglob(f"test-{room}-{name}.c"))
    if len(found) != 1:
        raise Misfit(f"there are {len(found)} files of a test {room_test}, not one")
    return found[0]


@cache
def functions(path):
    """Of a file of tests, by the names that the table has for them."""
    pattern = r"^def test_(\w+)\(" if path.suffix == ".py" else r"^static void (\w+)\(void \*\*state\)"
    return set(re.findall(pattern, path.read_text(), re.MULTILINE))


def check_test(source, fault):
    check_name(source, fault.test)


def check_name(source, test):
    """Misfit unless there is a test of that name."""
    room_test, function = split_name(test)
    if not function:
        raise Misfit("it names no test function")
    path = file_of_test(source, room_test)
    if function not in functions(path):
        raise Misfit(f"{path.relative_to(source)} has no {function}")


def misfits(source, faults):
    """What does not fit, in words; nothing if all does."""
    for fault in faults:
        for check in (position, check_test):
            try:
                check(source, fault)
            except Misfit as reason:
                yield f"{fault.name}: {reason}"
    for name, count in Counter(fault.name for fault in faults).items():
        if count > 1:
            yield f"two faults are called {name}"
