// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a rollout ends, and how it turns back: its record in the log, with a global unit's record and a
// template's, which get the content with it.
//
// Others may get an order meanwhile which, with the content that is next for a unit, goes in a cycle. On the
// way forward that fails the rollout, as any other failure; on the way back it ends where it is.
//
// Failures: -EBUSY if the entry in the making has one of these records already, so it is for the next one.
#include <errno.h>

#include "batch-builder.h"
#include "log.h"
#include "ordering.h"
#include "rollout-content.h"
#include "rollout-end.h"
#include "rollout-order.h"
#include "rollout-private.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-on-node.h"

bool rollout_changes_in_place(const SpecEntry *now, SpecEntry *next) {
        return now && next && spec_entry_change(now, next) != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

int rollout_put_template(Leader *l, BatchBuilder *b, const char *name, const ProtobufCBinaryData *spec) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Argosy__UnitRecord next;

        if (!e || unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE || field_equal(&e->record->spec, spec))
                return 0;
        if (batch_builder_has_unit(b, name))
                return -EBUSY;
        next = *e->record;
        next.spec = *spec;
        return batch_builder_put_unit(b, &next, 0, 0);
}

unsigned rollout_secrets_bump(const UnitEntry *e, const Argosy__RolloutRecord *r, SpecEntry *spec) {
        const UnitFile *file;

        if (rollout_is_returning(r) ||
            spec_entry_file(rollout_is_update(r) && spec ? spec : e->spec, &file) < 0)
                return 0;
        return unit_file_has_secrets(file) ? BATCH_BUMP_SECRETS : 0;
}

// A global unit's record gets what its nodes have by now.
static int settle_global(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Argosy__UnitRecord next;
        SpecEntry *spec;

        if (!e || !e->record->global)
                return 0;
        if (batch_builder_has_unit(b, r->name))
                return -EBUSY;
        next = *e->record;
        if (rollout_is_update(r) && !rollout_is_returning(r))
                next.spec = r->spec;
        spec = rollout_spec(l, &next.spec);
        return batch_builder_put_unit(
                b, &next, rollout_changes_in_place(e->spec, spec) ? 0 : rollout_secrets_bump(e, r, spec),
                e->record->revision);
}

int rollout_turn_back(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *reason) {
        Argosy__RolloutRecord next = *r;
        bool back = rollout_is_update(r);
        int k;

        next.reason = (char *) reason;
        next.phase =
                back ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING : ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        k = back ? rollout_put_template(l, b, r->name, &r->spec_before) : settle_global(l, b, r);
        return k < 0 ? k : batch_builder_put_rollout(b, &next);
}

int rollout_fail(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *unit, const Node *n,
                 const char *why) {
        char reason[ROLLOUT_REASON_SIZE];

        if (unit)
                str_fit(reason, sizeof(reason), "%s on %s: %s", unit, n ? n->name : "-", why);
        else
                str_fit(reason, sizeof(reason), "%s", why);
        log_unit(LOG_WARNING, r->name, "%s: its %s %s: %s.", r->name,
                 rollout_is_update(r) ? "update" : "restart", rollout_is_update(r) ? "goes back" : "stops",
                 reason);
        return rollout_turn_back(l, b, r, reason);
}

int rollout_fail_unit(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const Unit *u,
                      const Node *n, const char *failure) {
        const UnitOnNode *s = n ? unit_on_node_find(u, n) : NULL;
        char words[ROLLOUT_REASON_SIZE];
        const char *blocked = s ? ordering_blocked(l, s, words, sizeof(words)) : NULL;

        return rollout_fail(l, b, r, u->name, n, blocked ?: failure);
}

// It has ended like that, and nothing more is to be brought.
static Argosy__RolloutRecord ended(const Argosy__RolloutRecord *r, Argosy__RolloutPhase phase,
                                   const char *reason) {
        Argosy__RolloutRecord next = *r;

        next.phase = phase;
        next.reason = (char *) reason;
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        return next;
}

int rollout_stop(Leader *l, BatchBuilder *b, Dependencies *planned, const Argosy__RolloutRecord *r,
                 const char *reason) {
        Argosy__RolloutRecord next = ended(r, ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED, reason);
        char cycle[ROLLOUT_REASON_SIZE], both[2 * ROLLOUT_REASON_SIZE];
        int k;

        if (batch_builder_has_rollout(b, r->name))
                return -EBUSY;
        k = rollout_order_settle(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE) {
                str_fit(both, sizeof(both), "%s; %s", reason, cycle);
                k = rollout_turn_back(l, b, r, both);
                return k < 0 ? k : ROLLOUT_IN_CYCLE;
        }
        if (k < 0)
                return k;
        k = settle_global(l, b, r);
        return k < 0 ? k : batch_builder_put_rollout(b, &next);
}

int rollout_end_in_cycle(Leader *l, BatchBuilder *b, Dependencies *planned, const Argosy__RolloutRecord *r,
                         const char *why) {
        char reason[2 * ROLLOUT_REASON_SIZE];

        if (!rollout_is_returning(r))
                return rollout_fail(l, b, r, NULL, NULL, why);
        str_fit(reason, sizeof(reason), "%s; it does not go back: %s", r->reason, why);
        log_unit(LOG_WARNING, r->name, "%s: its update stops: %s.", r->name, reason);
        return rollout_stop(l, b, planned, r, reason);
}

// Names units that have the rollout's content and of which it is not known that they are up with it. "":
// none.
static void say_left_behind(const RolloutSums *sums, char *ret, size_t size) {
        size_t n = sums->unplaced, unseen = sums->unseen;
        int len = 0;

        *ret = 0;
        if (n > 0)
                len = snprintf(ret, size, "%zu unit%s no node, and start%s as soon as one is found", n,
                               n == 1 ? " has" : "s have", n == 1 ? "s" : "");
        if (unseen > 0)
                snprintf(ret + len, size - (size_t) len,
                         "%s%zu unit%s on nodes that cannot be asked, so whether %s up is not known",
                         n > 0 ? "; " : "", unseen, unseen == 1 ? " is" : "s are",
                         unseen == 1 ? "it is" : "they are");
}

int rollout_finish(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const RolloutSums *sums) {
        Argosy__RolloutRecord next = ended(r,
                                           rollout_is_returning(r) ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED
                                                                   : ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE,
                                           r->reason);
        char reason[ROLLOUT_REASON_SIZE];
        int k = settle_global(l, b, r);

        if (k < 0)
                return k;
        if (!rollout_is_returning(r)) {
                say_left_behind(sums, reason, sizeof(reason));
                next.reason = reason;
        }
        log_unit(LOG_NOTICE, r->name, "%s: its %s %s%s.", r->name,
                 rollout_is_update(r) ? "update" : "restart",
                 rollout_is_returning(r) ? "was taken back: "
                 : *next.reason          ? "is done, but "
                                         : "is done",
                 next.reason);
        return batch_builder_put_rollout(b, &next);
}

int rollout_end_without_unit(BatchBuilder *b, const Argosy__RolloutRecord *r) {
        Argosy__RolloutRecord next =
                ended(r, ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED, "the unit was destroyed");

        return batch_builder_put_rollout(b, &next);
}
