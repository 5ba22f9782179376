#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HTTP for programs: what every host answers on its socket, to whom, and what it costs those who do not ask."""

import json
import re
import subprocess
import time
from pathlib import Path

from lib import QUICK, SLEEPER, SOURCE, Cluster, eventually, main
from over_http import Connection, ask, directory, exchange, get, raw, refuses
from prometheus_client.openmetrics.parser import text_string_to_metric_families

ANN = 1001
WEB = SLEEPER + "[X-Argosy]\nRole=web\n"

# What a program does that is somebody else, in the directory of the socket.
ASK = """
import http.client, json, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
try:
    connection.sock.connect("http.sock")
except PermissionError:
    print(json.dumps([0, "", "no entry"]))
    sys.exit()
connection.request("GET", sys.argv[1])
answer = connection.getresponse()
print(json.dumps([answer.status, answer.headers["Content-Type"], answer.read().decode()]))
"""


def begin_as_ann(node, target):
    return subprocess.Popen(["/usr/bin/python3", "-c", ASK, target], cwd=directory(node), user=ANN, group=ANN, extra_groups=[],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def answer_to_ann(begun):
    """When it has come to its end: a connection that breaks in the middle is a failure."""
    out, err = begun.communicate(timeout=60)
    assert begun.returncode == 0, err
    status, _, text = json.loads(out)
    return status, text


def ask_as_ann(node, target):
    return answer_to_ann(begin_as_ann(node, target))


def names(rows):
    return sorted(row["unit"] for row in rows)


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def threads(node):
    return [task.read_text().strip() for task in Path(f"/proc/{node.argosyd_pid_outside()}/task").glob("*/comm")]


def test_every_host_says_what_argosyctl_says(c: Cluster):
    c.start("web@{1..6}")
    c.start("db")
    eventually(lambda: len(c.active("web@*")) == 6 and c.active("db*"))
    for node in c.nodes:
        for target, key, verb in [("units", "units", "list-units"), ("unit-files", "unit_files", "list-unit-files"),
                                  ("nodes", "nodes", "list-nodes")]:
            said = get(node, f"/v1/{target}")
            assert said["no_leader"] is False and len(said) == 2, said
            assert in_order(said[key]) == in_order(c.json(verb, node)), f"{node.name} {target}"
        assert names(get(node, "/v1/units?pattern=web@*&state=running")["units"]) == [f"web@{i}.service" for i in range(1, 7)]
        assert names(get(node, "/v1/units?pattern=db.service&pattern=web@3.service")["units"]) == ["db.service", "web@3.service"]
        assert get(node, "/v1/units?state=failed")["units"] == []
        on_n1 = [row["unit"] for row in c.json("list-unit-files", node) if row["node"] == "n1"]
        assert names(get(node, "/v1/unit-files?node=n1")["unit_files"]) == sorted(on_n1) != []
        assert {row["node"] for row in get(node, "/v1/units?node=n2&node=n3")["units"]} == {"n2", "n3"}
        [row] = get(node, "/v1/units/web%403.service")["units"]
        assert (row["unit"], row["sub"]) == ("web@3.service", "running")
        assert get(node, "/v1/units/web%403.service")["why"] == c.json("why web@3", node)
        [row] = get(node, "/v1/unit-files/db.service")["unit_files"]
        assert row["desired"] == "launched"


def test_of_one_unit_it_is_told_why_it_is_as_it_is(c: Cluster):
    c.submit("idle.service", SLEEPER)
    c.ctl("cordon n1 n2 n3 --reason=closed")
    c.submit("nowhere.service", SLEEPER)
    c.ctl_fails("start nowhere")
    for node in c.nodes:
        said = get(node, "/v1/units/idle.service")
        assert [why["desired"] for why in said["why"]] == ["inactive"] and "nobody wants it" in said["why"][0]["why"], said
        [why] = get(node, "/v1/units/nowhere.service")["why"]
        assert not why["as_wanted"] and {row["node"] for row in why["refusals"]} == {"n1", "n2", "n3"}, why
        refuses(node, "/v1/units/nobody.service", 404)
    c.ctl("uncordon n1 n2 n3")
    c.ctl("destroy idle nowhere")


def test_a_unit_has_its_file_and_its_history(c: Cluster):
    newer = SLEEPER + "# newer, \u00fc \"quoted\"\n"
    c.submit("old.service", SLEEPER)
    c.ctl("start old")
    for node in c.nodes:
        assert get(node, "/v1/unit-files/old.service")["file"] == SLEEPER
    made, started = (c.json("history old")[i]["job"] for i in (1, 0))
    c.ctl("destroy old")
    gone = c.json("list-jobs --limit=1")[0]["job"]
    c.submit("old.service", newer)
    shown = c.json("history old")
    assert [job["verb"] for job in shown] == ["submit", "destroy", "start", "submit"], shown
    for node in c.nodes:
        said = get(node, "/v1/unit-files/old.service")
        assert said["file"] == newer == c.ctl("cat old", on=node.name) and len(said["unit_files"]) == 1
        assert get(node, "/v1/history/old.service")["history"] == shown
        first = get(node, "/v1/history/old.service?limit=2")
        rest = get(node, f"/v1/history/old.service?limit=100&page={first['next']}")
        assert first["history"] + rest["history"] == shown
        assert get(node, "/v1/history/old.service?author=nobody")["history"] == []
        for job in (made, started, shown[0]["job"]):
            said = get(node, f"/v1/unit-files/old.service?at={job}")
            assert said["file"] == c.ctl(f"cat old --at={job}", on=node.name) == (newer if job > gone else SLEEPER)
            assert said["unit_files"] == c.json(f"list-unit-files old.service --at={job}", node)
        refuses(node, f"/v1/unit-files/old.service?at={gone}", 404, "there was no such unit")
        refuses(node, "/v1/unit-files/old.service?at=999999", 404, "no job 999999")
        refuses(node, "/v1/unit-files/old.service?at=0", 400)
        refuses(node, "/v1/history/", 404)
        refuses(node, "/v1/history/old.service?state=done", 400, "no such parameter")
    c.ctl("destroy old")


def test_what_differs_is_what_argosyctl_diff_says(c: Cluster):
    c.start("stays goes")
    before = c.json("list-jobs --limit=1")[0]["job"]
    c.start("comes@{1..3}")
    c.ctl("destroy goes")
    c.ctl("cordon n2 --reason=disks")
    after = c.json("list-jobs --limit=1")[0]["job"]
    c.ctl("uncordon n2")
    for node in c.nodes:
        for query, words in [(f"from={before}", f"@{before}"), (f"from={before}&to={after}", f"@{before} @{after}"),
                             (f"from=@{after}&to=@{before}", f"@{after} @{before}"), (f"from={after}", f"@{after}")]:
            said = get(node, f"/v1/diff?{query}")
            assert said == json.loads(c.ctl(f"diff {words} --json=short", on=node.name)), query
        assert get(node, f"/v1/diff?from={before}&to={after}")["settings"][0]["setting"] == "node n2"
        assert {row["change"] for row in get(node, f"/v1/diff?from={before}")["units"]} == {"make", "destroy"}
        refuses(node, "/v1/diff", 400, "from is missing")
        refuses(node, "/v1/diff?from=999999", 404, "no job 999999")
        refuses(node, "/v1/diff?from=1&from=2", 400)


def test_what_units_use_is_what_argosyctl_top_shows(c: Cluster):
    c.start("web@{1..3} db")
    every = {(row["unit"], row["node"]) for row in c.json("top --batch --iterations=1")}
    assert len(every) == 4, every
    for node in c.nodes:
        said = get(node, "/v1/usage")
        assert {(row["unit"], row["node"]) for row in said["usage"]} == every and said["errors"] == [], said
        assert all(row["tasks"] >= 1 and row["memory"] != 0 and row["cpu-time"] > 0 for row in said["usage"]), said
        some = get(node, "/v1/usage?pattern=web@2*&pattern=db*")
        assert names(some["usage"]) == ["db.service", "web@2.service"], some
        assert {row["node"] for row in get(node, "/v1/usage?node=n2")["usage"]} == {"n2"}
    refuses(c.nodes[0], "/v1/usage?node=n9", 404, "no such node")


def test_settings_are_those_that_argosyctl_shows(c: Cluster):
    c.ctl("role set web Weight=7")
    c.ctl("pool set left n1")
    c.ctl("queue rule add hold verb=destroy")
    for node in c.nodes:
        for target, key, verb in [("roles", "roles", "role show"), ("pools", "pools", "pool show"), ("access", "access", "access list")]:
            assert get(node, f"/v1/{target}")[key] == c.json(verb, node), f"{node.name} {target}"
        said, shown = get(node, "/v1/queue"), c.json("queue rule list", node)
        assert {key: said[key] for key in shown} == shown, said
        hosts = get(node, "/v1/hosts")["hosts"]
        assert [host["host"] for host in hosts if host["leader"]] == [c.leader().name] and len(hosts) == 3, hosts
    c.ctl("queue rule delete 1")


def test_jobs_come_page_by_page(c: Cluster):
    for i in range(5):
        c.start(f"job{i}")
    c.ctl("cordon n2")
    c.ctl("uncordon n2")
    eventually(lambda: c.json("list-jobs --state=running") == [], what="no job changes between two looks")
    for node in c.nodes:
        said = get(node, "/v1/jobs?limit=2")
        seen = said["jobs"]
        while "next" in said:
            said = get(node, f"/v1/jobs?limit=2&page={said['next']}")
            seen += said["jobs"]
        assert seen == c.json("list-jobs --all", node), node.name
        [job] = get(node, f"/v1/jobs/{seen[0]['job']}")["jobs"]
        assert {key: job[key] for key in seen[0]} == seen[0] and [job] == c.json(f"job show {job['job']}", node)
        about = get(node, "/v1/jobs?pattern=job3.service&limit=2")["jobs"]
        assert about and all("job3" in " ".join(row["targets"]) for row in about), about
        there = get(node, "/v1/jobs?node=n2&limit=1000")["jobs"]
        assert "cordon" in (job["verb"] for job in there) and there == c.json("list-jobs --all --node=n2", node), there
        assert get(node, "/v1/jobs?node=n9")["jobs"] == []
        refuses(node, f"/v1/jobs/{seen[0]['job'] + 1000}", 404)


def pages(node, target):
    """The rows of all pages, one behind the other, each found by the header of the one before."""
    key, seen = target.split("?")[0].split("/")[-1].replace("-", "_"), []
    while target:
        status, headers, said = exchange(node, target)
        assert status == 200, (target, said)
        seen.append(said[key])
        assert ("next" in said) == ("Link" in headers), headers
        target = headers["Link"].removeprefix("<").removesuffix('>; rel="next"') if "Link" in headers else None
        assert not target or target.endswith(f"page={said['next']}"), headers
    return seen


def test_lists_of_units_come_page_by_page(c: Cluster):
    c.start("page@{1..9}")
    c.start("everywhere", SLEEPER + "[X-Argosy]\nGlobal=yes\n")
    c.ctl("label n2 disk=ssd zone=eu")
    c.ctl("label n3 disk=ssd zone=us")
    for node in c.nodes:
        for target in ("units", "unit-files"):
            whole = get(node, f"/v1/{target}")[target.replace("-", "_")]
            for limit in (1, 4, 1000):
                said = pages(node, f"/v1/{target}?limit={limit}")
                assert [row for page in said for row in page] == whole, (target, limit)
                assert all(len(page) == limit for page in said[:-1]) and len(said[-1]) <= limit, said
        whole = get(node, "/v1/units")["units"]
        said = pages(node, "/v1/units?limit=2&pattern=page*&pattern=everywhere.service&state=running&node=n1&node=n2")
        assert [row for page in said for row in page] == [row for row in whole if row["node"] in ("n1", "n2") and row["sub"] == "running"
                                                          and row["unit"].startswith(("page", "everywhere"))]
        for labels, on in [("disk%3Dssd", {"n2", "n3"}), ("disk%3Dssd&label=zone%3Deu", {"n2"}), ("disk%3Dhdd", set())]:
            assert {row["node"] for row in get(node, f"/v1/nodes?label={labels}")["nodes"]} == on
            words = labels.replace("%3D", "=").replace("&label=", ",")
            assert {row["node"] for row in c.json(f"list-nodes --label={words}", node)} == on
            seen = c.json(f"list-units --label={words}", node)
            assert in_order(seen) == in_order([row for row in whole if row["node"] in on]), (words, seen, whole)
            assert get(node, f"/v1/units?label={labels}")["units"] == [row for row in whole if row["node"] in on]


def test_a_page_is_found_again_with_another_leader(c: Cluster):
    c.start("page@{1..9}")
    names_of_all = [f"page@{i}.service" for i in range(1, 10)]
    first = get(c.nodes[0], "/v1/units?pattern=page@*&limit=4")
    c.ctl("destroy page@2 page@6")
    c.start("page@10")
    leader = c.leader()
    leader.run("systemctl restart argosyd")
    c.wait_online()
    for node in c.nodes:
        rest = get(node, f"/v1/units?pattern=page@*&limit=9&page={first['next']}")
        assert not rest["no_leader"] and names(first["units"]) == names_of_all[:4]
        assert names(rest["units"]) == [name for name in names_of_all[4:] if name != "page@6.service"], rest
        for wrong, says in [("limit=4", "another question"), ("pattern=page@*&node=n1", "another question")]:
            refuses(node, f"/v1/units?{wrong}&page={first['next']}", 400, says)
        refuses(node, f"/v1/unit-files?pattern=page@*&page={first['next']}", 400, "another question")
        refuses(node, f"/v1/state?since={first['next']}", 400, "cursor")
        refuses(node, f"/v1/events?since={first['next']}", 400, "cursor")
        _, headers, _ = exchange(node, "/v1/state")
        refuses(node, f"/v1/units?page={headers['ETag'].strip(chr(34))}", 400, "no cursor")


def test_who_has_a_list_is_not_sent_it_again(c: Cluster):
    c.start("tag@{1..3} other")
    eventually(lambda: len(c.active("tag@*")) == 3 and c.active("other*"))
    target = "/v1/units?pattern=tag@*&limit=2"
    for node in c.nodes:
        def is_unchanged():
            status, headers, said = exchange(node, target, {"If-None-Match": f'"other", W/{exchange(node, target)[1]["ETag"]}'})
            return status == 304 and said is None and headers["Cache-Control"] == "no-store"
        eventually(is_unchanged)
    old = exchange(c.nodes[0], target)[1]["ETag"]
    c.ctl("stop tag@1")
    for node in c.nodes:
        status, headers, said = exchange(node, target, {"If-None-Match": old})
        assert status == 200 and said["units"][0]["active"] == "inactive" and headers["ETag"] != old, (node.name, said)
        status, _, said = exchange(node, "/v1/unit-files", {"If-None-Match": headers["ETag"]})
        assert status == 200 and len(said["unit_files"]) >= 4  # a tag of another list


def parsed(text):
    """As Prometheus' own parser reads it: {family: (type, help, {(name of the sample, labels): value})}."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families), "a family comes twice"
    for family in families:
        assert family.documentation, family
    return {f.name: (f.type, {(s.name, tuple(s.labels.values())): s.value for s in f.samples}) for f in families}


def flat(name, figure, labels=()):
    if not isinstance(figure, dict):
        return {(name, labels): figure}
    return {key: value for word, inner in figure.items() for key, value in flat(name, inner, (*labels, word)).items()}


def commits(node):
    return parsed(ask(node, "/metrics")[2])["argosy_log_commit_seconds"][1]["argosy_log_commit_seconds_count", ()]


def test_figures_are_those_of_argosyctl_counters(c: Cluster):
    for node in c.nodes:
        status, kind, text = ask(node, "/metrics")
        assert (status, kind) == (200, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        families = parsed(text)
        told = {f"argosy_{name}": figure for name, figure in c.json("counters", node).items()}
        assert set(families) == set(told)
        figures = {}
        for name, (kind, samples) in families.items():
            figures |= samples
            if kind == "histogram":
                assert name.endswith("_seconds"), name
                buckets = [value for (sample, _), value in samples.items() if sample == f"{name}_bucket"]
                assert buckets == sorted(buckets) and buckets[-1] == samples[f"{name}_count", ()], (name, buckets)
                assert told[name]["count"] >= buckets[-1] and set(told[name]) == {"count", "sum_us", "p50_us", "p99_us", "max_us"}, told[name]
            else:
                assert kind in ("counter", "gauge"), (name, kind)
                assert set(samples) == set(flat(name + ("_total" if kind == "counter" else ""), told[name])), (name, samples, told[name])
        assert figures["argosy_turn_seconds_count", ()] > 0
        assert figures["argosy_log_entries", ()] >= figures["argosy_log_entries_applied", ()] > 0
        assert len(figures) < 1000, "there is a row for each of something that there are many of"
    before = {node.name: commits(node) for node in c.nodes}
    c.ctl("cordon n1")
    c.ctl("uncordon n1")
    assert [node.name for node in c.nodes if commits(node) > before[node.name]] == [c.leader().name], "who leads measures that"


def leaders_figures(c):
    leader = next(node for node in c.nodes if node.name == c.leader().name)
    return {key: value for _, samples in parsed(ask(leader, "/metrics")[2]).values() for key, value in samples.items()}


def test_what_the_leader_counts_follows_what_happens(c: Cluster):
    before = leaders_figures(c)
    assert before["argosy_hosts", ()] == before["argosy_nodes", ("online",)] == 3
    assert before["argosy_capacity", ("cpu",)] > 0 and before["argosy_capacity", ("memory",)] > 0
    c.start("counted", SLEEPER + "[X-Argosy]\nReserveMemory=10M\n")
    expected = [("argosy_units_on_nodes", ("active",), 1), ("argosy_units_by_placement", ("resident",), 1), ("argosy_reserved", ("memory",), 10),
                ("argosy_role_units", ("default",), 1), ("argosy_jobs_ended_total", ("start", "done"), 1)]
    for name, labels, more in expected:
        eventually(lambda: leaders_figures(c)[name, labels] == before.get((name, labels), 0) + more, what=(name, labels))
    c.ctl("destroy counted.service")
    for name, labels, _ in expected[:-1]:
        eventually(lambda: leaders_figures(c)[name, labels] == before[name, labels], what=(name, labels))


def test_the_page_and_its_files_are_there_for_whoever_may_connect(c: Cluster):
    listed = re.findall(r"^  '(.+)',$", (SOURCE / "dashboard" / "meson.build").read_text(), re.MULTILINE)
    assert len(listed) >= 4, listed
    for node in c.nodes:
        for target, name in [("/", "index.html"), *((f"/dashboard/{name}", name) for name in listed)]:
            connection = Connection(node)
            connection.request("GET", target)
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read() == (SOURCE / "dashboard" / name).read_bytes(), target
            connection.request("GET", target, headers={"If-None-Match": answer.headers["ETag"]})
            again = connection.getresponse()
            assert (again.status, again.read(), again.headers["ETag"]) == (304, b"", answer.headers["ETag"]), target
            connection.close()
        refuses(node, "/dashboard/nothing.js", 404)
        refuses(node, "/dashboard/..%2fmain.js", 404)


def test_what_cannot_be_answered_is_a_problem(c: Cluster):
    for node in c.nodes:
        refuses(node, "/v1/units/nobody.service", 404, "no such thing")
        refuses(node, "/v1/nothing", 404)
        refuses(node, "/v1/units/..%2f", 400)
        refuses(node, "/v1/units/a%00.service", 400)
        refuses(node, "/v1/units?colour=red", 400, "parameter")
        for method, status in [("PUT", 405), ("DELETE", 405), ("GET", 400)]:
            answer = raw(node, f"{method} /v1/units HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{}}")
            assert answer.startswith(f"HTTP/1.1 {status} ") and "application/problem+json" in answer, answer
        assert ask(node, "/v1/nodes", "HEAD")[0] == 200


def test_a_long_list_comes_whole_over_one_connection(c: Cluster):
    c.submit("many@.service", SLEEPER)
    c.ctl("load many@{1..3000}")
    for node in c.nodes:
        connection = Connection(node)
        for _ in range(3):
            status, _, said = connection.ask("/v1/units?pattern=many@*")
            assert status == 200 and len({row["unit"] for row in said["units"]}) == len(said["units"]) == 3000
        assert connection.ask("/healthz") == (200, "text/plain; charset=utf-8", "ok\n")
        connection.close()


def test_rights_are_those_of_the_local_socket(c: Cluster):
    c.ctl("role set web")
    c.start("web", WEB)
    mine = c.json("list-jobs --limit=1")[0]["job"]
    c.start("db", SLEEPER)
    theirs = c.json("list-jobs --limit=1")[0]["job"]
    c.ctl("restart web db")
    both = c.json("list-jobs --limit=1")[0]["job"]
    for node in c.nodes:
        node.run(f"id ann 2>/dev/null || useradd --uid {ANN} ann")
        assert ask_as_ann(node, "/v1/units")[1] == "no entry"
    c.ctl("access grant view to user:ann on role web")
    for node in c.nodes:
        eventually(lambda: ask_as_ann(node, "/v1/units")[0] == 200)
        status, text = ask_as_ann(node, "/v1/units")
        assert status == 200 and names(json.loads(text)["units"]) == ["web.service"], text
        assert ask_as_ann(node, "/v1/units/db.service")[0] in (403, 404)
        for job, whose in (mine, "web.service"), (theirs, None), (both, None):  # a job of others' units, too, is none of hers
            status, text = ask_as_ann(node, f"/v1/jobs/{job}")
            assert (status, names(json.loads(text)["jobs"][0]["units"])) == (200, [whose]) if whose else status == 403, text
            assert "db" not in text, text
        status, text = ask_as_ann(node, "/v1/nodes")
        assert status == 403 and "'view'" in json.loads(text)["detail"], text
        assert ask_as_ann(node, "/healthz") == (200, "ok\n")
    c.ctl("access revoke view from user:ann on role web")
    for node in c.nodes:
        eventually(lambda: ask_as_ann(node, "/v1/units")[1] == "no entry")


def test_streams_end_with_the_right_to_them(c: Cluster):
    c.ctl("role set web")
    c.start("web", WEB)
    for node in c.nodes:
        node.run(f"id ann 2>/dev/null || useradd --uid {ANN} ann")
    c.ctl("access grant view to user:ann on role web")
    for node in c.nodes:
        eventually(lambda: ask_as_ann(node, "/v1/units")[0] == 200)
    began = time.monotonic()
    streams = [begin_as_ann(node, target) for node in c.nodes for target in ["/v1/events?kind=job", "/v1/journal/web.service?follow=1"]]
    eventually(lambda: sum(c.json("counters", node)["journals_read"] for node in c.nodes) == len(c.nodes))
    eventually(lambda: c.json("counters", c.leader())["watchers"] >= len(c.nodes))
    c.ctl("access revoke view from user:ann on role web")
    for events, journal in zip(streams[::2], streams[1::2]):
        status, text = answer_to_ann(events)
        assert status == 200 and "event: problem" in text.split("\n\n")[-2] and '"status":403' in text, text
        status, text = answer_to_ann(journal)
        assert status == 200 and text.splitlines()[-1].startswith("-- "), text
    assert time.monotonic() - began < 15  # and not when the next comment is due
    eventually(lambda: sum(c.json("counters", node)["journals_read"] for node in c.nodes) == 0)


def test_without_a_majority_it_says_what_it_knows_and_how_old_that_is(c: Cluster):
    c.start("web")
    left, *others = c.nodes
    eventually(lambda: c.json("counters", left)["log_entries_applied"] >= c.status()["index"], what="its own copy of the log is whole")
    assert ask(left, "/readyz")[0] == 200
    for node in others:
        node.kill()
    eventually(lambda: ask(left, "/readyz")[0] == 503)
    assert ask(left, "/healthz")[0] == 200
    said = get(left, "/v1/unit-files")
    assert said["no_leader"] is True and said["stale_ms"] >= 0 and names(said["unit_files"]) == ["web.service"], said
    for node in others:
        node.boot()
    eventually(lambda: ask(left, "/readyz")[0] == 200)


def test_who_does_not_ask_has_no_thread_for_it_and_who_does_not_want_it_no_socket(c: Cluster):
    node = c.node("n2")
    node.run("systemctl restart argosyd")
    eventually(lambda: (directory(node) / "http.sock").exists() and ask(node, "/healthz")[0] == 200)
    assert "MHD-single" in threads(node)
    node.run("systemctl restart argosyd")
    eventually(lambda: (directory(node) / "http.sock").exists() and c.ctl("list-nodes", on=node))
    assert "MHD-single" not in threads(node), threads(node)
    node.write("/etc/argosy/argosy.conf.d/http.conf", "[Http]\nListen=none\n")
    try:
        node.run("systemctl restart argosyd")
        eventually(lambda: c.ctl("list-nodes", on=node))
        assert not (directory(node) / "http.sock").exists()
    finally:
        node.run("rm /etc/argosy/argosy.conf.d/http.conf; systemctl restart argosyd")
    eventually(lambda: (directory(node) / "http.sock").exists() and ask(node, "/readyz")[0] == 200)


def test_open_connections_do_not_keep_argosyd_from_its_end(c: Cluster):
    node = c.node("n1")
    connections = [Connection(node) for _ in range(20)]
    for connection in connections:
        assert connection.ask("/healthz")[0] == 200
    before = node.argosyd_pid_outside()
    node.run("systemctl restart argosyd")
    assert node.argosyd_pid_outside() != before
    assert "takes too long" not in node.journal("argosyd", lines=30)
    for connection in connections:
        connection.close()
    eventually(lambda: (directory(node) / "http.sock").exists() and ask(node, "/readyz")[0] == 200)


if __name__ == "__main__":
    main(conf=QUICK)
