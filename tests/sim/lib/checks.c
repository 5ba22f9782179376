// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See checks.h.
#include "checks.h"

#include "asks.h"
#include "message.h"
#include "story.h"
#include "str.h"
#include "test.h"

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

bool check_texts_differ(char *a, char *b, const char **ret_a, const char **ret_b) {
        size_t begin = 0;

        if (streq(a, b))
                return false;
        for (size_t at = 0; a[at] && a[at] == b[at]; at++)
                if (a[at] == '\n')
                        begin = at + 1;
        a[begin + strcspn(a + begin, "\n")] = b[begin + strcspn(b + begin, "\n")] = 0;
        *ret_a = a + begin;
        *ret_b = b + begin;
        return true;
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

void checks_on_decided(void) {
        EACH_CHECK(on_decided);
}

void checks_on_entry(const uint8_t *entry, size_t len) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, entry);

        assert_non_null(batch);
        story_message("entry", 0, &batch->base);
        EACH_CHECK(on_entry, batch);
        message_free(batch);
}

void checks_on_answer(const WorldAsked *asked, const Argosy__Response *response) {
        story_message("answer", 0, &response->base);
        EACH_CHECK(on_answer, asked, response);
}

void checks_on_order(uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_BEAT_ACK)
                story_message("to", host, &m->base);
        EACH_CHECK(on_order, host, m);
}

void checks_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case != ARGOSY__TO_VOTER__MSG_BEAT)
                story_message("from", host, &m->base);
        EACH_CHECK(on_heard, host, m);
}

void checks_on_turn_begin(void) {
        EACH_CHECK(on_turn_begin);
}

void checks_on_turn(void) {
        EACH_CHECK(on_turn);
}

void checks_on_look(void) {
        EACH_CHECK(on_look);
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

void checks_on_finish(void) {
        EACH_CHECK(on_finish);
}

void checks_end(void) {
        EACH_CHECK(end);
}
