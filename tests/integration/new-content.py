#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A changed file of a unit that systemd has in memory is taken up, whatever pins it there; until then list-units and status say so."""

import json
import threading

from lib import SLEEPER, Cluster, eventually, main
from views import Views

UNITS = ["web.service", "pinned.service", "pin.timer", "pin.target", "talk.service", "talk.socket", "job.service"]

GONE_BACK = "it has the file of before again"


def versioned(text, version):
    return f"{text}Environment=VERSION={version}\n"


def version(c, unit):
    """What systemd has in memory or reads from the unit's file."""
    return c.node("n1").run(f"systemctl show --property=Environment --value {unit}").strip().removeprefix("VERSION=")


def change(c, verb, unit, text):
    """Replaces the unit's file by the verb."""
    c.node("n1").write(f"/root/units/{unit}", text)
    return c.ctl(f"{verb} --replace /root/units/{unit}")


def said_stale(c, unit):
    """Whether list-units and status say that systemd runs an older file."""
    [status] = json.loads(c.ctl_result(f"status --json=short {unit}").out)
    return c.row(unit)["stale"], status["stale"]


def pid(c, unit):
    return c.node("n1").run(f"systemctl show --property=MainPID --value {unit}").strip()


def reloads(c):
    """How often systemd has read all files so far."""
    return c.node("n1").journal(grep="Reloading\\.$", lines=1000).count("Reloading.")


def test_an_active_unit_is_stopped_and_started(c: Cluster):
    c.start("web", versioned(SLEEPER, 1))
    before = reloads(c)
    change(c, "start", "web.service", versioned(SLEEPER, 2))
    assert version(c, "web.service") == "2" and c.shown("web") == "loaded active running"
    assert said_stale(c, "web.service") == (False, False) and reloads(c) == before


def test_what_systemd_stops_with_it_comes_back(c: Cluster):
    """By start --replace, update, apply and undo: argosy's units, foreign ones, ones bound to it by a drop-in; none that were down."""
    node = c.node("n1")
    after_db = "[Unit]\n{}=db.service\nAfter=db.service\n"
    for name, kind in {"foreign": "Requires", "down": "BindsTo", "part": "PartOf"}.items():
        node.write(f"/etc/systemd/system/{name}.service", after_db.format(kind) + SLEEPER)
    node.write("/etc/systemd/system/joined.service.d/db.conf", after_db.format("PartOf"))
    node.run("systemctl daemon-reload")
    folder = {"db": versioned(SLEEPER, 1), "web": after_db.format("Requires") + SLEEPER, "joined": SLEEPER, "byhand": after_db.format("PartOf") + SLEEPER}
    for name, text in folder.items():
        node.write(f"/root/set/{name}.service", text)
    c.ctl("apply /root/set")
    node.run("systemctl start foreign part && systemctl stop byhand")
    eventually(lambda: c.row("byhand.service")["drift"])

    up = ["db", "web", "joined", "foreign", "part"]

    def runs():
        return {name: pid(c, f"{name}.service") for name in [*up, "down", "byhand"]}

    def db_changes(command, number):
        before = runs()
        node.write("/root/set/db.service", versioned(SLEEPER, number))
        c.ctl(command)
        after = runs()
        assert after["down"] == "0" and (after["byhand"] == "0" or command.startswith("apply")), after
        assert all(after[name] not in ("0", before[name]) for name in up), (command, before, after)
        assert c.row("web.service")["active"] == "active" and not c.row("web.service")["drift"]

    db_changes("start --replace /root/set/db.service", 2)
    db_changes("update --health=0 /root/set/db.service", 3)
    db_changes("apply /root/set", 4)
    job = c.json("list-jobs --limit=1")[0]["job"]
    node.run("systemctl stop byhand")  # which apply starts, as it reconciles all of the set
    db_changes(f"undo {job}", 5)

    node.write("/root/set/db.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/false\n")
    before = runs()
    c.ctl_fails("start --replace /root/set/db.service", saying=GONE_BACK)
    assert all(runs()[name] not in ("0", before[name]) for name in up), (before, runs())

    node.run("touch /root/may-start")
    db_changes("start --replace /root/set/db.service", "6\nExecStartPre=/usr/bin/test -e /root/may-start")
    node.run("rm /root/may-start")
    node.write("/root/set/db.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/false\n")
    c.ctl_fails("start --replace /root/set/db.service", saying="again, and with that: start failed (exit-code); foreign.service and 1 more, which need it")
    assert runs()["web"] == "0" and runs()["part"] != "0", runs()
    assert "comes back with it" in c.ctl_result("why web").out
    node.run("systemctl restart argosyd")
    c.wait_online()
    node.write("/root/set/db.service", SLEEPER)
    c.ctl("start --replace /root/set/db.service")
    assert "0" not in [run for name, run in runs().items() if name in up], runs()
    c.ctl("destroy db web joined byhand")
    node.run("systemctl stop foreign part && cd /etc/systemd/system && rm -r foreign.service down.service part.service joined.service.d && systemctl daemon-reload")


