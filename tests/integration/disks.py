#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The disk under /var/lib/argosy is full, or its content is damaged: clear words, nothing acknowledged that is not kept, never a
silent start from nothing, and the way out that the words name works."""

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays

FILL = "dd if=/dev/zero of=/var/lib/argosy/filler bs=64k 2>/dev/null; dd if=/dev/zero of=/var/lib/argosy/filler2 bs=512 2>/dev/null; true"


def use_up(c, limit=200):
    """Changes until one fails for the disk; what the log has already reserved takes some. Returns those that were acknowledged
    and the failure."""
    kept = []
    for number in range(limit):
        name = f"u{number}.service"
        c.node("n1").write(f"/root/units/{name}", SLEEPER + f"# {'x' * 60000} {number}\n")
        result = c.ctl_result(f"submit /root/units/{name} --timeout=5s", on="n1")
        if result.status != 0:
            return kept, result
        kept.append(name)
    raise AssertionError("a full disk was never noticed")


def test_a_full_disk_refuses_changes_keeps_units_and_heals(c: Cluster):
    c.start("w@{1..3}")
    runs = c.invocations("w@*")
    for node in c.nodes:
        node.run(FILL)
    kept, failure = use_up(c)
    assert "full" in failure.err or "space" in failure.err, f"not a clear word about the disk:\n{failure.err}"
    assert set(kept) <= c.known()
    assert c.invocations("w@*") == runs
    assert "w@1.service" in c.ctl("list-units")
    for node in c.nodes:
        node.run("rm /var/lib/argosy/filler*")
    c.wait_online()
    c.ctl("start --timeout=10s w@4")
    assert set(kept) <= c.known()
    assert all(c.invocations("w@*")[run] == id for run, id in runs.items())


def test_the_full_disk_of_one_voter_stops_nobody(c: Cluster):
    c.start("w@{1..3}")
    leader = c.leader()
    leader.run(FILL)
    c.node("n1").write("/root/units/big.service", SLEEPER + "#" + "x" * 200000 + "\n")
    for number in range(12):
        c.ctl(f"submit --replace /root/units/big.service --timeout=15s", on="n1")
        c.node("n1").run(f"echo '# {number}' >>/root/units/big.service")
    c.ctl("start --timeout=15s w@{4..6}")
    c.assert_once("w@*", 6)
    leader.run("rm /var/lib/argosy/filler*")
    c.wait_online()


def damaged(node, command):
    node.run("systemctl stop argosyd.socket argosyd.service")
    node.run(command)
    node.exec(["systemctl", "start", "argosyd.socket", "argosyd.service"])


def test_a_damaged_log_is_named_and_not_forgotten(c: Cluster):
    c.start("w@{1..6}")
    node = c.followers()[0]
    runs = c.invocations("w@*")
    damaged(node, "for f in /var/lib/argosy/log/*-* /var/lib/argosy/log/open-*; do "
                  "printf 'damage damage damage' | dd of=$f bs=1 seek=200 conv=notrunc 2>/dev/null; done")
    eventually(lambda: node.run("systemctl show --property ActiveState --value argosyd").strip() == "failed",
               what="it does not start")
    assert node.run("systemctl show --property ExecMainStatus --value argosyd").strip() == "78"
    said = node.journal("argosyd", 10)
    assert "/var/lib/argosy/log" in said and "cluster remove" in said, f"the way out is not named:\n{said}"
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
    damaged(node, "rm -r /var/lib/argosy/log")
    eventually(lambda: node.run("systemctl show --property ActiveState --value argosyd").strip() == "failed")
    assert "log" in node.journal("argosyd", 10)
    rest = next(other for other in c.nodes if other.name != node.name)
    c.ctl(f"cluster remove {node.name}", on=rest)
    c.make_fresh(node)
    c.join(node, to=rest)
    eventually(lambda: list(c.members(rest).values()).count("voter online") == 3)


def test_damaged_small_files_are_named(c: Cluster):
    node = c.followers()[0]
    for name in ["identity.pem", "peers", "fence"]:
        damaged(node, f"cp /var/lib/argosy/{name} /root/kept && echo damage >/var/lib/argosy/{name}")
        eventually(lambda: node.run("systemctl show --property ActiveState --value argosyd").strip() == "failed", what=name)
        said = node.journal("argosyd", 5)
        assert f"/var/lib/argosy/{name}" in said or name in said, f"{name} is not named:\n{said}"
        damaged(node, f"cp /root/kept /var/lib/argosy/{name}")
        node.run("systemctl reset-failed; systemctl start argosyd")
        c.wait_online()


main(nodes=3, conf=QUICK)
