#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What containers name goes with them: volumes and networks, files and secrets."""

from boxes import unit_run, write_box
from lib import Cluster, eventually, main

BOX = """\
[Container]
Image=localhost/box:1
Exec=sh -c "echo started >>/data/starts; sleep infinity"
Network=host
StopTimeout=1
"""
VOLUME = "[Volume]\nLabel=of=boxes\n"


def write(c, name, text, on="n1"):
    write_box(c.node(on), name, text)


def volumes(node):
    return sorted(unit_run(node, "podman volume ls --format '{{.Name}}'").split())


def forget_volumes(c):
    for node in c.nodes:
        unit_run(node, "sh -c 'podman volume prune -af; podman network prune -f'")


def test_a_volume_goes_with_the_container_that_names_it(c: Cluster):
    write(c, "data.volume", VOLUME)
    write(c, "db.container", BOX + "Volume=data.volume:/data\n[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/db.container", "n1")
    n2 = c.node("n2")
    assert volumes(n2) == ["systemd-data"]
    assert "boxes" in unit_run(n2, "podman volume inspect -f '{{.Labels}}' systemd-data")
    assert "# data.volume\n[Volume]\nLabel=of=boxes\n" in c.ctl("cat db")
    shown = n2.run("systemctl show --value -p ActiveState,NeedDaemonReload data-volume.service")
    assert shown.split() == ["active", "no"]
    c.ctl_fails("start ./boxes/data.volume", "n1", status=2, saying="goes with each container that names it")
    c.ctl("destroy db")
    n2.run("! test -e /run/systemd/system/data-volume.service")
    eventually(lambda: n2.run("systemctl show --value -p ActiveState data-volume.service").strip() == "inactive")
    assert volumes(n2) == ["systemd-data"]
    forget_volumes(c)


def test_data_of_before_is_adopted(c: Cluster):
    n1 = c.node("n1")
    unit_run(n1, "podman volume create --label of=boxes systemd-data")
    path = unit_run(n1, "podman volume inspect -f '{{.Mountpoint}}' systemd-data").strip()
    n1.write(f"{path}/starts", "of before\n")
    write(c, "data.volume", VOLUME)
    write(c, "db.container", BOX + "Volume=data.volume:/data\n[X-Argosy]\nHost=n1\n")
    c.ctl("start ./boxes/db.container", "n1")
    eventually(lambda: n1.run(f"cat {path}/starts") == "of before\nstarted\n")
    c.ctl("destroy db")
    forget_volumes(c)


def test_a_node_has_one_of_each_name(c: Cluster):
    write(c, "data.volume", VOLUME)
    write(c, "one@.container", BOX + "Volume=data.volume:/data\n[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/one@{1,2}.container", "n1")
    write(c, "other/data.volume", VOLUME + "Label=more=1\n")
    write(c, "other/two.container", BOX + "Volume=data.volume:/data\n[X-Argosy]\nHost=n2\n")
    c.ctl_fails("start ./boxes/other/two.container", "n1", saying=("n2: one@", "there has another volume data"))
    c.ctl("destroy one@1")
    c.node("n2").run("test -e /run/systemd/system/data-volume.service")
    c.ctl("destroy one@2")
    c.ctl("start two")
    c.ctl("destroy two")
    forget_volumes(c)


def test_what_is_there_is_not_changed(c: Cluster):
    write(c, "data.volume", VOLUME)
    write(c, "work@.container", BOX + "Volume=data.volume:/data\n")
    c.ctl("start ./boxes/work@1.container", "n1")
    before = c.invocation("work@1")
    write(c, "data.volume", VOLUME + "Label=more=1\n")
    for verb in ("start --replace ./boxes/work@1.container", "update ./boxes/work@.container"):
        c.ctl_fails(verb, "n1", saying=("data.volume is not as it was", "data-2.volume"))
    assert c.invocation("work@1") == before
    write(c, "data-2.volume", VOLUME)
    write(c, "work@.container", BOX + "Volume=data-2.volume:/data\n")
    c.ctl("update ./boxes/work@.container", "n1")
    node = c.node(c.row("work@1.service")["node"])
    assert volumes(node) == ["systemd-data", "systemd-data-2"]
    node.run("cd /run/systemd/system && test ! -e data-volume.service && test -e data-2-volume.service")
    c.ctl(f"undo {c.json('list-jobs --limit=1')[0]['job']}")
    eventually(lambda: node.run("cd /run/systemd/system && ls *-volume.service").split() == ["data-volume.service"])
    c.ctl("destroy work@1")  # the template came with the update
    forget_volumes(c)


