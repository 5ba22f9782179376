#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad registries, bad generators, full disks: one clear line for whoever asked, nothing half done, what runs runs on, and all is well when the
fault is gone.

The nodes are clusters of their own. The registry is one of this program's, beside them, and does what fake_registry.FAULTS says."""

import contextlib
import re

from boxes import unit_run, write_box
from dashboard import PORT, dashboard, shows, view
from lib import SLEEPER, Cluster, eventually, long, main, wait_for_podman

from fake_registry import FakeRegistry, let_nodes_in  # isort:skip, for lib says where it is

BOX = """\
[Container]
Image={image}
Network=host
StopTimeout=1
"""
QUADLET = "/usr/libexec/podman/quadlet"
registries = []


def registry(c):
    """The one of this run, in order; nodes take it."""
    if not registries:
        registries.append(FakeRegistry(c.bed))
    registries[0].start()
    registries[0].asked()
    let_nodes_in(registries[0], c.nodes)
    wait_for_podman(c)
    return registries[0]


def write(c, name, image, more="", on="n1"):
    write_box(c.node(on), name, BOX.format(image=image) + more)


def published(c, name, word, **options):
    """The registry, which has that image, and web.container, which wants it."""
    r = registry(c)
    digest = r.publish(name, word, **options)
    write(c, "web.container", f"{r.address}/{name}")
    return r, digest.removeprefix("sha256:")


def says(result, *words, lines=1):
    """It failed with so many lines, which have these words."""
    said = (result.err + result.out).strip()
    assert result.status != 0 and len(said.splitlines()) <= lines, (result.status, said)
    for word in words:
        assert word in said, f'"{word}" is not in: {said}'


def start(c, what="./boxes/web.container", on="n1"):
    return c.ctl_result(f"start {what}", on)


def has_image(node, digest):
    return digest in unit_run(node, "podman images --digests --format '{{.Digest}}'")


def commands(node):
    """Services of argosyd that ask podman or a registry."""
    return node.run("systemctl list-units --all --plain --no-legend 'argosyd-image-*'").split("\n")[:-1]


@contextlib.contextmanager
def begun(c, command):
    """It goes on beside, and not longer than what is in the block."""
    running = c.begin(command, "n1")
    try:
        yield running
    finally:
        if not running.is_over:
            running.kill()


@contextlib.contextmanager
def untouched(c, on="n1"):
    """A container that runs before runs on."""
    write(c, "steady.container", "localhost/box:1", on=on)
    c.ctl("start ./boxes/steady.container", on)
    before = c.node(on).run("systemctl show -p InvocationID,NRestarts steady")
    yield
    assert c.node(on).run("systemctl show -p InvocationID,NRestarts steady") == before
    assert not commands(c.node(on))


def runs(c, digest, on="n1"):
    assert c.row("web.service", on)["active"] == "active"
    assert digest in c.node(on).run("systemctl show --value -p ExecStart web.service")


def goes_well(c, digest):
    """The fault is gone."""
    c.ctl("start ./boxes/web.container", "n1")
    runs(c, digest)


def test_a_registry_that_is_gone(c: Cluster):
    r, digest = published(c, "box:1", "gone")
    with untouched(c):
        r.stop()
        says(start(c), "box:1", "cannot be resolved", "connection refused")
        assert "web.service" not in c.known("n1")
        r.start()
        goes_well(c, digest)


@long
def test_a_registry_that_hangs(c: Cluster):
    r, digest = published(c, "box:2", "hangs")
    with untouched(c):
        with r.doing("hangs"):
            said = c.node("n1").run("script -qec 'argosyctl start ./boxes/web.container' /dev/null 2>&1 || :")
            assert f"start: waiting for n1 to resolve {r.address}/box:2" in said and "the registry does not answer" in said, said
            says(start(c), "cannot be resolved", "the registry does not answer")
        assert "web.service" not in c.known("n1")
        goes_well(c, digest)


def test_a_registry_that_hangs_in_a_layer_is_left(c: Cluster):
    r, digest = published(c, "box:3", "hangs in layers", padding=1 << 20)
    n1 = c.node("n1")
    with untouched(c), r.doing("hangs-in-layers"), begun(c, "start ./boxes/web.container") as waits:
        eventually(lambda: "its image is being pulled" in c.ctl_result("why web", "n1").out)
        for verb in ("why", "status"):
            eventually(lambda: re.search(r"its image is being pulled, for \d+ s: \S+/box@sha256:", c.ctl_result(f"{verb} web", "n1").out))
        assert commands(n1)
        c.ctl("stop web", "n1")
        assert waits.result().status != 0
        eventually(lambda: not commands(n1))
    assert not has_image(n1, digest)
    goes_well(c, digest)


def test_half_a_layer(c: Cluster):
    r, digest = published(c, "box:4", "half", padding=2 << 20)
    with untouched(c):
        with r.doing("half"):
            says(start(c), "could not be pulled", "EOF", lines=2)
            assert c.node("n1").run("systemctl is-active web || :").strip() in ("inactive", "failed")  # as a test before has left it
            assert not has_image(c.node("n1"), digest)
        goes_well(c, digest)


