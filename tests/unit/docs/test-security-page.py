#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each test that docs/security.md names is there."""

import re
import sys
from pathlib import Path

from mutants.table import check_name
from mutants.workshop import Misfit

SOURCE = Path(__file__).resolve().parents[3]

named = re.findall(r"\[([\w-]+/[\w-]+: \w+)\]", (SOURCE / "docs/security.md").read_text())
missing = []
for test in named:
    try:
        check_name(SOURCE, test)
    except Misfit as reason:
        missing.append(f"{test}: {reason}")
print("\n".join(missing) or f"{len(named)} tests are there")
sys.exit(1 if missing or len(named) < 30 else 0)
