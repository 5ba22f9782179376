// SPDX-License-Identifier: LGPL-2.1-or-later
//
// list-units and list-unit-files of more units than are looked at in one turn. One list is made at a time, the others
// wait for it:
//
//      1. made     NAMES_PER_TURN names a turn. A name whose unit is touched afterwards is stale, and made again; so are
//                  all of them when a host or a rollout changes. In the turn in which the last name is made and none is
//                  stale, all rows are what they would be if they were made now: that is the moment that the list shows.
//      2. given    GIVEN_PER_TURN names a turn, of the rows as they were at that moment. Who takes parts gets each turn's;
//                  Units.first says how many rows came before. Others get one answer when all rows are in it.
//      3. freed    what is left, if somebody went away in the middle, FREED_PER_TURN a turn
//
// Rows come in the order of their names and nodes: what is made is sorted RUN names at a time, and giving takes the first
// of all runs.
//
// Where units are touched faster than they are made again, the rest is made in one turn after TURNS_MAX turns: a list
// that comes late is worse. What follows from time alone (until when a guard may let run what was destroyed) is as of
// the turn in which the row was made. Who stops leading answers that the next leader is to be asked, and whoever gets
// the list from that one begins with `first` 0. Out of memory ends the list with an answer that says so.
#include "listings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "array.h"
#include "message.h"
#include "response.h"
#include "tables.h"
#include "tickets.h"
#include "turn.h"
#include "unit-name.h"

enum {
        LISTED_AT_ONCE = 1000, // units; of fewer the answer is there before the question returns
        NAMES_PER_TURN = 1000, // made, at about 1.5 us each
        GIVEN_PER_TURN = 2000, // at about 0.5 us each
        FREED_PER_TURN = 5000,
        RUN = 512,
        TURNS_MAX = 1000,
};

typedef struct ListedName {
        ListNode stale; // in Listing.stale
        // Its rows; one of them is empty.
        Argosy__Response__Units units;
        Argosy__Response__UnitFiles files;
        char name[];
} ListedName;

// Sorted names that are not given yet.
typedef struct Run {
        ListedName **at, **end;
} Run;

// What tells the two lists apart.
typedef struct ListKind {
        Argosy__Response__WhatCase what;
        int (*make)(Leader *l, ListedName *n);
        int (*give)(ListedName *n, Argosy__Response *r);
        void (*set_first)(Argosy__Response *r, size_t first);
} ListKind;

typedef enum ListingPhase { LISTING_WAITS, LISTING_MADE, LISTING_GIVEN } ListingPhase;

struct Listing {
        Leader *leader;
        Ticket *ticket; // NULL: nobody listens
        ListNode all;   // in Leader.listings
        const ListKind *kind;
        char **patterns; // of the request
        size_t n_patterns;
        bool parts;
        ListingPhase phase;
        unsigned n_turns; // that it was made in
        bool walked;      // nothing is left that has never been looked at
        uint64_t host_changes, hosts_revision, rollouts_revision; // as of the last look
        Map by_name;        // of `names`, while it is made
        ListedName **names; // owned; in runs, and NULL once it is given
        size_t n_names, allocated, n_sorted, n_freed;
        ListNode stale;
        Run *runs; // a heap, the first name on top
        size_t n_runs;
        Argosy__Response *answer; // to be said
        size_t n_rows, n_bytes;   // that were said before
};

// ------------------------------------------------------------------------------------------------ the two lists

static void drop_rows(ListedName *n) {
        for (size_t i = 0; i < n->units.n_rows; i++)
                message_free(n->units.rows[i]);
        for (size_t i = 0; i < n->files.n_rows; i++)
                message_free(n->files.rows[i]);
        free(n->units.rows);
        free(n->files.rows);
        argosy__response__units__init(&n->units);
        argosy__response__unit_files__init(&n->files);
}

static int make_units(Leader *l, ListedName *n) {
        return answer_add_units(l, n->name, &n->units);
}

static int make_files(Leader *l, ListedName *n) {
        return answer_add_unit_files(l, n->name, &n->files);
}

