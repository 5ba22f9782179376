# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of tools/sim."""

import argparse
import sys
from pathlib import Path

import sim

from . import program
from .hours import play_hours

STORIES = 1000  # that have a digest

EPILOG = """\
A red story prints its last hundred lines with virtual times, the check that was not true, and the command that plays it again; exit status 1.
"""


def parse():
    parser = argparse.ArgumentParser(prog="tools/sim", description=sim.__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, metavar="N", help="play one story")
    what.add_argument("--file", metavar="PATH", help="play one that was written or shrunk")
    what.add_argument("--seeds", metavar="A..B", help="play all of them; then how often each check had something to look at")
    what.add_argument("--shrink", metavar="SEED|FILE", help="make a red story short")
    what.add_argument("--hours", type=float, metavar="H", help="play fresh seeds of all programs on all processors, and report")
    what.add_argument("--minutes", type=float, metavar="M", help="likewise")
    what.add_argument("--sweep", metavar="NAME", help="--hosts: play a script, or all of them, once for each place at which something may go wrong")
    what.add_argument("--planted", type=int, metavar="N", help="see which of N planted faults (tools/mutants) are found, each within 1,000 seeds")
    what.add_argument("--write-digests", action="store_true",
                      help=f"write {program.DIGESTS.relative_to(program.SOURCE)} anew: a commit that changes what is asked, logged or answered does so")
    parser.add_argument("--hosts", action="store_true", help="stories of whole hosts, instead of those of a leader")
    parser.add_argument("--raft", action="store_true", help="the same with argosy's own log, on libraft, instead of one in memory")
    parser.add_argument("--bus", action="store_true", help="the same with argosy's own connection to systemd, and a systemd that speaks sd-bus")
    parser.add_argument("--leader", action="store_true", help="--hours, --minutes: stories of a leader alone; so do --hosts, --raft and --bus with theirs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="--sweep: each N-th place only")
    parser.add_argument("--prose", action="store_true", help="tell the story as it happens")
    parser.add_argument("--events", action="store_true", help="one line of fixed columns for each thing that is delivered: microseconds, what, host, number, more")
    parser.add_argument("--messages", action="store_true", help="entries of the log, requests, answers, orders and reports, field by field")
    parser.add_argument("--until", type=int, metavar="STEP", help="stop in a debugger before this step (see --gdb)")
    parser.add_argument("--gdb", action="store_true", help="in gdb, with line numbers (build-sim-gdb)")
    parser.add_argument("--write", metavar="PATH", help="--shrink: where to (build-sim/red/)")
    parser.add_argument("--from", dest="start", type=int, metavar="SEED", help="--hours, --minutes: the first seed (from the time of day, and printed)")
    parser.add_argument("--canaries", type=int, metavar="N", default=0, help="--hours, --minutes: then see that the next seeds find N planted faults, too")
    parser.add_argument("--draw", type=int, default=1, metavar="SEED", help="--planted, --canaries: by what they are drawn (1)")
    parser.add_argument("--within", type=int, metavar="SEEDS", default=1000, help="--planted: seeds that are played with each at most (1000)")
    parser.add_argument("--jobs", type=int, metavar="N", default=program.processors(), help="--planted: processes at a time (as many as there are processors)")
    parser.add_argument("--build", metavar="DIR", type=Path, default=program.BUILD, help="where the program is built (build-sim)")
    args = parser.parse_args()
    if args.until is not None and args.seed is None and args.file is None:
        parser.error("--until is about one story")
    args.hosts |= args.raft or args.bus
    if args.sweep and not args.hosts:
        parser.error("--sweep is of whole hosts: --hosts or --raft")
    if args.hosts and (args.planted is not None or args.write_digests):
        parser.error("stories of whole hosts have no digests, and nothing is planted for them but by tools/mutants")
    if args.minutes is not None:
        args.hours = args.minutes / 60
    args.target = program.RAFT if args.raft else program.BUS if args.bus else program.HOSTS if args.hosts else program.TARGET
    return args


def play_one(args):
    options = ["--seed", args.seed] if args.seed is not None else ["--file", args.file]
    options += ["--prose"] * args.prose + ["--events"] * args.events + ["--messages"] * args.messages
    if args.until is not None:
        options += ["--until", args.until]
    if not args.gdb:
        return program.run(program.build(args.build, target=args.target), *options)
    binary = program.build(program.SOURCE / "build-sim-gdb", ["-Doptimization=0", "-Ddebug=true", *program.OPTIONS[2:]], args.target)
    follow = ["-ex", "set follow-fork-mode child"] if args.hosts else []
    return program.run("gdb", "-q", *follow, "-ex", "run", "--args", binary, *options)


def shrink(args):
    is_seed = args.shrink.isdigit()
    path = Path(args.write or args.build / "red" / (program.story_name(args.target, args.shrink) if is_seed else Path(args.shrink).name))
    path.parent.mkdir(parents=True, exist_ok=True)
    binary = program.build(args.build, target=args.target)
    status = program.run(binary, "--seed" if is_seed else "--file", args.shrink, "--shrink", "--write", path)
    if status == 0:
        program.run(binary, "--file", path, "--prose")
    return status


def main():
    args = parse()
    if args.seed is not None or args.file is not None:
        return play_one(args)
    if args.sweep:
        return program.run(program.build(args.build, target=args.target), "--sweep", args.sweep, "--every", args.every)
    if args.shrink is not None:
        return shrink(args)
    if args.hours is not None:
        targets = [args.target] if args.hosts or args.leader else list(program.PREFIXES)
        return play_hours(args.hours, args.build, args.start, targets, args.canaries, args.draw)
    if args.planted is not None:
        from .planted import play_planted  # pylint: disable=import-outside-toplevel
        return play_planted(args.planted, args.draw, args.jobs, args.within)
    if args.write_digests:
        return program.run(program.build(args.build), "--seeds", f"1..{STORIES}", "--digests", program.DIGESTS)
    return program.run(program.build(args.build, target=args.target), "--seeds", args.seeds)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
