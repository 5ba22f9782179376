# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions that one folder of a room gives to another, and that only give or set one field of what they are given.

Each says that two folders share a field: a decision belongs to whoever has the fact. Read from the text; what a table of
constants is asked for is none, and a row of a table may name one.
"""

import re
from collections import defaultdict

from .source import SOURCE

# How many a room may have.
MOST = {"leader": 15}

FUNCTION = re.compile(r"^(?!static|typedef|#|//)[A-Za-z_][\w *]*?\b(?P<name>\w+)\([^;{]*\) \{\n {8}(?P<body>[^\n{}]*;)\n\}\n", re.MULTILINE)
FIELD = r"[\w.\[\]]+(?:->[\w.\[\]]+)+"
BODY = re.compile(rf"return [!&*]?{FIELD};|{FIELD} [|&+-]?= [^()]*;|{FIELD}(?:\+\+|--);|(?:\+\+|--){FIELD};")
WORD = re.compile(r"\b\w+\b")


def of(room):
    """["path: name"] of those that another folder of the source names."""
    texts = {path: path.read_text() for path in sorted((SOURCE / "src").rglob("*.c"))}
    users = defaultdict(set)
    for path, text in texts.items():
        for word in set(WORD.findall(text)):
            users[word].add(path.parent)
    for path, text in texts.items():
        if path.is_relative_to(SOURCE / "src" / room):
            for match in FUNCTION.finditer(text):
                if BODY.fullmatch(match["body"]) and users[match["name"]] - {path.parent}:
                    yield f"{path.relative_to(SOURCE)}: {match['name']}"


def complaints():
    for room, most in MOST.items():
        found = list(of(room))
        if len(found) > most:
            yield (f"src/{room}: {len(found)} functions give or set one field for another folder, and tools/lib/rooms/accessors.py allows "
                   f"{most}: {', '.join(found)}")
