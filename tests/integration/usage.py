#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What units use: `top` and `status`, for programs and on a terminal."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from lib import PATIENT, SLEEPER, Cluster, eventually, main

BURNER = "[Service]\nExecStart=/bin/sh -c 'while :; do :; done'\n"
THREE_TASKS = "[Service]\nExecStart=/bin/sh -c 'sleep infinity & sleep infinity & wait'\n"
ELSEWHERE = "[Service]\nSlice=its-own.slice\nExecStart=/bin/sleep infinity\n"
# Moves itself into a group below its own, as container managers do.
DELEGATED = """\
[Service]
Delegate=yes
ExecStart=/bin/sh -c 'g=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); mkdir $g/below; echo $$$$ >$g/below/cgroup.procs; sleep infinity & wait'
"""


def rows(c, options=""):
    """The rows of one table, by unit and node."""
    found = json.loads(c.ctl(f"top --json=short --delay=200ms {options}"))
    return {(row["unit"], row["node"]): row for row in found}


def test_what_burns_is_on_top_and_tasks_are_counted(c: Cluster):
    c.start("burner", BURNER)
    c.start("three", THREE_TASKS)
    c.start("elsewhere", ELSEWHERE)
    c.start("below", DELEGATED)
    c.start("memory", SLEEPER)  # the kernel has files that begin with this
    c.start("sleeper@{1..4}", SLEEPER)
    tasks = {"three.service": 3, "below.service": 2, "memory.service": 1, "elsewhere.service": 1}
    # Those that are not where they should be are found by looking, and a service is started before it has done anything.
    eventually(lambda: tasks.items() <= {unit: row["tasks"] for (unit, _), row in rows(c).items()}.items())
    found = json.loads(c.ctl("top --json=short --delay=500ms"))
    assert found[0]["unit"] == "burner.service" and found[0]["cpu"] > 1, found
    assert {row["node"] for row in found} == {"n1", "n2"}, found
    assert len(found) == 9, found
    for row in found:
        assert c.where(row["unit"].removesuffix(".service")).name == row["node"]
        # Where a controller is missing nothing is invented.
        assert row["memory"] is None or row["memory"] > 0
    assert set(rows(c, "sleeper@* --node n1")) == {key for key in rows(c, "sleeper@*") if key[1] == "n1"}
    assert {unit for unit, _ in rows(c, "sleeper@* --order path")} == {f"sleeper@{n}.service" for n in range(1, 5)}
    local = rows(c, "--local")
    assert local and {node for _, node in local} == {c.running_nodes[0].name}
    c.ctl_fails("top --node n9", saying="no such node")

    shown = c.ctl("status three")
    assert "Tasks: 3" in shown and "CPU: " in shown, shown
    c.ctl("stop burner")
    assert not rows(c, "burner")


def test_it_goes_on_over_restarts_of_units_and_daemons(c: Cluster):
    c.start("burner", BURNER)
    c.start("sleeper@{1..4}", SLEEPER)
    other = next(node for node in c.nodes if node.name != c.where("burner").name)
    watching = c.begin("top --batch --json=short --delay=200ms --iterations=1000 --fields unit,node,cpu-time")

    def table():
        return {(row["unit"], row["node"]): row["cpu-time"] for row in json.loads(watching.line())}

    burner = ("burner.service", c.where("burner").name)
    first = eventually(lambda: table()[burner])
    before = max(first, 1000000)
    eventually(lambda: table()[burner] > before)
    c.ctl("restart burner")
    eventually(lambda: 0 < table()[burner] < before, what="the new run's own counter")
    other.run("systemctl stop argosyd.socket argosyd.service")
    eventually(lambda: {node for _, node in table()} == {burner[1]}, what="no rows of a node that does not answer")
    other.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: len({node for _, node in table()}) == 2, what="the node's rows are back")
    watching.kill()


