// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See request-kind.h. A new kind of request gets its row here; a test compares the rows with the message,
// and looks for what has to be chosen for a kind and was not. Where the kind alone does not say it, a column
// is a function of the message; there is none whose answer is a default.

#include "request-kind.h"

#include <stddef.h>
#include <stdlib.h>

#include "macro.h"
#include "str.h"
#include "unit-state.h"

enum { LONG_REQUEST = 1000 }; // names, patterns, units that are waited for, or that a folder is about

// ----------------------------------------------------------------------------------- what a message decides

static bool never(const Argosy__Request *q) {
        return false;
}

static bool always(const Argosy__Request *q) {
        return true;
}

static const char *verb_of_change(const Argosy__Request *q) {
        return verb_to_string(q->change->verb);
}

static const char *verb_of_mode(Argosy__NodeMode mode) {
        switch (mode) {
        case ARGOSY__NODE_MODE__MODE_CORDONED:
                return "cordon";
        case ARGOSY__NODE_MODE__MODE_DRAINING:
                return "drain";
        case ARGOSY__NODE_MODE__MODE_MAINTENANCE:
                return "maintenance";
        default:
                return "uncordon";
        }
}

static const char *verb_of_node_change(const Argosy__Request *q) {
        return verb_of_mode(q->node_change->mode);
}

static const char *verb_of_rollout(const Argosy__Request *q) {
        if (q->rollout->abort)
                return "update --abort";
        return q->rollout->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART ? "restart --rolling" : "update";
}

static const char *verb_of_rebalance(const Argosy__Request *q) {
        return q->rebalance->abort ? "rebalance --abort" : "rebalance";
}

static const char *verb_of_role_change(const Argosy__Request *q) {
        return q->role_change->remove ? "role delete" : "role set";
}

static const char *verb_of_pool_change(const Argosy__Request *q) {
        return q->pool_change->remove ? "pool delete" : "pool set";
}

static const char *verb_of_cluster_role(const Argosy__Request *q) {
        return q->cluster_role->promote ? "cluster promote" : "cluster demote";
}

static const char *verb_of_access_change(const Argosy__Request *q) {
        return q->access_change->revoke ? "access revoke" : "access grant";
}

static const char *verb_of_queue_change(const Argosy__Request *q) {
        const Argosy__Request__QueueChange *m = q->queue_change;

        if (m->add)
                return "queue rule add";
        if (m->remove > 0)
                return "queue rule delete";
        if (m->open_max > 0)
                return "queue limit";
        if (m->history_mib > 0)
                return "history limit";
        if (m->file_kib > 0 || m->unit_files_kib > 0 || m->files_mib > 0)
                return "files limit";
        return m->close ? "queue close" : "queue open";
}

static bool asks_change(const Argosy__Request *q) {
        return q->change->preview;
}

static bool asks_apply(const Argosy__Request *q) {
        return q->apply->preview;
}

static bool asks_undo(const Argosy__Request *q) {
        return q->undo->preview;
}

static bool asks_rebalance(const Argosy__Request *q) {
        return q->rebalance->preview;
}

static bool rollout_ends(const Argosy__Request *q) {
        return q->rollout->abort;
}

static bool rebalance_ends(const Argosy__Request *q) {
        return q->rebalance->abort;
}

static bool change_runs(const Argosy__Request *q) {
        return q->change->verb != ARGOSY__VERB__VERB_SUBMIT;
}

static bool rollout_runs(const Argosy__Request *q) {
        return !q->rollout->abort;
}

static bool rebalance_runs(const Argosy__Request *q) {
        return !q->rebalance->abort;
}

static bool empties(Argosy__NodeMode mode) {
        return mode == ARGOSY__NODE_MODE__MODE_DRAINING || mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE;
}

static bool node_change_runs(const Argosy__Request *q) {
        return empties(q->node_change->mode);
}

static const ProtobufCBinaryData *id_of_job(const Argosy__Request *q) {
        return q->job ? &q->job->id : NULL;
}

static const ProtobufCBinaryData *id_of_change(const Argosy__Request *q) {
        return &q->change->id;
}

static const ProtobufCBinaryData *id_of_rollout(const Argosy__Request *q) {
        return &q->rollout->id;
}

