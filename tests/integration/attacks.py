#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An attacker for each principal: whatever he sends, the daemons stay small, their loops turn, and root gets through.

Each script is a program that becomes that principal before it connects; it knows the wire, and keeps on until it is killed. Meanwhile each argosyd's
memory, its longest turn and root's `label` are watched."""

import contextlib
import os
import re
import subprocess
import threading
import time

from access import make_users, open_everywhere, units_of_two_roles
from over_http import ask
from lib import MARGIN, TURN_TRIES, Cluster, Turns, eventually, main, sanitized

MEMORY_KIB = 64 * 1024  # over rest, of each argosyd
LABEL_S = 0.1 * MARGIN     # of the 99th percentile, more than without an attack
LONG = os.environ.get("ARGOSY_LONG")
ATTACK_S = 6 if LONG else 4
QUIET_S = 2 if LONG else 1  # some tens of changes, without an attack

# What an ordinary check runs: those that cost a daemon most. All are run with --long.
ORDINARY = {"halves of short frames", "patterns that match nothing", "waits of as many as there may be", "fields that nobody knows",
            "bodies of 1 MiB", "lists"}

# Of a user of the host, at its sockets.
USER = """
import hashlib, json, os, select, socket, sys, time  # while it may read them
directory, uid = os.open(sys.argv[1], os.O_PATH), int(sys.argv[2])  # of the sockets
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
os.fchdir(directory)
SOCKET = "argosy.sock"
def dial():
    s = socket.socket(socket.AF_UNIX)
    s.connect(SOCKET)
    s.setblocking(False)
    return s
"""

# What all scripts know: frames, fields, and connections of which a thousand are no trouble.
WIRE = """
import os, select, socket, sys, time
def varint(n):
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)
def field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(number << 3) + varint(value)
def frame(payload):
    return len(payload).to_bytes(4, "big") + payload
def request(number, what, id=1):
    return frame(field(ID, id) + field(number, what))
# Sends `data` on `count` connections, again and again, and reads what comes; one that is closed is dialled anew.
def flood(data, count, once=False):
    ends = {}
    while True:
        while len(ends) < count:
            try:
                ends[dial()] = 0
            except OSError:
                time.sleep(0.01)
                break
        readable, writable, _ = select.select(list(ends), [s for s, at in ends.items() if at < len(data)], [], 0.05)
        for s in set(readable) | set(writable):
            try:
                if s in readable and not s.recv(65536):
                    raise OSError
                if s in writable:
                    ends[s] += s.send(data[ends[s]:ends[s] + 1048576])
                    if ends[s] == len(data) and not once:
                        ends[s] = 0
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                del ends[s]
"""

# Of one who may see the units of a role that there is not.
LOCAL = {
    "frames of 32 MiB": "flood(frame(bytes(33554432)), 64)",
    "halves of long frames": "flood((33554432).to_bytes(4, 'big') + bytes(33000000), 64, once=True)",
    "halves of short frames": "flood((1048576).to_bytes(4, 'big') + bytes(1040000), 64, once=True)",
    "half a million patterns of no length": "flood(request(LIST_UNITS, field(1, b'') * 500000), 64)",
    "as many patterns as there may be": "flood(request(LIST_UNITS, field(1, b'') * 30000), 64)",
    "patterns that match nothing": "flood(request(LIST_UNITS, b''.join(field(1, b'no%d*' % i) for i in range(20000))), 64)",
    "waits of as many as there may be": "flood(request(WAIT, field(1, 2) + b''.join(field(2, field(1, b'w%d.service' % i)) for i in range(12000))), 64)",
    "fields that nobody knows": "flood(request(LIST_UNITS, field(9999, b'') * 300000), 64)",
    "small requests": "flood(b''.join(request(LIST_UNITS, b'', i) for i in range(1, 50)), 64)",
    "nothing": "flood(b'', 64)",
}


# The same user, over HTTP.
LONG_BODY = "b'POST /v1/jobs HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/x-ndjson\\r\\nContent-Length: %d\\r\\n\\r\\n' % {length} + b'{{}}\\n' * ({length} // 3)"
HTTP = {
    "bodies of 32 MiB": f"flood({LONG_BODY.format(length=33000000)}, 64)",
    "bodies of 1 MiB": f"flood({LONG_BODY.format(length=1000000)}, 64)",
    "halves of bodies": f"flood(({LONG_BODY.format(length=1000000)})[:900000], 64, once=True)",
    "lists": "flood(b'GET /v1/units HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' * 100, 64)",
    "halves of headers": "flood(b'GET /v1/units HTTP/1.1\\r\\nHost: localhost\\r\\nX: ' + b'x' * 4000, 100, once=True)",
}


def numbers():
    """The numbers of the fields of Request that the scripts use, from the one place where they stand."""
    with open(f"{__file__.rsplit('/tests/', 1)[0]}/proto/argosy.proto", encoding="utf-8") as proto:
        text = re.search(r"^message Request \{.*?^\}", proto.read(), re.M | re.S).group()
    found = {name: int(number) for name, number in re.findall(r"^ +\w+ (\w+) = (\d+);", text, re.M)}
    return f"ID = {re.search(r'^  uint64 id = ([0-9]+);', text, re.M).group(1)}\nLIST_UNITS = {found['list_units']}\nWAIT = {found['wait']}\n"


