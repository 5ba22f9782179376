# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a node's systemd says, asked over the node's own bus from outside of the node.

    units(pid, ["active", "activating"], "web@*.service")       [Unit, ...], as `systemctl list-units`
    invocation(pid, unit)                                       as `systemctl show --property=InvocationID`
    call(pid, MANAGER, "ResetFailed")                           as `systemctl reset-failed`

pid: the node's PID 1, as seen from here. systemctl says the same; but it costs more than ten times as much, a third of that in
PID 1, which makes all its interfaces known to every connection of its private socket: a scenario asks a hundred times.
Each question is a connection of its own, since nodes come and go. No signal comes on it, and systemd does not know of it.
NoBus where nobody hands the question on, as from the beginning of a shutdown, also of one that is cancelled: then there is systemctl.

Only as much of D-Bus as this takes: arguments are texts and lists of texts; an answer may be anything but a file descriptor.
"""

import os
import socket
import struct
from dataclasses import dataclass

from .host import Failure

TIMEOUT_S = 60

SYSTEMD = "org.freedesktop.systemd1"
MANAGER = ("/org/freedesktop/systemd1", f"{SYSTEMD}.Manager")
DRIVER = ("/org/freedesktop/DBus", "org.freedesktop.DBus")

# Types and header fields of messages, in D-Bus's numbers.
METHOD_CALL, METHOD_RETURN, ERROR = 1, 2, 3
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = 1, 2, 3, 5, 6, 7, 8
FIXED = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}
ALIGNMENT = {"y": 1, "g": 1, "v": 1, "n": 2, "q": 2, "x": 8, "t": 8, "d": 8, "(": 8, "{": 8}  # of others: 4

HEADER = struct.Struct("<4BIII")  # byte order, type, flags, version, bytes of the body, serial, bytes of the fields


class NoBus(Failure):
    """The node's systemd is not on a bus."""


@dataclass
class Unit:
    name: str
    active: str
    path: str


def units(pid, states, pattern):
    """Those that systemd has in memory, in these states (or in any, if there are none), whose name matches."""
    [rows] = call(pid, MANAGER, "ListUnitsByPatterns", states, [pattern])
    return [Unit(row[0], row[3], row[6]) for row in rows]


def invocation(pid, unit):
    """The id of the unit's current or last run; "" if it had none."""
    [(_, value)] = call(pid, (unit.path, "org.freedesktop.DBus.Properties"), "Get", f"{SYSTEMD}.Unit", "InvocationID")
    return bytes(value).hex()


def call(pid, target, method, *arguments):
    """The answer's values. target: object and interface, of systemd. Failure if it is an error, or does not come."""
    try:
        with socket.socket(socket.AF_UNIX) as bus:
            bus.settimeout(TIMEOUT_S)
            bus.connect(f"/proc/{pid}/root/run/dbus/system_bus_socket")
            stream = bus.makefile("rb")
            bus.sendall(b"\0AUTH EXTERNAL %s\r\nBEGIN\r\n" % str(os.geteuid()).encode().hex().encode()
                        + _message(1, DRIVER[1], DRIVER, "Hello", []) + _message(2, SYSTEMD, target, method, arguments))
            if not stream.readline().startswith(b"OK "):
                raise NoBus("the node's bus has closed the connection")
            return _answer(stream, 2, method)
    except TimeoutError:
        raise Failure(f"{method}: no answer within {TIMEOUT_S} s") from None
    except OSError as error:
        raise NoBus(f"the node's bus: {error}") from None


def _answer(stream, serial, method):
    while True:
        head = stream.read(HEADER.size)
        if len(head) < HEADER.size:
            raise NoBus("the node's bus has closed the connection")
        order, kind, _, _, body_bytes, _, fields_bytes = HEADER.unpack(head)
        assert order == ord("l"), "dbus-daemon hands on what systemd says in the byte order of the machine"
        rest = stream.read(-fields_bytes % 8 + fields_bytes + body_bytes)
        [fields], _ = _values(head[-4:] + rest, "a(yv)", 0, base=HEADER.size - 4)
        fields = dict(fields)
        if kind not in (METHOD_RETURN, ERROR) or fields[REPLY_SERIAL][1] != serial:
            continue
        values, _ = _values(rest[len(rest) - body_bytes:], fields.get(SIGNATURE, ("g", ""))[1], 0)
        if kind == ERROR:
            raise (NoBus if fields[SENDER][1] == DRIVER[1] else Failure)(f"{method}: {' '.join(map(str, values))}")
        return values


def _message(serial, destination, target, method, arguments):
    path, interface = target
    signature = "".join("s" if isinstance(argument, str) else "as" for argument in arguments)
    body = b""
    for argument in arguments:
        body = _pad(body, 4) + (_text(argument) if isinstance(argument, str) else _texts(argument))
    fields = b""
    for number, kind, value in [(PATH, b"o", path), (INTERFACE, b"s", interface), (MEMBER, b"s", method), (DESTINATION, b"s", destination)]:
        fields = _pad(fields, 8) + bytes([number, 1]) + kind + b"\0" + _text(value)
    if signature:
        fields = _pad(fields, 8) + bytes([SIGNATURE, 1]) + b"g\0" + bytes([len(signature)]) + signature.encode() + b"\0"
    return HEADER.pack(ord("l"), METHOD_CALL, 0, 1, len(body), serial, len(fields)) + _pad(fields, 8) + body


def _text(text):
    return struct.pack("<I", len(text.encode())) + text.encode() + b"\0"


def _texts(texts):
    packed = b""
    for text in texts:
        packed = _pad(packed, 4) + _text(text)
    return struct.pack("<I", len(packed)) + packed


def _pad(data, alignment):
    return data + bytes(-len(data) % alignment)


def _values(data, signature, at, base=0):
    """The values of the types of that signature, and where the next begins. base: where in the message the data begins."""
    values = []
    while signature:
        kind, signature = _first_type(signature)
        value, at = _value(data, kind, at, base)
        values.append(value)
    return values, at


def _first_type(signature):
    """One complete type, and what follows."""
    end = 0
    while signature[end] == "a":
        end += 1
    if signature[end] in "({":
        depth = 0
        while True:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[end], 0)
            if depth == 0:
                break
            end += 1
    return signature[:end + 1], signature[end + 1:]


def _value(data, kind, at, base):
    at = _aligned(at, kind[0], base)
    if kind in FIXED:
        [value] = struct.unpack_from("<" + FIXED[kind], data, at)
        return value, at + struct.calcsize(FIXED[kind])
    if kind in ("s", "o", "g"):
        [length] = struct.unpack_from("<B" if kind == "g" else "<I", data, at)
        at += 1 if kind == "g" else 4
        return data[at:at + length].decode(), at + length + 1
    if kind == "v":
        signature, at = _value(data, "g", at, base)
        value, at = _value(data, signature, at, base)
        return (signature, value), at
    if kind[0] in "({":
        values, at = _values(data, kind[1:-1], at, base)
        return tuple(values), at
    [length] = struct.unpack_from("<I", data, at)
    at = _aligned(at + 4, kind[1], base)
    values, end = [], at + length
    while at < end:
        value, at = _value(data, kind[1:], at, base)
        values.append(value)
    return values, at


def _aligned(at, kind, base):
    return at + -(at + base) % ALIGNMENT.get(kind, 4)
