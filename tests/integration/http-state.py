#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The state document: it is what argosyctl lists, on every host; who keeps it and asks what has changed has the next one."""

import http.client
import json
import random
import socket
import subprocess
import threading
from pathlib import Path

from lib import SLEEPER, Cluster, eventually, long, main

ANN = 1001
LISTS = ("nodes", "drains", "roles", "pools", "grants", "rules", "jobs", "rollouts", "unit_files", "contents", "units")
KEYS = {"nodes": ("node",), "drains": ("node",), "roles": ("role",), "pools": ("pool",), "grants": ("grant",), "rules": ("rule",),
        "jobs": ("job",), "rollouts": ("unit",), "unit_files": ("unit",), "contents": ("unit",), "units": ("unit", "node")}
OPEN_JOBS = ("running", "held")


class Connection(http.client.HTTPConnection):
    def __init__(self, node):
        super().__init__("localhost", timeout=60)
        self._path = Path(f"/proc/{node.init_pid()}/root/run/argosy/http.sock")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def ask(self, target, tag=None):
        """(status, tag, what it says)"""
        self.request("GET", target, headers={"If-None-Match": tag} if tag else {})
        answer = self.getresponse()
        text = answer.read()
        return answer.status, answer.headers["ETag"], json.loads(text) if text else None


def ask(node, target, tag=None):
    connection = Connection(node)
    try:
        return connection.ask(target, tag)
    finally:
        connection.close()


def state(node):
    status, tag, said = ask(node, "/v1/state")
    assert status == 200 and tag == f'"{said["cursor"]}"', (status, said)
    return said


def key_of(name, row):
    return tuple(row[field] for field in KEYS[name])


def as_tables(document):
    """Rows have no order."""
    tables = {name: {key_of(name, row): row for row in document[name]} for name in LISTS}
    assert all(len(tables[name]) == len(document[name]) for name in LISTS), "a row stands there twice"
    return tables | {"leader": document["leader"], "queue": document["queue"]}


class Copy:
    """One document, and from then on what has changed."""

    def __init__(self, node):
        document = state(node)
        self.tables, self.cursor = as_tables(document), document["cursor"]
        self.seen = {"missed": 0, "anew": 0, "gone": 0}

    def follow(self, node):
        status, _, said = ask(node, f"/v1/state?since={self.cursor}")
        if status == 503:
            return False
        assert status == 200, said
        self.seen["missed"] += said["missed"]
        self.seen["anew"] += bool(said["anew"]["lists"])
        self.seen["gone"] += bool(said["gone"])
        for name in said["anew"]["lists"]:
            self.tables[name] = {} if name in LISTS else None
        for unit in said["anew"]["units"]:
            self.tables["units"] = {key: row for key, row in self.tables["units"].items() if key[0] != unit}
        for name, rows in said["gone"].items():
            for row in rows:
                self.tables[name].pop(key_of(name, row), None)
        for name in LISTS:
            for row in said.get(name, ()):
                self._put(name, row)
        for name in ("leader", "queue"):
            self.tables[name] = said.get(name, self.tables[name])
        self.cursor = said["cursor"]
        return True

    def _put(self, name, row):
        if name == "jobs" and row["state"] not in OPEN_JOBS:
            self.tables[name].pop(key_of(name, row), None)
        else:
            self.tables[name][key_of(name, row)] = row

    def is_like(self, node):
        """At one cursor: if it has moved meanwhile, or nobody leads yet, once more."""
        status, _, document = ask(node, "/v1/state")
        if status == 503:
            return False
        assert status == 200, document
        if not self.follow(node) or document["cursor"] != self.cursor:
            raise ValueError("something has changed meanwhile")
        there = as_tables(document)
        for name in (*LISTS, "leader", "queue"):
            assert there[name] == self.tables[name], f"{name}: there is {there[name]}, and the copy has {self.tables[name]}"
        return True


def same(rows, listed, key, fields):
    """Of both, what they have in common."""
    def cut(row):
        return tuple(row[field] for field in (*key, *fields))
    assert sorted(map(cut, rows)) == sorted(map(cut, listed)), (rows, listed)


def equals_listings(c, node):
    before = state(node)
    units, files = c.json("list-units", node), c.json("list-unit-files", node)
    nodes, roles = c.json("list-nodes", node), c.json("role show", node)
    _, _, said = ask(node, "/v1/state")
    if said["cursor"] != before["cursor"]:
        return False
    same(said["units"], [row for row in units if row["node"] != "-"], ("unit", "node"),
         ("load", "active", "sub", "error", "drift", "stale"))
    same(said["unit_files"], files, ("unit",), ("rev", "desired", "state", "node", "description", "set"))
    contents = {row["unit"]: row["sha256"][:7] for row in said["contents"]}
    assert contents == {row["unit"]: row["rev"] for row in files}, (contents, files)
    same(said["nodes"], nodes, ("node",), ("state", "role", "mode", "address"))
    assert {"web"} <= {row["role"] for row in said["roles"]} <= {row["role"] for row in roles}, (said["roles"], roles)
    assert said["leader"]["leader"] == c.leader().name
    return True


