# SPDX-License-Identifier: LGPL-2.1-or-later
"""A cluster of one real argosyd and any number of virtual hosts (virtual-hosts.c), all on this machine.

The argosyd is a user's, in a directory of its own, beside no systemd: it leads and keeps the log, and runs nothing. What runs is
played by the virtual hosts, another process. Since its own host never says what it holds, what waits for the word of all hosts
(destroy) has to be asked for with --no-block.

    with VirtualCluster(hosts=50) as c:
        c.ctl("start load@{1..1000}")
        assert c.stats()["active"] == 1000
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ARGOSY_BUILD") or SOURCE / "build")

LEADER = "leader"
TEMPLATE = "[Service]\nExecStart=/bin/sleep infinity\n"
PATIENCE_S = 60
POLL_S = 0.02
COUNTERS = re.compile(r"Counters: (.*)")


class Failure(Exception):
    """What was expected did not come true, or a program failed; with its words."""


def wait_for(condition, what, within=PATIENCE_S):
    """Waits until the condition holds, and returns its value; a program that fails has not said yes."""
    deadline = time.monotonic() + within
    while True:
        try:
            seen = condition()
            if seen:
                return seen
        except Failure as reason:
            seen = reason
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {within} s (last seen: {seen})")
        time.sleep(POLL_S)


class VirtualCluster:
    def __init__(self, hosts, options=(), conf=(), patience_s=PATIENCE_S):
        """options: of virtual-hosts; conf: lines of argosy.conf, as "Section.Key=Value"; patience_s: for all to be welcomed."""
        self.n_hosts, self._options, self._conf, self._patience_s = hosts, list(options), list(conf), patience_s
        self.argosyd = self.virtual = self._dir = None

    def __enter__(self):
        self._dir = Path(tempfile.mkdtemp(prefix="argosy-virtual-"))
        try:
            self._start_argosyd()
            self._start_virtual_hosts()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind, value, traceback):
        status = self._end()
        if kind is None and any(status):
            raise Failure(f"argosyd ended with {status[0]}, virtual-hosts with {status[1]}")

    # ---- beginning and end

    def _environment(self):
        where = {"XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "HOME": "."}
        return os.environ | {name: str(self._dir / path) for name, path in where.items()} | {
            "XDG_CONFIG_DIRS": str(self._dir / "none"), "ARGOSY_SOCKET": str(self.socket)}

    @property
    def socket(self):
        return self._dir / "run/argosy/argosy.sock"

    def _write_configuration(self):
        sections = {"Node": [f"Name={LEADER}", "Address=127.0.0.1"], "Cluster": ["Voters=1"]}
        for line in self._conf:
            section, setting = line.split(".", 1)
            sections.setdefault(section, []).append(setting)
        path = self._dir / "config/argosy/argosy.conf"
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items()))

    def _start_argosyd(self):
        self._write_configuration()
        (self._dir / "run/systemd/user").mkdir(parents=True)
        (self._dir / "run").chmod(0o700)
        self.log = open(self._dir / "argosyd.log", "w+")
        self.argosyd = subprocess.Popen([BUILD / "src/daemon/argosyd", "--user"], env=self._environment(), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        wait_for(lambda: self._lives(self.argosyd) and self.leads(), "a leader")
        self.ctl(f"cordon {LEADER}")

    def _start_virtual_hosts(self):
        self.virtual = subprocess.Popen([BUILD / "tests/sim/virtual-hosts", "--user", f"--hosts={self.n_hosts}", *self._options, self.socket],
                                        text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self._event("ready")

    def _lives(self, process):
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}:\n{self.words()}")
        return True

    def words(self):
        """The last of what both have said."""
        self.log.flush()
        return "".join(Path(self.log.name).read_text().splitlines(keepends=True)[-40:])

    def _end(self):
        """The exit statuses of both."""
        status = []
        if self.virtual:
            self.virtual.stdin.close()  # they leave
            status.append(self._ended(self.virtual))
            self.virtual.stdout.close()
        if self.argosyd:
            self.argosyd.send_signal(signal.SIGTERM)
            status.insert(0, self._ended(self.argosyd))
        self.log.close()
        if not any(status) or "ARGOSY_KEEP" not in os.environ:
            shutil.rmtree(self._dir)
        return status

    @staticmethod
    def _ended(process):
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    # ---- the command line

    def ctl(self, command, timeout=PATIENCE_S, also=()):
        return self.ctl_words(command.split(), timeout, also)

    def ctl_words(self, words, timeout=PATIENCE_S, also=()):
        """What argosyctl prints; it has to succeed, or to exit with one of `also`."""
        done = subprocess.run([BUILD / "src/ctl/argosyctl", *words], env=self._environment(), text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout)
        if done.returncode not in (0, *also):
            raise Failure(f"argosyctl {' '.join(words[:3])}: exit status {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def json(self, command):
        return json.loads(self.ctl(f"{command} --json=short"))

    def write(self, name, content):
        """A file in the folder from which units are submitted."""
        (self._dir / name).write_bytes(content)

    def submit(self, name, text=TEMPLATE):
        self.write(name, text.encode())
        self.ctl_words(["submit", "--replace", str(self._dir / name)])

    def leads(self):
        return self.json("cluster status")["leader"]

    def nodes(self):
        """The state of each, by name."""
        return {row["node"]: row["state"] for row in self.json("list-nodes")}

    def units(self, pattern="*"):
        """[(unit, node, active)]"""
        return [(row["unit"], row["node"], row["active"]) for row in json.loads(self.ctl_words(["list-units", "--json=short", pattern]))]

    def counters(self):
        """As argosyctl shows them; begins to measure turns anew."""
        found = self.json("counters")
        before = len(COUNTERS.findall(Path(self.log.name).read_text()))
        self.argosyd.send_signal(signal.SIGUSR1)
        wait_for(lambda: len(COUNTERS.findall(Path(self.log.name).read_text())) > before, "the line of counters")
        return found

    # ---- the virtual hosts

    def tell(self, command):
        """lose N, return N, leave N"""
        self.virtual.stdin.write(f"{command}\n")

    def stats(self):
        self.tell("stats")
        return self._event("stats")

    def _event(self, name):
        ready, _, _ = select.select([self.virtual.stdout], [], [], self._patience_s)
        line = self.virtual.stdout.readline() if ready else ""
        if not line:
            raise Failure(f"virtual-hosts: no '{name}' ({'it ended' if ready else f'not within {self._patience_s} s'})\n{self.words()}")
        event = json.loads(line)
        if event["event"] != name:
            raise Failure(f"virtual-hosts: '{name}' expected, not {line}")
        return event
