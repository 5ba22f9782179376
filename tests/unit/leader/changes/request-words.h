// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A Change that is planned, applied and answered with nobody around it. Two nodes take units: 1, and 2 those
// that demand a label. One that demands nvme has no node for the moment, one with MachineID= never has one.
// Shared by the tests of requests.

#include "request.h"

#include "messages.h"
#include "response.h"
#include "test.h"
#include "unit-file.h"

#define SERVICE "[Service]\nExecStart=/bin/true\n"
#define OTHER "[Service]\nExecStart=/bin/false\n"
#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

typedef struct World {
        ClusterState *state;
        Argosy__Response *response;
        size_t n_ops; // of the last request
        int error;
        size_t n_siblings_asked;
        const ChangeOps *ops; // NULL: `ops`
} World;

static World w;

static inline int setup(void **state) {
        w = (World){.state = cluster_state_new()};
        return w.state ? 0 : -1;
}

static inline int teardown(void **state) {
        message_free(w.response);
        cluster_state_free(w.state);
        return 0;
}

static inline int on_place(const char *name, const char *activates, const UnitOptions *options,
                           const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        Argosy__Refusal **refusals = NULL;
        size_t n = 0;

        if (options->machine_id) {
                assert_int_equal(
                        FIELD_APPEND(refusals, n, refusal_new("n1", "MachineID= names another machine")), 0);
                *ret = (ChangePlace){.refusals = refusals, .n_refusals = n};
        } else if (options->n_labels && strcmp(options->labels[0].values[0], "nvme") == 0)
                *ret = (ChangePlace){.possible = true};
        else
                *ret = (ChangePlace){.node = options->n_labels ? 2 : 1, .possible = true};
        return 0;
}

static inline bool on_may_stay(uint32_t node, const UnitOptions *options, void *userdata) {
        return !options || node == (options->n_labels ? 2u : 1u);
}

// As the leader does, of "web@.service" only.
static inline int on_siblings(const char *template, SpecEntry **ret, void *userdata) {
        const UnitEntry *a = cluster_state_find_unit(w.state, "web@1.service"),
                        *b = cluster_state_find_unit(w.state, "web@2.service");

        w.n_siblings_asked++;
        assert_string_equal(template, "web@.service");
        if (a && b && a->spec != b->spec)
                return -ENOTUNIQ;
        *ret = a ? a->spec : b ? b->spec : NULL;
        return *ret ? 1 : 0;
}

static const ChangeOps ops = {.place = on_place, .may_stay = on_may_stay, .siblings = on_siblings};

static inline const char *node_name(uint32_t node, void *userdata) {
        return node == 1 ? "n1" : "n2";
}

static inline void apply(BatchBuilder *d) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, d->packed.len, d->packed.data);

        assert_non_null(batch);
        assert_int_equal(cluster_state_apply(w.state, batch), 0);
        message_free(batch);
        cluster_state_drop_dirty(w.state);
}

typedef struct File {
        const char *name, *content;
} File;

// Plans, applies, and returns the first result.
static inline const Argosy__Response__UnitResult *change_all(Argosy__Verb verb, const char *const *names,
                                                             size_t n_names, const File *files,
                                                             size_t n_files, bool replace) {
        Argosy__NamedFile sent[8], *pointers[8];
        BatchBuilder d = {};

        for (size_t i = 0; i < n_files; i++) {
                sent[i] = (Argosy__NamedFile) MESSAGE_OF(named_file, .name = (char *) files[i].name,
                                                         .path = (char *) files[i].name,
                                                         .content.data = (uint8_t *) files[i].content,
                                                         .content.len = strlen(files[i].content));
                pointers[i] = &sent[i];
        }
        Argosy__Request__Change c =
                MESSAGE_OF(request__change, .verb = verb, .names = (char **) names, .n_names = n_names,
                           .files = pointers, .n_files = n_files, .replace = replace);
        message_free(w.response);
        w.response = NULL;
        w.error = change_plan(w.state, &c, &d, w.ops ?: &ops, NULL, &w.response);
        w.n_ops = d.n_ops;
        if (w.error == 0) {
                apply(&d);
                change_complete(w.state, w.response, node_name, NULL);
        }
        batch_builder_done(&d);
        return w.response && w.response->change->n_units ? w.response->change->units[0] : NULL;
}

static inline const Argosy__Response__UnitResult *change(Argosy__Verb verb, const char *name,
                                                         const char *content) {
        File file = {name, content};

        return change_all(verb, &name, 1, &file, content ? 1 : 0, false);
}

static inline const Argosy__Response__UnitResult *replace(Argosy__Verb verb, const char *name,
                                                          const char *file_name, const char *content) {
        File file = {file_name, content};

        return change_all(verb, &name, 1, &file, 1, true);
}

#define submit(...) change(ARGOSY__VERB__VERB_SUBMIT, __VA_ARGS__)
#define load(...) change(ARGOSY__VERB__VERB_LOAD, __VA_ARGS__)
#define start(...) change(ARGOSY__VERB__VERB_START, __VA_ARGS__)
#define stop(name) change(ARGOSY__VERB__VERB_STOP, name, NULL)
#define restart(name) change(ARGOSY__VERB__VERB_RESTART, name, NULL)
#define unload(name) change(ARGOSY__VERB__VERB_UNLOAD, name, NULL)
#define destroy(name) change(ARGOSY__VERB__VERB_DESTROY, name, NULL)

static inline const Argosy__UnitRecord *record(const char *name) {
        const UnitEntry *e = cluster_state_find_unit(w.state, name);

        return e ? e->record : NULL;
}

static inline bool has_content(const char *name, const char *content) {
        const UnitEntry *e = cluster_state_find_unit(w.state, name);

        return e && e->spec->len == strlen(content) && memcmp(e->spec->content, content, e->spec->len) == 0;
}

#define REQUEST_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
