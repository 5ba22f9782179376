# SPDX-License-Identifier: LGPL-2.1-or-later
"""One node: a booted systemd with argosyd installed in it.

    n1 = bed.node("n1")
    n1.run("systemctl is-active argosyd")       output; Failure unless it exits with 0
    n1.exec(["argosyctl", "list-units"])        Result(status, out, err)
    n1.kill(lose_unsynced=True); n1.boot()      power cut, power on with the same disk

The node's root is an overlay: root file system, build, and on top what the node itself writes. The top lives in the keeper
and survives kill and boot, as a disk does, but only /var/lib/argosy is on a real block device (disk.py).
All processes of a node are in one control group, so that a power cut is a single write to its cgroup.kill.
"""

import contextlib
import errno
import hashlib
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from . import bus, containers, host, namespaces, network
from .disk import Disk
from .host import Failure
from .keeper import WORK, cgroup_dir, state_dir

BOOT_TIMEOUT_S = 60
STOP_TIMEOUT_S = 90

NOTHING_MATCHES = 1  # journalctl's exit status when --grep finds nothing; for an error it also says what is wrong

CONTAINER_ENVIRONMENT = {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}  # at each boot, before the first unit

NO_PROGRAM = 127  # the exit status for it, in shells and elsewhere

# A command that needs no shell: plain words, and text in single quotes.
NO_SHELL = re.compile(r"[\w./](?:[\w@%+=:,./ -]|'[^']*')*")
BUILTINS = {"cd", "command", "echo", "eval", "exec", "exit", "export", "kill", "printf", "pwd", "read", "set", "test", "trap", "type", "ulimit", "umask", "wait"}

HOME = "/root"  # of root in a node
CLEAN_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "HOME": HOME, "LANG": "C.UTF-8"}
PASSED_ON = ["TERM", "NO_COLOR", "COLUMNS", "LINES"]


@dataclass
class Result:
    status: int
    out: str
    err: str


