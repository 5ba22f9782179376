// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rows of one name: made, counted, and moved into an answer in their order. They are made by answer.c,
// as those of a list that is answered at once; nothing here knows which names a list has, or when
// (listings.c). Out of memory the name has some of its rows or none, and the list ends.
#include "listed-name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "array.h"
#include "message.h"
#include "sorted.h"
#include "str.h"
#include "tables.h"

static void drop_rows(ListedName *n) {
        for (size_t i = 0; i < n->units.n_rows; i++)
                message_free(n->units.rows[i]);
        for (size_t i = 0; i < n->files.n_rows; i++)
                message_free(n->files.rows[i]);
        free(n->units.rows);
        free(n->files.rows);
        argosy__response__units__init(&n->units);
        argosy__response__unit_files__init(&n->files);
        n->n_bytes = n->n_found = n->n_given = 0;
}

static int make_units(Leader *l, ListedName *n) {
        return n->whole ? answer_add_units_within(l, n->name, n->hosts, &n->units)
                        : answer_add_units(l, n->name, &n->units);
}

static int make_files(Leader *l, ListedName *n) {
        return answer_add_unit_files(l, n->name, &n->files);
}

static void drop_units(ListedName *n, const RowFilter *f) {
        size_t kept = 0;

        for (size_t i = 0; i < n->units.n_rows; i++)
                if (row_filter_wants_unit(f, n->units.rows[i]))
                        n->units.rows[kept++] = n->units.rows[i];
                else
                        message_free(n->units.rows[i]);
        n->units.n_rows = kept;
}

static void drop_files(ListedName *n, const RowFilter *f) {
        size_t kept = 0;

        for (size_t i = 0; i < n->files.n_rows; i++)
                if (row_filter_wants_file(f, n->files.rows[i]))
                        n->files.rows[kept++] = n->files.rows[i];
                else
                        message_free(n->files.rows[i]);
        n->files.n_rows = kept;
}

static int give_units(ListedName *n, Argosy__Response *r, size_t max) {
        for (; n->n_given < n->units.n_rows && r->units->n_rows < max; n->n_given++) {
                if (ARRAY_RESERVE(r->units->rows, r->units->n_rows + 1) < 0)
                        return -ENOMEM;
                r->units->rows[r->units->n_rows++] = TAKE_PTR(n->units.rows[n->n_given]);
        }
        return 0;
}

static int give_files(ListedName *n, Argosy__Response *r, size_t max) {
        for (; n->n_given < n->files.n_rows && r->unit_files->n_rows < max; n->n_given++) {
                if (ARRAY_RESERVE(r->unit_files->rows, r->unit_files->n_rows + 1) < 0)
                        return -ENOMEM;
                r->unit_files->rows[r->unit_files->n_rows++] = TAKE_PTR(n->files.rows[n->n_given]);
        }
        return 0;
}

static void set_place_of_units(Argosy__Response *r, size_t first, bool more) {
        r->units->first = (uint32_t) first;
        r->units->more = more;
}

static void set_place_of_files(Argosy__Response *r, size_t first, bool more) {
        r->unit_files->first = (uint32_t) first;
        r->unit_files->more = more;
}

const ListKind list_kind_units = {ARGOSY__RESPONSE__WHAT_UNITS, make_units, drop_units, give_units,
                                  set_place_of_units};
const ListKind list_kind_files = {ARGOSY__RESPONSE__WHAT_UNIT_FILES, make_files, drop_files, give_files,
                                  set_place_of_files};

ListedName *listed_name_new(const char *name) {
        ListedName *n = NEW_WITH_TEXT(ListedName, name, name);

        if (!n)
                return NULL;
        argosy__response__units__init(&n->units);
        argosy__response__unit_files__init(&n->files);
        return n;
}

void listed_name_free(ListedName *n) {
        listed_name_drop_pieces(n, 0);
        drop_rows(n);
        free(n->pieces);
        free(n);
}

static int keep_wanted(const ListKind *kind, const RowFilter *f, ListedName *n, int made) {
        n->n_found = listed_name_rows(n);
        kind->drop(n, f);
        if (made >= 0)
                n->n_bytes = protobuf_c_message_get_packed_size(&n->units.base) +
                             protobuf_c_message_get_packed_size(&n->files.base);
        return made;
}

int listed_name_make(Leader *l, const ListKind *kind, const RowFilter *f, ListedName *n) {
        int r;

        drop_rows(n);
        l->n_listed++;
        r = kind->make(l, n);
        l->n_listed_rows += listed_name_rows(n);
        return keep_wanted(kind, f, n, r);
}

void listed_name_hide(ListedName *n) {
        drop_rows(n);
}

size_t listed_name_rows(const ListedName *n) {
        return n->units.n_rows + n->files.n_rows;
}

size_t listed_name_work(const Leader *l, const ListedName *n) {
        const UnitEntry *e = n->files.n_rows > 0 ? NULL : cluster_state_find_unit(l->state, n->name);
        size_t n_hosts = 1;

        if (n->whole)
                n_hosts = LISTED_HOSTS;
        else if (e && e->record->global)
                (void) cluster_state_hosts(l->state, &n_hosts);
        return MAX_OF(listed_name_rows(n), n_hosts);
}

// ------------------------------------------------------------------------------------------------ pieces

enum { NARROW_HOSTS = 256 };

bool listed_name_is_wide(const Leader *l, const ListKind *kind, const char *name) {
        return kind == &list_kind_units && answer_is_wide(l, name, NARROW_HOSTS);
}

void listed_name_drop_pieces(ListedName *n, size_t kept) {
        while (n->n_pieces > kept) {
                ListedName *piece = n->pieces[--n->n_pieces];

                list_unlink(&piece->stale);
                listed_name_free(piece);
        }
}

static int add_piece(ListedName *n) {
        ListedName *piece = listed_name_new(n->name);

        if (!piece || ARRAY_RESERVE(n->pieces, n->n_pieces + 1) < 0) {
                free(piece);
                return -ENOMEM;
        }
        piece->whole = n;
        piece->asked_for = true;
        n->pieces[n->n_pieces++] = piece;
        return 0;
}

int listed_name_split(const Leader *l, ListedName *n) {
        size_t n_hosts, n_pieces;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n_hosts);

        drop_rows(n);
        n_pieces = MAX_OF((n_hosts + LISTED_HOSTS - 1) / LISTED_HOSTS, (size_t) 1);
        listed_name_drop_pieces(n, n_pieces);
        while (n->n_pieces < n_pieces)
                if (add_piece(n) < 0)
                        return -ENOMEM;
        for (size_t i = 0; i < n_pieces; i++)
                n->pieces[i]->hosts = (HostRange){
                        .first = i == 0 ? 1 : hosts[i * LISTED_HOSTS].record->host,
                        .last = i + 1 == n_pieces ? UINT32_MAX
                                                  : hosts[(i + 1) * LISTED_HOSTS].record->host - 1,
                };
        return 0;
}

ListedName *listed_name_piece(const ListedName *n, uint32_t host) {
        size_t begun = SORTED_COUNT(n->n_pieces, i, n->pieces[i]->hosts.first <= host);

        return begun > 0 ? n->pieces[begun - 1] : NULL;
}

int listed_name_end_pieces(Leader *l, const ListKind *kind, const RowFilter *f, ListedName *n) {
        size_t n_found = 0;

        drop_rows(n);
        for (size_t i = 0; i < n->n_pieces; i++)
                n_found += n->pieces[i]->n_found;
        if (n_found > 0)
                return 0;
        return keep_wanted(kind, f, n, answer_add_unit_nowhere(l, n->name, &n->units));
}
