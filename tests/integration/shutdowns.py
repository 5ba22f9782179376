#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A machine that is shut down says so: what it ran begins elsewhere long before anybody would call it lost."""

import time

from lib import SLEEPER, Cluster, eventually, main

LEASE_S = 60
LINGERS = "[Unit]\nDefaultDependencies=no\n" + SLEEPER


def shut_down(node):
    node.exec(["systemctl", "poweroff"])
    node.wait_off()
    return time.monotonic()


def test_the_leaders_own_units_move_at_once(c: Cluster):
    leader = c.leader()
    c.start("w@{1..6}")
    assert c.spread("w@*").get(leader.name)
    rest = c.followers()
    off = shut_down(leader)
    eventually(lambda: c.leader_name(rest[0]) not in (None, leader.name))
    eventually(lambda: len(c.active("w@*")) == 6, within=LEASE_S / 2, what="its units run elsewhere")
    assert time.monotonic() - off < LEASE_S / 2
    assert c.members(rest[0])[leader.name] == "voter down"
    c.assert_once("w@*", 6)
    leader.boot()
    c.wait_online()
    c.assert_once("w@*", 6)


def test_what_may_still_run_waits_as_for_a_lost_host(c: Cluster):
    c.start("lingers", LINGERS)
    node = c.where("lingers")
    rest = next(other for other in c.nodes if other.name != node.name)
    c.start("w@{1..6}")
    shut_down(node)
    eventually(lambda: len(c.active("w@*")) == 6, within=LEASE_S / 2, what="what has ended runs elsewhere")
    assert c.where("lingers") is None, "it was begun while it might have run on"
    assert "may have run on" in c.ctl_result("why lingers", on=rest).out
    node.boot()
    c.wait_online()
    eventually(lambda: c.where("lingers"))


main(nodes=3, conf=[f"Cluster.LeaseSec={LEASE_S}"])