def test_the_document_is_what_argosyctl_lists_on_every_host(c: Cluster):
    c.ctl("role set web")
    c.start("web@{1..6}")
    c.start("all", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    c.ctl("stop web@6")
    eventually(lambda: sum(row["active"] == "active" for row in c.json("list-units")) == 5 + len(c.nodes))
    for node in c.nodes:
        eventually(lambda: equals_listings(c, node))


def test_who_has_the_newest_document_is_told_so_and_who_has_not_gets_it(c: Cluster):
    c.start("web")
    eventually(lambda: c.active("web"))
    for node in c.nodes:
        connection = Connection(node)

        def settled():
            status, tag, _ = connection.ask("/v1/state")
            assert status == 200
            return all(connection.ask("/v1/state", tag) == (304, tag, None) for _ in range(3)) and tag

        tag = eventually(settled)
        c.ctl("cordon n1")
        status, newer, said = connection.ask("/v1/state", tag)  # argosyctl has its answer, so it is in it
        assert status == 200 and newer != tag, (status, newer)
        assert [row["mode"] for row in said["nodes"] if row["node"] == "n1"] == ["cordoned"], said["nodes"]
        c.ctl("uncordon n1")
        connection.close()


def change_more_than_units(c, change):
    """A content and an update on its way, a role, a label; each may be refused."""
    c.nodes[0].write("/root/units/w@.service", SLEEPER.replace("[Service]", f"[Service]\nEnvironment=CHANGE={change}"))
    c.ctl_result("update --no-block --health=100ms /root/units/w@.service", on=c.nodes[0])
    c.ctl_result(f"role set web Weight={change + 1}" if change % 3 else "role delete web")
    c.ctl_result(f"label n2 change={change}")


def documents_through_changes_of_leader(c, changes, seed, change_more=lambda c, change: None):
    """Each is compared with the whole at one cursor, after each change."""
    chance = random.Random(seed)
    c.submit("w@.service", SLEEPER)
    c.ctl("start 'w@{1..5}'")
    copies = [(Copy(node), node) for node in c.nodes]
    for change in range(changes):
        change_more(c, change)
        for verb in chance.choices(["start", "stop", "destroy", "load"], k=5):
            first = chance.randrange(1, 20)
            c.ctl_result(f"{verb} --no-block 'w@{{{first}..{first + chance.randrange(6)}}}'")
            copies[0][0].follow(copies[0][1])  # one asks often, others seldom
        c.leader().run("systemctl kill --signal=KILL argosyd")
        c.leader()
        for copy, node in copies:
            eventually(lambda: copy.is_like(node))
    assert copies[1][0].seen["anew"] > 0 and copies[0][0].seen["gone"] > 0, [copy.seen for copy, _ in copies]


def test_since_and_the_whole_are_the_same_through_the_loss_of_the_leader(c: Cluster):
    documents_through_changes_of_leader(c, changes=4, seed=3)


@long
def test_since_and_the_whole_are_the_same_through_twenty_changes_of_leader(c: Cluster):
    documents_through_changes_of_leader(c, changes=20, seed=4, change_more=change_more_than_units)
    jobs = c.json("list-jobs --limit=1000")
    done = {verb: sum(job["verb"] == verb for job in jobs) for verb in ("update", "role set", "label")}
    assert min(done.values()) >= 2, done


def test_a_cursor_of_long_ago_is_told_what_is_so_now(c: Cluster):
    node = c.nodes[-1]
    copy = Copy(node)
    c.submit("many@.service", SLEEPER)
    c.ctl("load many@{1..2000}")
    c.ctl("destroy many@{1..1990}")
    # with the template; one that is destroyed is told of until its node has said that nothing is left of it
    eventually(lambda: copy.is_like(node) and len([unit for unit, in copy.tables["unit_files"] if unit.startswith("many@")]) == 11)


def test_many_at_once_get_the_same_version(c: Cluster):
    c.submit("many@.service", SLEEPER)
    c.ctl("load many@{1..1000}")
    node, tags = c.nodes[0], []

    def fetch():
        connection = Connection(node)
        for _ in range(5):
            status, tag, said = connection.ask("/v1/state")
            tags.append((status, tag == f'"{said["cursor"]}"', len(said["unit_files"]) >= 1000))
        connection.close()

    threads = [threading.Thread(target=fetch) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tags == [(200, True, True)] * 100, set(tags)


ASK = """
import http.client, json, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
try:
    connection.sock.connect("http.sock")
except PermissionError:
    print(json.dumps([0, ""]))
    sys.exit()
connection.request("GET", sys.argv[1])
answer = connection.getresponse()
print(json.dumps([answer.status, answer.read().decode()]))
"""


def ask_as_ann(node, target):
    done = subprocess.run(["/usr/bin/python3", "-c", ASK, target], cwd=f"/proc/{node.init_pid()}/root/run/argosy", user=ANN, group=ANN,
                          extra_groups=[], text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_who_may_see_some_units_has_a_document_of_these(c: Cluster):
    c.ctl("role set web")
    c.start("web", SLEEPER + "[X-Argosy]\nRole=web\n")
    c.start("db", SLEEPER)
    node = c.nodes[0]
    node.run(f"id ann 2>/dev/null || useradd --uid {ANN} ann")
    state(node)  # of all, which is not his
    c.ctl("access grant view to user:ann on role web")
    eventually(lambda: ask_as_ann(node, "/v1/state")[0] == 200)
    said = json.loads(ask_as_ann(node, "/v1/state")[1])
    assert [row["unit"] for row in said["unit_files"]] == ["web.service"] and said["nodes"] == said["grants"] == [], said
    assert {row["unit"] for row in said["units"]} == {"web.service"}, said
    status, text = ask_as_ann(node, f"/v1/state?since={said['cursor']}")
    assert status == 200 and not json.loads(text)["anew"]["lists"], text
    c.ctl("access revoke view from user:ann on role web")
    eventually(lambda: ask_as_ann(node, "/v1/state")[0] != 200)


def test_what_is_no_cursor_is_refused(c: Cluster):
    for since in ("0", "p7", "00"):
        status, _, problem = ask(c.nodes[0], f"/v1/state?since={since}")
        assert status == 400 and "cursor" in problem["detail"], problem


if __name__ == "__main__":
    main()
