#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""managers-80: one argosyd for the managers of 80 users, and beside it one `argosyd --user` for each of them

PER_MANAGER units start and stop in each: 8,000 transitions. pss is the memory of argosyd when all units run, cpu its CPU time for all of
it, helpers included, wall the time of the starts and the stops as the clients see it: one argosyctl, or 80 at the same time.
agent-memory: what one more attached manager without units takes of private memory.
"""

import time

from bench import LONG_S, PROGRAMS, TEMPLATE, Bench, Failure, alternate, emit, main, say, wait_for
from measure import private_kb, pss_kb

USERS = range(2001, 2081)
PER_MANAGER = 50
UNITS = f"m@{{1..{PER_MANAGER}}}"
ROUNDS_MAX = 3
SETTLE_S = 3

PAUSE = "/usr/local/bin/pause"  # users may not look into /root
USERS_TEMPLATE = TEMPLATE.replace(f"{PROGRAMS}/pause", PAUSE)
FOR_ALL_USERS = USERS_TEMPLATE + "[X-Argosy]\nGlobal=true\nManager=user@*\n"

# The nodes have neither logind nor PAM's module of systemd.
USER_UNIT = "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
RUNTIME_DIR_UNIT = """[Service]
ExecStart=
ExecStart=/bin/install -d -m 700 -o %i -g %i /run/user/%i
ExecStop=
ExecStop=/bin/rm -rf /run/user/%i
"""

# All users at the same time; ends when the last has, with an error if one had.
FOR_EACH = """
for uid in {uids}; do
        setpriv --reuid $uid --regid $uid --clear-groups env -C / HOME=/home/u$uid USER=u$uid XDG_RUNTIME_DIR=/run/user/$uid {command} &
        pids="$pids $!"
done
for pid in $pids; do wait $pid || failed="$failed $pid"; done
test -z "$failed"
"""


class Managers:
    def __init__(self, bench: Bench):
        self.bench, self.node = bench, bench.nodes[0]
        self.ours, self.theirs = ({"pss": [], "cpu": [], "wall": []} for _ in range(2))
        self.per_manager_kb = []

    def prepare(self):
        self.node.write("/etc/systemd/system/user@.service.d/bench.conf", USER_UNIT)
        self.node.write("/etc/systemd/system/user-runtime-dir@.service.d/bench.conf", RUNTIME_DIR_UNIT)
        self.node.run(f"systemctl daemon-reload; cp {PROGRAMS}/pause {PAUSE}")
        for uid in USERS:
            self.node.run(f"useradd -m -u {uid} u{uid}")
        self.node.run("systemctl start " + " ".join(f"user@{uid}.service" for uid in USERS), timeout=LONG_S)

    def _each_user(self, command):
        self.node.run(FOR_EACH.format(uids=" ".join(map(str, USERS)), command=command), timeout=LONG_S)

    def _groups_of_users(self):
        return [self.node.cgroup(f"user.slice/user-{uid}.slice/user@{uid}.service/app.slice/argosyd.service") for uid in USERS]

    # one for all

    def measure_ours(self):
        self._attach()
        self.bench.submit("m@.service", FOR_ALL_USERS)
        group = [self.node.cgroup("system.slice/argosyd.service")]
        before = used_s(group)
        wall = self.bench.timed(f"start {UNITS}")
        self._note(self.ours, group)
        wall += self.bench.timed(f"stop {UNITS}")
        self.ours["cpu"].append(used_s(group) - before)
        self.ours["wall"].append(wall)
        self.bench.ctl(f"destroy {UNITS} m@.service", timeout=LONG_S)
        self._detach()

    def _attach(self):
        self.node.run("systemctl restart argosyd.service")
        self.bench.wait_whole()
        time.sleep(SETTLE_S)
        before = private_kb(self.node.argosyd_pid_outside())
        self.bench.ctl("manager attach " + " ".join(f"user@{uid}" for uid in USERS), timeout=LONG_S)
        wait_for(lambda: len(self.bench.node_states()) == len(USERS) + 1 and set(self.bench.node_states().values()) == {"online"},
                 "all managers online")
        time.sleep(SETTLE_S)
        after = private_kb(self.node.argosyd_pid_outside())
        self.per_manager_kb.append((after - before) / len(USERS))

    def _detach(self):
        self.bench.ctl("manager detach " + " ".join(f"user@{uid}" for uid in USERS), timeout=LONG_S)
        wait_for(lambda: len(self.bench.node_states()) == 1, "all managers detached")

    # one each

    def measure_theirs(self):
        self._each_user("systemctl --user start argosyd.service")
        self.node.write("/tmp/m@.service", USERS_TEMPLATE)
        self._each_user("argosyctl --user submit /tmp/m@.service")
        groups = self._groups_of_users()
        before = used_s(groups)
        wall = self._timed_each(f"start {_words()}")
        self._note(self.theirs, groups)
        wall += self._timed_each(f"stop {_words()}")
        self.theirs["cpu"].append(used_s(groups) - before)
        self.theirs["wall"].append(wall)
        self._each_user(f"argosyctl --user destroy --quiet {_words()} m@.service")
        self._each_user("systemctl --user stop argosyd.service argosyd.socket")

    def _timed_each(self, request):
        began = time.monotonic()
        self._each_user(f"argosyctl --user {request} --quiet")
        return time.monotonic() - began

    # both

    def _note(self, seen, groups):
        running = sum(1 for group in self._groups_of_units())
        if running != len(USERS) * PER_MANAGER:
            raise Failure(f"{running} units run, expected {len(USERS) * PER_MANAGER}")
        pids = [pid for group in groups for pid in (group / "cgroup.procs").read_text().split()]
        seen["pss"].append(sum(map(pss_kb, pids)) / 1024)
        say(f"{len(pids)} processes of argosyd: {seen['pss'][-1]:.1f} MB")

    def _groups_of_units(self):
        for uid in USERS:
            root = self.node.cgroup(f"user.slice/user-{uid}.slice/user@{uid}.service")
            for group in root.rglob("m@*.service"):
                if "populated 1" in (group / "cgroup.events").read_text():
                    yield group

    def report(self):
        for metric, unit in [("pss", "MB"), ("cpu", "s"), ("wall", "s")]:
            emit("managers-80", metric, unit, self.ours[metric], self.theirs[metric])
        emit("agent-memory", "per-manager", "kB", self.per_manager_kb)


def _words():
    return f"'{UNITS}'"


def used_s(groups):
    """CPU time of all that ran in the control groups."""
    return sum(int((group / "cpu.stat").read_text().split()[1]) for group in groups) / 1e6


def run(bench, rounds):
    managers = Managers(bench)
    managers.prepare()
    alternate(min(rounds, ROUNDS_MAX), managers.measure_ours, managers.measure_theirs)
    managers.report()


main(run, nodes=1)
