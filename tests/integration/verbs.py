#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each verb of argosyctl does what its manual page says, from every node, and says so by its exit status."""

import json

from lib import SLEEPER, WAITS, Cluster, eventually, main

SLOW_START = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sleep 1\n"
STARTS_WHEN_TOLD = f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{WAITS}'\n"
SLOW_STOP = "[Service]\nExecStart=/bin/sleep infinity\nExecStop=/bin/sleep 1\n"
BROKEN = "[Service]\nType=oneshot\nExecStart=/bin/false\n"
TALKER = "[Service]\nExecStart=/bin/sh -c 'for i in 1 2 3 4 5; do echo line $i; done; while sleep 0.2; do echo more; done'\n"


def has_file(c, name):
    """The nodes on which argosy has put that unit file."""
    return [node.name for node in c.nodes if node.exec(["test", "-e", f"/run/systemd/system/{name}"]).status == 0]


def test_the_life_of_a_unit_verb_by_verb(c: Cluster):
    c.submit("web.service", SLEEPER)
    assert c.file_row("web")["desired"] == "inactive"
    assert c.row("web")["node"] == "-" and c.row("web")["active"] == "inactive"
    assert has_file(c, "web.service") == []

    c.ctl("load web")
    node = c.row("web")["node"]
    assert c.shown("web") == "loaded inactive dead"
    assert has_file(c, "web.service") == [node]
    assert c.file_row("web")["desired"] == "loaded"

    c.ctl("start web")
    assert c.where("web").name == node, "start moved a loaded unit"
    assert c.shown("web") == "loaded active running"
    assert c.file_row("web")["desired"] == "launched"
    first = c.invocation("web")
    c.ctl("start web")
    assert c.invocation("web") == first, "a second start started it again"

    c.ctl("restart web", on="n3")
    assert c.where("web").name == node and c.invocation("web") != first

    c.ctl("stop web", on="n2")
    assert c.where("web") is None
    assert c.shown("web") == "loaded inactive dead"
    assert has_file(c, "web.service") == [node]

    c.ctl("restart web")
    assert c.where("web").name == node, "restart also starts what did not run"

    c.ctl("unload web")
    assert c.where("web") is None and has_file(c, "web.service") == []
    assert c.row("web")["node"] == "-"

    c.ctl("start web")
    c.ctl("destroy web")
    assert c.where("web") is None and has_file(c, "web.service") == [] and c.known() == set()
    c.ctl_fails("start web", saying="web.service")


def test_verbs_return_when_it_is_done_and_not_before(c: Cluster):
    c.submit("slow.service", SLOW_START)
    c.ctl("start slow")
    assert c.shown("slow") == "loaded active exited"

    c.start("lazy", SLOW_STOP)
    node = c.where("lazy")
    c.ctl("stop lazy")
    assert node.run("systemctl show --property ActiveState --value lazy").strip() == "inactive"

    c.start("lazy", SLOW_STOP)
    node = c.where("lazy")
    c.ctl("destroy lazy")
    assert node.run("systemctl show --property LoadState --value lazy").strip() == "not-found"


def test_no_block_timeout_and_ctrl_c_cancel_nothing(c: Cluster):
    c.submit("slow@.service", STARTS_WHEN_TOLD)
    c.ctl("start --no-block slow@1")
    c.ctl_fails("start --timeout=2s slow@2", saying="goes on")
    interrupted = c.begin("start slow@3", on="n1")
    for number in (1, 2, 3):
        eventually(lambda: c.shown(f"slow@{number}") == "loaded activating start")
    c.node("n1").run("pkill -INT -x argosyctl")
    interrupted = interrupted.result()
    assert interrupted.status == 130 and "detached" in interrupted.err, interrupted
    c.let_go()
    eventually(lambda: all(c.shown(f"slow@{i}") == "loaded active exited" for i in (1, 2, 3)))


