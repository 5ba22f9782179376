// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files about rollouts share: rollout-controller.c (tables and steps), rollout-turns.c (who gets
// the content), rollout-end.c (how one ends, and turns back), rollout-view.c (what rollout-policy.c is to
// judge) and rollout-requests.c (who asks for one, or how it is).

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "rollout-policy.h"
#include "scheduler.h"
#include "tables.h"

enum { ROLLOUT_REASON_SIZE = 256 };

static inline bool rollout_is_update(const Argosy__RolloutRecord *r) {
        return r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
}

static inline bool rollout_is_returning(const Argosy__RolloutRecord *r) {
        return r->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING;
}

static inline ProtobufCBinaryData hash_field(const Hash *hash) {
        return (ProtobufCBinaryData){.data = (uint8_t *) hash->bytes, .len = HASH_SIZE};
}

static inline bool field_equal(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

// rollout-controller.c
Rollout *rollout_find(const Leader *l, const char *name); // that is under way, or NULL

// rollout-turns.c
// Gives the nodes their turn, in one record, with all there that share networks which change. 0 or a
// negative errno, as all of these.
int rollout_change_nodes(Leader *l, BatchBuilder *b, Rollout *o, const Argosy__RolloutRecord *r,
                         Unit *u, const size_t *chosen, size_t n_chosen, Scheduler **scheduler);
// Changes units in the order of names, as many as may have their turn now, or as one entry takes. A unit
// that is held back is judged again with the next look, which comes when something of the group, or of what
// goes down with it, has changed.
int rollout_change_units(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                         const Argosy__RolloutRecord *r, const RolloutView *rules, RolloutSums sums,
                         Scheduler **scheduler);

// rollout-end.c
// Whether units that run get nothing new but files, for which they are not restarted (FileChange=).
bool rollout_changes_in_place(const SpecEntry *now, SpecEntry *next);
// BATCH_BUMP_SECRETS, or 0: what goes back keeps the versions that it has, and so does what is not
// restarted.
unsigned rollout_secrets_bump(const UnitEntry *e, const Argosy__RolloutRecord *r, SpecEntry *spec);
// The template's own record, if there is one, takes the content too. 0, -EBUSY: in the next batch, -ENOMEM.
int rollout_put_template(Leader *l, BatchBuilder *b, const char *name, const ProtobufCBinaryData *spec);
// From here on it goes back, or ends where it is if there is nothing to go back to. As above.
int rollout_turn_back(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *reason);
// The same for that unit, on that node (NULL: on none); `unit` NULL: `why` says of which.
int rollout_fail(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *unit, const Node *n,
                 const char *why);
// The same for what rollout_policy_failure() says of the unit there. Of one that waits for what it needs it
// is said for what.
int rollout_fail_unit(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const Unit *u,
                      const Node *n, const char *failure);
// With that content a unit would come after itself.
int rollout_end_in_cycle(Leader *l, BatchBuilder *b, Dependencies *planned, const Argosy__RolloutRecord *r,
                         const char *why);
// It is done, or was taken back. `sums`: of its units.
int rollout_finish(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const RolloutSums *sums);
// The unit that it was about is gone. (Of a template it may have been the last one, and that is well.)
int rollout_end_without_unit(BatchBuilder *b, const Argosy__RolloutRecord *r);

// rollout-view.c
// A global unit on one node, where it is wanted; and the rules for all of these.
void rollout_node_item(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e, const Unit *u,
                       const Node *n, RolloutItem *item);
RolloutView rollout_rules_of_nodes(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e,
                                   const RolloutItem *items, size_t n);
// How a unit is there, into its item; `s` NULL: it is not on its node. And the rules for it alone, whatever
// others do.
void rollout_view_unit_on_node(const Leader *l, const UnitOnNode *s, const UnitEntry *e, RolloutItem *item);
RolloutView rollout_rules_of_one(const Leader *l, const Argosy__RolloutRecord *r);
// One unit of a group. Busy: the batch in the making touches it.
RolloutItem rollout_item(const Leader *l, const Argosy__RolloutRecord *r, const Unit *u, bool busy);
// What is marked of the group's units is looked at, or as much of it as one turn takes. False: there is
// more, and nothing may be decided.
bool rollout_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r);
// The rules, and the sums of the group with what the batch in the making touches; after rollout_look() has
// seen all.
RolloutView rollout_rules(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r);
RolloutSums rollout_sums(const Leader *l, const BatchBuilder *b, const Rollout *o,
                         const Argosy__RolloutRecord *r, const RolloutView *rules);
