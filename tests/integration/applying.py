#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A folder is the truth: what it says is started, changed and destroyed, and nothing else is touched."""

import json
import random

from lib import SLEEPER, Cluster, eventually, main

FOLDER = "/root/shop"
EXPORT = "/root/copy"
OTHER = SLEEPER.replace("infinity", "100000") + "# another one\n"


def write(node, files):
    node.run(f"rm -rf {FOLDER}; mkdir -p {FOLDER}")
    for name, text in files.items():
        node.write(f"{FOLDER}/{name}", text)


def test_a_folder_is_applied_and_undone(c: Cluster):
    node = c.node("n2")
    files = {"web@.service": SLEEPER, "db.service": SLEEPER, "argosy.set": "launched web@{1..3}\n", "README.md": "the shop\n"}
    write(node, files)
    c.start("mine.service")
    plan = c.ctl_fails(f"apply --plan {FOLDER}", on=node, status=5, saying=("web@2.service: is new, to be launched", "+ExecStart="))
    assert "README" not in plan.err, plan.err
    assert not c.known() - {"mine.service"}, c.known()

    c.ctl(f"apply {FOLDER} --reason='first of all'", on=node)
    for unit in ("web@1", "web@2", "web@3", "db"):
        assert c.where(unit), unit
    assert "5 units, nothing to do" in c.ctl(f"apply {FOLDER}", on=node)
    c.ctl(f"apply --plan {FOLDER}", on=node)
    runs = {unit: c.invocation(unit) for unit in ("web@1", "web@2", "mine")}

    write(node, files | {"db.service": OTHER, "argosy.set": "launched web@{1..2}\nloaded db\n"})
    c.ctl_fails(f"apply --plan --prune {FOLDER}", on=node, status=5,
                saying=("web@3.service: is destroyed", "db.service: launched -> loaded, gets another file", "+# another one"))
    c.ctl(f"apply --prune {FOLDER}", on=node)
    assert not c.where("db") and "web@3.service" not in c.known()
    assert "# another one" in c.ctl("cat db")
    assert runs == {unit: c.invocation(unit) for unit in runs}, "what did not differ was started again"

    [last] = c.json("list-jobs --limit=1")
    assert (last["verb"], last["targets"], last["changed"]) == ("apply", ["shop"], 2), last
    c.ctl(f"undo {last['job']}")
    assert c.where("db") and c.where("web@3")
    write(node, files)
    assert "nothing to do" in c.ctl(f"apply {FOLDER}", on=node)


def test_what_looks_wrong_is_refused(c: Cluster):
    node = c.node("n1")
    write(node, {"a.service": SLEEPER, "b.service": SLEEPER, "c.service": SLEEPER})
    c.ctl(f"apply {FOLDER}", on=node)
    job = c.json("list-jobs --limit=1")[0]["job"]
    c.start("d.service")
    write(node, {"a.service": OTHER, "d.service": SLEEPER})
    c.ctl_fails(f"apply {FOLDER}", on=node, saying=("d.service is there and belongs to no set", "nothing was changed"))
    write(node, {"a.service": OTHER})
    c.ctl_fails(f"apply --prune {FOLDER}", on=node, saying=("2 of the 3 units", "more than half"))
    write(node, {})
    c.ctl_fails(f"apply --prune {FOLDER}", on=node, saying="no units in the folder")
    write(node, {"a.service": "[Service\n", "b.service": SLEEPER})
    c.ctl_fails(f"apply {FOLDER}", on=node, saying="a.service:1")
    write(node, {"argosy.set": "launched web@1\n"})
    c.ctl_fails(f"apply {FOLDER}", on=node, saying="argosy.set:1: web@1.service has no file in the folder")
    c.ctl_fails(f"apply {FOLDER} --set=a/b", on=node, status=2)
    assert next(row["job"] for row in c.json("list-jobs") if row["verb"] == "apply") == job


