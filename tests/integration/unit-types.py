#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every type of unit on real systemd: what it needs is there with it, and what it runs by itself is left alone."""

from lib import ONE_SHOT, SLEEPER, Cluster, eventually, main, stays

TIMER = "[Timer]\nOnActiveSec={after}\nOnUnitInactiveSec={every}\nAccuracySec=10ms\n"
SOCKET = "[Socket]\nListenStream=/run/{name}.sock\n"
# Serves one connection that systemd listened for, and says who it is.
SERVER = "[Service]\nExecStart=/usr/bin/perl -e 'open(my $$s, \"+<&=\", 3); accept(my $$c, $$s); print $$c \"{what}\"'\n"
CLIENT = "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(\"/run/{name}.sock\")->getline'"
FORKER = "[Service]\nType=forking\nExecStart=/bin/sh -c 'sleep infinity & '\n"
NOTIFIER = "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'sleep 0.3; systemd-notify --ready; exec sleep infinity'\n"
BAD = "[Service]\nType=oneshot\nExecStart=/bin/false\n"
STAYS = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'echo %n >>/root/runs'\n"


def node_of(c, *units):
    """The one node that has all of these units."""
    [name] = {c.row(unit)["node"] for unit in units}
    return c.node(name)


def show(node, unit, what):
    return node.run(f"systemctl show --value --property={what} {unit}").strip()


def is_link(node, path):
    return node.run(f"test -L {path} && echo yes || true").strip() == "yes"


def reloads(node):
    return len(node.journal(grep=r"^.*systemd\[1\]: Reloading\.", lines=1000).splitlines())


def test_services_of_every_type_start_and_stop(c: Cluster):
    for name, text in {"simple": SLEEPER, "forking": FORKER, "notify": NOTIFIER, "stays": STAYS}.items():
        c.submit(f"{name}.service", text)
    c.ctl("start simple forking notify stays")
    for name in ("simple", "forking", "notify"):
        assert c.shown(name) == "loaded active running", f"{name}: {c.shown(name)}"
    assert c.shown("stays") == "loaded active exited"
    c.ctl("stop simple forking notify stays")
    for name in ("simple", "forking", "notify", "stays"):
        assert c.shown(name) == "loaded inactive dead", f"{name}: {c.shown(name)}"
    assert c.runs("stays") == 1


def test_a_timer_runs_its_service_again_and_again(c: Cluster):
    c.submit("tick.service", "[Unit]\nStartLimitIntervalSec=0\n" + ONE_SHOT)
    c.start("tick.timer", TIMER.format(after="100ms", every="100ms"))
    node = node_of(c, "tick.timer", "tick.service")
    assert c.file_row("tick.service")["desired"] == "loaded"
    eventually(lambda: c.runs("tick") >= 3)
    node.run("systemctl restart argosyd")
    before = c.runs("tick")
    c.wait_online()
    eventually(lambda: c.runs("tick") >= before + 3)
    row = c.row("tick.service")
    assert not row["drift"] and row["active"] in ("inactive", "activating", "active"), row

    c.ctl("stop tick.timer")
    eventually(lambda: show(node, "tick.service", "ActiveState") == "inactive")  # what it had begun has ended
    eventually(lambda: c.shown("tick.service") == "loaded inactive dead")
    ended = c.runs("tick")
    stays(lambda: c.runs("tick") == ended, 0.5)
    c.ctl("start tick.timer")
    eventually(lambda: c.runs("tick") > ended)


def test_a_service_goes_where_its_timer_is_to_be(c: Cluster):
    with_db = TIMER.format(after="1h", every="1h") + "[X-Argosy]\nSameNodeAs=db.service\n"
    c.start("db.service", SLEEPER + "[X-Argosy]\nRequireLabel=name=n1\n")
    c.submit("pad@.service", SLEEPER + "[X-Argosy]\nRequireLabel=name=n1\n")
    c.ctl("start pad@{1..3}")  # n2 has more room
    c.submit("near.service", ONE_SHOT)
    c.start("near.timer", with_db)
    assert node_of(c, "near.timer", "near.service", "db.service")
    c.submit("both.service", SLEEPER)
    c.submit("both.timer", with_db)
    c.ctl("start both.service both.timer")
    assert node_of(c, "both.timer", "both.service", "db.service")
    c.start("far.service", SLEEPER + "[X-Argosy]\nRequireLabel=name=n2\n")
    c.submit("far.timer", with_db)
    c.ctl_fails("start far.timer", saying="far.service is on another node, where this unit cannot activate it")
    assert node_of(c, "far.timer", "db.service") and node_of(c, "far.service") == c.node("n2")
    c.ctl("destroy near.timer near.service both.timer both.service far.timer far.service pad@{1..3} pad@.service db.service")


