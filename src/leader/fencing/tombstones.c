// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log knows of nodes that may run what no record wants there: of units that were destroyed, and of
// those that run on all nodes and have left one. (Nodes that other units have left are in their records:
// previous-nodes.c.) Any leader knows from it what to wait for, and what not to say yet.
//
// Removing a record leaves a tombstone on every node where the unit may run, in the same operation: also on
// nodes whose hosts answer, since leader and host may be gone a moment later. Those answer within moments,
// and the leader sees that in its tables, so that nobody waits for the log to hear of it: a host's
// tombstones are cleared by one operation when the last of them is over, or as far as they are over along
// with an entry that is written anyhow. Destroying many units costs a few bytes for each and one small entry
// for each host.
//
// What drives a global unit from a node by the host's own record, a label or its mode, or by that of a pool,
// brings the tombstone in the same entry; with its own new content its record names the node. A unit that
// takes its place brings it in the next one: what follows for all nodes is seen when that entry has been
// applied.
//
// A tombstone is over when its host has said that it has let go, or is told to have the unit again.
// Node.fencing.open is the first one of the node that was not over when it was looked at; those before it
// are. On a lost host time ends what has a guard, and removing the host ends all.
//
// Failures: where the log has no room for one more, a request is refused in words of that limit. What the
// cluster does by itself goes on, with a warning and a counter (nodes_not_remembered): this leader waits for
// that node all the same, and the next one would not.
#include <errno.h>

#include "activators.h"
#include "array.h"
#include "batch-builder.h"
#include "eligibility.h"
#include "host-leases.h"
#include "host-marks.h"
#include "log.h"
#include "manager-name.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-wanted.h"
#include "unit-work.h"

static const Tombstone *next_on(const ListNode *head, const Tombstone *t) {
        const ListNode *next = t ? t->on_node.next : head->next;

        return next == head ? NULL : CONTAINER_OF(next, const Tombstone, on_node);
}

static bool is_over(const Leader *l, const Node *n, const Tombstone *t) {
        const UnitEntry *e = cluster_state_find_unit(l->state, t->name);
        const Unit *u = unit_find(l, t->name);

        return !previous_node_may_run(l, t->name, u, e, n) ||
               (n->host->attached && unit_wanted_on(l, u, e, n));
}

// A guard ends it; 0: none does. On a host that was switched off only those are left that it said may run
// on: their guards count from the end of its lease.
static uint64_t ends_at(const Host *h, const Tombstone *t) {
        if (!host_is_lost(h) || t->unguarded)
                return 0;
        return (h->down ? h->fencing.lingers_until_us : h->lost_us) + t->fence_us;
}

static void note_end(Leader *l, uint64_t at_us) {
        if (at_us && (!l->tombstones_due_us || at_us < l->tombstones_due_us))
                l->tombstones_due_us = at_us;
}

void tombstones_on_applied(Leader *l) {
        const Tombstone *t;

        while ((t = cluster_state_next_tombstone(l->state))) {
                Node *n = node_find(l, t->node);

                if (!n)
                        continue;
                if (n->fencing.open == t->replaced) // what is in its place stands at the end
                        n->fencing.open = NULL;
                note_end(l, ends_at(n->host, t));
                host_mark_tombstones(l, n->host);
        }
}

void tombstones_on_wanted(Leader *l, const Unit *u, Node *n) {
        if (cluster_state_find_tombstone(l->state, u->name, n->number))
                host_mark_tombstones(l, n->host);
}

// ------------------------------------------------------------------------------------------------ time

// Nothing of it runs there any more: what was kept to know that it may goes, and who waits may go on.
static void end(Leader *l, const Node *n, const Tombstone *t) {
        const UnitEntry *e = cluster_state_find_unit(l->state, t->name);
        Unit *u = unit_find(l, t->name);
        UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

        if (s && !previous_node_may_run(l, t->name, u, e, n) && !unit_wanted_on(l, u, e, n))
                unit_on_node_free(l, s);
        else if (u) {
                if (s)
                        unit_touch_on_node(l, s);
                else
                        unit_touch_itself(l, u);
                unit_release(l, u);
        }
}

