# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether the table fits the source as it is, which needs no build: each fault's line is there once, and so is the test that must notice."""

import re
from collections import Counter
from functools import cache

from .workshop import Misfit, is_scenario, is_story, position

CHECKS = {"sim/leader": "tests/sim/leader/checks.c", "sim/hosts": "tests/sim/hosts/hosts-checks.c", "sim/hosts-bus": "tests/sim/hosts/hosts-checks.c"}  # tables, by who plays the stories
# Checks that no fault made red yet, and what was tried: no other one may go without.
UNSEEN = {
    "log-is-one": "logs that are emptied at a start, and terms that are not written: other checks are red first",
    "entry-within-limits": "nobody has looked for one",
    "nothing-is-left": "nobody has looked for one",
    "rights-go-with-hosts": "right-at-a-host-that-goes: 60 stories, in which no host went that had a right; rights-outlive-their-host: fewer",
    "wishes-stay-reached": "none was thought of that lets what is wanted come true first",
}
TEXT = r'(?:"[^"]*"\s*)+'
CHECK = re.compile(rf'^ +\{{\s*"([a-z-]+)",\s*{TEXT},\s*{TEXT},\s*(?:NULL|"([a-z0-9-]+)")\s*[,}}]', re.MULTILINE)


def split_test(fault):
    """"agent/plan: function" -> both"""
    return split_name(fault.test)


def split_name(test):
    room_test, _, function = test.partition(": ")
    return room_test, function


def file_of_test(source, room_test):
    """Of the unit test ROOM/NAME: test-NAME.c, or else test-ROOM-NAME.c, in that room or a folder of it; of a scenario its own; of stories the
    table of checks."""
    room, _, name = room_test.partition("/")
    if is_story(room_test):
        found = [source / CHECKS[room_test]] if room_test in CHECKS else []
    elif is_scenario(room_test):
        found = list((source / "tests").glob(f"{room_test}.py"))
    else:
        tests = source / "tests/unit" / room
        found = list(tests.rglob(f"test-{name}.c")) or list(tests.rglob(f"test-{room}-{name}.c"))
    if len(found) != 1:
        raise Misfit(f"there are {len(found)} files of a test {room_test}, not one")
    return found[0]


@cache
def functions(path):
    """Of a file of tests, by the names that the table has for them; of stories the checks."""
    if any(path.match(checks) for checks in CHECKS.values()):
        return set(planted(path))
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


def planted(path):
    """{check of stories: the fault of the table that it was seen to notice, or an empty word}"""
    return dict(CHECK.findall(path.read_text()))


def check_line(source, fault):
    """Misfit unless the line is there once; or if one that stands alone under an if is taken out without a semicolon: the one behind
    it would be the if's."""
    _, lines, first, _ = position(source, fault)
    above = re.sub(r"\s*//.*", "", lines[first - 1]).strip()
    if not fault.instead and re.match(r"(if|for|while) \(.*\)$|(\} )?else( if \(.*\))?$", above):
        raise Misfit(f"{fault.file}: without this line the next one hangs on \"{above}\"; it needs a semicolon: {fault.line}")


def misfits(source, faults):
    """What does not fit, in words; nothing if all does."""
    for fault in faults:
        for check in (check_line, check_test):
            try:
                check(source, fault)
            except Misfit as reason:
                yield f"{fault.name}: {reason}"
    for name, count in Counter(fault.name for fault in faults).items():
        if count > 1:
            yield f"two faults are called {name}"


def unplanted(source, faults):
    """Checks of stories that name no fault, or one that there is not, in words."""
    names = {fault.name for fault in faults}
    for checks in dict.fromkeys(CHECKS.values()):
        for check, name in planted(source / checks).items():
            if name and name not in names:
                yield f"{checks}: {check} names {name}, which is not in the table of faults"
            if not name and check not in UNSEEN:
                yield f"{checks}: {check} names no fault with which it was seen to be red"
