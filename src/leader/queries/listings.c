// SPDX-License-Identifier: LGPL-2.1-or-later
//
// list-units and list-unit-files of more than is looked at in one turn. One list is made at a time, the others wait for
// it. What a turn may do is counted in rows, since a global unit has one for each node:
//
//      1. made     MADE_PER_TURN rows a turn: first of the names that were asked for, one by one, and then, if there are
//                  patterns or nothing was named, of all units that match. A name whose unit is touched afterwards is
//                  stale, and made again; so are all of them when a host or a rollout changes. In the turn in which the
//                  last name is made, none is stale and no global unit is about to give way somewhere, all rows are what
//                  they would be if they were made now: that is the moment that the list shows. A unit that may be on many
//                  hosts is a name for each few of these (listed-name.h), and where something is seen of it on one host,
//                  only that piece is stale.
//      2. given    GIVEN_PER_TURN rows a turn, as they were at that moment, and only while the host to which they go takes
//                  them: on a slow link they wait here and not before its beats, and other lists go on. Who takes parts
//                  gets each turn's; Units.first says how many rows came before. Others get one answer when all rows are
//                  in it.
//      3. freed    what is left, if somebody went away in the middle, FREED_PER_TURN rows a turn
//
// Of a page, which has a limit, names are looked at in their order from where it begins, and no further than there are more rows than it
// takes; what is touched behind that is left to whoever asks for the next one. So it costs its own rows and those that its filters
// leave out, wherever it begins, and it is of one moment like the others. Where there are patterns, names are compared with all of them, too: those
// that stand behind the page are not to count as rows of it. It is given in one part.
//
// Who has the list already, and says so by its tag, is told in the turn in which it would be begun.
//
// Rows come in the order of their names and nodes: what is made is sorted RUN names at a time, and giving takes the first
// of all runs; of pieces, each of which is a run, row by row.
//
// Where units are touched faster than they are made again, as when hosts come and go all the time, nothing becomes stale
// any more after TURNS_MAX turns: what is stale then is made, as much in each turn as ever, and rows are of different
// moments. A list that comes late is worse. What follows from time alone (until when a guard may let run what was destroyed) is as of
// the turn in which the row was made. Who stops leading answers that the next leader is to be asked, and whoever gets
// the list from that one begins with `first` 0. Who does not lead makes lists of the records alone; nobody is told of what
// changes there, so a list that was begun before a change ends with the same answer. Out of memory ends the list with an answer that says so, and so do more
// rows than an answer may have, as soon as they are made.
#include "listings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "authorization.h"
#include "answer.h"
#include "array.h"
#include "list-tag.h"
#include "listed-name.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "tickets.h"
#include "turn.h"
#include "unit-name.h"

enum {
        LISTED_AT_ONCE = 1000,    // rows; of fewer the answer is there before the question returns
        COMPARED_AT_ONCE = 16000, // names with patterns, likewise
        MADE_PER_TURN = 1000,     // at about 1.5 us each
        COMPARED_PER_ROW = 16,    // patterns that a name is compared with in the time of a row
        GIVEN_PER_TURN = 2000,    // at about 0.5 us each
        FREED_PER_TURN = 5000,
        HIDING_ROWS = 4,          // whether somebody may see a unit is known after so many rows' time
        RUN = 512,
        TURNS_MAX = 1000, // of making again what was touched
        KEPT_MAX = 4,     // lists of which there are rows: made, and waiting for a slow link
};

// Sorted names that are not given yet.
typedef struct Run {
        ListedName **at, **end;
} Run;

typedef enum ListingPhase { LISTING_WAITS, LISTING_MADE, LISTING_GIVEN } ListingPhase;

