#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files come with a unit, change with it, are undone with it and leave with it; nothing of a host is changed for them."""

from contextlib import contextmanager

from lib import EXAMPLES, Cluster, eventually, main

STORE = "/run/argosy/files"

# Shows what it sees of its files, in a file that the host has, too.
SHOWS = ("[Service]\nExecStartPre=/bin/sh -c 'cat /etc/web/*.conf >/run/seen-%n'\nExecStart=/bin/sleep infinity\n"
         "[X-Argosy]\nFile=conf:/etc/web\nFile=web.env\nFile=bin/check.sh\n")


def put(node, folder, files):
    """A folder of unit files and what they name."""
    node.run(f"rm -rf {folder}")
    for name, text in files.items():
        node.write(f"{folder}/{name}", text)
        if name.endswith(".sh"):
            node.run(f"chmod 755 {folder}/{name}")


def shop(**more):
    return {"web.service": SHOWS, "conf/a.conf": "a 1\n", "conf/b.conf": "b 1\n", "web.env": "COLOUR=red\n", "bin/check.sh": "#!/bin/sh\n"} | more


def seen(node, unit="web.service"):
    return node.run(f"cat /run/seen-{unit}")


def prepare(c):
    """What files are bound over is on each host."""
    for node in c.nodes:
        node.run("mkdir -p /etc/web && echo the host >/etc/web/host.conf")


def host_is_as_it_was(node):
    return node.run("ls /etc/web && cat /etc/web/host.conf") == "host.conf\nthe host\n"


def contents(node):
    return node.run(f"ls {STORE} 2>/dev/null || true").split()


def host_of(c, unit):
    return c.node(c.row(unit)["node"])


def last_job(c):
    return c.json("list-jobs --limit=1")[0]["job"]


def test_a_unit_has_its_files_where_it_says(c: Cluster):
    prepare(c)
    put(c.node("n1"), "/root/shop", shop())
    c.ctl("start /root/shop/web.service")
    node = host_of(c, "web.service")
    assert seen(node) == "a 1\nb 1\n" and host_is_as_it_was(node)
    folder = "/run/argosy/units/web.service"
    assert node.run(f"cd {folder} && find . -type f | sort").split() == ["./bin/check.sh", "./conf/a.conf", "./conf/b.conf", "./web.env"]
    assert node.run(f"stat --format=%a%U {folder}/web.env {folder}/bin/check.sh {folder}").split() == ["444root", "555root", "755root"]
    assert f"ARGOSY_FILES={folder}" in node.run("systemctl show --property=Environment --value web")
    assert len(contents(node)) == 4
    for other in c.nodes:
        assert other.name == node.name or not contents(other)
    c.ctl("destroy web")
    assert not contents(node) and node.run("ls /run/argosy/units").split() == []


def test_the_environment_file_of_a_unit(c: Cluster):
    put(c.node("n1"), "/root/env", {"env.service": "[Service]\nEnvironmentFile=/run/argosy/units/%n/web.env\nExecStart=/bin/sh -c 'echo $COLOUR >/run/colour; sleep infinity'\n"
                                                   "[X-Argosy]\nFile=web.env\n", "web.env": "COLOUR=red\n"})
    c.ctl("start /root/env/env.service")
    assert eventually(lambda: host_of(c, "env.service").run("cat /run/colour || true")) == "red\n"


def test_files_change_with_the_unit_and_are_undone_with_it(c: Cluster):
    prepare(c)
    n1 = c.node("n1")
    put(n1, "/root/shop", shop())
    c.ctl("apply /root/shop")
    node = host_of(c, "web.service")
    assert "nothing to do" in c.ctl("apply --plan /root/shop")
    n1.write("/root/shop/conf/b.conf", "b 2\n")
    c.ctl("apply /root/shop")
    assert seen(host_of(c, "web.service")) == "a 1\nb 2\n"
    job = last_job(c)
    assert "-b 1\n+b 2\n" in c.ctl("diff web") and "-b 1\n+b 2\n" in c.ctl(f"diff @{job - 1} @{job}")
    assert "conf/b.conf" in c.ctl("cat web")
    c.ctl(f"undo {job}")
    node = host_of(c, "web.service")
    assert seen(node) == "a 1\nb 1\n" and len(contents(node)) == 4
    n1.write("/root/shop/conf/a.conf", "a 3\n")
    c.ctl("update --health=0.2 /root/shop/web.service")
    assert seen(host_of(c, "web.service")) == "a 3\nb 2\n"


