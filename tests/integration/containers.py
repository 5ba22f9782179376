#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whoever is root in a container finds nothing in what argosyd does there; its journal is read, and costs nobody much."""

import shutil
from contextlib import contextmanager

from lib import BUILD, QUICK, SLEEPER, Cluster, Turns, eventually, main, unsanitized
from users_and_containers import attach, clean_up, detach_all, prepare_container, shown, state

# The private socket is there, but nobody accepts a connection, and the queue is full: whoever connects waits.
DEAF_SOCKET = """
use Socket;
my ($path, $listener, $first, $ready) = "/run/systemd/private";
rename $path, "$path.kept" or die;
socket($listener, PF_UNIX, SOCK_STREAM, 0) && bind($listener, sockaddr_un($path)) && listen($listener, 0) or die;
socket($first, PF_UNIX, SOCK_STREAM, 0) && connect($first, sockaddr_un($path)) or die;
open $ready, ">", "/run/deaf" or die;
sleep 600;
"""


# Run by the container's root. Everything is looked at before it is judged: the process lives 10 seconds at most.
CHECK_FROM_INSIDE = """
for p in /proc/[0-9]*; do grep -qsz ^argosy-connector $p/cmdline && break; done
exe=$(readlink $p/exe)
files=$(sed -n 's,^[^/]*\\(/.*\\),\\1,p' $p/maps | sort -u)
opened=$(readlink $p/fd/* | grep -v ^socket:)
caps=$(grep ^Cap $p/status | grep -v 0000000000000000)
written=$( (echo bad >$p/exe) 2>/dev/null && echo written)
environment=$(tr '\\0' ' ' <$p/environ)
group=$(grep ^0:: $p/cgroup) init=$(grep ^0:: /proc/1/cgroup)
ns=$(readlink $p/ns/pid $p/ns/mnt $p/ns/cgroup $p/ns/ipc $p/ns/uts) ours=$(readlink /proc/1/ns/pid /proc/1/ns/mnt /proc/1/ns/cgroup /proc/1/ns/ipc /proc/1/ns/uts)
test -d $p || { echo gone; exit; }
case "$exe" in /memfd:argosy-connector*) ;; *) echo "exe: $exe"; exit;; esac
test "$files" = "$exe" || { echo "maps: $files"; exit; }
test -z "$opened$caps$written$environment" || { echo "open: $opened; $caps; $written; $environment"; exit; }
test "$group" = "$init" -a "$ns" = "$ours" || { echo "$group $init; $ns; $ours"; exit; }
echo well
"""


def test_a_container_s_root_finds_nothing_in_whoever_connects(c: Cluster):
    node = c.node("n1")
    for user_namespace in (False, True):
        pid = prepare_container(node, user_namespace)
        inside = f"nsenter -t {pid} -m -p" + (" -U" if user_namespace else "")
        assert (node.run(f"readlink /proc/{pid}/ns/user") != node.run("readlink /proc/1/ns/user")) == user_namespace
        node.write("/root/deaf", DEAF_SOCKET)
        node.run(f"systemd-run --quiet --unit=deaf {inside} perl /root/deaf")
        eventually(lambda: node.run(f"test -e /proc/{pid}/root/run/deaf && echo deaf"))
        c.ctl("manager attach --no-block container@web", on=node)
        find = f"{inside} sh -c 'grep -lsz ^argosy-connector /proc/[0-9]*/cmdline; true'"
        eventually(lambda: node.run(find).split())
        # While it waits; it is another one each time that argosyd tries again.
        node.write("/root/check", CHECK_FROM_INSIDE)
        eventually(lambda: node.run(f"{inside} sh /root/check").strip() == "well")
        assert state(c, "n1") == "online"
        # It goes with whoever wanted it.
        c.ctl("manager detach --force container@web", on=node)
        eventually(lambda: not node.run(find).split())
        node.run(f"systemctl stop deaf; {inside} mv /run/systemd/private.kept /run/systemd/private")
        attach(c, node, "container@web")
        detach_all(c, node)


# Its systemd says when it begins and ends: journald in this container cannot tell whose the lines of its processes are.
SPEAKER = """[Service]
RemainAfterExit=yes
ExecStart=/bin/sh -c 'until test -e /run/go; do sleep 0.05; done; exit 7'
[X-Argosy]
Manager=container@web
"""
STARTED, FAILED = "Started speaker.service", "status=7/NOTRUNNING"


def readers(node):
    """The helpers that read a container's journal: their capabilities, and namespaces of mounts and processes."""
    found = node.run("for p in $(pgrep -f 'manager-helper [j]ournal'); do echo $(awk '/^Cap(Eff|Prm|Bnd):/ {print $2}' /proc/$p/status) $(readlink /proc/$p/ns/mnt /proc/$p/ns/pid); done")
    return [line.split() for line in found.splitlines()]


def switches(node):
    """How often they have gone to sleep."""
    return node.run("cat $(pgrep -f 'manager-helper [j]ournal' | sed 's,.*,/proc/&/status,') | grep ^voluntary")


def read_until(follower, text):
    while text not in (line := follower.line()):
        assert line, "its output has ended"


