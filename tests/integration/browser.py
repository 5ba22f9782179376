# SPDX-License-Identifier: LGPL-2.1-or-later
"""A browser without a window, on a node's network or on this machine's: Debian's Chromium, spoken to by WebDriver, which is HTTP and JSON.

It is the one that can have no window: what surrounds a page takes as much of a processor as the page. It stays for the tests that follow: between
two of them it has one empty tab, and neither cookies nor anything else of a page."""

import atexit
import base64
import http.client
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from over_http import network_of
from lib import eventually

DRIVER_PORT = 9515
PROGRAM = "/usr/lib/chromium/chromium-headless-shell"
# Through a pipe, since a port would be asked for at "localhost", which not every machine knows. All pages in one process, which each new tab
# would start again.
ARGUMENTS = ["--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--disable-background-networking", "--disable-site-isolation-trials", "--process-per-site", "--renderer-process-limit=1"]


KEPT = {}  # (network, port): browsers that nobody uses just now


class Browser:
    """One window. What a script throws is an exception here. node: None is this machine."""

    def __init__(self, node, port=DRIVER_PORT):
        self._node, self._session, self._port, self._origins = node, None, port, set()
        self._home = tempfile.mkdtemp(prefix="argosy-browser-")
        network = ["nsenter", f"--net=/proc/{node.init_pid()}/ns/net"] if node else []
        # The first process of a namespace of its own: with it everything ends that it has started, whatever becomes of the node. And it ends with us.
        self._driver = subprocess.Popen(
            [*network, "setpriv", "--pdeathsig", "KILL", "--", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "chromedriver", f"--port={port}"],
            env=os.environ | {"HOME": self._home}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(self._is_ready, what="chromedriver answers")
        program = Path(self._home, "browser")
        program.write_text(f'#!/bin/sh\nexec {PROGRAM} "$@" about:blank\n')  # chromedriver waits for a tab and cannot name one
        program.chmod(0o755)
        options = {"binary": str(program), "args": [*ARGUMENTS, f"--user-data-dir={self._home}/profile"]}
        capabilities = {"browserName": "chrome", "acceptInsecureCerts": True, "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def _is_ready(self):
        try:
            return self._ask("GET", "/status")["ready"]
        except OSError:
            return False

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with network_of(self._node) if self._node else nullcontext():
            connection.connect()
        with closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = json.loads(answer.read())["value"]
        if answer.status != 200:
            raise AssertionError(f"{method} {path}: {said['error']}: {said['message'][:600]}")
        return said

    def do(self, method, path, body=None):
        return self._ask(method, f"/session/{self._session}{path}", body)

    def go(self, address):
        self._origins.add("/".join(address.split("/")[:3]))
        self.do("POST", "/url", {"url": address})

    def forget(self):
        """Nothing is open any more, and nothing left of what was."""
        used = self.do("GET", "/window/handles")
        fresh = self.do("POST", "/window/new", {"type": "tab"})["handle"]
        for window in used:
            self.do("POST", "/window", {"handle": window})
            self.do("DELETE", "/window")
        self.do("POST", "/window", {"handle": fresh})
        for origin in self._origins:
            self.devtools("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.devtools("Network.clearBrowserCookies")
        self.devtools("Network.clearBrowserCache")
        self._origins.clear()
        self.complaints()

    def can_be_used_on(self, node):
        """It is there again. A power cut of the node has taken the driver's socket away."""
        self._node = node
        try:
            return bool(self.do("GET", "/window"))
        except (OSError, AssertionError):
            return False

    def run(self, script, *arguments):
        """What the script returns; it may be a promise."""
        return self.do("POST", "/execute/sync", {"script": f"const given = arguments; return (async () => {{ {script} }})()", "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("return document.querySelector(given[0])?.innerText ?? ''", selector)

    def _find(self, selector):
        [element] = self.do("POST", "/element", {"using": "css selector", "value": selector}).values()
        return element

    def click(self, selector):
        """What the page draws anew between the two questions is looked for again."""
        def clicked():
            try:
                self.do("POST", f"/element/{self._find(selector)}/click", {})
            except AssertionError as error:
                if "stale element reference" not in str(error):
                    raise
                return False
            return True

        eventually(clicked, what=f"{selector} stays as long as it takes to click it")

    def type(self, selector, text):
        self.do("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def devtools(self, command, **parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def looks_like(self, width, height, scheme="light"):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.do("GET", "/screenshot")))

    def complaints(self):
        """What the console has said since this was asked last, but for answers that were errors."""
        return [line["message"] for line in self.do("POST", "/se/log", {"type": "browser"})
                if line["level"] in ("SEVERE", "WARNING") and "Failed to load resource" not in line["message"] and "net::ERR_" not in line["message"]]

    def close(self):
        with suppress(OSError, AssertionError):  # it cannot be reached any more: it ends all the same
            if self._session:
                self.do("DELETE", "")
        self._driver.kill()  # unshare, which takes its child with it, hears nothing else
        self._driver.wait()
        shutil.rmtree(self._home, ignore_errors=True)


@contextmanager
def browser_on(node, port=DRIVER_PORT):
    """port: another one for a second browser on the same node. One that was used in vain is not used again."""
    network = os.stat(f"/proc/{node.init_pid()}/ns/net").st_ino if node else None
    kept = KEPT.pop((network, port), None)
    if kept and not kept.can_be_used_on(node):
        kept.close()
        kept = None
    browser = kept or Browser(node, port)
    try:
        yield browser
        browser.forget()
        KEPT[network, port] = browser
    except BaseException:
        browser.close()
        raise


@atexit.register
def close_kept():
    for browser in KEPT.values():
        browser.close()
    KEPT.clear()
