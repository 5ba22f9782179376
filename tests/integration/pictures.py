#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pictures of the dashboard: each view, wide and narrow, drawn of clusters that are written down (page_states.py), and compared with those
that somebody has looked at (docs/pictures). One that differs in more than 2 % of its pixels fails.

    tests/integration/pictures.py [PATTERN]          draws and compares
    tests/integration/pictures.py --keep [PATTERN]   draws and keeps what differs: look at each of them before that is committed

What differs is written to $ARGOSY_PICTURES, or to build/pictures. No cluster and no argosyd is needed, only Chromium and its font. Whoever adds
a view adds a line to PICTURES.
"""

import argparse
import base64
import json
import struct
import sys
import threading
import time
import traceback
import zlib
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import page_states
from browser import browser_on
from lib import BUILD, SOURCE, eventually

KEPT = SOURCE / "docs/pictures"
DIFFERS = 0.02  # of the pixels
WIDE, MIDDLE, NARROW = (1440, 900), (800, 700), (390, 844)
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
PORT, DRIVER_PORT = 9517, 9518


@dataclass
class Picture:
    name: str
    cluster: object  # makes it
    path: str
    size: tuple
    shows: str  # without which there is nothing to draw
    scheme: str = "light"
    script: str = ""  # before it is drawn
    heard: str = "live"  # what it says about that


SELECT = "document.querySelectorAll('.list-row input')[0].click(); document.querySelectorAll('.list-row input')[2].click();"
UNDO = "[...document.querySelectorAll('.buttons button')].find((b) => b.textContent === 'Undo').click(); while (!document.body.innerText.includes('24 units are changed')) await new Promise(requestAnimationFrame);"
COMPARE = "[...document.querySelectorAll('td button')][1].click(); while (!document.body.innerText.includes('Nice=10')) await new Promise(requestAnimationFrame); document.querySelector('[aria-labelledby=h-jobs]').scrollIntoView();"


def both(name, *rest, **more):
    return [Picture(f"{name}-1440", rest[0], rest[1], WIDE, rest[2], **more), Picture(f"{name}-390", rest[0], rest[1], NARROW, rest[2], **more)]


PICTURES = [
    *both("overview-calm", page_states.calm, "#/", "All is well"),
    Picture("overview-node-lost-1440", page_states.trouble, "#/", WIDE, "n2 is lost"),
    Picture("overview-node-lost-390", page_states.trouble, "#/", NARROW, "n2 is lost", "dark"),
    *both("overview-nobody-leads", page_states.nobody, "#/", "Nobody leads the cluster"),
    Picture("overview-unheard-800", page_states.unheard, "#/", MIDDLE, "some unknown"),
    Picture("overview-loop-800", page_states.loop, "#/", MIDDLE, "worker.service"),
    Picture("unit-loop-800", page_states.loop, "#/unit/worker.service", MIDDLE, "looping"),
    Picture("overview-5000-1440", page_states.many, "#/", WIDE, "5,000 units", "dark"),
    Picture("units-1440", page_states.trouble, "#/units", WIDE, "report.service", script=SELECT),
    Picture("units-390", page_states.trouble, "#/units", NARROW, "report.service"),
    Picture("units-5000-800", page_states.many, "#/units?is:failed", MIDDLE, "of 5,000 units"),
    Picture("units-long-390", page_states.long_names, "#/units", NARROW, "customer-facing", "dark"),
    *both("unit", page_states.trouble, "#/unit/report.service", "disk full"),
    Picture("unit-compare-800", page_states.trouble, "#/unit/report.service", MIDDLE, "disk full", script=COMPARE),
    Picture("unit-gone-800", page_states.calm, "#/unit/nothing.service", MIDDLE, "There is no unit"),
    *both("nodes", page_states.trouble, "#/nodes", "0.0 of 8"),
    *both("node-lost", page_states.trouble, "#/node/n2", "8 units left it"),
    *both("jobs", page_states.trouble, "#/jobs", "job 65"),
    Picture("jobs-long-800", page_states.long_names, "#/jobs", MIDDLE, "job 80"),
    Picture("job-1440", page_states.trouble, "#/job/67", WIDE, "and 8 more", "dark"),
    Picture("job-undo-800", page_states.trouble, "#/job/67", MIDDLE, "and 8 more", script=UNDO),
    *both("events", page_states.trouble, "#/events", "report.service"),
    Picture("login-390", lambda: page_states.Cluster([], [], [], refuses=401), "#/", NARROW, "Log in", heard=""),
    Picture("host-gone-800", lambda: page_states.Cluster(**(vars(page_states.calm()) | {"ends": True})), "#/units", MIDDLE, "argosyd is ending", heard=""),
]


# ---- what is asked

class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cluster):
        super().__init__(("127.0.0.1", PORT), Handler)
        self.cluster, self.over, self.readings = cluster, threading.Event(), 0
        self.was_read = False  # the stream

    def answer(self, target):
        """What a GET says; None: there is no such thing."""
        c, path = self.cluster, unquote(urlsplit(target).path)
        if unquote(target) in c.answers:
            return c.answers[unquote(target)]
        if path in c.answers and "?at=" not in target:
            return c.answers[path]
        if path == "/v1/state":
            return c.state()
        if path == "/v1/access":
            return {"own": c.right, "own_of_some": c.right}
        if path == "/v1/jobs":
            return {"jobs": c.jobs if "node=" not in target else [j for j in c.jobs if any(f"node={t}" in target for t in j["targets"])]}
        if path.startswith("/v1/history/"):
            return {"history": []}
        if path == "/v1/hosts":
            return {"hosts": [{"host": n["node"], "address": n["address"], "role": "voter", "state": n["state"], "leader": n["node"] == c.leader, "log_index": 91, "lag": 0, "version": "0.1.0"} for n in c.nodes]}
        if path == "/v1/nodes":
            return {"nodes": [{"node": n["node"], "offers-cpu": 8000, "offers-memory": 30000} for n in c.nodes]}
        if path == "/v1/usage":
            self.readings += 1
            rows = page_states.usage(c, self.readings)
            return {"usage": [row for row in rows if f"pattern={row['unit']}" in unquote(target) or f"node={row['node']}" in target or "?" not in target], "errors": []}
        return None


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _say(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _json(self, document, status=200):
        self._say(status, "application/json", json.dumps(document).encode())

    def _stream(self, lines):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        for line in lines:
            self.wfile.write(json.dumps(line).encode() + b"\n")
        self.wfile.flush()
        self.server.over.wait()

    def do_GET(self):
        path, cluster = urlsplit(self.path).path, self.server.cluster
        name = "index.html" if path == "/" else path.removeprefix("/dashboard/")
        if path == "/" or path.startswith("/dashboard/"):
            file = SOURCE / "dashboard" / name
            return self._say(200, TYPES[file.suffix], file.read_bytes())
        if cluster.refuses or (cluster.ends and self.server.was_read and path == "/v1/events"):
            return self._json({"status": cluster.refuses or 503, "detail": "this needs a token" if cluster.refuses else "argosyd is ending"}, cluster.refuses or 503)
        if path == "/v1/events":
            self.server.was_read = True
            if cluster.ends:
                return self._say(200, "application/x-ndjson", b"\n")
            return self._stream(cluster.events())
        if path.startswith("/v1/journal/"):
            return self._stream({"unit": unquote(path.rsplit("/", 1)[1]), "node": node, "line": line} for node, line in cluster.answers.get(unquote(path), []))
        answer = self.server.answer(self.path)
        self._json({"status": 404, "detail": "there is no such thing, or you may not see it"} if answer is None else answer, 404 if answer is None else 200)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._json(self.server.answer(self.path) or {})


# ---- drawing

# The same time, font and language wherever it is drawn, and nothing that blinks. Without workers each page has what it is told at once.
ALIKE = f"""
window.SharedWorker = undefined;
Date.now = () => {page_states.NOW // 1000};
addEventListener('DOMContentLoaded', () => {{
  const style = document.createElement('style');
  style.textContent = `* {{ caret-color: transparent !important; }} body, input, select, button {{ font-family: "DejaVu Sans" !important; }} pre, .events, code {{ font-family: "DejaVu Sans Mono" !important; }}`;
  document.head.append(style);
}});
"""

# The pixels of one: how many, and which differ from those of the other by more than an edge of a letter does.
COMPARE_PIXELS = """
const pixels = async (text) => {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))])), canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
};
const [a, b] = [await pixels(given[0]), await pixels(given[1])];
if (a.width !== b.width || a.height !== b.height) return 1;
let differ = 0;
for (let i = 0; i < a.data.length; i += 4)
  if (Math.abs(a.data[i] - b.data[i]) + Math.abs(a.data[i + 1] - b.data[i + 1]) + Math.abs(a.data[i + 2] - b.data[i + 2]) > 96) differ++;
