// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes that a unit has left and may still run on: what fencing-policy.h asks about them, from the tables.
//
// What a host holds is known by its units on nodes, from what it said when it attached, has reported and was
// ordered since; they stay when it is lost. A new leader knows nothing of the kind before it has heard the
// host, so the unit's record names the nodes too (`left`): whenever a record is written, those on which the
// unit may run at that moment. They are not written for their own sake, so the record may name a node that
// has let go long ago; that host's next words say so. Where no record can name them, since it is removed or
// says "all nodes", there are tombstones (tombstones.c).
//
// An order that waits puts its unit on that node into Leader.awaiting. It is looked at again when a report
// touches the unit on its previous node or that entry goes (unit_release()), when its time has come
// (UNIT_ENDS), and when a host was heard, lost or removed (DUE_PREVIOUS_NODES): then all that wait are,
// which are few, and nothing else.
#include <errno.h>

#include "array.h"
#include "batch-builder.h"
#include "clock.h"
#include "deadline-heap.h"
#include "fencing-policy.h"
#include "host-leases.h"
#include "host-marks.h"
#include "node-loss-policy.h"
#include "oom.h"
#include "previous-nodes.h"
#include "registry.h"
#include "rollout-content.h"
#include "scheduler-nodes.h"
#include "tables.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "unit-work.h"

// `s`: the unit on that node; NULL: nothing is known of it there.
static PreviousNode view_node(const Node *n, const UnitOnNode *s) {
        const Host *h = n->host;
        bool lingers = h->down && s && s->lingers;

        return (PreviousNode){
                .stopped = (h->down && !lingers) || !h->recorded,
                .lingers = lingers,
                .reported = host_has_reported(h),
                .held = s && unit_on_node_is_known(s),
                .ended = s && unit_on_node_is_reported(s) && s->leaving && unit_on_node_is_down(s),
                .lost = host_is_lost(h),
                .lost_us = lingers ? h->fencing.lingers_until_us : h->lost_us,
        };
}

static bool has_number(const uint32_t *numbers, size_t n, uint32_t number) {
        for (size_t i = 0; i < n; i++)
                if (numbers[i] == number)
                        return true;
        return false;
}

static bool is_named(const Argosy__UnitRecord *r, uint32_t node) {
        return r->global || r->node == node || has_number(r->left, r->n_left, node);
}

static uint64_t own_fence_us(const Leader *l, const UnitEntry *e) {
        return node_loss_policy_fence_us(failing_options_of(e), host_leases_us(l));
}

// What runs there is the content of that hash, by its host's own word.
static bool has_content(const UnitOnNode *s, const ProtobufCBinaryData *spec) {
        return s && unit_on_node_is_reported(s) && spec->len == HASH_SIZE &&
               memcmp(unit_on_node_seen(s)->bytes, spec->data, HASH_SIZE) == 0;
}

// What may run on the node: the unit by its record, with its content or one from before; what a tombstone is
// about; or either. `e` NULL: it has no record any more.
static FencingGuard guard_of(const Leader *l, const char *name, const UnitEntry *e, const Node *n,
                             const UnitOnNode *s) {
        const Tombstone *t = cluster_state_find_tombstone(l->state, name, n->number);
        FencingGuard guard = {.fence_us = e ? own_fence_us(l, e) : 0};

        guard.unguarded = guard.fence_us == 0;
        if (e && !has_content(s, &e->record->spec))
                guard.fence_us = MAX_OF(guard.fence_us, unit_record_former_fence_us(e->record));
        if (!t)
                return guard;
        if (!e || !is_named(e->record, n->number))
                return (FencingGuard){.fence_us = t->fence_us, .unguarded = t->unguarded};
        guard.fence_us = MAX_OF(guard.fence_us, t->fence_us);
        guard.unguarded |= t->unguarded;
        return guard;
}

uint64_t previous_node_fence_us(const Leader *l, const UnitEntry *e) {
        return MAX_OF(own_fence_us(l, e), unit_record_former_fence_us(e->record));
}

bool previous_node_may_run(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                           const Node *n) {
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;
        PreviousNode previous = view_node(n, s);

        return fencing_policy_may_run(&previous, guard_of(l, name, e, n, s), leader_now(l));
}

bool previous_node_is_silent(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                             const Node *n) {
        return !n->host->attached && previous_node_may_run(l, name, u, e, n);
}

