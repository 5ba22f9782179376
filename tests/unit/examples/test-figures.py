#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What alerts and the dashboard in examples/ ask for is there: each figure under the name that Prometheus gives it, by the manual
(which tests/unit/daemon/test-counters.c compares with the program), and each alert is explained. promtool reads the alerts, where
it is installed (Debian's package prometheus, which is large and no part of the dependencies)."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ALERTS = ROOT / "examples/prometheus-alerts.yaml"
DASHBOARD = ROOT / "examples/grafana-dashboard.json"
MANUAL = (ROOT / "man/argosy-api.7.scd").read_text().replace("\\_", "_")


def samples():
    """{name of a sample}, as rows of /metrics begin."""
    told = re.findall(r"^\*(argosy_\w+)\* \((counter|gauge|histogram)\)$", MANUAL, re.MULTILINE)
    assert len(told) > 40, told
    return {name + end for name, kind in told for end in (("_bucket", "_count", "_sum") if kind == "histogram" else ("",))}


def expressions():
    """(where, expression) of everything that is asked for."""
    rules = re.findall(r"- alert: (\w+)\n +expr: (.+)\n", ALERTS.read_text())
    assert len(rules) == ALERTS.read_text().count("- alert:") > 0
    yield from rules
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def problems():
    known = samples()
    for where, expression in expressions():
        for name in re.findall(r"\bargosy_\w+", expression):
            if name not in known:
                yield f"{where}: there is no figure {name}"
    for alert in re.findall(r"- alert: (\w+)", ALERTS.read_text()):
        if f"\n*{alert}*\n\t" not in MANUAL:
            yield f"{alert}: argosy-api(7) does not say what it means"
    panels = json.loads(DASHBOARD.read_text())["panels"]
    if len({panel["id"] for panel in panels}) < len(panels):
        yield "panels share an id"


def main():
    found = list(problems())
    print("\n".join(found), file=sys.stderr)
    promtool = shutil.which("promtool")
    if promtool:
        subprocess.run([promtool, "check", "rules", ALERTS], check=True)
    return 1 if found else 0


sys.exit(main())
