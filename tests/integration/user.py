#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`argosyd --user`: whoever has a systemd of their own has a cluster of one, without root, and may join it with others' - and no other
user, and not the machine's argosyd, has anything to do with it."""

import json
import os
import shlex
from contextlib import closing

from lib import ONE_SHOT, SLEEPER, Cluster, Failure, Result, Running, eventually, main, stays
from over_http import dial

# What pam_systemd and logind do for a login; the nodes have neither.
RUNTIME_DIR = """\
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/install -d -m 0700 -o %i -g %i /run/user/%i
ExecStop=/bin/rm -rf /run/user/%i
"""
MANAGER = "[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
UIDS = {"ann": 1001, "bob": 1002}
SPEAKER = "[Service]\nExecStart=/bin/sh -c 'echo I am %u; exec sleep infinity'\n"


class User:
    """A user of one node, logged in, with a fresh argosyd unless told otherwise."""

    def __init__(self, node, name, enable=True):
        self.node, self.name, self.uid = node, name, UIDS[name]
        self.runtime_dir = f"/run/user/{self.uid}"
        node.write("/run/systemd/system/user-runtime-dir@.service", RUNTIME_DIR)
        node.write("/run/systemd/system/user@.service.d/testbed.conf", MANAGER)
        node.run("systemctl daemon-reload")
        node.run(f"id {name} 2>/dev/null || useradd --uid {self.uid} --create-home {name}")
        self.log_out()
        node.run(f"find /home/{name} -mindepth 1 -delete")
        self.log_in()
        if enable:
            self.run("systemctl --user enable --quiet --now argosyd.service")

    @property
    def host(self):
        return f"{self.node.name}-{self.name}"

    def log_in(self):
        self.node.run(f"systemctl start user@{self.uid}.service")

    def log_out(self):
        self.node.run(f"systemctl stop user@{self.uid}.service user-runtime-dir@{self.uid}.service")

    def argv(self, argv, environment=()):
        """The same, as this user runs it."""
        set_by_login = [f"HOME=/home/{self.name}", f"USER={self.name}", f"XDG_RUNTIME_DIR={self.runtime_dir}"]
        passed_on = [f"{name}={os.environ[name]}" for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ]
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "env", "-C", "/",
                *set_by_login, *passed_on, *environment, *argv]

    def exec(self, argv, environment=()) -> Result:
        return self.node.exec(self.argv(argv, environment), timeout=60)

    def run(self, command):
        result = self.exec(["sh", "-c", command])
        if result.status != 0:
            raise Failure(f"{self.name} on {self.node.name}: {command}: exit status {result.status}\n{result.err}{result.out}")
        return result.out

    def ctl_result(self, command) -> Result:
        return self.exec(["argosyctl", "--user", *shlex.split(command)])

    def ctl(self, command):
        return self.run(f"argosyctl --user {command}")

    def json(self, command):
        return json.loads(self.ctl(f"{command} --json=short"))

    def start(self, unit, text=SLEEPER):
        self.submit(unit, text)
        self.ctl(f"start {shlex.quote(unit)}")

    def submit(self, unit, text=SLEEPER):
        stem, at, _ = unit.partition("@")
        path = f"/tmp/{stem}@.service" if at else f"/tmp/{unit}.service"
        self.node.write(path, text)
        self.ctl(f"submit --replace {path}")

    def shown(self, unit, field):
        """What this user's systemd says."""
        return self.run(f"systemctl --user show --value --property={field} {unit}").strip()

    def active(self, pattern):
        listed = self.run(f"systemctl --user list-units --plain --no-legend --state=active {shlex.quote(pattern)}")
        return {line.split()[0] for line in listed.splitlines()}

    def port(self):
        return int(self.run("cat ~/.local/state/argosy/port"))


def is_open(node, port):
    return any(line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == port
               for line in node.run("cat /proc/net/tcp /proc/net/tcp6").splitlines() if "local_address" not in line)