def test_instances_share_files_and_two_revisions_stand_beside_each_other(c: Cluster):
    prepare(c)
    n1 = c.node("n1")
    files = shop()
    files["web@.service"] = files.pop("web.service").replace("[X-Argosy]", "[X-Argosy]\nHost=n1")
    put(n1, "/root/shop", files)
    c.ctl("start /root/shop/web@{1..3}")
    assert len(contents(n1)) == 4
    n1.write("/root/shop/conf/b.conf", "b 2\n")
    c.ctl("start --replace /root/shop/web@2")
    for i in (1, 2, 3):
        n1.run(f"systemctl daemon-reload && systemctl restart web@{i}")
    assert [seen(n1, f"web@{i}.service") for i in (1, 2, 3)] == ["a 1\nb 1\n", "a 1\nb 2\n", "a 1\nb 1\n"]
    assert len(contents(n1)) == 5
    c.ctl("destroy web@{1..3}")
    assert not contents(n1)


def test_a_node_without_the_place_is_none_for_the_unit(c: Cluster):
    put(c.node("n1"), "/root/shop", shop())
    for node in c.nodes:
        node.run("rm -rf /etc/web")
    c.node("n3").run("mkdir /etc/web")
    c.ctl("start /root/shop/web.service")
    assert c.row("web.service")["node"] == "n3"
    assert not c.node("n1").run("ls -d /etc/web 2>/dev/null || true")
    c.node("n3").run("rmdir /etc/web")
    c.ctl_fails("restart web", saying="/etc/web")
    c.ctl("destroy web")
    assert "/etc/web, where File=conf is to be, does not exist on this node" in c.ctl_result("plan /root/shop/web.service").out
    c.ctl_fails("start /root/shop/web.service", saying="/etc/web, where File=conf is to be, does not exist on this node")
    for node in c.nodes:
        assert not node.run("ls -d /etc/web 2>/dev/null || true")
    c.node("n2").run("mkdir /etc/web")  # and it starts by itself
    eventually(lambda: (c.row("web.service")["node"], c.row("web.service")["active"]) == ("n2", "active"))
    assert seen(c.node("n2")) == "a 1\nb 1\n"


def test_nor_does_a_start_of_systemds_own_make_the_place(c: Cluster):
    n1 = c.node("n1")
    prepare(c)
    put(n1, "/root/shop", shop() | {"web.service": SHOWS.replace("ExecStart=", "Restart=always\nRestartSec=100ms\nExecStart=")})
    c.ctl("start /root/shop/web.service")
    node = host_of(c, "web.service")
    node.run("rm -r /etc/web && systemctl kill --signal=KILL web")
    # A restart of its own fails for the assertion before systemd 254, and behind that in its namespace until there were too many.
    eventually(lambda: node.run("systemctl is-active web || true") in ("inactive\n", "failed\n"))
    assert not node.run("ls -d /etc/web 2>/dev/null || true")
    node.run("systemctl reset-failed web || true")
    assert "assert" in node.run("systemctl start web 2>&1 || true").lower()
    assert not node.run("ls -d /etc/web 2>/dev/null || true")
    eventually(lambda: c.row("web.service")["active"] == "inactive")
    c.ctl_fails("start web", saying="/etc/web, where File=conf is to be, does not exist on this node")
    node.run("mkdir /etc/web && rm /run/seen-web.service && systemctl start web")
    assert seen(node) == "a 1\nb 1\n"


