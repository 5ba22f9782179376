// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The TCP port of this host. Port=N of the configuration is opened at once. With Port=0, the default of a
// user's argosyd, a free one is chosen at the first start and kept in STATE_DIR/port, so that it is the same
// after a restart; it is ours from the start, but nobody can connect until the cluster has another host or a
// join token, so that a host which nobody may join opens no port.

#include <stdbool.h>

typedef struct Daemon Daemon;

// Takes the port, d->port. The state directory is there and locked.
int port_reserve(Daemon *d, char **ret_why);
// Opens it, unless nobody has a reason to connect yet. Called at the start, and whenever hosts or tokens
// have changed.
int port_open_if_wanted(Daemon *d, char **ret_why);
// What port_open_if_wanted() decides by. Pure.
typedef struct PortReasons {
        bool configured; // Port=N
        bool alone;      // as far as known, this host is all of its cluster
        bool has_tokens; // there are join tokens
} PortReasons;
bool port_is_wanted(const PortReasons *r);
