#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The wall clock of a host is wrong, by as much as forty days, also of the one that leads: no job and no token is deleted for it, and
what time it is is said by most of the voters, or else counted on. People are told, and what was dated meanwhile can be brought back."""

import shutil
import time

from lib import BUILD, PATIENT, Cluster, eventually, main

SHIM = BUILD / "tests/libwall_clock_ahead.so"
DAY_S = 86400


def install_clock(node):
    """From then on its argosyd has a clock of its own."""
    if node.path("/usr/lib/wall-clock-ahead.so").exists():
        return
    shutil.copy(SHIM, node.path("/usr/lib/wall-clock-ahead.so"))
    node.write("/etc/systemd/system/argosyd.service.d/clock.conf", "[Service]\nEnvironment=LD_PRELOAD=/usr/lib/wall-clock-ahead.so\n")
    node.run("systemctl daemon-reload && systemctl restart argosyd")


def set_clocks(c, **seconds):
    """What each is ahead of this machine's; nodes that are not named: nothing. Beats say so soon."""
    for node in c.nodes:
        node.write("/run/wall-clock-ahead", str(seconds.get(node.name, 0)))


def wait_until_all_are_right(c):
    """Each host's clock is told by its own beat."""
    eventually(lambda: all(is_ahead_by(0, us) for us in clocks(c)[1].values()))


def three_voters(c):
    n1, *rest = c.nodes
    set_clocks(c)
    for node in c.nodes:
        install_clock(node)
    for node in rest:
        c.join(node, to=n1)
    eventually(lambda: list(c.members(n1).values()).count("voter online") == 3)
    wait_until_all_are_right(c)
    return c.leader(n1)


def jobs(c, on=None):
    return [row["job"] for row in c.json("list-jobs", on=on)]


def ahead(us):
    """Of a time that argosy tells, by this machine's clock."""
    return us / 1e6 - time.time()


def newest_job_ahead(c):
    return ahead(c.json("list-jobs")[0]["time"])


def tokens(c):
    return {row["name"]: row for row in c.json("token list")}


def clocks(c):
    status = c.status()
    return status["clocks_agree"], {m["name"]: m["clock_ahead_us"] for m in status["members"]}


def is_ahead_by(seconds, us):
    return us is not None and abs(us / 1e6 - seconds) < 2


def test_a_leader_that_is_forty_days_ahead(c: Cluster):
    leader = three_voters(c)
    c.start("w@{1..6}")
    c.ctl("token create --right=view --ttl=20d --name=ci")
    before = jobs(c)
    set_clocks(c, **{leader.name: 40 * DAY_S})
    c.ctl(f"label {leader.name} zone=a", on=leader)  # at once, by whoever leads
    assert jobs(c)[-len(before):] == before, "the history is gone"
    assert tokens(c)["ci"]["state"] == "active"
    assert abs(newest_job_ahead(c)) < 60, "the job is dated by the leader's clock"
    c.ctl("token create --right=view --ttl=1h --name=late")
    assert abs(ahead(tokens(c)["late"]["created_us"])) < 60
    # people are told
    eventually(lambda: is_ahead_by(40 * DAY_S, clocks(c)[1][leader.name]))
    assert clocks(c)[0]
    words = f"Warning: the clock of {leader.name} is 40 days ahead"
    assert words in c.ctl("cluster status") or words.replace("40 days", "39 days 23h") in c.ctl("cluster status")
    eventually(lambda: f"The clock of host {leader.name} is 40 days ahead of the cluster's time" in c.leader().journal("argosyd", lines=200))
    assert "hosts_clock_off 1" in " ".join(c.ctl("counters", on=c.leader()).split())
    # another one leads, and then this one again
    leader.run("systemctl restart argosyd")
    eventually(lambda: list(c.members().values()).count("voter online") == 3)
    c.ctl(f"label {leader.name} zone=b")
    assert jobs(c)[-len(before):] == before
    assert tokens(c)["ci"]["state"] == "active"
    set_clocks(c)
    wait_until_all_are_right(c)
    assert "Warning" not in c.ctl("cluster status")
    assert {row["state"] for row in tokens(c).values()} == {"active"}


def test_dates_that_lie_ahead_are_brought_back(c: Cluster):
    three_voters(c)
    c.start("w@1")
    before = jobs(c)
    set_clocks(c, n1=40 * DAY_S, n2=40 * DAY_S)
    eventually(lambda: is_ahead_by(-40 * DAY_S, clocks(c)[1]["n3"]))
    c.ctl("label n1 zone=a")
    assert newest_job_ahead(c) > 39 * DAY_S
    c.ctl("token create --right=view --ttl=1h --name=ahead")
    assert jobs(c)[-len(before):] == before, "most clocks are wrong, and the history is gone"
    set_clocks(c)
    wait_until_all_are_right(c)
    assert "the log's time is" in c.ctl("cluster status") and "ahead: argosyctl cluster set-time" in c.ctl("cluster status")
    assert ahead(tokens(c)["ahead"]["created_us"]) > 39 * DAY_S
    c.ctl_fails("cluster set-time 2020-01-01", saying=("by the clocks of the voters it is", "nothing was changed"))
    assert "the log's time is" in c.ctl("cluster set-time --reason='the clocks are right again'")
    assert abs(newest_job_ahead(c)) < 60
    assert all(abs(ahead(row["time"])) < 600 for row in c.json("list-jobs"))
    token = tokens(c)["ahead"]
    assert abs(ahead(token["created_us"])) < 60 and abs(ahead(token["expires_us"]) - 3600) < 60 and token["state"] == "active", token
    assert "Warning" not in c.ctl("cluster status")
    assert jobs(c)[-len(before):] == before
    job = c.json("list-jobs")[0]
    assert (job["verb"], job["reason"]) == ("cluster set-time", "the clocks are right again"), job


def test_where_no_two_clocks_agree_time_goes_on(c: Cluster):
    three_voters(c)
    c.start("w@1")
    set_clocks(c, n1=40 * DAY_S, n2=-40 * DAY_S)
    eventually(lambda: not clocks(c)[0])
    eventually(lambda: "The clocks of most voters differ by more than a minute" in c.leader().journal("argosyd", lines=200))
    c.ctl("label n1 zone=a")
    assert abs(newest_job_ahead(c)) < 60
    assert "counted on from the log's" in c.ctl("cluster status")
    c.ctl_fails("cluster set-time", saying="name the time")
    c.ctl("cluster set-time 2026-01-31")
    c.ctl("label n1 zone=b")
    assert newest_job_ahead(c) < 0
    set_clocks(c)
    eventually(lambda: clocks(c)[0])
    c.ctl("label n1 zone=c")
    assert abs(newest_job_ahead(c)) < 60


def test_a_token_of_an_idle_cluster_is_valid(c: Cluster):
    """A weekend has passed since the last entry of the log."""
    three_voters(c)
    set_clocks(c, n1=3 * DAY_S, n2=3 * DAY_S, n3=3 * DAY_S)
    eventually(lambda: all(is_ahead_by(0, us) for us in clocks(c)[1].values()) and ahead(c.status()["time"]) > 2 * DAY_S)
    c.ctl("token create --right=view --ttl=1min --name=ci")
    assert tokens(c)["ci"]["state"] == "active", tokens(c)
    assert abs(ahead(tokens(c)["ci"]["created_us"]) - 3 * DAY_S) < 60


main(nodes=3, alone=True, conf=PATIENT)