static const ProtobufCBinaryData *id_of_rebalance(const Argosy__Request *q) {
        return q->rebalance->abort || q->rebalance->preview ? NULL : &q->rebalance->id;
}

// What is told once is told anew to who asks again.
static const ProtobufCBinaryData *no_id(const Argosy__Request *q) {
        return NULL;
}

static const char *unit_of_change(const Argosy__Request *q, size_t i) {
        return i < q->change->n_names ? q->change->names[i] : NULL;
}

static const char *unit_of_wait(const Argosy__Request *q, size_t i) {
        return i < q->wait->n_items ? q->wait->items[i]->name : NULL;
}

static const char *unit_of_cat(const Argosy__Request *q, size_t i) {
        return i < q->cat->n_names ? q->cat->names[i] : NULL;
}

static const char *unit_of_why(const Argosy__Request *q, size_t i) {
        return i < q->why->n_names ? q->why->names[i] : NULL;
}

static const char *unit_of_status(const Argosy__Request *q, size_t i) {
        return i < q->status->n_names ? q->status->names[i] : NULL;
}

static const char *unit_of_journal(const Argosy__Request *q, size_t i) {
        return i == 0 ? q->journal->name : NULL;
}

static const char *unit_of_rollout(const Argosy__Request *q, size_t i) {
        return i == 0 ? q->rollout->name : NULL;
}

static const char *unit_of_rollout_wait(const Argosy__Request *q, size_t i) {
        return i == 0 ? q->rollout_wait->name : NULL;
}

static const char *no_node(const Argosy__Request *q) {
        return "";
}

static const char *node_of_journal(const Argosy__Request *q) {
        return q->journal->node;
}

static const char *node_of_verify(const Argosy__Request *q) {
        return q->verify->node;
}

static const char *node_of_top(const Argosy__Request *q) {
        return q->top->node;
}

// ------------------------------------------------------------------------------------------------ the table

#define RIGHT_NONE ARGOSY__RIGHT__RIGHT_NONE
#define RIGHT_VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define RIGHT_OPERATE ARGOSY__RIGHT__RIGHT_OPERATE
#define RIGHT_DEPLOY ARGOSY__RIGHT__RIGHT_DEPLOY
#define RIGHT_ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

#define ABOUT_ALL REQUEST_ABOUT_ALL
#define ABOUT_SOME REQUEST_ABOUT_SOME
#define ABOUT_UNITS REQUEST_ABOUT_UNITS
#define ABOUT_GROUP REQUEST_ABOUT_GROUP
#define IN_QUEUE (REQUEST_RULED | REQUEST_LIMITED | REQUEST_CAN_BE_HELD)

#define IS(kind) ARGOSY__REQUEST__WHAT_##kind

