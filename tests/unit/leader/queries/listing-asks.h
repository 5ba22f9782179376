// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Thousands of units, of which lists are asked for, and what the leader does in each turn of the loop: how
// much of a list, and what all of it would be at that moment.

#include "answer.h"
#include "buf.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "message.h"
#include "messages.h"
#include "response.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum {
        UNITS = 2500,
        MADE_MAX = 1000, // MADE_PER_TURN
        COMPARED_MAX = 16 * MADE_MAX,
        ROWS_MAX = 2003, // GIVEN_PER_TURN, and a global unit is on three nodes
        MANY_HOSTS = 100,
        GLOBALS = 20,
        NAMED = 60, // of all units, in one question
        STALE_PARTS_MAX = 8,
        MOMENTS = 256,
        ROUNDS = 12, // of all units; and then of some
        ROUNDS_OF_SOME = 6,
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static uint64_t listed, most_listed, rows, most_rows, compared, most_compared, n_ids;
static char **asked; // patterns of the list; NULL: all units
static size_t n_asked;
static Argosy__ListFilter filter; // of pages
static char *moments[MOMENTS]; // the list as it was before and after each turn, made at once
static size_t n_moments;
static bool looks; // whether these are kept
static bool hosts_change; // in each turn

// ---- asking

static inline RigAnswer *change(Argosy__Verb verb, char **which, size_t n) {
        uint64_t words[2] = {++n_ids, 78};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change,
                           .id = (ProtobufCBinaryData){.data = (uint8_t *) words, .len = sizeof(words)},
                           .verb = verb, .names = which, .n_names = n);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &change));
}

static inline RigAnswer *list(bool parts) {
        Argosy__Request__ListUnits list =
                MESSAGE_OF(request__list_units, .parts = parts, .patterns = asked, .n_patterns = n_asked);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS, .list_units = &list);

        return rig_ask(&g, &request);
}

static inline void on_stale(const Argosy__Response *response, void *userdata) {
        RigAnswer *a = userdata;

        assert_false(a->final);
        assert_true(response->no_leader || response->status != 0);
        assert_true(a->n < STALE_PARTS_MAX);
        a->responses[a->n++] = message_copy(response);
        a->final = response->final;
}

// Of a voter that does not lead.
static inline void list_stale(RigAnswer *a) {
        static Argosy__Response *responses[STALE_PARTS_MAX];
        Argosy__Request__ListUnits list = MESSAGE_OF(request__list_units, .parts = true);

        *a = (RigAnswer){.rig = &g, .responses = responses};
        leader_answer_stale(g.leader, NULL, A_REQUEST(LIST_UNITS, list_units, &list), on_stale, a,
                            &a->cancel);
}

static inline void forget_stale(RigAnswer *a) {
        while (a->n > 0)
                message_free(a->responses[--a->n]);
}

static inline void ask_for(char **patterns, size_t n) {
        asked = patterns;
        n_asked = n;
}

// ---- looking

enum { FORWARDS = 4 };

static unsigned n_parts[FORWARDS]; // by id
static bool is_over[FORWARDS];

static inline void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_FORWARD_REPLY)
                return;
        assert_int_equal(m->forward_reply->response->status, 0);
        n_parts[m->forward_reply->id]++;
        is_over[m->forward_reply->id] = m->forward_reply->response->final;
}

static inline void append_rows(Buf *text, const Argosy__Response__Units *units) {
        for (size_t i = 0; i < units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = units->rows[i];

                assert_int_equal(buf_printf(text, "%s %s %s %s %s %s\n", row->unit, row->node, row->load,
                                            row->active, row->sub, row->error),
                                 0);
        }
}

static inline char *text_at_once(void) {
        Argosy__Request__ListUnits list =
                MESSAGE_OF(request__list_units, .patterns = asked, .n_patterns = n_asked);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS, .list_units = &list);
        _cleanup_response_ Argosy__Response *r = NULL;
        _cleanup_buf_ Buf text = {};

        r = answer_units(g.leader, &request);
        assert_non_null(r);
        append_rows(&text, r->units);
        return buf_take_string(&text);
}

