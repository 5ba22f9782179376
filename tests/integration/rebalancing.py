#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A node comes back empty, and its owner evens things out."""

from lib import PATIENT, SLEEPER, Cluster, eventually, main

ONE_DOWN = SLEEPER + "[X-Argosy]\nMaxUnavailable=1\n"
STUBBORN = "[Service]\nExecStart=/bin/sh -c 'trap \"sleep 0.5; exit 0\" TERM; sleep infinity & wait'\nKillMode=mixed\n"


def uneven(c, units, text):
    """All of them on n1 and n2, and n3 open again."""
    c.ctl("cordon n3")
    c.start(units, text)
    c.ctl("uncordon n3")
    assert "n3" not in c.spread("w@*")


def test_few_units_move_one_at_a_time_and_a_second_time_none(c: Cluster):
    uneven(c, "w@{1..9}", ONE_DOWN)
    before = c.invocations("w@*")
    planned = c.json("rebalance --dry-run")
    assert len(planned) == 3 and {move["to"] for move in planned} == {"n3"}, planned
    table = c.ctl("rebalance --dry-run 'w@*'")
    assert table.splitlines()[0].split() == ["UNIT", "FROM", "TO", "WHY"] and "load: 0 units there" in table
    assert c.invocations("w@*") == before, "a dry run did something"
    told = c.ctl("rebalance --health=500ms")
    assert len(told.splitlines()) == 3, told
    assert c.spread("w@*") == {"n1": 3, "n2": 3, "n3": 3}
    after = c.invocations("w@*")
    moved = {move["unit"] for move in planned}
    stayed = {key: run for key, run in before.items() if key[0] not in moved}
    assert len(stayed) == 6 and stayed.items() <= after.items(), "a unit that was not named was touched"
    c.assert_once("w@*", 9)
    assert c.ctl("rebalance") == "nothing is better off elsewhere\n"
    assert c.invocations("w@*") == after


def test_the_budget_holds_the_exempt_stay_and_the_limit_counts(c: Cluster):
    c.ctl("cordon n1 n2")
    c.start("pinned@{1..2}", SLEEPER + "[X-Argosy]\nRebalance=no\n")
    c.ctl("uncordon n1 n2")
    uneven(c, "w@{1..9}", STUBBORN + "[X-Argosy]\nMaxUnavailable=1\n")
    assert c.ctl("rebalance 'pinned*'") == "nothing is better off elsewhere\n"
    rebalance = c.begin("rebalance 'w@*' --max-moves=1 --health=1s", on="n1")
    fewest = 9
    while not rebalance.is_over:
        fewest = min(fewest, len(c.active("w@*")))
    result = rebalance.result()
    assert result.status == 0, result.err
    assert fewest >= 8, f"only {fewest} of 9 were up"
    assert sum(line.startswith("w@") for line in result.out.splitlines()) == 1, result.out
    assert c.spread("w@*")["n3"] == 1 and c.spread("pinned@*") == {"n3": 2}


def test_who_does_not_match_its_node_any_more_stays_until_it_is_moved(c: Cluster):
    c.ctl("label n1 disk=ssd")
    c.start("fast", SLEEPER + "[X-Argosy]\nRequireLabel=disk=ssd\n")
    runs = c.invocations("fast")
    c.ctl("label n1 disk-")
    lack = "needs label disk=ssd, has no label disk"
    assert c.row("fast")["note"] == "mismatch"
    c.ctl_fails("why fast", status=3, saying=(lack,))
    assert "fast.service" in c.ctl("list-units --state=mismatch")
    c.ctl_fails("plan fast", saying=(lack,))
    assert c.ctl("rebalance") == "nothing is better off elsewhere\n"
    c.ctl("label n2 disk=ssd")
    assert c.invocations("fast") == runs, "a label moved it"
    [move] = c.json("rebalance --dry-run")
    assert (move["from"], move["to"]) == ("n1", "n2") and move["why"].startswith("mismatch"), move
    c.ctl("rebalance --health=100ms")
    assert c.row("fast")["node"] == "n2" and c.row("fast")["note"] == ""
    c.ctl("label n2 disk-")
    c.ctl("label n3 disk=ssd")
    assert "fast.service: would stop where it is and start on n3" in c.ctl("plan fast")
    c.ctl("stop fast")
    c.ctl("start fast")
    assert c.row("fast")["node"] == "n3" and c.row("fast")["note"] == ""
    c.ctl("label n3 disk-")


