# SPDX-License-Identifier: LGPL-2.1-or-later
"""rooms - what each room of the house may include and call, and whether it does

A room is a directory of src/; a folder of it is a directory in there, and what lies beside them is the room's top folder. Each may
include, and call, what stands before it in plan.py and its own; siblings (in the same row) never meet. A header in include/ belongs
to the folder that has the .c file of the same name (or one in several parts, NAME-*.c).

Inside a folder no cycle may be larger than CYCLE_MAX files. A file is NAME.c with NAME.h and NAME-private.h; the facets of one object
count as one file (plan.py). Calls are read from the objects of a build: a cycle of functions needs no include. Without a build only includes
are looked at; one that is not finished, or of another source, is refused. There are no exceptions: what has to go upward goes through
a callback that is given at construction.

What a folder keeps in an object of another one is a struct in FOLDER-state.h: only the header that defines the object includes that
besides the folder's own files, and with --fields nobody else may name a member of the struct.

Prints for each folder: files, lines, its largest cycle, its longest header, and whom it uses; and for each room how many functions
its folders use of each other. Exit status 1: something is against
the plan.

    plan.py       the order of rooms and folders, facets
    source.py     files, whose they are, and what they include
    objects.py    which file calls which
    graph.py      cycles
    pairs.py      which folder uses which function of another one of its room
    accessors.py  functions that only give or set a field for another folder, of which a room has few
    fields.py     which folders write which fields of shared objects
    __main__.py   the command line, the checks and the report
"""