def test_a_newer_file_does_not_wait_for_what_hangs_on_its_way_back(c: Cluster):
    node = c.node("n1")
    node.write("/etc/systemd/system/hang.service", "[Unit]\nPartOf=web.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=infinity\n"
               "ExecStart=/bin/sh -c 'while [ -e /run/hang ]; do sleep 0.2; done'\n")
    node.run("systemctl daemon-reload")
    c.start("web", SLEEPER)
    node.run("systemctl start hang && touch /run/hang")
    for number in (2, 3):
        node.write("/root/units/web.service", versioned(SLEEPER, number))
        c.ctl("start --replace --no-block /root/units/web.service")
        eventually(lambda: version(c, "web.service") == str(number) and c.shown("web") == "loaded active running")
        eventually(lambda: node.run("systemctl is-active hang || true").strip() == "activating")
    job = c.json("list-jobs --limit=1")[0]["job"]
    assert c.json("list-jobs --state=running")[0]["job"] == job
    node.run("rm /run/hang")
    c.ctl(f"job wait {job}")
    assert node.run("systemctl is-active hang").strip() == "active"
    node.run("systemctl stop hang && rm /etc/systemd/system/hang.service && systemctl daemon-reload")


def test_a_unit_that_an_active_timer_pins(c: Cluster):
    c.start("pinned", versioned(SLEEPER, 1))
    c.start("pin.timer", "[Timer]\nOnActiveSec=1d\nUnit=pinned.service\n")
    change(c, "start", "pinned.service", versioned(SLEEPER, 2))
    assert version(c, "pinned.service") == "2" and c.shown("pinned") == "loaded active running"
    c.ctl("stop pinned")
    change(c, "load", "pinned.service", versioned(SLEEPER, 3))
    eventually(lambda: said_stale(c, "pinned.service") == (False, False))
    assert version(c, "pinned.service") == "3" and c.shown("pinned") == "loaded inactive dead"
    assert c.shown("pin.timer") == "loaded active waiting"


def test_a_unit_that_its_socket_pins(c: Cluster):
    c.start("talk", versioned(SLEEPER, 1))
    c.ctl("stop talk")
    c.start("talk.socket", "[Socket]\nListenStream=/run/talk.sock\n")
    c.ctl("start talk")
    change(c, "start", "talk.service", versioned(SLEEPER, 2))
    assert version(c, "talk.service") == "2" and c.shown("talk") == "loaded active running"
    assert c.shown("talk.socket") == "loaded active running"


def test_a_failed_unit(c: Cluster):
    failing = "[Service]\nExecStart=/bin/false\n"
    c.submit("web.service", versioned(failing, 1))
    c.ctl_result("start web")  # whether it fails at once or a moment later
    eventually(lambda: c.shown("web") == "loaded failed failed")
    change(c, "start", "web.service", versioned(SLEEPER, 2))
    assert version(c, "web.service") == "2" and c.shown("web") == "loaded active running"


