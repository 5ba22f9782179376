# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clusters as the page of the dashboard is told of them, written down: what a picture is drawn of looks the same each time."""

from dataclasses import dataclass, field

NOW = 1795834800_000000  # 2026-11-28, 3 in the morning, UTC
MIN, HOUR, DAY = 60_000000, 3600_000000, 86400_000000
FILE = """[Unit]
Description=Nightly report

[Service]
Type=oneshot
ExecStart=/usr/bin/report --orders --to=/srv/report
User=report

[X-Argosy]
RequireLabel=disk=ssd
"""
WORSE = FILE.replace("User=report\n", "User=report\nNice=10\n")


@dataclass
class Cluster:
    """leader "": nobody; answers: of targets beside those that follow from the rest."""
    nodes: list
    units: list  # of unit_files
    states: list
    jobs: list = field(default_factory=list)
    rollouts: list = field(default_factory=list)
    queue: dict = field(default_factory=lambda: {"closed": False, "reason": ""})
    leader: str = "n1"
    silence: str = ""  # nobody leads, and why
    answers: dict = field(default_factory=dict)
    right: str = "admin"
    refuses: int = 0  # the status of everything
    ends: bool = False  # the stream ends at once, and no other begins

    def state(self):
        return {"cursor": "c1", "leader": {"leader": self.leader, "term": 4}, "queue": self.queue, "nodes": self.nodes, "drains": [], "jobs": [{key: " ".join(j[key]) if key == "targets" else j[key] for key in ("job", "author", "verb", "targets", "reason", "state", "message")} for j in self.jobs],
                "rollouts": self.rollouts, "unit_files": self.units, "units": self.states}

    def events(self):
        """What the stream says first."""
        if self.silence:
            yield {"kind": "leader", "time": NOW - 41_000000, "cursor": "c1", "mark": "here", "gone": False, "changed": ["leader", "reason"], "leader": "", "term": 4, "reason": self.silence, "since": NOW - 41_000000}


def node(name, state="online", since=NOW - 3 * DAY, role="voter", **more):
    return {"node": name, "state": state, "role": role, "mode": "", "mode_reason": "", "reason": "", "address": f"10.77.0.{name[1:]}", "labels": "disk=ssd rack=a", "since": since} | more


def unit(name, on="n1", desired="launched", **more):
    return {"unit": name, "desired": desired, "state": desired, "node": on, "rev": "3f1c", "revision": 12, "description": "", "set": "", "since": 0} | more


def state(name, on="n1", active="active", sub="running", since=NOW - 2 * DAY, **more):
    return {"unit": name, "node": on, "load": "loaded", "active": active, "sub": sub, "result": "success", "error": "", "drift": False, "stale": False, "since": since} | more


def job(number, verb, targets, age, author="anna@n1", ended=True, state="done", **more):
    return {"job": number, "time": NOW - age, "state": state, "author": author, "verb": verb, "targets": targets, "changed": len(targets), "reason": "", "host": "n1", "before": 1,
            "revision": 2, "ended": NOW - age + 2_400000 if ended else 0, "failed": 0, "unplaced": 0, "overtaken": 0, "cancelled": 0, "message": "", "retries": 0, "asked": 0, "waits": "",
            "groups": [], "more-targets": 0} | more


JOBS = [
    job(71, "stop", ["ledger.service"], 2 * MIN, reason="the books are closed", ended=False, state="running"),
    job(70, "start", ["report.service"], 9 * MIN, reason="the night of the 24th", state="failed", failed=1, message=""),
    job(69, "update", ["shop@.service"], 35 * MIN, author="deploy@n3", reason="release 2026.48"),
    job(68, "cordon", ["n3"], 2 * HOUR, reason="new disks tomorrow", changed=0),
    job(67, "start", [f"shop@{i}.service" for i in range(1, 17)], 5 * HOUR, author="deploy@n3", **{"more-targets": 8, "changed": 24}),
    job(66, "apply", ["/srv/units/shop"], DAY, author="deploy@n3", reason="a longer reason, as people write them when something has gone wrong in the night and somebody else has to read it", state="cancelled"),
    job(65, "start", ["mail.service", "ledger.service"], 3 * DAY),
]