def random_folder(dice):
    """Templates, instances with files of their own and without, names with escapes, and all that units can be to be."""
    contents = [SLEEPER, OTHER]
    names = ["web@.service", "db.service", "a\\x2db.service", "web@2.service"]
    files = {name: dice.choice(contents) for name in dice.sample(names, 3)}
    units = [name for name in files if "@." not in name] + [f"web@{n}.service" for n in range(1, 5) if "web@.service" in files]
    named = sorted(set(dice.sample(units, min(len(units), 4))))
    lines = [f"{dice.choice(['launched', 'loaded', 'inactive'])} {unit}" for unit in named]
    return files | {"argosy.set": "\n".join(["set shop", *lines, ""])}


def test_an_export_is_applied_and_changes_nothing(c: Cluster):
    node = c.node("n3")
    node.run(f"rm -rf {EXPORT}")
    c.ctl_fails(f"export {EXPORT} --set=shop", on=node, saying="no unit belongs to the set shop; nothing was written")
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(5):
        write(node, random_folder(dice))
        c.ctl(f"apply --prune --force {FOLDER}", on=node)
        said = c.ctl(f"export {EXPORT} --set=shop", on=node)
        assert f"{EXPORT} " in said and "the set shop" in said, said
        c.ctl(f"job wait {c.json('list-jobs --limit=1')[0]['job']}")  # what changes in the list from now on was done by somebody
        jobs = c.json("list-jobs --limit=1")
        assert "nothing to do" in c.ctl(f"apply --prune --plan {EXPORT}", on=node)
        assert "nothing to do" in c.ctl(f"apply --prune {EXPORT}", on=node)
        assert "nothing to do" in c.ctl(f"export {EXPORT}", on=node), "the second export writes something"
        assert c.json("list-jobs --limit=1") == jobs
    before = {row["unit"]: (row["rev"], row["desired"]) for row in c.json("list-unit-files")}
    c.ctl("destroy '*'")
    c.ctl(f"apply {EXPORT}", on=node)
    assert before == {row["unit"]: (row["rev"], row["desired"]) for row in c.json("list-unit-files")}
    c.ctl_fails(f"export {FOLDER}", on=node, saying="is not empty, and not an export of the set shop")


def test_a_key_is_one_apply_whatever_has_come_since(c: Cluster):
    node = c.node("n1")
    files = {"a.service": SLEEPER, "b.service": SLEEPER}
    write(node, files)
    c.ctl(f"apply {FOLDER} --key=release-7 --reason='release 7'", on=node)
    [job] = c.json("list-jobs --limit=1")
    assert (job["verb"], job["targets"], job["reason"]) == ("apply", ["shop"], "release 7"), job
    c.ctl("destroy b")
    c.ctl(f"apply {FOLDER} --key=release-7", on=node)
    assert "b.service" not in c.known(), "what was done once was done again"
    write(node, files | {"a.service": OTHER})
    c.ctl_fails(f"apply {FOLDER} --key=release-7", on=node, saying=(f"job {job['job']}", "nothing was changed"))
    assert "# another one" not in c.ctl("cat a")


def test_a_plan_for_programs_has_the_revision_to_apply_it_at(c: Cluster):
    node = c.node("n1")
    write(node, {"a.service": SLEEPER})
    [row] = json.loads(c.ctl_fails(f"apply --plan --json=short {FOLDER}", on=node, status=5).out)
    assert (row["unit"], row["change"], row["desired_after"]) == ("a.service", "make", "launched"), row
    c.start("mine.service")  # that is no matter of the folder
    [done] = json.loads(c.ctl(f"apply {FOLDER} --json=short --if-revision={row['revision']}", on=node))
    assert (done["unit"], done["ok"]) == ("a.service", True) and done["job"] > 0, done
    assert json.loads(c.ctl(f"apply {FOLDER} --json=short", on=node)) == []
    write(node, {"a.service": OTHER})
    [row] = json.loads(c.ctl_fails(f"apply --plan --json=short {FOLDER}", on=node, status=5).out)
    c.ctl("stop a")
    c.ctl_fails(f"apply {FOLDER} --if-revision={row['revision']}", on=node, saying="nothing was changed")
    assert not c.where("a") and "# another one" not in c.ctl("cat a")


