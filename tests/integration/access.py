#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who may do what: users of the nodes with rights and without, on a voter and on a host without a log."""

import json
import shlex

from lib import SLEEPER, Cluster, Running, eventually, main

UIDS = {"ann": 1001, "ben": 1002}
WEB = SLEEPER + "[X-Argosy]\nRole=web\n"
TALKER = "[Service]\nExecStart=/bin/sh -c 'while sleep 0.2; do echo more; done'\n"


def make_users(c):
    for node in c.nodes:
        for name, uid in UIDS.items():
            node.run(f"id {name} 2>/dev/null || useradd --uid {uid} {name}")
        node.run("getent group operators >/dev/null || groupadd --gid 1100 operators")


def argv(name, command, groups=()):
    uid = UIDS[name]
    more = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", more, "argosyctl", *shlex.split(command)]


def ask(node, name, command, groups=()):
    return node.exec(argv(name, command, groups), timeout=60)


def succeeds(node, name, command, groups=()):
    result = ask(node, name, command, groups)
    assert result.status == 0, f"{name} on {node.name}: {command}: {result.status}\n{result.err}{result.out}"
    return result.out


def fails(node, name, command, *saying, groups=()):
    result = ask(node, name, command, groups)
    assert result.status != 0, f"{name} on {node.name} may {command}:\n{result.out}"
    for words in saying:
        assert words in result.err, f"{name} on {node.name}: {command} does not say \"{words}\":\n{result.err}{result.out}"


def mode(node):
    return node.run("stat -c %a /run/argosy/argosy.sock").strip()


def open_everywhere(c):
    eventually(lambda: all(mode(node) == "666" for node in c.nodes))


def closed_everywhere(c):
    eventually(lambda: all(mode(node) == "660" for node in c.nodes))


def units_of_two_roles(c):
    make_users(c)
    c.ctl("role set web")
    c.start("web", WEB)
    c.start("db", SLEEPER)


def take_all_back(c):
    """Rights stay when units go."""
    for row in json.loads(c.ctl("access list --json=short")):
        if row["group"] == "argosy":
            continue
        who = f"group:{row['group']}" if row["group"] else f"user:{row['user']}@{row['host'] or ''}"
        c.ctl(f"access revoke {row['right']} from {who}" + (f" on role {row['role']}" if row["role"] else ""))


def test_nobody_else_can_use_the_socket_until_somebody_may_do_something(c: Cluster):
    units_of_two_roles(c)
    for node in c.nodes:
        fails(node, "ann", "list-units", "Permission denied")
    c.ctl("access grant view to user:ann")
    open_everywhere(c)
    for node in c.nodes:
        succeeds(node, "ann", "list-units")
        fails(node, "ben", "list-units", "ben has no rights in this cluster")
        fails(node, "ann", "stop web", "'operate'")
        fails(node, "ann", "access grant admin to user:ann", "'admin'")
        fails(node, "ann", "cluster leave --force", "'admin'")
        fails(node, "ann", "stop --local web", "'operate'")
    c.node("n1").run("systemctl restart argosyd")
    c.wait_online()
    open_everywhere(c)
    succeeds(c.node("n1"), "ann", "list-units")
    c.ctl("access revoke view from user:ann")
    closed_everywhere(c)
    for node in c.nodes:
        fails(node, "ann", "list-units", "Permission denied")


def test_who_may_see_one_role_sees_that_and_no_other(c: Cluster):
    units_of_two_roles(c)
    c.ctl("access grant view to user:ann on role web")
    open_everywhere(c)
    for node in c.nodes:
        seen = succeeds(node, "ann", "list-units") + succeeds(node, "ann", "list-unit-files")
        assert "web.service" in seen and "db.service" not in seen, seen
        assert "ExecStart=" in succeeds(node, "ann", "cat web")
        succeeds(node, "ann", "status web")
        fails(node, "ann", "status db", "'view'")
        fails(node, "ann", "cat db", "'view'")
        fails(node, "ann", "journal db", "'view'")
        jobs = succeeds(node, "ann", "list-jobs --no-legend")
        assert "web" in jobs and "db" not in jobs and "grant" not in jobs, jobs
        usage = succeeds(node, "ann", "top --iterations=1 --batch")
        assert "web.service" in usage and "db.service" not in usage, usage
        fails(node, "ann", "list-nodes", "'view'")
    c.ctl("access revoke view from user:ann on role web")
    closed_everywhere(c)


def test_members_of_a_group_operate_and_bring_nothing(c: Cluster):
    units_of_two_roles(c)
    c.ctl("access grant operate to group:operators on role web")
    open_everywhere(c)
    for node in c.nodes:
        succeeds(node, "ben", "restart web", groups=[1100])
        fails(node, "ben", "restart db", "'operate'", groups=[1100])
        node.write("/tmp/new.service", WEB)
        fails(node, "ben", "start /tmp/new.service", "'deploy'", groups=[1100])
        fails(node, "ben", "start --replace /tmp/new.service", "'deploy'", groups=[1100])
        fails(node, "ben", "restart web", "ben has no rights")
    assert "new.service" not in c.known()
    c.ctl("access revoke operate from group:operators on role web")
    closed_everywhere(c)


