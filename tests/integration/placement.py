#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where units run: labels, company, conflicts, spread and room, on real nodes."""

from lib import QUICK, SLEEPER, WAITS, Cluster, eventually, main


def options(*lines):
    return SLEEPER + "[X-Argosy]\n" + "".join(line + "\n" for line in lines)


def at(c, unit):
    """The name of the node where it is active."""
    node = c.where(unit)
    return node.name if node else None


def test_labels_are_asked_for_in_every_way(c: Cluster):
    c.ctl("label n1 disk=ssd tier=a")
    c.ctl("label n2 disk=hdd tier=b")
    c.start("equal.service", options("RequireLabel=disk=hdd"))
    c.start("unequal.service", options("RequireLabel=disk!=hdd disk"))
    c.start("either.service", options("RequireLabel=tier=x|b"))
    c.start("absent.service", options("RequireLabel=!disk"))
    c.start("host.service", options("Host=n3"))
    where = {unit: at(c, unit) for unit in ["equal", "unequal", "either", "absent", "host"]}
    assert where == {"equal": "n2", "unequal": "n1", "either": "n2", "absent": "n3", "host": "n3"}, where
    c.ctl("label n1 disk- tier-")
    c.ctl("label n2 disk- tier-")


def test_a_restart_happens_where_the_unit_is(c: Cluster):
    c.ctl("label n2 disk=ssd")
    c.start("fast", options("RequireLabel=disk=ssd"))
    before = c.invocation("fast")
    c.ctl("label n2 disk-")
    c.ctl("restart fast")
    assert c.invocation("fast") != before
    assert at(c, "fast") == "n2"


def test_a_pair_is_together_and_migrates_together(c: Cluster):
    c.start("db.service", SLEEPER)
    c.start("web.service", options("SameNodeAs=db.service"))
    first = at(c, "db")
    assert at(c, "web") == first
    c.ctl(f"drain {first}", on=next(node.name for node in c.nodes if node.name != first))
    eventually(lambda: at(c, "db") != first and at(c, "web") == at(c, "db"))
    c.ctl(f"uncordon {first}")


def test_of_five_units_that_conflict_three_run_on_three_nodes(c: Cluster):
    names = [f"only{i}" for i in range(1, 6)]
    for name in names:
        c.submit(f"{name}.service", options("Conflicts=" + " ".join(f"{other}.service" for other in names if other != name)))
    for name in names[:3]:
        c.start(f"{name}.service")
    assert sorted(at(c, name) for name in names[:3]) == ["n1", "n2", "n3"]
    c.ctl_fails("start only4", saying=("n1: ", "n2: ", "n3: ", "conflicts with"))
    freed = at(c, "only2")
    c.ctl("unload only2")
    eventually(lambda: at(c, "only4") == freed)


def test_a_replaced_unit_makes_room_and_goes_elsewhere(c: Cluster):
    c.start("old@1", SLEEPER)
    node = at(c, "old@1")
    c.submit("new.service", SLEEPER + f"[X-Fleet]\nReplaces=old@*\n[X-Argosy]\nHost={node}\n")
    c.ctl("start new")
    assert at(c, "new") == node
    eventually(lambda: at(c, "old@1") not in (None, node))
    c.start("old@{2..4}", SLEEPER)
    assert node not in {at(c, f"old@{i}") for i in range(1, 5)}
    c.node("n1").write("/root/units/old@5.service", SLEEPER + "[X-Fleet]\nReplaces=new.service\n")
    c.ctl_fails("submit /root/units/old@5.service", on=c.node("n1"), saying=":4: units replace each other in a cycle: ")
    assert "old@5.service" not in c.known()
    c.ctl("destroy new 'old@*'")


def test_what_is_replaced_leaves_as_its_group_allows(c: Cluster):
    fewest = 3

    def running():
        listed = "systemctl list-units --plain --no-legend --state=active 'old@*'"
        return sum(len(node.run(listed).splitlines()) for node in c.nodes)

    def are_replaced():
        nonlocal fewest
        fewest = min(fewest, running())
        return c.spread("old@*") == {"n3": 3}

    c.let_go(c.node("n2"))
    c.ctl("cordon n3")
    c.start("old@{1..3}", f"[Service]\nExecStartPre=/bin/sh -c '{WAITS}'\nExecStart=/bin/sleep infinity\n"
                          "[X-Argosy]\nHost=n2 n3\nMaxUnavailable=1\n")
    c.ctl("uncordon n3")
    c.submit("new.service", options("Host=n2", "Replaces=old@*"))
    planned = {row["unit"]: row["node"] for row in c.json("plan new")}
    assert planned == {"new.service": "n2", **{f"old@{i}.service": "n3" for i in range(1, 4)}}, planned
    c.ctl("start --no-block new")
    eventually(lambda: running() == 2)
    told = c.ctl_result("why new").out
    assert "which it replaces, has left n2: 1 of its group are down, MaxUnavailable=1" in told, told
    waiting = c.begin("start new")
    assert at(c, "new") is None and not waiting.is_over
    c.let_go(c.node("n3"))
    eventually(are_replaced)
    assert fewest >= 2, fewest
    assert waiting.result().status == 0
    assert at(c, "new") == "n2"
    c.start("pair@{1..2}", options("Host=n2", "MaxUnavailable=1"))
    c.submit("newer.service", options("Host=n2", "Replaces=pair@*"))
    c.ctl_fails("start newer", saying="which it replaces, has left n2: 1 of its group are down, MaxUnavailable=1")
    eventually(lambda: len(c.active("pair@*")) == 1)
    assert at(c, "newer") is None
    c.ctl("unload 'pair@*'")
    eventually(lambda: at(c, "newer") == "n2")


