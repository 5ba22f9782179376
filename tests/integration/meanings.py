#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What loaded, started and stopped mean, whatever happens around it; and where units may run."""

from lib import KEPT, ONE_SHOT, QUICK, SLEEPER, WAITS, Cluster, eventually, main, stays


def test_loaded_is_shown_so_although_systemd_forgets(c: Cluster):
    c.submit("web.service", SLEEPER)
    c.ctl("load web")
    node = c.node(c.row("web")["node"])
    eventually(lambda: "web.service" not in node.run("systemctl list-units --all --plain --no-legend web.service"),
               what="systemd drops it, which this test is about")
    assert c.shown("web") == "loaded inactive dead"
    node.run("systemctl restart argosyd")
    eventually(lambda: c.shown("web") == "loaded inactive dead")


def test_a_file_that_systemd_cannot_use_is_reported_by_load(c: Cluster):
    c.submit("empty.service", "[Service]\nRestart=always\n")
    c.ctl_fails("load empty", saying="empty.service")
    assert c.row("empty")["load"] == "bad-setting"
    c.ctl_fails("start empty", saying="empty.service")


def as_systemctl_says(c, unit):
    row = c.row(unit)
    return row["load"] == c.node(row["node"]).run(f"systemctl show -P LoadState {unit}").strip()


def test_LOAD_is_what_systemctl_says_whatever_came_before(c: Cluster):
    c.submit("lacks.service", "[Service]\nEnvironmentFile=/etc/not-there\nExecStart=/bin/true\n")
    c.ctl_fails("start lacks", saying="resources")
    assert c.row("lacks")["load"] == "loaded"
    c.submit("empty.service", "[Service]\nType=oneshot\n")
    c.ctl_fails("start empty", saying="refused")
    eventually(lambda: c.row("empty")["load"] == "bad-setting")
    c.start("web", SLEEPER)
    node = c.node(c.row("web")["node"])
    node.run("rm /run/systemd/system/web.service && systemctl daemon-reload")
    eventually(lambda: c.row("web")["load"] == "not-found")
    assert as_systemctl_says(c, "web.service")
    for each in c.nodes:
        each.run("systemctl restart argosyd")
    c.wait_online()
    eventually(lambda: c.shown("web") == "loaded active running", what="its file is back, and read")
    assert c.row("empty")["load"] == "bad-setting", "a restart of argosyd forgot that"
    node.run("systemctl stop web")
    eventually(lambda: c.shown("web") == "loaded inactive dead")
    assert as_systemctl_says(c, "web.service") and as_systemctl_says(c, "empty.service")


def test_a_finished_one_shot_is_not_run_again(c: Cluster):
    c.start("once", ONE_SHOT)
    assert c.runs("once") == 1
    assert c.shown("once") == "loaded inactive dead"
    node = c.node(c.row("once")["node"])

    for each in c.nodes:
        each.run("systemctl restart argosyd")
    c.wait_online()
    before = node.init_pid()
    node.exec(["systemctl", "reboot"])
    eventually(lambda: node.init_pid() not in (None, before))
    c.wait_online()
    assert c.runs("once") == 1, "a restart or a reboot ran it again"

    node.kill()
    eventually(lambda: c.node_states()[node.name] == "lost")
    stays(lambda: c.runs("once") == 1, 1)
    node.boot()
    c.wait_online()
    stays(lambda: c.runs("once") == 1, 1)

    c.ctl("start once")
    assert c.runs("once") == 2, "start did not run it again"


def test_a_one_shot_whose_node_dies_in_the_middle_runs_elsewhere(c: Cluster):
    c.submit("long.service", f"[Service]\nType=oneshot\nExecStart=/bin/sh -c '{WAITS}; echo %n >>/root/runs'\n")
    c.ctl("start --no-block long")
    node = eventually(lambda: c.where("long"))
    node.kill()
    c.let_go()
    eventually(lambda: c.runs("long") == 1)
    node.boot()
    c.wait_online()
    stays(lambda: c.runs("long") == 1 and c.where("long") is None, 1.5)


def test_units_on_their_way_are_inactive_and_none_of_an_online_node_is_unknown(c: Cluster):
    c.submit("first.service", f"[Service]\nType=oneshot\nExecStart=/bin/sh -c '{WAITS}'\n")
    c.submit("behind@.service", SLEEPER + "[X-Argosy]\nAfter=first.service\n")
    c.ctl("start --no-block first " + " ".join(f"behind@{i}" for i in range(20)))
    rows = c.json("list-units behind@* --state=inactive,unknown")
    assert len(rows) == 20 and {row["active"] for row in rows} == {"inactive"}, rows
    assert {row["node"] for row in rows} == {node.name for node in c.nodes}
    assert {row["state"] for row in c.json("list-unit-files behind@*")} <= {"inactive", "loaded"}
    c.let_go()
    eventually(lambda: len(c.json("list-units behind@* --state=active")) == 20)


