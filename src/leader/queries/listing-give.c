// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sends a list that was made, a part of its rows per turn.
//
//      listing_give_begin(): a heap of sorted runs -> listing_give_some() per turn: the first rows
//          -> the final response
//
// At most about GIVEN_PER_TURN rows a turn. A name and its rows are freed when they are given. Failures:
// -ENOMEM ends the list (listings_step()); a list above ANSWER_BYTES_MAX ends with an error.

#include "listing-give.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "message.h"
#include "response.h"
#include "pending-requests.h"

enum { GIVEN_PER_TURN = 2000 }; // rows, at about 0.5 us each

static const char *next_node(const ListedName *piece) {
        return piece->units.rows[piece->n_given]->node;
}

// Runs are ordered by name, then node. Of one name its pieces come first and the name itself, which owns
// them, last.
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

static size_t count_runs(const Listing *g) {
        size_t n = g->n_names / LISTING_RUN + 1;

        for (size_t i = 0; i < g->n_wide; i++)
                n += g->wide[i]->n_pieces;
        return n;
}

static void add_runs_of_pieces(Listing *g, const ListedName *n) {
        for (size_t i = 0; i < n->n_pieces; i++)
                if (listed_name_rows(n->pieces[i]) > 0)
                        g->runs[g->n_runs++] = (Run){n->pieces + i, n->pieces + i + 1};
}

int listing_give_begin(Listing *g) {
        g->runs = calloc(count_runs(g), sizeof(*g->runs));
        if (!g->runs)
                return -ENOMEM;
        for (size_t i = 0; i < g->n_names; i += LISTING_RUN)
                g->runs[g->n_runs++] = (Run){g->names + i, g->names + MIN_OF(i + LISTING_RUN, g->n_names)};
        for (size_t i = 0; i < g->n_wide; i++)
                add_runs_of_pieces(g, g->wide[i]);
        for (size_t i = g->n_runs; i-- > 0;)
                sift_down(g, i);
        return 0;
}

static size_t count_rows(const Listing *g) {
        return g->kind == &list_kind_units ? g->answer->units->n_rows : g->answer->unit_files->n_rows;
}

// How many rows this response may have.
static size_t rows_to_give(const Listing *g) {
        return listing_is_page(g) ? row_filter_limit(&g->filter) - g->n_rows : SIZE_MAX;
}

static bool is_full(const Listing *g) {
        return count_rows(g) >= rows_to_give(g);
}

static void drop_first_run(Listing *g) {
        g->runs[0] = g->runs[--g->n_runs];
}

// Gives one row of a piece, since the next row may be in another piece.
static int give_of_piece(Listing *g, ListedName *piece, size_t *left) {
        int r = g->kind->give(piece, g->answer, MIN_OF(rows_to_give(g), count_rows(g) + 1));

        listing_spend(left, 1);
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
        listing_spend(left, MAX_OF(n_rows, (size_t) 1) + n->n_pieces);
        if (++g->runs[0].at == g->runs[0].end)
                drop_first_run(g);
        sift_down(g, 0);
        *at = NULL;
        listed_name_free(n);
        return r;
}

// The receiver may end any list, this one too, so `g` must not be used afterwards.
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
        request_send_now(g->pending, answer, final);
}

int listing_give_some(Listing *g) {
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
        if (!final && (!g->parts || listing_is_page(g)))
                return 0;
        g->kind->set_place(g->answer, g->n_rows, final && listing_has_enough(g));
        g->n_rows += count_rows(g);
        say(g, final);
        return 0;
}
