#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Garbage, half-open connections and oversized frames, on the TLS port and on the local socket: who sends them loses the
connection, and nothing else happens."""

import contextlib
import subprocess

from lib import Cluster, eventually, main, sanitized

PORT = 7867

# Opens COUNT connections to an address, sends each of them what it gets on standard input, and says how many were closed by the
# other side within SECONDS. An address with a slash is a local socket.
CLIENT = """
import select, socket, sys, time
address, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
data = sys.stdin.buffer.read()
def dial():
    if "/" in address:
        s = socket.socket(socket.AF_UNIX)
        s.connect(address)
    else:
        s = socket.create_connection((address, %d), timeout=60)
    try:
        s.sendall(data)
    except OSError:
        pass
    s.setblocking(False)
    return s
open_ones, closed = [dial() for _ in range(count)], 0
print("open", flush=True)
deadline = time.monotonic() + seconds
while open_ones and time.monotonic() < deadline:
    for s in select.select(open_ones, [], [], 0.1)[0]:
        try:
            if s.recv(65536):
                continue
        except OSError:
            pass
        open_ones.remove(s)
        closed += 1
print(closed)
""" % PORT


@contextlib.contextmanager
def intruder(argv, data, count, address, seconds):
    with subprocess.Popen([*argv, "python3", "-c", CLIENT, address, str(count), str(seconds)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as client:
        client.stdin.write(data)
        client.stdin.close()
        assert client.stdout.readline() == b"open\n"
        yield client
        client.kill()


def local_socket(node):
    return f"/proc/{node.init_pid()}/root/run/argosy/argosy.sock"


def closed(client):
    return int(client.stdout.readline())


def frame(length, payload=b""):
    return length.to_bytes(4, "big") + payload


GARBAGE = {
    "text": b"GET / HTTP/1.1\r\nHost: n1\r\n\r\n",
    "zeros": bytes(4096),
    "noise": frame(256, bytes(range(256))) * 16,
    "a TLS record that is too long": b"\x16\x03\x01\xff\xff" + bytes(70000),
    "a frame that is too long": frame(0xffffffff),
}


def assert_well(c, pids):
    assert {node.name: node.argosyd_pid() for node in c.nodes} == pids, "argosyd did not survive it"
    c.wait_online()
    c.start("well")
    c.ctl("destroy well")


def pids(c):
    return {node.name: node.argosyd_pid() for node in c.nodes}


def test_garbage_on_the_port_costs_the_connection_only(c: Cluster):
    before = pids(c)
    for what, data in GARBAGE.items():
        with intruder(c.bed.from_network([]), data, 20, "10.77.0.1", 60) as client:
            assert closed(client) == 20, f"connections that sent {what} are still open"
    assert_well(c, before)


def test_half_open_connections_do_not_keep_others_out(c: Cluster):
    before = pids(c)
    with intruder(c.bed.from_network([]), b"", 900, "10.77.0.1", 60), \
            intruder(c.bed.from_network([]), b"\x16\x03\x01\x02\x00\x01", 300, "10.77.0.2", 60):
        c.start("meanwhile")
        c.node("n3").run("systemctl restart argosyd")
        eventually(lambda: c.reaches_the_leader("n3"), what="a member gets in beside a thousand idle strangers")
        c.wait_online()
    del before["n3"]
    eventually(lambda: before.items() <= pids(c).items())
    assert_well(c, pids(c))


def test_garbage_on_the_local_socket(c: Cluster):
    before = pids(c)
    n1 = c.node("n1")
    for what, data in GARBAGE.items():
        if what == "zeros":
            continue  # empty frames
        with intruder([], data, 5, local_socket(n1), 60) as client:
            assert closed(client) == 5, f"connections that sent {what} are still open"
    with intruder([], frame(100, b"half"), 200, local_socket(n1), 60):
        c.start("meanwhile", on=n1)
    assert_well(c, before)


def test_idle_clients_do_not_keep_others_out(c: Cluster):
    n1 = c.node("n1")
    with intruder([], b"", 900, local_socket(n1), 60), intruder([], b"", 300, local_socket(n1), 60):
        for _ in range(3):
            c.ctl("list-nodes", on=n1)
        c.start("meanwhile", on=n1)


def private_kib(node):
    """What argosyd has for itself."""
    with open(f"/proc/{node.argosyd_pid_outside()}/smaps_rollup", encoding="utf-8") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Private_Dirty"))


def test_memory_of_half_open_connections_is_given_back(c: Cluster):
    n1 = c.node("n1")
    n1.run("systemctl restart argosyd")  # what others have cost it, and it has not given back yet, would do for these
    c.wait_online()
    before = private_kib(n1)
    with intruder(c.bed.from_network([]), b"\x16\x03\x01\x02\x00\x01", 900, "10.77.0.1", 60) as client:
        most = eventually(lambda: private_kib(n1) > before + 4096 and private_kib(n1), what="they cost something")
        assert closed(client) == 900
    if not sanitized():
        eventually(lambda: private_kib(n1) < before + (most - before) / 4, what=f"less than a quarter of {most} - {before} KiB stays")


def test_only_root_and_its_group_may_use_the_socket(c: Cluster):
    n1 = c.node("n1")
    said = n1.exec(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "argosyctl", "list-nodes"])
    assert said.status == 1 and "ermission denied" in said.err, said
    group = n1.run("getent group argosy").split(":")[2]
    said = n1.exec(["setpriv", "--reuid=65534", f"--regid={group}", "--clear-groups", "argosyctl", "list-nodes"])
    assert said.status == 0, said


main(nodes=3)
