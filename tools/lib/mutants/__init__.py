# SPDX-License-Identifier: LGPL-2.1-or-later
"""mutants - puts faults into argosy, one by one, and sees that a test catches each

Every fault of the table (faults.py) replaces one line of a copy of the source. Only what the fault's test needs is built, only
that test runs, and it must fail, in the test function that the table names. A fault that nobody notices is a hole in the tests;
a fault that does not fit the source any more (its line is not there exactly once, or its test nowhere) or does not compile is an
error too.

The last line is "N caught, N survived, N errors"; the exit status is 0 only if all were caught.

    faults.py     the table
    table.py      whether it fits the source
    workshop.py   the copy of the source: putting a fault in, building, running a test
    schemata.py   many faults in one program, of which it is told one at its start (tools/sim --planted)
    __main__.py   the command line
"""
