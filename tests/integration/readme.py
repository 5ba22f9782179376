#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first screen of README is true: its unit is taken and runs on nodes that have nothing but Debian, and moves when its machine dies."""

import re

from lib import QUICK, SOURCE, Cluster, eventually, main

README = (SOURCE / "README.md").read_text()


def commands():
    """What is typed at n1 before the machine is killed; a command goes on to the END of what it reads."""
    screen = README.split("Kill the machine")[0]
    lines = [line[4:] for line in screen.splitlines() if line.startswith("    ")]
    return re.findall(r"^n1# (.*<<'END'\n(?:.*\n)*?END$|.*$)", "\n".join(lines), re.MULTILINE)


def test_the_first_screen_is_true(c: Cluster):
    first, *others = commands()
    assert "[X-Argosy]" in first and others == ["argosyctl start hello.service", "argosyctl list-units"], commands()
    n1 = c.node("n1")
    n1.run(first)
    c.ctl("cordon n1", on=n1)  # where the reader types
    for command in others:
        shown = n1.run(command)
    header = next(line.split() for line in README.splitlines() if line.startswith("    UNIT"))
    assert shown.splitlines()[0].split() == header and "hello.service" in shown, shown

    victim = c.where("hello.service")
    eventually(lambda: f"hello from {victim.name}" in c.ctl("journal hello.service", on=n1))
    victim.kill()
    eventually(lambda: (moved := c.where("hello.service")) and moved.name not in ("n1", victim.name))


main(nodes=3, conf=QUICK)
