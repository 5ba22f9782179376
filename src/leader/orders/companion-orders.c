// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a unit's record -> which templates it needs where (companions.c) -> the host is due -> its next message
//   has all of them
//
// A host is always told the whole set with the contents as the log has them now, so nothing is kept of what
// it was told. A template that is not in the cluster is left out, and its node's own one counts, if there is
// one. Sets are small: they have as many templates as there are kinds of alerts. What does not fit a message
// (COMPANIONS_MAX) is left out, and the row of the host says so.
#include <errno.h>

#include "companion-orders.h"
#include "companions.h"
#include "host-complaints.h"
#include "host-marks.h"
#include "registry.h"
#include "unit-file.h"
#include "unit-name.h"

enum { COMPANIONS_MAX = 64, COMPANIONS_BYTES_MAX = 1024 * 1024 }; // of one host

static void mark_host(Leader *l, Host *h) {
        h->ordering.companions_due = true;
        host_mark_now(l, h, HOST_ORDERS);
}

static void on_changed(uint32_t node, void *userdata) {
        Leader *l = userdata;
        const Node *n = node != COMPANIONS_EVERYWHERE ? node_find(l, node) : NULL;

        if (n)
                mark_host(l, n->host);
        else if (node == COMPANIONS_EVERYWHERE)
                map_foreach (slot, &l->hosts)
                        mark_host(l, slot->value);
}

int companion_orders_on_unit(Leader *l, const UnitEntry *e) {
        const Argosy__UnitRecord *r = e->record;
        bool placed = !e->removed && r->target != ARGOSY__TARGET__TARGET_INACTIVE && (r->global || r->node);
        const UnitFile *file = NULL;
        char **templates = NULL;
        size_t n = 0;
        int k = 0;

        if (!companions_is_empty(&l->companions) && unit_name_kind(r->name, NULL) == UNIT_NAME_TEMPLATE) {
                companions_foreach_node(&l->companions, r->name, on_changed, l);
                return 0;
        }
        if (placed)
                k = spec_entry_file(e->spec, &file);
        if (k == 0 && file)
                k = unit_file_companions(file, r->name, &templates, &n);
        if (k == -ENOMEM)
                return k;
        k = companions_set(&l->companions, r->name, r->global ? COMPANIONS_EVERYWHERE : r->node, templates,
                           n, on_changed, l);
        for (size_t i = 0; i < n; i++)
                free(templates[i]);
        free(templates);
        return k;
}

typedef struct Fill {
        Leader *leader;
        uint32_t node;
        Argosy__Companions *m;
        size_t bytes, n_cut;
        const char *cut; // the first that did not fit
        bool failed;
} Fill;

static void fill_one(const char *template, void *userdata) {
        Fill *f = userdata;
        const UnitEntry *e = cluster_state_find_unit(f->leader->state, template);
        Argosy__Companion *c;

        if (f->failed || !e || e->removed)
                return;
        if (f->m->n_list == COMPANIONS_MAX || f->bytes + e->spec->len > COMPANIONS_BYTES_MAX) {
                f->cut = f->cut ?: e->record->name;
                f->n_cut++;
                return;
        }
        c = malloc(sizeof(*c));
        f->failed = !c;
        if (!c)
                return;
        argosy__companion__init(c);
        c->node = f->node;
        c->name = e->record->name; // borrowed, like the content: it is sent in this turn
        c->content = (ProtobufCBinaryData){.data = e->spec->content, .len = e->spec->len};
        f->bytes += e->spec->len;
        f->m->list[f->m->n_list++] = c;
}

static void tell_cut(Leader *l, Host *h, const Fill *f) {
        if (f->n_cut > 0)
                host_complain(l, h,
                              "its units name more templates than it can be told of (%d, or %d MiB): it has "
                              "not got %s, and "
                              "%zu more",
                              COMPANIONS_MAX, COMPANIONS_BYTES_MAX / 1024 / 1024, f->cut, f->n_cut - 1);
        else if (h->ordering.companions_cut)
                host_complaint_end(h);
        h->ordering.companions_cut = f->n_cut > 0;
}

Argosy__Companions *companion_orders_new(Leader *l, Host *h) {
        Argosy__Companions *m = malloc(sizeof(*m));
        Fill f = {.leader = l, .m = m};

        if (!m)
                return NULL;
        argosy__companions__init(m);
        m->list = calloc(COMPANIONS_MAX, sizeof(*m->list));
        f.failed = !m->list;
        if (m->list)
                companions_foreach(&l->companions, COMPANIONS_EVERYWHERE, fill_one, &f);
        if (m->list)
                list_foreach (i, &h->nodes) {
                        f.node = CONTAINER_OF(i, Node, of_host)->number;
                        companions_foreach(&l->companions, f.node, fill_one, &f);
                }
        tell_cut(l, h, &f);
        if (!f.failed)
                return m;
        companion_orders_free(m);
        return NULL;
}

void companion_orders_free(Argosy__Companions *m) {
        if (!m)
                return;
        for (size_t i = 0; i < m->n_list; i++)
                free(m->list[i]);
        free(m->list);
        free(m);
}
