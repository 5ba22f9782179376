#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images of containers: a tag is resolved once, and all nodes run that image, also when the tag stands for another one.

n1 has a registry. Tags there are moved, and images are taken away, as whoever publishes them does."""

import json

from boxes import unit_shell, write_box
from lib import Cluster, eventually, main

CONFIG = """\
version: 0.1
storage:
  filesystem: {rootdirectory: /var/lib/argosy/registry}
  delete: {enabled: true}
http: {addr: ":5001"}
"""

BOX = """\
[Container]
Image={registry}/box:1
Network=host
StopTimeout=1
"""


def registry(c):
    return f"{c.node('n1').address}:5001"


def serve(c):
    """A registry on n1, and nodes that take it as it is, without TLS."""
    n1 = c.node("n1")
    for node in c.nodes:
        node.write("/etc/containers/registries.conf.d/test.conf", f'[[registry]]\nlocation="{registry(c)}"\ninsecure=true\n')
    n1.write("/etc/registry.yml", CONFIG)
    n1.run("systemctl stop registry; systemctl reset-failed registry; "
           "systemd-run --quiet --unit=registry docker-registry serve /etc/registry.yml 2>&1 || :")
    eventually(lambda: "200" in n1.run(f"busybox wget -S -O /dev/null http://{registry(c)}/v2/ 2>&1 || :"))


PUBLISH = """\
set -e
podman import -q -c "LABEL word=$2" -c 'CMD=["/bin/sleep","infinity"]' /root/image.tar $1-image
podman manifest rm $1 || :
podman manifest create $1
podman manifest add $1 containers-storage:$1-image
podman manifest push --all $1 docker://$1
podman rmi -f $1-image
podman manifest rm $1
"""


def publish(c, tag, word):
    """An index with an image of another word, and so of another digest; the tag stands for it. Returns the digest of the index."""
    c.node("n1").write("/root/publish.sh", PUBLISH)
    unit_shell(c.node("n1"), f"sh /root/publish.sh {registry(c)}/box:{tag} {word} >/dev/null 2>&1")
    return digest(c, tag)


def digest(c, tag):
    return unit_shell(c.node("n1"), f"skopeo inspect --raw docker://{registry(c)}/box:{tag} | sha256sum").split()[0]


def write(c, name, text, on="n1"):
    write_box(c.node(on), name, text.format(registry=registry(c)))


def image(c, name):
    """The digest that the cluster shows."""
    [shown] = json.loads(c.ctl_result(f"status {name} --json=short").out)  # exit status 3: it does not run
    assert {row["digest"] for row in c.rows(name)} == {shown["digest"]}
    return shown["digest"].removeprefix("sha256:")


def runs(node, name="web"):
    """What podman was told to run."""
    return node.run(f"systemctl show --value -p ExecStart {name}.service")


def test_a_tag_is_resolved_once(c: Cluster):
    serve(c)
    first = publish(c, "1", "first")
    write(c, "web.container", BOX)
    c.ctl("start ./boxes/web.container", "n1")
    node = c.node(c.row("web.service")["node"])
    assert image(c, "web") == first
    assert f"box@sha256:{first}" in runs(node), runs(node)
    assert f"box:1@sha256:{first}" in c.ctl("status web")
    second = publish(c, "1", "second")
    assert second != first
    c.ctl("start ./boxes/web.container", "n1")
    c.ctl("restart web")
    assert image(c, "web") == first
    c.ctl("update --pull ./boxes/web.container", "n1")
    assert image(c, "web") == second and f"box@sha256:{second}" in runs(node)
    job = c.json("list-jobs --limit=1")[0]["job"]
    assert c.ctl("diff web") == f"web.service: image {registry(c)}/box:1  sha256:{first[:12]} -> sha256:{second[:12]}\n"
    c.ctl(f"undo {job}")
    eventually(lambda: f"box@sha256:{first}" in runs(node))
    assert image(c, "web") == first


def test_who_needs_a_container_starts_when_its_image_is_there(c: Cluster):
    serve(c)
    publish(c, "1", "needed")
    place = "[X-Argosy]\nHost=n2\n"
    write(c, "db.container", BOX + place)
    write(c, "app.service", "[Unit]\nRequires=db.service\nAfter=db.service\n[Service]\nExecStart=/bin/sleep infinity\n" + place)
    write(c, "db.timer", "[Timer]\nOnCalendar=daily\n" + place)
    c.ctl("start ./boxes/app.service ./boxes/db.timer ./boxes/db.container", "n1")
    n2 = c.node("n2")
    assert n2.run("systemctl is-active app.service db.timer db.service").split() == ["active"] * 3
    since = n2.run("systemctl show --value -p ActiveEnterTimestampMonotonic db.service app.service").split()
    assert int(since[0]) <= int(since[1]), since


def test_a_registry_that_is_gone_refuses_a_file(c: Cluster):
    serve(c)
    publish(c, "1", "first")
    write(c, "web.container", BOX)
    write(c, "other.container", BOX.replace("box:1", "nothing:1"))
    c.ctl_fails("start ./boxes/other.container", "n1", saying=("nothing:1", "cannot be resolved", "unknown"))
    c.node("n1").run("systemctl stop registry")
    c.ctl_fails("start ./boxes/web.container", "n1", saying=("cannot be resolved", "refused"))
    assert "web.service" not in c.known()
    c.ctl("submit --unpinned ./boxes/web.container", "n1")
    assert image(c, "web") == ""


def start_three(c):
    serve(c)
    first = publish(c, "1", "first")
    write(c, "work@.container", BOX + "[X-Argosy]\nSpreadOver=host\n")
    c.ctl("start ./boxes/work@{1..3}.container", "n1")
    return first


def digests(c):
    """What each node runs: its name, and digests."""
    found = {}
    for node in c.nodes:
        lines = node.run("systemctl show --value -p ExecStart 'work@*.service' 2>/dev/null").splitlines()
        found[node.name] = sorted(line.partition("box@sha256:")[2][:64] for line in lines if "box@sha256:" in line)
    return found


def test_an_update_has_its_image_everywhere_before_anything_stops(c: Cluster):
    first = start_three(c)
    assert digests(c) == {"n1": [first], "n2": [first], "n3": [first]}
    second = publish(c, "1", "second")
    c.ctl("update --pull work@.service", "n1")
    assert digests(c) == {"n1": [second], "n2": [second], "n3": [second]}


def test_a_host_that_cannot_pull_leaves_the_update(c: Cluster):
    first = start_three(c)
    n3 = c.node("n3")
    on_n3 = next(row["unit"] for row in c.json("list-units") if row["node"] == "n3")
    second = publish(c, "1", "third")  # which no node has from a test before
    before = c.invocation(on_n3)
    n3.write("/etc/containers/registries.conf.d/test.conf", f'[[registry]]\nlocation="{registry(c)}"\nblocked=true\n')
    said = c.ctl_result("update --pull work@.service", "n1")
    assert "keeps the file of before: n3: " in said.err + said.out and "blocked" in said.err + said.out, said
    assert digests(c) == {"n1": [second], "n2": [second], "n3": [first]}
    assert c.invocation(on_n3) == before
    serve(c)
    c.ctl("update --pull work@.service", "n1")
    assert digests(c) == {"n1": [second], "n2": [second], "n3": [second]}


def test_a_registry_that_is_down_changes_nothing(c: Cluster):
    first = start_three(c)
    lives = [c.invocation(row["unit"]) for row in c.json("list-units")]
    c.node("n1").run("systemctl stop registry")
    c.ctl_fails("update --pull work@.service", "n1", saying="cannot be resolved")
    assert digests(c) == {"n1": [first], "n2": [first], "n3": [first]}
    assert lives == [c.invocation(row["unit"]) for row in c.json("list-units")]


def test_what_the_registry_has_lost_runs_where_it_is(c: Cluster):
    first = start_three(c)
    second = publish(c, "1", "second")
    c.ctl("update --pull work@.service", "n1")
    job = c.json("list-jobs --limit=1")[0]["job"]
    unit_shell(c.node("n1"), f"skopeo delete docker://{registry(c)}/box@sha256:{first}")
    c.ctl(f"undo {job}", "n1")
    eventually(lambda: digests(c) == {"n1": [first], "n2": [first], "n3": [first]})
    assert second != first


def lose(c, node, digest_of_image):
    """The registry has it no more, nor has the node."""
    unit_shell(c.node("n1"), f"skopeo delete docker://{registry(c)}/box@sha256:{digest_of_image} || :")  # perhaps for another node
    unit_shell(node, f"podman rmi -f {registry(c)}/box@sha256:{digest_of_image} || :")


def on(c, node):
    return next(row["unit"] for row in c.json("list-units") if row["node"] == node)


def back_without_n3(c, options, exit_status):
    """An undo to an image that n3 has not, and the registry neither."""
    first = start_three(c)
    second = publish(c, "1", "second")
    c.ctl("update --pull work@.service", "n1")
    job = c.json("list-jobs --limit=1")[0]["job"]
    lose(c, c.node("n3"), first)
    before = c.invocation(on(c, "n3"))
    said = c.ctl_result(f"undo {options} {job}", "n1")
    assert said.status == exit_status and "unknown" in said.err + said.out and "update --pull" in said.err + said.out, said
    eventually(lambda: digests(c) == {"n1": [first], "n2": [first], "n3": [second]})
    assert c.invocation(on(c, "n3")) == before


def test_an_undo_leaves_a_host_that_cannot_have_the_image_of_before(c: Cluster):
    back_without_n3(c, "", 1)


def test_an_undo_a_few_at_a_time_leaves_it_too(c: Cluster):
    back_without_n3(c, "--rolling", 0)


def test_a_file_that_is_replaced_at_once_is_pulled_first(c: Cluster):
    first = start_three(c)
    publish(c, "2", "second")
    lose(c, c.node("n1"), digest(c, "2"))
    lives = [c.invocation(row["unit"]) for row in c.json("list-units")]
    write(c, "work@.container", BOX.replace("box:1", f"box@sha256:{'0' * 64}") + "[X-Argosy]\nSpreadOver=host\n")
    c.ctl_fails("start --replace ./boxes/work@{1..3}.container", "n1", saying=("cannot have its image", "unknown"))
    assert digests(c) == {"n1": [first], "n2": [first], "n3": [first]}
    assert lives == [c.invocation(row["unit"]) for row in c.json("list-units")]


def test_where_no_host_has_the_image_why_says_what_to_do(c: Cluster):
    serve(c)
    first = publish(c, "1", "first")
    write(c, "web.container", BOX)
    c.ctl("submit ./boxes/web.container", "n1")
    for node in c.nodes:
        lose(c, node, first)
    c.ctl_result("start web --timeout=20s")
    eventually(lambda: "argosyctl update --pull" in c.ctl_result("why web").out)


def block(c, nodes):
    for node in nodes:
        node.write("/etc/containers/registries.conf.d/test.conf", f'[[registry]]\nlocation="{registry(c)}"\nblocked=true\n')


def test_a_container_runs_until_its_new_node_has_its_image(c: Cluster):
    serve(c)
    first = publish(c, "1", "moved")
    write(c, "web.container", BOX)
    c.ctl("start ./boxes/web.container", "n1")
    node = c.node(c.row("web.service")["node"])
    others = [other for other in c.nodes if other.name != node.name]
    for other in others:
        unit_shell(other, f"podman rmi -f {registry(c)}/box@sha256:{first} || :")
    block(c, others)
    before = c.invocation("web.service")
    c.ctl(f"drain {node.name} --no-block")
    eventually(lambda: all(words in c.ctl_result("why web").out for words in ("until its image is here", "blocked")))
    assert c.invocation("web.service") == before and f"box@sha256:{first}" in runs(node)
    serve(c)
    eventually(lambda: c.row("web.service")["node"] != node.name and c.row("web.service")["active"] == "active")
    assert f"box@sha256:{first}" in runs(c.node(c.row("web.service")["node"]))
    c.ctl(f"uncordon {node.name}")


def test_what_somebody_has_removed_is_pulled_again(c: Cluster):
    serve(c)
    first = publish(c, "1", "first")
    write(c, "web.container", BOX)
    c.ctl("start ./boxes/web.container", "n1")
    node = c.node(c.row("web.service")["node"])
    c.ctl("stop web")
    unit_shell(node, f"podman rmi -f {registry(c)}/box@sha256:{first}")
    c.ctl("start web")
    assert f"box@sha256:{first}" in runs(node) and c.row("web.service")["active"] == "active"


main(nodes=3, conf=["Cluster.LeaseSec=4"], containers=True)
