#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another key for the secrets in the log, while their units run; and where the former one is then."""

import base64
import re

from lib import QUICK, Cluster, eventually, main

STATE = "/var/lib/argosy"
READER = ("[Service]\nExecStart=/bin/sh -c 'cat $CREDENTIALS_DIRECTORY/password >/root/read-%i; exec sleep infinity'\n"
          "[X-Argosy]\nSecret=db:password\n")


def disk(node):
    """The voters' secrets on the node's disk."""
    return base64.b64decode(node.run(f"base64 {STATE}/voter-secrets 2>/dev/null || :"))


def keys(node):
    """Those that seal secrets, by number: 32 bytes behind the name, the number and the length."""
    return {number[0]: key for number, key in re.findall(rb"secrets\x10(.)\x1a\x20(.{32})", disk(node), re.DOTALL)}


def is_over(c, on=None):
    return c.status(on)["secrets_notice"] == ""


def set_secret(c, name, value):
    c.leader().run(f"argosyctl secret set {name}", input=value)


def read(c, unit="r@1"):
    return c.where(unit).run(f"cat /root/read-{unit.split('@')[1]}")


def begin(c):
    """A cluster whose voters all have the same key."""
    set_secret(c, "db", "hunter2")
    c.start("r@1", READER)
    eventually(lambda: all(len(keys(node)) == 1 for node in c.nodes))
    before = keys(c.leader())
    assert all(keys(node) == before for node in c.nodes)
    return before


def assert_rotated(c, before, nodes=None):
    eventually(lambda: is_over(c), what="the rotation has come to its end")
    former = next(iter(before.values()))
    for node in nodes or c.nodes:
        eventually(lambda: former not in disk(node), what=f"{node.name} has the former key no more")
    now = keys(c.leader())
    assert len(now) == 1 and now != before, (before.keys(), now.keys())
    assert all(keys(node) == now for node in nodes or c.nodes)


def test_another_key_seals_all_of_it_and_the_former_one_goes(c: Cluster):
    before, runs = begin(c), c.invocation("r@1")
    for number in range(10):
        set_secret(c, f"many{number}", "x" * 65536)
    c.ctl("secret rotate-key")
    assert_rotated(c, before)
    assert c.invocation("r@1") == runs, "the unit has not noticed"
    for node in c.nodes:
        assert node.run(f"stat -c %a {STATE}/voter-secrets").strip() == "600"
        assert next(iter(before.values())) not in base64.b64decode(node.run(f"cat {STATE}/log/* | base64"))
    c.node("n1").run("rm -f /root/read-1")
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "hunter2", what="it is opened with the new key")
    set_secret(c, "db", "after")
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "after")
    c.power_everything()
    c.wait_online()
    eventually(lambda: read(c) == "after", what="snapshots and logs of all voters are readable")
    c.ctl("secret delete " + " ".join(f"many{number}" for number in range(10)))


def test_without_every_voter_it_is_refused_and_names_whom(c: Cluster):
    before = begin(c)
    away = c.followers()[0]
    away.kill()
    eventually(lambda: c.members()[away.name].endswith(" lost"))
    c.ctl_fails("secret rotate-key", saying=f"every voter has to take the new key, and {away.name} is not there")
    assert keys(c.leader()) == before
    away.boot()
    c.wait_online()


def test_a_leader_that_is_lost_in_the_middle_is_no_obstacle(c: Cluster):
    before = begin(c)
    for number in range(40):
        set_secret(c, f"many{number}", "x" * 65536)
    old = c.leader()
    c.ctl("secret rotate-key")
    old.kill()
    eventually(lambda: c.leader().name != old.name)
    assert not is_over(c), "it waits for the voter that is away"
    old.boot()
    c.wait_online()
    assert_rotated(c, before)
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "hunter2")
    c.ctl("secret delete " + " ".join(f"many{number}" for number in range(40)))


def test_a_leader_that_lacks_the_key_hands_over(c: Cluster):
    begin(c)
    old = c.leader()
    for node in c.nodes:  # so that it leads again when it is back, and nobody hands it the file before
        if node != old:
            node.run("systemctl stop argosyd.socket argosyd.service")
    old.run(f"systemctl stop argosyd.socket argosyd.service; rm {STATE}/voter-secrets")
    for node in c.nodes:
        node.run("systemctl start argosyd.socket argosyd.service")
    c.wait_online()
    eventually(lambda: keys(old), what="it is handed the keys again")
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "hunter2")


def test_who_votes_no_more_has_no_key(c: Cluster):
    begin(c)
    c.ctl("cluster voters 1")
    eventually(lambda: sum(role.startswith("voter") for role in c.members().values()) == 1)
    leader = c.leader()
    others = [node for node in c.nodes if node != leader]
    for node in others:
        eventually(lambda: not disk(node), what=f"{node.name} has wiped its keys")
    before = keys(leader)
    c.ctl("secret rotate-key")
    assert_rotated(c, before, [leader])
    assert not any(disk(node) for node in others)
    c.ctl("cluster voters 3")
    for node in others:
        eventually(lambda: keys(node) == keys(leader), what=f"{node.name} has the key again")


def test_voters_that_came_after_the_last_snapshot_find_each_other(c: Cluster):
    # A snapshot is older than what came after it, and with it who votes: until somebody leads, that is all that a log says.
    c.ctl("cluster voters 1")
    eventually(lambda: sum(role.startswith("voter") for role in c.members().values()) == 1)
    begin_with = keys(c.leader())
    set_secret(c, "db", "hunter2")
    c.ctl("secret rotate-key")  # which takes a snapshot
    eventually(lambda: is_over(c) and keys(c.leader()) != begin_with)
    c.ctl("cluster voters 3")
    eventually(lambda: sum(role == "voter online" for role in c.members().values()) == 3)
    eventually(lambda: all(member["lag"] == 0 for member in c.status(c.leader())["members"]))
    for node in c.nodes:
        node.kill()
    c.power_everything()
    c.wait_online()
    assert list(c.members().values()) == ["voter online"] * 3


if __name__ == "__main__":
    main(nodes=3, conf=QUICK)
