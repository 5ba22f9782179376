#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""argosyd is restarted, killed or shut down with its machine: units belong to systemd and do not notice, or move in good order."""

import shutil
import time
from contextlib import contextmanager

from lib import BUILD, ONE_SHOT, PATIENT, SLEEPER, Cluster, Running, eventually, main, stays

# A directory of users that does not answer (tests/lib/nss-hangs.c).
HANGS = BUILD / "tests/libnss_hangs.so"


def roles(c):
    """{"leader" or "voter" or "spare": node}"""
    return {row["role"]: c.node(row["node"]) for row in c.json("list-nodes")}


def test_restart_in_each_role_stops_nothing(c: Cluster):
    c.start("w@{1..12}")
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    before = c.invocations("w@*") | c.invocations("everywhere")
    for command in ["systemctl restart argosyd", "systemctl kill -s KILL argosyd"]:
        for role in ["leader", "voter", "spare"]:
            node = roles(c)[role]
            pid = node.argosyd_pid()
            node.run(command)
            eventually(lambda: node.argosyd_pid() != pid)
            c.wait_online()
    now = c.invocations("w@*") | c.invocations("everywhere")
    assert now == before
    c.ctl("stop 'w@*' everywhere")
    assert c.active("w@*") == {}, "after a restart it does not know its units any more"


def test_restarts_in_a_row_meet_no_limit_of_systemd(c: Cluster):
    node = c.followers()[0]
    for _ in range(8):  # systemd's own limit is 5 in 10 s, for each unit that is restarted with it, too
        node.run("systemctl restart argosyd")
    assert node.run("systemctl is-active argosyd argosyd.socket argosy-helper.socket").split() == ["active"] * 3
    c.wait_online()


ASKS = "touch /tmp/asks; until [ -e /run/hanging/{uid} ]; do sleep 0.05; done; exec argosyctl list-nodes"


@contextmanager
def asking_a_directory_that_hangs(node, uid):
    """That user asks argosyd for something, and who he is nobody there is told."""
    shutil.copy(HANGS, node.path("/usr/lib/libnss_hangs.so.2"))
    node.run("cp /etc/nsswitch.conf /root/; sed -i 's/^passwd:.*/passwd: files hangs/' /etc/nsswitch.conf; rm -f /tmp/asks")
    group = node.run("getent group argosy").split(":")[2]
    asks = Running(node, ["setpriv", f"--reuid={uid}", f"--regid={group}", "--clear-groups", "sh", "-c", ASKS.format(uid=uid)])
    try:
        eventually(lambda: node.run("ls /tmp/asks"), what="whoever begins it is past asking who that is")
        pid = node.argosyd_pid()
        node.run(f"mkdir /run/hanging; touch /run/hanging/{uid}")
        eventually(lambda: "libnss_hangs" in node.run(f"cat /proc/{pid}/maps"), what="argosyd asks who that is")
        yield
    finally:
        asks.kill()
        node.run("rm -rf /run/hanging; cp /root/nsswitch.conf /etc/")


def test_a_restart_waits_for_no_directory_of_users(c: Cluster):
    c.start("w@{1..8}")
    before = c.invocations("w@*")
    node, since = roles(c)["voter"], time.time()
    with asking_a_directory_that_hangs(node, 4242):
        node.run("systemctl restart argosyd")
    c.wait_online()
    assert c.invocations("w@*") == before
    eventually(lambda: " is up: " in node.journal("argosyd", lines=200, since=since))
    said = node.journal("argosyd", lines=200, since=since)
    for words in ["The orderly end takes too long", "timed out", "Failed with result"]:
        assert words not in said, said


def test_a_voter_that_replays_its_log_stays_in_touch(c: Cluster):
    """The log of the first host passes through memberships in which nobody else exists yet."""
    first = c.node("n1")
    if c.leader().name == first.name:
        first.run("systemctl restart argosyd")  # hands leadership on
        c.wait_online()
    leader = c.leader().name
    assert leader != first.name
    first.run("systemctl stop argosyd.socket argosyd.service")
    since = time.time()
    first.run("systemctl start argosyd.socket argosyd.service")
    c.wait_online()
    c.wait_knows(first)
    eventually(lambda: "The leader is" in first.journal("argosyd", since=since))
    said = first.journal("argosyd", since=since)
    assert "No leader can be reached" not in said and f"Link to {leader}" not in said, said


