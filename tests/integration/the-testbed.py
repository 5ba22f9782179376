#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The testbed itself keeps its promises: without these, no other scenario proves anything."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, run
from unittest import mock

from lib import Cluster, Failure, eventually, main
from testbed import Testbed, staging

WRITER = "cd /var/lib/argosy && echo data >synced && sync synced && sync . && echo data >unsynced"


def test_a_plain_power_cut_keeps_what_was_written(c: Cluster):
    n1 = c.node("n1")
    n1.run(WRITER)
    n1.kill()
    assert not n1.is_on()
    n1.boot()
    assert n1.run("ls /var/lib/argosy").split() == ["synced", "unsynced"]


def test_a_power_cut_that_loses_unsynced_bytes_keeps_only_what_was_synced(c: Cluster):
    n1 = c.node("n1")
    n1.run(f"rm -f /var/lib/argosy/*; sync; {WRITER}; echo more >>/var/lib/argosy/synced")
    n1.kill(lose_unsynced=True)
    n1.boot()
    assert n1.run("ls /var/lib/argosy").split() == ["synced"]
    assert n1.run("cat /var/lib/argosy/synced") == "data\n"


def test_a_power_cut_takes_with_it_what_the_kernel_had_still_to_send(c: Cluster):
    """What is queued for a peer that cannot be reached is lost with the power: it does not come when the peer can be reached again."""
    n1, n2 = c.node("n1"), c.node("n2")
    listen = ("import socket; s = socket.create_server(('', 9999)); print('listening', flush=True); peer = s.accept()[0]; print('accepted', flush=True)\n"
              "peer.settimeout(float(input()))\ntry: print(peer.recv(9))\nexcept TimeoutError: print('nothing')")
    with Popen(n2.from_network(["python3", "-c", listen]), stdin=PIPE, stdout=PIPE, text=True) as listener:
        assert listener.stdout.readline() == "listening\n"
        send = f"exec 3<>/dev/tcp/{n2.address}/9999; read -r; echo late >&3; echo sent; sleep infinity"
        with Popen(n1.command(["bash", "-c", send]), stdin=PIPE, stdout=PIPE, text=True) as sender:
            assert listener.stdout.readline() == "accepted\n"
            n2.partition()
            sender.stdin.write("\n")
            sender.stdin.flush()
            assert sender.stdout.readline() == "sent\n"
            n1.kill()
        n2.heal()
        n1.boot()
        assert listener.communicate("3\n")[0] == "nothing\n"


def arrives(sender, receiver, within=30):
    """Whether a datagram gets there; unlike a ping it needs no way back."""
    listen = (f"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 9999)); s.settimeout({within})\n"
              "print('listening', flush=True); input()\ntry: print(s.recv(9).decode())\nexcept TimeoutError: pass")
    send = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'hello', ('{receiver.address}', 9999))"
    with Popen(receiver.from_network(["python3", "-c", listen]), stdin=PIPE, stdout=PIPE, text=True) as listener:
        assert listener.stdout.readline() == "listening\n"
        run(sender.from_network(["python3", "-c", send]), stderr=DEVNULL)  # a dropped one may be an error here
        return listener.communicate("sent\n")[0] == "hello\n"


def is_cut(sender, receiver):
    """On one machine a datagram is there as good as at once."""
    return not arrives(sender, receiver, within=0.3)


def test_a_partition_cuts_the_directions_that_it_names(c: Cluster):
    n1, n2 = c.node("n1"), c.node("n2")
    assert arrives(n2, n1) and arrives(n1, n2)
    n1.partition("in")
    assert is_cut(n2, n1) and arrives(n1, n2)
    n1.partition("out")
    assert arrives(n2, n1) and is_cut(n1, n2)
    n1.partition()
    assert is_cut(n2, n1) and is_cut(n1, n2)
    n1.heal()
    assert arrives(n2, n1) and arrives(n1, n2)


def test_a_node_that_powers_itself_off_is_off_and_one_that_reboots_comes_back(c: Cluster):
    n2 = c.node("n2")
    before = n2.init_pid()
    n2.exec(["systemctl", "reboot"])
    eventually(lambda: n2.init_pid() not in (None, before))
    eventually(lambda: n2.run("systemctl is-system-running") == "running\n")
    n2.exec(["systemctl", "poweroff"])
    n2.wait_off()
    n2.boot()


def say(node, text):
    node.run(f"echo {text} | systemd-cat")
    node.sync_journal()


