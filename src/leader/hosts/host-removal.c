// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See host-removal.h. A removal takes several entries where its host votes, or has units:
//
//      1   the record says that it is to be no voter, and all of its nodes are in maintenance
//      2   voters.c takes the vote, and the units leave as they do in a drain: each ends there before it
//          begins elsewhere,
//          and no more of a group are down than may be
//      3   units that no other node takes are taken off the node, and wait for one
//      4   the record is removed, when nothing runs there by the host's own word
//
// So a unit with CutOff=stop runs in one place all the time. A host that is lost is removed without 2 and 3:
// what runs there is not known, and the command says that nothing does. The same holds for a removal by
// force. If a host is lost during its removal that was not said: its units leave as those of any lost node
// that is drained, and units with CutOff=stop are waited for until they have certainly stopped.
//
// A leader that dies in between leaves a host that is closed, and no voter, but still a member; the command
// can be given again. Opening a node of the host meanwhile, or promoting the host, calls the removal off.
#include "host-removal.h"

#include <errno.h>

#include "clock.h"
#include "drain-judge.h"
#include "fencing-policy.h"
#include "host-link.h"
#include "host-marks.h"
#include "host-record.h"
#include "host-roles.h"
#include "log.h"
#include "message-of.h"
#include "message.h"
#include "node-changes.h"
#include "nodes.h"
#include "pending-requests.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "secret-readers.h"
#include "secrets-key-controller.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"

#define MAINTENANCE ARGOSY__NODE_MODE__MODE_MAINTENANCE
#define REASON "it leaves the cluster"

typedef struct HostRemoval {
        RequestWork work;
        uint32_t host; // number
        bool begun;    // its record says that it is to be no voter
        bool empties;  // its nodes are in maintenance, or about to be, and what runs there is waited for
        uint64_t
                // what was told to stop there has certainly ended then, since the host was lost; 0: it says
                // so
                until_us;
        Argosy__Response__Removal
                *readable; // the secrets that it could read; owned; NULL: not looked at yet
} HostRemoval;

static void removal_free(PendingRequest *t, RequestWork *work) {
        HostRemoval *m = CONTAINER_OF(work, HostRemoval, work);

        message_free(m->readable);
        free(m);
}

static const RequestWorkKind removal_kind = {removal_free};

// NULL: nothing was looked at yet.
static HostRemoval *removal_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &removal_kind);

        return work ? CONTAINER_OF(work, HostRemoval, work) : NULL;
}

// What the log has nothing of yet is judged by what its author may do when its turn comes.
static void note_begun(PendingRequest *t) {
        const HostRemoval *m = removal_of(t);

        if (m->begun || m->empties)
                request_is_under_way(t);
}

static int removal_begin(Leader *l, PendingRequest *t, const Argosy__HostRecord *record) {
        HostRemoval *m = removal_of(t) ?: calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        if (!m->work.kind)
                request_add_work(t, &removal_kind, &m->work);
        m->host = record->host;
        note_begun(t);
        if (!m->readable)
                m->readable = secret_readers_of(l, record);
        return m->readable ? 0 : -ENOMEM;
}

// What has been changed so far: the nodes stay as they are.
static const char *so_far(const PendingRequest *t, const Argosy__HostRecord *record, char *buf,
                          size_t size) {
        if (!removal_of(t)->empties)
                return "nothing was changed";
        str_fit(buf, size, "nodes of %s that are in maintenance stay so until `argosyctl uncordon %s`",
                record->name, record->name);
        return buf;
}

// Refuses a removal that was begun.
static int refuse_midway(PendingRequest *t, int status, const Argosy__HostRecord *record, const char *why) {
        char buf[512];

        request_settle(t, removal_of(t)->empties
                                 ? response_error(status, "%s; %s", why, so_far(t, record, buf, sizeof(buf)))
                                 : response_error(status, "%s", why));
        return 0;
}

// ------------------------------------------------------------------------------------------------ its vote

static int refuse_last(PendingRequest *t, const Argosy__HostRecord *record) {
        _cleanup_free_ char *why =
                str_printf("no other host is to keep the cluster's log any more, so %s stays a voter; "
                           "to call its removal off: argosyctl cluster promote %s",
                           record->name, record->name);

        return why ? refuse_midway(t, EEXIST, record, why) : -ENOMEM;
}

