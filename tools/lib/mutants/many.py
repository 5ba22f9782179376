# SPDX-License-Identifier: LGPL-2.1-or-later
"""A copy of the source with many faults, so one build serves all of them: each program is told at its start which one it is to have (schemata.py)."""

import json

from . import schemata
from .workshop import SOURCE, Misfit, Workshop


def write_json(path, what):
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(what, indent=0))
    new.replace(path)


class ManyFaults(Workshop):
    """`pure` says of which expressions both values may be worked out (statements.py); `trying` is the file that gets what tries faults in stories."""

    def __init__(self, directory, options, faults, pure=lambda _: False, trying=None):
        super().__init__(directory, options)
        self.original = SOURCE
        self._faults, self._trying = schemata.fitting(SOURCE, faults), trying
        self._files = {fault.file for fault in self._faults} | ({trying} if trying else set())
        self._ways = self.source.parent / "ways.json"  # what has not compiled before does not now
        self._planting = schemata.Planting(pure, *(json.loads(self._ways.read_text()) if self._ways.exists() else ()))

    @property
    def planted(self):
        """Their names."""
        return {fault.name for fault in self._faults}

    def _is_ours(self, name):
        return name in self._files

    def build_targets(self, *targets):
        """Without the faults that do not compile there."""
        while True:
            schemata.plant(SOURCE, self.source, self._faults, self._files, self._planting, self._trying)
            words = self._try(["ninja", "-C", self.build, "-k", "0", *targets])
            if not words:
                return
            bad = schemata.misfits_of(words, self._faults, self.build)
            if not bad:
                raise Misfit(f"the source with all faults does not compile:\n{words[-3000:]}")
            gone = {fault.name for fault in bad if not self._planting.give_way(fault)}
            self._faults = [fault for fault in self._faults if fault.name not in gone]
            write_json(self._ways, [sorted(self._planting.unequal), sorted(self._planting.copied)])
