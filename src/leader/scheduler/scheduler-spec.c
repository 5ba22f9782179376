// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit options and host records in the Placement's words.
//
//      scheduler_class(): options -> terms, preferences, demands, spread -> a class
//      scheduler_label_node(): a host's facts (`@id`, `@host`, `@manager`), labels and pools
//          -> labels of its node
//      scheduler_admits(): the same rules for one node, without a Placement
//
// Failures: -EINVAL above PLACEMENT_TERMS_MAX terms, -ENOSPC for too many resources, -ENOMEM.

#include "scheduler-spec.h"

#include <errno.h>
#include <strings.h>

#include "manager-name.h"
#include "oom.h"
#include "quadlet.h"
#include "scheduler.h"
#include "str.h"
#include "unit-file.h"

typedef struct SpecBuilder {
        PlacementTerm terms[PLACEMENT_TERMS_MAX];
        PlacementTerm wishes[UNIT_WISHES_MAX];
        const char *ids[2];
        PlacementSpec spec;
} SpecBuilder;

static PlacementTerm term_of(const LabelMatch *m) {
        static const PlacementOp ops[] = {[LABEL_IN] = PLACEMENT_IN,
                                          [LABEL_NOT_IN] = PLACEMENT_NOT_IN,
                                          [LABEL_EXISTS] = PLACEMENT_EXISTS,
                                          [LABEL_ABSENT] = PLACEMENT_NOT_EXISTS};

        return (PlacementTerm){.op = ops[m->op],
                               .key = m->key,
                               .values = (const char *const *) m->values,
                               .reason = m->op == LABEL_EXISTS && streq(m->key, QUADLET_LABEL)
                                                 ? "no Quadlet here: that takes podman 5.0 or newer"
                                                 : NULL};
}

static int add_term(SpecBuilder *b, PlacementTerm term) {
        if (b->spec.n_terms == PLACEMENT_TERMS_MAX)
                return -EINVAL;
        b->terms[b->spec.n_terms++] = term;
        return 0;
}

static int add_where(SpecBuilder *b, const UnitOptions *o) {
        static const char *const system[] = {"system", NULL};
        int r = 0;

        if (o->machine_id) {
                b->ids[0] = o->machine_id;
                r = add_term(
                        b, (PlacementTerm){PLACEMENT_IN, "@id", b->ids, "MachineID= names another machine"});
        }
        if (r >= 0 && o->hosts)
                r = add_term(b, (PlacementTerm){PLACEMENT_IN, "@host", (const char *const *) o->hosts,
                                                "Host= names other hosts"});
        if (r >= 0 && !o->managers)
                r = add_term(b,
                             (PlacementTerm){PLACEMENT_IN, "@manager", system,
                                             "only units that ask for it by Manager= run in this manager"});
        if (r >= 0 && o->managers)
                r = add_term(b,
                             (PlacementTerm){PLACEMENT_LIKE, "@manager", (const char *const *) o->managers,
                                             "Manager= names other managers"});
        for (size_t i = 0; i < o->n_labels && r >= 0; i++)
                r = add_term(b, term_of(&o->labels[i]));
        for (size_t i = 0; i < o->n_wishes && r >= 0; i++) {
                b->wishes[i] = term_of(&o->wishes[i].match);
                b->spec.weights[i] = o->wishes[i].weight;
        }
        b->spec.n_prefers = o->n_wishes;
        return r;
}

static int add_demands(Placement *p, SpecBuilder *b, const UnitOptions *o, bool *ret_new) {
        b->spec.demand.of[PLACEMENT_CPU] = (int32_t) o->cpu_milli;
        b->spec.demand.of[PLACEMENT_MEMORY] = (int32_t) o->memory_mib;
        for (size_t i = 0; i < o->n_reserves; i++) {
                int resource = placement_resource(p, o->reserves[i].name, ret_new);

                if (resource < 0)
                        return resource;
                b->spec.demand.of[resource] = (int32_t) o->reserves[i].amount;
        }
        return 0;
}

// The spread group of a unit: its template's, or its own.
static char *group_of(const char *name) {
        size_t len;
        const char *prefix = unit_name_prefix(name, &len), *suffix = unit_name_suffix(name);

        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return strdup(name);
        return str_printf("%.*s@%s", (int) len, prefix, suffix);
}

