# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan of the house: what stands before what."""

ORDER = [["base"], ["model"], ["trust"], ["wire", "sysd"], ["store"], ["mesh"], ["placement"], ["agent", "leader"], ["api"], ["http"], ["daemon"]]
# Rooms beside that order, and what they may use.
ASIDE = {"ctl": ["base", "model", "trust", "wire"]}

# The folders of a room, in their order; the room's top folder comes after them.
FOLDERS = {
    "sysd": ["unit-dir", "cgroup", "journal", "bus", "manager", "foreign"],
    "store": ["rules", "core", "transport", "raft"],
    "mesh": ["peer"],
    "agent": ["rules", "core", "queries", "work", "nodes", "orders"],
    "leader": ["rules", "messages", "core", "view", "scheduler", "fencing", "orders", "hosts", "queue", "changes", "rollouts", "queries", "events",
               "decision", "units", "preview", "apply", "undo", "jobs"],
    "http": ["dashboard", "target", "documents", "state", "streams", "changes", "clients", "openapi", "fleet", "calls", "works"],
    "daemon": ["core", "requests"],
    "ctl": ["term", "view", "line", "client", "dashboard", "verbs"],
}

# Headers of include/ without a .c file of their own. The generated messages are part of the model.
OWNERS = {"argosy.pb-c.h": "model", "attach.h": "model", "label-op.h": "model", "macro.h": "base", "message-of.h": "model", "list.h": "base", "counter.h": "base", "open-table.h": "base", "sorted.h": "base", "seccomp-architecture.h": "base"}

# The header that defines a room's objects, and so includes FOLDER-state.h of each folder that keeps something in them.
OBJECTS = {"leader": "tables.h"}

CYCLE_MAX = 3  # files that may use each other

# Facets: NAME.c and NAME-*.c of a folder are one object in more than CYCLE_MAX files behind one private header.
FACETS = {
    "model": ["cluster-state"],  # what the log has come to: entries, image, look-ups
    "wire": ["stream"],          # one connection: plain, with TLS, being looked up, writing
    "store/raft": ["raft"],      # one member of the log
    "sysd/unit-dir": ["unit-dir"],         # one directory of unit files
    "sysd/manager": ["systemd-manager"],   # one connection to one systemd
    "placement": ["placement"],  # one Placement: the tables that it shares
}
