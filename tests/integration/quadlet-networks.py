#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A network that containers share gets another file: one job, on each node once."""

from boxes import podman_args, unit_run, write_box
from lib import Cluster, eventually, main

BOX = """\
[Container]
Image=localhost/box:1
Exec=sleep infinity
Network=front.network
StopTimeout=1
"""
SUBNET = "{{range .Subnets}}{{.Subnet}}{{end}}"


def write(c, name, text, on="n1"):
    write_box(c.node(on), name, text)


def network(c, last):
    write(c, "front.network", f"[Network]\nSubnet=10.99.{last}.0/24\n")


def subnet(node):
    return unit_run(node, f"podman network inspect -f '{SUBNET}' systemd-front").strip()


def users(node):
    names = "{{range .Containers}}{{.Name}} {{end}}"
    return sorted(unit_run(node, f"podman network inspect -f '{names}' systemd-front").split())


def last_job(c):
    return c.json("list-jobs --limit=1")[0]["job"]


def running(c, *units):
    eventually(lambda: [c.row(u)["active"] for u in units] == ["active"] * len(units), what=f"{units} run")


def forget(c):
    for node in c.nodes:
        unit_run(node, "sh -c 'podman network prune -f'")


def test_who_shares_it_goes_along(c: Cluster):
    network(c, 7)
    write(c, "web.container", BOX)
    write(c, "app.container", BOX + "[X-Argosy]\nMachineOf=web.service\n")
    c.ctl("start ./boxes/web.container ./boxes/app.container", "n1")
    node = c.node(c.row("web.service")["node"])
    assert subnet(node) == "10.99.7.0/24"
    before = c.invocation("app")
    network(c, 8)
    said = c.ctl_result("start --replace ./boxes/web.container", "n1")
    assert said.status == 0 and "app.service" in said.out + said.err, said
    running(c, "web.service", "app.service")
    assert subnet(node) == "10.99.8.0/24" and users(node) == ["systemd-app", "systemd-web"]
    assert c.invocation("app") != before
    assert "Subnet=10.99.8.0/24" in c.ctl("cat app")
    shown = node.run("systemctl show --value -p ActiveState,NeedDaemonReload front-network.service web.service app.service")
    assert shown.split() == ["active", "no"] * 3
    c.ctl(f"undo {last_job(c)}")
    running(c, "web.service", "app.service")
    assert subnet(node) == "10.99.7.0/24" and users(node) == ["systemd-app", "systemd-web"]
    c.ctl("destroy web app")
    forget(c)


def test_two_nodes_have_two_networks_of_a_name(c: Cluster):
    for node, last in (("n2", 7), ("n3", 8)):
        write(c, f"on-{node}/front.network", f"[Network]\nSubnet=10.99.{last}.0/24\n")
        write(c, f"on-{node}/at-{node}.container", BOX + f"[X-Argosy]\nHost={node}\n")
        c.ctl(f"start ./boxes/on-{node}/at-{node}.container", "n1")
    assert subnet(c.node("n2")) == "10.99.7.0/24" and subnet(c.node("n3")) == "10.99.8.0/24"
    write(c, "on-n2/late.container", BOX + "[X-Argosy]\nHost=n3\n")
    c.ctl_fails("start ./boxes/on-n2/late.container", "n1", saying="n3: at-n3.service there has another network front")
    assert "n3: at-n3.service there has another network front" in c.ctl_result("why late", "n1").out
    c.ctl("destroy late")
    write(c, "on-n2/late.container", BOX + "[X-Argosy]\nHost=n2 n3\n")
    c.ctl("start ./boxes/on-n2/late.container", "n1")
    assert c.row("late.service")["node"] == "n2" and users(c.node("n2")) == ["systemd-at-n2", "systemd-late"]
    # one of the two changes: it is another network for who has the same one, and for nobody else
    other = c.invocation("at-n3")
    write(c, "on-n2/front.network", "[Network]\nSubnet=10.99.9.0/24\n")
    c.ctl("update ./boxes/on-n2/at-n2.container", "n1", timeout=120)
    running(c, "at-n2.service", "late.service", "at-n3.service")
    assert subnet(c.node("n2")) == "10.99.9.0/24" and "Subnet=10.99.9.0/24" in c.ctl("cat late")
    assert subnet(c.node("n3")) == "10.99.8.0/24" and c.invocation("at-n3") == other
    # who runs there does not come to the other one
    write(c, "on-n2/plain.container", BOX.replace("Network=front.network\n", "") + "[X-Argosy]\nHost=n3\n")
    c.ctl("start ./boxes/on-n2/plain.container", "n1")
    plain = c.invocation("plain")
    write(c, "on-n2/plain.container", BOX + "[X-Argosy]\nHost=n3\n")
    c.ctl_fails("start --replace ./boxes/on-n2/plain.container", "n1", saying="at-n3.service there has another network front")
    assert c.invocation("plain") == plain
    c.ctl("destroy at-n2 at-n3 late plain")
    forget(c)