def test_a_user_has_a_cluster_of_one_without_root(c: Cluster):
    ann = User(c.node("n1"), "ann")
    ann.start("web", SPEAKER)
    assert ann.shown("web.service", "ActiveState") == "active"
    assert ann.shown("web.service", "FragmentPath") == f"{ann.runtime_dir}/systemd/user/web.service"
    [row] = ann.json("list-units")
    assert (row["unit"], row["node"], row["active"]) == ("web.service", "n1-ann", "active")
    status = ann.ctl("status --lines=5 web")
    assert "active (running)" in status and "user@1001.service" in status, status
    eventually(lambda: "I am ann" in ann.ctl("journal web"))
    eventually(lambda: "Started web.service" in ann.ctl("journal web"), what="what her systemd says about the unit")
    assert c.rows(on="n1") == [], "the machine's argosyd knows units of a user"
    assert c.active("web") == {}

    ann.ctl("stop web")
    assert ann.shown("web.service", "ActiveState") == "inactive"
    ann.ctl("destroy web")
    assert ann.run(f"ls -A {ann.runtime_dir}/systemd/user").split() == []
    assert not is_open(ann.node, ann.port()), "a port is open although nobody may join"

    ann.run("mkdir -p ~/.config/argosy && echo '[Node]\nLabels=disk=ssd' >~/.config/argosy/argosy.conf && systemctl --user reload argosyd")
    eventually(lambda: "disk=ssd" in ann.ctl("list-nodes"))


def get(node, port, target, cookie=""):
    with closing(dial(node, port)) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_she_looks_at_her_cluster_in_a_browser(c: Cluster):
    ann = User(c.node("n1"), "ann")
    ann.start("web", SPEAKER)
    c.start("of-the-machine")
    running = Running(ann.node, ann.argv(["argosyctl", "--user", "dashboard"]))
    try:
        address = running.line().strip()
        port = int(address.split(":")[2].split("/")[0])
        cookie = get(ann.node, port, address[address.index("/?"):]).split("Set-Cookie: ")[1].split(";")[0]
        units = get(ann.node, port, "/v1/units", cookie)
        assert "web.service" in units and "n1-ann" in units and "of-the-machine" not in units, units
        assert "<title>argosy</title>" in get(ann.node, port, "/", cookie)
    finally:
        running.kill()


def test_many_units_of_a_user_are_spread_over_slices(c: Cluster):
    ann = User(c.node("n1"), "ann")
    ann.start("w@{1..230}", SLEEPER + "StandardOutput=null\n")
    slices = {ann.shown(f"w@{n}.service", "Slice") for n in (1, 100, 230)}
    assert any(name.startswith("argosy-") for name in slices), slices
    group = next(ann.shown(f"w@{n}.service", "ControlGroup") for n in (230, 100, 1)
                 if ann.shown(f"w@{n}.service", "Slice").startswith("argosy-"))
    assert group.startswith("/user.slice/user-1001.slice/user@1001.service/argosy.slice/argosy-"), group
    ann.ctl("destroy 'w@*'")


def test_units_outlive_argosyd_and_come_back_with_their_systemd(c: Cluster):
    ann = User(c.node("n1"), "ann")
    ann.start("web")
    ann.start("once", ONE_SHOT.replace("/root/runs", "/home/ann/runs"))
    run, port = ann.shown("web.service", "InvocationID"), ann.port()
    for how in ["systemctl --user restart argosyd", "systemctl --user kill -s KILL argosyd"]:
        pid = ann.shown("argosyd.service", "MainPID")
        ann.run(how)
        eventually(lambda: ann.shown("argosyd.service", "MainPID") not in (pid, "0"))
        eventually(lambda: ann.json("list-units web")[0]["active"] == "active")
    assert ann.shown("web.service", "InvocationID") == run, "a restart of argosyd restarted a unit"
    ann.run("systemctl --user daemon-reexec")
    ann.node.run(f"systemctl restart user@{ann.uid}.service")
    eventually(lambda: ann.active("web.service"))
    ann.log_out()
    assert ann.node.exec(["test", "-e", ann.runtime_dir]).status != 0
    ann.log_in()
    eventually(lambda: ann.active("web.service"))
    assert ann.shown("web.service", "InvocationID") != run
    assert ann.port() == port
    assert ann.run("cat ~/runs").split() == ["once.service"], "a one-shot that had finished ran again"


def test_a_file_that_her_systemd_would_refuse_takes_nothing_down(c: Cluster):
    ann = User(c.node("n1"), "ann")
    ann.start("web")
    main_pid = ann.shown("web", "MainPID")
    ann.node.write("/tmp/bad/web.service", "[Service]\nExecStat=/bin/sleep 1000\n")
    ann.node.run("chmod -R a+rX /tmp/bad")
    assert "error: Service has no ExecStart=" in ann.ctl_result("verify /tmp/bad/web.service").out
    result = ann.ctl_result("start --replace /tmp/bad/web.service")
    assert result.status == 1 and "systemd would refuse the new file" in result.err, result.err
    assert ann.shown("web", "MainPID") == main_pid != "0"


