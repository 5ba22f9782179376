# SPDX-License-Identifier: LGPL-2.1-or-later
"""The testbed: all nodes of one name, up and down.

    with Testbed("mine").up(3) as bed:         gone at the end, also when this process is killed
        bed.node("n1").run("argosyctl list-nodes")

    Testbed("mine").up(3).detach()              stays until Testbed("mine").down()
    Testbed.find("mine").node("n2").kill()
"""

import contextlib
import json
import os
from concurrent.futures import ThreadPoolExecutor

from . import cluster, host, keeper, namespaces, network, rootfs, staging
from .host import Failure
from .keeper import Keeper
from .node import Node, journal_dir, read_journal

CONF = "/etc/argosy/argosy.conf.d/10-testbed.conf"

# podman is started hundreds of times, each for a moment, and need not collect garbage whenever there are 4 MB of it.
PODMAN_FILES = {"/etc/systemd/system.conf.d/10-testbed.conf": "[Manager]\nDefaultEnvironment=GOGC=400\n"}


class Testbed:
    def __init__(self, name="default", say=lambda text: None):
        self.name, self._say, self._keeper = name, say, None
        self._description, self._detached = {}, False

    @staticmethod
    def find(name="default"):
        """The running testbed of that name; Failure if there is none."""
        bed = Testbed(name)
        bed._keeper = Keeper.find(name)
        described = keeper.state_dir(name) / "testbed.json"
        if bed._keeper is None or not described.exists():
            raise Failure(f"testbed '{name}' is not up; start it with `tools/testbed up N`")
        bed._description = json.loads(described.read_text())
        return bed

    def up(self, count, voters=None, conf=(), build=None, bare=False, alone=False, containers=False):
        """Boots `count` nodes in parallel and forms one cluster of them, or leaves them without argosyd if `bare`, or each a
        cluster of its own, as after an installation, if `alone`.

        containers: the nodes have podman 5, and rights to run containers. conf: "Section.Key=value", or "n2:Section.Key=value" for one node only. voters: 3, or 1 if there are fewer nodes.
        """
        if not 1 <= count <= network.MAX_NODES:
            raise Failure(f"a testbed has 1 to {network.MAX_NODES} nodes, not {count}")
        if os.geteuid() != 0:
            raise Failure("the testbed boots containers: run it as root")
        voters = voters or (3 if count >= 3 else 1)
        names = [f"n{number}" for number in range(1, count + 1)]
        settings = _settings_per_node(names, [f"Cluster.Voters={voters}", *conf])

        root, stage = self._start_keeper(not bare and not build, containers)
        try:
            layers = [root] if bare else [stage or self._install(build), root]
            self._describe(names, bare, containers)
            self._create(layers, settings, containers)
            self.boot(names)
            if not bare and not alone:
                cluster.form(self.nodes, voters)
        except BaseException:
            self.down()
            raise
        return self

    def _start_keeper(self, with_stage, containers):
        """Returns the root file system and, if wanted, the tree of the build that staging.shared() made, or None if it made none.
        The keeper holds both."""
        with contextlib.ExitStack() as until_kept:
            root, root_lock = rootfs.obtain(self._say, containers)
            until_kept.callback(os.close, root_lock)
            stage, stage_lock = staging.hold_shared() if with_stage else (None, None)
            if stage:
                until_kept.callback(os.close, stage_lock)
            self._keeper = Keeper.start(self.name, hold=[root_lock, stage_lock] if stage else [root_lock])
        return root, stage

    def _install(self, build):
        """A tree of its own for the build."""
        stage = keeper.state_dir(self.name) / "stage"
        stage.mkdir()
        staging.install(build or os.environ.get("ARGOSY_BUILD") or host.SOURCE / "build", stage)
        return stage

    def _describe(self, names, bare, containers):
        self._description = {"nodes": names, "bare": bare, "containers": containers}
        (keeper.state_dir(self.name) / "testbed.json").write_text(json.dumps(self._description))

    def _create(self, layers, settings, containers):
        network.create_bridge(self._keeper)
        hosts = "127.0.0.1 localhost\n" + "".join(f"{node.address} {node.name}\n" for node in self.nodes)
        for node in self.nodes:
            node.create(layers, {"/etc/hosts": hosts, CONF: settings[node.name], **(PODMAN_FILES if containers else {})})

    def boot(self, names):
        """Boots several nodes at once."""
        for boot in [self.node(name).start_boot() for name in names]:
            boot.wait()

    def heal(self):
        """Whatever Node.partition(), cut_from(), slow_down() and stall_disk() did."""
        for node in self.nodes:
            node.heal()

    def journal(self, since, grep, lines):
        """The last of what all nodes said since then that matches, each line with the node's name; also of nodes that are off."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(Node.sync_journal, self.nodes))
        return read_journal(journal_dir(self.name), lines, since=since, grep=grep)

    @property
    def nodes(self):
        return [self.node(name) for name in self._description["nodes"]]

    def node(self, name):
        if name not in self._description["nodes"]:
            raise Failure(f"there is no node '{name}' in this testbed, only {' '.join(self._description['nodes'])}")
        return Node(self.name, self._keeper, int(name[1:]), self._description["containers"])

    @property
    def is_bare(self):
        return self._description["bare"]

    def from_network(self, argv):
        """The command line that runs a program of the host on the testbed's network, beside the nodes."""
        return self._keeper.inside(argv)

    def listen(self, port):
        """A socket of this process that nodes reach at network.OUTSIDE."""
        return namespaces.listen(self._keeper.inner, network.OUTSIDE, port)

    def detach(self):
        """From now on the testbed stays until somebody takes it down."""
        self._keeper.detach()
        self._detached = True

    def down(self):
        Keeper.stop(self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self._detached:
            self.down()


def _settings_per_node(names, conf):
    """The text of each node's configuration file."""
    sections = {name: {} for name in names}
    for setting in conf:
        scope, colon, rest = setting.partition(":")
        if not colon or "=" in scope:
            scope, rest = None, setting
        key, equals, value = rest.partition("=")
        section, dot, key = key.partition(".")
        if not (equals and dot and section and key):
            raise Failure(f"--conf {setting}: expected Section.Key=value, or n2:Section.Key=value for one node")
        if scope and scope not in names:
            raise Failure(f"--conf {setting}: there is no node '{scope}'")
        for name in [scope] if scope else names:
            sections[name].setdefault(section, {})[key] = value
    return {name: "\n".join(f"[{section}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items())
                            for section, keys in sections[name].items())
            for name in names}
