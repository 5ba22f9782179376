# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs say to argosyd over HTTP: root's connections to the socket of a node, from outside of it."""

import ctypes
import http.client
import json
import os
import socket
from contextlib import contextmanager
from pathlib import Path

JSON = {"Content-Type": "application/json"}


def directory(node):
    return Path(f"/proc/{node.init_pid()}/root/run/argosy")


class Connection(http.client.HTTPConnection):
    """Root's, from outside of the node."""

    def __init__(self, node):
        super().__init__("localhost", timeout=60)
        self._path = directory(node) / "http.sock"

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def ask(self, target, method="GET", body=None, headers={}):
        """(status, type, what it says)"""
        self.request(method, target, body, headers)
        answer = self.getresponse()
        text = answer.read().decode()
        kind = answer.headers["Content-Type"]
        assert answer.headers["Cache-Control"] == "no-store", target
        return answer.status, kind, json.loads(text) if "json" in kind and text else text


def ask(node, target, method="GET", body=None, headers={}):
    connection = Connection(node)
    try:
        return connection.ask(target, method, body, headers)
    finally:
        connection.close()


def exchange(node, target, headers={}):
    """(status, headers, what it says)"""
    connection = Connection(node)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, answer.headers, json.loads(text) if text else None
    finally:
        connection.close()


def get(node, target):
    status, kind, said = ask(node, target)
    assert (status, kind) == (200, "application/json"), f"{node.name} {target}: {status} {said}"
    return said


def refuses(node, target, status, saying="", method="GET", body=None, headers={}):
    seen, kind, problem = ask(node, target, method, body, headers)
    assert (seen, kind) == (status, "application/problem+json"), f"{node.name} {target}: {seen} {problem}"
    assert problem["status"] == status and saying in problem.get("detail", ""), problem
    return problem


def raw(node, text):
    """What is answered until the connection ends."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(directory(node) / "http.sock"))
        connection.sendall(text.encode())
        return b"".join(iter(lambda: connection.recv(4096), b"")).decode()


def change(node, verb, wait=None, key=None, status=None, **members):
    """POST /v1/jobs; what it says. `status`: another one than of a job that was taken, or has ended if it was waited for."""
    headers = JSON | ({"Idempotency-Key": key} if key else {})
    seen, _, said = ask(node, "/v1/jobs" + (f"?wait={wait}" if wait else ""), "POST", json.dumps({"verb": verb} | members), headers)
    assert seen == (status or (200 if wait else 202)), f"{verb}: {seen} {said}"
    return said


libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def network_of(node):
    """What is opened inside belongs to the network of the node."""
    with open("/proc/self/ns/net") as home, open(f"/proc/{node.init_pid()}/ns/net") as there:
        assert libc.setns(there.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
        try:
            yield
        finally:
            assert libc.setns(home.fileno(), 0) == 0


def dial(node, port, address="127.0.0.1"):
    with network_of(node):
        return socket.create_connection((address, port), timeout=30)


class Bearer(Connection):
    """Of a program on that node, by TCP in clear text, that shows a token."""

    def __init__(self, node, port, token):
        super().__init__(node)
        self._node, self._port, self._token = node, port, token

    def connect(self):
        self.sock = dial(self._node, self._port)

    def request(self, method, target, body=None, headers={}):
        super().request(method, target, body, headers | {"Authorization": f"Bearer {self._token}"})


class Events:
    """A stream of events as lines of JSON."""

    def __init__(self, node, query="", headers={}):
        self._connection = Connection(node)
        self._connection.request("GET", "/v1/events" + query, headers={"Accept": "application/x-ndjson"} | headers)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def next(self):
        """The next one; None: that was all."""
        while True:
            line = self._answer.readline()
            if not line.strip() and line:
                continue
            return json.loads(line) if line else None

    def close(self):
        self._connection.close()


class Stream:
    """An answer that goes on, as root has it, from outside of the node."""

    def __init__(self, node, target, **headers):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(str(directory(node) / "http.sock"))
        lines = [f"GET {target} HTTP/1.1", "Host: localhost", *[f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers = dict(line.split(": ", 1) for line in iter(lambda: self._file.readline().decode().strip(), ""))
        self._text = b""
        self.complete = False  # it came to its end, which is more than that its connection did

    def close(self):
        self._file.close()
        self._socket.close()

    def line(self):
        """None: the stream has ended."""
        while b"\n" not in self._text:
            size = self._file.readline()
            if not size.strip() or int(size, 16) == 0:
                self.complete = bool(size.strip())
                return None
            self._text += self._file.read(int(size, 16))
            self._file.readline()
        line, self._text = self._text.split(b"\n", 1)
        return line.decode()

    def all_lines(self):
        return list(iter(self.line, None))

    def lines(self):
        """Of JSON."""
        while (line := self.line()) is not None:
            if line:
                yield json.loads(line)
