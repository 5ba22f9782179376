// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files of libraft's log, by their names.

#include <stdbool.h>
#include <stdint.h>

// Whether a file of that name is a segment to which nothing more is written, and which entries it has.
bool segment_is_closed(const char *name, unsigned long long *ret_first, unsigned long long *ret_last);
// Whether none of these in that directory has entries from this one on. False as well if that cannot be
// seen.
bool segments_are_truncated(const char *dir, uint64_t index);
// Before a log is read: what a truncation that was interrupted has left behind goes (guard 20). Negative
// errno.
int segments_undo_truncation(const char *dir);
