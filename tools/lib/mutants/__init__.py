# SPDX-License-Identifier: LGPL-2.1-or-later
"""mutants - puts faults into argosy, one by one, and sees that a test catches each

Every fault of the table (faults.py) replaces one line of a copy of the source. The copy has all of them that stand in functions,
each beside what it takes the place of, and is built once; a program is told at its start which one it is to have. Those in tables
and constants, and those that are not noticed this way, are put in and built one by one. Only the fault's test runs, and it must
fail, in the test function that the table names. A fault that nobody notices is a hole in the tests; a fault that does not fit the
source any more (its line is not there exactly once, or its test nowhere) or does not compile is an error too.

All of them take a quarter of an hour of two processors, the build among them; one that was added, as long as its test takes to be
built.

The last line is "N caught, N survived, N errors"; the exit status is 0 only if all were caught.

    faults.py     the table
    table.py      whether it fits the source
    workshop.py   the copy of the source: putting a fault in, building, running a test
    many.py       a copy with many faults (tools/sim --planted has one, too)
    schemata.py   many faults in one program, of which it is told one at its start
    statements.py how a fault stands beside what it takes the place of
    __main__.py   the command line
"""
