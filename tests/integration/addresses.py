#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Addresses come late, change and go: the cluster finds itself again whenever a majority can find each other by anything that they
knew before, nobody ever tells others an address that means somebody else, and where nothing is known any more a person can say it."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from lib import KEPT, Cluster, Failure, eventually, main, stays

NETWORK = "10.77.0"


def take_addresses(*nodes):
    for node in nodes:
        node.run("ip -4 address flush dev eth0")


def give_address(node, last):
    node.run(f"ip -4 address flush dev eth0 && ip address add {NETWORK}.{last}/24 dev eth0")


def stop(*nodes):
    """All at once: the last one of them would wait for the others to take its last words."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: node.run("systemctl stop argosyd.socket argosyd"), nodes))


def elsewhere(node):
    """Another address than the testbed's."""
    return f"{NETWORK}.{100 + node.number}"


def move(*nodes):
    for node in nodes:
        give_address(node, 100 + node.number)


def names_mean(c, where):
    """What the nodes' /etc/hosts says from now on of every node."""
    for node in c.nodes:
        node.write("/etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{where(other)} {other.name}\n" for other in c.nodes))


def nobody(node):
    return f"{NETWORK}.{200 + node.number}"  # an address that nobody has


@contextmanager
def other_network(c, go_on=False):
    """However it ends, the next test has the testbed's own network again. go_on: nothing is stopped for that; where all have
    moved, they would find each other only when their old connections are dead."""
    try:
        yield
    finally:
        if not go_on:
            stop(*c.nodes)
        names_mean(c, lambda node: node.address)
        for node in c.nodes:
            give_address(node, node.number)
            node.run("systemctl start argosyd.socket argosyd")
        for node in c.nodes:
            eventually(lambda: addresses(c, node) == {other.name: other.address for other in c.nodes})
            eventually(lambda: not remembers_elsewhere(c, node), what=f"{node.name} has written where all are")
        c.wait_online()


def addresses(c, on):
    """Where the members are, as that node knows it with a leader."""
    status = c.status(on)
    return {member["name"]: member["address"] for member in status["members"]} if status["leader"] else None


def remembers_elsewhere(c, node):
    """Whether its peers file, from which it finds the others without a leader, has an address of a test before. A follower writes
    a change when it has applied it, which is later than what the leader says."""
    peers = Path(f"/proc/{node.init_pid()}/root/var/lib/argosy/peers").read_bytes()
    return any(elsewhere(other).encode() in peers for other in c.nodes)


def everybody_knows(c, where):
    for node in c.nodes:
        eventually(lambda: knows(c, node, {other.name: where(other) for other in c.nodes}), what=f"{node.name} knows where all are")
    c.wait_online()


def knows(c, node, expected):
    seen = addresses(c, node)
    if seen != expected:
        raise Failure(f"{seen} instead of {expected}")
    return True


def start_without_addresses(c, *nodes):
    stop(*nodes)
    take_addresses(*nodes)
    for node in nodes:
        node.run("systemctl start argosyd.socket argosyd")


def test_all_boot_before_the_network_is_there(c: Cluster):
    c.start("w@{1..3}")
    with other_network(c):
        start_without_addresses(c, *c.nodes)
        for node in c.nodes:  # they look for each other meanwhile, and one may lead itself
            eventually(lambda: node.run("systemctl show --value --property=StatusText argosyd") != "")
        for node in c.nodes:
            give_address(node, node.number)
        everybody_knows(c, lambda node: node.address)
        eventually(lambda: len(c.active("w@*")) == 3)


def test_a_host_that_boots_before_the_network_announces_nothing_wrong(c: Cluster):
    leader, follower = c.leader(), c.followers()[0]
    with other_network(c):
        start_without_addresses(c, follower)
        stays(lambda: {member["name"]: member["address"] for member in c.status(leader)["members"]}[follower.name] == follower.address, 0.5)
        give_address(follower, follower.number)
        everybody_knows(c, lambda node: node.address)


def test_one_changes_its_address_while_it_runs(c: Cluster):
    c.start("w@{1..3}", KEPT)
    before = c.invocations("w@*")
    for node in (c.followers()[0], c.leader()):
        with other_network(c, go_on=True):
            move(node)
            everybody_knows(c, lambda other: elsewhere(other) if other.name == node.name else other.address)
    assert c.invocations("w@*") == before, "a healthy unit was stopped"


def test_all_get_other_addresses_and_have_names(c: Cluster):
    with other_network(c):
        start_without_addresses(c, *c.nodes)
        names_mean(c, elsewhere)
        move(*c.nodes)
        everybody_knows(c, elsewhere)


def test_two_of_three_move_and_find_the_third(c: Cluster):
    with other_network(c):
        start_without_addresses(c, *c.nodes)
        names_mean(c, nobody)
        move(c.node("n2"), c.node("n3"))
        give_address(c.node("n1"), 1)
        everybody_knows(c, lambda node: node.address if node.name == "n1" else elsewhere(node))


def test_when_nothing_is_known_any_more_somebody_says_it(c: Cluster):
    n1, n2, n3 = c.nodes
    with other_network(c):
        start_without_addresses(c, *c.nodes)
        names_mean(c, nobody)
        move(*c.nodes)
        notice = eventually(lambda: c.status(n1)["notice"])
        assert "n2" in notice and "n3" in notice and "argosyctl cluster peers ADDRESS" in notice, notice
        c.ctl_fails("cluster peers 10.77.0.1:x", on=n1, saying="is not an address")
        c.ctl(f"cluster peers {elsewhere(n2)}", on=n1)
        eventually(lambda: addresses(c, n1), what="two of three are a majority")
        c.ctl(f"cluster peers {elsewhere(n1)}:7867 {elsewhere(n2)}", on=n3)
        everybody_knows(c, elsewhere)


def configure(node, text):
    path = "/etc/argosy/argosy.conf.d/50-address.conf"
    node.write(path, f"[Node]\nAddress={text}\n") if text else node.run(f"rm {path}")
    node.run("systemctl reload argosyd")


def test_an_address_that_is_configured_counts_and_may_be_a_name(c: Cluster):
    n2 = c.node("n2")
    try:
        configure(n2, "n2")
        everybody_knows(c, lambda node: "n2" if node.name == "n2" else node.address)
        n2.run(f"ip address add {elsewhere(n2)}/24 dev eth0")
        configure(n2, elsewhere(n2))
        everybody_knows(c, lambda node: elsewhere(n2) if node.name == "n2" else node.address)
    finally:
        configure(n2, "")
        give_address(n2, 2)
    everybody_knows(c, lambda node: node.address)


def test_ipv6_alone_is_enough(c: Cluster):
    with other_network(c):
        for node in c.nodes:
            node.run(f"ip address add fd77::{node.number}/64 dev eth0 nodad")
        names_mean(c, lambda node: f"fd77::{node.number}")
        take_addresses(*c.nodes)
        everybody_knows(c, lambda node: f"fd77::{node.number}")
        for node in c.nodes:  # then IPv4 is back, and what is known stays as long as it works
            give_address(node, node.number)
        everybody_knows(c, lambda node: f"fd77::{node.number}")
        for node in c.nodes:
            node.run(f"ip address del fd77::{node.number}/64 dev eth0")


main(conf=["Cluster.LeaseSec=2", "Cluster.HeartbeatSec=0.4"])