def test_what_somebody_stops_by_hand_stays_stopped_and_shows_as_drift(c: Cluster):
    c.start("web", KEPT)
    node = c.where("web")
    node.run("systemctl stop web")
    eventually(lambda: c.row("web")["drift"])
    assert c.shown("web") == "loaded inactive dead"
    assert "drift" in c.ctl("list-units web")
    c.ctl_fails("status web", status=3, saying="Drift")

    node.run("systemctl restart argosyd")
    c.wait_online()
    stays(lambda: c.where("web") is None, 1)
    assert eventually(lambda: c.row("web")["drift"])

    c.ctl("start web")
    assert c.where("web").name == node.name and not c.row("web")["drift"]


def test_what_hides_the_file_of_a_unit_that_is_not_loaded_is_shown(c: Cluster):
    here = f"[X-Argosy]\nMachineID={c.node('n2').machine_id}\n"
    node = c.node("n2")
    c.start("m1 w@1 w@2", SLEEPER + here)
    node.run("systemctl stop m1 w@1 w@2")
    for unit in ("m1", "w@1", "w@2"):
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
    node.run("systemctl mask m1")
    eventually(lambda: c.shown("m1") == "masked inactive dead")
    c.ctl_fails("start m1", saying="masked")
    node.run("systemctl unmask m1")
    eventually(lambda: c.shown("m1") == "loaded inactive dead")

    # Nobody reloads: the files alone say it. A template's file is that of its instances.
    node.run("mkdir -p /etc/systemd/system; ln -s /dev/null /etc/systemd/system/w@.service")
    eventually(lambda: c.shown("w@1") == c.shown("w@2") == "masked inactive dead")
    node.run("rm /etc/systemd/system/w@.service")
    eventually(lambda: c.shown("w@1") == c.shown("w@2") == "loaded inactive dead")
    node.run("rm /run/systemd/system/m1.service")
    eventually(lambda: c.shown("m1") == "not-found inactive dead")
    assert c.shown("w@1") == "loaded inactive dead"
    c.ctl("start m1")
    assert c.shown("m1") == "loaded active running"

    # One that runs is as systemd has it; what hides its file shows when it is down.
    node.run("systemctl mask m1")
    c.ctl("stop m1")
    eventually(lambda: c.shown("m1") == "masked inactive dead")
    node.run("systemctl unmask m1")
    eventually(lambda: c.shown("m1") == "loaded inactive dead")


def test_what_systemd_skips_is_said_so_and_is_nobodys_doing(c: Cluster):
    c.submit("only.service", "[Unit]\nConditionPathExists=/root/nowhere\n" + SLEEPER)
    out = c.ctl_result("start only").err
    assert "skipped its start: ConditionPathExists=/root/nowhere is not met" in out, out
    assert c.row("only")["note"] == "skipped" and not c.row("only")["drift"]
    c.submit("two.service", "[Unit]\nConditionPathExists=/\nConditionPathExists=/root/nowhere\n" + SLEEPER)
    assert "one of ConditionPathExists=/, ConditionPathExists=/root/nowhere is not met; `argosyctl journal` says which" in c.ctl_result("start two").err
    assert "ConditionPathExists=/root/nowhere" in c.ctl("journal two")
    c.ctl("destroy two")
    c.ctl_fails("why only", status=3, saying="ConditionPathExists=/root/nowhere")
    c.submit("gate.service", "[Service]\nExecCondition=/bin/false\nExecStart=/bin/sleep infinity\n")
    assert "ExecCondition=/bin/false is not met" in c.ctl_result("start gate").err
    c.submit("once.service", "[Unit]\nConditionPathExists=/root/nowhere\n" + ONE_SHOT)
    assert "skipped" in c.ctl_result("start once").err and c.runs("once") == 0
    assert "nowhere" in c.ctl("why once")
    assert {row["unit"] for row in c.json("list-units --state=skipped")} == {"only.service", "gate.service", "once.service"}