def test_a_layer_that_is_another_one(c: Cluster):
    r, digest = published(c, "box:5", "lies", padding=3 << 20)
    with untouched(c):
        with r.doing("lies"):
            says(start(c), "could not be pulled", "Digest did not match", lines=2)
        assert not has_image(c.node("n1"), digest)
        goes_well(c, digest)


def test_a_manifest_that_is_another_one(c: Cluster):
    r, digest = published(c, "box:6", "lies in manifests")
    with untouched(c):
        with r.doing("lies-in-manifests"):
            says(start(c), "could not be pulled", "digest", lines=2)
        goes_well(c, digest)


def test_a_manifest_without_an_end(c: Cluster):
    r, digest = published(c, "box:7", "floods")
    with untouched(c):
        with r.doing("floods"):
            says(start(c), "cannot be resolved")
        goes_well(c, digest)


def test_credentials_that_nobody_has(c: Cluster):
    r, digest = published(c, "box:8", "wants credentials")
    with untouched(c):
        with r.doing("wants-credentials"):
            says(start(c), "cannot be resolved", "unauthorized; if it is private, RegistryAuth= names the secret")
        with r.doing("wants-credentials-for-layers"):
            says(start(c), "could not be pulled", "unauthorized", lines=2)
        goes_well(c, digest)


def test_an_image_for_other_machines(c: Cluster):
    r, digest = published(c, "box:9", "other machines", architectures=("s390x",))
    with untouched(c):
        says(start(c), "no image found in image index for architecture", lines=2)
        better = r.publish("box:9", "all machines").removeprefix("sha256:")
        c.ctl_fails("update --pull ./boxes/web.container", "n1", saying="starts as soon as one is found")
        c.ctl("start web", "n1")
        assert better != digest
        runs(c, better)


def test_an_update_that_cannot_be_pulled_stops_nothing(c: Cluster):
    r, first = published(c, "box:10", "first")
    goes_well(c, first)
    n1 = c.node("n1")
    before = n1.run("systemctl show -p InvocationID web")
    for number, (fault, words) in enumerate([("half", "EOF"), ("lies", "Digest did not match"), ("wants-credentials-for-layers", "unauthorized")]):
        second = r.publish("box:10", f"second {number}", padding=(5 + number) << 20).removeprefix("sha256:")
        with r.doing(fault):
            says(c.ctl_result("update --pull ./boxes/web.container", "n1"), words, lines=2)
        assert n1.run("systemctl show -p InvocationID web") == before
        runs(c, first)
    c.ctl("update --pull ./boxes/web.container", "n1")
    runs(c, second)


def test_a_disk_that_is_full(c: Cluster):
    r, digest = published(c, "box:11", "big", padding=24 << 20)
    n1 = c.node("n1")
    c.start("plain", SLEEPER, "n1")
    before = n1.run("systemctl show -p InvocationID plain")
    store = "/var/lib/argosy/containers"
    n1.run(f"mount -t tmpfs -o size=16m tmpfs {store}")
    try:
        says(start(c), "could not be pulled", "no space left on device", lines=2)
        assert not has_image(n1, digest)
        n1.run(f"mount -o remount,size=128m {store}")
        goes_well(c, digest)
    finally:
        c.ctl("destroy web", "n1")
        n1.run(f"umount -l {store}")
    assert n1.run("systemctl show -p InvocationID plain") == before


def test_an_image_that_somebody_has_removed(c: Cluster):
    r, digest = published(c, "box:12", "removed")
    goes_well(c, digest)
    n1 = c.node("n1")
    c.ctl("stop web", "n1")
    unit_run(n1, f"podman rmi -f {r.address}/box@sha256:{digest}")
    r.asked()
    c.ctl("start web", "n1")
    runs(c, digest)
    assert f"manifests/sha256:{digest}" in r.asked()
    assert n1.run("journalctl -u argosyd -o cat").count(f"box@sha256:{digest} was pulled") == 2


def test_two_clusters_have_one_registry(c: Cluster):
    r, first = published(c, "box:13", "first")
    write(c, "web.container", f"{r.address}/box:13", on="n2")
    for node in ("n1", "n2"):
        c.ctl("start ./boxes/web.container", node)
    second = r.publish("box:13", "second").removeprefix("sha256:")
    c.ctl("update --pull ./boxes/web.container", "n1")
    runs(c, second, "n1")
    runs(c, first, "n2")
    c.ctl("restart web", "n2")
    runs(c, first, "n2")


GENERATORS = {
    "hangs": ("exec sleep 1000", ("podman's generator", "no answer in time")),
    "floods": ("while :; do echo " + "x" * 200 + "; done", ("podman's generator",)),
    "floods-files": ('yes >"$2/web.service"', ("podman's generator",)),
    "other-names": ('echo "[Service]" >"$2/evil.service"', ("podman's generator", "wrote nothing")),
    "leads-out": ('ln -s /etc/shadow "$2/web.service"', ("podman's generator",)),
    "fails": ('echo "quadlet-generator[1]: it does not like you" >&2; exit 1', ("it does not like you",)),
}