static int give_units(ListedName *n, Argosy__Response *r) {
        for (size_t i = 0; i < n->units.n_rows; i++) {
                if (ARRAY_RESERVE(r->units->rows, r->units->n_rows + 1) < 0)
                        return -ENOMEM;
                r->units->rows[r->units->n_rows++] = TAKE_PTR(n->units.rows[i]);
        }
        return 0;
}

static int give_files(ListedName *n, Argosy__Response *r) {
        for (size_t i = 0; i < n->files.n_rows; i++) {
                if (ARRAY_RESERVE(r->unit_files->rows, r->unit_files->n_rows + 1) < 0)
                        return -ENOMEM;
                r->unit_files->rows[r->unit_files->n_rows++] = TAKE_PTR(n->files.rows[i]);
        }
        return 0;
}

static void set_first_unit(Argosy__Response *r, size_t first) {
        r->units->first = (uint32_t) first;
}

static void set_first_file(Argosy__Response *r, size_t first) {
        r->unit_files->first = (uint32_t) first;
}

static const ListKind list_units = {ARGOSY__RESPONSE__WHAT_UNITS, make_units, give_units, set_first_unit};
static const ListKind list_files = {ARGOSY__RESPONSE__WHAT_UNIT_FILES, make_files, give_files, set_first_file};

bool listing_is_long(const Leader *l, const Argosy__Request *q) {
        const Argosy__Request__ListUnits *m = q->list_units;

        return l->leading && l->units.count > LISTED_AT_ONCE &&
               (q->what_case != ARGOSY__REQUEST__WHAT_LIST_UNITS ||
                !answer_is_of_few_names(m->patterns, m->n_patterns));
}

// ------------------------------------------------------------------------------------------------ life

int listing_start(Leader *l, Ticket *t) {
        const Argosy__Request *q = t->request;
        Listing *g = calloc(1, sizeof(*g));

        if (!g)
                return -ENOMEM;
        g->leader = l;
        g->ticket = t;
        if (q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                g->kind = &list_units;
                g->patterns = q->list_units->patterns;
                g->n_patterns = q->list_units->n_patterns;
                g->parts = q->list_units->parts;
        } else {
                g->kind = &list_files;
                g->patterns = q->list_unit_files->patterns;
                g->n_patterns = q->list_unit_files->n_patterns;
                g->parts = q->list_unit_files->parts;
        }
        list_init(&g->stale);
        list_append(&l->listings, &g->all);
        t->listing = g;
        leader_mark(l);
        return 0;
}

void listing_end(Listing *g) {
        g->ticket->listing = NULL;
        g->ticket = NULL;
        leader_mark(g->leader);
}

// True: nothing is left of it.
static bool free_some(Listing *g, size_t most) {
        for (size_t end = g->n_freed + most; g->n_freed < g->n_names && g->n_freed < end; g->n_freed++) {
                ListedName *n = g->names[g->n_freed];

                if (!n)
                        continue;
                drop_rows(n);
                free(n);
        }
        if (g->n_freed < g->n_names)
                return false;
        message_free(g->answer);
        map_done(&g->by_name);
        list_unlink(&g->all);
        free(g->names);
        free(g->runs);
        free(g);
        return true;
}

void listings_clear(Leader *l) {
        while (!list_is_empty(&l->listings))
                (void) free_some(CONTAINER_OF(l->listings.next, Listing, all), SIZE_MAX / 2);
}

// ------------------------------------------------------------------------------------------------ made

static int name_compare(const void *a, const void *b) {
        return strcmp((*(ListedName *const *) a)->name, (*(ListedName *const *) b)->name);
}

static void sort_last_run(Listing *g) {
        qsort(g->names + g->n_sorted, g->n_names - g->n_sorted, sizeof(*g->names), name_compare);
        g->n_sorted = g->n_names;
}

// Its rows are not made yet. NULL: out of memory.
static ListedName *add_name(Listing *g, const char *name) {
        size_t size = strlen(name) + 1;
        ListedName *n = calloc(1, sizeof(*n) + size);

        if (!n || ARRAY_GROW(g->names, g->allocated, g->n_names + 1) < 0) {
                free(n);
                return NULL;
        }
        memcpy(n->name, name, size);
        if (map_add_str(&g->by_name, n->name, n) < 0) {
                free(n);
                return NULL;
        }
        argosy__response__units__init(&n->units);
        argosy__response__unit_files__init(&n->files);
        g->names[g->n_names++] = n;
        if (g->n_names - g->n_sorted == RUN)
                sort_last_run(g);
        return n;
}