def test_files_are_put_in_place_a_few_at_a_time(c: Cluster):
    node = c.node("n1")
    files = {"web@.service": SLEEPER, "db.service": SLEEPER, "argosy.set": "launched web@{1..3}\n"}
    write(node, files)
    c.ctl(f"apply {FOLDER}", on=node)
    units = ("web@1", "web@2", "web@3")
    runs = {unit: c.invocation(unit) for unit in (*units, "db")}

    write(node, files | {"web@.service": OTHER, "db.service": OTHER})
    c.ctl_fails(f"apply --rolling {FOLDER}", on=node, saying=("web@", "another template, or of none", "nothing was changed"))
    write(node, files | {"web@.service": OTHER})
    c.ctl_fails(f"apply --plan --rolling {FOLDER}", on=node, status=5, saying="gets another file")
    assert runs == {unit: c.invocation(unit) for unit in runs}, "what was refused, or asked about, was done"
    assert "web@.service: applied" in c.ctl(f"apply {FOLDER} --rolling --health=0.3s --verbose --reason=slowly", on=node)
    assert not [unit for unit in units if c.invocation(unit) == runs[unit]], "with the file of before"
    assert c.invocation("db") == runs["db"], "what did not differ was started again"
    assert "# another one" in c.ctl("cat web@2")
    [job] = c.json("list-jobs --limit=1")
    assert (job["verb"], job["targets"], job["changed"]) == ("apply", ["shop"], 4), job
    c.ctl(f"job wait {job['job']}")  # done, and the log says so
    assert "5 units, nothing to do" in c.ctl(f"apply --rolling {FOLDER}", on=node)

    write(node, files | {"web@.service": OTHER.replace("/bin/sleep", "/bin/false")})
    c.ctl_fails(f"apply {FOLDER} --health=0.3s", on=node, saying="goes back to the file of before")
    assert "/bin/false" not in c.ctl("cat web@2") and all(c.where(unit) for unit in units)
    c.ctl(f"undo {job['job']} --rolling --health=0.3s", on=node)
    assert "# another one" not in c.ctl("cat web@2")


def test_what_failed_or_was_stopped_is_started_again(c: Cluster):
    node = c.node("n1")
    broken = "[Service]\nType=exec\nExecStart=/usr/bin/not-there\n"
    files = {"ok.service": SLEEPER, "bad.service": broken, "once.service": "[Service]\nType=oneshot\nExecStart=/bin/true\n"}
    write(node, files)
    named = "1 of 3 units is not as it is to be: bad.service failed"
    for _ in range(2):
        c.ctl_fails(f"apply {FOLDER}", on=node, saying=("apply bad.service on n", named))
    job = c.json("list-jobs --limit=1")[0]["job"]
    c.ctl_fails(f"apply --plan {FOLDER}", on=node, status=6, saying=("bad.service: failed, on n", "once.service: has finished", named))
    assert c.json("list-jobs --limit=1")[0]["job"] == job

    run = c.invocation("ok")
    c.where("ok").run("systemctl stop ok.service")
    eventually(lambda: c.row("ok")["drift"], what="that it was stopped")
    rows = json.loads(c.ctl_fails(f"apply --plan --json=short {FOLDER}", on=node, status=5).out)
    assert {row["unit"]: (row["change"], row["state"], row["wrong"]) for row in rows} == {
        "ok.service": ("start", "stopped", True), "bad.service": ("start", "failed", True), "once.service": ("none", "finished", False)}, rows
    write(node, files | {"bad.service": SLEEPER})
    c.ctl(f"apply {FOLDER}", on=node)
    assert c.where("bad") and c.invocation("ok") != run
    c.ctl(f"apply --plan {FOLDER}", on=node)