def test_nor_what_systemd_runs_beside_the_program(c: Cluster):
    """Outside of /etc there is no assertion, and a process at the stop has never had one."""
    for node in c.nodes:
        node.run("mkdir -p /srv/web && echo host >/srv/one.conf && rm -f /run/seen-web.service")
    more = "Restart=always\nRestartSec=100ms\nPrivateDevices=yes\nProtectSystem=strict\nReadWritePaths=/run\nExecStopPost=/bin/true\n"
    put(c.node("n1"), "/root/shop", {"web.service": "[Service]\n" + more + "ExecStart=/bin/sh -c 'cat /srv/web/a.conf /srv/one.conf >/run/seen-%n; exec sleep infinity'\n"
                                     "[X-Argosy]\nFile=conf:/srv/web\nFile=one.conf:/srv/one.conf\n", "conf/a.conf": "a 1\n", "one.conf": "one 1\n"})
    c.ctl("start /root/shop/web.service")
    node = host_of(c, "web.service")
    eventually(lambda: node.run("cat /run/seen-web.service || true") == "a 1\none 1\n")
    assert node.run("cat /srv/one.conf") == "host\n"
    node.run("rm -r /srv/web /srv/one.conf && systemctl kill --signal=KILL web")
    eventually(lambda: node.run("systemctl is-active web || true") == "failed\n")
    assert "226" in node.run("systemctl show --property=ExecMainStatus web")
    assert not node.run("ls -d /srv/web /srv/one.conf 2>/dev/null || true")


def test_nor_where_the_place_comes_first_in_systemds_order(c: Cluster):
    """systemd sets up /boot and /data before /dev, where argosy looks whether they are there."""
    places = ["/data", "/boot/web.conf", "/Web/2/conf"]
    for node in c.nodes:
        node.run("mkdir -p /data /Web/2/conf && echo host >/boot/web.conf && rm -f /run/seen-web.service")
    text = ("[Service]\nPrivateDevices=yes\nProtectProc=invisible\n"
            "ExecStart=/bin/sh -c 'cat /data/a.conf /boot/web.conf /Web/2/conf/a.conf >/run/seen-%n; exec sleep infinity'\n"
            "[X-Argosy]\nFile=conf:/data one.conf:/boot/web.conf conf:/Web/2/conf\n")
    put(c.node("n1"), "/root/shop", {"web.service": text, "conf/a.conf": "a 1\n", "one.conf": "one 1\n"})
    c.ctl("start /root/shop/web.service")
    node = host_of(c, "web.service")
    for place in places:
        eventually(lambda: node.run("cat /run/seen-web.service || true") == "a 1\none 1\na 1\n")  # its namespace is set up
        assert node.run("ls -A /data; cat /boot/web.conf") == "host\n"
        node.run(f"mv {place} /root/away && rm /run/seen-web.service && systemctl restart web")
        eventually(lambda: node.run("systemctl is-active web || true") == "failed\n")
        assert "226" in node.run("systemctl show --property=ExecMainStatus web")
        assert not node.run(f"ls -d {place} 2>/dev/null || true"), f"{place} was made on the node"
        node.run(f"mv /root/away {place} && systemctl reset-failed web && systemctl start web")
    for node in c.nodes:
        node.run("rm -r /data /Web /boot/web.conf")


@contextmanager
def dead_mount(node):
    """On /srv/dead: a file system whose server never answers. Whoever looks at a path in it waits for as long as it is mounted."""
    node.run("mkdir -p /srv/dead && { [ -e /dev/fuse ] || mknod /dev/fuse c 10 229; }")
    node.run("exec 3<>/dev/fuse && mount -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 dead /srv/dead\n"
             "setsid sleep infinity >/dev/null 2>&1 </dev/null & echo $! >/run/dead-server")
    try:
        yield
    finally:
        node.run("kill $(cat /run/dead-server) && umount --lazy /srv/dead")  # a look may just be on its way back


