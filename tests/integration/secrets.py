#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Secrets: a unit's program reads them, on its node and nowhere else, and they outlive argosyd, the leader and a reboot."""

from lib import QUICK, Cluster, eventually, main

SECRETS = "/run/argosy/secrets"

# Tells in a file of its node what it reads, and goes on.
READER = ("[Service]\nExecStart=/bin/sh -c 'cat $CREDENTIALS_DIRECTORY/password >/root/read-%i; exec sleep infinity'\n"
          "[X-Argosy]\nSecret=db:password\n")


def set_secret(c, name, value, on=None, options=""):
    node = on or c.leader()
    return node.run(f"argosyctl secret set {name} {options}", input=value)


def read(c, unit="r@1"):
    """What the unit's program has read where it runs."""
    node = c.where(unit)
    return node and node.run(f"cat /root/read-{unit.split('@')[1]}")


def secrets(c, name=""):
    return {row["name"]: row for row in c.json(f"secret list {name}")}


def files(node):
    return sorted(node.run(f"cd {SECRETS} && find . -type f").split())


def forget(c):
    """What the test before has left."""
    for node in c.nodes:
        node.run("rm -f /root/read-*")
    if secrets(c):
        c.ctl(f"secret delete {' '.join(secrets(c))}")


def test_a_program_reads_its_secret(c: Cluster):
    forget(c)
    for node in c.nodes:
        assert "ramfs" in node.run(f"findmnt -n -o FSTYPE {SECRETS}"), f"{node.name} has no ramfs"
    set_secret(c, "db", "hunter2")
    c.start("r@{1..2}", READER)
    assert read(c) == "hunter2"
    row = secrets(c)["db"]
    assert row["version"] == 1 and row["units"] == 3, row  # and the template
    used = {use["unit"]: use for use in row["uses"]}
    assert used["r@1.service"]["nodes"] == [c.where("r@1").name], row
    for node in c.nodes:
        has = node.name in (c.where("r@1").name, c.where("r@2").name)
        assert bool(files(node)) == has, f"{node.name}: {files(node)}"
        modes = node.run(f"find {SECRETS} -type f -printf '%m %u\n'").split("\n")
        assert all(mode in ("444 root", "") for mode in modes), modes  # users in a container read them
        folders = node.run(f"find {SECRETS} -mindepth 1 -maxdepth 1 -type d -printf '%m %u\n'").split("\n")
        assert folders == ["700 root", "700 root", ""] or folders == ["700 root"] * 2, folders  # and nobody else on the host


def test_a_new_version_comes_with_the_next_start(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    c.start("r@1", READER)
    set_secret(c, "db", "two")
    assert secrets(c)["db"]["stale"] == 1
    assert c.row("r@1.service")["note"] == "older-secret" and "gives it the newest" in c.ctl("list-units r@1")
    assert "it has an older version of a secret" in c.ctl_result("status r@1").out
    assert "its secret db has a newer version" in c.ctl_result("why r@1").out
    node = c.where("r@1")
    node.run("systemctl restart r@1")  # by systemd alone: as it was
    eventually(lambda: read(c) == "one")
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "two")
    assert secrets(c)["db"]["stale"] == 0 and not c.row("r@1.service")["note"]


