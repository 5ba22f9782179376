#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A secret is searched for in plain text, where it must not be: logs, snapshots, journals, answers, memory, disks."""

import os
import re
import time
from pathlib import Path

from lib import QUICK, Cluster, eventually, main
from over_http import ask

STATE = "/var/lib/argosy"
BYTES = {"Content-Type": "application/octet-stream"}
READER = ("[Service]\nExecStart=/bin/sh -c 'cat $CREDENTIALS_DIRECTORY/password >/dev/null; exec sleep infinity'\n"
          "[X-Argosy]\nSecret=db:password\n")


def marker():
    return "plain-" + os.urandom(24).hex()


def files_with(node, text, *places):
    """Files of the node's disk and of /run that have it."""
    return node.run(f"grep -rlaF {text} {' '.join(places)} 2>/dev/null || :").split()


def dumped(pid):
    """What a core of the process has: all of its memory that is written to, but what is left out of cores."""
    begin = None
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) (....) .* (\d+)\s*(.*)$", line)
        if mapping:
            begin, end, modes, _, name = mapping.groups()
        elif line.startswith("VmFlags:") and begin and "w" in modes and " dd" not in line and "[vvar" not in name:
            yield int(begin, 16), int(end, 16), name


def in_core(pid, text):
    """Where in a core of the process the text would be found."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, name in dumped(pid):
            memory.seek(begin)
            at = memory.read(end - begin).find(text.encode())
            found += [f"{begin + at:x} {name}"] if at >= 0 else []
    return found


def assert_nowhere(c, text, nodes=None):
    for node in nodes or c.nodes:
        found = files_with(node, text, STATE, "/run/argosy", "/run/systemd/system", "/etc/argosy", "/tmp", "/var/tmp", "/root")
        assert all(file.startswith("/run/argosy/secrets/") for file in found), f"{node.name}: {found}"
        assert text not in node.journal(lines=1000000), f"{node.name}: in its journal"


def test_nothing_but_a_unit_has_it(c: Cluster):
    text = marker()
    leader = c.leader()
    leader.run("argosyctl secret set db", input=text)
    time.sleep(5)  # as long as is promised
    assert not in_core(leader.argosyd_pid_outside(), text), "what came over the local socket is in a core"
    c.start("r@{1..2}", READER)
    used = {c.where("r@1"), c.where("r@2")}
    eventually(lambda: all(files_with(node, text, "/run/argosy/secrets") for node in used))
    assert not any(files_with(node, text, "/run/argosy/secrets") for node in c.nodes if node not in used), "sent to a host without its units"
    assert_nowhere(c, text)
    time.sleep(5)
    for node in c.nodes:
        assert not in_core(node.argosyd_pid_outside(), text), f"what went to its host is in a core of {node.name}"


def test_snapshots_have_it_sealed(c: Cluster):
    text = marker()
    c.leader().run("argosyctl secret set db", input=text)
    c.ctl("secret rotate-key")  # which makes a snapshot of each log
    eventually(lambda: c.status()["secrets_notice"] == "")
    voters = [node for node in c.nodes if c.members()[node.name].startswith("voter")]
    assert len(voters) == 3 and all("snapshot-" in node.run(f"ls {STATE}/log") for node in voters)
    assert_nowhere(c, text)
    c.ctl("secret delete db")


def test_no_answer_over_http_has_it(c: Cluster):
    text = marker()
    node = c.followers()[0]
    assert ask(node, "/v1/secrets/db?wait=30", "PUT", text, BYTES)[0] in (200, 202)
    status, _, said = ask(node, "/v1/secrets")
    assert status == 200 and [row["name"] for row in said["secrets"]] == ["db"] and text not in str(said), said
    c.ctl("queue close --reason=holidays")
    try:
        for target, method, body, headers, expected in [
                ("/v1/secrets/db", "PUT", text, BYTES, 409), ("/v1/secrets/.db", "PUT", text, BYTES, 400),
                ("/v1/secrets/db", "POST", text, BYTES, 405), ("/v1/secrets/db", "PUT", text, {"Content-Type": "application/json"}, 415),
                ("/v1/secrets/db", "PUT", text * 2000, BYTES, 413), ("/v1/secrets/db?value=1", "PUT", text, BYTES, 400),
                ("/v1/secrets/db", "PUT", text, {**BYTES, "If-Match": "none"}, 400), ("/v1/jobs", "POST", text, {"Content-Type": "application/json"}, 400)]:
            status, _, said = ask(node, target, method, body, headers)
            assert text not in str(said), f"{method} {target}: {said}"
            assert status == expected, f"{method} {target}: {status} {said}"
        assert c.json("list-jobs --state=held") == []
    finally:
        c.ctl("queue open")
    for key in ("one", "one"):  # the same again, and another value under the same key: what a request is known by has no value
        assert ask(node, "/v1/secrets/db", "PUT", marker(), {**BYTES, "Idempotency-Key": key})[0] in (200, 202)
    assert (version := ask(node, "/v1/secrets")[2]["secrets"][0]["version"]) == 2, version
    assert_nowhere(c, text)
    time.sleep(5)
    for other in c.nodes:
        assert not in_core(other.argosyd_pid_outside(), text), f"what came over HTTP is in a core of {other.name}"
    assert ask(node, "/v1/secrets/db?wait=30", "DELETE")[0] in (200, 202)
    assert ask(node, "/v1/secrets")[2]["secrets"] == []


def test_a_host_that_leaves_keeps_nothing(c: Cluster):
    text = marker()
    c.leader().run("argosyctl secret set db", input=text)
    c.start("r@{1..6}", READER)
    gone = c.followers()[0]
    eventually(lambda: files_with(gone, text, "/run/argosy/secrets"))
    said = c.ctl(f"cluster remove {gone.name}", on=c.leader())
    assert f"{gone.name} could read every secret (db): only new values help" in said, said
    eventually(lambda: not gone.run("find /run/argosy/secrets -type f"), what="its units have gone, and with them their secrets")
    eventually(lambda: gone.exec(["grep", "-q", "secrets", f"{STATE}/voter-secrets"]).status != 0, what="it has no key but of its own cluster")
    assert_nowhere(c, text)
    assert not files_with(gone, text, "/run", STATE)
    c.make_fresh(gone)
    c.join(gone, c.leader())
    c.ctl("destroy 'r@*'")


if __name__ == "__main__":
    main(nodes=4, voters=3, conf=QUICK + ["Log.Level=7"])
