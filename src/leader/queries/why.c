// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Why a unit is not as its owner wants it, from the tables as they are: nothing is kept for this, so it
// costs nothing until somebody asks. One answer per unit and node that is to have it, or one without a node.
//
// In the order of what weighs more: it is not wanted; no node takes it (with the reason of each node); its
// node is away; it still ends elsewhere; it waits for a unit that it depends on; its node could not do what
// it was told; somebody else changed it; what systemd says. An empty reason: it is as wanted.
//
// A question about thousands is answered in turns of the loop, some units in each, in the order of their
// names; each unit is told as it is in its turn. The bytes of one answer are limited as for any answer, and
// nothing more is made while the host that it goes to takes no more. A host that stops leading in the middle
// says so, and the next leader begins with `number` 1.
#include <errno.h>
#include <inttypes.h>

#include "answer.h"
#include "authorization.h"
#include "awaited-file.h"
#include "disruption-budget.h"
#include "host-marks.h"
#include "image-moves.h"
#include "mass-loss-controller.h"
#include "message-of.h"
#include "missing-unit.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "older-secrets.h"
#include "ordering.h"
#include "pending-requests.h"
#include "pending.h"
#include "previous-nodes.h"
#include "registry.h"
#include "replacers.h"
#include "response.h"
#include "retry-bars.h"
#include "retry-controller.h"
#include "rollout-controller.h"
#include "scheduler-roles.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-name.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-row.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "unit-work.h"
#include "utc-time.h"
#include "why.h"

enum { REASON_SIZE = 1024 };

// Where it ends first. NULL: nowhere.
static const Node *node_that_ends(const Leader *l, const UnitOnNode *s) {
        uint64_t until_us;

        return s && list_is_linked(&unit_on_node_work_seen(s)->awaiting)
                       ? previous_node_in_the_way(l, s, cluster_state_find_unit(l->state, s->unit->name),
                                                  &until_us)
                       : NULL;
}

static const char *how_it_ends(const Node *n) {
        if (host_is_lost(n->host))
                return ", which is lost (CutOff=stop)";
        return n->host->attached ? "" : ", which is not heard at present";
}

