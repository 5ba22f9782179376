#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""argosy gets onto a machine that has nothing of it as README says, and off it again. The Debian package installs and starts, an
upgrade of it disturbs no unit, its removal neither, and a purge leaves nothing."""

import os
import subprocess
import tempfile
from pathlib import Path

from lib import BUILD, SLEEPER, SOURCE, Cluster, eventually, main
from testbed.staging import grant_sanitizer_rights

PIN = "argosy-pin@job.service.target"


def built_package():
    """$ARGOSY_PACKAGE, of who has built it already."""
    built = os.environ.get("ARGOSY_PACKAGE")
    if not built:
        built = subprocess.run([SOURCE / "tools/package"], check=True, text=True, capture_output=True).stdout.split()[-1]
    return Path(built)


def commands_of_readme():
    """What README says behind `meson install`."""
    lines = [line.strip() for line in (SOURCE / "README.md").read_text().splitlines()]
    return [line for line in lines if line.startswith(("systemd-sysusers", "systemctl enable --now argosyd"))]


def test_an_installation_without_a_package_starts_as_readme_says(c: Cluster):
    n1 = c.node("n1")
    assert n1.exec(["getent", "group", "argosy"]).status != 0
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run(["meson", "install", "-C", BUILD, "--quiet", "--no-rebuild", "--destdir", tree], check=True)
        grant_sanitizer_rights(BUILD, Path(tree))
        subprocess.run(["tar", "-C", tree, "-cf", n1.path("/root/tree.tar"), "."], check=True)
    n1.run("tar -C / --no-overwrite-dir --keep-directory-symlink -xf /root/tree.tar")
    commands = commands_of_readme()
    assert len(commands) == 2, commands
    for command in commands:
        n1.run(command)
    c.start("web.service", SLEEPER)
    c.ctl("destroy web")
    n1.run("systemctl disable --now argosyd.service argosyd.socket")
    n1.run("tar -tf /root/tree.tar | grep -v '/$' | (cd / && xargs rm -f)")
    n1.run("umount /run/argosy/secrets && rm -r /run/argosy && find /var/lib/argosy -mindepth 1 -delete && systemctl daemon-reload && groupdel argosy")


def test_the_package_installs_starts_upgrades_and_leaves(c: Cluster):
    n1 = c.node("n1")
    n1.path("/root/argosy.deb").write_bytes(built_package().read_bytes())

    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --install /root/argosy.deb")
    assert n1.run("systemctl is-active argosyd.service argosyd.socket argosy.target").split() == ["active"] * 3
    assert "argosy" in n1.run("stat -c %G /run/argosy/argosy.sock")
    n1.run("systemd-analyze security --no-pager --threshold=30 argosyd.service")
    users_own = "/usr/lib/systemd/user/argosyd.service"
    assert "argosyd --user" in n1.run(f"cat {users_own}")
    assert n1.run("find /etc/systemd/user -name 'argosyd*'") == "", "it is enabled for every user"
    c.start("web.service", SLEEPER)
    run = c.invocation("web.service")

    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --install /root/argosy.deb")
    n1.run("systemctl is-active argosyd.service")
    assert c.invocation("web.service") == run, "the upgrade restarted a unit"

    assert n1.exec(["test", "-e", "/usr/share/zsh/vendor-completions/_argosyctl"]).status == 0, "Debian's zsh looks there"
    removed_units_run_on_and_are_ours_again(c, n1)
    purged_units_are_gone(c, n1)
    assert n1.exec(["systemctl", "is-active", "argosyd.service"]).status != 0
    assert n1.exec(["systemctl", "is-active", "argosy-helper.socket"]).status != 0, "it goes with argosyd"
    assert n1.exec(["test", "-e", users_own]).status != 0
    assert n1.exec(["test", "-e", "/var/lib/argosy/peers"]).status != 0


def removed_units_run_on_and_are_ours_again(c, n1):
    c.start("worker@1 worker@2", SLEEPER + "[Install]\nWantedBy=multi-user.target\nAlias=other@%i.service\n")
    c.submit("tick.timer", "[Timer]\nOnActiveSec=1h\n")
    c.submit("tick.service", SLEEPER)
    c.start("gone.service", SLEEPER)
    c.ctl("start tick.timer")
    c.ctl("destroy gone")
    c.submit("job.service", "[Service]\nType=oneshot\nExecStart=/bin/sleep infinity\n")
    c.ctl("start --no-block job")
    c.submit("alarm@.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
    c.start("alarmed.service", "[Unit]\nOnFailure=alarm@%n.service\n" + SLEEPER)
    eventually(lambda: n1.exec(["test", "-e", "/run/systemd/system/alarm@.service"]).status == 0, what="its template is beside it")
    eventually(lambda: n1.run(f"systemctl is-active '{PIN}'"), what="it is pinned")
    n1.write("/run/systemd/system/foreign@.service", SLEEPER)
    n1.run("systemctl start foreign@1")
    kept = ["web", "worker@1", "worker@2", "foreign@1"]
    runs = [c.invocation(unit) for unit in kept]

    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --remove argosy")
    assert n1.exec(["systemctl", "is-active", "argosyd.service"]).status != 0
    assert [c.invocation(unit) for unit in kept] == runs, "the removal stopped a unit"
    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --install /root/argosy.deb")
    c.wait_online()
    c.ctl("start web worker@1 tick.timer")
    assert [c.invocation(unit) for unit in kept] == runs, "they are not ours any more"
    n1.run("DEBIAN_FRONTEND=noninteractive dpkg --remove argosy")


def purged_units_are_gone(c, n1):
    """Argosy's programs are not there any more; what argosyd was writing when it was killed is."""
    n1.run("cd /run/systemd/system && mkdir -p web.service.d && touch web.service.d/.#50-argosy.conf.new .#web.service.new")
    assert n1.run(f"systemctl is-active '{PIN}'") == "active\n"
    n1.run("dpkg --purge argosy")
    left = n1.run("systemctl list-units --all --no-legend --plain 'argosy-*' 'job*'")
    assert left == "", left
    left = n1.run("systemctl list-units --no-legend --plain 'web*' 'worker@*' 'tick*' 'other@*' 'foreign@*'").splitlines()
    assert [line.split()[0] for line in left] == ["foreign@1.service"], left
    files = n1.run("find /run/systemd/system -mindepth 1 -path '*foreign*' -o -mindepth 1 -print").split()
    assert not [path for path in files if any(name in path for name in ("web", "worker", "tick", "other", "alarm", "argosy"))], files
    assert n1.run("cat /run/systemd/system/foreign@.service") == SLEEPER


main(nodes=1, bare=True)
