// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent as a whole: begin, one turn of the loop, end. What it is made of stands in agent-core.h.
//
// agent_clear() (the host leaves its cluster) makes every unit one that is to be removed; when the last one
// is forgotten, the fence, which belonged to that cluster, is removed too, and the agent is as new.

#include <errno.h>
#include <stdio.h>

#include "agent-barred.h"
#include "agent-calls-journal.h"
#include "agent-calls-status.h"
#include "agent-calls.h"
#include "agent-carried.h"
#include "agent-companions.h"
#include "agent-core.h"
#include "agent-fence.h"
#include "agent-fleet.h"
#include "agent-goodbye.h"
#include "agent-loops.h"
#include "agent-managers.h"
#include "agent-image-asks.h"
#include "agent-image-removal.h"
#include "agent-images.h"
#include "agent-names.h"
#include "agent-networks.h"
#include "agent-nodes.h"
#include "agent-obey.h"
#include "agent-podman.h"
#include "agent-places.h"
#include "agent-probation.h"
#include "agent-reach.h"
#include "agent-remote.h"
#include "agent-report.h"
#include "agent-search.h"
#include "agent-secrets.h"
#include "agent-session.h"
#include "agent-steps.h"
#include "agent-unit.h"
#include "agent-wanted.h"
#include "clock.h"
#include "log.h"
#include "message.h"
#include "podman-look.h"
#include "str.h"
#include "unit-verifier.h"

// ---- one turn

static void note_rested(Agent *a) {
        if (a->n_rested > 0 && a->ops.rested)
                a->ops.rested(a->n_rested, a->userdata);
        a->n_rested = 0;
}

static void on_wake(uv_timer_t *timer) {
        Agent *a = timer->data;
        uint64_t now_us = clock_boot_us();

        agent_foreach_node (node, a) {
                agent_node_wake(node, now_us);
                agent_reach(node);
        }
        if (a->paced_due_us != 0 && a->paced_due_us <= now_us)
                agent_report_wake(a, now_us);
        agent_places_wake(a, now_us);
        agent_loops_expire(a, now_us);
        drain_mark(&a->drain);
}

// The earlier of two times; 0 means never.
static uint64_t sooner(uint64_t a_us, uint64_t b_us) {
        return a_us == 0 || (b_us != 0 && b_us < a_us) ? b_us : a_us;
}

static uint64_t next_wake(Agent *a) {
        uint64_t next = a->fence_retry_us;

        agent_foreach_node (node, a) {
                next = sooner(next, agent_node_next_wake(node));
                if (node->socket_wanted && !node->connector)
                        next = sooner(next, node->reach_retry_us);
        }
        next = sooner(next, agent_report_next_wake(a));
        next = sooner(next, agent_loops_next_wake(a));
        next = sooner(next, agent_places_next_wake(a));
        next = sooner(next, agent_barred_next_wake(a));
        next = sooner(next, agent_probation_next_wake(a));
        return sooner(next, agent_session_next_wake(a));
}

static void arm_wake(Agent *a) {
        uint64_t next = next_wake(a), now_us = clock_boot_us();

        if (next == 0)
                uv_timer_stop(&a->wake);
        else
                uv_timer_start(&a->wake, on_wake, next > now_us ? (next - now_us) / USEC_PER_MSEC + 1 : 1,
                               0);
}

static void finish_clearing(Agent *a) {
        void (*cleared)(void *) = TAKE_PTR(a->cleared);

        a->clearing = false;
        agent_foreach_node (node, a)
                node->number = 0;
        if (cleared)
                cleared(a->cleared_data);
}

// Nobody waits for the `gone` of a unit while the host is leaving.
static void drop_the_gone(Agent *a) {
        agent_foreach_node (node, a)
                agent_node_drop_gone(node);
}

// A node with thousands of units to plan leaves the others their share of the turn.
static void plan_nodes(Agent *a) {
        unsigned n_dirty = 0;

        agent_foreach_node (node, a)
                n_dirty += !list_is_empty(&node->dirty);
        agent_foreach_node (node, a)
                agent_node_plan(node, MAX_OF(AGENT_PLANS_PER_TURN / MAX_OF(n_dirty, 1U), 1U));
}

