#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Attackers who may deploy (see attacks.py): a local user at the socket of his host, and one who holds such a token, over HTTP.

Whoever may deploy runs programs as root, so what such a user starts is not judged here: units of these attacks fit nowhere, or are never started.
What he asks for is to cost the daemons no more than what others ask, and root's requests come through all the same.

In an ordinary check those run that cost most; with --long all of them."""

import re
from importlib import import_module

from access import make_users, open_everywhere
from attacks import QUIET_S, assert_bears, chosen, label_times, user_of
from lib import Cluster, eventually, main

HTTP_PORT = 8080

# What an ordinary check runs.
ORDINARY = {"submits of one unit each", "plans of 2,000 units", "200 files that are others", "halves of long frames", "lines over HTTP",
            "submits of one unit each over HTTP"}

# Sends what `make` makes on each of `count` connections, one thing after the other, and reads what comes, unless nobody is to.
POUR = """
def pour(make, count=64, reads=True):
    rest = {}
    while True:
        while len(rest) < count:
            try:
                rest[dial()] = memoryview(make())
            except OSError:
                time.sleep(0.01)
                break
        readable, writable, _ = select.select(list(rest) if reads else [], list(rest), [], 0.05)
        for s in set(readable) | set(writable):
            try:
                if s in readable and not s.recv(262144):
                    raise OSError
                if s in writable:
                    rest[s] = rest[s][s.send(rest[s][:1048576]):] or memoryview(make())
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                del rest[s]
made = 0
def fresh(count):
    global made
    made += count
    return range(made - count, made)
SLEEPER = b'[Service]\\nExecStart=/bin/sleep infinity\\n'
WIDE = SLEEPER + b'[X-Argosy]\\nReserveCPU=1\\n'  # a few take all that there is, and the others wait
"""

# In the words of the local socket.
CHANGES = """
SUBMIT, START, DESTROY = 1, 3, 7
def file(name, content, parts=()):
    return field(4, field(1, name) + field(2, content) + b''.join(field(600, part) for part in parts))
def change(verb, names, files=b'', more=b''):
    return request(CHANGE, field(1, os.urandom(16)) + field(2, verb) + b''.join(field(3, name) for name in names) + files + more)
REPLACE, PLAN = field(5, 1), field(6, 1)
def submit(count, content=SLEEPER):
    names = [b'a%d.service' % i for i in fresh(count)]
    return change(SUBMIT, names, b''.join(file(name, content) for name in names))
# The last line is refused, when all before it has been read.
def with_drop_ins(name, count):
    drop_ins = [b'\\n# %s.d/%04d.conf\\n[Service]\\nEnvironment=A%d=%s\\n' % (name, i, i, os.urandom(200).hex().encode()) for i in range(count)]
    return file(name, SLEEPER + b''.join(drop_ins) + b'[X-Argosy]\\nPriority=none\\n')
