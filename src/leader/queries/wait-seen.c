// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a waiter has to know of a unit on all its nodes (wait-seen.h): at once, or by a walk over hosts in
// slices.
//
//      wait_seen_init() -> judge -> wait_seen_done()                          up to WIDE nodes
//      wait_walk_begin() -> wait_walk_next() per turn -> wait_walk_over()     more
//
// A walk goes by host numbers, so hosts that come or go do not move its place; a changed record begins it
// anew. Without memory `failed` is set, or the process ends (oom.h).

#include "wait-seen.h"

#include <stdlib.h>

#include "array.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "oom.h"
#include "previous-nodes.h"
#include "host-marks.h"
#include "registry.h"
#include "scheduler.h"
#include "tables.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-wanted.h"
#include "unit-work.h"

enum { WIDE = 512 }; // nodes that are looked at in one turn, at about 2 us each

static bool make_room(WaitSeen *v) {
        WaitNode *nodes;

        if (v->n < v->allocated)
                return true;
        nodes = realloc(v->nodes == v->few ? NULL : v->nodes, 2 * v->allocated * sizeof(*nodes));
        if (!nodes)
                return false;
        if (v->nodes == v->few)
                memcpy(nodes, v->few, sizeof(v->few));
        v->nodes = nodes;
        v->allocated *= 2;
        return true;
}

// A copy of the text if the walk outlives this turn, else the text itself; never NULL.
static const char *keep(WaitSeen *v, const char *text) {
        size_t size;
        char *copy;

        if (!text || !*text || !v->keeps)
                return text ?: "";
        size = strlen(text) + 1;
        copy = oom_checked(arena_alloc(&v->texts, size));
        return memcpy(copy, text, size);
}

static void add_node(const Node *n, void *userdata) {
        WaitSeen *v = userdata;
        const UnitOnNode *s = unit_on_node_find(v->unit, n);
        const char *name = v->unit->name;
        WaitNode *on_node;

        if (!make_room(v)) {
                v->failed = true;
                return;
        }
        on_node = &v->nodes[v->n++];
        *on_node = (WaitNode){
                .node = keep(v, n->name),
                .wanted = unit_wanted_on(v->l, v->unit, v->entry, n),
                .lost = node_is_unreachable(n),
                .silent = previous_node_only_host_reports(v->l, name, v->unit, v->entry, n),
                .refused = unit_exclusion(v->unit, n->number) != NULL,
        };
        if (host_is_lost(n->host) && !on_node->silent &&
            previous_node_may_run(v->l, name, v->unit, v->entry, n)) {
                uint64_t until_us = previous_node_runs_until(v->l, v->unit, v->entry, n);

                on_node->fenced = true;
                v->due_at_us = v->due_at_us ? MIN_OF(v->due_at_us, until_us) : until_us;
        }
        if (!s)
                return;
        on_node->held = s->hold == HOLD_START || s->hold == HOLD_BLOCKED;
        on_node->blocked = s->hold == HOLD_BLOCKED;
        on_node->seen = unit_on_node_is_reported(s);
        on_node->reported = on_node->seen && n->host->attached;
        on_node->unsettled = v->entry && unit_on_node_is_unsettled(s, v->entry);
        on_node->outcome = v->entry ? record_final_outcome(v->entry->record, n->number) : NULL;
        on_node->revision = s->revision;
        on_node->load = s->load;
        on_node->active = s->active;
        on_node->sub = keep(v, unit_on_node_sub(s));
        on_node->result = keep(v, unit_on_node_result(s));
        on_node->error = keep(v, unit_on_node_error(s));
        on_node->skipped = unit_on_node_is_skipped(s);
        on_node->unneeded = s->down == ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED;
        on_node->probation = s->probation;
        if (s->probation != ARGOSY__PROBATION__PROBATION_ON)
                return;
        if (!unit_on_node_is_on_probation(s))
                on_node->probation = ARGOSY__PROBATION__PROBATION_PASSED;
        else if (!v->due_host && on_node->wanted && !on_node->lost) { // other nodes report no probation
                v->due_host = n->host->number;
                v->due_lived_ms = s->probation_ms;
        }
}

static void add_unseen(const Node *n, void *userdata) {
        const WaitSeen *v = userdata;

        if (!unit_on_node_find(v->unit, n))
                add_node(n, userdata);
}

// Whether the node is to run the unit, and its host has not reported its units to this leader.
static bool is_unheard(const WaitSeen *v, const Node *n) {
        return !host_has_reported(n->host) && unit_wanted_on(v->l, v->unit, v->entry, n);
}