static void reason_of_state(const UnitOnNode *s, const Argosy__UnitRecord *r, char ret[static REASON_SIZE]) {
        bool launched = r->target == ARGOSY__TARGET__TARGET_LAUNCHED;
        const char *result = unit_on_node_bad_result(s);
        const Argosy__Outcome *o = record_final_outcome(r, s->node->number);

        if (launched && o && o->kind == ARGOSY__OUTCOME__KIND__DONE)
                return; // why_note() says it
        if (launched && o && (o->kind != ARGOSY__OUTCOME__KIND__FAILED ||
                              s->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED))
                str_fit(ret, REASON_SIZE, "%s; `start` runs it again", outcome_phrase(o));
        else if (launched && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                str_fit(ret, REASON_SIZE, "it failed (%s)", result ?: "systemd does not say why");
        else if (launched && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                str_fit(ret, REASON_SIZE, "it ended by itself%s%s%s", result ? " (" : "", result ?: "",
                        result ? ")" : "");
        else if (launched && result && str_has_prefix(unit_on_node_sub(s), "auto-restart"))
                str_fit(ret, REASON_SIZE, "it failed (%s), and waits until systemd starts it again (%s)",
                        result, unit_on_node_sub(s));
        else if (launched && !active_state_is_up(s->active))
                str_fit(ret, REASON_SIZE, "it is %s (%s)", active_state_to_string(s->active),
                        unit_on_node_sub(s));
        else if (s->file_stale)
                str_fit(ret, REASON_SIZE,
                        "its file is newer than what runs; `restart` takes it up at once");
}

// Nothing of it changes but files, for which it is not restarted.
static bool runs_on(const Leader *l, const UnitOnNode *s, const Argosy__UnitRecord *r) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        const SpecEntry *seen = cluster_state_find_spec(l->state, unit_on_node_seen(s));
        const UnitFile *file;

        if (!active_state_is_up(s->active) || s->revision < r->restart_rev || !e || !e->spec || !seen ||
            spec_entry_file(e->spec, &file) < 0)
                return false;
        return seen == e->spec
                       ? file->file_change != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART
                       : spec_entry_change(seen, e->spec) != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

// The same of one whose image is not being pulled.
static const char *order_under_way(const Leader *l, const UnitOnNode *s, const Argosy__UnitRecord *r) {
        bool launched = r->target == ARGOSY__TARGET__TARGET_LAUNCHED,
             reported = s && unit_on_node_is_reported(s);

        if (launched && reported && runs_on(l, s, r))
                return "it runs, and gets its new files";
        if (launched)
                return r->start_rev && r->restart_rev == r->start_rev ? "it is being restarted"
                                                                      : "it is being started";
        if (reported && s->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
            s->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                return "it is being stopped";
        return "it is being loaded";
}

// What the node was told and has not done yet, as far as it has said. False: nothing.
static bool under_way(const Leader *l, const UnitOnNode *s, const Argosy__UnitRecord *r,
                      char ret[static REASON_SIZE]) {
        bool launched = r->target == ARGOSY__TARGET__TARGET_LAUNCHED,
             reported = s && unit_on_node_is_reported(s);

        if (reported && s->revision >= (launched ? r->start_rev : r->revision))
                return false;
        if (reported && s->pulling)
                unit_on_node_pull_phrase(s,
                                         runs_on(l, s, r) ? "it runs, and its new image is being pulled"
                                                          : "its image is being pulled",
                                         ret, REASON_SIZE);
        else if (!s || !launched || active_state_is_up(s->active) ||
                 !awaited_file_phrase(l, s, order_under_way(l, s, r), ret, REASON_SIZE))
                str_fit(ret, REASON_SIZE, "%s", order_under_way(l, s, r));
        return true;
}

// It would leave a node that is emptied, or where somebody replaces it.
static void reason_of_budget(Leader *l, const Unit *u, char ret[static REASON_SIZE]) {
        const DisruptionBudget *g = unit_work_seen(u)->held_by;
        const Unit *by = replacer_of(l, u),
                   *one = g == u->budget ? u : CONTAINER_OF(g->units.next, Unit, of_budget);

        str_fit(ret, REASON_SIZE,
                "it is to leave its node%s%s%s and waits: %zu of %s%s are down already, MaxUnavailable=%zu",
                by ? ", where " : "", by ? by->name : "", by ? " replaces it," : "", g->n_down,
                g == u->budget ? "its group" : g->name,
                g == u->budget ? "" : ", which would go down with it,",
                disruption_budget_max(l, g, cluster_state_find_unit(l->state, one->name)));
}

static void reason_of_secret(const Leader *l, const UnitOnNode *s, char ret[static REASON_SIZE]) {
        const char *secret = unit_older_secret(l, s->unit->name);

        if (secret)
                str_fit(ret, REASON_SIZE, "its secret %s has a newer version; `restart` gives it that",
                        secret);
}

static void reason_of_mismatch(Leader *l, const UnitOnNode *s, char ret[static REASON_SIZE]) {
        _cleanup_free_ char *lack = scheduler_mismatch_text(l, s);

        if (lack)
                str_fit(ret, REASON_SIZE,
                        "its node does not match its file any more (%s); it stays there until `rebalance`, "
                        "`drain` or `start` moves it",
                        lack);
}

static bool outcome_is_unknown(const Argosy__UnitRecord *r, const Node *n) {
        const Argosy__Outcome *o = record_final_outcome(r, n->number);

        return r->target == ARGOSY__TARGET__TARGET_LAUNCHED && o &&
               o->kind == ARGOSY__OUTCOME__KIND__UNKNOWN;
}

static_assert(REASON_SIZE >= (int) DOWN_PHRASE_SIZE);

static bool is_done(const Argosy__UnitRecord *r, const Node *n) {
        const Argosy__Outcome *o = record_final_outcome(r, n->number);

        return r->target == ARGOSY__TARGET__TARGET_LAUNCHED && o && o->kind == ARGOSY__OUTCOME__KIND__DONE;
}

// It has carried out what it was told.
static void reason_of_sight(Leader *l, const UnitOnNode *s, const Node *n, const Argosy__UnitRecord *r,
                            char ret[static REASON_SIZE]) {
        if (*unit_on_node_error(s) && !outcome_is_unknown(r, n)) {
                str_fit(ret, REASON_SIZE, "%s", unit_on_node_error(s));
                missing_unit_explain(l, s->unit->name, n->name, ret, REASON_SIZE);
        } else if (s->down == ARGOSY__DOWN_CAUSE__DOWN_BOUND && s->comes_back)
                str_fit(ret, REASON_SIZE,
                        "it was stopped with a unit that gets a new file, and comes back with it");
        else if (s->looping)
                str_fit(ret, REASON_SIZE, UNIT_LOOPING_TEXT);
        else if (s->down != ARGOSY__DOWN_CAUSE__DOWN_NOT && !is_done(r, n))
                down_cause_phrase(s->down, unit_on_node_down_by(s), ret);
        else
                reason_of_state(s, r, ret);
}

// It runs elsewhere until its image is here.
static void reason_of_image(const UnitOnNode *s, const Node *ends, char ret[static REASON_SIZE]) {
        char pull[REASON_SIZE / 2] = "";

        if (s->pulling)
                unit_on_node_pull_phrase(s, "that is being pulled", pull, sizeof(pull));
        str_fit(ret, REASON_SIZE, "it runs on %s until its image is here: %s", ends->name,
                *pull ? pull : unit_on_node_error(s));
}

// Why it is not as wanted on a node that is to have it.
static void reason_of_unit_on_node(Leader *l, const Unit *u, const UnitOnNode *s, const Node *n,
                                   const Argosy__UnitRecord *r, char ret[static REASON_SIZE]) {
        const Node *ends = node_that_ends(l, s);
        const Unit *room =
                s && list_is_linked(&unit_on_node_work_seen(s)->awaiting) ? pending_awaited(s) : NULL;
        const char *why = NULL;
        char next[REASON_SIZE / 2];

        ret[0] = 0;
        if (n->reason && !host_is_lost(n->host) && n->host->attached) // what it said before may not be so
                str_fit(ret, REASON_SIZE, "%s", n->reason);
        else if (!node_takes_units(n, &why) && (host_is_lost(n->host) || !n->host->attached)) {
                const char *held = unit_held_by_mass_loss(l, u);
                const UnitEntry *e = cluster_state_find_unit(l->state, r->name);

                if (!e || !node_loss_why(l, u, e, ret, REASON_SIZE))
                        str_fit(ret, REASON_SIZE, "%s", held ?: why);
        } else if (ends && s && image_move_prepares(l, s, cluster_state_find_unit(l->state, r->name)) &&
                   (s->pulling || *unit_on_node_error(s)))
                reason_of_image(s, ends, ret);
        else if (ends)
                str_fit(ret, REASON_SIZE, "it waits until it has ended on %s%s", ends->name,
                        how_it_ends(ends));
        else if (room)
                str_fit(ret, REASON_SIZE, "it waits until %s has ended there, whose place it takes",
                        room->name);
        else if (s && ordering_why(l, s, ret, REASON_SIZE))
                return;
        else if (!under_way(l, s, r, ret))
                reason_of_sight(l, s, n, r, ret);
        if (retry_controller_phrase(l, u, next, sizeof(next)))
                str_fit(ret + strlen(ret), REASON_SIZE - strlen(ret), "%s%s", ret[0] ? "; " : "", next);
        if (!ret[0] && disruption_budget_holds_back(u))
                reason_of_budget(l, u, ret);
        if (!ret[0])
                (void) rollout_phrase(l, u->name, ret, REASON_SIZE);
        if (!ret[0] && s)
                reason_of_mismatch(l, s, ret);
        if (!ret[0] && s)
                reason_of_secret(l, s, ret);
}

// That the cluster itself has brought it here.
static void note_of_move(const Leader *l, const Argosy__UnitRecord *r, const Node *n,
                         char ret[static REASON_SIZE]) {
        const OwnMove *move = cluster_state_own_move_of(l->state, r->name);
        char when[UTC_TIME_SIZE];

        if (!move || !streq(move->to, n->name) || move->at_us == 0)
                return;
        utc_time_format(move->at_us, when);
        if (streq(move->from, move->to))
                str_fit(ret, REASON_SIZE, "the cluster started it again at %s: %s (job %" PRIu64 ")", when,
                        move->reason, move->job);
        else
                str_fit(ret, REASON_SIZE, "the cluster %s%s at %s: %s (job %" PRIu64 ")",
                        *move->from ? "moved it here from " : "placed it here", move->from, when,
                        move->reason, move->job);
}

// A note for a unit that is as wanted, if that is not obvious.
static void why_note(const Leader *l, const Argosy__UnitRecord *r, const UnitOnNode *s, const Node *n,
                     char ret[static REASON_SIZE]) {
        const Argosy__Outcome *o = record_final_outcome(r, n->number);
        bool launched = r->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        *ret = 0;
        if (launched && o && outcome_is_skipped(o))
                down_cause_phrase(ARGOSY__DOWN_CAUSE__DOWN_SKIPPED,
                                  s && unit_on_node_is_skipped(s) ? unit_on_node_down_by(s) : NULL, ret);
        else if (launched && o && o->kind == ARGOSY__OUTCOME__KIND__DONE)
                str_fit(ret, REASON_SIZE, "it has finished; `start` runs it again");
        else if (launched)
                note_of_move(l, r, n, ret);
}

static Argosy__Response *why_new(const UnitEntry *e, const char *node, const char *why) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_STATUS_REPLY);
        Argosy__Response__Status *s = r ? r->status_reply : NULL;

        if (!s)
                return NULL;
        s->row = unit_row_new(e->record->name, node);
        s->revision = e->record->revision;
        if (s->row && field_set(&s->why, why) == 0 &&
            field_set(&s->desired, target_to_string(e->record->target)) == 0)
                return r;
        message_free(r);
        return NULL;
}

typedef struct Responder {
        const Argosy__Request *request;
        PendingRequest *pending; // of an answer in turns; NULL: at once
        LeaderRespond respond;
        void *userdata;
        uint32_t n; // that were told
} Responder;

// How far it is with a unit that runs on all nodes.
typedef struct WhyPlace {
        bool begun;    // it was told what is said of the unit itself
        bool any;      // something of a node
        uint32_t host; // the last that was looked at; 0: none yet
} WhyPlace;

// Of a question that is answered in turns.
typedef struct WhyWork {
        RequestWork work;
        size_t n_asked;  // units that were told of
        uint32_t n_reported; // reasons
        size_t bytes;    // of these
        WhyPlace at;     // in the unit that is at hand
} WhyWork;

static void why_free(PendingRequest *t, RequestWork *work) {
        free(CONTAINER_OF(work, WhyWork, work));
}

static const RequestWorkKind why_kind = {why_free};

// NULL: it was answered.
static WhyWork *why_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &why_kind);

        return work ? CONTAINER_OF(work, WhyWork, work) : NULL;
}

