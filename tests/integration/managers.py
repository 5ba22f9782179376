#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One argosyd serves the managers of users and containers too, each as a node of its own; none of them can harm anybody else."""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from lib import ONE_SHOT, SLEEPER, SOURCE, Cluster, eventually, main, stays

FOR_USERS = SLEEPER + "[X-Argosy]\nManager=user@*\n"
FOR_WEB = SLEEPER + "[X-Argosy]\nManager=container@web\n"

# The nodes have neither logind nor PAM's module of systemd.
USER_UNIT = "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
RUNTIME_DIR_UNIT = """[Service]
ExecStart=
ExecStart=/bin/install -d -m 700 -o %i -g %i /run/user/%i
ExecStop=
ExecStop=/bin/rm -rf /run/user/%i
"""

# What systemd-nspawn does, as far as it matters here: namespaces, a /run and a control group of its own. What is
# temporary is its own, too: its systemd removes what that of the node has there.
CONTAINER_UNIT = """[Service]
EnvironmentFile=-/root/how
ExecStart=/usr/bin/unshare $HOW --mount --pid --cgroup --ipc --uts --fork --kill-child --mount-proc /root/container
Delegate=yes
KillMode=control-group
KillSignal=SIGKILL
"""
CONTAINER = """#!/bin/sh
mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /var/tmp && { test ! -d /var/log/journal || mount -t tmpfs tmpfs /var/log/journal; } && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && mount -t cgroup2 none /sys/fs/cgroup
export container=test
exec /lib/systemd/systemd --unit=inside.target
"""
INSIDE_TARGET = "[Unit]\nDefaultDependencies=no\n"


def prepare_users(node):
    node.write("/etc/systemd/system/user@.service.d/test.conf", USER_UNIT)
    node.write("/etc/systemd/system/user-runtime-dir@.service.d/test.conf", RUNTIME_DIR_UNIT)
    node.run("systemctl daemon-reload")
    for uid in (1001, 1002):
        node.run(f"id u{uid} >/dev/null 2>&1 || useradd -m -u {uid} u{uid}")
        node.run(f"systemctl restart user-runtime-dir@{uid} user@{uid}")


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


def prepare_container(node, user_namespace=False):
    """Returns the pid of its init."""
    node.write("/root/how", f"HOW={'--user --map-root-user' if user_namespace else ''}\n")
    node.write("/root/container", CONTAINER)
    node.write("/etc/systemd/system/box.service", CONTAINER_UNIT)
    node.write("/etc/systemd/system/inside.target", INSIDE_TARGET)
    node.run("chmod +x /root/container; systemctl daemon-reload; systemctl restart box")
    main_pid = node.run("systemctl show --property=MainPID --value box").strip()
    pid = eventually(lambda: node.run(f"cat /proc/{main_pid}/task/{main_pid}/children").split()[0])
    eventually(lambda: node.run(f"test -S /proc/{pid}/root/run/systemd/private && echo there"))
    node.run("mkdir -p /run/systemd/machines")
    node.write("/run/systemd/machines/web", f"# as systemd-machined writes it\nNAME=web\nLEADER={pid}\n")
    return int(pid)


def user_run(node, uid, command):
    return node.run(f"setpriv --reuid {uid} --regid {uid} --clear-groups env XDG_RUNTIME_DIR=/run/user/{uid} {command}")


def user_active(node, uid, unit):
    return user_run(node, uid, f"sh -c 'systemctl --user is-active {unit}; true'").strip() == "active"


def state(c, node):
    return c.node_states()[node]


def attach(c, node, *managers):
    for manager in managers:
        c.ctl(f"manager attach {manager}", on=node)
        name = f"{node.name}/{manager.removeprefix('container@')}"
        assert state(c, name) == "online", c.node_states()


def detach_all(c, node):
    for row in c.json("manager list", on=node):
        if row["origin"] == "attached":
            c.ctl(f"manager detach {row['manager']}", on=node)
            assert f"{node.name}/{row['manager'].removeprefix('container@')}" not in c.node_states()


def shown(c, unit):
    return {row["node"]: row["active"] for row in c.rows(unit)}


def top(c, count, options=""):
    """The rows of units in managers that are not the system's, if there are so many."""
    found = json.loads(c.ctl(f"top --json=short --delay=200ms --fields=unit,node,tasks,cpu-time {options}"))
    found = {(row["unit"], row["node"]): row for row in found if "/" in row["node"]}
    return len(found) == count and found