class Node:
    def __init__(self, bed_name, keeper, number, containers=False):
        self.number, self.name, self.address = number, f"n{number}", network.address(number)
        self.state = state_dir(bed_name) / self.name
        self._bed_name, self._keeper, self._containers = bed_name, keeper, containers
        self._cgroup = cgroup_dir(bed_name) / self.name
        self._disk = Disk(keeper, self.state / "disk.img", self.name)
        self.machine_id = hashlib.md5(f"argosy-testbed {bed_name} {self.name}".encode()).hexdigest()
        self.journal_dir = journal_dir(bed_name) / self.machine_id
        self._network_trouble = self.state / "network-trouble"  # is there from before the first of it until all of it is healed

    def __eq__(self, other):
        """The same node, however often it was looked up."""
        return isinstance(other, Node) and (self._bed_name, self.name) == (other._bed_name, other.name)

    def __hash__(self):
        return hash((self._bed_name, self.name))

    # making it

    def create(self, layers, files):
        """Everything but the power. `layers` are root file systems, the upper first; `files` maps paths to contents."""
        self.state.mkdir(parents=True)
        self.journal_dir.mkdir(parents=True)
        self._keeper.script(f"mkdir -p {WORK}/{self.name}/upper {WORK}/{self.name}/work {WORK}/{self.name}/root")
        self._disk.create()
        network.create_namespace(self._keeper, self.name, self.number)
        for path, contents in {"/etc/machine-id": self.machine_id + "\n", "/etc/hostname": self.name + "\n", **files}.items():
            self._write_upper(path, contents)
        lower = ":".join(str(layer) for layer in layers)
        base = f"{WORK}/{self.name}"
        self._keeper.script(f"mount -t overlay node -o lowerdir={lower},upperdir={base}/upper,workdir={base}/work {base}/root")

    def _write_upper(self, path, contents):
        target = self._keeper.path(self.name, "upper", path.lstrip("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(contents)

    def path(self, path):
        """A file of the node as this process can open it, also while the node is off (but not below a mount of its own)."""
        return self._keeper.path(self.name, "root", path.lstrip("/"))

    # power

    def start_boot(self):
        """Power on; the caller waits with `Boot.wait`."""
        if self.is_on():
            raise Failure(f"{self.name} is on already")
        return Boot(self)

    def boot(self):
        """Power on; returns when systemd says that it has started everything."""
        self.start_boot().wait()

    def kill(self, lose_unsynced=False):
        """Power cut: no process of the node runs another instruction, and nobody says goodbye, the kernel neither."""
        network.power_off(self._keeper, self.name)
        host.kill_cgroup(self._cgroup)
        self.wait_off(10)
        network.forget_connections(self._keeper, self.name)
        if lose_unsynced:
            self._disk.cut_power()

    def wait_off(self, timeout=STOP_TIMEOUT_S):
        """Returns when no process of the node is left: after a kill, or after `systemctl poweroff` inside."""
        try:
            events = open(self._cgroup / "cgroup.events")
        except FileNotFoundError:
            return
        with events:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            deadline = time.monotonic() + timeout
            while "populated 0" not in events.read():
                events.seek(0)
                if not poll.poll(max(0, deadline - time.monotonic()) * 1000) and time.monotonic() > deadline:
                    raise Failure(f"{self.name} still runs after {timeout:.0f} s")

    def is_on(self):
        return not host.is_empty_cgroup(self._cgroup)

    def init_pid(self):
        """The process id of the node's PID 1, as seen from here; None while it is off."""
        for group in ["box/payload/init.scope", "box/payload"]:
            try:
                pids = (self._cgroup / group / "cgroup.procs").read_text().split()
            except OSError:
                continue
            for pid in pids:
                if _pid_inside(pid) == "1":
                    return int(pid)
        return None

    def spawn_machine(self, notify_socket):
        """Starts the process that powers the machine; nspawn exits with 133 when the node asked for a reboot.

        Each nspawn has its own mounts: the ones that it makes for itself would outlive a power cut and be in its way.
        """
        network.power_on(self._keeper, self.name)
        host.remove_cgroup(self._cgroup)
        for group in [self._cgroup, self._cgroup / "runner", self._cgroup / "box"]:
            group.mkdir()
        base, groups = f"{WORK}/{self.name}", f"/sys/fs/cgroup/{self._cgroup_inside()}"
        nspawn = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--link-journal=no",
                  "--resolv-conf=off", "--timezone=off", "--console=read-only", "--notify-ready=yes",
                  f"--directory={base}/root", f"--machine={self._bed_name}-{self.name}", f"--hostname={self.name}",
                  f"--uuid={self.machine_id}", f"--network-namespace-path={network.namespace(self.name)}",
                  f"--bind={self._disk.directory}:/var/lib/argosy", f"--bind={self.journal_dir}:/var/log/journal/{self.machine_id}"]
        if self._containers:
            nspawn += containers.RIGHTS
        script = f"""
            echo $$ >{groups}/runner/cgroup.procs
            while :; do
                status=0
                sh -c 'echo $$ >{groups}/box/cgroup.procs && exec unshare --mount "$@"' sh {' '.join(nspawn)} || status=$?
                [ $status = 133 ] || exit $status
            done
        """
        with open(self.state / "console.log", "ab") as console:
            subprocess.run(self._keeper.inside(["setsid", "--fork", "sh", "-e", "-c", script]), check=True,
                           stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                           env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": str(notify_socket), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
                                **(CONTAINER_ENVIRONMENT if self._containers else {})})

    def _cgroup_inside(self):
        """The node's control group below the keeper's /sys/fs/cgroup, which shows the whole version 2 hierarchy."""
        return self._cgroup.relative_to(host.cgroup_root())

    # commands

    def command(self, argv):
        """The command line that runs `argv` inside the node, in all its namespaces."""
        return ["nsenter", "-t", str(self._running_pid()), "-a", "--", "env", "-i", "-C", HOME, *[f"{k}={v}" for k, v in _environment().items()], *argv]

    def popen(self, argv, **options):
        """Starts a command inside the node, in all its namespaces; FileNotFoundError if the node has no such program."""
        return self._inside(namespaces.popen, argv, **options)

    def exec(self, argv, input=None, timeout=None):
        """Runs a command inside the node, whatever its exit status."""
        try:
            done = self._inside(namespaces.run, argv, input=input, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name}: {' '.join(argv)}: still runs after {timeout} s") from None
        except FileNotFoundError:
            return Result(NO_PROGRAM, "", f"{argv[0]}: there is no such program")
        return Result(done.returncode, done.stdout, done.stderr)

    def _inside(self, start, argv, **options):
        """start: one of namespaces.py's."""
        pid = self._running_pid()
        try:
            return start(pid, namespaces.NODE, argv, cwd=HOME, env=_environment(), **options)
        except OSError as error:
            if error.errno not in (errno.ESRCH, errno.ENOMEM):  # no such process; a namespace whose PID 1 has ended
                raise
            raise Failure(f"{self.name} has just gone off") from None

    def run(self, command, input=None, timeout=60):
        """Runs a shell command inside the node and returns its output; Failure unless it succeeds."""
        result = self.exec(_words(command) or ["sh", "-c", command], input, timeout)
        if result.status != 0:
            said = result.err.strip() or result.out.strip() or "no output"
            raise Failure(f"{self.name}: {command}: exit status {result.status}\n{said}")
        return result.out

    def units(self, pattern, states=()):
        """What the node's systemd has in memory, in these states or any: bus.Unit of each."""
        try:
            return bus.units(self._running_pid(), states, pattern)
        except bus.NoBus:
            of_states = f"--state={','.join(states)} " if states else ""
            listed = self.run(f"systemctl list-units --all --plain --no-legend --full {of_states}{shlex.quote(pattern)}")
            return [bus.Unit(words[0], words[2], None) for words in map(str.split, listed.splitlines())]

    def invocation(self, unit):
        """The id of the current or last run of one of units()."""
        try:
            if unit.path:
                return bus.invocation(self._running_pid(), unit)
        except bus.NoBus:
            pass
        return self.run(f"systemctl show --property=InvocationID --value {shlex.quote(unit.name)}").strip()

    def reset_failed(self):
        try:
            bus.call(self._running_pid(), bus.MANAGER, "ResetFailed")
        except bus.NoBus:
            self.run("systemctl reset-failed")

    def start_unit(self, unit):
        """Does not wait for what comes of that."""
        try:
            bus.call(self._running_pid(), bus.MANAGER, "StartUnit", unit, "replace")
        except bus.NoBus:
            self.run(f"systemctl --no-block start {unit}")

    def _running_pid(self):
        pid = self.init_pid()
        if pid is None:
            raise Failure(f"{self.name} is off")
        return pid

    def write(self, path, text):
        """Writes a file inside the running node. Below /root, where no link leads out of the node, that takes no process."""
        if path.startswith(f"{HOME}/") and ".." not in path and self.is_on():
            target = self.path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            return
        self.run(f"mkdir -p {shlex.quote(os.path.dirname(path))} && cat >{shlex.quote(path)}", input=text)

    def from_network(self, argv):
        """The command line that runs a program of the host on the node's network, for instance a client that misbehaves."""
        return self._keeper.inside(["nsenter", f"--net={network.namespace(self.name)}", "--", *argv])

    # trouble

    def partition(self, direction="both"):
        self._network_trouble.touch()
        network.partition(self._keeper, self.name, direction)

    def cut_from(self, *others):
        self._network_trouble.touch()
        network.cut(self._keeper, self.name, [other.number for other in others])

    def slow_down(self, rate):
        """Its link, each way, e.g. to "10mbit"."""
        self._network_trouble.touch()
        network.slow_down(self._keeper, self.name, self.number, rate)

    def heal(self):
        if self._network_trouble.exists():
            network.heal(self._keeper, self.name, self.number)
            self._network_trouble.unlink()
        self.go_on_with_disk()

    def argosyd_pid(self):
        """The daemon's process id inside the node."""
        pid = self.run("systemctl show --property MainPID --value argosyd.service").strip()
        if pid == "0":
            raise Failure(f"{self.name}: argosyd does not run\n{self.last_words('argosyd', 10)}")
        return int(pid)

    def cgroup(self, path):
        """A control group of the running node, e.g. "system.slice/argosyd.service", as this process can read it."""
        return self._cgroup / "box/payload" / path

    def argosyd_pid_outside(self):
        """The daemon's process id as seen from here."""
        pids = _pids(self.cgroup("system.slice/argosyd.service"))
        if len(pids) != 1:
            raise Failure(f"{self.name}: {len(pids)} processes of argosyd run\n{self.last_words('argosyd', 10)}")
        return pids[0]

    def pause(self):
        self.run(f"kill -STOP {self.argosyd_pid()}")

    def resume_everything(self):
        """Whatever made an argosyd of this node stop: pause(), or a signal."""
        for group, _, _ in os.walk(self._cgroup):
            for pid in _pids(Path(group)):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    if Path(f"/proc/{pid}/comm").read_text() == "argosyd\n":
                        os.kill(pid, signal.SIGCONT)

    def remove(self, path):
        """A file or directory below /root, whether the node is on or not, and whether it is there or not. That takes no process."""
        target = self.path(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def resume(self):
        self.run(f"kill -CONT {self.argosyd_pid()}")

    def stall_disk(self):
        """The disk under /var/lib/argosy does not answer until go_on_with_disk()."""
        self._disk.stall()

    def go_on_with_disk(self):
        self._disk.go_on()

    def journal(self, unit=None, lines=40, since=None, grep=None):
        """The end of the node's journal, with all that was said until now; also after a power cut, since it lies on the host.
        since: seconds since 1970."""
        self.sync_journal()
        return read_journal(self.journal_dir, lines, unit, since, grep)

    def last_words(self, unit=None, lines=40):
        """The end of the journal, or why it cannot be read: for a report of something else."""
        try:
            return self.journal(unit, lines)
        except Failure as reason:
            return str(reason)

    def sync_journal(self):
        """What is said is not in the journal before journald comes to it. As `journalctl --sync` does, without a process."""
        pid = self.init_pid()
        if pid is None:
            return
        try:
            with socket.socket(socket.AF_UNIX) as journald:
                journald.settimeout(10)
                journald.connect(f"/proc/{pid}/root/run/systemd/journal/io.systemd.journal")
                journald.sendall(b'{"method":"io.systemd.Journal.Synchronize"}\0')
                journald.recv(4096)
        except OSError:
            pass  # the node is just going down, or its journald is held up: then there is what there is


def _environment():
    return CLEAN_ENVIRONMENT | {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _words(command):
    """What a shell would make of it, if it is one program with its arguments and a shell would do nothing else; otherwise None."""
    if not NO_SHELL.fullmatch(command):
        return None
    words = shlex.split(command)
    return None if "=" in words[0] or words[0] in BUILTINS else words


def journal_dir(bed_name):
    """Where all nodes of a testbed have their journals. One directory per machine id: journalctl takes it for that of one machine."""
    return state_dir(bed_name) / "journal"


def read_journal(directory, lines, unit=None, since=None, grep=None):
    """The end of the journals below `directory`; Failure if one of them cannot be read."""
    options = [f"--unit={unit}"] if unit else []
    options += [f"--since=@{since:.6f}"] if since else []
    options += [f"--grep={grep}"] if grep else []
    found = subprocess.run(["journalctl", "--quiet", "--no-pager", f"--directory={directory}", f"--lines={lines}", "--output=short-precise", *options],
                           text=True, capture_output=True)
    complaints = [line for line in found.stderr.splitlines() if not _is_about_empty_file(line)]
    if complaints or found.returncode not in (0, NOTHING_MATCHES):
        raise Failure(f"journalctl {' '.join(options)}: exit status {found.returncode}\n" + "\n".join(complaints))
    return found.stdout.strip()


def _is_about_empty_file(complaint):
    """journald has made the file but not written to it yet, or the power was cut just then: nothing is lost with it."""
    named = re.fullmatch(r"Journal file (.*) is truncated, ignoring file\.", complaint)
    return named is not None and Path(named[1]).stat().st_size == 0


class Boot:
    """A node on its way up: systemd reports over a notification socket when its start is complete."""

    def __init__(self, node):
        self._node, self._began = node, time.monotonic()
        self._path = node.state / "notify"
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path))
        node.spawn_machine(self._path)

    def wait(self, timeout=BOOT_TIMEOUT_S):
        """Returns the seconds that it took; Failure if the node goes off again or does not get ready."""
        deadline = self._began + timeout
        try:
            while True:
                self._socket.settimeout(0.5)
                try:
                    if "READY=1" in self._socket.recv(4096).decode().splitlines():
                        return time.monotonic() - self._began
                except TimeoutError:
                    self._check(deadline)
        finally:
            self._socket.close()
            self._path.unlink(missing_ok=True)

    def _check(self, deadline):
        console = _tail(self._node.state / "console.log")
        if not self._node.is_on():
            raise Failure(f"{self._node.name} went off while booting; its console says\n{console}")
        if time.monotonic() > deadline:
            raise Failure(f"{self._node.name} is not ready after {deadline - self._began:.0f} s; its journal says\n"
                          f"{self._node.last_words() or console}")


def _pids(group):
    """The processes of a control group."""
    try:
        return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    except OSError:  # it is no more, or just goes
        return []


def _pid_inside(pid):
    """The process's id in its innermost namespace."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[-1]
    except FileNotFoundError:
        pass
    return None


def _tail(path, lines=20):
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""