def test_a_user_of_one_host_is_nobody_on_another(c: Cluster):
    units_of_two_roles(c)
    c.ctl("access grant operate to user:ann@n2")
    open_everywhere(c)
    succeeds(c.node("n2"), "ann", "restart db")
    fails(c.node("n1"), "ann", "restart db", "ann has no rights")
    job = c.ctl("list-jobs --limit=1 --no-legend")
    assert "ann@n2" in job, job
    c.ctl("access revoke operate from user:ann@n2")
    closed_everywhere(c)


def test_who_loses_his_right_hears_no_more(c: Cluster):
    units_of_two_roles(c)
    c.ctl("access grant view to user:ann")
    open_everywhere(c)
    following = [Follower(node) for node in c.nodes]
    c.ctl("access revoke view from user:ann")
    for follower in following:
        follower.ends()
    closed_everywhere(c)


def test_a_unit_of_another_role_is_not_listened_to_any_more(c: Cluster):
    units_of_two_roles(c)
    c.start("talker", TALKER + "[X-Argosy]\nRole=web\n")
    c.ctl("access grant view to user:ann on role web")
    open_everywhere(c)
    following = [Follower(node, "talker") for node in c.nodes]
    assert all("more" in follower.line() for follower in following)
    c.node("n1").write("/root/units/talker.service", TALKER)
    c.ctl("start --replace /root/units/talker.service", on=c.node("n1"))
    for follower in following:
        follower.ends()
    fails(c.node("n1"), "ann", "journal talker", "talker.service: this needs the right 'view' on it")


class Follower:
    """ann, who follows a journal."""

    def __init__(self, node, unit="web"):
        self._running = Running(node, argv("ann", f"journal --follow --lines=0 {unit}"))
        eventually(lambda: node.run("pgrep -u ann argosyctl"))

    def line(self):
        return self._running.line()

    def ends(self):
        assert self._running.result().status != 0


def test_the_group_of_the_socket_can_lose_what_it_has(c: Cluster):
    units_of_two_roles(c)
    argosy = int(c.node("n2").run("getent group argosy | cut -d: -f3"))
    succeeds(c.node("n2"), "ann", "list-units", groups=[argosy])
    c.ctl("access revoke admin from group:argosy")
    try:
        eventually(lambda: ask(c.node("n2"), "ann", "counters", groups=[argosy]).status != 0)
        for node in c.nodes:
            fails(node, "ann", "list-units", "ann has no rights", groups=[argosy])
            fails(node, "ann", "cluster leave --force", "ann has no rights", groups=[argosy])
        assert mode(c.node("n2")) == "660"
    finally:
        c.ctl("access grant admin to group:argosy")
    eventually(lambda: ask(c.node("n2"), "ann", "counters", groups=[argosy]).status == 0)


def test_a_restart_gives_no_right_back(c: Cluster):
    """Neither to a host without a log, nor while nobody leads."""
    units_of_two_roles(c)
    leader, other = c.node("n1"), c.node("n2")
    argosy = int(other.run("getent group argosy | cut -d: -f3"))
    c.ctl("access revoke admin from group:argosy")
    try:
        eventually(lambda: ask(other, "ann", "counters", groups=[argosy]).status != 0)
        leader.run("systemctl stop argosyd.socket argosyd.service")
        other.run("systemctl restart argosyd")
        fails(other, "ann", "cluster leave --force", "ann has no rights", groups=[argosy])
    finally:
        leader.run("systemctl start argosyd.socket argosyd.service")
        c.wait_online()
        c.ctl("access grant admin to group:argosy")


def test_who_may_see_a_role_watches_its_units(c):
    units_of_two_roles(c)
    c.ctl("access grant view to user:ann on role web")
    open_everywhere(c)
    for node in c.nodes:
        fails(node, "ben", "watch --since=0", "ben has no rights")
        watch = Running(node, argv("ann", "watch --since=0 --json=short"))
        seen = []
        while not seen or seen[-1].get("word") != "complete":
            line = watch.line()
            assert line, f"the watch ended: {seen}"
            seen.append(json.loads(line))
        assert {event["unit"] for event in seen if event["kind"] in ("unit", "state")} == {"web.service"}
        assert not {"node", "role", "grant", "pool"} & {event["kind"] for event in seen}
        c.ctl("stop db")
        c.ctl("stop web")
        while seen[-1].get("active") != "inactive":
            seen.append(json.loads(watch.line()))
        assert all(event.get("unit", "web.service") == "web.service" for event in seen)
        watch.kill()
        c.ctl("start db web")


if __name__ == "__main__":
    main(nodes=2, voters=1, after=take_all_back)
