#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Attackers who come over the network (see attacks.py): a stranger, who has nothing; one who holds a token that shows him next to nothing; and a member
that does not vote, whose key somebody has got hold of.

In an ordinary check some of them run; with --long all of them."""

import re
from pathlib import Path

from attacks import QUIET_S, WIRE, assert_bears, chosen, label_times, numbers, running
from lib import Cluster, eventually, main

MESH_PORT, HTTP_PORT = 7867, 8080

# What an ordinary check runs.
ORDINARY = {"handshakes", "halves of headers", "lists", "requests", "as many patterns of no length as fit", "requests whose answers nobody reads"}

# Who enters the testbed's network is a child of what is ended, and ends with its input.
DIAL = """
import threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
HOST, PORT = sys.argv[1], int(sys.argv[2])
def dial():
    s = socket.create_connection((HOST, PORT), timeout=5)
    s.setblocking(False)
    return s
"""

# ---- a stranger

HANDSHAKES = """
import ssl, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols([ALPN])
def shake(sends):
    while True:
        try:
            with context.wrap_socket(socket.create_connection((HOST, PORT), timeout=5)) as s:
                s.sendall(sends)
                if sends:
                    s.recv(1)
        except OSError:
            time.sleep(0.001)
def shake_all(count, sends=b''):
    for _ in range(count):
        threading.Thread(target=shake, args=[sends], daemon=True).start()
    time.sleep(1000)
"""

STRANGER_TO_MEMBERS = {
    "handshakes": "ALPN = 'argosy-join/1'" + HANDSHAKES + "shake_all(8)",
    "halves of handshakes": "flood(b'\\x16\\x03\\x01\\x02\\x00\\x01', 600, once=True)",
    "handshakes of one who is no member": "ALPN = 'argosy/1'" + HANDSHAKES + "shake_all(8)",
    "noise": "flood(os.urandom(65536), 64)",
    "halves of requests to join": "ALPN = 'argosy-join/1'" + HANDSHAKES + "shake_all(400, b'\\x00\\x00\\x40\\x00half')",
    "requests to join that are none": "ALPN = 'argosy-join/1'" + HANDSHAKES + "shake_all(8, frame(bytes(range(256)) * 60))",
}

GET = "b'GET %s HTTP/1.1\\r\\nHost: localhost\\r\\n%s\\r\\n'"
STRANGER_OVER_HTTP = {
    "halves of headers": "flood(b'GET /v1/units HTTP/1.1\\r\\nHost: localhost\\r\\nX: ' + b'x' * 4000, 600, once=True)",
    "requests without a token": f"flood({GET % ('/v1/units', '')} * 100, 64)",
    "noise over HTTP": "flood(os.urandom(65536), 64)",
    "nothing": "flood(b'', 900)",
}

# ---- one who holds a token: AUTH

AUTHORIZED_GET = "b'GET {target} HTTP/1.1\\r\\nHost: localhost\\r\\n' + AUTH + b'\\r\\n'"
POST = ("b'POST /v1/jobs HTTP/1.1\\r\\nHost: localhost\\r\\n' + AUTH + b'Content-Type: application/x-ndjson\\r\\nContent-Length: {length}\\r\\n\\r\\n'"
        " + b'{{}}\\n' * ({length} // 3)")
TOKEN_HOLDER = {
    "lists": f"flood(({AUTHORIZED_GET.format(target='/v1/units')}) * 100, 64)",
    "streams of events": f"flood({AUTHORIZED_GET.format(target='/v1/events')}, 600, once=True)",
    "lists that nobody reads": f"flood(({AUTHORIZED_GET.format(target='/v1/units')}) * 10000, 64, once=True)",
    "bodies of 32 MiB": f"flood({POST.format(length=33000000)}, 64)",
    "halves of bodies": f"flood(({POST.format(length=1000000)})[:900000], 64, once=True)",
    "queries of all that there is": f"flood(({AUTHORIZED_GET.format(target='/v1/jobs?limit=1000')} + {AUTHORIZED_GET.format(target='/v1/nodes')}) * 50, 64)",
}

# ---- a member: its identity and what it says first are those of a host whose own argosyd is down

# Says `data` again and again, and begins anew when it is cut off. `listens`: what it is told is read.
SAY = """
import ssl, tempfile
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
with tempfile.NamedTemporaryFile() as file:
    file.write(IDENTITY)
    file.flush()
    context.load_cert_chain(file.name)
context.set_alpn_protocols(['argosy/1'])
def begin():
    s = context.wrap_socket(socket.create_connection((HOST, PORT), timeout=5))
    s.sendall(HELLO)
    s.setblocking(False)
    return s
def take(s):
    try:
        if not s.recv(262144):
            raise ConnectionResetError
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        pass
def give(s, data):
    try:
        return s.send(data)
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return 0
def say(data, first=b'', once=False, listens=True):
    while True:
        try:
            s, rest = begin(), memoryview(first + data)
            while True:
                readable, _, _ = select.select([s] if listens else [], [s] if rest else [], [], 0.1)
                if readable:
                    take(s)
                if rest:
                    rest = rest[give(s, rest[:262144]):]
                elif not once:
                    rest = memoryview(data)
        except OSError:
            time.sleep(0.02)
def to_voter(number, what):
    return frame(field(number, what))
def attach(more=b'', seq=1):
    return to_voter(ATTACH, field(ATTACH_SEQ, seq) + more)