def test_a_place_on_a_file_system_that_does_not_answer_is_none_and_holds_up_nothing(c: Cluster):
    n1, n2 = c.node("n1"), c.node("n2")
    prepare(c)
    put(n1, "/root/shop", shop() | {"dead.service": SHOWS.replace("/etc/web", "/srv/dead/web") + "Host=n2\n", "other.service": SHOWS + "Host=n2\n"})
    silent = "/srv/dead/web, where File=conf is to be, lies on a file system that does not answer on this node"
    with dead_mount(n2):
        assert silent in c.ctl_result("plan /root/shop/dead.service").out
        c.ctl_fails("start /root/shop/dead.service", saying=silent)
        c.ctl("start /root/shop/other.service")
        assert seen(n2, "other.service") == "a 1\nb 1\n"
        n2.run("timeout 3 systemctl restart argosyd")  # which does not wait for it
        c.ctl_fails("start dead", saying=silent)
    assert c.row("dead.service")["active"] != "active"
    n2.run("mkdir /srv/dead/web")  # and it starts by itself
    eventually(lambda: c.row("dead.service")["active"] == "active")
    assert not n2.run("ls /srv/dead/web")


def test_a_node_whose_memory_is_nearly_full_is_none_for_the_unit(c: Cluster):
    put(c.node("n1"), "/root/large", {"large.service": "[Service]\nExecStart=/bin/sleep infinity\n[X-Argosy]\nFile=a\n"})
    c.node("n1").run("head --bytes=500000 /dev/urandom >/root/large/a")
    for node in (c.node("n1"), c.node("n2")):
        node.run("mount -o remount,size=8M /run && fallocate --length=6M /run/full")
    c.ctl("start /root/large/large.service")
    assert c.row("large.service")["node"] == "n3" and not contents(c.node("n1"))
    c.node("n3").run("mount -o remount,size=8M /run && fallocate --length=6M /run/full")
    c.node("n1").run("head --bytes=500000 /dev/urandom >/root/large/a")
    saying = "a quarter of the memory of /run has to stay free on this node"
    c.ctl_fails("start --replace /root/large/large.service", saying=saying)
    assert c.row("large.service")["active"] == "active"  # with what it had
    c.ctl("destroy large")
    assert saying in c.ctl_result("plan /root/large/large.service").out
    c.ctl_fails("start /root/large/large.service", saying=saying)
    for node in c.nodes:
        node.run("rm /run/full")
    c.ctl("start /root/large/large.service")


def test_what_cannot_be_a_units_file_is_refused_with_its_reason(c: Cluster):
    n1 = c.node("n1")

    def refused(saying, *commands, text="[X-Argosy]\nFile=a\n"):
        put(n1, "/root/bad", {"bad.service": "[Service]\nExecStart=/bin/true\n" + text})
        for command in commands:
            n1.run(f"cd /root/bad && {command}")
        c.ctl_fails("submit /root/bad/bad.service", saying=saying)
        c.ctl_fails("apply /root/bad", saying=saying)

    refused("is not there")
    refused("leads through a link", "ln -s /etc/shadow a")
    refused("leads through a link", "ln -s /etc a", text="[X-Argosy]\nFile=a/shadow\n")
    refused("not a path beneath", text="[X-Argosy]\nFile=../a\n")
    refused("not a regular file", "mkfifo a")
    refused("larger than 512 KiB", "truncate -s 524289 a")
    refused("more than the unit may still have", "truncate -s 500K a b", text="[X-Argosy]\nFile=a b\n")
    refused("fits no file", text="[X-Argosy]\nFile=*.conf\n")
    refused("/usr is not a unit's to change", "touch a", text="[X-Argosy]\nFile=a:/usr/bin/x\n")
    assert "bad.service" not in c.known()


