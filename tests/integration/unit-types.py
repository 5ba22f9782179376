#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every type of unit on real systemd: what it needs is there with it, and what it runs by itself is left alone."""

from lib import ONE_SHOT, SLEEPER, Cluster, eventually, main, stays

TIMER = "[Timer]\nOnActiveSec={after}\nOnUnitInactiveSec={every}\nAccuracySec=10ms\n"
SOCKET = "[Socket]\nListenStream=/run/{name}.sock\n"
# Serves one connection that systemd listened for, and says who it is.
SERVER = "[Service]\nExecStart=/usr/bin/perl -e 'open(my $$s, \"+<&=\", 3); accept(my $$c, $$s); print $$c \"{what}\"'\n"
CLIENT = "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(\"/run/{name}.sock\")->getline'"
FORKER = "[Service]\nType=forking\nExecStart=/bin/sh -c 'sleep infinity & '\n"
NOTIFIER = "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'sleep 0.3; systemd-notify --ready; exec sleep infinity'\n"
STAYS = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'echo %n >>/root/runs'\n"


def node_of(c, *units):
    """The one node that has all of these units."""
    [name] = {c.row(unit)["node"] for unit in units}
    return c.node(name)


def show(node, unit, what):
    return node.run(f"systemctl show --value --property={what} {unit}").strip()


def is_link(node, path):
    return node.run(f"test -L {path} && echo yes || true").strip() == "yes"


def reloads(node):
    return len(node.journal(grep=r"^.*systemd\[1\]: Reloading\.", lines=1000).splitlines())


def test_services_of_every_type_start_and_stop(c: Cluster):
    for name, text in {"simple": SLEEPER, "forking": FORKER, "notify": NOTIFIER, "stays": STAYS}.items():
        c.submit(f"{name}.service", text)
    c.ctl("start simple forking notify stays")
    for name in ("simple", "forking", "notify"):
        assert c.shown(name) == "loaded active running", f"{name}: {c.shown(name)}"
    assert c.shown("stays") == "loaded active exited"
    c.ctl("stop simple forking notify stays")
    for name in ("simple", "forking", "notify", "stays"):
        assert c.shown(name) == "loaded inactive dead", f"{name}: {c.shown(name)}"
    assert c.runs("stays") == 1


def test_a_timer_runs_its_service_again_and_again(c: Cluster):
    c.submit("tick.service", "[Unit]\nStartLimitIntervalSec=0\n" + ONE_SHOT)
    c.start("tick.timer", TIMER.format(after="100ms", every="100ms"))
    node = node_of(c, "tick.timer", "tick.service")
    assert c.file_row("tick.service")["desired"] == "loaded"
    eventually(lambda: c.runs("tick") >= 3)
    node.run("systemctl restart argosyd")
    before = c.runs("tick")
    c.wait_online()
    eventually(lambda: c.runs("tick") >= before + 3)
    row = c.row("tick.service")
    assert not row["drift"] and row["active"] in ("inactive", "activating", "active"), row

    c.ctl("stop tick.timer")
    eventually(lambda: show(node, "tick.service", "ActiveState") == "inactive")  # what it had begun has ended
    eventually(lambda: c.shown("tick.service") == "loaded inactive dead")
    ended = c.runs("tick")
    stays(lambda: c.runs("tick") == ended, 0.5)
    c.ctl("start tick.timer")
    eventually(lambda: c.runs("tick") > ended)


def test_what_a_timer_pins_gets_its_new_content(c: Cluster):
    c.submit("old.service", "[Unit]\nDescription=one\n" + ONE_SHOT)
    c.start("old.timer", TIMER.format(after="1h", every="1h"))
    node = node_of(c, "old.timer", "old.service")
    since = show(node, "old.timer", "ActiveEnterTimestampMonotonic")
    node.write("/root/units/old.service", "[Unit]\nDescription=two\n" + ONE_SHOT)
    c.ctl("load --replace /root/units/old.service", on=node)
    eventually(lambda: show(node, "old.service", "Description") == "two")
    assert show(node, "old.service", "NeedDaemonReload") == "no"
    assert not c.row("old.service")["stale"]
    assert show(node, "old.timer", "ActiveEnterTimestampMonotonic") == since, "the timer was touched"


def test_a_connection_starts_the_service_of_a_socket(c: Cluster):
    c.submit("echo.service", SERVER.format(what="first"))
    c.start("echo.socket", SOCKET.format(name="echo"))
    node = node_of(c, "echo.socket", "echo.service")
    assert c.shown("echo.socket") == "loaded active listening"
    assert c.shown("echo.service") == "loaded inactive dead"

    def ask():
        return node.run(CLIENT.format(name="echo")).strip()

    assert ask() == "first"
    eventually(lambda: c.shown("echo.service") == "loaded inactive dead")
    node.write("/root/units/echo.service", SERVER.format(what="second"))
    c.ctl("load --replace /root/units/echo.service", on=node)
    eventually(lambda: not c.row("echo.service")["stale"])
    assert ask() == "second", "systemd still had the old content"
    c.ctl("destroy echo.socket echo.service")
    left = node.run("ls /run/systemd/system | grep echo || true")
    assert not left, left


