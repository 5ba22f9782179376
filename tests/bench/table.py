#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""table - puts the figures of a run into the table of tests/bench/README.md

    tests/bench/table.py FILE...

FILE holds JSON lines as the benchmarks print them, or is the log of a whole run, build/meson-logs/testlog.json. Figures
that are not in it keep their row. Describes the machine that it runs on, so run it where the benchmarks ran.
"""

import json
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- figures: made by table.py -->", "<!-- end of figures -->"

# What must be reached: text for the reader, and the test of a figure.
TARGETS = {
    # A start of a simple service is waited for until its process has lived 100 ms.
    ("one-unit", "p50"): ("<= 160 ms", lambda f: f["value"] <= 160),
    ("start-900", "wall"): ("<= 1.25 times and 0.1 s", lambda f: f["value"] <= 1.25 * f["baseline"] + 0.1),
    ("start-900-files", "wall"): ("ratio <= 1.15", lambda f: f["ratio"] <= 1.15),
    ("secret-start", "p50"): ("<= 0.3 ms more", lambda f: f["value"] <= f["baseline"] + 0.3),
    ("quadlet-30", "wall"): ("ratio <= 1.15", lambda f: f["ratio"] <= 1.15),
    ("update-pull", "p50"): ("<= 10 % or 50 ms more", lambda f: f["value"] <= max(1.1 * f["baseline"], f["baseline"] + 50)),
    ("update-pull", "early"): ("0", lambda f: f["value"] == 0),
    ("health-30", "cpu"): ("", None),
    ("health-30", "signals"): ("", None),
    ("files-fan-out", "wall"): ("ratio <= 1.3", lambda f: f["ratio"] <= 1.3),
    ("files-fan-out", "turn-cpu"): ("<= 10", lambda f: f["value"] <= 10),
    ("files-fan-out", "late-beats"): ("0", lambda f: f["value"] == 0),
    ("stop-900", "wall"): ("ratio <= 1.25", lambda f: f["ratio"] <= 1.25),
    ("destroy-900", "wall"): ("ratio <= 1.25", lambda f: f["ratio"] <= 1.25),
    ("start-900", "leader-cpu"): ("<= 60 us", lambda f: f["value"] <= 60),  # on a machine like the Xeon of the remark, so are the others
    ("destroy-900", "leader-cpu"): ("<= 30 us", lambda f: f["value"] <= 30),
    ("start-900", "agent-cpu"): ("<= 200 us", lambda f: f["value"] <= 200),
    ("destroy-900", "agent-cpu"): ("", None),
    ("submit-1", "rate"): (">= 25,000/s", lambda f: f["value"] >= 25000),
    ("submit-3", "rate"): (">= 15,000/s", lambda f: f["value"] >= 15000),
    **{(f"submit-{voters}", "leader-cpu"): ("", None) for voters in [1, 3]},
    ("submit-latency", "p50"): ("<= 0.6 ms more", lambda f: f["value"] <= f["baseline"] + 0.6),
    ("submit-latency", "p99"): ("<= 3 ms more", lambda f: f["value"] <= f["baseline"] + 3),
    ("submit-bulk", "rate"): (">= 60,000/s", lambda f: f["value"] >= 60000),
    ("submit-bulk", "leader-cpu"): ("<= 8 us", lambda f: f["value"] <= 8),
    ("submit-http", "rate"): (">= 8,000/s", lambda f: f["value"] >= 8000),
    ("submit-http", "leader-cpu"): ("", None),
    ("submit-http-bulk", "rate"): (">= 40,000/s", lambda f: f["value"] >= 40000),
    ("submit-http-bulk", "leader-cpu"): ("", None),
    ("fleet-900", "wall"): ("ratio <= 1.5", lambda f: f["ratio"] <= 1.5),
    ("fleet-900", "one-connection"): ("", None),
    ("fleet-list-10k", "wall"): ("<= 1,000 ms", lambda f: f["value"] <= 1000),
    ("apply-1k", "plan"): ("<= 100 ms", lambda f: f["value"] <= 100),
    **{("apply-1k", metric): ("", None) for metric in ["apply", "same"]},
    ("job-overhead", "leader-cpu"): ("<= 10 us more", lambda f: f["value"] <= f["baseline"] + 10),
    ("sse-1k", "missing"): ("0", lambda f: f["value"] == 0),
    ("sse-1k", "p50"): ("", None),
    ("sse-1k", "p99"): ("<= 150 ms", lambda f: f["value"] <= 150),
    ("sse-1k", "held"): ("<= 16 kB", lambda f: f["value"] <= 16),
    ("page-10k", "first-picture"): ("<= 1,000 ms", lambda f: f["value"] <= 1000),
    ("page-10k", "main-thread"): ("<= 100 ms/s", lambda f: f["value"] <= 100),
    ("page-10k", "heap"): ("", None),
    ("page-10k", "heap-growth"): ("flat: <= 1 MB over 10 minutes", lambda f: f["value"] <= 1),
    ("watch-100", "missing"): ("0", lambda f: f["value"] == 0),
    ("watch-100", "p50"): ("", None),
    ("watch-100", "p99"): ("<= 50 ms", lambda f: f["value"] <= 50),
    ("watch-100", "loop-lag"): ("<= 5 ms", lambda f: f["value"] <= 5),
    ("watch-100", "held"): ("one answer, <= 65 kB", lambda f: f["value"] <= 65),
    ("resume", "p50"): ("<= 5 ms", lambda f: f["value"] <= 5),
    ("resume", "p99"): ("", None),
    ("state-mesos", "mean"): ("ratio <= 1.5", lambda f: f["ratio"] <= 1.5),
    ("state-mesos", "first-byte"): ("", None),
    ("state-mesos", "turn-cpu"): ("<= 5 ms", lambda f: f["value"] <= 5),
    ("state-unchanged", "p99"): ("ratio <= 1.5", lambda f: f["ratio"] <= 1.5),
    ("state-1m", "mean"): ("<= 500 ms", lambda f: f["value"] <= 500),
    ("state-1m", "first-byte"): ("<= 5 ms", lambda f: f["value"] <= 5),
    ("state-1m", "turn-cpu"): ("", None),
    ("state-since", "p50"): ("<= 2 ms", lambda f: f["value"] <= 2),
    **{("state-since", metric): ("", None) for metric in ["p99", "next-version"]},
    **{("state-since-20k", metric): ("", None) for metric in ["p50", "p99", "next-version"]},
    **{("state-cold", metric): ("", None) for metric in ["wall", "turn-cpu", "memory"]},
    ("state-cold-1m", "wall"): ("", None),
    ("state-cold-1m", "turn-cpu"): ("<= 5 ms", lambda f: f["value"] <= 5),
    ("state-cold-1m", "memory"): ("<= 0.05 of the document", lambda f: f["value"] <= 0.05),
    **{("list-pages", metric): ("", None) for metric in ["wall", "turn-cpu", "memory"]},
    **{("list-whole", metric): ("", None) for metric in ["first-byte", "wall", "turn-cpu", "memory"]},
    **{(bench, page): ("", None) for bench in ["list-page", "list-unchanged"] for page in ["first", "last"]},
    **{("json-writer", name): ("not slower than it", lambda f: f["ratio"] >= 1) if name == "rapidjson" else ("", None)
       for name in ["ours", "cjson", "rapidjson"]},
    ("idle", "with-units"): ("<= 300, and <= 20 more than without", lambda f: f["value"] <= min(300, f["baseline"] + 20)),
    ("idle", "without"): ("", None),
    ("idle", "calls"): ("only the slow check", lambda f: f["value"] <= 20),
    ("idle", "signals"): ("0", lambda f: f["value"] == 0),
    ("node-loss", "default"): ("<= 7 s", lambda f: f["value"] <= 7),
    ("node-loss", "shortest"): ("<= 2.5 s", lambda f: f["value"] <= 2.5),
    ("leader-loss", "default"): ("<= 1.5 s", lambda f: f["value"] <= 1.5),
    ("leader-loss", "shortest"): ("<= 0.5 s", lambda f: f["value"] <= 0.5),
    **{(bench, metric): ("", None) for bench in ["rolling-100", "drain-300"] for metric in ["wall", "down"]},
    ("rss", "max"): ("<= 16 MB", lambda f: f["value"] <= 16),
    ("idle-10k", "cpu-over-empty"): ("<= 50", lambda f: f["value"] <= 50),
    ("idle-10k", "pid1"): ("<= 100", lambda f: f["value"] <= 100),
    ("idle-10k", "calls"): ("only the rolling check", lambda f: f["value"] <= 12),
    ("idle-10k", "signals"): ("0", lambda f: f["value"] == 0),
    **{("idle-10k", f"{way}-{metric}"): ("", None) for way in ["fleet-way", "old-way"] for metric in ["cpu", "pid1", "calls", "signals"]},
    **{target: goal for size in ["1k", "5k"] for verb in ["start", "stop"] for target, goal in {
        (f"{verb}-{size}", "wall"): ("ratio <= 1.10", lambda f: f["ratio"] <= 1.10),
        (f"{verb}-{size}", "one-slice"): ("`wall` <= 0.6 of it", lambda f: f["baseline"] <= 0.6 * f["value"]),
        (f"{verb}-{size}", "agent-cpu"): ("<= 0.25", lambda f: f["value"] <= 0.25),
    }.items()},
    ("start-3000", "wall"): ("ratio <= 1.15", lambda f: f["ratio"] <= 1.15),
    **{("start-3000", metric): ("", None) for metric in ["leader-cpu", "agent-cpu"]},
    ("start-20k", "wall"): ("ratio <= 1.15", lambda f: f["ratio"] <= 1.15),
    ("start-20k", "turn-cpu"): ("<= 10", lambda f: f["value"] <= 10),
    ("destroy-20k", "wall"): ("ratio <= 1.25", lambda f: f["ratio"] <= 1.25),
    ("destroy-20k", "turn-cpu"): ("<= 10", lambda f: f["value"] <= 10),
    ("other-client", "p50"): ("", None),
    ("other-client", "p99"): ("<= 20", lambda f: f["value"] <= 20),
    ("kill-seen", "p50"): ("<= 5", lambda f: f["value"] <= 5),
    ("kill-seen", "p99"): ("<= 25", lambda f: f["value"] <= 25),
    ("resync-10k", "sigstop"): ("<= 250", lambda f: f["value"] <= 250),
    ("resync-10k", "reexec"): ("<= 250", lambda f: f["value"] <= 250),
    ("agent-memory", "base"): ("<= 6", lambda f: f["value"] <= 6),
    ("agent-memory", "per-unit-1k"): ("", None),
    ("agent-memory", "per-unit"): ("<= 400", lambda f: f["value"] <= 400),
    ("agent-memory", "per-manager"): ("<= 50", lambda f: f["value"] <= 50),
    ("managers-80", "pss"): ("ratio <= 0.1", lambda f: f["ratio"] <= 0.1),
    ("managers-80", "cpu"): ("ratio <= 1.0", lambda f: f["ratio"] <= 1.0),
    ("managers-80", "wall"): ("ratio <= 1.0", lambda f: f["ratio"] <= 1.0),
    ("allocators", "wall"): ("", None),
    ("allocators", "cpu"): ("ratio <= 1.02", lambda f: f["ratio"] <= 1.02),
    ("allocators", "rss"): ("ratio <= 1.08", lambda f: f["ratio"] <= 1.08),
    ("allocators", "private"): ("ratio <= 1.05", lambda f: f["ratio"] <= 1.05),
    ("usage-1k", "wall"): ("<= 10", lambda f: f["value"] <= 10),
    ("usage-1k", "loop-lag"): ("<= 2", lambda f: f["value"] <= 2),
    ("usage-1k", "turn-cpu"): ("<= 2", lambda f: f["value"] <= 2),
    ("usage-1k", "loop-cpu"): ("", None),
    **{(f"virtual-{bench}{many}", metric): ("", None) for many in ["", "-1m"] for bench, metrics in {
        "join": ["wall"], "start": ["wall", "leader-cpu", "turn"], "memory": ["per-unit"], "idle": ["leader-cpu"], "loss": ["wall"],
        "destroy": ["wall", "leader-cpu", "turn"]}.items() for metric in metrics},
    **{(f"virtual-{bench}{many}", "turn-cpu"): ("<= 10", lambda f: f["value"] <= 10)
       for many in ["", "-1m"] for bench in ["start", "loss", "destroy"]},
    ("place-simple", "rate"): (">= 1,000,000", lambda f: f["value"] >= 1000000),
    ("place-constrained", "rate"): (">= 100,000", lambda f: f["value"] >= 100000),
    ("place-bestfit", "rate"): (">= 200,000", lambda f: f["value"] >= 200000),
    ("fair-round", "10k-1k"): ("<= 10 ms", lambda f: f["value"] <= 10),
    ("fair-round", "20k-2k"): ("<= 25 ms", lambda f: f["value"] <= 25),
    ("mass-loss", "wall"): ("<= 20 ms", lambda f: f["value"] <= 20),
    ("rebalance", "copy"): ("<= 10 ms", lambda f: f["value"] <= 10),
    ("rebalance", "revise"): ("<= 10 ms", lambda f: f["value"] <= 10),
    ("rebalance", "search"): ("", None),
    ("snapshot-1m", "turn"): ("<= 10 ms", lambda f: f["value"] <= 10),
    **{("snapshot-1m", metric): ("", None) for metric in ["take", "pool", "bytes", "restore"]},
    ("place-memory", "per-unit"): ("<= 100 B", lambda f: f["value"] <= 100),
    ("place-memory", "per-node"): ("<= 1,000 B", lambda f: f["value"] <= 1000),
    ("jobs-memory", "bytes"): ("<= 300 B", lambda f: f["value"] <= 300),
    ("jobs-memory", "packed"): ("", None),
    ("jobs-apply", "more"): ("", None),
    ("jobs-keys", "look"): ("", None),
}

HEAD = ["bench", "metric", "value", "baseline", "ratio", "must reach", "reached"]


def figures_in(text):
    """Every figure in it, whether the line stands by itself or inside the output that a log quotes."""
    found = []
    for line in text.splitlines():
        try:
            seen = json.loads(line)
        except ValueError:
            continue
        if isinstance(seen, dict) and "bench" in seen:
            found.append(seen)
        elif isinstance(seen, dict) and "stdout" in seen:
            found += figures_in(seen["stdout"])
    return found


def row(figure):
    wish, reached = TARGETS.get((figure["bench"], figure["metric"]), ("", None))
    value = f"{figure['value']:g} {figure['unit']}"
    baseline = f"{figure['baseline']:g} {figure['unit']}" if "baseline" in figure else ""
    ratio = f"{figure['ratio']:.2f}" if figure.get("ratio") is not None else ""
    return [f"`{figure['bench']}`", f"`{figure['metric']}`", value, baseline, ratio, wish, ("yes" if reached(figure) else "**no**") if wish else ""]


def known_rows(text):
    """The rows of the present table, by bench and metric."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    return {(cells[0].strip("`"), cells[1].strip("`")): cells for cells in rows}