int scheduler_class(Placement *p, const char *name, const UnitOptions *o, uint32_t *ret, bool *ret_new) {
        _cleanup_free_ char *group = NULL;
        SpecBuilder b = {};
        int r;

        b.spec.terms = b.terms;
        b.spec.prefers = b.wishes;
        b.spec.conflicts = (const char *const *) o->conflicts;
        b.spec.replaces = (const char *const *) o->replaces;
        b.spec.policy = o->pack ? PLACEMENT_BEST_FIT : PLACEMENT_LEAST_LOADED;
        if (o->spread) {
                group = group_of(name);
                if (!group)
                        return -ENOMEM;
                b.spec.spread = streq(o->spread, "host") ? "@host" : o->spread;
                b.spec.spread_group = group;
                b.spec.spread_soft = o->spread_soft;
                b.spec.spread_skew = o->spread_skew;
        }
        r = add_where(&b, o);
        r = r < 0 ? r : add_demands(p, &b, o, ret_new);
        return r < 0 ? r : placement_class_get(p, &b.spec, ret);
}

// Never 0.
static uint64_t hash_labels(const PlacementLabel *labels, size_t n) {
        uint64_t hash = 1;

        for (size_t i = 0; i < n; i++)
                hash = (hash * 31 + map_hash(labels[i].key, strlen(labels[i].key))) * 31 +
                       map_hash(labels[i].value, strlen(labels[i].value));
        return hash ? hash : 1;
}

void scheduler_label_node(Placement *p, const ClusterState *state, uint32_t node,
                          const Argosy__HostRecord *host, const char *manager, uint64_t *given) {
        size_t n_pools, n = 0;
        Argosy__PoolRecord *const *pools = cluster_state_pools(state, &n_pools);
        _cleanup_free_ PlacementLabel *labels =
                oom_checked(calloc(host->n_labels + n_pools + 4, sizeof *labels));
        uint64_t hash;

        labels[n++] = (PlacementLabel){"@host", host->name};
        labels[n++] = (PlacementLabel){"@host", host->machine_id};
        labels[n++] = (PlacementLabel){"@id", host->machine_id};
        labels[n++] = (PlacementLabel){"@manager", manager};
        for (size_t i = 0; i < host->n_labels; i++)
                labels[n++] = (PlacementLabel){host->labels[i]->key, host->labels[i]->value};
        for (size_t i = 0; i < n_pools; i++)
                if (pool_has_host(pools[i], host))
                        labels[n++] = (PlacementLabel){PLACEMENT_POOL, pools[i]->name};
        hash = hash_labels(labels, n);
        if (hash == *given)
                return;
        *given = hash;
        placement_node_label(p, node, labels, n);
}

// --------------------------------------------------------------------------------------------- one question

static bool value_matches(const LabelMatch *match, const char *value) {
        for (char **v = match->values; v && *v; v++)
                if (streq(value, *v))
                        return true;
        return false;
}

static bool label_matches(const ClusterState *state, const Argosy__HostRecord *host,
                          const LabelMatch *match) {
        bool key = false, value = false;
        size_t n = 0;
        Argosy__PoolRecord *const *pools =
                streq(match->key, PLACEMENT_POOL) ? cluster_state_pools(state, &n) : NULL;

        for (size_t i = 0; i < n; i++)
                if (pool_has_host(pools[i], host)) {
                        key = true;
                        value |= value_matches(match, pools[i]->name);
                }

        for (size_t i = 0; i < host->n_labels; i++) {
                if (!streq(host->labels[i]->key, match->key))
                        continue;
                key = true;
                value |= value_matches(match, host->labels[i]->value);
        }
        switch (match->op) {
        case LABEL_IN:
                return value;
        case LABEL_NOT_IN:
                return !value;
        case LABEL_EXISTS:
                return key;
        default:
                return !key;
        }
}

static bool host_matches(const Argosy__HostRecord *host, char **hosts) {
        if (!hosts)
                return true;
        for (; *hosts; hosts++)
                if (strcasecmp(*hosts, host->name) == 0 || strcasecmp(*hosts, host->machine_id) == 0)
                        return true;
        return false;
}

bool scheduler_admits(const ClusterState *state, const Argosy__HostRecord *host, const char *manager,
                      const UnitOptions *o) {
        if ((o->machine_id && strcasecmp(o->machine_id, host->machine_id) != 0) ||
            !host_matches(host, o->hosts) || !manager_matches(manager, o->managers))
                return false;
        for (size_t i = 0; i < o->n_labels; i++)
                if (!label_matches(state, host, &o->labels[i]))
                        return false;
        return true;
}