def test_a_node_whose_run_is_nearly_full_takes_no_files(c: Cluster):
    n1, n2 = c.node("n1"), c.node("n2")
    put(n1, "/root/full", {"full.service": SHOWS.replace("File=conf:/etc/web\n", "Host=n2\n"), "web.env": "a\n", "bin/check.sh": "#!/bin/sh\n"})
    prepare(c)
    c.ctl("start /root/full/full.service")
    run = c.invocation("full.service")
    n2.run("fallocate -l $(($(df --output=avail --block-size=1 /run | tail -n 1) * 9 / 10)) /run/filler")
    try:
        n1.write("/root/full/web.env", "b\n")
        c.ctl_fails("start --replace /root/full/full.service", saying="a quarter of the memory of /run has to stay free on this node")
        assert c.invocation("full.service") == run and n2.run("cat /run/argosy/units/full.service/web.env") == "a\n"
    finally:
        n2.run("rm /run/filler")
    c.ctl("start --replace /root/full/full.service")
    assert n2.run("cat /run/argosy/units/full.service/web.env") == "b\n"


def test_of_two_who_change_a_unit_at_once_one_is_the_last(c: Cluster):
    """Each brings three files of its own; what is there in the end is one author's, whole, and the other one's is in the history."""
    prepare(c)
    authors = c.nodes[:2]
    for number in range(3):
        for node in authors:
            text = f"{node.name} {number}\n"
            put(node, "/root/shop", shop(**{"conf/a.conf": text, "conf/b.conf": text, "web.env": text}))
        both = [c.begin("apply /root/shop", on=node) for node in authors]
        ended = [one.result().status for one in both]
        assert 0 in ended, ended
        c.ctl("start web")
        node = host_of(c, "web.service")
        parts = set(seen(node).splitlines()) | {node.run("cat /run/argosy/units/web.service/web.env").strip()}
        assert parts in ({f"{author.name} {number}"} for author in authors), parts
        assert len(contents(node)) == 2  # of its author, and the script


def test_files_survive_a_restart_of_argosyd_and_come_anew_after_a_boot(c: Cluster):
    prepare(c)
    put(c.node("n1"), "/root/shop", shop())
    c.ctl("start /root/shop/web.service")
    node = host_of(c, "web.service")
    run = c.invocation("web.service")
    node.run(f"mkdir /run/argosy/units/gone.service && touch {STORE}/nobodys && systemctl restart argosyd")
    c.wait_online()
    eventually(lambda: len(contents(node)) == 4)
    assert node.run("ls /run/argosy/units").split() == ["web.service"] and c.invocation("web.service") == run
    node.kill()
    node.boot()
    c.wait_online()
    eventually(lambda: c.row("web.service")["active"] == "active")
    assert seen(host_of(c, "web.service")) == "a 1\nb 1\n"


def test_an_export_has_the_files(c: Cluster):
    prepare(c)
    n1 = c.node("n1")
    put(n1, "/root/shop", shop())
    c.ctl("apply /root/shop")
    n1.run("rm -rf /root/out")
    c.ctl("export --set=shop /root/out")
    assert n1.run("cd /root/out && find . -type f | sort").split() == ["./argosy.set", "./bin/check.sh", "./conf/a.conf", "./conf/b.conf", "./web.env", "./web.service"]
    assert n1.run("diff -r -x argosy.set /root/shop /root/out && stat --format=%A /root/out/bin/check.sh").startswith("-rwx")
    assert "nothing to do" in c.ctl("apply --plan --set=shop /root/out")
    c.ctl("apply --set=shop /root/out")
    assert "nothing to do" in c.ctl("export --set=shop /root/out")
    n1.run("rm /root/shop/conf/a.conf /root/shop/web.env && sed -i /web.env/d /root/shop/web.service && printf 'b\\0 2' >/root/shop/conf/b.conf")
    assert "-a 1\n" in c.ctl_result("apply --plan /root/shop").out
    c.ctl("apply /root/shop")
    assert "b.conf\n-4 bytes, " in c.ctl("diff web") and "web.env\n+++ /dev/null\n" in c.ctl("diff web")
    n1.run("touch /root/out/mine")
    c.ctl("export --set=shop /root/out")
    assert n1.run("cd /root/out && find . -type f | sort").split() == ["./argosy.set", "./bin/check.sh", "./conf/b.conf", "./mine", "./web.service"]
    assert "nothing to do" in c.ctl("apply --plan --set=shop /root/out")