def shop(on=("n1", "n2", "n3"), count=24):
    names = [f"shop@{i}.service" for i in range(1, count + 1)]
    placed = [on[i % len(on)] for i in range(count)]
    units = [unit(name, where, description=f"The shop, part {i + 1}", set="shop") for i, (name, where) in enumerate(zip(names, placed))]
    states = [state(name, where, since=NOW - 35 * MIN) for name, where in zip(names, placed)]
    for name, where in ("mail.service", "n1"), ("ledger.service", on[-1]), ("cache@1.service", "n1"), ("cache@2.service", on[-1]):
        units.append(unit(name, where))
        states.append(state(name, where))
    units += [unit("shop@.service", "-", "inactive"), unit("old.service", "-", "inactive")]
    return units, states


def usage(cluster, later):
    """Of each unit that runs; later: the second reading, a second after the first."""
    rows = []
    for i, s in enumerate(cluster.states):
        if s["active"] == "active":
            rows.append({"unit": s["unit"], "node": s["node"], "tasks": 3 + i % 5, "memory": (20 + i * 37 % 400) << 20, "cpu-time": later * (20000 + i * 7919 % 60000), "read-total": 0,
                         "written-total": 4096, "run": 7, "time": 71_300000 + later * 1_000000})
    return rows


def calm():
    units, states = shop()
    return Cluster([node("n1", role="leader"), node("n2"), node("n3")], units, states, [j | {"state": "done", "ended": NOW - 3 * DAY} for j in JOBS[4:]])


def trouble():
    units, states = shop(("n1", "n3"))
    nodes = [node("n1", role="leader"), node("n2", "lost", NOW - 4 * MIN, reason="not heard for 5 s"), node("n3", mode="cordoned", mode_reason="new disks tomorrow"), node("n4", role="spare")]
    units += [unit("report.service", "n1", description="Nightly report"), unit("train.service", "-", description="Training", since=NOW - 3 * HOUR), unit("db.service", "n2", description="The database")]
    states += [state("report.service", "n1", "failed", "failed", NOW - 9 * MIN, result="exit-code"), state("db.service", "n2", "unknown", "unknown", 0)]
    loss = job(72, "host lost", ["n2"], 4 * MIN, author="cluster", reason="not heard for 5 s", changed=8)
    c = Cluster(nodes, units, states, [loss] + JOBS)
    c.answers = {
        "/v1/units/report.service": {"why": [{"node": "n1", "as_wanted": False, "why": "its program ended with status 28", "note": "", "refusals": []}]},
        "/v1/units/train.service": {"why": [{"node": "-", "as_wanted": False, "why": "no node takes it", "note": "", "refusals": [
            {"node": n, "reason": "it has no label gpu=yes"} for n in ("n1", "n3", "n4")] + [{"node": "n2", "reason": "it is lost"}]}]},
        "/v1/history/report.service": {"history": [job(70, "start", ["report.service"], 9 * MIN, reason="the night of the 24th"), job(52, "submit", ["report.service"], 2 * DAY, author="deploy@n3"),
                                                   job(12, "submit", ["report.service"], 40 * DAY)]},
        "/v1/unit-files/report.service": {"file": FILE},
        "/v1/unit-files/report.service?at=70": {"file": FILE}, "/v1/unit-files/report.service?at=52": {"file": FILE}, "/v1/unit-files/report.service?at=12": {"file": WORSE},
        "/v1/journal/report.service": [("n1", line) for line in (
            "Nov 28 02:51:02 n1 systemd[1]: Starting report.service - Nightly report...", "Nov 28 02:51:02 n1 report[812]: counting 1,204 orders",
            "Nov 28 02:51:04 n1 report[812]: cannot open /srv/report: disk full", "Nov 28 02:51:04 n1 systemd[1]: report.service: Main process exited, code=exited, status=28/n/a",
            "Nov 28 02:51:04 n1 systemd[1]: report.service: Failed with result 'exit-code'.", "Nov 28 02:51:04 n1 systemd[1]: Failed to start report.service - Nightly report.")],
        "/v1/jobs/70": {"jobs": [JOBS[1] | {"cut": False, "after": [], "waiting": [], "settings": [], "units": [
            {"unit": "report.service", "rev": "3f1c", "desired": "loaded", "end": "failed", "end_message": "exit-code", "node": "n1", "now": "otherwise", "message": "", "revision": 41, "by": 0}]}]},
        "/v1/jobs/72": {"jobs": [loss | {"cut": False, "after": [], "waiting": [], "settings": [], "units": [
            {"unit": f"shop@{i}.service", "rev": "", "desired": "", "end": "", "end_message": "", "node": ("n3", "n1")[i % 2], "now": "", "message": "its node was lost", "revision": 0, "by": 0,
             "from": "n2", "time": NOW - 4 * MIN} for i in range(2, 24, 3)]}]},
        "/v1/jobs/67": {"jobs": [JOBS[4] | {"cut": False, "after": [], "waiting": [], "settings": [], "units": [
            {"unit": f"shop@{i}.service", "rev": "", "desired": "", "end": "ok", "end_message": "", "node": ("n3", "n1")[i % 2], "now": "", "message": "", "revision": 41, "by": 0} for i in range(1, 25)]}]},
        "/v1/plan": {"units": [{"unit": f"shop@{i}.service", "ok": True, "node": "", "message": "is removed", "from": "", "because_of": "", "refusals": []} for i in range(1, 25)]},
    }
    return c