def test_units_run_in_managers_of_users_and_containers(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    pid = prepare_container(node)
    attach(c, node, "user@1001", "user@1002", "container@web")
    c.start("mine@{1..4}", FOR_USERS)
    c.start("inside", FOR_WEB)
    c.start("plain", SLEEPER)
    assert {row["node"] for row in c.rows("mine@*")} == {"n1/user@1001", "n1/user@1002"}
    assert shown(c, "inside.service") == {"n1/web": "active"}
    assert shown(c, "plain.service").keys() <= {"n1", "n2"}
    for row in c.rows("mine@*"):
        assert user_active(node, row["node"].partition("@")[2], row["unit"]), row
    assert node.run(f"nsenter -t {pid} -m -p systemctl is-active inside.service").strip() == "active"
    owner = node.run("stat -c %U /run/user/1001/systemd/user/mine@.service /run/user/1002/systemd/user/mine@.service").split()
    assert owner == ["u1001", "u1002"], owner
    # What they use is known of all of them.
    used = eventually(lambda: top(c, 5)).copy()
    assert used.keys() == {(row["unit"], row["node"]) for row in c.rows("mine@*") + c.rows("inside.service")}, used
    assert all(row["tasks"] == 1 and row["cpu-time"] is not None for row in used.values()), used
    assert top(c, 1, "--node=n1/web").keys() == {("inside.service", "n1/web")}
    # A restart of argosyd disturbs nothing, and it finds everything again.
    before = node.run("pgrep -x sleep").split()
    node.run("systemctl restart argosyd")
    eventually(lambda: state(c, "n1/user@1001") == state(c, "n1/web") == "online")
    eventually(lambda: set(shown(c, "mine@*").values()) == {"active"} and shown(c, "inside.service") == {"n1/web": "active"})
    assert node.run("pgrep -x sleep").split() == before
    c.ctl("stop inside 'mine@1'")
    assert shown(c, "inside.service") == {"n1/web": "inactive"}
    # Detaching takes away what is there, and nothing else.
    c.ctl("manager detach container@web user@1001", on=node)
    assert "mine@" not in node.run("ls /run/user/1001/systemd/user")
    assert node.run("ls -A /run/argosy/managers").split() == ["user@1002"]
    assert c.node_states().keys() == {"n1", "n2", "n1/user@1002"}
    eventually(lambda: {row["node"] for row in c.rows("mine@*")} == {"n1/user@1002"})
    assert shown(c, "plain.service").keys() <= {"n1", "n2"}
    detach_all(c, node)
    node.run("systemctl stop box")


def test_attach_and_detach_return_when_the_whole_cluster_knows(c: Cluster):
    node, other = c.node("n1"), c.node("n2")
    prepare_users(node)
    # Directly after each other, and asked elsewhere: nothing is in between.
    for _ in range(3):
        node.run("argosyctl manager attach user@1001 user@1002")
        assert c.node_states(on=other) == dict.fromkeys(("n1", "n2", "n1/user@1001", "n1/user@1002"), "online")
        c.start("mine", FOR_USERS)
        node.run("argosyctl manager detach user@1001 user@1002")
        assert c.node_states(on=other).keys() == {"n1", "n2"}
        assert c.rows("mine")[0]["node"] == "-", c.rows("mine")
        assert "n1/user@" not in c.ctl_result("status mine").out + c.ctl_result("why mine").out
        c.ctl("destroy mine")
    # While it is at it, everybody says the same.
    node.run("argosyctl manager attach user@1001; rm -f /home/u1001/go; chmod 755 /home/u1001")
    c.start("slow", FOR_USERS.replace("ExecStart=", "ExecStop=/bin/sh -c 'until test -e /home/u1001/go; do sleep 0.05; done'\nExecStart="))
    node.run("systemd-run --quiet --unit=detach argosyctl manager detach user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    for verb in ("status", "why"):
        said = c.ctl_result(f"{verb} slow").out
        assert "the manager is being detached" in said and "deactivating" not in said, said
    node.run("touch /home/u1001/go")
    eventually(lambda: c.node_states().keys() == {"n1", "n2"})
    eventually(lambda: "detach.service" not in node.run("systemctl list-units --all detach.service"))
    c.ctl("destroy slow")
    # One that cannot be reached is attached all the same, and the reason is said.
    node.run("systemctl stop user@1001")
    said = node.run("argosyctl manager attach user@1001 2>&1")
    assert "n1/user@1001 cannot be used at present: " in said, said
    assert state(c, "n1/user@1001") == "offline"
    detach_all(c, node)
    # Without a leader the host does it, and that is all that is said.
    prepare_users(other)
    node.kill()
    said = other.run("argosyctl --timeout=1s manager attach user@1002 2>&1; echo $?")
    assert "user@1002 is attached on this host, but the cluster may not show it yet: " in said and said.endswith("\n1\n"), said
    node.boot()
    eventually(lambda: c.node_states().get("n2/user@1002") == "online")
    detach_all(c, other)


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
        node.run("systemctl stop box")


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
FLOOD = Path(os.environ.get("ARGOSY_BUILD") or SOURCE / "build") / "tests/journal-flood"
LINES, WIDTH = 5000, 3000  # 15 MB
ALL = LINES + 1000  # systemd itself says something about the unit, too
UNLIMITED = "[Journal]\nRateLimitIntervalSec=0\n"

# What a flood may cost an argosyd, on whatever host: memory at its peak, more than it had before, and a turn of its loop.
HELD_KIB = 1024  # what argosyd may keep allocated, beyond what it had; what is under way comes and goes
# What it may have resident beyond that: jemalloc keeps freed pages for a second, and 15 MiB of them were seen while 0.9 MB were
# allocated. A file of 1 GB, a line without end or an answer that somebody keeps would be far beyond it.
PEAK_KIB = 32 * 1024
TURN_US = 10_000

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
        node.run(f"echo 5 >/proc/{pid}/clear_refs; kill -USR1 {pid}")  # peak and longest turn are of what comes now
    before = {node.name: peak_kib(node) for node in c.nodes}
    held_before = {node.name: held_kib(c, node) for node in c.nodes}
    yield
    held = {node.name: min(held_kib(c, node) for _ in range(10)) - held_before[node.name] for node in c.nodes}
    assert [node.argosyd_pid() for node in c.nodes] == pids
    grown = {node.name: peak_kib(node) - before[node.name] for node in c.nodes}
    turns = {node.name: c.json("counters", node)["turn_cpu_max_us"] for node in c.nodes}
    assert all(kib < HELD_KIB for kib in held.values()), f"argosyd held so many KiB more: {held}"
    assert all(kib < PEAK_KIB for kib in grown.values()), f"argosyd had so many KiB more: {grown}"
    assert all(us < TURN_US for us in turns.values()), f"turns took so many microseconds: {turns}"


def flooded(lines):
    """The numbers in those lines that come from the flood."""
    return [int(line.split(": ", 1)[1].split(" ", 1)[0]) for line in lines if " flood[1]: " in line]


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
    with costs_little(c):
        # All of a flood goes through whoever asks for it, and nobody keeps it for one who does not read.
        node.run(f"{inside} /root/journal-flood speaker.service {LINES} {WIDTH}")
        eventually(lambda: node.run(f"{inside} journalctl --output=cat --lines=1 UNIT=speaker.service").startswith(f"{LINES} "))
        assert flooded(c.ctl(f"journal -n {ALL} speaker", on=other).splitlines()) == list(range(1, LINES + 1))
        client = c.begin(f"journal -n {ALL} speaker", on=other)  # its output goes into a pipe that is full soon
        eventually(lambda: c.json("counters", node)["journals_held"] == 1)
        # The files become short while the reader stands in the middle of them: it ends, and so does the answer.
        node.run(f"{inside} sh -c 'truncate --size=0 /run/log/journal/*/*.journal /var/log/journal/*/*.journal 2>/dev/null; true'")
        seen = flooded(client.result().out.splitlines())
        assert 0 < len(seen) < LINES and seen == list(range(1, len(seen) + 1))
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
    for asking in c.nodes:
        asking.run("touch /root/enough")
        eventually(lambda: asking.run("systemctl is-active asker; true").strip() != "active")
        asking.run("rm /root/enough /root/asked")
    node.run(f"{inside} touch /run/enough")
    eventually(lambda: node.run("systemctl is-active havoc; true").strip() != "active")
    c.ctl("destroy speaker own")
    detach_all(c, node)
    node.run("systemctl stop box; systemctl reset-failed")


def test_a_user_who_logs_out_and_in_again_gets_his_units_back(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001")
    c.start("mine", FOR_USERS)
    c.start("done", ONE_SHOT.replace("/root/runs", "/tmp/runs") + "[X-Argosy]\nManager=user@1001\n")
    node.run("systemctl stop user@1001 user-runtime-dir@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    assert shown(c, "mine.service") == {"n1/user@1001": "unknown"}
    [row] = [row for row in c.json("list-nodes") if row["node"] == "n1/user@1001"]
    assert "not running" in row["reason"], row
    c.ctl_fails("start mine", saying="not running")
    assert state(c, "n1") == "online"
    node.run("systemctl start user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    eventually(lambda: user_active(node, 1001, "mine.service"))
    assert node.run("wc -l </tmp/runs").strip() == "1", "a one-shot ran again"
    # The same when the machine is switched off and on.
    node.kill()
    node.boot()
    eventually(lambda: state(c, "n1") == "online")
    assert [row["manager"] for row in c.json("manager list", on=node)] == ["system", "user@1001"]
    node.run("systemctl start user@1001")
    eventually(lambda: user_active(node, 1001, "mine.service"))
    c.ctl("destroy mine done")
    detach_all(c, node)


def test_a_hostile_user_harms_nobody_else(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001", "user@1002")
    node.run("rm -rf /etc/argosy-bait; mkdir -m 777 /etc/argosy-bait")
    # Directory, then file, then drop-in directory are links to somewhere else; what root could write there stays unwritten.
    user_run(node, 1001, "rm -rf /run/user/1001/systemd/user")
    user_run(node, 1001, "ln -s /etc/argosy-bait /run/user/1001/systemd/user")
    c.ctl_fails("start " + submit(c, "trap", 1001), saying="cannot write its file in /run/user/1001")
    user_run(node, 1001, "rm /run/user/1001/systemd/user")
    user_run(node, 1001, "mkdir -p /run/user/1001/systemd/user")
    user_run(node, 1001, "ln -s /etc/argosy-bait/file /run/user/1001/systemd/user/link.service")
    c.ctl_fails("start " + submit(c, "link", 1001), saying="belongs to somebody else")
    user_run(node, 1001, "mkfifo /run/user/1001/systemd/user/fifo.service")
    c.ctl_fails("start " + submit(c, "fifo", 1001), saying="belongs to somebody else")
    assert node.run("ls -A /etc/argosy-bait") == ""
    # The socket leads to the system's manager, or to another user's: nobody talks to it.
    user_run(node, 1001, "mv /run/user/1001/systemd/private /run/user/1001/systemd/kept")
    user_run(node, 1001, "ln -s /run/systemd/private /run/user/1001/systemd/private")
    node.run("systemctl restart argosyd")
    eventually(lambda: state(c, "n1/user@1001") == "offline" and state(c, "n1") == "online")
    user_run(node, 1001, "rm /run/user/1001/systemd/private")
    user_run(node, 1001, "mv /run/user/1001/systemd/kept /run/user/1001/systemd/private")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    # A manager that is stopped in the middle holds up nobody.
    node.run("systemctl kill --signal=STOP --kill-whom=main user@1001")
    c.start("good", SLEEPER + "[X-Argosy]\nManager=user@1002\n")
    c.start("plain", SLEEPER)
    node.run("systemctl kill --signal=CONT --kill-whom=main user@1001")
    # One that crashes takes its own units along, and comes back.
    node.run("systemctl kill --signal=KILL --kill-whom=all user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "offline")
    assert shown(c, "good.service") == {"n1/user@1002": "active"}
    node.run("systemctl reset-failed; systemctl restart user@1001")
    eventually(lambda: state(c, "n1/user@1001") == "online")
    c.ctl("destroy trap link fifo good plain")
    detach_all(c, node)


def test_a_crash_runs_no_one_shot_of_a_user_twice(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    attach(c, node, "user@1001")
    node.write("/home/u1001/job", "#!/bin/sh\necho ran >>/home/u1001/runs\nwhile [ ! -e /home/u1001/go ]; do sleep 0.05; done\n")
    node.run("chmod 755 /home/u1001 /home/u1001/job; rm -f /home/u1001/go /home/u1001/runs")
    c.submit("job.service", "[Service]\nType=oneshot\nLogLevelMax=notice\nExecStart=/home/u1001/job\n[X-Argosy]\nManager=user@1001\n")
    c.ctl("start --no-block job")
    eventually(lambda: node.run("cat /home/u1001/runs"))
    node.run("systemctl kill -s STOP argosyd; systemctl stop --no-block argosyd.socket argosyd.service; systemctl kill -s KILL argosyd")
    eventually(lambda: node.run("systemctl is-active argosyd || true").strip() in ("inactive", "failed"))
    node.run("touch /home/u1001/go")
    eventually(lambda: user_run(node, 1001, "systemctl --user show --value --property=ActiveState job").strip() == "inactive")
    node.run("systemctl reset-failed argosyd; systemctl start argosyd.socket argosyd.service")
    eventually(lambda: "has finished" in c.ctl_result("why job").out)
    assert node.run("cat /home/u1001/runs") == "ran\n", "it was run again"
    c.ctl("destroy job")
    detach_all(c, node)


def searches(node):
    return json.loads(node.run("argosyctl counters --json=short"))["searches"]


def test_what_hides_the_file_of_a_unit_that_is_not_loaded_is_shown(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    pid = prepare_container(node)
    attach(c, node, "user@1001", "container@web")
    mine = SLEEPER + "[X-Argosy]\nManager=user@1001\n"
    before = searches(node)
    c.start("m1 w@1 w@2", mine)
    c.start("m2", FOR_WEB)
    c.ctl("stop w@1")
    c.ctl("destroy w@1")
    c.start("w@1", mine)
    assert searches(node) == before, "our own batches cost nothing"

    def theirs(command):
        return user_run(node, 1001, f"systemctl --user {command}")

    def inside(command):
        return node.run(f"nsenter -t {pid} -m -p systemctl {command}")

    for systemctl, unit in (theirs, "m1"), (inside, "m2"):
        systemctl(f"stop {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        systemctl(f"mask {unit}")
        eventually(lambda: c.shown(unit) == "masked inactive dead")  # noqa: B023
        c.ctl_fails(f"start {unit}", saying="masked")
        systemctl(f"unmask {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        # Nobody reloads: systemd alone says that something changed.
        systemctl(f"mask --no-reload {unit}")
        eventually(lambda: c.shown(unit) == "masked inactive dead")  # noqa: B023
        systemctl(f"unmask --no-reload {unit}")
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        c.ctl(f"start {unit}")
        assert c.shown(unit) == "loaded active running"

    # A file that went unseen shows at the next reload. A template's file is that of its instances, also when it is back.
    theirs("stop w@1 w@2")
    user_run(node, 1001, "rm /run/user/1001/systemd/user/w@.service")
    theirs("daemon-reload")
    eventually(lambda: c.shown("w@1") == c.shown("w@2") == "not-found inactive dead")
    c.ctl("start w@1")
    eventually(lambda: (c.shown("w@1"), c.shown("w@2")) == ("loaded active running", "loaded inactive dead"))
    c.ctl("destroy m1 m2 w@1 w@2")
    detach_all(c, node)
    node.run("systemctl stop box")


def submit(c, name, uid):
    c.submit(f"{name}.service", SLEEPER + f"[X-Argosy]\nManager=user@{uid}\n")
    return name


def test_the_configuration_attaches_too(c: Cluster):
    node = c.node("n1")
    prepare_users(node)
    node.write("/etc/argosy/argosy.conf.d/60-managers.conf", "[Node]\nManagers=user@1001 user@1002\n")
    node.run("systemctl reload argosyd")
    eventually(lambda: state(c, "n1/user@1001") == state(c, "n1/user@1002") == "online")
    c.ctl_fails("manager detach user@1001", on=node, saying="argosy.conf")
    c.ctl_fails("manager attach user@1001", on=node, saying="attached already")
    c.ctl_fails("manager attach user@nobody-of-that-name", on=node, status=2, saying="no user")
    node.run("rm /etc/argosy/argosy.conf.d/60-managers.conf; systemctl reload argosyd")
    eventually(lambda: c.node_states().keys() == {"n1", "n2"})
    stays(lambda: c.node_states().keys() == {"n1", "n2"}, during=0.3)


main(nodes=2, conf=["Cluster.LeaseSec=2", "Cluster.HeartbeatSec=0.4"])
