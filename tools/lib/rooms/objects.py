# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which file calls which, as the objects of a build say: who defines a symbol that another leaves undefined.

That is also whoever takes a function's address: a callback is given by whoever stands above, or it counts as a call upward.
"""

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from .source import SOURCE, folders

# ARCHIVE:OBJECT-DIRECTORY/NAME.c.o:ADDRESS KIND SYMBOL
SYMBOL = re.compile(r".*[/:]([^/:]+\.c)\.o:\s*[0-9a-f]*\s+([A-Za-z]) (\S+)$")
DEFINED = set("TDBRVWC")


class Stale(Exception):
    """The build is not of this source, or not finished."""


def archives(build):
    """(folder, path) of every static library of src/."""
    known = folders()
    for target in json.loads((build / "meson-info/intro-targets.json").read_text()):
        directory = Path(target["defined_in"]).parent
        if target["type"] == "static library" and directory.is_relative_to(SOURCE / "src"):
            folder, path = str(directory.relative_to(SOURCE / "src")), target["filename"][0]
            if folder not in known:
                raise Stale(f"it has a library of src/{folder}, which is not in the plan")
            if not Path(path).exists():
                raise Stale(f"{path} is missing")
            yield folder, path


def calls(build):
    """{(folder, file, folder, file)}, without those inside one file."""
    defined, needed = defaultdict(list), []
    for folder, path in archives(build):
        for line in subprocess.run(["nm", "-o", path], text=True, capture_output=True, check=True).stdout.splitlines():
            match = SYMBOL.match(line)
            if match and match[2] in DEFINED:
                defined[match[3]].append((folder, match[1]))
            elif match and match[2] == "U":
                needed.append((folder, match[1], match[3]))
    found = set()
    for folder, file, symbol in needed:
        owners = defined.get(symbol, [])
        for owner in [o for o in owners if o[0] == folder] or owners:
            if owner != (folder, file):
                found.add((folder, file, *owner))
    return found
