#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One program has many faults, of several files and of a header that both include, and carries out the one that it is told to have, without doing
anything twice; told of another or of none it is as without."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mutants.faults import Fault
from mutants.schemata import Planting, fitting, misfits_of, plant

SOURCE = {
    "src/count.h": """#pragma once
int count(void);
static inline int twice(int n) {
        return 2 * n;
}
""",
    "src/count.c": """#include "count.h"
static const int first[] = {1};
int count(void) {
        static int n;
        return n += first[0];
}
""",
    "src/main.c": """#include <stdbool.h>
#include <stdio.h>
#include "count.h"
static int steps(void) {
        int n = 0;
        while (count() < 3)
                n++;
        return n;
}
int main(void) {
        int n = steps();
        if (count() > 3 && n > 0)
                printf("%d %d %d\\n", n, twice(n), count());
        return 0;
}
""",
}

FAULTS = [Fault(name, file, line, instead, "") for name, file, line, instead in [
    ("one-step-more", "src/main.c", "while (count() < 3)", "while (count() < 4)"),
    ("always-told", "src/main.c", "if (count() > 3 && n > 0)", "if (count() > 3 || true)"),
    ("does-not-compile", "src/main.c", "return n;", "return no_such_name;"),
    ("never-counts", "src/count.c", "return n += first[0];", "return n += 2;"),
    ("thrice", "src/count.h", "return 2 * n;", "return 3 * n;"),
    ("begins-with-two", "src/count.c", "static const int first[] = {1};", "static const int first[] = {2};"),
]]
IS = {"": "2 4 5", "nobody": "2 4 5", "one-step-more": "3 6 6", "always-told": "2 4 5", "never-counts": "1 2 8", "thrice": "2 6 5"}


def compile_all(copy):
    """What the compiler complains of."""
    files = [copy / path for path in SOURCE if path.endswith(".c")]
    done = subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu17", "-fvisibility=hidden", "-o", copy / "program", *files], text=True, capture_output=True)
    return done.stderr if done.returncode != 0 else ""


def check(source, copy):
    for path, text in SOURCE.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    shutil.copytree(source, copy)
    faults, planting = fitting(source, FAULTS), Planting(lambda _: False)
    assert [fault.name for fault in FAULTS if fault not in faults] == ["begins-with-two"]
    for is_last in (False, False, True):
        plant(source, copy, faults, SOURCE, planting)
        bad = misfits_of(compile_all(copy), faults, copy)
        assert [fault.name for fault in bad] == ["does-not-compile"], bad
        assert planting.give_way(bad[0]) != is_last
    plant(source, copy, [fault for fault in faults if fault not in bad], SOURCE, planting)
    assert not compile_all(copy)
    for name, said in IS.items():
        told = subprocess.run([copy / "program"], env=os.environ | {"ARGOSY_PLANTED": name}, text=True, capture_output=True, check=True)
        assert told.stdout == f"{said}\n", (name, told.stdout)
    plant(source, copy, [], SOURCE, planting)
    for path, text in SOURCE.items():
        assert (copy / path).read_text() == text, path


with tempfile.TemporaryDirectory() as directory:
    check(Path(directory) / "source", Path(directory) / "copy")
