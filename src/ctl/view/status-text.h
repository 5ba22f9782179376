// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What `status` and `is-active` make of an answer. Pure.

#include "argosy.pb-c.h"
#include "text.h"

// Appends what `systemctl status` would show, and node, revision, desired state and reasons.
int status_format(const Argosy__Response__Status *s, const TextStyle *style, uint64_t now_wall_us, Buf *out);

// Exit code of `status` for one unit on one node, from its ACTIVE column.
int status_exit_code(const char *active);
// Exit code of `is-active` for all: 0 if one is active, 3 if one is known not to be, else 4.
typedef struct ActiveTally {
        size_t active, inactive, unknown;
} ActiveTally;
void active_tally_add(ActiveTally *t, const char *active);
int active_tally_exit_code(const ActiveTally *t);
// Which of two states of the same unit on two nodes stands for the unit: active before all others, unknown
// behind all others.
const char *active_state_of_two(const char *a, const char *b);

// A timestamp as a property carries it: microseconds since 1970, or the text that `systemctl show` prints.
// 0: not set.
uint64_t property_time_us(const char *value);