void wait_seen_add_unheard(WaitSeen *v) {
        if (!v->entry || !v->entry->record->global)
                return;
        map_foreach (slot, &v->l->nodes)
                if (is_unheard(v, slot->value))
                        add_unseen(slot->value, v);
}

static bool may_be_left_out(const WaitSeen *v) {
        return v->entry && v->entry->record->global &&
               (unit_work_seen(v->unit)->exclusions || scheduler_may_conflict(v->l, v->unit));
}

static void count_left_out(WaitSeen *v, const Node *n) {
        char why[REASON_MAX];
        LeftOut left = unit_left_out(v->l, v->unit, v->entry, n, why, sizeof(why));

        v->n_refused += left == LEFT_OUT_REFUSED;
        v->n_gave_way += left == LEFT_OUT_GAVE_WAY;
}

static void begin(WaitSeen *v, const Leader *l, const Unit *u) {
        v->l = l;
        v->unit = u;
        v->entry = cluster_state_find_unit(l->state, u->name);
        v->nodes = v->few;
        v->n = v->n_unheard = v->n_refused = v->n_gave_way = 0;
        v->allocated = ELEMENTSOF(v->few);
        v->due_at_us = v->due_lived_ms = v->due_host = 0;
        v->failed = v->keeps = false;
        v->texts = (Arena){};
}

void wait_seen_init(WaitSeen *v, const Leader *l, const Unit *u) {
        begin(v, l, u);
        v->stranded = node_loss_strands(l, u, v->entry);
        list_foreach (i, &u->on_nodes)
                add_node(CONTAINER_OF(i, UnitOnNode, by_unit)->node, v);
        tombstones_each(l, u->name, u, v->entry, add_unseen, v);
        if (may_be_left_out(v))
                map_foreach (slot, &l->nodes)
                        count_left_out(v, slot->value);
}

void wait_seen_done(WaitSeen *v) {
        if (v->nodes != v->few)
                free(v->nodes);
        arena_done(&v->texts);
}

// ------------------------------------------------------------------------------------------------ walks

struct WaitWalk {
        ListNode list; // in Leader.wait_walks
        Unit *unit;
        WaitSeen seen;
        uint64_t revision; // of the record; 0: there is none
        uint32_t host;     // all hosts up to this number were looked at
        WaitNode *unheard; // appended behind the others at the end
        size_t n_unheard, unheard_allocated, n_untold;
        bool whole; // all hosts were looked at
        bool again; // a host was touched since: walk again
};

static bool is_longer(const ListNode *list, size_t n) {
        list_foreach (i, list)
                if (n-- == 0)
                        return true;
        return false;
}

bool wait_seen_may_be_wide(const Leader *l) {
        return l->nodes.count > WIDE;
}

bool wait_seen_is_wide(const Leader *l, const Unit *u) {
        const UnitEntry *e;
        const ListNode *tombs;

        if (!wait_seen_may_be_wide(l))
                return false;
        e = cluster_state_find_unit(l->state, u->name);
        if (e && e->record->global)
                return true;
        tombs = cluster_state_tombstones_of(l->state, u->name);
        return is_longer(&u->on_nodes, WIDE) || (tombs && is_longer(tombs, WIDE));
}

static WaitWalk *find(const Leader *l, const Unit *u) {
        list_foreach (i, &l->wait_walks)
                if (CONTAINER_OF(i, WaitWalk, list)->unit == u)
                        return CONTAINER_OF(i, WaitWalk, list);
        return NULL;
}

static void drop_seen(WaitWalk *w) {
        wait_seen_done(&w->seen);
        free(w->unheard);
}

static uint64_t revision_of(const UnitEntry *e) {
        return e ? e->record->revision : 0;
}

static void begin_walk(const Leader *l, WaitWalk *w) {
        begin(&w->seen, l, w->unit);
        w->seen.keeps = true;
        w->revision = revision_of(w->seen.entry);
        w->host = 0;
        w->unheard = NULL;
        w->n_unheard = w->unheard_allocated = w->n_untold = 0;
        w->whole = w->again = false;
}

void wait_walk_begin(Leader *l, Unit *u) {
        WaitWalk *w = find(l, u);

        leader_mark(l);
        if (w) {
                w->again = true;
                return;
        }
        w = oom_checked(calloc(1, sizeof(*w)));
        w->unit = u;
        list_append(&l->wait_walks, &w->list);
        begin_walk(l, w);
}

static void end_walk(WaitWalk *w) {
        list_unlink(&w->list);
        drop_seen(w);
        free(w);
}