def test_a_name_in_any_directory_that_her_systemd_searches_is_somebody_elses(c: Cluster):
    ann = User(c.node("n1"), "ann")
    own = f"{ann.runtime_dir}/systemd/user"
    searched = ann.run("systemctl --user show --value --property=UnitPath").split()
    ann.node.run(f"mkdir -p {' '.join(searched)}")
    searched = [path for path in searched if path not in (own, "/etc/systemd/user")]  # /etc/xdg/systemd/user is a link to it
    assert len(searched) >= 8, searched  # 14 and more with systemd 252, fewer with 257
    paths = [f"{path}/theirs-{number}.service" for number, path in enumerate(searched)]
    try:
        for number, path in enumerate(paths):
            ann.node.write(path, SLEEPER)
            ann.submit(f"theirs-{number}")
        refused = ann.ctl_result(f"start --timeout=60s {' '.join(f'theirs-{number}' for number in range(len(paths)))}")
        assert refused.status != 0
        missing = [path for path in paths if path not in refused.err + refused.out]
        assert not missing, f"not refused because of {missing}:\n{refused.err}{refused.out}"
        assert not ann.active("theirs-*")
    finally:
        ann.node.run(f"rm -f {' '.join(paths)}")


def test_users_of_one_machine_and_of_another_make_a_cluster(c: Cluster):
    n1, n2 = c.node("n1"), c.node("n2")
    ann, bob, away = User(n1, "ann"), User(n1, "bob"), User(n2, "ann")
    for other in (bob, away):
        token = ann.json("cluster token")
        assert token["address"] == n1.address and token["port"] == ann.port()
        assert is_open(n1, ann.port()), "a token, and nobody can come"
        other.ctl(f"cluster join {token['address']}:{token['port']} {token['token']}")
    members = lambda: {m["name"]: f"{m['role']} {m['state']}" for m in ann.json("cluster status")["members"]}
    eventually(lambda: members() == {"n1-ann": "voter online", "n1-bob": "voter online", "n2-ann": "voter online"})
    bob.start("w@{1..6}", SPEAKER)
    count = lambda *users: [len(user.active("w@*")) for user in users]
    assert count(ann, bob, away) == [2, 2, 2]
    on_bob = sorted(bob.active("w@*"))[0]
    eventually(lambda: "I am bob" in away.ctl(f"journal {on_bob}"), what="a unit's log, from another machine")

    bob.log_out()  # for the cluster a machine that shuts down
    eventually(lambda: sum(count(ann, away)) == 6)
    bob.log_in()
    eventually(lambda: set(members().values()) == {"voter online"})
    ann.run("systemctl --user restart argosyd")  # the leader: its port is the same afterwards, so the others find it
    eventually(lambda: set(members().values()) == {"voter online"} and bob.json("cluster status")["leader"])
    bob.ctl("destroy 'w@*'")
    assert count(ann, bob, away) == [0, 0, 0]


def test_nobody_else_gets_in(c: Cluster):
    n1 = c.node("n1")
    ann, bob = User(n1, "ann"), User(n1, "bob", enable=False)
    n1.run(f"chmod 0711 {ann.runtime_dir} {ann.runtime_dir}/argosy")
    refused = bob.exec(["argosyctl", f"--socket={ann.runtime_dir}/argosy/argosy.sock", "list-units"])
    assert refused.status == 1 and "Permission denied" in refused.err, refused
    assert n1.exec(["argosyctl", f"--socket={ann.runtime_dir}/argosy/argosy.sock", "list-nodes"]).status == 0, "root may"

    refused = ann.exec(["argosyctl", "list-units"])
    assert refused.status == 1 and "members of group argosy" in refused.err, refused
    refused = ann.exec(["argosyd"])
    assert refused.status != 0 and "Permission denied" in refused.err, refused
    token = c.ctl("cluster token --quiet", on="n1").strip()
    refused = ann.ctl_result(f"cluster join {n1.address} {token}")
    assert refused.status == 1 and "cluster of machines" in refused.err, refused
    stays(lambda: c.json("list-nodes", on="n1")[0]["node"] == "n1", during=0.2)

    refused = bob.ctl_result("list-units")
    assert refused.status == 1 and "systemctl --user enable" in refused.err, refused
    refused = bob.exec(["argosyd", "--user"], ["XDG_RUNTIME_DIR="])
    assert refused.status == 78 and "XDG_RUNTIME_DIR" in refused.err, refused
    refused = bob.exec(["argosyd", "--user"], [f"XDG_RUNTIME_DIR={ann.runtime_dir}"])
    assert refused.status != 0 and ann.runtime_dir in refused.err, refused


main(nodes=2, alone=True)
