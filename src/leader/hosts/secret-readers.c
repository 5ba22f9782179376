// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A voter has the key and the log, and so all secrets. A host that was one had all that were set until then
// (HostRecord.log_until): those that have a version from before are named. Another host has those of the
// units that are on it or may be, as this leader knows of them; what units had that left it earlier nobody
// remembers, and that is said.
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

// Those of which a version that is kept came up to that revision.
static int add_of_log(const Leader *l, uint64_t until, Readable *r) {
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);

        for (size_t i = 0; i < n && r->error == 0; i++)
                if (secrets[i]->versions[0]->revision <= until)
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
                        secret_users_each_of_unit(&l->secret_users,
                                                  CONTAINER_OF(k, UnitOnNode, by_node)->unit->name, add, r);
        }
        return r->error;
}

static int add_all(const Leader *l, const Argosy__HostRecord *host, Readable *r) {
        bool has_log = host->role == ARGOSY__HOST_ROLE__ROLE_VOTER || host->raft_id > 0;
        Argosy__Response__Removal *m = r->removal;
        size_t n_secrets;

        m->all |= has_log;
        if (r->error == 0)
                r->error = add_of_log(l, has_log ? UINT64_MAX : host->log_until, r);
        if (r->error == 0 && !has_log)
                r->error = add_of_units(l, host->host, r);
        map_done(&r->seen);
        (void) cluster_state_secrets(l->state, &n_secrets);
        m->others = m->n_secrets < n_secrets;
        if (m->n_secrets > 0)
                qsort(m->secrets, m->n_secrets, sizeof(*m->secrets), by_name);
        return r->error;
}

Argosy__Response__Removal *secret_readers_of(const Leader *l, const Argosy__HostRecord *host) {
        Readable r = {.removal = calloc(1, sizeof(*r.removal))};

        if (!r.removal)
                return NULL;
        argosy__response__removal__init(r.removal);
        if (add_all(l, host, &r) == 0)
                return r.removal;
        message_free(r.removal);
        return NULL;
}

int secret_readers_add(const Leader *l, const Argosy__HostRecord *host, Argosy__Response__Removal *removal) {
        Readable r = {.removal = removal};

        for (size_t i = 0; i < removal->n_secrets && r.error == 0; i++)
                r.error = map_add_str(&r.seen, removal->secrets[i], removal->secrets[i]);
        return add_all(l, host, &r);
}

static int add_names(const Argosy__Response__Removal *m, Buf *text) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < MIN_OF(m->n_secrets, (size_t) NAMED_MAX); i++)
                r = buf_printf(text, "%s%s", i == 0 ? "" : ", ", m->secrets[i]);
        return r == 0 && m->n_secrets > NAMED_MAX
                       ? buf_printf(text, " and %zu more", m->n_secrets - NAMED_MAX)
                       : r;
}

char *secret_readers_words(const Argosy__Response__Removal *m, const char *host) {
        _cleanup_buf_ Buf text = {};
        int r;

        if (m->n_secrets == 0 && !m->others)
                return strdup("");
        r = buf_printf(&text, "%s %s", host,
                       m->n_secrets == 0   ? "may have read secrets of units that it had earlier"
                       : m->all            ? "could read every secret ("
                       : m->n_secrets == 1 ? "could read the secret "
                                           : "could read the secrets ");
        if (r == 0)
                r = add_names(m, &text);
        if (r == 0)
                r = buf_printf(&text, "%s%s: only new values help (argosyctl secret set)", m->all ? ")" : "",
                               m->others && m->n_secrets > 0
                                       ? ", and may have read others of units that it had earlier"
                                       : "");
        return r == 0 ? buf_take_string(&text) : NULL;
}