def test_what_a_timer_pins_gets_its_new_content(c: Cluster):
    c.submit("old.service", "[Unit]\nDescription=one\n" + ONE_SHOT)
    c.start("old.timer", TIMER.format(after="1h", every="1h"))
    node = node_of(c, "old.timer", "old.service")
    since = show(node, "old.timer", "ActiveEnterTimestampMonotonic")
    node.write("/root/units/old.service", "[Unit]\nDescription=two\n" + ONE_SHOT)
    c.ctl("load --replace /root/units/old.service", on=node)
    eventually(lambda: show(node, "old.service", "Description") == "two")
    assert show(node, "old.service", "NeedDaemonReload") == "no"
    assert not c.row("old.service")["stale"]
    assert show(node, "old.timer", "ActiveEnterTimestampMonotonic") == since, "the timer was touched"


def test_a_connection_starts_the_service_of_a_socket(c: Cluster):
    c.submit("echo.service", SERVER.format(what="first"))
    c.start("echo.socket", SOCKET.format(name="echo"))
    node = node_of(c, "echo.socket", "echo.service")
    assert c.shown("echo.socket") == "loaded active listening"
    assert c.shown("echo.service") == "loaded inactive dead"

    def ask():
        return node.run(CLIENT.format(name="echo")).strip()

    assert ask() == "first"
    eventually(lambda: c.shown("echo.service") == "loaded inactive dead")
    node.write("/root/units/echo.service", SERVER.format(what="second"))
    c.ctl("load --replace /root/units/echo.service", on=node)
    eventually(lambda: not c.row("echo.service")["stale"])
    assert ask() == "second", "systemd still had the old content"
    c.ctl("destroy echo.socket echo.service")
    left = node.run("ls /run/systemd/system | grep echo || true")
    assert not left, left


