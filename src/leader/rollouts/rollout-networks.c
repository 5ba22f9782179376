// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A node has one network of each name. So a rollout that brings another file of one takes a whole node at a
// time: with the unit whose turn it is, all others there that share the network, its own ones with its
// content, units of other names with theirs and the new lines (messages/network-change.h). What is not its
// own is not waited for. When its own are done, the rest of the cluster gets the network, too, which holds
// up nothing but by the budgets of that.
//
// On the way back the same goes the other way round, on the nodes that it has come to. Nothing of this is in
// the rollout's record: contents say which network they have.
//
// Who is up as it gets the network is on trial with it (UnitExtra.trial), and starts again as it goes back:
// it may have failed by then, as a dependency of its start did, and then no other content starts it.
//
// Failures: a content that the cluster does not take any more leaves its unit as it is, and says so in the
// log of argosyd; -EBUSY: the batch has one of them already.

#include "rollout-networks.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "budget-dependents.h"
#include "disruption-budget.h"
#include "log.h"
#include "ordering.h"
#include "quadlet.h"
#include "registry.h"
#include "rollout-content.h"
#include "str.h"
#include "unit-file.h"
#include "unit-record.h"

int rollout_networks_of(const UnitEntry *e, const SpecEntry *next, NetworkChange *ret) {
        *ret = (NetworkChange){};
        return next && next != e->spec ? network_change_of(e->record->name, e->spec->content, e->spec->len,
                                                           next->content, next->len, ret)
                                       : 0;
}

// From its former content to its own. As network_change_of().
static int change_of_rollout(const Leader *l, const Argosy__RolloutRecord *r, NetworkChange *ret) {
        const SpecEntry *before = rollout_spec(l, &r->spec_before), *spec = rollout_spec(l, &r->spec);

        *ret = (NetworkChange){};
        return before && spec ? network_change_of(r->name, before->content, before->len, spec->content,
                                                  spec->len, ret)
                              : 0;
}

// ----------------------------------------------------------------------------------------------- who shares

typedef struct Sharers {
        const Leader *l;
        const NetworkChange *change;
        Unit **list;
        size_t n, allocated;
        int r;
} Sharers;

static void add(const char *name, void *userdata) {
        Sharers *s = userdata;
        const UnitEntry *e = cluster_state_find_unit(s->l->state, name);
        Unit *u = unit_find(s->l, name);

        if (s->r < 0 || !e || !u || !network_change_concerns(s->change, e->spec))
                return;
        s->r = ARRAY_GROW(s->list, s->allocated, s->n + 1);
        if (s->r >= 0)
                s->list[s->n++] = u;
}

// The list is the caller's, also on failure.
static int find(Leader *l, const NetworkChange *c, Sharers *ret) {
        *ret = (Sharers){.l = l, .change = c};
        for (size_t i = 0; i < c->n && ret->r >= 0; i++)
                stop_dependents_each(&l->network_users, c->list[i].file, add, ret);
        return MIN_OF(ret->r, 0);
}

int rollout_networks_each(const Leader *l, const NetworkChange *c, const Unit *u, const Node *n,
                          int (*each)(Unit *v, void *userdata), void *userdata) {
        int r = 0;

        if (!n)
                return 0;
        list_foreach_safe (i, &n->placed) {
                Unit *v = CONTAINER_OF(i, Unit, placed);
                const UnitEntry *e = v != u ? cluster_state_find_unit(l->state, v->name) : NULL;

                if (r == 0 && e && network_change_concerns(c, e->spec))
                        r = each(v, userdata);
        }
        return r;
}

int rollout_networks_put(Leader *l, BatchBuilder *b, const NetworkChange *c, const Unit *v, bool back) {
        const UnitEntry *e = cluster_state_find_unit(l->state, v->name);
        bool launched = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED,
             tried = launched && !back && ordering_standing(l, v->name) == STANDING_UP,
             starts = launched && back && record_is_on_trial(e->record);
        Argosy__Trial trial = ARGOSY__TRIAL__INIT;
        Argosy__UnitRecord next = *e->record;
        _cleanup_free_ char *why = NULL;
        Argosy__UnitExtra extra;
        Hash spec;
        int r;

        if (batch_builder_has_unit(b, v->name))
                return -EBUSY;
        r = network_change_put(c, b, l->state, e->spec, &spec, &why);
        if (r == -EINVAL || r == -EDQUOT) {
                log_unit(LOG_WARNING, v->name, "%s keeps its file, and so its network: %s.", v->name,
                         why ?: "the cluster keeps no more contents");
                return 0;
        }
        if (r < 0)
                return r;
        next.spec = hash_field(&spec);
        next.extra = unit_extra_with_trial(&extra, e->record, tried ? &trial : NULL);
        return batch_builder_put_unit(b, &next, starts ? BATCH_BUMP_START : 0, e->record->revision);
}

