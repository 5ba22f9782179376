# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the testbed needs from the machine it runs on: commands, control groups, settings."""

import contextlib
import os
import subprocess
from pathlib import Path

CACHE = Path("/var/cache/argosy-testbed")
STATE = Path("/var/lib/argosy-testbed")
SOURCE = Path(__file__).resolve().parents[3]


class Failure(Exception):
    """The reason why something could not be done, worded for the person who asked for it."""


def run(argv, *, input=None, timeout=None, env=None):
    """Runs a host command and returns its output; Failure carries what it said."""
    return output_of(subprocess.run([str(arg) for arg in argv], input=input, text=True, capture_output=True, timeout=timeout, env=env))


def output_of(done):
    """What a command wrote that has ended; Failure if it did not succeed."""
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no output")[-4000:]
        raise Failure(f"{' '.join(done.args)[:300]}: exit status {done.returncode}\n{said}")
    return done.stdout


def cgroup_root():
    """Where this machine has the cgroup v2 hierarchy: all of it, or beside version 1 ("hybrid")."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] == "cgroup2":
            return Path(before.split()[4])
    raise Failure("no cgroup2 hierarchy is mounted on this machine, systemd nodes need one")


def make_cgroup(group):
    """A new control group whose children have all controllers that there are."""
    group.mkdir()
    for controller in (group / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
    return group


def is_empty_cgroup(group):
    try:
        return "populated 0" in (group / "cgroup.events").read_text()
    except FileNotFoundError:
        return True


def kill_cgroup(group):
    """SIGKILL for everything in it at the same moment."""
    try:
        (group / "cgroup.kill").write_text("1")
    except FileNotFoundError:
        pass


def remove_cgroup(group):
    """Removes an empty control group and those below it, deepest first."""
    for path, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(path)
        except FileNotFoundError:
            pass