def machine():
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    cpus = subprocess.run(["nproc"], text=True, capture_output=True, check=True).stdout.strip()
    memory = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)[1]) / 2**20
    systemd = subprocess.run(["systemctl", "--version"], text=True, capture_output=True, check=True).stdout.split("\n")[0]
    release = re.search(r'^PRETTY_NAME="(.*)"$', Path("/etc/os-release").read_text(), re.MULTILINE)
    return ", ".join([time.strftime("%Y-%m-%d"), f"{cpus} CPUs ({model[1] if model else platform.machine()})", f"{memory:.0f} GB",
                      release[1] if release else "", f"kernel {platform.release()}", systemd.split(" (")[0]])


def main(paths):
    text = README.read_text()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    rows = known_rows(old)
    figures = [figure for path in paths for figure in figures_in(Path(path).read_text())]
    if not figures:
        sys.exit(f"table: no figures in {' '.join(paths) or 'nothing'}")
    for figure in figures:
        rows[figure["bench"], figure["metric"]] = row(figure)
    ordered = sorted(rows, key=lambda key: list(TARGETS).index(key) if key in TARGETS else len(TARGETS))
    lines = [HEAD, ["---"] * len(HEAD), *(rows[key] for key in ordered)]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    README.write_text(f"{head}{BEGIN}\nMeasured {machine()}.\n\n{table}\n{END}{tail}")


if __name__ == "__main__":
    main(sys.argv[1:])