def test_a_volume_of_other_options_is_not_adopted(c: Cluster):
    write(c, "store.volume", "[Volume]\nType=tmpfs\nDevice=tmpfs\n")
    write(c, "web.container", BOX + "Volume=store.volume:/data\n[X-Argosy]\nHost=n2\n")
    node = c.node("n2")
    unit_run(node, "podman volume create systemd-store")
    c.ctl_result("start --timeout=15s ./boxes/web.container", "n1")
    eventually(lambda: "the volume systemd-store that is there is not that of store.volume" in c.ctl_result("why web").out)
    said = c.ctl_result("why web").out
    assert "it has driver local, and the file says driver local, device=tmpfs, type=tmpfs" in said, said
    unit_run(node, "podman volume rm systemd-store")
    c.ctl("start web")
    assert c.row("web.service")["node"] == "n2"
    c.ctl("stop web")
    c.ctl("start ./boxes/web.container", "n1")  # it is as it was made
    c.ctl("destroy web")
    forget_volumes(c)


def test_a_network_is_shared_on_its_node(c: Cluster):
    write(c, "front.network", "[Network]\nSubnet=10.99.7.0/24\n")
    box = BOX.replace("Network=host\n", "Network=front.network\n")
    write(c, "web.container", box + "Tmpfs=/data\n")
    write(c, "app.container", box + "Tmpfs=/data\n[X-Argosy]\nMachineOf=web.service\n")
    c.ctl("start ./boxes/web.container ./boxes/app.container", "n1")
    node = c.node(c.row("web.service")["node"])
    names = "{{range .Containers}}{{.Name}} {{end}}"
    found = unit_run(node, f"podman network inspect -f '{names}' systemd-front")
    assert sorted(found.split()) == ["systemd-app", "systemd-web"]
    c.ctl("destroy web app")
    forget_volumes(c)


def test_a_container_has_the_network_of_another(c: Cluster):
    write(c, "front.container", BOX + "Tmpfs=/data\nContainerName=the-front\n")
    text = BOX.replace("Network=host\n", "Network=front.container\n") + "Tmpfs=/data\n"
    write(c, "side.container", text)
    c.ctl_fails("submit ./boxes/side.container", "n1", saying="needs MachineOf=")
    write(c, "side.container", text + "[X-Argosy]\nMachineOf=front.service\n")
    c.ctl("start ./boxes/front.container ./boxes/side.container", "n1")
    node = c.node(c.row("side.service")["node"])
    assert node.name == c.row("front.service")["node"]
    assert "--network container:the-front" in node.run("systemctl cat side.service")
    c.ctl("destroy side front")


def network_of(node, container):
    """Its network namespace, as the kernel calls it."""
    return node.run(f"readlink /proc/$(podman inspect -f '{{{{.State.Pid}}}}' {container})/ns/net").strip()


def test_who_has_the_network_of_another_goes_with_its_update(c: Cluster):
    front = BOX.replace("Network=host\n", "Network=none\n") + "Tmpfs=/data\nContainerName=the-front\n"
    write(c, "front.container", front)
    write(c, "side.container", BOX.replace("Network=host\n", "Network=front.container\n")
          + "Tmpfs=/data\n[X-Argosy]\nMachineOf=front.service\n")
    c.ctl("start ./boxes/front.container ./boxes/side.container", "n1")
    node = c.node(c.row("side.service")["node"])
    assert network_of(node, "systemd-side") == network_of(node, "the-front")
    before = c.invocation("side.service")
    write(c, "front.container", front + "Environment=WORD=second\n")
    c.ctl("update ./boxes/front.container", "n1")
    eventually(lambda: c.row("side.service")["active"] == "active" and c.invocation("side.service") != before)
    eventually(lambda: network_of(node, "systemd-side") == network_of(node, "the-front"))
    write(c, "front.container", front.replace("the-front", "next-front"))  # side's file is not handed in
    c.ctl("update ./boxes/front.container", "n1")
    eventually(lambda: c.row("side.service")["active"] == "active"
               and network_of(node, "systemd-side") == network_of(node, "next-front"))
    assert "ContainerName=next-front" in c.ctl("cat side")
    c.ctl("destroy side front")


