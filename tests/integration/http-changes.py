#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster that is run over HTTP alone, through the loss of a node and of the leader."""

import http.client
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import QUICK, SLEEPER, Cluster, eventually, main
from over_http import JSON, Events, ask, change, directory, get, refuses

TEXT = {"Content-Type": "text/plain"}
BAD = SLEEPER + "[X-Argosy]\nColour=red\n"


def active(node, pattern):
    return sorted({row["unit"] for row in get(node, f"/v1/units?pattern={pattern}&state=running")["units"]})


def names(template, numbers):
    return [f"{template}@{i}.service" for i in numbers]


def test_every_host_takes_changes(c: Cluster):
    for number, node in enumerate(c.nodes):
        web = f"web{number}"
        status, _, said = ask(node, f"/v1/unit-files/{web}@.service", "PUT", SLEEPER, TEXT)
        assert status == 202 and said["job"] > 0 and said["units"][0]["ok"], said
        plan = change(node, "start", status=200, units=names(web, [1]), plan=True)
        assert plan["job"] is None and "would start" in plan["units"][0]["message"], plan
        [job] = change(node, "start", wait=30, units=names(web, [1, 2]), reason="visitors")["jobs"]
        assert (job["state"], job["reason"], job["author"]) == ("done", "visitors", f"root@{node.name}"), job
        assert active(node, f"{web}@*") == names(web, [1, 2])
        [job] = change(node, "stop", wait=30, units=names(web, [1]))["jobs"]
        assert job["state"] == "done" and active(node, f"{web}@*") == names(web, [2])
        for name in [*names(web, [1, 2]), f"{web}@.service"]:
            status, _, said = ask(node, f"/v1/unit-files/{name}?wait=30", "DELETE")
            assert status == 200 and said["jobs"][0]["state"] == "done", said
        assert get(node, f"/v1/unit-files?pattern={web}@*")["unit_files"] == []


def test_a_rebalance_is_a_job_that_is_waited_for_or_not(c: Cluster):
    node = c.nodes[1]
    units = names("web", range(1, 7))
    ask(node, "/v1/unit-files/web@.service", "PUT", SLEEPER, TEXT)
    change(node, "cordon", nodes=["n3"])
    change(node, "start", wait=30, units=units)
    change(node, "uncordon", nodes=["n3"])
    planned = ask(node, "/v1/plan", "POST", json.dumps({"verb": "rebalance", "patterns": ["web@*"]}), JSON)[2]
    assert planned["job"] is None and len(planned["units"]) == 2 and {row["node"] for row in planned["units"]} == {"n3"}, planned
    assert all(row["ok"] and row["from"] in ("n1", "n2") and row["message"] for row in planned["units"]) and not c.spread("web@*").get("n3")
    [job] = change(node, "rebalance", wait=30, patterns=["web@*"], health="0.3s", reason="n3 is back")["jobs"]
    assert (job["state"], job["verb"], job["reason"], job["changed"]) == ("done", "rebalance", "n3 is back", 2), job
    assert active(node, "web@*") == units
    assert change(node, "rebalance", status=200, patterns=["web@*"])["job"] is None


def test_a_rebalance_waits_behind_another_one(c: Cluster):
    node = c.nodes[1]
    units = names("even", range(1, 7))
    ask(node, "/v1/unit-files/even@.service", "PUT", SLEEPER, TEXT)
    change(node, "cordon", nodes=["n3"])
    change(node, "start", wait=30, units=units)
    change(node, "uncordon", nodes=["n3"])
    first = change(node, "rebalance", patterns=["even@*"], **{"max-moves": 1, "health": "3s"})["job"]
    change(node, "rebalance", status=409, patterns=["even@*"])
    held = change(node, "rebalance", patterns=["even@*"], queue=True, health="0.3s")
    assert held["held"] and held["job"] > first and f"job {first}" in held["message"], held
    [job] = get(node, f"/v1/jobs/{held['job']}?wait=30")["jobs"]
    assert (job["state"], job["verb"], job["changed"]) == ("done", "rebalance", 1), job
    assert c.spread("even@*") == {"n1": 2, "n2": 2, "n3": 2}


