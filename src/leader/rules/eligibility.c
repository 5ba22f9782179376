// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a unit may run: options become terms, a host's record becomes labels, and the two are compared.
//
//      eligibility_terms(): one term for each option about nodes. A unit without Manager= runs in system
//          managers only
//      node_labels_next(): facts of the host (`@id`, `@host`, `@manager`), its labels, its pools
//      eligibility_unmet(): a term names labels by key and value. It is met if the node has such a label, or
//          has none if the term forbids it
//
// An option that decides where a unit may run is a term here, and nothing else compares it with hosts. One
// that asks for a label (Pool=) is among UnitOptions.labels, and needs nothing here. Failures: none.

#include "eligibility.h"

#include "quadlet.h"
#include "str.h"

enum { N_FACTS = 4 };

PlacementTerm eligibility_term(const LabelMatch *m) {
        return (PlacementTerm){.op = m->op,
                               .key = m->key,
                               .values = (const char *const *) m->values,
                               .reason = m->op == LABEL_EXISTS && streq(m->key, QUADLET_LABEL)
                                                 ? "no Quadlet here: that takes podman 5.0 or newer"
                                                 : NULL};
}

static void add(EligibilityTerms *to, LabelOp op, const char *key, const char *const *values,
                const char *reason) {
        to->of[to->n++] = (PlacementTerm){op, key, values, reason};
}

void eligibility_terms(const UnitOptions *o, EligibilityTerms *ret) {
        static const char *const system[] = {"system", NULL};

        ret->n = 0;
        ret->id[0] = o->machine_id;
        ret->id[1] = NULL;
        if (o->machine_id)
                add(ret, LABEL_IN, "@id", ret->id, "MachineID= names another machine");
        if (o->hosts)
                add(ret, LABEL_IN, "@host", (const char *const *) o->hosts, "Host= names other hosts");
        if (o->managers)
                add(ret, LABEL_LIKE, "@manager", (const char *const *) o->managers,
                    "Manager= names other managers");
        else
                add(ret, LABEL_IN, "@manager", system,
                    "only units that ask for it by Manager= run in this manager");
        for (size_t i = 0; i < o->n_labels; i++)
                ret->of[ret->n++] = eligibility_term(&o->labels[i]);
}

bool eligibility_narrows(const UnitOptions *o) {
        EligibilityTerms terms;

        eligibility_terms(o, &terms);
        return o->managers || terms.n > 1;
}

size_t node_labels_max(const NodeLabels *walk) {
        size_t n_pools;

        cluster_state_pools(walk->state, &n_pools);
        return N_FACTS + walk->host->n_labels + n_pools + 1;
}

// The pool at that place as it is or is to be, the changed one behind all others.
static const Argosy__PoolRecord *pool_at(const NodeLabels *walk, Argosy__PoolRecord *const *pools, size_t n,
                                         size_t i) {
        if (i == n)
                return walk->changed ? walk->pool : NULL;
        return walk->changed && streq(pools[i]->name, walk->changed) ? NULL : pools[i];
}

bool node_labels_next(NodeLabels *walk, PlacementLabel *ret) {
        const Argosy__HostRecord *host = walk->host;
        const PlacementLabel facts[N_FACTS] = {{"@host", host->name},
                                               {"@host", host->machine_id},
                                               {"@id", host->machine_id},
                                               {"@manager", walk->manager}};
        Argosy__PoolRecord *const *pools;
        size_t i = walk->next++, n_pools;

        if (i < N_FACTS)
                return *ret = facts[i], true;
        i -= N_FACTS;
        if (i < host->n_labels)
                return *ret = (PlacementLabel){host->labels[i]->key, host->labels[i]->value}, true;
        pools = cluster_state_pools(walk->state, &n_pools);
        for (i -= host->n_labels; i <= n_pools; i++, walk->next++) {
                const Argosy__PoolRecord *pool = pool_at(walk, pools, n_pools, i);

                if (pool && pool_has_host(pool, host))
                        return *ret = (PlacementLabel){PLACEMENT_POOL, pool->name}, true;
        }
        return false;
}

// Whether the term names this label.
static bool names(const PlacementTerm *t, const PlacementLabel *label) {
        if (!streq(t->key, label->key))
                return false;
        for (const char *const *v = t->values; v && *v; v++)
                if (label_op_names(t->op, *v, label->value))
                        return true;
        return !t->values || !*t->values;
}

static bool is_met(const PlacementTerm *t, NodeLabels labels) {
        bool facts = *t->key == '@', pools = streq(t->key, PLACEMENT_POOL), has = false;
        size_t end = facts ? N_FACTS : N_FACTS + labels.host->n_labels;
        PlacementLabel label;

        labels.next = facts ? 0 : N_FACTS;
        while (!has && (pools || labels.next < end) && node_labels_next(&labels, &label))
                has = names(t, &label);
        return has == label_op_wants(t->op);
}

const PlacementTerm *eligibility_unmet(const EligibilityTerms *terms, const NodeLabels *labels) {
        for (size_t i = 0; i < terms->n; i++)
                if (!is_met(&terms->of[i], *labels))
                        return &terms->of[i];
        return NULL;
}

bool eligibility_admits_node(const UnitOptions *o, const NodeLabels *labels) {
        EligibilityTerms terms;

        eligibility_terms(o, &terms);
        return !eligibility_unmet(&terms, labels);
}

bool eligibility_admits(const ClusterState *state, const Argosy__HostRecord *host, const char *manager,
                        const UnitOptions *o) {
        return eligibility_admits_node(
                o, &(NodeLabels){.state = state, .host = host, .manager = manager});
}
