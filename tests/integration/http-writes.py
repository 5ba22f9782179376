#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes over HTTP: a cluster that is driven by nothing else, alone and in bulk, while nodes and leaders are lost."""

import http.client
import json
import re
import socket
import threading
from pathlib import Path

from lib import QUICK, SLEEPER, WAITS, Cluster, eventually, main

JSON = "application/json"
LINES = "application/x-ndjson"
TEXT = "text/plain"


def path_of(node):
    return str(Path(f"/proc/{node.init_pid()}/root/run/argosy/http.sock"))


class Connection(http.client.HTTPConnection):
    """Root's, from outside of the node."""

    def __init__(self, node):
        super().__init__("localhost", timeout=120)
        self._path = path_of(node)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def send_one(self, method, target, body=None, kind=None, **headers):
        """(status, headers, what it says)"""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if kind:
            named["Content-Type"] = kind
        self.request(method, target, body, named)
        answer = self.getresponse()
        text = answer.read().decode()
        kind = answer.headers["Content-Type"]
        said = [json.loads(line) for line in text.splitlines()] if "ndjson" in kind else json.loads(text) if "json" in kind else text
        return answer.status, answer.headers, said


def send(node, method, target, body=None, kind=None, **headers):
    connection = Connection(node)
    try:
        return connection.send_one(method, target, body, kind, **headers)
    finally:
        connection.close()


def post(node, operation, query="", **headers):
    return send(node, "POST", f"/v1/jobs{query}", json.dumps(operation), JSON, **headers)


def units(*words):
    return [f"{word}.service" for word in words]


def done(node, operation, query="?wait=60", **headers):
    """The job of it, which has ended well."""
    status, _, said = post(node, operation, query, **headers)
    assert status == 200, f"{node.name} {operation}: {status} {said}"
    [job] = said["jobs"]
    assert job["state"] == "done", job
    return job


def bulk(node, operations, query="", **headers):
    body = "".join(json.dumps(operation) + "\n" for operation in operations)
    status, _, said = send(node, "POST", f"/v1/jobs{query}", body, LINES, **headers)
    assert status == 200, f"{node.name}: {status} {said}"
    return said


def refused(answer, status, saying=""):
    seen, headers, problem = answer
    assert (seen, headers["Content-Type"]) == (status, "application/problem+json"), f"{seen} {problem}"
    assert problem["status"] == status and saying in problem.get("detail", ""), problem
    return problem


