// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a node's systemd reports by itself: units that changed, its connection, its end or its going on.
//
//      the systemd manager -> an on_*() below -> facts noted, units marked
//          -> the drain of this turn plans them
//
// Nothing is decided here. A lost connection is logged and found again by the manager; units go on running.

#include <fcntl.h>
#include <unistd.h>

#include "agent-core.h"
#include "agent-fleet.h"
#include "agent-jobs.h"
#include "agent-loops.h"
#include "agent-probation.h"
#include "agent-reach.h"
#include "agent-search.h"
#include "agent-step.h"
#include "agent-systemd.h"
#include "agent-unit.h"
#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "unit-state.h"

static void on_unit_changed(const char *name, const UnitRuntime *now, void *userdata) {
        AgentNode *node = userdata;
        AgentUnit *u = agent_unit_find(node, name);

        if (node == node->agent->system) {
                agent_reach_on_unit(node->agent, name);
                agent_fleet_on_unit(node->agent, name);
        }
        if (!u)
                return;
        if (now->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE &&
            agent_unit_doing(u)->busy == PLAN_NOTHING && agent_unit_doing(u)->retry_us == 0 && !u->refused)
                agent_unit_clear_error(u); // an administrator has started it
        if (now->loaded)
                agent_unit_note_load(u, now->load);
        agent_probation_on_change(u);
        agent_loop_on_change(u);
        agent_unit_report_state(u);
        agent_unit_mark(u);
}

static void on_unit_unloaded(const char *name, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);

        if (!u)
                return;
        u->stale = u->links_stale = false;
        (void) agent_unit_note_read(u); // recorded with the next change
        agent_unit_report_state(u);
        agent_unit_mark(u);
}

// systemd has reloaded, for us or others: files written before `since_us` need no reload of ours.
static void on_read_again(uint64_t since_us, void *userdata) {
        AgentNode *node = userdata;

        node->read_again_us = clock_boot_us(); // for what the pool is writing now
        agent_foreach_unit(u, node) {
                if (u->stale && agent_unit_doing(u)->stale_since_us < since_us)
                        u->stale = false;
                u->read_again = u->stale;
                if (u->links_stale && agent_unit_doing(u)->links_stale_since_us < since_us)
                        u->links_stale = false;
                if (agent_unit_doing(u)->stale_since_us < since_us && agent_unit_note_read(u))
                        agent_unit_record(u);
        }
}

// The questions before a Goodbye have ended: the system's state is complete, or its systemd cannot be
// reached.
static void note_refreshed(AgentNode *node) {
        if (node == node->agent->system)
                node->agent->asking_units = false;
        drain_mark(&node->agent->drain);
}

static void on_synced(void *userdata) {
        AgentNode *node = userdata;

        node->synced = true;
        agent_reach_synced(node);
        note_refreshed(node);
        if (node == node->agent->system)
                agent_fleet_search(node->agent);
        agent_foreach_unit(u, node) {
                agent_unread_suspect(u);
                agent_unit_mark(u);
        }
        drain_mark(&node->agent->drain);
}

static void on_files_changed(void *userdata) {
        AgentNode *node = userdata;

        agent_search_all(node);
        if (node == node->agent->system)
                agent_fleet_search(node->agent);
}

static void on_disconnected(const char *why, void *userdata) {
        AgentNode *node = userdata;

        log_warning("The connection to systemd (%s) is lost: %s. Units go on running.", node->manager, why);
        note_refreshed(node);
        agent_probation_on_disconnected(node);
        if (node != node->agent->system)
                agent_reach_lost(node, why);
}

static void on_stopping(void *userdata) {
        AgentNode *node = userdata;
        Agent *a = node->agent;

        if (node->stopping)
                return;
        node->stopping = true;
        node->stopping_since_us = clock_wall_us() - AGENT_SHUTDOWN_NEWS_US;
        if (node != a->system) { // a user logs out, or a container ends: other nodes go on
                log_info("Manager %s is ending.", node->manager);
                return;
        }
        (void) file_replace(AT_FDCWD, node->shutdown_mark, "", 0, 0600,
                            0); // matters after a soft-reboot only
        a->stopping_unsent = true;
        drain_mark(&a->drain);
}

static bool is_down_or_goes_there(const UnitRuntime *rt) {
        return active_state_is_down(rt->active) || rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING;
}

// Whether the shutdown, which was called off, stopped this unit. A one-shot that completed meanwhile has an
// outcome, so it does not count.
static bool was_stopped_by_the_shutdown(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        const AgentHeld *h = &u->held;

        return u->has_held && h->target == ARGOSY__TARGET__TARGET_LAUNCHED && !h->done && !h->failed &&
               !h->unknown &&
               !(content && content->oneshot && !h->interrupted) &&
               agent_unit_doing(u)->busy == PLAN_NOTHING && is_down_or_goes_there(&u->watch.runtime) &&
               u->watch.runtime.since_us >= u->node->stopping_since_us;
}

// The shutdown that stopped the unit was called off, so the unit is started again.
static void start_again(AgentUnit *u) {
        agent_unit_keep_order(u);
        agent_step_undo_start(u);
        agent_unit_clear_error(u);
}

static void on_resumed(void *userdata) {
        AgentNode *node = userdata;
        Agent *a = node->agent;

        if (!node->stopping)
                return;
        node->stopping = false;
        agent_foreach_unit(u, node) {
                if (was_stopped_by_the_shutdown(u))
                        start_again(u);
                agent_unit_mark(u);
        }
        if (node != a->system) {
                log_info("Manager %s goes on after all.", node->manager);
                return;
        }
        (void) unlink(node->shutdown_mark);
        a->attach_wanted = true; // the leader still believes our Goodbye
        drain_mark(&a->drain);
}

static void on_stopping_known(void *userdata) {
        AgentNode *node = userdata;

        if (node == node->agent->system)
                node->agent->asking_state = false;
        drain_mark(&node->agent->drain);
}

const SystemdOps agent_systemd_ops = {
        .unit_changed = on_unit_changed,
        .unit_unloaded = on_unit_unloaded,
        .reloaded = on_read_again,
        .synced = on_synced,
        .files_changed = on_files_changed,
        .disconnected = on_disconnected,
        .stopping = on_stopping,
        .resumed = on_resumed,
        .stopping_known = on_stopping_known,
};
