// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A node has one network of each name. So a rollout that brings another file of one takes a whole node at a
// time: with the unit whose turn it is, all others there that share the network, its own ones with its
// content, units of other names with theirs and the new lines (messages/network-change.h). What is not its
// own is not waited for. When its own are done, the rest of the cluster gets the network, too, which holds
// up nothing but by the budgets of that.
//
// On the way back the same goes the other way round, on the nodes that it has come to. Nothing of this is in
// the rollout's record: contents say which network they have.
//
// Who is up as it gets the network is on trial with it (UnitExtra.trial), and starts again as it goes back:
// it may have failed by then, as a dependency of its start did, and then no other content starts it.
//
// Failures: a content that the cluster does not take any more leaves its unit as it is, and says so in the
// log of argosyd; -EBUSY: the batch has one of them already.

#include "rollout-networks.h"

#include <errno.h>
#include <stdlib.h>

#include "disruption-budget.h"
#include "log.h"
#include "ordering.h"
#include "quadlet.h"
#include "registry.h"
#include "rollout-content.h"
#include "rollout-order.h"
#include "str.h"
#include "unit-file.h"
#include "unit-parts.h"
#include "unit-record.h"

int rollout_networks_of(const UnitEntry *e, const SpecEntry *next, NetworkChange *ret) {
        *ret = (NetworkChange){};
        return next && next != e->spec ? network_change_of(e->record->name, e->spec->content, e->spec->len,
                                                           next->content, next->len, ret)
                                       : 0;
}

int rollout_networks_of_record(const Leader *l, const Argosy__RolloutRecord *r, NetworkChange *ret) {
        const SpecEntry *before = rollout_spec(l, &r->spec_before), *spec = rollout_spec(l, &r->spec);
        const SpecEntry *from = rollout_is_returning(r) ? spec : before,
                        *to = rollout_is_returning(r) ? before : spec;

        *ret = (NetworkChange){};
        return rollout_is_update(r) && from && to ? network_change_of(r->name, from->content, from->len,
                                                                      to->content, to->len, ret)
                                                  : 0;
}

// ----------------------------------------------------------------------------------------------- who shares

typedef struct Sharing {
        const Leader *l;
        const NetworkChange *change;
        size_t at; // the network that is looked at
        const Unit *but;
        const Node *node;
        int (*each)(Unit *v, void *userdata);
        void *userdata;
        int r;
} Sharing;

static void look_at_user(const char *name, void *userdata) {
        Sharing *s = userdata;
        Unit *v = s->r == 0 ? unit_find(s->l, name) : NULL;
        const UnitEntry *e = v && v != s->but && v->node == s->node
                                     ? cluster_state_find_unit(s->l->state, name)
                                     : NULL;
        const NetworkChange earlier = {.list = s->change->list, .n = s->at};

        if (e && network_change_concerns(s->change, e->spec) && !network_change_concerns(&earlier, e->spec))
                s->r = s->each(v, s->userdata);
}

static size_t count_users(const Leader *l, const NetworkChange *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                n += stop_dependents_count(&l->network_users, c->list[i].file);
        return n;
}

// Whichever are fewer: those of the network, or those of the node.
int rollout_networks_each(const Leader *l, const NetworkChange *c, const Unit *u, const Node *n,
                          int (*each)(Unit *v, void *userdata), void *userdata) {
        Sharing s = {.l = l, .change = c, .but = u, .node = n, .each = each, .userdata = userdata};

        if (!n)
                return 0;
        if (count_users(l, c) < n->n_placed) {
                for (; s.at < c->n && s.r == 0; s.at++)
                        stop_dependents_each(&l->network_users, c->list[s.at].file, look_at_user, &s);
                return s.r;
        }
        list_foreach_safe (i, &n->placed) {
                Unit *v = CONTAINER_OF(i, Unit, placed);
                const UnitEntry *e = v != u ? cluster_state_find_unit(l->state, v->name) : NULL;

                if (s.r == 0 && e && network_change_concerns(c, e->spec))
                        s.r = each(v, userdata);
        }
        return s.r;
}

typedef struct Judging {
        const Leader *l;
        const BatchBuilder *b;
        const Unit **ret;
        char *why;
} Judging;

static int judge_one(Unit *v, void *userdata) {
        const Judging *j = userdata;

        if (ordering_standing(j->l, v->name) != STANDING_UP)
                return 0;
        *j->ret = v;
        return rollout_order_blocks(j->l, j->b, v->name, NULL, j->why, ROLLOUT_REASON_SIZE);
}

