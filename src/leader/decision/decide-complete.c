// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the client hears of units besides what was planned: their revisions, where they are, what is not told
// to end, and who gives way. It is known when the log has the entry, or when there is nothing to put into
// one.
//
// Without memory for a word to the eye that word is missing.

#include "decide-complete.h"

#include <errno.h>
#include <string.h>

#include "nodes.h"
#include "previous-nodes.h"
#include "registry.h"
#include "request.h"
#include "response.h"
#include "scheduler.h"
#include "tables.h"
#include "tombstones.h"
#include "unit-work.h"

const char *decide_node_name(uint32_t node, void *userdata) {
        const Node *n = node_find(userdata, node);

        return n ? n->name : NULL;
}

// What the verb was to end, and could not be told. What is not named for want of memory is named to who
// waits.
static void name_the_silent(Leader *l, Argosy__Verb verb, Argosy__Response__UnitResult *result) {
        if ((verb == ARGOSY__VERB__VERB_STOP || verb >= ARGOSY__VERB__VERB_UNLOAD) && l->n_hosts.silent > 0)
                (void) tombstones_fill(l, result, verb, previous_node_is_silent);
}

// Global units that leave nodes to this one from now on.
static void warn_of_those_who_give_way(Leader *l, Argosy__Response__UnitResult *result) {
        const Unit *u = unit_find(l, result->name), *first = NULL;
        size_t n = 0;

        if (!u || u->life != LIFE_GLOBAL || !scheduler_may_conflict(l, u) || *result->message)
                return;
        list_foreach (i, &l->globals) {
                const Unit *o = CONTAINER_OF(i, UnitWork, queue)->unit;

                if (o == u || strcmp(o->name, u->name) < 0 || !scheduler_conflict_between(l, u, o))
                        continue;
                first = first ?: o;
                n++;
        }
        if (n > 1)
                (void) field_printf(&result->message, "%s and %zu more units give way to it (Conflicts=)",
                                    first->name, n - 1);
        else if (n)
                (void) field_printf(&result->message, "%s gives way to it (Conflicts=)", first->name);
}

// What the leader has judged is carried out (batch-builder.c). Were it not, nobody is to hear that a unit
// was destroyed.
static bool was_not_taken(const Leader *l, Argosy__Verb verb, const Argosy__Response__UnitResult *result) {
        return cluster_state_figures(l->state).state_operations_refused > l->n_refused &&
               (verb == ARGOSY__VERB__VERB_SUBMIT || verb == ARGOSY__VERB__VERB_LOAD ||
                verb == ARGOSY__VERB__VERB_START) &&
               !cluster_state_find_unit(l->state, result->name);
}

// Completes the answer. In an Undo each unit has its own verb.
void decide_complete(Leader *l, PendingRequest *t, Argosy__Response *response) {
        const Argosy__Request *m = t->request;

        if (!t->recorded)
                change_complete(l->state, response, decide_node_name, l);
        for (size_t i = 0; i < response->change->n_units; i++) {
                Argosy__Response__UnitResult *result = response->change->units[i];
                Argosy__Verb verb =
                        m->what_case == ARGOSY__REQUEST__WHAT_CHANGE ? m->change->verb : result->verb;

                if (result->status != 0 || (t->recorded && result->revision == 0))
                        continue;
                if (was_not_taken(l, verb, result)) {
                        result->status = EIO;
                        (void) field_set(&result->message, "the log did not take it");
                        continue;
                }
                name_the_silent(l, verb, result);
                if (verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD)
                        warn_of_those_who_give_way(l, result);
        }
}
