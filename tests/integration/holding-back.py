#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is held back begins when it may, once, whoever leads by then; and the queue holds, refuses and limits."""

from lib import PATIENT, SLEEPER, WAITS, Cluster, eventually, main, stays


def newest(c):
    return c.json("list-jobs --limit=1")[0]


def state(c, number, on=None):
    [job] = c.json(f"job show {number}", on)
    return job["state"]


def hold(c, command, on=None):
    """Its number: it is held."""
    c.ctl(command, on)
    job = newest(c)
    assert job["state"] == "held", job
    return job["job"]


def test_a_held_job_begins_when_somebody_releases_it(c: Cluster):
    c.submit("one.service", SLEEPER)
    job = hold(c, "start one --hold --reason=tonight", on="n2")
    assert [row["job"] for row in c.json("list-jobs --state=held", "n3")] == [job]
    assert "release" in c.ctl(f"job show {job}", "n3")
    waits, other = c.followers()
    waiting = c.begin(f"job wait -v {job}", on=waits)
    assert not c.lives("one")
    c.leader().kill()
    c.leader(on=other)
    assert state(c, job, other) == "held" and not c.lives("one")
    c.ctl(f"job release {job}", on=other)
    eventually(lambda: c.where("one"))
    assert state(c, job, other) in ("running", "done")
    assert waiting.result().out.strip() == f"job {job}: done"
    c.ctl_fails(f"job release {job}", on=other, saying="is not held")
    [shown] = c.json(f"job show {job}", other)
    assert (shown["reason"], shown["changed"]) == ("tonight", 1) and shown["asked"] < shown["time"], shown