struct Listing {
        Leader *leader;
        Ticket *ticket; // NULL: nobody listens
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
        bool sees_all; // who asks
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

// ------------------------------------------------------------------------------------------------ what is asked for

static char **patterns_of(const Argosy__Request *q, size_t *ret_n) {
        if (q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                *ret_n = q->list_units->n_patterns;
                return q->list_units->patterns;
        }
        *ret_n = q->list_unit_files->n_patterns;
        return q->list_unit_files->patterns;
}

static const Argosy__ListFilter *filter_of(const Argosy__Request *q) {
        return q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS ? q->list_units->filter : q->list_unit_files->filter;
}

// The tables are those of who leads.
static size_t count_units(const Leader *l) {
        return (l->leading ? l->units.count : cluster_state_n_units(l->state)) + cluster_state_n_tombstones(l->state);
}

static size_t count_nodes(const Leader *l) {
        const HostEntry *hosts;
        size_t n_hosts, n = 0;

        if (l->leading)
                return l->nodes.count;
        hosts = cluster_state_hosts(l->state, &n_hosts);
        for (size_t i = 0; i < n_hosts; i++)
                n += hosts[i].record->n_nodes;
        return n;
}

static size_t rows_of(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e && e->record->global ? count_nodes(l) : 1;
}

static bool is_long(const Leader *l, char *const *patterns, size_t n_patterns, bool files) {
        size_t n = count_units(l), rows = 0, n_globals;

        if (!files && answer_is_of_few_names(patterns, n_patterns)) {
                for (size_t i = 0; i < n_patterns; i++)
                        rows += rows_of(l, patterns[i]);
                return rows > LISTED_AT_ONCE;
        }
        (void) cluster_state_global_units(l->state, &n_globals);
        if (!files && n_globals > 0)
                rows = n_globals * count_nodes(l);
        return n + rows > LISTED_AT_ONCE || n * n_patterns > COMPARED_AT_ONCE;
}

bool listing_is_long(const Leader *l, const Argosy__Request *q) {
        size_t n;
        char **patterns = patterns_of(q, &n);

        if (row_filter_is_any(filter_of(q)))
                return true; // answer.c knows no filters
        return is_long(l, patterns, n, q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
}

static bool is_any_glob(char *const *patterns, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (answer_is_glob(patterns[i]))
                        return true;
        return false;
}

// Names are found, unless they are compared as patterns are.
static bool compares_all(const Argosy__ListFilter *m, char *const *patterns, size_t n) {
        return m && m->limit > 0 && is_any_glob(patterns, n);
}

Argosy__Response *listing_refuse(const Argosy__Request *q) {
        size_t n, n_globs = 0;
        char **patterns = patterns_of(q, &n);
        bool all = compares_all(filter_of(q), patterns, n);

        for (size_t i = 0; i < n; i++) {
                if (!all && !answer_is_glob(patterns[i]))
                        continue;
                if (strlen(patterns[i]) > LISTED_GLOB_MAX)
                        return response_error(EINVAL, "a pattern is longer than %d bytes", LISTED_GLOB_MAX);
                n_globs++;
        }
        if (n_globs > LISTED_GLOBS_MAX)
                return response_error(E2BIG, "the request has %zu patterns, more than %d: ask for fewer at once",
                                      n_globs, LISTED_GLOBS_MAX);
        return NULL;
}

// ------------------------------------------------------------------------------------------------ life

static void take_patterns(Listing *g, const Argosy__Request *q) {
        bool all;

        g->patterns = patterns_of(q, &g->n_patterns);
        all = compares_all(g->m, g->patterns, g->n_patterns);
        for (size_t i = 0; i < g->n_patterns && g->n_globs < LISTED_GLOBS_MAX; i++)
                if (all || answer_is_glob(g->patterns[i]))
                        g->globs[g->n_globs++] = g->patterns[i];
        g->n_taken = all ? g->n_patterns : 0;
        g->walks = g->n_globs > 0 || g->n_patterns == 0;
}

int listing_start(Leader *l, Ticket *t) {
        const Argosy__Request *q = t->request;
        Listing *g = calloc(1, sizeof(*g));

        if (!g)
                return -ENOMEM;
        g->leader = l;
        g->ticket = t;
        g->sees_all = authorization_views_all(l, t->author);
        g->m = filter_of(q);
        row_filter_init(&g->filter, g->m);
        g->begins_within = g->m && *g->m->after_node;
        (void) str_copy(g->reached, sizeof(g->reached), g->m ? g->m->after : "");
        take_patterns(g, q);
        if (q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                g->kind = &list_kind_units;
                g->parts = q->list_units->parts;
        } else {
                g->kind = &list_kind_files;
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
        if (g->leader->listing_made == g)
                g->leader->listing_made = NULL;
        leader_mark(g->leader);
}

static void spend(size_t *left, size_t work) {
        *left -= MIN_OF(*left, work);
}

static void free_pieces(ListedName *n, size_t *left) {
        while (n->n_pieces > 0 && *left > 0) {
                spend(left, 1 + listed_name_rows(n->pieces[n->n_pieces - 1]));
                listed_name_drop_pieces(n, n->n_pieces - 1);
        }
}

static bool free_name(ListedName *n, size_t *left) {
        free_pieces(n, left);
        if (n->n_pieces > 0)
                return false;
        spend(left, 1 + listed_name_rows(n));
        listed_name_free(n);
        return true;
}

// True: nothing is left of it.
static bool free_some(Listing *g, size_t left) {
        for (; g->n_freed < g->n_names && left > 0; g->n_freed++) {
                if (!g->names[g->n_freed])
                        spend(&left, 1);
                else if (!free_name(g->names[g->n_freed], &left))
                        return false;
        }
        if (g->n_freed < g->n_names)
                return false;
        g->leader->n_listings_kept -= g->phase != LISTING_WAITS;
        message_free(g->answer);
        map_done(&g->by_name);
        row_filter_done(&g->filter);
        list_unlink(&g->all);
        free(g->names);
        free(g->wide);
        free(g->runs);
        free(g);
        return true;
}

void listings_clear(Leader *l) {
        while (!list_is_empty(&l->listings))
                (void) free_some(CONTAINER_OF(l->listings.next, Listing, all), SIZE_MAX);
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
        ListedName *n = listed_name_new(name);

        if (!n || ARRAY_GROW(g->names, g->allocated, g->n_names + 1) < 0 || map_add_str(&g->by_name, n->name, n) < 0) {
                free(n);
                return NULL;
        }
        g->names[g->n_names++] = n;
        if (g->n_names - g->n_sorted == RUN)
                sort_last_run(g);
        return n;
}

static void mark_stale(Listing *g, ListedName *n) {
        if (!list_is_linked(&n->stale))
                list_append(&g->stale, &n->stale);
}

static bool is_page(const Listing *g) {
        return row_filter_limit(&g->filter) > 0;
}

// Of a page what stands behind it is another one's, and what the walk has not come to yet it finds as it is.
static bool is_in_reach(const Listing *g, const char *name) {
        return row_filter_wants_name(&g->filter, name) && (!is_page(g) || g->at_end || strcmp(name, g->reached) <= 0);
}

// Whether it is asked for is looked at when its rows are made, so that it is no matter how many are touched in one turn.
// A name of its own that was asked for is there, or comes yet. Out of memory, it is left to the next look at the list,
// which finds as little.
static ListedName *find_or_add(Listing *g, const char *name) {
        ListedName *n;

        if (g->late)
                return NULL;
        n = map_find_str(&g->by_name, name);
        return n || !g->walks || !is_in_reach(g, name) ? n : add_name(g, name);
}

static void mark_name(Listing *g, const char *name) {
        ListedName *n = find_or_add(g, name);

        if (n)
                mark_stale(g, n);
}

static void mark_name_on(Listing *g, const char *name, uint32_t host) {
        ListedName *n = find_or_add(g, name);

        if (n)
                mark_stale(g, listed_name_piece(n, host) ?: n);
}

void listings_on_unit(Leader *l, const char *name) {
        l->n_list_touches++;
        if (l->listing_made)
                mark_name(l->listing_made, name);
}

void listings_on_touched(Leader *l, Unit *u) {
        const TouchedHosts *t = &l->touched_hosts;
        bool whole = u->touched_itself || t->all;

        u->touched_itself = false;
        l->n_list_touches++;
        if (l->listing_made && whole)
                mark_name(l->listing_made, u->name);
        for (size_t i = 0; l->listing_made && !whole && i < t->n; i++)
                mark_name_on(l->listing_made, u->name, t->hosts[i]);
}

static void mark_tombstones(Listing *g, uint32_t node) {
        const ListNode *tombs = cluster_state_tombstones_on(g->leader->state, node);

        if (tombs)
                list_foreach (i, tombs)
                        mark_name(g, CONTAINER_OF(i, const Tombstone, on_node)->name);
}

void listings_on_node(Leader *l, const Node *n) {
        Listing *g = l->listing_made;

        l->n_list_touches++;
        if (!g)
                return;
        list_foreach (i, &n->placed)
                mark_name(g, CONTAINER_OF(i, Unit, placed)->name);
        list_foreach (i, &n->units_on_node)
                mark_name_on(g, CONTAINER_OF(i, UnitOnNode, by_node)->unit->name, n->host->number);
        mark_tombstones(g, n->number);
}

// Destroyed, but not gone everywhere yet, or where that is not known. In one turn, at about 0.1 us for each unit.
static void mark_unrecorded(Listing *g) {
        Leader *l = g->leader;

        if (l->units.count > cluster_state_n_units(l->state))
                name_table_foreach(u, &l->units)
                        if (!((const Unit *) u)->recorded)
                                mark_name(g, ((const Unit *) u)->name);
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
        if (g->walked && g->walks)
                mark_unrecorded(g);
}

static int make_rows(Listing *g, ListedName *n, size_t *left) {
        size_t before = n->n_bytes, rows_before = listed_name_rows(n);
        int r = 0;

        if (!g->sees_all)
                spend(left, HIDING_ROWS);
        if (g->sees_all || authorization_may_view(g->leader, g->ticket->author, n->name))
                r = listed_name_make(g->leader, g->kind, &g->filter, n);
        else
                listed_name_hide(n);
        g->n_bytes_made += n->n_bytes - before;
        g->n_rows_made += listed_name_rows(n) - rows_before;
        spend(left, listed_name_work(g->leader, n));
        return r;
}

static void forget_rows(Listing *g, const ListedName *n) {
        g->n_bytes_made -= n->n_bytes;
        g->n_rows_made -= listed_name_rows(n);
}

static void drop_pieces(Listing *g, ListedName *n) {
        for (size_t i = 0; i < n->n_pieces; i++)
                forget_rows(g, n->pieces[i]);
        listed_name_drop_pieces(n, 0);
}

// All of its pieces are to be made, again or for the first time.
static int begin_pieces(Listing *g, ListedName *n, size_t *left) {
        size_t before = n->n_pieces;

        if (!n->is_wide && ARRAY_GROW(g->wide, g->wide_allocated, g->n_wide + 1) < 0)
                return -ENOMEM;
        if (!n->is_wide)
                g->wide[g->n_wide++] = n;
        n->is_wide = true;
        forget_rows(g, n);
        for (size_t i = 0; i < before; i++)
                forget_rows(g, n->pieces[i]);
        if (listed_name_split(g->leader, n) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n->n_pieces; i++) {
                ListedName *piece = n->pieces[i];

                g->n_bytes_made += piece->n_bytes;
                g->n_rows_made += listed_name_rows(piece);
                mark_stale(g, piece);
        }
        spend(left, n->n_pieces);
        return 0;
}

static int make_name(Listing *g, ListedName *n, size_t *left) {
        if (listed_name_is_wide(g->leader, g->kind, n->name))
                return begin_pieces(g, n, left);
        drop_pieces(g, n);
        return make_rows(g, n, left);
}

static int end_pieces(Listing *g) {
        for (size_t i = 0; i < g->n_wide; i++)
                if (g->wide[i]->n_pieces > 0 && listed_name_end_pieces(g->leader, g->kind, &g->filter, g->wide[i]) < 0)
                        return -ENOMEM;
        return 0;
}

static bool matches(Listing *g, const char *name, size_t *left) {
        g->leader->n_compared += g->n_globs;
        spend(left, g->n_globs / COMPARED_PER_ROW);
        return answer_name_matches(g->globs, g->n_globs, name);
}

static int make_next(Listing *g, size_t *left) {
        ListedName *n = CONTAINER_OF(g->stale.next, ListedName, stale);

        list_unlink(&n->stale);
        n->asked_for = n->asked_for || matches(g, n->name, left);
        if (n->asked_for)
                return n->whole ? make_rows(g, n, left) : make_name(g, n, left);
        spend(left, 1);
        return 0;
}

// A name that is there already was touched before we came to it, or is asked for twice.
static int take_name(Listing *g, const char *name, size_t *left) {
        ListedName *n = map_find_str(&g->by_name, name);

        if (n) {
                if (!n->asked_for)
                        mark_stale(g, n);
                n->asked_for = true;
                spend(left, 1);
                return 0;
        }
        n = add_name(g, name);
        if (!n)
                return -ENOMEM;
        n->asked_for = true;
        return make_name(g, n, left);
}

static int take_names(Listing *g, size_t *left) {
        for (; *left > 0 && g->n_taken < g->n_patterns; g->n_taken++) {
                const char *name = g->patterns[g->n_taken];

                if (answer_is_glob(name) || strlen(name) > UNIT_NAME_MAX || !row_filter_wants_name(&g->filter, name))
                        spend(left, 1);
                else if (take_name(g, name, left) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static bool has_enough(const Listing *g) {
        return is_page(g) && g->n_rows_made > row_filter_limit(&g->filter);
}

// The first unit of a page is the one of which it may have only the last rows.
static const UnitEntry *next_of_page(Listing *g) {
        const ClusterState *state = g->leader->state;
        const UnitEntry *e = NULL;

        if (g->begins_within)
                e = cluster_state_find_unit(state, g->reached);
        g->begins_within = false;
        if (!e)
                e = cluster_state_next_unit(state, g->reached);
        if (e)
                (void) str_copy(g->reached, sizeof(g->reached), e->record->name); // it is one
        return e;
}

static const UnitEntry *walk_next(Listing *g) {
        const UnitEntry *e = NULL;

        if (!g->walks || has_enough(g))
                return NULL;
        e = is_page(g) ? next_of_page(g) : cluster_state_walk_next(g->leader->state);
        g->at_end = !e;
        return e;
}

// Those that were touched before the walk came to them are stale.
static int walk_some(Listing *g, size_t *left) {
        while (*left > 0 && !g->walked) {
                const UnitEntry *e = walk_next(g);

                g->walked = !e;
                if (!e) {
                        if (g->walks)
                                mark_unrecorded(g);
                } else if (map_find_str(&g->by_name, e->record->name) || !matches(g, e->record->name, left))
                        spend(left, 1);
                else if (take_name(g, e->record->name, left) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void begin(Listing *g) {
        Leader *l = g->leader;

        cluster_state_walk_begin(l->state);
        g->phase = LISTING_MADE;
        l->listing_made = g;
        l->n_listings_kept++;
        g->index = l->index;
        g->revision = cluster_state_revision(l->state);
        g->host_changes = l->n_host_changes;
        g->hosts_revision = cluster_state_hosts_revision(l->state);
        g->rollouts_revision = cluster_state_rollouts_revision(l->state);
}

static void sift_down(Listing *g, size_t i);

static size_t count_runs(const Listing *g) {
        size_t n = g->n_names / RUN + 1;

        for (size_t i = 0; i < g->n_wide; i++)
                n += g->wide[i]->n_pieces;
        return n;
}

static void add_runs_of_pieces(Listing *g, const ListedName *n) {
        for (size_t i = 0; i < n->n_pieces; i++)
                if (listed_name_rows(n->pieces[i]) > 0)
                        g->runs[g->n_runs++] = (Run){n->pieces + i, n->pieces + i + 1};
}

// All rows are what they would be if they were made now.
static int end_making(Listing *g) {
        if (g->n_sorted < g->n_names)
                sort_last_run(g);
        map_done(&g->by_name);
        g->phase = LISTING_GIVEN;
        g->leader->listing_made = NULL;
        g->runs = calloc(count_runs(g), sizeof(*g->runs));
        if (!g->runs || end_pieces(g) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < g->n_names; i += RUN)
                g->runs[g->n_runs++] = (Run){g->names + i, g->names + MIN_OF(i + RUN, g->n_names)};
        for (size_t i = 0; i < g->n_wide; i++)
                add_runs_of_pieces(g, g->wide[i]);
        for (size_t i = g->n_runs; i-- > 0;)
                sift_down(g, i);
        return 0;
}

// Lists are made before it is judged where global units run (followers.c): those that give way to what was placed just
// now are not touched yet.
static bool globals_may_give_way(const Leader *l) {
        return l->leading && (l->globals_changed || !list_is_empty(&l->globals_due));
}

// Somebody leads again, or the log would not have gone on.
static bool is_overtaken(const Listing *g) {
        const Leader *l = g->leader;

        return !l->leading && (g->index != l->index || g->revision != cluster_state_revision(l->state));
}

static int make_some(Listing *g) {
        size_t left = MADE_PER_TURN;

        if (is_overtaken(g))
                return -EAGAIN;
        g->late |= g->walked && g->n_turns++ >= (g->leader->listing_turns_max ?: TURNS_MAX);
        if (row_filter_find_nodes(&g->filter, g->leader->state) < 0)
                return -ENOMEM;
        if (!g->late)
                mark_all_if_changed(g);
        if (take_names(g, &left) < 0 || walk_some(g, &left) < 0)
                return -ENOMEM;
        while (left > 0 && !list_is_empty(&g->stale))
                if (make_next(g, &left) < 0)
                        return -ENOMEM;
        if (g->walked && list_is_empty(&g->stale) && g->walks && !g->at_end && !has_enough(g))
                g->walked = false; // some are gone again: it goes on
        if (!g->walked || !list_is_empty(&g->stale) || (globals_may_give_way(g->leader) && !g->late))
                return 0;
        if (g->m && g->m->tagged && !g->late)
                (void) list_tag(g->leader, g->ticket->author, g->tag);
        return end_making(g);
}

// ------------------------------------------------------------------------------------------------ given

static const char *next_node(const ListedName *piece) {
        return piece->units.rows[piece->n_given]->node;
}

// A name goes with its last piece.
static bool is_before(const Run *a, const Run *b) {
        const ListedName *x = *a->at, *y = *b->at;
        int order = strcmp(x->name, y->name);

        if (order != 0 || !x->whole || !y->whole)
                return order < 0 || (order == 0 && x->whole);
        return strcmp(next_node(x), next_node(y)) < 0;
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

static size_t count_rows(const Listing *g) {
        return g->kind == &list_kind_units ? g->answer->units->n_rows : g->answer->unit_files->n_rows;
}

// That there may be in this part.
static size_t rows_to_give(const Listing *g) {
        return is_page(g) ? row_filter_limit(&g->filter) - g->n_rows : SIZE_MAX;
}

static bool is_full(const Listing *g) {
        return count_rows(g) >= rows_to_give(g);
}

static void drop_first_run(Listing *g) {
        g->runs[0] = g->runs[--g->n_runs];
}

// One row of it: the next one may be another piece's.
static int give_of_piece(Listing *g, ListedName *piece, size_t *left) {
        int r = g->kind->give(piece, g->answer, MIN_OF(rows_to_give(g), count_rows(g) + 1));

        spend(left, 1);
        if (piece->n_given == listed_name_rows(piece))
                drop_first_run(g);
        sift_down(g, 0);
        return r;
}

static int give_next(Listing *g, size_t *left) {
        ListedName **at = g->runs[0].at, *n = *at;
        size_t n_rows = listed_name_rows(n);
        int r;

        if (n->whole)
                return give_of_piece(g, n, left);
        r = g->kind->give(n, g->answer, rows_to_give(g));
        spend(left, MAX_OF(n_rows, (size_t) 1) + n->n_pieces);
        if (++g->runs[0].at == g->runs[0].end)
                drop_first_run(g);
        sift_down(g, 0);
        *at = NULL;
        listed_name_free(n);
        return r;
}

// Who is told may end any list, this one too: nothing of it is looked at afterwards.
static void say(Listing *g, bool final) {
        Argosy__Response *answer = TAKE_PTR(g->answer);

        g->n_bytes += argosy__response__get_packed_size(answer);
        if (g->n_bytes > ANSWER_BYTES_MAX) {
                message_free(answer);
                answer = response_too_long(g->n_bytes, false);
                final = true;
        }
        if (answer)
                answer->no_leader = !g->leader->leading;
        if (answer && final && *g->tag)
                (void) field_set(&answer->tag, g->tag);
        ticket_send_now(g->ticket, answer, final);
}

static int give_some(Listing *g) {
        size_t left = GIVEN_PER_TURN;
        bool final;

        if (!g->answer)
                g->answer = response_new(g->kind->what);
        if (!g->answer)
                return -ENOMEM;
        while (left > 0 && g->n_runs > 0 && !is_full(g))
                if (give_next(g, &left) < 0)
                        return -ENOMEM;
        final = g->n_runs == 0 || is_full(g);
        if (!final && (!g->parts || is_page(g)))
                return 0;
        g->kind->set_place(g->answer, g->n_rows, final && has_enough(g));
        g->n_rows += count_rows(g);
        say(g, final);
        return 0;
}

// ------------------------------------------------------------------------------------------------ whose turn it is

static bool can_go_on(const Listing *g) {
        const Leader *l = g->leader;

        if (!g->ticket || g->phase == LISTING_MADE)
                return true;
        if (g->phase == LISTING_WAITS && (l->listing_made || l->n_listings_kept >= KEPT_MAX))
                return false;
        return !ticket_taker_is_full(g->ticket);
}

static Listing *next_listing(const Leader *l) {
        list_foreach (i, &l->listings)
                if (can_go_on(CONTAINER_OF(i, Listing, all)))
                        return CONTAINER_OF(i, Listing, all);
        return NULL;
}

static bool is_known(const Listing *g, char ret_tag[LIST_TAG_SIZE]) {
        return g->m && *g->m->known && list_tag(g->leader, g->ticket->author, ret_tag) &&
               list_tag_is_known(ret_tag, g->m->known);
}

static void say_unchanged(Listing *g, const char *tag) {
        Argosy__Response *answer = response_new(g->kind->what);

        if (answer && field_set(&answer->tag, tag) == 0) {
                answer->unchanged = true;
                g->kind->set_place(answer, 0, false);
        }
        ticket_send_now(g->ticket, answer, true);
}

// Those for which there is none are gone on with when a host takes more again, or is lost.
void listings_step(Leader *l) {
        Listing *g = next_listing(l);
        char tag[LIST_TAG_SIZE];
        int r;

        if (!g)
                return;
        leader_mark(l);
        if (!g->ticket) {
                (void) free_some(g, FREED_PER_TURN);
                return;
        }
        if (g->phase == LISTING_WAITS && is_known(g, tag)) {
                say_unchanged(g, tag);
                return;
        }
        if (g->phase == LISTING_WAITS)
                begin(g);
        r = g->phase == LISTING_MADE ? make_some(g) : give_some(g);
        if (r == -EAGAIN)
                ticket_send_now(g->ticket, response_error(EAGAIN, "there is a leader again: it is to be asked"), true);
        else if (r < 0)
                ticket_send_now(g->ticket, NULL, true);
        else if (l->listing_made == g && g->n_bytes_made > ANSWER_BYTES_MAX)
                ticket_send_now(g->ticket, response_too_long(g->n_bytes_made, false), true);
}
