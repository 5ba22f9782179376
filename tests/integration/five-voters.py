#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Five voters survive two."""

from lib import QUICK, Cluster, eventually, main


def test_two_of_five_voters_die_and_changes_go_on(c: Cluster):
    assert [role.split()[0] for role in c.members().values()].count("voter") == 5
    c.start("w@{1..10}")
    c.node("n1").kill()
    c.node("n2").kill()
    c.ctl("start w@11", on="n5")
    eventually(lambda: len(c.active("w@*")) == 11)
    c.assert_once("w@*", 11)
    c.node("n1").boot()
    c.node("n2").boot()
    c.wait_online()
    c.assert_once("w@*", 11)


main(nodes=5, voters=5, conf=QUICK)
