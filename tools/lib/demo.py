# SPDX-License-Identifier: LGPL-2.1-or-later
"""demo - three machines become one systemd, undo a bad change, lose a machine and then their leader, and carry on

Builds argosy, boots three nodes (containers with a systemd of their own, on a network of their own), and shows on them what
argosy is for. Nothing of it is left afterwards, unless --keep is given.
"""

import argparse
import os
import subprocess
import sys
import time

from testbed import Cluster, Failure, Testbed
from testbed.host import SOURCE, run

EXAMPLES = ["web.service", "worker@.service", "hello-once.service", "monitor.service"]
SHOP = SOURCE / "examples/shop"
WORKERS = 12
PATIENCE_S = 60
POLL_S = 0.02

WEB_CLIENT = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=1).read().decode().strip())"


class Screen:
    """What the viewer sees: numbered chapters, commands with their output, and events with the time they took."""

    def __init__(self):
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._chapters = 0

    def _paint(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def _line(self, text=""):
        print(text, flush=True)

    def chapter(self, title):
        self._chapters += 1
        self._line(f"\n{self._paint('1;36', f'{self._chapters}. {title}')}\n")

    def tell(self, text):
        self._line(f"   {text}")

    def event(self, seconds, text):
        self._line(f"   {self._paint('33', f'{seconds:6.2f} s')}  {text}")

    def good(self, seconds, text):
        self.event(seconds, self._paint("32", text))

    def command(self, node, text):
        self._line(f"\n   {self._paint('2', f'{node}#')} {self._paint('1', text)}")

    def output(self, text):
        for line in text.rstrip().splitlines():
            self._line(f"   {line}")
        self._line()


class Stopwatch:
    def __init__(self):
        self._began = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self._began

    def until(self, what, condition):
        """Waits for the condition, whose value is returned. A node that cannot answer yet has not said yes."""
        while True:
            try:
                seen = condition()
                if seen:
                    return seen
            except Failure as reason:
                seen = reason
            if self.seconds > PATIENCE_S:
                raise Failure(f"{what}: not within {PATIENCE_S} s (last seen: {seen})")
            time.sleep(POLL_S)


class Demo:
    def __init__(self, screen, cluster):
        self.screen, self.cluster = screen, cluster

    def show(self, command, on=None):
        """A command as the viewer could type it, and what it prints. Braces are expanded, as a shell would."""
        node = on or self.cluster.running_nodes[0]
        self.screen.command(node.name, command)
        result = node.exec(["bash", "-c", command])
        self.screen.output(result.out + result.err)
        if result.status != 0:
            raise Failure(f"{command}: exit status {result.status}")

    def web_says(self, unit="web", port=8080):
        """What the web server answers to a client outside all nodes, or None."""
        node = next(iter(self.cluster.active(unit)[f"{unit}.service"]))
        url = f"http://{self.cluster.node(node).address}:{port}/"
        done = subprocess.run(self.cluster.bed.from_network(["python3", "-c", WEB_CLIENT, url]), text=True, capture_output=True)
        return f"{url} says: {done.stdout.strip().splitlines()[-1]}" if done.returncode == 0 else None

    # the chapters

    def introduce(self):
        self.screen.chapter("Three machines, one cluster")
        self.show("argosyctl list-nodes")
        self.show("argosyctl cluster status")

    def run_services(self):
        self.screen.chapter("Services: argosy decides where they run")
        for node in self.cluster.nodes:
            for name in EXAMPLES:
                node.write(f"/root/{name}", (SOURCE / "examples" / name).read_text())
        watch = Stopwatch()
        self.show("argosyctl submit web.service worker@.service hello-once.service monitor.service")
        self.show(f"argosyctl start web worker@{{1..{WORKERS}}} monitor hello-once")
        self.screen.good(watch.seconds, "everything is started; a web server, many workers, one monitor per node, "
                                        "and a job that runs once")
        self.show("argosyctl list-units")
        answer = watch.until("the web server answers", self.web_says)
        self.screen.tell(answer)
        self.show("argosyctl status web")
        self.show("argosyctl journal hello-once")

    def undo_a_bad_change(self):
        """The night of argosy(7): somebody has changed something, and whoever is called finds it with one command."""
        first, second, third = self.cluster.nodes
        bad = (SOURCE / "examples" / "web.service").read_text().replace("-p 8080", "-p 8088")
        third.exec(["mkdir", "-p", "/root/new"])
        third.write("/root/new/web.service", bad)

        self.screen.chapter("A bad change, found and undone")
        self.screen.tell(f"Somebody at {third.name} gives the web server another file. It starts well.")
        self.show("argosyctl update /root/new/web.service --health=1s --reason='port 8080 is for tests'", third)
        watch = Stopwatch()
        watch.until("nobody gets an answer", lambda: not self.web_says())
        self.screen.event(watch.seconds, "and nobody gets an answer any more. Whoever is called looks what was changed:")
        self.show("argosyctl list-jobs --limit=3", second)
        job = self.cluster.json("list-jobs --limit=1", second)[0]["job"]
        self.show("argosyctl diff web", second)
        self.show(f"argosyctl undo {job} --plan", second)
        watch = Stopwatch()
        self.show(f"argosyctl undo {job} --reason='no answer on port 8080'", second)
        answer = watch.until("the web server answers", self.web_says)
        self.screen.good(watch.seconds, answer)
        self.screen.tell("In the morning everybody can see what has happened, and that nothing is left of it:")
        self.show("argosyctl history web --limit=2", first)
        self.show(f"argosyctl diff @{job - 1}", first)
        self.screen.tell("Nothing differs from what the cluster was to be before.")

    def shop_says(self):
        return self.web_says("shop", 8081)

    def bring_what_a_service_needs(self):
        """"A service and what it needs" of argosy(7): a folder, a secret, a bad setting, undone."""
        first, second, third = self.cluster.nodes
        for node in (first, third):
            for file in SHOP.rglob("*"):
                if file.is_file():
                    node.write(f"/root/shop/{file.relative_to(SHOP)}", file.read_text())

        self.screen.chapter("A service brings its settings, its pages and its key")
        self.show("find shop -type f", first)
        self.show("grep -A9 RuntimeDirectory shop/shop.service", first)
        watch = Stopwatch()
        self.show("head -c 16 /dev/urandom | base64 | argosyctl secret set shop-key", first)
        self.show("argosyctl apply shop --reason='the shop opens'", first)
        self.screen.good(watch.seconds, watch.until("the shop answers", self.shop_says))
        self.show("argosyctl secret list", second)

        self.screen.tell(f"Somebody at {third.name} lets in the office alone. The server takes it.")
        self.show("printf 'A:192.0.2.\\nD:*\\n' >>shop/conf/httpd.conf", third)
        self.show("argosyctl apply shop --reason='for the office only'", third)
        watch = Stopwatch()
        watch.until("nobody gets an answer", lambda: not self.shop_says())
        self.screen.event(watch.seconds, "and no customer gets an answer any more. What was changed?")
        self.show("argosyctl history shop --limit=2", second)
        self.show("argosyctl diff shop", second)
        job = self.cluster.json("list-jobs --limit=1", second)[0]["job"]
        watch = Stopwatch()
        self.show(f"argosyctl undo {job} --reason='customers are not in the office'", second)
        self.screen.good(watch.seconds, watch.until("the shop answers", self.shop_says))

    def lose_a_machine(self):
        """Power cut of the node with the web server, or of another one if that is the leader's."""
        leader = self.cluster.leader_name()
        victim = self._node_of_the_web_server()
        if victim.name == leader:
            victim = next(node for node in self.cluster.nodes if node.name != leader)
        observer = self.cluster.node(leader)
        lost = {unit for (unit, node) in self.cluster.invocations("worker@*") if node == victim.name}
        lost |= {"web.service"} & {unit for (unit, node) in self.cluster.invocations("web") if node == victim.name}
        untouched = self._runs_except(victim)

        self.screen.chapter(f"{victim.name} loses its power")
        self.screen.tell(f"{len(lost)} units run there: {' '.join(sorted(lost))}")
        self.screen.command("host", f"tools/testbed kill {victim.name}")
        victim.kill()
        watch = Stopwatch()
        self.screen.event(watch.seconds, "power cut; nobody said goodbye")
        watch.until("the loss is noticed", lambda: self.cluster.node_states(observer)[victim.name] == "lost")
        self.screen.event(watch.seconds, f"{victim.name} is lost to the cluster")
        watch.until("all units run elsewhere", lambda: lost <= self._active_units())
        self.screen.good(watch.seconds, f"all {len(lost)} units run elsewhere")
        answer = watch.until("the web server answers", self.web_says)
        self.screen.event(watch.seconds, answer)
        self._nothing_stopped(untouched)
        self.show("argosyctl list-nodes", observer)
        self.show("argosyctl list-units", observer)

        watch = Stopwatch()
        self.screen.command("host", f"tools/testbed boot {victim.name}")
        victim.boot()
        watch.until("it is back", lambda: self.cluster.node_states(observer)[victim.name] == "online")
        self.screen.good(watch.seconds, f"{victim.name} is back, ready for new units; what moved stays where it is")

    def lose_the_leader(self):
        leader = self.cluster.node(self.cluster.leader_name())
        untouched = self._runs_except(leader)
        survivors = [node for node in self.cluster.nodes if node.name != leader.name]
        lost = {unit for unit, node in self.cluster.invocations("worker@*") if node == leader.name}

        self.screen.chapter(f"{leader.name}, the leader, loses its power")
        self.screen.command("host", f"tools/testbed kill {leader.name}")
        leader.kill()
        watch = Stopwatch()
        self.screen.event(watch.seconds, "power cut")
        successor = watch.until("a new leader", lambda: self._new_leader(survivors, leader.name))
        self.screen.good(watch.seconds, f"{successor} leads")
        self.cluster.ctl("start worker@100", on=self.cluster.node(successor))
        self.screen.event(watch.seconds, "a new unit is started: the cluster takes orders again")
        watch.until("its units run elsewhere", lambda: lost <= self._active_units())
        self.screen.good(watch.seconds, f"the {len(lost)} workers of {leader.name} run elsewhere")
        self._nothing_stopped(untouched)
        self.show("argosyctl cluster status", self.cluster.node(successor))
        self.show("argosyctl list-units", self.cluster.node(successor))

    # what they look at

    def _node_of_the_web_server(self):
        return self.cluster.node(self.cluster.active("web")["web.service"][0])

    def _active_units(self):
        return set(self.cluster.active("worker@*")) | set(self.cluster.active("web"))

    def _runs_except(self, victim):
        """The current runs of all the cluster's units on the other nodes."""
        others = [node for node in self.cluster.running_nodes if node.name != victim.name]
        return {run: id for pattern in ["worker@*", "web", "monitor"]
                for run, id in self.cluster.invocations(pattern, others).items()}

    def _nothing_stopped(self, before):
        """The same runs are still there: systemd gives every start of a unit a new id."""
        now = {run: id for pattern in ["worker@*", "web", "monitor"] for run, id in self.cluster.invocations(pattern).items()}
        stopped = [unit for (unit, node), id in before.items() if now.get((unit, node)) != id]
        if stopped:
            raise Failure(f"healthy units were stopped: {' '.join(stopped)}")
        self.screen.tell(f"           The {len(before)} units on the other machines were not touched (same invocation ids).")

    def _new_leader(self, survivors, old):
        names = {self.cluster.leader_name(node) for node in survivors}
        return next(iter(names - {old, None}), None)


def build():
    directory = SOURCE / "build"
    if not (directory / "build.ninja").exists():
        run(["meson", "setup", directory, SOURCE])
    run(["ninja", "-C", directory])
    return directory


def explain_keep(screen, name, bed, directory):
    prefix = "" if name == "default" else f"ARGOSY_TESTBED={name} "
    screen.tell("The nodes are still up. For instance:")
    for command in ["status", "exec n1 -- argosyctl list-units", "exec n1                    (a shell)",
                    "boot n1", "partition n2", "down                       (the end of it)"]:
        screen.tell(f"    {prefix}sudo -E tools/testbed {command}" if prefix else f"    sudo tools/testbed {command}")
    pid = next(node.init_pid() for node in bed.nodes if node.init_pid())
    screen.tell("The page of the cluster, for a browser on this machine:")
    screen.tell(f"    sudo {directory.relative_to(SOURCE)}/src/ctl/argosyctl --socket=/proc/{pid}/root/run/argosy/argosy.sock dashboard")


def play(screen, name, keep):
    screen.chapter("Build and boot")
    watch = Stopwatch()
    directory = build()
    screen.event(watch.seconds, f"built in {directory.relative_to(SOURCE)}/")
    watch = Stopwatch()
    with Testbed(name, screen.tell).up(3, build=directory) as bed:
        screen.good(watch.seconds, "three nodes booted, each with its own systemd and network, and joined to one cluster")
        began = Stopwatch()
        demo = Demo(screen, Cluster(bed))
        demo.introduce()
        demo.run_services()
        demo.undo_a_bad_change()
        demo.bring_what_a_service_needs()
        demo.lose_a_machine()
        demo.lose_the_leader()

        screen.chapter("The end")
        screen.good(began.seconds, "from the first look to here")
        if keep:
            bed.detach()
            explain_keep(screen, name, bed, directory)
            return
    screen.tell("Cleaned up: no process, mount, network or file of it is left.")


def main():
    parser = argparse.ArgumentParser(prog="tools/demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the nodes running at the end, and say how to use them")
    args = parser.parse_args()
    try:
        play(Screen(), os.environ.get("ARGOSY_TESTBED") or "default", args.keep)
    except Failure as reason:
        sys.exit(f"\ndemo: {reason}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