def test_a_job_says_what_became_of_its_units(c: Cluster):
    """As argosyctl job show: of one that was waited for, of one with a failing unit, and of more units than one answer of the leader takes."""
    c.submit("good.service", SLEEPER)
    c.submit("bad.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    for number, node in enumerate(c.nodes):
        [job] = change(node, "restart" if number else "start", wait=30, units=["good.service", "bad.service"])["jobs"]
        units = {unit["unit"]: unit for unit in job["units"]}
        assert job["state"] == "failed" and (units["good.service"]["end"], units["bad.service"]["end"]) == ("ok", "failed"), job
        assert units["bad.service"]["end_message"] and units["bad.service"]["node"], job
        assert [job] == c.json(f"job show {job['job']}", node) == get(node, f"/v1/jobs/{job['job']}")["jobs"]
    many = names("many", range(1, 601))
    change(c.nodes[0], "submit", wait=30, files={"many@.service": SLEEPER})
    [made] = change(c.nodes[1], "submit", wait=60, units=many)["jobs"]
    assert len(made["units"]) == made["changed"] == 600 and "more_units" not in made
    for node in c.nodes:
        assert get(node, f"/v1/jobs/{made['job']}")["jobs"] == c.json(f"job show {made['job']}", node)
    change(c.nodes[0], "destroy", wait=60, units=[*many, "many@.service"])


def test_what_cannot_be_done_changes_nothing_and_says_why(c: Cluster):
    node = c.nodes[0]
    c.start("web")
    revision = get(node, "/v1/jobs")["jobs"][0]["revision"]
    line = BAD[:BAD.index("Colour")].count("\n") + 1
    problem = refuses(node, "/v1/unit-files/bad.service", 400, "Colour", "PUT", BAD, TEXT)
    assert (problem["unit"], problem["line"]) == ("bad.service", line), problem
    refuses(node, "/v1/jobs", 404, "no such unit", "POST", '{"verb":"start","units":["nobody.service"]}', JSON)
    refuses(node, "/v1/jobs", 412, "has changed since", "POST", '{"verb":"stop","units":["web.service"]}', JSON | {"If-Match": '"1"'})
    refuses(node, "/v1/unit-files/web.service", 405, "", "POST", "{}", JSON)
    refuses(node, "/v1/jobs", 415, "", "POST", "{}", TEXT)
    refuses(node, "/v1/jobs", 413, "too deep", "POST", '{"verb":' + "[" * 100, JSON)
    refuses(node, "/v1/jobs", 400, "no UTF-8", "POST", b'{"verb":"\xff"}', JSON)
    refuses(node, "/v1/jobs", 400, "'Replace'", "POST", '{"verb":"start","units":["web.service"],"Replace":true}', JSON)
    refuses(node, "/v1/unit-files/web.service", 400, "If-None-Match", "PUT", SLEEPER, TEXT | {"If-None-Match": "*"})
    assert get(node, "/v1/jobs")["jobs"][0]["revision"] == revision
    assert active(node, "*") == ["web.service"]


def test_a_job_that_is_held_begins_when_it_is_released(c: Cluster):
    node = c.nodes[1]
    c.submit("web@.service", SLEEPER)
    said = change(node, "start", units=names("web", [1]), hold=True)
    assert said["held"] is True, said
    status, _, waited = ask(node, f"/v1/jobs/{said['job']}?wait=1")
    assert status == 200 and waited["jobs"][0]["state"] == "held", waited
    c.ctl(f"job release {said['job']}")
    assert ask(node, f"/v1/jobs/{said['job']}?wait=30")[2]["jobs"][0]["state"] == "done"


def test_a_change_is_done_once_though_its_leader_dies(c: Cluster):
    follower = c.followers()[0]
    c.submit("web@.service", SLEEPER)
    stream = Events(follower, "?kind=unit&kind=job&pattern=web@*")
    units = names("web", range(1, 301))
    said = change(follower, "start", key="a night", units=units)
    leader = c.leader()
    leader.kill()

    def again():
        try:
            status, _, repeated = ask(follower, "/v1/jobs", "POST", f'{{"verb":"start","units":[{",".join(chr(34) + u + chr(34) for u in units)}]}}',
                                      JSON | {"Idempotency-Key": "a night"})
        except (http.client.HTTPException, OSError):
            return False
        return status == 202 and repeated["job"] == said["job"]

    eventually(again)
    eventually(lambda: active(follower, "web@*") == sorted(units), within=60)
    assert [job["job"] for job in get(follower, "/v1/jobs?pattern=web@7.service&limit=1000")["jobs"] if job["verb"] == "start"] == [said["job"]]
    placed = {}
    while len(placed) < len(units):
        event = stream.next()
        assert event and event["kind"] != "problem", f"the stream ended: {event}"
        if event["kind"] == "unit":
            placed[event["unit"]] = event["cursor"]
        last = event["cursor"]
    stream.close()
    other = c.leader(follower)
    stream = Events(other, "?kind=unit", {"Last-Event-ID": last})
    change(other, "stop", units=units[:1])
    while (event := stream.next()) and (event["unit"], event["desired"]) != (units[0], "loaded"):
        assert event["cursor"] != last, "an event is told again behind its cursor"
    assert event, "the stream ended"
    stream.close()
    leader.boot()
    c.wait_online()


def test_a_stream_says_when_it_ends_and_goes_on_elsewhere(c: Cluster):
    first, second = c.followers()[:2]
    stream = Events(first, "?kind=job")
    job = change(second, "submit", files={"web.service": SLEEPER})["job"]
    while (event := stream.next())["job"] != job:  # one of before may end meanwhile
        pass
    assert event["kind"] == "job", event
    first.run("systemctl stop argosyd.socket argosyd")
    while (end := stream.next()) and end.get("kind") == "job":
        event = end
    assert end is None or end["status"] == 503, end
    stream.close()
    first.run("systemctl start argosyd.socket argosyd")
    stream = Events(second, f"?kind=job&since={event['cursor']}")
    job = change(second, "destroy", units=["web.service"])["job"]
    while (event := stream.next())["job"] != job:
        pass
    stream.close()
    refuses(second, "/v1/events?since=00", 400)
    refuses(second, "/v1/events?kind=weather", 400)


def example(node, name, *args):
    """What it prints, and it must succeed."""
    program = Path(__file__).parents[2] / "examples" / name
    done = subprocess.run([program, *args], env=os.environ | {"ARGOSY_SOCKET": str(directory(node) / "http.sock")}, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_examples_do_what_they_say(c: Cluster):
    node = c.nodes[2]
    c.submit("web@.service", SLEEPER)
    c.ctl("start web@{1..2}")
    before = c.invocation("web@2.service")
    new = Path(tempfile.mkdtemp()) / "web@.service"
    new.write_text(SLEEPER + "# another one\n")
    try:
        assert "done" in example(node, "rolling-update.py", "web@.service", str(new))
    finally:
        shutil.rmtree(new.parent)
    assert c.invocation("web@2.service") != before and active(node, "web@*") == names("web", [1, 2])
    c.submit("once.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/ls /run/now\n")
    c.ctl_fails("start once")
    for each in c.nodes:
        each.run("touch /run/now")
    assert example(node, "restart-failed.sh") == "once.service: done\n"
    assert active(node, "once.service") == [] and get(node, "/v1/units/once.service")["units"][0]["active"] == "active"


if __name__ == "__main__":
    main(conf=QUICK)
