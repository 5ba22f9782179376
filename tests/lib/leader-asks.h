// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What tests of the leader ask of it, beside the changes of units in leader-rig.h. All of these let
// everything happen that happens without time passing (rig_settle), and return an answer that is kept until
// the rig is stopped.

#include "leader-rig.h"
#include "messages.h"
#include "test.h"

// The newest response, which must have come.
static inline const Argosy__Response *rig_last(const RigAnswer *a) {
        assert_true(a->n > 0);
        return a->responses[a->n - 1];
}

// It is answered for good, with that status.
#define assert_final(answer, expected_status)                                   \
        do {                                                                    \
                const RigAnswer *final_ = (answer);                             \
                                                                                \
                assert_true(final_->final);                                     \
                assert_int_equal(rig_last(final_)->status, (expected_status));  \
        } while (0)

static inline RigAnswer *rig_ask_and_settle(Rig *g, const Argosy__Request *request) {
        RigAnswer *a = rig_ask(g, request);

        rig_settle(g);
        return a;
}

static inline void rig_make_role(Rig *g, const char *name) {
        Argosy__Request__RoleChange role = MESSAGE_OF(request__role_change, .name = (char *) name);
        Argosy__Request request = REQUEST_OF(ROLE_CHANGE, role_change, &role);

        assert_int_equal(rig_last(rig_ask_and_settle(g, &request))->status, 0);
}

// deadline_sec 0: none.
static inline RigAnswer *rig_set_mode(Rig *g, const char *node, Argosy__NodeMode mode, unsigned deadline_sec,
                                      const char *reason) {
        Argosy__Request__NodeChange change =
                MESSAGE_OF(request__node_change, .nodes = (char **) &node, .n_nodes = 1, .mode = mode,
                           .deadline_sec = deadline_sec, .reason = (char *) reason);
        Argosy__Request request = REQUEST_OF(NODE_CHANGE, node_change, &change);

        return rig_ask_and_settle(g, &request);
}

// Instances of one template, PREFIX@0.service and so on, in one request; `content` NULL: no file.
static inline RigAnswer *rig_change_many(Rig *g, Argosy__Verb verb, const char *prefix, unsigned n,
                                         const char *content) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char **names = calloc(n, sizeof(*names)), template[64];
        uint64_t id[2] = {++g->id, 77};

        assert_non_null(names);
        for (unsigned i = 0; i < n; i++)
                assert_true(asprintf(&names[i], "%s@%u.service", prefix, i) > 0);
        snprintf(template, sizeof(template), "%s@.service", prefix);
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = verb;
        change.names = names;
        change.n_names = n;
        file.name = file.path = template;
        file.content =
                (ProtobufCBinaryData){.data = (uint8_t *) content, .len = content ? strlen(content) : 0};
        change.files = &files;
        change.n_files = content != NULL;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        RigAnswer *a = rig_ask_and_settle(g, &request);
        for (unsigned i = 0; i < n; i++)
                free(names[i]);
        free(names);
        return a;
}

// Of one unit, whose content it replaces (NULL: no file), and which is not refused. The job.
static inline uint64_t rig_change_as_job(Rig *g, Argosy__Verb verb, const char *name, const char *content) {
        uint64_t id[2] = {++g->id, 33};
        RigAnswer *a = rig_change_with(g, verb, name, content, true, (const uint8_t *) id);

        rig_settle(g);
        assert_int_equal(rig_last(a)->status, 0);
        return rig_last(a)->job;
}

// And nothing happens yet.
static inline RigAnswer *rig_begin_job_cancel(Rig *g, uint64_t number) {
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &number, .n_numbers = 1);
        Argosy__Request request = REQUEST_OF(JOB_CANCEL, job_cancel, &m);

        return rig_ask(g, &request);
}

static inline RigAnswer *rig_job_cancel(Rig *g, uint64_t number) {
        RigAnswer *a = rig_begin_job_cancel(g, number);

        rig_settle(g);
        return a;
}

typedef struct RigUndo {
        uint64_t job;
        uint64_t id; // 0: a new one
        bool preview, only_untouched, force, rolling;
        uint64_t if_revision;
} RigUndo;

// And nothing happens yet.
static inline RigAnswer *rig_begin_undo(Rig *g, RigUndo w) {
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        uint64_t id[2] = {w.id ?: ++g->id, 44};
        Argosy__Request__Undo undo = MESSAGE_OF(
                request__undo, .job = w.job, .preview = w.preview, .only_untouched = w.only_untouched,
                .force = w.force, .rolling = w.rolling, .health_us = w.rolling ? 5 * UINT64_C(1000000) : 0);

        job.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        job.if_revision = w.if_revision;
        Argosy__Request request = REQUEST_OF(UNDO, undo, &undo, .job = &job);
        return rig_ask(g, &request);
}

