// SPDX-License-Identifier: LGPL-2.1-or-later
//
// status: of each unit that is named, one answer for each node that it is on, is to be on, or may still run
// on. A node that can be asked is asked, and the leader adds what it alone knows; of all others it says what
// it knows itself. A unit that runs on all nodes is looked for on some of them in each turn (node-calls.c).

#include <errno.h>

#include "answer.h"
#include "mass-loss-controller.h"
#include "message.h"
#include "node-calls-private.h"
#include "nodes.h"
#include "ordering.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "retry-controller.h"
#include "rollout-controller.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "unit-row.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"

enum { LOOKS_OF_NAME = 4 }; // what a unit costs besides the nodes that are looked at

void status_calls_narrow(const PendingRequest *t, NodeCall *c, Argosy__Request *request,
                         RequestOfOne *room) {
        room->status = *request->status;
        room->status.names = &c->unit;
        room->status.n_names = 1;
        request->status = &room->status;
}

// What is under way with an instance's template, as a phrase.
static bool group_phrase(const Leader *l, const Unit *u, char *ret, size_t size) {
        char phrase[192];

        if (!u->budget || !rollout_phrase(l, u->budget->name, phrase, sizeof(phrase)))
                return false;
        str_fit(ret, size, "%s: %s", u->budget->name, phrase);
        return true;
}

static int add_wait_reason(Leader *l, const char *unit, const Node *n, Argosy__Response__Status *s) {
        const Unit *u = unit_find(l, unit);
        const UnitOnNode *on_node = u ? unit_on_node_find(u, n) : NULL;
        char why[512];

        if (!on_node)
                return 0;
        if (ordering_why(l, on_node, why, sizeof(why)) ||
            (u->node == n && retry_controller_phrase(l, u, why, sizeof(why))) ||
            group_phrase(l, u, why, sizeof(why)))
                return field_set(&s->why, why);
        return 0;
}

// What the agent says is about the attempt before, if anything.
static int add_pull(const Leader *l, const char *unit, const Node *n, Argosy__Response__Status *s) {
        const Unit *u = unit_find(l, unit);
        const UnitOnNode *on_node = u ? unit_on_node_find(u, n) : NULL;
        char why[1024];

        if (!unit_on_node_is_shown(on_node) || !on_node->pulling)
                return 0;
        unit_on_node_pull_phrase(on_node, "its image is being pulled", why, sizeof(why));
        return field_set(&s->why, why);
}

static int add_outcome(const Argosy__UnitRecord *r, const Node *n, Argosy__Response__Status *s) {
        const Argosy__Outcome *o = record_final_outcome(r, n->number);

        if (status_set_outcome(s, o) < 0)
                return -ENOMEM;
        if (r->target != ARGOSY__TARGET__TARGET_LAUNCHED || !o || o->kind != ARGOSY__OUTCOME__KIND__UNKNOWN)
                return 0;
        return field_printf(&s->why, "%s; `start` runs it again", outcome_phrase(o));
}

static int add_notes(Leader *l, const char *unit, const Node *n, Argosy__Response__UnitRow *row) {
        const Unit *u = unit_find(l, unit);
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

        return unit_on_node_is_shown(s) ? unit_row_fill_notes(l, s, row) : 0;
}

// What the leader knows better than the agent.
static int complete_status(Leader *l, Argosy__Response *r, const char *unit, const Node *n) {
        const UnitEntry *e = cluster_state_find_unit(l->state, unit);
        const Argosy__HostRecord *host = n ? cluster_state_find_host(l->state, n->host->number) : NULL;
        Argosy__Response__Status *s = r->status_reply;

        if (!s->row && !(s->row = unit_row_new(unit, NULL)))
                return -ENOMEM;
        if (field_set(&s->row->unit, unit) < 0 || field_set(&s->row->node, n ? n->name : "-") < 0)
                return -ENOMEM;
        if (host && unit_row_set_host(s->row, host) < 0)
                return -ENOMEM;
        if (n && add_notes(l, unit, n, s->row) < 0)
                return -ENOMEM;
        if (!e)
                return 0;
        if (s->n_drop_ins == 0 && status_set_drop_ins(s, e->spec->content, e->spec->len) < 0)
                return -ENOMEM;
        if (!*s->row->image && unit_row_set_image(s->row, e->spec->content, e->spec->len) < 0)
                return -ENOMEM;
        if (s->n_files == 0 && status_set_files(s, e->spec->content, e->spec->len) < 0)
                return -ENOMEM;
        if (n && add_outcome(e->record, n, s) < 0)
                return -ENOMEM;
        if (n && add_pull(l, unit, n, s) < 0)
                return -ENOMEM;
        if (n && !*s->why && add_wait_reason(l, unit, n, s) < 0)
                return -ENOMEM;
        s->revision = e->record->revision;
        s->job = cluster_state_find_job_of(l->state, unit, e->record->revision);
        return field_set(&s->desired, target_to_string(e->record->target));
}

