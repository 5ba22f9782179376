# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of the testbed."""

import argparse
import os
import sys
import time

from .bed import Testbed
from .host import Failure
from .keeper import state_dir

EPILOG = """\
environment:
  ARGOSY_TESTBED   name of the testbed (default); several may be up at the same time
  ARGOSY_BUILD     build directory whose result is installed in the nodes (build)
  ARGOSY_CGROUPS   disabled: of --containers, nodes cannot make control groups of containers

examples:
  tools/testbed up 3 --conf Cluster.LeaseSec=2 --conf n2:Node.Labels=rack=b
  tools/testbed exec n1 -- argosyctl list-nodes
  tools/testbed kill n2 --lose-unsynced && tools/testbed boot n2
"""


def parse(argv):
    parser = argparse.ArgumentParser(prog="tools/testbed", description="Real argosy nodes on one machine.",
                                     epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, help, *, node=True):
        added = verbs.add_parser(name, help=help, description=help)
        if node:
            added.add_argument("node", metavar="NODE")
        return added

    up = verb("up", "boot N nodes and form one cluster of them", node=False)
    up.add_argument("count", metavar="N", type=int)
    up.add_argument("--voters", type=int, metavar="V", choices=[1, 3, 5], help="voters of the cluster (3, or 1 if N < 3)")
    up.add_argument("--conf", action="append", default=[], metavar="[NODE:]SECTION.KEY=VALUE",
                    help="a setting for all nodes, or for one")
    up.add_argument("--containers", action="store_true", help="nodes of Debian 13 with podman, which can run containers")
    up.add_argument("--bare", action="store_true", help="boot only: nothing installed, no cluster")
    verb("exec", "run a command inside a node").add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    verb("kill", "power cut, no goodbye").add_argument("--lose-unsynced", action="store_true",
                                                       help="also lose every byte that was not synced to the disk")
    verb("boot", "power on, with the same disk")
    verb("partition", "cut a node off the network").add_argument("--one-way", choices=["in", "out"],
                                                                 help="drop only what comes in or goes out")
    verb("heal", "end a partition")
    verb("pause", "freeze argosyd on a node")
    verb("resume", "let a frozen argosyd go on")
    verb("status", "show the nodes", node=False)
    verb("down", "take everything down", node=False)
    return parser.parse_args(argv)


def say(text):
    print(f"testbed: {text}", file=sys.stderr, flush=True)


def up(name, args):
    began = time.monotonic()
    bed = Testbed(name, say).up(args.count, args.voters, args.conf, bare=args.bare, containers=args.containers)
    bed.detach()
    say(f"{args.count} nodes up after {time.monotonic() - began:.1f} s")


def enter(bed, args):
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    argv = bed.node(args.node).command(command or ["bash", "-l"])
    os.execvp(argv[0], argv)


def status(bed):
    print("NODE  ADDRESS      STATE  ARGOSYD")
    for node in bed.nodes:
        state, daemon = ("on", node.exec(["systemctl", "is-active", "argosyd"]).out.strip()) if node.is_on() else ("off", "-")
        print(f"{node.name:<5} {node.address:<12} {state:<6} {daemon}")
    print(f"\njournals, consoles and disks: {state_dir(bed.name)}")


def main(argv):
    args = parse(argv)
    name = os.environ.get("ARGOSY_TESTBED") or "default"
    if args.verb == "up":
        return up(name, args)
    if args.verb == "down":
        return Testbed(name).down()

    bed = Testbed.find(name)
    if args.verb == "status":
        return status(bed)
    if args.verb == "exec":
        return enter(bed, args)
    node = bed.node(args.node)
    match args.verb:
        case "kill":      node.kill(args.lose_unsynced)
        case "boot":      node.boot()
        case "partition": node.partition(args.one_way or "both")
        case "heal":      node.heal()
        case "pause":     node.pause()
        case "resume":    node.resume()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Failure as reason:
        sys.exit(f"testbed: {reason}")
    except KeyboardInterrupt:
        sys.exit(130)
