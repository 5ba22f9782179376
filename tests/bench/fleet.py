#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""fleet-900, fleet-list-10k: fleet's API

900 units over three nodes: each is a PUT with its options that wants it launched, over eight connections; one-connection: one after
the other, as fleet's client sends them. Over when /state has all of them active. Beside both, alternating: argosyctl starts 900
instances of a submitted template, as in many-units.py. Then 10,000 units that are loaded: GET /state through all of its pages.
"""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from bench import PROGRAMS, Bench, Failure, alternate, emit, main

START, LIST = 900, 10000
CONNECTIONS = 8
LOOK_S = 0.1  # fleet's client looks at each unit every 0.25 s
OPTIONS = [{"section": "Service", "name": "ExecStart", "value": f"{PROGRAMS}/pause"},
           {"section": "Service", "name": "StandardOutput", "value": "null"}]


class Fleet(http.client.HTTPConnection):
    """One connection to a node's socket, from outside of the node."""

    def __init__(self, node):
        super().__init__("localhost", timeout=60)
        self._path = f"/proc/{node.init_pid()}/root/run/argosy/fleet.sock"  # on a mount of its own

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def ask(self, method, target, status, body=None):
        self.request(method, f"/fleet/v1/{target}", json.dumps(body) if body else None,
                     {"Content-Type": "application/json"} if body else {})
        answer = self.getresponse()
        said = answer.read()
        if answer.status != status:
            raise Failure(f"{method} {target}: {answer.status} {said[:200]}")
        return json.loads(said) if said else None

    def states(self):
        """Through all pages."""
        rows, token = [], ""
        while token is not None:
            page = self.ask("GET", f"state?nextPageToken={quote(token)}" if token else "state", 200)
            rows += page.get("states", [])
            token = page.get("nextPageToken")
        return rows


def put(node, numbers):
    fleet = Fleet(node)
    for n in numbers:
        fleet.ask("PUT", f"units/fleet-{n}.service", 201,
                  {"name": f"fleet-{n}.service", "options": OPTIONS, "desiredState": "launched"})


def start_over_fleet(bench, connections):
    fleet = Fleet(bench.nodes[0])
    began = time.monotonic()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(lambda first: put(bench.nodes[0], range(first, START, connections)), range(connections)))
    while sum(row["systemdActiveState"] == "active" for row in fleet.states()) < START:
        time.sleep(LOOK_S)
    took = time.monotonic() - began
    bench.assert_active("fleet-*", START)
    bench.ctl("destroy 'fleet-*'")
    return took


def start_ourselves(bench):
    bench.submit("load@.service")
    took = bench.timed(f"start load@{{1..{START}}}")
    bench.assert_active("load@*", START)
    bench.ctl("destroy 'load@*'")
    return took


def run(bench: Bench, rounds):
    many, one, ours, lists = [], [], [], []
    alternate(rounds, lambda: (many.append(start_over_fleet(bench, CONNECTIONS)), one.append(start_over_fleet(bench, 1))),
              lambda: ours.append(start_ourselves(bench)))
    emit("fleet-900", "wall", "s", many, ours)
    emit("fleet-900", "one-connection", "s", one, ours)
    bench.submit("list@.service")
    bench.ctl(f"load list@{{1..{LIST}}}")
    fleet = Fleet(bench.nodes[0])
    for _ in range(rounds):
        began = time.monotonic()
        rows = fleet.states()
        lists.append((time.monotonic() - began) * 1000)
        if len({row["name"] for row in rows}) != LIST:
            raise Failure(f"{len(rows)} states")
    emit("fleet-list-10k", "wall", "ms", lists)


main(run, conf=["Fleet.Listen=/run/argosy/fleet.sock"])
