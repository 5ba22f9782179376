// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A draft of a Change in words: what each record would become is compared with what it is. Nothing is
// decided here, so the words are as good as the draft. A unit that has an error keeps it. -ENOMEM leaves the
// response half described; the caller answers with an error then.

#include "dry-run.h"

#include <errno.h>

#include "response.h"
#include "str.h"

typedef const char *(*NodeName)(uint32_t node, void *userdata);

static const Argosy__LogOp__UnitPut *find_put(const Argosy__LogBatch *batch, const char *name) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT &&
                    streq(batch->ops[i]->unit->unit->name, name))
                        return batch->ops[i]->unit;
        return NULL;
}

static bool same_spec(const Argosy__UnitRecord *a, const Argosy__UnitRecord *b) {
        return a->spec.len == b->spec.len && memcmp(a->spec.data, b->spec.data, a->spec.len) == 0;
}

// NULL: it has not ended for good.
static const char *action_of_ended(const Argosy__UnitRecord *r) {
        if (r->n_outcomes == 0 || r->outcomes[0]->start_rev != r->start_rev)
                return NULL;
        switch (r->outcomes[0]->kind) {
        case ARGOSY__OUTCOME__KIND__DONE:
                return "has finished and would run again";
        case ARGOSY__OUTCOME__KIND__FAILED:
                return "has failed and would run again";
        default:
                return "would run again, whatever became of its last run";
        }
}

static const char *action_of_new(const Argosy__UnitRecord *next) {
        switch (next->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return "would start";
        case ARGOSY__TARGET__TARGET_LOADED:
                return "would be loaded";
        default:
                return "would become known";
        }
}

static const char *action_of_known(const Argosy__UnitRecord *now, const Argosy__UnitRecord *next) {
        bool placed = now->node || now->global;

        if (now->target == ARGOSY__TARGET__TARGET_INACTIVE || !placed)
                return action_of_new(next);
        if (next->node != now->node || next->global != now->global)
                return "would stop where it is and start";
        if (!same_spec(now, next))
                return now->target == ARGOSY__TARGET__TARGET_LAUNCHED
                               ? "would stop and start again with the new file"
                               : action_of_new(next);
        if (next->target != now->target)
                return action_of_new(next);
        return action_of_ended(now) ?: "is started already";
}

static int describe(Argosy__Response__UnitResult *result, const UnitEntry *u,
                    const Argosy__LogOp__UnitPut *put, NodeName node_name, void *userdata) {
        const Argosy__UnitRecord *next = put->unit;
        const char *node = next->global ? "all nodes that fit" : node_name(next->node, userdata);
        bool waits = next->target != ARGOSY__TARGET__TARGET_INACTIVE && !next->node && !next->global;
        _cleanup_free_ char *warning = strdup(result->message);
        int r;

        if (!warning)
                return -ENOMEM;
        if (waits)
                r = field_set(&result->message, "would wait for a node");
        else
                r = field_printf(&result->message, "%s%s%s%s%s",
                                 u ? action_of_known(u->record, next) : action_of_new(next),
                                 node && next->target != ARGOSY__TARGET__TARGET_INACTIVE ? " on " : "",
                                 node && next->target != ARGOSY__TARGET__TARGET_INACTIVE ? node : "",
                                 *warning ? "; " : "", warning);
        return r < 0 || next->global ? r : field_set(&result->node, node);
}

static Argosy__Response__UnitResult *find_result(const Argosy__Response__Change *change, const char *name) {
        for (size_t i = 0; i < change->n_units; i++)
                if (streq(change->units[i]->name, name))
                        return change->units[i];
        return NULL;
}

static int add_brought_along(Argosy__Response__Change *change, const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const char *name;

                if (batch->ops[i]->op_case != ARGOSY__LOG_OP__OP_UNIT)
                        continue;
                name = batch->ops[i]->unit->unit->name;
                if (!find_result(change, name) &&
                    FIELD_APPEND(change->units, change->n_units, unit_result_new(name)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int dry_run_describe(const ClusterState *state, const Argosy__LogBatch *batch, Argosy__Response *planned,
                     NodeName node_name, void *userdata) {
        Argosy__Response__Change *change = planned->change;

        if (add_brought_along(change, batch) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < change->n_units; i++) {
                Argosy__Response__UnitResult *result = change->units[i];
                const Argosy__LogOp__UnitPut *put = find_put(batch, result->name);
                int r = 0;

                if (result->status)
                        continue;
                if (put)
                        r = describe(result, cluster_state_find_unit(state, result->name), put, node_name,
                                     userdata);
                else if (!*result->message)
                        r = field_set(&result->message, "nothing would change");
                if (r < 0)
                        return r;
        }
        return 0;
}