def test_a_unit_that_fails_where_it_went_stops_it(c: Cluster):
    text = "[Service]\nExecStart=/bin/sh -c 'test ! -e /root/no-room && exec sleep infinity'\n[X-Argosy]\nMaxUnavailable=1\n"
    c.node("n3").run("touch /root/no-room")
    uneven(c, "w@{1..9}", text)
    c.ctl_fails("rebalance", saying=("failed on n3, where it was moved", "nothing more is moved"))
    assert len(c.active("w@*")) == 8
    c.node("n3").run("rm /root/no-room")


def test_it_goes_on_with_the_next_leader_while_its_client_listens(c: Cluster):
    uneven(c, "w@{1..9}", STUBBORN)
    leader = c.leader()
    others = [node for node in c.nodes if node != leader]
    rebalance = c.begin("rebalance --health=1s", on=others[0])
    eventually(lambda: "n3" in c.spread("w@*"))
    leader.run("systemctl restart argosyd")
    result = rebalance.result(within=60)
    assert result.status == 0, result.err
    assert c.spread("w@*") == {"n1": 3, "n2": 3, "n3": 3}
    c.assert_once("w@*", 9)


def newest(c):
    return c.json("list-jobs --limit=1")[0]


def state(c, job, on=None):
    [row] = c.json(f"job show {job}", on)
    return row["state"]


def test_one_that_comes_while_another_one_is_under_way_is_a_job_that_waits(c: Cluster):
    uneven(c, "w@{1..9}", ONE_DOWN)
    first = c.begin("rebalance --max-moves=1 --health=5s", on="n1")
    eventually(lambda: newest(c)["verb"] == "rebalance")
    under_way = newest(c)["job"]
    c.ctl_fails("rebalance", on="n2", saying="another rebalance is under way")
    waits = int(c.ctl("rebalance --queue --no-block --health=500ms", on="n2"))
    gone = int(c.ctl("rebalance --queue --no-block 'w@*'", on="n3"))
    assert [row["job"] for row in c.json("list-jobs --state=held", "n3")] == [gone, waits]
    for job in (waits, gone):
        assert f"job {under_way}" in c.ctl(f"job show {job}", "n3") and str(job) in c.ctl(f"job show {under_way}")
    waiting = c.begin(f"job wait -v {waits}", on="n3")
    c.ctl(f"job cancel {gone}", on="n2")
    assert state(c, gone) == "cancelled" and not first.is_over and not waiting.is_over
    assert first.result().status == 0
    assert waiting.result().out.strip() == f"job {waits}: done"
    assert c.spread("w@*") == {"n1": 3, "n2": 3, "n3": 3}
    [shown] = c.json(f"job show {waits}")
    assert (shown["verb"], shown["changed"]) == ("rebalance", 2), shown
    c.assert_once("w@*", 9)


def test_one_that_was_held_goes_on_with_the_next_leader_though_nobody_listens(c: Cluster):
    uneven(c, "w@{1..9}", ONE_DOWN)
    job = int(c.ctl("rebalance --hold --no-block --health=2s", on="n2"))
    assert state(c, job) == "held" and "n3" not in c.spread("w@*")
    leader = c.leader()
    other = next(node for node in c.nodes if node is not leader)
    c.ctl(f"job release {job}", on=other)
    eventually(lambda: c.spread("w@*").get("n3") == 1)
    leader.run("systemctl restart argosyd")
    assert c.ctl(f"job wait -v {job}", on=other).strip() == f"job {job}: done"
    assert c.spread("w@*") == {"n1": 3, "n2": 3, "n3": 3}
    [shown] = c.json(f"job show {job}", other)
    assert shown["changed"] == 3 and c.json("list-jobs --state=held", other) == [], shown
    c.assert_once("w@*", 9)


main(conf=PATIENT)
