#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of a unit change as it runs (FileChange=reload, none): the run goes on, a reload is seen by it, and one that fails takes the files back."""

import json

from lib import Cluster, eventually, main

# The program reads its folder at its start and at each reload, and says what it has read. The reload refuses what is bad.
RELOADS = ("[Service]\n"
           "ExecStart=/bin/sh -c 'show() { cat /etc/web/*.conf >/run/seen-%n; }; trap show HUP; show; while :; do sleep 3600 & wait; done'\n"
           "ExecReload=/bin/sh -c 'grep -q bad /etc/web/a.conf && exit 1; kill -HUP $MAINPID'\n"
           "[X-Argosy]\nFile=conf:/etc/web\nFile=web.env\nFileChange=reload\n")
KEEPS = ("[Service]\nExecStart=/bin/sh -c 'while :; do cat /etc/web/a.conf /etc/one.conf >/run/seen-%n; sleep 0.1; done'\n"
         "[X-Argosy]\nFile=conf:/etc/web\nFile=one.conf:/etc/one.conf\nFileChange=none\n")


def put(node, folder, files):
    """A folder of unit files and what they name."""
    node.run(f"rm -rf {folder}")
    for name, text in files.items():
        node.write(f"{folder}/{name}", text)


def prepare(c, unit=RELOADS, name="web.service", **more):
    for node in c.nodes:
        node.run("mkdir -p /etc/web && echo the host >/etc/one.conf")
    put(c.node("n1"), "/root/web", {name: unit, "conf/a.conf": "a 1\n", "conf/sub/c": "c 1\n", "web.env": "X=1\n", "one.conf": "one 1\n"} | more)


def seen(c, unit="web.service"):
    return c.node(c.row(unit)["node"]).run(f"cat /run/seen-{unit} || true")


def change(c, name, text):
    c.node("n1").write(f"/root/web/{name}", text)


def last_job(c):
    return c.json("list-jobs --limit=1")[0]["job"]


def is_current(c, unit="web.service"):
    """Neither argosy nor systemd takes what runs for older than its file."""
    node = c.node(c.row(unit)["node"])
    return "stale" not in c.row(unit)["note"] and node.run(f"systemctl show --property=NeedDaemonReload --value {unit}") == "no\n"


def test_a_reload_is_seen_by_the_run_that_goes_on(c: Cluster):
    prepare(c)
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 1\n")
    run, node = c.invocation("web.service"), c.node(c.row("web.service")["node"])
    change(c, "conf/a.conf", "a 2\n")
    change(c, "conf/b.conf", "b 2\n")
    c.node("n1").run("rm -r /root/web/conf/sub")
    assert "is reloaded" in c.ctl_result("apply --plan /root/web").out
    assert json.loads(c.ctl_result("apply --plan --json=short /root/web").out)[0]["file_change"] == "reload"
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 2\nb 2\n")
    assert c.invocation("web.service") == run and is_current(c)
    folder = "/run/argosy/units/web.service"
    assert node.run(f"cd {folder} && ls conf && cat web.env conf/a.conf").split("\n")[:2] == ["a.conf", "b.conf"]
    assert len(node.run("ls /run/argosy/files").split()) == 3
    c.ctl(f"undo {last_job(c)}")
    eventually(lambda: seen(c) == "a 1\n")
    assert c.invocation("web.service") == run and node.run(f"cat {folder}/conf/sub/c") == "c 1\n"
    c.ctl("restart web")
    assert c.invocation("web.service") != run and eventually(lambda: seen(c) == "a 1\n")