// Takes the response. The last one that there is room for says that the answer is too long.
static void send_in_turn(PendingRequest *t, Argosy__Response *r) {
        WhyWork *w = why_of(t);

        if (w)
                w->bytes += argosy__response__get_packed_size(r);
        if (w && w->bytes <= ANSWER_BYTES_MAX) {
                request_send(t, r);
                return;
        }
        message_free(r);
        if (w)
                request_settle(t, response_too_long(w->bytes, false));
}

// Takes the response; NULL stands for out of memory.
static void send_response(Responder *t, const Leader *l, Argosy__Response *r) {
        if (!r)
                r = response_error(ENOMEM, "the leader is out of memory");
        if (!r)
                return;
        r->no_leader = !l->leading;
        if (r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY)
                r->status_reply->number = ++t->n;
        if (t->pending) {
                send_in_turn(t->pending, r);
                return;
        }
        r->id = t->request->id;
        r->final = false; // others follow
        t->respond(r, t->userdata);
        message_free(r);
}

static void why_on_node(Responder *t, Leader *l, const UnitEntry *e, const Unit *u, const Node *n) {
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;
        _cleanup_free_ char *ignored = NULL;
        char why[REASON_SIZE], note[REASON_SIZE];
        Argosy__Response *r;

        reason_of_unit_on_node(l, u, s, n, e->record, why);
        why_note(l, e->record, s, n, note);
        r = why_new(e, n->name, why);
        if (r && (status_set_outcome(r->status_reply, record_final_outcome(e->record, n->number)) < 0 ||
                  (!why[0] && field_set(&r->status_reply->note, note) < 0) ||
                  unit_row_fill_states(l, n, s, r->status_reply->row) < 0 ||
                  (retry_is_stuck(u) && unit_why(l, e, &ignored, &r->status_reply->refusals,
                                                 &r->status_reply->n_refusals) < 0))) {
                message_free(r);
                r = NULL;
        }
        send_response(t, l, r);
}

