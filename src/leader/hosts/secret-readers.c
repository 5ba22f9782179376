// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A voter has the key and the log, and so all secrets. Another host has those of the units that are on it or may be, as this leader knows
// of them; what units had that left it earlier nobody remembers, and the manual says so.
//
// Cost: a look-up for each unit of the host.

#include "secret-readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "buf.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"

enum { NAMED_MAX = 20 }; // in words; the answer has all of them

typedef struct Readable {
        Argosy__Response__Removal *removal;
        Map seen; // of the removal's names, borrowed
        int error;
} Readable;

static bool add(const char *secret, uint64_t version, void *userdata) {
        Readable *r = userdata;
        Argosy__Response__Removal *m = r->removal;
        char *name;

        if (map_find_str(&r->seen, secret))
                return true;
        name = strdup(secret);
        r->error = FIELD_APPEND(m->secrets, m->n_secrets, name);
        if (r->error == 0)
                r->error = map_add_str(&r->seen, name, name);
        return r->error == 0;
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int add_all(const Leader *l, Readable *r) {
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);

        for (size_t i = 0; i < n && r->error == 0; i++)
                (void) add(secrets[i]->name, 0, r);
        return r->error;
}

static int add_of_units(const Leader *l, uint32_t host, Readable *r) {
        Host *h = host_find(l, host);

        if (!h)
                return 0;
        list_foreach (i, &h->nodes) {
                const Node *node = CONTAINER_OF(i, Node, of_host);

                list_foreach (k, &node->units_on_node)
                        secret_users_each_of_unit(&l->secret_users, CONTAINER_OF(k, UnitOnNode, by_node)->unit->name, add, r);
        }
        return r->error;
}

Argosy__Response__Removal *secret_readers_of(const Leader *l, uint32_t host, bool votes) {
        Readable r = {.removal = calloc(1, sizeof(*r.removal))};

        if (!r.removal)
                return NULL;
        argosy__response__removal__init(r.removal);
        r.removal->all = votes;
        r.error = votes ? add_all(l, &r) : add_of_units(l, host, &r);
        map_done(&r.seen);
        if (r.removal->n_secrets > 0)
                qsort(r.removal->secrets, r.removal->n_secrets, sizeof(*r.removal->secrets), by_name);
        if (r.error == 0)
                return r.removal;
        message_free(r.removal);
        return NULL;
}

char *secret_readers_words(const Argosy__Response__Removal *m, const char *host) {
        _cleanup_buf_ Buf text = {};
        int r = 0;

        if (m->n_secrets == 0)
                return strdup("");
        r = buf_printf(&text, "%s could read %s secret%s ", host, m->all ? "every" : "the", m->all || m->n_secrets == 1 ? "" : "s");
        for (size_t i = 0; r == 0 && i < MIN_OF(m->n_secrets, (size_t) NAMED_MAX); i++)
                r = buf_printf(&text, "%s%s", i == 0 ? m->all ? "(" : "" : ", ", m->secrets[i]);
        if (r == 0 && m->n_secrets > NAMED_MAX)
                r = buf_printf(&text, " and %zu more", m->n_secrets - NAMED_MAX);
        if (r == 0)
                r = buf_printf(&text, "%s: only new values help (argosyctl secret set)", m->all ? ")" : "");
        return r == 0 ? buf_take_string(&text) : NULL;
}
