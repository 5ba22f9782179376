#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The documents are right about the source, and what is wrong in one is found: a dead link, a function or a table that is gone, a new
member that a table lacks, a document that has grown."""

from pathlib import Path

import documents

SOURCE = Path(__file__).resolve().parents[3]

# What a file says otherwise, and what is found then: (file, from, to, complaint).
FAULTS = [
    ("ARCHITECTURE.md", "(src/store/README.md)", "(src/stores/README.md)", "the link src/stores/README.md leads nowhere"),
    ("ARCHITECTURE.md", "(src/store/README.md)", "(src/store/README.md#nothing)", "README.md has no heading #nothing"),
    ("ARCHITECTURE.md", "`leader_wall()`", "`leader_walls()`", "there is no function leader_walls()"),
    ("ARCHITECTURE.md", "### A counter", "### A number", "What to touch does not say: A counter"),
    ("ARCHITECTURE.md", "`src/model/request-kind.c` `kinds`", "`src/model/request-kinds.c` `kinds`", "there is no src/model/request-kinds.c"),
    ("src/model/request-kind.c", "RequestKind kinds[]", "RequestKind all_kinds[]", "src/model/request-kind.c has no kinds"),
    ("src/model/event-kind.c", "EVENT_QUEUE", "EVENT_RULE", "kinds in src/model/event-kind.c has no EVENT_QUEUE"),
    ("src/leader/handlers.c", "SECRET_ROTATE_KEY", "SECRET_LIST", "handlers in src/leader/handlers.c has no secret_rotate_key"),
    ("src/model/unit-options-private.h", 'X(SECRET, "Secret", OPTION_ARGOSY)',
     'X(SECRET, "Secret", OPTION_ARGOSY) X(NOWHERE, "Nowhere", OPTION_ARGOSY)',
     "rows in tests/sim/lib/world-options.c has no Nowhere"),
    ("src/ctl/verbs/verb-rows.h", 'VERB("version"', 'VERB("telephone"', "nothing in man/argosyctl.1.scd has telephone"),
    ("include/agent.h", "COUNTER(beats,", "COUNTER(beats_of_drums,", "nothing in man/argosy-api.7.scd has beats_of_drums"),
    ("src/daemon/core/config.c", '"TakeOver"', '"TakeAway"', "nothing in man/argosy.conf.5.scd has TakeAway"),
    ("src/daemon/core/config.c", '"LeaseSec", KEY_SPAN, FROM_RESTART', '"LeaseSec", KEY_SPAN, FROM_RELOAD', "whether LeaseSec= counts from a restart"),
    ("man/argosy.conf.5.scd", "*HeartbeatSec=*,\n", "\n", "whether HeartbeatSec= counts from a restart"),
    ("src/http/target/http-resource-rows.h", "RESOURCE(", "THING(", "no member is found of: A resource of HTTP"),
    ("src/http/changes/http-write.c", "HTTP_PUT_SECRET", "HTTP_SET_SECRET", "nothing in src/http/changes/http-write.c has put_secret"),
    ("src/leader/README.md", "# The leader", "# The leader" + 2000 * " and more", "src/leader/README.md: "),
]


def found(file, text):
    """What is wrong if that stands in the file."""
    documents.read = lambda path: text if path == SOURCE / file else path.read_text()
    return documents.complaints(SOURCE, functions="leader_walls" in text)


assert documents.complaints(SOURCE) == [], documents.complaints(SOURCE)
for file, before, after, complaint in FAULTS:
    text = (SOURCE / file).read_text()
    assert before in text, (file, before)
    complaints = found(file, text.replace(before, after))
    assert any(complaint in line for line in complaints), (file, after, complaints)