def test_a_chain_goes_step_by_step_and_ends_with_its_first_failure(c: Cluster):
    for name in ("first", "second", "third"):
        c.submit(f"{name}.service", SLEEPER)
    c.submit("bad.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    gate = hold(c, "start first --hold")
    second = hold(c, f"start --no-block second --after={gate}")
    third = c.begin(f"start third --after={gate},{second}", on="n2")
    eventually(lambda: newest(c)["job"] == second + 1)
    assert f"job {gate}" in c.ctl(f"job show {second}") and f"job {second}" in c.ctl(f"job show {gate}")
    c.ctl(f"job release {gate}")
    result = third.result()
    assert result.status == 0, result
    for name in ("first", "second", "third"):
        assert c.where(name)
    gate = hold(c, "start bad --hold")
    after = hold(c, f"stop --no-block third --after={gate}")
    c.ctl(f"job release {gate}")
    eventually(lambda: state(c, after) == "cancelled")
    assert state(c, gate) == "failed" and c.where("third")
    assert f"job {gate}, which it waited for" in c.ctl(f"job show {after}")
    c.ctl_fails(f"stop third --after={gate}", saying="is not done")
    c.ctl_fails("stop third --after=999999", saying="cycle")
    gate = hold(c, "stop third --hold")
    c.ctl(f"job cancel {gate}", on="n2")
    assert state(c, gate) == "cancelled" and c.where("third")
    assert "by root@n2, before it began" in c.ctl(f"job show {gate}")


def test_what_has_not_begun_of_a_job_is_called_off(c: Cluster):
    c.submit("slow.service", f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '{WAITS}'\n")
    c.submit("next.service", SLEEPER + "[X-Argosy]\nRequires=slow.service\n")
    c.ctl("start --no-block next")
    job = newest(c)["job"]
    eventually(lambda: any(row["active"] == "activating" for row in c.json("list-units slow")))
    said = c.ctl(f"job cancel {job} --reason='not tonight'", on="n2")
    assert "next.service: called off" in said and "slow.service: it has begun, and goes on" in said, said
    assert newest(c)["verb"] == "job cancel" and state(c, job) == "running"
    c.ctl_fails(f"job cancel {job}", saying="has begun")
    leader, other = c.leader(), c.followers()[0]
    leader.run("systemctl kill --signal=KILL argosyd")
    eventually(lambda: leader.run("systemctl show -P NRestarts argosyd").strip() != "0")  # it may lead again
    c.leader(on=other)
    assert state(c, job, other) == "running"
    c.let_go()
    eventually(lambda: state(c, job, other) == "cancelled")
    [shown] = c.json(f"job show {job}", other)
    ends = {unit["unit"]: unit["end"] for unit in shown["units"]}
    assert ends["next.service"] == "cancelled", shown
    assert not c.lives("next")


def test_what_failed_is_asked_for_again(c: Cluster):
    c.submit("good.service", SLEEPER)
    c.submit("picky.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/test -e /root/go\n")
    c.ctl_fails("start good picky")
    job = newest(c)["job"]
    c.ctl_fails(f"job wait {job}", saying="failed")
    good = c.invocation("good")
    c.let_go()
    c.ctl(f"job retry {job}", on="n2")
    again = newest(c)
    assert (again["verb"], again["retries"], again["targets"]) == ("start", job, ["picky.service"]), again
    eventually(lambda: state(c, again["job"]) == "done")
    assert c.invocation("good") == good
    c.ctl_fails(f"job retry {again['job']}", saying="there is no unit of it")
    c.ctl_fails("job retry 999999", saying="no job")
    held = hold(c, "stop good --hold")
    c.ctl_fails(f"job retry {held}", saying="is held")
    c.ctl(f"job cancel {held}")


def test_rules_hold_refuse_and_limit(c: Cluster):
    for name in ("db", "web"):
        c.submit(f"{name}.service", SLEEPER)
    c.ctl("queue rule add hold unit='db*' verb=start")
    c.ctl("queue rule add refuse 'frozen until Monday' verb=restart")
    [held, refused] = c.json("queue rule list", "n3")["rules"]
    assert (held["action"], held["unit"], refused["text"]) == ("hold", "db*", "frozen until Monday"), (held, refused)
    c.ctl("start web")
    c.ctl_fails("restart web", on="n2", saying="frozen until Monday")
    job = hold(c, "start --no-block db", on="n2")
    assert not c.lives("db")
    c.ctl(f"queue rule delete {held['rule']} {refused['rule']}")
    eventually(lambda: state(c, job) == "done")
    assert c.where("db")
    c.ctl("queue rule add limit 1 verb=start")
    for name in ("slow1", "slow2"):
        c.submit(f"{name}.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'until [ -e /root/go ]; do sleep 0.1; done'\n")
    c.ctl("start --no-block slow1")
    job = hold(c, "start --no-block slow2")
    [rule] = c.json("queue rule list")["rules"]
    assert (rule["running"], rule["held"]) == (1, 1), rule
    stays(lambda: state(c, job) == "held", 2)
    for node in c.nodes:
        node.run("touch /root/go")
    eventually(lambda: state(c, job) == "done")


def test_a_closed_queue_holds_what_comes_and_root_stops_what_burns(c: Cluster):
    c.start("one")
    c.submit("two.service", SLEEPER)
    c.ctl("queue close --reason='moving racks'", on="n2")
    job = hold(c, "start --no-block two")
    assert "moving racks" in c.ctl(f"job show {job}") and "moving racks" in c.ctl("queue rule list", "n3")
    c.ctl("stop one")
    assert not c.lives("one")
    c.ctl("queue open", on="n3")
    eventually(lambda: state(c, job) == "done")
    assert c.where("two")


def test_an_author_has_so_many_open_jobs(c: Cluster):
    c.start("one")
    c.submit("two.service", SLEEPER)
    c.ctl("queue limit 1 --reason='a script has run wild'", on="n2")
    limit = newest(c)["job"]
    assert c.json("queue rule list", "n3")["open_max"] == 1
    job = hold(c, "start two --hold")
    c.ctl_fails("start two", on="n3", saying="root has 1 jobs that are running or held back")
    c.ctl("stop one", on="n2")
    assert not c.lives("one")
    c.ctl(f"undo {limit}")
    assert c.json("queue rule list")["open_max"] == 10000
    c.ctl("start one")
    c.ctl(f"job cancel {job}")


def test_jobs_and_the_queue_are_changed_by_who_has_seen_them_as_they_are(c: Cluster):
    c.start("one")
    job = hold(c, "restart one --hold")
    seen = newest(c)["revision"]
    c.ctl("queue rule add hold unit=one", on="n2")
    c.ctl_fails(f"queue close --if-revision={seen}", on="n3", saying="may have changed after revision")
    c.ctl("queue close --reason=racks", on="n2")
    c.ctl_fails(f"queue open --if-revision={seen}", saying="may have changed after revision")
    c.ctl(f"queue open --if-revision={newest(c)['revision']}", on="n3")
    c.ctl(f"job cancel {job} --if-revision={seen}", on="n2")
    assert state(c, job) == "cancelled"
    c.ctl("cordon n3")
    c.ctl_fails(f"rebalance --if-revision={seen}", on="n2", saying="may have changed after revision")
    c.ctl("uncordon n3")
    c.ctl(f"queue rule delete {c.json('queue rule list')['rules'][-1]['rule']}")


def test_how_much_of_the_past_is_kept_is_the_same_on_all_voters(c: Cluster):
    c.ctl("history limit 64M --reason='a busy week'", on="n2")
    limit = newest(c)["job"]
    assert c.json("queue rule list", "n3")["history_mib"] == 64
    c.leader().kill()
    other = c.followers()[0]
    c.leader(on=other)
    assert c.json("queue rule list", other)["history_mib"] == 64
    c.ctl(f"undo {limit}", on=other)
    assert c.json("queue rule list", other)["history_mib"] == 16


def test_a_held_job_is_carried_out_once_whatever_dies(c: Cluster):
    c.submit("web@.service", SLEEPER)
    job = hold(c, "load web@{1..400} --hold")  # more than one entry of the log
    leader = c.leader()
    other = next(node for node in c.nodes if node.name != leader.name)
    released = c.begin(f"job release {job}", on=other)
    leader.kill()
    c.leader(on=other)
    if released.result().status != 0:  # else it begins as soon as the new leader comes to it
        c.ctl_result(f"job release {job}", on=other)  # fails if the first one was heard after all
    eventually(lambda: state(c, job, other) not in ("held", "running"), 120)
    [shown] = c.json(f"job show {job}", other)
    assert shown["changed"] == 400 and len({unit["unit"] for unit in shown["units"]}) == 400, shown["changed"]
    assert c.json("list-jobs --state=held", other) == []


def clean(c):
    c.ctl("queue open")
    c.ctl("queue limit 10000")
    for rule in c.json("queue rule list")["rules"]:
        c.ctl(f"queue rule delete {rule['rule']}")


main(conf=PATIENT, after=clean)
