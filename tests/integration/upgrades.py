#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Hosts of one cluster run different builds while they are upgraded; what one of them cannot read is not written.

The newer build is the same source with the synthetic next feature level (include/feature-level.h, tests/meson.build).
"""

import shutil

from lib import BUILD, KEPT, QUICK, Cluster, eventually, main

NEWER = BUILD / "tests/argosyd-next"
EX_CONFIG = "78"


def put_newer(node):
    node.run("cp -n /usr/sbin/argosyd /root/argosyd.older")
    shutil.copy(NEWER, node.path("/root/argosyd.newer"))
    node.run("cp /root/argosyd.newer /root/next && mv /root/next /usr/sbin/argosyd")


def put_older(node):
    node.run("cp /root/argosyd.older /root/next && mv /root/next /usr/sbin/argosyd")


def older_cluster(c):
    n1, *rest = c.nodes
    for node in rest:
        c.join(node, to=n1)
    eventually(lambda: list(c.members(n1).values()).count("voter online") == 3)
    return c.leader(n1), c.followers()


def restart(c, node, others):
    node.run("systemctl restart argosyd")
    eventually(lambda: set(c.members(others[0]).values()) == {"voter online"})


def level(c, on):
    status = c.status(on)
    return status["feature_level"], status["feature_notice"]


def not_yet(*holders):
    return "not 2 yet: " + ", ".join(f"{name} has 1" for name in sorted(node.name for node in holders))


def test_the_level_rises_when_the_last_host_has_it_and_no_way_leads_back(c: Cluster):
    leader, (first, last) = older_cluster(c)
    c.start("w@{1..3}", KEPT, on=leader)
    invocations = c.invocations("w@*")

    put_newer(first)
    restart(c, first, [leader])
    eventually(lambda: level(c, leader) == (1, not_yet(leader, last)))  # its Hello may come after it was seen online
    put_older(first)
    restart(c, first, [leader])
    put_newer(first)
    restart(c, first, [leader])
    put_newer(leader)
    restart(c, leader, [first])
    eventually(lambda: c.status(first)["leader"])
    c.start("x@1", on=last)
    c.ctl("destroy x@1", on=last)
    if c.leader(first) != last:
        eventually(lambda: level(c, first) == (1, not_yet(last)))
    put_newer(last)
    restart(c, last, [first])
    eventually(lambda: level(c, last) == (2, ""))
    c.start("x@2", on=last)
    c.ctl("destroy x@2", on=leader)
    assert c.invocations("w@*") == invocations
    assert [job["verb"] for job in c.json("list-jobs --limit=2", on=last)] == ["destroy", "start"]

    # Every voter has taken note of it before anything is written that needs it.
    eventually(lambda: all(member["lag"] == 0 for member in c.status(first)["members"]))
    put_older(last)
    last.run("systemctl restart argosyd || :")
    eventually(lambda: last.run("systemctl show -P ExecMainStatus argosyd").strip() == EX_CONFIG)
    eventually(lambda: "Install the newer one again" in last.journal("argosyd"), what="its journal says what to do")
    c.start("w@4", on=first)
    put_newer(last)
    last.run("systemctl reset-failed; systemctl start argosyd.socket argosyd.service")
    eventually(lambda: set(c.members(first).values()) == {"voter online"})

    c.ctl(f"cluster remove {last.name}", on=first)
    put_older(last)
    c.make_fresh(last)
    token = c.ctl("cluster token --quiet", on=first).strip()
    c.ctl_fails(f"cluster join {first.address} {token}", on=last, saying="too old for this cluster (feature level 1, needed 2)")
    for node in c.nodes:
        put_older(node)
        c.make_fresh(node)


main(nodes=3, alone=True, conf=QUICK)