return differ / (a.data.length / 4);
"""

# As at most 232 colours: the most frequent ones and those of dashboard.css, and for each other one that which is most like it.
TO_PALETTE = """
const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(given[0]), (c) => c.charCodeAt(0))])), canvas = new OffscreenCanvas(bitmap.width, bitmap.height), context = canvas.getContext('2d');
context.drawImage(bitmap, 0, 0);
const { data, width, height } = context.getImageData(0, 0, bitmap.width, bitmap.height), counts = new Map();
const at = (i) => (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
for (let i = 0; i < data.length; i += 4) counts.set(at(i), (counts.get(at(i)) ?? 0) + 1);
const style = getComputedStyle(document.documentElement), pen = document.createElement('canvas').getContext('2d');
const rgb = (word) => { pen.fillStyle = style.getPropertyValue(word); const c = parseInt(pen.fillStyle.slice(1), 16); return [c >> 16, (c >> 8) & 255, c & 255]; };
const ground = rgb('--card'), mixed = ['--ink', '--faint', '--link', '--bad', '--waits', '--moves', '--unsure', '--good'].map(rgb).flatMap((c) => [1, 0.7, 0.4, 0.2].map((part) =>
  c.reduce((all, v, i) => (all << 8) | Math.round(v * part + ground[i] * (1 - part)), 0)));
const palette = [...new Set([...[...counts].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([colour]) => colour), ...mixed])], place = new Map(palette.map((colour, i) => [colour, i]));
const parts = (c) => [c >> 16, (c >> 8) & 255, c & 255], known = palette.map(parts);
const nearest = (colour) => { const [r, g, b] = parts(colour); let best = 0, least = Infinity; known.forEach(([x, y, z], i) => { const d = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2; if (d < least) [best, least] = [i, d]; }); return best; };
const out = new Uint8Array(width * height);
for (let i = 0; i < out.length; i++) { const colour = at(4 * i); if (!place.has(colour)) place.set(colour, nearest(colour)); out[i] = place.get(colour); }
let text = '';
for (let i = 0; i < out.length; i += 32768) text += String.fromCharCode(...out.subarray(i, i + 32768));
return [width, height, palette, btoa(text)];
"""


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def small_png(page, png):
    width, height, palette, text = page.run(TO_PALETTE, base64.b64encode(png).decode())
    rows = base64.b64decode(text)
    lines = b"".join(b"\0" + rows[y * width:(y + 1) * width] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(struct.pack(">I", c)[1:] for c in palette)) + \
        chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def draw(page, picture):
    server = Server(picture.cluster())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        page.looks_like(*picture.size, picture.scheme)
        page.go("about:blank")
        page.go(f"http://127.0.0.1:{PORT}/{picture.path}")
        eventually(lambda: picture.shows in page.text("body"), 20, f"{picture.name} shows {picture.shows!r}; it shows {page.text('body')[:400]!r}")
        eventually(lambda: page.text("#fresh") == picture.heard, 20, f"{picture.name} is {picture.heard or 'not live'}")
        page.run(f"await new Promise((done) => setTimeout(done, 250)); {picture.script} dispatchEvent(new Event('resize')); await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"{picture.name} is wider than its window"
        return base64.b64decode(page.do("GET", "/screenshot"))
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def is_kept(page, picture, keep):
    png, kept = draw(page, picture), KEPT / f"{picture.name}.png"
    share = page.run(COMPARE_PIXELS, base64.b64encode(png).decode(), base64.b64encode(kept.read_bytes()).decode()) if kept.exists() else 1
    complaints = page.complaints()
    assert not complaints, f"the page complains: {complaints}"
    if share <= (0 if keep else DIFFERS):
        return
    where = KEPT if keep else Path(BUILD) / "pictures"
    where.mkdir(parents=True, exist_ok=True)
    (where / kept.name).write_bytes(small_png(page, png))
    if keep:
        print(f"kept {where / kept.name}: {share * 100:.1f} % of it was another: look at it")
    else:
        raise AssertionError(f"{share * 100:.1f} % of its pixels differ from docs/pictures/{kept.name}: look at {where / kept.name}, and keep it if it is good: tests/integration/pictures.py --keep {picture.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    failed = 0
    with browser_on(None, DRIVER_PORT) as page:
        page.devtools("Page.addScriptToEvaluateOnNewDocument", source=ALIKE)
        page.devtools("Emulation.setTimezoneOverride", timezoneId="UTC")
        page.devtools("Emulation.setLocaleOverride", locale="en-GB")
        for picture in PICTURES:
            if options.pattern not in picture.name:
                continue
            began, word = time.monotonic(), "ok"
            try:
                is_kept(page, picture, options.keep)
            except AssertionError:
                traceback.print_exc()
                word, failed = "failed", failed + 1
            print(f"{word} {time.monotonic() - began:.1f} {picture.name}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