// STEP_PASSED: it has no vote, or gives it up. *ret_gives_up: its record has to say so.
static int plan_vote(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, bool *ret_gives_up) {
        char buf[512];
        int r;

        *ret_gives_up = false;
        if (!host_votes(record))
                return STEP_PASSED;
        if (record->no_promote && host_is_last_to_vote(l, record))
                return refuse_last(t, record);
        if (!record->no_promote && removal_of(t)->begun)
                return refuse_midway(t, ECANCELED, record,
                                     "the removal was called off (cluster promote): the host stays a voter");
        if (!record->no_promote) {
                r = host_may_stop_voting(l, t, record, "remove", so_far(t, record, buf, sizeof(buf)));
                if (r <= 0)
                        return r;
        }
        *ret_gives_up = !record->no_promote;
        removal_of(t)->begun |= record->no_promote;
        return STEP_PASSED;
}

static bool is_to_lose_its_vote(const Leader *l, const PendingRequest *t, const Argosy__HostRecord *record) {
        return removal_of(t)->begun && host_votes(record) && record->no_promote &&
               !host_is_last_to_vote(l, record);
}

// ------------------------------------------------------------------------------------------------ its units

static bool is_closed(const Argosy__HostRecord *record) {
        for (size_t i = 0; i < record->n_nodes; i++)
                if (record->nodes[i]->mode != MAINTENANCE)
                        return false;
        return true;
}

// Whether the host leaves, by this removal or by one that only the log knows.
static bool is_leaving(const PendingRequest *t, const Argosy__HostRecord *record) {
        const HostRemoval *m = removal_of(t);
        bool closed_for_it = is_closed(record);

        for (size_t i = 0; i < record->n_nodes; i++)
                closed_for_it &= streq(record->nodes[i]->mode_reason, REASON);
        return (m && m->empties) || closed_for_it;
}

// Nobody waits for what runs there.
static bool is_taken_for_dead(const PendingRequest *t, const Host *h, const Argosy__HostRecord *record) {
        return t->request->cluster_remove->force || !h || (host_is_lost(h) && !is_leaving(t, record));
}

static bool is_empty(const Host *h) {
        DrainView v = drain_view(h, 0);
        size_t n_globals = 0;

        list_foreach (i, &h->nodes)
                n_globals += CONTAINER_OF(i, Node, of_host)->n_globals;
        return v.left == 0 && !v.unattached && n_globals == 0;
}

static DrainEnd judge_drain(const Leader *l, const Host *h, const Argosy__HostRecord *record) {
        DrainView v = drain_view(h, 0);

        return is_closed(record) ? drain_view_judge(l, &v) : DRAIN_OVER;
}

static void begin_emptying(Leader *l, PendingRequest *t) {
        removal_of(t)->empties = true;
        if (!list_is_linked(&t->in[PENDING_WAIT]))
                request_join(t, PENDING_WAIT, &l->removals);
}

static int refuse_opened(PendingRequest *t, const Argosy__HostRecord *record) {
        _cleanup_free_ char *why = str_printf(
                "the removal was called off, since %s has a node that is open: the host stays a member%s%s",
                record->name,
                record->no_promote ? ", and does not vote before `argosyctl cluster promote` of " : "",
                record->no_promote ? record->name : "");

        return why ? refuse_midway(t, ECANCELED, record, why) : -ENOMEM;
}

// When the last of what has left it has certainly stopped, of a host that is lost: its own word is to be had
// no more.
static uint64_t ends_at(const Leader *l, const Host *h) {
        uint64_t at_us = 0;

        if (!host_is_lost(h))
                return 0;
        list_foreach (i, &h->nodes)
                list_foreach (k, &CONTAINER_OF(i, Node, of_host)->units_on_node) {
                        const UnitOnNode *s = CONTAINER_OF(k, UnitOnNode, by_node);
                        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);
                        uint64_t until = e && s->unit->node != s->node
                                                 ? previous_node_runs_until(l, s->unit, e, s->node)
                                                 : 0;

                        at_us = MAX_OF(at_us, until == FENCING_UNTIL_REPORTED ? 0 : until);
                }
        return at_us;
}

// STEP_PASSED: nothing runs there that is waited for, or *ret_end is how far that is. *ret_closes: its nodes
// are to be closed, also empty ones if it gives up its vote: that takes entries in which units would come.
static int plan_emptying(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, bool gives_up,
                         bool *ret_closes, DrainEnd *ret_end) {
        const Host *h = host_find(l, record->host);

        *ret_closes = false;
        *ret_end = DRAIN_EMPTY;
        if (is_taken_for_dead(t, h, record) || (!removal_of(t)->empties && !gives_up && is_empty(h)))
                return STEP_PASSED;
        *ret_end = judge_drain(l, h, record);
        if (*ret_end == DRAIN_OVER && removal_of(t)->empties)
                return refuse_opened(t, record);
        *ret_closes = *ret_end == DRAIN_OVER;
        if (!*ret_closes)
                begin_emptying(l, t);
        if (*ret_end == DRAIN_EMPTY)
                removal_of(t)->until_us = ends_at(l, h);
        return removal_of(t)->until_us <= leader_now(l) ? STEP_PASSED : PLAN_SETTLED;
}