static Argosy__Response *status_new(Leader *l, const char *unit, const Node *n, const char *why) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_STATUS_REPLY);

        if (!r || complete_status(l, r, unit, n) < 0 || (why && field_set(&r->status_reply->why, why) < 0)) {
                message_free(r);
                return NULL;
        }
        return r;
}

static Argosy__Response *status_of_held(Leader *l, const char *unit, const Node *n) {
        Argosy__Response *r = status_new(l, unit, n, NULL);
        Argosy__Response__UnitRow *row = r ? r->status_reply->row : NULL;

        if (row && field_set(&row->load, "-") == 0 && field_set(&row->active, "inactive") == 0 &&
            field_set(&row->sub, "dead") == 0)
                return r;
        message_free(r);
        return NULL;
}

static int status_of_node(Leader *l, PendingRequest *t, const char *unit, Node *n) {
        const Unit *u = unit_find(l, unit);
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;
        Argosy__Response *r;
        const char *why;

        if (s && s->hold != HOLD_NOT && !unit_on_node_is_reported(s)) // the host does not know of it yet
                return node_calls_respond(t, status_of_held(l, unit, n));
        if (node_is_heard(n))
                return node_calls_ask(l, t, unit, n);
        why = u ? unit_held_by_mass_loss(l, u) : NULL;
        if (!why && node_takes_units(n, &why))
                why = "the node has not reported yet";
        r = status_new(l, unit, n, why);
        if (r && unit_row_fill_states(l, n, s, r->status_reply->row) < 0) {
                message_free(r);
                r = NULL;
        }
        return node_calls_respond(t, r);
}

// A global unit leaves this node out: the name belongs to somebody else there, or it conflicts with one.
static int status_of_refusal(Leader *l, PendingRequest *t, const UnitEntry *e, Node *n, const char *why) {
        _cleanup_response_ Argosy__Response *r = status_new(l, e->record->name, n, why);
        Argosy__Response__UnitRow *row = r ? r->status_reply->row : NULL;

        if (!row || field_set(&row->load, "-") < 0 || field_set(&row->active, "inactive") < 0 ||
            field_set(&row->sub, "dead") < 0)
                return -ENOMEM;
        return node_calls_respond(t, TAKE_PTR(r));
}

static int status_of_nowhere(Leader *l, PendingRequest *t, const UnitEntry *e) {
        bool wanted = e->record->target != ARGOSY__TARGET__TARGET_INACTIVE;
        _cleanup_response_ Argosy__Response *r = status_new(
                l, e->record->name, NULL, wanted ? "no node takes it at present" : "the unit is not loaded");
        Argosy__Response__Status *s = r ? r->status_reply : NULL;

        if (!s || field_set(&s->row->load, "-") < 0 || field_set(&s->row->active, "inactive") < 0 ||
            field_set(&s->row->sub, "dead") < 0)
                return -ENOMEM;
        if (wanted && !e->record->global) {
                _cleanup_free_ char *why = NULL;

                if (unit_why(l, e, &why, &s->refusals, &s->n_refusals) >= 0)
                        (void) field_set(&s->why, why);
        }
        return node_calls_respond(t, TAKE_PTR(r));
}

static Argosy__Response *unknown_unit(Leader *l, const char *name) {
        Argosy__Response *r = status_new(l, name, NULL, "no such unit");

        if (!r)
                return NULL;
        r->status = ENOENT;
        (void) field_printf(&r->message, "%s: no such unit", name);
        return r;
}

bool status_calls_unit_is_at(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

        return unit_wanted_on(l, u, e, n) || (s && unit_on_node_is_reported(s) && !node_is_unreachable(n));
}

// Destroyed, and its host is not heard.
static int status_of_silent(Leader *l, PendingRequest *t, const char *name, const Node *n) {
        _cleanup_response_ Argosy__Response *r =
                status_new(l, name, n, "destroyed; it may still run until the host is heard");

        if (!r || field_set(&r->status_reply->desired, "-") < 0 ||
            unit_row_fill_states(l, n, NULL, r->status_reply->row) < 0)
                return -ENOMEM;
        return node_calls_respond(t, TAKE_PTR(r));
}