bool previous_node_only_host_reports(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                                     const Node *n) {
        return host_is_lost(n->host) && previous_node_may_run(l, name, u, e, n) &&
               guard_of(l, name, e, n, u ? unit_on_node_find(u, n) : NULL).unguarded;
}

uint64_t previous_node_runs_until(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        const UnitOnNode *s = unit_on_node_find(u, n);
        PreviousNode previous = view_node(n, s);
        uint64_t until = fencing_policy_until(&previous, guard_of(l, u->name, e, n, s));

        return until > leader_now(l) ? until : 0;
}

// The earlier one of those that are in the way.
static void consider(const Leader *l, const UnitOnNode *s, const UnitEntry *e, const Node *n,
                     const Node **in_the_way, uint64_t *until) {
        uint64_t t = n && n != s->node ? previous_node_runs_until(l, s->unit, e, n) : 0;

        if (!t || (*in_the_way && *until <= t))
                return;
        *in_the_way = n;
        *until = t;
}

// What is up there is being stopped, or was told something that may be a stop, and is to start behind that.
static bool starts_behind_a_stop(const UnitOnNode *s, const UnitEntry *e) {
        return s->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING ||
               (active_state_is_up(s->active) && s->revision < e->record->start_rev &&
                s->revision < s->ordered_revision);
}

