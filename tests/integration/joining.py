#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who may join and who may not, and every way in which hosts come, go and change their roles."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import QUICK, SLEEPER, WAITS, Cluster, eventually, main, stays


def cluster_of_three(c):
    n1, n2, n3 = c.nodes
    for node in (n2, n3):
        c.join(node, to=n1)
    eventually(lambda: list(c.members(n1).values()) == ["voter online"] * 3)
    return n1, n2, n3


def test_wrong_tokens_are_refused_and_nothing_changes(c: Cluster):
    n1, n2, n3 = c.nodes
    token = c.ctl("cluster token --quiet", on=n1).strip()
    wrong_secret = token[:-4] + ("0000" if token[-4:] != "0000" else "1111")
    for bad, words in [("nonsense", "token"), (token[:20], "token"), (wrong_secret, "token")]:
        c.ctl_fails(f"cluster join {n1.address} {bad}", on=n2, saying=words)
    short = c.ctl("cluster token --quiet --ttl=1s", on=n1).strip()
    time.sleep(1.5)
    c.ctl_fails(f"cluster join {n1.address} {short}", on=n2, saying="expired")
    other = c.ctl("cluster token --quiet", on=n3).strip()
    c.ctl_fails(f"cluster join {n1.address} {other}", on=n2)
    c.ctl_fails(f"cluster join 10.77.0.200 {token} --timeout=3s", on=n2)
    c.ctl_fails(f"cluster join no.such.host {token}", on=n2, saying="no.such.host")
    c.ctl_fails(f"cluster join [fe80::1%eth0]:7361 {token}", on=n2, saying=["[fe80::1%eth0]:7361", "on one machine only"])
    c.ctl_fails("cluster peers fe80::1%eth0", on=n2, saying=["fe80::1%eth0", "on one machine only"])
    c.ctl_fails("cluster join", on=n2, status=2)
    assert list(c.members(n1)) == ["n1"] and list(c.members(n2)) == ["n2"]
    c.start("still", on=n2)


def test_a_token_on_standard_input_lets_in(c: Cluster):
    n1, n2, _ = c.nodes
    token = c.ctl("cluster token --quiet --ttl=10min", on=n1)
    c.ctl(f"cluster join {n1.address} -", on=n2, input=token)
    eventually(lambda: sorted(c.members(n2)) == ["n1", "n2"])
    assert n2.run("ps -C argosyd -o comm=").split() == ["argosyd"], "it is found by its name, though it has started again"
    c.ctl_fails(f"cluster join {n1.address} -", on=n2, input=token, saying="leave")


def test_a_host_with_units_joins_only_with_discard(c: Cluster):
    n1, n2, _ = c.nodes
    c.start("mine", on=n2)
    c.start("theirs", on=n1)
    token = c.ctl("cluster token --quiet", on=n1).strip()
    c.ctl_fails(f"cluster join {n1.address} {token}", on=n2, saying="--discard")
    assert c.where("mine").name == "n2" and list(c.members(n1)) == ["n1"]
    c.ctl(f"cluster join {n1.address} {token} --discard", on=n2)
    eventually(lambda: c.members(n1).get("n2") == "spare online")
    eventually(lambda: c.where("mine") is None, what="units of the cluster that was given up run no more")
    assert c.known(on=n2) == {"theirs.service"} and c.where("theirs").name == "n1"


def test_a_copied_machine_is_refused(c: Cluster):
    n1, n2, n3 = c.nodes
    c.join(n2, to=n1)
    n3.run(f"cp /etc/machine-id /root/machine-id && echo {n2.machine_id} >/etc/machine-id")
    c.make_fresh(n3)
    token = c.ctl("cluster token --quiet", on=n1).strip()
    c.ctl_fails(f"cluster join {n1.address} {token}", on=n3, saying="machine id")
    assert sorted(c.members(n1)) == ["n1", "n2"]
    n3.run("cp /root/machine-id /etc/machine-id")


def test_a_join_whose_answer_did_not_come_is_repeated(c: Cluster):
    n1, n2, _ = c.nodes
    token = c.ctl("cluster token --quiet", on=n1).strip()
    n1.stall_disk()  # it is a member when that has it
    try:
        joining = c.begin(f"cluster join {n1.address} {token}", on=n2)
        eventually(lambda: connections(n2, n1) > 0)
        stays(lambda: not joining.is_over, 1)
        joining.kill()
        eventually(lambda: connections(n2, n1) == 0, what="nobody waits for the answer any more")
    finally:
        n1.go_on_with_disk()
    eventually(lambda: "n2" in c.members(n1))
    c.ctl(f"cluster join {n1.address} {token}", on=n2)
    eventually(lambda: c.members(n1) == {"n1": "voter online", "n2": "spare online"})


