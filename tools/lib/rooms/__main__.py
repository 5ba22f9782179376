# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of tools/rooms, the checks and the report."""

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

import rooms

from . import accessors, fields, pairs, plan
from .graph import cycles
from .objects import Stale, calls
from .source import SOURCE, House, may_use


def parse():
    parser = argparse.ArgumentParser(prog="tools/rooms", description=rooms.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", metavar="BUILD", help="a directory in which all was built, for the calls "
                        "($ARGOSY_BUILD, or build/ if it is there)")
    parser.add_argument("--cycles", action="store_true", help="name the files of each cycle")
    parser.add_argument("--fields", action="store_true",
                        help="say which fields of shared objects are written by more than one folder, and nothing "
                        "else; more than are known is an error (needs python3-clang)")
    args = parser.parse_args()
    name = args.build or os.environ.get("ARGOSY_BUILD")
    args.build = Path(name) if name else SOURCE / "build"
    if not (args.build / "meson-info").is_dir():
        if name:
            parser.error(f"{name} is no build directory")
        args.build = None
    if args.fields and not args.build:
        parser.error("--fields needs a build directory")
    return args


def embeds(path, folder, owner, header):
    """Whether the header that defines the objects of a room includes what a folder keeps in them."""
    return House.is_state(owner, header) and plan.OBJECTS.get(folder.split("/")[0]) == path.name


def edges_of(house, build):
    """{(unit, unit)} of who includes or calls whom; a unit is a (folder, file), see House.unit()"""
    edges = set()
    for path, _, folder, header, owner in house.includes():
        if not embeds(path, folder, owner, header):
            edges.add((house.unit(folder, path.name), house.unit(owner, header)))
    for folder, file, owner, other in calls(build) if build else []:
        edges.add((house.unit(folder, file), house.unit(owner, other)))
    return {(one, other) for one, other in edges if one != other}


def complain_of_files(house):
    for name in house.strangers():
        yield f"src/{name}: not in the plan of the house (tools/lib/rooms/plan.py)"
    for path in house.shared:
        if house.owners[path.name] is None:
            yield f"include/{path.name}: no folder has a .c file of that name, and OWNERS in plan.py does not name one"
        for other in sorted((SOURCE / "src").rglob(path.name)):
            yield f"include/{path.name}: {other.relative_to(SOURCE)} has the same name: which of them is included depends on the order of folders"


def complain_of_order(house, edges):
    for path, line, folder, header, owner in house.includes():
        if embeds(path, folder, owner, header):
            continue
        if not may_use(folder, owner) or (House.is_state(owner, header) and folder != owner):
            yield f"{path.relative_to(SOURCE)}:{line}: {folder} may not include {header} of {owner}"
    for (folder, one), (owner, other) in sorted(edges):
        if not may_use(folder, owner):
            yield f"src/{folder}: {one} may not use {other} of {owner}"


def complain_of_cycles(found):
    for folder, cycle in [(folder, cycle) for folder in found for cycle in found[folder]]:
        if len(cycle) > plan.CYCLE_MAX:
            yield f"src/{folder}: {len(cycle)} files use each other: {' '.join(sorted(cycle))}"


def lines(path):
    return path.read_bytes().count(b"\n")


def names(folder, used):
    """Folders of its own room by their own name, other rooms as a whole."""
    room = folder.split("/")[0]
    return dict.fromkeys(other.split("/")[-1] if other.split("/")[0] == room else other.split("/")[0] for other in used)


def report(house, edges, found):
    print(f"{'':<18}files  lines  cycle  longest header                    uses")
    for folder in house.folders:
        files = house.own(folder)
        longest = max(house.headers(folder), key=lines, default=None)
        used = {owner for (one, _), (owner, _) in edges if one == folder and owner != folder}
        print(f"{folder:<18}{len(files):>5}{sum(map(lines, files)):>7}{max(map(len, found.get(folder, [])), default=1):>8}  "
              f"{f'{lines(longest)} {longest.name}' if longest else '-':<34}"
              f"{' '.join(names(folder, [other for other in house.folders if other in used])) or '-'}")
    print("pairs of a function and a folder that uses it:", ", ".join(f"{room} {len(pairs.of(room))}" for room in plan.FOLDERS))


def main():
    args = parse()
    if args.fields:
        complaints = list(fields.report(args.build))
        for complaint in complaints:
            print(complaint, file=sys.stderr)
        return 1 if complaints else 0
    house = House()
    try:
        edges = edges_of(house, args.build)
    except Stale as why:
        sys.exit(f"tools/rooms: {args.build} is not built from this source: {why}. Run `ninja -C {args.build}` first.")
    inside = defaultdict(lambda: defaultdict(set))
    for (folder, one), (owner, other) in edges:
        if folder == owner:
            inside[folder][one].add(other)
    found = {folder: cycles(graph) for folder, graph in inside.items()}

    report(house, edges, found)
    for folder, cycle in [(folder, cycle) for folder in found for cycle in found[folder] if args.cycles]:
        print(f"{folder}: {len(cycle)}: {' '.join(sorted(cycle))}")
    complaints = [*complain_of_files(house), *complain_of_order(house, edges), *complain_of_cycles(found), *accessors.complaints()]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