@unsanitized
def test_the_journal_of_a_container_is_read_inside_by_somebody_who_can_do_nothing_else(c: Cluster):
    node = c.node("n1")
    pid = prepare_container(node)
    inside = f"nsenter -t {pid} -m -p -C"
    node.run(f"{inside} systemctl start systemd-journald")
    attach(c, node, "container@web")
    c.start("speaker", SPEAKER)
    for other in c.nodes:
        eventually(lambda: STARTED in c.ctl("journal speaker", on=other))
        assert STARTED in c.ctl("status speaker", on=other)
    assert STARTED not in node.run("journalctl --unit=speaker --quiet; true")
    # Whoever follows sees what comes, read by a process that waits inside.
    follower = c.begin("journal -f -n 1 speaker", on=c.node("n2"))
    assert STARTED in follower.line()
    confined = ["0" * 16] * 3 + node.run(f"readlink /proc/{pid}/ns/mnt /proc/1/ns/pid").split()  # it cannot be seen from inside
    eventually(lambda: readers(node) == [confined])
    # It sleeps until something is written, and goes on in the next file when the journal is rotated and old files are removed.
    eventually(lambda: switches(node) == node.run("sleep 1.2") + switches(node))
    node.run(f"{inside} journalctl --rotate")
    node.run(f"{inside} touch /run/go")
    read_until(follower, FAILED)
    node.run(f"{inside} rm /run/go")
    node.run(f"{inside} sh -c 'journalctl --rotate && journalctl --vacuum-files=1'")
    c.ctl("restart speaker")
    read_until(follower, STARTED)
    node.run(f"{inside} touch /run/go")
    read_until(follower, FAILED)
    follower.kill()
    eventually(lambda: not readers(node))
    # What is no journal breaks nothing but the answer, and one that keeps its reader waiting only its own.
    journal = node.run(f"{inside} sh -c 'systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald; ls -d /run/log/journal/*/system.journal /var/log/journal/*/system.journal 2>/dev/null; true'").strip()
    node.run(f"{inside} sh -c 'head -c 300000 /dev/urandom | dd of={journal} bs=1 seek=300 conv=notrunc 2>/dev/null'")
    c.ctl_result("journal speaker")
    c.ctl_result("status speaker")
    assert state(c, "n1") == state(c, "n1/web") == "online" and shown(c, "speaker.service") == {"n1/web": "failed"}
    # A container that is not running has a reason.
    node.run("systemctl stop box")
    eventually(lambda: state(c, "n1/web") == "offline")
    c.ctl_fails("journal speaker", saying="on no node that can be reached")
    c.ctl("manager detach --force container@web", on=node)
    c.ctl("destroy speaker")


# Writes as much into a container's journal as it is told, in the name of that container's systemd (tests/lib/journal-flood.c).
FLOOD = BUILD / "tests/journal-flood"
LINES, WIDTH = 5000, 3000  # 15 MB
ALL = LINES + 1000  # systemd itself says something about the unit, too
UNLIMITED = "[Journal]\nRateLimitIntervalSec=0\n"

# What a flood may cost an argosyd, on whatever host: memory at its peak, more than it had before, and a turn of its loop.
HELD_KIB = 1024  # what argosyd may keep allocated, beyond what it had; what is under way comes and goes
# What it may have resident beyond that: jemalloc keeps freed pages for a second, and 15 MiB of them were seen while 0.9 MB were
# allocated. A file of 1 GB, a line without end or an answer that somebody keeps would be far beyond it.
PEAK_KIB = 32 * 1024

# Everything that root of a container can do to its journal, until there is a file /run/enough. There are links to what has no end,
# and files are written over, cut, made enormous, copied and removed while journald writes them and somebody reads them.
HAVOC = """
until file=$(ls -d /run/log/journal/*/system.journal /var/log/journal/*/system.journal 2>/dev/null | head -n 1) && test "$file"; do
    sleep 0.1
done
cd "$(dirname "$file")"
ln -s /dev/zero zero.journal; mkfifo pipe.journal; mkdir directory.journal
until test -e /run/enough; do /root/journal-flood speaker.service 500 3000 || sleep 0.1; done &
hits=0
until test -e /run/enough; do
    for file in system*.journal; do
        head -c 4096 /dev/urandom | dd of=$file bs=512 seek=$((RANDOM % 2000)) conv=notrunc,nocreat && echo $((++hits)) >/run/hits
        case $((RANDOM % 6)) in
        0) truncate --size=$((RANDOM * 50)) $file ;;
        1) truncate --size=+1G $file ;;
        2) cp --sparse=always $file system@$((RANDOM % 5)).journal ;;
        3) rm $file ;;
        esac
    done
    sleep 0.02
done
wait
"""
ASKER = """
until test -e /root/enough; do
    timeout 5 argosyctl journal -n 1000 speaker >/dev/null 2>&1
    timeout 5 argosyctl status speaker >/dev/null 2>&1
    echo asked >>/root/asked
done
"""


