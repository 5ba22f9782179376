#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fleet's API on booted nodes: the requests that fleet's client makes, one after the other as it does."""

import http.client
import json
import socket
from pathlib import Path
from urllib.parse import quote

from lib import Cluster, eventually, main

SOCKET = "run/argosy/fleet.sock"
SLEEP = [{"section": "Service", "name": "ExecStart", "value": "/usr/bin/sleep infinity"}]


class Connection(http.client.HTTPConnection):
    def __init__(self, node):
        super().__init__("localhost", timeout=30)
        self._path = Path(f"/proc/{node.init_pid()}/root/{SOCKET}")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(node, method, target, body=None, kind="application/json"):
    """(status, what it says); as the client does, with alt=json behind everything."""
    connection = Connection(node)
    try:
        text = None if body is None else json.dumps(body)
        headers = {"User-Agent": "google-api-go-client/0.5"} | ({"Content-Type": kind} if text else {})
        connection.request(method, f"/fleet/v1/{target}{'&' if '?' in target else '?'}alt=json", text, headers)
        answer = connection.getresponse()
        said = answer.read().decode()
        assert answer.headers["Server"].startswith("fleetd/"), answer.headers
        return answer.status, json.loads(said) if said else None
    finally:
        connection.close()


def get(node, target):
    status, said = ask(node, "GET", target)
    assert status == 200, f"{target}: {status} {said}"
    return said


def refuses(node, method, target, status, saying="", body=None, kind="application/json"):
    seen, said = ask(node, method, target, body, kind)
    assert seen == status and said["error"]["code"] == status and saying in said["error"]["message"], f"{method} {target}: {seen} {said}"


def put(node, name, status, **members):
    seen, said = ask(node, "PUT", f"units/{quote(name)}", {"name": name} | members)
    assert seen == status, f"{name}: {seen} {said}"


def pages(node, target, key):
    rows, lengths, token = [], [], None
    while token != "":
        said = get(node, f"{target}?nextPageToken={quote(token)}" if token else target)
        rows += said.get(key, [])
        lengths.append(len(said.get(key, [])))
        token = said.get("nextPageToken", "")
    return rows, lengths


def waits(node, name, current, active=None):
    def is_so():
        state = ask(node, "GET", f"state/{quote(name)}")[1] or {}
        return get(node, f"units/{quote(name)}")["currentState"] == current and (not active or state.get("systemdActiveState") == active)

    eventually(is_so)


def test_a_unit_goes_the_way_of_fleet(c: Cluster):
    for node in c.nodes:
        name = f"a-{node.name}.service"
        refuses(node, "GET", f"units/{name}", 404, "unit does not exist")
        put(node, name, 201, options=SLEEP)
        said = get(node, f"units/{name}")
        assert said == {"name": name, "options": SLEEP, "desiredState": "inactive", "currentState": "inactive"}, said
        put(node, name, 204, desiredState="loaded")
        waits(node, name, "loaded", "inactive")
        put(node, name, 204, desiredState="launched")
        waits(node, name, "launched", "active")
        said, state = get(node, f"units/{name}"), get(node, f"state/{name}")
        assert state == {"name": name, "hash": "40ea6646945809f4b420a50475ee68503088f127", "machineID": said["machineID"],
                         "systemdLoadState": "loaded", "systemdActiveState": "active", "systemdSubState": "running"}, state
        assert get(node, f"state?unitName={name}&machineID={said['machineID']}") == {"states": [state]}
        assert get(node, f"state?unitName={name}&machineID=none") == {}
        put(node, name, 204, desiredState="loaded")
        waits(node, name, "loaded", "inactive")
        put(node, name, 204, desiredState="inactive")
        waits(node, name, "inactive")
        assert ask(node, "DELETE", f"units/{name}") == (204, None)
        refuses(node, "DELETE", f"units/{name}", 404, "unit does not exist")


def test_a_restart_is_what_the_client_makes_of_it(c: Cluster):
    node = c.nodes[0]
    put(node, "r.service", 201, options=SLEEP, desiredState="launched")
    waits(node, "r.service", "launched", "active")
    before = c.invocation("r.service")
    put(node, "r.service", 204, desiredState="loaded")
    assert get(node, "state/r.service")["systemdActiveState"] == "inactive", "it was answered before it had stopped"
    assert [get(node, "units/r.service")["currentState"] for _ in range(3)] == ["launched", "loaded", "loaded"]
    put(node, "r.service", 204, desiredState="launched")
    waits(node, "r.service", "launched", "active")
    assert c.invocation("r.service") != before
    ask(node, "DELETE", "units/r.service")


def test_a_stop_that_takes_long_is_answered_all_the_same(c: Cluster):
    node = c.nodes[0]
    stubborn = [{"section": "Service", "name": "ExecStart", "value": "/bin/sh -c 'trap \"\" TERM; while :; do sleep 0.1; done'"},
                {"section": "Service", "name": "TimeoutStopSec", "value": "4"}]
    put(node, "s.service", 201, options=stubborn, desiredState="launched")
    waits(node, "s.service", "launched", "active")
    put(node, "s.service", 204, desiredState="loaded")
    assert get(node, "state/s.service")["systemdActiveState"] == "deactivating"
    ask(node, "DELETE", "units/s.service")