def test_what_nodes_said_is_read_also_what_came_before_a_power_cut(c: Cluster):
    n1, n2 = c.node("n1"), c.node("n2")
    since = time.time()
    say(n1, "said before the first cut")
    say(n2, "said on the other node")
    for words in ["said before the second cut", "said before it went off"]:
        n1.kill()
        n1.boot()  # its journald puts the file aside that the cut left open
        say(n1, words)
    n1.kill()
    said = {"n1 before the first cut", "n1 before the second cut", "n1 before it went off", "n2 on the other node"}

    def read():
        lines = [line.split(maxsplit=5) for line in c.bed.journal(since, "^said ", 100).splitlines()]
        return {f"{node} {words.removeprefix('said ')}" for _, _, _, node, _, words in lines}

    assert read() == said
    assert c.bed.journal(since, "^never said$", 100) == ""
    n1.boot()

    made = next(n1.journal_dir.glob("*.journal~")).parent / "made-just-now.journal"
    made.touch()
    assert read() == said
    made.write_bytes(bytes(100))
    for journal in [lambda: c.bed.journal(since, "^said ", 100), lambda: n1.journal(grep="^said ")]:
        try:
            said_all_the_same = journal()
        except Failure as reason:
            assert made.name in str(reason)
        else:
            raise AssertionError(f"a journal that cannot be read is passed over: {said_all_the_same!r}")
    made.unlink()
    assert read() == said


def test_what_systemd_says_is_the_same_with_and_without_a_bus(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/w@.service", "[Service]\nExecStart=sleep infinity\n")
    n1.run("cp w@.service /run/systemd/system && systemctl start w@1 w@2 && systemctl stop w@2")

    def said():
        active = n1.units("w@*.service", ["active", "activating"])
        return ([(unit.name, unit.active, n1.invocation(unit)) for unit in active], [unit.name for unit in n1.units("nothing*.service")],
                {unit.name for unit in n1.units("w@*.service")} >= {"w@1.service"})

    over_bus = said()
    assert [row[:2] for row in over_bus[0]] == [("w@1.service", "active")] and len(over_bus[0][0][2]) == 32, over_bus
    assert over_bus[0][0][2] == n1.run("systemctl show --property=InvocationID --value w@1").strip()
    assert over_bus[1:] == ([], True)
    n1.run("systemctl stop dbus.socket dbus.service")
    assert said() == over_bus
    n1.run("systemctl start dbus.socket")
    eventually(lambda: said() == over_bus)


def test_a_command_of_a_node_has_its_namespaces_and_nothing_else_of_this_machine(c: Cluster):
    n1 = c.node("n1")
    spaces = ["cgroup", "ipc", "mnt", "net", "pid", "uts"]
    links = " ".join(f"/proc/self/ns/{space}" for space in spaces)
    of_init = [os.readlink(f"/proc/{n1.init_pid()}/ns/{space}") for space in spaces]
    of_this = [os.readlink(f"/proc/self/ns/{space}") for space in spaces]
    assert n1.run(f"readlink {links}").split() == of_init
    assert n1.exec(["pwd"]).out == "/root\n" and "ARGOSY_TESTBED" not in n1.run("env")
    assert n1.exec(["no-such-program"]).status == 127
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda node: (node.name, node.run("hostname").strip()), [n1, c.node("n2")] * 20)) == {("n1", "n1"), ("n2", "n2")}
    assert [os.readlink(f"/proc/self/ns/{space}") for space in spaces] == of_this and Path(__file__).exists()


def test_the_trees_of_checks_that_begin_and_end_at_once_stay_as_long_as_they_last(c: Cluster):
    def check(_):
        with staging.shared_tree() as tree:
            (tree / "file").touch()
            assert [path.name for path in tree.iterdir()] == ["file"]
        assert not tree.exists()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check, range(400)))


def test_a_testbed_that_is_kept_has_its_build_after_the_end_of_the_check(c: Cluster):
    kept = Testbed(f"{c.bed.name}-kept")
    with staging.shared_tree() as tree, mock.patch.dict(os.environ, ARGOSY_STAGE=str(tree)):
        (tree / "installed").write_text("here\n")
        kept.up(1, alone=True)
    with kept:
        with staging.shared_tree():
            assert kept.node("n1").run("cat /installed") == "here\n"
    with staging.shared_tree():
        assert not tree.exists()


main(nodes=2, bare=True)
