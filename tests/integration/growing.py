#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster grows from one host to three voters and a spare with its data, and a dead voter is replaced when it is removed."""

from lib import QUICK, SLEEPER, Cluster, eventually, main


def test_one_host_becomes_four_and_a_dead_voter_is_replaced(c: Cluster):
    n1, n2, n3, n4 = c.nodes
    c.start("w@{1..20}", on=n1)
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n", on=n1)
    before = c.invocations("w@*")
    assert c.members(n1) == {"n1": "voter online"}

    c.join(n2, to=n1)
    eventually(lambda: c.members(n2) == {"n1": "voter online", "n2": "spare online"}, what="two voters survive less than one")
    assert len(c.known(on=n2)) == 22 and c.ctl("cat w@1", on=n2) == SLEEPER

    c.join(n3, to=n2)
    eventually(lambda: list(c.members(n3).values()).count("voter online") == 3, what="the third host makes three voters")
    assert c.invocations("w@*") == before, "growing stopped units"

    c.join(n4, to=n3)
    eventually(lambda: c.members(n4).get("n4") == "spare online")
    eventually(lambda: len(c.active("everywhere")["everywhere.service"]) == 4, what="a global unit starts on who joins")
    c.ctl("start w@{21..32}", on=n4)
    assert all(c.spread("w@*").get(node.name, 0) >= 3 for node in (n2, n3, n4))

    n1.kill()
    eventually(lambda: c.members(n2).get("n1") == "voter lost", what="a lost voter stays one until it is removed")
    eventually(lambda: len(c.active("w@*")) == 32, what="its units run elsewhere")
    c.ctl("cluster remove n1", on=n4)
    eventually(lambda: c.members(n2) == {name: "voter online" for name in ("n2", "n3", "n4")}, what="the spare votes now")

    n2.kill(lose_unsynced=True)
    eventually(lambda: c.leader_name(n3))
    c.ctl("start w@33", on=n4)
    eventually(lambda: len(c.active("w@*")) == 33)
    c.assert_once("w@*", 33)

    n1.boot()  # it does not know that it was removed; nobody talks to it any more
    eventually(lambda: "n1" not in c.spread("w@*") and "n1" not in c.spread("everywhere"),
               what="a removed host gives up its units")
    assert "n1" not in c.members(n3)


main(nodes=4, alone=True, conf=QUICK)