def test_instances_are_spread_over_a_label(c: Cluster):
    c.ctl("label n1 rack=a")
    c.ctl("label n2 rack=a")
    c.ctl("label n3 rack=b")
    c.start("w@{1..6}", options("SpreadOver=rack"))
    spread = c.spread("w@*")
    assert spread["n3"] == 3 and spread["n1"] + spread["n2"] == 3, spread
    for node in ["n1", "n2", "n3"]:
        c.ctl(f"label {node} rack-")


def test_what_is_reserved_is_not_given_twice(c: Cluster):
    c.ctl("label n1 offers/gpu=2")
    c.start("g@{1..2}", options("ReserveResource=gpu"))
    c.submit("late.service", options("ReserveResource=gpu"))
    c.ctl_fails("start late", saying=("n1: needs 1 gpu, 0 of 2 are free", "n2: "))
    c.ctl("stop g@1")
    c.ctl("unload g@1")
    eventually(lambda: at(c, "late") == "n1")
    c.submit("huge.service", options("ReserveMemory=4000G"))
    c.ctl_fails("start huge", saying=("n1: needs 4000G of memory, ",))
    c.ctl("label n1 offers/gpu-")


def test_who_waits_longest_is_not_passed_by_for_ever(c: Cluster):
    c.ctl("label n2 offers/card=2")
    c.start("small@{1..2}", options("ReserveResource=card"))
    c.submit("large.service", options("ReserveResource=card:2"))
    c.ctl_fails("start large", saying=("n2: needs 2 card, 0 of 2 are free",))
    c.start("other@{1..8}", options("ReserveMemory=1M"))  # so many are given room meanwhile
    c.ctl("stop small@1")
    c.ctl("unload small@1")
    c.submit("late.service", options("ReserveResource=card"))
    c.ctl_fails("start late", saying=("n2: its room is kept for large.service, which waits longer",))
    c.ctl_fails("why large", status=3, saying="n2: needs 2 card, 1 of 2 is free; what becomes free is kept for it")
    c.ctl("stop small@2")
    c.ctl("unload small@2")
    eventually(lambda: at(c, "large") == "n2")
    c.ctl("destroy large")
    eventually(lambda: at(c, "late") == "n2")
    c.ctl("label n2 offers/card-")


def test_what_cannot_be_is_refused_with_its_line(c: Cluster):
    bad = {
        "bad": (["RequireLabel=disk=ssd", "RequireLabel=!disk"], "both required and forbidden"),
        "self": (["Conflicts=se*"], "matches self.service itself"),
        "much": (["ReserveCPU=lots"], "is not a number of cores"),
        "never": (["RequireLabel=disk=ssd", "RequireLabel=disk=hdd"], "never.service:5: label disk cannot have all the values"),
        "first": (["MachineOf=last.service"], "first.service:4: units that are to be where each other is: first.service -> last.service -> first.service"),
    }
    c.submit("last.service", options("MachineOf=first.service"))
    for name, (lines, words) in bad.items():
        c.node("n1").write(f"/root/units/{name}.service", options(*lines))
        c.ctl_fails(f"submit /root/units/{name}.service", on=c.node("n1"), saying=words)
        assert f"{name}.service" not in c.known()


def test_a_global_unit_gives_way_to_those_it_conflicts_with(c: Cluster):
    c.start("all.service", options("Global=yes", "Conflicts=db*"))
    assert len(c.active("all")["all.service"]) == 3
    c.start("db.service", SLEEPER)
    eventually(lambda: at(c, "db") not in c.spread("all") and len(c.spread("all")) == 2)
    c.ctl("unload db")
    eventually(lambda: len(c.spread("all")) == 3)


def test_of_two_global_units_that_conflict_one_is_told_why_it_does_not_run(c: Cluster):
    c.start("second.service", options("Global=yes", "Conflicts=first.service"))
    c.submit("first.service", options("Global=yes"))
    assert "second.service gives way to it" in c.ctl_result("start first").err
    eventually(lambda: len(c.spread("first")) == 3 and not c.spread("second"))
    words = "it gives way to first.service, with which it conflicts"
    c.ctl_fails("start second", saying=words)
    assert c.ctl_result("why second").out.count(words) == 3
    assert len(c.spread("first")) == 3


main(conf=QUICK)