static void mark_stale(Listing *g, ListedName *n) {
        if (!list_is_linked(&n->stale))
                list_append(&g->stale, &n->stale);
}

// Out of memory, it is left to the next look at the list, which finds as little.
static void mark_name(Listing *g, const char *name) {
        ListedName *n = map_find_str(&g->by_name, name);

        if (!n && answer_name_matches(g->patterns, g->n_patterns, name))
                n = add_name(g, name);
        if (n)
                mark_stale(g, n);
}

// The one that is being made; NULL: none.
static Listing *listing_made(const Leader *l) {
        Listing *g = list_is_empty(&l->listings) ? NULL : CONTAINER_OF(l->listings.next, Listing, all);

        return g && g->ticket && g->phase == LISTING_MADE ? g : NULL;
}

void listings_on_unit(Leader *l, const char *name) {
        Listing *g = listing_made(l);

        if (g)
                mark_name(g, name);
}

static void mark_tombstones(Listing *g, uint32_t node) {
        const ListNode *tombs = cluster_state_tombstones_on(g->leader->state, node);

        if (tombs)
                list_foreach (i, tombs)
                        mark_name(g, CONTAINER_OF(i, const Tombstone, on_node)->name);
}

void listings_on_node(Leader *l, const Node *n) {
        Listing *g = listing_made(l);

        if (!g)
                return;
        list_foreach (i, &n->placed)
                mark_name(g, CONTAINER_OF(i, Unit, placed)->name);
        list_foreach (i, &n->units_on_node)
                mark_name(g, CONTAINER_OF(i, UnitOnNode, by_node)->unit->name);
        mark_tombstones(g, n->number);
}

// Destroyed, but not gone everywhere yet, or where that is not known. In one turn, at about 0.1 us for each unit.
static void mark_unrecorded(Listing *g) {
        Leader *l = g->leader;

        if (l->units.count > cluster_state_n_units(l->state))
                map_foreach (slot, &l->units)
                        if (!((const Unit *) slot->value)->recorded)
                                mark_name(g, ((const Unit *) slot->value)->name);
        if (cluster_state_n_tombstones(l->state) > 0)
                map_foreach (slot, &l->nodes)
                        mark_tombstones(g, ((const Node *) slot->value)->number);
}

// What every row may show has changed.
static void mark_all_if_changed(Listing *g) {
        const Leader *l = g->leader;
        uint64_t hosts = cluster_state_hosts_revision(l->state),
                 rollouts = cluster_state_rollouts_revision(l->state);

        if (g->host_changes == l->n_host_changes && g->hosts_revision == hosts && g->rollouts_revision == rollouts)
                return;
        g->host_changes = l->n_host_changes;
        g->hosts_revision = hosts;
        g->rollouts_revision = rollouts;
        for (size_t i = 0; i < g->n_names; i++)
                mark_stale(g, g->names[i]);
        if (g->walked)
                mark_unrecorded(g);
}

static int make_rows(Listing *g, ListedName *n) {
        g->leader->n_listed++;
        return g->kind->make(g->leader, n);
}

static int make_next(Listing *g) {
        ListedName *n = CONTAINER_OF(g->stale.next, ListedName, stale);

        list_unlink(&n->stale);
        drop_rows(n);
        return make_rows(g, n);
}

