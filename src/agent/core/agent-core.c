// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What all parts of the agent do with the agent and its nodes: find them, count their ends, begin the
// session anew.
//
//      agent_node_find() -> agent_node_begin_writing() ... -> agent_node_close_step()
//          -> the last one calls ended()
//
// agent_attach_again() only marks: the next drain attaches. agent_complain() passes `error` through and
// fills *ret_why, which is NULL without memory.

#include <stdarg.h>
#include <stdio.h>

#include "agent-core.h"
#include "manager-name.h"

int agent_complain(int error, char **ret_why, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        if (ret_why && vasprintf(ret_why, format, ap) < 0)
                *ret_why = NULL;
        va_end(ap);
        return error;
}

// ---- nodes

void agent_node_begin_writing(AgentNode *node) {
        if (node->dir && node->take_from_due && unit_dir_take_from(node->dir, node->agent->take_from) >= 0)
                node->take_from_due = false;
        node->writing = true;
        node->n_open++;
}

AgentNode *agent_node_find(const Agent *a, uint32_t number) {
        agent_foreach_node (node, a)
                if (number != 0 && node->number == number)
                        return node;
        return NULL;
}

AgentNode *agent_node_by_name(const Agent *a, const char *manager) {
        agent_foreach_node (node, a)
                if (streq(node->manager, manager))
                        return node;
        return NULL;
}

char *agent_node_name(const AgentNode *node) {
        return manager_node_name(node->agent->host_name, node->manager);
}

bool agent_is_stopping(const Agent *a) {
        return a->system && a->system->stopping;
}

size_t agent_n_units(const Agent *a) {
        size_t n = 0;

        agent_foreach_node (node, a)
                n += node->n_units;
        return n;
}

bool agent_has_received_all(Agent *a) {
        bool all = true;

        agent_foreach_node (node, a)
                if (systemd_manager_is_synced(node->systemd))
                        all = systemd_manager_catch_up(node->systemd) && all;
        return all;
}

// ---- the end

void agent_close_step(Agent *a) {
        assert(a->n_open > 0);
        if (--a->n_open == 0 && a->closing)
                a->ended(a);
}

void agent_node_close_step(AgentNode *node) {
        assert(node->n_open > 0);
        if (--node->n_open == 0 && node->closing)
                node->ended(node);
}

// ---- a new session is wanted

void agent_attach_again(Agent *a) {
        a->attach_wanted = a->leader != 0;
        drain_mark(&a->drain);
}

void agent_attach_now(Agent *a) {
        a->attach_wanted = a->leader != 0;
        a->attach_retry_us = 0; // a failure before does not count
        drain_mark(&a->drain);
}
