#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""HTTP as /v1/openapi.json says: whatever is asked, proper or not, is answered as it stands there, and with nothing else.

What is asked is made up from the document: every path and method, parameters, headers and bodies of their types and of others. It is
the same each time; ARGOSY_SEED=N asks other things, and ARGOSY_ROUNDS=N more of them."""

import json
import os
import random
import urllib.parse

import jsonschema
from lib import QUICK, SLEEPER, Cluster, eventually, main
from over_http import Connection, Events, ask, change, get, refuses

SEED, ROUNDS = int(os.environ.get("ARGOSY_SEED", 1)), int(os.environ.get("ARGOSY_ROUNDS", 12))

# What may be asked with each parameter, and for each thing.
PARAMETERS = {"pattern": "web@*", "node": "n1", "author": "root", "limit": 3, "label": "disk=none", "wait": 1, "kind": "unit",
              "lines": 2, "follow": "false", "from": 1, "to": 2, "rev": "0" * 64}

# What means something, under names that say nothing of that to who knows only their type.
WORDS = {"name": ["web@1.service", "web@.service", "nobody.service", "made.timer", "a b.service"], "pattern": ["web@*", "nobody.service", "[", "*"],
         "state": ["running", "done", "nowhere"], "node": ["n1", "n2", "n9"], "label": ["zone=a", "zone", "=a"], "author": ["root", "*@n1"],
         "kind": ["unit", "job", "nothing"], "rev": ["0" * 64, "abcd"], "since": ["0", "@1", "@0", "nonsense"], "page": ["p0", "nonsense"],
         "Idempotency-Key": ["k1", "k2", "k3", "k" * 64, "k" * 65, "\u00e9"], "If-Match": ['"1"', '"999999"', "1", '"x"'],
         "If-None-Match": ['"x"', "*", "nonsense"], "Last-Event-ID": ["nonsense", "0"]}
MEMBERS = {"units": ["web@1.service", "web@2.service", "other.service", "nobody.service", "no name"], "unit": ["web@.service", "other.service", "x"],
           "nodes": ["n1", "n2", "n9"], "node": ["n1", "n9"], "patterns": ["web@*", "*"], "right": ["view", "operate", "dance"],
           "who": ["user:ann", "group:web@n1", "ann"], "role": ["web", "other"], "pool": ["left"], "ttl": ["1h", "soon"], "deadline": ["1s", "never"],
           "health": ["0s", "1s", "x"], "revs": ["abcd", "0123456789abcdef"], "tokens": ["ci", "none"], "name": ["ci", "a b"], "hash": ["0" * 64, "0"],
           "unset": ["zone", "disk"], "action": ["hold", "refuse"], "max-unavailable": ["1", "50%", "many"], "reason": ["a test", ""]}
FILES = {"web@.service": SLEEPER, "other.service": SLEEPER, "broken.service": "[Service\n", "no name": ""}


class Document:
    """The description, and what is to be said of an answer by it: no member that is not described is let pass."""

    def __init__(self, text):
        self.text, self._strict, self._validators = text, {"schemas": strict(text["components"]["schemas"])}, {}

    def answer(self, operation, status):
        responses = operation["responses"]
        found = responses.get(str(status)) or (responses["default"] if 400 <= status < 500 or status == 501 else None)
        assert found, f"{status} is nowhere in the description"
        while "$ref" in found:
            found = self.text["components"]["responses"][found["$ref"].rpartition("/")[2]]
        return found

    def fits(self, schema, said):
        key = json.dumps(schema)
        if key not in self._validators:
            self._validators[key] = jsonschema.Draft202012Validator(strict(schema) | {"components": self._strict})
        self._validators[key].validate(said)

    def takes(self, name, said):
        try:
            self.fits({"$ref": f"#/components/schemas/{name}"}, said)
        except jsonschema.ValidationError:
            return False
        return True


def strict(schema):
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {}
    if schema.get("$ref", "").startswith("#/components/schemas/event_"):
        more = {"unevaluatedProperties": False}
    elif isinstance(schema.get("properties"), dict) and "$ref" not in schema and "description" not in schema:  # a row of an event has one
        more = {"additionalProperties": False}
    return {key: strict(part) for key, part in schema.items()} | (more if "additionalProperties" not in schema else {})


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line]


def is_as_described(document, operation, answer, text):
    """Status, type, headers and body of an answer; what it says."""
    described, kind = document.answer(operation, answer.status), (answer.headers["Content-Type"] or "").split(";")[0]
    said = text
    assert not text or kind in described.get("content", {}), f"{kind} is not described"
    assert answer.headers["Cache-Control"] == "no-store"
    schema = described.get("content", {}).get(kind, {}).get("schema")
    if text and "json" in kind:
        said = lines_of(text) if "ndjson" in kind else json.loads(text)
        for part in said if "ndjson" in kind else [said]:
            document.fits(schema or {}, part)
    if answer.status >= 400:
        assert kind == "application/problem+json" and said["status"] == answer.status, said
    for status, header in [(401, "WWW-Authenticate"), (405, "Allow"), (503, "Retry-After")]:
        assert (answer.status == status) == (header in answer.headers), header
    for header in ("ETag", "Link", "Location"):
        assert header not in answer.headers or header in described.get("headers", {}), f"{header} is not described"
    if isinstance(said, dict) and answer.status < 300:
        assert ("next" in said) == ("Link" in answer.headers)
        assert not said.get("job") or answer.headers["Location"] == f"/v1/jobs/{said['job']}"
    return said


def answers_as_described(node, document, path, job):
    """A GET of each parameter alone: its type and shape are those that it is to have."""
    operation = document.text["paths"][path]["get"]
    target = path.replace("{name}", "web@1.service").replace("{number}", str(job))
    values = PARAMETERS | {"at": job, "state": "online" if path in ("/v1/nodes", "/v1/hosts") else "failed"}
    told = [(p["required"], f"{p['name']}={values[p['name']]}")
            for p in operation["parameters"] if p["in"] == "query" and p["name"] not in ("since", "page")]
    always = "?" + "&".join(words for required, words in told if required)
    for query in [always, *(f"{always}&{words}" for required, words in told if not required)]:
        connection = Connection(node)
        connection.request("GET", target + query)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, f"{target}{query}: {answer.status} {text}"
        is_as_described(document, operation, answer, text)
        connection.close()
    refuses(node, target + "?nobody=knows", 400, "no such parameter")


def answers(node):
    try:
        return ask(node, "/readyz")[0] == 200
    except OSError:
        return False


def test_each_thing_with_each_parameter(c: Cluster):
    node = c.node("n2")
    c.start("web@{1..3}")
    eventually(lambda: answers(node), what="argosyd is a member, and back")
    document = Document(get(node, "/v1/openapi.json"))
    assert document.text["openapi"] == "3.1.0" and document.text["info"]["version"] in node.run("argosyctl --version")
    for path, described in document.text["paths"].items():
        if "get" in described and path != "/v1/events":
            answers_as_described(node, document, path, c.json("list-jobs")[0]["job"])
    since = get(node, "/v1/state")["cursor"]
    body = {"verb": "stop", "units": ["web@1.service"], "reason": "as described"}
    assert document.takes("change", body)
    for wait, schema in [(None, "units_of_a_job"), (60, "job")]:
        said = change(node, **body, wait=wait)
        assert document.takes(schema, said), said
        document.fits(document.text["paths"]["/v1/jobs"]["post"]["responses"]["200" if wait else "202"]["content"]["application/json"]["schema"], said)
    assert document.takes("state_changes", get(node, f"/v1/state?since={since}"))
    events = Events(node, "?since=0")
    while (event := events.next()) and event.get("word") != "complete":
        assert document.takes("event", event), event
    events.close()
    for wrong in ({"verb": "stop", "replace": True}, {"verb": "dance"}, {"units": ["web@1.service"]}, {"verb": "stop", "units": "web@1"}):
        refuses(node, "/v1/jobs", 400, method="POST", body=json.dumps(wrong), headers={"Content-Type": "application/json"})
        assert not document.takes("change", wrong), f"{wrong} would be described as proper"


class Asker:
    """Makes up what is asked; half of it with care, as somebody would who knows what he wants. `wrong`: something of it is not as
    described, so it is to be refused."""

    def __init__(self, document, seed, cursor, job):
        self.random, self._document = random.Random(seed), document
        self._words = WORDS | {"since": [cursor, *WORDS["since"]], "Last-Event-ID": [cursor, *WORDS["Last-Event-ID"]]}
        self._jobs, self._careful = [job, 1, 999999], False

    def chance(self, of_a_hundred):
        return self.random.randrange(100) < of_a_hundred

    def choose(self, words):
        return words[0] if self._careful else self.random.choice(words)

    def goes_wrong(self, of_a_hundred):
        return not self._careful and self.chance(of_a_hundred)

    def odd(self):
        return self.random.choice(["", "\u00fc", "%", "x" * 300, "a/b", "-1", "1e3", "null", "true", "{}", "'", "\x01"])

    def parameter(self, described):
        """(its text, whether that is of another type)"""
        schema, name = described["schema"], described["name"]
        kind = schema["type"]
        if kind in ("integer", "boolean") and self.goes_wrong(25):
            return self.random.choice(["x", "-1", "1.5", "0x10", "99999999999999999999"]), True
        if kind == "integer":
            least, most = schema["minimum"], schema["maximum"]
            known = self._jobs if most > 100000 else [least, min(most, 3)]
            known = [1] if name == "wait" else known
            return str(self.choose(known)), False
        if kind == "boolean":
            return "false", False
        return (self.odd() if self.goes_wrong(15) else self.choose(self._words[name])), False

    def target(self, path, operation, careful=False):
        query, headers, wrong = [], {}, False
        self._careful = careful or self.chance(50)
        for p in operation["parameters"]:
            if self._careful and p["name"] in ("page", "Idempotency-Key", "If-Match"):  # which have to be right
                continue
            if p["in"] != "path" and not p["required"] and not self.chance(10 if p["name"] == "wait" else 30):
                continue
            text, is_wrong = self.parameter(p)
            if p["in"] == "path" and path.startswith("/v1/secrets/"):
                text = self.choose(["db", "other", "a b", ".db"])
            if p["in"] == "path":
                path = path.replace("{" + p["name"] + "}", urllib.parse.quote(text, safe="" if self.chance(50) else "@"))
            elif p["in"] == "query":
                query.append(f"{p['name']}={urllib.parse.quote(text)}")
            elif text.isprintable():
                headers[p["name"]] = text.encode()
            wrong |= is_wrong
        if self.goes_wrong(10):
            query.append(self.random.choice(["nobody=knows", "limit", "=", "wait=%zz", "pattern=%00", "pattern=%ff"]))
            wrong = True
        return path + ("?" + "&".join(query) if query else ""), headers, wrong

    def value(self, verb, name, schema):
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "boolean":
            return self.chance(50)
        if kind == "integer":
            return 2 if verb == "cluster voters" else self.choose([*self._jobs, 0, 3])
        if kind == "array":
            return [self.value(verb, name, schema["items"]) for _ in range(1 if self._careful else self.random.randrange(3))]
        if name == "rule":
            return {"action": self.random.choice(["hold", "limit"]), "limit": 3, "verb": "nothing"}
        if name in ("guarantee", "limit"):
            return {"cpu": self.choose(["0.1", "much"])}
        if kind == "object":
            if name != "files":
                return {"zone": "a"}
            return {"other.service": SLEEPER} if self._careful else {name: text for name, text in FILES.items() if self.chance(40)}
        return "n9" if verb.startswith("cluster ") else self.choose(MEMBERS.get(name, ["x"]))

    def operation(self, schema):
        """A body of that schema, often one that is refused."""
        described = self._document.text["components"]["schemas"][schema]
        described = self.random.choice(described["oneOf"]) if "oneOf" in described else described
        members = described["properties"]
        verb = members["verb"]["const"] if "verb" in members else ""
        body = {name: self.value(verb, name, schema) for name, schema in members.items() if name != "verb" and self.chance(60)}
        body |= {"verb": verb} if verb else {}
        if self.goes_wrong(20):
            body[self.random.choice([*members, "colour"])] = self.random.choice([None, 17.5, [[]], {"": {}}, "", True])
        return body

    def body(self, operation):
        """(type, text, whether it is none of those that are described)"""
        content = operation["requestBody"]["content"]
        kind = self.random.choice([*content])
        if "schema" not in content[kind]:
            return kind, self.choose([SLEEPER, SLEEPER + "# other\n", "[Service", ""]).encode(), False
        schema = content[kind]["schema"]["$ref"].rpartition("/")[2]
        if schema == "login":
            return kind, b'{"token":"argosy_x"}', False
        if self.goes_wrong(15):
            return self.random.choice([(kind, b"{", True), (kind, b"[]", True), (kind, b'{"verb":"\xff"}', True), (kind, b"[" * 100, True),
                                       ("text/html", b"{}", True), (kind, b'{"verb":"stop","verb":"stop"}', True)])
        made = [self.operation(schema) for _ in range(self.random.randrange(1, 4) if "ndjson" in kind else 1)]
        text = "\n".join(json.dumps(operation) for operation in made).encode()
        return kind, text, not all(self._document.takes(schema, operation) for operation in made)


def asks(document, node, asker, path, method, operation, careful=False):
    target, headers, wrong = asker.target(path, operation, careful)
    body = None
    if "requestBody" in operation:
        headers["Content-Type"], body, is_wrong = asker.body(operation)
        wrong |= is_wrong
    elif method == "get" and asker.chance(50):
        headers["Accept"] = "application/x-ndjson"
    shown, text = f"{method.upper()} {target} {headers} {body}", ""
    connection = Connection(node)
    try:
        connection.request(method.upper(), target, body, headers)
        answer = connection.getresponse()
        streams = path == "/v1/events" and answer.status == 200
        text = "" if streams else answer.read().decode()
        said = is_as_described(document, operation, answer, text)
        assert not wrong or 400 <= answer.status < 500, f"{answer.status} {said}, and it was not as described"
    except (AssertionError, jsonschema.ValidationError, ValueError, OSError) as error:
        raise AssertionError(f"{shown}: {error}\n{text}") from error
    finally:
        connection.close()
    return answer.status


def test_whatever_is_asked(c: Cluster):
    c.start("web@{1..3} other")
    document, seen = Document(get(c.node("n2"), "/v1/openapi.json")), {}
    asker = Asker(document, SEED, get(c.nodes[0], "/v1/state")["cursor"], c.json("list-jobs")[0]["job"])
    for path, operations in document.text["paths"].items():  # while all that can be asked for is there
        if "get" in operations:
            seen[f"get {path}"] = [asks(document, c.nodes[0], asker, path, "get", operations["get"], careful=True)]
    for i in range(ROUNDS):
        for path, operations in document.text["paths"].items():
            for method, operation in operations.items():
                for _ in range(5 if method == "post" else 1):
                    status = asks(document, c.nodes[i % 2], asker, path, method, operation)
                    seen.setdefault(f"{method} {path}", []).append(status)
        refuses(c.nodes[i % 2], "/v1/nothing", 404)
    for what, statuses in seen.items():
        good = 204 if what.endswith("login") or what.endswith("logout") else 200
        assert good == 204 or any(200 <= status < 300 for status in statuses), f"{what} was never answered well: {statuses}"
    assert ask(c.nodes[0], "/healthz")[0] == ask(c.nodes[1], "/readyz")[0] == 200


if __name__ == "__main__":
    main(nodes=2, voters=1, conf=QUICK)