// Placed nowhere, or on a node that it is to leave and cannot.
static void why_nowhere(Responder *t, Leader *l, const UnitEntry *e, const Unit *u) {
        const char *held = u ? unit_held_by_mass_loss(l, u) : NULL;
        bool stuck = u && u->node;
        const UnitOnNode *s;
        _cleanup_free_ char *unplaced = NULL;
        char why[REASON_SIZE];
        Argosy__Response *r;

        if (held)
                str_fit(why, sizeof(why), "%s", held);
        else if (stuck && node_is_emptying(u->node) && node_loss_stays(l, u, e))
                str_fit(why, sizeof(why),
                        failing_options_of(e)->has_data ? "its data is on %s, which is to be emptied"
                                                        : "%s is to be emptied, and NodeLost=never",
                        u->node->name);
        else if (stuck && (host_is_lost(u->node->host) || node_is_emptying(u->node)))
                str_fit(why, sizeof(why), "%s is %s, and no other node takes it", u->node->name,
                        host_is_lost(u->node->host) ? "lost" : "to be emptied");
        else if (stuck)
                str_fit(why, sizeof(why), "it is to leave %s%s, and no other node takes it", u->node->name,
                        failing_options_of(e)->has_data ? ", where its data is" : "");
        else
                why[0] = 0; // what unit_why() says
        r = why_new(e, stuck ? u->node->name : "-", why);
        s = stuck ? unit_on_node_find(u, u->node) : NULL;
        if (r && ((stuck && unit_row_fill_states(l, u->node, s, r->status_reply->row) < 0) ||
                  unit_why(l, e, &unplaced, &r->status_reply->refusals, &r->status_reply->n_refusals) < 0 ||
                  (!why[0] && field_set(&r->status_reply->why, unplaced) < 0))) {
                message_free(r);
                r = NULL;
        }
        send_response(t, l, r);
}