bool host_removal_is_ready(Leader *l, const PendingRequest *t) {
        const HostRemoval *m = removal_of(t);
        const Argosy__HostRecord *record = m ? cluster_state_find_host(l->state, m->host) : NULL;
        const Host *h = record ? host_find(l, record->host) : NULL;

        if (!record)
                return true;
        if (is_to_lose_its_vote(l, t, record))
                return false;
        if (!m->empties || is_taken_for_dead(t, h, record))
                return true;
        return judge_drain(l, h, record) != DRAIN_GOES_ON && m->until_us <= leader_now(l);
}

Argosy__Response *host_removal_failed(const PendingRequest *t, int error) {
        const HostRemoval *m = removal_of(t);

        if (!m || (!m->begun && !m->empties))
                return NULL;
        return response_error(
                -error,
                "the host is %s, but could not be removed: %s; to go on, give the same command again",
                m->begun ? "no voter any more" : "in maintenance", strerror(-error));
}

void host_removals_notify(Leader *l) {
        if (l->batch_flying || l->pause_us > leader_now(l))
                return;
        list_foreach (i, &l->removals)
                if (host_removal_is_ready(l, request_in(i, PENDING_WAIT)))
                        leader_mark(l);
}

// The log has the closed nodes: opening one from now on calls the removal off.
static void on_begun(Leader *l, PendingRequest *t) {
        HostRemoval *m = removal_of(t);
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, m->host);

        if (!record)
                return;
        m->begun |= host_votes(record) && record->no_promote;
        if (is_closed(record) && !m->empties)
                begin_emptying(l, t);
        note_begun(t);
}

static int put_host(Leader *l, BatchBuilder *b, const Argosy__HostRecord *record, bool gives_up,
                    bool closes) {
        Argosy__HostRecord *next = message_copy(record);
        int r = next ? 0 : -ENOMEM;

        if (r >= 0) {
                next->no_promote |= gives_up;
                r = closes ? host_record_set_mode(next, 0, MAINTENANCE, REASON, HOST_DEADLINE_KEEP) : 0;
        }
        if (r >= 0)
                r = node_change_put_host(l, b, next);
        message_free(next);
        return r;
}

static int put_begun(Leader *l, PendingRequest *t, BatchBuilder *b, const Argosy__HostRecord *record,
                     bool gives_up, bool closes) {
        int r = put_host(l, b, record, gives_up, closes);

        if (r < 0)
                return r;
        if (closes)
                log_host(LOG_NOTICE, record->name, "Host %s leaves the cluster: its units leave it first.",
                         record->name);
        request_when_committed(t, on_begun, true);
        return PLAN_IN_BATCH;
}

// ----------------------------------------------------------------------------------- what goes into the log

enum { MOVES_MORE = 0, MOVES_ALL = 1 };

// Gives another node, or none, to what the host has; without `all`, to what a drain would have leave.
// MOVES_ALL: all of it is in the batch; MOVES_MORE: there is more than one entry is to have.
static int move(Leader *l, const Argosy__HostRecord *record, BatchBuilder *b, bool all) {
        _cleanup_(scheduler_freep) Scheduler *p = NULL;
        size_t n = 0;
        int r = 0;

        p = scheduler_new(l, record->host);
        for (size_t i = 0; r >= 0 && i < record->n_nodes; i++) {
                const ListNode *units = cluster_state_units_on(l->state, record->nodes[i]->node, NULL);

                if (!units)
                        continue;
                list_foreach (k, units) {
                        UnitEntry *e = CONTAINER_OF(k, UnitEntry, placed);
                        Argosy__UnitRecord next = *e->record;
                        UnitOptions *options;
                        SchedulerAnswer place = {};

                        if (!all && !record_has_to_leave(e->record))
                                continue;
                        if (batch_builder_has_unit(b, next.name))
                                return -EBUSY;
                        if (n++ == l->limits.entry_units || b->packed.len > l->limits.entry_bytes)
                                return MOVES_MORE;
                        if (unit_options_of(e, &options) >= 0) {
                                r = scheduler_place(p, next.name, options, false, &place);
                                unit_options_unref(options);
                        }
                        if (r < 0)
                                return r;
                        next.node = place.node;
                        r = batch_builder_put_unit(b, &next, 0, e->record->revision);
                        if (r < 0)
                                return r;
                }
        }
        return r < 0 ? r : MOVES_ALL;
}

static void on_removed(Leader *l, PendingRequest *t) {
        uint32_t host = removal_of(t)->host;
        Argosy__ToHost__Removed removed = ARGOSY__TO_HOST__REMOVED__INIT;
        Argosy__ToHost m = TO_HOST_OF(REMOVED, removed, &removed);

        removed.why = "the host was removed from the cluster";
        leader_to_host_in_passing(l, host, &m); // a dead one does not hear it
        if (host != l->config.self)
                l->ops.drop_host(host, l->userdata);
}