def test_a_reload_that_fails_takes_the_files_back(c: Cluster):
    prepare(c)
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 1\n")
    run, node = c.invocation("web.service"), c.node(c.row("web.service")["node"])
    change(c, "conf/a.conf", "bad\n")
    c.ctl_fails("apply /root/web", saying="reload failed")
    assert node.run("cat /run/argosy/units/web.service/conf/a.conf") == "a 1\n"
    assert c.invocation("web.service") == run and seen(c) == "a 1\n" and is_current(c)
    assert not c.row("web.service")["error"]
    c.ctl_fails("update --health=0.2 /root/web/web.service", saying="reload failed")
    assert node.run("cat /run/argosy/units/web.service/conf/a.conf") == "a 1\n" and c.invocation("web.service") == run
    change(c, "conf/a.conf", "a 3\n")
    c.ctl("update --health=0.2 /root/web/web.service")
    eventually(lambda: seen(c) == "a 3\n")
    assert c.invocation("web.service") == run


def test_a_rolling_update_reloads_one_after_the_other(c: Cluster):
    prepare(c, RELOADS.replace("[X-Argosy]", "[X-Argosy]\nSpreadOver=host"), "web@.service")
    c.ctl("start /root/web/web@{1..3}")
    units = [f"web@{i}.service" for i in (1, 2, 3)]
    runs = [c.invocation(u) for u in units]
    change(c, "conf/a.conf", "a 2\n")
    c.ctl("update --health=0.2 /root/web/web@.service")
    for unit in units:
        eventually(lambda unit=unit: seen(c, unit) == "a 2\n")
    change(c, "conf/a.conf", "bad\n")
    c.ctl_fails("update --health=0.2 /root/web/web@.service", saying="reload failed")
    for unit in units:
        assert c.node(c.row(unit)["node"]).run(f"cat /run/argosy/units/{unit}/conf/a.conf") == "a 2\n"
    assert [c.invocation(u) for u in units] == runs


def test_a_daemon_that_dies_in_between_reloads_later(c: Cluster):
    prepare(c, RELOADS.replace("ExecReload=/bin/sh -c '", "ExecReload=/bin/sh -c 'test ! -e /run/slow || sleep 3; "))
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 1\n")
    run, node = c.invocation("web.service"), c.node(c.row("web.service")["node"])
    change(c, "conf/a.conf", "a 2\n")
    node.run("touch /run/slow")
    c.ctl("apply --no-block /root/web")
    eventually(lambda: node.run("systemctl show --property=ActiveState --value web") == "reloading\n")
    node.run("rm /run/slow && systemctl kill --signal=KILL argosyd")
    c.wait_online()
    eventually(lambda: seen(c) == "a 2\n")
    assert set(eventually(lambda: c.invocations("web.service")).values()) == {run}  # once its reload is over


def test_without_a_reload_a_folder_changes_and_a_bound_file_waits_for_the_next_start(c: Cluster):
    prepare(c, KEEPS)
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 1\none 1\n")
    run = c.invocation("web.service")
    change(c, "conf/a.conf", "a 2\n")
    change(c, "one.conf", "one 2\n")
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 2\none 1\n")
    assert c.invocation("web.service") == run and is_current(c)
    c.ctl("restart web")
    eventually(lambda: seen(c) == "a 2\none 2\n")


def test_another_line_of_the_unit_file_restarts_it(c: Cluster):
    prepare(c)
    c.ctl("apply /root/web")
    run = c.invocation("web.service")
    change(c, "conf/a.conf", "a 2\n")
    change(c, "web.service", RELOADS.replace("[Service]", "[Service]\nEnvironment=A=b"))
    c.ctl("apply /root/web")
    eventually(lambda: seen(c) == "a 2\n")
    assert c.invocation("web.service") != run


def test_what_cannot_be_reloaded_is_refused(c: Cluster):
    for text, saying in ((RELOADS.replace("ExecReload", "ExecStop"), "FileChange=reload needs ExecReload="),
                         (RELOADS.replace("File=web.env", "File=one.conf:/etc/one.conf"), "one.conf is a file: put it into one"),
                         (RELOADS.replace("reload\n", "later\n"), "neither restart, reload nor none")):
        prepare(c, text)
        c.ctl_fails("submit /root/web/web.service", saying=saying)


main(nodes=3)