def test_without_a_leader_the_own_host_shows_what_it_knows(c: Cluster):
    leader, other = c.leader(), c.followers()[0]
    c.start("sleeper@{1..4}", SLEEPER)
    watching = c.begin("top --batch --json=short --delay=200ms --iterations=1000 --fields unit,node", on=other)

    def nodes():
        return {row["node"] for row in json.loads(watching.line())}

    eventually(lambda: nodes() == {leader.name, other.name})
    leader.run("systemctl stop argosyd.socket argosyd.service")
    eventually(lambda: nodes() == {other.name})
    shown = c.ctl_result("top --json=short --delay=200ms", on=other)
    assert shown.status == 0 and "only this host's units" in shown.err, shown
    assert {row["node"] for row in json.loads(shown.out)} == {other.name}
    leader.run("systemctl start argosyd.socket argosyd.service")
    eventually(lambda: nodes() == {leader.name, other.name}, what="all nodes again")
    watching.kill()


class Terminal:
    """argosyctl on a terminal of its own."""

    def __init__(self, node, command, rows=20, columns=100):
        self._master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self._master)
        self._process = subprocess.Popen(node.command(["env", "TERM=xterm", "argosyctl", *command.split()]), stdin=slave, stdout=slave,
                                         stderr=slave, start_new_session=True,
                                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self._master, keys.encode())

    def shows(self, text, within=45):
        """Waits for this to be drawn from now on; what came with it."""
        seen, deadline = "", time.monotonic() + within
        while text not in seen:
            assert time.monotonic() < deadline, f"the terminal does not show {text!r}: {seen[-2000:]!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                seen += os.read(self._master, 65536).decode(errors="replace")
        return seen

    def end(self, within=45):
        """Its exit status, when all that it has drawn was read."""
        deadline, drawn = time.monotonic() + within, b""
        while select.select([self._master], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                drawn += os.read(self._master, 65536)
            except OSError:  # nobody has the other end open any more
                break
        self.seen += drawn.decode(errors="replace")
        return self._process.wait(max(0, deadline - time.monotonic()))

    def settings(self):
        return termios.tcgetattr(self._master)

    def close(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._master)


def test_a_terminal_is_drawn_over_and_given_back(c: Cluster):
    c.start("burner", BURNER)
    c.start("sleeper@{1..4}", SLEEPER)
    term = Terminal(c.nodes[0], "top --delay=200ms")
    try:
        first = term.shows("5 units on 2 nodes, by cpu, every 0.2 s")
        assert first.startswith("\x1b[?1049h"), first
        term.shows("burner.service")
        assert term.settings()[3] & termios.ICANON == 0
        term.type("p")
        term.shows("by path")
        term.type("r")
        term.shows("by path (reversed)")
        term.type("+")
        term.shows("every 0.3 s")
        term.resize(3, 100)
        term.type("rc")
        drawn = term.shows("by cpu, every") + term.shows("\x1b[J")
        [whole] = [each for each in drawn.split("\x1b[H") if "by cpu, every" in each][:1]
        assert whole.count("\r\n") == 2, whole  # as many lines as there is room for
        # Ctrl-Z: the terminal is given back and taken again. (Nobody could continue this process: it does not stay stopped.)
        term.type("\x1a")
        assert "\x1b[?1049l" in term.shows("\x1b[?1049h")
        term.shows("burner.service")
        term.type("q")
        assert term.end() == 0
        assert term.seen.endswith("\x1b[?25h\x1b[?1049l"), term.seen[-200:]
        assert term.settings() == term.before
    finally:
        term.close()

    term = Terminal(c.nodes[0], "top")
    try:
        term.shows("burner.service")
        c.nodes[0].run("systemctl restart argosyd")
        term.shows("burner.service")
        term.type("\x03")  # which also kills the program that runs argosyctl inside of the node
        term.shows("\x1b[?25h\x1b[?1049l")
        eventually(lambda: term.settings() == term.before)
    finally:
        term.close()


main(nodes=2, conf=PATIENT)
