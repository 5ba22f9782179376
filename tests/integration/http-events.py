#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Events over HTTP: what they say, how they begin and end, and who comes again after his host or the leader went away."""

import json
from pathlib import Path

import over_http
from lib import QUICK, SLEEPER, Cluster, eventually, main
from over_http import Stream, change, get


class Events(Stream):
    """One stream, as root has it, from outside of the node."""

    def __init__(self, node, target="/v1/events", **headers):
        super().__init__(node, target, **headers)

    def events(self):
        """(id, kind, what it says), as a browser has them; without kind: only an id."""
        fields = {}
        while (line := self.line()) is not None:
            if line.startswith(":"):
                continue
            if line:
                name, value = line.split(": ", 1)
                fields[name] = value
            elif fields:
                yield fields.get("id"), fields.get("event"), json.loads(fields["data"]) if "data" in fields else None
                fields = {}


def problem(node, target, **headers):
    stream = Events(node, target, **headers)
    try:
        assert stream.headers["Content-Type"] == "application/problem+json", stream.headers
        return stream.status
    finally:
        stream.close()


def test_every_host_tells_what_argosyctl_watch_tells(c: Cluster):
    for node in c.nodes:
        stream = Events(node, "/v1/events?kind=unit&pattern=web*")
        assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream"), stream.headers
        events = stream.events()
        place, kind, _ = next(events)
        assert place and kind is None
        c.start(f"web-{node.name}")
        c.start(f"db-{node.name}")
        place_of_event, kind, said = next(events)
        assert (kind, said["kind"], said["unit"]) == ("unit", "unit", f"web-{node.name}.service"), said
        assert said["cursor"] == place_of_event != place
        watch = c.begin(f"watch --json=short --since={place} --kinds=unit 'web*'", on=node)
        shown = watch.line()
        watch.kill()
        # (The last event of an answer has the cursor of all of it, so what else was in it shows there.)
        assert json.loads(shown) | {"cursor": said["cursor"]} == said, f"{shown}\n{said}"
        stream.close()


def test_lines_of_json_are_the_same_events(c: Cluster):
    c.start("lined")
    node = c.nodes[0]
    stream = Events(node, "/v1/events?since=0&kind=unit&kind=stream", Accept="application/x-ndjson")
    assert stream.headers["Content-Type"] == "application/x-ndjson"
    units = []
    for event in stream.lines():
        if event.get("word") == "complete":
            break
        units += [event["unit"]] if event["kind"] == "unit" else []
    assert "lined.service" in units and len(set(units)) == len(units)
    stream.close()


def test_what_is_no_place_is_a_problem(c: Cluster):
    for node in c.nodes:
        assert problem(node, "/v1/events", Last_Event_ID="nowhere") == 400
        assert problem(node, "/v1/events?since=nowhere") == 400
        assert problem(node, "/v1/events?kind=weather") == 400
        assert problem(node, "/v1/events?since=@999999999") in (400, 404)


def test_a_reader_who_comes_again_misses_nothing_and_hears_nothing_twice_whoever_leads(c: Cluster):
    leader = c.leader()
    node = next(n for n in c.nodes if n.name != leader.name)
    target = "/v1/events?kind=job"
    stream = Events(node, target)
    events = stream.events()
    place = next(events)[0]
    told = []

    def read_until(job):
        nonlocal place
        while (job, "done") not in told:
            at, kind, said = next(events)
            assert kind != "problem", said
            place = at
            if kind == "job":
                told.append((said["job"], said["state"]))

    for i in range(4):
        c.start(f"told{i}")
        job = c.json("list-jobs --all")[0]["job"]
        read_until(job)
        if i == 1:  # the stream goes on by itself
            leader.run("systemctl kill --signal=KILL argosyd")
            eventually(lambda: c.leader())
        if i == 2:  # and so does who was away meanwhile
            stream.close()
            c.start("missed")
            missed = c.json("list-jobs --all")[0]["job"]
            stream = Events(node, target, Last_Event_ID=place)
            assert stream.status == 200
            events = stream.events()
            read_until(missed)
    assert len(set(told)) == len(told), told
    stream.close()