int rollout_networks_judge(const Leader *l, const BatchBuilder *b, const NetworkChange *c, Unit *u,
                           bool and_itself, const Node *n, const Unit **ret,
                           char why[static ROLLOUT_REASON_SIZE]) {
        Judging j = {l, b, ret, why};
        int k = and_itself ? judge_one(u, &j) : 0;

        return k ?: rollout_networks_each(l, c, u, n, judge_one, &j);
}

// Whatever is placed next in this entry finds it there with its next content.
static int tell_node(Leader *l, Scheduler **scheduler, const NetworkChange *c, const Unit *v,
                     const SpecEntry *spec) {
        _cleanup_buf_ Buf text = {};
        UnitOptions *options = NULL;
        UnitFile *file = NULL;
        int r = v->node ? network_change_text(c, spec, &text) : 0;

        if (v->node && r == 0)
                r = unit_file_parse(v->name, text.data, text.len, &file, NULL);
        if (file && r == 0)
                r = unit_file_expand(file, v->name, v->name, &options, NULL);
        if (options && r == 0) {
                *scheduler = *scheduler ?: scheduler_new(l, 0);
                scheduler_put(*scheduler, v->name, options, v->node->number);
        }
        unit_options_unref(options);
        unit_file_free(file);
        return r == -EINVAL ? 0 : r; // it demands nothing then
}

int rollout_networks_put(Leader *l, BatchBuilder *b, Scheduler **scheduler, const NetworkChange *c,
                         const Unit *v, bool back) {
        const UnitEntry *e = cluster_state_find_unit(l->state, v->name);
        bool launched = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED,
             tried = launched && !back && ordering_standing(l, v->name) == STANDING_UP,
             starts = launched && back && record_is_on_trial(e->record);
        Argosy__Trial trial = ARGOSY__TRIAL__INIT;
        Argosy__UnitRecord next = *e->record;
        _cleanup_free_ char *why = NULL;
        Argosy__UnitExtra extra;
        Hash spec;
        int r;

        if (batch_builder_has_unit(b, v->name))
                return -EBUSY;
        r = network_change_put(c, b, l->state, e->spec, &spec, &why);
        if (r == -EINVAL || r == -EDQUOT) {
                log_unit(LOG_WARNING, v->name, "%s keeps its file, and so its network: %s.", v->name,
                         why ?: "the cluster keeps no more contents");
                return 0;
        }
        r = r < 0 ? r : tell_node(l, scheduler, c, v, e->spec);
        if (r < 0)
                return r;
        if (v->node && !back)
                disruption_budget_take(l, (Unit *) v);
        next.spec = hash_field(&spec);
        next.extra = unit_extra_with_trial(&extra, e->record, tried ? &trial : NULL);
        return batch_builder_put_unit(b, &next, starts ? BATCH_BUMP_START : 0, e->record->revision);
}

typedef struct Putting {
        Leader *l;
        BatchBuilder *b;
        Scheduler **scheduler;
        const NetworkChange *change;
        bool back;
} Putting;

static int put_one(Unit *v, void *userdata) {
        const Putting *p = userdata;

        return rollout_networks_put(p->l, p->b, p->scheduler, p->change, v, p->back);
}

int rollout_networks_put_others(Leader *l, BatchBuilder *b, Scheduler **scheduler, const NetworkChange *c,
                                const Unit *u, const Node *n, bool back) {
        Putting p = {l, b, scheduler, c, back};

        return rollout_networks_each(l, c, u, n, put_one, &p);
}

// ------------------------------------------------------------------------------------------ who comes to it

typedef struct Meeting {
        const Leader *l;
        const Unit *unit; // that comes
        const Node *node;
        const char *file;
        Hash of;
} Meeting;

static bool has_other(const Meeting *m, const Unit *v) {
        const UnitEntry *e = v != m->unit ? cluster_state_find_unit(m->l->state, v->name) : NULL;

        return e && quadlet_beside_is_other(e->spec->content, e->spec->len, m->file, &m->of);
}

static int meet(const NamedNetwork *network, void *userdata) {
        Meeting *m = userdata;

        if (!network->is_new)
                return 0;
        m->file = network->file;
        m->of = quadlet_beside_hash(&network->part);
        list_foreach (i, &m->node->placed)
                if (has_other(m, CONTAINER_OF(i, Unit, placed)))
                        return 1;
        return 0;
}

int rollout_networks_meet(const Leader *l, const Unit *u, const UnitFile *file, const SpecEntry *next) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        Meeting m = {.l = l, .unit = u, .node = u->node};

        return u->node ? network_change_each_named(file->networks, next->content, next->len,
                                                   e ? e->spec : NULL, meet, &m)
                       : 0;
}