def test_a_state_is_waited_for_whoever_brings_it_about(c: Cluster):
    c.submit("web.service", SLEEPER)
    c.ctl("wait web --for=inactive")
    waiting = c.begin("wait web --for=active -v", on="n2")
    c.ctl("start web")
    node = c.where("web")
    assert waiting.result().out == f"web.service: active on {node.name}\n"
    waiting = c.begin("wait web --for=failed", on="n3")
    node.run("systemctl kill --signal=KILL web")
    assert waiting.result().status == 0
    c.ctl_fails("wait web --for=active --timeout=1s", saying="web.service was not seen to be active")
    waiting = c.begin("wait 'w*' --for=gone", on="n2")
    eventually(lambda: "argosyctl" in c.node("n2").run("pgrep -a argosyctl || true"))
    c.leader().run("systemctl restart argosyd")
    c.ctl("destroy web")
    assert waiting.result().status == 0
    c.ctl("wait web --for=gone")
    c.ctl_fails("wait web --for=active", status=4, saying="web.service: there is no such unit")


def test_ranges_files_and_several_units(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/units/w@.service", SLEEPER)
    n1.write("/root/units/one.service", SLEEPER)
    n1.write("/root/here.service", SLEEPER)
    c.ctl("start 'units/w@{1..9..2}' ./units/one here", on=n1)
    assert set(c.active("w@*")) == {f"w@{i}.service" for i in (1, 3, 5, 7, 9)}
    assert c.where("one") and c.where("here")
    c.ctl("submit units/w@", on=n1)
    c.ctl("start 'w@{a,b{1,2}}' 'w@{08..10}'", on="n2")
    assert {"w@a.service", "w@b1.service", "w@b2.service", "w@08.service", "w@10.service"} <= set(c.active("w@*"))
    c.ctl("stop 'w@*' one.service", on="n3")
    assert c.active("w@*") == {} and c.where("one") is None and c.where("here")
    assert max(c.spread("w@*").values(), default=0) == 0
    n1.run("rm /root/here.service")


def test_units_are_spread_over_the_nodes(c: Cluster):
    c.start("w@{1..12}")
    assert c.spread("w@*") == {"n1": 4, "n2": 4, "n3": 4}


def test_one_failing_unit_holds_up_no_other(c: Cluster):
    c.submit("w@.service", SLEEPER)
    c.submit("broken.service", BROKEN)
    failed = c.ctl_fails("start 'w@{1..3}' broken 'w@{4..6}'", saying=["broken.service on n", "exit-code"])
    assert "w@" not in failed.err
    c.assert_once("w@*", 6)
    assert c.shown("broken") == "loaded failed failed"
    report = {row["unit"]: row["ok"] for row in json.loads(c.ctl_fails("restart broken w@1 --json=short").out)}
    assert report == {"broken.service": False, "w@1.service": True}


def test_a_failed_start_says_where_and_with_the_last_words_of_the_log(c: Cluster):
    c.submit("bad.service", "[Unit]\nDescription=nothing to do\n[Service]\nUser=root\n")
    failed = c.ctl_fails("start bad").err
    node = c.row("bad")["node"]
    assert f"start bad.service on {node}: " in failed, failed
    eventually(lambda: "no ExecStart=" in c.ctl_result("start bad").err, what="what systemd says about the file")
    c.submit("broken.service", BROKEN)
    c.ctl_fails("start broken", saying="exit-code")
    assert c.file_row("broken")["state"] == c.file_row("bad")["state"] == "failed"
    assert c.file_row("broken")["desired"] == "launched"


def test_the_lines_under_a_failure_are_those_of_its_cause(c: Cluster):
    """By start and by apply: what systemd complains of before it sums up, what the program said last, nothing twice, nothing of before."""
    node = c.node("n1")
    where = "[X-Argosy]\nHost=n1\n"
    says = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo first; echo same; echo same; echo {what} >&2; exit 1'\n"
    units = {"env.service": ("[Service]\nEnvironmentFile=/etc/not-there\nExecStart=/bin/sleep infinity\n", "Failed to load environment files"),
             "says.service": (says.format(what="the last word"), "the last word"),
             "step.service": ("[Service]\nType=oneshot\nUser=nobody-of-that-name\nExecStart=/bin/true\n", "Failed at step USER"),
             "late.service": ("[Service]\nType=notify\nTimeoutStartSec=1\nExecStart=/bin/sh -c 'echo begun; exec sleep infinity'\n", "start operation timed out")}
    for name, (text, cause) in units.items():
        node.write(f"/root/causes/{name}", text + where)

        def lines():
            said = c.ctl_fails(f"start /root/causes/{name}", node).err.splitlines()
            return [line for line in said if line.startswith("  ")]

        eventually(lambda: any(cause in line for line in lines()), what=f"the cause of {name}: {cause}")
        found = lines()
        texts = [line.split("]: ", 1)[-1] for line in found]
        assert 0 < len(found) <= 3 and len(set(texts)) == len(texts), found
        c.ctl(f"destroy {name}")
    # Another life of the name says nothing of the one before.
    node.write("/root/causes/says.service", says.format(what="another one") + where)
    said = c.ctl_fails("start /root/causes/says.service", node).err
    assert "the last word" not in said, said
    c.ctl("destroy says.service")
    eventually(lambda: cause_by_apply(c, node), what="apply says the cause, too")


def cause_by_apply(c, node):
    said = c.ctl_fails("apply --set=causes /root/causes", node).err
    c.ctl_result("destroy env says step late", node)
    return "Failed to load environment files" in said and "the last word" not in said


def test_what_is_under_way_is_named(c: Cluster):
    c.submit("begins.service", STARTS_WHEN_TOLD)
    c.ctl("start begins --no-block")
    eventually(lambda: "activating" in c.shown("begins"))
    node = c.row("begins")["node"]
    c.ctl_fails("why begins", status=3, saying=f"begins.service on {node}: it is being started")
    c.let_go(*c.nodes)
    eventually(lambda: c.shown("begins") == "loaded active exited")


def test_why_of_many_is_told_unit_by_unit(c: Cluster):
    c.ctl("cordon n1 n2 n3 --reason=closed")
    c.submit("w@.service", SLEEPER)
    c.ctl("start --no-block w@{1..900}")
    for node in c.nodes:  # more than one turn looks at
        said = json.loads(c.ctl_fails("why w@{1..900} --json=short", on=node, status=3).out)
        assert [row["unit"] for row in said] == [f"w@{i}.service" for i in range(1, 901)], len(said)
        assert all({refusal["node"] for refusal in row["refusals"]} == {"n1", "n2", "n3"} for row in said)
    c.ctl("uncordon n1 n2 n3")
    c.ctl("destroy w@{1..900} w@")


def test_the_daemon_tells_systemd_how_many_units_it_has(c: Cluster):
    n1 = c.node("n1")
    pin = f"[X-Argosy]\nMachineID={n1.machine_id}\n"

    def status():
        return n1.run("systemctl show --property StatusText --value argosyd").strip()

    c.start("a b c", SLEEPER + pin)
    eventually(lambda: status().endswith("; 3 units here"))
    c.ctl("destroy a b")
    eventually(lambda: status().endswith("; 1 unit here"))


def test_cat_is_byte_for_byte(c: Cluster):
    text = "# \u00e4 comment\n\n[Service]\nExecStart=/bin/sleep \\\n  infinity"
    c.submit("odd.service", text)
    assert c.ctl("cat odd", on="n2") == text
    c.ctl_fails("cat nothing", saying="nothing.service")


def test_lists_in_text_and_json(c: Cluster):
    c.start("w@1")
    c.submit("known.service", SLEEPER)
    table = c.ctl("list-units").splitlines()
    assert table[0].split()[:5] == ["UNIT", "NODE", "LOAD", "ACTIVE", "SUB"]
    assert len(c.ctl("list-units --no-legend").splitlines()) == 2
    assert c.ctl("list-units --no-legend --fields=sub,unit 'w@*'").split() == ["running", "w@1.service"]
    assert c.ctl("list-units --no-legend --fields=unit --state=active").split() == ["w@1.service"]
    assert c.ctl("list-unit-files").splitlines()[0].split() == ["UNIT", "REV", "DESIRED", "STATE", "NODE"]
    assert c.ctl("list-nodes").splitlines()[0].split() == ["NODE", "ADDRESS", "STATE", "ROLE", "UNITS", "LABELS"]
    assert c.ctl("list-machines --no-legend --fields=machine,ip").split() == \
        ["n1", "10.77.0.1", "n2", "10.77.0.2", "n3", "10.77.0.3"]
    roles = [row["role"] for row in c.json("list-nodes")]
    assert sorted(roles) == ["leader", "voter", "voter"]
    assert [row["labels"] for row in c.json("list-nodes")] == [{"number": "1"}, {"number": "2"}, {"number": "3"}]
    for verb in ["list-units", "list-unit-files", "list-nodes"]:
        eventually(lambda: c.json(verb, on="n1") == c.json(verb, on="n2") == c.json(verb, on="n3"))
    c.ctl_fails("list-units --fields=colour", status=2, saying="colour")


def test_status_tells_what_systemctl_would_and_more(c: Cluster):
    c.start("talker", TALKER)
    node = c.where("talker")
    pid = node.run("systemctl show --property MainPID --value talker").strip()
    eventually(lambda: "line 5" in c.ctl("status -n 500 talker", on="n2"))
    text = c.ctl("status talker", on="n2")
    for words in ["talker.service", "active (running)", f"Node: {node.name}", "Desired: launched", pid,
                  "/run/systemd/system/talker.service"]:
        assert words in text, f"status does not say \"{words}\":\n{text}"
    c.ctl("stop talker")
    c.ctl_fails("status talker", status=3, saying=["inactive", "Desired: loaded"])
    c.ctl_fails("status nothing", status=4, saying="nothing.service")


def test_status_of_more_units_than_an_agent_looks_at_at_a_time(c: Cluster):
    c.start("w@{1..100}", SLEEPER + "[X-Argosy]\nHost=n3\n")
    for node in c.nodes:
        text = c.ctl("status 'w@{1..100}'", on=node)
        assert text.count("active (running)") == 100, text


def test_journal_comes_over_argosy_and_follows(c: Cluster):
    c.start("talker", TALKER)
    away = next(node for node in c.nodes if node.name != c.where("talker").name)
    eventually(lambda: "line 5" in c.ctl("journal -n 100 talker", on=away))
    assert len(c.ctl("journal -n 2 talker", on=away).splitlines()) == 2
    follower = c.begin("journal -f -n 1 talker", on=away)
    lines = [follower.line() for _ in range(5)]
    follower.kill()
    assert all("more" in line for line in lines[1:]), lines
    c.ctl_fails("journal nothing", saying="nothing.service")


def test_is_active_by_exit_status(c: Cluster):
    c.start("up")
    c.submit("down.service", SLEEPER)
    assert c.ctl("is-active up") == "active\n"
    assert c.ctl_fails("is-active down", status=3).out == "inactive\n"
    c.ctl_fails("is-active nothing", status=4)
    assert c.ctl("is-active -q down up", on="n2") == ""


def test_version_and_help(c: Cluster):
    assert "argosyctl" in c.ctl("version") and "argosyd" in c.ctl("version")
    assert "list-units" in c.ctl("--help") and "--replace" in c.ctl("start --help")
    assert "role set ROLE" in c.ctl("help role") and "cluster token" in c.ctl("help cluster")
    assert c.node("n1").run("argosyd --version").startswith("argosyd ")


def test_a_different_file_is_taken_only_with_replace(c: Cluster):
    c.submit("web.service", SLEEPER)
    newer = SLEEPER + "Environment=COLOUR=green\n"
    c.node("n1").write("/root/units/web.service", newer)
    kept = c.ctl_result("submit /root/units/web.service")
    assert kept.status == 0 and "web.service" in kept.err and "--replace" in kept.err, "no warning about a different file"
    assert c.ctl("cat web") == SLEEPER
    c.ctl("submit --replace /root/units/web.service")
    assert c.ctl("cat web") == newer


def test_start_replace_runs_the_new_file_and_less_than_that_disturbs_nothing(c: Cluster):
    c.start("web", SLEEPER)
    run, node = c.invocation("web"), c.where("web")
    c.node("n1").write("/root/units/web.service", SLEEPER + "Environment=COLOUR=green\n")
    for verb in ["submit", "load"]:
        c.ctl_fails(f"{verb} --replace /root/units/web.service", saying="start --replace")
    c.ctl_result("start /root/units/web.service")
    assert c.invocation("web") == run and c.ctl("cat web") == SLEEPER
    c.ctl("start --replace /root/units/web.service")
    assert c.where("web").name == node.name and c.invocation("web") != run
    assert "COLOUR=green" in node.run("systemctl show --property Environment web")
    assert not c.row("web")["stale"]


def test_start_takes_the_patterns_that_other_verbs_take(c: Cluster):
    c.start("t-1 t-2 t-3 other")
    c.ctl("stop 't-*'")
    c.ctl("start 't-*'")
    assert sorted(c.active("t-*")) == ["t-1.service", "t-2.service", "t-3.service"]
    c.ctl("unload 't-*' other")
    c.ctl("load 't-[12].service'")
    assert [c.row(f"t-{i}")["load"] for i in (1, 2)] == ["loaded"] * 2 and c.row("t-3")["node"] == "-"
    assert "t-3.service: " in c.ctl("plan 't-*'")
    c.ctl_fails("start 'x-*'", saying="no unit matches 'x-*'")
    c.ctl_fails("submit 't-*'", status=2, saying="no patterns")


def test_an_instance_is_made_like_the_others_where_the_template_is_no_file(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/units/worker@.service", SLEEPER)
    c.ctl("start ./units/worker@{1..2}", on=n1)
    assert c.known() == {"worker@1.service", "worker@2.service"}, "the template became a unit of its own"
    c.ctl("start worker@7", on="n2")
    assert c.ctl("cat worker@7") == SLEEPER and c.shown("worker@7") == "loaded active running"
    n1.write("/root/units/worker@.service", SLEEPER + "# another\n")
    c.ctl("start ./units/worker@3", on=n1)
    c.ctl_fails("start worker@8", on="n2", saying="different contents")
    c.ctl("destroy 'worker@*'")
    c.ctl_fails("start worker@7", on="n2", saying="no template")


def test_what_is_no_unit_is_called_what_it_is(c: Cluster):
    node = c.node("n1")
    folder = "/root/mistakes"
    for name in ("blog.pod", "data.volume", "10-x.conf", "compose.yml", "plain", "sub/x.service"):
        node.write(f"{folder}/{name}", SLEEPER)
    node.write(f"{folder}/web.service", SLEEPER)
    node.write(f"{folder}/backup@.service", SLEEPER)
    for verb in ("submit", "load", "start", "plan", "update"):
        c.ctl_fails(f"{verb} {folder}/blog.pod", node, status=2, saying=(f"{folder}/blog.pod is a Quadlet file", "makes blog-pod.service"))
        c.ctl_fails(f"{verb} {folder}/plain", node, status=2, saying=f"{folder}/plain is not a unit file")
        c.ctl_fails(f"{verb} {folder}/wbe.service", node, saying=f"did you mean {folder}/web.service?")
    for verb in ("start", "status", "cat", "why", "stop", "journal"):
        c.ctl_fails(f"{verb} {folder}/sub", node, status=2, saying=f"`argosyctl apply {folder}/sub`")
        c.ctl_fails(f"{verb} backup@/srv/data", node, status=2, saying="say 'backup@srv-data.service'")
    said = c.ctl_result(f"apply --plan --set=mistakes {folder}", node).err
    for words in ("data.volume is a Quadlet file", "10-x.conf is a drop-in", "compose.yml is YAML", "plain is no unit file"):
        assert words in said, said
    c.ctl_fails(f"apply --set=mistakes {folder}/web.service", node, status=2, saying=f"`argosyctl start {folder}/web.service`")

    c.ctl(f"submit {folder}/web.service {folder}/backup@.service", node)
    for verb in ("start", "stop", "why", "cat", "status", "journal"):
        result = c.ctl_result(f"{verb} wbe", node)
        assert result.status != 0 and "did you mean web.service?" in result.err, f"{verb}: {result.err}"
    c.ctl_fails("start bakcup@3", node, saying="did you mean backup@3.service?")
    c.ctl_fails("stop blog.pod", node, saying="blog.pod would be a Quadlet file")


def test_one_unit_with_two_files_is_refused(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/a/two@1.service", SLEEPER)
    n1.write("/root/b/two@.service", SLEEPER + "# another\n")
    c.ctl_fails("start a/two@1 b/two@1", on=n1, status=2, saying=["a/two@1.service", "b/two@.service"])
    assert c.known() == set()


def test_a_state_that_nothing_can_be_in_is_refused(c: Cluster):
    for verb, word, known in (("list-units", "loopin", "looping"), ("list-unit-files", "active", "launched"),
                              ("list-nodes", "onlin", "online"), ("list-jobs", "runnin", "running")):
        result = c.ctl_result(f"{verb} --state={word}")
        assert result.status == 2 and f"'{word}' is no state of a " in result.err and known in result.err, result.err
        assert c.ctl_result(f"{verb} --state={known}").status == 0


def test_wrong_command_lines_exit_with_2_and_do_nothing(c: Cluster):
    for command in ["frobnicate", "start", "start --frobnicate web", "list-nodes web", "stop --replace web",
                    "start --timeout=soon web", "list-units --json=xml"]:
        c.ctl_fails(command, status=2)
    assert c.known() == set()


def test_bad_units_are_refused_with_their_place_and_nothing_half_done(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/units/good.service", SLEEPER)
    for name, text, words in [
            ("header.service", "# one\n[Service\nExecStart=/bin/true\n", ["header.service:2"]),
            ("empty.service", "", ["empty.service", "empty"]),
            ("nul.service", SLEEPER + "\0", ["nul.service:3"]),
            ("key.service", SLEEPER + "[X-Argosy]\nMachineMetadata=a=b\nColour=green\n", ["key.service:5", "Colour"]),
            ("fleet.service", SLEEPER + "[X-Fleet]\nMachineOff=a\n", ["fleet.service:4", "MachineOff"]),
            ("label.service", SLEEPER + "[X-Argosy]\nMachineMetadata=a b\n", ["label.service:4"]),
            ("section.service", SLEEPER + "[X-argosy]\nGlobal=yes\n", ["section.service:3", "[X-Argosy]"]),
            ("old.service", SLEEPER + "[X-fleet]\nGlobal=true\n", ["old.service:3", "[X-Fleet]"])]:
        n1.write(f"/root/units/{name}", text)
        c.ctl_fails(f"start /root/units/{name}", on=n1, saying=words)
        assert name not in c.known()
    for verb in ["start", "stop", "status", "cat", "update", "list-units"]:
        c.ctl_fails(f"{verb} 'we b.service'", status=2, saying="'we b.service' is not a unit name")
    c.ctl_fails("start a.scope", status=2, saying="a.scope")
    c.ctl_fails("start ./units/missing.service", on=n1, saying="missing.service")
    for name in ["argosyd.service", "systemd-journald.service", "dbus.service", "argosy-1.slice"]:
        n1.write(f"/root/units/{name}", SLEEPER if name.endswith("service") else "[Slice]\n")
        c.ctl_fails(f"start /root/units/{name}", on=n1, saying=name)
    assert c.known() == set()


main(nodes=3, conf=[f"n{number}:Node.Labels=number={number}" for number in (1, 2, 3)])
