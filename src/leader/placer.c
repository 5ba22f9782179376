// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells the scheduler what it must know: the nodes as they are at the beginning of a batch.
#include <errno.h>

#include "leader-private.h"
#include "response.h"
#include "scheduler.h"

struct Placer {
        Leader *leader;
        Scheduler *scheduler;
};

Placer *placer_free(Placer *p) {
        if (p)
                scheduler_free(p->scheduler);
        free(p);
        return NULL;
}

bool node_takes_units(const Node *n, const char **ret_why) {
        const Host *h = n->host;
        const char *why = NULL;

        if (host_is_lost(h))
                why = h->down ? "the node is shut down" : "the node is lost";
        else if (h->leaving)
                why = "the node is shutting down";
        else if (h->lease.state == LEASE_SUSPECT)
                why = "the node has not been heard of for a while";
        else
                why = n->reason ?: n->closed;
        if (ret_why)
                *ret_why = why;
        return !why;
}

static const char *on_foreign(const char *name, uint32_t node, void *userdata) {
        const Leader *l = userdata;
        const Unit *u = unit_find(l, name);

        return u ? unit_exclusion(u, node) : NULL;
}

int placer_new(Leader *l, uint32_t without_host, Placer **ret) {
        _cleanup_(placer_freep) Placer *p = calloc(1, sizeof(*p));
        _cleanup_free_ SchedulerNode *nodes = calloc(l->nodes.count + 1, sizeof(*nodes));
        size_t n = 0;
        int r;

        if (!p || !nodes)
                return -ENOMEM;
        p->leader = l;
        map_foreach (slot, &l->nodes) {
                const Node *node = slot->value;
                const Host *h = node->host;
                const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

                if (!record || h->number == without_host)
                        continue;
                nodes[n] = (SchedulerNode){
                        .node = node->number,
                        .host = record,
                        .manager = node->manager,
                        .n_units = node->n_placed + node->n_globals,
                        .rank = !h->attached, // expected to be back within its lease, but a second choice
                };
                (void) node_takes_units(node, &nodes[n].refusal);
                nodes[n].vacating = node->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE;
                n++;
        }
        r = scheduler_new(nodes, n, on_foreign, l, &p->scheduler);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(p);
        return 0;
}

bool node_admits(const Leader *l, const Node *n, const UnitOptions *options) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);

        return host && scheduler_admits(host, n->manager, options);
}

static int explain(const Placer *p, const char *name, const UnitOptions *options, Placement *result) {
        SchedulerRefusal *refusals;
        size_t n;
        int r;

        r = scheduler_explain(p->scheduler, name, options, &refusals, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && i < n; i++) {
                const Node *node = node_find(p->leader, refusals[i].node);

                r = FIELD_APPEND(result->refusals, result->n_refusals,
                                 refusal_new(node ? node->name : "?", refusals[i].reason));
        }
        scheduler_refusals_free(refusals, n);
        return r;
}

void placement_done(Placement *p) {
        for (size_t i = 0; i < p->n_refusals; i++)
                message_free(p->refusals[i]);
        free(p->refusals);
        *p = (Placement){};
}

int placer_place(Placer *p, const char *name, const UnitOptions *options, bool want_reasons,
                 Placement *ret) {
        Placement result = {};
        int r;

        r = scheduler_place(p->scheduler, name, options, &result.node);
        if (r < 0)
                return r;
        result.possible = r != SCHEDULER_NEVER;
        if (r == SCHEDULER_PLACED || !want_reasons) {
                *ret = result;
                return 0;
        }
        r = explain(p, name, options, &result);
        if (r < 0) {
                placement_done(&result);
                return r;
        }
        *ret = result;
        return 0;
}

int unit_options_of(const UnitEntry *e, UnitOptions **ret) {
        const UnitFile *file;
        int r;

        r = spec_entry_file(e->spec, &file);
        return r < 0 ? r : unit_file_expand(file, e->record->name, e->record->name, ret, NULL);
}

// Why a unit that is to run has no node that it could run on.
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n) {
        _cleanup_(placer_freep) Placer *p = NULL;
        UnitOptions *options = NULL;
        Placement place = {};
        int r;

        r = unit_options_of(e, &options);
        if (r >= 0)
                r = placer_new(l, 0, &p);
        if (r >= 0)
                r = explain(p, e->record->name, options, &place);
        unit_options_unref(options);
        if (r < 0) {
                placement_done(&place);
                return r;
        }
        *ret_why = strdup("no node takes it at present");
        *ret = place.refusals;
        *ret_n = place.n_refusals;
        return 0;
}
