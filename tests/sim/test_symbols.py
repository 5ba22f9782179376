#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What argosyd asks the world for, and which file does it, is what tests/sim/symbols.list says.

Whoever plays hosts from a seed has to answer every such question: what time it is, who this host is, what is on the disk. So a file that begins to
ask for something fails this test until somebody has thought about how the simulator answers it. --write makes the list anew, with the sections that
it has; what is new stands in the last one, "to be sorted"."""

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_name("symbols.list")
NOT_ARGOSYD = ("/ctl/", "argosyctl", "argosy-guard")
UNSORTED = "to be sorted"


def plain(symbol):
    """The same function has other names with other libraries and compilers: of 64 bits, checked, of another standard."""
    symbol = symbol.split("@")[0]
    symbol = re.sub(r"^__isoc\d+_", "", symbol)
    checked = re.match(r"^__(\w+?)(?:_chk|(?:64)?_2)$", symbol)
    return re.sub(r"64(_2|_r)?$", r"\1", checked[1] if checked else symbol)


def undefined(paths, *options):
    """Pairs of a file and a symbol."""
    printed = subprocess.run(["nm", "-A", *options, *paths], check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        row = re.match(r"^(.*?): +[Uw] (\S+)$", line)
        if row:
            yield row[1], plain(row[2])


def asked(build):
    """Symbol -> names of the files that ask for it; of libraries that argosyd is linked with statically, none."""
    binary = {symbol for _, symbol in undefined([build / "src/daemon/argosyd"], "-D")}
    objects = [path for path in sorted(build.glob("src/**/*.o")) if not any(part in str(path) for part in NOT_ARGOSYD)]
    found = defaultdict(set, {symbol: set() for symbol in binary})
    for where, symbol in undefined(objects, "-u"):
        if symbol in binary:
            found[symbol].add(re.sub(r"\.c\.o$", "", Path(where).name))
    return found


def read():
    """Sections: title -> {symbol: files, or None for any}."""
    sections, title = {}, None
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        if line.startswith("["):
            title = line[1:line.index("]")]
            sections[title] = ({}, line)
        elif line and not line.startswith("#"):
            symbol, _, files = line.partition(":")
            sections[title][0][symbol] = None if files.strip() == "*" else set(files.split())
    return sections


def compare(found, sections):
    listed = {symbol: files for rows, _ in sections.values() for symbol, files in rows.items()}
    for symbol, files in sorted(found.items()):
        if symbol not in listed:
            yield f"{symbol} is not on the list; asked for by {', '.join(sorted(files)) or 'a library'}"
        elif listed[symbol] is not None and files - listed[symbol]:
            yield f"{symbol} is asked for by {', '.join(sorted(files - listed[symbol]))} as well"
    for symbol, files in sorted(listed.items()):
        if files and symbol in found and files - found[symbol]:
            yield f"{symbol} is not asked for by {', '.join(sorted(files - found[symbol]))} any more"


def write(found, sections):
    head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
    listed = {symbol for rows, _ in sections.values() for symbol in rows}
    lines = list(head)
    unsorted = {symbol: set() for symbol in found if symbol not in listed}
    for title, (rows, line) in [*sections.items(), *([(UNSORTED, (unsorted, f"[{UNSORTED}]"))] if unsorted else [])]:
        lines += ["", line]
        for symbol in sorted(rows):
            if symbol in found or rows[symbol] is None:  # which of those that any file may ask for there are, the compiler chooses
                lines.append(f"{symbol}: {'*' if rows[symbol] is None else ' '.join(sorted(found[symbol]))}".rstrip())
    LIST.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    found, sections = asked(Path(os.environ["ARGOSY_BUILD"])), read()
    if args.write:
        return write(found, sections)
    faults = list(compare(found, sections))
    for fault in faults:
        print(fault)
    if UNSORTED in sections:
        faults.append(UNSORTED)
        print(f"the list has a section '{UNSORTED}'")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
