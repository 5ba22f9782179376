# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes that run containers: an image in each of them, and how they run one, or why they cannot.

ARGOSY_CGROUPS=disabled takes from nodes the right to make control groups of containers, as some machines do. The containers
of such nodes run with --cgroups=disabled: their processes stay in the unit's control group.
"""

import os
from dataclasses import dataclass

WITHOUT_CGROUPS = "--cgroups=disabled"
IS_FORCED = os.environ.get("ARGOSY_CGROUPS") == "disabled"

# What podman needs in a node: networks of containers, and the filter of devices, which is a part of a container's control group.
RIGHTS = ["--capability=CAP_NET_ADMIN", *([] if IS_FORCED else ["--system-call-filter=bpf"])]

IMAGE = """
    set -e
    mkdir -p /root/image/bin
    cp /bin/busybox /root/image/bin
    for name in sh sleep cat echo mkdir; do ln -sf busybox /root/image/bin/$name; done
    tar -C /root/image -cf /root/image.tar .
    podman import -q -c 'CMD=["/bin/sleep","1000"]' /root/image.tar localhost/box:1
    podman tag localhost/box:1 localhost/box:2
"""
RUN = "podman run --rm {} --network=host localhost/box:1 /bin/echo it runs"


@dataclass
class Ability:
    """How the containers of a testbed run."""
    runs: bool
    podman_args: str  # that each of them needs
    why: str          # they do not run, or not without these


def _in_units(bed, script):
    """The first failure of a node, or None. A command from outside has rights that units lack."""
    for node in bed.nodes:
        result = node.exec(["systemd-run", "--pipe", "--wait", "--quiet", "sh", "-c", script], timeout=120)
        if result.status != 0:
            return f"{node.name}: {' '.join(result.err.split())[-200:]}"
    return None


def prepare(bed):
    """Each node gets the image localhost/box, versions 1 and 2. Returns the Ability."""
    why = _in_units(bed, IMAGE) or _in_units(bed, RUN.format(""))
    if not why:
        return Ability(True, "", "")
    worse = _in_units(bed, RUN.format(WITHOUT_CGROUPS))
    return Ability(not worse, "" if worse else WITHOUT_CGROUPS, worse or why)


def are_known(c):
    """Whether all hosts have said which podman they have."""
    return all("podman" in str(row["labels"]) for node in c.nodes for row in c.json("list-nodes", node))
