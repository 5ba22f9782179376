# SPDX-License-Identifier: LGPL-2.1-or-later
"""What argosy shows of units beside what systemd itself says, once nothing moves any more.

    views = Views(c, ["w@1.service", "plain.service"])
    views.agree()

At rest means: systemd has no job, no unit is on its way, a marker unit that was started and stopped by systemctl was seen active
and inactive through argosy (so whatever systemd had to say before has been said, and came through), and systemd lists the same
after that as before. A unit that changed many times in a short while may be shown a second late (agent/rules/report-pace.h).
"""

import time

from lib import eventually

REST_S = 60
PACE_S = 5

MARKER = "seen-marker.target"


class Views:
    """Of these units, on all nodes of the cluster. soon: timers that do not stay waiting."""

    def __init__(self, c, names, soon=()):
        self._c, self._names, self._soon = c, set(names), soon
        c.submit(MARKER, "[Unit]\nDescription=Says that it was seen\n[X-Argosy]\nGlobal=yes\n")
        c.ctl(f"load {MARKER}")

    def listing(self):
        """{(unit, node): "load active sub"} as systemd has it, and the jobs that it has."""
        units, jobs = {}, []
        for node in self._c.nodes:
            out = node.run("systemctl list-units --all --plain --no-legend --full; echo; systemctl list-jobs --no-legend")
            listed, _, waiting = out.partition("\n\n")
            for line in listed.splitlines():
                name, load, active, sub = line.split()[:4]
                if name in self._names:
                    units[name, node.name] = f"{load} {active} {sub}"
            jobs += [line for line in waiting.splitlines() if line.strip()]
        return units, jobs

    def _on_the_way(self, units):
        """Units that will change by themselves."""
        return {key: state for key, state in units.items() if state.split()[1] in ("activating", "deactivating", "reloading")
                or (key[0] in self._soon and state.endswith("waiting"))}

    def round_trip(self):
        """A change that systemctl makes on every node is seen through argosy, there and back."""
        for verb, state in [("start", "active"), ("stop", "inactive")]:
            for node in self._c.nodes:
                node.run(f"systemctl {verb} {MARKER}")
            eventually(lambda: [row["active"] for row in self._c.rows(MARKER)] == [state] * len(self._c.nodes), within=REST_S,
                       what=f"{MARKER} is seen {state}")

    def rest(self):
        """The rows of list-units and systemd's listing, when nothing moves any more."""
        deadline = time.monotonic() + REST_S
        while True:
            before, jobs = self.listing()
            moving = self._on_the_way(before)
            if not jobs and not moving:
                self.round_trip()
                rows = [row for row in self._c.json("list-units") if row["unit"] in self._names]
                after, jobs = self.listing()
                if before == after and not jobs:
                    return rows, after
            assert time.monotonic() < deadline, f"no rest after {REST_S} s: {moving} {jobs}"

    def compare(self):
        """In what argosy's list differs from systemd's, at rest; and argosy's."""
        late = None
        while True:
            rows, listed = self.rest()
            found, now = differences(rows, listed), time.monotonic()
            late = late or now + PACE_S
            if not found or now > late:
                return found, rows

    def agree(self):
        """At rest, argosy shows what systemd lists."""
        found, _ = self.compare()
        assert not found, "\n".join(found)


def differences(rows, listed):
    """What argosy shows against what systemd lists.

    What systemd has not in memory is inactive. What argosy does not have on a node cannot run there, since its file is not there;
    but where it has one instance of a template, somebody else may start another.
    """
    found, shown = [], set()
    for row in rows:
        if not row["node"]:
            continue
        key = row["unit"], row["node"]
        shown.add(key)
        said = f"{row['load']} {row['active']} {row['sub']}"
        if key in listed and said != listed[key]:
            found.append(f"{key[0]} on {key[1]}: argosy says \"{said}\", systemd \"{listed[key]}\"")
        elif key not in listed and (row["active"], row["sub"]) != ("inactive", "dead"):
            found.append(f"{key[0]} on {key[1]}: argosy says \"{said}\", systemd has it not in memory")
    for key, state in listed.items():
        if key not in shown and "@" not in key[0] and state.split()[1] not in ("inactive", "failed"):
            found.append(f"{key[0]} on {key[1]}: argosy does not have it there, systemd \"{state}\"")
    return found
