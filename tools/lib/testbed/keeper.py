# SPDX-License-Identifier: LGPL-2.1-or-later
"""The keeper: one process per testbed that owns everything the testbed consists of.

It is two processes. The outer one holds the testbed's lock and waits. The inner one is PID 1 of a PID namespace, with a
mount and a network namespace of its own; every node, mount, network interface and loop device is made inside these.
So nothing has to be remembered in order to be undone: when the inner process dies, the kernel kills the nodes and drops
the mounts (and with them the loop devices) and interfaces. If the outer one dies, the inner one goes with it.
What remains are empty control groups and files; the outer one removes them, or else whoever finds them next.

Whoever starts a keeper holds a pipe to it. The pipe's end without a "keep" before it means that the starter is gone, and
the testbed goes too; so an interrupted or crashed run leaves nothing behind.

    keeper = Keeper.start(name)     a fresh testbed that lives as long as this process
    keeper.detach()                 ... that from now on lives until `stop`
    keeper = Keeper.find(name)      the running one, or None
"""

import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import host, namespaces
from .host import Failure

WORK = Path("/run/bed")

# The inner process. Orphans in its namespace become its children; with SIGCHLD ignored they vanish by themselves.
INNER = f"""
set -e
mount -t tmpfs -o mode=755 keeper /run
mkdir -p {WORK}
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
        umount -R /sys/fs/cgroup
        mount -t cgroup2 none /sys/fs/cgroup
fi
ip link set lo up
echo ready
trap '' CHLD
exec sleep infinity >/dev/null
"""


def state_dir(name):
    return host.STATE / name


def cgroup_dir(name):
    return host.cgroup_root() / f"argosy-testbed-{name}"


def _lock_path(name):
    return host.STATE / f"{name}.lock"


def _take_lock(name, wait):
    """A descriptor that holds the testbed's lock; None if somebody else holds it and we may not wait."""
    path = _lock_path(name)
    while True:
        host.STATE.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # the last testbed of all just took the directory with it
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        # The last holder may have removed the file while we waited for it.
        if path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            return fd
        os.close(fd)


def _drop_lock(name, fd):
    _lock_path(name).unlink(missing_ok=True)
    os.close(fd)
    try:
        host.STATE.rmdir()
    except OSError:
        pass  # other testbeds live there


def _sweep(name):
    """Removes what a dead testbed left behind. The caller holds the lock."""
    group = cgroup_dir(name)
    host.kill_cgroup(group)
    for _ in range(500):
        if host.is_empty_cgroup(group):
            break
        time.sleep(0.01)
    host.remove_cgroup(group)
    shutil.rmtree(state_dir(name), ignore_errors=True)


class Keeper:
    def __init__(self, name, outer, inner, pipe=None):
        self.name, self.outer, self.inner, self._pipe = name, outer, inner, pipe

    @staticmethod
    def start(name, hold=()):
        """Sweeps up a dead testbed of that name and starts a keeper. Failure if one is running.

        The descriptors in `hold` stay open in the keeper: locks on what the testbed uses.
        """
        package = str(Path(__file__).resolve().parents[1])
        process = subprocess.Popen([sys.executable, "-W", "ignore::RuntimeWarning:runpy", "-m", "testbed.keeper", name], start_new_session=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   pass_fds=hold,
                                   env=os.environ | {"PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"})
        answer = process.stdout.readline().split()
        if answer[:1] != ["ready"]:
            raise Failure(process.stderr.read().strip() or "the testbed's keeper did not start")
        return Keeper(name, process.pid, int(answer[1]), process.stdin)

    @staticmethod
    def find(name):
        """The keeper of a running testbed, or None."""
        path = _lock_path(name)
        if not path.exists():
            return None
        lock = _take_lock(name, wait=False)
        if lock is not None:
            _drop_lock(name, lock)
            return None
        outer, _, inner = path.read_text().partition(" ")
        return Keeper(name, int(outer), int(inner)) if inner else None

    @staticmethod
    def stop(name):
        """Takes the testbed down, whether its keeper lives or not, and returns when nothing of it is left."""
        keeper = Keeper.find(name)
        if keeper:
            ended = os.pidfd_open(keeper.outer)
            os.kill(keeper.outer, signal.SIGTERM)
            select.select([ended], [], [])  # with it go its locks on what the testbed used
            os.close(ended)
        lock = _take_lock(name, wait=True)
        _sweep(name)
        _drop_lock(name, lock)

    def detach(self):
        """From now on the testbed outlives this process."""
        self._pipe.write("keep\n")
        self._pipe.close()

    def inside(self, argv):
        """The same command line, to be run in the keeper's namespaces."""
        return ["nsenter", "-t", str(self.inner), "-m", "-n", "-p", "--", *argv]

    def run(self, argv, network=None, input=None):
        """Runs a command in the keeper's namespaces and returns its output. network: a namespace below WORK in place of the keeper's."""
        return host.output_of(namespaces.run(self.inner, namespaces.KEEPER, argv, network and self.path(network), input))

    def script(self, text):
        """Runs a shell script, which stops at its first failing command, in the keeper's namespaces."""
        return self.run(["sh", "-e"], input=text)

    def path(self, *parts):
        """A path below WORK as this process, which is outside, can open it."""
        return Path(f"/proc/{self.inner}/root{WORK}").joinpath(*parts)


def _children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _start_inner():
    unshare = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--",
                                "unshare", "--pid", "--mount", "--net", "--fork", "--kill-child=KILL", "--mount-proc",
                                "--propagation", "private", "sh", "-c", INNER],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if unshare.stdout.readline() != "ready\n":
        sys.exit("testbed: cannot set up namespaces (the reason stands above)")
    return unshare, _children(unshare.pid)[0]


def _wait_for_end(stdin, inner):
    """Returns when the starter died without a "keep", when the inner process died, or on SIGTERM."""
    asked, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda *_: None)
    ends = [asked, os.pidfd_open(inner)]
    readable, _, _ = select.select([stdin, *ends], [], [])
    if readable == [stdin] and stdin.readline() == "keep\n":
        select.select(ends, [], [])


def main(name):
    lock = _take_lock(name, wait=False)
    if lock is None:
        sys.exit(f"testbed '{name}' is up already; take it down with `tools/testbed down`, or set ARGOSY_TESTBED")
    _sweep(name)
    state_dir(name).mkdir(parents=True)
    group = host.make_cgroup(cgroup_dir(name))

    unshare, inner = _start_inner()
    # nspawn takes the control group of "its" PID 1 for the root of the hierarchy and looks there what the kernel can do.
    (group / "keeper").mkdir()
    (group / "keeper/cgroup.procs").write_text(str(inner))
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()} {inner}".encode(), 0)
    print("ready", inner, flush=True)

    # The starter's output pipes must not stay open for ever in a process that outlives it.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    _wait_for_end(sys.stdin, inner)

    try:
        os.kill(inner, signal.SIGKILL)
    except ProcessLookupError:
        pass
    unshare.wait()
    _sweep(name)
    _drop_lock(name, lock)


if __name__ == "__main__":
    main(sys.argv[1])
