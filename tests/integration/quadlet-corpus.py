#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of many kinds: a node runs of each what podman's generator makes of the file where it lies, and what is refused is refused with one line.

tests/quadlets/taken has the files of one machine, as somebody has them in /etc/containers/systemd. The generator reads them there as podman has it
done, all at once. argosy gets them one by one. The units may differ in Image=, Pull=, AutoUpdate= and SourcePath= alone, and in what brings
files and secrets into a container. Of tests/quadlets/refused each file says in its first line why argosy does not take it."""

import re
import shlex

from lib import SOURCE, Cluster, main

FILES = SOURCE / "tests/quadlets"
INSTANCES = {"runner@": "7", "backup@": "home-films", "queue@": "7001", "pages@": "some-dir"}
DIGEST = "sha256:" + "5a" * 32

GENERATE = """\
rm -rf /root/generated && mkdir /root/generated
QUADLET_UNIT_DIRS=/root/taken /usr/libexec/podman/quadlet -no-kmsg-log /root/generated
"""


def copy(c, folder):
    c.node("n1").run(f"rm -rf /root/{folder}")
    for file in sorted((FILES / folder).rglob("*")):
        if file.is_file():
            c.node("n1").write(f"/root/{folder}/{file.relative_to(FILES / folder)}", file.read_text())


def containers(folder):
    return sorted(file.name for file in (FILES / folder).glob("*.container"))


def unit_of(file):
    """The unit that Quadlet makes of it, on a node as for the generator."""
    return file.replace(".container", ".service")


def as_argosy_reads(unit):
    """Podman 5.4 leaves names of containers in [Unit] as they are, which is nothing that systemd knows; argosy puts services in their place."""
    return re.sub(r"^((?:After|Before|Wants|Requires|BindsTo|PartOf)=.*)$", lambda line: line[0].replace(".container", ".service"), unit, flags=re.M)


def source_lines(unit):
    """The text without comments, empty lines and what argosy may change in the file, and without the command, which is looked at apart."""
    return [line for line in unit.splitlines()
            if line and not line.startswith(("SourcePath=", "ExecStart=", "#", "Image=", "Pull=", "AutoUpdate=", f"Label={OF_FILE}"))]


OF_FILE = "argosy.file="  # a network's label, by which a node knows of which file it was made
WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|[^\s"])+""")


class Command:
    """What podman is told: its options, which it writes in another order each time, the image, and the container's own command."""

    def __init__(self, unit):
        [line] = re.findall(r"^ExecStart=(.*)$", unit, re.M)
        image = (re.findall(r"^Image=(.*)$", unit, re.M) or [""])[-1].strip()
        words = WORD.findall(re.sub(rf" --label {OF_FILE}\S+", "", line))
        at = next((i for i, word in enumerate(words) if image and word == image), len(words))
        options = []
        for word in words[:at]:
            if word.startswith(("-", '"-')) or not options:
                options.append([word])
            else:
                options[-1].append(word)
        self.image, self.own = image, words[at + 1:]
        self.pull = next((option[1] for option in options if option[0] == "--pull"), None)
        self.auto_update = any("io.containers.autoupdate" in " ".join(option) for option in options)
        self.options = sorted(" ".join(option) for option in options if option[0] != "--pull" and "autoupdate" not in " ".join(option))


def lost_and_found(ours, theirs):
    return [f"+{line}" for line in ours if line not in theirs] + [f"-{line}" for line in theirs if line not in ours]


def differences(ours, theirs):
    """What a unit says otherwise, as lines for whoever reads the failure."""
    a, b = source_lines(ours), source_lines(theirs)
    found = lost_and_found(a, b)
    if a != b and not found:
        found.append("the same lines in another order")
    if "ExecStart=" in theirs:
        a, b = Command(ours), Command(theirs)
        if a.options != b.options or a.own != b.own:
            found += lost_and_found(a.options, b.options) + [f"+... {' '.join(a.own)}", f"-... {' '.join(b.own)}"]
        if a.auto_update:
            found.append("+AutoUpdate=")
    return found


def beside(c):
    """Units of volumes and networks on the node."""
    return sorted(c.node("n1").run("cd /run/systemd/system; ls | grep -E -- '-(volume|network).service$' || :").split())