static bool is_remembered(const Leader *l, const Unit *u, const char *name, const Node *n) {
        return (u && unit_on_node_find(u, n)) || cluster_state_find_tombstone(l->state, name, n->number);
}

// A unit, and the nodes about which something is said of it (NodeAsking.n_said).
typedef struct StatusQuestion {
        PendingRequest *pending;
        const char *name;
        const UnitEntry *e;
        const Unit *u;
} StatusQuestion;

static StatusQuestion status_question(const Leader *l, PendingRequest *t) {
        const char *name = t->request->status->names[node_asking(t)->n_asked];

        return (StatusQuestion){t, name, cluster_state_find_unit(l->state, name), unit_find(l, name)};
}

static int status_on(Leader *l, const StatusQuestion *q, Node *node) {
        char left_out[512];
        const char *why = unit_left_out(l, q->u, q->e, node, left_out, sizeof(left_out)) ? left_out : NULL;
        bool silent = !q->e && previous_node_is_silent(l, q->name, q->u, q->e, node) &&
                      is_remembered(l, q->u, q->name, node);

        if (!why && !silent && !status_calls_unit_is_at(l, q->u, q->e, node))
                return 0;
        node_asking(q->pending)->n_said++;
        return why      ? status_of_refusal(l, q->pending, q->e, node, why)
               : silent ? status_of_silent(l, q->pending, q->name, node)
                        : status_of_node(l, q->pending, q->name, node);
}

static int status_on_node(Leader *l, PendingRequest *t, Node *node) {
        const StatusQuestion q = status_question(l, t);

        return status_on(l, &q, node);
}

// Where it is or was seen, and where its record says.
static int status_where_it_is(Leader *l, const StatusQuestion *q) {
        Node *node = node_find(l, q->e->record->node);
        int r = 0;

        if (q->u)
                list_foreach (i, &q->u->on_nodes)
                        if (r >= 0)
                                r = status_on(l, q, CONTAINER_OF(i, UnitOnNode, by_unit)->node);
        return r >= 0 && node && !(q->u && unit_on_node_find(q->u, node)) ? status_on(l, q, node) : r;
}

// One that runs on all nodes, or was destroyed and may still run on thousands.
static bool is_anywhere(const Leader *l, const StatusQuestion *q) {
        return q->e ? q->e->record->global : q->u || cluster_state_tombstones_of(l->state, q->name);
}

static int status_of_nobody(Leader *l, const StatusQuestion *q) {
        return q->e ? status_of_nowhere(l, q->pending, q->e)
                    : node_calls_respond(q->pending, unknown_unit(l, q->name));
}

// Goes on with the unit that is at hand. NODE_CALLS_MORE; or 0, with the next one at hand.
static int status_of_unit(Leader *l, PendingRequest *t, size_t *left) {
        const StatusQuestion q = status_question(l, t);
        NodeAsking *a = node_asking(t);
        int r = 0;

        if (!a->asks_hosts) // it begins with the unit
                *left -= MIN_OF(*left, (size_t) LOOKS_OF_NAME);
        if (a->asks_hosts || is_anywhere(l, &q))
                r = node_calls_ask_hosts(l, t, left, status_on_node);
        else if (q.e)
                r = status_where_it_is(l, &q);
        if (r == 0 && a->n_said == 0)
                r = status_of_nobody(l, &q);
        if (r != 0)
                return r;
        a->n_said = 0;
        a->n_asked++; // not before: as long as there are more, nothing ends the pending request
        return 0;
}

int status_calls_ask_more(Leader *l, PendingRequest *t, size_t *left) {
        int r = 0;

        while (r == 0 && *left > 0 && node_calls_has_more(t))
                r = status_of_unit(l, t, left);
        return r == 0 && node_calls_has_more(t) ? NODE_CALLS_MORE : r;
}

int status_calls_ask(Leader *l, PendingRequest *t) {
        if (t->request->status->n_names == 0)
                return node_calls_respond(t, response_error(EINVAL, "no unit is named"));
        return node_calls_ask_some(l, t);
}

void status_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY)
                (void) complete_status(l, r, c->unit, c->node); // better incomplete than not at all
}

Argosy__Response *status_calls_lost(Leader *l, const NodeCall *c) {
        Argosy__Response *r = status_new(l, c->unit, c->node, "the connection to the node was lost");

        if (r)
                (void) unit_row_fill_states(l, NULL, NULL, r->status_reply->row);
        return r;
}