def test_a_path_and_a_mount_and_a_failing_unit(c: Cluster):
    c.submit("drop.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'rm /root/drop; echo %n >>/root/runs'\n")
    c.start("drop.path", "[Path]\nPathExists=/root/drop\n")
    node = node_of(c, "drop.path", "drop.service")
    node.write("/root/drop", "x")
    eventually(lambda: c.runs("drop") == 1)

    c.start("mnt-data.mount", "[Mount]\nWhat=tmpfs\nWhere=/mnt/data\nType=tmpfs\n")
    where = c.node(c.row("mnt-data.mount")["node"])
    assert c.shown("mnt-data.mount") == "loaded active mounted"
    where.run("systemctl restart argosyd")
    c.wait_online()
    assert where.run("findmnt --noheadings --output FSTYPE /mnt/data").strip() == "tmpfs"
    c.ctl("destroy mnt-data.mount")
    assert "/mnt/data" not in where.run("cat /proc/mounts")

    c.submit("bad.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    c.submit("bad.timer", TIMER.format(after="50ms", every="1h"))
    c.ctl("start bad.timer")
    eventually(lambda: c.shown("bad.service") == "loaded failed failed")
    assert c.shown("bad.timer").startswith("loaded active")
    c.ctl("destroy bad.timer bad.service")
    assert not {"bad.timer", "bad.service"} & c.known()


def test_a_target_starts_what_wants_to_be_part_of_it(c: Cluster):
    for each in c.nodes:
        each.run("rm -rf /run/systemd/system/app.target.wants")
    c.submit("part.service", SLEEPER + "[X-Argosy]\nMachineMetadata=name=n1\n[Install]\nWantedBy=app.target multi-user.target\n")
    c.submit("late.service", SLEEPER + "[X-Argosy]\nMachineMetadata=name=n1\n[Install]\nWantedBy=app.target\nAlias=later.service\n")
    c.submit("app.target", "[Unit]\nDescription=App\n[X-Argosy]\nMachineMetadata=name=n1\n")
    node = c.node("n1")
    directory = "/run/systemd/system"
    c.ctl("load part")
    assert node.run(f"readlink {directory}/app.target.wants/part.service").strip() == "../part.service"
    assert not is_link(node, f"{directory}/multi-user.target.wants/part.service")
    c.ctl("start app.target")
    eventually(lambda: c.shown("part") == "loaded active running")
    assert c.file_row("part.service")["desired"] == "loaded" and not c.row("part")["drift"]

    # systemd has read app.target.wants/ and does not look again by itself.
    before = reloads(node)
    c.ctl("load late")
    stays(lambda: c.shown("late") == "loaded inactive dead", 0.3)
    assert reloads(node) == before, "a link alone is no reason to reload"
    c.ctl("restart app.target")
    eventually(lambda: c.shown("late") == "loaded active running")
    assert show(node, "later.service", "Id") == "late.service"

    # Nothing of the system's starts what is only loaded; a daemon-reload would make it see the links.
    c.ctl("start part")
    eventually(lambda: is_link(node, f"{directory}/multi-user.target.wants/part.service"))
    assert node.run("systemctl is-enabled part.service").strip() == "enabled-runtime"
    c.ctl("stop part")
    eventually(lambda: not is_link(node, f"{directory}/multi-user.target.wants/part.service"))
    node.run("systemctl daemon-reload; systemctl start multi-user.target")
    stays(lambda: c.shown("part") == "loaded inactive dead", 0.3)

    node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("destroy '*'")
    left = node.run(f"find {directory} -name '*part*' -o -name '*late*' -o -name 'app.target*'")
    assert not left, left


def test_all_of_them_are_there_again_after_a_reboot(c: Cluster):
    c.submit("tick.service", ONE_SHOT)
    c.submit("echo.service", SERVER.format(what="first"))
    c.submit("stays.service", STAYS + "[Install]\nWantedBy=multi-user.target\n")
    c.submit("once.service", ONE_SHOT + "[Install]\nWantedBy=multi-user.target\n")
    c.start("tick.timer", TIMER.format(after="1h", every="1h"))
    c.start("echo.socket", SOCKET.format(name="echo"))
    c.ctl("start stays once")
    node = node_of(c, "tick.timer", "tick.service")
    stay_on = node_of(c, "stays")
    assert c.runs("stays") == 1 and c.runs("once") == 1
    for each in c.nodes:
        before = each.init_pid()
        each.exec(["systemctl", "reboot"])
        eventually(lambda: each.init_pid() not in (None, before))
        c.wait_online()
    eventually(lambda: c.shown("tick.timer") == "loaded active waiting" and c.shown("echo.socket") == "loaded active listening")
    assert node_of(c, "tick.timer", "tick.service") and node_of(c, "echo.socket", "echo.service")
    eventually(lambda: c.shown("stays") == "loaded active exited")
    assert c.runs("stays") == 2, "what remains is a state of the machine, and is made again after a boot"
    stays(lambda: c.runs("once") == 1, 0.3)


main(nodes=2, conf=["n1:Node.Labels=name=n1", "n2:Node.Labels=name=n2"])
