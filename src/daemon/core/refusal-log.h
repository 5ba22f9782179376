// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The journal's lines about refused connections: refusals.h says which there are.

#include <stdbool.h>

typedef struct Daemon Daemon;

// Says what was counted and is due; `all`: what is not due, too.
void refusal_log_counts(Daemon *d, bool all);
// Whether to log that somebody was refused, after what was counted of others has been.
bool refusal_log_allows(Daemon *d, const char *address, const char *why);
