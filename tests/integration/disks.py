#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk under /var/lib/argosy is full, or its content is damaged: clear words, nothing acknowledged that is not kept, never a
silent start from nothing, and the way out that the words name works."""

import time
from contextlib import contextmanager

from lib import KEPT, QUICK, SLEEPER, Cluster, eventually, main

FILLER = "/var/lib/argosy/filler"


def fill(node):
    """Not a byte is left. What frees itself later, since the log shrinks, is free until the next call."""
    node.run(f"for size in 64k 4k 512; do dd if=/dev/zero of=$(mktemp {FILLER}.XXXXXX) bs=$size 2>/dev/null; done; true")


@contextmanager
def full_disk(*nodes):
    try:
        for node in nodes:
            fill(node)
        yield
    finally:
        for node in nodes:
            node.run(f"rm -f {FILLER}.*")


def content_of(whom):
    """A large one that the log has not stored yet, not even for a unit that is destroyed: that one would be kept for undo."""
    return SLEEPER + f"# {'x' * 240000} {whom}\n"


def submit_in_turn(node, names, timeout):
    """One after the other, until one fails. Returns those that were acknowledged and what came of the last."""
    for name in names:
        node.write(f"/root/units/{name}", content_of(name))
    result = node.exec(["sh", "-c", "for name; do argosyctl submit /root/units/$name --timeout=60s >/dev/null || exit; echo $name; done", "sh", *names],
                       timeout=timeout)
    return result.out.split(), result


def use_up(on, limit=120):
    """Changes until one fails, since the log has reserved some room. Returns those that were acknowledged and the failure."""
    kept, result = submit_in_turn(on, [f"u{number}.service" for number in range(limit)], timeout=200)
    assert result.status != 0, "a full disk was never noticed"
    return kept, result


def test_a_full_disk_refuses_changes_keeps_units_and_heals(c: Cluster):
    c.start("w@{1..3}")
    runs = c.invocations("w@*")
    with full_disk(*c.nodes):
        kept, failure = use_up(c.node("n1"))
        assert "the disk under /var/lib/argosy has no room for the log" in failure.err, f"not a clear word about the disk:\n{failure.err}"
        assert all(node.name in failure.err for node in c.nodes), f"the nodes are not named:\n{failure.err}"
        assert set(kept) <= c.known()
        assert c.invocations("w@*") == runs
        assert "w@1.service" in c.ctl("list-units")
    eventually(lambda: c.ctl("start --timeout=30s w@4") or True, what="the log takes changes again")
    c.wait_online()
    assert set(kept) <= c.known()
    assert all(c.invocations("w@*")[run] == id for run, id in runs.items())


def restarts(node):
    return int(node.run("systemctl show --property NRestarts --value argosyd"))


def stops_nobody(c, node):
    """More changes than the node's log has room for are made and carried out while its disk is full."""
    c.start("w@{1..3}")
    runs = c.invocations("w@*")
    starts = restarts(node)
    other = next(other for other in c.nodes if other.name != node.name)
    with full_disk(node):
        for begin in range(0, 120, 20):
            _, last = submit_in_turn(other, [f"big-{number}-{node.name}.service" for number in range(begin, begin + 20)], timeout=100)
            assert last.status == 0, last
            if begin < 100:
                fill(node)
        c.ctl("start w@{4..6}", on=other)
        c.assert_once("w@*", 6)
        assert all(c.invocations("w@*")[run] == id for run, id in runs.items())
        eventually(lambda: c.leader_name(other) not in (None, node.name), what="one with a full disk does not lead")
        assert restarts(node) == starts, "argosyd does not end for a full disk"

        node.run("systemctl restart argosyd")  # and begins with one
        c.wait_online()
        c.ctl("stop w@6", on=node)
        assert restarts(node) == 0
    c.wait_online()
    last = c.status(other)["members"]
    eventually(lambda: all(member["lag"] == 0 for member in c.status(other)["members"]), what=f"it catches up; was: {last}")
    c.ctl("start w@{6..9}", on=node)
    c.assert_once("w@*", 9)