def test_a_plan_of_a_folder_names_who_shares_it(c: Cluster):
    network(c, 7)
    write(c, "app.container", BOX + "[X-Argosy]\nHost=n2\n")
    write(c, "idle.container", BOX)
    c.ctl("start ./boxes/app.container", "n1")
    c.ctl("submit ./boxes/idle.container", "n1")
    write(c, "shop/web.container", BOX + "[X-Argosy]\nHost=n2\n")
    for last in (7, 8):
        write(c, "shop/front.network", f"[Network]\nSubnet=10.99.{last}.0/24\n")
        said = c.ctl_result("apply --plan ./boxes/shop", "n1")
        assert said.status == 5, said
        if last == 7:
            assert "shares" not in said.out, said
            c.ctl("apply ./boxes/shop", "n1")
    assert "app.service: shares front.network, which changes: stops and starts again, on n2" in said.out, said
    assert "idle.service: shares front.network, which changes: gets its new file" in said.out, said
    before = c.invocation("app")
    c.ctl("apply ./boxes/shop", "n1")
    running(c, "web.service", "app.service")
    assert c.invocation("app") != before and subnet(c.node("n2")) == "10.99.8.0/24"
    assert "Subnet=10.99.8.0/24" in c.ctl("cat idle")
    assert c.ctl_result("apply --plan ./boxes/shop", "n1").status == 0
    c.ctl("destroy web app idle")
    forget(c)


def test_an_update_takes_one_node_after_the_other(c: Cluster):
    network(c, 7)
    write(c, "work@.container", BOX + "[X-Argosy]\nMaxUnavailable=1\n")
    write(c, "app.container", BOX + "[X-Argosy]\nHost=n2\n")
    write(c, "idle.container", BOX)
    c.ctl("start ./boxes/work@{1..6}.container ./boxes/app.container", "n1")
    c.ctl("submit ./boxes/idle.container", "n1")
    for name in ("n1", "n2", "n3"):
        assert subnet(c.node(name)) == "10.99.7.0/24"
    app = c.invocation("app")
    network(c, 8)
    c.ctl("update ./boxes/work@.container", "n1", timeout=120)
    running(c, *[f"work@{i}.service" for i in range(1, 7)], "app.service")
    for name in ("n1", "n2", "n3"):
        assert subnet(c.node(name)) == "10.99.8.0/24"
    assert c.invocation("app") != app
    for unit in ("work@3", "app", "idle"):
        assert "Subnet=10.99.8.0/24" in c.ctl(f"cat {unit}")
    c.ctl(f"undo {last_job(c)}", timeout=120)
    running(c, *[f"work@{i}.service" for i in range(1, 7)], "app.service")
    for name in ("n1", "n2", "n3"):
        assert subnet(c.node(name)) == "10.99.7.0/24"
    c.ctl("destroy work@{1..6} app idle")
    forget(c)


def test_a_network_that_cannot_be_goes_back(c: Cluster):
    network(c, 7)
    write(c, "web.container", BOX + "[X-Argosy]\nHost=n2\n")
    write(c, "app.container", BOX + "[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/web.container ./boxes/app.container", "n1")
    n2 = c.node("n2")
    unit_run(n2, "podman network create --subnet 10.99.9.0/24 taken")
    network(c, 9)
    c.ctl_fails("start --replace ./boxes/web.container", "n1", saying="web.service")
    running(c, "web.service", "app.service")
    assert subnet(n2) == "10.99.7.0/24" and users(n2) == ["systemd-app", "systemd-web"]
    for unit in ("web", "app"):
        assert "Subnet=10.99.7.0/24" in c.ctl(f"cat {unit}")
    c.ctl_fails("update ./boxes/web.container", "n1", saying="web.service")
    running(c, "web.service", "app.service")
    assert subnet(n2) == "10.99.7.0/24" and users(n2) == ["systemd-app", "systemd-web"]
    unit_run(n2, "podman network rm taken")
    c.ctl("destroy web app")
    forget(c)


def test_a_network_that_others_have_stays(c: Cluster):
    network(c, 7)
    write(c, "web.container", BOX + "[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/web.container", "n1")
    n2, before = c.node("n2"), c.invocation("web")
    n2.run(f"systemd-run --unit=byhand podman run {podman_args()} --rm --name byhand --network systemd-front localhost/box:1 sleep infinity")
    eventually(lambda: "byhand" in users(n2))
    network(c, 8)
    c.ctl_fails("start --replace ./boxes/web.container", "n1", saying=("byhand", "is not argosy's"))
    assert c.invocation("web") == before and subnet(n2) == "10.99.7.0/24"
    # `podman run --rm` that is stopped while it removes its container leaves it there
    n2.run("podman rm --force --time 0 --ignore byhand; systemctl stop byhand || true")
    eventually(lambda: "byhand" not in unit_run(n2, "podman ps -a --format '{{.Names}}'"))
    c.ctl("start --replace ./boxes/web.container", "n1")
    assert subnet(n2) == "10.99.8.0/24"
    c.ctl("destroy web")
    forget(c)


def test_power_is_cut_in_the_middle(c: Cluster):
    network(c, 7)
    write(c, "web.container", BOX + "[X-Argosy]\nHost=n2\n")
    write(c, "app.container", BOX + "[X-Argosy]\nHost=n2\n")
    c.ctl("start ./boxes/web.container ./boxes/app.container", "n1")
    n2 = c.node("n2")
    network(c, 8)
    # what podman has still when the power is cut between the making of a container and its start
    n2.run("podman create --name=left --label=PODMAN_SYSTEMD_UNIT=app.service --network=systemd-front localhost/box:1 true")
    c.ctl("start --replace --no-block ./boxes/web.container", "n1")
    n2.kill()
    n2.boot()
    c.wait_online()
    running(c, "web.service", "app.service")
    assert subnet(n2) == "10.99.8.0/24" and users(n2) == ["systemd-app", "systemd-web"]
    network(c, 9)
    c.ctl("start --replace --no-block ./boxes/app.container", "n1")
    n2.run("systemctl kill -s KILL argosyd; systemctl start argosyd")
    eventually(lambda: subnet(n2) == "10.99.9.0/24")
    running(c, "web.service", "app.service")
    assert users(n2) == ["systemd-app", "systemd-web"]
    c.ctl("destroy web app")
    forget(c)


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True)
