// SPDX-License-Identifier: LGPL-2.1-or-later
//
// list-units and list-unit-files of more than is looked at in one turn. One list is made at a time, the
// others wait for it. What a turn may do is counted in rows, since a global unit has one for each node:
//
//      1. made     limits.rows_listed rows a turn: first of the names that were asked for, one by one, and
//                  then, if there are
//                  patterns or nothing was named, of all units that match. A name whose unit is touched
//                  afterwards is
//                  stale, and made again; so are all of them when a host or a rollout changes. In the turn
//                  in which the
//                  last name is made, none is stale and no global unit is about to give way somewhere, all
//                  rows are what
//                  they would be if they were made now: that is the moment that the list shows. A unit that
//                  may be on many
//                  hosts is a name for each few of these (listed-name.h), and where something is seen of it
//                  on one host,
//                  only that piece is stale.
//      2. given    GIVEN_PER_TURN rows a turn (listing-give.c), as they were at that moment, and only while
//                  the host to which they go takes
//                  them: on a slow link they wait here and not before its beats, and other lists go on. Who
//                  takes parts
//                  gets each turn's; Units.first says how many rows came before. Others get one answer when
//                  all rows are
//                  in it.
//      3. freed    what is left, if somebody went away in the middle, limits.rows_freed rows a turn
//
// Of a page, which has a limit, names are looked at in their order from where it begins, and no further than
// there are more rows than it takes; what is touched behind that is left to the question for the next page.
// So it costs its own rows and those that its filters leave out, wherever it begins, and it is of one moment
// like the others. Where there are patterns, names are compared with all of them, too: those that stand
// behind the page are not to count as rows of it. It is given in one part.
//
// Who has the list already, and says so by its tag, is told in the turn in which it would be begun.
//
// Rows come in the order of their names and nodes: what is made is sorted LISTING_RUN names at a time, and
// giving takes the first of all runs; of pieces, each of which is a run, row by row.
//
// Where units are touched faster than they are made again, as when hosts come and go all the time, nothing
// becomes stale any more after limits.listing_turns turns: what is stale then is made, as much in each turn
// as ever, and rows are of different moments. A list that comes late is worse. What follows from time alone
// (until when a guard may let run what was destroyed) is as of the turn in which the row was made. A leader
// that stops leading answers that the next leader is to be asked, whose list begins with `first` 0. A host
// that does not lead makes lists of the records alone; changes of these mark nothing, so a list that was
// begun before a change ends with the same answer. Out of memory ends the list with an answer that says so,
// and so do more rows than an answer may have, as soon as they are made.
#include "listings-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "authorization.h"
#include "answer.h"
#include "array.h"
#include "due.h"
#include "host-marks.h"
#include "listing-give.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-name.h"

enum {
        COMPARED_PER_ROW = 16,    // patterns that a name is compared with in the time of a row
        HIDING_ROWS = 4,          // whether somebody may see a unit is known after so many rows' time
};

// ------------------------------------------------------------------------------------------------ life

static void take_patterns(Listing *g, const Argosy__Request *q) {
        bool all;

        g->patterns = listing_patterns(q, &g->n_patterns);
        all = listing_compares_all(g->m, g->patterns, g->n_patterns);
        for (size_t i = 0; i < g->n_patterns && g->n_globs < LISTED_GLOBS_MAX; i++)
                if (all || answer_is_glob(g->patterns[i]))
                        g->globs[g->n_globs++] = g->patterns[i];
        g->n_taken = all ? g->n_patterns : 0;
        g->walks = g->n_globs > 0 || g->n_patterns == 0;
}

// Nobody listens any more. What the list holds is freed in turns.
static void on_unheard(PendingRequest *t, RequestWork *work) {
        Listing *g = CONTAINER_OF(work, Listing, work);

        g->pending = NULL;
        if (g->leader->listing_made == g)
                g->leader->listing_made = NULL;
        leader_mark(g->leader);
}

static const RequestWorkKind listing_kind = {on_unheard};

int listing_start(Leader *l, PendingRequest *t) {
        const Argosy__Request *q = t->request;
        Listing *g = calloc(1, sizeof(*g));

        if (!g)
                return -ENOMEM;
        g->leader = l;
        g->pending = t;
        g->sees_all = authorization_views_all(l, t->author);
        g->m = listing_filter(q);
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
        request_add_work(t, &listing_kind, &g->work);
        leader_mark(l);
        return 0;
}