// Whether the order makes the unit begin there, maybe anew. What runs there as it is wanted runs on.
static bool begins(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        Content c;

        if (!unit_on_node_is_reported(s) || unit_on_node_is_down(s))
                return true;
        if (e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return false;
        c = rollout_content(l, e, s->node->number);
        return !hash_equal(unit_on_node_seen(s), &c.spec->hash) || s->revision < c.restart_rev ||
               starts_behind_a_stop(s, e);
}

const Node *previous_node_in_the_way(const Leader *l, const UnitOnNode *s, const UnitEntry *e,
                                     uint64_t *ret_until_us) {
        const Node *in_the_way = NULL;
        const ListNode *tombs;

        *ret_until_us = 0;
        if (!e || s->unit->life == LIFE_GLOBAL || !begins(l, s, e))
                return NULL;
        list_foreach (i, &s->unit->on_nodes)
                consider(l, s, e, CONTAINER_OF(i, UnitOnNode, by_unit)->node, &in_the_way, ret_until_us);
        for (size_t i = 0; i < e->record->n_left; i++)
                consider(l, s, e, node_find(l, e->record->left[i]), &in_the_way, ret_until_us);
        tombs = cluster_state_tombstones_of(l->state, s->unit->name);
        if (tombs)
                list_foreach (i, tombs)
                        consider(l, s, e, node_find(l, CONTAINER_OF(i, const Tombstone, by_name)->node),
                                 &in_the_way, ret_until_us);
        return in_the_way;
}

void previous_node_on_lost(Leader *l, UnitOnNode *s) {
        const UnitEntry *e =
                s->unit->node == s->node ? NULL : cluster_state_find_unit(l->state, s->unit->name);
        uint64_t until = e ? previous_node_runs_until(l, s->unit, e, s->node) : 0;

        if (until)
                (void) oom_check(previous_node_ends_at(l, s->unit, until));
        unit_on_node_count(s);
        unit_touch_on_node(l, s);
        unit_release(l, s->unit);
}

int previous_node_ends_at(Leader *l, Unit *u, uint64_t at_us) {
        return unit_hasten_deadline(l, u, UNIT_ENDS, at_us);
}

void previous_nodes_on_unit(Leader *l, Unit *u, const UnitEntry *e) {
        list_foreach_safe (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                uint64_t until;

                if (s->node == u->node || !host_is_lost(s->node->host))
                        continue;
                until = previous_node_runs_until(l, u, e, s->node);
                if (until)
                        (void) oom_check(previous_node_ends_at(l, u, until));
                else if (!previous_node_may_run(l, u->name, u, e, s->node))
                        unit_on_node_free(l, s);
        }
}

void previous_nodes_on_time(Leader *l) {
        Unit *u;

        while ((u = unit_take_deadline(l, UNIT_ENDS))) {
                const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                unit_touch(l, u);
                if (!e)
                        continue;
                unit_release(l, u);
                previous_nodes_on_unit(l, u, e);
        }
}

// ------------------------------------------------------------------------------------------------ records

// Nodes as they are collected, each once.
typedef struct Nodes {
        uint32_t *numbers;
        size_t n, allocated;
} Nodes;

static int nodes_append(Nodes *nodes, uint32_t number) {
        if (ARRAY_GROW(nodes->numbers, nodes->allocated, nodes->n + 1) < 0)
                return -ENOMEM;
        nodes->numbers[nodes->n++] = number;
        return 0;
}

// unit_wanted_on(), or unit_may_be_wanted_on() if the Placement has the conflicts of its next content.
typedef bool (*WantedOn)(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);

// Whether an order to be there is about to go out, before what is decided now is in the log.
static bool is_due(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, WantedOn wanted_on) {
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

        return n->host->attached && !(s && unit_on_node_is_known(s)) && wanted_on(l, u, e, n);
}

static int add_if_it_may_run(const Leader *l, const Unit *u, const UnitEntry *e, uint32_t number,
                             Nodes *nodes) {
        const Node *n = node_find(l, number);

        if (!n || has_number(nodes->numbers, nodes->n, number) ||
            (!previous_node_may_run(l, e->record->name, u, e, n) && !is_due(l, u, e, n, unit_wanted_on)))
                return 0;
        return nodes_append(nodes, number);
}

// Those that the record names.
static int add_named(const Leader *l, const UnitEntry *e, Nodes *nodes) {
        const Argosy__UnitRecord *r = e->record;
        const Unit *u = unit_find(l, r->name);
        int k = r->node ? add_if_it_may_run(l, u, e, r->node, nodes) : 0;

        for (size_t i = 0; k >= 0 && i < r->n_left; i++)
                k = add_if_it_may_run(l, u, e, r->left[i], nodes);
        return k;
}

// A node of a unit that runs on all of them: it was seen or ordered there, or this leader has not heard the
// host and its content admits the node: who is there and keeps it out now may have come after it. What has
// left the node before has its tombstone.
static bool is_known(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, WantedOn wanted_on) {
        if (!host_has_reported(n->host))
                return unit_may_be_wanted_on(l, u, e, n);
        return u && unit_on_node_find(u, n) &&
               (!cluster_state_find_tombstone(l->state, u->name, n->number) || wanted_on(l, u, e, n));
}

static bool has_or_is_to_have(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n,
                              WantedOn wanted_on) {
        return (is_known(l, u, e, n, wanted_on) && previous_node_may_run(l, e->record->name, u, e, n)) ||
               is_due(l, u, e, n, wanted_on);
}

bool previous_node_of_all(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        return has_or_is_to_have(l, u, e, n, unit_wanted_on);
}

// Why a unit of all nodes leaves nodes.
typedef struct Leaving {
        WantedOn wanted_on;
        UnitOptions *admitting; // it stays on those that these options admit; NULL: on none
} Leaving;

// The first that are added, since none is looked for among those that are there.
static int add_all_nodes(const Leader *l, const UnitEntry *e, const Leaving *x, Nodes *nodes) {
        const Unit *u = unit_find(l, e->record->name);
        int r = 0;

        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (r >= 0 && has_or_is_to_have(l, u, e, n, x->wanted_on) &&
                    !(x->admitting && node_admits(l, n, x->admitting)))
                        r = nodes_append(nodes, n->number);
        }
        return r;
}

static void drop_node(Nodes *nodes, uint32_t number) {
        for (size_t i = 0; i < nodes->n; i++)
                if (nodes->numbers[i] == number) {
                        nodes->numbers[i] = nodes->numbers[--nodes->n];
                        return;
                }
}

static bool is_everywhere(const Argosy__UnitRecord *r) {
        return r->global && r->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

// 0, -EINVAL, or -ENOMEM.
static int options_in_batch(const BatchBuilder *b, const Argosy__UnitRecord *next, UnitOptions **ret) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        const ProtobufCBinaryData *content;
        Argosy__LogBatch *part;
        Hash hash;
        int r = hash_from_bytes(next->spec.data, next->spec.len, &hash)
                        ? batch_builder_read_spec(b, &hash, &part)
                        : -EINVAL;

        if (r < 0)
                return r;
        if (!part)
                return -EINVAL;
        content = &part->ops[0]->spec->content;
        r = unit_file_parse(next->name, content->data, content->len, &file, NULL);
        message_free(part);
        return r < 0 ? r : unit_file_expand(file, next->name, next->name, ret, NULL);
}

