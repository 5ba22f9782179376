#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fleet's API on booted nodes: the requests that fleet's client makes, one after the other as it does.

They are those of the real client, fleetctl v1.0.0-15-g45224983, the last commit of github.com/coreos/fleet. Whoever changes
something of this API tries that again; nothing of it is kept here. It is built outside of this tree, with a Go that knows GOPATH mode
(1.26 does):

    export GOPATH=$SCRATCH GO111MODULE=off CGO_ENABLED=0
    git clone https://github.com/coreos/fleet $SCRATCH/src/github.com/coreos/fleet && cd $SCRATCH/src/github.com/coreos/fleet
    sed -i 's/0123456789__/0123456789_-/' vendor/github.com/ugorji/go/codec/gen.go     # an alphabet has no letter twice
    go build -ldflags "-X github.com/coreos/fleet/version.Version=$(git describe --tags)" -o $SCRATCH/fleetctl ./fleetctl

    tools/testbed up 3 --conf "Fleet.Listen=/run/argosy/fleet.sock 127.0.0.1:49153"
    $SCRATCH/fleetctl --endpoint=unix:///proc/PID/root/run/argosy/fleet.sock list-machines       # PID: an init of a node

In a folder with a plain unit, a template, a global unit, one that wants metadata, one whose instances conflict, and one that fails:
submit, load, start, cat, stop, restart, unload, destroy, each also a second time and with what there is not; list-machines, list-units
and list-unit-files with all their fields; --no-block, --block-attempts, --replace of each verb in each state; instances of a template
that was destroyed meanwhile; 130 instances at once; what finds no place; usage errors. The same over TCP from within the node's network,
with --ca-file, --cert-file and --key-file, with certificates of the rights view, deploy and admin, and without one. What is said, and
the exit status, is what fleet's daemon has it say, but for what argosy-fleet(7) names.
"""

import http.client
import json
import socket
import ssl
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from lib import SLEEPER, WAITS, Cluster, eventually, main
from over_http import network_of

SOCKET = "run/argosy/fleet.sock"
PORT = 49153
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
    """(status, what it says)"""
    with closing(Connection(node)) as connection:
        return ask_over(connection, method, target, body, kind)


def ask_over(connection, method, target, body=None, kind="application/json", more={}):
    """As the client does, with alt=json behind everything."""
    text = None if body is None else json.dumps(body)
    headers = {"User-Agent": "google-api-go-client/0.5"} | ({"Content-Type": kind} if text else {}) | more
    connection.request(method, f"/fleet/v1/{target}{'&' if '?' in target else '?'}alt=json", text, headers)
    answer = connection.getresponse()
    said = answer.read().decode()
    assert answer.headers["Server"].startswith("fleetd/"), answer.headers
    return answer.status, json.loads(said) if said else None


class Tcp(http.client.HTTPSConnection):
    """Over TCP, from that node, with a certificate or without."""

    def __init__(self, node, certificate):
        context = ssl.create_default_context(cadata=node.run("sed -n /BEGIN.CERTIFICATE/,/END.CERTIFICATE/p /var/lib/argosy/http.pem"))
        if certificate:
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(certificate)
                file.flush()
                context.load_cert_chain(file.name)
        super().__init__("127.0.0.1", PORT, timeout=30, context=context)
        self._node = node

    def connect(self):
        with network_of(self._node):
            super().connect()


def ask_tcp(node, certificate, method, target, body=None, **more):
    with closing(Tcp(node, certificate)) as connection:
        return ask_over(connection, method, target, body, **more)


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


def pages(node, target, key, get=get):
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
    stubborn = [{"section": "Service", "name": "ExecStart", "value": f"/bin/sh -c 'trap \"\" TERM; {WAITS}'"}]
    put(node, "s.service", 201, options=stubborn, desiredState="launched")
    waits(node, "s.service", "launched", "active")
    put(node, "s.service", 204, desiredState="loaded")
    assert get(node, "state/s.service")["systemdActiveState"] == "deactivating"
    c.let_go()
    ask(node, "DELETE", "units/s.service")


def test_another_content_replaces_a_unit_that_runs(c: Cluster):
    node, changed = c.nodes[1], [{"section": "Service", "name": "ExecStart", "value": "/usr/bin/sleep \\\n  99999"}]
    put(node, "b.service", 201, options=SLEEP, desiredState="launched")
    waits(node, "b.service", "launched", "active")
    refuses(node, "PUT", "units/b.service", 409, "must provide DesiredState", {"options": SLEEP})
    wrong = SLEEP + [{"section": "X-Argosy", "name": "Role", "value": "nobodys"}]
    refuses(node, "PUT", "units/b.service", 400, "there is no such role", {"options": wrong})
    assert get(node, "state/b.service")["systemdActiveState"] == "active" and get(node, "units/b.service")["options"] == SLEEP
    before = get(node, "state/b.service")["hash"]
    put(node, "b.service", 201, options=changed, desiredState="launched")
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


def polls(node, name, is_so):
    """As the client does: every 250 ms, for as long as it takes."""
    seen = []
    while not seen or not is_so(seen[-1]):
        seen.append(ask(node, "GET", f"units/{quote(name)}"))
        assert len(seen) < 200, f"{name}: {seen[-1]}"
        time.sleep(0.25)


def test_stop_unload_and_destroy_look_at_all_units_first(c: Cluster):
    """The client finds what it is to change in the list of all, through all of its pages, and then waits for each."""
    node = c.nodes[1]
    put(node, "z@.service", 201, options=SLEEP)
    c.ctl("submit z@{1..120}")
    names = [f"z@{n}.service" for n in (7, 119)]
    for name in names:
        put(node, name, 204, desiredState="launched")
        polls(node, name, lambda seen: seen[1]["currentState"] == "launched")
    for wanted in ["loaded", "inactive"]:
        rows = {row["name"]: row for row in pages(node, "units", "units")[0]}
        assert len(rows) == 121 and all(rows[name]["currentState"] != wanted for name in names), rows
        for name in names:
            put(node, name, 204, desiredState=wanted)
        for name in names:
            polls(node, name, lambda seen: seen[1]["currentState"] == wanted)
    for name in names:
        assert name in {row["name"] for row in pages(node, "units", "units")[0]}
        assert ask(node, "DELETE", f"units/{quote(name)}") == (204, None)
        polls(node, name, lambda seen: seen[0] == 404)
    c.ctl("destroy 'z@*'")


def test_a_name_is_no_pattern(c: Cluster):
    node = c.nodes[0]
    put(node, "a.service", 201, options=SLEEP, desiredState="loaded")
    waits(node, "a.service", "loaded", "inactive")
    for name in ["*", "%3F.service", "%5Ba%5D.service"]:
        refuses(node, "GET", f"units/{name}", 404, "unit does not exist")
        refuses(node, "GET", f"state/{name}", 404)
        refuses(node, "DELETE", f"units/{name}", 404)
    assert get(node, "state?unitName=*") == {}
    ask(node, "DELETE", "units/a.service")


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


def test_replace_is_what_the_client_makes_of_it(c: Cluster):
    """It waits for the unit to be inactive before it says what is to become of it."""
    node, changed = c.nodes[2], [{"section": "Service", "name": "ExecStart", "value": "/usr/bin/sleep 99998"}]
    put(node, "r.service", 201, options=SLEEP, desiredState="launched")
    waits(node, "r.service", "launched", "active")
    put(node, "r.service", 201, options=changed)
    waits(node, "r.service", "inactive")
    assert get(node, "units/r.service")["desiredState"] == "inactive"
    put(node, "r.service", 204, desiredState="launched")
    waits(node, "r.service", "launched", "active")
    assert "99998" in c.ctl("cat r.service")
    ask(node, "DELETE", "units/r.service")


def test_what_waits_for_a_place_is_told_why(c: Cluster):
    node, alone = c.nodes[0], SLEEP + [{"section": "X-Fleet", "name": "Conflicts", "value": "alone@*.service"}]
    for n in range(4):
        put(node, f"alone@{n}.service", 201, options=alone)
    for n in range(3):
        put(node, f"alone@{n}.service", 204, desiredState="launched")
    put(node, "alone@3.service", 204, desiredState="launched")  # it is taken, and waits
    put(node, "alone@4.service", 201, options=alone, desiredState="launched")  # it is made, and waits
    for name in ["alone@3.service", "alone@4.service"]:
        state = get(node, f"state/{name}")
        assert "machineID" not in state and state["systemdActiveState"] == "inactive", state
        assert state["systemdSubState"].startswith("no node takes it at present: n1: conflicts with alone@"), state
        assert state in get(node, "state")["states"]
    put(node, "alone@4.service", 204, desiredState="loaded")
    put(node, "alone@4.service", 204, desiredState="inactive")
    state = get(node, "state/alone@4.service")  # it is there, and waits for nothing
    assert (state["systemdLoadState"], state["systemdActiveState"]) == ("not-found", "inactive") and "machineID" not in state, state
    assert all(row["name"] != "alone@4.service" for row in get(node, "state")["states"])
    assert ask(node, "DELETE", "units/alone@0.service")[0] == 204
    waits(node, "alone@3.service", "launched", "active")
    for n in range(1, 5):
        ask(node, "DELETE", f"units/alone@{n}.service")


def test_a_sidekick_may_be_started_before_what_it_is_to_be_with(c: Cluster):
    """As the shell orders names: apache-discovery.1, apache.1."""
    node = c.nodes[1]
    for name, options in {"web.1.service": SLEEP, "web-discovery.1.service":
                          SLEEP + [{"section": "X-Fleet", "name": "MachineOf", "value": "web.1.service"}]}.items():
        put(node, name, 201, options=options)
    put(node, "web-discovery.1.service", 204, desiredState="launched")
    state = get(node, "state/web-discovery.1.service")
    assert "is to be where web.1.service is" in state["systemdSubState"], state
    put(node, "web.1.service", 204, desiredState="launched")
    for name in ["web.1.service", "web-discovery.1.service"]:
        waits(node, name, "launched", "active")
    assert len({get(node, f"units/{name}")["machineID"] for name in ["web.1.service", "web-discovery.1.service"]}) == 1
    for name in ["web-discovery.1.service", "web.1.service"]:
        ask(node, "DELETE", f"units/{name}")


def test_a_unit_on_a_machine_that_goes_silent_has_a_state(c: Cluster):
    """The client asks for it until it is active, and takes 404 for a crash of its own."""
    node, name = c.nodes[0], "silent.service"
    put(node, name, 201, options=SLEEP + [{"section": "X-Argosy", "name": "NodeLost", "value": "keep"}])
    silent = c.nodes[2]
    c.ctl(f"cordon {node.name} {c.nodes[1].name}")
    put(node, name, 204, desiredState="launched")
    waits(node, name, "launched", "active")
    silent.kill()
    seen = set()
    eventually(lambda: seen.add(ask(node, "GET", f"state/{name}")[1]["systemdActiveState"]) or "unknown" in seen)
    assert [row["name"] for row in get(node, "state")["states"]] == [name]
    silent.boot()
    c.wait_online()
    c.ctl(f"uncordon {node.name} {c.nodes[1].name}")
    ask(node, "DELETE", f"units/{name}")


def test_over_tcp_a_certificate_says_who_asks(c: Cluster):
    node = c.nodes[0]
    deploys = c.ctl("token create --right deploy --name fleet --certificate")
    views = c.json("token create --right view --name looks --certificate")
    views = views["certificate"] + views["key"]
    long = SLEEP + [{"section": "Unit", "name": "Description", "value": f"{n:04} " + 1000 * "x"} for n in range(30)]
    assert ask_tcp(node, None, "GET", "units")[0] == 401
    text = c.ctl("token create --right admin --name text").strip()
    assert ask_tcp(node, None, "GET", "units", more={"Authorization": f"Bearer {text}"})[0] == 401
    assert ask_tcp(node, deploys, "GET", "units", more={"Host": "fleet.example.org"})[0] == 421
    for certificate, status in [(views, 403), (deploys, 201)]:
        for name, options in [("short.service", SLEEP), ("long.service", long)]:
            assert ask_tcp(node, certificate, "PUT", f"units/{name}", {"name": name, "options": options})[0] == status, name
    assert {row["name"] for row in ask_tcp(node, views, "GET", "units")[1]["units"]} == {"short.service", "long.service"}
    assert "token:fleet" in c.ctl("jobs --limit 1")
    c.submit("p@.service", SLEEPER)
    c.ctl("load p@{1..249}")
    rows, lengths = pages(node, "state", "states", lambda node, target: ask_tcp(node, views, "GET", target)[1])
    assert lengths == [100, 100, 49] and len({row["name"] for row in rows}) == 249, lengths
    c.ctl("destroy p@{1..249} p@")
    for name in ["short.service", "long.service"]:
        assert ask_tcp(node, deploys, "DELETE", f"units/{name}") == (204, None)
    c.ctl("token revoke fleet")
    said = ask_tcp(node, deploys, "GET", "units")
    assert said[0] == 401 and "revoked" in said[1]["error"]["message"], said


LEFT = "[Unit]\nDescription=of fleet\n\n[Service]\nExecStart=/usr/bin/sleep infinity\n\n[Install]\nWantedBy=multi-user.target\n"


def leave_behind(node, names, text=LEFT, start="start"):
    """Units as fleet has them running when it is stopped."""
    node.run("mkdir -p /run/fleet/units")
    for name in names:
        node.write(f"/run/fleet/units/{name}", text)
        node.run(f"ln -s /run/fleet/units/{name} /run/systemd/system/{name}")
    node.run(f"systemctl daemon-reload && systemctl enable --runtime {' '.join(names)}")
    if start:
        node.exec(["systemctl", *start.split(), *names])


def runs(node, name):
    return node.run(f"systemctl show -p InvocationID,MainPID,ActiveState {name}")


def links(node, name):
    """What in systemd's directory leads to that file of fleet's."""
    return node.run(f"find /run/systemd/system -lname '*/{name}' -printf '%P -> %l\\n' | sort")


def is_read(node, name):
    return "NeedDaemonReload=no" in node.run(f"systemctl show -p NeedDaemonReload {name}")


def alone_on(c, node):
    c.ctl("cordon " + " ".join(other.name for other in c.nodes if other.name != node.name))


def goes_to(c, name, node):
    """A start would, since it runs there."""
    said = planned(c, name)
    return "runs it from" not in said and f" on {node.name}" in said


def planned(c, name):
    result = c.ctl_result(f"plan {name}")
    return result.out + result.err


def test_what_fleet_left_behind_goes_over_as_it_runs(c: Cluster):
    """All at once, each on the machine where it runs."""
    files = {f"left@{n}.service": LEFT for n in range(1, 7)} | {"all.service": LEFT + "[X-Fleet]\nGlobal=true\n"}
    before = {}
    for i, node in enumerate(c.nodes):
        left = [f"left@{2 * i + 1}.service", f"left@{2 * i + 2}.service", "all.service"]
        leave_behind(node, left)
        before |= {(node, name): runs(node, name) for name in left}
    for name, text in files.items():
        c.submit(name, text)
    eventually(lambda: all(goes_to(c, name, node) for node, name in before if name != "all.service"))
    c.ctl("start left@{1..6} all")
    for (node, name), ran in before.items():
        assert runs(node, name) == ran, f"{name} on {node.name}"
        assert "NeedDaemonReload=no" in node.run(f"systemctl show -p NeedDaemonReload {name}"), name
        assert node.run(f"test -L /run/systemd/system/{name} || echo ours").strip() == "ours", name
    seen = {(row["node"], row["unit"]): row["active"] for row in c.json("list-units")}
    assert seen == {(node.name, name): "active" for node, name in before}, seen
    c.ctl("restart left@1")
    assert runs(c.nodes[0], "left@1.service") not in before.values()
    c.ctl("destroy left@{1..6} all")
    for node, name in before:
        assert "ActiveState=inactive" in runs(node, name), name


def test_what_fleet_runs_starts_nowhere_else(c: Cluster):
    node, name = c.nodes[1], "kept.service"
    took = "/etc/argosy/argosy.conf.d/zz-take.conf"
    node.write(took, "[Fleet]\nTakeOver=\n")
    node.run("systemctl reload argosyd")
    leave_behind(node, [name])
    before = runs(node, name)
    c.submit(name, LEFT)
    eventually(lambda: "set TakeOver=" in planned(c, name))
    c.ctl_fails(f"start {name}", saying=f"{node.name} runs it from /run/fleet/units")
    put(c.nodes[0], name, 409, desiredState="launched")
    node.run("cp /bin/sleep /run/fleetd && systemd-run --quiet --unit=fleet /run/fleetd infinity")
    node.run(f"rm {took}; systemctl reload argosyd")
    eventually(lambda: "fleetd still runs there" in planned(c, name))
    c.ctl_fails(f"start {name}", saying="end it on all hosts")
    assert runs(node, name) == before and not [n for n in c.nodes if n != node and "ActiveState=active" in runs(n, name)]
    node.run("systemctl stop fleet; rm /run/fleetd")
    eventually(lambda: goes_to(c, name, node))
    c.ctl(f"start {name}")
    assert runs(node, name) == before and c.row(name)["node"] == node.name
    c.ctl(f"destroy {name}")


def test_what_is_down_or_on_its_way_up_goes_over_too(c: Cluster):
    node, bad = c.nodes[1], LEFT.replace("/usr/bin/sleep infinity", "/usr/bin/false")
    slow = LEFT.replace("ExecStart=/usr/bin/sleep infinity",
                        f"Type=notify\nNotifyAccess=all\nExecStart=/bin/sh -c '{WAITS}; systemd-notify --ready; exec sleep infinity'")
    leave_behind(node, ["failed.service"], bad)
    leave_behind(node, ["loaded.service"], start=None)
    leave_behind(node, ["slow.service"], slow, start="start --no-block")
    leave_behind(node, ["bound.service"])
    eventually(lambda: "ActiveState=failed" in runs(node, "failed.service"))
    for name, text in {"failed": LEFT, "loaded": LEFT, "slow": slow, "bound": LEFT + "[X-Argosy]\nCutOff=stop\n"}.items():
        c.submit(f"{name}.service", text)
    before = {name: runs(node, name) for name in ["slow.service", "bound.service"]}
    assert "ActiveState=activating" in before["slow.service"], before
    alone_on(c, node)
    c.ctl("load loaded")
    c.ctl("start failed")
    c.ctl_fails("start bound", saying="with CutOff=stop it can be taken over only when it is stopped")
    starts = c.begin("start slow")
    eventually(lambda: "50-argosy.conf" in node.run("systemctl show -p DropInPaths slow.service") and is_read(node, "slow.service"))
    assert runs(node, "slow.service") == before["slow.service"]
    node.run("systemctl kill -s KILL argosyd")
    c.let_go(node)
    assert starts.result().status == 0, starts.result()
    assert "ActiveState=active" in runs(node, "failed.service")
    assert "ActiveState=inactive" in runs(node, "loaded.service")
    assert runs(node, "slow.service") == before["slow.service"].replace("activating", "active")
    assert runs(node, "bound.service") == before["bound.service"]
    node.run("systemctl stop bound")
    c.ctl("start bound")
    assert node.run("systemctl is-active 'argosy-guard@*.target'").strip() == "active"
    for name in ["failed.service", "loaded.service", "slow.service", "bound.service"]:
        assert is_read(node, name), name
        assert "/run/fleet" not in links(node, name), links(node, name)


def test_argosyd_may_be_killed_while_it_takes_over(c: Cluster):
    node, names = c.nodes[2], [f"many-{n}.service" for n in range(30)]
    leave_behind(node, names)
    for name in names:
        c.submit(name, LEFT.replace("of fleet", "of argosy"))
    before = {name: runs(node, name) for name in names}
    alone_on(c, node)
    starts = c.begin(f"start --no-block {' '.join(names)}", on=c.nodes[0])
    taken = "find /run/systemd/system -maxdepth 1 -type f -name 'many-*.service' | wc -l"
    eventually(lambda: int(node.run(taken)) > 0)
    for _ in range(3):
        node.run("systemctl kill -s KILL argosyd")
        eventually(lambda: node.exec(["systemctl", "is-active", "argosyd"]).status == 0)
    assert starts.result().status == 0, starts.result()
    eventually(lambda: all(row["active"] == "active" and row["node"] == node.name for row in c.rows("many-*")) and len(c.rows("many-*")) == 30)
    eventually(lambda: all(is_read(node, name) for name in names))
    for name in names:
        assert runs(node, name) == before[name], name
        assert "/run/fleet" not in links(node, name), links(node, name)
        assert "Description=of argosy" in node.run(f"systemctl show -p Description {name}")


def test_what_is_refused_stays_as_fleet_left_it(c: Cluster):
    for node in c.nodes:
        node.write("/usr/lib/systemd/system/vendor.service", LEFT)
        leave_behind(node, ["vendor.service"])
    before = {node.name: (runs(node, "vendor.service"), links(node, "vendor.service")) for node in c.nodes}
    c.submit("vendor.service", LEFT)
    c.ctl_fails("start vendor", saying="/usr/lib/systemd/system/vendor.service")
    for node in c.nodes:
        node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("destroy vendor")
    for node in c.nodes:
        assert (runs(node, "vendor.service"), links(node, "vendor.service")) == before[node.name], node.name
        assert is_read(node, "vendor.service")
        node.run("systemctl disable --now vendor.service; rm /usr/lib/systemd/system/vendor.service; systemctl daemon-reload")


def test_what_somebody_else_runs_is_not_taken_over(c: Cluster):
    for node in c.nodes:
        node.run("systemd-run --unit=mine.service sleep infinity")
    c.submit("mine.service", LEFT)
    before = runs(c.nodes[0], "mine.service")
    c.ctl_fails("start mine", saying="a unit of that name that is not the cluster's is already active on this node")
    assert runs(c.nodes[0], "mine.service") == before
    c.ctl("destroy mine")
    for node in c.nodes:
        node.run("systemctl stop mine.service")


def test_all_sockets_are_open_to_those_who_have_rights(c: Cluster):
    node = c.nodes[0]

    def modes():
        return node.run("cd /run/argosy && stat -c %a argosy.sock http.sock fleet.sock").split()

    assert modes() == ["660"] * 3
    c.ctl("access grant view to user:nobody", on=node)
    eventually(lambda: modes() == ["666"] * 3)
    c.ctl("access revoke view from user:nobody", on=node)
    eventually(lambda: modes() == ["660"] * 3)


def test_without_a_leader_all_is_unavailable(c: Cluster):
    for node in c.nodes[1:]:
        node.kill()
    eventually(lambda: ask(c.nodes[0], "GET", "units")[0] == 503)
    refuses(c.nodes[0], "GET", "machines", 503, "fleet server unable to communicate with etcd")


if __name__ == "__main__":
    main(conf=[f"Fleet.Listen=/run/argosy/fleet.sock 127.0.0.1:{PORT}", "Fleet.TakeOver=/run/fleet/units/"])