def test_another_content_replaces_a_unit_that_runs(c: Cluster):
    node, changed = c.nodes[1], [{"section": "Service", "name": "ExecStart", "value": "/usr/bin/sleep \\\n  99999"}]
    put(node, "b.service", 201, options=SLEEP, desiredState="launched")
    waits(node, "b.service", "launched", "active")
    refuses(node, "PUT", "units/b.service", 409, "must provide DesiredState", {"options": SLEEP})
    before = get(node, "state/b.service")["hash"]
    put(node, "b.service", 201, options=changed)  # as the client does it; what the unit is to be comes behind that
    eventually(lambda: get(node, "state/b.service")["hash"] != before)
    assert get(node, "units/b.service")["options"] == changed
    waits(node, "b.service", "launched", "active")
    assert "99999" in c.ctl("cat b.service")
    ask(node, "DELETE", "units/b.service")


def test_templates_globals_and_metadata_are_those_of_fleet(c: Cluster):
    node = c.nodes[0]
    machines = get(node, "machines")["machines"]
    assert sorted(m["primaryIP"] for m in machines) == sorted(row["address"].split(":")[0] for row in c.json("list-nodes")), machines
    chosen = machines[2]["id"]
    put(node, "t@.service", 201, options=SLEEP)
    put(node, "t@1.service", 201, options=SLEEP, desiredState="launched")
    waits(node, "t@1.service", "launched", "active")
    put(node, "g.service", 201, options=SLEEP + [{"section": "X-Fleet", "name": "Global", "value": "true"}], desiredState="launched")
    eventually(lambda: len(get(node, "state?unitName=g.service").get("states", [])) == 3)
    assert "currentState" not in get(node, "units/g.service")
    wants = SLEEP + [{"section": "X-Fleet", "name": "MachineMetadata", "value": "color=red"}]
    put(node, "m.service", 201, options=wants)
    refuses(node, "PUT", "units/m.service", 409, "no node", {"desiredState": "launched"})
    patch = [{"op": "add", "path": f"/{chosen}/metadata/color", "value": {"value": "red"}}]
    assert ask(node, "PATCH", "machines", patch, "application/json-patch+json") == (204, None)
    assert [m["metadata"] for m in get(node, "machines")["machines"] if m["id"] == chosen] == [{"color": "red"}]
    put(node, "m.service", 204, desiredState="launched")
    waits(node, "m.service", "launched", "active")
    assert get(node, "units/m.service")["machineID"] == chosen
    for unit in ["t@.service", "t@1.service", "g.service", "m.service"]:
        assert ask(node, "DELETE", f"units/{quote(unit)}")[0] == 204
    assert ask(node, "PATCH", "machines", [{"op": "remove", "path": f"/{chosen}/metadata/color"}])[0] == 204
    assert not any("metadata" in m for m in get(node, "machines")["machines"])


def test_lists_come_in_pages_of_a_hundred(c: Cluster):
    node = c.nodes[2]
    put(node, "p@.service", 201, options=SLEEP)
    c.ctl("load p@{1..249}")
    rows, lengths = pages(node, "units", "units")
    assert lengths == [100, 100, 50] and len({row["name"] for row in rows}) == 250, lengths
    assert all(row["options"] == SLEEP for row in rows)
    eventually(lambda: pages(node, "state", "states")[1] == [100, 100, 49])
    refuses(node, "GET", "units?nextPageToken=ZQABAA%3D%3D", 400, "token limit must be 100")
    refuses(node, "GET", "state?nextPageToken=x", 400, "malformed page token")
    c.ctl("destroy p@{1..249} p@")


def test_errors_are_those_of_fleet(c: Cluster):
    node = c.nodes[0]
    refuses(node, "PUT", "units/x.service", 415, "only acceptable Content-Type", {}, "text/plain")
    refuses(node, "PUT", "units/x.service", 409, "options field empty", {})
    refuses(node, "PUT", "units/x.service", 400, "differs from unit name", {"name": "y.service"})
    refuses(node, "PUT", "units/x.nonsense", 400, "invalid unit name", {"options": SLEEP})
    pinned = [{"section": "X-Fleet", "name": "MachineID", "value": "a" * 32}, {"section": "X-Fleet", "name": "Global", "value": "yes"}]
    refuses(node, "PUT", "units/x.service", 400, "", {"options": SLEEP + pinned})
    refuses(node, "POST", "units", 405, "only GET")
    refuses(node, "PATCH", "machines", 400, "invalid op", [{"op": "test", "path": "/a/metadata/b"}])
    refuses(node, "PATCH", "machines", 404, "machine does not exist", [{"op": "remove", "path": "/a/metadata/b"}])
    refuses(node, "GET", "nothing", 404)
    assert get(node, "discovery")["id"] == "fleet:v1" and get(node, "units") == {} and get(node, "state") == {}


def test_without_a_leader_all_is_unavailable(c: Cluster):
    for node in c.nodes[1:]:
        node.kill()
    eventually(lambda: ask(c.nodes[0], "GET", "units")[0] == 503)
    refuses(c.nodes[0], "GET", "machines", 503, "fleet server unable to communicate with etcd")


if __name__ == "__main__":
    main(conf=["Fleet.Listen=/run/argosy/fleet.sock"])