def test_a_failed_unit_that_a_target_pins(c: Cluster):
    c.submit("pinned.service", versioned("[Service]\nExecStart=/bin/false\n", 1))
    c.ctl("load pinned")
    c.start("pin.target", "[Unit]\nWants=pinned.service\n")
    eventually(lambda: c.shown("pinned") == "loaded failed failed")
    change(c, "start", "pinned.service", versioned(SLEEPER, 2))
    assert version(c, "pinned.service") == "2" and c.shown("pinned") == "loaded active running"
    assert c.shown("pin.target") == "loaded active active"


def test_somebody_else_reloads_all_the_time(c: Cluster):
    c.start("web", versioned(SLEEPER, 1))
    c.start("pinned", versioned(SLEEPER, 1))
    c.start("pin.timer", "[Timer]\nOnActiveSec=1d\nUnit=pinned.service\n")
    end = threading.Event()

    def reload():
        while not end.is_set():
            c.node("n1").run("systemctl daemon-reload")

    other = threading.Thread(target=reload)
    other.start()
    try:
        for number in range(2, 6):
            for unit in ["web.service", "pinned.service"]:
                change(c, "start", unit, versioned(SLEEPER, number))
                assert version(c, unit) == str(number), f"{unit} runs {version(c, unit)} after a start with {number}"
    finally:
        end.set()
        other.join()
    Views(c, UNITS).agree()
    assert said_stale(c, "web.service") == (False, False) and said_stale(c, "pinned.service") == (False, False)


def test_a_one_shot_that_runs_is_left_to_finish(c: Cluster):
    job = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo %n >>/root/runs; while [ ! -e /root/finish ]; do sleep 0.05; done'\n"
    node = c.node("n1")
    node.run("rm -f /root/finish")
    c.submit("job.service", versioned(job, 1))
    c.ctl("start --no-block job")
    eventually(lambda: c.runs("job") == 1 and c.shown("job") == "loaded activating start")
    main_pid = pid(c, "job.service")
    node.write("/root/units/job.service", versioned(job, 2))
    replacing = c.begin("start --replace /root/units/job.service")
    eventually(lambda: said_stale(c, "job.service") == (True, True))
    assert "older" in c.ctl_result("status job").out and "stale" in c.ctl("list-units job")
    assert pid(c, "job.service") == main_pid and version(c, "job.service") == "1"
    node.run("touch /root/finish")
    assert replacing.result().status == 0
    eventually(lambda: said_stale(c, "job.service") == (False, False))
    assert version(c, "job.service") == "2"


def test_what_somebody_else_started_is_replaced_when_it_is_down(c: Cluster):
    node = c.node("n1")
    c.submit("web.service", versioned(SLEEPER, 1))
    c.ctl("load web")
    node.run("systemctl start web")
    eventually(lambda: c.shown("web") == "loaded active running")
    main_pid = pid(c, "web.service")
    node.write("/root/units/web.service", versioned(SLEEPER, 2))
    loading = c.begin("load --replace /root/units/web.service")
    eventually(lambda: said_stale(c, "web.service") == (True, True))
    node.run("systemctl daemon-reload")
    Views(c, UNITS).agree()
    assert pid(c, "web.service") == main_pid and version(c, "web.service") == "1" and said_stale(c, "web.service") == (True, True)
    node.run("systemctl stop web")
    eventually(lambda: said_stale(c, "web.service") == (False, False))
    assert loading.result().status == 0
    eventually(lambda: version(c, "web.service") == "2" and c.shown("web") == "loaded inactive dead")


NO_START = "[Service]\nExecStat=/bin/sleep 1000\n"
REFUSAL = "systemd would refuse the new file"


def replace_result(c, verb, unit, text):
    c.node("n1").write(f"/root/units/{unit}", text)
    return c.ctl_result(f"{verb} /root/units/{unit}")