static inline char *text_of(const RigAnswer *a) {
        _cleanup_buf_ Buf text = {};
        size_t n = 0;

        for (size_t i = 0; i < a->n; i++) {
                assert_int_equal(a->responses[i]->status, 0);
                assert_int_equal(a->responses[i]->final, i + 1 == a->n);
                assert_int_equal(a->responses[i]->units->first, n);
                append_rows(&text, a->responses[i]->units);
                n += a->responses[i]->units->n_rows;
        }
        return buf_take_string(&text);
}

static inline void keep_moment(void) {
        if (looks && n_moments < MOMENTS)
                moments[n_moments++] = text_at_once();
}

// In the middle of a turn, when the leader has done its part: a list of some names is made in one.
static inline void on_voter_message(Rig *rig, uint32_t host, const Argosy__ToVoter *m) {
        if (n_asked > 0 || filter.limit > 0)
                keep_moment();
}

// What was done since the last call.
static inline uint64_t since(uint64_t *counted, uint64_t now) {
        uint64_t n = now - *counted;

        *counted = now;
        return n;
}

static inline void on_turn(Rig *rig) {
        uint64_t n_listed = since(&listed, rig->leader->n_listed),
                 n_rows = since(&rows, rig->leader->n_listed_rows),
                 n_compared = since(&compared, rig->leader->n_compared);

        most_listed = MAX_OF(most_listed, n_listed);
        most_rows = MAX_OF(most_rows, n_rows);
        most_compared = MAX_OF(most_compared, n_compared);
        rig->leader->n_host_changes += hosts_change;
        keep_moment();
}

static inline void count_from_here(void) {
        g.on_turn = on_turn;
        g.on_voter_message = on_voter_message;
        listed = g.leader->n_listed;
        rows = g.leader->n_listed_rows;
        compared = g.leader->n_compared;
        most_listed = most_rows = most_compared = 0;
}

static inline void forget_moments(void) {
        while (n_moments > 0)
                free(moments[--n_moments]);
        looks = false;
}

static inline bool was_a_moment(const char *text) {
        for (size_t i = 0; i < n_moments; i++)
                if (streq(moments[i], text))
                        return true;
        return false;
}

static inline void finish(const RigAnswer *a) {
        for (unsigned i = 0; i < 200 && !a->final; i++)
                rig_turn(&g);
        assert_true(a->final);
}

static inline int setup(void **state) {
        rig_start(&g, 3);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", SERVICE)->status, 0);
        assert_int_equal(rig_change(&g, START, "all.service", GLOBAL)->status, 0);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i);
                pointers[i] = names[i];
        }
        RigAnswer *a = change(START, pointers, UNITS);
        rig_settle(&g);
        assert_true(a->final);
        count_from_here();
        ask_for(NULL, 0);
        memset(n_parts, 0, sizeof(n_parts));
        memset(is_over, 0, sizeof(is_over));
        filter = (Argosy__ListFilter) ARGOSY__LIST_FILTER__INIT;
        return 0;
}

FIXTURE(teardown) {
        hosts_change = false;
        forget_moments();
        rig_stop(&g);
}

// What happens to a few of them while the list is made, another thing in each turn.
static inline void meddle(unsigned round) {
        char **one = &pointers[(size_t) rand() % UNITS], **tenth = &pointers[(size_t) rand() % (UNITS - 10)];
        VirtualUnit *u;

        switch (round % 6) {
        case 0:
                (void) change(STOP, one, 1);
                break;
        case 1:
                (void) change(DESTROY, tenth, 10);
                break;
        case 2:
                for (uint32_t h = 1; h <= 3; h++)
                        if ((u = rig_unit_on(&g, h, *one)))
                                rig_host_report(&g, rig_host(&g, h), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                                                0);
                break;
        case 3:
                (void) change(START, tenth, 10);
                break;
        case 4:
                rig_host_on(&g, 2, false); // its link is a new one
                break;
        default:
                if (rig_host(&g, 3)->up)
                        rig_host_off(&g, 3);
                else
                        rig_host_on(&g, 3, false);
                break;
        }
}

#define LIST_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
