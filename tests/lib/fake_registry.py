# SPDX-License-Identifier: LGPL-2.1-or-later
"""A registry of images that misbehaves when it is told to.

    registry = FakeRegistry(bed)                    at registry.address, as nodes reach it
    registry.publish("box:1", "first")              an index with an image of each of ARCHITECTURES; returns its digest
    with registry.doing("half"): ...                see FAULTS
    registry.stop() ... registry.start()            a registry that is gone, and back

It answers what podman and skopeo ask: manifests and blobs, by GET and HEAD. asked() tells what that was.
"""

import contextlib
import gzip
import hashlib
import io
import json
import platform
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 5003
OF_THIS_MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
ARCHITECTURES = (OF_THIS_MACHINE, "s390x")
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

FAULTS = {
    "hangs": "takes every question and answers none",
    "hangs-in-layers": "sends half of each layer and then nothing more",
    "half": "ends each connection in the middle of a layer",
    "lies": "has other bytes than the digest of a layer says",
    "lies-in-manifests": "answers a question by digest with another manifest",
    "wants-credentials": "answers nobody without the credentials somebody:password",
    "wants-credentials-for-layers": "the same, and gives manifests to everybody",
    "floods": "sends a manifest that does not end",
}
CREDENTIALS = "Basic c29tZWJvZHk6cGFzc3dvcmQ="