def test_those_that_run_are_restarted_for_a_new_version(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    c.start("r@{1..4}", READER)
    c.ctl("stop r@4")
    set_secret(c, "db", "two", options="--restart")
    assert [read(c, f"r@{i}") for i in range(1, 4)] == ["two"] * 3
    assert set(c.active("r@*")) == {f"r@{i}.service" for i in range(1, 4)}, "what was stopped is not started"
    assert secrets(c)["db"]["stale"] == 1
    set_secret(c, "db", "three", options="--restart=rolling --max-unavailable=1 --health=0.1s")
    assert [read(c, f"r@{i}") for i in range(1, 4)] == ["three"] * 3
    assert any(job["verb"] == "restart --rolling" for job in c.json("list-jobs")), c.json("list-jobs")
    runs = c.lives("r@*")
    set_secret(c, "db", "four")
    assert c.lives("r@*") == runs
    for options, words in [("--restart --json=short", "does not go with --json"), ("--health=1s", "go with --restart=rolling"),
                           ("--restart=at-once", "is not 'rolling', or nothing")]:
        result = c.leader().exec(["sh", "-c", f"argosyctl secret set db {options}"], input="five")
        assert result.status != 0 and words in result.err, (options, result)
    assert secrets(c)["db"]["version"] == 4


def test_a_rolling_restart_for_a_secret_leaves_instances_alone_that_have_others(c: Cluster):
    forget(c)
    for name in ("own-1", "own-2"):
        set_secret(c, name, "one")
    c.start("own@{1..2}", READER.replace("Secret=db", "Secret=own-%i"))
    runs = c.invocation("own@2")
    set_secret(c, "own-1", "two", options="--restart=rolling --health=0.1s")
    assert read(c, "own@1") == "two"
    assert c.invocation("own@2") == runs
    assert secrets(c)["own-1"]["stale"] == 0


def test_what_is_undone_keeps_its_version(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    c.start("r@1", READER)
    set_secret(c, "db", "two")
    c.leader().write("/root/units/r@1.service", READER.replace("sleep infinity", "sleep 100000"))
    c.ctl("start --replace /root/units/r@1.service", on=c.leader())
    eventually(lambda: read(c) == "two")
    job = c.json("list-jobs --limit=1")[0]["job"]
    set_secret(c, "db", "three")
    c.where("r@1").run("rm /root/read-1")
    c.ctl(f"undo {job}")
    eventually(lambda: c.where("r@1") and read(c) == "two", what="the file goes back, and the secret does not")


def test_restarts_need_neither_argosyd_nor_a_leader(c: Cluster):
    forget(c)
    set_secret(c, "db", "hunter2")
    c.start("r@1", READER + "NodeLost=keep\n")
    node = c.where("r@1")
    for other in c.nodes:
        other.run("systemctl stop argosyd.socket argosyd.service")
    node.run("rm /root/read-1; systemctl restart r@1")
    eventually(lambda: node.run("cat /root/read-1") == "hunter2")
    for other in c.nodes:
        other.run("systemctl start argosyd.socket argosyd.service")
    c.wait_online()
    node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("restart r@1")
    assert read(c) == "hunter2"


def test_they_outlive_the_leader(c: Cluster):
    forget(c)
    set_secret(c, "db", "hunter2")
    c.start("r@1", READER + f"Host={c.followers()[0].name}\n")
    old = c.leader()
    old.kill()
    eventually(lambda: c.leader().name != old.name)
    c.ctl("restart r@1")
    assert read(c) == "hunter2"
    set_secret(c, "db", "after")
    c.ctl("restart r@1")
    eventually(lambda: read(c) == "after")


def test_a_unit_whose_stop_its_host_has_missed_starts_with_what_the_cluster_says(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    node = next(node for node in c.followers() if node.name != "n1")  # who asks
    c.start("r@1", READER + f"Host={node.name}\nNodeLost=keep\n")
    run = c.invocation("r@1.service")
    node.partition()
    eventually(lambda: c.row("r@1.service")["active"] != "active")
    c.ctl("stop --no-block r@1")
    set_secret(c, "db", "two")
    c.ctl("start --no-block r@1")
    assert {use["unit"]: use["version"] for use in secrets(c)["db"]["uses"]}["r@1.service"] == 2
    node.heal()
    eventually(lambda: node.run("cat /root/read-1") == "two")
    assert c.invocation("r@1.service") != run
    run = c.invocation("r@1.service")
    node.partition()
    eventually(lambda: c.row("r@1.service")["active"] != "active")
    c.ctl("stop --no-block r@1")
    c.ctl("start --no-block r@1")
    node.heal()
    c.wait_online()
    c.ctl("start r@1")
    assert c.invocation("r@1.service") == run, "what runs with what it is to have is not restarted"


def test_a_unit_that_was_made_anew_where_its_host_was_away_has_the_secret_of_now(c: Cluster):
    """Another value has the number of the one that was deleted."""
    forget(c)
    set_secret(c, "db", "before")
    node = next(node for node in c.followers() if node.name != "n1")  # who asks
    text = READER.replace("%i", "again") + f"Host={node.name}\nNodeLost=keep\n"
    c.start("again", text)
    eventually(lambda: node.run("cat /root/read-again") == "before")
    node.partition()
    eventually(lambda: c.row("again.service")["active"] != "active")
    assert "may still run" in c.ctl_result("destroy again").err
    c.ctl("secret delete db")
    set_secret(c, "db", "after")
    c.submit("again.service", text)
    c.ctl("start --no-block again")
    assert secrets(c)["db"]["version"] == 1
    node.heal()
    eventually(lambda: node.run("cat /root/read-again") == "after")


def test_a_start_where_nobody_hears_of_the_unit_says_what_it_has(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    node = next(node for node in c.followers() if node.name != "n1")
    c.start("r@1", READER + f"Host={node.name}\nNodeLost=keep\n")
    node.partition()
    eventually(lambda: c.row("r@1.service")["active"] != "active")
    set_secret(c, "db", "two")
    c.ctl("start --no-block r@1")
    node.heal()
    c.wait_online()
    assert {use["unit"]: use["version"] for use in secrets(c)["db"]["uses"]}["r@1.service"] == 1
    assert read(c) == "one"
    set_secret(c, "db", "three", options="--restart")
    assert read(c) == "three"


def test_a_unit_that_moves_brings_its_secret(c: Cluster):
    forget(c)
    set_secret(c, "db", "one")
    c.start("r@1", READER)
    set_secret(c, "db", "two")
    node = c.where("r@1")
    node.kill()
    eventually(lambda: c.where("r@1") and c.where("r@1").name != node.name)
    assert eventually(lambda: read(c)) == "one", "a failover keeps the version"


def test_a_host_that_boots_has_none_before_a_leader_says_so(c: Cluster):
    forget(c)
    set_secret(c, "db", "hunter2")
    node = c.followers()[0]
    c.start("r@1", READER + f"Host={node.name}\nNodeLost=keep\n")
    node.kill()
    node.boot()
    eventually(lambda: read(c) == "hunter2")


def test_it_goes_with_its_last_unit(c: Cluster):
    forget(c)
    set_secret(c, "db", "hunter2")
    c.start("r@1", READER)
    node = c.where("r@1")
    c.ctl_fails("secret delete db", saying="have the secret db")
    c.ctl("destroy 'r@*'")
    eventually(lambda: files(node) == [])
    c.ctl("secret delete db")
    assert secrets(c) == {}


def test_bad_ones_are_refused(c: Cluster):
    forget(c)
    node = c.leader()
    node.write("/root/large", "x" * 65537)
    for options, value, words in [("db", "", "standard input is empty"), ("../db", "x", "no name of a secret"),
                                  ("db --file=/root/none", None, "cannot read /root/none"), ("db --file=/root/large", None, "65536 bytes at most"),
                                  ("db --file=/dev/zero", None, "no regular file"), ("db --file=/root", None, "no regular file")]:
        result = node.exec(["sh", "-c", f"argosyctl secret set {options}"], input=value or "")
        assert result.status != 0 and words in result.err, (options, result)
    assert secrets(c) == {}
    c.submit("r@.service", READER)
    c.ctl_fails("start r@1", saying="there is no such secret")
    for text, words in [("Manager=user@1000\n", "machines' own managers only"), ("Secret=a:password\n", "two secrets would be called password"),
                        ("Secret=a/b\n", "is not NAME[:ID]")]:
        node.write("/root/units/bad.service", READER.replace("%i", "bad") + text)
        c.ctl_fails("submit /root/units/bad.service", on=node, saying=words)


def test_a_closed_queue_refuses_and_keeps_nothing(c: Cluster):
    forget(c)
    c.ctl("queue close --reason=holidays")
    try:
        result = c.leader().exec(["argosyctl", "secret", "set", "db"], input="hunter2")
        assert result.status != 0 and "hunter2" not in result.err, result
        assert c.json("list-jobs --state=held") == []
    finally:
        c.ctl("queue open")
    assert secrets(c) == {}


if __name__ == "__main__":
    main(nodes=3, conf=QUICK)