// A node that it leaves out although it might have it.
static void why_left_out(Responder *t, Leader *l, const UnitEntry *e, const Node *n, const char *why) {
        Argosy__Response *r = why_new(e, n->name, why);
        Argosy__Response__UnitRow *row = r ? r->status_reply->row : NULL;

        if (row && (field_set(&row->load, "-") < 0 || field_set(&row->active, "inactive") < 0 ||
                    field_set(&row->sub, "dead") < 0)) {
                message_free(r);
                r = NULL;
        }
        send_response(t, l, r);
}

// One node of a global unit: as it is to have it, or why not. False: it has nothing to do with it.
static bool why_of_many(Responder *t, Leader *l, const UnitEntry *e, const Unit *u, const Node *n) {
        char why[REASON_SIZE];

        if (unit_wanted_on(l, u, e, n))
                why_on_node(t, l, e, u, n);
        else if (unit_left_out(l, u, e, n, why, sizeof(why)))
                why_left_out(t, l, e, n, why);
        else
                return false;
        return true;
}

// Nodes of so many hosts behind that one. Whether they were the last.
static bool why_global(Responder *t, Leader *l, const UnitEntry *e, const Unit *u, WhyPlace *at,
                       size_t most) {
        const Argosy__HostRecord *next;

        for (; (next = cluster_state_next_host(l->state, at->host)) && most > 0; most--) {
                const Host *h = host_find(l, next->host);

                at->host = next->host;
                if (h)
                        list_foreach (i, &h->nodes)
                                at->any |= why_of_many(t, l, e, u, CONTAINER_OF(i, Node, of_host));
        }
        if (!next && !at->any)
                why_nowhere(t, l, e, u);
        return !next;
}

// Nodes on which something of this name may run that nobody wants there.
typedef struct Leftovers {
        Responder *responder;
        Leader *leader;
        const char *name;
        const UnitEntry *entry;
        size_t n;
} Leftovers;