static void end_overdue(Leader *l, Host *h, const Node *n) {
        const ListNode *head = cluster_state_tombstones_on(l->state, n->number);

        for (const Tombstone *t = head ? next_on(head, NULL) : NULL; t; t = next_on(head, t)) {
                uint64_t at_us = ends_at(h, t);

                if (!at_us || at_us > leader_now(l)) {
                        note_end(l, at_us);
                        continue;
                }
                end(l, n, t);
                host_mark_tombstones(l, h);
        }
}

void tombstones_on_lost(Leader *l, Host *h) {
        list_foreach (i, &h->nodes)
                end_overdue(l, h, CONTAINER_OF(i, Node, of_host));
        host_mark_tombstones(l, h);
}

static void note_lingering_unless_down(UnitOnNode *s) {
        s->lingers = !unit_on_node_is_reported(s) || !unit_on_node_is_down(s);
}

static void note_lingering(Leader *l, Node *n, const Argosy__ToVoter__Goodbye__Running *r) {
        list_foreach (k, &n->units_on_node)
                if (r->all)
                        note_lingering_unless_down(CONTAINER_OF(k, UnitOnNode, by_node));
        for (size_t k = 0; k < r->n_units; k++) {
                Unit *u = unit_find(l, r->units[k]);
                UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

                if (s)
                        s->lingers = true;
        }
}

// A name counts more than a report of before: also that of a unit whose manager the host did not reach, and
// which the host could not report as running.
void tombstones_on_goodbye(Leader *l, Host *h, const Argosy__ToVoter__Goodbye *goodbye) {
        h->fencing.lingers_until_us = leader_now(l) + host_leases_us(l);
        for (size_t i = 0; i < goodbye->n_running && i < MANAGERS_PER_HOST; i++) {
                Node *n = node_find(l, goodbye->running[i]->node);

                if (n && n->host == h)
                        note_lingering(l, n, goodbye->running[i]);
        }
}

void tombstones_on_time(Leader *l) {
        if (!l->tombstones_due_us || l->tombstones_due_us > leader_now(l))
                return;
        l->tombstones_due_us = 0;
        if (cluster_state_n_tombstones(l->state) == 0)
                return;
        list_foreach (i, &l->lost_hosts) {
                Host *h = CONTAINER_OF(i, Host, lost);

                list_foreach (k, &h->nodes)
                        end_overdue(l, h, CONTAINER_OF(k, Node, of_host));
        }
}

// -------------------------------------------------------------------------------------------- leaving nodes

// What another content takes from the node names it in the record.
static bool is_left(const UnitEntry *e, const Node *n) {
        for (size_t i = 0; i < e->record->n_left; i++)
                if (e->record->left[i] == n->number)
                        return true;
        return false;
}

static bool is_forgotten(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return unit_on_node_is_known(s) && !unit_wanted_on(l, s->unit, e, s->node) && !is_left(e, s->node) &&
               !cluster_state_find_tombstone(l->state, s->unit->name, s->node->number) &&
               previous_node_may_run(l, s->unit->name, s->unit, e, s->node);
}

void tombstones_chunk(Leader *l, const UnitOnNode *s) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

        if (!e || list_is_linked(&unit_work_seen(s->unit)->parting) || !is_forgotten(l, s, e))
                return;
        list_append(&l->parting, &unit_work(l, s->unit)->parting);
        leader_mark(l);
}

// The log has no room: nobody but this leader knows that it may run there.
static void tell_forgotten(Leader *l, const BatchBuilder *b, const char *name) {
        char why[CLUSTER_REFUSAL_SIZE];

        l->n_nodes_not_remembered++;
        log_warning(
                "%s may still run on a node that it is to leave, and the next leader would not know: %s.",
                name, cluster_refusal_words(l->state, b->refusal, why));
}

