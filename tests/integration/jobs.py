#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who changed what, when and why: every request that changes something is a job, on every voter, and is carried out once."""

import json
import random
import subprocess
import time

from lib import BUILD, PATIENT, SLEEPER, WAITS, Cluster, eventually, long, main

SUBMIT_CLIENT = BUILD / "tests/bench/submit-client"


def jobs(c, options="", on=None):
    return c.json(f"list-jobs {options}", on)


def show(c, number, on=None):
    [job] = c.json(f"show-job {number}", on)
    return job


def test_whoever_is_called_at_night_finds_what_was_changed(c: Cluster):
    c.start("web@{1..3}", on="n2")
    c.ctl("stop web@2 --reason='too hot'", on="n3")
    last, start = jobs(c, "--limit=2", on="n1")
    assert (last["state"], start["state"]) == ("done", "done"), "the log may have it only a second later"
    assert (last["verb"], last["targets"], last["reason"], last["author"]) == ("stop", ["web@2"], "too hot", "root@n3"), last
    assert (start["verb"], start["targets"], start["changed"], start["author"]) == ("start", ["web@{1..3}"], 3, "root@n2"), start
    assert last["job"] == start["job"] + 1
    assert last["before"] < last["revision"]
    [unit] = show(c, last["job"])["units"]
    assert (unit["unit"], unit["desired"], unit["now"]) == ("web@2.service", "launched", "as asked"), unit
    now = {unit["unit"]: unit["now"] for unit in show(c, start["job"])["units"]}
    assert now == {"web@1.service": "as asked", "web@2.service": "changed since", "web@3.service": "as asked"}, now
    assert [job["job"] for job in jobs(c, "--unit='web@2*' --author=root@n3")] == [last["job"]]
    assert f"Job {last['job']}: stop web@2" in c.ctl(f"show-job {last['job']}")
    c.ctl_fails("show-job 999999", saying="there is no job 999999")


def test_how_a_job_ended_is_known_wherever_and_whenever_it_is_asked(c: Cluster):
    c.start("web@{1..3}", on="n2")
    c.submit("bad.service", "[Service]\nExecStart=/bin/false\nType=oneshot\n")
    c.ctl_fails("start bad", saying="exit-code")
    failed, _, well = jobs(c, "--limit=3", on="n3")
    assert c.ctl(f"job wait -v {well['job']}", on="n3").strip() == f"job {well['job']}: done"
    c.ctl_fails(f"job wait {failed['job']}", saying=("bad.service", "failed (1 failed)"))
    [unit] = show(c, failed["job"])["units"]
    assert unit["end"] == "failed" and unit["node"] in ("n1", "n2", "n3") and "exit-code" in unit["end_message"], unit
    assert [job["job"] for job in jobs(c, "--state=failed --since=1h --unit='bad*'")] == [failed["job"]]
    for node in ("n1", "n2", "n3"):  # where one ended badly is in its record, and where others are well is not
        assert [job["job"] for job in jobs(c, f"--node={node} --state=failed", on="n2")] == [failed["job"]] * (node == unit["node"]), node
    leader, other = c.leader(), c.followers()[0]
    c.submit("slow.service", f"[Service]\nType=oneshot\nExecStart=/bin/sh -c '{WAITS}'\n[X-Argosy]\nHost={other.name}\n")
    number = int(c.ctl("start --no-block slow", on="n2"))
    [slow] = jobs(c, "--limit=1")
    assert slow["job"] == number and slow["state"] == "running", slow
    leader.kill()  # whoever leads now waits for it
    wait = c.begin(f"job wait -v {slow['job']}", on=other)
    c.leader(on=other)
    c.let_go()
    assert wait.result().out.strip() == f"job {slow['job']}: done"
    assert jobs(c, "--state=running", on=other) == []