// -------------------------------------------------------------------------------------------- the beginning

typedef struct InTheWay {
        Leader *l;
        const char *name; // of the group that is about to change
        const NetworkChange *change;
        const char *found;
        int r;
} InTheWay;

// Whether the rollout changes a network.
static int changes_networks(const Leader *l, const Argosy__RolloutRecord *r) {
        NetworkChange c;
        int k = change_of_rollout(l, r, &c);
        bool any = c.n > 0;

        network_change_done(&c);
        return k < 0 ? k : any;
}

static void look_at(const char *name, void *userdata) {
        InTheWay *w = userdata;
        const Unit *u = unit_find(w->l, name);
        const DisruptionBudget *g = u ? u->budget : NULL;
        const Argosy__RolloutRecord *r = g && g->rollout && !streq(g->name, w->name)
                                                 ? cluster_state_find_rollout(w->l->state, g->name)
                                                 : NULL;

        if (w->r < 0 || w->found || !rollout_is_under_way(r))
                return;
        w->r = w->change->n > 0 ? 1 : changes_networks(w->l, r);
        if (w->r == 1)
                w->found = name;
}

int rollout_networks_in_the_way(Leader *l, const char *name, const SpecEntry *before,
                                const ChangeContent *next, const char **ret) {
        const char *at = next->file->networks, *name_of;
        size_t len;
        NetworkChange change;
        InTheWay w = {.l = l, .name = name, .change = &change};
        int r = network_change_of(name, before->content, before->len, next->text, next->len, &change);

        for (size_t i = 0; i < change.n && r == 0; i++)
                stop_dependents_each(&l->network_users, change.list[i].file, look_at, &w);
        while (r == 0 && quadlet_beside_names_next(&at, &name_of, &len)) {
                _cleanup_free_ char *file = strndup(name_of, len);

                if (!file)
                        r = -ENOMEM;
                else
                        stop_dependents_each(&l->network_users, file, look_at, &w);
                r = MIN_OF(r, w.r < 0 ? w.r : 0);
        }
        network_change_done(&change);
        *ret = w.found;
        return r;
}

// ------------------------------------------------------------------------------------------------ the rest

static int by_node(const void *a, const void *b) {
        const Unit *x = *(Unit *const *) a, *y = *(Unit *const *) b;
        uint32_t n = x->node ? x->node->number : 0, m = y->node ? y->node->number : 0;

        return n != m ? (n > m) - (n < m) : strcmp(x->name, y->name);
}

// By nodes, each once: it may share several of them. How many there are.
static size_t sort(Unit **list, size_t n) {
        size_t kept = 1;

        qsort(list, n, sizeof(*list), by_node);
        for (size_t i = 1; i < n; i++)
                if (list[i] != list[kept - 1])
                        list[kept++] = list[i];
        return kept;
}

// All of one node, or none.
static int put_node(Leader *l, BatchBuilder *b, const NetworkChange *c, Unit *const *list, size_t n) {
        _cleanup_free_ char *words = network_change_names(c, " ");
        int r = words ? 0 : -ENOMEM;

        if (r == 0 && budget_dependents_with_networks_in_the_way(l, list[0], list[0]->node, words))
                return 1;
        for (size_t i = 0; i < n && r == 0; i++) {
                if (list[i]->node)
                        disruption_budget_take(l, list[i]);
                r = rollout_networks_put(l, b, c, list[i], false);
        }
        return r;
}

int rollout_networks_finish(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r) {
        NetworkChange c;
        Sharers s = {};
        bool waits = false;
        int k = change_of_rollout(l, r, &c);

        if (k == 0 && c.n > 0)
                k = find(l, &c, &s);
        if (s.n > 1)
                s.n = sort(s.list, s.n);
        for (size_t i = 0, n; i < s.n && k == 0; i += n) {
                for (n = 1; i + n < s.n && s.list[i]->node && s.list[i + n]->node == s.list[i]->node;)
                        n++;
                if (!batch_builder_takes_request(b, n)) { // whole, as a request
                        k = -EBUSY;
                        break;
                }
                k = put_node(l, b, &c, s.list + i, n);
                waits |= k == 1;
                k = MIN_OF(k, 0);
        }
        free(s.list);
        network_change_done(&c);
        return k < 0 ? k : waits;
}