def test_the_full_disk_of_the_leader_stops_nobody(c: Cluster):
    stops_nobody(c, c.leader())


def test_the_full_disk_of_a_follower_stops_nobody(c: Cluster):
    stops_nobody(c, c.followers()[0])


def begins_without_a_free_byte(c, node, end):
    """Also what argosyd gave back when it ended is taken."""
    with full_disk(node):
        end(node)
        fill(node)
        node.exec(["systemctl", "start", "argosyd.socket", "argosyd.service"], timeout=30)
        eventually(lambda: c.known(on=node) >= {"w@1.service"}, what="it answers")
        c.wait_online()
        fill(node)
        assert restarts(node) <= 1, "it begins at the first try"
    c.wait_online()


def test_argosyd_begins_on_a_disk_without_a_free_byte(c: Cluster):
    c.start("w@{1..3}", KEPT)
    runs = c.invocations("w@*")
    node = c.leader()
    begins_without_a_free_byte(c, node, lambda node: node.run("systemctl kill --signal=KILL argosyd"))
    for _ in range(2):
        begins_without_a_free_byte(c, node, lambda node: node.run("systemctl stop argosyd.socket argosyd.service"))
    assert c.invocations("w@*") == runs
    c.start("w@{4..6}", KEPT, on=node)


def damaged(node, command):
    node.run("systemctl stop argosyd.socket argosyd.service")
    node.run(command)
    node.exec(["systemctl", "start", "argosyd.socket", "argosyd.service"])


def refuses_to_start(node, damage, saying):
    """With that damage argosyd ends with 78 at once, and its unit's journal says why, however late the journal gets to it."""
    node.run("systemctl kill --signal=STOP systemd-journald")
    damaged(node, damage)
    eventually(lambda: node.run("systemctl show --property ActiveState --value argosyd").strip() == "failed",
               what="it does not start")
    node.run("systemctl kill --signal=CONT systemd-journald")
    assert node.run("systemctl show --property ExecMainStatus --value argosyd").strip() == "78"
    eventually(lambda: all(words in node.journal("argosyd", 10) for words in saying), what=f"its journal says {saying}")
    tells_why_once_per_question(node, saying)


def tells_why_once_per_question(node, saying):
    """The socket starts it for whoever asks. Each gets the reason, and nobody starts it again and again."""
    def starts():
        return node.journal("argosyd", 1000).count("Starting argosyd.service")

    before = starts()
    for _ in range(3):
        result = node.exec(["argosyctl", "list-units"], timeout=30)
        assert result.status == 1 and all(words in result.err for words in saying), result
        eventually(lambda: node.run("systemctl show --property ActiveState --value argosyd").strip() == "failed")
    assert node.run("systemctl is-active argosyd.socket").strip() == "active"
    eventually(lambda: starts() == before + 3, what="one start for each question")


@contextmanager
def that_fails(node, break_it, mend_it):
    """argosyd cannot start there."""
    node.run("systemctl stop argosyd.socket argosyd.service")
    node.run(break_it)
    try:
        node.exec(["systemctl", "start", "argosyd.socket", "argosyd.service"], timeout=30)
        yield
    finally:
        node.run(mend_it)


NO_MACHINE_ID = "mv /etc/machine-id /root/machine-id", "mv /root/machine-id /etc/machine-id"


def hears_why_at_once(node, saying):
    begin = time.monotonic()
    result = node.exec(["argosyctl", "list-units"], timeout=30)
    assert result.status == 1 and all(words in result.err for words in saying), result
    assert time.monotonic() - begin < 3, "it waits in silence"