static Argosy__Response *leftover_new(const Leftovers *x, const char *node, const char *why) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_STATUS_REPLY);
        Argosy__Response__Status *s = r ? r->status_reply : NULL;

        if (s && (s->row = unit_row_new(x->name, node)) && field_set(&s->why, why) == 0 &&
            field_set(&s->desired, "-") == 0)
                return r;
        message_free(r);
        return NULL;
}

static void why_left(const Node *n, void *userdata) {
        Leftovers *x = userdata;
        const Unit *u = unit_find(x->leader, x->name);
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;
        const char *was = x->entry ? "it is not wanted here any more" : tombstones_word(x->leader, x->name);
        char why[REASON_SIZE];
        Argosy__Response *r;

        // What has moved is told where it is to be, unless the log itself says that it may run here, too.
        if (x->entry &&
            (n->host->attached || !cluster_state_find_tombstone(x->leader->state, x->name, n->number)))
                return;
        if (n->host->attached)
                str_fit(why, sizeof(why), "%s; it is being stopped", was);
        else
                str_fit(why, sizeof(why), "%s; it may still run until the host is heard", was);
        x->n++;
        r = leftover_new(x, n->name, why);
        if (r && unit_row_fill_states(x->leader, n, s, r->status_reply->row) < 0) {
                message_free(r);
                r = NULL;
        }
        send_response(x->responder, x->leader, r);
}

// Without a leader nobody knows whether it is gone.
static void why_left_unled(Leftovers *x) {
        const ListNode *tombs = cluster_state_tombstones_of(x->leader->state, x->name);

        if (!tombs || x->entry)
                return;
        x->n++;
        send_response(
                x->responder, x->leader,
                leftover_new(x, "-",
                             "destroyed; there is no leader who could tell whether it is gone everywhere"));
}

static size_t why_leftovers(Responder *t, Leader *l, const char *name, const UnitEntry *e) {
        Leftovers x = {t, l, name, e, 0};

        if (l->leading)
                tombstones_each(l, name, unit_find(l, name), e, why_left, &x);
        else
                why_left_unled(&x);
        return x.n;
}

static bool runs_everywhere(const Leader *l, const UnitEntry *e) {
        return e && l->leading && e->record->global && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

// False: it runs on all nodes, of which it was not said yet how it is there.
static bool why_unit(Responder *t, Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = unit_find(l, name);
        size_t n_left = why_leftovers(t, l, name, e);
        char phrase[REASON_SIZE];
        Argosy__Response *r;

        if (!e && n_left > 0)
                return true;
        if (!e) {
                r = response_error(ENOENT, "%s: no such unit", name);
                send_response(t, l, r);
        } else if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE &&
                   rollout_phrase(l, name, phrase, sizeof(phrase)))
                send_response(t, l, why_new(e, "-", phrase));
        else if (e->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                send_response(t, l, why_new(e, "-", "nobody wants it loaded; `start` starts it"));
        else if (!l->leading)
                send_response(t, l, why_new(e, "-", "there is no leader who could tell"));
        else if (runs_everywhere(l, e))
                return false;
        else if (!u || !u->node || u->life == LIFE_STRANDED)
                why_nowhere(t, l, e, u);
        else
                why_on_node(t, l, e, u, u->node);
        return true;
}

int why_phrase(Leader *l, const UnitEntry *e, const Node *n, char **ret) {
        const Unit *u = unit_find(l, e->record->name);
        char why[REASON_SIZE];

        if (u && n)
                reason_of_unit_on_node(l, u, unit_on_node_find(u, n), n, e->record, why);
        else if (!u || !scheduler_held_back(l, u, why, sizeof(why)))
                str_fit(why, sizeof(why), "no node takes it at present");
        *ret = strdup(why);
        return *ret ? 0 : -ENOMEM;
}

// Before its reason is looked for; of one that runs everywhere there are these for each node.
static size_t looks_at(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = unit_find(l, name);
        bool is_placed = u && u->node && u->life != LIFE_STRANDED && !retry_is_stuck(u);

        if (!e || !l->leading || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE || is_placed ||
            e->record->global)
                return WHY_LOOKS_OF_UNIT;
        return WHY_LOOKS_OF_UNIT + l->nodes.count;
}

// Whether all of its nodes were told; it may be another unit since it was begun.
static bool why_everywhere(Responder *t, Leader *l, const char *name, WhyPlace *at, size_t most) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return !runs_everywhere(l, e) || why_global(t, l, e, unit_find(l, name), at, most);
}

