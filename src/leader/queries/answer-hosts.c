// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What lists of nodes and `cluster status` say of a host, from its record, from what it said last and from
// the log's figures.
//
//      node-lists.c goes through the hosts -> answer_add_node() or answer_add_member() for each
//          -> answer_fill_cluster_status() once
//
// Without leadership only records are known, and how hosts and nodes are is "unheard". Failure: -ENOMEM.

#include "answer-hosts.h"

#include <errno.h>

#include "ca-controller.h"
#include "feature-controller.h"
#include "host-clocks.h"
#include "host-record.h"
#include "node-state.h"
#include "registry.h"
#include "response.h"
#include "secrets-key-controller.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-row.h"
#include "voters.h"

static const char *host_state_word(const Leader *l, const Host *h) {
        return node_state_to_string(l->leading && h ? host_state(h) : NODE_UNHEARD);
}

static const char *node_state_word(const Leader *l, const Host *h, const Node *n) {
        return l->leading && h && n ? node_state_to_string(node_state(n)) : host_state_word(l, h);
}

static const char *role_word(const Argosy__HostRecord *host) {
        return host->role == ARGOSY__HOST_ROLE__ROLE_VOTER ? "voter" : "spare";
}

int answer_add_node(Leader *l, Argosy__Response__Nodes *nodes, const Argosy__HostRecord *host,
                    const Argosy__NodeRecord *node, uint32_t leader) {
        Argosy__Response__NodeRow *row = calloc(1, sizeof(*row));
        _cleanup_free_ char *name = host_record_node_name(host, node->node);
        const Node *n = node_find(l, node->node);
        size_t n_units;
        char hex[2 * 16 + 1] = "";

        if (!row)
                return -ENOMEM;
        argosy__response__node_row__init(row);
        if (FIELD_APPEND(nodes->rows, nodes->n_rows, row) < 0)
                return -ENOMEM;
        (void) cluster_state_units_on(l->state, node->node, &n_units);
        row->units = (uint32_t) (n_units + (n ? n->n_globals : 0));
        row->leader = host->host == leader;
        if (n) {
                row->offers_cpu = n->host->cpu_milli;
                row->offers_memory = n->host->memory_mib;
        }
        if (host->host_id.len == 16)
                hex_encode(host->host_id.data, 16, hex);
        for (size_t i = 0; i < host->n_labels; i++)
                if (FIELD_APPEND(row->labels, row->n_labels,
                                 label_new(host->labels[i]->key, host->labels[i]->value)) < 0)
                        return -ENOMEM;
        if (!name || field_set(&row->node, name) < 0 || field_set(&row->manager, node->manager) < 0 ||
            field_set(&row->reason, n ? n->reason ?: n->host->complaint : NULL) < 0 ||
            field_set(&row->address, host_record_place(host)) < 0 ||
            field_set(&row->state, node_state_word(l, host_find(l, host->host), n)) < 0 ||
            field_set(&row->role, row->leader ? "leader" : role_word(host)) < 0 ||
            field_set(&row->mode, node_mode_to_string(node->mode)) < 0 ||
            field_set(&row->mode_reason, node->mode_reason) < 0 || field_set(&row->host_id, hex) < 0)
                return -ENOMEM;
        return field_set(&row->machine_id, host->machine_id);
}

const Argosy__HostRecord *answer_find_leader(Leader *l, const StoreStats *stats) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        if (l->leading)
                return cluster_state_find_host(l->state, l->config.self);
        for (size_t i = 0; stats->leader_raft_id && i < n; i++)
                if (hosts[i].record->raft_id == stats->leader_raft_id)
                        return hosts[i].record;
        return NULL;
}

// ------------------------------------------------------------------------------------------- cluster status

static const StoreMember *find_member(const StoreStats *stats, uint32_t raft_id) {
        for (size_t i = 0; raft_id && i < stats->n_members; i++)
                if (stats->members[i].raft_id == raft_id)
                        return &stats->members[i];
        return NULL;
}

int answer_add_member(Leader *l, Argosy__Response__ClusterStatus *status, const Argosy__HostRecord *host,
                      const StoreStats *stats, uint32_t leader) {
        Argosy__Response__ClusterStatus__Member *m = calloc(1, sizeof(*m));
        const StoreMember *in_log = find_member(stats, host->raft_id);
        const Host *h = host_find(l, host->host);

        if (!m)
                return -ENOMEM;
        argosy__response__cluster_status__member__init(m);
        if (FIELD_APPEND(status->members, status->n_members, m) < 0)
                return -ENOMEM;
        m->host = host->host;
        m->raft_id = host->raft_id;
        m->leader = host->host == leader;
        m->clock_known = l->leading && h && host_clock_ahead(l, h, &m->clock_ahead_us);
        m->voters_configured = l->leading && h ? h->voters_configured : 0;
        m->log_index = m->leader ? stats->last_index : in_log ? in_log->match_index : 0;
        m->lag = l->leading && in_log && stats->last_index > m->log_index ? stats->last_index - m->log_index
                                                                          : 0;
        if (field_set(&m->name, host->name) < 0 || field_set(&m->address, host_record_place(host)) < 0 ||
            field_set(&m->state, host_state_word(l, h)) < 0 ||
            field_set(&m->version, h && h->version                ? h->version
                                   : host->host == l->config.self ? ARGOSY_VERSION
                                                                  : NULL) < 0)
                return -ENOMEM;
        return field_set(&m->role, in_log && in_log->voter ? "voter"
                                   : host->raft_id || host->role == ARGOSY__HOST_ROLE__ROLE_VOTER
                                           ? "changing"
                                           : "spare");
}

int answer_fill_cluster_status(Leader *l, Argosy__Response__ClusterStatus *status, const StoreStats *stats) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *leader = answer_find_leader(l, stats);
        char hex[2 * 16 + 1] = "";

        if (cluster) {
                if (cluster->cluster_id.len == 16)
                        hex_encode(cluster->cluster_id.data, 16, hex);
                status->generation = cluster->generation;
                status->feature_level = cluster_state_feature_level(l->state);
                status->voters_wanted = cluster->voters_wanted;
        }
        status->wall_us = l->leading ? leader_wall(l) : 0;
        status->log_us = cluster_state_time_us(l->state);
        status->clocks_agree = l->leading && leader_wall_is_agreed(l);
        status->term = stats->term;
        status->index = stats->commit_index;
        if (field_set(&status->cluster_id, hex) < 0 ||
            field_set(&status->leader, leader ? leader->name : NULL) < 0 ||
            feature_controller_notice(l, &status->feature_notice) < 0 ||
            ca_controller_notice(l, &status->ca_notice) < 0 ||
            secrets_key_controller_notice(l, &status->secrets_notice) < 0)
                return -ENOMEM;
        return field_printf(&status->notice, "%s%s%s",
                            l->in_mass_loss ? "so many hosts are lost at once that their units are not moved"
                                            : "",
                            l->in_mass_loss && *voters_notice(l) ? "; " : "", voters_notice(l));
}