def test_a_host_leaves_and_comes_again(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    c.ctl("cluster leave", on=n3)
    eventually(lambda: sorted(c.members(n1)) == ["n1", "n2"])
    eventually(lambda: len(c.active("w@*")) == 6 and "n3" not in c.spread("w@*"))
    c.assert_once("w@*", 6)
    eventually(lambda: list(c.members(n3)) == ["n3"], what="it is a cluster of its own")
    assert c.known(on=n3) == set()
    c.start("mine", on=n3)
    c.ctl("destroy mine", on=n3)
    c.join(n3, to=n2)
    eventually(lambda: list(c.members(n3).values()).count("voter online") == 3)


def test_the_leader_leaves(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    leader = c.leader(n1)
    rest = [node for node in c.nodes if node.name != leader.name]
    c.ctl("cluster leave", on=leader)
    eventually(lambda: len(c.members(rest[0])) == 2 and c.leader_name(rest[0]))
    eventually(lambda: len(c.active("w@*")) == 6 and leader.name not in c.spread("w@*"))
    c.ctl("start w@7", on=rest[1])
    c.assert_once("w@*", 7)


def test_a_running_host_is_removed_with_its_units_and_its_key(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    c.ctl("cluster remove n2", on=n1)
    eventually(lambda: sorted(c.members(n1)) == ["n1", "n3"])
    eventually(lambda: len(c.active("w@*")) == 6 and "n2" not in c.spread("w@*"))
    c.assert_once("w@*", 6)
    c.ctl_fails("cluster remove n9", on=n1, saying="n9")


def connections(node, other):
    """How many there are between the two, as the first one's kernel sees it."""
    return len(node.run(f"ss -Htn state established dst {other.address}").splitlines())


def test_who_votes_no_more_has_no_connection_to_the_log(c: Cluster):
    cluster_of_three(c)
    leader, (demoted, deaf) = c.leader(), c.followers()
    c.ctl(f"cluster demote {demoted.name}", on=leader)
    eventually(lambda: c.members(leader)[demoted.name] == "spare online")
    eventually(lambda: connections(leader, demoted) == 1, what="only its agent's own link is left")
    c.ctl(f"cluster promote {demoted.name}", on=leader)
    eventually(lambda: list(c.members(leader).values()) == ["voter online"] * 3)
    assert connections(leader, deaf) > 1

    deaf.run("systemctl kill --signal=STOP argosyd")  # it can neither hear of it nor hang up
    try:
        eventually(lambda: c.members(leader)[deaf.name] == "voter lost")
        c.ctl(f"cluster remove {deaf.name}", on=leader)
        for node in (leader, demoted):
            eventually(lambda: connections(node, deaf) == 0, within=20, what=f"{node.name} has no connection to it")
    finally:
        deaf.run("systemctl kill --signal=CONT argosyd")
    eventually(lambda: "This host was removed from the cluster while it could not hear of it" in deaf.journal("argosyd"))
    eventually(lambda: connections(leader, deaf) == 0, what="it knocks, is refused, and stays outside")


def removed_while_cut_off(c, node, rest):
    node.partition()
    eventually(lambda: c.members(rest)[node.name].endswith(" lost"))
    c.ctl(f"cluster remove {node.name}", on=rest)
    eventually(lambda: sum(n for name, n in c.spread("w@*").items() if name != node.name) == 6)
    node.heal()


def test_who_was_removed_while_he_could_not_hear_of_it_hears_so_later(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    leader, (other, third) = c.leader(n1), c.followers()
    removed_while_cut_off(c, leader, other)
    eventually(lambda: list(c.members(leader)) == [leader.name], what="it is a cluster of its own")
    assert c.known(on=leader) == set()
    c.assert_once("w@*", 6)
    assert "removed from the cluster while it could not hear of it" in leader.journal("argosyd")
    c.join(leader, to=third)
    eventually(lambda: list(c.members(leader).values()).count("voter online") == 3)
    # and one whose machine was off
    third.kill()
    eventually(lambda: c.members(other)[third.name].endswith(" lost"))
    c.ctl(f"cluster remove {third.name}", on=other)
    third.boot()
    eventually(lambda: list(c.members(third)) == [third.name])
    c.assert_once("w@*", 6)


def units_on(c, name):
    return {unit for unit, nodes in c.active("w@*").items() if name in nodes}


KEEPS = "[Node]\nStopWhenRemoved=no\n"


def test_a_removed_host_keeps_its_units_if_it_is_told_to(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    n3.write("/etc/argosy/argosy.conf.d/keep.conf", KEEPS)
    n3.run("systemctl reload argosyd")
    c.start("w@{1..6}", on=n1)
    mine = units_on(c, "n3")
    assert mine
    removed_while_cut_off(c, n3, n1)
    eventually(lambda: "was removed from the cluster, says" in c.ctl("cluster status", on=n3))
    status = c.ctl("cluster status", on=n3)
    assert "cluster join ADDRESS TOKEN" in status and "cluster leave --force" in status and "cluster peers" not in status
    stays(lambda: units_on(c, "n3") == mine, 2)
    token = c.ctl("cluster token --quiet", on=n1).strip()
    c.ctl(f"cluster join {n1.address} {token}", on=n3)
    eventually(lambda: list(c.members(n3).values()).count("voter online") == 3)
    c.assert_once("w@*", 6)
    # the other way out
    n3.partition()
    eventually(lambda: c.members(n1)["n3"].endswith(" lost"))
    c.ctl("cluster remove n3", on=n1)
    n3.heal()
    eventually(lambda: "was removed from the cluster, says" in c.ctl("cluster status", on=n3))
    c.ctl("cluster leave", on=n3)
    eventually(lambda: list(c.members(n3)) == ["n3"])
    n3.run("rm /etc/argosy/argosy.conf.d/keep.conf; systemctl reload argosyd")


def test_a_removed_host_answers_no_joiner(c: Cluster):
    n1, n2, n3 = c.nodes
    c.join(n2, to=n1)
    eventually(lambda: c.members(n1).get("n2") == "spare online")
    c.start("lasts", f"[Service]\nExecStart=/bin/sleep infinity\nExecStop=/bin/sh -c '{WAITS}'\n[X-Argosy]\nHost=n2\n", on=n1)
    token = c.ctl("cluster token --quiet", on=n1).strip()
    c.ctl("cluster remove n2 --force", on=n1)
    eventually(lambda: n2.run("systemctl show --value --property=ActiveState lasts").strip() == "deactivating",
               what="it knows, and is still busy with it")
    c.ctl_fails(f"cluster join {n2.address} {token}", on=n3, saying="ask another one")
    c.let_go(n2)
    eventually(lambda: list(c.members(n2)) == ["n2"])
    c.ctl_fails(f"cluster join {n1.address} {token}", on=n3, saying="dropped when a host was removed")
    c.join(n3, to=n1)


def test_a_removal_drops_tokens_and_says_so(c: Cluster):
    n1, n2, n3 = c.nodes
    c.join(n2, to=n1)
    eventually(lambda: c.members(n1).get("n2") == "spare online")
    c.ctl("cluster token --quiet", on=n1)
    assert "join token" in c.ctl("cluster remove n2", on=n1)


def test_a_token_for_one_host_and_one_use(c: Cluster):
    n1, n2, n3 = c.nodes
    token = c.ctl("cluster token --quiet --for=n3 --once", on=n1).strip()
    c.ctl_fails(f"cluster join {n1.address} {token}", on=n2, saying="for a host of another name")
    c.ctl(f"cluster join {n1.address} {token}", on=n3)
    token = c.ctl("cluster token --quiet --once", on=n1).strip()
    c.ctl(f"cluster join {n1.address} {token}", on=n2)
    eventually(lambda: list(c.members(n1).values()).count("voter online") == 3)
    c.ctl("cluster leave", on=n2)
    eventually(lambda: list(c.members(n2)) == ["n2"])
    c.ctl_fails(f"cluster join {n1.address} {token}", on=n2, saying="make a new one")
    c.ctl_fails("cluster token --for='no name'", on=n1, saying="name")


# Who has a certificate of the cluster, and is no member: answers whoever wants to join, and writes down what it was told.
FALSE_MEMBER = """
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
context.set_alpn_protocols(["argosy-join/1"])
listening = socket.create_server(("", 7867))
print("listens", flush=True)
with open(sys.argv[2], "wb") as told:
    stream = context.wrap_socket(listening.accept()[0], server_side=True)
    told.write(stream.recv(65536))
    proof = b"\x1a\x20" + bytes(range(32))
    stream.sendall(len(proof).to_bytes(4, "big") + proof)
    while more := stream.recv(65536):
        told.write(more)
"""


# Asks to join and says half of it, or all of it with a token that there is not, on so many connections and without end. The first
# whole ones come all at once, which is more than an address may ask in a burst.
STRANGERS = """
import socket, ssl, sys, threading, time
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["argosy-join/1"])
at_once = threading.Barrier(40)
def ask(said, whole):
    first = whole
    while True:
        try:
            with context.wrap_socket(socket.create_connection((sys.argv[1], 7867), timeout=5)) as s:
                if first:
                    at_once.wait()
                first = False
                s.sendall(said)
                s.settimeout(60)
                s.recv(1)
        except OSError:
            time.sleep(0.01)
request = b"\\x0a\\x0800000000"
whole = len(request).to_bytes(4, "big") + request
for said in [whole] * 40 + [b"\\0\\0\\x40\\0half"] * 40:
    threading.Thread(target=ask, args=[said, said is whole], daemon=True).start()
sys.stdin.read()
"""


def test_strangers_who_ask_to_join_keep_nobody_out(c: Cluster):
    n1, n2, n3 = c.nodes
    token = c.ctl("cluster token --quiet", on=n1).strip()
    strangers = subprocess.Popen(c.bed.from_network([sys.executable, "-c", STRANGERS, n1.address]), stdin=subprocess.PIPE)
    try:
        eventually(lambda: "too many join requests" in n1.run("journalctl -u argosyd -o cat"), what="they have more than their share")
        for node in (n2, n3):
            c.ctl(f"cluster join {n1.address} {token}", on=node)
    finally:
        strangers.stdin.close()
        strangers.wait(timeout=10)
    eventually(lambda: sorted(c.members(n1)) == ["n1", "n2", "n3"])


def test_who_only_has_a_certificate_learns_no_token(c: Cluster):
    n1, n2, n3 = c.nodes
    c.join(n2, to=n1)
    eventually(lambda: c.members(n1).get("n2") == "spare online")
    with tempfile.TemporaryDirectory() as folder:
        Path(f"{folder}/identity.pem").write_text(n2.run("cat /var/lib/argosy/identity.pem"))
        n2.partition()
        eventually(lambda: c.members(n1)["n2"].endswith(" lost"))
        c.ctl("cluster remove n2", on=n1)
        token = c.ctl("cluster token --quiet", on=n1).strip()
        n2.run("systemctl stop argosyd.socket argosyd.service")
        n2.heal()
        server = subprocess.Popen(n2.from_network([sys.executable, "-c", FALSE_MEMBER, f"{folder}/identity.pem", f"{folder}/told"]),
                                  stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout.readline() == "listens\n"
            c.ctl_fails(f"cluster join {n2.address} {token}", on=n3, saying=("does not prove that it is a member", "ask another one"))
            server.wait(timeout=10)
        finally:
            server.kill()
            server.wait()
        told = Path(f"{folder}/told").read_bytes()
    identifier, secret = token.split(".")[2:]
    assert identifier.encode() in told and len(told) < 64, told
    assert secret.encode() not in told and bytes.fromhex(secret) not in told
    c.ctl(f"cluster join {n1.address} {token}", on=n3)
    n2.run("systemctl start argosyd.socket argosyd.service")


def test_a_host_that_leaves_by_force_is_a_cluster_of_its_own(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    n3.partition()
    c.ctl("cluster leave --force", on=n3)
    eventually(lambda: list(c.members(n3)) == ["n3"])
    n3.heal()
    eventually(lambda: c.members(n1).get("n3") == "voter lost", what="it still counts as a member there")
    c.ctl("cluster remove n3", on=n1)
    eventually(lambda: len(c.active("w@*")) == 6 and "n3" not in c.spread("w@*"))
    assert sorted(c.members(n1)) == ["n1", "n2"]


def test_promote_and_demote(c: Cluster):
    n1, n2, n3 = cluster_of_three(c)
    c.start("w@{1..6}", on=n1)
    runs = c.invocations("w@*")
    c.ctl("cluster demote n3", on=n1)
    eventually(lambda: c.members(n1)["n3"] == "spare online")
    stays(lambda: c.members(n1)["n3"].startswith("spare"), 1, "who was demoted by hand is not promoted by itself")
    c.ctl("cluster promote n3", on=n2)
    eventually(lambda: list(c.members(n1).values()) == ["voter online"] * 3)
    leader = c.leader(n1)
    c.ctl(f"cluster demote {leader.name}", on=n2)
    eventually(lambda: c.members(n2)[leader.name] == "spare online" and c.leader_name(n2) != leader.name)
    assert c.invocations("w@*") == runs
    c.ctl("start w@7", on=leader)


def test_a_host_alone_ends_in_good_order_while_a_request_waits(c: Cluster):
    n1 = c.node("n1")
    c.submit("slow.service", "[Service]\nType=notify\nExecStart=/bin/sleep infinity\n", on=n1)
    waiting = c.begin("start slow", on=n1)
    eventually(lambda: n1.run("systemctl show --value --property=ActiveState slow.service").strip() == "activating")
    n1.run("systemctl stop argosyd")
    assert n1.run("systemctl show --value --property=Result argosyd").strip() == "success"
    waiting.kill()


main(nodes=3, alone=True, conf=QUICK)