def loop():
    c = calm()
    c.units.append(unit("worker.service", "n2", description="Takes what the shop has sold"))
    c.states.append(state("worker.service", "n2", "activating", "auto-restart", NOW - 2_000000, result="exit-code", restarts=81, looping=True))
    c.answers["/v1/unit-files/worker.service"] = {"file": "[Unit]\nDescription=Takes what the shop has sold\n\n[Service]\nExecStart=/usr/bin/worker\nRestart=always\n"}
    c.answers["/v1/units/worker.service"] = {"why": [{"node": "n2", "as_wanted": False, "why": "it is looping: restarted 81 times, exit-code", "note": "", "refusals": []}]}
    return c


def nobody():
    c = trouble()
    c.silence = "n3 reaches no host that leads"
    return c


def unheard():
    """A leader that has just begun to lead."""
    c = calm()
    for n in c.nodes[1:]:
        n["state"] = "unknown"
    for s in c.states:
        if s["node"] != "n1":
            s.update(active="unknown", sub="unknown", since=0)
    return c


LONG = "customer-facing-recommendation-engine-with-fallback"


def long_names():
    c = calm()
    c.nodes.append(node("n4") | {"node": "container-build-runner-europe-west-4.n1", "address": "fd00:1234:5678:9abc:def0:1234:5678:9abc", "labels": " ".join(f"key{i}.example.org/zone=value-{i}" for i in range(6))})
    for i in range(1, 9):
        name = f"{LONG}@tenant-{i:03}-production-blue.service"
        c.units.append(unit(name, "container-build-runner-europe-west-4.n1", description="A description that goes on for long, as some people write them, and then a little more"))
        c.states.append(state(name, "container-build-runner-europe-west-4.n1", *(("failed", "failed") if i < 3 else ("active", "running")), NOW - i * MIN, result="watchdog" if i < 3 else "success",
                              error="" if i != 2 else "Failed to start transient service unit: Unit customer-facing-recommendation-engine.service has a bad unit file setting"))
    c.jobs = [job(80, "start", [f"{LONG}@tenant-{i:03}-production-blue.service" for i in range(1, 9)], 8 * MIN, author="firstname.lastname-of-somebody@container-build-runner-europe-west-4.n1",
                  reason="https://tickets.example.org/browse/OPERATIONS-123456?focusedCommentId=987654321#comment-987654321")] + c.jobs
    return c


def many():
    on = [f"n{i}" for i in range(1, 21)]
    names = [f"some@{i}.service" for i in range(1, 5001)]
    units = [unit(name, on[i % 20]) for i, name in enumerate(names)]
    states = [state(name, on[i % 20], *(("failed", "failed") if i % 1213 == 7 else ("activating", "start") if i % 400 == 9 else ("active", "running"))) for i, name in enumerate(names)]
    return Cluster([node(n, role="leader" if n == "n1" else "voter" if n in ("n2", "n3") else "spare") for n in on], units, states, JOBS[4:])
