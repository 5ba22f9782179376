#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a node is told, or says, may be longer than one message can be: it goes in parts."""

from lib import PATIENT, SLEEPER, Cluster, eventually, main

COUNT = 136  # unit files of 250 KiB: more than a frame of 32 MiB takes
PADDING = "# a comment that makes the file long\n" * (250 * 1024 // 37)


def test_a_node_with_more_unit_files_than_one_message_takes_comes_back(c: Cluster):
    victim = c.followers()[0]
    other = next(node for node in c.nodes if node.name != victim.name)
    for number in range(COUNT):
        other.write(f"/root/units/big{number}.service",
                    f"{SLEEPER}[X-Argosy]\nMachineID={victim.machine_id}\n# {number}\n{PADDING}")
    c.ctl(f"start /root/units/big{{0..{COUNT // 2 - 1}}}.service", on=other)  # one command takes 24 MiB of files
    c.ctl(f"start /root/units/big{{{COUNT // 2}..{COUNT - 1}}}.service", on=other)
    assert len(c.active("big*")) == COUNT
    eventually(lambda: all(node.run("find /var/lib/argosy/log -name 'snapshot-*' | head -n 1") for node in c.nodes),
               what="so long a log is a snapshot of each voter; the victim begins with it")

    victim.kill()
    victim.boot()
    eventually(lambda: len(c.active("big*")) == COUNT, within=60, what="all units run again")
    eventually(lambda: c.node_states(other)[victim.name] == "online")
    assert victim.run("journalctl --boot --unit argosyd --grep 'asking for all of it again' --quiet || true") == ""

    # A new agent holds all of them: nothing is written, nothing is restarted.
    runs = c.invocations("big*")
    before = victim.run("stat --format=%i /run/systemd/system/big7.service")
    victim.run("systemctl restart argosyd")
    c.wait_online()
    assert c.invocations("big*") == runs
    assert victim.run("stat --format=%i /run/systemd/system/big7.service") == before

    # What an answer cannot hold is said, on the leader's host and elsewhere, and hurts nobody.
    for node in (c.leader(), victim):
        c.ctl_fails(f"cat big{{0..{COUNT - 1}}}", on=node, saying="ask about fewer")
    assert c.invocations("big*") == runs
    c.ctl("destroy 'big*'", on=other)
    assert not c.active("big*")


main(nodes=3, conf=PATIENT)
