// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What all files ask that plan a Change: what its verb needs, which units it names, and how one is refused.
//
// Happy path: each is an answer without a side effect but that the names are remembered once somebody asked.
// Failures: -ENOMEM.

#include "planner.h"

#include <errno.h>

#include "response.h"
#include "str.h"
#include "unit-name.h"

bool request_needs_file(Argosy__Verb verb) {
        return verb == ARGOSY__VERB__VERB_SUBMIT || verb == ARGOSY__VERB__VERB_LOAD ||
               verb == ARGOSY__VERB__VERB_START;
}

// Whether the change may replace a unit's file. An unload may, as fleet's API brings another content that
// way.
bool request_takes_file(const Argosy__Request__Change *change) {
        return request_needs_file(change->verb) ||
               (change->verb == ARGOSY__VERB__VERB_UNLOAD && change->replace);
}

int unit_result_fail(Argosy__Response__UnitResult *result, int status, const char *message) {
        result->status = status;
        return field_set(&result->message, message);
}

int request_names(Planner *p, const char *name) {
        const Argosy__Request__Change *c = p->change;

        if (p->named.count == 0)
                for (size_t i = 0; i < c->n_names; i++)
                        if (map_add_str(&p->named, c->names[i], c->names[i]) == -ENOMEM)
                                return -ENOMEM;
        return map_find_str(&p->named, name) != NULL;
}

int request_is_rolled_out(const Planner *p, const UnitEntry *u, char **ret_of) {
        bool grouped = u->record->from_template && !u->record->global;

        *ret_of = grouped ? unit_name_template(u->record->name) : strdup(u->record->name);
        if (!*ret_of)
                return -ENOMEM;
        return rollout_is_under_way(cluster_state_find_rollout(p->state, *ret_of));
}