// A name that is there already is stale: it was touched before the walk came to it.
static int walk_some(Listing *g, size_t *left) {
        for (; *left > 0 && !g->walked; (*left)--) {
                const UnitEntry *e = cluster_state_walk_next(g->leader->state);
                ListedName *n;

                g->walked = !e;
                if (!e)
                        mark_unrecorded(g);
                else if (!map_find_str(&g->by_name, e->record->name) &&
                         answer_name_matches(g->patterns, g->n_patterns, e->record->name)) {
                        n = add_name(g, e->record->name);
                        if (!n || make_rows(g, n) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static void begin(Listing *g) {
        const Leader *l = g->leader;

        cluster_state_walk_begin(l->state);
        g->phase = LISTING_MADE;
        g->host_changes = l->n_host_changes;
        g->hosts_revision = cluster_state_hosts_revision(l->state);
        g->rollouts_revision = cluster_state_rollouts_revision(l->state);
}

static void sift_down(Listing *g, size_t i);

// All rows are what they would be if they were made now.
static int end_making(Listing *g) {
        if (g->n_sorted < g->n_names)
                sort_last_run(g);
        map_done(&g->by_name);
        g->phase = LISTING_GIVEN;
        g->runs = calloc(g->n_names / RUN + 1, sizeof(*g->runs));
        if (!g->runs)
                return -ENOMEM;
        for (size_t i = 0; i < g->n_names; i += RUN)
                g->runs[g->n_runs++] = (Run){g->names + i, g->names + MIN_OF(i + RUN, g->n_names)};
        for (size_t i = g->n_runs; i-- > 0;)
                sift_down(g, i);
        return 0;
}

static int make_some(Listing *g) {
        size_t left = g->n_turns++ < TURNS_MAX ? NAMES_PER_TURN : SIZE_MAX;

        mark_all_if_changed(g);
        if (walk_some(g, &left) < 0)
                return -ENOMEM;
        for (; left > 0 && !list_is_empty(&g->stale); left--)
                if (make_next(g) < 0)
                        return -ENOMEM;
        return g->walked && list_is_empty(&g->stale) ? end_making(g) : 0;
}

// ------------------------------------------------------------------------------------------------ given

static bool is_before(const Run *a, const Run *b) {
        return strcmp((*a->at)->name, (*b->at)->name) < 0;
}

static void sift_down(Listing *g, size_t i) {
        for (;;) {
                size_t first = i;
                Run run = g->runs[i];

                for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < g->n_runs; child++)
                        if (is_before(&g->runs[child], &g->runs[first]))
                                first = child;
                if (first == i)
                        return;
                g->runs[i] = g->runs[first];
                g->runs[first] = run;
                i = first;
        }
}

static int give_next(Listing *g) {
        ListedName **at = g->runs[0].at, *n = *at;
        int r = g->kind->give(n, g->answer);

        if (++g->runs[0].at == g->runs[0].end)
                g->runs[0] = g->runs[--g->n_runs];
        sift_down(g, 0);
        *at = NULL;
        drop_rows(n);
        free(n);
        return r;
}

static size_t count_rows(const Listing *g) {
        return g->kind == &list_units ? g->answer->units->n_rows : g->answer->unit_files->n_rows;
}

// Who is told may end any list, this one too: nothing of it is looked at afterwards.
static void say(Listing *g) {
        Argosy__Response *answer = TAKE_PTR(g->answer);
        bool final = g->n_runs == 0;

        g->n_bytes += argosy__response__get_packed_size(answer);
        if (g->n_bytes > ANSWER_BYTES_MAX) {
                message_free(answer);
                answer = response_too_long(g->n_bytes, false);
                final = true;
        }
        ticket_send_now(g->ticket, answer, final);
}

static int give_some(Listing *g) {
        if (!g->answer)
                g->answer = response_new(g->kind->what);
        if (!g->answer)
                return -ENOMEM;
        for (unsigned i = 0; i < GIVEN_PER_TURN && g->n_runs > 0; i++)
                if (give_next(g) < 0)
                        return -ENOMEM;
        if (g->n_runs > 0 && !g->parts)
                return 0;
        g->kind->set_first(g->answer, g->n_rows);
        g->n_rows += count_rows(g);
        say(g);
        return 0;
}

void listings_step(Leader *l) {
        Listing *g;
        int r;

        if (list_is_empty(&l->listings))
                return;
        g = CONTAINER_OF(l->listings.next, Listing, all);
        leader_mark(l);
        if (!g->ticket) {
                (void) free_some(g, FREED_PER_TURN);
                return;
        }
        if (g->phase == LISTING_WAITS)
                begin(g);
        r = g->phase == LISTING_MADE ? make_some(g) : give_some(g);
        if (r < 0)
                ticket_send_now(g->ticket, NULL, true);
}
