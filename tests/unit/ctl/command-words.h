// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whole commands against a daemon that plays a script: run() says how a command line ended and what it
// printed; the rest is what scripts say.

#include <assert.h>
#include <stdlib.h>

#include "test.h"

#include "ctl-main.h"
#include "fake-daemon.h"
#include "messages.h"
#include "str.h"

enum { WORDS_MAX = 16 };

typedef struct Outcome {
        int code;
        char *out, *err;
} Outcome;

static inline void outcome_done(Outcome *o) {
        free(o->out);
        free(o->err);
}

#define _cleanup_outcome_ _cleanup_(outcome_done)

static inline Outcome run_at(const char *path, const char *line) {
        char copy[256], *save = NULL, *argv[WORDS_MAX] = {(char *) "argosyctl"};
        size_t out_size, err_size;
        FILE *out, *err;
        Outcome o = {};
        int argc = 1;

        snprintf(copy, sizeof(copy), "%s", line);
        for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
                argv[argc++] = w;
        setenv("ARGOSY_SOCKET", path, 1);
        out = open_memstream(&o.out, &out_size);
        err = open_memstream(&o.err, &err_size);
        o.code = ctl_main(argc, argv, out, err);
        fclose(out);
        fclose(err);
        return o;
}

static inline Outcome run(FakeScript script, const char *line) {
        FakeDaemon d;

        fake_daemon_start(&d, script);
        Outcome o = run_at(d.path, line);
        fake_daemon_stop(&d);
        return o;
}

// How a command ended, and what it printed: all of it, all of one stream (prints: output; warns: errors), or
// words that are in that.
#define assert_ended(o, exit_code, all_out, all_err)       \
        do {                                               \
                assert_int_equal((o).code, (exit_code));   \
                assert_string_equal((o).out, (all_out));   \
                assert_string_equal((o).err, (all_err));   \
        } while (0)
#define assert_prints(o, exit_code, all_out)               \
        do {                                               \
                assert_int_equal((o).code, (exit_code));   \
                assert_string_equal((o).out, (all_out));   \
        } while (0)
#define assert_warns(o, exit_code, all_err)                \
        do {                                               \
                assert_int_equal((o).code, (exit_code));   \
                assert_string_equal((o).err, (all_err));   \
        } while (0)
#define assert_prints_also(o, exit_code, words)            \
        do {                                               \
                assert_int_equal((o).code, (exit_code));   \
                assert_non_null(strstr((o).out, (words))); \
        } while (0)
#define assert_warns_of(o, exit_code, words)               \
        do {                                               \
                assert_int_equal((o).code, (exit_code));   \
                assert_non_null(strstr((o).err, (words))); \
        } while (0)

typedef struct Result {
        const char *name;
        int status;
        const char *message;
        uint64_t revision;
        const char *node;
        char *may_run_on; // NULL: nowhere
} Result;

enum { RESULTS_MAX = 4 };

static inline size_t fill(const Result *results, Argosy__Response__UnitResult *units,
                   Argosy__Response__UnitResult **pointers) {
        size_t n = 0;

        for (; results[n].name; n++) {
                assert(n < RESULTS_MAX);
                units[n] = (Argosy__Response__UnitResult)
                        UNIT_RESULT_OF(.name = (char *) results[n].name, .status = results[n].status,
                                       .message = (char *) (results[n].message ?: ""),
                                       .revision = results[n].revision,
                                       .node = (char *) (results[n].node ?: ""),
                                       .may_run_on = (char **) &results[n].may_run_on,
                                       .n_may_run_on = results[n].may_run_on != NULL);
                pointers[n] = &units[n];
        }
        return n;
}

// A part of the answer, from the name of that number on.
static inline void reply_change_part(FakeDaemon *d, const Result *results, uint32_t first, bool final) {
        Argosy__Response__UnitResult units[RESULTS_MAX], *pointers[RESULTS_MAX];
        Argosy__Response__Change change =
                MESSAGE_OF(response__change, .n_units = fill(results, units, pointers), .units = pointers,
                           .first = first);

        fake_reply(d, A_RESPONSE(CHANGE, change, &change, .final = final));
}

static inline void reply_change(FakeDaemon *d, const Result *results) {
        reply_change_part(d, results, 0, true);
}

static inline void reply_progress(FakeDaemon *d, const Result *results, bool final) {
        Argosy__Response__UnitResult units[RESULTS_MAX], *pointers[RESULTS_MAX];
        Argosy__Response__Progress progress =
                MESSAGE_OF(response__progress, .n_done = fill(results, units, pointers), .done = pointers);

        fake_reply(d, A_RESPONSE(PROGRESS, progress, &progress, .final = final));
}

static inline void reply_error(FakeDaemon *d, int status, const char *message, bool no_leader) {
        fake_reply(d, A_RESPONSE_WITH(.final = true, .status = status, .message = (char *) message,
                                      .no_leader = no_leader));
}

// The next request must be a Change with this verb; its id is kept in the script's memory.
static inline Argosy__Request *read_change(FakeDaemon *d, Argosy__Verb verb) {
        Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CHANGE);
        assert(q->change->verb == verb);
        assert(q->change->id.len == 16);
        memcpy(d->memory, q->change->id.data, 16);
        return q;
}

static inline void done(Argosy__Request *q) {
        argosy__request__free_unpacked(q, NULL);
}
DEFINE_CLEANUP(Argosy__Request *, done)
#define _cleanup_request_ _cleanup_(donep)

// The next request must be a Wait for exactly these units and revisions.
static inline void expect_wait(FakeDaemon *d, Argosy__Verb verb, const Result *items) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        size_t n = 0;

        assert(q->what_case == ARGOSY__REQUEST__WHAT_WAIT && q->wait->verb == verb);
        for (; items[n].name; n++) {
                assert(n < q->wait->n_items);
                assert(streq(q->wait->items[n]->name, items[n].name));
                assert(q->wait->items[n]->revision == items[n].revision);
        }
        assert(n == q->wait->n_items);
}

#define RESULTS(...) ((const Result[]){__VA_ARGS__, {}})

static inline void reply_left(FakeDaemon *d, uint32_t remaining, const char *message, bool final) {
        Argosy__Response__Progress progress = MESSAGE_OF(response__progress, .remaining = remaining);

        fake_reply(d, A_RESPONSE_WITH(.final = final, .message = (char *) message,
                                      .what_case = ARGOSY__RESPONSE__WHAT_PROGRESS, .progress = &progress));
}