def test_what_systemd_would_refuse_takes_nothing_down(c: Cluster):
    c.start("web", SLEEPER)
    main_pid = pid(c, "web.service")
    for verb in ("start --replace", "update"):
        result = replace_result(c, verb, "web.service", NO_START)
        assert result.status == 1 and REFUSAL in result.err and "Service has no ExecStart=" in result.err, result.err
        assert "Warning: /root/units/web.service:2: Unknown key 'ExecStat' in section [Service], ignoring" in result.err
        assert pid(c, "web.service") == main_pid and c.shown("web") == "loaded active running", (verb, c.row("web"))
        assert said_stale(c, "web.service") == (False, False)
        assert GONE_BACK in result.err.replace("everything has", "it has") and "argosyctl undo" not in result.err, result.err
        assert c.ctl("cat web") == SLEEPER and not c.row("web")["error"]
        assert c.ctl_result("start web").status == 0 and pid(c, "web.service") == main_pid


def test_what_systemd_would_not_start_takes_nothing_down(c: Cluster):
    c.start("web", SLEEPER)
    main_pid = pid(c, "web.service")
    for verb in ("start --replace", "update"):
        result = replace_result(c, verb, "web.service", "[Unit]\nRefuseManualStart=yes\n" + SLEEPER)
        assert result.status == 1 and "RefuseManualStart=yes" in result.err, result.err
        assert pid(c, "web.service") == main_pid and c.ctl("cat web") == SLEEPER


NO_USER = "[Service]\nExecStart=/bin/sleep 1000\nUser=nobody-has-this-name\n"


def test_what_ran_and_does_not_start_goes_back(c: Cluster):
    c.start("web", SLEEPER)
    for verb in ("start --replace", "update"):
        result = replace_result(c, verb, "web.service", NO_USER)
        assert result.status == 1 and GONE_BACK in result.err.replace("everything has", "it has"), result.err
        assert "argosyctl undo" not in result.err, result.err
        assert c.shown("web") == "loaded active running" and c.ctl("cat web") == SLEEPER
        job = c.json("list-jobs --limit=1")[0]
        assert job["verb"] == verb.split()[0]
        c.ctl_fails(f"job wait {job['job']}")
    # The lines are those of the run that failed.
    assert "status=217/USER" in replace_result(c, "start --replace", "web.service", NO_USER).err
    c.ctl("stop web")
    result = replace_result(c, "start --replace", "web.service", NO_USER)
    assert result.status == 1 and GONE_BACK not in result.err and "puts the files of before back" in result.err
    assert c.ctl("cat web") == NO_USER


def test_instances_go_back_together(c: Cluster):
    node, names = c.node("n1"), [f"web@{i}" for i in (1, 2, 3)]
    node.write("/root/units/web@.service", SLEEPER)
    c.ctl("submit /root/units/web@.service")
    c.ctl("start " + " ".join(names))
    c.start("other", SLEEPER)
    node.write("/root/units/web@.service", SLEEPER + 'ExecStartPre=/bin/sh -c "[ %i != 2 ]"\n')
    node.write("/root/units/other.service", versioned(SLEEPER, 2))
    result = c.ctl_result("start --replace " + " ".join(f"/root/units/{name}.service" for name in [*names, "other"]))
    assert result.status == 1 and "start web@2.service on " in result.err and GONE_BACK in result.err, result.err
    for name in [*names, "web@.service"]:
        assert c.ctl(f"cat {name}") == SLEEPER, name
    assert all(c.shown(name) == "loaded active running" for name in names)
    assert version(c, "other.service") == "2"


def test_a_set_goes_back_where_it_does_not_start(c: Cluster):
    node = c.node("n1")
    for name in ("a", "b"):
        node.write(f"/root/shop/{name}.service", SLEEPER)
    c.ctl("apply /root/shop")
    node.write("/root/shop/a.service", NO_USER)
    node.write("/root/shop/b.service", versioned(SLEEPER, 2))
    for _ in range(2):
        result = c.ctl_result("apply /root/shop")
        assert result.status == 1 and "apply a.service on " in result.err and GONE_BACK in result.err, result.err
        assert c.shown("a") == "loaded active running" and version(c, "b.service") == "2"
        assert c.ctl_result("apply --plan /root/shop").status == 5


