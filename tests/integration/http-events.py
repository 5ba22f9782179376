#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Events over HTTP: what they say, how they begin and end, and who comes again after his host or the leader went away."""

import json
from pathlib import Path

from lib import QUICK, SLEEPER, Cluster, eventually, main
from over_http import Stream


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
        shown = c.ctl(f"watch --json=short --since={place} --kinds=unit --timeout=1 'web*'", on=node).splitlines()
        # (The last event of an answer has the cursor of all of it, so what else was in it shows there.)
        assert json.loads(shown[0]) | {"cursor": said["cursor"]} == said, f"{shown[0]}\n{said}"
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
        assert [(kind, said["status"]) for _, kind, said in stream.events() if kind] == [("problem", 503)]
        assert stream.complete
        stream.close()
    eventually(lambda: Path(f"/proc/{node.init_pid()}/root/run/argosy/http.sock").exists() and c.ctl("list-nodes", on=node))
    stream = Events(node, "/v1/events?kind=unit", Last_Event_ID=places[0])
    assert stream.status == 200
    c.start("after", SLEEPER)
    assert any(said and said["unit"] == "after.service" for _, _, said in stream.events())
    stream.close()


if __name__ == "__main__":
    main(conf=QUICK)
