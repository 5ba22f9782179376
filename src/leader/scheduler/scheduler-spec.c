// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit options and host records in the Placement's words.
//
//      scheduler_class(): options -> terms and preferences (eligibility.h), demands, spread -> a class
//      scheduler_label_node(): a host's labels (eligibility.h) -> labels of its node
//
// Failures: -EINVAL above PLACEMENT_TERMS_MAX terms, -ENOSPC for too many resources, -ENOMEM.

#include "scheduler-spec.h"

#include <errno.h>

#include "eligibility.h"
#include "oom.h"
#include "str.h"

static void add_where(PlacementSpec *spec, const UnitOptions *o, EligibilityTerms *terms,
                      PlacementTerm *preferences) {
        eligibility_terms(o, terms);
        spec->terms = terms->of;
        spec->n_terms = terms->n;
        spec->preferences = preferences;
        for (size_t i = 0; i < o->n_preferences; i++) {
                preferences[i] = eligibility_term(&o->preferences[i].match);
                spec->weights[i] = o->preferences[i].weight;
        }
        spec->n_preferences = o->n_preferences;
}

static int add_demands(Placement *p, PlacementSpec *spec, const UnitOptions *o, bool *ret_new) {
        spec->demand.of[PLACEMENT_CPU] = (int32_t) o->cpu_milli;
        spec->demand.of[PLACEMENT_MEMORY] = (int32_t) o->memory_mib;
        for (size_t i = 0; i < o->n_reserves; i++) {
                int resource = placement_resource(p, o->reserves[i].name, ret_new);

                if (resource < 0)
                        return resource;
                spec->demand.of[resource] = (int32_t) o->reserves[i].amount;
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
        PlacementSpec spec = {.conflicts = (const char *const *) o->conflicts,
                              .replaces = (const char *const *) o->replaces,
                              .policy = o->pack ? PLACEMENT_BEST_FIT : PLACEMENT_LEAST_LOADED};
        PlacementTerm preferences[UNIT_PREFERENCES_MAX];
        _cleanup_free_ char *group = NULL;
        EligibilityTerms terms;
        int r;

        if (o->spread) {
                group = group_of(name);
                if (!group)
                        return -ENOMEM;
                spec.spread = streq(o->spread, "host") ? "@host" : o->spread;
                spec.spread_group = group;
                spec.spread_soft = o->spread_soft;
                spec.spread_skew = o->spread_skew;
        }
        add_where(&spec, o, &terms, preferences);
        r = add_demands(p, &spec, o, ret_new);
        return r < 0 ? r : placement_class_get(p, &spec, ret);
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
        NodeLabels walk = {.state = state, .host = host, .manager = manager};
        _cleanup_free_ PlacementLabel *labels = oom_checked(calloc(node_labels_max(&walk), sizeof *labels));
        size_t n = 0;
        uint64_t hash;

        while (node_labels_next(&walk, &labels[n]))
                n++;
        hash = hash_labels(labels, n);
        if (hash == *given)
                return;
        *given = hash;
        placement_node_label(p, node, labels, n);
}