def test_a_set_with_a_file_that_systemd_would_refuse(c: Cluster):
    node = c.node("n1")
    for name in ("a", "b"):
        node.write(f"/root/shop/{name}.service", SLEEPER)
    c.ctl("apply /root/shop")
    main_pid = pid(c, "a.service")
    node.write("/root/shop/a.service", NO_START)
    node.write("/root/shop/b.service", versioned(SLEEPER, 2))
    result = c.ctl_result("apply /root/shop")
    assert result.status == 1 and REFUSAL in result.err and "/root/shop/a.service:2: Unknown key" in result.err
    assert pid(c, "a.service") == main_pid and version(c, "b.service") == "2"
    # A drop-in of the node's is a part of what systemd would read.
    node.write("/etc/systemd/system/a.service.d/start.conf", "[Service]\nExecStart=/bin/sleep 1001\n")
    assert c.ctl_result("restart a").status == 0
    assert pid(c, "a.service") != main_pid and c.shown("a") == "loaded active running"
    node.run("rm -r /etc/systemd/system/a.service.d")


def test_an_answer_that_does_not_come_holds_up_nobody(c: Cluster):
    node = c.node("n1")
    c.start("web", SLEEPER)
    node.run("mv /usr/bin/systemd-analyze /usr/bin/systemd-analyze.real")
    node.write("/usr/bin/systemd-analyze", "#!/bin/sh\nexec sleep 1000\n")
    node.run("chmod 755 /usr/bin/systemd-analyze")
    node.write("/root/units/web.service", versioned(SLEEPER, 2))
    replacing = c.begin("start --replace /root/units/web.service")
    c.start("other", SLEEPER)
    assert version(c, "web.service") == "", "it waits for an answer that does not come"
    assert replacing.result().status == 0 and version(c, "web.service") == "2"
    node.run("mv /usr/bin/systemd-analyze.real /usr/bin/systemd-analyze")


def test_verify_tells_what_is_ignored_and_asks_no_pid_1(c: Cluster):
    node = c.node("n1")
    node.write("/root/units/odd.service", SLEEPER + "Restat=always\n[Instal]\nWantedBy=multi-user.target\n")
    node.write("/root/units/bad.service", NO_START)
    node.write("/root/units/fine@.service", SLEEPER)
    odd = c.ctl_result("verify /root/units/odd.service")
    assert odd.status == 7 and "/root/units/odd.service:3: warning: Unknown key 'Restat' in section [Service], ignoring" in odd.out, (odd.status, odd.out, odd.err)
    assert "odd.service:4: warning: Unknown section 'Instal'" in odd.out
    assert c.ctl_result("verify --local /root/units/odd.service").out == odd.out
    bad = json.loads(c.ctl_result("verify --json=short /root/units/bad.service").out)
    assert [(row["line"], row["severity"], row["nodes"]) for row in bad] == [(0, "error", ["n1"]), (2, "warning", ["n1"])], bad
    assert c.ctl_result("verify /root/units/fine@1.service").status == 0
    # An empty file and drop-ins are said, in whatever company.
    node.write("/root/units/empty.service", "")
    node.write("/root/parts/fine.service.d/nice.conf", "[Service]\nNice=5\n")
    empty = c.ctl_result("verify /root/units/fine@1.service /root/units/empty.service")
    assert empty.status == 1 and "/root/units/empty.service:1: error: the file is empty" in empty.out, empty
    node.run("mkdir -p /root/odd-ones/folder.service && ln -s /dev/null /root/odd-ones/masked.service && touch /root/odd-ones/empty.service")
    odd_ones = c.ctl_result("verify /root/odd-ones").out.splitlines()
    assert len(odd_ones) == 3 and sum("is not a regular file" in line for line in odd_ones) == 2, odd_ones
    parts = c.ctl_result("verify /root/parts")
    assert parts.status == 1 and "fine.service.d is a folder of drop-ins, and is left out; argosy takes the drop-ins in NAME.d" in parts.err, parts
    assert not node.run("systemctl list-units --all --plain --no-legend odd.service bad.service 'fine@*'").strip()


def said(c, unit, what):
    """What status says of the unit."""
    [status] = json.loads(c.ctl_result(f"status --json=short {unit}").out)
    return status[what]


