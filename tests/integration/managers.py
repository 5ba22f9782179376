#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One argosyd serves the managers of users and containers too, each as a node of its own; none of them can harm anybody else."""

import json

from lib import KEPT, ONE_SHOT, QUICK, SLEEPER, Cluster, eventually, main, stays
from users_and_containers import attach, clean_up, detach_all, prepare_container, prepare_users, shown, state, user_active, user_run

FOR_USERS = SLEEPER + "[X-Argosy]\nManager=user@*\n"
FOR_WEB = SLEEPER + "[X-Argosy]\nManager=container@web\n"


def top(c, count, options=""):
    """The rows of units in managers that are not the system's, if there are so many."""
    found = json.loads(c.ctl(f"top --json=short --delay=200ms --fields=unit,node,tasks,cpu-time {options}"))
    found = {(row["unit"], row["node"]): row for row in found if "/" in row["node"]}
    return len(found) == count and found


def test_units_run_in_managers_of_users_and_containers(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    pid = prepare_container(node)
    attach(c, node, "user@1001", "user@1002", "container@web")
    c.start("mine@{1..4}", FOR_USERS)
    c.start("inside", FOR_WEB)
    c.start("plain", KEPT)
    assert {row["node"] for row in c.rows("mine@*")} == {"n1/user@1001", "n1/user@1002"}
    assert shown(c, "inside.service") == {"n1/web": "active"}
    assert shown(c, "plain.service").keys() <= {"n1", "n2"}
    for row in c.rows("mine@*"):
        assert user_active(node, row["node"].partition("@")[2], row["unit"]), row
    assert node.run(f"nsenter -t {pid} -m -p systemctl is-active inside.service").strip() == "active"
    owner = node.run("stat -c %U /run/user/1001/systemd/user/mine@.service /run/user/1002/systemd/user/mine@.service").split()
    assert owner == ["u1001", "u1002"], owner
    # What they use is known of all of them.
    used = eventually(lambda: top(c, 5)).copy()
    assert used.keys() == {(row["unit"], row["node"]) for row in c.rows("mine@*") + c.rows("inside.service")}, used
    assert all(row["tasks"] == 1 and row["cpu-time"] is not None for row in used.values()), used
    assert top(c, 1, "--node=n1/web").keys() == {("inside.service", "n1/web")}
    # A restart of argosyd disturbs nothing, and it finds everything again.
    before = node.run("pgrep -x sleep").split()
    node.run("systemctl restart argosyd")
    eventually(lambda: state(c, "n1/user@1001") == state(c, "n1/web") == "online")
    eventually(lambda: set(shown(c, "mine@*").values()) == {"active"} and shown(c, "inside.service") == {"n1/web": "active"})
    assert node.run("pgrep -x sleep").split() == before
    c.ctl("stop inside 'mine@1'")
    assert shown(c, "inside.service") == {"n1/web": "inactive"}
    # Detaching takes away what is there, and nothing else.
    c.ctl("manager detach container@web user@1001", on=node)
    assert "mine@" not in node.run("ls /run/user/1001/systemd/user")
    assert node.run("ls -A /run/argosy/managers").split() == ["user@1002"]
    assert c.node_states().keys() == {"n1", "n2", "n1/user@1002"}
    eventually(lambda: {row["node"] for row in c.rows("mine@*")} == {"n1/user@1002"})
    assert shown(c, "plain.service").keys() <= {"n1", "n2"}
    detach_all(c, node)


def test_attach_and_detach_return_when_the_whole_cluster_knows(c: Cluster):
    node, other = c.node("n1"), c.node("n2")
    prepare_users(node)
    # Directly after each other, and asked elsewhere: nothing is in between.
    for _ in range(3):
        node.run("argosyctl manager attach user@1001 user@1002")
        assert c.node_states(on=other) == dict.fromkeys(("n1", "n2", "n1/user@1001", "n1/user@1002"), "online")
        c.start("mine", FOR_USERS)
        node.run("argosyctl manager detach user@1001 user@1002")
        assert c.node_states(on=other).keys() == {"n1", "n2"}
        assert c.rows("mine")[0]["node"] == "-", c.rows("mine")
        assert "n1/user@" not in c.ctl_result("status mine").out + c.ctl_result("why mine").out
        c.ctl("destroy mine")
    # While it is at it, everybody says the same.
    node.run("argosyctl manager attach user@1001; rm -f /home/u1001/go; chmod 755 /home/u1001")
    c.start("slow", FOR_USERS.replace("ExecStart=", "ExecStop=/bin/sh -c 'until test -e /home/u1001/go; do sleep 0.05; done'\nExecStart="))
    node.run("systemd-run --quiet --unit=detach argosyctl manager detach user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    for verb in ("status", "why"):
        said = c.ctl_result(f"{verb} slow").out
        assert "the manager is being detached" in said and "deactivating" not in said, said
    node.run("touch /home/u1001/go")
    eventually(lambda: c.node_states().keys() == {"n1", "n2"})
    eventually(lambda: "detach.service" not in node.run("systemctl list-units --all detach.service"))
    c.ctl("destroy slow")
    # One that cannot be reached is attached all the same, and the reason is said.
    node.run("systemctl stop user@1001")
    said = node.run("argosyctl manager attach user@1001 2>&1")
    assert "n1/user@1001 cannot be used at present: " in said, said
    assert state(c, "n1/user@1001") == "offline"
    detach_all(c, node)
    # Without a leader the host does it, and that is all that is said.
    prepare_users(other)
    node.kill()
    said = other.run("argosyctl --timeout=1s manager attach user@1002 2>&1; echo $?")
    assert "user@1002 is attached on this host, but the cluster may not show it yet: " in said and said.endswith("\n1\n"), said
    node.boot()
    eventually(lambda: c.node_states().get("n2/user@1002") == "online")
    detach_all(c, other)


def test_a_user_who_logs_out_and_in_again_gets_his_units_back(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001")
    c.start("mine", FOR_USERS)
    c.start("done", ONE_SHOT.replace("/root/runs", "/tmp/runs") + "[X-Argosy]\nManager=user@1001\n")
    node.run("systemctl stop user@1001 user-runtime-dir@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    assert shown(c, "mine.service") == {"n1/user@1001": "unknown"}
    [row] = [row for row in c.json("list-nodes") if row["node"] == "n1/user@1001"]
    assert "not running" in row["reason"], row
    c.ctl_fails("start mine", saying="not running")
    assert state(c, "n1") == "online"
    node.run("systemctl start user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    eventually(lambda: user_active(node, 1001, "mine.service"))
    assert node.run("wc -l </tmp/runs").strip() == "1", "a one-shot ran again"
    # The same when the machine is switched off and on.
    node.kill()
    node.boot()
    eventually(lambda: state(c, "n1") == "online")
    assert [row["manager"] for row in c.json("manager list", on=node)] == ["system", "user@1001"]
    node.run("systemctl start user@1001")
    eventually(lambda: user_active(node, 1001, "mine.service"))
    c.ctl("destroy mine done")
    detach_all(c, node)


def test_a_plan_asks_the_managers_of_users_and_containers_whose_the_names_are(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    prepare_container(node)
    attach(c, node, "user@1001", "user@1002", "container@web")

    def plan(unit):
        [row] = c.json(f"plan {unit}")
        return row

    user_run(node, 1001, "sh -c 'mkdir -p /home/u1001/.config/systemd/user && printf \"[Service]\\nExecStart=/bin/true\\n\" "
             ">/home/u1001/.config/systemd/user/mine.service'")
    c.submit("mine.service", FOR_USERS)
    assert plan("mine")["node"] == "n1/user@1002", plan("mine")
    assert node.exec(["test", "-e", "/run/user/1002/systemd/user"]).status != 0, "to ask has changed something"
    # Everywhere: with the reasons that the start then gives.
    user_run(node, 1002, "systemd-run --user --quiet --unit=mine sleep infinity")
    planned = plan("mine")
    said = {refusal["node"]: refusal["reason"] for refusal in planned["refusals"]}
    assert "would wait for a node" in planned["message"], planned
    assert "/home/u1001/.config/systemd/user/mine.service" in said["n1/user@1001"] and "already active" in said["n1/user@1002"], said
    failed = c.ctl_fails("start --timeout=60s mine", saying=["n1/user@1001: ", "n1/user@1002: "])
    for name, reason in said.items():
        assert f"{name}: {reason}" in failed.err, (failed.err, said)
    c.ctl("destroy mine")
    user_run(node, 1002, "systemctl --user stop mine")
    node.run("rm /home/u1001/.config/systemd/user/mine.service")
    # A container, which has a file of the image; and one that is not running.
    node.write("/etc/systemd/system/inside.service", SLEEPER)
    c.submit("inside.service", FOR_WEB)
    assert "/etc/systemd/system/inside.service" in json.dumps(plan("inside")["refusals"]), plan("inside")
    node.run("rm /etc/systemd/system/inside.service")
    assert plan("inside")["node"] == "n1/web"
    node.run("systemctl stop box")
    eventually(lambda: any(row["node"] == "n1/web" and "not running" in row["reason"] for row in c.json("list-nodes")))
    planned = plan("inside")
    assert planned["message"] == "would wait for a node" and "not running" in json.dumps(planned["refusals"]), planned
    c.ctl_fails("start --timeout=10s inside", saying="not running")
    c.ctl("destroy inside")
    detach_all(c, node)


def test_a_hostile_user_harms_nobody_else(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001", "user@1002")
    node.run("rm -rf /etc/argosy-bait; mkdir -m 777 /etc/argosy-bait")
    # Directory, then file, then drop-in directory are links to somewhere else; what root could write there stays unwritten.
    user_run(node, 1001, "rm -rf /run/user/1001/systemd/user")
    user_run(node, 1001, "ln -s /etc/argosy-bait /run/user/1001/systemd/user")
    c.ctl_fails("start " + submit(c, "trap", 1001), saying="cannot write its file in /run/user/1001")
    user_run(node, 1001, "rm /run/user/1001/systemd/user")
    user_run(node, 1001, "mkdir -p /run/user/1001/systemd/user")
    user_run(node, 1001, "ln -s /etc/argosy-bait/file /run/user/1001/systemd/user/link.service")
    c.ctl_fails("start " + submit(c, "link", 1001), saying="belongs to somebody else")
    user_run(node, 1001, "mkfifo /run/user/1001/systemd/user/fifo.service")
    c.ctl_fails("start " + submit(c, "fifo", 1001), saying="belongs to somebody else")
    assert node.run("ls -A /etc/argosy-bait") == ""
    # The socket leads to the system's manager, or to another user's: nobody talks to it.
    user_run(node, 1001, "mv /run/user/1001/systemd/private /run/user/1001/systemd/kept")
    user_run(node, 1001, "ln -s /run/systemd/private /run/user/1001/systemd/private")
    node.run("systemctl restart argosyd")
    eventually(lambda: state(c, "n1/user@1001") == "offline" and state(c, "n1") == "online")
    user_run(node, 1001, "rm /run/user/1001/systemd/private")
    user_run(node, 1001, "mv /run/user/1001/systemd/kept /run/user/1001/systemd/private")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    # A manager that is stopped in the middle holds up nobody.
    node.run("systemctl kill --signal=STOP --kill-whom=main user@1001")
    c.start("good", SLEEPER + "[X-Argosy]\nManager=user@1002\n")
    c.start("plain", SLEEPER)
    node.run("systemctl kill --signal=CONT --kill-whom=main user@1001")
    # One that crashes takes its own units along, and comes back.
    node.run("systemctl kill --signal=KILL --kill-whom=all user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    assert shown(c, "good.service") == {"n1/user@1002": "active"}
    node.run("systemctl reset-failed; systemctl restart user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    c.ctl("destroy trap link fifo good plain")
    detach_all(c, node)


def test_a_crash_runs_no_one_shot_of_a_user_twice(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001")
    node.write("/home/u1001/job", "#!/bin/sh\necho ran >>/home/u1001/runs\nwhile [ ! -e /home/u1001/go ]; do sleep 0.05; done\n")
    node.run("chmod 755 /home/u1001 /home/u1001/job; rm -f /home/u1001/go /home/u1001/runs")
    c.submit("job.service", "[Service]\nType=oneshot\nLogLevelMax=notice\nExecStart=/home/u1001/job\n[X-Argosy]\nManager=user@1001\n")
    c.ctl("start --no-block job")
    eventually(lambda: node.run("cat /home/u1001/runs"))
    node.run("systemctl kill -s STOP argosyd; systemctl stop --no-block argosyd.socket argosyd.service; systemctl kill -s KILL argosyd")
    eventually(lambda: node.run("systemctl is-active argosyd || true").strip() in ("inactive", "failed"))
    node.run("touch /home/u1001/go")
    eventually(lambda: user_run(node, 1001, "systemctl --user show --value --property=ActiveState job").strip() == "inactive")
    node.run("systemctl reset-failed argosyd; systemctl start argosyd.socket argosyd.service")
    eventually(lambda: "has finished" in c.ctl_result("why job").out)
    assert node.run("cat /home/u1001/runs") == "ran\n", "it was run again"
    c.ctl("destroy job")
    detach_all(c, node)


def searches(node):
    return json.loads(node.run("argosyctl counters --json=short"))["searches"]


def test_what_hides_the_file_of_a_unit_that_is_not_loaded_is_shown(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    pid = prepare_container(node)
    attach(c, node, "user@1001", "container@web")
    mine = SLEEPER + "[X-Argosy]\nManager=user@1001\n"
    before = searches(node)
    c.start("m1 w@1 w@2", mine)
    c.start("m2", FOR_WEB)
    c.ctl("stop w@1")
    c.ctl("destroy w@1")
    c.start("w@1", mine)
    assert searches(node) == before, "our own batches cost nothing"

    def theirs(command):
        return user_run(node, 1001, f"systemctl --user {command}")

    def inside(command):
        return node.run(f"nsenter -t {pid} -m -p systemctl {command}")

    for systemctl, unit in (theirs, "m1"), (inside, "m2"):
        systemctl(f"stop {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        systemctl(f"mask {unit}")
        eventually(lambda: c.shown(unit) == "masked inactive dead")  # noqa: B023
        c.ctl_fails(f"start {unit}", saying="masked")
        systemctl(f"unmask {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        # Nobody reloads: systemd alone says that something changed.
        systemctl(f"mask --no-reload {unit}")
        eventually(lambda: c.shown(unit) == "masked inactive dead")  # noqa: B023
        systemctl(f"unmask --no-reload {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        c.ctl(f"start {unit}")
        assert c.shown(unit) == "loaded active running"

    # A file that went unseen shows at the next reload. A template's file is that of its instances, also when it is back.
    theirs("stop w@1 w@2")
    user_run(node, 1001, "rm /run/user/1001/systemd/user/w@.service")
    theirs("daemon-reload")
    eventually(lambda: c.shown("w@1") == c.shown("w@2") == "not-found inactive dead")
    c.ctl("start w@1")
    eventually(lambda: (c.shown("w@1"), c.shown("w@2")) == ("loaded active running", "loaded inactive dead"))
    c.ctl("destroy m1 m2 w@1 w@2")
    detach_all(c, node)


def submit(c, name, uid):
    c.submit(f"{name}.service", SLEEPER + f"[X-Argosy]\nManager=user@{uid}\n")
    return name


def test_the_configuration_attaches_too(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    node.write("/etc/argosy/argosy.conf.d/60-managers.conf", "[Node]\nManagers=user@1001 user@1002\n")
    node.run("systemctl reload argosyd")
    eventually(lambda: state(c, "n1/user@1001") == state(c, "n1/user@1002") == "online")
    c.ctl_fails("manager detach user@1001", on=node, saying="argosy.conf")
    c.ctl_fails("manager attach user@1001", on=node, saying="attached already")
    c.ctl_fails("manager attach user@nobody-of-that-name", on=node, status=2, saying="no user")
    node.run("rm /etc/argosy/argosy.conf.d/60-managers.conf; systemctl reload argosyd")
    eventually(lambda: c.node_states().keys() == {"n1", "n2"})
    stays(lambda: c.node_states().keys() == {"n1", "n2"}, during=0.3)


main(nodes=2, conf=QUICK, after=lambda c: clean_up(c, "detach"))
