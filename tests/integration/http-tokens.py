#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tokens: made and revoked by argosyctl, shown to hosts with a log and without, kept through the loss of the leader."""

import base64
import hashlib
import json
import os
import re
import time

from lib import QUICK, SLEEPER, Cluster, Node, eventually, main
from over_http import JSON, Bearer, Events

PORT = 8080


def create(c, name, right="view", options="", on=None):
    return c.ctl(f"token create --right {right} --name {name} {options}", on=on).strip()


def tokens(c):
    return {row["name"]: row for row in json.loads(c.ctl("token list --json=short"))}


def ask(node, token, target="/v1/nodes", method="GET", body=None, headers={}):
    """(status, what it says)"""
    connection = Bearer(node, PORT, token)
    try:
        status, _, said = connection.ask(target, method, body, headers)
        return status, said
    finally:
        connection.close()


def status(*what, **how):
    return ask(*what, **how)[0]


def comes_to_be(node, token, wanted):
    eventually(lambda: status(node, token) == wanted, what=f"{node.name} answers {wanted}")


class Stream(Events):
    """Of events, for whoever has the token."""

    def __init__(self, node: Node, token):
        self._connection = Bearer(node, PORT, token)
        self._connection.request("GET", "/v1/events", headers={"Accept": "application/x-ndjson"})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def ends(self):
        """When that is, in seconds since 1970."""
        while self.next():
            pass
        return time.time()


def end_all(c):
    """Tokens stay when units go."""
    active = [row["id"] for row in tokens(c).values() if row["state"] == "active"]
    if active:
        c.ctl("token revoke " + " ".join(active))


def test_whoever_shows_one_is_let_in_by_every_host(c: Cluster):
    c.start("web")
    token = create(c, "ci", "operate", on=c.nodes[-1])
    for node in c.nodes:
        assert status(node, token) == 200, node.name
        assert status(node, token, "/metrics") == 200, node.name  # which a host answers alone
        assert status(node, token, "/v1/unit-files/new.service", "PUT", SLEEPER, {"Content-Type": "text/plain"}) == 403
        seen, said = ask(node, token, "/v1/jobs?wait=30", "POST", json.dumps({"verb": "restart", "units": ["web.service"]}), JSON)
        assert seen == 200, said
        assert f"token:ci@{node.name}" in c.ctl("list-jobs --limit=1 --no-legend")
        assert status(node, token[:-1] + ("A" if token[-1] != "A" else "B")) == 401, node.name
    log = "".join(node.run("journalctl -b -u argosyd --no-pager") for node in c.nodes)
    assert "argosy_" not in log
    for node in c.nodes:
        node.run(f"! grep -r -F -q {token} /var/lib/argosy /run/argosy")


def test_they_are_listed(c: Cluster):
    begin = time.time() * 1e6
    token = create(c, "grafana", options="--ttl 30d on role default", on=c.nodes[1])
    row = tokens(c)["grafana"]
    assert (row["right"], row["role"], row["created_by"], row["state"]) == ("view", "default", f"root@{c.nodes[1].name}", "active"), row
    assert row["used_us"] is None and abs(row["expires_us"] - begin - 30 * 86400e6) < 60e6, row
    assert status(c.nodes[0], token, "/v1/units") == 200
    assert tokens(c)["grafana"]["used_us"] >= row["created_us"]
    assert "grafana" in c.ctl("token list")
    c.ctl_fails("token create --right view --name grafana", saying=["there is a token called 'grafana' already"])
    c.ctl_fails("token revoke nobodys", saying=["no token that can be used is called 'nobodys'"])


def test_programs_make_and_revoke_them(c: Cluster):
    """With one that may; the secret stays with them."""
    admin, made = create(c, "robot", "admin"), "argosy_" + base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    digest = hashlib.sha256(hashlib.sha256(made.encode()).digest()).hexdigest()
    body = {"verb": "token create", "name": "made", "right": "view", "ttl": "1h", "hash": digest}
    node = c.nodes[-1]
    assert status(node, made) == 401
    assert status(node, create(c, "less", "deploy"), "/v1/jobs", "POST", json.dumps(body), JSON) == 403
    seen, said = ask(node, admin, "/v1/jobs?wait=30", "POST", json.dumps(body), JSON)
    assert seen == 200, said
    assert status(c.nodes[0], made) == 200
    assert status(c.nodes[0], made, "/v1/tokens") == 403
    row = next(row for row in ask(node, admin, "/v1/tokens")[1]["tokens"] if row["name"] == "made")
    assert row["created_by"] == f"token:robot@{node.name}" and row["id"] == digest[:8] and row["used_us"], row
    assert ask(node, admin, "/v1/jobs?wait=30", "POST", json.dumps({"verb": "token revoke", "tokens": ["made"]}), JSON)[0] == 200
    assert status(c.nodes[0], made) == 401