static size_t n_orders(const Argosy__ToHost *m) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_WELCOME:
                return m->welcome->n_orders;
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
                return m->welcome_part->n_orders;
        default:
                return m->orders->n_orders;
        }
}

// Orders whose fence is on the disk. The parts of a Welcome may all have waited for that.
static void obey_some(Agent *a) {
        Argosy__ToHost *message;
        size_t n = 0;

        while (n < AGENT_ORDERS_PER_TURN && (message = agent_fence_take(a))) {
                n += n_orders(message);
                agent_obey(a, message);
                message_free(message);
        }
        if (n >= AGENT_ORDERS_PER_TURN) // there may be more
                drain_mark(&a->drain);
}

static void agent_drain(void *userdata) {
        Agent *a = userdata;

        if (a->closing)
                return;
        obey_some(a);
        agent_fence_drain(a);
        plan_nodes(a);
        agent_barred_turn(a);
        agent_places_turn(a);
        agent_carried_turn(a);
        agent_images_turn(a);
        agent_image_removal_turn(a);
        agent_carried_left_turn(a);
        agent_secrets_drain(a);
        agent_foreach_node (node, a)
                agent_search_drain(node);
        agent_foreach_node (node, a)
                agent_names_start(node);
        agent_fleet_drain(a);
        agent_session_drain(a);
        agent_stopping_drain(a);
        agent_node_reports_drain(a);
        agent_fleet_report_drain(a);
        agent_report_drain(a);
        agent_managers_drain(a);
        agent_remote_drain(a);
        if (a->clearing) {
                drop_the_gone(a);
                if (agent_n_units(a) == 0 && !a->fence_saving)
                        finish_clearing(a);
        }
        note_rested(a);
        agent_goodbye_drain(a); // may close the agent
        if (!a->closing)
                arm_wake(a);
}

// ---- the leader's words

void agent_on_message(Agent *a, const Argosy__ToHost *m) {
        if (a->closing || a->clearing)
                return;
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_WELCOME:
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
        case ARGOSY__TO_HOST__MSG_ORDERS:
                agent_on_orders(a, m);
                return;
        case ARGOSY__TO_HOST__MSG_FILE_PIECE:
                agent_carried_on_piece(a, m->file_piece);
                return;
        case ARGOSY__TO_HOST__MSG_BEAT_ACK:
                agent_on_beat_ack(a, m->beat_ack);
                return;
        case ARGOSY__TO_HOST__MSG_CALL:
                if (m->call->names)
                        agent_names_on_call(a, m->call);
                else if (*m->call->image && m->call->pull)
                        agent_images_on_call(a, m->call);
                else if (*m->call->image)
                        agent_image_asks_on_call(a, m->call);
                else
                        agent_on_call(a, m->call);
                return;
        case ARGOSY__TO_HOST__MSG_CALL_CANCEL:
                agent_on_call_cancel(a, m->call_cancel);
                agent_image_asks_on_cancel(a, m->call_cancel->id);
                agent_images_on_cancel(a, m->call_cancel->id);
                return;
        case ARGOSY__TO_HOST__MSG_CALL_TAKEN:
                agent_on_call_taken(a, m->call_taken);
                return;
        default:
                return; // for the daemon
        }
}

void agent_clear(Agent *a, void (*done)(void *userdata), void *userdata) {
        a->cleared = done;
        a->cleared_data = userdata;
        a->clearing = true;
        agent_fence_drop(a);
        agent_remote_calls_drop(a);
        agent_names_drop(a);
        agent_image_asks_drop(a);
        agent_images_on_cancel(a, 0);
        agent_carried_drop(a);
        agent_carried_left_drop(a);
        agent_barred_drop(a);
        agent_companions_clear(a);
        agent_foreach_node (node, a)
                agent_foreach_unit(u, node) agent_unit_unwant(u);
        drain_mark(&a->drain);
}

void agent_systemd_stats(const Agent *a, SystemdStats *ret) {
        *ret = a->ended_systemd;
        agent_foreach_node (node, a) {
                SystemdStats one;

                if (!node->systemd)
                        continue;
                systemd_manager_stats(node->systemd, &one);
                systemd_stats_add(ret, &one);
        }
}

AgentStats agent_stats(const Agent *a) {
        AgentStats stats = a->stats;

        agent_calls_count(a, &stats);
        stats.lease_left_ms = agent_lease_left_ms(a);
        stats.agent_units_bytes = a->slab.bytes;
        return stats;
}