def test_what_is_no_change_of_units_is_a_job_too(c: Cluster):
    c.ctl("cordon n2 --reason=disks")
    c.ctl("uncordon n2")
    c.ctl("label n2 disk=ssd")
    c.ctl("label n2 disk-")
    done = [(job["verb"], job["targets"]) for job in jobs(c, "--limit=4")]
    assert done == [("label", ["n2", "disk-"]), ("label", ["n2", "disk=ssd"]), ("uncordon", ["n2"]), ("cordon", ["n2"])], done
    assert [(job["verb"], job["targets"]) for job in jobs(c, "--node=n2 --limit=4")] == done
    assert jobs(c, "--limit=4")[3]["reason"] == "disks"


def test_a_key_is_carried_out_once_and_all_voters_know_it(c: Cluster):
    c.submit("one.service", SLEEPER)
    c.ctl("start one --key=deploy-1")
    first = jobs(c, "--limit=1")[0]["job"]
    run = c.invocation("one")
    for node in c.nodes:
        c.ctl("start one --key=deploy-1", on=node)
    assert c.invocation("one") == run, "it was started again"
    assert jobs(c, "--limit=1")[0]["job"] == first
    c.ctl_fails("stop one --key=deploy-1", saying=(f"job {first}", "nothing was changed"))
    leader = c.leader()
    leader.kill()
    other = next(node for node in c.nodes if node.name != leader.name)
    c.leader(on=other)
    c.ctl("start --no-block one --key=deploy-1", on=other)
    assert jobs(c, "--limit=1", on=other)[0]["job"] == first
    assert show(c, first, on=other)["reason"] == ""


def test_what_somebody_changed_meanwhile_is_left_alone(c: Cluster):
    c.start("one.service")
    seen = jobs(c, "--limit=1")[0]["revision"]
    c.ctl("restart one")
    c.ctl_fails(f"stop one --if-revision={seen}", saying="has changed since revision")
    assert c.where("one")
    c.ctl(f"stop one --if-revision={jobs(c, '--limit=1')[0]['revision']}")


def test_a_bad_change_is_found_and_undone(c: Cluster):
    good, bad = SLEEPER, SLEEPER.replace("[Service]", "[Service]\nEnvironment=BAD=1")
    c.start("web@{1..3}", good)
    made = jobs(c, "--limit=1")[0]["job"]
    c.node("n2").write("/root/units/web@.service", bad)
    c.ctl("update /root/units/web@.service --health=100ms --reason='faster cache'", on="n2")
    update = c.json("history web@1", on="n3")[0]
    assert (update["verb"], update["author"], update["reason"]) == ("update", "root@n2", "faster cache"), update
    assert update["change"][0]["before"]["rev"] != update["change"][0]["after"]["rev"], update
    difference = c.ctl("diff web@1")
    assert "+Environment=BAD=1\n" in difference and f"+++ web@1.service, job {update['job']}\n" in difference, difference
    assert c.ctl(f"cat web@1 --at={made}") == good
    assert c.ctl(f"diff web@1 {made}").splitlines()[2:] == difference.splitlines()[2:]
    assert "web@1.service: gets its file of before" in c.ctl(f"undo {update['job']} --plan", on="n3")
    c.ctl(f"undo {update['job']} --reason=errors", on="n3")
    for i in range(1, 4):
        assert c.ctl(f"cat web@{i}") == good
        assert "BAD=1" not in c.where(f"web@{i}").run(f"systemctl show -p Environment web@{i}")
    last = c.json("history web@1", on="n1")[0]
    assert (last["verb"], last["reason"], last["author"]) == ("undo", "errors", "root@n3"), last
    c.ctl("stop web@2")
    c.ctl_fails(f"undo {made}", saying=("web@2.service was changed since by job", "nothing was changed"))
    c.ctl(f"undo {jobs(c, '--limit=1')[0]['job']}")
    assert c.where("web@2")
    c.ctl(f"undo {made}")
    assert not c.known() & {"web@1.service", "web@2.service", "web@3.service"}
    c.ctl("history forget web@1")
    c.ctl_fails(f"cat web@1 --at={update['job']}", saying="not kept any more")


