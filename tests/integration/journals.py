#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whoever reads a long journal slowly, or not at all, gets every line of it in the end, and costs neither the node that reads it nor
any host on the way memory for what he has not taken; nobody else waits for him."""

from contextlib import contextmanager

from lib import QUICK, SLEEPER, Cluster, eventually, main, sanitized
from over_http import Stream

LINES, WIDTH = 5000, 3000  # 15 MB
ALL = LINES + 1000  # systemd says something about the unit, too

# What may lie between the reader and its client, on all hosts together: a window, as much again in the queue of the client's
# connection, and what the allocator makes of it.
BOUND_KIB = 4 * 1024

# Writes LINES numbered lines when it may.
WRITER = f"""[Service]
Type=oneshot
RemainAfterExit=yes
LogRateLimitBurst=1000000
SyslogIdentifier=writer
ExecStart=/bin/sh -c 'seq --format="%%.0f {"x" * WIDTH}" 1 {LINES}'
"""


def own_memory(node):
    """KiB of argosyd's own; the journal's files, which it maps, are not."""
    pid = node.run("systemctl show --value --property=MainPID argosyd").strip()
    return int(node.run(f"awk '/^RssAnon/ {{print $2}}' /proc/{pid}/status"))


def counter(c, node, name):
    return c.json("counters", node)[name]


def numbers(lines):
    """Those that the writer put into its lines."""
    return [int(line.split(": ", 1)[1].split(" ", 1)[0]) for line in lines if " writer[" in line]


def places(c):
    """The unit's node, the client's and the leader: three hosts."""
    writer, reader = c.followers()
    c.submit("writer.service", f"{WRITER}[X-Argosy]\nMachineID={writer.machine_id}\n")
    return writer, reader, c.leader()


def all_is_written(writer):
    eventually(lambda: f" {LINES} x" in writer.run("journalctl --unit=writer --identifier=writer --lines=1"))


@contextmanager
def costs_nobody_memory(c):
    before = {node.name: own_memory(node) for node in c.nodes}
    yield
    grown = {node.name: own_memory(node) - before[node.name] for node in c.nodes}
    assert sanitized() or all(kib < BOUND_KIB for kib in grown.values()), f"argosyd has so many KiB more: {grown}"


def the_reader_waits(c, writer, count=1):
    eventually(lambda: counter(c, writer, "journals_held") == count)


def nobody_else_waits(c):
    for node in c.nodes:
        c.ctl("list-units", on=node)
        c.ctl("status writer", on=node)
        assert numbers(c.ctl("journal -n 3 writer", on=node).splitlines()) == [LINES - 2, LINES - 1, LINES]


def test_a_client_that_reads_nothing_costs_nobody_memory_and_gets_all_in_the_end(c: Cluster):
    writer, reader, leader = places(c)
    c.ctl("start writer")
    all_is_written(writer)
    nobody_else_waits(c)  # once, so that everybody has what that takes
    for node in (reader, leader):
        with costs_nobody_memory(c):
            client = c.begin(f"journal -n {ALL} writer", on=node)  # its output goes into a pipe that is full soon
            the_reader_waits(c, writer)
            nobody_else_waits(c)
        assert numbers(client.result().out.splitlines()) == list(range(1, LINES + 1))
        eventually(lambda: counter(c, writer, "journals_read") == 0)


def test_a_follower_that_is_stopped_misses_nothing(c: Cluster):
    writer, reader, _ = places(c)
    c.ctl("load writer")
    client = c.begin("journal -f -n 0 writer", on=reader)
    eventually(lambda: counter(c, writer, "journals_read") == 1)
    reader.run("pkill -STOP argosyctl")
    with costs_nobody_memory(c):
        c.ctl("start writer")
        the_reader_waits(c, writer)
        all_is_written(writer)
        nobody_else_waits(c)
    reader.run("pkill -CONT argosyctl")
    seen = []
    while not seen or seen[-1] < LINES:
        seen += numbers([client.line()])
    assert seen == list(range(1, LINES + 1))
    client.kill()
    eventually(lambda: counter(c, writer, "journals_read") == 0)


def test_a_client_that_dies_while_its_reader_waits_ends_it(c: Cluster):
    writer, reader, leader = places(c)
    c.ctl("start writer")
    all_is_written(writer)
    clients = [c.begin(f"journal -n {ALL} writer", on=node) for node in (reader, leader, writer)]
    the_reader_waits(c, writer, len(clients))
    for client in clients:
        client.kill()
    eventually(lambda: counter(c, writer, "journals_read") == 0)


def over_http(node, target, **headers):
    stream = Stream(node, f"/v1/journal/{target}", **headers)
    assert stream.status == 200, f"{target}: {stream.status}"
    return stream


# Says so when it begins, and once more for each time that it is told to.
SPEAKER = """[Service]
SyslogIdentifier=speaker
ExecStart=/bin/sh -c 'trap "echo again" USR1; echo begins; while :; do sleep infinity & wait; done'
"""


def tell_to_speak(node):
    node.run("systemctl kill --signal=USR1 --kill-whom=main speaker")


def said_by_itself(line):
    """And not by systemd about it."""
    return " speaker[" in line


def test_over_http_lines_are_those_of_argosyctl(c: Cluster):
    c.start("speaker", SPEAKER)
    home = next(n for n in c.nodes if n.name == c.active("speaker")["speaker.service"][0])
    eventually(lambda: ": begins" in c.ctl("journal speaker"))
    for node in c.nodes:
        shown = c.ctl("journal -n 2 speaker", on=node).splitlines()
        stream = over_http(node, "speaker.service?lines=2")
        assert stream.headers["Content-Type"].startswith("text/plain")
        assert stream.all_lines() == shown and stream.complete
        stream = over_http(node, f"speaker.service?lines=2&node={home.name}", Accept="application/x-ndjson")
        assert list(stream.lines()) == [{"unit": "speaker.service", "node": home.name, "line": line} for line in shown]
    for node in c.nodes:
        stream = over_http(node, "speaker.service?follow=true&lines=0")
        for _ in range(3):
            tell_to_speak(home)
            assert next(line for line in iter(stream.line, None) if said_by_itself(line)).endswith(": again")
        stream.close()
        tell_to_speak(home)
    eventually(lambda: all(counter(c, node, "journals_read") == 0 for node in c.nodes))


def test_over_http_why_there_is_nothing_is_the_status(c: Cluster):
    c.start("here", SLEEPER)
    c.submit("nowhere.service", SLEEPER)
    for node in c.nodes:
        for target, status in [("nope.service", 404), ("here.service?node=nope", 404), ("here.service?follow=perhaps", 400),
                               ("here", 400), ("nowhere.service?follow=1", 503)]:
            stream = Stream(node, f"/v1/journal/{target}")
            assert (stream.status, stream.headers["Content-Type"]) == (status, "application/problem+json"), f"{target}: {stream.status}"
            stream.close()


def test_over_http_a_client_that_reads_nothing_costs_nobody_memory_and_gets_all_in_the_end(c: Cluster):
    writer, reader, leader = places(c)
    c.ctl("start writer")
    all_is_written(writer)
    nobody_else_waits(c)
    for node in (reader, leader):
        over_http(node, "writer.service?lines=1").close()  # once, so that its thread is there
        with costs_nobody_memory(c):
            stream = over_http(node, f"writer.service?lines={ALL}")
            the_reader_waits(c, writer)
            nobody_else_waits(c)
        seen = numbers(stream.all_lines())[-LINES:]  # the node may have lines of another test before them
        assert seen == list(range(1, LINES + 1)) and stream.complete
        eventually(lambda: counter(c, writer, "journals_read") == 0)
    stream = over_http(reader, f"writer.service?lines={ALL}")
    the_reader_waits(c, writer)
    stream.close()
    eventually(lambda: counter(c, writer, "journals_read") == 0)


def test_over_http_who_follows_goes_on_when_the_leader_or_the_node_was_away(c: Cluster):
    writer, reader, leader = places(c)
    c.start("speaker", f"{SPEAKER}[X-Argosy]\nMachineID={writer.machine_id}\n")
    stream = over_http(reader, "speaker.service?follow=1&lines=1", Accept="application/x-ndjson")
    said = stream.lines()
    assert "line" in next(said)
    for lost in (leader, writer):
        lost.run("systemctl kill --signal=KILL argosyd")
        assert next(row for row in said if "line" not in row)["status"] == 503
        eventually(lambda: c.leader() and counter(c, writer, "journals_read") == 1)
        tell_to_speak(writer)
        assert next(row for row in said if said_by_itself(row["line"]))["line"].endswith(": again")
    stream.close()


main(nodes=3, conf=QUICK)
