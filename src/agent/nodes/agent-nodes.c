// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The systemd managers of this host, each a node with a connection, a unit directory, a ledger and units of
// its own.
//
// An AgentNode that closes is unlinked at once, so nobody finds it any more, and its units are forgotten.
// Its memory lives until its connection has closed and the pool has given back what it works on for it. The
// agent's own end waits for that.

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent-companions.h"
#include "agent-adopt.h"
#include "agent-calls.h"
#include "agent-carried.h"
#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-files.h"
#include "agent-fleet.h"
#include "agent-names.h"
#include "agent-nodes.h"
#include "agent-reach.h"
#include "agent-network-made.h"
#include "agent-returns.h"
#include "agent-search.h"
#include "agent-systemd.h"
#include "agent-unit.h"
#include "agent-verify.h"
#include "agent-wanted.h"
#include "agent-writer.h"
#include "journal.h"
#include "manager-name.h"
#include "manager-run.h"
#include "str.h"

void agent_nodes_number(Agent *a, Argosy__NodeRecord *const *records, size_t n) {
        for (size_t i = 0; i < n; i++) {
                AgentNode *node = agent_node_by_name(a, records[i]->manager);

                if (!node || node->number == records[i]->node)
                        continue;
                node->number = records[i]->node;
                node->reason_news |= node != a->system;
                // The leader gave it a new number, so it knows nothing of what is held there.
                if (node != a->system && node->n_units > 0 && a->attached)
                        agent_attach_now(a);
        }
}

// ---- begin

void agent_node_drop_gone(AgentNode *node) {
        agent_foreach_unit(u, node) {
                if (u->gone && agent_unit_doing(u)->busy == PLAN_NOTHING)
                        agent_unit_free(u);
                else if (!node->force)
                        (void) agent_unit_unwant(u); // if there was no memory for that before
        }
}

static void node_free(AgentNode *node) {
        Agent *a = node->agent;

        agent_cgroups_done(node);
        agent_search_done(node);
        agent_returns_done(node);
        agent_network_made_forget(node);
        map_done(&node->stop_queries);
        map_done(&node->down_by);
        agent_companions_done(node);
        ledger_close(node->ledger);
        unit_dir_free(node->dir);
        free(node->dir_path);
        free(node->shutdown_mark);
        free(node->own_dir);
        free(node->gate);
        free(node->reason);
        free(node->manager);
        free(node->name);
        free(node);
        agent_close_step(a);
}

AgentNode *agent_node_new(Agent *a, const char *manager) {
        AgentNode *node = calloc(1, sizeof(*node));

        if (!node)
                return NULL;
        *node = (AgentNode){
                .agent = a,
                .manager = strdup(manager),
                .name = manager_node_name(a->host_name, manager),
                .ended = node_free};
        if (!node->manager || !node->name) {
                free(node->manager);
                free(node->name);
                free(node);
                return NULL;
        }
        list_init(&node->dirty);
        list_init(&node->waiting);
        list_init(&node->calls);
        list_init(&node->verifying);
        list_init(&node->writes);
        list_init(&node->name_checks);
        list_init(&node->held_back);
        list_init(&node->fresh);
        list_append(&a->nodes, &node->in_agent);
        a->n_nodes++;
        return node;
}

int agent_node_open_systemd(AgentNode *node, const SystemdConfig *config) {
        SystemdConfig shared = *config;
        int r;

        shared.share = &node->agent->share;
        r = systemd_manager_new(&shared, &agent_systemd_ops, node, &node->systemd);
        if (r >= 0)
                node->n_open++;
        return r;
}

// A user's manager can begin anew and leave the ledger where it was: killed, or gone before it could say
// that it goes. Then it is as if it had said so.
static int check_run(AgentNode *node, const AgentConfig *config) {
        _cleanup_free_ char *path = str_printf("%s/manager", config->runtime_dir);

        if (!path)
                return -ENOMEM;
        // Without a manager there is nobody to ask, and units that somebody stopped are the worst of it.
        (void) manager_run_check(config->systemd.socket_path, path, node->shutdown_mark);
        return 0;
}

// On failure too the node is among the agent's, and goes with it.
int agent_node_open_system(Agent *a, const AgentConfig *config, char **ret_why) {
        _cleanup_free_ char *ledger_path = str_printf("%s/ledger", config->runtime_dir);
        AgentNode *node = a->system = agent_node_new(a, "system");
        int r;

        if (!node || !ledger_path)
                return agent_complain(-ENOMEM, ret_why, "out of memory");
        node->uid = config->user ? getuid() : JOURNAL_SYSTEM;
        node->dir_path = strdup(config->unit_dir);
        node->shutdown_mark = str_printf("%s/shutdown", config->runtime_dir);
        node->cgroup_root = config->cgroup_root ? strdup(config->cgroup_root) : NULL;
        if (!node->dir_path || !node->shutdown_mark || (config->cgroup_root && !node->cgroup_root))
                return agent_complain(-ENOMEM, ret_why, "out of memory");
        r = unit_dir_new(config->unit_dir, config->foreign_dirs, &node->dir);
        node->take_from_due = true;
        if (r < 0)
                return agent_complain(r, ret_why, "cannot use the unit directory %s: %s", config->unit_dir,
                                      strerror(-r));
        r = agent_search_open(node, config->foreign_dirs);
        if (r < 0)
                return agent_complain(r, ret_why, "out of memory");
        r = agent_node_open_systemd(node, &config->systemd);
        if (r < 0)
                return agent_complain(r, ret_why, "cannot make the connection to systemd: %s", strerror(-r));
        r = config->user ? check_run(node, config) : 0;
        if (r < 0)
                return agent_complain(r, ret_why, "out of memory");
        r = agent_node_adopt(node, ledger_path);
        if (r == -EBADMSG)
                return agent_complain(
                        r, ret_why,
                        "%s is not a ledger; if its units may be stopped by hand, remove it and start again",
                        ledger_path);
        if (r < 0)
                return agent_complain(r, ret_why, "cannot read %s: %s", ledger_path, strerror(-r));
        agent_carried_sweep(node);
        return 0;
}

// ---- end

static void on_systemd_closed(void *userdata) {
        AgentNode *node = userdata;

        node->systemd = NULL;
        agent_node_close_step(node);
}

static void keep_counters(const AgentNode *node) {
        SystemdStats stats;

        systemd_manager_stats(node->systemd, &stats);
        systemd_stats_keep(&node->agent->ended_systemd, &stats);
}

void agent_node_close(AgentNode *node) {
        Agent *a = node->agent;

        node->closing = true;
        node->n_open++; // until the end of this function
        a->n_open++;
        a->n_nodes--;
        list_unlink(&node->in_agent);
        if (node->detached)
                TAKE_PTR(node->detached)(-ECANCELED, node->detached_data);
        agent_reach_close(node);
        agent_writer_abort(node, -ECANCELED);
        agent_search_close(node);
        agent_calls_drop_node(node);
        agent_files_fail(node, -ECANCELED);
        agent_names_drop_node(node);
        agent_verify_drop(node);
        agent_foreach_unit(u, node) agent_unit_free(u);
        agent_reach_unwatch_gates(node);
        if (node == a->system)
                agent_fleet_done(node);
        if (node->systemd) {
                keep_counters(node);
                systemd_manager_close(node->systemd, on_systemd_closed, node);
        }
        if (a->system == node)
                a->system = NULL;
        agent_node_close_step(node);
}
