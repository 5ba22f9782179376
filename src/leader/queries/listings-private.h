// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One list: listings.c makes it, listing-give.c gives it.

#include "list-tag.h"
#include "listed-name.h"
#include "listing-question.h"
#include "listings.h"
#include "macro.h"
#include "row-filter.h"
#include "pending-requests.h"

enum { LISTING_RUN = 512 }; // names that are sorted at a time

// Sorted names that are not given yet.
typedef struct Run {
        ListedName **at, **end;
} Run;

typedef enum ListingPhase { LISTING_WAITS, LISTING_MADE, LISTING_GIVEN } ListingPhase;

struct Listing {
        RequestWork work; // while somebody listens
        Leader *leader;
        PendingRequest *pending; // NULL: nobody listens
        ListNode all;   // in Leader.listings
        const ListKind *kind;
        char **patterns; // of the request
        size_t n_patterns;
        size_t n_taken; // of these: a name has its rows, or is stale
        const Argosy__ListFilter *m; // of the request; NULL: all rows are wanted
        RowFilter filter;
        char *globs[LISTED_GLOBS_MAX]; // those that are none
        size_t n_globs;
        bool parts;
        bool sees_all; // the author may see everything
        ListingPhase phase;
        bool walks;       // it is not only of names
        bool walked;      // nothing is left that has never been looked at
        bool at_end;      // also behind the page: there are no more units
        bool begins_within; // of a page: it has rows of the unit behind which it is, too, perhaps
        char reached[UNIT_NAME_MAX + 1]; // of a page: up to here all units were looked at
        unsigned n_turns; // that it was made in since then
        bool late;        // these were too many: nothing becomes stale any more
        uint64_t host_changes, hosts_revision, rollouts_revision; // as of the last look
        uint64_t index, revision; // of the log and the records, when it was begun
        Map by_name;        // of `names`, while it is made
        ListedName **names; // owned; in runs, and NULL once it is given
        size_t n_names, allocated, n_sorted, n_freed;
        ListedName **wide; // those of them that were made in pieces
        size_t n_wide, wide_allocated;
        size_t n_bytes_made; // of all rows that there are
        size_t n_rows_made;  // of which a page may take fewer
        ListNode stale;
        Run *runs; // a heap, the first name on top
        size_t n_runs;
        char tag[LIST_TAG_SIZE]; // of the moment that it shows; "": none
        Argosy__Response *answer; // to be said
        size_t n_rows, n_bytes;   // that were said before
};

static inline bool listing_is_page(const Listing *g) {
        return row_filter_limit(&g->filter) > 0;
}

static inline bool listing_has_enough(const Listing *g) {
        return listing_is_page(g) && g->n_rows_made > row_filter_limit(&g->filter);
}

// What a turn may still do.
static inline void listing_spend(size_t *left, size_t work) {
        *left -= MIN_OF(*left, work);
}