# None of them is the one that it is to be: all are hashed, and nothing of them stays.
def with_files(name, count):
    parts = {b'f/%03d' % i: os.urandom(700 * 1024 // count) for i in range(count)}
    listed = b''.join(b'# 0444 %d %s %s\\n' % (len(part), hashlib.sha256(part + path).hexdigest().encode(), path) for path, part in parts.items())
    manifest = (b'\\n# %s.d/~argosy.conf\\n[Service]\\nEnvironment=ARGOSY_FILES=/run/argosy/units/%%n\\n'
                b'\\n# mode, bytes, SHA-256 and name of each file\\n' % name)
    return file(name, SLEEPER + b'[X-Argosy]\\nFile=f\\n' + manifest + listed, parts.values())
def one(make, *more):
    [i] = fresh(1)
    name = b'a%d.service' % i
    return change(SUBMIT, [name], make(name, *more))
def instances(count):
    return [b'plan@%d.service' % i for i in fresh(count)]
"""

LOCAL = {
    "submits of one unit each": "pour(lambda: submit(1))",
    "submits of 2,000 units": "pour(lambda: submit(2000), 8)",
    "submits of other content": "pour(lambda: change(SUBMIT, [b'a%d.service' % (n % 50) for n in fresh(1)],"
                                " file(b'a%d.service' % ((made - 1) % 50), SLEEPER + b'# %d\\n' % made), REPLACE))",
    "120 drop-ins that are refused": "pour(lambda: one(with_drop_ins, 120), 32)",
    "200 files that are others": "pour(lambda: one(with_files, 200), 8)",
    "plans of 2,000 units": "pour(lambda: change(START, instances(2000), file(b'plan@.service', SLEEPER), PLAN))",
    "plans that nobody reads": "pour(lambda: change(START, instances(2000), file(b'plan@.service', SLEEPER), PLAN), reads=False)",
    "plans of few units": "pour(lambda: change(START, instances(200), file(b'plan@.service', SLEEPER), PLAN))",
    "plans between submits": "pour(lambda: submit(1) + change(START, instances(2000), file(b'plan@.service', SLEEPER), PLAN))",
    "starts of what has to wait for a node": "pour(lambda: change(START, instances(500), file(b'plan@.service', WIDE)), 16)",
    "starts of what there is not": "pour(lambda: change(START, instances(20000)), 8)",
    "lists of names of 1 MiB": "pour(lambda: change(START, [b'%d' % i for i in range(130000)]), 8)",
    "a name of 1 MiB": "pour(lambda: change(START, [b'n' * 1000000]))",
    "destroys of everything": "pour(lambda: submit(100) + change(DESTROY, [b'a%d.service' % i for i in range(max(made - 100, 0), made)]))",
    "files of 256 KiB": "pour(lambda: submit(1, SLEEPER + b'#' * 200000 + b'\\n'))",
    "files that are none": "pour(lambda: submit(1, b'[' * 250000))",
    "files of many options": "pour(lambda: submit(1, b'[X-Argosy]\\n' + b'Conflicts=b*\\n' * 15000))",
    "halves of long frames": "flood((33554432).to_bytes(4, 'big') + bytes(33000000), 64, once=True)",
    "frames of 32 MiB that are none": "flood(frame(b'\\xff' * 33554432), 64)",
    "verifies of 1 MiB": "pour(lambda: request(VERIFY, b''.join(field(1, field(1, b'v%d.service' % i) + field(2, SLEEPER + b'#' * 20000 + b'\\n')) for i in range(50))))",
    "submits that nobody waits for": "pour(lambda: submit(100), reads=False)",
}

# Over HTTP, with a token: AUTH.
BODIES = """
import json
def post(body, kind='json', target='/v1/jobs'):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (b'POST %s HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/%s\\r\\nContent-Length: %d\\r\\n' % (target.encode(), kind.encode(), len(body))
            + AUTH + b'\\r\\n' + body)
TEXT = SLEEPER.decode()
def submitted(count):
    return {'verb': 'submit', 'files': {f'h{i}.service': TEXT for i in fresh(count)}}
def planned(count):
    return {'verb': 'start', 'plan': True, 'units': [f'plan@{i}.service' for i in fresh(count)], 'files': {'plan@.service': TEXT}}
"""

HTTP = {
    "submits of one unit each over HTTP": "pour(lambda: post(submitted(1)))",
    "submits of 1,000 units over HTTP": "pour(lambda: post(submitted(1000)), 8)",
    "lines over HTTP": "pour(lambda: post(b''.join(json.dumps(submitted(1)).encode() + b'\\n' for _ in range(5000)), 'x-ndjson'), 4)",
    "plans over HTTP": "pour(lambda: post(planned(2000), target='/v1/plan'))",
    "plans over HTTP that nobody reads": "pour(lambda: post(planned(2000), target='/v1/plan'), reads=False)",
    "lists of names over HTTP": "pour(lambda: post({'verb': 'start', 'units': [str(i) for i in range(130000)]}), 8)",
    "halves of bodies over HTTP": "flood(post(bytes(33000000))[:30000000], 64, once=True)",
    "bodies of 32 MiB over HTTP": "flood(post(bytes(33000000)), 64)",
    "deep bodies over HTTP": "flood(post(b'[' * 1000000), 64)",
}


def numbers():
    """Of the fields of Request that these scripts use."""
    with open(f"{__file__.rsplit('/tests/', 1)[0]}/proto/argosy.proto", encoding="utf-8") as proto:
        text = re.search(r"^message Request \{.*?^\}", proto.read(), re.M | re.S).group()
    found = {name: int(number) for name, number in re.findall(r"^ +\w+ (\w+) = (\d+);", text, re.M)}
    return f"CHANGE = {found['change']}\nVERIFY = {found['verify']}\n"


def destroy_all(c, victim):
    """A command may mean 100,000 units at most, and some attacks make more: a tenth at a time, whether it has any, then the rest."""
    for digit in range(10):
        victim.exec(["argosyctl", "destroy", f"*{digit}.service"])
    if c.known():
        c.ctl("destroy '*'", on=victim)


def bears_all(c, scripts, victim, attacker, beginning):
    quiet = label_times(c, victim, QUIET_S)
    for what, script in chosen(scripts, ORDINARY):
        assert_bears(c, what, victim, beginning + script, quiet, attacker)
        eventually(lambda: c.ctl("list-nodes", on=victim))
        assert c.known() or not what.startswith("submits"), f"{what}: nothing came of it"
        destroy_all(c, victim)


def test_a_local_user_who_may_deploy(c: Cluster):
    make_users(c)
    c.ctl("access grant deploy to user:ann")
    open_everywhere(c)
    bears_all(c, LOCAL, c.followers()[0], user_of, numbers() + POUR + CHANGES)


def from_network(prefix, address, port):
    return import_module("network-attackers").from_network(prefix, address, port)


def test_one_who_holds_a_token_to_deploy(c: Cluster):
    victim = c.followers()[0]
    token = c.ctl("token create --right deploy --name deployer").strip()
    bears_all(c, HTTP, victim, from_network(victim.from_network([]), "127.0.0.1", HTTP_PORT),
              f"AUTH = b'Authorization: Bearer {token}\\r\\n'\n" + POUR + BODIES)
    c.ctl("token revoke deployer")


if __name__ == "__main__":
    main(nodes=3, voters=1, conf=[f"Http.Listen=127.0.0.1:{HTTP_PORT}", "Http.Tls=no"])
