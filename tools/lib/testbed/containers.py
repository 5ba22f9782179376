# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes that run containers: an image in each of them, and whether they can at all."""

PREPARE = """
    set -e
    mkdir -p /root/image/bin
    cp /bin/busybox /root/image/bin
    for name in sh sleep cat echo mkdir; do ln -sf busybox /root/image/bin/$name; done
    tar -C /root/image -cf /root/image.tar .
    podman import -q -c 'CMD=["/bin/sleep","1000"]' /root/image.tar localhost/box:1
    podman tag localhost/box:1 localhost/box:2
    podman run --rm --network=host localhost/box:1 /bin/echo it runs
"""


def prepare(bed):
    """Each node gets the image localhost/box, versions 1 and 2. Returns why this machine runs no containers in its nodes, or None."""
    for node in bed.nodes:
        # in a unit, since a command from outside has rights that units lack
        result = node.exec(["systemd-run", "--pipe", "--wait", "--quiet", "sh", "-c", PREPARE], timeout=120)
        if result.status != 0:
            return f"{node.name}: {' '.join(result.err.split())[-200:]}"
    return None


def are_known(c):
    """Whether all hosts have said which podman they have."""
    return all("podman" in str(row["labels"]) for node in c.nodes for row in c.json("list-nodes", node))
