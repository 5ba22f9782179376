#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another CA and other certificates for all, while everything runs; and what the former ones are worth then."""

import base64
import hashlib
import re
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import QUICK, Cluster, eventually, main, stays

STATE = "/var/lib/argosy"
END = "-----END CERTIFICATE-----"


def identity(node):
    return node.run(f"cat {STATE}/identity.pem")


def ca(node):
    """The fingerprint of the CA of the node's certificate."""
    own, authority = [block[block.index("-----BEGIN CERTIFICATE") :] + END for block in identity(node).split(END)[:2]]
    assert own != authority
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(authority)).hexdigest()


def content(node, files):
    return base64.b64decode(node.run(f"cd {STATE} && cat {files} 2>/dev/null | base64"))


def secrets(node):
    return content(node, "voter-secrets")


def key_in(secrets):
    """The private part of the first key in such a file: 256 bits behind "version 1", as RFC 5915 has it."""
    begin = re.search(rb"\x02\x01\x01\x04[\x20-\x22]", secrets).end()
    return secrets[begin + 1 : begin + 32]


def is_over(c, on=None):
    return c.status(on)["ca_notice"] == ""


def rotated(c, old, nodes=None):
    eventually(lambda: is_over(c), what="the rotation has come to its end")
    now = {ca(node) for node in nodes or c.running_nodes}
    assert len(now) == 1 and old not in now, f"{old} -> {now}"


# Shows a certificate to the port of the hosts. Says what becomes of that.
STRANGER = """
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.load_cert_chain(sys.argv[1])
context.set_alpn_protocols([sys.argv[3]])
stream = context.wrap_socket(socket.create_connection((sys.argv[2], 7867)))
stream.settimeout(2)
try:
    print("ended" if not stream.recv(1) else "said something")
except TimeoutError:
    print("let in")
except ssl.SSLError as error:
    print("refused", error)
"""


def shown(node, pem, to, protocol):
    with tempfile.TemporaryDirectory() as folder:
        Path(f"{folder}/identity.pem").write_text(pem)
        argv = [sys.executable, "-c", STRANGER, f"{folder}/identity.pem", to.address, protocol]
        return subprocess.run(node.from_network(argv), check=True, capture_output=True, text=True, timeout=20).stdout


def test_all_hosts_get_other_certificates_and_units_do_not_notice(c: Cluster):
    c.start("w@{1..6}")
    runs, old, keys = c.invocations("w@*"), ca(c.leader()), {node.name: secrets(node) for node in c.nodes}
    leader, term = c.leader_name(), c.status()["term"]
    assert len(set(keys.values())) == 1, "all voters have the key"
    former = key_in(keys[leader])
    token = c.ctl("cluster token --quiet").strip()
    c.ctl("cluster rotate-ca")
    rotated(c, old)
    assert c.invocations("w@*") == runs and c.leader_name() == leader and c.status()["term"] == term
    for node in c.nodes:
        eventually(lambda: former not in secrets(node), what="nobody has the former key on its disk any more")
        assert secrets(node) and node.run(f"stat -c %a {STATE}/voter-secrets").strip() == "600"
        assert former not in content(node, "log/*")
    assert token not in c.ctl("cluster status")
    c.ctl("restart w@1")


def test_a_host_that_was_away_gets_its_certificate_when_it_is_back(c: Cluster):
    away, old = c.followers()[0], ca(c.leader())
    c.start("w@{1..6}")
    away.kill()
    eventually(lambda: c.members()[away.name].endswith(" lost"))
    c.ctl("cluster rotate-ca")
    rotated(c, old)
    assert old != ca(c.leader())
    away.boot()
    eventually(lambda: ca(away) == ca(c.leader()), what="it has renewed by its key")
    c.wait_online()
    eventually(lambda: all(member["lag"] == 0 for member in c.status(c.leader())["members"]), what="its log goes on")
    eventually(lambda: secrets(away) == secrets(c.leader()), what="it has the new key")
    c.assert_once("w@*", 6)


def test_two_voters_that_were_away_lead_again(c: Cluster):
    """The third one, with which the rotation ended, is gone: who is back needs no leader for its certificate."""
    gone, renewed, away = c.leader(), *c.followers()
    old = ca(gone)
    away.kill()
    eventually(lambda: c.members()[away.name].endswith(" lost"))
    c.ctl("cluster rotate-ca")
    rotated(c, old)
    gone.kill()
    away.boot()
    eventually(lambda: c.leader_name(renewed) in (renewed.name, away.name), within=60, what="the two have a leader")
    eventually(lambda: ca(away) == ca(renewed), what="it has its certificate on disk, too")
    gone.boot()
    c.wait_online()