TimeHistogram agent_beat_times(const Agent *a) {
        return a->beat_times;
}

// ---- begin

static void labels_free(Argosy__Label **labels, size_t n) {
        for (size_t i = 0; labels && i < n; i++)
                if (labels[i])
                        argosy__label__free_unpacked(labels[i], NULL);
        free(labels);
}

static int labels_copy(const Argosy__Label *const *labels, size_t n, Argosy__Label ***ret) {
        Argosy__Label **copy = calloc(n ?: 1, sizeof(*copy));

        for (size_t i = 0; copy && i < n; i++) {
                copy[i] = malloc(sizeof(**copy));
                if (!copy[i]) {
                        labels_free(copy, n);
                        return -ENOMEM;
                }
                argosy__label__init(copy[i]);
                copy[i]->key = strdup(labels[i]->key);
                copy[i]->value = strdup(labels[i]->value);
                if (!copy[i]->key || !copy[i]->value) {
                        labels_free(copy, n);
                        return -ENOMEM;
                }
        }
        *ret = copy;
        return copy ? 0 : -ENOMEM;
}

void agent_set_labels(Agent *a, const Argosy__Label *const *labels, size_t n) {
        Argosy__Label **copy;

        if (labels_copy(labels, n, &copy) < 0)
                return; // the old ones stay
        labels_free(a->labels, a->n_labels);
        a->labels = copy;
        a->n_labels = n;
        agent_attach_again(a);
}

void agent_set_take_from(Agent *a, const char *directory) {
        char *copy = streq(a->take_from, directory) ? NULL : strdup(directory);

        if (!copy)
                return; // the old one stays, if there is no memory
        free(a->take_from);
        a->take_from = copy;
        a->system->take_from_due = a->fleet.news = true;
        agent_fleet_search(a);
}

static int open_lease(Agent *a, char **ret_why) {
        _cleanup_free_ char *path = str_printf("%s/lease", a->runtime_dir);
        int r = path ? lease_file_open(path, &a->lease) : -ENOMEM;

        return r < 0 ? agent_complain(r, ret_why, "cannot open %s/lease: %s", a->runtime_dir, strerror(-r))
                     : 0;
}

static int open_parts(Agent *a, const AgentConfig *config, char **ret_why) {
        int r;

        a->state_dir = strdup(config->state_dir);
        a->runtime_dir = strdup(config->runtime_dir);
        a->host_name = strdup(config->host_name ?: "");
        a->take_from = strdup(config->take_from ?: "");
        if (!a->state_dir || !a->runtime_dir || !a->host_name || !a->take_from ||
            labels_copy(config->labels, config->n_labels, &a->labels) < 0)
                return agent_complain(-ENOMEM, ret_why, "out of memory");
        a->n_labels = config->n_labels;
        a->port = config->port;
        a->helper = config->helper;
        a->user = config->user;
        a->images.runner = config->runner;
        a->open_manager = config->open_manager;
        a->open_manager_data = config->open_manager_data;
        agent_secrets_open(a, config);
        agent_image_removal_open(a);
        r = open_lease(a, ret_why);
        if (r < 0)
                return r;
        r = fence_load(config->state_dir, &a->fence);
        if (r == -EBADMSG)
                return agent_complain(
                        r, ret_why,
                        "%s/fence is damaged; it guards against a leader of the past, so it is not "
                        "ignored: if the other hosts "
                        "of the cluster are up, remove it and start again",
                        config->state_dir);
        if (r < 0)
                return agent_complain(r, ret_why, "cannot read %s/fence: %s", config->state_dir,
                                      strerror(-r));
        a->fence_queued = a->fence;
        return agent_node_open_system(a, config, ret_why);
}

static void agent_free(Agent *a) {
        void (*closed)(void *) = a->closed;
        void *data = a->closed_data;

        agent_fence_drop(a);
        agent_carried_drop(a);
        agent_carried_left_drop(a);
        agent_barred_drop(a);
        agent_local_units_drop(a);
        map_done(&a->specs);
        map_done(&a->carried_names);
        agent_secrets_done(a);
        agent_images_done(a);
        agent_image_removal_done(a);
        labels_free(a->labels, a->n_labels);
        free(a->state_dir);
        free(a->take_from);
        lease_file_close(a->lease);
        free(a->runtime_dir);
        free(a->host_name);
        free(a);
        if (closed)
                closed(data);
}