void why_answer(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Responder t = {.request = request, .respond = respond, .userdata = userdata};

        for (size_t i = 0; i < request->why->n_names; i++)
                if (!why_unit(&t, l, request->why->names[i]))
                        why_everywhere(&t, l, request->why->names[i], &(WhyPlace){}, SIZE_MAX);
        Argosy__Response end = RESPONSE_WITH(.id = request->id, .final = true, .no_leader = !l->leading);
        respond(&end, userdata);
}

// ------------------------------------------------------------------------------------------------ in turns

bool why_is_long(const Leader *l, const Argosy__Request *request) {
        const Argosy__Request__Why *m = request->why;
        size_t n = 0;

        for (size_t i = 0; i < m->n_names && n <= l->limits.why_at_once; i++) {
                n += looks_at(l, m->names[i]);
                if (runs_everywhere(l, cluster_state_find_unit(l->state, m->names[i])))
                        n += l->nodes.count * WHY_LOOKS_OF_UNIT;
        }
        return n > l->limits.why_at_once;
}

static void queue(Leader *l, PendingRequest *t) {
        request_join(t, PENDING_WHY, &l->whys_due);
        leader_mark(l);
}

int why_start(Leader *l, PendingRequest *t) {
        WhyWork *w = calloc(1, sizeof(*w));

        if (!w)
                return -ENOMEM;
        request_add_work(t, &why_kind, &w->work);
        queue(l, t);
        return 0;
}

// Since the question was taken on it may have come to another role.
static bool is_refused(const Leader *l, PendingRequest *t, const char *name) {
        char why[AUTHORIZATION_WHY_SIZE];

        if (!authorization_refuses_view(l, t->author, name, why))
                return false;
        request_fail(t, response_error(EACCES, "%s", why));
        return true;
}

// As who is told at once hears it.
static void end(const Leader *l, PendingRequest *t) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (r)
                r->no_leader = !l->leading;
        request_settle(t, r);
}

// A unit, or some nodes of one that runs everywhere. Returns how much was looked at.
static size_t explain_next(Leader *l, PendingRequest *t, Responder *to, size_t most) {
        WhyWork *w = why_of(t);
        const char *name = t->request->why->names[w->n_asked];
        WhyPlace at = w->at;
        bool goes_on;
        size_t n = MAX_OF(most / WHY_LOOKS_OF_UNIT, (size_t) 1), looks = looks_at(l, name);

        if (at.begun)
                looks = n * WHY_LOOKS_OF_UNIT;
        else if (is_refused(l, t, name))
                return looks;
        goes_on = at.begun ? !why_everywhere(to, l, name, &at, n) : !why_unit(to, l, name);
        if (t->ended) // what was to be said is too long
                return looks;
        at.begun = true;
        w->at = goes_on ? at : (WhyPlace){};
        w->n_asked += !goes_on;
        return looks;
}

// Returns how much was looked at: that much, and the rest of a unit.
static size_t explain_some(Leader *l, PendingRequest *t, size_t most) {
        const Argosy__Request__Why *m = t->request->why;
        Responder to = {.request = t->request, .pending = t, .n = why_of(t)->n_reported};
        WhyWork *w = why_of(t);
        size_t looks = 0;

        while (looks < most && !t->ended && w->n_asked < m->n_names)
                looks += explain_next(l, t, &to, most - looks);
        l->n_why_looks += looks;
        if (t->ended)
                return looks;
        w->n_reported = to.n;
        if (w->n_asked < m->n_names)
                queue(l, t);
        else
                end(l, t);
        return looks;
}

// One that is left out goes on when its host takes more again, or is lost.
static PendingRequest *next_due(const Leader *l) {
        list_foreach (i, &l->whys_due) {
                PendingRequest *t = request_in(i, PENDING_WHY);

                if (!request_taker_is_full(t))
                        return t;
        }
        return NULL;
}

void why_turn(Leader *l) {
        PendingRequest *t;

        for (size_t looks = 0; looks < l->limits.why_looks && (t = next_due(l));) {
                request_leave(t, PENDING_WHY);
                looks += explain_some(l, t,
                                      MIN_OF((size_t) l->limits.why_share, l->limits.why_looks - looks));
        }
}
