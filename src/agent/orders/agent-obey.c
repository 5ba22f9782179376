// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Takes the leader's orders over: which units it names, with what content; after a whole Welcome, which it
// names no more.
//
//      WelcomePart ... -> Welcome -> units that it does not name are removed     Orders
//          -> the units that they name
//
// An order that is already carried out only marks the unit. Nothing is started here: plan.c decides in the
// drain. Failures: an order without its content or without memory has the agent attach again, as a Welcome
// has everything; one that this host cannot carry out is logged and dropped.

#include <errno.h>

#include "agent-adopt.h"
#include "agent-companions.h"
#include "agent-core.h"
#include "agent-nodes.h"
#include "agent-obey.h"
#include "agent-secrets.h"
#include "agent-session.h"
#include "agent-spec.h"
#include "agent-unit.h"
#include "agent-wanted.h"
#include "log.h"
#include "unit-name.h"
#include "unit-state.h"

// The specs that came with a message, kept until its orders were taken over.
typedef struct Parcel {
        Argosy__Spec **specs;
        size_t n;
} Parcel;

static int spec_from_parcel(Agent *a, const Parcel *parcel, const Hash *hash, const char *name,
                            AgentSpec **ret) {
        *ret = agent_spec_ref(agent_spec_find(a, hash));
        if (*ret)
                return 0;
        for (size_t i = 0; i < parcel->n; i++) {
                const Argosy__Spec *s = parcel->specs[i];

                if (s->hash.len == HASH_SIZE && memcmp(s->hash.data, hash->bytes, HASH_SIZE) == 0)
                        return agent_spec_get(a, hash, s->content.data, s->content.len, name, ret);
        }
        return -ENOENT;
}

// Each session brings the whole set of orders, most of which are carried out already. Such a unit is only
// reported and planned again.
static bool is_held_already(AgentUnit *u, const PlanWanted *w, bool from_template) {
        const AgentHeld *h = &u->held;

        if (u->work || !u->has_held || !u->file_present || u->half_written)
                return false;
        if (w->target != (Argosy__Target) h->target || w->revision != h->revision ||
            w->start_rev != h->start_rev || w->restart_rev != h->restart_rev || w->stop_rev != h->stop_rev ||
            from_template != h->from_template || !hash_equal(&w->spec, &h->spec->hash))
                return false;
        u->has_wanted = true;
        u->wanted_outcome = (uint8_t) w->outcome;
        u->refused = u->gone = false;
        agent_unit_report(u);
        agent_unit_mark(u);
        return true;
}

// An outcome that only a later version knows is taken as UNKNOWN: the run is over.
static Argosy__Outcome__Kind decode_outcome(const Argosy__UnitOrder *o) {
        if (!o->outcome || o->outcome->start_rev != o->start_rev)
                return ARGOSY__OUTCOME__KIND__NONE;
        return o->outcome->kind < ARGOSY__OUTCOME__KIND__UNKNOWN ? o->outcome->kind
                                                                 : ARGOSY__OUTCOME__KIND__UNKNOWN;
}

static PlanWanted decode(const Argosy__UnitOrder *o, const Hash *spec) {
        return (PlanWanted){
                .target = o->target,
                .spec = *spec,
                .revision = o->stay ? UNIT_REVISION_STAY : o->revision,
                .start_rev = o->start_rev,
                .restart_rev = o->restart_rev,
                .stop_rev = o->stop_rev,
                .outcome = decode_outcome(o),
        };
}

static bool is_runnable_name(const char *name) {
        UnitNameKind kind = unit_name_kind(name, NULL);

        return (kind == UNIT_NAME_PLAIN || kind == UNIT_NAME_INSTANCE) && !unit_name_reserved(name);
}

