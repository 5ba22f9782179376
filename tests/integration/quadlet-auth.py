#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Registries that want to know who asks: RegistryAuth= names a secret, which nodes show them and which is nowhere else.

n1 has a registry that lets two users in."""

from boxes import unit_shell, write_box
from lib import Cluster, eventually, main, wait_for_podman

# htpasswd: me may have the password hunter2, and later another one.
USERS = {"hunter2": "me:$2b$04$e/jHA7Mmsn4OZBN9DRwVPOllXLZogKROa9H3whzdDL645gCjpPo6m",
         "another": "me:$2b$04$StDEhDepQ6ZdDRD8TVHSj.5m1q1cMRCy3i48Lhs813hI/AbCFbDcC"}

CONFIG = """\
version: 0.1
storage:
  filesystem: {rootdirectory: /var/lib/argosy/registry}
http: {addr: ":5002"}
auth: {htpasswd: {realm: box, path: /etc/registry-users}}
"""

BOX = """\
[Container]
Image={registry}/box:1
Network=host
StopTimeout=1
"""
WITH_AUTH = BOX + "[X-Argosy]\nRegistryAuth=reg\n"


def registry(c):
    return f"{c.node('n1').address}:5002"


def serve(c, password):
    n1 = c.node("n1")
    for node in c.nodes:
        node.write("/etc/containers/registries.conf.d/auth.conf", f'[[registry]]\nlocation="{registry(c)}"\ninsecure=true\n')
    n1.write("/etc/registry-auth.yml", CONFIG)
    n1.write("/etc/registry-users", USERS[password] + "\n")
    n1.run("systemctl stop registry-auth; systemctl reset-failed registry-auth; "
           "systemd-run --quiet --unit=registry-auth docker-registry serve /etc/registry-auth.yml 2>&1 || :")
    eventually(lambda: "401" in n1.run(f"busybox wget -S -O /dev/null http://{registry(c)}/v2/ 2>&1 || :"))
    wait_for_podman(c)


PUBLISH = """\
set -e
podman import -q -c "LABEL word=$2" -c 'CMD=["/bin/sleep","infinity"]' /root/image.tar $1
podman push -q --creds=me:hunter2 $1
podman rmi -f $1
"""


def publish(c, word):
    """box:1 is another image with that word."""
    c.node("n1").write("/root/publish.sh", PUBLISH)
    unit_shell(c.node("n1"), f"sh /root/publish.sh {registry(c)}/box:1 {word}")


def write(c, name, text):
    write_box(c.node("n1"), name, text.format(registry=registry(c)))


def set_secret(c, text):
    c.node("n1").run("argosyctl secret set reg", input=text)


def assert_nowhere(c, password):
    """In no journal, no command line, no log of argosyd, and no file is left to show it."""
    for node in c.nodes:
        said = node.run(f"journalctl --no-pager -o export | grep {password} || :")
        assert not said, said
        assert not node.run("ls /run/argosy/secrets/registry 2>/dev/null || :").strip()
        assert not node.run(f"grep -rl {password} /var/lib/argosy --exclude-dir=containers --exclude-dir=registry || :").strip()


def test_nodes_show_the_registry_a_secret(c: Cluster):
    serve(c, "hunter2")
    publish(c, "first")
    write(c, "web.container", BOX)
    c.ctl_fails("start ./boxes/web.container", "n1", saying=("cannot be resolved", "authentication required"))
    write(c, "web.container", WITH_AUTH)
    c.ctl_fails("start ./boxes/web.container", "n1", saying=("RegistryAuth=reg: there is no such secret", "argosyctl secret set reg"))
    set_secret(c, "me:wrong\n")
    c.ctl_fails("start ./boxes/web.container", "n1", saying=("cannot be resolved", "authentication required"))
    set_secret(c, "hunter2")
    c.ctl_fails("start ./boxes/web.container", "n1", saying="is not USER:PASSWORD")
    assert "web.service" not in c.known()
    set_secret(c, "me:hunter2\n")
    c.ctl("start ./boxes/web.container", "n1")
    assert c.row("web.service")["active"] == "active"
    c.ctl_fails("secret delete reg", saying="web.service")
    # What the container sees has nothing of it.
    node = c.node(c.row("web.service")["node"])
    assert not node.run("podman exec systemd-web sh -c 'test -e /run/credentials && echo there; echo $CREDENTIALS_DIRECTORY'").strip()
    assert_nowhere(c, "hunter2")
    assert_nowhere(c, "aHVudGVy")


def test_it_is_shown_on_failover_and_for_an_update_too(c: Cluster):
    serve(c, "hunter2")
    publish(c, "first")
    set_secret(c, "me:hunter2")
    write(c, "web.container", WITH_AUTH + "Host=n2 n3\nNodeLost=move\n")
    c.ctl("start ./boxes/web.container", "n1")
    first = c.row("web.service")["node"]
    other = "n3" if first == "n2" else "n2"
    publish(c, "second")
    c.ctl("update --pull web", "n1")
    c.node(first).kill()
    eventually(lambda: c.row("web.service")["node"] == other and c.row("web.service")["active"] == "active", what="it runs on the other node")
    c.node(first).boot()
    c.wait_online()
    assert_nowhere(c, "hunter2")


def test_a_changed_secret_restarts_nothing_and_is_shown_from_then_on(c: Cluster):
    serve(c, "hunter2")
    publish(c, "first")
    set_secret(c, "me:hunter2")
    write(c, "web.container", WITH_AUTH)
    c.ctl("start ./boxes/web.container", "n1")
    node = c.node(c.row("web.service")["node"])
    before = c.invocation("web")
    image = node.run("podman inspect -f '{{.ImageName}}' systemd-web").strip()
    serve(c, "another")
    c.ctl("stop web")
    unit_shell(node, f"podman rmi -f {image}")
    said = c.ctl_result("start web --timeout=20s")
    assert said.status != 0 and "authentication required" in said.err + said.out, said
    set_secret(c, "me:another")
    eventually(lambda: c.row("web.service")["active"] == "active", what="the next pull shows the new one")
    before = c.invocation("web")
    set_secret(c, "me:third")
    assert c.invocation("web") == before
    assert c.json("secret list reg")[0]["stale"] == 0


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True)
