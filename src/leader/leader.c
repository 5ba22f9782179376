// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader's life, its timer, and what comes in from outside.
//
//      leader_new() -> leader_set_leading(): tables are built in slices -> leads
//          -> events note and mark the drain
//          -> turn(): reconcile.c pulls what is due, in its order -> arm_timer() -> ... -> leader_close()
//
// An event only notes what changed; what follows from it is decided in the turn. When the host leads no
// more, pending requests fail with EAGAIN (no_leader) and the tables are dropped. Failure: leader_new()
// -ENOMEM. Memory is freed when the timer, the drain and all work outside the loop have ended; then closed()
// is called.

#include <assert.h>
#include <errno.h>

#include "answer-cursor.h"
#include "ca-controller.h"
#include "clock.h"
#include "deadline-heap.h"
#include "due.h"
#include "event-stream.h"
#include "feature-level.h"
#include "file-pieces.h"
#include "reconcile.h"
#include "forwards.h"
#include "held-jobs.h"
#include "host-asks.h"
#include "host-clocks.h"
#include "host-leases.h"
#include "host-marks.h"
#include "listings.h"
#include "log-trail.h"
#include "members.h"
#include "node-calls.h"
#include "node-lists.h"
#include "open-jobs.h"
#include "registry.h"
#include "response.h"
#include "retry-controller.h"
#include "scheduler.h"
#include "secrets-key-controller.h"
#include "sessions.h"
#include "str.h"
#include "tables.h"
#include "term-tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-work.h"
#include "voter-secrets-controller.h"
#include "voters.h"
#include "walks.h"
#include "why.h"