def compare(c, units):
    node = c.node("n1")
    node.run(GENERATE)
    wrong = []
    for name in units:
        ours = node.run(f"cat /run/systemd/system/{shlex.quote(name)}")
        found = differences(ours, as_argosy_reads(node.run(f"cat /root/generated/{shlex.quote(name)}")))
        if found:
            wrong.append("\n    ".join([f"{name}:", *found]))
    assert not wrong, "\n".join(wrong)


def load(c):
    files = containers("taken")
    for stem, instance in INSTANCES.items():
        assert f"{stem}.container" in files
    named = [file.replace("@.", f"@{INSTANCES.get(file.removesuffix('.container'), '')}.") for file in files]
    c.ctl(f"load --unpinned {' '.join('/root/taken/' + name for name in named)}", "n1")
    return files


def tag(file):
    """The image, if a registry says what its name stands for."""
    found = re.findall(r"^Image *= *(.*)$", (FILES / "taken" / file).read_text(), re.M)
    return found[-1] if found and "@" not in found[-1] and "%i" not in found[-1] else None


def made(c, file):
    return c.node("n1").run(f"cat /run/systemd/system/{shlex.quote(unit_of(file))}")


def test_a_node_runs_what_podman_makes_of_the_file(c: Cluster):
    copy(c, "taken")
    files = load(c)
    assert len(files) >= 40
    compare(c, [unit_of(file) for file in files] + beside(c))
    assert len(beside(c)) == len([*(FILES / "taken").glob("*.volume"), *(FILES / "taken").glob("*.network")])


def test_with_a_digest_nothing_else_changes(c: Cluster):
    copy(c, "taken")
    tags = {file: tag(file) for file in containers("taken") if tag(file)}
    for file, image in tags.items():
        c.node("n1").write(f"/root/taken/{file}.d/~0-image.conf", f"[X-Argosy]\nImagePin={image}@{DIGEST}\n")
    load(c)
    compare(c, [unit_of(file) for file in tags])
    for file, image in tags.items():
        command = Command(made(c, file))
        assert command.image == f"{re.sub(':[^:/]*$', '', image)}@{DIGEST}" and command.pull == "missing", (file, command.image, command.pull)


BRINGS = "[X-Argosy]\nFile=conf:/usr/share/here a.conf\nSecret=word\n"
BROUGHT = ["--env ARGOSY_FILES=/run/argosy/units/%n", "--env CREDENTIALS_DIRECTORY=/run/credentials/%n",
           "-v /run/argosy/secrets/units/%n:/run/credentials/%n:ro,z", "-v /run/argosy/units/%n/conf:/usr/share/here:ro,z",
           "-v /run/argosy/units/%n:/run/argosy/units/%n:ro,z"]


def test_what_is_brought_comes_on_top(c: Cluster):
    copy(c, "taken")
    files = ["mail.container", "tracker.container", "static.container"]
    c.node("n1").run("argosyctl secret set word", input="hidden")
    c.node("n1").write("/root/taken/conf/b.conf", "b")
    c.node("n1").write("/root/taken/a.conf", "a")
    for file in files:
        c.node("n1").write(f"/root/taken/{file}.d/90-brings.conf", BRINGS)
    c.ctl(f"load --unpinned {' '.join(f'/root/taken/{file}' for file in files)}", "n1")
    c.node("n1").run(GENERATE)
    for file in files:
        ours = Command(made(c, file))
        theirs = Command(c.node("n1").run(f"cat /root/generated/{unit_of(file)}"))
        assert ours.options == sorted([*theirs.options, *BROUGHT]) and ours.own == theirs.own, lost_and_found(ours.options, theirs.options)
    c.ctl("destroy '*'")
    c.ctl("secret delete word")


def test_what_is_not_taken_is_refused_with_its_reason(c: Cluster):
    copy(c, "refused")
    for file in sorted((FILES / "refused").iterdir()):
        why = file.read_text().partition("\n")[0].removeprefix("# Refused: ")
        said = c.ctl_result(f"submit --unpinned /root/refused/{file.name}", "n1")
        lines = said.err.strip().splitlines()
        assert said.status != 0 and why in said.err, (file.name, said)
        assert len(lines) == 1, (file.name, lines)
    assert not c.known()


main(nodes=1, containers="files")
