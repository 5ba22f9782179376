#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happens is told once and in order: who keeps what he is told has the cluster, whoever leads it."""

import json
import random
import threading
import time

import over_http
from lib import SLEEPER, Cluster, eventually, long, main

HOOK = """#!/bin/sh
[ -z "$ARGOSY_EVENT_GONE" ] || exit 0
echo "$ARGOSY_EVENT_UNIT $ARGOSY_EVENT_ACTIVE" >> /root/told
"""


class Copy:
    """The cluster, made of nothing but events."""

    def __init__(self, c, on):
        self.units, self.states, self.stale, self.words = {}, {}, set(), []
        self.jobs = {}
        self.first = max((row["job"] for row in c.json("list-jobs --limit=1")), default=0) + 1
        self._watch = c.begin("watch --since=0 --json=short", on=on)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while line := self._watch.line():
            self._take(json.loads(line))

    def _take(self, event):
        kind = event["kind"]
        if kind == "stream":
            self._take_word(event["word"], event.get("kinds", "").split())
        elif kind == "unit":
            self._take_unit(event)
        elif kind == "state":
            self._put(self.states, (event["unit"], event["node"]), event, ("load", "active", "sub"))
        elif kind == "job":
            self.jobs[event["job"]] = event["state"]

    def _take_word(self, word, kinds):
        if word == "begins":
            self.stale |= {key for kind, table in (("unit", self.units), ("state", self.states))
                           if not kinds or kind in kinds for key in table}
        else:
            for table in self.units, self.states:
                for key in self.stale & set(table):
                    del table[key]
            self.stale = set()
        self.words.append(word)

    def _take_unit(self, event):
        if event["mark"]:
            for key in [key for key in self.states if key[0] == event["unit"]]:
                del self.states[key]
        self._put(self.units, event["unit"], event, ("desired", "state", "node"))

    def _put(self, table, key, event, fields):
        self.stale.discard(key)
        if event["gone"]:
            table.pop(key, None)
        else:
            table[key] = tuple(event[field] for field in fields)

    def is_like(self, c):
        units = {row["unit"]: (row["desired"], row["state"], row["node"]) for row in c.json("list-unit-files")}
        states = {(row["unit"], row["node"]): (row["load"], row["active"], row["sub"])
                  for row in c.json("list-units") if row["node"] != "-"}
        if (units, states) != (self.units, self.states):
            raise ValueError(f"the cluster has {sorted(units.items() ^ self.units.items())[:6]}, "
                             f"{sorted(states.items() ^ self.states.items())[:6]}")
        jobs = {row["job"]: row["state"] for row in c.json("list-jobs --limit=1000") if row["job"] >= self.first}
        told = {job: state for job, state in self.jobs.items() if job >= self.first}
        if jobs != told:
            raise ValueError(f"the cluster has {sorted(jobs.items() ^ told.items())[:6]}")
        return True

    def end(self):
        self._watch.kill()
        self._reader.join()


