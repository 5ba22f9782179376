#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of the dashboard in docs/, made anew: a cluster of three nodes in trouble, and one with ten thousand units.

    ARGOSY_LONG=1 ARGOSY_BUILD=build ARGOSY_PICTURES=docs tests/integration/pictures.py

Whoever changes the page runs this and looks at them. Without ARGOSY_PICTURES they are made and thrown away. Each of them is looked for
what it is to show, so a picture of an empty page is a failure here.
"""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

from browser import browser_on
from lib import QUICK, Cluster, Running, eventually, long, main

SHOP = """[Unit]
Description={}
[Service]
ExecStart=/usr/bin/sleep infinity
StandardOutput=null
"""
MANY = 9990


def directory():
    return Path(os.environ.get("ARGOSY_PICTURES") or tempfile.mkdtemp(prefix="argosy-pictures-"))


def shows(page, selector, *texts):
    eventually(lambda: all(text in page.text(selector) for text in texts), 60, f"{selector} shows {texts}")


def view(page, path, *texts):
    page.run("location.hash = given[0]", path)
    shows(page, "main", *texts)


def picture(page, name, width, height, scheme):
    page.looks_like(width, height, scheme)
    page.run("scrollTo(0, 0); dispatchEvent(new Event('resize')); await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.picture(directory() / f"dashboard-{name}.png")


@contextmanager
def dashboard(node):
    """By the door that needs no token."""
    running = Running(node, ["argosyctl", "dashboard"])
    try:
        with browser_on(node) as page:
            page.looks_like(1280, 800)
            page.go(running.line().strip())
            shows(page, "#fresh", "live")
            yield page
    finally:
        running.kill()


def open_shop(c):
    for name, words in ("shop@.service", "The shop"), ("mail.service", "Mail"), ("ledger.service", "The ledger"), ("cache@.service", "A cache"):
        c.submit(name, SHOP.format(words))
    c.submit("report.service", "[Unit]\nDescription=Nightly report\n[Service]\nExecStart=/bin/sh -c 'echo counting 1,204 orders; echo cannot open /srv/report: disk full >&2; exit 28'\n")
    c.submit("train.service", f"{SHOP.format('Training')}[X-Argosy]\nRequireLabel=gpu=yes\n")
    c.ctl("start shop@{1..24} mail ledger cache@{1..8}")


@long
def test_three_nodes_in_trouble(c: Cluster):
    first, second, third = c.nodes
    c.ctl(f"label {second.name} gpu=yes")
    open_shop(c)
    c.ctl("start train")
    c.ctl("start report --reason 'the night of the 24th'")
    eventually(lambda: [row["active"] for row in c.json("list-units report")] == ["failed"])
    c.ctl(f"cordon {third.name} --reason 'new disks tomorrow'")
    c.ctl_result("stop --no-block ledger --reason 'the books are closed'")
    with dashboard(first) as page:
        second.kill()
        shows(page, "#wrong", f"{second.name} is lost", "report.service failed", "train.service")
        eventually(lambda: "lost" not in page.text("#counts") and page.text("#moving") == "Nothing.", 60, "what moves has moved")
        picture(page, "trouble", 1280, 560, "light")
        picture(page, "narrow", 400, 800, "dark")
        view(page, "#/units", "shop@1.service", "report.service")
        picture(page, "units", 1280, 560, "dark")
        view(page, "#/unit/report.service", "disk full", "the night of the 24th", "Description=Nightly report")
        picture(page, "unit", 1280, 860, "light")
        assert page.complaints() == []


@long
def test_ten_thousand_units(c: Cluster):
    c.submit("some@.service", "[Service]\nExecStart=/bin/sh -c 'case %i in 97|1940|2910|7388) exit 1;; esac; exec /usr/bin/sleep infinity'\nStandardOutput=null\nStandardError=null\n")
    c.ctl(f"start --no-block some@{{1..{MANY}}}")
    failing = 4
    eventually(lambda: len(c.json("list-units --state=active 'some@*'")) == MANY - failing, 240, "all of them run")
    with dashboard(c.nodes[0]) as page:
        shows(page, "#counts", f"{MANY - failing:,} running")
        picture(page, "10000", 1280, 760, "light")
        assert page.complaints() == []
    c.ctl_result("destroy --no-block 'some@*'")


if __name__ == "__main__":
    main(conf=QUICK)
