#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Units of different nodes that start after each other, stop before each other, and need each other."""

from lib import QUICK, SLEEPER, Cluster, eventually, main, stays


def gated(host, options=""):
    """A service of that host that is up when /root/go is there, and takes a moment to stop."""
    return ("[Service]\nType=notify\nNotifyAccess=all\nTimeoutStartSec=120\n"
            "ExecStart=/bin/sh -c 'until [ -e /root/go ]; do sleep 0.1; done; systemd-notify --ready; exec sleep infinity'\n"
            f"ExecStop=/bin/sleep 0.2\n[X-Argosy]\nHost={host}\n{options}")


def open_gate(*nodes):
    for node in nodes:
        node.run("touch /root/go")


def close_gates(c):
    for node in c.nodes:
        node.run("rm -f /root/go")


def moment(node, unit, what):
    """When systemd saw that of the unit; nodes of a testbed share a clock."""
    return int(node.run(f"systemctl show --value --property={what}TimestampMonotonic {unit}"))


def why(c, unit):
    result = c.ctl_result(f"why {unit}")
    return result.out + result.err


def submit_chain(c):
    """front on n1 comes after middle on n2, and that after back on n3."""
    close_gates(c)
    c.submit("back.service", gated("n3"))
    c.submit("middle.service", gated("n2", "Requires=back.service\n"))
    c.submit("front.service", gated("n1", "Requires=middle.service\nAfter=nobody.service\n"))


def assert_started_in_order(c):
    n1, n2, n3 = c.nodes
    assert moment(n3, "back", "ActiveEnter") <= moment(n2, "middle", "InactiveExit"), "middle began before back was up"
    assert moment(n2, "middle", "ActiveEnter") <= moment(n1, "front", "InactiveExit"), "front began before middle was up"


def test_a_chain_starts_in_order_and_stops_in_reverse(c: Cluster):
    n1, n2, n3 = c.nodes
    submit_chain(c)
    start = c.begin("start front")
    eventually(lambda: c.shown("back") == "loaded activating start")
    assert "waiting for back.service on n3, which is being started" in why(c, "middle")
    assert "waiting for middle.service on n2" in why(c, "front")
    assert "waiting for middle.service on n2" in c.ctl_result("status front").out
    open_gate(n1, n3)
    eventually(lambda: c.shown("middle") == "loaded activating start")
    stays(lambda: c.where("front") is None, 0.3)
    assert not start.is_over
    open_gate(n2)
    result = start.result()
    assert result.status == 0, result.err
    assert_started_in_order(c)

    assert "middle.service is stopped too" in c.ctl_result("stop back").err
    eventually(lambda: not c.active("front") and not c.active("middle"))
    assert moment(n1, "front", "InactiveEnter") <= moment(n2, "middle", "ActiveExit"), "middle was stopped before front had ended"
    assert moment(n2, "middle", "InactiveEnter") <= moment(n3, "back", "ActiveExit"), "back was stopped before middle had ended"


def test_a_chain_goes_on_when_its_leader_is_killed(c: Cluster):
    n1, n2, n3 = c.nodes
    leader = c.leader()
    submit_chain(c)
    start = c.begin("start front", on=c.followers()[0])
    eventually(lambda: c.shown("back") == "loaded activating start")
    leader.run("systemctl kill --signal=KILL argosyd")
    open_gate(n1, n3)
    eventually(lambda: c.shown("middle", on=n2) == "loaded activating start")
    stays(lambda: c.where("front") is None, 0.3)
    open_gate(n2)
    result = start.result()
    assert result.status == 0, result.err
    assert_started_in_order(c)


def test_what_is_bound_to_a_unit_of_a_lost_node_is_down_until_that_is_back(c: Cluster):
    n1, n2, n3 = c.nodes
    leader = c.leader()
    here, lost, spare = leader, *(node for node in c.nodes if node.name != leader.name)
    open_gate(n1, n2, n3)
    c.submit("base.service", gated(lost.name, f"Host={spare.name}\n"))
    c.submit("bound.service", gated(here.name, "BindsTo=base.service\n"))
    c.submit("loose.service", gated(here.name, "Requires=base.service\n"))
    c.ctl("start bound loose")
    lost, spare = (lost, spare) if c.where("base").name == lost.name else (spare, lost)
    bound, loose = c.invocation("bound"), c.invocation("loose")
    close_gates(c)
    lost.kill()
    eventually(lambda: c.shown("bound").startswith("loaded inactive"))
    eventually(lambda: f"waiting for base.service on {spare.name}, which is being started" in why(c, "bound"))
    open_gate(here, spare)
    eventually(lambda: c.shown("bound") == "loaded active running")
    assert moment(spare, "base", "ActiveEnter") <= moment(here, "bound", "InactiveExit")
    assert c.invocation("bound") != bound and c.invocation("loose") == loose
    lost.boot()


def test_what_fails_is_named_by_who_requires_it(c: Cluster):
    c.submit("broken.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n[X-Argosy]\nHost=n2\n")
    c.submit("needs.service", SLEEPER + "[X-Argosy]\nHost=n1\nRequires=broken.service\n")
    c.ctl_fails("start needs", saying="waiting for broken.service on n2, which failed (exit-code)")
    assert "waiting for broken.service on n2, which failed (exit-code)" in why(c, "needs")
    assert c.where("needs") is None
    c.node("n2").write("/root/units/broken.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n[X-Argosy]\nHost=n2\n")
    c.ctl("start --replace /root/units/broken.service", on="n2")
    eventually(lambda: c.where("needs"))


def test_a_cycle_is_refused_with_its_line(c: Cluster):
    c.submit("one.service", SLEEPER + "[X-Argosy]\nAfter=two.service\n")
    node = c.node("n2")
    node.write("/root/units/two.service", SLEEPER + "[X-Argosy]\nAfter=one.service\n")
    c.ctl_fails("submit /root/units/two.service", on=node, saying="two.service:4: the order goes in a cycle: two.service after one.service after two.service")
    c.ctl_fails("start /root/units/two.service", on=node, saying="goes in a cycle")
    assert c.known() == {"one.service"}
    node.write("/root/units/two.service", SLEEPER + "[X-Argosy]\nRequires=three.service\n")
    c.ctl_fails("submit /root/units/two.service", on=node, saying="two.service:4: it requires three.service, which the cluster does not know")


if __name__ == "__main__":
    main(conf=QUICK)