def test_whatever_keeps_argosyd_from_starting_is_told_at_once_and_tried_ever_more_rarely(c: Cluster):
    node = c.nodes[0]
    c.start("stays", on=node)
    for break_it, mend_it, saying in [
            (*NO_MACHINE_ID, ["no machine id", "systemd-machine-id-setup"]),
            ("mkdir -p /etc/systemd/system/argosyd.service.d; "
             "printf '[Service]\\nStateDirectory=\\n' >/etc/systemd/system/argosyd.service.d/read-only.conf; systemctl daemon-reload",
             "rm /etc/systemd/system/argosyd.service.d/read-only.conf; systemctl daemon-reload",
             ["/var/lib/argosy cannot be written", "Read-only file system"])]:
        with that_fails(node, break_it, mend_it):
            for _ in range(3):
                hears_why_at_once(node, saying)
            hears_why_at_once(node, saying)
        node.run("systemctl restart argosyd")  # nobody has to wait for the next try
        eventually(lambda: c.known(on=node) == {"stays.service"})
        assert not node.path("/run/argosy/start-failures").exists()
    with that_fails(node, NO_MACHINE_ID[0], NO_MACHINE_ID[1]):
        time.sleep(8)  # in which it was started 16 times
        restarts = int(node.run("systemctl show --property=NRestarts --value argosyd"))
        assert 2 <= restarts <= 4, f"{restarts} restarts in 8 s"  # at once, and about 1, 2 and 5 s later
    node.run("systemctl restart argosyd")
    eventually(lambda: c.known(on=node) == {"stays.service"})


def test_a_damaged_log_is_named_and_not_forgotten(c: Cluster):
    c.start("w@{1..6}", KEPT)  # a slow machine needs longer for what follows than the lease lasts
    node = c.followers()[0]
    runs = c.invocations("w@*")
    refuses_to_start(node, "for f in /var/lib/argosy/log/*-* /var/lib/argosy/log/open-*; do "
                           "printf 'damage damage damage' | dd of=$f bs=1 seek=200 conv=notrunc 2>/dev/null; done",
                     saying=["/var/lib/argosy/log", "cluster remove"])
    assert c.invocations("w@*") == runs

    # the way out
    rest = next(other for other in c.nodes if other.name != node.name)
    c.ctl(f"cluster remove {node.name}", on=rest)
    c.make_fresh(node)
    c.join(node, to=rest)
    eventually(lambda: list(c.members(rest).values()).count("voter online") == 3)
    eventually(lambda: len(c.active("w@*")) == 6)
    c.assert_once("w@*", 6)


def test_a_voter_without_its_log_does_not_start_from_nothing(c: Cluster):
    node = c.followers()[0]
    refuses_to_start(node, "rm -r /var/lib/argosy/log", saying=["/var/lib/argosy/log", "cluster remove"])
    rest = next(other for other in c.nodes if other.name != node.name)
    c.ctl(f"cluster remove {node.name}", on=rest)
    c.make_fresh(node)
    c.join(node, to=rest)
    eventually(lambda: list(c.members(rest).values()).count("voter online") == 3)


def test_damaged_small_files_are_named(c: Cluster):
    node = c.followers()[0]
    for name in ["identity.pem", "peers", "fence", "voter-secrets"]:
        refuses_to_start(node, f"cp /var/lib/argosy/{name} /root/kept && echo damage >/var/lib/argosy/{name}",
                         saying=[f"/var/lib/argosy/{name}"])
        damaged(node, f"cp /root/kept /var/lib/argosy/{name}")
        node.run("systemctl reset-failed; systemctl start argosyd")
        c.wait_online()


def test_a_spare_without_room_for_the_log_stays_one_and_says_why(c: Cluster):
    c.ctl("cluster voters 1")
    eventually(lambda: list(c.members().values()).count("spare online") == 2)
    node = c.followers()[0]
    starts = restarts(node)
    with full_disk(node):
        c.ctl("cluster voters 3")
        eventually(lambda: f"{node.name} cannot become a voter" in c.ctl("cluster status"), what="it is said why")
        assert restarts(node) == starts, "argosyd does not end for a full disk"
        assert c.members()[node.name] == "spare online"
    node.run("systemctl restart argosyd")  # it is asked again at once
    eventually(lambda: list(c.members().values()) == ["voter online"] * 3)


main(nodes=3, conf=QUICK)