def forward(id, number, what):
    return to_voter(FORWARD, field(1, id) + field(2, field(ID, id) + field(number, what)))
REQUESTS = b''.join(forward(i, LIST_UNITS, b'') for i in range(1, 2000))
def units(number):
    return b''.join(field(number, field(1, 3) + field(2, b'stray%d.service' % i)) for i in range(500))
REPORT, PART = units(1), units(2)
"""

MEMBER = {
    "requests": "say(REQUESTS)",
    "as many patterns of no length as fit": "say(b''.join(forward(i, LIST_UNITS, field(1, b'') * 350000) for i in range(1, 5)))",
    "more of them": "say(forward(1, LIST_UNITS, field(1, b'') * 8000000))",
    "beats": "say(b''.join(to_voter(BEAT, field(1, i)) for i in range(1, 20000)))",
    "reports": "say(to_voter(REPORTS, REPORT), first=attach())",
    "reports of nothing": "say(to_voter(REPORTS, field(1, b'') * 60000), first=attach())",
    "attaches": "say(attach())",
    "attaches with half a million labels": "say(attach(field(ATTACH_LABELS, b'') * 500000))",
    "attaches with units without end": "say(attach(field(ATTACH_HELD, b'') * 120000))",
    "parts of an attach": "say(to_voter(ATTACH_PART, field(1, 1) + PART), first=attach(field(ATTACH_PARTS, 1)))",
    "frames of 32 MiB that are none": "say(frame(b'\\xff' * 33554432))",
    "frames that are too long": "say(b'\\x7f\\xff\\xff\\xff')",
    "half a frame": "say((33554432).to_bytes(4, 'big') + bytes(33000000), once=True)",
    "requests whose answers nobody reads": "say(REQUESTS, listens=False)",
}


def fields_of(message):
    """The numbers of the fields of a message within ToVoter, or of those that ToVoter itself has."""
    with open(f"{__file__.rsplit('/tests/', 1)[0]}/proto/argosy.proto", encoding="utf-8") as proto:
        text = re.search(r"^message ToVoter \{.*?^\}", proto.read(), re.M | re.S).group()
    found = re.search(rf"message {message} \{{.*?\}}" if message else r"oneof msg \{.*?\}", text, re.S).group()
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+);", found)}


def member_numbers():
    kinds, attach = fields_of(None), fields_of("Attach")
    return "".join([*[f"{name.upper()} = {kinds[name]}\n" for name in ("attach", "attach_part", "beat", "forward", "reports")],
                    *[f"ATTACH_{name.upper()} = {attach[name]}\n" for name in ("seq", "labels", "held", "parts")]])


def of_host(node):
    """The script's lines with its key, and what it says first: its number, the cluster and the generation are in its own file."""
    state = Path(f"/proc/{node.init_pid()}/root/var/lib/argosy")
    peers = (state / "peers").read_bytes()[12:]  # behind what says that it is one, and its checksum
    return f"IDENTITY, PEERS = {(state / 'identity.pem').read_bytes()!r}, {peers!r}\n" + """
def fields(data):
    at, found = 0, {}
    def number():
        nonlocal at
        n = shift = 0
        while True:
            n |= (data[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return n
    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            at, value = at + value, data[at:at + value]
        found[key >> 3] = value
    return found
SAID = fields(PEERS)
HELLO = frame(field(1, field(1, SAID[3]) + field(2, SAID[1]) + field(3, SAID.get(2, 0)) + field(5, SAID.get(100, 0) or 1) + field(6, bytes(16))))
"""


def from_network(prefix, address, port):
    """Who runs a script there, for assert_bears()."""
    return lambda _, script: running([*prefix, "python3", "-c", numbers() + WIRE + DIAL + script, address, str(port)])


def bears_all(c, scripts, victim, attacker, beginning="", nodes=None):
    quiet = label_times(c, victim, QUIET_S)
    for what, script in chosen(scripts, ORDINARY):
        assert_bears(c, what, victim, beginning + script, quiet, attacker, nodes)
        eventually(lambda: c.ctl("list-nodes", on=victim))


def test_a_stranger(c: Cluster):
    leader, victim = c.leader(), c.followers()[0]
    bears_all(c, STRANGER_TO_MEMBERS, victim, from_network(c.bed.from_network([]), leader.address, MESH_PORT))
    bears_all(c, STRANGER_OVER_HTTP, victim, from_network(victim.from_network([]), "127.0.0.1", HTTP_PORT))


def test_one_who_holds_a_token(c: Cluster):
    victim = c.followers()[0]
    c.ctl("role set ghost")
    token = c.ctl("token create --right view --name ghost on role ghost").strip()
    bears_all(c, TOKEN_HOLDER, victim, from_network(victim.from_network([]), "127.0.0.1", HTTP_PORT), f"AUTH = b'Authorization: Bearer {token}\\r\\n'\n")
    c.ctl("token revoke ghost")


def test_a_member(c: Cluster):
    victim, taken = c.followers()[:2]
    taken.run("systemctl stop argosyd.socket argosyd")
    bears_all(c, MEMBER, victim, from_network(c.bed.from_network([]), c.leader().address, MESH_PORT), member_numbers() + of_host(taken) + SAY,
              [node for node in c.nodes if node.name != taken.name])
    taken.run("systemctl start argosyd.socket argosyd")
    c.wait_online()


if __name__ == "__main__":
    main(nodes=3, voters=1, conf=[f"Http.Listen=127.0.0.1:{HTTP_PORT}", "Http.Tls=no"])