// What it brings or takes: who goes back to what it had is not to find another one there.
static bool moves_network(const SpecEntry *before, const SpecEntry *spec, const char *network,
                          const Hash *of) {
        UnitPart a, b;
        bool had = before && quadlet_beside_find(before->content, before->len, network, &a),
             has = spec && quadlet_beside_find(spec->content, spec->len, network, &b);
        Hash from = had ? quadlet_beside_hash(&a) : (Hash){}, to = has ? quadlet_beside_hash(&b) : (Hash){};

        return had != has ||
               (had && !hash_equal(&from, &to) && (hash_equal(&from, of) || hash_equal(&to, of)));
}

const char *rollout_networks_update(const Leader *l, const char *network, const Hash *of) {
        list_foreach (i, &l->rollouts) {
                const Rollout *o = CONTAINER_OF(i, Rollout, all);
                const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, o->budget->name);
                const SpecEntry *before = r ? rollout_spec(l, &r->spec_before) : NULL,
                                *spec = r ? rollout_spec(l, &r->spec) : NULL;

                if (moves_network(before, spec, network, of))
                        return o->budget->name;
        }
        return NULL;
}

// -------------------------------------------------------------------------------------------- the beginning

typedef struct InTheWay {
        Leader *l;
        const char *name; // of the group that is about to change
        const NetworkChange *change;
        const DisruptionBudget *judged; // the last group, whose update changes no network
        const char *file; // that is looked at
        Hash from, to;    // what it is before and then, if it is a network's
        const char *found;
        int r;
} InTheWay;

// Whether the rollout changes a network.
static int changes_networks(const Leader *l, const Argosy__RolloutRecord *r) {
        NetworkChange c;
        int k = rollout_networks_of_record(l, r, &c);
        bool any = c.n > 0;

        network_change_done(&c);
        return k < 0 ? k : any;
}

// Of a container by its name: who has its network may have an older file of it.
static bool has_same(const InTheWay *w, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(w->l->state, name);

        return e && (!str_has_suffix(w->file, QUADLET_NETWORK) ||
                     !quadlet_beside_is_other(e->spec->content, e->spec->len, w->file, &w->from) ||
                     !quadlet_beside_is_other(e->spec->content, e->spec->len, w->file, &w->to));
}

static void look_at(const char *name, void *userdata) {
        InTheWay *w = userdata;
        const Unit *u = w->r == 0 && !w->found && has_same(w, name) ? unit_find(w->l, name) : NULL;
        const DisruptionBudget *g = u ? u->budget : NULL;
        const Argosy__RolloutRecord *r = g && g->rollout && !streq(g->name, w->name)
                                                 ? cluster_state_find_rollout(w->l->state, g->name)
                                                 : NULL;

        if (g == w->judged || !rollout_is_under_way(r))
                return;
        w->judged = g;
        w->r = w->change->n > 0 ? 1 : changes_networks(w->l, r);
        if (w->r == 1)
                w->found = name;
}

static Hash hash_in(const void *content, size_t len, const char *file) {
        UnitPart part;

        return quadlet_beside_find(content, len, file, &part) ? quadlet_beside_hash(&part) : (Hash){};
}

static void look_at_users(InTheWay *w, const char *file, const SpecEntry *before,
                          const ChangeContent *next) {
        w->file = file;
        w->from = hash_in(before->content, before->len, file);
        w->to = hash_in(next->text, next->len, file);
        stop_dependents_each(&w->l->network_users, file, look_at, w);
}

int rollout_networks_in_the_way(Leader *l, const char *name, const SpecEntry *before,
                                const ChangeContent *next, const char **ret) {
        const char *at = next->file->networks, *name_of;
        size_t len;
        NetworkChange change;
        InTheWay w = {.l = l, .name = name, .change = &change};
        int r = network_change_of(name, before->content, before->len, next->text, next->len, &change);

        for (size_t i = 0; i < change.n && r == 0; i++)
                look_at_users(&w, change.list[i].file, before, next);
        while (r == 0 && quadlet_beside_names_next(&at, &name_of, &len)) {
                _cleanup_free_ char *file = strndup(name_of, len);

                if (!file)
                        r = -ENOMEM;
                else
                        look_at_users(&w, file, before, next);
                r = MIN_OF(r, w.r < 0 ? w.r : 0);
        }
        network_change_done(&change);
        *ret = w.found;
        return r;
}
