# SPDX-License-Identifier: LGPL-2.1-or-later
"""What stands beside argosy: one plain pipelined client per node, all at the same time, 8 jobs in flight.

Its units are argosy's under another name, on the same nodes with the same files, so drop-ins and slices are the same. The files
are in place before it begins. argosyd does not run meanwhile: a second listener would make systemd, and so the baseline, slower.
"""

import subprocess
from contextlib import contextmanager

from bench import LONG_S, PROGRAMS, Failure

WINDOW = 8
DIRECTORY = "/run/systemd/system"


@contextmanager
def without_argosyd(bench):
    """On no node does argosyd run; afterwards all are a cluster again."""
    for node in bench.nodes:
        node.run("systemctl stop argosyd.socket argosyd.service")
    yield
    for node in bench.nodes:
        node.run("systemctl start argosyd.socket argosyd.service")
    bench.wait_whole()


class Plain:
    """Plain clients for the instances of a template that argosy has active on the nodes now."""

    def __init__(self, bench, template="load", twin="plain"):
        self._nodes, self._twin, self._copies, self._names = bench.nodes, twin, f"/root/copies-{twin}", {}
        self.cpu_us = {}
        for node in self._nodes:
            node.run(f"mkdir {self._copies} && cd {DIRECTORY} && "
                     f"for f in {template}@*; do cp -a $f {self._copies}/{twin}@${{f#{template}@}}; done", timeout=LONG_S)
            units = node.run(f"systemctl list-units --plain --no-legend --full '{template}@*' | cut -d' ' -f1").split()
            self._names[node.name] = [unit.replace(f"{template}@", f"{twin}@") for unit in units]

    def put_files(self):
        for node in self._nodes:
            node.run(f"cp -a {self._copies}/. {DIRECTORY}/ && systemctl daemon-reload", timeout=LONG_S)

    def remove_files(self):
        for node in self._nodes:
            node.run(f"rm -rf {DIRECTORY}/{self._twin}@* && systemctl daemon-reload", timeout=LONG_S)

    def run(self, verb):
        """Seconds from the first client's first job to the last one's last. cpu_us[verb] is then the CPU time that the clients
        took for each unit, in microseconds."""
        clients = [run_client(node, verb, self._names[node.name]) for node in self._nodes]
        wall, cpu = results(clients, f"{self._twin} {verb}")
        self.cpu_us[verb] = cpu * 1e6 / sum(map(len, self._names.values()))
        return wall


def run_client(node, verb, names):
    where = [DIRECTORY] if verb == "destroy" else []
    return subprocess.Popen(node.command([f"{PROGRAMS}/plain-client", verb, str(WINDOW), *where, *names]),
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def span(clients, what):
    """Waits for the clients: seconds from the first beginning to the last end."""
    return results(clients, what)[0]


def results(clients, what):
    """Waits for the clients: seconds from the first beginning to the last end, and seconds of CPU time of all of them."""
    spans = []
    for client in clients:
        out, err = client.communicate()
        if client.returncode != 0:
            raise Failure(f"{what}: {err.strip()}")
        spans.append([float(word) for word in out.split()])
    return max(end for _, end, _ in spans) - min(begin for begin, _, _ in spans), sum(cpu for _, _, cpu in spans)