def test_a_bad_update_is_taken_back_a_few_at_a_time(c: Cluster):
    bad = SLEEPER.replace("[Service]", "[Service]\nEnvironment=BAD=1")
    c.start("web@{1..4}")
    c.node("n2").write("/root/units/web@.service", bad)
    c.ctl("update /root/units/web@.service --health=100ms", on="n2")
    update = jobs(c, "--limit=1")[0]["job"]
    running = c.begin(f"undo {update} --rolling --health=1s -v", on="n3")
    eventually(lambda: len({row["rev"] for row in c.json("list-unit-files 'web@[1-4].service'")}) == 2, what="some of them have the old file, and not all")
    [undo] = jobs(c, "--limit=1")
    assert undo["verb"] == "undo", undo
    c.leader().run("systemctl restart argosyd")  # the next leader goes on with it
    out = running.result()
    assert out.status == 0 and "web@.service: put back" in out.out, out.err + out.out
    for i in range(1, 5):
        assert c.ctl(f"cat web@{i}", on="n3") == SLEEPER
    c.ctl(f"job wait {undo['job']}", on="n3")
    c.ctl_fails(f"undo {update - 1} --rolling", on="n3", saying="cannot be undone a few units at a time")


def test_what_was_held_back_counts_when_it_began(c: Cluster):
    c.start("web@1")
    other = SLEEPER.replace("[Service]", "[Service]\nEnvironment=A=1")
    c.node("n1").write("/root/new/web@.service", other)
    c.ctl("start --replace --hold --no-block /root/new/web@1.service")
    held = jobs(c, "--limit=1")[0]["job"]
    c.ctl("label n2 disk=ssd")
    evening = jobs(c, "--limit=1")[0]["job"]
    assert c.ctl(f"diff @{evening}") == ""
    c.ctl(f"job release {held}")
    c.ctl(f"job wait {held}")
    difference = c.ctl(f"diff @{evening}", on="n2")
    assert difference.startswith("~ web@1.service: another file\n") and "\n+Environment=A=1\n" in difference, difference
    assert c.ctl(f"cat web@1 --at={evening}", on="n3") == SLEEPER
    assert c.ctl("cat web@1") == other


def test_the_whole_cluster_is_compared_with_what_it_was(c: Cluster):
    c.start("web@{1..3}")
    c.start("old.service")
    c.ctl("label n2 disk=hdd")
    before = jobs(c, "--limit=1")[0]["job"]
    assert c.ctl(f"diff @{before}") == ""
    other = SLEEPER.replace("[Service]", "[Service]\nEnvironment=A=1")
    c.node("n2").write("/root/units/web@.service", other)
    c.ctl("start --replace /root/units/web@1.service /root/units/web@2.service", on="n2")
    c.ctl("stop web@3")
    c.ctl("destroy old")
    c.start("new.service")
    c.ctl("label n2 disk=ssd")
    c.ctl("cordon n3 --reason=disks")
    after = jobs(c, "--limit=1")[0]["job"]
    difference = c.ctl(f"diff @{before}", on="n3")
    lines = difference.splitlines()
    assert {"~ label disk of n2: hdd -> ssd", "~ node n3: open -> cordoned (disks)", "+ new.service: launched",
            "- old.service: was launched", "~ web@3.service: launched -> loaded"} <= set(lines), difference
    assert {"~ web@1.service: another file", "~ web@2.service: another file"} <= set(lines), difference
    assert lines.count("+Environment=A=1") == 1, difference
    assert c.ctl(f"diff @{before} @{after}", on="n1").splitlines()[:5] == lines[:5]
    assert "+ old.service: launched" in c.ctl(f"diff @{after} @{before}")
    listed = c.ctl(f"list-unit-files --at={before} --no-legend", on="n2")
    assert {line.split()[0]: line.split()[2] for line in listed.splitlines()} == {
        "old.service": "launched", "web@.service": "inactive", "web@1.service": "launched", "web@2.service": "launched",
        "web@3.service": "launched"}, listed
    c.ctl_fails("diff @999999", saying="there is no job 999999")
    c.ctl_fails("diff web@1 @1", status=2)


def node_row(c, name, on=None):
    return next(row for row in c.json("list-nodes", on) if row["node"] == name)