def raw(node, text):
    """What is answered until the connection ends."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path_of(node))
        connection.sendall(text.encode() if isinstance(text, str) else text)
        return b"".join(iter(lambda: connection.recv(4096), b"")).decode()


WEBS = units(*(f"web@{i}" for i in range(1, 7)))


def test_units_live_and_die_by_it(c: Cluster):
    for node in c.nodes:
        files = {"web@.service": SLEEPER, "web@.service.d/10-nice.conf": "[Service]\nNice=5\n", "web@2.service.d/20-own.conf": "[Service]\nNice=7\n"}
        job = done(node, {"verb": "start", "units": WEBS, "files": files, "reason": "a test"})
        assert (job["verb"], job["reason"], job["changed"]) == ("start", "a test", 6), job
        assert len(c.active("web@*")) == 6
        nice = [c.where(f"web@{i}").run(f"systemctl show --property=Nice --value web@{i}.service").strip() for i in (1, 2)]
        assert nice == ["5", "7"], nice
        done(node, {"verb": "stop", "units": WEBS[:2]})
        assert len(c.active("web@*")) == 4
        before = c.invocation("web@3")
        done(node, {"verb": "restart", "units": WEBS[2:3]})
        assert c.invocation("web@3") != before
        done(node, {"verb": "destroy", "units": WEBS})
        assert not c.known() and not c.active("web@*")


def test_a_job_is_taken_at_once_and_can_be_followed(c: Cluster):
    for node in c.nodes:
        status, headers, said = post(node, {"verb": "start", "files": {"web.service": SLEEPER}})
        assert status == 202 and headers["Location"] == f"/v1/jobs/{said['job']}" and said["cursor"], said
        status, _, jobs = send(node, "GET", f"{headers['Location']}?wait=60")
        assert status == 200 and [(job["job"], job["state"]) for job in jobs["jobs"]] == [(said["job"], "done")], jobs
        done(node, {"verb": "destroy", "units": ["web.service"]})


def test_a_file_is_put_and_deleted(c: Cluster):
    for node in c.nodes:
        for text in SLEEPER, SLEEPER + "# second\n":
            status, headers, said = send(node, "PUT", "/v1/unit-files/db.service", text, TEXT)
            assert status == 202 and headers["Location"], said
        assert c.ctl("cat db") == SLEEPER + "# second\n"
        assert send(node, "PUT", "/v1/unit-files/web%40.service", SLEEPER, TEXT)[0] == 202
        assert send(node, "DELETE", "/v1/unit-files/web@.service?wait=60")[0] == 200
        assert send(node, "DELETE", "/v1/unit-files/db.service?wait=60")[0] == 200
        refused(send(node, "DELETE", "/v1/unit-files/db.service"), 404)
        assert not c.known()


def test_the_same_key_does_nothing_twice(c: Cluster):
    seen = set()
    for node in c.nodes:
        for _ in range(2):
            status, _, said = post(node, {"verb": "start", "files": {"web.service": SLEEPER}}, Idempotency_Key="ticket 7")
            assert status == 202, said
            seen.add(said["job"])
        refused(post(node, {"verb": "stop", "units": ["web.service"]}, Idempotency_Key="ticket 7"), 409, "same key")
    assert len(seen) == 1
    revision = c.json("list-jobs --limit=1")[0]["revision"]
    done(c.nodes[0], {"verb": "stop", "units": ["web.service"]})
    refused(post(c.nodes[0], {"verb": "start", "units": ["web.service"]}, If_Match=f'"{revision}"'), 412, "has changed since")


def test_what_systemd_says_of_files_is_told_by_each_node(c: Cluster):
    asked, files = c.nodes[0], {"odd.service": SLEEPER + "Restat=no\n", "bad.service": "[Service]\nExecStat=/x\n"}
    status, _, said = send(asked, "POST", "/v1/verify", json.dumps({"files": files}), JSON)
    assert status == 200 and said["errors"] == [] and not said["no_leader"], said
    rows = {(row["unit"], row["node"]): row for row in said["files"]}
    assert set(rows) == {(unit, node.name) for unit in files for node in c.nodes}
    odd, bad = rows["odd.service", "n1"], rows["bad.service", "n2"]
    assert odd["findings"] == [{"line": 3, "kind": "warning", "text": "Unknown key 'Restat' in section [Service], ignoring"}]
    assert not odd["refused"] and bad["refused"] and {finding["kind"] for finding in bad["findings"]} == {"warning", "refused"}
    one = {"files": {"odd.service": files["odd.service"]}, "node": "n2"}
    assert [row["node"] for row in send(asked, "POST", "/v1/verify", json.dumps(one), JSON)[2]["files"]] == ["n2"]
    refused(send(asked, "POST", "/v1/verify", json.dumps(one | {"node": "nobody"}), JSON), 404, "no such node")
    refused(send(asked, "POST", "/v1/verify", json.dumps({"files": {"../x": ""}}), JSON), 400, "")


def test_a_plan_says_what_comes_and_changes_nothing(c: Cluster):
    asked, other, _ = c.nodes
    operation = {"verb": "start", "units": WEBS, "files": {"web@.service": SLEEPER}}
    status, _, said = send(asked, "POST", "/v1/plan", json.dumps(operation), JSON)
    assert status == 200 and said["job"] is None and c.known() == set(), said
    planned = {row["unit"]: row["node"] for row in said["units"]}
    job = done(asked, operation)
    assert {unit: [node] for unit, node in planned.items()} == c.active("web@*")
    status, _, said = send(other, "POST", "/v1/plan", json.dumps({"verb": "undo", "job": job["job"]}), JSON)
    assert status == 200 and said["job"] is None and {row["unit"] for row in said["units"]} >= set(WEBS), said
    assert len(c.active("web@*")) == 6
    refused(send(other, "POST", "/v1/plan", json.dumps({"verb": "stop", "units": WEBS}), JSON), 400, "there is no plan")
    done(other, {"verb": "stop", "units": WEBS})
    for target in "/v1/plan", "/v1/jobs":
        refused(send(other, "POST", target, json.dumps({"verb": "undo", "job": job["job"]}), JSON), 409, "nothing was changed")


def test_what_failed_is_asked_for_again(c: Cluster):
    asked, other, _ = c.nodes
    broken = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'test -e /run/mended || exit 3'\n"
    status, _, said = post(asked, {"verb": "start", "units": units("good", "bad"), "files": {"good.service": SLEEPER, "bad.service": broken}}, "?wait=60")
    [job] = said["jobs"]
    assert status == 200 and (job["state"], job["failed"]) == ("failed", 1), job
    before = c.invocation("good.service")
    for node in c.nodes:
        node.write("/run/mended", "")
    again = done(other, {"verb": "job retry", "job": job["job"], "reason": "it is mended"})
    assert (again["verb"], again["targets"], again["retries"], again["reason"]) == ("start", ["bad.service"], job["job"], "it is mended")
    assert c.invocation("good.service") == before
    refused(post(asked, {"verb": "job retry", "job": again["job"]}), 400, "there is no unit of it that failed")
    refused(post(asked, {"verb": "job retry", "job": 999999}), 404, "no job 999999")
    refused(post(asked, {"verb": "job retry"}), 400, "'job' is the number of a job")
    refused(send(asked, "POST", "/v1/jobs", '{"verb":"job retry","job":7}\n', LINES), 400, "goes alone")


def test_what_cannot_be_done_is_a_problem(c: Cluster):
    c.start("here")
    here = ["here.service"]
    for node in c.nodes:
        problem = refused(post(node, {"verb": "start", "units": ["nobody.service"]}), 404)
        assert problem["unit"] == "nobody.service", problem
        problem = refused(send(node, "PUT", "/v1/unit-files/bad.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nMaxUnavailable=many\n", TEXT), 400)
        assert (problem["unit"], problem["line"]) == ("bad.service", 4), problem
        status, _, said = post(node, {"verb": "stop", "units": here + ["nobody.service"]})
        assert status == 202 and [unit["ok"] for unit in said["units"]] == [True, False], said
        refused(post(node, {"verb": "fly", "units": here}), 400, "'fly'")
        refused(post(node, {"verb": "stop", "units": here, "colour": "red"}), 400, "'colour'")
        deep = '{"verb":' + "[" * 100 + "]" * 100 + "}"
        refused(send(node, "POST", "/v1/jobs", deep, JSON), 413, "deep")
        refused(send(node, "POST", "/v1/jobs", b'{"verb":"stop\xff"}', JSON), 400, "UTF-8")
        refused(send(node, "POST", "/v1/jobs", '{"verb":"stop","verb":"start"}', JSON), 400, "twice")
        refused(send(node, "POST", "/v1/jobs", "verb=stop", "application/x-www-form-urlencoded"), 415)
        refused(send(node, "POST", "/v1/jobs", "{}", TEXT), 415)
        refused(send(node, "PUT", "/v1/unit-files/a.service", "{}", LINES), 415)
        for origin in "http://evil.example", "null":
            refused(post(node, {"verb": "stop", "units": here}, Origin=origin), 403, "origin")
            refused(send(node, "DELETE", "/v1/unit-files/here.service", Origin=origin), 403, "origin")
        assert post(node, {"verb": "stop", "units": here}, Origin="http://localhost")[0] == 202
        refused(send(node, "PUT", "/v1/units/here.service", SLEEPER, TEXT), 405)
        refused(send(node, "PATCH", "/v1/jobs", "{}", JSON), 405)
    assert c.known() == {"here.service"}


def test_a_body_ends_where_it_says_or_nowhere(c: Cluster):
    operation = '{"verb":"stop","units":["nobody.service"]}'
    head = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunked = f"{len(operation):x}\r\n{operation}\r\n0\r\n\r\n"
    before = len(c.json("list-jobs --all"))
    for node in c.nodes:
        for headers, body, statuses in [
                (f"Content-Length: {len(operation)}\r\nTransfer-Encoding: chunked\r\n", chunked, "400"),
                (f"Content-Length: {len(operation)}\r\nContent-Length: 3\r\n", operation, "400"),
                # libmicrohttpd 1.0 refuses what it cannot decode before anybody else sees it
                ("Transfer-Encoding: chunked, identity\r\n", chunked, "400 411"),
                (f"Content-Length: +{len(operation)}\r\n", operation, "400"),
                ("Content-Length: 99999999999\r\n", "", "413")]:
            answer = raw(node, f"{head}{headers}\r\n{body}")
            # nothing behind it; libmicrohttpd 0.9.75 writes the head of a refusal of its own twice
            [seen] = set(re.findall(r"HTTP/1\.1 (\d+) ", answer))
            assert seen in statuses.split(), f"{headers!r}: {answer}"
        answer = raw(node, f"{head}Content-Length: {len(operation)}\r\nConnection: close\r\n\r\n{operation}")
        assert answer.startswith("HTTP/1.1 404 ") and "nobody.service" in answer, answer
    assert len(c.json("list-jobs --all")) == before


def test_nodes_rollouts_and_jobs_are_driven_by_it(c: Cluster):
    asked, other, _ = c.nodes
    done(asked, {"verb": "start", "units": WEBS, "files": {"web@.service": SLEEPER}})
    assert c.spread("web@*").get(other.name) == 2
    job = done(asked, {"verb": "drain", "nodes": [other.name], "reason": "a new disk"})
    assert (job["verb"], job["reason"]) == ("drain", "a new disk") and other.name not in c.spread("web@*")
    done(asked, {"verb": "uncordon", "nodes": [node.name for node in c.nodes]})
    done(asked, {"verb": "label", "node": other.name, "set": {"zone": "b", "disk": "new"}, "unset": ["none"]})
    undone = done(asked, {"verb": "label", "node": other.name, "set": {"zone": "c"}, "unset": ["disk"]})
    assert c.json("list-nodes")[1]["labels"] == {"zone": "c"}
    done(asked, {"verb": "undo", "job": undone["job"]})
    assert c.json("list-nodes")[1]["labels"] == {"zone": "b", "disk": "new"}
    done(asked, {"verb": "label", "node": other.name, "unset": ["zone", "disk"]})
    c.submit("web@.service", SLEEPER)
    job = done(asked, {"verb": "update", "unit": "web@.service", "files": {"web@.service": SLEEPER + "# new\n"}, "max-unavailable": "50%", "health": "0s"})
    assert job["verb"] == "update" and c.ctl("cat web@1") == SLEEPER + "# new\n"
    status, _, held = post(asked, {"verb": "stop", "units": WEBS, "hold": True})
    assert status == 202 and held["held"] and len(c.active("web@*")) == 6
    done(asked, {"verb": "job release", "jobs": [held["job"]]})
    assert send(asked, "GET", f"/v1/jobs/{held['job']}?wait=60")[2]["jobs"][0]["state"] == "done" and not c.active("web@*")
    _, _, held = post(asked, {"verb": "start", "units": WEBS, "hold": True})
    done(asked, {"verb": "job cancel", "jobs": [held["job"]]})
    assert send(asked, "GET", f"/v1/jobs/{held['job']}")[2]["jobs"][0]["state"] == "cancelled"
    refused(post(asked, {"verb": "drain", "nodes": ["nowhere"]}), 404, "nowhere")


def test_rules_of_the_cluster_are_changed_by_it(c: Cluster):
    asked = c.nodes[0]
    done(asked, {"verb": "role set", "role": "web", "weight": 3, "guarantee": {"cpu": "0.5"}, "limit": {"gpu": 2}})
    [role] = c.json("role show web")
    assert role["weight"] == 3 and {"cpu", "gpu"} <= {use["resource"] for use in role["resources"]}, role
    done(asked, {"verb": "pool set", "pool": "fast", "nodes": ["n1", "n3"]})
    assert c.json("pool show fast")[0]["nodes"] == ["n1", "n3"]
    done(asked, {"verb": "access grant", "right": "operate", "who": "user:ann", "role": "web"})
    assert "ann" in c.ctl("access list")
    rule = post(asked, {"verb": "queue rule add", "rule": {"action": "refuse", "text": "not today", "verb": "destroy"}})[2]["rule"]
    [row] = c.json("queue rule list")["rules"]
    assert (row["rule"], row["action"], row["text"], row["verb"]) == (rule, "refuse", "not today", "destroy"), row
    said = bulk(asked, [{"verb": "queue rule delete", "rule": rule}, {"verb": "access revoke", "right": "operate", "who": "user:ann", "role": "web"},
                        {"verb": "pool delete", "pool": "fast"}, {"verb": "role delete", "role": "web"}, {"verb": "queue close", "reason": "now"},
                        {"verb": "queue open"}], "?wait=60")
    assert [(line["status"], line["state"]) for line in said] == [(200, "done")] * 6, said
    assert not c.json("queue rule list")["rules"] and "ann" not in c.ctl("access list") and not c.json("pool show")
    assert "web" not in [role["role"] for role in c.json("role show")]


def test_thousands_in_one_request(c: Cluster):
    c.submit("many@.service", SLEEPER)
    many = units(*(f"many@{i}" for i in range(2000)))
    for node in c.nodes:
        said = bulk(node, [{"verb": "load", "units": [unit]} for unit in many], "?wait=60")
        assert [line["line"] for line in said] == list(range(1, 2001))
        assert all((line["status"], line["state"]) == (200, "done") and [unit["ok"] for unit in line["units"]] == [True]
                   for line in said), said[0]
        assert [line["units"][0]["unit"] for line in said] == many
        assert len({line["job"] for line in said}) == 1
        said = bulk(node, [{"verb": "stop", "units": many[:1]}, {"verb": "stop", "units": ["nobody.service"]},
                           {"verb": "destroy", "units": many[:1], "reason": "one"}, {"verb": "load", "units": many[:1]}])
        assert [line["status"] for line in said] == [202, 404, 202, 202], said
        assert said[1]["unit"] == "nobody.service" and said[0]["job"] < said[2]["job"] < said[3]["job"], said
        problem = refused(send(node, "POST", "/v1/jobs", '{"verb":"stop","units":["many@2.service"]}\n\n{"verb":"stop"}\n', LINES), 400)
        assert problem["line"] == 3, problem
        c.ctl("destroy 'many@[0-9]*'")


def test_a_bulk_request_survives_its_leader(c: Cluster):
    """What was acknowledged is there; what is asked for again under its key is done once."""
    c.submit("many@.service", SLEEPER)
    operations = [{"verb": verb, "units": [f"many@{i}.service"]} for i in range(100) for verb in ("load", "unload")]
    leader = c.leader()
    node, *_ = c.followers()
    said = []
    asking = threading.Thread(target=lambda: said.extend(bulk(node, operations, Idempotency_Key="all of it")))
    before = c.json("list-jobs --limit=1")[0]["job"]
    asking.start()
    eventually(lambda: c.json("list-jobs --limit=1", node)[0]["job"] > before + 20)
    leader.kill()
    asking.join()
    eventually(lambda: c.leader(node).name != leader.name)
    taken = {line["line"]: line["job"] for line in said if line["status"] == 202}
    assert len(taken) > 20, said[:3]
    again = bulk(node, operations, Idempotency_Key="all of it")
    assert all(line["status"] == 202 for line in again), [line for line in again if line["status"] != 202][:3]
    assert all(line["job"] == taken.get(line["line"], line["job"]) for line in again)
    jobs = [line["job"] for line in again]
    assert jobs == sorted(jobs) and len(set(jobs)) == len(operations)
    known = [job["job"] for job in c.json("list-jobs --all", node) if job["job"] > before and job["author"] != "cluster"]
    assert sorted(known) == jobs, "one was done twice"
    assert len(c.known(node)) == 101
    leader.boot()


def test_a_restart_in_the_middle_says_what_was_done(c: Cluster):
    asked, other = c.followers()
    slow = f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{WAITS}'\n"
    c.submit("many@.service", SLEEPER)
    operations = "".join(json.dumps({"verb": verb, "units": ["many@1.service"]}) + "\n" for _ in range(2000) for verb in ("load", "unload"))
    answers = {}
    asking = [threading.Thread(target=lambda: answers.update(one=post(asked, {"verb": "start", "files": {"slow.service": slow}}, "?wait=60"))),
              threading.Thread(target=lambda: answers.update(many=send(asked, "POST", "/v1/jobs?wait=60", operations, LINES)))]
    asking[0].start()
    job = eventually(lambda: next((row["job"] for row in c.json("list-jobs", other) if row["targets"] == ["slow.service"]), 0))
    asking[1].start()
    eventually(lambda: c.json("list-jobs --limit=1", other)[0]["job"] > job + 20)
    asked.run("systemctl restart argosyd")
    for thread in asking:
        thread.join()
    status, headers, said = answers["one"]
    assert (status, headers["Location"], said["job"]) == (202, f"/v1/jobs/{job}", job) and "argosyd is ending" in said["message"], said
    c.let_go()
    assert send(other, "GET", f"{headers['Location']}?wait=60")[2]["jobs"][0]["state"] == "done"
    status, _, said = answers["many"]
    done = [line["job"] for line in said if line["status"] == 202]
    assert status == 200 and len(said) == 4000 and len(done) >= 20 and [line["status"] for line in said[:len(done)]] == [202] * len(done), said[:2]
    assert [line["status"] for line in said[len(done):]] == [504] + [503] * (len(said) - len(done) - 1), said[len(done):][:3]
    known = {row["job"] for row in c.json("list-jobs --all", other)}
    assert set(done) <= known and len([number for number in known if number > max(done)]) <= 1, (done[-1], max(known))


def test_units_of_a_node_that_is_lost_are_driven_on(c: Cluster):
    asked, lost = c.followers()
    done(asked, {"verb": "start", "units": WEBS, "files": {"web@.service": SLEEPER}})
    lost.kill()
    eventually(lambda: len([row for row in send(asked, "GET", "/v1/units?state=running")[2]["units"]]) == 6)
    done(asked, {"verb": "stop", "units": WEBS[:3]})
    said = bulk(asked, [{"verb": "start", "units": [unit]} for unit in WEBS], "?wait=60")
    assert {(line["status"], line.get("state")) for line in said} == {(200, "done")}, said
    lost.boot()
    eventually(lambda: len(c.active("web@*")) == 6)
    c.assert_once("web@*", 6)


if __name__ == "__main__":
    main(conf=QUICK)