static inline const Argosy__Response *rig_undo(Rig *g, RigUndo w) {
        RigAnswer *a = rig_begin_undo(g, w);

        rig_settle(g);
        return rig_last(a);
}

// Of several nodes in one request.
static inline RigAnswer *rig_set_modes(Rig *g, const char *const *nodes, size_t n, Argosy__NodeMode mode) {
        Argosy__Request__NodeChange change =
                NODE_CHANGE_OF(.nodes = (char **) nodes, .n_nodes = n, .mode = mode);
        Argosy__Request request = REQUEST_OF(NODE_CHANGE, node_change, &change);

        return rig_ask_and_settle(g, &request);
}

// The same of the node of a host, nN.
static inline RigAnswer *rig_set_host_mode(Rig *g, uint32_t host, Argosy__NodeMode mode,
                                           unsigned deadline_sec) {
        char name[16];

        snprintf(name, sizeof(name), "n%u", host);
        return rig_set_mode(g, name, mode, deadline_sec, "");
}

// value NULL: takes the label away.
static inline RigAnswer *rig_label(Rig *g, const char *node, const char *key, const char *value) {
        Argosy__Label set = MESSAGE_OF(label, .key = (char *) key, .value = (char *) value), *sets = &set;
        Argosy__Request__LabelChange change = MESSAGE_OF(request__label_change, .node = (char *) node);
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        if (value) {
                change.set = &sets;
                change.n_set = 1;
        } else {
                change.unset = (char **) &key;
                change.n_unset = 1;
        }
        request.what_case = ARGOSY__REQUEST__WHAT_LABEL_CHANGE;
        request.label_change = &change;
        return rig_ask_and_settle(g, &request);
}

static inline RigAnswer *rig_list_jobs(Rig *g, const Argosy__Request__ListJobs *list) {
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, (Argosy__Request__ListJobs *) list);

        return rig_ask(g, &request);
}

// The only row of the answer about this job.
static inline const Argosy__Response__JobRow *rig_show_job(Rig *g, uint64_t number) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.number = number);
        RigAnswer *a = rig_list_jobs(g, &list);

        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_int_equal(a->responses[0]->jobs->n_rows, 1);
        return a->responses[0]->jobs->rows[0];
}

typedef struct RigRollout {
        Argosy__RolloutKind kind;
        const char *name, *content; // content NULL: no file
        unsigned max;               // 0: what the unit says
        bool percent, abort;
        unsigned health_ms;
        bool pull, unpinned;
        const char *secret; // of a restart: whoever has an older version of it; NULL: all
        uint64_t if_revision;
} RigRollout;

static inline RigAnswer *rig_begin_rollout(Rig *g, RigRollout w) {
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        uint64_t id[2] = {++g->id, 77};
        Argosy__NamedFile file =
                NAMED_FILE_OF(.name = (char *) w.name,
                              .content = (ProtobufCBinaryData){.data = (uint8_t *) w.content,
                                                               .len = w.content ? strlen(w.content) : 0},
                              .files = g->sent, .n_files = g->n_sent);
        Argosy__Request__Rollout m =
                ROLLOUT_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                           .kind = w.kind, .name = (char *) w.name, .file = w.content ? &file : NULL,
                           .max_unavailable = w.max, .percent = w.percent, .abort = w.abort, .pull = w.pull,
                           .unpinned = w.unpinned, .health_us = w.health_ms * UINT64_C(1000));

        if (w.secret)
                m.secret = (char *) w.secret;
        job.if_revision = w.if_revision;
        if (w.if_revision > 0)
                request.job = &job;
        request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        request.rollout = &m;
        return rig_ask(g, &request);
}

static inline RigAnswer *rig_rollout(Rig *g, RigRollout w) {
        RigAnswer *a = rig_begin_rollout(g, w);

        rig_settle(g);
        return a;
}

// The first response about the unit; another, empty and final, ends the answer. Never NULL.
static inline const Argosy__Response *rig_why(Rig *g, const char *unit) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);
        Argosy__Request request = REQUEST_OF(WHY, why, &why);
        RigAnswer *a = rig_ask(g, &request);

        assert_true(a->final);
        assert_true(a->n >= 2);
        return a->responses[0];
}
