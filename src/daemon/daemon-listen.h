// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The port that is open to other hosts.

#include <stdbool.h>

#include "tls-context.h"

typedef struct Daemon Daemon;

// Which host owns this key, and whether it may speak this protocol with us. `userdata`: the Daemon.
TlsVerdict daemon_listen_judge(const Hash *pin, const char *alpn, void *userdata);
// Listens on `d->port_fd`, which is the listener's afterwards. Negative errno and a sentence in *ret_why.
int daemon_listen_open(Daemon *d, char **ret_why);
