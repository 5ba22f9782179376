#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""argosyctl dashboard: the page for the first browser of whoever may ask, with his rights, and nothing for anybody else."""

import json
from contextlib import closing, contextmanager

from browser import browser_on
from lib import QUICK, Cluster, Running, eventually, main
from over_http import dial

COOKIE = "argosy-dashboard="


@contextmanager
def serving(node, *options, uid=0):
    """(the address that it prints, its port)"""
    groups = ["--clear-groups"] if uid == 0 else [f"--groups={node.run('getent group argosy | cut -d: -f3').strip()}"]
    running = Running(node, ["setpriv", f"--reuid={uid}", f"--regid={uid}", *groups, "argosyctl", "dashboard", *options])
    try:
        address = running.line().strip()
        assert address.startswith("http://argosy-"), running.result()
        yield address, int(address.split(":")[2].split("/")[0])
    finally:
        running.kill()


def ask(node, port, target="/", cookie=None, host=None, method="GET", headers={}, body="", raw=None):
    """(status, headers and all of the answer)"""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", *(f"{k}: {v}" for k, v in headers.items())]
    if cookie:
        lines.append(f"Cookie: other=x; {COOKIE}{cookie}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with closing(dial(node, port)) as connection:
        connection.sendall((raw or "\r\n".join(lines) + "\r\n\r\n" + body).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return int(answer.split()[1]) if answer else None, answer


def use(node, address, port):
    """What the first browser gets: the cookie."""
    status, answer = ask(node, port, address[address.index("/?"):])
    assert status == 303 and "HttpOnly; SameSite=Strict" in answer and "\r\nLocation: /\r\n" in answer, answer
    return answer.split(COOKIE)[1].split(";")[0]


def test_the_first_browser_has_it_and_nobody_else(c: Cluster):
    node = c.nodes[1]
    with serving(node) as (address, port):
        assert ask(node, port)[0] == 403
        assert ask(node, port, "/v1/units")[0] == 403
        assert ask(node, port, f"/?secret={'0' * 64}")[0] == 403
        cookie = use(node, address, port)
        assert ask(node, port, address[address.index("/?"):])[0] == 403  # another browser
        assert ask(node, port, address[address.index("/?"):], cookie)[0] == 303  # the same, which loads it again
        name = address.split("/")[2]
        for host in name, f"127.0.0.1:{port}", "localhost:1", name.upper():
            assert ask(node, port, "/v1/units", cookie, host)[0] == 200, host
        for host in "rebound.example", f"rebound.example:{port}", "argosy-0.localhost", "[::1]", "127.0.0.1.example":
            assert ask(node, port, "/v1/units", cookie, host)[0] == 421, host
        here = {"Origin": f"http://127.0.0.1:{port}"}
        assert ask(node, port, "/v1/units", cookie, headers=here)[0] == 200
        for origin in "http://evil.example", f"http://127.0.0.1:{port + 1}", "null", f"https://127.0.0.1:{port}":
            assert ask(node, port, "/v1/units", cookie, headers={"Origin": origin})[0] == 403, origin
        assert ask(node, port, "/v1/units", "0" * 64)[0] == 403
        for bad in "GET / HTTP/1.1\nHost: x\n\n\r\n\r\n", "nonsense\r\n\r\n", f"GET / HTTP/1.1\r\nHost: {name}\r\nHost: {name}\r\n\r\n", \
                f"GET http://{name}/ HTTP/1.1\r\nHost: {name}\r\n\r\n", f"GET / HTTP/1.1\r\nHost: {name}\r\n folded: x\r\n\r\n":
            assert ask(node, port, raw=bad)[0] == 400, bad
        assert ask(node, port, raw="GET / HTTP/1.1\r\nX: " + "x" * (17 << 10))[0] == 431
        chunked = {"Transfer-Encoding": "chunked"}
        assert ask(node, port, "/v1/jobs", cookie, method="POST", headers=chunked)[0] == 411
        assert ask(node, port, "/v1/jobs", cookie, method="POST", headers={"Content-Length": str(1 << 40)})[0] == 413
    eventually(lambda: ask_refused(node, port))


def ask_refused(node, port):
    try:
        dial(node, port).close()
    except OSError:
        return True
    return False


def test_it_is_as_whoever_runs_it(c: Cluster):
    node = c.nodes[0]
    node.run("id viewer >/dev/null 2>&1 || useradd --uid 1500 viewer")
    c.start("web@1")
    c.ctl("access grant admin to user:root")
    c.ctl("access grant view to user:viewer")
    c.ctl("access revoke admin to group:argosy")
    stop = json.dumps({"verb": "stop", "units": ["web@1.service"], "reason": "x" * 100000})
    try:
        with serving(node, uid=1500) as (address, port):
            cookie = use(node, address, port)
            status, answer = ask(node, port, "/v1/units/web%401.service", cookie)
            assert status == 200 and '"active":"active"' in answer
            status, answer = ask(node, port, "/v1/jobs", cookie, method="POST", body=json.dumps({"verb": "stop", "units": ["web@1.service"]}))
            assert status == 403 and "viewer" in answer, answer
        with serving(node, "--port=7999") as (address, port):
            assert port == 7999
            cookie = use(node, address, port)
            assert ask(node, port, "/v1/jobs?wait=30", cookie, method="POST", body=json.dumps({"verb": "stop", "units": ["web@1.service"]}))[0] == 200
            assert ask(node, port, "/v1/jobs", cookie, method="POST", body=stop)[0] == 400  # a long body comes whole, and is judged there
            assert "cannot listen on 127.0.0.1, port 7999" in node.exec(["argosyctl", "dashboard", "--port=7999"]).err
    finally:
        c.ctl("access grant admin to group:argosy")
        c.ctl("access revoke view to user:viewer")
        c.ctl("access revoke admin to user:root")
    assert "a port from 1 to 65535" in node.exec(["argosyctl", "dashboard", "--port=0"]).err


def test_a_browser_goes_on_when_argosyd_is_started_again(c: Cluster):
    node = c.nodes[2]
    with serving(node) as (address, port), browser_on(node) as page:
        page.go(address)
        eventually(lambda: page.text("#fresh") == "live" and page.text("#health") == "All is well", what="the page is live")
        assert "secret" not in page.run("return location.href + document.cookie")
        c.start("web@1")
        eventually(lambda: "1 running" in page.text("#counts"))
        node.run("systemctl stop argosyd.socket argosyd.service")
        eventually(lambda: "This is as it was" in page.text("#banner"))
        cookie = None
        assert ask(node, port, "/", cookie)[0] == 403
        node.run("systemctl start argosyd.socket argosyd.service")
        eventually(lambda: page.text("#fresh") == "live" and "1 running" in page.text("#counts"), 60)
        assert page.complaints() == []
    assert "is argosyd running" in node.exec(["argosyctl", "--socket=/run/nothing/argosy.sock", "dashboard"]).err


def test_who_is_slow_holds_up_himself_alone(c: Cluster):
    node = c.nodes[0]
    c.submit("many@.service", "[Service]\nExecStart=true\n")
    c.ctl("load many@{1..3000}")
    with serving(node) as (address, port):
        cookie = use(node, address, port)
        head = f"GET /v1/state HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {COOKIE}{cookie}\r\n\r\n"
        slow = [dial(node, port) for _ in range(10)]
        for connection in slow:
            connection.sendall(head.encode())
        silent = [dial(node, port) for _ in range(20)]
        assert ask(node, port, "/v1/nodes", cookie)[0] == 200
        for connection in slow:
            with closing(connection):
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["unit_files"].__len__() >= 3000
        for connection in silent:
            with closing(connection):
                assert connection.recv(100) == b""  # ended after ten seconds
    c.ctl("destroy many@*")


if __name__ == "__main__":
    main(conf=QUICK)
