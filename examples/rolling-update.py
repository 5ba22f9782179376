#!/usr/bin/env python3
"""rolling-update.py TEMPLATE FILE: gives the instances of a template new content, one after the other, and follows it.

    ./rolling-update.py web@.service ./web@.service
"""
import http.client
import json
import os
import socket
import sys


class Argosy(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ.get("ARGOSY_SOCKET", "/run/argosy/http.sock"))

    def ask(self, method, target, body=None):
        self.request(method, target, body and json.dumps(body), {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
        answer = self.getresponse()
        if answer.status >= 300:
            sys.exit(json.load(answer)["detail"])
        return answer


template, path = sys.argv[1:]
job = json.load(Argosy("argosy").ask("POST", "/v1/jobs", {"verb": "update", "unit": template, "files": {template: open(path).read()}}))["job"]
for line in Argosy("argosy").ask("GET", f"/v1/events?since=@{job}&kind=job&kind=rollout"):
    event = json.loads(line) if line.strip() else {}
    print({key: event[key] for key in ("kind", "state", "phase", "unit", "done", "total") if key in event})
    if event.get("kind") == "job" and event["job"] == job and event["state"] not in ("running", "held"):
        sys.exit(event["state"] != "done")