def test_a_leader_that_is_killed_in_the_middle_is_no_obstacle(c: Cluster):
    old = ca(c.leader())
    for _ in range(3):
        leader, slow = c.leader(), c.followers()[0]
        slow.stall_disk()  # it is there, and does not keep the key
        try:
            c.ctl("cluster rotate-ca")
            stays(lambda: not is_over(c), 0.5)
            c.ctl_fails("cluster rotate-ca", saying="under way")
            leader.run("systemctl kill -s KILL argosyd")
        finally:
            slow.go_on_with_disk()
        c.wait_online()
        rotated(c, old)
        old = ca(c.leader())


def test_all_daemons_killed_at_once_go_on_with_it(c: Cluster):
    old = ca(c.leader())
    c.ctl("cluster rotate-ca")
    for node in c.nodes:
        node.run("systemctl kill -s KILL argosyd")
    c.wait_online()
    rotated(c, old)


def test_a_former_certificate_is_worth_nothing_but_another_one(c: Cluster):
    leader, follower = c.leader(), c.followers()[0]
    before, old = identity(follower), ca(leader)
    assert not shown(follower, before, leader, "argosy-raft/1").startswith("refused")
    c.ctl("cluster rotate-ca")
    rotated(c, old)
    assert shown(follower, before, leader, "argosy-raft/1").startswith("refused")
    assert not shown(follower, identity(follower), leader, "argosy-raft/1").startswith("refused")
    follower.run("systemctl stop argosyd.socket argosyd.service")
    follower.write("/root/former.pem", before)
    follower.run(f"install -m 600 /root/former.pem {STATE}/identity.pem; systemctl start argosyd.socket argosyd.service")
    c.wait_online()
    assert ca(follower) == ca(leader), "the host itself gets another one"


def test_it_is_finished_by_hand_without_a_host_that_hangs_and_one_that_is_away(c: Cluster):
    leader, (hangs, away) = c.leader(), c.followers()
    c.ctl("cluster voters 1")
    eventually(lambda: c.members()[hangs.name] == "spare online" and c.members()[away.name] == "spare online")
    old = ca(leader)
    away.kill()
    eventually(lambda: c.members(leader)[away.name].endswith(" lost"))
    hangs.stall_disk()  # it is there, and has no place for a certificate
    try:
        c.ctl("cluster rotate-ca", on=leader)  # who hangs is told of nothing when it is shut out
        eventually(lambda: f"without an answer: {hangs.name}" in c.status(leader)["ca_notice"], what="it is named as one that does not answer")
        c.ctl_fails("cluster rotate-ca", on=leader, saying=[hangs.name, "--finish"])
        said = c.ctl("cluster rotate-ca --finish", on=leader)
        assert hangs.name in said and away.name in said, said
        assert is_over(c, leader) and ca(leader) != old
        away.boot()
        eventually(lambda: ca(away) == ca(leader), what="who was away during it all gets its certificate")
        eventually(lambda: c.members(leader)[away.name] == "spare online")
        assert ca(hangs) == old
    finally:
        hangs.go_on_with_disk()
    eventually(lambda: ca(hangs) == ca(leader), what="so does who hung")
    c.wait_online()
    c.ctl("cluster voters 3")
    eventually(lambda: list(c.members().values()) == ["voter online"] * 3)


def test_tokens_are_of_the_ca_of_today(c: Cluster):
    n1, n2, n3 = c.nodes
    old_token = c.ctl("cluster token --quiet", on=n1).strip()
    c.ctl("cluster remove n3", on=n1)
    eventually(lambda: list(c.members(n3)) == ["n3"], what="it is a cluster of its own")
    old = ca(n1)
    c.ctl("cluster rotate-ca", on=n1)
    rotated(c, old, [n1, n2])
    c.ctl_fails(f"cluster join {n1.address} {old_token}", on=n3)
    c.join(n3, to=n1)
    c.wait_online()
    eventually(lambda: ca(n3) == ca(n1))
    eventually(lambda: list(c.members(n1).values()) == ["voter online"] * 3)


main(nodes=3, conf=QUICK)
