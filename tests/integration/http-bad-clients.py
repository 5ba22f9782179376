#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HTTP for those who do not behave, and a leader that is lost in the middle: limits are told by name, nothing is half an answer, and
whoever else asks is answered."""

import json
import os
import signal
import socket
import ssl
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPException

from lib import QUICK, SLEEPER, Cluster, eventually, long, main
from over_http import Bearer, Connection, ask, directory, get, network_of, raw

TLS_PORT, PLAIN_PORT = 8443, 8080
OWNERS = 1280  # connections that root may have
ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
UNITS = 400
TIMES = 3  # that a leader is lost in the middle


def connect(node):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(directory(node) / "http.sock"))
    return connection


def secured(node, to):
    """From that node to the other's address."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with network_of(node):
        connection = socket.create_connection((to.address, TLS_PORT), timeout=60)
    return context.wrap_socket(connection)


def open_requests(c, node):
    return c.json("counters", node)["http_requests_open"]


def make_token(c, name):
    return c.ctl(f"token create --right view --name {name} --ttl 1h").split()[-1]


@contextmanager
def everybody_is_answered(c, node):
    """Over the socket, over TCP and by argosyctl, and nobody waits for long."""
    token = make_token(c, "somebody")
    yield
    begin = time.monotonic()
    assert c.json("list-nodes", node)
    with closing(Bearer(node, PLAIN_PORT, token)) as connection:
        assert connection.ask("/v1/nodes")[0] == 200
    assert time.monotonic() - begin < 20, time.monotonic() - begin  # whoever says nothing has longer than that
    c.ctl("token revoke somebody")


def test_who_connects_and_says_nothing_keeps_nobody_out(c: Cluster):
    node = c.nodes[0]
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(node)) for _ in range(OWNERS)]
        connections[-1].sendall(ASK)
        assert connections[-1].recv(4096).startswith(b"HTTP/1.1 200 ")
        said = raw(node, ASK.decode().replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))  # the one that has been idle for longest goes
        assert said.startswith("HTTP/1.1 200 ") and connections[0].recv(1) == b"", said
        with everybody_is_answered(c, node):
            for _ in range(1000):  # and go on doing so
                stack.enter_context(connect(node))
    eventually(lambda: ask(node, "/healthz")[0] == 200)


def test_who_does_not_read_keeps_nobody_waiting(c: Cluster):
    node = c.nodes[0]
    with ExitStack() as stack, everybody_is_answered(c, node):
        for _ in range(300):
            connection = stack.enter_context(connect(node))
            connection.sendall(20 * b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")


@long
def test_who_sends_a_byte_a_second_has_a_minute(c: Cluster):
    node = c.nodes[0]
    begin = time.monotonic()
    with connect(node) as slow, everybody_is_answered(c, node):
        slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n")
        slow.settimeout(1)
        while time.monotonic() - begin < 90:
            try:
                slow.sendall(b" ")
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert 55 < time.monotonic() - begin < 70, time.monotonic() - begin


@long
def test_a_client_that_vanished_is_given_up_also_where_nothing_is_said_to_it(c: Cluster):
    node, other = c.leader(), c.followers()[0]
    c.start("silent")
    token = make_token(c, "reader")
    before = open_requests(c, node)
    streams = [secured(other, node) for _ in range(3)]
    for stream, target in zip(streams, ("/v1/journal/silent.service?follow=true&lines=1", "/v1/events", "/v1/jobs/1?wait=60")):
        stream.sendall(f"GET {target} HTTP/1.1\r\nHost: {node.address}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    eventually(lambda: open_requests(c, node) >= before + 2)
    assert streams[0].recv(4096).startswith(b"HTTP/1.1 200 ")
    other.partition()
    try:
        for stream in streams:
            stream.close()  # of which nobody hears
        eventually(lambda: open_requests(c, node) <= before, within=90, what="they are given up")
    finally:
        other.heal()
    c.wait_online()


def is_whole(target, document):
    """What every host knows by its log is there, in whatever moment."""
    return len(document["unit_files"]) > UNITS if target in ("/v1/state", "/v1/unit-files") else isinstance(document["units"], list)


def read_again_and_again(node, target, seen, wrong, over):
    """What there is at all: a whole document, a problem, or a connection that broke."""
    while not over.is_set():
        connection = Connection(node)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            text = answer.read()
            document = json.loads(text)
            seen.append(answer.status)
            if answer.status == 200 and not is_whole(target, document):
                wrong.append(f"{target}: half of it: {len(text)} bytes, {list(document)}")
            if answer.status != 200 and document.get("status") != answer.status:
                wrong.append(f"{target}: {answer.status}, and no problem: {text[:200]}")
            if answer.status not in (200, 503):
                wrong.append(f"{target}: {answer.status} {document}")
        except (OSError, HTTPException):
            seen.append(None)  # and it is seen to be broken
        except ValueError:
            wrong.append(f"{target}: it looked whole and was not: {text[-200:]}")
        finally:
            connection.close()


def test_a_leader_that_is_lost_in_the_middle_leaves_no_half_answer(c: Cluster):
    c.submit("w@.service", SLEEPER)
    c.ctl(f"load w@{{1..{UNITS}}}")
    eventually(lambda: all(len(get(node, "/v1/unit-files")["unit_files"]) > UNITS for node in c.nodes))
    wrong, over = [], threading.Event()
    targets = {target: [] for target in ("/v1/state", "/v1/units", "/v1/unit-files", "/v1/units?limit=1000")}
    threads = [threading.Thread(target=read_again_and_again, args=(node, target, seen, wrong, over))
               for node in c.nodes for target, seen in targets.items()]
    for thread in threads:
        thread.start()
    try:
        for _ in range(TIMES):
            leader = c.leader()
            counts = {target: seen.count(200) for target, seen in targets.items()}
            leader.run("systemctl kill --signal=KILL argosyd")
            eventually(lambda: c.leader_name(next(n for n in c.nodes if n.name != leader.name)) not in (None, ""), within=60)
            c.wait_online()
            eventually(lambda: all(seen.count(200) > counts[target] + 5 for target, seen in targets.items()), what="whole answers again")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not wrong, "\n".join(wrong[:5])


if __name__ == "__main__":
    main(conf=[*QUICK, f"Http.Listen=0.0.0.0:{TLS_PORT} 127.0.0.1:{PLAIN_PORT}", "Http.Tls=no"])
