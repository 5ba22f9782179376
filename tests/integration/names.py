#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names that belong to somebody else on a node are never shadowed and never taken over; templates and their instances may have
different revisions side by side; new files are found without a reload whatever the clock does."""

import time

from lib import SLEEPER, Cluster, eventually, main

GUARD = "[X-Argosy]\nCutOff=stop\n"
UNIT_DIR = "/run/systemd/system"


def fragment(node, unit):
    return node.run(f"systemctl show --property FragmentPath --value {unit}").strip()


def test_a_file_of_the_administrator_or_a_package_makes_a_node_ineligible(c: Cluster):
    n1, n2, n3 = c.nodes
    n1.write("/etc/systemd/system/web.service", SLEEPER)
    n2.write("/usr/lib/systemd/system/web.service", SLEEPER)
    c.start("web")
    assert c.where("web").name == "n3"
    c.ctl("destroy web")
    n3.write("/etc/systemd/system/web.service", SLEEPER)
    failed = c.ctl_fails(f"start --timeout=60s /root/units/web.service", on=n1, saying=["web.service", "n1: ", "n2: ", "n3: "])
    assert "/etc/systemd/system/web.service" in failed.err and "/usr/lib/systemd/system/web.service" in failed.err
    for node in c.nodes:
        assert not node.exec(["test", "-e", f"{UNIT_DIR}/web.service"]).status == 0, "a foreign unit is shadowed"
        node.run("rm -f /etc/systemd/system/web.service /usr/lib/systemd/system/web.service")


def test_who_is_to_be_with_another_one_waits_where_its_name_is_somebody_elses(c: Cluster):
    n1 = c.node("n1")
    n1.write("/etc/systemd/system/mate.service", SLEEPER)
    c.start("hub.service", SLEEPER + "[X-Argosy]\nHost=n1\n")
    before, runs = c.status()["index"], c.invocation("hub")
    c.submit("mate.service", SLEEPER + "[X-Argosy]\nSameNodeAs=hub.service\n")
    failed = c.ctl_result("start --timeout=10s mate")
    written = c.status()["index"] - before
    assert written < 20, f"the leader writes on and on: {written} entries"
    assert failed.status != 0 and "n1: " in failed.err and "/etc/systemd/system/mate.service" in failed.err, failed.err
    assert c.invocation("hub") == runs
    n1.run("rm /etc/systemd/system/mate.service")
    c.ctl("start mate")
    assert c.where("mate").name == "n1"
    assert c.invocation("hub") == runs
    c.ctl("destroy mate hub")


def plan_of(c: Cluster, unit):
    """What a plan says of the unit that was submitted: where it would be, and its whole row."""
    [row] = c.json(f"plan {unit}")
    return row


def test_a_plan_says_what_a_start_then_meets(c: Cluster):
    n1, n2, n3 = c.nodes
    n1.write("/etc/systemd/system/web.service", SLEEPER)
    n2.run("systemd-run --quiet --unit=web sleep infinity")
    c.submit("web.service", SLEEPER)
    assert "would start on n3" in c.ctl("plan web")
    assert plan_of(c, "web.service")["node"] == "n3"
    c.ctl("start web")
    assert c.node("n3").run("systemctl show --property FragmentPath --value web").strip() == f"{UNIT_DIR}/web.service"
    c.ctl("destroy web")

    # Nowhere: the plan has the reasons of each node that the start then gives.
    n3.write("/usr/lib/systemd/system/web.service", SLEEPER)
    c.submit("web.service", SLEEPER)
    planned = plan_of(c, "web.service")
    assert "would wait for a node" in planned["message"], planned
    said = {refusal["node"]: refusal["reason"] for refusal in planned["refusals"]}
    assert "/etc/systemd/system/web.service" in said["n1"] and "/usr/lib/systemd/system/web.service" in said["n3"], said
    assert "already active" in said["n2"], said
    failed = c.ctl_fails("start --timeout=60s web", saying=["n1: ", "n2: ", "n3: "])
    for node, reason in said.items():
        assert f"{node}: {reason}" in failed.err, (failed.err, said)
    assert plan_of(c, "web.service")["refusals"] == planned["refusals"], "to ask again gives another answer"
    c.ctl("destroy web")

    # One that runs on all nodes.
    n3.run("rm /usr/lib/systemd/system/web.service")
    c.submit("web.service", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    everywhere = c.ctl("plan web")
    assert "would start on all nodes that fit; not on n" in everywhere and "/etc/systemd/system/web.service" in everywhere, everywhere
    assert "already active" in everywhere and "n3" not in everywhere, everywhere
    c.ctl("destroy web")
    n1.run("rm /etc/systemd/system/web.service")
    n2.run("systemctl stop web")


def test_a_running_unit_of_somebody_else_is_left_alone(c: Cluster):
    for node in c.nodes[:2]:
        node.run("systemd-run --quiet --unit=job sleep infinity")
    foreign = c.invocations("job")
    c.start("job")
    assert sorted(c.active("job")["job.service"]) == ["n1", "n2", "n3"]
    assert "n3" == next(row["node"] for row in c.rows("job") if row["active"] == "active")
    c.ctl("destroy job")
    assert c.invocations("job") == foreign, "somebody else's unit was stopped"
    for node in c.nodes[:2]:
        node.run("systemctl stop job")


def test_a_global_unit_leaves_out_the_node_where_its_name_is_taken(c: Cluster):
    c.node("n2").write("/etc/systemd/system/agent.service", SLEEPER)
    c.submit("agent.service", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    foreign = "/etc/systemd/system/agent.service"
    c.ctl_fails("start agent", saying=["n2", foreign])
    eventually(lambda: sorted(c.active("agent")["agent.service"]) == ["n1", "n3"])
    [left_out] = [row for row in c.rows("agent") if row["node"] == "n2"]
    assert (left_out["load"], left_out["active"]) == ("-", "inactive") and foreign in left_out["error"], left_out
    assert foreign in c.ctl_result("why agent").out
    assert not c.node("n2").exec(["test", "-e", f"{UNIT_DIR}/agent.service"]).status == 0
    eventually(lambda: "/etc/systemd/system/agent.service" in c.ctl_result("status agent").out)
    c.node("n2").run("rm /etc/systemd/system/agent.service")

    # A start asks the node again, also one that fails for its own file.
    n1 = c.node("n1")
    n1.write("/root/units/agent.service", SLEEPER + "[X-Argosy]\nGlobal=yes\nPriority=much\n")
    c.ctl_fails("start --replace /root/units/agent.service", on="n1", saying="Priority")
    eventually(lambda: sorted(c.active("agent")["agent.service"]) == ["n1", "n2", "n3"])


def test_two_revisions_of_a_template_live_side_by_side(c: Cluster):
    pin = f"[X-Argosy]\nMachineID={c.node('n1').machine_id}\n"
    old, new = (f"[Service]\nEnvironment=REVISION={word}\nExecStart=/bin/sleep infinity\nRestart=always\nRestartSec=100ms\n{pin}"
                for word in ("old", "new"))
    c.start("w@{1..3}", old)
    c.submit("w@.service", new, replace=True)
    c.ctl("start w@{4..5}")
    n1 = c.node("n1")

    def revision(unit):
        pid = n1.run(f"systemctl show --property MainPID --value {unit}").strip()
        return n1.run(f"tr '\\0' '\\n' </proc/{pid}/environ | grep REVISION").strip()

    # systemd says that a service is started before its program has been executed.
    eventually(lambda: [revision(f"w@{i}") for i in range(1, 6)] == ["REVISION=old"] * 3 + ["REVISION=new"] * 2)
    n1.run("systemctl daemon-reload && systemctl kill -s KILL w@1 w@4")
    eventually(lambda: len(c.active("w@*")) == 5)
    eventually(lambda: revision("w@1") == "REVISION=old" and revision("w@4") == "REVISION=new",
               what="an instance that restarts by itself keeps its revision")
    assert c.ctl("cat w@1") == old and c.ctl("cat w@4") == new
    c.ctl("restart w@2")
    eventually(lambda: revision("w@2") == "REVISION=old", what="an instance keeps the file that it was made from")
    c.ctl("start --replace ./units/w@2", on="n1")
    eventually(lambda: revision("w@2") == "REVISION=new")
    c.ctl("destroy 'w@*.service'")
    assert n1.run(f"ls {UNIT_DIR} | grep -c '^w@' || true").strip() == "0", "files were left behind"


def test_files_are_found_whatever_the_directory_times(c: Cluster):
    """PID 1 reads a directory again only if its time has changed. Here the clock is far behind the directory, so only a time that
    argosy itself sets can differ from the last one in the right direction."""
    n1 = c.node("n1")
    pin = f"[X-Argosy]\nMachineID={n1.machine_id}\n"
    seen, began = [], time.time()
    n1.run(f"touch -d '2100-01-01' {UNIT_DIR} && systemctl restart argosyd")
    c.wait_online()
    for number in range(10):
        c.submit(f"t{number}.service", SLEEPER + pin)
        c.ctl(f"start t{number}")
        seen.append(n1.run(f"stat -c %.9Y {UNIT_DIR}").strip())
    assert seen == sorted(seen) and len(set(seen)) == len(seen), f"the directory's times: {seen}"
    assert seen[0] > "4102444800", "the directory's time went back"
    n1.run(f"touch {UNIT_DIR}")
    c.submit("t10.service", SLEEPER + pin)
    c.ctl("start t10")
    assert fragment(n1, "t10") == f"{UNIT_DIR}/t10.service"
    assert "Reloading." not in n1.journal("init.scope", since=began), "it took a daemon-reload"


def test_a_strangers_file_is_taken_only_by_its_path(c: Cluster):
    n1 = c.node("n1")
    n1.run("mkdir -m 1777 /srv/open")
    n1.write("/srv/open/trap.service", SLEEPER)
    n1.run("chown nobody /srv/open/trap.service")
    failed = n1.exec(["sh", "-c", "cd /srv/open && argosyctl start trap"])
    assert failed.status == 1 and "others may write to /srv/open: say ./trap.service to take it all the same" in failed.err, failed.err
    assert "trap.service" not in c.known()
    n1.run("cd /srv/open && argosyctl start ./trap.service && argosyctl stop trap && argosyctl destroy trap")
    # A directory that cannot be looked at is no reason not to start what the cluster knows.
    c.submit("known.service", SLEEPER, on=n1)
    n1.run("mkdir -m 0700 /srv/closed && useradd --system --groups argosy closed")
    n1.run("cd /srv/closed && setpriv --reuid=closed --regid=closed --init-groups argosyctl start known")
    n1.run("cd /root/units && rm -f known.service && argosyctl destroy known")
    n1.write("/root/units/here.service", SLEEPER)
    assert "Taken from /root/units: here.service" in n1.run("cd /root/units && script -qec 'argosyctl start here' /dev/null")
    assert "Taken" not in n1.run("cd /root/units && argosyctl start here 2>&1")
    n1.run("argosyctl destroy here; rm -rf /srv/open /srv/closed; userdel closed")


def test_names_with_a_meaning_for_systemd_are_refused(c: Cluster):
    """probe-.service.d would count for every unit probe-*.service of the host."""
    n1 = c.node("n1")
    n1.write("/etc/systemd/system/probe-1.service", SLEEPER)
    n1.run("systemctl start probe-1")
    for name, why in (("probe-.service", "all units whose names begin so"), ("probe-@.service", "all units whose names begin so"),
                      ("system-probe.slice", "puts instances of a template into"), ("default.target", "systemd.special(7)"), ("-.mount", "belongs to the system")):
        n1.write(f"/root/units/{name}", "[Mount]\nWhat=/x\nWhere=/\n" if name == "-.mount" else "[Unit]\n" if name in ("default.target", "system-probe.slice") else SLEEPER + GUARD)
        c.ctl_fails(f"submit /root/units/{name}", on=n1, saying=[name, why])
        n1.run(f"rm -- /root/units/{name}")
    n1.write("/root/units/linked.service", SLEEPER + "[Install]\nWantedBy=probe-.service\n")
    linked = c.ctl_result("start --timeout=60s /root/units/linked.service", on=n1)
    assert linked.status == 0 and "WantedBy=probe-.service is ignored" in linked.err, linked.err
    for node in c.nodes:
        assert not node.run(f"ls {UNIT_DIR} | grep ^probe- || true"), "a directory for names of others"
    assert n1.run("systemctl show --property DropInPaths,Wants --value probe-1").split() == []
    c.ctl("destroy linked")
    n1.run("systemctl stop probe-1; rm /etc/systemd/system/probe-1.service")


def test_the_longest_name_can_be_had_on_a_node(c: Cluster):
    """Files, drop-ins, links and the pin of a one-shot have names that are made of it."""
    for tail in (".service", "@i.service"):
        name = "a" * (237 - len(tail)) + tail
        c.start(name, SLEEPER + GUARD + "[Install]\nWantedBy=multi-user.target\n")
        c.ctl(f"destroy {name}")
    job = "j" * 229 + ".service"
    c.start(job, "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    assert c.row(job)["active"] == "inactive", c.row(job)
    c.ctl(f"destroy {job}")
    n1 = c.node("n1")
    n1.write(f"/root/units/{'k' * 230}.service", SLEEPER)
    c.ctl_fails(f"start /root/units/{'k' * 230}.service", on=n1, saying=["longer than 237 bytes"])


def test_no_file_of_argosy_outlives_its_unit(c: Cluster):
    c.start("w@{1..30}")
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    c.ctl("destroy '*'")
    for node in c.nodes:
        left = node.run(f"ls {UNIT_DIR} | grep -v '^argosy-..\\.slice' || true").split()
        assert not [name for name in left if name.startswith(("w@", "everywhere"))], left


main(nodes=3)
