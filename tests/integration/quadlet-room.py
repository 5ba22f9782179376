#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images go when a disk gets full: those that argosy has pulled, that nothing here needs, the first that was pulled first.

n1 has a registry."""

from boxes import unit_shell, write_box
from lib import Cluster, eventually, main, wait_for_podman

CONFIG = """\
version: 0.1
storage:
  filesystem: {rootdirectory: /root/registry}
http: {addr: ":5003"}
"""

BOX = """\
[Container]
Image={registry}/box:{tag}
Network=host
StopTimeout=1
[X-Argosy]
Host=n2
"""

PUBLISH = """\
set -e
podman import -q -c "LABEL word=$1" -c 'CMD=["/bin/sleep","infinity"]' /root/image.tar $1
podman push -q $1
podman rmi -f $1
"""


def registry(c):
    return f"{c.node('n1').address}:5003"


def serve(c):
    n1 = c.node("n1")
    for node in c.nodes:
        node.write("/etc/containers/registries.conf.d/room.conf", f'[[registry]]\nlocation="{registry(c)}"\ninsecure=true\n')
    n1.write("/etc/registry-room.yml", CONFIG)
    n1.write("/root/publish.sh", PUBLISH)
    n1.run("systemctl stop registry-room; systemctl reset-failed registry-room; "
           "systemd-run --quiet --unit=registry-room docker-registry serve /etc/registry-room.yml 2>&1 || :")
    eventually(lambda: "200" in n1.run(f"busybox wget -S -O /dev/null http://{registry(c)}/v2/ 2>&1 || :"))
    for tag in "1234":
        unit_shell(n1, f"sh /root/publish.sh {registry(c)}/box:{tag}")
    wait_for_podman(c)


def update(c, tag, verb="update"):
    write_box(c.node("n1"), "web.container", BOX.format(registry=registry(c), tag=tag))
    c.ctl(f"{verb} ./boxes/web.container", "n1")
    return c.json("status web --json=short")[0]["digest"].removeprefix("sha256:")


def images(c):
    """Digests of those that n2 has from the registry."""
    said = c.node("n2").run("podman images --digests --format '{{.Repository}} {{.Digest}}'")
    return {line.split("sha256:")[1] for line in said.splitlines() if line.startswith(registry(c))}


def take_room(c):
    """Less than a quarter of the disk of n2 is free."""
    c.node("n2").run("rm -f /var/lib/argosy/filler; free=$(df --output=avail -k /var/lib/argosy | tail -1); size=$(df --output=size -k /var/lib/argosy | tail -1); "
                     "dd if=/dev/zero of=/var/lib/argosy/filler bs=1024 count=$((free - size / 5)) 2>/dev/null; sync")


def give_room(c):
    c.node("n2").run("rm -f /var/lib/argosy/filler; podman rm -fa; podman image prune -af >/dev/null")


def test_the_first_that_was_pulled_goes_when_there_is_no_room(c: Cluster):
    serve(c)
    n2 = c.node("n2")
    first = update(c, "1", "start")
    second = update(c, "2")
    third = update(c, "3")
    assert images(c) == {first, second, third}
    unit_shell(n2, f"podman pull -q {registry(c)}/box:4")  # somebody's own
    [others] = images(c) - {first, second, third}
    take_room(c)
    n2.run("systemctl restart argosyd")
    c.wait_online()
    write_box(c.node("n1"), "own.container", BOX.format(registry=registry(c), tag="4"))
    unit_shell(n2, f"podman create --name=by-hand --network=host {registry(c)}/box@sha256:{first}")
    # What runs and what it was before stay, and so does what is not argosy's, and what somebody uses.
    c.ctl("start ./boxes/own.container", "n1")
    c.ctl("destroy own")
    eventually(lambda: "cannot be removed" in n2.run("journalctl --no-pager -u argosyd | cat"))
    assert images(c) == {first, second, third, others}
    unit_shell(n2, "podman rm -f -t0 by-hand")
    c.ctl("start ./boxes/own.container", "n1")
    c.ctl("destroy own")
    eventually(lambda: images(c) == {second, third, others})
    # An undo needs no registry for it, and what has gone is pulled again.
    c.node("n1").run("systemctl stop registry-room")
    c.ctl(f"undo {next(job['job'] for job in c.json('list-jobs --limit=20') if job['verb'] == 'update')}")
    assert second in n2.run("systemctl show --value -p ExecStart web.service")
    serve(c)
    assert update(c, "1") == first
    assert first in n2.run("systemctl show --value -p ExecStart web.service")
    c.ctl("destroy web")
    eventually(lambda: images(c) == {others})


def test_by_a_damaged_record_nothing_is_removed(c: Cluster):
    serve(c)
    n2 = c.node("n2")
    all_of_them = {update(c, "1", "start"), update(c, "2"), update(c, "3")}
    take_room(c)
    n2.run("systemctl stop argosyd; echo garbage >>/var/lib/argosy/images; systemctl start argosyd")
    c.wait_online()
    c.ctl("destroy web")
    eventually(lambda: "it is damaged" in n2.run("journalctl --no-pager -u argosyd | cat"))
    n2.run("sleep 2")
    assert all_of_them <= images(c)


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True, after=give_room)
