# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files, whose they are, and what they include."""

import re
from pathlib import Path

from . import plan

SOURCE = Path(__file__).resolve().parents[3]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def rooms():
    return [room for row in plan.ORDER for room in row] + list(plan.ASIDE)


def folders():
    """All of them, in their order: "base", ..., "leader/rules", "leader", ..."""
    return [folder for room in rooms() for folder in [*(f"{room}/{name}" for name in plan.FOLDERS.get(room, [])), room]]


def rooms_before(room):
    if room in plan.ASIDE:
        return set(plan.ASIDE[room])
    before = set()
    for row in plan.ORDER:
        if room in row:
            return before
        before |= set(row)
    return before


def may_use(folder, other):
    room, other_room = folder.split("/")[0], other.split("/")[0]
    if room != other_room:
        return other_room in rooms_before(room)
    order = folders()
    return order.index(other) <= order.index(folder)


class House:
    def __init__(self):
        self.folders = folders()
        self.files = {folder: sorted(path for path in (SOURCE / "src" / folder).glob("*.[chS]")) for folder in self.folders}
        self.shared = sorted((SOURCE / "include").glob("*.h"))
        self.owners = {path.name: self._owner(path.name) for path in self.shared}
        self.owners |= plan.OWNERS

    def strangers(self):
        """Directories of src/ that the plan does not have."""
        found = [str(path.relative_to(SOURCE / "src")) for path in sorted((SOURCE / "src").glob("**/")) if path != SOURCE / "src"]
        return [name for name in found if name not in self.folders]

    def _owner(self, header):
        if header in plan.OWNERS:
            return plan.OWNERS[header]
        stem = header.removesuffix(".h")
        for pattern in [f"{stem}.c", f"{stem}-*.c"]:
            for folder in self.folders:
                if any(path.match(pattern) for path in self.files[folder]):
                    return folder
        return None

    def own(self, folder):
        """Its files, with its headers in include/."""
        return self.files[folder] + [path for path in self.shared if self.owners[path.name] == folder]

    def headers(self, folder):
        return [path for path in self.own(folder) if path.suffix == ".h"]

    def unit(self, folder, name):
        """(folder, what a file of this name counts as there)"""
        stem = name.rsplit(".", 1)[0].removesuffix("-private")
        for facet in plan.FACETS.get(folder, []):
            if stem == facet or stem.startswith(facet + "-"):
                return folder, facet + "*"
        return folder, stem

    @staticmethod
    def is_state(folder, header):
        """What a folder keeps in objects of others: for its own files, and for the header that defines these objects."""
        return header == f"{folder.split('/')[-1]}-state.h"

    def _is_face(self, folder, header):
        """Headers of a room in include/ say what the room is to others; its lower folders may know that, too."""
        owner = self.owners.get(header)
        return owner and owner != folder and owner.split("/")[0] == folder.split("/")[0]

    def includes(self):
        """(path, line, folder, header, its folder) for every include of one of our headers."""
        private = {(folder.split("/")[0], path.name): folder for folder in self.folders for path in self.files[folder]}
        for folder in self.folders:
            room, beside = folder.split("/")[0], {path.name for path in self.files[folder]}
            for path in self.own(folder):
                text = path.read_text()
                for match in INCLUDE.finditer(text):
                    header = match[1]
                    owner = folder if header in beside else self.owners.get(header) or private.get((room, header))
                    if owner and not self._is_face(folder, header):
                        yield path, text.count("\n", 0, match.start()) + 1, folder, header, owner