def test_what_changed_while_it_was_down_is_found(c: Cluster):
    c.start("w@{1..8}")
    node = roles(c)["spare"]
    mine = sorted(unit for unit, nodes in c.active("w@*").items() if nodes == [node.name])
    node.run("systemctl stop argosyd.socket argosyd.service")
    node.run(f"systemctl stop {mine[0]}")
    node.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: c.row(mine[0])["note"] == "unseen")
    assert "argosyd was not there to see why" in c.ctl_result(f"why {mine[0]}").out
    assert c.shown(mine[0]) == "loaded inactive dead"
    stays(lambda: c.where(mine[0]) is None, 1)


def test_a_machine_that_shuts_down_stops_units_first_and_they_move_at_once(c: Cluster):
    c.start("w@{1..8}")
    c.start("clean", "[Service]\nExecStart=/bin/sh -c 'trap \"exit 0\" TERM; while :; do sleep 0.1; done'\n")
    c.start("once", ONE_SHOT)
    node = c.where("clean")
    if node.name == c.leader().name:
        node.run("systemctl restart argosyd")  # hands leadership on, so that the next steps are about the node only
        c.wait_online()
    node.exec(["systemctl", "poweroff"])
    node.wait_off()
    eventually(lambda: len(c.active("w@*")) == 8, within=30, what="they move long before the lease ends")
    assert eventually(lambda: c.where("clean")).name != node.name, "a clean exit at shutdown is not the end of a service"
    c.assert_once("w@*", 8)
    assert c.runs("once") == 1
    said = node.journal(lines=400)
    stopped_unit, stopped_daemon = said.rfind("Stopped clean.service"), said.rfind("Stopped argosyd.service")
    assert 0 < stopped_unit < stopped_daemon, f"argosyd stopped before its units:\n{said[-3000:]}"
    node.boot()
    c.wait_online()
    c.assert_once("w@*", 8)


# Stopped before argosyd is, and that takes until the test says so.
SLOW = "[Unit]\nAfter=argosyd.service\n[Service]\nExecStart=/bin/sleep infinity\nExecStop=/bin/sh -c 'while [ ! -e /root/go ]; do sleep 0.05; done'\n"


def test_a_shutdown_that_is_cancelled_is_over(c: Cluster):
    c.start("w@{1..6}")
    node = c.where("w@1")
    mine = sorted(unit for unit, nodes in c.active("w@*").items() if nodes == [node.name])
    c.start("by-hand", SLEEPER + "[X-Argosy]\nSameNodeAs=w@1.service\n")
    node.run("systemctl stop by-hand")
    eventually(lambda: c.row("by-hand")["drift"])
    time.sleep(2)  # argosy takes what was stopped right before a shutdown for stopped by it
    node.write("/run/systemd/system/slow.service", SLOW)
    node.run("systemctl start slow")
    node.exec(["systemctl", "--no-block", "poweroff"])
    eventually(lambda: not any(node.name in nodes for nodes in c.active("w@*").values()))
    eventually(lambda: c.node_states(c.leader())[node.name] == "leaving")
    node.run("systemctl cancel; touch /root/go")
    eventually(lambda: c.node_states(c.leader())[node.name] == "online")
    eventually(lambda: len(c.active("w@*")) == 6)
    assert sorted(unit for unit, nodes in c.active("w@*").items() if nodes == [node.name]) == mine
    assert c.where("by-hand") is None
    node.kill()


def test_all_nodes_lose_their_power_at_once(c: Cluster):
    c.start("w@{1..12}")
    c.start("once", ONE_SHOT)
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    c.ctl("stop w@1")
    c.submit("known.service", SLEEPER)
    c.ctl("load known")
    was = c.active("w@*")
    for node in c.nodes:
        node.kill()
    c.bed.boot([node.name for node in c.nodes])
    c.wait_online()
    eventually(lambda: len(c.active("w@*")) == 11 and len(c.active("everywhere").get("everywhere.service", [])) == 4)
    c.assert_once("w@*", 11)
    assert c.active("w@*") == was, "a unit moved although its node came back"
    stays(lambda: c.runs("once") == 1 and c.where("w@1") is None and c.where("known") is None, 1)
    assert c.shown("known") == "loaded inactive dead"


def test_all_nodes_reboot_in_good_order(c: Cluster):
    c.start("w@{1..12}")
    c.start("once", ONE_SHOT)
    before = {node.name: node.init_pid() for node in c.nodes}
    for node in c.nodes:
        node.exec(["systemctl", "--no-block", "reboot"])
    eventually(lambda: all(node.init_pid() not in (None, before[node.name]) for node in c.nodes))
    c.wait_online()
    eventually(lambda: len(c.active("w@*")) == 12)
    c.assert_once("w@*", 12)
    assert c.runs("once") == 1


main(nodes=4, conf=PATIENT)
