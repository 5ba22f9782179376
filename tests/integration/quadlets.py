#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Containers: Quadlet files of podman are units of the cluster, each node making of them what its own podman makes."""

from boxes import write_box
from lib import Cluster, eventually, main

BOX = """\
[Container]
Image=localhost/box:1
Exec=sh -c "echo %N has come; sleep infinity"
Network=host
StopTimeout=1
"""


def write(c, name, text, on="n1"):
    write_box(c.node(on), name, text)


def running(node):
    """Names of the containers that run there."""
    return sorted(node.run("podman ps --format '{{.Names}}'").split())


def control_group(node, container):
    """That of its first process."""
    return node.run(f"cut -d: -f3 /proc/$(podman inspect -f '{{{{.State.Pid}}}}' {container})/cgroup | tail -1").strip()


def on_all_nodes(c):
    return sorted(name for node in c.nodes if node.is_on() for name in running(node))


def test_a_container_is_a_unit(c: Cluster):
    write(c, "web.container", "[Unit]\nDescription=Web in a box\n" + BOX)
    write(c, "web.container.d/10-env.conf", "[Container]\nEnvironment=COLOUR=red\n")
    c.ctl("start ./boxes/web.container", "n1")
    node = c.node(c.row("web.service")["node"])
    assert running(node) == ["systemd-web"]
    assert control_group(node, "systemd-web").startswith("/system.slice/web.service")  # however it runs, systemd ends it with the unit
    assert "COLOUR=red" in node.run("podman inspect -f '{{.Config.Env}}' systemd-web")
    made = node.run("systemctl cat web.service")
    assert "podman run" in made and "SourcePath" not in made, made
    assert node.run("systemctl show --value -p NeedDaemonReload web.service").strip() == "no"
    assert c.ctl("cat web.container").startswith("[Unit]\nDescription=Web in a box\n[Container]\n")
    assert "Web in a box" in c.ctl("status web.container", "n2")
    assert "systemd-web has come" in c.ctl("journal web") or "web has come" in c.ctl("journal web")
    c.ctl("stop web")
    assert running(node) == []
    c.ctl("destroy web")
    node.run("! test -e /run/systemd/system/web.service")


def test_instances_run_on_all_nodes_and_move_by_a_power_cut(c: Cluster):
    write(c, "work@.container", BOX)
    c.ctl("start ./boxes/work@{1..6}.container", "n1")
    everything = [f"systemd-work_{i}" for i in range(1, 7)]
    assert on_all_nodes(c) == everything
    assert all(len(running(node)) == 2 for node in c.nodes)
    c.node("n3").kill()
    eventually(lambda: on_all_nodes(c) == everything, what="what ran on n3 runs elsewhere")
    c.node("n3").boot()
    c.wait_online()
    assert running(c.node("n3")) == [] and on_all_nodes(c) == everything


def test_an_update_and_the_way_back(c: Cluster):
    write(c, "work@.container", BOX)
    c.ctl("start ./boxes/work@{1..3}.container", "n1")
    write(c, "work@.container", BOX.replace("box:1", "box:2"))
    c.ctl("update ./boxes/work@.container", "n1")

    def images():
        return {image for node in c.nodes for image in node.run("podman ps --format '{{.Image}}'").split()}
    assert images() == {"localhost/box:2"}
    c.ctl(f"undo {c.json('list-jobs --limit=1')[0]['job']}")
    eventually(lambda: images() == {"localhost/box:1"})


def test_what_podman_refuses_stops_nothing(c: Cluster):
    write(c, "web.container", BOX)
    c.ctl("start ./boxes/web.container", "n1")
    before = c.invocation("web")
    write(c, "web.container", BOX + "Unheard=of\n")
    said = "unsupported key 'Unheard'"
    assert said in c.ctl_result("verify boxes/web.container", "n1").out
    c.ctl_fails("start --replace ./boxes/web.container", "n1", saying=(said, "nothing was changed"))
    c.ctl_fails("update ./boxes/web.container", "n1", saying=(said, "nothing was changed"))
    assert c.invocation("web") == before
    write(c, "new.container", BOX + "Unheard=of\n")
    c.ctl_fails("start ./boxes/new.container", "n1", saying=(said, "nothing was changed"))
    assert "new.service" not in c.known()


def test_a_restart_of_argosyd_adopts_containers(c: Cluster):
    write(c, "web.container", BOX)
    c.ctl("start ./boxes/web.container", "n1")
    before, node = c.invocation("web"), c.node(c.row("web.service")["node"])
    written = node.run("stat -c %i /run/systemd/system/web.service")
    node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("start web")
    assert c.invocation("web") == before
    assert node.run("stat -c %i /run/systemd/system/web.service") == written


def test_data_stays_where_it_is(c: Cluster):
    write(c, "db.container", BOX.replace("sleep infinity", "echo 1 >>/data/starts; sleep infinity") + "Volume=db:/data\n")
    c.ctl("start ./boxes/db.container", "n1")
    node = c.node(c.row("db.service")["node"])
    other = next(n for n in c.nodes if n != node)
    node.kill()
    eventually(lambda: c.json("list-nodes", other) and any(row["node"] == node.name and row["state"] == "lost" for row in c.json("list-nodes", other)))
    assert c.row("db.service", other)["node"] == node.name and on_all_nodes(c) == []
    node.boot()
    eventually(lambda: running(node) == ["systemd-db"])
    assert node.run("cat $(podman volume inspect -f '{{.Mountpoint}}' db)/starts").split() == ["1", "1"]
    write(c, "next.service", f"[Service]\nExecStart=/bin/sleep infinity\n[X-Argosy]\nHost={node.name}\nReplaces=db.service\n")
    c.ctl("start ./boxes/next.service", "n1")
    eventually(lambda: running(node) == [])
    c.ctl_fails("why db", "n1", status=3, saying=f"its data is on {node.name}")
    assert on_all_nodes(c) == []
    c.ctl("destroy next", "n1")
    eventually(lambda: running(node) == ["systemd-db"])
    write(c, "moves.container", BOX + "Volume=db:/data\n[X-Argosy]\nNodeLost=move\n", other.name)
    c.ctl_fails("submit ./boxes/moves.container", other, saying="a moved container would start empty")
    node.run("systemd-run --wait --quiet sh -c 'systemctl stop db; podman volume rm db'")


def test_a_name_is_taken_once_on_a_node(c: Cluster):
    write(c, "one@.container", BOX + "ContainerName=the-one\n")
    c.ctl("start ./boxes/one@{1..3}.container", "n1")
    assert all(running(node) == ["the-one"] for node in c.nodes)
    c.ctl_fails("start ./boxes/one@4.container", "n1", saying=" there has container the-one")


def test_a_host_without_podman_runs_none(c: Cluster):
    n3 = c.node("n3")
    write(c, "web.container", BOX + "[X-Argosy]\nHost=n3\n")
    n3.run("mv /usr/libexec/podman/quadlet /root && systemctl restart argosyd")
    try:
        eventually(lambda: not any(row["node"] == "n3" and "podman" in str(row["labels"]) for row in c.json("list-nodes")))
        c.wait_online()
        c.ctl_fails("start ./boxes/web.container", "n1", saying="n3: no Quadlet here")
    finally:
        n3.run("mv /root/quadlet /usr/libexec/podman && systemctl restart argosyd")
    eventually(lambda: any(row["node"] == "n3" and "podman" in str(row["labels"]) for row in c.json("list-nodes")))
    c.ctl("start ./boxes/web.container", "n1")
    assert running(n3) == ["systemd-web"]


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True)
