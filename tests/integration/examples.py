#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of argosy-unit(5) are taken by argosy as they stand there, every option has one, and of each unit made from one
that does not run `why` knows why. Commands of argosyctl(1) that concern nodes are typed as they stand there."""

import re

from lib import QUICK, SLEEPER, SOURCE, Cluster, eventually, main

MANUAL = (SOURCE / "man/argosy-unit.5.scd").read_text()
COMMANDS = (SOURCE / "man/argosyctl.1.scd").read_text()

# Sections that an example may stand in, as scdoc writes them: bold, and line breaks by "++".
EXAMPLE = re.compile(r"^\t\*\[\w[\w-]*\]\*\+\+\n(?:\*.*\*\+\+\n)*\*.*\*$", re.MULTILINE)


def plain(line):
    return line.strip().removesuffix("++")[1:-1].replace("\\*", "*").replace("\\_", "_")


def examples():
    """Their lines, without the markup."""
    return [[plain(line) for line in found.group().splitlines()] for found in EXAMPLE.finditer(MANUAL)]


def options():
    """The names that the entries of the manual's OPTIONS are about; the old names of fleet's options need no example."""
    listed = MANUAL.split("# OPTIONS")[1].split("# ORDER ACROSS NODES")[0]
    entries = [line for line in listed.splitlines() if re.match(r"\*[A-Z]\w+=\*", line) and "X-" not in line.split("=")[0]]
    names = {name for line in entries if not line.endswith("++") for name in re.findall(r"\*([A-Z]\w+)=\*", line)}
    return names - {"MachineOf", "PreferSpreadOver", "ImagePin"} | {"SameNodeAs"}  # nobody but argosy writes ImagePin=


def is_for_containers(lines):
    return any(line.startswith(("VolumeLoss=", "RegistryAuth=")) for line in lines)


def unit_of(lines):
    if is_for_containers(lines):
        return "\n".join(["[Container]", "Image=registry.example.org/web@sha256:" + "0" * 64, "Volume=data:/data", *lines]) + "\n"
    own = [] if "[Service]" in lines else [*SLEEPER.splitlines(), "ExecReload=/bin/true"]  # which FileChange=reload needs
    return "\n".join(own + [line if line != "[Service]" else SLEEPER.rstrip() for line in lines]) + "\n"


def is_reported(c, unit):
    """A one-shot that sleeps is being started for ever."""
    why, runs = c.ctl_result(f"why {unit}").out, bool(c.active(unit))
    return ("all is as wanted" in why) == runs or (runs and "it is being started" in why)


def test_every_option_has_an_example_that_is_taken(c: Cluster):
    found = examples()
    missing = {name for name in options() if not any(line.startswith(f"{name}=") for lines in found for line in lines)}
    assert len(found) >= 20 and not missing, f"without an example in argosy-unit(5): {missing}"
    c.ctl("role set web")
    c.start("db cache")
    for file in ("conf/web.conf", "web.env"):  # that the example of File= names
        c.node("n1").write(f"/root/units/{file}", "a\n")
    for secret in ("db-password", "tls-key-1", "registry-login"):  # and those of Secret= and RegistryAuth=
        c.ctl(f"secret set {secret} --file=/root/units/web.env", on=c.node("n1"))
    for number, lines in enumerate(found):
        unit = f"e{number}@1.service"
        c.submit(f"e{number}@.{'container' if is_for_containers(lines) else 'service'}", unit_of(lines))
        result = c.ctl_result(f"start --no-block {unit}")
        if unit not in c.known():  # no node takes it: refused with the reasons
            assert result.status == 1 and "\n  n1: " in result.err, f"{lines}: {result.err}"
            continue
        eventually(lambda: is_reported(c, unit),
                   what=f"the unit of {lines} runs, or 'why' says why not")
    c.ctl("destroy '*'")
    c.ctl("role delete web")


def typed(about):
    """The commands of the example that begins with these words."""
    block = COMMANDS.split(about)[1].split("```")[1]
    return [line.removeprefix("argosyctl ") for line in block.strip().splitlines() if line.startswith("argosyctl")]


def test_commands_of_the_manual_do_what_it_says(c: Cluster):
    c.start("worker@{1..4}")
    for command in typed("Restart all instances") + typed("Take a node out of use by hand"):
        c.ctl(command, timeout=60)
    assert not c.node("n2").run("systemctl list-units --no-legend --state=active 'worker@*'").strip()
    eventually(lambda: len(c.active("worker@*")) == 4)  # a drain is over when the node is empty, not when all are up elsewhere
    c.assert_once("worker@*", 4)


main(nodes=2, conf=QUICK)
