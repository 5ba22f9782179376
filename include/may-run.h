// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where something may still run: the words for that, which argosyctl and the leader share.

#include <stddef.h>

// "may still run on n4, n5 until those hosts are heard": what is said of a unit that was stopped or
// destroyed while these nodes were silent, of which there is at least one. The caller's to free; NULL: out
// of memory.
char *may_run_phrase(char *const *nodes, size_t n);
