// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rows of one name: made, counted, and moved into an answer in their order. They are made by answer.c, as those of a
// list that is answered at once; nothing here knows which names a list has, or when (listings.c). Out of memory the name
// has some of its rows or none, and the list ends.
#include "listed-name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "array.h"
#include "message.h"
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
        n->n_bytes = 0;
}

static int make_units(Leader *l, ListedName *n) {
        return answer_add_units(l, n->name, &n->units);
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
        for (size_t i = 0; i < n->units.n_rows && r->units->n_rows < max; i++) {
                if (ARRAY_RESERVE(r->units->rows, r->units->n_rows + 1) < 0)
                        return -ENOMEM;
                r->units->rows[r->units->n_rows++] = TAKE_PTR(n->units.rows[i]);
        }
        return 0;
}

static int give_files(ListedName *n, Argosy__Response *r, size_t max) {
        for (size_t i = 0; i < n->files.n_rows && r->unit_files->n_rows < max; i++) {
                if (ARRAY_RESERVE(r->unit_files->rows, r->unit_files->n_rows + 1) < 0)
                        return -ENOMEM;
                r->unit_files->rows[r->unit_files->n_rows++] = TAKE_PTR(n->files.rows[i]);
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

const ListKind list_kind_units = {ARGOSY__RESPONSE__WHAT_UNITS, make_units, drop_units, give_units, set_place_of_units};
const ListKind list_kind_files = {ARGOSY__RESPONSE__WHAT_UNIT_FILES, make_files, drop_files, give_files, set_place_of_files};

ListedName *listed_name_new(const char *name) {
        size_t size = strlen(name) + 1;
        ListedName *n = calloc(1, sizeof(*n) + size);

        if (!n)
                return NULL;
        memcpy(n->name, name, size);
        argosy__response__units__init(&n->units);
        argosy__response__unit_files__init(&n->files);
        return n;
}

void listed_name_free(ListedName *n) {
        drop_rows(n);
        free(n);
}

int listed_name_make(Leader *l, const ListKind *kind, const RowFilter *f, ListedName *n) {
        int r;

        drop_rows(n);
        l->n_listed++;
        r = kind->make(l, n);
        l->n_listed_rows += listed_name_rows(n);
        kind->drop(n, f);
        if (r >= 0)
                n->n_bytes = protobuf_c_message_get_packed_size(&n->units.base) +
                             protobuf_c_message_get_packed_size(&n->files.base);
        return r;
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

        if (e && e->record->global)
                (void) cluster_state_hosts(l->state, &n_hosts);
        return MAX_OF(listed_name_rows(n), n_hosts);
}