def test_drop_ins_come_change_go_back_and_leave_with_their_unit(c: Cluster):
    node = c.node("n1")
    drop_in, place = "/root/bench/web.service.d/10-version.conf", "[X-Argosy]\nPacking=yes\n"
    paths = ["web.service.d/10-version.conf", "web.service.d/20-place.conf"]
    node.write("/root/bench/argosy.set", "set bench\n")
    node.write("/root/bench/web.service", SLEEPER)
    node.write(drop_in, versioned("[Service]\n", 1))
    node.write("/root/bench/web.service.d/20-place.conf", place)
    c.ctl("apply /root/bench")
    content = f"{SLEEPER}\n# {paths[0]}\n{versioned('[Service]' + chr(10), 1)}\n# {paths[1]}\n{place}"
    assert version(c, "web.service") == "1" and said(c, "web", "drop_ins") == paths
    assert c.ctl_result("cat web").out == content and node.run("systemctl cat web.service").count(content) == 1
    # What is exported is what was handed in, and applying it changes nothing.
    c.ctl("export --set=bench /root/again")
    node.run("diff -r -x argosy.set /root/bench /root/again")
    before = pid(c, "web.service")
    c.ctl("apply --set=bench /root/again")
    assert pid(c, "web.service") == before
    node.write(drop_in, versioned("[Service]\n", 2))
    c.ctl("apply /root/bench")
    assert version(c, "web.service") == "2" and pid(c, "web.service") != before
    assert "+Environment=VERSION=2" in c.ctl("diff web")
    c.ctl(f"undo {said(c, 'web', 'job')}")
    assert version(c, "web.service") == "1" and c.shown("web") == "loaded active running"
    # What does not start goes back with its drop-ins, and what is wrong is said with the line of its part.
    node.write("/root/bench/web.service.d/30-bad.conf", "[Service]\nExecStartPre=/bin/false\n")
    c.ctl_fails("start --replace /root/bench/web.service", saying=GONE_BACK)
    assert version(c, "web.service") == "1" and said(c, "web", "drop_ins") == paths
    node.write("/root/bench/web.service.d/30-bad.conf", "[X-Argosy]\n\nHots=n1\n")
    c.ctl_fails("start --replace /root/bench/web.service", saying="/root/bench/web.service.d/30-bad.conf:3: ")
    c.ctl("destroy web")
    assert not node.run("find /run/systemd/system -name 'web.service*'").strip()


def test_instances_of_two_revisions_have_their_own_drop_ins_whoever_reloads(c: Cluster):
    node = c.node("n1")
    node.write("/root/units/web@.service", SLEEPER)
    node.write("/root/units/web@.service.d/10-version.conf", versioned("[Service]\n", 1))
    node.write("/root/units/web@3.service.d/20-own.conf", versioned("[Service]\n", 3))
    c.ctl("start /root/units/web@{1..3}")
    node.write("/root/units/web@.service.d/10-version.conf", versioned("[Service]\n", 2))
    c.ctl("start --replace /root/units/web@2")
    node.run("systemctl daemon-reload")
    assert [version(c, f"web@{i}.service") for i in (1, 2, 3)] == ["1", "2", "3"]
    assert said(c, "web@3", "drop_ins") == ["web@.service.d/10-version.conf", "web@3.service.d/20-own.conf"]
    # A drop-in of the node's own is read behind all of them, and takes the place of none.
    node.write("/etc/systemd/system/web@2.service.d/10-version.conf", "[Service]\nNice=3\n")
    node.run("systemctl daemon-reload && systemctl restart web@2")
    assert version(c, "web@2.service") == "2"
    assert node.run("systemctl show --property=Nice --value web@2.service").strip() == "3"
    assert "/etc/systemd/system/web@2.service.d/10-version.conf (the node's own)\n" in c.ctl("status web@2")
    node.run("rm -r /etc/systemd/system/web@2.service.d && systemctl daemon-reload")
    node.write("/root/units/web@.service.d/10-version.conf", versioned("[Service]\n", 4))
    c.ctl("update --health=0.5 /root/units/web@.service")
    assert [version(c, f"web@{i}.service") for i in (1, 2, 3)] == ["4", "4", "3"]


main(nodes=1)