// 0; -ENOENT: its spec was never sent; -EINVAL: not an order that this host can carry out.
static int obey_order(Agent *a, const Argosy__UnitOrder *o, const Parcel *parcel) {
        AgentNode *node = agent_node_find(a, o->node);
        AgentSpec *spec = NULL;
        PlanWanted wanted;
        AgentUnit *u;
        Hash hash;
        int r;

        bool remove = o->remove || o->target == ARGOSY__TARGET__TARGET_INACTIVE;

        if (node && node->detaching)
                return 0; // the whole node goes, and its leader may not know that yet
        if (!node || (!remove && !hash_from_bytes(o->spec.data, o->spec.len, &hash)))
                return -EINVAL;
        u = agent_unit_find(node, o->name);
        if (o->stay && o->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return 0; // the order before stays in force, and reports answer that one
        agent_secrets_ordered(node, o->name, remove ? NULL : o);
        if (remove) {
                if (!u) {
                        r = agent_unit_new(node, o->name, &u); // not known here: the answer is `gone`
                        if (r < 0)
                                return r;
                }
                return agent_unit_want_gone(u, o->revision);
        }
        if (!is_runnable_name(o->name))
                return -EINVAL;
        r = spec_from_parcel(a, parcel, &hash, o->name, &spec);
        if (r < 0)
                return r;
        if (!u) {
                r = agent_unit_new(node, o->name, &u);
                if (r < 0) {
                        agent_spec_unref(a, spec);
                        return r;
                }
        }
        wanted = decode(o, &hash);
        agent_adopt_content(u, spec);
        if (is_held_already(u, &wanted, o->from_template)) {
                agent_spec_unref(a, spec);
                return 0;
        }
        r = agent_unit_want(u, &wanted, spec, o->from_template);
        if (r < 0)
                agent_spec_unref(a, spec);
        return r;
}

static void obey_orders(Agent *a, Argosy__UnitOrder **orders, size_t n, const Parcel *parcel) {
        for (size_t i = 0; i < n; i++) {
                int r = obey_order(a, orders[i], parcel);

                if (r >= 0)
                        continue;
                log_unit(LOG_WARNING, orders[i]->name, "Cannot take the order for %s over: %s",
                         orders[i]->name, r == -ENOENT ? "its content was not sent" : strerror(-r));
                if (r != -EINVAL)
                        a->attach_wanted = true; // the Welcome has everything again
        }
}

// Removes the units that the complete Welcome does not name.
static void unwant_the_rest(AgentNode *node) {
        agent_foreach_unit(u, node) {
                if (u->in_welcome)
                        continue;
                agent_secrets_ordered(node, u->name, NULL);
                // A gone unit was wanted, and is kept until its last report is sent.
                if (u->has_held || u->has_wanted || agent_unit_doing(u)->busy != PLAN_NOTHING)
                        (void) agent_unit_unwant(u); // out of memory: the next Welcome tries again
                else
                        agent_unit_free(u);
        }
}

// Marks the units that the Welcome, or a part of it, names.
static void obey_wanted(Agent *a, Argosy__UnitOrder **orders, size_t n, const Parcel *parcel) {
        if (a->welcome_parts == 0)
                agent_foreach_node (each, a)
                        agent_foreach_unit(u, each) u->in_welcome = false;
        for (size_t i = 0; i < n; i++) {
                AgentNode *node = agent_node_find(a, orders[i]->node);
                AgentUnit *u;

                obey_orders(a, &orders[i], 1, parcel);
                u = node ? agent_unit_find(node, orders[i]->name) : NULL;
                if (u)
                        u->in_welcome = true; // also if the order could not be taken over
        }
}

static void obey_companions(Agent *a, const Argosy__Companions *m) {
        if (m) // absent: no change
                agent_companions_obey(a, m);
}

static void obey_welcome_part(Agent *a, const Argosy__ToHost__WelcomePart *p) {
        Parcel parcel = {p->specs, p->n_specs};

        agent_nodes_number(a, p->nodes, p->n_nodes);
        agent_secrets_take(a, p->secrets, p->n_secrets);
        obey_companions(a, p->companions);
        obey_wanted(a, p->orders, p->n_orders, &parcel);
        a->welcome_parts++;
        agent_session_on_part(a);
}

static void obey_welcome(Agent *a, const Argosy__ToHost__Welcome *w) {
        Parcel parcel = {w->specs, w->n_specs};

        if (w->parts != a->welcome_parts) { // parts are missing: no unit may be removed by this Welcome
                log_warning("Of a Welcome in %u parts %u have come; asking for all of it again.", w->parts,
                            a->welcome_parts);
                a->attach_wanted = true;
                return;
        }
        agent_nodes_number(a, w->nodes, w->n_nodes);
        obey_companions(a, w->companions);
        agent_secrets_take(a, w->secrets, w->n_secrets);
        obey_wanted(a, w->orders, w->n_orders, &parcel);
        agent_secrets_welcomed(a);
        agent_foreach_node (each, a)
                if (each->number != 0) // else the leader does not know it yet
                        unwant_the_rest(each);
        agent_session_welcome(a, w);
}

// Orders of before the last Attach (another `seq`) are dropped: the leader takes the Attach for all that is
// here, and may have the unit started elsewhere.
void agent_obey(Agent *a, const Argosy__ToHost *m) {
        if (a->clearing)
                return;
        a->n_obeyed++;
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME) {
                if (m->welcome->seq == a->attach_seq)
                        obey_welcome(a, m->welcome);
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART) {
                if (m->welcome_part->seq == a->attach_seq)
                        obey_welcome_part(a, m->welcome_part);
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS && a->welcomed_seq == a->attach_seq) {
                Parcel parcel = {m->orders->specs, m->orders->n_specs};

                agent_nodes_number(a, m->orders->nodes, m->orders->n_nodes);
                obey_companions(a, m->orders->companions);
                agent_secrets_take(a, m->orders->secrets, m->orders->n_secrets);
                obey_orders(a, m->orders->orders, m->orders->n_orders, &parcel);
        }
        drain_mark(&a->drain);
}
