#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No voter leaves as long as without it no majority of the voters would answer."""

from lib import QUICK, Cluster, eventually, main


def three_voters(c):
    n1, *rest = c.nodes
    for node in rest:
        c.join(node, to=n1)
    eventually(lambda: list(c.members(n1).values()).count("voter online") == 3)
    return c.leader(n1), c.followers()


def test_while_a_voter_is_dead_only_that_one_leaves(c: Cluster):
    leader, (dead, other) = three_voters(c)
    c.start("w@{1..3}", on=leader)
    term = c.status(leader)["term"]
    dead.kill()
    # at once: it has answered the last heartbeat
    c.ctl_fails(f"cluster remove {other.name}", on=leader, saying=(f"first remove {dead.name}", "nothing was changed"))
    c.ctl_fails(f"cluster demote {other.name}", on=other, saying=f"first demote {dead.name}")
    c.ctl_fails("cluster leave", on=other, saying=f"first remove {dead.name}")
    c.ctl_fails(f"cluster remove {leader.name}", on=other, saying=f"first remove {dead.name}")
    c.start("w@4", on=other)
    assert c.status(leader)["term"] == term, "a refused command cost the leader its place"
    assert [role.split()[0] for role in c.members(leader).values()] == ["voter"] * 3

    c.ctl(f"cluster remove {dead.name}", on=leader)
    c.ctl(f"cluster remove {other.name}", on=leader)
    eventually(lambda: c.members(leader) == {leader.name: "voter online"})
    c.start("w@5", on=leader)
    eventually(lambda: c.spread("w@*") == {leader.name: 5})


def test_how_many_vote_is_said_by_the_cluster_not_by_whoever_leads(c: Cluster):
    leader, others = three_voters(c)
    for node in others:
        node.run("mkdir -p /etc/argosy/argosy.conf.d && printf '[Cluster]\\nVoters=1\\n' >/etc/argosy/argosy.conf.d/voters.conf")
        node.run("systemctl restart argosyd")
        eventually(lambda: list(c.members(leader).values()).count("voter online") == 3)
        eventually(lambda: "Voters=1 in this host's configuration counts for nothing" in node.journal("argosyd"))
    names = ", ".join(sorted(node.name for node in others))
    eventually(lambda: f"Warning: Voters=1 is configured on {names}: it counts for nothing\n" in c.ctl("cluster status", on=leader))
    leader.run("systemctl stop argosyd")
    eventually(lambda: c.leader_name(others[0]) in [node.name for node in others])
    leader.run("systemctl start argosyd")
    c.start("w@6", on=leader)
    assert c.status(leader)["voters_wanted"] == 3
    eventually(lambda: list(c.members(leader).values()).count("voter online") == 3)

    c.ctl("cluster voters 1", on=leader)
    eventually(lambda: list(c.members(leader).values()).count("voter online") == 1)
    assert c.status(leader)["voters_wanted"] == 1
    c.ctl("cluster voters 3", on=others[0])
    eventually(lambda: list(c.members(leader).values()).count("voter online") == 3)
    for node in others:
        node.run("rm /etc/argosy/argosy.conf.d/voters.conf && systemctl reload argosyd")
    eventually(lambda: "Warning" not in c.ctl("cluster status", on=leader))


main(nodes=3, alone=True, conf=QUICK)