static void free_pieces(ListedName *n, size_t *left) {
        while (n->n_pieces > 0 && *left > 0) {
                listing_spend(left, 1 + listed_name_rows(n->pieces[n->n_pieces - 1]));
                listed_name_drop_pieces(n, n->n_pieces - 1);
        }
}

static bool free_name(ListedName *n, size_t *left) {
        free_pieces(n, left);
        if (n->n_pieces > 0)
                return false;
        listing_spend(left, 1 + listed_name_rows(n));
        listed_name_free(n);
        return true;
}

// True: nothing is left of it.
static bool free_some(Listing *g, size_t left) {
        for (; g->n_freed < g->n_names && left > 0; g->n_freed++) {
                if (!g->names[g->n_freed])
                        listing_spend(&left, 1);
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

        if (!n || ARRAY_GROW(g->names, g->allocated, g->n_names + 1) < 0 ||
            map_add_str(&g->by_name, n->name, n) < 0) {
                free(n);
                return NULL;
        }
        g->names[g->n_names++] = n;
        if (g->n_names - g->n_sorted == LISTING_RUN)
                sort_last_run(g);
        return n;
}

static void mark_stale(Listing *g, ListedName *n) {
        if (!list_is_linked(&n->stale))
                list_append(&g->stale, &n->stale);
}

// Whether a touched name matters: names behind the page are another page's, and names that the walk has not
// reached yet are found as they are.
static bool is_in_reach(const Listing *g, const char *name) {
        return row_filter_wants_name(&g->filter, name) &&
               (!listing_is_page(g) || g->at_end || strcmp(name, g->reached) <= 0);
}

// Whether it is asked for is looked at when its rows are made, so that it is no matter how many are touched
// in one turn. A name of its own that was asked for is there, or comes yet. Out of memory, it is left to the
// next look at the list, which finds as little.
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
        bool whole = unit_take_touched_itself(u) || t->all;

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

// Destroyed, but not gone everywhere yet, or where that is not known. In one turn, at about 0.1 us for each
// unit.
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

        if (g->host_changes == l->n_host_changes && g->hosts_revision == hosts &&
            g->rollouts_revision == rollouts)
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
                listing_spend(left, HIDING_ROWS);
        if (g->sees_all || authorization_may_view(g->leader, g->pending->author, n->name))
                r = listed_name_make(g->leader, g->kind, &g->filter, n);
        else
                listed_name_hide(n);
        g->n_bytes_made += n->n_bytes - before;
        g->n_rows_made += listed_name_rows(n) - rows_before;
        listing_spend(left, listed_name_work(g->leader, n));
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
        listing_spend(left, n->n_pieces);
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
                if (g->wide[i]->n_pieces > 0 &&
                    listed_name_end_pieces(g->leader, g->kind, &g->filter, g->wide[i]) < 0)
                        return -ENOMEM;
        return 0;
}

static bool matches(Listing *g, const char *name, size_t *left) {
        g->leader->n_compared += g->n_globs;
        listing_spend(left, g->n_globs / COMPARED_PER_ROW);
        return answer_name_matches(g->globs, g->n_globs, name);
}

static int make_next(Listing *g, size_t *left) {
        ListedName *n = CONTAINER_OF(g->stale.next, ListedName, stale);

        list_unlink(&n->stale);
        n->asked_for = n->asked_for || matches(g, n->name, left);
        if (n->asked_for)
                return n->whole ? make_rows(g, n, left) : make_name(g, n, left);
        listing_spend(left, 1);
        return 0;
}