void leader_on_authority(Leader *l) {
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ time

// After a standstill messages that have arrived, such as beats, come behind the timers in the loop, so the
// timer waits for one more round of the loop.
static void on_timer(uv_timer_t *timer) {
        Leader *l = timer->data;

        l->timer_deferred = !l->timer_deferred;
        if (l->timer_deferred) {
                uv_timer_start(timer, on_timer, 1, 0);
                return;
        }
        l->timer_due_us = 0;
        leader_on_time(l);
}

static void arm_timer(Leader *l) {
        uint64_t now = leader_now(l), due;

        due = term_tables_next_deadline(l, now);
        if (!due || l->closing || !l->leading || (l->timer_due_us && l->timer_due_us <= due))
                return;
        l->timer_due_us = due;
        l->timer_deferred = false;
        uv_timer_start(&l->timer, on_timer, due > now ? (due - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC : 0,
                       0);
}

void leader_on_time(Leader *l) {
        if (!l->leading)
                return;
        term_tables_on_time(l);
        leader_mark(l);
}

static Argosy__Response *no_leader(void) {
        Argosy__Response *r = response_error(
                EAGAIN, "this host does not lead any more; sending the same request again is safe");

        if (r)
                r->no_leader = true;
        return r;
}

static void fail_pending_requests(Leader *l) {
        list_foreach (i, &l->pending_requests)
                request_fail(CONTAINER_OF(i, PendingRequest, all), no_leader());
        responses_flush(l);
}

// ------------------------------------------------------------------------------------------------ events

void leader_on_host_link(Leader *l, uint32_t host, const Argosy__ToVoter__Hello *hello) {
        Host *h = hello ? host_get(l, host) : host_find(l, host);

        if (!h)
                return;
        if (hello) {
                char *version = str_dup_cut(hello->version, WORD_MAX);

                free(h->version);
                h->version = version;
                h->feature_level = MAX_OF(hello->feature_level, (uint32_t) FEATURE_BASE);
                h->running_id = hello->raft_id;
                h->linked = true;
                leader_set_due(l, DUE_FEATURES);
                if (l->leading) {
                        host_mark(l, h, HOST_VOTERS);
                        leader_mark(l);
                }
                return;
        }
        h->linked = false;
        host_asks_forget(l, h);
        forwards_on_link_lost(l, h);
        session_on_link_lost(l, h);
        host_drop_if_unused(l, h);
}

static void take_message(Leader *l, Host *h, Argosy__ToVoter *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_VOTER__MSG_ATTACH:
                session_on_attach(l, h, m->attach);
                break;
        case ARGOSY__TO_VOTER__MSG_ATTACH_PART:
                session_on_attach_part(l, h, m->attach_part);
                break;
        case ARGOSY__TO_VOTER__MSG_BEAT:
                session_on_beat(l, h, m->beat);
                break;
        case ARGOSY__TO_VOTER__MSG_GOODBYE:
                session_on_goodbye(l, h, m->goodbye);
                break;
        case ARGOSY__TO_VOTER__MSG_REPORTS:
                session_on_reports(l, h, m->reports);
                break;
        case ARGOSY__TO_VOTER__MSG_NODE_REPORTS:
                session_on_node_reports(l, h, m->node_reports->nodes, m->node_reports->n_nodes);
                break;
        case ARGOSY__TO_VOTER__MSG_FLEET_UNITS:
                session_on_fleet_units(l, h, m->fleet_units);
                break;
        case ARGOSY__TO_VOTER__MSG_ADMITS:
                session_on_admits(l, h, m->admits);
                break;
        case ARGOSY__TO_VOTER__MSG_FILE_ASK:
                file_pieces_on_ask(l, h, m->file_ask);
                break;
        case ARGOSY__TO_VOTER__MSG_FORWARD:
                forwards_on_request(l, h, m->forward);
                break;
        case ARGOSY__TO_VOTER__MSG_FORWARD_CANCEL:
                forwards_on_cancel(l, h, m->forward_cancel);
                break;
        case ARGOSY__TO_VOTER__MSG_FORWARD_TAKEN:
                forwards_on_taken(l, h, m->forward_taken);
                break;
        case ARGOSY__TO_VOTER__MSG_CALL_REPLY:
                node_calls_on_reply(l, h, m->call_reply);
                break;
        case ARGOSY__TO_VOTER__MSG_STORE_OPENED:
                voters_on_opened(l, h, m->store_opened);
                break;
        case ARGOSY__TO_VOTER__MSG_VOTER_SECRETS_KEPT:
                voter_secrets_controller_on_kept(l, h, m->voter_secrets_kept);
                break;
        case ARGOSY__TO_VOTER__MSG_CERTIFIED:
                ca_controller_on_certified(l, h, m->certified);
                break;
        case ARGOSY__TO_VOTER__MSG_RENEW:
                members_on_renew(l, h, m->renew);
                break;
        default:
                break;
        }
}

void leader_on_message(Leader *l, uint32_t host, Argosy__ToVoter *m) {
        Host *h = host_find(l, host);

        if (l->leading && h && h->recorded && !host_asks_hold(l, h, m))
                take_message(l, h, m);
}

void leader_on_host_drained(Leader *l, uint32_t host) {
        Host *h = host_find(l, host);

        if (!l->leading)
                return;
        if (h) {
                forwards_on_drained(h);
                session_on_drained(l, h);
                file_pieces_on_drained(l, h);
                host_asks_on_drained(l, h);
        }
        leader_mark(l);
}

void leader_on_applied(Leader *l, uint64_t index) {
        if (index > l->index)
                l->index = index;
        leader_time_on_applied(l);
        event_stream_on_applied(l, index);
        host_leases_follow(l);
        if (l->leading || l->building) {
                walks_work_begin(l);
                reconcile_on_applied(l);
                walks_work_end(l);
        } else // only a leader keeps tables
                cluster_state_drop_dirty(l->state);
}

void leader_on_restored(Leader *l) {
        leader_time_on_applied(l);
        log_trail_forget(l->trail);
}

// Builds a slice of the tables. Until they are complete the host does not lead, though it is elected.
static bool build(Leader *l) {
        bool whole;

        walks_work_begin(l);
        whole = reconcile_build_some(l);
        walks_turned(l);
        if (!whole)
                return false;
        l->building = false;
        l->leading = true;
        l->leads_us = leader_now(l);
        host_leases_follow(l);
        return true;
}

static void turn(Leader *l) {
        bool whole;

        if (l->building) {
                if (build(l))
                        l->ops.leads(l->userdata);
                return;
        }
        if (!l->leading) {
                why_turn(l);
                node_lists_turn(l);
                responses_flush(l);
                listings_step(l);
                return;
        }
        walks_work_begin(l);
        host_asks_turn(l, take_message);
        whole = reconcile_turn(l);
        walks_turned(l);
        if (whole)
                arm_timer(l);
}

static void on_drain(void *userdata) {
        Leader *l = userdata;

        turn(l);
        if (!unit_works_settle(l))
                leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ life

uint32_t leader_successor(const Leader *l) {
        return l->leading ? voters_successor(l) : 0;
}

static void stop_leading(Leader *l) {
        l->leading = l->building = false;
        map_foreach (slot, &l->hosts)
                host_asks_forget(l, slot->value);
        uv_timer_stop(&l->timer);
        l->timer_due_us = 0;
        l->timer_deferred = false;
        fail_pending_requests(l);
        term_tables_retire(l);
        l->pause_us = 0;
        walks_end(l);
}

bool leader_set_leading(Leader *l, bool leading, uint64_t term) {
        if ((l->leading || l->building) && (!leading || term != l->term))
                stop_leading(l);
        l->term = term;
        if (!leading || l->leading)
                return true;
        if (l->building)
                return false;
        fail_pending_requests(l); // lists of records use the same walk as the build
        l->building = true;
        leader_time_begin(l);
        walks_begin(l);
        reconcile_build_begin(l);
        return build(l);
}

static void finish_close(Leader *l) {
        if (!l->closing || l->n_handles || l->n_outside)
                return;
        listings_clear(l);
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                h->linked = false;
                host_drop_if_unused(l, h);
        }
        map_done(&l->hosts);
        map_done(&l->nodes);
        map_done(&l->fleet_units);
        name_table_done(&l->units);
        map_done(&l->budgets);
        map_done(&l->seen_specs);
        map_done(&l->open_jobs);
        free(l->touched_hosts.hosts);
        held_jobs_retire(l);
        map_done(&l->pending_requests_by_id);
        map_done(&l->pending_requests_by_key);
        map_done(&l->calls_by_id);
        map_done(&l->author_questions);
        author_turns_done(&l->queue);
        author_turns_done(&l->previews);
        author_turns_done(&l->verifies);
        unit_deadlines_retire(l);
        deadline_heap_done(&l->retry_deadlines);
        unit_works_done(l);
        l->closed(l->closed_data);
        secrets_key_controller_free(l->secrets_key);
        ca_controller_free(l->ca);
        voter_secrets_controller_free(l->voter_secrets);
        voters_free(l->voters);
        free(l->trail);
        free(l);
}

// Objects per unit, and per unit on a node, are nearly all of the leader's memory.
static size_t tables_bytes(const Leader *l) {
        size_t bytes = l->units.count * sizeof(Unit) + l->nodes.count * sizeof(Node) +
                       l->hosts.count * sizeof(Host);

        for (size_t i = 0; i < ELEMENTSOF(l->tallies.seen); i++)
                bytes += l->tallies.seen[i] * sizeof(UnitOnNode);
        return bytes + name_table_bytes(&l->units) + map_bytes(&l->nodes) + map_bytes(&l->hosts);
}

static void add_gauges(const Leader *l, LeaderStats *stats) {
        size_t n_hosts;

        (void) cluster_state_hosts(l->state, &n_hosts);
        stats->leads = 1;
        stats->hosts = n_hosts;
        stats->hosts_clock_off = host_clocks_n_off(l);
        stats->clocks_agree = leader_wall_is_agreed(l);
        stats->units = cluster_state_n_units(l->state);
        stats->units_pending = l->n_pending;
        stats->units_looping = l->tallies.looping;
        stats->jobs_open = l->open_jobs.count;
        stats->watchers = l->watchers.n;
        stats->requests_open = l->n_pending_requests;
        stats->waits = l->n_wait_items;
        stats->events_bytes = l->events ? l->events->ring.bytes : 0;
        stats->leader_tables_bytes = tables_bytes(l);
        stats->placement_bytes = scheduler_placement_bytes(l);
}

LeaderStats leader_stats(const Leader *l) {
        LeaderStats stats = {
                .placements = l->n_placements,
                .beats_acknowledged = l->n_beats_acknowledged,
                .nodes_not_remembered = l->n_nodes_not_remembered,
        };

        if (l->leading)
                add_gauges(l, &stats);
        return stats;
}

TimeHistogram leader_placement_times(const Leader *l) {
        return l->placement_times;
}

int leader_new(const LeaderConfig *config, const LeaderOps *ops, void *userdata, Leader **ret) {
        Leader *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                return -ENOMEM;
        l->trail = calloc(1, sizeof(*l->trail));
        l->voters = voters_new();
        l->voter_secrets = voter_secrets_controller_new();
        l->ca = ca_controller_new();
        l->secrets_key = secrets_key_controller_new();
        if (!l->trail || !l->voters || !l->voter_secrets || !l->ca || !l->secrets_key) {
                secrets_key_controller_free(l->secrets_key);
                ca_controller_free(l->ca);
                voter_secrets_controller_free(l->voter_secrets);
                voters_free(l->voters);
                free(l->trail);
                free(l);
                return -ENOMEM;
        }
        assert(!config->limits || leader_limits_are_valid(config->limits));
        l->config = *config;
        l->limits = config->limits ? *config->limits : leader_limits_usual;
        l->trail->jobs_max = l->limits.trail_jobs;
        l->config.limits = NULL; // copied above
        l->ops = *ops;
        l->userdata = userdata;
        l->state = config->state;
        l->on_outside_done = finish_close;
        l->on_answer = answer_cursor_add;
        l->on_job_waited = open_job_judge;
        r = drain_init(&l->drain, config->loop, on_drain, l);
        if (r < 0) {
                secrets_key_controller_free(l->secrets_key);
                ca_controller_free(l->ca);
                voter_secrets_controller_free(l->voter_secrets);
                voters_free(l->voters);
                free(l->trail);
                free(l);
                return r;
        }
        uv_timer_init(config->loop, &l->timer); // cannot fail
        l->timer.data = l;
        leader_time_on_applied(l);
        l->units.name_of = unit_name_of;
        host_marks_init(l);
        list_init(&l->works_spare);
        list_init(&l->walks.used_up);
        list_init(&l->pending_requests);
        list_init(&l->asks_due);
        author_turns_init(&l->queue, l->limits.begun);
        author_turns_init(&l->previews, l->limits.begun);
        author_turns_init(&l->verifies, l->limits.begun);
        list_init(&l->previews_asking);
        list_init(&l->flying);
        list_init(&l->outbox);
        list_init(&l->waiters);
        list_init(&l->waiters_due);
        list_init(&l->waits);
        list_init(&l->removals);
        list_init(&l->node_lists);
        list_init(&l->job_shows);
        list_init(&l->wait_walks);
        list_init(&l->row_walks);
        list_init(&l->nodes_emptying);
        list_init(&l->calls_over);
        list_init(&l->asking);
        list_init(&l->whys_due);
        list_init(&l->listings);
        list_init(&l->watchers.due);
        list_init(&l->watchers.idle);
        list_init(&l->watchers.behind);
        list_init(&l->rollouts);
        list_init(&l->rollouts_sharing);
        list_init(&l->rebalance_waiters);
        term_tables_retire(l);
        *ret = l;
        return 0;
}

static void on_timer_closed(uv_handle_t *handle) {
        Leader *l = handle->data;

        l->n_handles--;
        finish_close(l);
}

static void on_drain_closed(uv_handle_t *handle) {
        Leader *l = CONTAINER_OF(handle, Leader, drain.idle);

        l->n_handles--;
        finish_close(l);
}

void leader_close(Leader *l, void (*closed)(void *userdata), void *userdata) {
        if (l->leading || l->building)
                stop_leading(l);
        fail_pending_requests(l);
        map_foreach (slot, &l->hosts)
                forwards_on_link_lost(l, slot->value);
        l->closing = true;
        l->closed = closed;
        l->closed_data = userdata;
        l->n_handles = 2;
        drain_close(&l->drain, on_drain_closed);
        uv_close((uv_handle_t *) &l->timer, on_timer_closed);
}