@contextlib.contextmanager
def generator(node, script):
    """In the place of podman's. The version is podman's."""
    node.run(f"mv {QUADLET} /root/quadlet")
    try:
        node.run(f"cat >{QUADLET} && chmod 755 {QUADLET}", input=f'#!/bin/sh\n[ "$1" = -version ] && echo 5.4.2 && exit\n{script}\n')
        yield
    finally:
        node.run(f"mv /root/quadlet {QUADLET}")


def test_generators_that_misbehave(c: Cluster):
    r, digest = published(c, "box:14", "generators")
    n1 = c.node("n1")
    with untouched(c):
        for name, (script, words) in GENERATORS.items():
            with generator(n1, script):
                try:
                    says(start(c), *words, lines=2)
                    assert n1.run("cd /run/systemd/system && ls | grep -E '^(web|evil)' || :") == ""
                except AssertionError as error:
                    raise AssertionError(f"{name}: {error}") from None
        goes_well(c, digest)


def test_volumes_that_belong_to_somebody_else(c: Cluster):
    wait_for_podman(c)
    n1 = c.node("n1")
    own = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/podman volume create --ignore --label of=somebody systemd-data\n"
    n1.write("/etc/systemd/system/data-volume.service", own)
    n1.run("systemctl daemon-reload && systemctl start data-volume")
    n1.write("/root/boxes/data.volume", "[Volume]\nLabel=of=boxes\n")
    write(c, "web.container", "localhost/box:1", "Volume=data.volume:/data\n")
    c.ctl("start ./boxes/web.container", "n1")
    assert n1.run("cat /etc/systemd/system/data-volume.service") == own
    assert "somebody" in unit_run(n1, "podman volume inspect -f '{{.Labels}}' systemd-data")
    c.ctl("destroy web", "n1")
    assert n1.run("systemctl is-active data-volume").strip() == "active"
    n1.run("systemctl stop data-volume; rm /etc/systemd/system/data-volume.service; systemctl daemon-reload")
    unit_run(n1, "podman volume rm systemd-data")


def press(page, word, meanwhile=lambda: None):
    """The button, of what changes something, and what it does is wanted. meanwhile: when it has been asked for."""
    buttons = "return [...document.querySelectorAll('[data-needs]')].filter(b => b.checkVisibility() && b.textContent === given[0])"
    eventually(lambda: page.run(f"{buttons}.map(b => b.click()).length", word) == 1, what=f"the page has a button {word}")
    eventually(lambda: page.run("return !document.querySelector('dialog button[type=submit]').disabled"), what="the page has a plan")
    plan = page.text("dialog .plan")
    page.click("dialog button[type=submit]")
    meanwhile()
    eventually(lambda: not page.text("dialog"), what="it has been asked for")
    return plan


def test_the_page_shows_an_image_its_pull_and_why_that_failed(c: Cluster):
    r, former = published(c, "box:15", "former", padding=1 << 10)
    c.ctl("submit ./boxes/web.container", "n1")
    with dashboard(c) as page:
        view(page, "#/unit/web.service")
        shows(page, ".image", f"Image: {r.address}/box:15 (sha256:{former})")
        first = r.publish("box:15", "first", padding=1 << 10).removeprefix("sha256:")
        c.ctl("update --pull ./boxes/web.container", "n1")  # nothing runs that would be another one by that
        shows(page, ".image", f"(sha256:{first})")
        with r.doing("wants-credentials-for-layers"):
            press(page, "Start")
            shows(page, "main", "failed", "unplaced: no node takes it")  # the job
        view(page, "#/unit/web.service")
        shows(page, "#why", f"n1: {r.address}/box@sha256:", "could not be pulled", "unauthorized")
        with r.doing("hangs-in-layers"):
            press(page, "Start")
            shows(page, "main", "its image is being pulled")
        view(page, "#/unit/web.service")
        shows(page, "main", "running on n1")  # podman has asked for the rest
        runs(c, first)
        second = r.publish("box:15", "second", padding=1 << 10).removeprefix("sha256:")
        c.ctl("update --pull --health=1s ./boxes/web.container", "n1")
        shows(page, ".image", f"(sha256:{second})")
        page.click("[aria-labelledby=h-jobs] tbody tr:first-child button")
        shows(page, "[aria-labelledby=h-jobs]", f"Image: {r.address}/box:15 sha256:{first[:12]} → sha256:{second[:12]}")
        page.click("[aria-labelledby=h-jobs] tbody tr:first-child a")
        shows(page, "main", "update")
        unit_run(c.node("n1"), f"podman rmi -f {r.address}/box@sha256:{first}")
        with contextlib.ExitStack() as hanging:
            def let_it_come():
                shows(page, "dialog", "No answer yet.", "pull images")
                hanging.close()
            hanging.enter_context(r.doing("hangs"))
            assert "web.service: gets its file of before" in press(page, "Undo", let_it_come)
        shows(page, "main", "undo", "done")
        view(page, "#/unit/web.service")
        shows(page, ".image", f"(sha256:{first})")
        runs(c, first)


main(nodes=2, conf=[f"Http.Listen=0.0.0.0:{PORT}"], alone=True, containers=True)
