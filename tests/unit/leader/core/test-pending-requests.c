// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is said to whoever asked: the outbox of one turn, and what the waits for units cost. Nothing else of
// the leader runs.
#include "test.h"

#include "leader-tables.h"
#include "messages.h"
#include "registry.h"
#include "response.h"
#include "pending-requests.h"
#include "waiters.h"

enum { CLIENTS = 100 };

static Tables t;

typedef struct Client {
        PendingRequest *pending;
        uint64_t id;
        struct Client *cancels; // another one, as soon as this one is told anything
        unsigned n_reported;
        int status;
        bool final;
} Client;

static Client clients[CLIENTS];
static char order[8 * CLIENTS]; // numbers of those who were told

FIXTURE(setup) {
        memset(clients, 0, sizeof(clients));
        order[0] = '\0';
        tables_start(&t, 1);
}

FIXTURE(teardown) {
        tables_stop(&t);
}

static void on_response(const Argosy__Response *response, void *userdata) {
        Client *c = userdata;
        size_t len = strlen(order);

        assert_false(c->final);
        c->n_reported++;
        c->status = response->status;
        c->final = response->final;
        snprintf(order + len, sizeof(order) - len, "%td%s ", c - clients, c->final ? "." : "");
        if (c->cancels) {
                c->cancels->final = true;
                leader_cancel(t.leader, c->cancels->id);
        }
}

static Client *ask(size_t i, const Argosy__Request *request) {
        clients[i].pending = request_new(t.leader, request, on_response, &clients[i]);
        assert_non_null(clients[i].pending);
        clients[i].id = clients[i].pending->id;
        return &clients[i];
}

static Client *ask_anything(size_t i) {
        const Argosy__Request request = ARGOSY__REQUEST__INIT;

        return ask(i, &request);
}

static Argosy__Response *word(void) {
        return response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);
}

// ---- the outbox

static void what_is_said_goes_out_at_the_end_of_the_turn_and_the_last_word_is_final(void **state) {
        Client *a = ask_anything(0), *b = ask_anything(1);

        request_send(a->pending, word());
        request_send(b->pending, word());
        request_send(a->pending, word());
        request_end(a->pending);
        assert_string_equal(order, "");
        responses_flush(t.leader);
        assert_string_equal(order, "0 0. 1 ");
        request_settle(b->pending, response_error(EIO, "it failed"));
        responses_flush(t.leader);
        assert_string_equal(order, "0 0. 1 1. ");
        assert_int_equal(b->status, EIO);
}

static void an_error_in_the_middle_is_not_the_last_word(void **state) {
        Client *a = ask_anything(0);

        request_send(a->pending, response_error(ENOENT, "no such unit"));
        request_send(a->pending, word());
        responses_flush(t.leader);
        assert_string_equal(order, "0 0 ");
        request_free(a->pending);
}

static void who_is_told_may_cancel_anybody(void **state) {
        for (size_t i = 0; i < 4; i++) {
                ask_anything(i);
                request_send(clients[i].pending, word());
                request_settle(clients[i].pending, word());
        }
        clients[0].cancels = &clients[1];
        clients[2].cancels = &clients[2];
        responses_flush(t.leader);
        assert_string_equal(order, "0 0. 2 3 3. ");
}

static void who_fails_hears_nothing_that_was_to_be_said_before(void **state) {
        Client *a = ask_anything(0), *b = ask_anything(1);

        request_send(a->pending, word());
        request_fail(a->pending, response_error(EAGAIN, "this host does not lead any more"));
        request_settle(b->pending, word());
        request_fail(b->pending, response_error(EAGAIN, "this host does not lead any more"));
        responses_flush(t.leader);
        assert_string_equal(order, "0. 1. ");
        assert_true(a->status == EAGAIN && b->status == EAGAIN);
}

static void without_memory_for_an_answer_that_is_the_answer(void **state) {
        Client *a = ask_anything(0);

        request_send(a->pending, word());
        request_send(a->pending, NULL);
        request_send(a->pending, word()); // nobody knows yet that it has ended
        responses_flush(t.leader);
        assert_string_equal(order, "0. ");
        assert_int_equal(a->status, ENOMEM);
}

// ---- waits for units

static Client *wait_for(size_t i, const char *unit) {
        Argosy__Request__Wait__Item item = MESSAGE_OF(request__wait__item, .name = (char *) unit),
                                    *items = &item;

        item.revision = 1000; // far off
        Argosy__Request__Wait wait =
                MESSAGE_OF(request__wait, .verb = ARGOSY__VERB__VERB_START, .items = &items, .n_items = 1);
        ask(i, A_REQUEST(WAIT, wait, &wait));
        assert_return_code(waiter_start(t.leader, clients[i].pending), 0);
        return &clients[i];
}

static void a_wait_costs_nothing_while_nothing_happens_to_its_units(void **state) {
        char name[32];

        for (size_t i = 0; i < CLIENTS; i++) {
                snprintf(name, sizeof(name), "web@%zu.service", i);
                tables_put(&t, name, "[Service]\n", (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
                wait_for(i, name);
        }
        waiters_drain(t.leader);
        uint64_t n = t.leader->n_waiters_judged;
        tables_put(&t, "web@7.service", "[Service]\n",
                   (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        waiters_drain(t.leader);
        waiters_drain(t.leader);
        responses_flush(t.leader);
        assert_int_equal(t.leader->n_waiters_judged, n + 1);
        assert_true(list_is_empty(&t.leader->waiters_due));
        assert_string_equal(order, "");
}

// Its waits are told in the turn in which it is over, each once, and only they are looked at.
static void all_who_wait_for_a_unit_hear_of_its_end_once(void **state) {
        Batch b = {};

        tables_put(&t, "web.service", "[Service]\n",
                   (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        tables_put(&t, "db.service", "[Service]\n", (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        for (size_t i = 0; i < CLIENTS; i++)
                wait_for(i, i % 2 ? "db.service" : "web.service");
        waiters_drain(t.leader);
        batch_unit_remove(&b, "web.service");
        tables_apply(&t, &b);
        waiters_drain(t.leader);
        assert_int_equal(tables_count(&t.leader->outbox), CLIENTS / 2);
        responses_flush(t.leader);
        for (size_t i = 0; i < CLIENTS; i++)
                assert_int_equal(clients[i].n_reported, i % 2 ? 0 : 1);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(
                what_is_said_goes_out_at_the_end_of_the_turn_and_the_last_word_is_final, setup,
                teardown),
        cmocka_unit_test_setup_teardown(an_error_in_the_middle_is_not_the_last_word, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_is_told_may_cancel_anybody, setup, teardown),
        cmocka_unit_test_setup_teardown(who_fails_hears_nothing_that_was_to_be_said_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_memory_for_an_answer_that_is_the_answer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_wait_costs_nothing_while_nothing_happens_to_its_units,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(all_who_wait_for_a_unit_hear_of_its_end_once, setup,
                                        teardown)
)