def peak_kib(node):
    return int(node.run(f"awk '/^VmHWM/ {{print $2}}' /proc/{node.argosyd_pid()}/status"))


def held_kib(c, node):
    return c.json("counters", node)["heap_allocated_bytes"] // 1024


@contextmanager
def costs_little(c):
    pids = [node.argosyd_pid() for node in c.nodes]
    for node, pid in zip(c.nodes, pids):
        node.run(f"echo 5 >/proc/{pid}/clear_refs")  # the peak is of what comes now
    before = {node.name: peak_kib(node) for node in c.nodes}
    held_before = {node.name: held_kib(c, node) for node in c.nodes}
    yield
    held = {node.name: min(held_kib(c, node) for _ in range(10)) - held_before[node.name] for node in c.nodes}
    assert [node.argosyd_pid() for node in c.nodes] == pids
    grown = {node.name: peak_kib(node) - before[node.name] for node in c.nodes}
    assert all(kib < HELD_KIB for kib in held.values()), f"argosyd held so many KiB more: {held}"
    assert all(kib < PEAK_KIB for kib in grown.values()), f"argosyd had so many KiB more: {grown}"


def flooded(lines):
    """The numbers in those lines that come from the flood."""
    return [int(line.split(": ", 1)[1].split(" ", 1)[0]) for line in lines if " flood[1]: " in line]


@unsanitized
def test_a_container_that_floods_and_tampers_with_its_journal_costs_its_host_little(c: Cluster):
    node, other = c.nodes
    pid = prepare_container(node)
    inside = f"nsenter -t {pid} -m -p -C"
    shutil.copy(FLOOD, node.path("/root/journal-flood"))
    node.run("rm -f /root/enough /root/asked")
    node.write("/root/unlimited", UNLIMITED)
    node.run(f"{inside} install -D -m 644 /root/unlimited /run/systemd/journald.conf.d/unlimited.conf")
    node.run(f"{inside} systemctl restart systemd-journald")
    attach(c, node, "container@web")
    c.start("speaker", SPEAKER)
    for asking in c.nodes:  # once, so that everybody has what that takes
        eventually(lambda: STARTED in c.ctl("journal speaker", on=asking))
        c.ctl("status speaker", on=asking)
    turns = Turns(c)

    def flood_and_tamper():
        node.run(f"{inside} rm -f /run/enough /run/hits")
        turns.begin()
        with costs_little(c):
            # All of a flood goes through whoever asks for it, and nobody keeps it for one who does not read.
            node.run(f"{inside} /root/journal-flood speaker.service {LINES} {WIDTH}")
            eventually(lambda: node.run(f"{inside} journalctl --output=cat --lines=1 UNIT=speaker.service").startswith(f"{LINES} "))
            assert flooded(c.ctl(f"journal -n {ALL} speaker", on=other).splitlines()) == list(range(1, LINES + 1))
            client = c.begin(f"journal -n {ALL} speaker", on=other)  # its output goes into a pipe that is full soon
            eventually(lambda: c.json("counters", node)["journals_held"] == 1)
            # The files become short while the reader stands in the middle of them: it ends, and so does the answer.
            node.run(f"{inside} sh -c 'truncate --size=0 /run/log/journal/*/*.journal /var/log/journal/*/*.journal 2>/dev/null; true'")
            lines = flooded(client.result().out.splitlines())
            assert 0 < len(lines) < LINES and lines == list(range(1, len(lines) + 1))
            eventually(lambda: c.json("counters", node)["journals_read"] == 0)
            # Whatever it does to them, the host goes on, and so does everybody else.
            node.run(f"{inside} sh -c 'rm -f /run/log/journal/*/* /var/log/journal/*/*; systemctl restart systemd-journald'")
            node.write("/root/havoc", HAVOC)
            node.run(f"systemd-run --quiet --unit=havoc {inside} bash /root/havoc")
            for asking in c.nodes:
                asking.write("/root/asker", ASKER)
                asking.run("systemd-run --quiet --unit=asker bash /root/asker")
            eventually(lambda: int(node.run(f"{inside} cat /run/hits")) >= 20)
            c.start("own", SLEEPER)
            for asking in c.nodes:
                eventually(lambda: int(asking.run("wc -l </root/asked")) >= 3)
            assert state(c, "n1") == state(c, "n1/web") == "online" and shown(c, "speaker.service") == {"n1/web": "active"}
        seen = turns.longest()
        for asking in c.nodes:
            asking.run("touch /root/enough")
            eventually(lambda: asking.run("systemctl is-active asker; true").strip() != "active")
            asking.run("rm /root/enough /root/asked")
        node.run(f"{inside} touch /run/enough")
        eventually(lambda: node.run("systemctl is-active havoc; true").strip() != "active")
        node.run(f"{inside} sh -c 'rm -rf /run/log/journal/*/* /var/log/journal/*/*; systemctl restart systemd-journald'")
        return seen

    turns.assert_short(flood_and_tamper, "a container's flood")
    c.ctl("destroy speaker own")
    detach_all(c, node)


main(nodes=2, conf=QUICK, after=lambda c: clean_up(c, "deaf", "havoc", "asker"))
