#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HTTP over TCP: whom a host lets in, and by which name, which certificate it shows, and what becomes of those who say nothing."""

import hashlib
import http.client
import json
import socket
import ssl
import subprocess
import tempfile
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path

from lib import QUICK, Cluster, eventually, main
from over_http import directory, network_of

TLS_PORT, PLAIN_PORT, PROXY_PORT = 8443, 8080, 9443
NOBODY_S = "argosy_" + 43 * "A"  # a token that is like one, and nobody's


def dial(node, port=TLS_PORT, address="127.0.0.1"):
    with network_of(node):
        return socket.create_connection((address, port), timeout=30)


def certificate(node):
    """In PEM, as the node shows it."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(dial(node)) as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(True))


def trusting(node, **limits):
    context = ssl.create_default_context(cadata=certificate(node))
    for name, value in limits.items():
        setattr(context, name, value)
    return context


class Connection(http.client.HTTPConnection):
    """Over TCP, as somebody on that node; with TLS unless it goes to the other port."""

    def __init__(self, node, port=TLS_PORT, name="127.0.0.1", context=None):
        super().__init__(name, port, timeout=30)
        self._node, self._context = node, None if port == PLAIN_PORT else context or trusting(node)

    def connect(self):
        self.sock = dial(self._node, self.port)
        if self._context:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self.host)

    def ask(self, target, method="GET", body=None, headers={}):
        """(status, headers, what it says)"""
        self.request(method, target, body, headers)
        answer = self.getresponse()
        text = answer.read().decode()
        files = target == "/" or target.startswith("/dashboard/")
        assert answer.headers["Cache-Control"] == ("no-cache" if files and answer.status in (200, 304) else "no-store"), target
        return answer.status, answer.headers, json.loads(text) if "json" in (answer.headers["Content-Type"] or "") else text


def ask(node, target, token=None, headers={}, method="GET", body=None, **how):
    with closing(Connection(node, **how)) as connection:
        return connection.ask(target, method, body, headers | ({"Authorization": f"Bearer {token}"} if token else {}))


def status(node, target, *rest, **how):
    return ask(node, target, *rest, **how)[0]


def reload(node):
    node.run("systemctl reload argosyd")


def ask_refused(node, port, address):
    try:
        dial(node, port, address).close()
    except OSError:
        return True
    return False


def is_ended(connection, within):
    """Whether the other side closes it, without a word."""
    connection.settimeout(within)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_how_it_is_anybody_may_ask_and_nothing_else(c: Cluster):
    for node in c.nodes:
        context = trusting(node)
        for port in TLS_PORT, PLAIN_PORT:
            how = {"port": port, "context": context}
            assert ask(node, "/healthz", **how)[::2] == (200, "ok\n")
            assert status(node, "/readyz", **how) == 200
            for target in "/v1/nodes", "/v1/state", "/v1/events", "/metrics", "/v1/nothing", "/dashboard/a/b":
                seen, headers, problem = ask(node, target, **how)
                assert (seen, headers["WWW-Authenticate"], problem["status"]) == (401, "Bearer", 401), (target, problem)
                seen, _, problem = ask(node, target, NOBODY_S, **how)
                assert seen in (401, 404) and NOBODY_S not in str(problem), (target, problem)
            assert status(node, "/v1/jobs", method="POST", body='{"verb":"stop","units":["a"]}', **how,
                          headers={"Content-Type": "application/json"}) == 401
            assert status(node, "/v1/nodes?access_token=" + NOBODY_S, **how) == 400
        assert "argosy_A" not in node.journal("argosyd", lines=200)


def test_the_page_is_anybody_s_who_asks_by_our_name(c: Cluster):
    node = c.nodes[1]
    for port in TLS_PORT, PLAIN_PORT:
        how = {"port": port, "context": trusting(node)}
        for target in "/", "/dashboard/main.js":
            seen, headers, text = ask(node, target, **how)
            assert seen == 200 and text and headers["Content-Security-Policy"].startswith("default-src 'none'; "), (target, headers)
            assert status(node, target, headers={"If-None-Match": headers["ETag"]}, **how) == 304, target
            assert status(node, target, headers={"Host": "rebound.example"}, **how) == 421, target
        assert status(node, "/dashboard/nothing.js", **how) == 404


def test_it_is_asked_for_by_its_names(c: Cluster):
    node = c.nodes[0]
    for name in "127.0.0.1", "127.0.0.1:1", "localhost", node.name, node.name.upper() + ".", node.address:
        assert status(node, "/healthz", headers={"Host": name}) == 200, name
    for name in "rebound.example", "10.255.255.255", "[::1]", "argosy.example.org":
        assert status(node, "/healthz", headers={"Host": name}) == 421, name
    for name in "", "a b", "127.0.0.1:x", "[::1":
        assert status(node, "/healthz", headers={"Host": name}) == 400, name
    before = certificate(node)
    node.write("/etc/argosy/argosy.conf.d/names.conf", "[Http]\nNames=argosy.example.org\nNames=127.0.0.1\n")
    try:
        reload(node)
        assert status(node, "/healthz", headers={"Host": "Argosy.example.org:8443"}) == 200
        assert status(node, "/healthz", headers={"Host": "localhost"}) == 421
        assert certificate(node) != before
        with closing(Connection(node, name="argosy.example.org")) as connection:
            assert connection.ask("/healthz")[0] == 200  # the certificate has that name
    finally:
        node.run("rm /etc/argosy/argosy.conf.d/names.conf")
        reload(node)
    assert status(node, "/healthz", headers={"Host": "localhost"}) == 200


def test_tls_is_new_enough_and_its_key_nobody_else_s(c: Cluster):
    node = c.nodes[0]
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = trusting(node, minimum_version=version, maximum_version=version)
        assert status(node, "/healthz", context=context) == 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = trusting(node, minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    context.set_ciphers("ALL:@SECLEVEL=0")
    try:
        status(node, "/healthz", context=context)
        assert False, "TLS 1.1 is spoken"
    except ssl.SSLError:
        pass
    assert node.run("stat -c %a /var/lib/argosy/http.pem").strip() == "600"
    shown = certificate(node)
    assert shown.strip() in node.run("cat /var/lib/argosy/http.pem")
    assert shown.strip() not in node.run("cat /var/lib/argosy/identity.pem")
    node.run("systemctl restart argosyd")
    eventually(lambda: status(node, "/healthz") == 200)
    assert certificate(node) == shown
    answer = dial(node)
    answer.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")  # in the clear, to who speaks TLS
    assert b"200" not in answer.recv(4096)
    answer.close()


def test_the_own_key_stays_when_the_host_has_another_address(c: Cluster):
    node = c.nodes[0]
    before, shown = c.json("http-certificate", on=node), certificate(node)
    assert before["pem"].strip() == shown.strip() and before["own"] is True
    assert before["sha256"] == hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest()
    assert node.address in before["names"]
    text = c.ctl("http-certificate", on=node)
    assert f"sha256//{before['key_sha256_base64']}" in text and shown.strip() in text
    ssl.create_default_context(cadata=text)  # it can be used as it is
    device, prefix = node.run(f"ip -o addr show to {node.address}").split()[1], "10.77.0.201/24"
    node.run(f"cp /etc/hosts /root/hosts; echo '{node.address} {node.name}.example.org {node.name}' >/etc/hosts")
    try:
        node.write("/etc/argosy/argosy.conf.d/address.conf", "[Node]\nAddress=10.77.0.201\n")
        node.run(f"ip addr add {prefix} dev {device}")
        reload(node)
        eventually(lambda: {"10.77.0.201", "n1.example.org"} <= set(c.json("http-certificate", on=node)["names"]))
        after = c.json("http-certificate", on=node)
        assert after["key_sha256_base64"] == before["key_sha256_base64"] and after["sha256"] != before["sha256"]
        assert set(before["names"]) <= set(after["names"])
        assert after["pem"].strip() == certificate(node).strip()
    finally:
        node.run(f"cp /root/hosts /etc/hosts; rm /etc/argosy/argosy.conf.d/address.conf; ip addr del {prefix} dev {device}")
        reload(node)
    eventually(lambda: f"Others reach this host at {node.address}" in node.journal("argosyd", lines=20))
    assert c.json("http-certificate", on=node)["sha256"] == after["sha256"]  # and back: nothing is missing


def test_a_certificate_of_the_administrator_is_shown_and_read_again(c: Cluster):
    node, other = c.nodes[0], c.nodes[1]
    before = certificate(node)
    given = other.run("cat /var/lib/argosy/http.pem")
    node.write("/etc/argosy/given.pem", given)
    node.write("/etc/argosy/argosy.conf.d/given.conf", "[Http]\nCertificate=/etc/argosy/given.pem\nKey=/etc/argosy/given.pem\n")
    try:
        reload(node)
        assert certificate(node) == certificate(other) != before
        node.write("/etc/argosy/given.pem", given[:100])
        reload(node)
        assert certificate(node) == certificate(other)  # the one before goes on
        eventually(lambda: "/etc/argosy/given.pem has no" in node.journal("argosyd", lines=20))
    finally:
        node.run("rm /etc/argosy/argosy.conf.d/given.conf /etc/argosy/given.pem")
        reload(node)
    assert certificate(node) == before


def test_clear_text_is_refused_where_others_could_read_it(c: Cluster):
    for node in c.nodes:
        assert "Tls=no is refused for 0.0.0.0:8443" in node.run("journalctl -b -u argosyd --no-pager | head -50")


def drips(connection, text):
    """Says a byte now and then; whether the other side ends that in the middle."""
    for byte in text:
        try:
            connection.sendall(bytes([byte]))
        except OSError:
            return True
        if is_ended(connection, 0.5):
            return True
    return False


def test_who_says_nothing_or_little_is_ended_in_ten_seconds(c: Cluster):
    node = c.nodes[0]
    begin = time.monotonic()
    silent, plain, dripping, hello = dial(node), dial(node, PLAIN_PORT), dial(node, PLAIN_PORT), dial(node)
    hello.sendall(b"\x16\x03\x01\x02\x00\x01")  # of a handshake
    half = trusting(node).wrap_socket(dial(node), server_hostname="127.0.0.1")
    half.sendall(b"GET /healthz HTTP/1.1\r\n")
    local = socket.socket(socket.AF_UNIX)
    local.connect(str(directory(node) / "http.sock"))
    local.sendall(b"GET /healthz HTTP/1.1\r\n")
    assert drips(dripping, b"GET /healthz HTTP/1.1\r\nHost: local")
    assert 8 < time.monotonic() - begin < 14, time.monotonic() - begin
    for connection in silent, plain, hello, half, local:
        assert is_ended(connection, 3)
    for connection in silent, plain, dripping, hello, half, local:
        connection.close()
    assert status(node, "/healthz") == 200


# ---- with a token

JSON = {"Content-Type": "application/json"}


def make_token(c, name, right="view", options=""):
    return c.ctl(f"token create --right {right} --name {name} {options}").strip()


def post(node, token, verb, units, more={}, **how):
    return ask(node, "/v1/jobs?wait=30", token, JSON | more, "POST", json.dumps({"verb": verb, "units": units}), **how)


class Stream:
    """Of events, one on a line."""

    def __init__(self, node, headers, context=None):
        self._connection = Connection(node, context=context)
        self._connection.request("GET", "/v1/events?since=0", headers={"Accept": "application/x-ndjson"} | headers)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()

    def next(self):
        """None: that was all."""
        while True:
            line = self._answer.readline()
            if line.strip() or not line:
                return json.loads(line) if line else None

    def read_until(self, told):
        while (event := self.next()) and not told(event):
            pass
        assert event, "the stream has ended"

    def ends(self, within):
        """The problem with which it does."""
        self._connection.sock.settimeout(within)
        events = list(iter(self.next, None))
        self._connection.close()
        assert events, "it says nothing"
        return events[-1]


def test_a_token_may_on_every_host_what_it_was_given(c: Cluster):
    view, operate = make_token(c, "view"), make_token(c, "ci", "operate")
    c.start("web")
    for node in c.nodes:
        context = trusting(node)
        for how in {"context": context}, {"port": PLAIN_PORT}:
            seen, _, said = ask(node, "/v1/units", view, **how)
            assert seen == 200 and [row["unit"] for row in said["units"]] == ["web.service"], said
            for target in "/v1/nodes", "/v1/state", "/v1/jobs", "/metrics":
                assert status(node, target, view, **how) == 200, (node.name, target)
                assert status(node, target, NOBODY_S, **how) == 401, (node.name, target)
            assert post(node, view, "stop", ["web.service"], **how)[0] == 403
        seen, _, said = post(node, operate, "restart", ["web.service"], context=context)
        [job] = said["jobs"]
        assert (seen, job["state"], job["author"]) == (200, "done", f"token:ci@{node.name}"), said
        for secret in view, operate:
            assert secret[len("argosy_"):] not in node.journal("argosyd", lines=500)


def test_a_long_body_is_not_read_for_a_token_that_is_none(c: Cluster):
    token = make_token(c, "long", "operate")
    headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(8 << 20)}
    for node in c.nodes:
        with closing(Connection(node)) as connection:  # nothing of it is sent
            assert connection.ask("/v1/jobs", "POST", headers=headers | {"Authorization": f"Bearer {NOBODY_S}"})[0] == 401
        body = json.dumps({"verb": "stop", "units": ["nothing.service"]}) + " " * (100 << 10)
        seen = ask(node, "/v1/jobs", token, {"Content-Type": "application/json"}, "POST", body)
        assert seen[0] == 404 and "nothing.service" in str(seen[2]), seen
        assert ask(node, "/v1/jobs", NOBODY_S, {"Content-Type": "application/json"}, "POST", body)[0] == 401
    c.ctl("token revoke long")


def test_a_large_document_comes_whole_over_tls(c: Cluster):
    view = make_token(c, "reader")
    c.submit("many@.service", "[Service]\nExecStart=true\n")
    c.ctl("load many@{1..2000}")
    for node in c.nodes:
        with closing(Connection(node)) as connection:

            def tag_of_what_stays():
                """None: something has changed since it was read, a host that was suspect, say."""
                bearer = {"Authorization": f"Bearer {view}"}
                seen, headers, said = connection.ask("/v1/state", headers=bearer)
                assert seen == 200 and len([row for row in said["unit_files"] if "many@" in row["unit"]]) >= 2000
                status = connection.ask("/v1/state", headers=bearer | {"If-None-Match": headers["ETag"]})[0]
                assert status in (200, 304), status
                return headers["ETag"] if status == 304 else None

            for _ in range(2):
                tag = eventually(tag_of_what_stays)
            nobody = {"Authorization": f"Bearer {NOBODY_S}", "If-None-Match": tag}
            assert connection.ask("/v1/state", headers=nobody)[0] == 401  # on the same connection


def test_a_token_that_is_revoked_in_use_loses_its_streams_within_a_second(c: Cluster):
    token, other = make_token(c, "used"), make_token(c, "other")
    contexts = {node.name: trusting(node) for node in c.nodes}
    streams = [(node, Stream(node, {"Authorization": f"Bearer {token}"}, contexts[node.name])) for node in c.nodes for _ in range(2)]
    kept = Stream(c.nodes[0], {"Authorization": f"Bearer {other}"})
    for stream in [*(stream for _, stream in streams), kept]:
        stream.read_until(lambda event: event.get("word") == "complete")
    c.ctl("cordon n3")
    begin = time.monotonic()
    for _, stream in streams:
        stream.read_until(lambda event: event.get("mode") == "cordoned")
    usual = time.monotonic() - begin  # how long it takes on this machine, as busy as it is, to hear something from all of them
    c.ctl("token revoke used")
    begin = time.monotonic()
    for node, stream in streams:
        assert stream.ends(within=30)["status"] == 401, node.name
    took = time.monotonic() - begin
    assert took < 1 + 2 * usual, (took, usual)
    c.ctl("uncordon n3")
    for node in c.nodes:
        for target in "/v1/nodes", "/metrics", "/v1/state":
            seen = [status(node, target, whose, context=contexts[node.name]) for whose in (token, other)]
            assert seen == [401, 200], (node.name, target, seen)
    c.start("after")
    kept.read_until(lambda event: event.get("unit") == "after.service")


def test_a_token_that_expires_in_use_loses_its_streams_too(c: Cluster):
    token = make_token(c, "short", options="--ttl 5s")
    stream = Stream(c.nodes[1], {"Authorization": f"Bearer {token}"})
    assert stream.ends(within=30)["status"] == 401
    [expires_us] = [row["expires_us"] for row in c.json("token list") if row["name"] == "short"]
    assert 0 <= time.time() - expires_us / 1e6 < 5  # and not when the next comment is due
    assert status(c.nodes[1], "/v1/nodes", token) == 401


def log_in(node, token, context):
    seen, headers, _ = ask(node, "/v1/login", None, JSON | {"Origin": f"https://127.0.0.1:{TLS_PORT}"}, "POST",
                           json.dumps({"token": token}), context=context)
    return seen, (headers["Set-Cookie"] or "").split(";")[0]


def test_a_browser_goes_on_with_a_cookie(c: Cluster):
    token = make_token(c, "browser", "operate")
    c.start("web")
    origin = {"Origin": f"https://127.0.0.1:{TLS_PORT}"}
    for node in c.nodes:
        context = trusting(node)
        assert log_in(node, NOBODY_S, context) == (401, "")
        seen, cookie = log_in(node, token, context)
        assert seen == 204 and cookie.startswith("__Host-argosy=") and token not in cookie
        page = {"Cookie": cookie}
        assert status(node, "/v1/units", headers=page, context=context) == 200
        assert status(node, "/v1/units", headers=page, port=PLAIN_PORT) == 401
        for more, wanted in ({}, 403), ({"Origin": "https://evil.example"}, 403), (origin, 200):
            assert post(node, None, "restart", ["web.service"], context=context, more=page | more)[0] == wanted
        stream = Stream(node, page, context)
        assert status(node, "/v1/logout", None, page | origin, "POST", context=context) == 204
        assert status(node, "/v1/units", headers=page, context=context) == 401
        assert stream.ends(within=20)["status"] == 401
    _, cookie = log_in(node, token, context)
    c.ctl("token revoke browser")
    assert status(node, "/v1/units", headers={"Cookie": cookie}, context=context) == 401
    assert cookie.split("=")[1] not in node.journal("argosyd", lines=500)


def answered(node):
    """A connection on which a request was answered; None: nobody is let in, since the places of others are not free yet."""
    connection = dial(node, PLAIN_PORT)
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if connection.recv(4096).startswith(b"HTTP/1.1 200 "):
            return connection
    except ConnectionError:
        pass
    connection.close()
    return None


def test_connections_have_a_limit_for_each_address(c: Cluster):
    node = c.nodes[0]
    connections = []
    try:
        for _ in range(64):
            connections.append(eventually(lambda: answered(node), what="somebody is let in"))
        with dial(node, TLS_PORT, node.address) as from_another:
            assert not is_ended(from_another, 0.5)
        assert not is_ended(connections[0], 0.5)
        with dial(node, TLS_PORT):  # for the one that has been idle for longest
            assert is_ended(connections[0], 20)
            assert not is_ended(connections[-1], 0.5)
    finally:
        for connection in connections:
            connection.close()
    eventually(lambda: status(node, "/healthz") == 200)


# ---- behind a proxy

NGINX = """
daemon off;
pid {directory}/pid;
error_log {directory}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen {address}:{port} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {certificate};
        location / {{
            proxy_pass http://127.0.0.1:{to};
            proxy_http_version 1.1;
            proxy_buffering off;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Host $http_host;
        }}
    }}
}}
"""


@contextmanager
def nginx_on(node):
    """In the network of the node, in front of its loopback address."""
    certificate = f"/proc/{node.init_pid()}/root/var/lib/argosy/http.pem"
    with tempfile.TemporaryDirectory(prefix="argosy-nginx-") as directory:
        conf = Path(directory) / "conf"
        conf.write_text(NGINX.format(directory=directory, address=node.address, port=PROXY_PORT, certificate=certificate, to=PLAIN_PORT))
        with network_of(node):
            nginx = subprocess.Popen(["/usr/sbin/nginx", "-e", f"{directory}/error.log", "-c", conf], stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            nginx.terminate()
            nginx.wait()


class ByProxy(Connection):
    def __init__(self, node, context):
        super().__init__(node, PROXY_PORT, node.address, context)

    def connect(self):
        self.sock = self._context.wrap_socket(dial(self._node, PROXY_PORT, self._node.address), server_hostname=self.host)


def test_behind_a_proxy_that_is_trusted_everything_is_as_without(c: Cluster):
    node = c.nodes[0]
    context = trusting(node)

    def by_proxy(*what, **how):
        with closing(ByProxy(node, context)) as connection:
            return connection.ask(*what, **how)

    token = make_token(c, "proxied", "operate")
    c.start("web")
    here = {"Origin": f"https://{node.address}:{PROXY_PORT}"}
    log_in_there = ("/v1/login", "POST", json.dumps({"token": token}), JSON | here)
    restart = ("/v1/jobs?wait=30", "POST", json.dumps({"verb": "restart", "units": ["web.service"]}))
    with nginx_on(node):
        eventually(lambda: not ask_refused(node, PROXY_PORT, node.address), what="nginx listens")
        assert by_proxy(*log_in_there)[0] == 403  # nobody is believed that TLS was spoken in front of it
        node.write("/etc/argosy/argosy.conf.d/proxy.conf", "[Http]\nTrustedProxy=127.0.0.1\n")
        try:
            reload(node)
            assert by_proxy("/v1/units", headers={"Authorization": f"Bearer {token}"})[0] == 200
            seen, headers, _ = by_proxy(*log_in_there)
            assert seen == 204, seen
            page = {"Cookie": headers["Set-Cookie"].split(";")[0]}
            assert by_proxy("/v1/units", headers=page)[0] == 200
            assert by_proxy(*restart, JSON | page | {"Origin": "https://evil.example"})[0] == 403
            assert by_proxy(*restart, JSON | page | here)[0] == 200
            streams = [ByProxy(node, context) for _ in range(70)]  # more than one address has
            for stream in streams:
                stream.request("GET", "/v1/events?since=0", headers=page)
            assert [stream.getresponse().status for stream in streams] == 70 * [200]
            assert by_proxy("/v1/units", headers=page)[0] == 200
            assert status(node, "/healthz", port=PLAIN_PORT) == 200
            for stream in streams:
                stream.close()
        finally:
            node.run("rm /etc/argosy/argosy.conf.d/proxy.conf")
            reload(node)
    c.ctl("token revoke proxied")


def test_who_asks_nowhere_else_still_has_the_socket(c: Cluster):
    for node in c.nodes:
        assert (directory(node) / "http.sock").exists()


if __name__ == "__main__":
    main(conf=[*QUICK, f"Http.Listen=0.0.0.0:{TLS_PORT} 127.0.0.1:{PLAIN_PORT}", "Http.Tls=no"])
