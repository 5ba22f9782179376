#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A one-shot runs once for each start, whatever becomes of argosyd meanwhile, and how it ended is known to everybody."""

import json
import time

from lib import PATIENT, SLEEPER, Cluster, Failure, eventually, main

# Leaves a line for every run, waits for /root/go, and ends as /root/ends says. systemd notes nothing of its start in the journal.
JOB = "#!/bin/sh\necho $1 >>/root/runs\nwhile [ ! -e /root/go ]; do sleep 0.05; done\n. /root/ends\n"
QUIET = "[Service]\nType=oneshot\nLogLevelMax=notice\nExecStart=/root/job %n\n"
PINS = "systemctl list-units --all --plain --no-legend 'argosy-pin@*'"


def prepare(c, ends="exit 0"):
    for node in c.nodes:
        node.write("/root/job", JOB)
        node.write("/root/ends", ends + "\n")
        node.run("chmod +x /root/job")


def kill_argosyd(node):
    """As a crash, but it is not back before somebody starts it."""
    node.run("systemctl kill -s STOP argosyd; systemctl stop --no-block argosyd.socket argosyd.service; systemctl kill -s KILL argosyd")
    eventually(lambda: node.run("systemctl is-active argosyd || true").strip() in ("inactive", "failed"))


def start_argosyd(node):
    node.run("systemctl reset-failed argosyd.socket argosyd.service || true; systemctl start argosyd.socket argosyd.service")


def state_of(node, unit):
    return node.run(f"systemctl show --value --property=ActiveState {unit}").strip()


def begin(c, unit, text=QUIET):
    """Starts it; returns the node on which it runs."""
    c.submit(f"{unit}.service", text)
    c.ctl(f"start --no-block {unit}")
    eventually(lambda: c.runs(unit) == 1)
    return next(node for node in c.nodes if node.path("/root/runs").exists())


def said(c, verb):
    return " ".join(c.ctl_result(f"{verb} job").out.split())


def says(c, words):
    """Whether `why` says that, and nothing else."""
    seen = said(c, "why")
    if seen != words:
        raise Failure(seen)
    return True


def outcome(c, verb):
    [row] = json.loads(c.ctl_result(f"{verb} job --json=short").out)
    return row["outcome"]


def crash(c, node, unit, meanwhile=None):
    """The unit runs, argosyd is killed there, the unit ends, argosyd is back."""
    kill_argosyd(node)
    node.run("touch /root/go")
    eventually(lambda: state_of(node, unit) in ("inactive", "failed"))
    if meanwhile:
        meanwhile(node)
    start_argosyd(node)
    c.wait_online()


def crash_around(c, unit, text=QUIET, meanwhile=None):
    node = begin(c, unit, text)
    crash(c, node, unit, meanwhile)
    return node


def test_a_crash_of_argosyd_runs_no_one_shot_twice(c: Cluster):
    prepare(c)
    node = crash_around(c, "job")
    eventually(lambda: "has finished" in c.ctl_result("why job").out)
    assert c.runs("job") == 1, "it was run again"
    eventually(lambda: node.run(PINS) == "")
    assert c.shown("job") == "loaded inactive dead"


def test_a_one_shot_that_failed_meanwhile_has_failed(c: Cluster):
    prepare(c, "exit 3")
    node = crash_around(c, "job")
    eventually(lambda: "failed" in c.ctl_result("why job").out + c.ctl_result("why job").err)
    assert c.runs("job") == 1 and state_of(node, "job") == "failed"
    node.run("truncate -s 0 /root/ends")
    c.ctl("start job")
    assert c.runs("job") == 2


def test_a_failure_that_somebody_resets_meanwhile_is_one(c: Cluster):
    prepare(c, "exit 3")
    node = crash_around(c, "job", meanwhile=lambda node: node.run("systemctl reset-failed job"))
    eventually(lambda: "it failed, and somebody has reset that" in said(c, "why"))
    assert c.runs("job") == 1 and state_of(node, "job") == "inactive"
    assert outcome(c, "why") == c.file_row("job")["state"] == "failed"
    node.run("truncate -s 0 /root/ends")
    c.ctl("start job")
    assert "it has finished" in said(c, "why")


