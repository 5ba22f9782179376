// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a rollout is about, as rollout-policy.c is to judge it: one item for each unit of the budget, or for
// each node of a global unit.
//
// Each item is made when its unit, or its node, is marked, and kept: of a group what it counts as
// (rollout-members.c), of a global unit itself (rollout-nodes.c). So a look costs what has changed.
#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "clock.h"
#include "group-contents.h"
#include "node-loss-controller.h"
#include "ordering.h"
#include "registry.h"
#include "rollout-content.h"
#include "rollout-private.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "walks.h"

enum { LOOKS = 1024 }; // at units, in one turn, at about 2 us each

static bool is_changed(const Argosy__RolloutRecord *r, const Argosy__UnitRecord *unit) {
        if (rollout_is_update(r))
                return field_equal(&unit->spec, &r->spec);
        return MAX_OF(unit->restart_rev, unit->start_rev) > r->revision;
}

// A program that dies at once and is started again by systemd (Restart=) is up whenever somebody looks.
static const char *restarted(const Leader *l, const UnitOnNode *s, const UnitEntry *e, bool in_place) {
        return !in_place && unit_on_node_was_restarted(l, s, e)
                       ? "its program ended, and systemd restarted it"
                       : NULL;
}

// Its start waits for what is not on its way. For what, rollout_fail_unit() says: such words last less long
// than an item.
static const char *blocked(const Leader *l, const UnitOnNode *s) {
        char words[ROLLOUT_REASON_SIZE];

        return !s->up && ordering_blocked(l, s, words, sizeof(words)) ? "it waits for what it needs" : NULL;
}

// What is not restarted for what it gets has been up before: the gate begins with its answer, which is by
// this leader's clock.
void rollout_view_unit_on_node(const Leader *l, const UnitOnNode *s, const UnitEntry *e, RolloutItem *item) {
        const DisruptionBudget *g = s ? s->unit->budget : NULL;
        bool in_place = g && g->rollout && g->rollout->in_place;

        item->unreachable = !s || unit_on_node_is_unreachable(s);
        if (!s)
                return;
        item->up = s->up;
        item->since_us = s->up_flip_us;
        item->timed = item->up && unit_on_node_is_timed(s) && !in_place;
        item->known_up_us = item->timed ? unit_on_node_known_us(s) : 0;
        if (item->changed)
                item->failure = restarted(l, s, e, in_place);
        // also of one that is up, if its node has kept the old content there
        item->failure = unit_on_node_failure(l, s, e) ?: item->failure ?: blocked(l, s);
        if (s->comes_back && !s->up) // its host starts it again, with what it went down with
                item->failure = NULL;
}

typedef struct Looked {
        const char *secret;
        uint64_t newest;
        bool older;
} Looked;

static bool look_at_secret(const char *secret, uint64_t version, void *userdata) {
        Looked *k = userdata;

        k->older |= streq(secret, k->secret) && version > 0 && version < k->newest;
        return !k->older;
}

static bool has_older_secret(const Leader *l, const char *unit, const char *secret) {
        const Argosy__SecretRecord *record = cluster_state_find_secret(l->state, secret);
        Looked k = {.secret = secret, .newest = record ? secret_record_newest(record)->version : 0};

        secret_users_each_of_unit(&l->secret_users, unit, look_at_secret, &k);
        return k.older;
}

// Whether the restart is about this unit. A unit that had its turn has no older version any more, and counts
// all the same.
static bool is_restarted(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e) {
        return !*r->secret || is_changed(r, e->record) || has_older_secret(l, e->record->name, r->secret);
}

// The node could not pull the image of the update.
static bool is_left_out(const Argosy__RolloutRecord *r, const Node *n) {
        for (size_t i = 0; n && i < r->n_without; i++)
                if (r->without[i] == n->number)
                        return true;
        return false;
}

RolloutItem rollout_item(const Leader *l, const Argosy__RolloutRecord *r, const Unit *u, bool busy) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const Argosy__Outcome *o = e ? record_final_outcome(e->record, e->record->node) : NULL;
        RolloutItem item = {.busy = busy};

        if (!e)
                return item;
        item.wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
                         !(o && o->kind == ARGOSY__OUTCOME__KIND__DONE);
        item.mine = rollout_is_update(r) ? e->record->from_template || streq(u->name, r->name)
                                         : item.wanted_up && is_restarted(l, r, e);
        item.changed = is_changed(r, e->record);
        // whoever had its turn may have gone there by it
        item.mine &= item.changed || !is_left_out(r, u->node);
        item.unplaced = e->record->node == 0;
        rollout_view_unit_on_node(l, u->node ? unit_on_node_find(u, u->node) : NULL, e, &item);
        item.moves =
                item.unreachable && (unit_is_being_placed(u) || (u->node && !node_loss_strands(l, u, e)));
        if (o && o->kind != ARGOSY__OUTCOME__KIND__DONE)
                item.failure = outcome_phrase(o);
        return item;
}

void rollout_node_item(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e, const Unit *u,
                       const Node *n, RolloutItem *item) {
        const Argosy__RolloutNode *turn = rollout_turn(r, n->number);
        const Argosy__Outcome *o = record_final_outcome(e->record, n->number);

        *item = (RolloutItem){
                .mine = (r->n_nodes > 0 || is_restarted(l, r, e)) && !is_left_out(r, n),
                .changed = turn && !turn->back,
                .wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && !o,
        };
        rollout_view_unit_on_node(l, unit_on_node_find(u, n), e, item);
}