// There is nothing left to do. What the log has of it has to say that it is done.
static int end_removal(PendingRequest *t) {
        if (!request_has_open_job(t))
                return request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

// They go with the host, whose people may have seen them.
static int tell_dropped_tokens(Leader *l, char **ret) {
        size_t n = cluster_state_n_tokens_open(
                l->state, (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)});

        *ret = n == 0   ? strdup("")
               : n == 1 ? strdup("the open join token was dropped")
                        : str_printf("the %zu open join tokens were dropped", n);
        return *ret ? 0 : -ENOMEM;
}

static int add_words(char **message, const char *words) {
        return field_printf(message, "%s%s%s", *message, **message && *words ? "; " : "", words);
}

// What is worth nothing any more, what only other values make so, and what nobody can read any more: a voter
// that is removed by force, or was lost, may have been the last one that had the key.
static int fill_removal(Leader *l, PendingRequest *t, const Argosy__HostRecord *record) {
        const Argosy__Response__Removal *readable = removal_of(t)->readable;
        _cleanup_free_ char *tokens = NULL, *secrets = secret_readers_words(readable, record->name);

        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT_REMOVAL)) < 0 || !secrets ||
            tell_dropped_tokens(l, &tokens) < 0)
                return -ENOMEM;
        message_free(t->response->removal);
        t->response->removal = message_copy(readable); // the entry may be taken back, and this said again
        if (!t->response->removal)
                return -ENOMEM;
        if (field_set(&t->response->message, tokens) < 0 || add_words(&t->response->message, secrets) < 0)
                return -ENOMEM;
        return add_words(&t->response->message,
                         readable->all && !secrets_key_is_kept(l) ? SECRETS_KEY_LOST : "");
}

// Nothing can leave any more but what no other node takes.
static int take_off(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, BatchBuilder *b) {
        int r = move(l, record, b, false);

        if (r < 0)
                return r;
        request_when_committed(t, NULL, true);
        return PLAN_IN_BATCH;
}

static int remove_record(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, BatchBuilder *b) {
        int r;

        if (batch_builder_gives_host(b, l->state, record->host)) // that would be on a node that nobody has
                return -EBUSY;
        r = move(l, record, b, true);
        if (r < 0)
                return r;
        if (r == MOVES_MORE) { // what was taken off it is not to come back meanwhile
                r = is_closed(record) ? 0 : put_host(l, b, record, false, true);
                request_when_committed(t, NULL, true);
                return r < 0 ? r : PLAN_IN_BATCH;
        }
        r = batch_builder_remove_host(b, record->host);
        if (r < 0)
                return r;
        request_when_committed(t, on_removed, false);
        // Until a moment ago it may have been sent the log.
        if (secret_readers_add(l, record, removal_of(t)->readable) < 0)
                return -ENOMEM;
        return fill_removal(l, t, record) >= 0 ? PLAN_IN_BATCH : -ENOMEM;
}

static int plan_steps(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, BatchBuilder *b) {
        bool gives_up, closes;
        DrainEnd end;
        int r = plan_vote(l, t, record, &gives_up);

        if (r == STEP_PASSED)
                r = plan_emptying(l, t, record, gives_up, &closes, &end);
        if (r != STEP_PASSED)
                return r;
        if (gives_up || closes)
                return put_begun(l, t, b, record, gives_up, closes);
        if (end == DRAIN_STUCK)
                return take_off(l, t, record, b);
        if (end != DRAIN_EMPTY || host_votes(record))
                return PLAN_SETTLED; // waits in the queue (host_removal_is_ready())
        return remove_record(l, t, record, b);
}

int host_removal_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const char *word = t->request->cluster_remove->host;
        const HostRemoval *m = removal_of(t);
        const Argosy__HostRecord *record;
        bool ambiguous = false;
        size_t n_hosts;
        int r;

        record = m ? cluster_state_find_host(l->state, m->host)
                   : cluster_state_resolve_host(l->state, word, &ambiguous);
        if (!record && (m || (!ambiguous && request_has_open_job(t)))) // somebody else's command did it
                return end_removal(t);
        if (!record)
                return host_refuse_unknown(t, word, ambiguous);
        (void) cluster_state_hosts(l->state, &n_hosts);
        if (n_hosts == 1)
                return request_refuse(t, EEXIST, "it is the only host of the cluster");
        if (batch_builder_has_host(b, record->host))
                return -EBUSY;
        r = removal_begin(l, t, record);
        return r < 0 ? r : plan_steps(l, t, record, b);
}