static int part(Leader *l, BatchBuilder *b, const Unit *u, const UnitEntry *e) {
        _cleanup_free_ uint32_t *nodes = NULL;
        size_t n = 0;

        list_foreach (i, &u->on_nodes)
                n++;
        nodes = calloc(n + 1, sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        n = 0;
        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (is_forgotten(l, s, e))
                        nodes[n++] = s->node->number;
        }
        return n > 0 ? batch_builder_put_tombstone(b, u->name, nodes, n, previous_node_fence_us(l, e)) : 0;
}

static const Argosy__NodeRecord *find_node(const Argosy__HostRecord *host, uint32_t node) {
        for (size_t i = 0; i < host->n_nodes; i++)
                if (host->nodes[i]->node == node)
                        return host->nodes[i];
        return NULL;
}

// Whether the node, as it is to be, is no place for what runs there now.
static bool is_driven_out(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n,
                          const Argosy__HostRecord *next, NodeLabels labels) {
        const Argosy__NodeRecord *record = find_node(next, n->number);
        UnitOptions *options;
        bool admits;

        if (!record || cluster_state_find_tombstone(l->state, u->name, n->number) ||
            !unit_may_be_wanted_on(l, u, e, n) || !previous_node_of_all(l, u, e, n))
                return false;
        if (record->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE)
                return true;
        if (unit_options_of(e, &options) < 0)
                return false;
        labels.state = l->state;
        labels.host = next;
        labels.manager = record->manager;
        admits = eligibility_admits_node(options, &labels);
        unit_options_unref(options);
        return !admits;
}

enum { BATCH_FULL = 1 }; // the rest with the next entry, as far as it is known of those nodes

static int drive_out(Leader *l, BatchBuilder *b, const Unit *u, const UnitEntry *e, const Host *h,
                     const Argosy__HostRecord *next, NodeLabels labels) {
        list_foreach (i, &h->nodes) {
                Node *n = CONTAINER_OF(i, Node, of_host);
                int r;

                if (!is_driven_out(l, u, e, n, next, labels))
                        continue;
                if (!batch_builder_takes_more(b))
                        return BATCH_FULL;
                r = batch_builder_put_tombstone(b, u->name, &n->number, 1, previous_node_fence_us(l, e));
                if (r == -EDQUOT && !b->judges)
                        tell_forgotten(l, b, u->name); // the host is as it says all the same
                else if (r < 0)
                        return r;
        }
        return 0;
}

int tombstones_chunk_with_host(Leader *l, BatchBuilder *b, const Argosy__HostRecord *next) {
        const Host *h = host_find(l, next->host);
        int r = 0;

        if (!h)
                return 0;
        list_foreach (i, &l->globals) {
                const Unit *u = CONTAINER_OF(i, UnitWork, queue)->unit;
                const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                if (r == 0 && e && !batch_builder_has_unit(b, u->name))
                        r = drive_out(l, b, u, e, h, next, (NodeLabels){});
        }
        return MIN_OF(r, 0);
}

static bool names_pools(const UnitEntry *e) {
        UnitOptions *options;
        bool names = false;

        if (unit_options_of(e, &options) < 0)
                return false;
        for (size_t i = 0; i < options->n_labels; i++)
                names |= streq(options->labels[i].key, PLACEMENT_POOL);
        unit_options_unref(options);
        return names;
}

// What runs on the hosts that come to the pool or leave it.
static int drive_out_of_pool(Leader *l, BatchBuilder *b, const Unit *u, const UnitEntry *e,
                             const Argosy__PoolRecord *now, NodeLabels labels) {
        int r = 0;

        map_foreach (slot, &l->hosts) {
                const Host *h = slot->value;
                const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);

                if (r == 0 && host && (now && pool_has_host(now, host)) !=
                                              (labels.pool && pool_has_host(labels.pool, host)))
                        r = drive_out(l, b, u, e, h, host, labels);
        }
        return r;
}