int agent_new(const AgentConfig *config, const AgentOps *ops, void *userdata, Agent **ret, char **ret_why) {
        Agent *a = calloc(1, sizeof(*a));
        int r;

        if (!a)
                return agent_complain(-ENOMEM, ret_why, "out of memory");
        *a = (Agent){.loop = config->loop, .ops = *ops, .userdata = userdata, .ended = agent_free};
        list_init(&a->report);
        list_init(&a->carried_fetches);
        list_init(&a->carried_waiting);
        list_init(&a->barred.waiting);
        list_init(&a->barred.round);
        list_init(&a->barred.passed);
        list_init(&a->places.waiting);
        list_init(&a->places.late);
        list_init(&a->paced);
        list_init(&a->held_due);
        list_init(&a->probations);
        list_init(&a->loops);
        list_init(&a->batches);
        list_init(&a->calls_list);
        list_init(&a->remote_calls);
        list_init(&a->remote_waiting);
        list_init(&a->name_checks);
        list_init(&a->images.asks);
        list_init(&a->images.commands);
        list_init(&a->images.looks);
        list_init(&a->networks.looks);
        list_init(&a->networks.waiting);
        list_init(&a->nodes);
        list_init(&a->fleet.list);
        list_init(&a->usage_queries);
        r = drain_init(&a->drain, a->loop, agent_drain, a);
        if (r < 0) {
                free(a);
                return agent_complain(r, ret_why, "%s", strerror(-r));
        }
        uv_timer_init(a->loop, &a->wake);
        a->wake.data = a;
        (void) agent_session_init(a);
        r = cgroup_usage_new(a->loop, 0, &a->usage);
        if (r < 0) {
                agent_close(a, NULL, NULL);
                return agent_complain(r, ret_why, "%s", strerror(-r));
        }
        r = config->verifies ? unit_verifier_new(a->loop, config->helper, &a->verifier) : 0;
        if (r < 0) {
                agent_close(a, NULL, NULL);
                return agent_complain(r, ret_why, "%s", strerror(-r));
        }
        r = open_parts(a, config, ret_why);
        if (r < 0) {
                agent_close(a, NULL, NULL);
                return r;
        }
        agent_nodes_number(a, config->nodes, config->n_nodes);
        *ret = a;
        return 0;
}

// ---- end

static void on_drain_closed(uv_handle_t *handle) {
        agent_close_step(CONTAINER_OF((uv_idle_t *) handle, Agent, drain.idle));
}

static void on_timer_closed(uv_handle_t *handle) {
        agent_close_step(handle->data);
}

static void on_verifier_closed(void *userdata) {
        agent_close_step(userdata);
}

static void on_usage_closed(void *userdata) {
        agent_close_step(userdata);
}

// Nothing is stopped, removed or written: the next daemon sees the same as after a crash, so there is one
// way to take over, not two.
void agent_close(Agent *a, void (*closed)(void *userdata), void *userdata) {
        a->closing = true;
        a->closed = closed;
        a->closed_data = userdata;
        a->n_open++; // until the end of this function
        agent_remote_calls_drop(a);
        agent_names_drop(a);
        agent_image_asks_drop(a);
        agent_images_drop(a);
        agent_image_removal_drop(a);
        podman_looks_drop(a);
        agent_networks_drop(a);
        agent_podman_close(a);
        agent_places_drop(a);
        agent_calls_drop(a);
        if (a->usage) {
                a->n_open++;
                cgroup_usage_close(TAKE_PTR(a->usage), on_usage_closed, a);
        }
        a->n_open += 3;
        drain_close(&a->drain, on_drain_closed);
        uv_close((uv_handle_t *) &a->wake, on_timer_closed);
        uv_close((uv_handle_t *) &a->beat, on_timer_closed);
        while (!list_is_empty(&a->nodes))
                agent_node_close(CONTAINER_OF(a->nodes.next, AgentNode, in_agent));
        if (a->verifier) {
                a->n_open++;
                unit_verifier_close(TAKE_PTR(a->verifier), on_verifier_closed, a);
        }
        agent_close_step(a);
}