def test_a_revoked_one_loses_its_streams_at_once(c: Cluster):
    token, other = create(c, "going"), create(c, "staying")
    streams, stays = [Stream(node, token) for node in c.nodes], Stream(c.nodes[0], other)
    begin = time.time()
    c.ctl("token revoke going")
    for stream in streams:
        assert stream.ends() - begin < 10, "a stream goes on"  # until the next comment is due
        stream.close()
    for node in c.nodes:
        assert status(node, token) == status(node, token, "/metrics") == 401, node.name  # that by itself, but not by its own copy of the log
    c.ctl("cordon n1")
    c.ctl("uncordon n1")
    while stays.next()["kind"] != "node":
        pass
    stays.close()
    assert tokens(c)["going"]["state"] == "revoked"


def test_an_expired_one_loses_its_streams_too(c: Cluster):
    token = create(c, "short", options="--ttl 5s")
    streams = [Stream(node, token) for node in c.nodes]
    expires = tokens(c)["short"]["expires_us"] / 1e6  # on the clock that all nodes share
    for stream in streams:
        assert 0 <= stream.ends() - expires < 5
        stream.close()
    for node in c.nodes:
        seen, problem = ask(node, token)
        assert seen == 401 and "this token has expired at" in problem["detail"], problem
    assert tokens(c)["short"]["state"] == "expired"


def test_they_outlive_the_leader_and_a_restart(c: Cluster):
    token, gone = create(c, "kept"), create(c, "gone")
    assert status(c.nodes[0], token) == 200
    c.ctl("token revoke gone")
    leader = c.leader()
    others = [node for node in c.nodes if node.name != leader.name]
    leader.run("systemctl stop argosyd.socket argosyd.service")
    try:
        for node in others:
            comes_to_be(node, token, 200)
            assert status(node, gone) == 401
        fresh = create(c, "fresh", on=others[0])
        assert status(others[1], fresh) == 200
    finally:
        leader.run("systemctl start argosyd.socket argosyd.service")
        c.wait_online()
    for node in c.nodes:
        node.run("systemctl restart argosyd")
    c.wait_online()
    for node in c.nodes:
        comes_to_be(node, fresh, 200)
        assert status(node, gone) == 401
    rows = tokens(c)
    assert rows["kept"]["used_us"] and rows["gone"]["state"] == "revoked", rows