int tombstones_chunk_with_pool(Leader *l, BatchBuilder *b, const char *name,
                               const Argosy__PoolRecord *next) {
        const Argosy__PoolRecord *now = cluster_state_find_pool(l->state, name);
        int r = 0;

        list_foreach (i, &l->globals) {
                const Unit *u = CONTAINER_OF(i, UnitWork, queue)->unit;
                const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                if (r == 0 && e && !batch_builder_has_unit(b, u->name) && names_pools(e))
                        r = drive_out_of_pool(l, b, u, e, now, (NodeLabels){.changed = name, .pool = next});
        }
        return MIN_OF(r, 0);
}

int tombstones_chunk_decide(Leader *l, BatchBuilder *b) {
        list_foreach_safe (i, &l->parting) {
                Unit *u = CONTAINER_OF(i, UnitWork, parting)->unit;
                const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
                int r = 0;

                if (!batch_builder_takes_more(b)) // the rest with the next entry
                        return 0;
                if (batch_builder_has_unit(b, u->name))
                        continue;
                if (e && e->record->global)
                        r = part(l, b, u, e);
                if (r == -EDQUOT)
                        tell_forgotten(l, b, u->name);
                else if (r < 0)
                        return r;
                list_unlink(&unit_work(l, u)->parting);
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ clearing

typedef struct Extent {
        bool any;          // something is to be cleared
        bool all;          // and nothing is left then
        uint64_t revision; // up to which all are over
} Extent;

// Goes on from where the last look ended.
static void advance(const Leader *l, Node *n, Extent *x) {
        const ListNode *head = cluster_state_tombstones_on(l->state, n->number);
        const Tombstone *t;

        if (!head)
                return;
        for (t = n->fencing.open ?: next_on(head, NULL); t && is_over(l, n, t);)
                t = next_on(head, t);
        n->fencing.open = t;
        if (t) {
                x->all = false;
                x->revision = MIN_OF(x->revision, t->revision - 1);
        }
}

static Extent extent_of(const Leader *l, Host *h) {
        Extent x = {.all = true, .revision = cluster_state_revision(l->state)};

        list_foreach (i, &h->nodes)
                advance(l, CONTAINER_OF(i, Node, of_host), &x);
        list_foreach (i, &h->nodes) {
                const ListNode *head =
                        cluster_state_tombstones_on(l->state, CONTAINER_OF(i, Node, of_host)->number);

                x.any |= head && next_on(head, NULL)->revision <= x.revision;
        }
        return x;
}

// For how long those guards were that have ended something on a lost host; 0: none.
static uint64_t ended_within(const Leader *l, const Host *h) {
        uint64_t longest = 0;

        list_foreach (i, &h->nodes) {
                const ListNode *head =
                        cluster_state_tombstones_on(l->state, CONTAINER_OF(i, Node, of_host)->number);

                for (const Tombstone *t = head ? next_on(head, NULL) : NULL; t; t = next_on(head, t)) {
                        uint64_t at_us = ends_at(h, t);

                        if (at_us && at_us <= leader_now(l))
                                longest = MAX_OF(longest, t->fence_us);
                }
        }
        return longest;
}

static void restart_scan(Host *h) {
        list_foreach (i, &h->nodes)
                CONTAINER_OF(i, Node, of_host)->fencing.open = NULL;
}

static int clear(Leader *l, BatchBuilder *b, Host *h) {
        Extent x = extent_of(l, h);
        uint64_t fence_us = 0;

        if (x.any && (x.all || b->n_ops))
                return batch_builder_clear_tombstones(b, h->number, x.revision, 0);
        if (host_is_lost(h))
                fence_us = ended_within(l, h);
        if (fence_us == 0)
                return 0;
        restart_scan(h);
        return batch_builder_clear_tombstones(b, h->number, cluster_state_revision(l->state), fence_us);
}

int tombstones_clear_decide(Leader *l, BatchBuilder *b) {
        Host *h;
        int r = 0;

        while (r >= 0 && (h = host_marked(l, HOST_TOMBSTONES))) {
                r = h->recorded ? clear(l, b, h) : 0;
                if (r >= 0)
                        host_unmark(h, HOST_TOMBSTONES);
        }
        return MIN_OF(r, 0);
}

// ------------------------------------------------------------------------------------------------ telling

static bool has_unit_on_node(const Unit *u, const Node *n) {
        return u && unit_on_node_find(u, n);
}

void tombstones_each(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                     void (*each)(const Node *n, void *userdata), void *userdata) {
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);

        if (u)
                list_foreach (i, &u->on_nodes) {
                        const Node *n = CONTAINER_OF(i, UnitOnNode, by_unit)->node;

                        if (!unit_wanted_on(l, u, e, n) && previous_node_may_run(l, name, u, e, n))
                                each(n, userdata);
                }
        for (size_t i = 0; e && i < e->record->n_left; i++) {
                const Node *n = node_find(l, e->record->left[i]);

                if (n && !has_unit_on_node(u, n) && !unit_wanted_on(l, u, e, n) &&
                    previous_node_may_run(l, name, u, e, n) &&
                    !cluster_state_find_tombstone(l->state, name, n->number))
                        each(n, userdata);
        }
        if (tombs)
                list_foreach (i, tombs) {
                        const Node *n = node_find(l, CONTAINER_OF(i, const Tombstone, by_name)->node);

                        if (n && !has_unit_on_node(u, n) && !unit_wanted_on(l, u, e, n) &&
                            previous_node_may_run(l, name, u, e, n))
                                each(n, userdata);
                }
}

const char *tombstones_word(const Leader *l, const char *name) {
        return cluster_state_tombstones_of(l->state, name) ? "destroyed" : "not in the cluster";
}

typedef struct Naming {
        const Leader *l;
        Argosy__Response__UnitResult *result;
        const Unit *unit;
        const UnitEntry *entry;
        PreviousNodeQuestion question;
        int error;
} Naming;

static int append_name(Argosy__Response__UnitResult *result, const char *name) {
        _cleanup_free_ char *copy = strdup(name);

        if (!copy || ARRAY_RESERVE(result->may_run_on, result->n_may_run_on + 1) < 0)
                return -ENOMEM;
        result->may_run_on[result->n_may_run_on++] = TAKE_PTR(copy);
        return 0;
}

static void add_name(const Node *n, void *userdata) {
        Naming *x = userdata;
        Argosy__Response__UnitResult *result = x->result;

        if (x->error == 0 && x->question(x->l, result->name, x->unit, x->entry, n))
                x->error = append_name(result, n->name);
}

// A stop does not end what its record wants there: the node is to have it, and has not heard.
static void add_wanted(Naming *x) {
        map_foreach (slot, &x->l->nodes) {
                const Node *n = slot->value;
                const UnitOnNode *s = x->unit ? unit_on_node_find(x->unit, n) : NULL;

                if (unit_wanted_on(x->l, x->unit, x->entry, n) &&
                    !(s && unit_on_node_is_reported(s) && unit_on_node_is_down(s)))
                        add_name(n, x);
        }
}

static int name_compare(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int tombstones_fill(const Leader *l, Argosy__Response__UnitResult *result, Argosy__Verb verb,
                    PreviousNodeQuestion question) {
        Naming x = {.l = l,
                    .result = result,
                    .unit = unit_find(l, result->name),
                    .entry = cluster_state_find_unit(l->state, result->name),
                    .question = question};

        tombstones_each(l, result->name, x.unit, x.entry, add_name, &x);
        if (verb == ARGOSY__VERB__VERB_STOP && x.entry && x.entry->record->global)
                add_wanted(&x);
        if (result->n_may_run_on)
                qsort(result->may_run_on, result->n_may_run_on, sizeof(*result->may_run_on), name_compare);
        return x.error;
}

void tombstones_retire(Leader *l) {
        list_init(&l->parting);
}