// The columns of a job: what it is called, always or by its content; what the queue means for it; whether it
// only asks, ends something, goes on when the log has it; by what it is known again.
//
// Indexed by the number of the field; numbers that no field has are rows without a name.
static const RequestKind kinds[] = {
        [IS(VERSION)] = {"version", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_NONE},
        [IS(COUNTERS)] = {"counters", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},
        [IS(CLUSTER_JOIN)] = {"cluster_join", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [IS(CLUSTER_LEAVE)] = {"cluster_leave", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [IS(CLUSTER_PEERS)] = {"cluster_peers", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [IS(MANAGER_ATTACH)] = {"manager_attach", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [IS(MANAGER_DETACH)] = {"manager_detach", REQUEST_BY_DAEMON, REQUEST_CHANGES, false, RIGHT_ADMIN},
        [IS(MANAGER_LIST)] = {"manager_list", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},

        [IS(HTTP_CERTIFICATE)] = {"http_certificate", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_NONE},
        [IS(LOCAL_UNITS)] = {"local_units", REQUEST_BY_DAEMON, REQUEST_READS, false, RIGHT_VIEW},
        [IS(LOCAL_STOP)] = {"local_stop", REQUEST_BY_AGENT, REQUEST_CHANGES, false, RIGHT_OPERATE},

        [IS(STATUS)] = {"status", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, ABOUT_UNITS,
                        .unit = unit_of_status, .node = no_node},
        [IS(JOURNAL)] = {"journal", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, ABOUT_UNITS,
                         .unit = unit_of_journal, .node = node_of_journal},
        [IS(TOP)] = {"top", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_VIEW, ABOUT_SOME,
                     .node = node_of_top},
        // It names units that need not be there, and tells nothing of those that are.
        [IS(VERIFY)] = {"verify", REQUEST_BY_NODES, REQUEST_READS, true, RIGHT_DEPLOY, ABOUT_SOME,
                        .node = node_of_verify},

        [IS(LIST_UNITS)] = {"list_units", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_SOME},
        [IS(LIST_UNIT_FILES)] = {"list_unit_files", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW,
                                 ABOUT_SOME},
        [IS(LIST_NODES)] = {"list_nodes", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_ALL},
        [IS(CAT)] = {"cat", REQUEST_BY_LEADER, REQUEST_READS, true, RIGHT_VIEW, ABOUT_UNITS,
                     .unit = unit_of_cat},
        [IS(WHY)] = {"why", REQUEST_BY_LEADER, REQUEST_READS, true, RIGHT_VIEW, ABOUT_UNITS,
                     .unit = unit_of_why},
        // This stands for itself: clients ask for the feature level.
        [IS(CLUSTER_STATUS)] = {"cluster_status", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW,
                                ABOUT_SOME},
        [IS(ROLE_LIST)] = {"role_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_ALL},
        [IS(POOL_LIST)] = {"pool_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_ALL},
        [IS(LIST_JOBS)] = {"list_jobs", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_SOME},

        [IS(WAIT)] = {"wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW, ABOUT_UNITS,
                      .unit = unit_of_wait},
        [IS(DRAIN_WAIT)] = {"drain_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW, ABOUT_ALL},
        [IS(ROLLOUT_WAIT)] = {"rollout_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW,
                              ABOUT_GROUP, .unit = unit_of_rollout_wait},
        [IS(MANAGER_WAIT)] = {"manager_wait", REQUEST_BY_LEADER, REQUEST_WAITS, false, RIGHT_VIEW,
                              ABOUT_ALL},
        [IS(JOB_WAIT)] = {"job_wait", REQUEST_BY_LEADER, REQUEST_WAITS, true, RIGHT_VIEW, ABOUT_SOME},

        [IS(EVENTS)] = {"events", REQUEST_BY_LEADER, REQUEST_WAITS, false, RIGHT_VIEW, ABOUT_SOME},

        [IS(CHANGE)] = {"change", REQUEST_BY_LEADER, REQUEST_CHANGES, true, RIGHT_OPERATE, ABOUT_UNITS,
                        .unit = unit_of_change,
                        .job = {NULL, verb_of_change, IN_QUEUE, asks_change, never, change_runs,
                                id_of_change}},
        [IS(APPLY)] = {"apply", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY, ABOUT_ALL,
                       .job = {"apply", NULL, IN_QUEUE, asks_apply, never, always, id_of_job}},
        [IS(UNDO)] = {"undo", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY, ABOUT_ALL,
                      .job = {"undo", NULL, IN_QUEUE, asks_undo, never, always, id_of_job}},
        [IS(FORGET)] = {"forget", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY, ABOUT_ALL,
                        .job = {"history forget", NULL, IN_QUEUE, never, never, never, id_of_job, true}},
        [IS(NODE_CHANGE)] = {"node_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                             ABOUT_ALL,
                             .job = {NULL, verb_of_node_change, IN_QUEUE, never, never, node_change_runs,
                                     id_of_job}},
        [IS(LABEL_CHANGE)] = {"label_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                              ABOUT_ALL, .job = {"label", NULL, IN_QUEUE, never, never, never, id_of_job}},
        [IS(ROLE_CHANGE)] = {"role_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                             ABOUT_ALL,
                             .job = {NULL, verb_of_role_change, IN_QUEUE, never, never, never, id_of_job}},
        [IS(POOL_CHANGE)] = {"pool_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                             ABOUT_ALL,
                             .job = {NULL, verb_of_pool_change, IN_QUEUE, never, never, never, id_of_job}},
        [IS(ROLLOUT)] = {"rollout", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE, ABOUT_GROUP,
                         .unit = unit_of_rollout,
                         .job = {NULL, verb_of_rollout, IN_QUEUE, never, rollout_ends, rollout_runs,
                                 id_of_rollout}},
        // There is one at a time. The log knows the id of one that it has held back; another one goes on as
        // long as somebody asks.
        [IS(REBALANCE)] = {"rebalance", REQUEST_BY_LEADER, REQUEST_CHANGES, true, RIGHT_OPERATE, ABOUT_ALL,
                           .job = {NULL, verb_of_rebalance, IN_QUEUE, asks_rebalance, rebalance_ends,
                                   rebalance_runs, id_of_rebalance, .moves = "rebalance"}},
        // The answer has the token, so this and TOKEN_CREATE are never held.
        [IS(CLUSTER_TOKEN)] = {"cluster_token", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                               ABOUT_ALL,
                               .job = {"cluster token", NULL, REQUEST_RULED | REQUEST_LIMITED, never, never,
                                       never, no_id, true}},
        [IS(CLUSTER_REMOVE)] = {"cluster_remove", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                                ABOUT_ALL,
                                .job = {"cluster remove", NULL, IN_QUEUE, never, never, never, id_of_job,
                                        .moves = "cluster remove"}},
        [IS(CLUSTER_ROLE)] = {"cluster_role", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                              ABOUT_ALL,
                              .job = {NULL, verb_of_cluster_role, IN_QUEUE, never, never, never, id_of_job}},
        [IS(CLUSTER_VOTERS)] = {"cluster_voters", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                                ABOUT_ALL,
                                .job = {"cluster voters", NULL, IN_QUEUE, never, never, never, id_of_job}},
        [IS(CLUSTER_ROTATE_CA)] = {"cluster_rotate_ca", REQUEST_BY_LEADER, REQUEST_CHANGES, false,
                                   RIGHT_ADMIN, ABOUT_ALL,
                                   .job = {"cluster rotate-ca", NULL, IN_QUEUE, never, never, never,
                                           id_of_job, true}},
        // A closed queue is no reason to leave the dates wrong.
        [IS(CLUSTER_SET_TIME)] = {"cluster_set_time", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                                  ABOUT_ALL,
                                  .job = {"cluster set-time", NULL, REQUEST_PAST_QUEUE, never, never, never,
                                          id_of_job}},
        [IS(JOIN)] = {"join", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN, ABOUT_ALL,
                      .job = {"cluster join", NULL, REQUEST_PAST_QUEUE, never, never, never, id_of_job}},
        [IS(ACCESS_CHANGE)] = {"access_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                               ABOUT_ALL,
                               .job = {NULL, verb_of_access_change, REQUEST_RULED | REQUEST_CAN_BE_HELD,
                                       never, never, never, id_of_job}},
        [IS(QUEUE_CHANGE)] = {"queue_change", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                              ABOUT_ALL,
                              .job = {NULL, verb_of_queue_change, REQUEST_PAST_QUEUE, never, never, never,
                                      id_of_job}},
        [IS(QUEUE_LIST)] = {"queue_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_ALL},
        // Each is judged by what its jobs hold.
        [IS(JOB_CANCEL)] = {"job_cancel", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE,
                            ABOUT_SOME,
                            .job = {"job cancel", NULL, REQUEST_PAST_QUEUE, never, never, never, id_of_job}},
        [IS(JOB_RELEASE)] = {"job_release", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_OPERATE,
                             ABOUT_SOME,
                             .job = {"job release", NULL, REQUEST_PAST_QUEUE, never, never, never,
                                     id_of_job}},
        [IS(TOKEN_CREATE)] = {"token_create", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                              ABOUT_ALL,
                              .job = {"token create", NULL, REQUEST_RULED | REQUEST_LIMITED, never, never,
                                      never, id_of_job}},
        // At once.
        [IS(TOKEN_REVOKE)] = {"token_revoke", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_ADMIN,
                              ABOUT_ALL,
                              .job = {"token revoke", NULL, REQUEST_PAST_QUEUE, never, never, never,
                                      id_of_job}},
        [IS(TOKEN_LIST)] = {"token_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_ADMIN, ABOUT_ALL},
        // The log keeps what is held back as it came, and this must not be there.
        [IS(SECRET_SET)] = {"secret_set", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY, ABOUT_ALL,
                            .job = {"secret set", NULL, REQUEST_RULED | REQUEST_LIMITED, never, never, never,
                                    id_of_job}},
        [IS(SECRET_DELETE)] = {"secret_delete", REQUEST_BY_LEADER, REQUEST_CHANGES, false, RIGHT_DEPLOY,
                               ABOUT_ALL,
                               .job = {"secret delete", NULL, IN_QUEUE, never, never, never, id_of_job}},
        [IS(SECRET_ROTATE_KEY)] = {"secret_rotate_key", REQUEST_BY_LEADER, REQUEST_CHANGES, false,
                                   RIGHT_ADMIN, ABOUT_ALL,
                                   .job = {"secret rotate-key", NULL, IN_QUEUE, never, never, never,
                                           id_of_job, true}},
        [IS(SECRET_LIST)] = {"secret_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_VIEW, ABOUT_ALL},
        [IS(RIGHT_CHECK)] = {"right_check", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_NONE, ABOUT_ALL},
        [IS(ACCESS_LIST)] = {"access_list", REQUEST_BY_LEADER, REQUEST_READS, false, RIGHT_NONE, ABOUT_ALL},
};

const RequestKind *request_kind(Argosy__Request__WhatCase what) {
        size_t i = (size_t) what;

        return i < ELEMENTSOF(kinds) && kinds[i].name ? &kinds[i] : NULL;
}

const RequestJob *request_job(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind && kind->job.id ? &kind->job : NULL;
}

bool request_job_runs(const Argosy__Request *q) {
        const RequestJob *job = request_job(q);

        return job && job->runs(q);
}

const ProtobufCBinaryData *request_job_id(const Argosy__Request *q) {
        const RequestJob *job = request_job(q);
        const ProtobufCBinaryData *id = job ? job->id(q) : NULL;

        return id && id->len == REQUEST_JOB_ID_SIZE ? id : NULL;
}

// What is asked of each job by its verb, without a look at all rows: most are of numbers that no field has.
// A test compares.
static const struct {
        const char *verb;
        // called after its message, and does not go on: one entry and over with that, so nobody asks for it
        bool never_runs;
        bool only_moves;
} verbs[] = {
        {"cluster join", .never_runs = true},
        {"cluster remove", .never_runs = true, .only_moves = true},
        {"cluster rotate-ca", .never_runs = true},
        {"cluster set-time", .never_runs = true},
        {"cluster token", .never_runs = true},
        {"cluster voters", .never_runs = true},
        {"history forget", .never_runs = true},
        {"job cancel", .never_runs = true},
        {"job release", .never_runs = true},
        {"label", .never_runs = true},
        {"rebalance", .only_moves = true},
        {"secret delete", .never_runs = true},
        {"secret rotate-key", .never_runs = true},
        {"secret set", .never_runs = true},
        {"token create", .never_runs = true},
        {"token revoke", .never_runs = true},
}; // in their order

static int compare_verb(const void *key, const void *row) {
        return strcmp(key, *(const char *const *) row);
}

static size_t find_verb(const char *verb) {
        const void *row = bsearch(verb, verbs, ELEMENTSOF(verbs), sizeof(verbs[0]), compare_verb);

        return row ? (size_t) ((const char *) row - (const char *) verbs) / sizeof(verbs[0])
                   : ELEMENTSOF(verbs);
}

bool request_verb_never_runs(const char *verb) {
        size_t i = find_verb(verb);

        return i < ELEMENTSOF(verbs) && verbs[i].never_runs;
}

bool request_verb_only_moves(const char *verb) {
        size_t i = find_verb(verb);

        return i < ELEMENTSOF(verbs) && verbs[i].only_moves;
}

// On a node that is named a journal may be that of the host's own unit of that name, and a content that is
// asked for by its hash may be anybody's.
RequestAbout request_about(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        if ((q->what_case == ARGOSY__REQUEST__WHAT_JOURNAL && *q->journal->node) ||
            (q->what_case == ARGOSY__REQUEST__WHAT_CAT && q->cat->n_revs > 0))
                return REQUEST_ABOUT_ALL;
        return kind && kind->about ? kind->about : REQUEST_ABOUT_ALL;
}

const char *request_unit(const Argosy__Request *q, size_t i) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind && kind->unit ? kind->unit(q, i) : NULL;
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
        return m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART && !m->file && !m->abort ? RIGHT_OPERATE
                                                                                         : RIGHT_DEPLOY;
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
