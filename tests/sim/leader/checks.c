// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of checks.h, and when they are looked at. Checks themselves are in checks-*.c.
#include "checks.h"

#include "checks-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "test.h"
#include "world.h"

const Check checks[] = {
        // The first: others look at what it has read.
        {"records-are-the-log", "Records of units are what the log has put.", "an entry touched a unit", NULL,
                .begin = log_begin, .on_entry = log_on_entry, .end = log_end},
        {"voters-are-equal", "All voters' states are equal at an equal index.", "an entry was applied", NULL,
                .begin = voters_begin, .on_entry = voters_on_entry, .on_calm = voters_on_calm, .end = voters_end},
        {"counters-only-grow", "Revisions and the log's time never go back.", "an entry raised the revision", NULL, .on_entry = counters_on_entry},
        {"entry-within-limits", "Every limit is judged before the entry is made.", "an entry had several operations", NULL, .on_entry = limits_on_entry},

        {"acknowledged-is-kept", "An acknowledged request is in the log before it is acknowledged.", "a change was acknowledged", NULL,
                .on_answer = acknowledged_on_answer},
        {"acknowledged-once", "An acknowledged request is never applied twice.", "a request was acknowledged again", NULL, .on_answer = once_on_answer},
        {"refused-is-undone", "What was refused has changed nothing.", "a change was refused", NULL, .on_answer = refused_on_answer, .on_entry = refused_on_entry},
        {"author-is-whoever-asked", "A job is of whoever asked for it.", "a job was acknowledged", NULL, .on_answer = author_on_answer},

        {"one-place", "A unit runs on the node that the log names, and nowhere else.", "a unit was to run", NULL, .on_calm = one_place_on_calm},
};
const unsigned n_checks = ELEMENTSOF(checks);

uint64_t check_premises[CHECKS_MAX];

void check_premise(const Check *c) {
        check_premises[c - checks]++;
}

const Check *check_find(const char *name) {
        for (unsigned i = 0; i < n_checks; i++)
                if (streq(checks[i].name, name))
                        return &checks[i];
        return NULL;
}

#define EACH_CHECK(moment, ...)                         \
        do {                                            \
                for (unsigned i = 0; i < n_checks; i++) \
                        if (checks[i].moment)           \
                                checks[i].moment(__VA_ARGS__); \
        } while (0)

void checks_begin(void) {
        EACH_CHECK(begin);
}

void checks_on_entry(const uint8_t *entry, size_t len) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, entry);

        assert_non_null(batch);
        EACH_CHECK(on_entry, batch);
        message_free(batch);
}

// While it is asked its answer is not known yet: then it is the newest.
static const WorldAsked *find_asked(const RigAnswer *answer) {
        for (size_t i = world.n_asked; i > 0; i--)
                if (world.asked[i - 1].answer == answer)
                        return &world.asked[i - 1];
        return world.n_asked > 0 && !world.asked[world.n_asked - 1].answer ? &world.asked[world.n_asked - 1] : NULL;
}

void checks_on_answer(const RigAnswer *answer, const Argosy__Response *response) {
        const WorldAsked *asked = find_asked(answer);

        if (asked)
                EACH_CHECK(on_answer, asked, response);
}

void checks_on_order(uint32_t host, const Argosy__ToHost *m) {
        EACH_CHECK(on_order, host, m);
}

void checks_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        EACH_CHECK(on_heard, host, m);
}

void checks_on_settled(void) {
        EACH_CHECK(on_settled);
}

void checks_on_calm(void) {
        EACH_CHECK(on_calm);
}

void checks_on_end(void) {
        EACH_CHECK(on_end);
}

void checks_end(void) {
        EACH_CHECK(end);
}
