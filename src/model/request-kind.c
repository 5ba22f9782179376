// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See request-kind.h. A new kind of request gets its row here; a test compares the rows with the message.

#include "request-kind.h"

#include <stddef.h>

#include "macro.h"

enum { LONG_REQUEST = 1000 }; // names, patterns, units that are waited for, or that a folder is about

static const char *no_node(const Argosy__Request *q) {
        return "";
}

static const char *node_of_journal(const Argosy__Request *q) {
        return q->journal->node;
}

static const char *node_of_top(const Argosy__Request *q) {
        return q->top->node;
}

#define RIGHT_NONE ARGOSY__RIGHT__RIGHT_NONE
#define RIGHT_VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define RIGHT_OPERATE ARGOSY__RIGHT__RIGHT_OPERATE
#define RIGHT_DEPLOY ARGOSY__RIGHT__RIGHT_DEPLOY
#define RIGHT_ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

// Indexed by the number of the field; numbers that no field has are rows without a name.
static const RequestKind kinds[] = {
        [ARGOSY__REQUEST__WHAT_VERSION] = {"version", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_NONE},
        [ARGOSY__REQUEST__WHAT_COUNTERS] = {"counters", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_CLUSTER_JOIN] = {"cluster_join", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE] = {"cluster_leave", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_CLUSTER_PEERS] = {"cluster_peers", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_MANAGER_ATTACH] = {"manager_attach", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_MANAGER_DETACH] = {"manager_detach", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_MANAGER_LIST] = {"manager_list", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},

        [ARGOSY__REQUEST__WHAT_LOCAL_UNITS] = {"local_units", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_LOCAL_STOP] = {"local_stop", REQUEST_BY_AGENT, REQUEST_CHANGES, false, RIGHT_OPERATE},

        [ARGOSY__REQUEST__WHAT_STATUS] = {"status", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, no_node},
        [ARGOSY__REQUEST__WHAT_JOURNAL] = {"journal", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, node_of_journal},
        [ARGOSY__REQUEST__WHAT_TOP] = {"top", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, node_of_top},

        [ARGOSY__REQUEST__WHAT_LIST_UNITS] = {"list_units", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES] = {"list_unit_files", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_LIST_NODES] = {"list_nodes", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_CAT] = {"cat", REQUEST_BY_LEADER, REQUEST_READS, true, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_WHY] = {"why", REQUEST_BY_LEADER, REQUEST_READS, true, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_CLUSTER_STATUS] = {"cluster_status", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_ROLE_LIST] = {"role_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_POOL_LIST] = {"pool_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_LIST_JOBS] = {"list_jobs", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},

        [ARGOSY__REQUEST__WHAT_WAIT] = {"wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_DRAIN_WAIT] = {"drain_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT] = {"rollout_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_MANAGER_WAIT] = {"manager_wait", REQUEST_BY_LEADER, REQUEST_WAITS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_JOB_WAIT] = {"job_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW},

        [ARGOSY__REQUEST__WHAT_EVENTS] = {"events", REQUEST_BY_LEADER, REQUEST_WAITS, false, RIGHT_VIEW},

        [ARGOSY__REQUEST__WHAT_CHANGE] = {"change", REQUEST_BY_LEADER, REQUEST_CHANGES, true, RIGHT_OPERATE},
        [ARGOSY__REQUEST__WHAT_APPLY] = {"apply", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY},
        [ARGOSY__REQUEST__WHAT_UNDO] = {"undo", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY},
        [ARGOSY__REQUEST__WHAT_FORGET] = {"forget", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY},
        [ARGOSY__REQUEST__WHAT_NODE_CHANGE] = {"node_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_NODES_CHANGE] = {"nodes_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_LABEL_CHANGE] = {"label_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_ROLE_CHANGE] = {"role_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_POOL_CHANGE] = {"pool_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_ROLLOUT] = {"rollout", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE},
        [ARGOSY__REQUEST__WHAT_REBALANCE] = {"rebalance", REQUEST_BY_LEADER, REQUEST_CHANGES, true, RIGHT_OPERATE},
        [ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN] = {"cluster_token", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE] = {"cluster_remove", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_CLUSTER_ROLE] = {"cluster_role", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS] = {"cluster_voters", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_JOIN] = {"join", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_ACCESS_CHANGE] = {"access_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_QUEUE_CHANGE] = {"queue_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_QUEUE_LIST] = {"queue_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW},
        [ARGOSY__REQUEST__WHAT_JOB_CANCEL] = {"job_cancel", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE},
        [ARGOSY__REQUEST__WHAT_JOB_RELEASE] = {"job_release", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE},
        [ARGOSY__REQUEST__WHAT_TOKEN_CREATE] = {"token_create", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_TOKEN_REVOKE] = {"token_revoke", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_TOKEN_LIST] = {"token_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_ADMIN},
        [ARGOSY__REQUEST__WHAT_RIGHT_CHECK] = {"right_check", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_NONE},
        [ARGOSY__REQUEST__WHAT_ACCESS_LIST] = {"access_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_NONE},
};

const RequestKind *request_kind(Argosy__Request__WhatCase what) {
        size_t i = (size_t) what;

        return i < ELEMENTSOF(kinds) && kinds[i].name ? &kinds[i] : NULL;
}

bool request_is_local(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        if (q->what_case == ARGOSY__REQUEST__WHAT_TOP)
                return q->top->local;
        return kind && (kind->by == REQUEST_BY_DAEMON || kind->by == REQUEST_BY_AGENT);
}

bool request_is_read_of_units(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind && kind->node && !*kind->node(q);
}

bool request_is_read(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return request_is_read_of_units(q) ||
               (kind && kind->by == REQUEST_BY_LEADER && kind->effect == REQUEST_READS);
}

static Argosy__Right right_of_change(const Argosy__Request__Change *change) {
        switch (change->verb) {
        case ARGOSY__VERB__VERB_LOAD:
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_STOP:
        case ARGOSY__VERB__VERB_RESTART:
        case ARGOSY__VERB__VERB_UNLOAD:
                return change->replace ? RIGHT_DEPLOY : RIGHT_OPERATE;
        default:
                return RIGHT_DEPLOY;
        }
}

// What it goes back to, or on to, is content, too.
static Argosy__Right right_of_rollout(const Argosy__Request__Rollout *m) {
        return m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART && !m->file && !m->abort ? RIGHT_OPERATE : RIGHT_DEPLOY;
}

Argosy__Right request_right(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        if (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                return right_of_change(q->change);
        if (q->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                return right_of_rollout(q->rollout);
        return kind ? kind->right : RIGHT_ADMIN;
}

bool request_is_long(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return q->change->n_names > LONG_REQUEST;
        case ARGOSY__REQUEST__WHAT_WAIT:
                return q->wait->n_items > LONG_REQUEST;
        case ARGOSY__REQUEST__WHAT_APPLY:
                return q->apply->n_units + q->apply->n_gone > LONG_REQUEST || q->apply->n_files > 0;
        case ARGOSY__REQUEST__WHAT_LIST_UNITS:
                return q->list_units->n_patterns > LONG_REQUEST;
        case ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES:
                return q->list_unit_files->n_patterns > LONG_REQUEST;
        default:
                return false;
        }
}
