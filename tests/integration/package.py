#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian package installs and starts on a booted node, and an upgrade of it disturbs no unit."""

import subprocess
from pathlib import Path

from lib import SLEEPER, SOURCE, Cluster, main


def built_package():
    return Path(subprocess.run([SOURCE / "tools/package"], check=True, text=True, capture_output=True).stdout.split()[-1])


def test_the_package_installs_starts_upgrades_and_leaves(c: Cluster):
    n1 = c.node("n1")
    n1.path("/root/argosy.deb").write_bytes(built_package().read_bytes())

    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --install /root/argosy.deb")
    assert n1.run("systemctl is-active argosyd.service argosyd.socket argosy.target").split() == ["active"] * 3
    assert "argosy" in n1.run("stat -c %G /run/argosy/argosy.sock")
    users_own = "/usr/lib/systemd/user/argosyd.service"
    assert "argosyd --user" in n1.run(f"cat {users_own}")
    assert n1.run("find /etc/systemd/user -name 'argosyd*'") == "", "it is enabled for every user"
    c.start("web.service", SLEEPER)
    run = c.invocation("web.service")

    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --install /root/argosy.deb")
    n1.run("systemctl is-active argosyd.service")
    assert c.invocation("web.service") == run, "the upgrade restarted a unit"

    n1.run("dpkg --purge argosy")
    assert n1.exec(["systemctl", "is-active", "argosyd.service"]).status != 0
    assert n1.exec(["test", "-e", users_own]).status != 0
    assert n1.exec(["test", "-e", "/var/lib/argosy/peers"]).status != 0


main(nodes=1, bare=True)