def test_what_ends_by_itself_or_was_reset_is_no_drift(c: Cluster):
    c.start("ends", "[Service]\nExecStart=/bin/sleep 0.5\n")
    c.start("killed", KEPT)
    c.submit("unneeded.service", "[Unit]\nStopWhenUnneeded=yes\n" + KEPT)
    c.ctl("start --no-block unneeded")
    eventually(lambda: c.row("unneeded")["note"] == "unneeded")
    c.submit("fails.service", "[Service]\nExecStart=/bin/false\n")
    c.ctl_fails("start fails")
    c.node(c.row("fails")["node"]).run("systemctl reset-failed fails")
    c.where("killed").run("systemctl kill killed")
    eventually(lambda: [c.row(unit)["note"] for unit in ("ends", "killed", "fails")] == ["ended", "drift", "reset"])
    for node in c.nodes:
        node.run("systemctl restart argosyd")
    c.wait_online()
    eventually(lambda: [c.row(unit)["note"] for unit in ("ends", "killed", "fails")] == ["ended", "drift", "reset"])


def test_what_goes_down_with_a_unit_that_argosy_stops_is_no_drift(c: Cluster):
    here = f"[X-Argosy]\nMachineID={c.node('n2').machine_id}\n"
    c.start("base", SLEEPER + here)
    for kind in ("BindsTo", "PartOf", "Requires"):
        c.start(kind.lower(), f"[Unit]\n{kind}=base.service\nAfter=base.service\n" + SLEEPER + here)
    c.start("rival", "[Unit]\nConflicts=beaten.service\n" + SLEEPER + here)
    c.start("beaten", SLEEPER + here)
    eventually(lambda: c.row("rival")["note"] == "conflict")
    c.ctl("start rival")
    eventually(lambda: c.row("beaten")["note"] == "conflict")
    for verb in ("why", "status"):
        assert "rival.service" in c.ctl_result(f"{verb} beaten").out
    c.ctl("start beaten")
    eventually(lambda: c.row("rival")["note"] == "conflict")
    assert "beaten.service" in c.ctl_result("why rival").out
    c.ctl("destroy rival beaten")
    c.start("by-another", "[Unit]\nPartOf=bindsto.service\n" + SLEEPER + here)
    c.ctl("stop base")
    eventually(lambda: c.row("by-another")["note"] == "bound")
    c.ctl("destroy by-another")
    for unit in ("bindsto", "partof", "requires"):
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        assert not c.row(unit)["drift"], unit
        assert "systemd stopped it with base.service, which it is bound to" in c.ctl_result(f"why {unit}").out
    c.ctl("start base bindsto partof requires")
    c.ctl("destroy base")
    for unit in ("bindsto", "partof", "requires"):
        eventually(lambda: c.shown(unit) == "loaded inactive dead")  # noqa: B023
        assert not c.row(unit)["drift"], unit
    c.start("base", SLEEPER + here)
    c.ctl("start bindsto")
    c.node("n2").run("systemctl stop bindsto")
    eventually(lambda: c.row("bindsto")["drift"])


def test_what_systemd_stops_for_a_foreign_unit_is_no_drift(c: Cluster):
    here = f"[X-Argosy]\nMachineID={c.node('n2').machine_id}\n"
    node = c.node("n2")
    for name, text in (
        ("rival.service", "[Unit]\nConflicts=rivalled.service\n" + SLEEPER),
        ("mine.service", SLEEPER),
        ("ground.service", "[Unit]\nAfter=group.target\n" + SLEEPER),  # so that systemd remembers when that was stopped
        ("group.target", "[Unit]\n"),
        ("bare.service", SLEEPER),  # which systemd forgets when it is stopped
        ("task.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n"),
    ):
        node.write(f"/run/systemd/system/{name}", text)
    node.run("systemctl daemon-reload; systemctl start ground.service group.target bare.service")
    c.start("barely", "[Unit]\nPartOf=bare.service\n" + SLEEPER + here)
    c.start("needing", "[Unit]\nRequires=bare.service\nAfter=bare.service\n" + SLEEPER + here)
    c.start("untasked", "[Unit]\nConflicts=task.service\n" + SLEEPER + here)
    c.start("rivalled", SLEEPER + here)
    c.start("shy", "[Unit]\nConflicts=mine.service\n" + SLEEPER + here)
    c.start("member", "[Unit]\nPartOf=group.target\n" + SLEEPER + here)
    c.start("bound", "[Unit]\nBindsTo=ground.service\nAfter=ground.service\n" + SLEEPER + here)
    c.start("alone", "[Unit]\nPartOf=group.target\nConflicts=rival.service\n" + SLEEPER + here)
    node.run("systemctl stop alone")
    eventually(lambda: c.row("alone")["note"] == "drift")
    node.run("systemctl stop group.target; systemctl kill -s KILL ground; systemctl start rival mine task; systemctl stop bare")
    for unit, word, by in (
        ("rivalled", "conflict", "rival.service"),
        ("shy", "conflict", "mine.service"),
        ("member", "bound", "group.target"),
        ("bound", "bound", "ground.service"),
        ("barely", "bound", "bare.service"),
        ("needing", "bound", "bare.service"),
        ("untasked", "conflict", "task.service"),
    ):
        eventually(lambda: c.row(unit)["note"] == word)  # noqa: B023
        assert by in c.ctl_result(f"why {unit}").out, unit
    node.run("systemctl stop rival mine")
    c.ctl("start rivalled shy member")
    node.run("systemctl stop rivalled")
    eventually(lambda: c.row("rivalled")["note"] == "drift")