// A share of nothing said is `otherwise`.
static size_t share_or(UnitShare share, size_t n, size_t otherwise) {
        return share.value ? unit_share_of(share, n) : otherwise;
}

static size_t option_of(SpecEntry *spec, size_t n) {
        const UnitFile *file;

        return spec && spec_entry_file(spec, &file) == 0 ? share_or(file->max_unavailable, n, SIZE_MAX)
                                                         : SIZE_MAX;
}

typedef struct GroupLimit {
        size_t n, max; // units that are wanted up; SIZE_MAX: nobody has said anything
} GroupLimit;

static void keep_to(SpecEntry *spec, void *userdata) {
        GroupLimit *limit = userdata;

        limit->max = MIN_OF(limit->max, option_of(spec, limit->n));
}

// The strictest of what the command said, what the contents before and after say, and those that the units
// have (`group`). Without a word of the command, and of the contents that it is about, it is one after the
// other: units may have files of their own.
static size_t max_of(const Leader *l, const Argosy__RolloutRecord *r, GroupLimit group) {
        size_t about = rollout_is_update(r) ? MIN_OF(option_of(rollout_spec(l, &r->spec), group.n),
                                                     option_of(rollout_spec(l, &r->spec_before), group.n))
                                            : group.max;
        size_t option = MIN_OF(about, group.max);

        return MIN_OF(option, share_or((UnitShare){r->max_unavailable, r->percent}, group.n,
                                       about == SIZE_MAX ? 1 : option));
}

static RolloutView rules_of(const Leader *l, const Argosy__RolloutRecord *r, size_t max) {
        return (RolloutView){
                .returning = rollout_is_returning(r),
                .max = max,
                .health_us = r->health_us,
                .now_us = leader_now(l),
                .beat_us = l->config.beat_ms * USEC_PER_MSEC,
        };
}

RolloutView rollout_rules_of_one(const Leader *l, const Argosy__RolloutRecord *r) {
        return rules_of(l, r, 0);
}

RolloutView rollout_rules_of_nodes(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e,
                                   const RolloutItem *items, size_t n) {
        GroupLimit limit = {.max = SIZE_MAX};
        RolloutView rules;

        for (size_t i = 0; i < n; i++)
                limit.n += items[i].wanted_up;
        keep_to(e->spec, &limit);
        rules = rules_of(l, r, max_of(l, r, limit));
        rules.items = items;
        rules.n_items = n;
        return rules;
}

// ------------------------------------------------------------------------------------------------ groups

RolloutView rollout_rules(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r) {
        GroupLimit limit = {.n = o->members.sums.wanted, .max = SIZE_MAX};

        group_contents_each(l, o->budget, keep_to, &limit);
        return rules_of(l, r, max_of(l, r, limit));
}

bool rollout_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r) {
        RolloutView rules = rules_of(l, r, 0);
        RolloutMember *m;

        if (o->revision != r->revision || o->returning != rollout_is_returning(r)) {
                rollout_members_restart(&o->members);
                o->revision = r->revision;
                o->returning = rollout_is_returning(r);
        }
        for (size_t left = walk_slice(&o->walk, LOOKS); left > 0; left--) {
                RolloutItem item;
                RolloutSums counts;

                m = rollout_members_next_due(&o->members, rules.now_us);
                if (!m)
                        return true;
                item = rollout_item(l, r, m->unit, false);
                counts = rollout_policy_counts(&rules, &item);
                rollout_members_put(&o->members, m, &counts, rollout_policy_turn(&rules, &item),
                                    rollout_policy_failure(&rules, &item),
                                    rollout_policy_wake_us(&rules, &item));
        }
        walk_sliced(l, &o->walk, 0);
        return false;
}

typedef struct Touched {
        const Leader *leader;
        const Rollout *rollout;
        const Argosy__RolloutRecord *record;
        const RolloutView *rules;
        RolloutSums sums;
} Touched;

// What the batch in the making touches is on its way.
static bool add_touched(const char *name, void *userdata) {
        Touched *t = userdata;
        const Unit *u = unit_find(t->leader, name);
        const RolloutMember *m =
                u && u->budget == t->rollout->budget ? rollout_members_find(&t->rollout->members, u) : NULL;
        RolloutItem item;
        RolloutSums now;

        if (!m)
                return false;
        item = rollout_item(t->leader, t->record, u, true);
        now = rollout_policy_counts(t->rules, &item);
        t->sums.down += now.down - m->down;
        t->sums.on_way += now.on_way - m->on_way;
        t->sums.left += now.left - m->left;
        t->sums.unplaced += now.unplaced - m->unplaced;
        t->sums.unseen += now.unseen - m->unseen;
        return false;
}

RolloutSums rollout_sums(const Leader *l, const BatchBuilder *b, const Rollout *o,
                         const Argosy__RolloutRecord *r, const RolloutView *rules) {
        Touched t = {.leader = l, .rollout = o, .record = r, .rules = rules, .sums = o->members.sums};

        (void) batch_builder_each_unit(b, add_touched, &t);
        return t.sums;
}