def test_a_timer_of_a_template_brings_its_service(c: Cluster):
    node = c.node("n2")
    node.run(f"rm -rf {EXPORT}")
    files = {"sweep@.timer": "[Timer]\nOnActiveSec=1h\n", "sweep@.service": SLEEPER, "argosy.set": "launched sweep@a.timer\n"}
    write(node, files)
    c.ctl_fails(f"apply --plan {FOLDER}", on=node, status=5, saying="sweep@a.service: is new, to be loaded")
    c.ctl(f"apply {FOLDER}", on=node)
    assert c.where("sweep@a.timer") and c.shown("sweep@a.service").startswith("loaded inactive")
    assert "4 units, nothing to do" in c.ctl(f"apply --prune {FOLDER}", on=node)
    job = c.json("list-jobs --limit=1")[0]["job"]
    c.ctl(f"export {EXPORT} --set=shop", on=node)
    assert "loaded sweep@a.service" in node.run(f"cat {EXPORT}/argosy.set")
    write(node, files | {"sweep@.service": OTHER})
    c.ctl(f"apply {FOLDER}", on=node)
    assert "# another one" in c.ctl("cat sweep@a.service")
    c.ctl(f"undo {c.json('list-jobs --limit=1')[0]['job']}")
    c.ctl(f"undo {job}")
    assert not c.known(), c.known()


def test_what_a_timer_of_the_folder_runs_is_only_loaded(c: Cluster):
    node = c.node("n2")
    node.run(f"rm -rf {EXPORT}")
    files = {"backup.timer": "[Timer]\nOnActiveSec=1h\n[Install]\nWantedBy=timers.target\n", "backup.service": SLEEPER}
    write(node, files)
    c.ctl_fails(f"apply --plan {FOLDER}", on=node, status=5, saying="backup.service: is new, to be loaded")
    c.ctl(f"apply {FOLDER}", on=node)
    assert c.where("backup.timer") and c.shown("backup").startswith("loaded inactive")
    c.where("backup.timer").run("systemctl start backup.service")
    eventually(lambda: c.shown("backup").startswith("loaded active"), what="the backup")
    assert "2 units, nothing to do" in c.ctl(f"apply --prune {FOLDER}", on=node)
    run = c.invocation("backup")
    write(node, files | {"backup.service": OTHER})
    c.ctl(f"apply {FOLDER}", on=node)
    assert c.invocation("backup") == run, "a running backup was stopped for its new file"
    write(node, files | {"argosy.set": "launched backup.service\n"})
    c.ctl(f"apply {FOLDER}", on=node)
    assert "loaded -> launched" in c.ctl("history --limit=1 backup")
    c.ctl(f"export {EXPORT} --set=shop", on=node)
    c.ctl(f"apply --plan {EXPORT}", on=node)
    c.ctl("destroy backup.timer backup.service", on=node)


def test_an_apply_goes_on_when_its_leader_is_lost(c: Cluster):
    count = 4000
    leader = c.leader()
    node = next(node for node in c.nodes if node.name != leader.name)
    write(node, {"u@.service": SLEEPER, "argosy.set": f"inactive u@{{1..{count}}}\n"})
    applying = c.begin(f"apply {FOLDER} --reason=many", on=node)
    eventually(lambda: any(row["reason"] == "many" for row in c.json("list-jobs --limit=1", on=node)), what="the apply")
    leader.kill()
    done = applying.result(within=120)
    assert done.status == 0, done.err
    assert len(c.known(on=node)) == count + 1
    [job] = [row for row in c.json("list-jobs", on=node) if row["reason"] == "many"]
    assert job["changed"] == count + 1, job
    assert f"{count + 1} units, nothing to do" in c.ctl(f"apply {FOLDER}", on=node)
    c.ctl(f"undo {job['job']}", on=node)
    assert not c.known(on=node), "undo has left some of it"


main()
