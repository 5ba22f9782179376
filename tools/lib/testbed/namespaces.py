# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs in the namespaces of another process, with no other program on the way.

    popen(pid, NODE, ["argosyctl", "list-units"], stdout=PIPE)      as subprocess.Popen
    run(pid, NODE, ["argosyctl", "list-units"])                     as subprocess.run

nsenter does the same, at the price of one more program: a scenario starts a thousand, and most of them do little themselves.
Namespaces belong to a thread. So a thread of its own enters them, starts the program there and ends; the rest of this process stays
where it is. While it is in there, that thread opens no file of this machine: it sees those of the node.
"""

import ctypes
import os
import socket
import subprocess
import threading

# <linux/sched.h>
CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

KEEPER = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET
NODE = KEEPER | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC

_libc = ctypes.CDLL(None, use_errno=True)


def popen(pid, spaces, argv, network=None, **options):
    """Starts a program in those namespaces of the process. network: a file that stands for another network namespace.
    ProcessLookupError if there is no such process; otherwise as subprocess.Popen."""
    entered = [(os.pidfd_open(pid), spaces)]
    try:
        if network:
            entered.append((os.open(network, os.O_RDONLY | os.O_CLOEXEC), CLONE_NEWNET))
        return _on_a_thread(lambda: _start(entered, argv, options))
    finally:
        for fd, _ in entered:
            os.close(fd)


def run(pid, spaces, argv, network=None, input=None, timeout=None, **options):
    """The same, and waits for its end: subprocess.CompletedProcess with what it wrote. It is killed when the time is over."""
    with popen(pid, spaces, argv, network, stdin=None if input is None else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
               text=True, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def listen(pid, address, port):
    """A socket of this process that listens in the network namespace of the process."""
    pidfd = os.pidfd_open(pid)

    def enter_and_listen():
        _check(_libc.setns(pidfd, CLONE_NEWNET))
        return socket.create_server((address, port))

    try:
        return _on_a_thread(enter_and_listen)
    finally:
        os.close(pidfd)


def _start(entered, argv, options):
    _check(_libc.unshare(CLONE_FS))  # root and working directory are this thread's alone from here on
    for fd, spaces in entered:
        _check(_libc.setns(fd, spaces))
    return subprocess.Popen(argv, **options)


def _check(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _on_a_thread(task):
    """What the task returns or raises, after its thread has ended."""
    outcome = []

    def carry_out():
        try:
            outcome.append((task(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=carry_out)
    thread.start()
    thread.join()
    [(value, error)] = outcome
    if error:
        raise error
    return value