def test_what_is_no_unit_is_undone_too_under_any_leader(c: Cluster):
    c.ctl("label n2 disk=hdd")
    c.ctl("label n2 disk=ssd")
    label = jobs(c, "--limit=1")[0]["job"]
    c.ctl("cordon n2 n3 --reason=disks")
    cordon = jobs(c, "--limit=1")[0]["job"]
    c.ctl("role set web Weight=3")
    role = jobs(c, "--limit=1")[0]["job"]
    assert "label disk of n2: hdd -> ssd" in c.ctl(f"job show {label}")
    assert {s["setting"]: s["after"] for s in show(c, cordon)["settings"]} == {"node n2": "cordoned (disks)", "node n3": "cordoned (disks)"}
    leader = c.leader()
    leader.kill()  # whoever leads now has the same records
    other = next(node for node in c.nodes if node.name != leader.name)
    c.leader(on=other)
    assert "node n3: is open again" in c.ctl(f"undo {cordon} --plan", on=other)
    c.ctl(f"undo {cordon} --reason='wrong nodes'", on=other)
    assert [node_row(c, name, other)["mode"] for name in ("n2", "n3")] == ["", ""]
    c.ctl(f"undo {label}", on=other)
    assert "disk=hdd" in c.ctl("list-nodes --fields=node,labels --no-legend", on=other)
    c.ctl(f"undo {role}", on=other)
    c.ctl_fails("role show web", on=other, saying="there is no role")
    [undone] = [job["job"] for job in jobs(c, "--limit=20", on=other) if job["verb"] == "undo" and job["targets"] == [str(cordon)]]
    c.ctl(f"undo {undone}", on=other)
    assert node_row(c, "n3", other)["mode"] == "cordoned"
    c.ctl("label n2 disk=nvme", on=other)
    c.ctl_fails(f"undo {label}", on=other, saying=("label disk of n2 was changed since by job", "nothing was changed"))


def test_what_somebody_changes_in_the_middle_of_a_large_undo_is_left(c: Cluster):
    """Its entries take longer than a command: many of them come behind the change."""
    n, on = 20000, c.followers()[0]
    for text in (SLEEPER, SLEEPER + "# newer\n"):
        on.write("/root/units/many@.service", text)
        c.ctl(f"submit --replace /root/units/many@{{1..{n}}}", on=on)
    newer = jobs(c, "--limit=1")[0]["job"]
    on.write(f"/root/units/many@{n}.service", SLEEPER + "# by somebody else\n")
    undo = c.begin(f"undo {newer} --force", on=on)
    number = eventually(lambda: [job["job"] for job in jobs(c, "--limit=3") if job["job"] > newer and job["verb"] == "undo"])[0]
    c.ctl(f"submit --replace /root/units/many@{n}", on=on)
    [theirs] = [job["job"] for job in jobs(c, "--limit=3") if job["job"] > number and job["verb"] == "submit"]
    result = undo.result()
    assert result.status == 1 and f"many@{n}.service: it was changed since by job {theirs} (submit, root@" in result.err, result
    assert "by somebody else" in c.ctl(f"cat many@{n}") and "newer" not in c.ctl(f"cat many@{n - 1}")
    c.ctl_fails(f"job wait {number}", saying=f"many@{n}.service: failed, it was changed since by job {theirs}")
    job = show(c, number)
    assert (job["state"], job["changed"], job["failed"]) == ("failed", n - 1, 1), {**job, "units": job["units"][:2]}
    left, first = job["units"][:2]
    assert (left["unit"], left["end"], left["revision"]) == (f"many@{n}.service", "failed", 0) and first["revision"] > 0, (left, first)


def kill_leader(leader, dice):
    """At any moment of what has just been begun."""
    time.sleep(dice.uniform(0, 0.05))
    leader.run("systemctl kill --signal=KILL argosyd")


def begin_and_lose_the_leader(c, command, dice):
    """The command's words; it is asked of a host that goes on."""
    leader, on = c.leader(), c.followers()[0]
    running = c.begin(command, on=on)
    kill_leader(leader, dice)
    result = running.result()
    assert result.status == 0, f"{command}: {result}"
    eventually(lambda: all(map(c.reaches_the_leader, c.nodes)))
    return result.out