# What each is answered who shows no token, or one for view on role web, view, operate, deploy, admin. (200 of a change: it is so already.)
ALL, SOME, WHOLE, ADMINS = [200] * 6, [401] + [200] * 5, [401, 403] + [200] * 4, [401] + [403] * 4 + [200]
NEVER = [403] * 6  # sessions are there over TLS
WEB = "web.service"
ANSWERS = {
    "get /healthz": ALL, "get /readyz": ALL, "get /v1/openapi.json": SOME, "get /metrics": WHOLE,
    "get /v1/units": SOME, f"get /v1/units/{WEB}": SOME, "get /v1/units/other.service": [401, 404, 200, 200, 200, 200],
    "get /v1/unit-files": SOME, f"get /v1/unit-files/{WEB}": SOME, "get /v1/unit-files/other.service": [401, 404, 200, 200, 200, 200],
    "get /v1/nodes": WHOLE, "get /v1/hosts": SOME, "get /v1/roles": WHOLE, "get /v1/pools": WHOLE, "get /v1/queue": WHOLE, "get /v1/access": SOME,
    "get /v1/secrets": WHOLE, "put /v1/secrets/made": [401, 403, 403, 403, 202, 202], "delete /v1/secrets/made": [401, 403, 403, 403, 202, 404],
    "get /v1/tokens": ADMINS, "get /v1/jobs": SOME, "get /v1/jobs/1": WHOLE, "get /v1/jobs/1/targets": WHOLE, "get /v1/events": SOME, "get /v1/state": SOME, "get /v1/usage": SOME,
    "get /v1/diff?from=1": WHOLE, f"get /v1/history/{WEB}": SOME, f"get /v1/journal/{WEB}": SOME,
    "post /v1/plan start": [401, 403, 403, 200, 200, 200], "post /v1/verify": [401, 403, 403, 403, 200, 200], "post /v1/login": NEVER, "post /v1/logout": NEVER,
    "put /v1/unit-files/new.service": [401, 403, 403, 403, 202, 200], "delete /v1/unit-files/new.service": [401, 403, 403, 403, 202, 404],
    "post /v1/jobs start": [401, 403, 403, 202, 202, 202], "post /v1/jobs submit": [401, 403, 403, 403, 202, 200],
    "post /v1/jobs cordon": [401, 403, 403, 403, 403, 404], "post /v1/jobs role set": [401, 403, 403, 403, 403, 202],
    "post /v1/jobs access grant": [401, 403, 403, 403, 403, 202], "post /v1/jobs token revoke": [401, 403, 403, 403, 403, 404],
    "post /v1/jobs cluster remove": [401, 403, 403, 403, 403, 404], "post /v1/jobs queue open": [401, 403, 403, 403, 403, 200],
    "post /v1/jobs job cancel": [401, 403, 403, 404, 404, 404], "post /v1/jobs undo": [401, 403, 403, 403, 404, 404],
}
BODIES = {"start": {"units": [WEB]}, "submit": {"files": {"made.service": SLEEPER}}, "cordon": {"nodes": ["n9"]}, "role set": {"role": "made", "weight": 2},
          "access grant": {"right": "view", "who": "user:nobody"}, "token revoke": {"tokens": ["nobodys"]}, "cluster remove": {"node": "n9"},
          "queue open": {}, "job cancel": {"jobs": [999999]}, "undo": {"job": 999999}}


def answered(node, token, what):
    """The status alone: some of it is a stream."""
    method, target, verb = (what.split(" ", 2) + [""])[:3]
    body, headers = (json.dumps({"verb": verb} | BODIES[verb]), JSON) if verb else (SLEEPER, {"Content-Type": "text/plain"}) if method == "put" else (None, {})
    if target.startswith("/v1/secrets/") and body:
        headers = {"Content-Type": "application/octet-stream"}
    if target == "/v1/login":
        body, headers = json.dumps({"token": token}), JSON
    if target == "/v1/verify":
        body, headers = json.dumps({"files": {"new.service": SLEEPER}}), JSON
    connection = Bearer(node, PORT, token)
    connection.request(method.upper(), target, body, headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status


def described(what, paths):
    """Which of these it is: names may stand anywhere in a path, and one without any comes first."""
    method, target = what.split()[:2]
    path = target.split("?")[0]
    fits = [name for name in sorted(paths, key=lambda name: name.count("{")) if method in paths[name]
            and re.fullmatch(re.sub(r"{\w+}", "[^/]+", name), path)]
    return f"{method} {fits[0]}"


def test_everything_asks_for_its_right(c: Cluster):
    c.ctl("role set web")
    c.start("web", SLEEPER + "[X-Argosy]\nRole=web\n")
    c.start("other")
    rights = ["view", "operate", "deploy", "admin"]
    shown = ["argosy_" + "A" * 43, create(c, "some", "view", "on role web"), *(create(c, f"all-{right}", right) for right in rights)]
    node = c.nodes[-1]  # which has no log
    eventually(lambda: status(node, shown[1], "/v1/units") == 200 and c.active("web") and c.active("other"))
    paths = ask(node, shown[-1], "/v1/openapi.json")[1]["paths"]
    assert {described(what, paths) for what in ANSWERS} == {f"{method} {path}" for path in paths for method in paths[path]}
    seen = {what: [answered(node, token, what) for token in shown] for what in ANSWERS}
    assert seen == ANSWERS, "\n".join(f"{what}: {seen[what]}, not {wanted}" for what, wanted in ANSWERS.items() if seen[what] != wanted)


if __name__ == "__main__":
    main(nodes=4, voters=3, conf=[*QUICK, f"Http.Listen=127.0.0.1:{PORT}", "Http.Tls=no"], after=end_all)
