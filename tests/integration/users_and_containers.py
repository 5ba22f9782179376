# SPDX-License-Identifier: LGPL-2.1-or-later
"""Managers of users and containers on the nodes of a testbed: how they come to be there, and how they are attached."""

from lib import eventually

# The nodes have neither logind nor PAM's module of systemd.
USER_UNIT = "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
RUNTIME_DIR_UNIT = """[Service]
ExecStart=
ExecStart=/bin/install -d -m 700 -o %i -g %i /run/user/%i
ExecStop=
ExecStop=/bin/rm -rf /run/user/%i
"""

# What systemd-nspawn does, as far as it matters here: namespaces, a /run and a control group of its own. What is
# temporary is its own, too: its systemd removes what that of the node has there.
CONTAINER_UNIT = """[Service]
EnvironmentFile=-/root/how
ExecStart=/usr/bin/unshare $HOW --mount --pid --cgroup --ipc --uts --fork --kill-child --mount-proc /root/container
Delegate=yes
KillMode=control-group
KillSignal=SIGKILL
"""
CONTAINER = """#!/bin/sh
mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /var/tmp && { test ! -d /var/log/journal || mount -t tmpfs tmpfs /var/log/journal; } && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && mount -t cgroup2 none /sys/fs/cgroup
export container=test
exec /lib/systemd/systemd --unit=inside.target
"""
INSIDE_TARGET = "[Unit]\nDefaultDependencies=no\n"


def prepare_users(node):
    node.write("/etc/systemd/system/user@.service.d/test.conf", USER_UNIT)
    node.write("/etc/systemd/system/user-runtime-dir@.service.d/test.conf", RUNTIME_DIR_UNIT)
    node.run("systemctl daemon-reload")
    for uid in (1001, 1002):
        node.run(f"id u{uid} >/dev/null 2>&1 || useradd -m -u {uid} u{uid}")
        node.run(f"systemctl restart user-runtime-dir@{uid} user@{uid}")


def prepare_container(node, user_namespace=False):
    """Returns the pid of its init."""
    node.write("/root/how", f"HOW={'--user --map-root-user' if user_namespace else ''}\n")
    node.write("/root/container", CONTAINER)
    node.write("/etc/systemd/system/box.service", CONTAINER_UNIT)
    node.write("/etc/systemd/system/inside.target", INSIDE_TARGET)
    node.run("chmod +x /root/container; systemctl daemon-reload; systemctl restart box")
    main_pid = node.run("systemctl show --property=MainPID --value box").strip()
    pid = eventually(lambda: node.run(f"cat /proc/{main_pid}/task/{main_pid}/children").split()[0])
    # Until it is systemd, its /run may still be that of the node, where there is such a socket.
    eventually(lambda: node.run(f"grep -qx systemd /proc/{pid}/comm && test -S /proc/{pid}/root/run/systemd/private && echo there"))
    node.run("mkdir -p /run/systemd/machines")
    node.write("/run/systemd/machines/web", f"# as systemd-machined writes it\nNAME=web\nLEADER={pid}\n")
    return int(pid)


def user_run(node, uid, command):
    return node.run(f"setpriv --reuid {uid} --regid {uid} --clear-groups env XDG_RUNTIME_DIR=/run/user/{uid} {command}")


def user_active(node, uid, unit):
    return user_run(node, uid, f"sh -c 'systemctl --user is-active {unit}; true'").strip() == "active"


def state(c, node):
    return c.node_states()[node]


def attach(c, node, *managers):
    for manager in managers:
        c.ctl(f"manager attach {manager}", on=node)
        name = f"{node.name}/{manager.removeprefix('container@')}"
        assert state(c, name) == "online", c.node_states()


def detach_all(c, node, options=""):
    for row in c.json("manager list", on=node):
        if row["origin"] == "attached":
            c.ctl(f"manager detach {options} {row['manager']}", on=node)
            assert f"{node.name}/{row['manager'].removeprefix('container@')}" not in c.node_states()


def shown(c, unit):
    return {row["node"]: row["active"] for row in c.rows(unit)}


def clean_up(c, *services):
    """After every test, also one that failed: the nodes have no manager but the system's, and none of these services and no container
    goes on. With one that is attached, but not there any more, no other test could begin."""
    c.power_everything()
    for node in c.nodes:
        node.run("systemctl start argosyd")
        eventually(lambda: c.reaches_the_leader(node))  # noqa: B023
        detach_all(c, node, "--force")
        node.run(f"systemctl stop box {' '.join(services)} 2>/dev/null; systemctl reset-failed")
