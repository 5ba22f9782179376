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


if __name__ == "__main__":
    main(conf=QUICK)
