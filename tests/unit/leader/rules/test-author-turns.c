// SPDX-License-Identifier: LGPL-2.1-or-later
#include "author-turns.h"
#include "test.h"
#include "messages.h"

enum { HEAVY = 256, REQUESTS_MAX = 64 };

typedef struct Request {
        ListNode queue;
        AuthorTurn *turn;
        char name;
} Request;

static AuthorTurns t;
static Request requests[REQUESTS_MAX];
static size_t n_requests;
static char served[REQUESTS_MAX + 1];

FIXTURE(setup) {
        author_turns_init(&t, 8);
        n_requests = 0;
}

static void leave(Request *q) {
        list_unlink(&q->queue);
        author_turn_leave(q->turn);
        q->turn = NULL;
}

FIXTURE(teardown) {
        for (size_t i = 0; i < n_requests; i++)
                leave(&requests[i]);
        assert_int_equal(t.authors.count, 0);
        assert_true(list_is_empty(&t.waiting));
        author_turns_done(&t);
}

static Request *come(const Argosy__Author *author, char name) {
        Request *q = &requests[n_requests++];

        *q = (Request){.name = name, .turn = author_turns_enter(&t, author)};
        assert_non_null(q->turn);
        author_turn_wait(q->turn, &q->queue);
        return q;
}

static Argosy__Author user(uint32_t host, uint32_t uid) {
        return (Argosy__Author) AUTHOR_OF(.host = host, .uid = uid);
}

static Argosy__Author token(uint32_t host, const char *id) {
        Argosy__Author author = user(host, UINT32_MAX);

        author.token = (char *) id;
        return author;
}

// Capital letters ask for much, which takes several turns.
static size_t units_of(const Request *q) {
        return q->name >= 'A' && q->name <= 'Z' ? HEAVY : 1;
}

// One turn of the leader, which has time for so many units: names of those that were served.
static const char *turn(size_t most) {
        ListNode *next;
        size_t n = 0, units = 0;

        while ((next = author_turns_next(&t))) {
                Request *q = CONTAINER_OF(next, Request, queue);

                if (units > 0 && units + units_of(q) > most)
                        break;
                units += units_of(q);
                author_turn_charge(q->turn, units_of(q));
                served[n++] = q->name;
                if (units_of(q) == 1)
                        leave(q);
        }
        served[n] = '\0';
        author_turns_end(&t);
        return served;
}

static void requests_of_little_are_served_as_they_came(void **state) {
        const Argosy__Author ann = user(1, 1001), ben = user(1, 1002), eve = user(2, 1001);

        come(&ann, 'a');
        come(&ben, 'b');
        come(&ann, 'c');
        come(&eve, 'd');
        assert_string_equal(turn(100), "abdc"); // one is served twice when all have been once
        assert_true(author_turns_are_empty(&t));
}

static void who_asks_for_little_overtakes_a_backlog(void **state) {
        const Argosy__Author ann = user(1, 1001), root = user(1, 0);

        for (char name = 'A'; name <= 'P'; name++)
                come(&ann, name);
        assert_string_equal(turn(HEAVY), "A");
        come(&root, 'r');
        assert_string_equal(turn(HEAVY), "r");
        assert_string_equal(turn(HEAVY), "A"); // in the order of the author
        come(&root, 's');
        come(&root, 't');
        assert_string_equal(turn(HEAVY + 100), "stA");
}

static void those_who_ask_for_much_are_served_in_turn(void **state) {
        const Argosy__Author ann = user(1, 1001), ben = user(1, 1002);

        come(&ann, 'A');
        come(&ann, 'B');
        come(&ann, 'C');
        assert_string_equal(turn(HEAVY), "A");
        assert_string_equal(turn(HEAVY), "A");
        come(&ben, 'X');
        for (int i = 0; i < 3; i++) {
                assert_string_equal(turn(HEAVY), "X");
                assert_string_equal(turn(HEAVY), "A");
        }
}

static void each_request_has_one_turn_in_a_round(void **state) {
        const Argosy__Author ann = user(1, 1001), ben = user(1, 1002);

        come(&ann, 'A');
        come(&ben, 'X');
        come(&ann, 'B');
        assert_string_equal(turn(100 * HEAVY), "AXB");
        assert_string_equal(turn(100 * HEAVY), "XAB");
}

// A part of it has been served: others of the same author come before the next one.
static void what_waits_again_stands_behind_the_others_of_its_author(void **state) {
        const Argosy__Author ann = user(1, 1001);
        Request *first = come(&ann, 'A'), *third;

        come(&ann, 'B');
        assert_string_equal(turn(HEAVY), "A");
        list_unlink(&first->queue);
        author_turn_wait(first->turn, &first->queue);
        assert_string_equal(turn(100 * HEAVY), "BA");
        third = come(&ann, 'C');
        list_unlink(&third->queue);
        author_turn_wait_first(third->turn, &third->queue);
        assert_string_equal(turn(100 * HEAVY), "CBA");
}

static void time_without_requests_is_not_saved_up(void **state) {
        const Argosy__Author ann = user(1, 1001), ben = user(1, 1002);
        Request *idle = come(&ben, 'X');

        list_unlink(&idle->queue); // it is under way, and waits for something else
        come(&ann, 'A');
        for (int i = 0; i < 10; i++)
                assert_string_equal(turn(HEAVY), "A");
        author_turn_wait(idle->turn, &idle->queue);
        assert_string_equal(turn(HEAVY), "X");
        assert_string_equal(turn(HEAVY), "A");
        assert_string_equal(turn(HEAVY), "X");
}

static void what_an_author_has_had_counts_while_one_of_his_requests_is_under_way(void **state) {
        const Argosy__Author ann = user(1, 1001), ben = user(1, 1002);
        Request *flies = come(&ann, 'A');

        come(&ben, 'X');
        assert_string_equal(turn(HEAVY), "A");
        list_unlink(&flies->queue);
        author_turn_wait(flies->turn, &flies->queue);
        assert_string_equal(turn(HEAVY), "X");
        assert_string_equal(turn(HEAVY), "A");
        assert_int_equal(t.authors.count, 2);
        leave(flies);
        assert_int_equal(t.authors.count, 1);
}

static void a_token_is_one_author_wherever_it_is_shown(void **state) {
        const Argosy__Author here = token(1, "0123abcd"), there = token(2, "0123abcd"),
                             other = token(1, "0123abce");

        come(&here, 'A');
        come(&there, 'B');
        come(&other, 'X');
        assert_int_equal(t.authors.count, 2);
        assert_string_equal(turn(100 * HEAVY), "AXB");
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(requests_of_little_are_served_as_they_came, setup, teardown),
        cmocka_unit_test_setup_teardown(who_asks_for_little_overtakes_a_backlog, setup, teardown),
        cmocka_unit_test_setup_teardown(those_who_ask_for_much_are_served_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(each_request_has_one_turn_in_a_round, setup, teardown),
        cmocka_unit_test_setup_teardown(what_waits_again_stands_behind_the_others_of_its_author,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(time_without_requests_is_not_saved_up, setup, teardown),
        cmocka_unit_test_setup_teardown(
                what_an_author_has_had_counts_while_one_of_his_requests_is_under_way, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_token_is_one_author_wherever_it_is_shown, setup, teardown)
)
