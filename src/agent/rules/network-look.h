// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A network that a container needs, as its unit makes it, and what podman says of one of that name. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "hash.h"

// Of each network that is there: its name behind "= ", the label QUADLET_NETWORK_OF, and a line for each
// container that has it, running or not: its name, PODMAN_SYSTEMD_UNIT, and its state. systemd makes "$" of
// "$$".
#define NETWORK_LOOK_SCRIPT                                                                       \
        "for n; do podman network exists \"$$n\"; "                                               \
        "case $$? in 0) ;; 1) continue;; *) exit 1;; esac; echo \"= $$n\"; "                      \
        "podman network inspect --format '{{index .Labels \"argosy.file\"}}' \"$$n\" || exit 1; " \
        "podman ps -a --filter \"network=$$n\" "                                                  \
        "--format '{{.Names}} {{.Label \"PODMAN_SYSTEMD_UNIT\"}} {{.State}}' || exit 1; done"

// What podman calls the network that such a unit makes: a new string. -ENOENT: it makes none; -ENOMEM.
int network_look_name(const void *unit, size_t len, char **ret);

typedef struct NetworkSeen {
        bool there;
        bool said; // of which file it was made
        Hash of;
        const char *users, *end; // lines
} NetworkSeen;

NetworkSeen network_look_find(const Buf *output, const char *name);

typedef struct NetworkUser { // points into what podman said
        const char *container, *owner;
        int container_len, owner_len; // 0: nobody's unit
        bool down; // it was made, and does not run: not yet, or not any more
} NetworkUser;

// The containers one after the other: *at begins as NetworkSeen.users.
bool network_look_next(const NetworkSeen *seen, const char **at, NetworkUser *ret);