def test_streams_end_with_argosyd_and_their_readers_go_on_there(c: Cluster):
    node = c.nodes[0]
    streams = [Events(node) for _ in range(20)]
    places = [next(stream.events())[0] for stream in streams]
    node.run("systemctl restart argosyd")
    assert "takes too long" not in node.journal("argosyd", lines=30)
    for stream in streams:
        # Something may have happened in the cluster before n1 was told to stop.
        last = [(kind, said) for _, kind, said in stream.events() if kind]
        assert [kind for kind, _ in last].index("problem") == len(last) - 1, last
        assert last[-1][1]["status"] == 503, last
        assert stream.complete
        stream.close()
    eventually(lambda: Path(f"/proc/{node.init_pid()}/root/run/argosy/http.sock").exists() and c.ctl("list-nodes", on=node))
    stream = Events(node, "/v1/events?kind=unit", Last_Event_ID=places[0])
    assert stream.status == 200
    c.start("after", SLEEPER)
    assert any(said and said["unit"] == "after.service" for _, _, said in stream.events())
    stream.close()


class Seen:
    """The cluster as a program has it that follows its events and asks for nothing."""

    def __init__(self, node):
        self._stream, self._states, self.nodes = over_http.Events(node, "?since=0&kind=state&kind=node&kind=stream"), {}, {}

    def running(self, *on):
        return sorted(unit for (unit, node), active in self._states.items() if active == "active" and node in on)

    def until(self, condition):
        while not condition():
            event = self._stream.next()
            assert event, "the stream has ended"
            if event["kind"] == "state" and event["gone"]:
                self._states.pop((event["unit"], event["node"]), None)
            elif event["kind"] == "state":
                self._states[event["unit"], event["node"]] = event["active"]
            elif event["kind"] == "node":
                self.nodes[event["node"]] = event.get("state")


def hosts(node):
    return get(node, "/v1/hosts")["hosts"]


def test_a_cluster_is_driven_through_the_loss_of_a_node_and_of_its_leader(c: Cluster):
    """And nothing but HTTP is spoken."""
    webs = [f"web@{i}.service" for i in range(1, 7)]
    leader = c.node(next(host["host"] for host in hosts(c.nodes[0]) if host["leader"]))
    asked, lost = (node for node in c.nodes if node.name != leader.name)
    first = change(asked, "start", units=webs, files={"web@.service": SLEEPER}, wait=60)["jobs"][0]["job"]
    seen = Seen(asked)
    seen.until(lambda: seen.running("n1", "n2", "n3") == webs and set(seen.nodes.values()) == {"online"})
    lost.kill()
    seen.until(lambda: seen.nodes[lost.name] == "lost" and seen.running(asked.name, leader.name) == webs)
    change(asked, "stop", units=webs[:2], wait=60)
    seen.until(lambda: seen.running(asked.name, leader.name) == webs[2:])
    lost.boot()
    seen.until(lambda: seen.nodes[lost.name] == "online")
    eventually(lambda: all(host["state"] == "online" and host["lag"] == 0 for host in hosts(asked)))
    leader.kill()
    body, headers = json.dumps({"verb": "start", "units": webs}), over_http.JSON | {"Idempotency-Key": "once"}
    status, _, said = eventually(lambda: (answer := over_http.ask(asked, "/v1/jobs", "POST", body, headers))[0] != 503 and answer)
    assert status == 202, said
    seen.until(lambda: seen.nodes[leader.name] == "lost" and seen.running(asked.name, lost.name) == webs)
    job = get(asked, f"/v1/jobs/{said['job']}?wait=60")["jobs"][0]
    assert job["state"] == "done", job
    assert over_http.ask(lost, "/v1/jobs", "POST", body, headers)[2]["job"] == said["job"]
    asked_for = [row for row in get(lost, "/v1/jobs")["jobs"] if row["job"] >= first and row["author"] != "cluster"]
    assert [row["verb"] for row in asked_for] == ["start", "stop", "start"], asked_for
    assert next(host["host"] for host in hosts(lost) if host["leader"]) != leader.name
    leader.boot()


if __name__ == "__main__":
    main(conf=QUICK)