def private_kib(node):
    with open(f"/proc/{node.argosyd_pid_outside()}/smaps_rollup", encoding="utf-8") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Private_Dirty"))


# What a daemon has since its cluster has it, or says that it has: whoever may deploy may make it grow.
OWN = ("state_units_bytes", "state_jobs_bytes", "state_former_files_bytes", "leader_tables_bytes", "placement_bytes", "events_bytes", "http_state_bytes")


def own_kib(c, node):
    counters = c.json("counters", node)
    return sum(counters[name] for name in OWN) // 1024


class Watch:
    """The most memory of each argosyd, and the longest turns of their loops."""

    def __init__(self, c, nodes):
        self._nodes, self._turns = nodes, Turns(c, nodes)
        self._over = threading.Event()
        self.most = {node.name: 0 for node in nodes}
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self._over.wait(0.05):
            for node in self._nodes:
                self.most[node.name] = max(self.most[node.name], private_kib(node))

    def __enter__(self):
        self._turns.begin()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def turns(self):
        return self._turns.longest()


def label_times(c, on, seconds):
    """How long root's changes take, one after the other."""
    taken, until, number = [], time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        began = time.monotonic()
        c.ctl(f"label {on.name} attack={number}", on=on)
        taken.append(time.monotonic() - began)
    return sorted(taken)


def p99(taken):
    return taken[int(len(taken) * 0.99)]


@contextlib.contextmanager
def running(argv):
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as program:
        try:
            yield
            assert program.poll() is None, "the attacker has failed"
        finally:
            program.kill()


def user_of(node, script, uid=1001):
    return running(["python3", "-c", USER + numbers() + WIRE + script, f"/proc/{node.init_pid()}/root/run/argosy", str(uid)])


def assert_bears(c, what, victim, script, quiet, attacker=user_of, nodes=None):
    """nodes: those that are watched; all of them unless they are named. Of a hundred changes the 99th percentile is the slowest one, and one may
    be slow for the reason that one turn may be (Turns): what is slow because of the attack is so each time."""
    nodes, slowest = nodes or c.nodes, []
    pids = {node.name: node.argosyd_pid() for node in nodes}

    def attack():
        rest = {node.name: private_kib(node) - own_kib(c, node) for node in nodes}
        with Watch(c, nodes) as watch, attacker(victim, script):
            taken = label_times(c, victim, ATTACK_S)
            turns = watch.turns()
            own = {node.name: own_kib(c, node) for node in nodes}
        grown = {name: most - rest[name] - own[name] for name, most in watch.most.items()}
        print(f"    {what}: +{grown} KiB, turns {turns} us, label p99 {p99(taken) * 1000:.0f} ms "
              f"of {len(taken)} (quiet: {p99(quiet) * 1000:.0f} ms)", flush=True)
        assert {node.name: node.argosyd_pid() for node in nodes} == pids, f"argosyd did not survive {what}"
        if sanitized():
            return dict.fromkeys(turns, 0)
        assert max(grown.values()) <= MEMORY_KIB, f"{what}: memory grew by {grown} KiB"
        slowest.append(p99(taken))
        return turns

    Turns(c, nodes).assert_short(attack, what)
    while slowest and min(slowest) > p99(quiet) + LABEL_S and len(slowest) < TURN_TRIES:
        attack()
    assert not slowest or min(slowest) <= p99(quiet) + LABEL_S, f"{what}: root's label took {slowest} s, and {p99(quiet):.3f} s without"


def chosen(scripts, ordinary):
    """Those that this run is to have: those whose name has what $ARGOSY_ATTACK says, all of them with --long, and else those that are ordinary."""
    wanted = os.environ.get("ARGOSY_ATTACK")
    return [(what, script) for what, script in scripts.items() if (wanted in what if wanted else LONG or what in ordinary)]


def bears_all(c, scripts, beginning, still_asks):
    """Each of them by ann, who may see a role that does not exist, at a host that does not lead. Then that host is asked as ever."""
    units_of_two_roles(c)
    make_users(c)
    c.ctl("access grant view to user:ann on role ghost")
    open_everywhere(c)
    victim = c.followers()[0]
    quiet = label_times(c, victim, QUIET_S)
    for what, script in chosen(scripts, ORDINARY):
        assert_bears(c, what, victim, beginning + script, quiet)
        eventually(lambda: still_asks(victim))


def test_a_local_user_who_may_see_something(c: Cluster):
    bears_all(c, LOCAL, "", lambda victim: c.ctl("list-nodes", on=victim))


def test_the_same_over_http(c: Cluster):
    bears_all(c, HTTP, "SOCKET = 'http.sock'\n", lambda victim: ask(victim, "/v1/nodes"))


if __name__ == "__main__":
    main(nodes=3, voters=1)