def test_what_systemd_does_not_let_begin_has_failed(c: Cluster):
    prepare(c)
    c.let_go()
    ways = {
        "Requires=bad.service\nAfter=bad.service": "start failed because of a dependency",
        "Requires=nobody.service": "start was refused by systemd: Unit nobody.service not found",
        "AssertPathExists=/nowhere": "AssertPathExists=/nowhere does not hold",
        "RefuseManualStart=yes": "start was refused by systemd",
    }
    for node in c.nodes:
        node.write("/etc/systemd/system/bad.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    c.submit("job.service", QUIET)
    c.submit("needs.service", SLEEPER + "[X-Argosy]\nRequires=job.service\n")
    for options, words in ways.items():
        c.node("n1").write("/root/units/job.service", f"[Unit]\n{options}\n{QUIET}")
        c.ctl_fails("start --replace /root/units/job.service", on="n1", saying=words)
        c.ctl_fails("why job", status=3, saying=words)
        assert outcome(c, "why") == "failed"
    c.ctl_fails("start needs", saying="waiting for job.service")
    assert not c.where("needs") and c.runs("job") == 0
    c.node("n1").write("/root/units/job.service", f"[Unit]\nConditionPathExists=/nowhere\n{QUIET}")
    c.ctl("start --replace /root/units/job.service", on="n1")
    assert "systemd skipped its start: ConditionPathExists=/nowhere is not met" in said(c, "why") and c.runs("job") == 0
    eventually(lambda: c.where("needs"))
    for node in c.nodes:
        node.run("rm /etc/systemd/system/bad.service")


def test_killed_at_any_moment_it_runs_once(c: Cluster):
    prepare(c)
    c.let_go()
    node = c.leader()
    c.ctl(f"cordon {' '.join(n.name for n in c.nodes if n.name != node.name)}")
    for i, pause_ms in enumerate((0, 3, 6, 10, 20, 50, 150)):
        unit = f"job-{i}"
        c.submit(f"{unit}.service", QUIET)
        c.ctl(f"start --no-block {unit}")
        time.sleep(pause_ms / 1000)
        kill_argosyd(node)
        start_argosyd(node)
        c.wait_online()
        eventually(lambda: "has finished" in c.ctl_result(f"why {unit}").out, what=unit)
        assert c.runs(unit) == 1, f"{unit} has run {c.runs(unit)} times"


def test_new_content_and_removal_leave_nothing_pinned(c: Cluster):
    prepare(c)
    c.let_go()
    c.start("job", QUIET)
    node = next(node for node in c.nodes if node.path("/root/runs").exists())
    node.write("/root/units/job.service", QUIET + "Environment=A=b\n")
    reloads = node.journal("init.scope", grep="Reloading")
    c.ctl("start --replace /root/units/job.service", on=node)
    assert c.runs("job") == 2
    assert node.journal("init.scope", grep="Reloading") == reloads, "new content needed a reload"
    c.ctl("destroy job")
    assert node.run(PINS) == ""
    eventually(lambda: "argosy-pin" not in node.run("ls /run/systemd/system"))


def test_start_returns_when_the_log_has_the_outcome(c: Cluster):
    prepare(c)
    c.let_go()
    for i in range(5):
        c.start(f"job-{i}", QUIET)
        assert "it has finished" in c.ctl(f"why job-{i}")
    for node in c.nodes:
        node.write("/root/ends", "exit 3\n")
    c.submit("bad.service", QUIET)
    c.ctl_fails("start bad")
    c.ctl_fails("why bad", status=3, saying="failed")


def test_why_tells_of_a_slow_stop(c: Cluster):
    c.start("slow", "[Service]\nExecStart=/bin/sleep infinity\nExecStop=/bin/sh -c 'while [ ! -e /root/go ]; do sleep 0.05; done'\n")
    node = c.where("slow")
    c.ctl("stop --no-block slow")
    eventually(lambda: state_of(node, "slow") == "deactivating")
    c.ctl_fails("why slow", status=3, saying="being stopped")
    c.let_go()
    eventually(lambda: "all is as wanted" in c.ctl_result("why slow").out)


def lose_the_pin(node):
    node.run("systemctl stop argosy-pin@job.service.target; systemctl daemon-reload")
    eventually(lambda: node.run("systemctl list-units --all --plain --no-legend job.service") == "", what="systemd forgets how it ended")


def assert_unknown(c, node):
    """Everybody says so."""
    text = "its outcome is unknown: nobody can tell whether it ran to its end while argosyd was away"
    eventually(lambda: says(c, f"job.service on {node.name}: {text}; `start` runs it again"))
    assert text in said(c, "status")
    assert outcome(c, "why") == outcome(c, "status") == c.file_row("job")["state"] == "unknown"
    assert c.runs("job") == 1


def test_what_nobody_knows_is_not_run_again(c: Cluster):
    prepare(c)
    node = c.node("n2")
    c.submit("job.service", QUIET + "[X-Argosy]\nHost=n2\n")
    c.submit("goes-on.service", SLEEPER + "[X-Argosy]\nAfter=job.service\n")
    c.submit("needs.service", SLEEPER + "[X-Argosy]\nRequires=job.service\n")
    start = c.begin("start job goes-on needs", on="n1")  # one start: another would ask for a run that the node has not heard of yet
    eventually(lambda: c.runs("job") == 1)
    crash(c, node, "job", lose_the_pin)
    assert_unknown(c, node)
    result = start.result()
    assert result.status == 1 and "job.service on n2: its outcome is unknown" in " ".join(result.err.split()), result.err
    eventually(lambda: c.where("goes-on"))
    c.ctl_fails("start needs", saying="waiting for job.service on n2, of which nobody can tell how it ended")
    for host in (node, c.leader()):
        host.run("systemctl restart argosyd")
        c.wait_online()
        assert_unknown(c, node)
    assert not c.where("needs")
    c.ctl("start job")
    assert c.runs("job") == 2
    eventually(lambda: c.where("needs"))


def test_unless_it_says_that_it_may_run_twice(c: Cluster):
    prepare(c)
    crash_around(c, "job", QUIET + "[X-Argosy]\nOutcomeUnknown=rerun\n", meanwhile=lose_the_pin)
    eventually(lambda: c.runs("job") == 2)
    eventually(lambda: "has finished" in c.ctl_result("why job").out)


FAIL_AT_ONCE = {
    "false": "ExecStart=/bin/false",
    "missing": "ExecStart=/no/such/program",
    "user": "User=no-such-user\nExecStart=/bin/sleep 100",
    "directory": "WorkingDirectory=/no/such\nExecStart=/bin/sleep 100",
    "environment": "EnvironmentFile=/no/such\nExecStart=/bin/sleep 100",
    "exec": "Type=exec\nExecStart=/bin/false",
    "idle": "Type=idle\nExecStart=/bin/false",
    "again": "ExecStart=/bin/false\nRestart=always\nRestartSec=0",
    "again-well": "ExecStart=/bin/true\nRestart=always",
}


def test_what_fails_at_once_has_not_started(c: Cluster):
    """systemd calls a service active when it has forked: what comes a moment later counts too."""
    for name, lines in FAIL_AT_ONCE.items():
        c.submit(f"{name}.service", f"[Service]\n{lines}\n")
    for _ in range(3):
        result = c.ctl_result(f"start {' '.join(FAIL_AT_ONCE)}")
        for name in FAIL_AT_ONCE:
            assert f"start {name}.service" in result.err, f"{name}: {result.err}"
        c.ctl(f"stop {' '.join(FAIL_AT_ONCE)}")
    job = c.ctl("start --no-block false again").split()[-1].strip(".")
    assert c.ctl_result(f"job wait {job}").status != 0


def test_what_lives_or_ends_well_has_started(c: Cluster):
    units = {
        "well": "ExecStart=/bin/true",
        "remains": "RemainAfterExit=yes\nExecStart=/bin/true",
        "later": "ExecStart=/bin/sh -c 'sleep 0.5; exit 1'",
        "after": "ExecStart=/bin/sleep infinity\nExecStartPost=/bin/sleep 0.2",
    }
    for name, lines in units.items():
        c.submit(f"{name}.service", f"[Service]\n{lines}\n")
    for verb in ["start", "restart", "start"]:
        result = c.ctl_result(f"{verb} {' '.join(units)}")
        assert result.status == 0, result.err
        assert "well.service: its program has ended already, without an error" in result.err, result.err
        if verb == "restart":
            c.ctl(f"stop {' '.join(units)}")


main(nodes=3, conf=PATIENT)
