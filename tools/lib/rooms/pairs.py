# SPDX-License-Identifier: LGPL-2.1-or-later
"""How often folders of a room use each other: pairs of a function and a folder that names it and does not have it.

Read from the text, so that a commit of long ago can be counted: a function is what stands at the left and is not static, and whatever
names it in a .c file uses it. The room's top folder, which puts the parts together, does not count, nor do other rooms.
"""

import re
from collections import defaultdict

from .source import SOURCE

NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
FUNCTION = re.compile(r"^(?!static\b|typedef|extern|#|return|else|struct\s+\w+\s*\{|enum\b)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def of(room, source=SOURCE):
    """{(function, path of the folder that uses it)}"""
    top = source / "src" / room
    texts = {path: NO_CODE.sub(" ", path.read_text()) for path in sorted(top.rglob("*.c"))}
    owners = {name: path.parent for path, text in texts.items() for name in FUNCTION.findall(text)}
    users = defaultdict(set)
    for path, text in texts.items():
        for word in set(WORD.findall(text)) & owners.keys():
            users[word].add(path.parent)
    return {(name, user) for name, folders in users.items() for user in folders - {owners[name], top}}