// The options of a record that the batch is about to put, whose content the log may not have yet. *ret NULL:
// it cannot be read. 0 or -ENOMEM.
static int options_of_next(const Leader *l, const BatchBuilder *b, const Argosy__UnitRecord *next,
                           UnitOptions **ret) {
        UnitEntry e = {.record = (Argosy__UnitRecord *) next, .spec = rollout_spec(l, &next->spec)};
        int r;

        *ret = NULL;
        r = e.spec ? unit_options_of(&e, ret) : options_in_batch(b, next, ret);
        return r == -ENOMEM ? r : 0;
}

// What the next record takes a unit of all nodes from.
static int add_left(const Leader *l, const BatchBuilder *b, const UnitEntry *e,
                    const Argosy__UnitRecord *next, Nodes *nodes) {
        bool same = record_has_spec_of(e->record, next), stays = is_everywhere(next);
        Leaving x = {.wanted_on = same ? unit_wanted_on : unit_may_be_wanted_on};
        int r = 0;

        if (same && stays)
                return 0;
        if (stays)
                r = options_of_next(l, b, next, &x.admitting);
        if (r == 0)
                r = add_all_nodes(l, e, &x, nodes);
        unit_options_unref(x.admitting);
        return r;
}

// How long a guard of contents from before may let run what is on one of the nodes, when the record is the
// next one. What a host has of the next content already, or took up again, has that one's guard.
static uint64_t former_fence_us(const Leader *l, const UnitEntry *e, const Argosy__UnitRecord *next,
                                const Nodes *nodes) {
        uint64_t fence_us = record_has_spec_of(e->record, next) ? unit_record_former_fence_us(e->record)
                                                      : previous_node_fence_us(l, e);
        const Unit *u = fence_us > 0 ? unit_find(l, next->name) : NULL;

        for (size_t i = 0; fence_us > 0 && i < nodes->n; i++)
                if (!u || !has_content(unit_on_node_find(u, node_find(l, nodes->numbers[i])), &next->spec))
                        return fence_us;
        return 0;
}

int previous_nodes_of_record(const BatchBuilder *b, const Argosy__UnitRecord *next, uint32_t **ret,
                             size_t *ret_n, uint64_t *ret_fence_us) {
        const Leader *l = b->userdata;
        const UnitEntry *e = cluster_state_find_unit(l->state, next->name);
        Nodes nodes = {};
        int r = 0;

        if (e && is_everywhere(e->record))
                r = add_left(l, b, e, next, &nodes);
        if (r >= 0 && e)
                r = add_named(l, e, &nodes);
        if (r < 0) {
                free(nodes.numbers);
                return r;
        }
        *ret_fence_us = e ? former_fence_us(l, e, next, &nodes) : 0;
        drop_node(&nodes, next->node);
        *ret = nodes.numbers;
        *ret_n = nodes.n;
        return 0;
}

// A node that this leader has seen the unit on although its record names it no more, and no tombstone
// either.
static int add_forgotten(const Leader *l, const UnitEntry *e, Nodes *nodes) {
        const Unit *u = unit_find(l, e->record->name);
        int r = 0;

        if (u)
                list_foreach (i, &u->on_nodes) {
                        const Node *n = CONTAINER_OF(i, UnitOnNode, by_unit)->node;

                        if (r >= 0 && !cluster_state_find_tombstone(l->state, u->name, n->number))
                                r = add_if_it_may_run(l, u, e, n->number, nodes);
                }
        return r;
}

int previous_nodes_of_removed(const char *name, BatchBuilderRemoval *ret, void *userdata) {
        const Leader *l = userdata;
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Nodes nodes = {};
        int r;

        *ret = (BatchBuilderRemoval){};
        if (!e)
                return 0;
        r = is_everywhere(e->record) ? add_all_nodes(l, e, &(Leaving){.wanted_on = unit_wanted_on}, &nodes)
                                     : add_forgotten(l, e, &nodes);
        if (r >= 0)
                r = add_named(l, e, &nodes);
        if (r < 0) {
                free(nodes.numbers);
                return r;
        }
        *ret = (BatchBuilderRemoval){.nodes = nodes.numbers,
                                     .n_nodes = nodes.n,
                                     .fence_us = previous_node_fence_us(l, e)};
        return 0;
}
