// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A table of small records of one size by number, of which a snapshot costs nothing: the holder of a view
// reads the table as it was then, in any thread, while the loop goes on changing it.
//
//      PagedRoot -> PagedDirectory (DIRECTORY_PAGES pages) -> PagedPage (PAGED_TABLE_PAGE bytes of records)
//
// Each of these knows when it was born. Who writes copies, on the way from the root to the record, those
// that a snapshot which is alive may reach (snapshot-clock.h) and retires the old ones: the first change of
// a page after a snapshot costs a copy of the page, all others what they cost without.
//
// A record is copied with its page, so it is plain data: numbers, and pointers to what does not change as
// long as somebody may reach it. Who replaces such a thing retires it at the same clock.
//
//      snapshot_clock_take(clock, &mark); view = paged_table_view(&table)    on the loop
//      paged_view_next(&view, ...)                                           anywhere
//      snapshot_clock_release(clock, &mark)                                  on the loop; the view has ended
//
// Numbers of records that were removed are given again; pages stay, also empty ones.

#include "snapshot-clock.h"

enum { PAGED_TABLE_PAGE = 2048 }; // bytes of records in a page

// Reads; valid while the snapshot lives. A table's own view is valid until it changes.
typedef struct PagedView {
        const struct PagedNode *root; // private
        uint32_t n_slots;             // all numbers in use are smaller
        uint32_t n_used;              // records
        uint16_t size, shift;         // private: of a record; log2 of records in a page
} PagedView;

typedef struct PagedTable {
        SnapshotClock *clock;
        struct PagedNode *root;
        PagedView now;  // private
        uint32_t freed; // private: the number that is given next, or NOTHING_FREED
} PagedTable;

// `size` of a record: at least that of a number, at most PAGED_TABLE_PAGE. Records begin at addresses for
// pointers if it is a multiple of their size. The clock is borrowed.
void paged_table_init(PagedTable *t, SnapshotClock *clock, size_t size);
// Retires all of it, but not what the records point to.
void paged_table_done(PagedTable *t);

// The three copy a record of the table's size into it, give it a number, or take it out: 0, or -ENOMEM, and
// nothing has changed for readers.
int paged_table_add(PagedTable *t, const void *record, uint32_t *ret_number) _warn_unused_;
int paged_table_set(PagedTable *t, uint32_t number, const void *record) _warn_unused_;
int paged_table_remove(PagedTable *t, uint32_t number) _warn_unused_;

// Memory of its pages, without copies that only snapshots reach.
static inline size_t paged_table_bytes(const PagedTable *t) {
        return ((size_t) t->now.n_slots * t->now.size + PAGED_TABLE_PAGE - 1) / PAGED_TABLE_PAGE *
               PAGED_TABLE_PAGE;
}
// As the table is now.
static inline PagedView paged_table_view(const PagedTable *t) {
        PagedView v = t->now;

        v.root = t->root;
        return v;
}
// NULL: no record has this number.
const void *paged_view_find(const PagedView *v, uint32_t number);
// The first record whose number is *iter or greater (begin with 0); *iter is behind it then. NULL: there is
// none.
const void *paged_view_next(const PagedView *v, uint32_t *iter);
