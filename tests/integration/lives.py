#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random lives of what units bring: contents, drop-ins, files and secrets are changed and undone while argosyd is killed, the leader loses power, and
a host boots without one. After each step a unit's program has seen just what the model says. tests/unit has many more of them: agent/agent-lives,
leader/content-sim."""

import os
import random

from lib import Cluster, eventually, long, main

UNITS = ["web.service", "mail.service"]
STEPS = 10
TEXT = ("[Service]\nExecStart=/bin/sh -c 'cat $ARGOSY_FILES/conf/* $CREDENTIALS_DIRECTORY/key >/root/seen-%n; echo $MORE >>/root/seen-%n; exec sleep infinity'\n"
        "[X-Argosy]\nFile=conf\nSecret=key\n")


class Life:
    def __init__(self, c, seed):
        self.c, self.random, self.seed, self.steps = c, random.Random(seed), seed, []
        self.newest, self.number, self.undoable = 0, 0, None
        self.units = {}  # name: (variant, version of the secret)
        for node in c.nodes:
            node.run("rm -rf /root/seen-* /root/life")
        self.set_secret()
        for unit in UNITS:
            self.change(unit)

    # ---- what is asked for

    def author(self):
        return self.random.choice(self.c.running_nodes)

    def set_secret(self, _=None):
        self.newest += 1
        self.author().run("argosyctl secret set key", input=f"secret {self.newest}\n")
        self.undoable = None

    def change(self, unit):
        """New files and a new drop-in; now and then a file of before has gone."""
        self.number += 1
        node, folder = self.author(), "/root/life"
        node.run(f"rm -rf {folder}")
        node.write(f"{folder}/{unit}", TEXT)
        for name in "ab"[:1 + self.number % 2]:
            node.write(f"{folder}/conf/{name}", f"{unit} {self.number} {name}\n")
        node.write(f"{folder}/{unit}.d/10-more.conf", f"[Service]\nEnvironment=MORE={self.number}\n")
        before = self.units.get(unit)
        self.c.ctl(f"start --replace {folder}/{unit}", on=node)
        self.units[unit] = (self.number, self.newest)
        self.undoable = before and (unit, before[0])

    def restart(self, unit):
        self.c.ctl(f"restart {unit}")
        self.units[unit] = (self.units[unit][0], self.newest)
        self.undoable = None

    def undo(self, _):
        if not self.undoable:
            return
        unit, variant = self.undoable
        job = self.c.json("list-jobs --limit=1")[0]["job"]
        self.c.ctl(f"undo {job}", on=self.author())
        self.units[unit] = (variant, self.units[unit][1])
        self.undoable = None

    # ---- what happens

    def host_of(self, unit):
        return eventually(lambda: self.c.where(unit), what=f"a node of {unit}")

    def kill_argosyd(self, unit):
        self.host_of(unit).run("systemctl kill --signal=KILL argosyd")
        self.c.wait_online()

    def lose_the_leader(self, _):
        old = self.c.leader()
        old.kill()
        eventually(lambda: self.c.leader().name != old.name)
        eventually(lambda: all(self.c.where(unit) for unit in self.units))
        old.boot()
        self.c.wait_online()
        self.undoable = None

    def boot_without_a_leader(self, unit):
        node = self.host_of(unit)
        others = [other for other in self.c.nodes if other.name != node.name]
        for other in others:
            other.run("systemctl stop argosyd.socket argosyd.service")
        node.kill()
        node.boot()
        eventually(lambda: node.run("systemctl is-active argosyd").strip() == "active")
        assert node.run(f"systemctl is-active {unit} || true").strip() == "inactive"
        assert not node.run("find /run/argosy/secrets -type f")
        for other in others:
            other.run("systemctl start argosyd.socket argosyd.service")
        self.c.wait_online()
        self.undoable = None

    # ---- what is to be so

    def expected(self, unit):
        variant, version = self.units[unit]
        files = "".join(f"{unit} {variant} {name}\n" for name in "ab"[:1 + variant % 2])
        return f"{files}secret {version}\n{variant}\n"

    def check(self):
        for unit in self.units:
            eventually(lambda: self.host_of(unit).run(f"cat /root/seen-{unit}") == self.expected(unit),
                       what=f"seed {self.seed}: {unit} has seen what it is to: {self.expected(unit)!r} after {self.steps}")
        for node in self.c.nodes:
            here = [unit for unit in self.units if self.host_of(unit).name == node.name]
            eventually(lambda: sorted(node.run("ls /run/argosy/units 2>/dev/null || true").split()) == sorted(here), what=f"{node.name}: folders of {here}")
            eventually(lambda: len(node.run("find /run/argosy/secrets/units -type f").split()) == len(here), what=f"{node.name}: secrets of {here}")

    def live(self, steps):
        kinds = [self.change, self.change, self.change, self.restart, self.set_secret, self.undo, self.undo, self.kill_argosyd,
                 self.lose_the_leader, self.boot_without_a_leader]
        for _ in range(steps):
            kind, unit = self.random.choice(kinds), self.random.choice(UNITS)
            self.steps.append(f"{getattr(kind, '__name__', '')} {unit}")
            kind(unit)
            self.check()
        print(f"    seed {self.seed}: {', '.join(self.steps)}", flush=True)


def live(c, seed, steps=STEPS):
    Life(c, seed).live(steps)
    c.ctl("destroy '*'")
    for node in c.nodes:
        eventually(lambda: not node.run("ls /run/argosy/units; ls /run/argosy/files; find /run/argosy/secrets -type f"), what=f"nothing is left on {node.name}")
    c.ctl("secret delete key")


def test_a_life(c: Cluster):
    live(c, int(os.environ.get("ARGOSY_SEED", "4")))


def test_each_thing_that_can_happen_once(c: Cluster):
    life = Life(c, 0)
    for what in [life.change, life.kill_argosyd, life.boot_without_a_leader, life.set_secret, life.lose_the_leader, life.restart, life.change, life.undo]:
        what(UNITS[0])
        life.check()
    c.ctl("destroy '*'")
    c.ctl("secret delete key")


@long
def test_ten_lives(c: Cluster):
    for seed in range(10, 20):
        live(c, seed, 2 * STEPS)


main(nodes=3)