def test_a_leader_that_dies_in_the_middle_loses_nothing_and_repeats_nothing(c: Cluster):
    dice = random.Random(9)
    c.submit("big@.service", SLEEPER)
    begin_and_lose_the_leader(c, "load --no-block big@{1..800}", dice)
    [load] = [job for job in jobs(c) if job["verb"] == "load"]
    assert load["changed"] == 800 and len([unit for unit in c.known() if unit.startswith("big@")]) == 801, load

    begin_and_lose_the_leader(c, f"undo {load['job']}", dice)
    [undo] = [job for job in jobs(c) if job["verb"] == "undo" and job["job"] > load["job"]]
    assert undo["changed"] == 800 and c.known() == {"big@.service"}, undo

    leader, on = c.leader(), c.followers()[0]
    on.run("rm -rf /root/shop; mkdir -p /root/shop; echo 'loaded shop@{1..300}' >/root/shop/argosy.set")
    on.write("/root/shop/shop@.service", SLEEPER)
    running = c.begin("apply --no-block /root/shop", on=on)
    kill_leader(leader, dice)
    assert running.result().status == 0
    # The next leader names what it has not heard of yet.
    eventually(lambda: "301 units, nothing to do" in c.ctl("apply /root/shop", on=on))
    [apply] = [job for job in jobs(c) if job["verb"] == "apply"]
    assert apply["changed"] == 301, apply

    c.submit("slow.service", f"[Service]\nType=oneshot\nExecStart=/bin/sh -c '{WAITS}; echo %n >>/root/runs'\n")
    c.ctl("start --no-block slow")
    slow = jobs(c, "--limit=1")[0]["job"]
    leader, on = c.leader(), c.followers()[0]
    watch = c.begin("watch --since=0 --json=short --kinds=job", on=on)
    assert watch.line()
    wait = c.begin(f"job wait -v {slow}", on=on)
    kill_leader(leader, dice)
    eventually(lambda: c.reaches_the_leader(on))
    c.let_go()
    assert wait.result().out.strip() == f"job {slow}: done"
    while line := watch.line():
        event = json.loads(line)
        if event.get("job") == slow and event.get("state") == "done":
            break
    assert line, "the watch has ended"
    watch.kill()
    assert c.runs("slow") == 1


@long
def test_a_hundred_thousand_jobs_are_kept_by_who_starts_again_and_who_joins(c: Cluster):
    """Each voter alone is asked for what it has of them: from its log, its snapshot, and what it was sent."""
    leader = c.leader()
    c.submit("load@.service", SLEEPER)
    path = f"/proc/{leader.init_pid()}/root/run/argosy/argosy.sock"
    subprocess.run([SUBMIT_CLIENT, path, "load@", "1", "100000", "1", "64"], check=True, capture_output=True, timeout=300)
    joins = c.followers()[0]
    c.ctl(f"cluster remove {joins.name}", on=leader)
    c.make_fresh(joins)
    c.join(joins, to=leader)
    eventually(lambda: c.members(leader)[joins.name] == "voter online", within=120)
    eventually(lambda: all(member["lag"] == 0 for member in c.status(leader)["members"]), within=120)
    newest, oldest = jobs(c, "--limit=3"), c.json("list-jobs --limit=3 --unit=load@1000.service")
    assert newest[0]["job"] > 100000 and len(oldest) == 1, (newest, oldest)
    again = next(node for node in c.nodes if node.name not in (leader.name, joins.name))
    again.run("systemctl restart argosyd")
    eventually(lambda: c.reaches_the_leader(again), within=120)
    for alone in joins, again:
        others = [node for node in c.nodes if node.name != alone.name]
        for node in others:
            node.run("systemctl stop argosyd.socket argosyd.service")
        seen = eventually(lambda: (jobs(c, "--limit=3", on=alone), c.json("list-jobs --limit=3 --unit=load@1000.service", on=alone)))
        for node in others:
            node.run("systemctl start argosyd.socket argosyd.service")
        assert seen == (newest, oldest), f"{alone.name}: {seen}"
        eventually(lambda: all(map(c.reaches_the_leader, c.nodes)), within=120)


main(conf=PATIENT)
