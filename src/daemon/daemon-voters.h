// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who votes, as the leader says: what a host without a log of its own goes by.

#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;

// The leader has named them, or the peers file has.
void daemon_voters_on_announced(Daemon *d, Argosy__Voter *const *voters, size_t n);
// This host has no log any more.
void daemon_voters_on_log_gone(Daemon *d);
