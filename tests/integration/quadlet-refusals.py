#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nodes that cannot take a container: their podman refuses the file, or somebody's container has its name. It goes elsewhere, or is not stored
at all, and nothing of anybody else is touched."""

from boxes import unit_shell, write_box
from lib import Cluster, eventually, main, wait_for_podman

BOX = """\
[Container]
Image=localhost/box:1
Network=host
StopTimeout=1
"""
QUADLET = "/usr/libexec/podman/quadlet"

# A podman that does not know a key which others know.
OLDER = f"""#!/bin/sh
if [ "$1" = -version ]; then exec {QUADLET}.real "$@"; fi
if grep -rqs ^Environment= "$QUADLET_UNIT_DIRS"; then
    echo "quadlet-generator[1]: converting \\"web.container\\": unsupported key 'Environment' in group 'Container'" >&2
    exit 1
fi
exec {QUADLET}.real "$@"
"""


def write(c, text):
    wait_for_podman(c)
    write_box(c.node("n1"), "web.container", text)


def make_older(*nodes, generator=OLDER):
    for node in nodes:
        node.run(f"test -e {QUADLET}.real || mv {QUADLET} {QUADLET}.real")
        node.write(QUADLET, generator)
        node.run(f"chmod 755 {QUADLET}")


def clean_up(c):
    for node in c.nodes:
        node.run(f"test ! -e {QUADLET}.real || mv {QUADLET}.real {QUADLET}; podman rm -fa -t0 >/dev/null 2>&1 || :")


def test_what_no_podman_takes_is_not_stored(c: Cluster):
    write(c, BOX + "Unheard=of\n")
    for verb in ("submit", "start"):
        c.ctl_fails(f"{verb} ./boxes/web.container", "n1", saying=("podman's generator", "unsupported key 'Unheard'", "nothing was changed"))
    said = c.ctl_result("verify ./boxes/web.container", "n1")
    assert said.status != 0 and "unsupported key 'Unheard'" in said.out + said.err, said
    assert "web.service" not in c.known()


# One that resolves a path beside the file for a key which argosyd does not know.
RESOLVES = f"""#!/bin/sh
if [ "$1" = -version ]; then exec {QUADLET}.real "$@"; fi
{QUADLET}.real "$@"
for out; do :; done
echo "ExecStartPre=/bin/cat $QUADLET_UNIT_DIRS/beside" >>"$out/web.service"
"""


def test_a_path_in_the_folder_of_the_translation_comes_to_no_node(c: Cluster):
    write(c, BOX)
    try:
        make_older(*c.nodes, generator=RESOLVES)
        c.ctl_fails("start ./boxes/web.container", "n1", saying=("a path beside the file", "nothing was changed"))
        assert "web.service" not in c.known()
    finally:
        clean_up(c)
    c.ctl("start ./boxes/web.container", "n1")


def test_with_no_host_that_can_say_it_is_taken_and_said_to_be_unchecked(c: Cluster):
    write(c, BOX + "[X-Argosy]\nHost=none\n")
    said = c.ctl_result("submit ./boxes/web.container", "n1")
    assert said.status == 0 and "unchecked" in said.err + said.out, said
    assert "web.service" in c.known()


def test_a_node_whose_podman_refuses_leaves_the_unit_to_another_one(c: Cluster):
    write(c, BOX + "Environment=COLOUR=red\n")
    c.ctl("submit ./boxes/web.container", "n1")
    make_older(c.node("n1"), c.node("n2"))
    c.ctl("start web")
    assert c.row("web.service")["node"] == "n3"
    c.ctl("stop web")
    # The new content is another one, of which nobody has refused anything.
    make_older(c.node("n3"))
    write(c, BOX + "Exec=sleep infinity\n")
    c.ctl("start --replace ./boxes/web.container", "n1")
    c.ctl("destroy web")
    write(c, BOX + "Environment=COLOUR=red\n")
    assert c.ctl_result("start --timeout=20s ./boxes/web.container", "n1").status != 0
    why = c.ctl_result("why web").out + c.ctl_result("why web").err
    assert why.count("unsupported key 'Environment'") >= 3, why
    # A host that gets another podman is asked again.
    c.node("n2").run(f"mv {QUADLET}.real {QUADLET}")
    eventually(lambda: c.row("web.service")["active"] == "active" and c.row("web.service")["node"] == "n2", what="it runs on n2")


def test_a_container_of_somebody_else_is_not_replaced(c: Cluster):
    write(c, BOX)
    before = {}
    for name in ("n1", "n2"):
        before[name] = unit_shell(c.node(name), "podman create --name=systemd-web --network=host localhost/box:1").strip()
    c.ctl("start ./boxes/web.container", "n1")
    assert c.row("web.service")["node"] == "n3"
    c.ctl("destroy web")
    before["n3"] = unit_shell(c.node("n3"), "podman create --name=systemd-web --network=host localhost/box:1").strip()
    said = c.ctl_result("start --timeout=15s ./boxes/web.container", "n1")
    assert said.status != 0
    why = c.ctl_result("why web").out
    assert "a container systemd-web" in why, why
    assert "a container systemd-web" in c.ctl("plan web"), "a plan knows it, too"
    for name, identity in before.items():
        assert unit_shell(c.node(name), "podman ps -aq --no-trunc").split() == [identity]
    # It goes, and the next request is taken.
    unit_shell(c.node("n2"), "podman rm systemd-web")
    c.ctl("start web")
    assert c.row("web.service")["node"] == "n2"
    # What comes while the unit is down is not replaced by its start either.
    c.ctl("stop web")
    identity = unit_shell(c.node("n2"), "podman create --name=systemd-web --network=host localhost/box:1").strip()
    said = c.ctl_result("start --timeout=15s web")
    assert said.status != 0 and "a container systemd-web" in said.err + said.out, said
    assert unit_shell(c.node("n2"), "podman ps -aq --no-trunc").split() == [identity]


def test_what_is_left_of_a_run_of_its_own_is_replaced(c: Cluster):
    write(c, BOX + "[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/web.container", "n1")
    n2 = c.node("n2")
    n2.kill()
    n2.boot()
    c.wait_online()
    eventually(lambda: c.row("web.service")["active"] == "active", what="it runs again")


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True, after=clean_up)
