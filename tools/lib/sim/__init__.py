# SPDX-License-Identifier: LGPL-2.1-or-later
"""sim - plays stories of a leader, or of whole hosts, each from a seed: the same story each time

A story has a leader in its rig (tests/lib/leader-rig.h) with virtual hosts and a clock that only the story moves. Who asks what, what breaks
and when time passes are drawn from the seed; checks look on. The program is tests/sim/leader; tests/sim/README.md is the manual.

    one story         tools/sim --seed 17 --prose
    many              tools/sim --seeds 1..5000
    a red one         tools/sim --shrink 4711        (writes the shortest story that is red for the same reason)
    a night           tools/sim --hours 8            (all programs and processors, fresh seeds; what is red is shrunk and kept)
    is it any good?   tools/sim --planted 60 --draw 1 --within 200

    program.py    builds the programs, and runs them
    hours.py      fresh seeds for as long as one wants, and the report
    canaries.py   whether a run still finds what was found before
    planted.py    which planted faults (tools/mutants) it finds: one program has them all, ARGOSY_PLANTED=NAME chooses one
    __main__.py   the command line
"""