// A name that is there already was touched before we came to it, or is asked for twice.
static int take_name(Listing *g, const char *name, size_t *left) {
        ListedName *n = map_find_str(&g->by_name, name);

        if (n) {
                if (!n->asked_for)
                        mark_stale(g, n);
                n->asked_for = true;
                listing_spend(left, 1);
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

                if (answer_is_glob(name) || strlen(name) > UNIT_NAME_MAX ||
                    !row_filter_wants_name(&g->filter, name))
                        listing_spend(left, 1);
                else if (take_name(g, name, left) < 0)
                        return -ENOMEM;
        }
        return 0;
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

        if (!g->walks || listing_has_enough(g))
                return NULL;
        e = listing_is_page(g) ? next_of_page(g) : cluster_state_walk_next(g->leader->state);
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
                        listing_spend(left, 1);
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

// All rows are what they would be if they were made now.
static int end_making(Listing *g) {
        if (g->n_sorted < g->n_names)
                sort_last_run(g);
        map_done(&g->by_name);
        g->phase = LISTING_GIVEN;
        g->leader->listing_made = NULL;
        return end_pieces(g) < 0 ? -ENOMEM : listing_give_begin(g);
}

// Lists are made before it is judged where global units run (reconcile.c): those that give way to what was
// placed just now are not touched yet.
static bool globals_may_give_way(const Leader *l) {
        return l->leading && (leader_is_due(l, DUE_GLOBALS) || hosts_have_mark(l, HOST_GLOBALS));
}

// Somebody leads again, or the log would not have gone on.
static bool is_overtaken(const Listing *g) {
        const Leader *l = g->leader;

        return !l->leading && (g->index != l->index || g->revision != cluster_state_revision(l->state));
}

static int make_some(Listing *g) {
        size_t left = g->leader->limits.rows_listed;

        if (is_overtaken(g))
                return -EAGAIN;
        g->late |= g->walked && g->n_turns++ >= g->leader->limits.listing_turns;
        if (row_filter_find_nodes(&g->filter, g->leader->state) < 0)
                return -ENOMEM;
        if (!g->late)
                mark_all_if_changed(g);
        if (take_names(g, &left) < 0 || walk_some(g, &left) < 0)
                return -ENOMEM;
        while (left > 0 && !list_is_empty(&g->stale))
                if (make_next(g, &left) < 0)
                        return -ENOMEM;
        if (g->walked && list_is_empty(&g->stale) && g->walks && !g->at_end && !listing_has_enough(g))
                g->walked = false; // some are gone again: it goes on
        if (!g->walked || !list_is_empty(&g->stale) || (globals_may_give_way(g->leader) && !g->late))
                return 0;
        if (g->m && g->m->tagged && !g->late)
                (void) list_tag(g->leader, g->pending->author, g->tag);
        return end_making(g);
}

// ----------------------------------------------------------------------------------------- whose turn it is

static bool can_go_on(const Listing *g) {
        const Leader *l = g->leader;

        if (!g->pending || g->phase == LISTING_MADE)
                return true;
        if (g->phase == LISTING_WAITS && (l->listing_made || l->n_listings_kept >= l->limits.listings_kept))
                return false;
        return !request_taker_is_full(g->pending);
}

static Listing *next_listing(const Leader *l) {
        list_foreach (i, &l->listings)
                if (can_go_on(CONTAINER_OF(i, Listing, all)))
                        return CONTAINER_OF(i, Listing, all);
        return NULL;
}

static bool is_known(const Listing *g, char ret_tag[LIST_TAG_SIZE]) {
        return g->m && *g->m->known && list_tag(g->leader, g->pending->author, ret_tag) &&
               list_tag_is_known(ret_tag, g->m->known);
}

static void say_unchanged(Listing *g, const char *tag) {
        Argosy__Response *answer = response_new(g->kind->what);

        if (answer && field_set(&answer->tag, tag) == 0) {
                answer->unchanged = true;
                g->kind->set_place(answer, 0, false);
        }
        request_send_now(g->pending, answer, true);
}

// Those for which there is none are gone on with when a host takes more again, or is lost.
void listings_step(Leader *l) {
        Listing *g = next_listing(l);
        char tag[LIST_TAG_SIZE];
        int r;

        if (!g)
                return;
        leader_mark(l);
        if (!g->pending) {
                (void) free_some(g, l->limits.rows_freed);
                return;
        }
        if (g->phase == LISTING_WAITS && is_known(g, tag)) {
                say_unchanged(g, tag);
                return;
        }
        if (g->phase == LISTING_WAITS)
                begin(g);
        r = g->phase == LISTING_MADE ? make_some(g) : listing_give_some(g);
        if (r == -EAGAIN)
                request_send_now(g->pending,
                                response_error(EAGAIN, "there is a leader again: it is to be asked"), true);
        else if (r < 0)
                request_send_now(g->pending, NULL, true);
        else if (l->listing_made == g && g->n_bytes_made > ANSWER_BYTES_MAX)
                request_send_now(g->pending, response_too_long(g->n_bytes_made, false), true);
}