def digest_of(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _json(value):
    return json.dumps(value, sort_keys=True).encode()


def layer(program, padding):
    """A root file system with a shell, and so many bytes that cannot be compressed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        _add(tar, "bin/busybox", program, 0o755)
        for name in ["sh", "sleep", "cat", "echo"]:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        if padding:
            _add(tar, "padding", _noise(padding), 0o644)
    return packed.getvalue()


def _add(tar, name, content, mode):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    tar.addfile(info, io.BytesIO(content))


def _noise(size):
    return hashlib.shake_128(b"padding").digest(size)


class FakeRegistry:
    def __init__(self, bed):
        self._bed, self._program = bed, bed.nodes[0].path("/bin/busybox").read_bytes()
        self._server, self.fault, self._asked, self._quiet = None, None, [], threading.Event()
        self.manifests, self.blobs, self.tags = {}, {}, {}  # {digest: (type, bytes)}, {digest: bytes}, {(name, tag): digest}
        self._layers = {}
        self.start()

    def start(self):
        if self._server:
            return
        socket = self._bed.listen(PORT)
        self.address = "{}:{}".format(*socket.getsockname())
        self._server = Server(self, socket)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        """Nobody listens any more; what is under way is cut off."""
        self._quiet.set()
        self._server.shutdown()
        self._server.server_close()
        self._server, self._quiet = None, threading.Event()

    @contextlib.contextmanager
    def doing(self, fault):
        assert fault in FAULTS
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None
            self._quiet.set()
            self._quiet = threading.Event()

    def asked(self):
        """What was asked for since the last time: "manifests/TAG or DIGEST", "blobs/DIGEST"."""
        found, self._asked = self._asked, []
        return found

    def publish(self, image, word, architectures=ARCHITECTURES, padding=0):
        name, _, tag = image.partition(":")
        plain = self._layers.get(padding) or self._pack(padding)
        entries = []
        for architecture in architectures:
            config = self._blob(_json({
                "architecture": architecture, "os": "linux", "config": {"Cmd": ["/bin/sleep", "infinity"], "Labels": {"word": word}},
                "rootfs": {"type": "layers", "diff_ids": [plain["plain"]]}}))
            manifest = self._manifest(MANIFEST, {
                "schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": CONFIG, **config},
                "layers": [{"mediaType": LAYER, **plain["packed"]}]})
            entries.append({"mediaType": MANIFEST, **manifest, "platform": {"architecture": architecture, "os": "linux"}})
        index = self._manifest(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries})
        self.tags[name, tag] = index["digest"]
        return index["digest"]

    def _pack(self, padding):
        content = layer(self._program, padding)
        self._layers[padding] = {"plain": digest_of(content), "packed": self._blob(gzip.compress(content, 1, mtime=0))}
        return self._layers[padding]

    def _blob(self, content):
        self.blobs[digest_of(content)] = content
        return {"digest": digest_of(content), "size": len(content)}

    def _manifest(self, kind, value):
        content = _json(value)
        self.manifests[digest_of(content)] = (kind, content)
        return {"digest": digest_of(content), "size": len(content)}

    def layers(self):
        return [digest for digest in self.blobs if self.blobs[digest][:2] == b"\x1f\x8b"]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, registry, socket):
        super().__init__(socket.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.registry = socket, registry

    def handle_error(self, request, address):
        pass  # a client that goes away


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass

    def _answer(self):
        self.registry = self.server.registry
        _, _, path = self.path.partition("/v2/")
        name, kind, what = _split(path)
        if kind:
            self.registry._asked.append(f"{kind}/{what}")
        if self.registry.fault == "hangs":
            self._hang()
        elif self._is_denied(kind):
            self._send(401, "application/json", _json({"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}),
                       [("WWW-Authenticate", 'Basic realm="fake"')])
        elif not kind:
            self._send(200, "application/json", b"{}")
        elif kind == "manifests":
            self._send_manifest(name, what)
        else:
            self._send_blob(what)

    def _is_denied(self, kind):
        fault = self.registry.fault
        return (fault == "wants-credentials" or (fault == "wants-credentials-for-layers" and kind == "blobs")) \
            and self.headers.get("Authorization") != CREDENTIALS

    def _send_manifest(self, name, what):
        digest = what if what.startswith("sha256:") else self.registry.tags.get((name, what))
        if digest not in self.registry.manifests:
            self._send_unknown("MANIFEST_UNKNOWN", "manifest unknown")
            return
        kind, content = self.registry.manifests[digest]
        if self.registry.fault == "lies-in-manifests" and what.startswith("sha256:"):
            content = content.replace(b'"schemaVersion"', b' "schemaVersion"')
        if self.registry.fault == "floods" and self.command == "GET":
            self._flood(kind)
            return
        self._send(200, kind, content, [("Docker-Content-Digest", digest)])

    def _send_blob(self, digest):
        content = self.registry.blobs.get(digest)
        if content is None:
            self._send_unknown("BLOB_UNKNOWN", "blob unknown")
            return
        fault = self.registry.fault if digest in self.registry.layers() else None
        if fault == "lies":
            content = bytes([*content[:-1], content[-1] ^ 1])
        if fault in ("half", "hangs-in-layers"):
            self._begin(200, "application/octet-stream", len(content))
            self.wfile.write(content[:len(content) // 2])
            self.wfile.flush()
            if fault == "hangs-in-layers":
                self._hang()
            self.close_connection = True
            return
        begin = self.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
        if begin:  # the rest of what has broken off
            self._send(206, "application/octet-stream", content[int(begin):], [("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")])
            return
        self._send(200, "application/octet-stream", content)

    def _send_unknown(self, code, words):
        self._send(404, "application/json", _json({"errors": [{"code": code, "message": words}]}))

    def _flood(self, kind):
        self._begin(200, kind, 1 << 40)
        while not self.registry._quiet.is_set():
            self.wfile.write(b'{"schemaVersion": 2, "padding": "' + b"x" * (1 << 20))

    def _hang(self):
        self.registry._quiet.wait()
        self.close_connection = True

    def _begin(self, status, kind, size, headers=()):
        self.send_response(status)
        for key, value in [("Content-Type", kind), ("Content-Length", str(size)), ("Docker-Distribution-Api-Version", "registry/2.0"), *headers]:
            self.send_header(key, value)
        self.end_headers()

    def _send(self, status, kind, content, headers=()):
        self._begin(status, kind, len(content), headers)
        if self.command != "HEAD":
            self.wfile.write(content)


def _split(path):
    """"NAME/manifests/WHAT" -> its three words."""
    for kind in ("manifests", "blobs"):
        name, found, what = path.partition(f"/{kind}/")
        if found:
            return name, kind, what
    return None, None, None


def let_nodes_in(registry, nodes):
    """They take it as it is, without TLS."""
    for node in nodes:
        node.write("/etc/containers/registries.conf.d/fake.conf", f'[[registry]]\nlocation="{registry.address}"\ninsecure=true\n')


__all__ = ["ARCHITECTURES", "FAULTS", "FakeRegistry", "let_nodes_in"]
