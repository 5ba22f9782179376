#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files go to hosts over links of 10 Mbit/s, and nobody is late for it: beats, the log and other units have their share of each link."""

import json
import threading
from contextlib import contextmanager

from lib import MARGIN, SLEEPER, Cluster, eventually, main, sanitized

RATE = "10mbit"
FILE = 512 * 1024
TURN_US = 10_000 * MARGIN
STORE = "/run/argosy/files"


class Told:
    """What is told of hosts and of who leads, from the beginning until end()."""

    def __init__(self, c):
        self._c, self.events = c, []
        self._watch = c.begin("watch --kinds=node,leader --json=short --since=0")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        eventually(lambda: any(event["kind"] == "leader" for event in list(self.events)))

    def _read(self):
        while line := self._watch.line():
            self.events.append(json.loads(line))

    def end(self):
        """All of it: what happens last is told last."""
        name = self._c.nodes[0].name
        self._c.ctl(f"label {name} told=yes")
        eventually(lambda: any("told=yes" in event.get("labels", "") for event in list(self.events)))
        self._c.ctl(f"label {name} told-")
        self._watch.kill()
        return self.events


@contextmanager
def nobody_is_late(c):
    for node in c.nodes:
        node.slow_down(RATE)
        node.run("systemctl kill --signal=SIGUSR1 argosyd")  # the longest turn is counted anew
    leader, told = c.leader().name, Told(c)
    yield
    events = told.end()
    turns = {node.name: c.json("counters", node)["turn_cpu_max_us"] for node in c.nodes}
    late = [event for event in events if event["kind"] == "node" and event["state"] != "online"]
    assert not late, f"hosts were not heard in time: {late}"
    assert {event["leader"] for event in events if event["kind"] == "leader"} == {leader}, "the leader has changed"
    assert sanitized() or max(turns.values()) <= TURN_US, f"the longest turns took {turns} us"


def write_files(node, folder, count):
    """Files that nobody can make smaller, and what they are."""
    node.run(f"mkdir -p {folder} && for i in $(seq {count}); do head -c {FILE} /dev/urandom >{folder}/data$i; done")
    return node.run(f"cat {folder}/data* | sha256sum").split()[0]


def has_all(node, unit, sum):
    return node.run(f"cat /run/argosy/units/{unit}/data* | sha256sum").split()[0] == sum


def test_all_hosts_fetch_the_same_file_and_nobody_is_late(c: Cluster):
    n1 = c.node("n1")
    sum = write_files(n1, "/root/units", 1)
    n1.write("/root/units/all.service", f"{SLEEPER}[X-Argosy]\nGlobal=yes\nFile=data1\n")
    c.ctl("submit /root/units/all.service", on=n1)
    with nobody_is_late(c):
        c.ctl("start all", on=n1)
    for node in c.nodes:
        assert has_all(node, "all.service", sum)
    c.ctl("destroy all")
    for node in c.nodes:
        assert not node.run(f"ls {STORE}")


def test_files_that_go_into_the_log_over_slow_links_cost_no_leader(c: Cluster):
    """An entry with 512 KiB takes longer to two followers than an election does, and there are several in a row."""
    n1 = c.node("n1")
    for node in c.nodes:
        write_files(n1, f"/root/units/{node.name}", 1)
        n1.write(f"/root/units/{node.name}/of-{node.name}.service", f"{SLEEPER}[X-Argosy]\nHost={node.name}\nFile=data1\n")
    with nobody_is_late(c):
        submits = [c.begin(f"submit /root/units/{node.name}/of-{node.name}.service", on=n1) for node in c.nodes]
        for submit in submits:
            assert submit.result().status == 0, submit.result()
        c.ctl("start 'of-*'", on=n1)
    assert len(c.active("of-*")) == len(c.nodes)


def test_each_host_fetches_files_of_its_own_and_other_units_are_changed_meanwhile(c: Cluster):
    n1, sums = c.node("n1"), {}
    for node in c.nodes:
        sums[node.name] = write_files(n1, f"/root/units/{node.name}", 1)
        n1.write(f"/root/units/{node.name}/of-{node.name}.service", f"{SLEEPER}[X-Argosy]\nHost={node.name}\nFile=data1\n")
        c.ctl(f"submit /root/units/{node.name}/of-{node.name}.service", on=n1)
    with nobody_is_late(c):
        start, number = c.begin("start 'of-*'", on=n1), 0
        while not start.is_over:
            number += 1
            c.start(f"other-{number}")
        assert start.result().status == 0, start.result()
    assert number > 1, "nothing else was done meanwhile"
    for node in c.nodes:
        assert has_all(node, f"of-{node.name}.service", sums[node.name])


def test_what_one_leader_began_another_one_ends(c: Cluster):
    n1, old = c.node("n1"), c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    sum = write_files(old, "/root/units", 1)
    old.write("/root/units/all.service", f"{SLEEPER}[X-Argosy]\nGlobal=yes\nFile=data1\n")
    c.ctl("submit /root/units/all.service", on=old)
    for node in c.nodes:
        node.slow_down("2mbit")  # that takes 8 s
    c.ctl("start --no-block all", on=old)
    assert not any(node.run(f"ls {STORE}/* 2>/dev/null || true") for node in rest)
    old.kill()
    for node in rest:
        node.heal()
    eventually(lambda: set(c.active("all").get("all.service", [])) >= {node.name for node in rest})
    for node in rest:
        assert has_all(node, "all.service", sum)


main(nodes=5)
