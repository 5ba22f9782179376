// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What `top` knows: for each node its newest complete reading, with rates against the reading before it.
// Readings of different nodes come at their own times; times are compared only with those of the same node.
// Pure.

#include "argosy.pb-c.h"
#include "map.h"

#define TOP_NONE UINT64_MAX

typedef struct TopRow {
        char *unit;
        const char *node; // borrowed of the view
        uint64_t run, at_us;
        uint64_t cpu_us, tasks, memory, io_read, io_write; // TOP_NONE: the node cannot tell
        uint64_t cpu_permille;                             // of one CPU, since the reading before
        uint64_t io_read_rate, io_write_rate;              // bytes per second
} TopRow;

typedef enum TopOrder {
        TOP_BY_PATH,
        TOP_BY_CPU,
        TOP_BY_MEMORY,
        TOP_BY_TASKS,
        TOP_BY_IO,
        _TOP_ORDER_MAX
} TopOrder;

typedef struct TopView {
        Map nodes; // TopNode by name
} TopView;

void top_view_done(TopView *v);
// Takes in one part of a reading that has come now. 1: it completed one; 0; -ENOMEM.
int top_view_take(TopView *v, const Argosy__Response__Usage *usage, uint64_t now_us);
// The connection is another one: what came of readings that were not complete is dropped.
void top_view_begin(TopView *v);
// Forgets nodes of which nothing has come since that time.
void top_view_forget(TopView *v, uint64_t before_us);
// Forgets which readings were seen, so that the next top_view_n_fresh() counts from here.
void top_view_mark(TopView *v);
size_t top_view_n_nodes(const TopView *v);
// Nodes with so many complete readings since the mark.
size_t top_view_n_fresh(const TopView *v, unsigned readings);
// All rows in that order, as pointers into the view; the array is the caller's. Greatest first, but by path
// A first; units that cannot be compared come last either way; equal ones by unit and node.
int top_view_rows(const TopView *v, TopOrder order, bool reverse, const TopRow ***ret, size_t *ret_n);

// "path", "cpu", "memory", "tasks", "io".
const char *top_order_to_string(TopOrder order);
bool top_order_from_string(const char *word, TopOrder *ret);
