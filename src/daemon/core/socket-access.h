// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host knows of who may do what in the cluster, and what follows for its local socket.

#include <stdbool.h>

#include "access.h"
#include "local-api.h"

typedef struct Daemon Daemon;

// The newest that this host has: from its copy of the log, or as a leader told it last, perhaps before this
// process began; if none ever has, that of a new cluster. Valid until the loop runs on.
AccessList socket_access_list(const Daemon *d);
// What the author, a user of this host, may do at all; as LocalApiOps.admits, `userdata`: the Daemon.
LocalApiAdmission socket_access_admits(const Argosy__Author *author, void *userdata);
// A leader's word, kept in the peers file. Out of memory it is as before, until the next one.
void socket_access_on_message(Daemon *d, const Argosy__ToHost__Access *received);
// Makes the socket what follows from the list: after that may have changed, and once when there is a socket.
void socket_access_update(Daemon *d);
