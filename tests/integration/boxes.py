# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of containers are written with: their files, in the way in which this machine's nodes run containers, and commands of podman."""

import lib

PLACE = "/root/boxes"


def podman_args():
    """What `podman run` needs on this machine's nodes; mostly nothing."""
    return lib.ability.podman_args


def box(text):
    """A container's file, with what podman needs here."""
    more = f"[Container]\nPodmanArgs={podman_args()}\n" if podman_args() else "[Container]\n"
    return text.replace("[Container]\n", more, 1)


def write_box(node, name, text):
    """A file of Quadlet, a drop-in or what goes with them, below PLACE."""
    node.write(f"{PLACE}/{name}", box(text) if name.endswith(".container") else text)


def unit_run(node, command):
    """In a unit: a command from outside has rights that units lack."""
    return node.run(f"systemd-run --pipe --wait --quiet --setenv=HOME=/root {command}")


def unit_shell(node, script):
    """The same by a shell; the script has no single quotes."""
    return unit_run(node, f"sh -c '{script}'")
