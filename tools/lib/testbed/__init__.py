# SPDX-License-Identifier: LGPL-2.1-or-later
"""Real argosy nodes on one machine.

A testbed is a set of booted systemd containers on a bridge of their own, with the build under test installed in each.
Several testbeds live side by side, told apart by name (ARGOSY_TESTBED).

    keeper.py   one process per testbed that owns everything; when it dies, the kernel takes the rest down with it
    rootfs.py   the Debian root file system that all nodes share, cached
    staging.py  the build, installed into a tree of its own that lies over the root file system
    network.py  bridge, addresses, partitions
    disk.py     a block device per node, and what is left on it after a power cut
    node.py     one node: boot, kill, run commands
    cluster.py  the cluster on these nodes: forming it, argosy's verbs
    bed.py      the testbed: all nodes, up and down
    __main__.py the command line

What lies where:

    /var/cache/argosy-testbed/           root file systems, and builds that the testbeds of a check share
    /var/lib/argosy-testbed/NAME/        one testbed: its description, disks, journals, consoles
    /var/lib/argosy-testbed/NAME.lock    held by the keeper as long as it lives
    CGROUP2/argosy-testbed-NAME/         its control groups, one below it for every node
    /run/bed (in the keeper's mounts)    roots, network namespaces and mounted disks of the nodes
"""

from .bed import Testbed
from .cluster import Cluster, with_type
from .host import Failure
from .node import Node, Result

__all__ = ["Cluster", "Failure", "Node", "Result", "Testbed", "with_type"]