def copies_through_changes_of_leader(c, changes, seed):
    """Copies on all nodes but the first, while units come and go, are compared with a listing again and again."""
    chance = random.Random(seed)
    c.submit("w@.service", SLEEPER)
    c.submit("all.service", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    c.ctl("start all 'w@{1..5}'")
    copies = [Copy(c, on=node.name) for node in c.nodes[1:]]
    eventually(lambda: all(copy.is_like(c) for copy in copies))
    for change in range(changes):
        for verb in chance.choices(["start", "start", "stop", "destroy"], k=6):
            first = chance.randrange(1, 30)
            c.ctl_result(f"{verb} --no-block 'w@{{{first}..{first + chance.randrange(8)}}}'")
        leader = c.leader()
        leader.run(chance.choice(["systemctl restart argosyd", "systemctl kill --signal=KILL argosyd"]))
        c.ctl_result(f"start --no-block 'w@{{{first}..{first + 3}}}'", on=chance.choice(c.nodes))
        if change % 4 == 3:
            c.leader()
            eventually(lambda: all(copy.is_like(c) for copy in copies))
    c.leader()
    for copy in copies:
        eventually(lambda: copy.is_like(c))
    assert all(copy.words[-1] == "complete" for copy in copies)
    c.ctl("stop 'w@*' all")
    for copy in copies:
        eventually(lambda: copy.is_like(c))
        copy.end()


def test_a_copy_made_of_events_is_like_the_cluster_through_changes_of_leader(c: Cluster):
    copies_through_changes_of_leader(c, changes=4, seed=7)


@long
def test_a_copy_made_of_events_is_like_the_cluster_through_twenty_changes_of_leader(c: Cluster):
    copies_through_changes_of_leader(c, changes=20, seed=8)


def test_who_changes_something_goes_on_with_its_events_whoever_leads(c: Cluster):
    c.submit("w@.service", SLEEPER)
    answer = json.loads(c.ctl("start --no-block --json=short w@1"))[0]
    c.leader().run("systemctl kill --signal=KILL argosyd")
    watch = c.begin(f"watch --since={answer['cursor']} --kinds=job,state --json=short", on=c.nodes[-1])
    seen = []

    def is_reported(**fields):
        while not any(all(event.get(key) == value for key, value in fields.items()) for event in seen):
            line = watch.line()
            assert line, f"the watch ended: {seen}"
            seen.append(json.loads(line))
        return True

    assert is_reported(kind="job", job=answer["job"], state="done")
    assert is_reported(kind="state", unit="w@1.service", active="active")
    watch.kill()
    jobs = [event["job"] for event in seen if event["kind"] == "job"]
    assert min(jobs) >= answer["job"], f"jobs from before it are told: {jobs}"


def argosyd(nodes, signal):
    for node in nodes:
        node.run(f"systemctl kill --signal={signal} argosyd")


def test_who_watches_is_told_that_nobody_leads_and_that_somebody_does_again(c: Cluster):
    """By the host that he asks: of leaders that hang, which say nothing, and of those that have gone, at the times of a configuration without any."""
    on, *others = sorted(c.nodes, key=lambda node: node.name == c.leader_name())
    watch, stream = c.begin("watch --json=short --kinds=job", on=on), over_http.Events(on, "?kind=job")
    c.start("before")

    def next_lead(read):
        while (event := read())["kind"] != "leader":
            pass
        return event

    for begins, ends in ("STOP", "CONT"), ("KILL", None):
        if begins == "KILL":
            for node in others:
                node.run("systemctl mask --runtime argosyd.socket argosyd.service; systemctl kill --signal=KILL argosyd; systemctl stop argosyd.socket || true")
        else:
            argosyd(others, begins)
        since = time.monotonic()
        told = next_lead(stream.next)
        took = time.monotonic() - since
        assert (told["leader"], told["mark"]) == ("", "here") and told["cursor"] and on.name in told["reason"], told
        assert took < 2.5, f"it took {took:.1f} s"
        assert next_lead(lambda: json.loads(watch.line()))["leader"] == ""
        for target in "/v1/events", "/v1/state", "/readyz":
            since = time.monotonic()
            assert over_http.ask(on, target)[0] == 503 and time.monotonic() - since < 1, target
        if ends:
            argosyd(others, ends)
        else:
            for node in others:
                node.run("systemctl unmask --runtime argosyd.socket argosyd.service; systemctl start argosyd.socket argosyd")
        assert next_lead(stream.next)["leader"] and next_lead(lambda: json.loads(watch.line()))["leader"]
    watch.kill()
    stream.close()


def test_a_program_is_given_each_event_also_those_in_which_it_did_not_run(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/hook", HOOK)
    n1.run("chmod +x /root/hook; rm -f /root/told /root/cursor")
    watch = "watch --kinds=state --exec=/root/hook --cursor-file=/root/cursor web.service"
    first = c.begin(watch, on=n1)
    eventually(lambda: n1.path("/root/cursor").exists())
    c.start("web")
    eventually(lambda: "web.service active" in n1.path("/root/told").read_text(), what="the hook is run")
    first.kill()
    c.ctl("stop web")
    n1.run("systemctl kill --signal=KILL argosyd")
    second = c.begin(watch, on=n1)
    eventually(lambda: n1.path("/root/told").read_text().splitlines()[-1] == "web.service inactive")
    c.ctl("start web")
    eventually(lambda: n1.path("/root/told").read_text().splitlines()[-1] == "web.service active")
    second.kill()
    c.ctl_fails("watch --since=123", status=2, saying="is neither a cursor")


def test_each_job_is_handed_over_once_whatever_is_restarted(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/hook", '#!/bin/sh\n[ "$ARGOSY_EVENT_STATE" = running ] || echo "$ARGOSY_EVENT_JOB $ARGOSY_EVENT_STATE" >> /root/jobs\n')
    n1.run("chmod +x /root/hook; rm -f /root/jobs /root/at; touch /root/jobs")
    c.submit("w@.service", SLEEPER)
    first = max(row["job"] for row in c.json("list-jobs --limit=1")) + 1
    watch = f"watch --kinds=job --since=@{first - 1} --exec=/root/hook --cursor-file=/root/at"
    hook = c.begin(watch, on=n1)

    def jobs_are_told():
        told = n1.path("/root/jobs").read_text().splitlines()
        done = [f"{row['job']} {row['state']}" for row in c.json("list-jobs --limit=100") if row["job"] >= first]
        seen = [line for line in told if int(line.split()[0]) >= first]
        return sorted(seen) == sorted(done) and len(done) > 0

    c.ctl("start w@1", on=n1)
    eventually(jobs_are_told)
    n1.run("systemctl kill --signal=KILL argosyd")
    c.ctl("start w@2", on=c.node("n2"))
    eventually(jobs_are_told, what="its argosyd died")
    c.leader().run("systemctl kill --signal=KILL argosyd")
    c.ctl("start w@3", on=c.node("n3"))
    eventually(jobs_are_told, what="the leader died")
    hook.kill()
    c.ctl("stop w@1 w@2", on=c.node("n2"))
    hook = c.begin(watch, on=n1)
    eventually(jobs_are_told, what="it was ended and started again")
    c.leader().run("systemctl kill --signal=KILL argosyd")
    c.ctl("destroy w@1 w@2 w@3", on=c.node("n3"))
    eventually(jobs_are_told, what="the leader died again")
    hook.kill()


def test_who_has_no_room_for_his_cursor_runs_no_program_twice(c: Cluster):
    n1 = c.node("n1")
    n1.write("/root/hook", "#!/bin/sh\necho x >> /root/ran\nhead -c 1M /dev/zero > /root/small/full\n")
    n1.run("chmod +x /root/hook; rm -f /root/ran; mkdir -p /root/small; mount -t tmpfs -o size=64k small /root/small")
    first = c.begin("watch --since=0 --kinds=leader --json=short", on=n1)
    cursor = json.loads(first.line())["cursor"]
    first.kill()
    n1.run(f"echo {cursor} > /root/small/cursor")
    c.ctl("cordon n3")
    watch = "watch --kinds=node --exec=/root/hook --cursor-file=/root/small/cursor --timeout=30"
    c.ctl_fails(watch, saying="No space left on device", on=n1)  # the program has taken all of it
    assert n1.path("/root/ran").read_text() == "x\n"
    c.ctl_fails(watch, saying="No space left on device", on=n1)
    assert n1.path("/root/ran").read_text() == "x\n", "it is known before the program is run"
    assert n1.run("cat /root/small/cursor").strip() == cursor, "the old one stands"
    n1.run("umount /root/small")


main(nodes=3)
