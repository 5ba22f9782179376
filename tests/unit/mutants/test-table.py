#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A fault that does not fit the source is told from one that does, by the source alone: its line, and the test that must notice it."""

import tempfile
from pathlib import Path

from mutants.faults import Fault
from mutants.table import CHECKS, UNSEEN, misfits, unplanted

SOURCE = {
    "src/room/thing.c": "int thing(void) {\n        return 1;\n}\n",
    "tests/unit/room/folder/test-thing.c": "static void it_is_one(void **state) {\n}\n\nstatic void helper(int n) {\n}\n",
    "tests/unit/room/test-room-beside.c": "static void beside_it(void **state) {\n}\n",
    "tests/unit/other/test-thing.c": "static void it_has_moved(void **state) {\n}\n",
    "tests/integration/story.py": "def test_it_is_told(c):\n    pass\n\n\ndef told(c):\n    pass\n",
    CHECKS["sim/leader"]: 'const Check checks[] = {\n        {"one-is-one", "A rule.", "a premise", "thing-0", .on_end = one},\n'
            '        {"two-is-two", "A rule.", "a premise", NULL,\n                .on_end = two},\n'
            '        {"no-more", "A rule.", "a premise", "things"},\n'
            f'        {{"{next(iter(UNSEEN))}", "A rule.", "a premise", NULL}},\n' '};\n',
    CHECKS["sim/hosts"]: 'const Check checks[] = {\n        {"whole-is-whole", "A rule.", "a premise", NULL},\n};\n',
}

FITS = ["room/thing: it_is_one", "room/beside: beside_it", "other/thing: it_has_moved", "integration/story: it_is_told", "sim/leader: two-is-two",
        "sim/hosts: whole-is-whole"]

DOES_NOT = {
    "room/thing": "it names no test function",
    "room/thing: it_has_moved": "tests/unit/room/folder/test-thing.c has no it_has_moved",  # to another suite
    "room/thing: it_is": "tests/unit/room/folder/test-thing.c has no it_is",
    "room/thing: helper": "tests/unit/room/folder/test-thing.c has no helper",
    "room/other: it_is_one": "there are 0 files of a test room/other, not one",
    "integration/story: told": "tests/integration/story.py has no told",
    "sim/leader: it_is_one": f"{CHECKS['sim/leader']} has no it_is_one",
    "sim/hosts: two-is-two": f"{CHECKS['sim/hosts']} has no two-is-two",
    "sim/nobody: two-is-two": "there are 0 files of a test sim/nobody, not one",
    "integration/tale: it_is_told": "there are 0 files of a test integration/tale, not one",
}

UNPLANTED = [
    f"{CHECKS['sim/leader']}: two-is-two names no fault with which it was seen to be red",
    f"{CHECKS['sim/leader']}: no-more names things, which is not in the table of faults",
    f"{CHECKS['sim/hosts']}: whole-is-whole names no fault with which it was seen to be red",
]


def found(source, *tests, name="thing-{}", line="return 1;"):
    faults = [Fault(name.format(i), "src/room/thing.c", line, "return 2;", test) for i, test in enumerate(tests)]
    return list(misfits(source, faults))


def check(source):
    for path, text in SOURCE.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    assert found(source, *FITS) == [], found(source, *FITS)
    for test, why in DOES_NOT.items():
        assert found(source, test) == [f"thing-0: {why}"], (test, found(source, test))
    assert found(source, FITS[0], line="return 3;") == ["thing-0: src/room/thing.c has this line 0 times, not once: return 3;"]
    assert list(unplanted(source, [Fault("thing-0", "", "", "", "")])) == UNPLANTED
    assert found(source, *FITS[:2], name="thing") == ["two faults are called thing"]
    (source / "tests/unit/room/test-thing.c").write_text("")
    assert found(source, FITS[0]) == ["thing-0: there are 2 files of a test room/thing, not one"]


with tempfile.TemporaryDirectory() as directory:
    check(Path(directory))