def test_how_much_files_may_have_can_be_less(c: Cluster):
    prepare(c)
    n1 = c.node("n1")
    put(n1, "/root/shop", shop())
    c.ctl("submit /root/shop/web.service")
    c.ctl("files limit file=4K unit=8K all=1M", on="n2")
    assert c.json("queue rule list", "n3")["file_kib"] == 4
    n1.run("head --bytes=5000 /dev/zero >/root/shop/conf/a.conf")
    c.ctl_fails("submit --replace /root/shop/web.service", saying="its file conf/a.conf has 5 KiB, and may have 4 (argosyctl files limit)")
    c.ctl_fails("apply --adopt /root/shop", saying="its file conf/a.conf has 5 KiB")
    c.ctl("files limit file=512K unit=768K")
    for i in (1, 2):
        n1.run(f"head --bytes=500000 /dev/urandom >/root/shop/conf/a.conf && cp /root/shop/web.service /root/shop/web{i}.service")
        c.ctl(f"submit /root/shop/web{i}.service")
    n1.run("head --bytes=500000 /dev/urandom >/root/shop/conf/a.conf && cp /root/shop/web1.service /root/shop/web3.service")
    c.ctl_fails("submit /root/shop/web3.service", saying="as there may be (1048576, argosyctl files limit): larger things are images or packages")
    c.ctl("destroy web1")
    c.ctl("submit /root/shop/web3.service")  # former ones are history, and in nobody's way


def test_what_is_too_large_to_be_held_back_says_so(c: Cluster):
    n1 = c.node("n1")
    files = {"big@.service": "[Service]\nExecStart=/bin/true\n[X-Argosy]\nFile=a\n", "more@.service": "[Service]\nExecStart=/bin/true\n[X-Argosy]\nFile=b\n"}
    put(n1, "/root/big", files)
    n1.run("cd /root/big && head --bytes=520000 /dev/urandom >a && head --bytes=520000 /dev/urandom >b")
    c.ctl_fails("apply --hold /root/big", saying="with all files in it, and one that is held back may have")
    c.ctl("submit --hold /root/big/big@.service")  # by itself it may wait
    assert not c.known()


def page(node, user="", path=""):
    return node.run(f"busybox wget -q -O - http://{user}127.0.0.1:8081/{path} || true")


def test_the_shop_of_the_examples_changes_its_page_and_takes_it_back(c: Cluster):
    n1, shop = c.node("n1"), EXAMPLES / "shop"
    put(n1, "/root/shop", {str(file.relative_to(shop)): file.read_text() for file in shop.rglob("*") if file.is_file()})
    c.ctl_fails("apply /root/shop", saying="argosyctl secret set shop-key")
    assert "shop.service" not in c.known()
    n1.run("argosyctl secret set shop-key", input="hunter2")
    c.ctl("apply /root/shop")
    node = host_of(c, "shop.service")
    eventually(lambda: "half price" in page(node))
    assert "Three orders" in page(node, "admin:hunter2@", "admin/") and not page(node, "", "admin/")
    n1.run("sed -i 's/half price/no price/' /root/shop/site/index.html && echo D:* >>/root/shop/conf/httpd.conf")
    c.ctl("apply /root/shop")
    node = host_of(c, "shop.service")
    eventually(lambda: "no price" in node.run("cat /run/argosy/units/shop.service/site/index.html") and not page(node))
    c.ctl(f"undo {last_job(c)}")
    eventually(lambda: "half price" in page(host_of(c, "shop.service")))
    c.ctl("destroy shop")
    c.ctl("secret delete shop-key")


main(nodes=3)
