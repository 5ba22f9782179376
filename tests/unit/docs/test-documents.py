#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The documents are right about the source, and what is wrong in one is found: a dead link, a function or a table that is gone, a new
member that a table lacks, a document that has grown."""

import shutil
import tempfile
from pathlib import Path

import documents

SOURCE = Path(__file__).resolve().parents[3]
TREES = ["src", "include", "proto", "man", "tests", "data", "dashboard", "docs", "tools"]

# What is written into a copy of the tree, and what is found then: (file, from, to, complaint).
FAULTS = [
    ("ARCHITECTURE.md", "(src/store/README.md)", "(src/stores/README.md)", "the link src/stores/README.md leads nowhere"),
    ("ARCHITECTURE.md", "(src/store/README.md)", "(src/store/README.md#nothing)", "README.md has no heading #nothing"),
    ("ARCHITECTURE.md", "`leader_wall()`", "`leader_walls()`", "there is no function leader_walls()"),
    ("ARCHITECTURE.md", "### A counter", "### A number", "What to touch does not say: A counter"),
    ("ARCHITECTURE.md", "`src/model/request-kind.c` `kinds`", "`src/model/request-kinds.c` `kinds`", "there is no src/model/request-kinds.c"),
    ("src/model/request-kind.c", "RequestKind kinds[]", "RequestKind all_kinds[]", "src/model/request-kind.c has no kinds"),
    ("src/model/event-kind.c", "EVENT_QUEUE", "EVENT_RULE", "kinds in src/model/event-kind.c has no EVENT_QUEUE"),
    ("src/leader/handlers.c", "SECRET_ROTATE_KEY", "SECRET_LIST", "handlers in src/leader/handlers.c has no secret_rotate_key"),
    ("src/model/unit-file.c", '{"Secret", NULL, RAW_SECRET, false, true},',
     '{"Secret", NULL, RAW_SECRET, false, true},\n        {"Nowhere", NULL, RAW_SECRET, false, true},',
     "rows in tests/sim/lib/world-options.c has no Nowhere"),
    ("src/ctl/verbs/verb-rows.h", 'VERB("version"', 'VERB("telephone"', "nothing in man/argosyctl.1.scd has telephone"),
    ("include/agent.h", "COUNTER(beats,", "COUNTER(beats_of_drums,", "nothing in man/argosy-api.7.scd has beats_of_drums"),
    ("src/daemon/core/config.c", '"TakeOver"', '"TakeAway"', "nothing in man/argosy.conf.5.scd has TakeAway"),
    ("src/http/target/http-target.h", "HTTP_VERIFY,", "HTTP_VERIFY,\n        HTTP_WEATHER,", "resources in src/http/target/http-target.c has no HTTP_WEATHER"),
    ("src/leader/README.md", "# The leader", "# The leader" + 2000 * " and more", "src/leader/README.md: "),
]


def copy(directory):
    """Files are links, so that it costs little."""
    for tree in TREES:
        shutil.copytree(SOURCE / tree, directory / tree, copy_function=lambda of, to: Path(to).symlink_to(of),
                        ignore=shutil.ignore_patterns("corpus", "__pycache__", "bench"))
    for path in SOURCE.glob("*.md"):
        (directory / path.name).symlink_to(path)


def write(path, text):
    path.unlink()
    path.write_text(text)


with tempfile.TemporaryDirectory() as name:
    source = Path(name)
    copy(source)
    # Of what links lead to here are Markdown and pictures alone.
    (source / "LICENSE").write_text("")
    (source / "tests/bench").mkdir()
    (source / "tests/bench/README.md").symlink_to(SOURCE / "tests/bench/README.md")
    assert documents.complaints(source) == [], documents.complaints(source)
    for file, before, after, complaint in FAULTS:
        text = (source / file).read_text()
        assert before in text, (file, before)
        write(source / file, text.replace(before, after))
        found = documents.complaints(source, functions="function" in complaint)
        assert any(complaint in line for line in found), (file, after, found)
        write(source / file, text)