def test_an_assert_that_does_not_hold_is_named(c: Cluster):
    c.submit("sure.service", "[Unit]\nAssertPathExists=/root/nowhere\n" + SLEEPER)
    c.ctl_fails("start sure", saying="AssertPathExists=/root/nowhere does not hold")


def test_what_somebody_starts_by_hand_is_left_running(c: Cluster):
    c.start("web")
    node = c.where("web")
    c.ctl("stop web")
    node.run("systemctl start web")
    eventually(lambda: c.shown("web") == "loaded active running")
    stays(lambda: c.where("web"), 1)
    c.ctl("stop web")
    assert c.where("web") is None


def test_a_failed_unit_stays_where_it_is_and_is_shown(c: Cluster):
    c.submit("short.service", f"[Service]\nExecStart=/bin/sh -c '{WAITS}; exit 7'\n")
    c.ctl("start short")
    c.let_go()
    eventually(lambda: c.shown("short") == "loaded failed failed")
    assert "short.service" in c.ctl("list-units --state=failed")
    c.ctl_fails("status short", status=3, saying="exit-code")
    stays(lambda: c.shown("short") == "loaded failed failed", 1)


def test_a_global_unit_runs_on_every_node_that_may_have_it(c: Cluster):
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    assert sorted(c.active("everywhere")["everywhere.service"]) == ["n1", "n2", "n3"]
    assert [row["node"] for row in c.rows("everywhere")] == ["n1", "n2", "n3"]
    c.start("fleet", SLEEPER + "[X-Fleet]\nGlobal=true\nMachineMetadata=rack=a\n")
    assert sorted(c.active("fleet")["fleet.service"]) == ["n1", "n2"]
    c.ctl("stop everywhere")
    assert c.active("everywhere") == {}
    assert [row["active"] for row in c.rows("everywhere")] == ["inactive"] * 3
    c.ctl("destroy everywhere fleet")
    assert c.active("fleet") == {} and c.rows() == []


def test_machine_id_and_labels_say_where(c: Cluster):
    n2 = c.node("n2")
    c.start("there", SLEEPER + f"[X-Argosy]\nMachineID={n2.machine_id}\n")
    assert c.where("there").name == "n2"
    c.start("rack@{1..4}", SLEEPER + "[X-Fleet]\nMachineMetadata=rack=a\n")
    assert c.spread("rack@*") == {"n1": 2, "n2": 2} or set(c.spread("rack@*")) == {"n1", "n2"}
    c.start("either@{1..6}", SLEEPER + "[X-Argosy]\nMachineMetadata=rack=b disk=ssd\nMachineMetadata=rack=a\n")
    assert set(c.spread("either@*")) == {"n2", "n3"}, "of one key any value, of several keys all"


def test_a_unit_that_no_node_can_take_is_refused_at_once_with_reasons(c: Cluster):
    c.submit("nowhere.service", SLEEPER + "[X-Argosy]\nMachineMetadata=rack=z\n")
    c.ctl_fails("start nowhere", saying=["nowhere.service", "n1: ", "n2: ", "n3: ", "rack"], timeout=30)
    assert c.where("nowhere") is None


def test_labels_can_change_while_all_runs(c: Cluster):
    c.submit("late.service", SLEEPER + "[X-Argosy]\nMachineMetadata=colour=green\n")
    c.ctl_fails("start late")
    n3 = c.node("n3")
    n3.write("/etc/argosy/argosy.conf.d/20-green.conf", "[Node]\nLabels=colour=green\n")
    n3.run("systemctl reload argosyd")
    eventually(lambda: "green" in c.ctl("list-nodes"))
    c.ctl("start late")
    assert c.where("late").name == "n3"
    n3.run("rm /etc/argosy/argosy.conf.d/20-green.conf && systemctl reload argosyd")


main(nodes=3, conf=[*QUICK, "n1:Node.Labels=rack=a", "n2:Node.Labels=rack=a disk=ssd", "n3:Node.Labels=rack=b disk=ssd"])
