#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""virtual-cluster: fifty virtual hosts at one argosyd, a thousand units, one host that loses power and one that leaves

What the virtual hosts say that they run is compared with what argosy shows.
"""

import sys

from virtual_cluster import Failure, VirtualCluster, wait_for

HOSTS, UNITS = 50, 1000


def check(condition, what):
    if not condition:
        raise Failure(what)


def active_nodes(c):
    """Nodes of the units that are active, each of them once."""
    rows = [(unit, node) for unit, node, active in c.units("load@*") if active == "active"]
    check(len({unit for unit, _ in rows}) == len(rows), "a unit is active on two nodes")
    return [node for _, node in rows]


def all_run(c, hosts, not_on=()):
    """All units, on that many virtual hosts, in the eyes of both."""
    nodes, stats = active_nodes(c), c.stats()
    return (len(nodes) == UNITS and not set(nodes) & set(not_on) and stats["hosts"] == hosts and stats["active"] == stats["units"] == UNITS)


def everything_runs_once(c):
    c.submit("load@.service")
    c.ctl(f"start load@{{1..{UNITS}}}")
    check(all_run(c, HOSTS), f"after the start: {c.stats()}")
    check(len(set(active_nodes(c))) == HOSTS, "some hosts have nothing to do")


def a_question_is_answered(c):
    check("virtual, active after 1 starts" in c.ctl("journal load@7"), "the journal is not the virtual host's")
    row = c.json("status load@7")[0]
    check(row["active"] == "active" and row["sub"] == "running", f"status: {row}")


def what_a_lost_host_had_runs_elsewhere(c):
    c.tell("lose 1")
    wait_for(lambda: c.nodes()[f"v{HOSTS}"] == "lost", "the host is lost")
    wait_for(lambda: all_run(c, HOSTS - 1, not_on=[f"v{HOSTS}"]), "all units run on the others")


def it_comes_back_with_nothing(c):
    c.tell("return 1")
    wait_for(lambda: c.nodes()[f"v{HOSTS}"] == "online", "the host is back")
    wait_for(lambda: all_run(c, HOSTS), "nothing has changed for the units")


def who_leaves_hands_over(c):
    c.tell("leave 1")
    wait_for(lambda: all_run(c, HOSTS - 1, not_on=[f"v{HOSTS}"]), "all units run on the others")


def a_stop_and_the_end(c):
    c.ctl(f"stop load@{{1..{UNITS // 2}}}")
    check(c.stats()["active"] == UNITS // 2, f"after the stop: {c.stats()}")
    c.ctl("destroy --no-block load@*")
    wait_for(lambda: c.stats()["units"] == 0, "no host has any of them")
    check(c.stats()["violations"] == 0, f"the leader broke the protocol:\n{c.words()}")


STORY = [everything_runs_once, a_question_is_answered, what_a_lost_host_had_runs_elsewhere, it_comes_back_with_nothing, who_leaves_hands_over,
         a_stop_and_the_end]


def main():
    with VirtualCluster(HOSTS, options=["--start=0-20", "--stop=0-20"], conf=["Cluster.LeaseSec=2", "Cluster.HeartbeatSec=0.4"]) as c:
        for chapter in STORY:
            print(f"{chapter.__name__}", flush=True)
            chapter(c)


try:
    main()
except Failure as reason:
    sys.exit(f"virtual-cluster: {reason}")