INSIDE = """\
[Container]
Image=localhost/box:1
Exec=sh -c "cat /usr/share/web/a.conf $$CREDENTIALS_DIRECTORY/token $$ARGOSY_FILES/b.conf; echo; sleep infinity"
Network=host
StopTimeout=1
"""


def said_by(c, unit, words):
    eventually(lambda: words in c.ctl(f"journal {unit}"), what=f"{unit} says {words}")


def test_files_and_secrets_reach_into_a_container(c: Cluster):
    write(c, "conf/a.conf", "a1 ")
    write(c, "b.conf", "b1")
    c.node("n1").run("argosyctl secret set token", input="hidden ")
    own = "[X-Argosy]\nFile=conf:/usr/share/web b.conf\nSecret=token\n"
    write(c, "web.container", INSIDE + own)
    write(c, "other.container", INSIDE + "User=1000:1000\n" + own)
    c.ctl("start ./boxes/web.container ./boxes/other.container", "n1")
    for unit in ("web", "other"):
        said_by(c, unit, "a1 hidden b1")
    node = c.node(c.row("web.service")["node"])
    assert "LoadCredential" not in node.run("systemctl cat web.service")
    assert "rw" not in unit_run(node, "podman exec systemd-web sh -c 'grep /usr/share/web /proc/mounts | cut -d\\  -f4 | cut -c1-2'")
    node.run("! test -e /usr/share/web && test $(stat -c %a /run/argosy/secrets/units) = 700")
    c.node("n1").run("argosyctl secret set token", input="renewed ")
    write(c, "conf/a.conf", "a2 ")
    c.ctl("update ./boxes/web.container", "n1")
    said_by(c, "web", "a2 renewed b1")
    c.ctl(f"undo {c.json('list-jobs --limit=1')[0]['job']}")
    c.ctl("destroy web other")
    c.ctl("secret delete token")


def test_files_change_beneath_a_container_that_runs(c: Cluster):
    write(c, "conf/a.conf", "a1")
    text = INSIDE.replace("cat /usr/share/web/a.conf $$CREDENTIALS_DIRECTORY/token $$ARGOSY_FILES/b.conf; echo; ", "")
    write(c, "web.container", text + "[Service]\nExecReload=/usr/bin/podman exec systemd-web cat /etc/web/a.conf\n"
          "[X-Argosy]\nFile=conf:/etc/web\nFileChange=reload\n")
    c.ctl("start ./boxes/web.container", "n1")
    before = c.invocation("web")
    write(c, "conf/a.conf", "a2")
    c.ctl("update ./boxes/web.container", "n1")
    said_by(c, "web", "a2")
    assert c.invocation("web") == before
    c.ctl("destroy web")


def test_users_of_a_namespace_of_their_own_read_them(c: Cluster):
    write(c, "conf/a.conf", "a1 ")
    write(c, "b.conf", "b1")
    c.node("n1").run("argosyctl secret set token", input="hidden ")
    write(c, "web.container", INSIDE + "UserNS=auto\n[X-Argosy]\nFile=conf:/usr/share/web b.conf\nSecret=token\n")
    for node in c.nodes:
        node.run("grep -q ^containers: /etc/subuid || "
                 "for f in subuid subgid; do echo containers:2147483647:2147483648 >>/etc/$f; done")
    c.ctl("start ./boxes/web.container", "n1")
    said_by(c, "web", "a1 hidden b1")
    c.ctl("destroy web")
    c.ctl("secret delete token")


def test_a_folder_comes_back_as_it_was(c: Cluster):
    write(c, "set/data.volume", VOLUME)
    write(c, "set/idle.volume", VOLUME)
    write(c, "set/db.container", BOX + "Volume=data.volume:/data\n[X-Argosy]\nHost=n1\n")
    write(c, "set/db.container.d/10-more.conf", "[Container]\nEnvironment=A=1\n")
    said = c.ctl_result("apply /root/boxes/set", "n1")
    assert said.status == 0 and "idle.volume" in said.err and "data.volume" not in said.err, said
    c.ctl("export --set=set /root/boxes/copy", "n1")
    n1 = c.node("n1")
    n1.run("rm /root/boxes/set/idle.volume && diff -r -x argosy.set /root/boxes/set /root/boxes/copy")
    assert "data.volume" in n1.run("ls /root/boxes/copy")
    c.ctl("destroy db")
    forget_volumes(c)


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True)
