#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A leader that was frozen while another took over orders nothing when it wakes up."""

import os
import re
import signal
import time

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays
from over_http import ask

LEASE_S, BEAT_S = 2, 0.4  # QUICK's
BEATS_BEFORE_THE_FREEZE = 4  # of four hosts, between the look at the counter and the freeze


def replace_frozen_leader(c):
    """Freezes the leader until the others have another one; returns the old one and the rest."""
    old = c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    old.pause()
    eventually(lambda: c.leader_name(rest[0]) not in (None, old.name))
    return old, rest


def test_it_obeys_the_new_one_and_orders_nothing(c: Cluster):
    c.start("w@{1..9}")
    old, rest = replace_frozen_leader(c)
    eventually(lambda: c.node_states(rest[0])[old.name] == "lost")
    c.ctl("stop w@1", on=rest[0])
    c.ctl("destroy w@2", on=rest[0])
    c.ctl("restart w@3", on=rest[1])
    c.ctl("start w@10", on=rest[1])
    eventually(lambda: sum(c.spread("w@*").get(node.name, 0) for node in rest) == 8)
    runs = c.invocations("w@*", rest)

    old.resume()
    eventually(lambda: c.leader_name(old) == c.leader_name(rest[0]))
    c.wait_online()
    eventually(lambda: old.name not in c.spread("w@*"), what="the old leader's node has given up what moved")
    stays(lambda: c.invocations("w@*", rest) == runs, 2, "nothing changed on the other nodes")
    assert c.where("w@1") is None and "w@2.service" not in c.known()
    c.assert_once("w@*", 8)


def test_a_request_that_waits_at_it_finds_the_new_leader(c: Cluster):
    c.start("w@1")
    old = c.leader()
    rest = [node for node in c.nodes if node.name != old.name]
    old.pause()
    waiting = c.begin("start --timeout=60s w@2", on=old)
    eventually(lambda: c.leader_name(rest[0]) not in (None, old.name))
    old.resume()
    result = waiting.result()
    assert result.status == 0, result
    c.wait_online()
    c.assert_once("w@*", 2)


def test_a_short_freeze_of_every_daemon_stops_nothing(c: Cluster):
    c.start("w@{1..6}")
    runs = c.invocations("w@*")
    daemons = [node.argosyd_pid_outside() for node in c.nodes]
    for daemon in daemons:  # all at once, however slow the machine is
        os.kill(daemon, signal.SIGSTOP)
    stays(lambda: c.invocations("w@*") == runs, 3)
    for daemon in daemons:
        os.kill(daemon, signal.SIGCONT)
    c.wait_online()
    c.ctl("start w@7")
    c.assert_once("w@*", 7)
    now = c.invocations("w@*")
    assert all(now.get(run) == id for run, id in runs.items()), "healthy units were stopped"


def acknowledged(node):
    return int(re.search(r"^argosy_beats_acknowledged_total (\d+)", ask(node, "/metrics")[2], re.MULTILINE)[1])


def freeze(node):
    """What it had acknowledged, looked at less than a beat before."""
    daemon = node.argosyd_pid_outside()
    while True:
        before = acknowledged(node)
        looked = time.monotonic()
        os.kill(daemon, signal.SIGSTOP)
        if time.monotonic() - looked < BEAT_S:
            return before
        os.kill(daemon, signal.SIGCONT)  # this test was held up


def test_it_renews_no_lease_that_the_new_one_counts_as_ended(c: Cluster):
    """A host that only the old one can be heard by goes on sending its beats, and they lie in the old one's sockets. Its units
    that are to stop when it is cut off are down before they start elsewhere."""
    old = c.leader()
    voters = [node for node in c.nodes if c.members()[node.name].startswith("voter") and node.name != old.name]
    [host] = [node for node in c.nodes if node.name not in (old.name, *(voter.name for voter in voters))]
    c.ctl(f"cordon {' '.join(node.name for node in c.nodes if node.name != host.name)}")
    c.start("f@{1..3}", SLEEPER + "TimeoutStopSec=1\n[X-Argosy]\nCutOff=stop\nCutOffSec=1\n")
    c.ctl(f"uncordon {' '.join(node.name for node in voters)}")
    assert c.spread("f@*") == {host.name: 3}

    host.cut_from(*voters)
    before = freeze(old)
    eventually(lambda: c.leader_name(voters[0]) not in (None, old.name))
    old.cut_from(*voters)  # nobody tells it
    old.resume()
    stays(lambda: not c.twice("f@*"), LEASE_S)
    assert acknowledged(old) - before <= BEATS_BEFORE_THE_FREEZE, "the old leader renewed leases"
    eventually(lambda: len(c.active("f@*")) == 3 and host.name not in c.spread("f@*"), what="they run elsewhere")
    assert not c.twice("f@*")


main(nodes=4, conf=QUICK)