def test_a_path_and_a_mount_and_a_failing_unit(c: Cluster):
    c.submit("drop.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'rm /root/drop; echo %n >>/root/runs'\n")
    c.start("drop.path", "[Path]\nPathExists=/root/drop\n")
    node = node_of(c, "drop.path", "drop.service")
    node.write("/root/drop", "x")
    eventually(lambda: c.runs("drop") == 1)

    c.start("mnt-data.mount", "[Mount]\nWhat=tmpfs\nWhere=/mnt/data\nType=tmpfs\n")
    where = c.node(c.row("mnt-data.mount")["node"])
    assert c.shown("mnt-data.mount") == "loaded active mounted"
    where.run("systemctl restart argosyd")
    c.wait_online()
    assert where.run("findmnt --noheadings --output FSTYPE /mnt/data").strip() == "tmpfs"
    c.ctl("destroy mnt-data.mount")
    assert "/mnt/data" not in where.run("cat /proc/mounts")

    c.submit("bad.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    c.submit("bad.timer", TIMER.format(after="50ms", every="1h"))
    c.ctl("start bad.timer")
    eventually(lambda: c.shown("bad.service") == "loaded failed failed")
    assert c.shown("bad.timer").startswith("loaded active")
    c.ctl("destroy bad.timer bad.service")
    assert not {"bad.timer", "bad.service"} & c.known()


def test_a_target_starts_what_wants_to_be_part_of_it(c: Cluster):
    for each in c.nodes:
        each.run("rm -rf /run/systemd/system/app.target.wants")
    c.submit("part.service", SLEEPER + "[X-Argosy]\nMachineMetadata=name=n1\n[Install]\nWantedBy=app.target multi-user.target\n")
    c.submit("late.service", SLEEPER + "[X-Argosy]\nMachineMetadata=name=n1\n[Install]\nWantedBy=app.target\nAlias=later.service\n")
    c.submit("app.target", "[Unit]\nDescription=App\n[X-Argosy]\nMachineMetadata=name=n1\n")
    node = c.node("n1")
    directory = "/run/systemd/system"
    c.ctl("load part")
    assert node.run(f"readlink {directory}/app.target.wants/part.service").strip() == "../part.service"
    assert not is_link(node, f"{directory}/multi-user.target.wants/part.service")
    c.ctl("start app.target")
    eventually(lambda: c.shown("part") == "loaded active running")
    assert c.file_row("part.service")["desired"] == "loaded" and not c.row("part")["drift"]

    # systemd has read app.target.wants/ and does not look again by itself.
    before = reloads(node)
    c.ctl("load late")
    stays(lambda: c.shown("late") == "loaded inactive dead", 0.3)
    assert reloads(node) == before, "a link alone is no reason to reload"
    c.ctl("restart app.target")
    eventually(lambda: c.shown("late") == "loaded active running")
    assert show(node, "later.service", "Id") == "late.service"

    # Nothing of the system's starts what is only loaded; a daemon-reload would make it see the links.
    c.ctl("start part")
    eventually(lambda: is_link(node, f"{directory}/multi-user.target.wants/part.service"))
    assert node.run("systemctl is-enabled part.service").strip() == "enabled-runtime"
    c.ctl("stop part")
    eventually(lambda: not is_link(node, f"{directory}/multi-user.target.wants/part.service"))
    node.run("systemctl daemon-reload; systemctl start multi-user.target")
    stays(lambda: c.shown("part") == "loaded inactive dead", 0.3)

    node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("destroy '*'")
    left = node.run(f"find {directory} -name '*part*' -o -name '*late*' -o -name 'app.target*'")
    assert not left, left


# What systemctl enable makes of [Install], and argosy. A row: the section; "@": of an instance; what argosy leaves out
# of systemctl's links, and says so.
INSTALL = [
    ("WantedBy=x.target y.target\nRequiredBy=z.target", "", ()),
    ("WantedBy=x.target\nWantedBy=\nWantedBy=y.target\nAlias=\nAlso=", "", ()),
    ("WantedBy=site@.target", "", ()),
    ("WantedBy=site@.target\nRequiredBy=z@.target\nDefaultInstance=%H", "@", ()),
    ("WantedBy=x@%i.target %j.target", "@", ()),
    ("WantedBy=x.scope dev-x.device x@.mount", "", ()),
    ("Alias=dbus-org.example.X.service\nWantedBy=x.target", "", ("dbus-org.example.X.service",)),
    ("Alias=systemd-x.service", "", ("systemd-x.service",)),
    ("Alias=other.service", "", ()),
    ("Alias=b@.service c@%i.service", "@", ()),
    ("Alias=x.target.wants/%n y.target.requires/%n", "", ()),
    ("Alias=x.target.wants/%n", "@", ()),
    ("WantedBy=%H.target y.target", "", ("{host}.target.wants/{name}",)),
    ('WantedBy="x.target', "", ()),
    ("UpheldBy=x.target", "", ("x.target.upholds/{name}",)),
    ("Also=nothing.service none@.service dev-x.device", "", ()),
    ("DefaultInstance=a/b\nWantedBy=x.target", "", ()),
    ("DefaultInstance=a/b\nWantedBy=x.target", "@", ()),
    ("Alias=b.target", "", "refused"),
    ("Alias=b@.service", "", "refused"),
    ("Alias=b.service", "@", "refused"),
    ("Alias=x.target.wants/other.service", "", "refused"),
    ("Alias=x.target.upholds/%n", "", "refused"),
    ("WantedBy=nosuffix", "", "refused"),
    ("WantedBy=x%z.target", "", "refused"),
    ("Also=nosuffix", "", "refused"),
]
def links_by_unit(node, directory):
    """{unit: links that lead to it}"""
    found = {}
    for line in node.run(f"cd {directory} && find . -type l -printf '%P %l\\n'").splitlines():
        link, target = line.split()
        found.setdefault(target.rpartition("/")[2], set()).add(link)
    return found


def test_install_is_taken_as_systemctl_enable_takes_it(c: Cluster):
    node = c.node("n1")
    files = [f"i{i}{'@' if at else ''}.service" for i, (_, at, _) in enumerate(INSTALL)]
    units = [file.replace("@", "@1") for file in files]
    script = "set +e\n"
    for file, unit, (section, _, _) in zip(files, units, INSTALL):
        node.write(f"/root/install/{file}", SLEEPER + f"[X-Argosy]\nHost=n1\n[Install]\n{section}\n")
        root = f"/root/roots/{file}/etc/systemd/system"
        script += f"mkdir -p {root}; cp /root/install/{file} {root}; systemctl --root=/root/roots/{file} enable {unit} >/dev/null 2>&1; echo $?\n"
    refused = {unit: code != "0" for unit, code in zip(units, node.run(script).split())}
    taken = [unit for unit in units if not refused[unit]]
    said = c.ctl_result("load " + " ".join(f"/root/install/{unit}" for unit in taken), on=node)
    assert said.status == 0, said.err
    ours = links_by_unit(node, "/run/systemd/system")
    for file, unit, (section, _, left_out) in zip(files, units, INSTALL):
        assert refused[unit] == (left_out == "refused"), f"{section}: systemctl says {refused[unit]}"
        if refused[unit]:
            c.ctl_fails(f"load /root/install/{unit}", on=node)
            continue
        theirs = {link for links in links_by_unit(node, f"/root/roots/{file}/etc/systemd/system").values() for link in links}
        wanted = theirs - {link.format(host="n1", name=unit) for link in left_out}
        assert ours.get(unit, set()) == wanted, f"{section}: systemctl makes {theirs}, argosy {ours.get(unit)}"
        assert not left_out or f"{unit}: " in said.err, f"{section}: nothing is said of it"
    words = "Alias=dbus-org.example.X.service is ignored"
    assert words in said.err, said.err
    verified = c.ctl_result("verify /root/install/i6.service", on=node)
    assert words in verified.out + verified.err, verified
    c.ctl(f"destroy {' '.join(taken)}")


def test_an_instance_of_a_target_starts_what_its_template_wants(c: Cluster):
    for name, text in {"front@.service": SLEEPER + "[Install]\nWantedBy=site@.target\n[X-Argosy]\nHost=n1\n",
                       "site@.target": "[X-Argosy]\nHost=n1\n"}.items():
        c.submit(name, text)
    c.ctl("load front@1")
    c.ctl("start site@a.target")
    eventually(lambda: c.shown("front@1") == "loaded active running")
    # It is in memory, and has not seen the link of another.
    c.ctl("load front@2")
    c.ctl("restart site@a.target")
    eventually(lambda: c.shown("front@2") == "loaded active running")
    c.ctl("destroy front@1 front@2 front@.service site@a.target site@.target")


def test_what_a_unit_needs_on_its_node_is_brought_or_named(c: Cluster):
    node = c.node("n1")
    files = {"tick.timer": TIMER.format(after="1h", every="1h"), "tick.service": ONE_SHOT,
             "own.socket": SOCKET.format(name="own"), "own.service": "[Unit]\nRequires=own.socket\n" + SLEEPER,
             "db.service": SLEEPER + "[X-Argosy]\nHost=n2\n",
             "web.service": "[Unit]\nRequires=db.service\n" + SLEEPER + "[X-Argosy]\nHost=n1\n"}
    for name, text in files.items():
        node.write(f"/root/beside/{name}", text)
    c.ctl("start /root/beside/tick.timer /root/beside/own.service", node)
    assert node_of(c, "tick.timer", "tick.service") and node_of(c, "own.service", "own.socket")
    assert c.shown("own.service") == "loaded active running"
    c.ctl("destroy tick.timer tick.service own.service own.socket")

    words = "Unit db.service not found"
    c.ctl_fails("start /root/beside/web.service", node, saying=(words, "neither the node nor the cluster has db.service"))
    c.ctl("submit /root/beside/db.service", node)
    c.ctl_fails("start web", node, saying=(words, "the cluster has db.service, which is not loaded", "`SameNodeAs=db.service`"))
    c.ctl("start db")
    for verb in ("start web", "why web"):
        c.ctl_fails(verb, node, status=3 if "why" in verb else 1,
                    saying=(words, "db.service is on n2", "`SameNodeAs=db.service`", "`Requires=db.service`"))
    c.ctl("destroy web db")


def test_templates_of_accept_and_on_failure_stand_beside_the_unit(c: Cluster):
    node, other = c.node("n1"), c.node("n2")
    path = "/run/systemd/system/al@.service"
    where = "[X-Argosy]\nHost=n1\n"
    alert = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo {what} %i >>/root/alerts'\n"

    def alerts():
        return node.run("cat /root/alerts 2>/dev/null || true").split("\n")[:-1]

    def is_companion():
        return node.run(f"head -1 {path} 2>/dev/null || true").startswith("# Written by argosyd")

    # Each connection has an instance of its own.
    c.submit("echo@.service", "[Service]\nExecStart=-/bin/cat\nStandardInput=socket\n")
    c.start("echo.socket", "[Socket]\nListenStream=127.0.0.1:7007\nAccept=yes\n" + where)
    ask = "exec 3<>/dev/tcp/127.0.0.1/7007; echo hi >&3; head -1 <&3"
    assert node.exec(["timeout", "5", "bash", "-c", ask]).out.strip() == "hi"
    c.ctl("destroy echo.socket echo@.service")
    assert not node.run("ls /run/systemd/system | grep echo || true").strip()

    # Of what is not there it is said; and then it comes to the node that has the unit, and to no other.
    bad = "[Unit]\nOnFailure=al@%N.service\nStartLimitIntervalSec=0\n" + BAD + where
    node.write("/root/units/bad1.service", bad)
    c.ctl_fails("start /root/units/bad1.service", node, saying="the cluster has no such template")
    c.submit("al@.service", alert.format(what="one"))
    eventually(is_companion)
    c.ctl_fails("start bad1")
    eventually(lambda: alerts() == ["one bad1"])
    assert other.run(f"ls {path} 2>/dev/null || true") == ""
    # What systemd has in memory of it is read again.
    c.submit("al@.service", alert.format(what="two"), replace=True)
    eventually(lambda: "echo two" in node.run(f"cat {path}"))
    c.ctl_fails("start bad1")
    eventually(lambda: alerts() == ["one bad1", "two bad1"])
    # An instance of the cluster takes its place, and leaves it.
    c.submit("al@.service", alert.format(what="two") + where, replace=True)
    c.ctl("start al@by-hand")
    assert not is_companion()
    c.ctl("destroy al@by-hand")
    eventually(is_companion)
    # It goes with the last unit, also if argosyd has begun anew.
    c.submit("bad2.service", bad)
    c.ctl("load bad2")
    node.run("systemctl restart argosyd")
    c.wait_online()
    c.ctl("destroy bad1")
    stays(is_companion, 0.3)
    c.ctl("destroy bad2")
    eventually(lambda: node.run(f"ls {path} 2>/dev/null || true") == "")
    c.ctl("destroy al@.service")


def test_all_of_them_are_there_again_after_a_reboot(c: Cluster):
    c.submit("tick.service", ONE_SHOT)
    c.submit("echo.service", SERVER.format(what="first"))
    c.submit("stays.service", STAYS + "[Install]\nWantedBy=multi-user.target\n")
    c.submit("once.service", ONE_SHOT + "[Install]\nWantedBy=multi-user.target\n")
    c.start("tick.timer", TIMER.format(after="1h", every="1h"))
    c.start("echo.socket", SOCKET.format(name="echo"))
    c.ctl("start stays once")
    node = node_of(c, "tick.timer", "tick.service")
    stay_on = node_of(c, "stays")
    assert c.runs("stays") == 1 and c.runs("once") == 1
    for each in c.nodes:
        before = each.init_pid()
        each.exec(["systemctl", "reboot"])
        eventually(lambda: each.init_pid() not in (None, before))
        c.wait_online()
    eventually(lambda: c.shown("tick.timer") == "loaded active waiting" and c.shown("echo.socket") == "loaded active listening")
    assert node_of(c, "tick.timer", "tick.service") and node_of(c, "echo.socket", "echo.service")
    eventually(lambda: c.shown("stays") == "loaded active exited")
    assert c.runs("stays") == 2, "what remains is a state of the machine, and is made again after a boot"
    stays(lambda: c.runs("once") == 1, 0.3)


main(nodes=2, conf=["n1:Node.Labels=name=n1", "n2:Node.Labels=name=n2"])
