#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""static-files - files as a table of C, for argosyd to serve: static-files.py OUT.c FILE...

What the table is: src/http/dashboard/http-static.h. Each file has its type by the end of its name, and a tag that is made of its bytes.
"""

import hashlib
import re
import sys
from pathlib import Path

# Of all files together: who follows a link over a slow line has the page soon.
BYTES_MAX = 150 * 1024

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
PROPER = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")  # nothing that is written otherwise in a URL


def array(number, content):
    lines = [", ".join(map(str, content[at:at + 24])) for at in range(0, len(content), 24)]
    return f"static const uint8_t bytes_{number}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def row(number, path, content):
    tag = hashlib.sha256(content).hexdigest()[:32]
    return f'        {{"{path.name}", "{TYPES[path.suffix]}", "\\"{tag}\\"", bytes_{number}, sizeof(bytes_{number})}},\n'


def main(out, *names):
    paths = [Path(name) for name in names]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents):
        if path.suffix not in TYPES or not PROPER.fullmatch(path.name) or not content:
            sys.exit(f"{path}: a name in small letters that ends in one of {' '.join(TYPES)}, and something in it")
    if (total := sum(map(len, contents))) > BYTES_MAX:
        sys.exit(f"all files together have {total} bytes, more than {BYTES_MAX}")
    arrays = "".join(array(*numbered) for numbered in enumerate(contents))
    rows = "".join(row(number, *pair) for number, pair in enumerate(zip(paths, contents)))
    Path(out).write_text(f'#include "http-static.h"\n\n{arrays}\nconst HttpStatic http_static_files[] = {{\n{rows}        {{}},\n}};\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