// The record is borrowed, so it is looked up in each turn.
static void refresh(const Leader *l, WaitWalk *w) {
        const UnitEntry *e = cluster_state_find_unit(l->state, w->unit->name);

        if (revision_of(e) != w->revision) {
                drop_seen(w);
                begin_walk(l, w);
        }
        w->seen.entry = e;
}

static bool is_there(const WaitSeen *v, const Node *n) {
        if (unit_on_node_find(v->unit, n))
                return true;
        for (size_t i = 0; v->entry && i < v->entry->record->n_left; i++)
                if (v->entry->record->left[i] == n->number)
                        return !unit_wanted_on(v->l, v->unit, v->entry, n) &&
                               previous_node_may_run(v->l, v->unit->name, v->unit, v->entry, n);
        return cluster_state_find_tombstone(v->l->state, v->unit->name, n->number) &&
               !unit_wanted_on(v->l, v->unit, v->entry, n) &&
               previous_node_may_run(v->l, v->unit->name, v->unit, v->entry, n);
}

static void look(WaitWalk *w, const Node *n) {
        WaitSeen *v = &w->seen;

        if (is_there(v, n))
                add_node(n, v);
        else if (v->entry && v->entry->record->global && is_unheard(v, n)) {
                add_node(n, v);
                if (v->failed)
                        return;
                (void) oom_check(ARRAY_GROW(w->unheard, w->unheard_allocated, w->n_unheard + 1));
                w->unheard[w->n_unheard++] = v->nodes[--v->n];
        }
        if (may_be_left_out(v))
                count_left_out(v, n);
}

static void append_unheard(WaitWalk *w) {
        WaitSeen *v = &w->seen;

        for (size_t i = 0; i < w->n_unheard && !v->failed; i++) {
                v->failed = !make_room(v);
                if (!v->failed)
                        v->nodes[v->n++] = w->unheard[i];
        }
        v->n_unheard = w->n_unheard;
}

static void walk(Leader *l, WaitWalk *w, size_t *left) {
        refresh(l, w);
        while (!w->whole && *left > 0) {
                const Argosy__HostRecord *next = cluster_state_next_host(l->state, w->host);
                const Host *h = next ? host_find(l, next->host) : NULL;

                (*left)--;
                w->whole = !next;
                w->host = next ? next->host : 0;
                if (h)
                        list_foreach (i, &h->nodes)
                                look(w, CONTAINER_OF(i, Node, of_host));
        }
        if (!w->whole || w->n_untold > 0)
                return;
        append_unheard(w);
        list_foreach (i, &unit_work_seen(w->unit)->waiters)
                w->n_untold++;
}

Unit *wait_walk_next(Leader *l, size_t *left, const WaitSeen **ret) {
        WaitWalk *w;

        if (list_is_empty(&l->wait_walks))
                return NULL;
        w = CONTAINER_OF(l->wait_walks.next, WaitWalk, list);
        walk(l, w, left);
        if (!w->whole)
                return NULL;
        w->seen.stranded = node_loss_strands(l, w->unit, w->seen.entry);
        *ret = &w->seen;
        return w->unit;
}

size_t *wait_walk_untold(Leader *l, const Unit *u) {
        return &find(l, u)->n_untold;
}

void wait_walk_over(Leader *l, Unit *u) {
        WaitWalk *w = find(l, u);
        bool again = w && w->again && !list_is_empty(&unit_work_seen(u)->waiters);

        if (!w)
                return;
        end_walk(w);
        if (again)
                wait_walk_begin(l, u);
}

WaitWalk *wait_walk_alone(const Leader *l, Unit *u) {
        WaitWalk *w = oom_checked(calloc(1, sizeof(*w)));

        list_init(&w->list);
        w->unit = u;
        begin_walk(l, w);
        return w;
}

const WaitSeen *wait_walk_look(Leader *l, WaitWalk *w, size_t *left) {
        walk(l, w, left);
        if (!w->whole)
                return NULL;
        w->seen.stranded = node_loss_strands(l, w->unit, w->seen.entry);
        return &w->seen;
}

bool wait_walk_is_of(const WaitWalk *w, const Unit *u) {
        return w->unit == u;
}

WaitWalk *wait_walk_free(WaitWalk *w) {
        if (w)
                end_walk(w);
        return NULL;
}

void wait_walks_retire(Leader *l) {
        while (!list_is_empty(&l->wait_walks))
                end_walk(CONTAINER_OF(l->wait_walks.next, WaitWalk, list));
}
