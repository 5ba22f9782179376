#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whose turn it is when the cluster is full: roles, limits, priorities, and pools, on real nodes."""

import json

from lib import QUICK, SLEEPER, Cluster, eventually, main


def options(*lines):
    return SLEEPER + "[X-Argosy]\n" + "".join(line + "\n" for line in lines)


def at(c, unit):
    """The name of the node where it is active."""
    node = c.where(unit)
    return node.name if node else None


def role(c, name):
    return json.loads(c.ctl(f"role show {name} --json=short"))[0]


def why(c, unit):
    return c.ctl_result(f"why {unit}").out


def offer(c, **slots):
    for node, n in slots.items():
        c.ctl(f"label {node} offers/slot={n}")


def withdraw(c, *roles):
    """Ends what a test has left."""
    c.ctl("destroy '*'")
    for name in roles:
        c.ctl(f"role delete {name}")
    for node in c.nodes:
        c.ctl(f"label {node.name} offers/slot-")


def test_two_roles_share_a_full_cluster_by_their_weights(c: Cluster):
    offer(c, n1=3, n2=3, n3=3)
    c.ctl("role set small Weight=1")
    c.ctl("role set large Weight=2")
    c.start("first@{1..9}", options("ReserveResource=slot"))
    for name in ["small", "large"]:
        c.submit(f"{name}@.service", options(f"Role={name}", "ReserveResource=slot"))
        c.ctl_fails(f"start {name}@{{1..9}}", saying=("needs 1 slot, 0 of 3 are free", "  each node as above"))
    assert (role(c, "small")["waiting"], role(c, "large")["waiting"]) == (9, 9)
    for gone in range(1, 10):
        c.ctl(f"destroy first@{gone}")
        eventually(lambda: role(c, "small")["units"] + role(c, "large")["units"] == gone)
        small, large = role(c, "small")["units"], role(c, "large")["units"]
        assert abs(large - 2 * small) <= 2, (gone, small, large)  # within one unit of either
    assert (role(c, "small")["units"], role(c, "large")["units"]) == (3, 6)
    withdraw(c, "small", "large")


def test_a_limit_holds_and_why_tells_it(c: Cluster):
    offer(c, n1=5)
    c.ctl("role set capped LimitResource=slot:2")
    c.submit("cap@.service", options("Role=capped", "ReserveResource=slot"))
    c.start("cap@{1..2}")
    c.ctl_fails("start cap@3", saying=("role capped is at its limit of slot: its units have 2 of 2",))
    assert "role capped is at its limit of slot" in why(c, "cap@3")
    c.ctl_fails("role delete capped", saying=("units are of role capped",))
    c.ctl("role set capped LimitResource=slot:3")
    eventually(lambda: at(c, "cap@3") == "n1")
    withdraw(c, "capped")


def test_a_role_that_is_not_there_is_refused_with_its_line(c: Cluster):
    c.ctl_fails("role set bad/ha%rd", status=1, saying=("no name of a role",))
    c.ctl_fails("role set web Weight=0", status=2, saying=("Weight=0",))
    c.node("n1").write("/root/units/roleless.service", options("Role=nobody"))
    c.ctl_fails("submit /root/units/roleless.service", on="n1", saying=("roleless.service:4: Role=nobody: there is no such role",))
    assert "roleless.service" not in c.known()


def test_a_higher_priority_preempts_what_agreed_to_it(c: Cluster):
    offer(c, n1=1, n2=1)
    reserve = "[X-Argosy]\nReserveResource=slot\n"
    ending = "ExecStopPost=/bin/sh -c 'sleep 1; [ ! -e /root/urgent ] || touch /root/overlap'\n"
    c.start("plain.service", SLEEPER + reserve + "Host=n2\n")
    c.start("batch.service", SLEEPER + ending + reserve + "Host=n1\nPriority=-10\n")
    c.start("urgent.service", SLEEPER + "ExecStartPre=/bin/touch /root/urgent\n" + reserve + "Priority=100\n")
    assert (at(c, "urgent"), at(c, "batch"), at(c, "plain")) == ("n1", None, "n2")
    assert c.node("n1").run("ls /root").split().count("overlap") == 0
    assert "urgent.service, which has a higher priority, took its place" in why(c, "batch")
    assert "took its place" in c.ctl_result("status batch").out
    c.ctl("unload urgent")
    eventually(lambda: at(c, "batch") == "n1")
    c.node("n1").run("rm /root/urgent")
    withdraw(c)


def test_a_plan_names_who_has_to_go(c: Cluster):
    offer(c, n1=1, n2=1)
    c.start("calm.service", options("ReserveResource=slot", "Priority=-10", "Host=n1"))
    c.submit("busy.service", options("ReserveResource=slot", "Priority=100", "Host=n1"))
    c.start("old.service", options("Host=n3"))
    c.submit("new.service", options("Host=n3", "Replaces=old.service"))
    planned = {row["unit"]: row for row in c.json("plan busy new")}
    told = c.ctl("plan busy new")
    assert (at(c, "calm"), at(c, "old")) == ("n1", "n3"), "to ask moved something"
    assert planned["calm.service"]["because_of"] == "busy.service" and planned["calm.service"]["from"] == "n1", planned
    assert planned["old.service"]["because_of"] == "new.service" and planned["old.service"]["from"] == "n3", planned
    assert "calm.service: would stop on n1 and wait for a node: busy.service, which has a higher priority, takes its place" in told, told
    assert "old.service: would stop on n3 and " in told and "new.service replaces it there" in told, told
    c.ctl("start busy new")
    eventually(lambda: all(at(c, unit) == (row["node"] or None) for unit, row in planned.items()))
    withdraw(c)


def test_a_lost_node_s_urgent_unit_preempts_elsewhere(c: Cluster):
    offer(c, n2=1, n3=1)
    c.start("batch.service", options("ReserveResource=slot", "Priority=-10", "Host=n2"))
    c.start("urgent.service", options("ReserveResource=slot", "Priority=100"))
    assert at(c, "urgent") == "n3"
    c.node("n3").kill()
    eventually(lambda: at(c, "urgent") == "n2" and at(c, "batch") is None)
    c.node("n3").boot()
    c.wait_online()
    eventually(lambda: at(c, "urgent") == "n2")
    withdraw(c)


def test_units_go_where_their_pool_is(c: Cluster):
    c.ctl("label n2 disk=ssd")
    c.ctl("pool set fast disk=ssd n3")
    [shown] = json.loads(c.ctl("pool show --json=short"))
    assert shown == {"pool": "fast", "named": ["n3"], "labels": {"disk": "ssd"}, "nodes": ["n2", "n3"]}, shown
    c.start("p@{1..4}", options("Pool=fast"))
    assert set(c.spread("p@*")) == {"n2", "n3"}
    c.ctl("pool set fast n1")
    c.start("q.service", options("Pool=fast"))
    assert at(c, "q") == "n1"
    c.ctl("pool delete fast")
    assert at(c, "q") == "n1"
    c.ctl_fails("pool delete fast", saying=("there is no pool 'fast'",))
    c.ctl("label n2 disk-")


if __name__ == "__main__":
    main(conf=QUICK)
