// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The state document: clients, the thread and the loop, and a leader that is played. It says where its
// stream is, and tells of one unit for each change.
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "api-answers.h"
#include "array.h"
#include "clock.h"
#include "error-response.h"
#include "event-cursor.h"
#include "event-kind.h"
#include "http-world.h"
#include "message.h"
#include "messages.h"

enum { CLIENTS = 20 };

static struct World {
        EventCursor now;   // where the leader is: one change for each sequence
        uint64_t per_part; // events of one answer
        HttpCall *held[CLIENTS];
        Argosy__Request *asked[CLIENTS]; // by whom
        size_t n_held;
        bool holds;  // it answers later
        int refuses; // errno with which it answers
        unsigned n_places, n_news;
} w;

// ---- the leader

static bool add_event(Argosy__Response__Events *events, Argosy__EventKind kind, const char *a,
                      const char *b) {
        char *values[] = {(char *) a, (char *) b};
        Argosy__Event e = MESSAGE_OF(event, .kind = kind, .values = values, .n_values = ELEMENTSOF(values));
        uint8_t *bytes = malloc(argosy__event__get_packed_size(&e));

        assert_non_null(bytes);
        assert_int_equal(ARRAY_RESERVE(events->events, events->n_events + 1), 0);
        events->events[events->n_events++] = (ProtobufCBinaryData){argosy__event__pack(&e, bytes), bytes};
        return true;
}

static void tell_since(Argosy__Response__Events *events, EventCursor *at) {
        for (uint64_t n = w.per_part; n > 0 && at->seq < w.now.seq; n--) {
                char unit[32];

                at->seq++;
                str_fit(unit, sizeof(unit), "u%u.service", (unsigned) at->seq);
                (void) add_event(events, ARGOSY__EVENT_KIND__EVENT_STATE, unit, "n1");
        }
        events->all = at->seq == w.now.seq;
}

static void answer(HttpCall *call, Argosy__Request *request) {
        Argosy__Response__Events events = ARGOSY__RESPONSE__EVENTS__INIT;
        Argosy__Response r = RESPONSE_OF(EVENTS, events, &events, .final = true);
        EventCursor at = w.now;
        char text[EVENT_CURSOR_SIZE];

        assert_int_equal(request->what_case, ARGOSY__REQUEST__WHAT_EVENTS);
        assert_true(request->events->no_wait);
        if (w.refuses) {
                http_call_fail(call, w.refuses, "it says no");
                message_free(request);
                return;
        }
        if (request->events->from_now) {
                events.all = true;
        } else {
                at.seq = 0;
                if (*request->events->cursor)
                        assert_true(event_cursor_parse(request->events->cursor, &at));
                if (at.term != w.now.term) {
                        at = w.now;
                        at.seq = 0;
                }
                at.scope = w.now.scope;
                tell_since(&events, &at);
        }
        event_cursor_format(&at, text);
        events.cursor = text;
        message_free(request);
        http_call_respond(call, &r);
        for (size_t i = 0; i < events.n_events; i++)
                free(events.events[i].data);
        free(events.events);
}

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        assert_int_equal(author->uid, getuid());
        if (request->events->from_now)
                w.n_places++;
        else
                w.n_news++;
        if (!w.holds) {
                answer(call, request);
                return;
        }
        w.held[w.n_held] = call;
        w.asked[w.n_held++] = request;
}

static void answer_held(void) {
        size_t n = w.n_held;

        w.n_held = 0;
        for (size_t i = 0; i < n; i++)
                answer(w.held[i], w.asked[i]);
}

static const HttpApiOps ops = {.request = on_request, .admits = answer_admits, .is_ready = answer_is_ready};

// ---- clients

FIXTURE(begin) {
        memset(&w, 0, sizeof(w));
        w.now = (EventCursor){.cluster = {1, 2, 3, 4}, .generation = 1, .term = 1, .seq = 3};
        w.per_part = 2;
        world_begin_on_socket(state, CLIENTS, &ops);
}

// What was told before is forgotten.
static void say_anew(size_t i, const char *text) {
        world.clients[i].got.len = 0;
        (void) say(i, text);
}

static const char *tag(void) {
        static char text[EVENT_CURSOR_SIZE];

        event_cursor_format(&w.now, text);
        return text;
}

static void ask(size_t i) {
        say_anew(i, "GET /v1/state HTTP/1.1\r\nHost: x\r\n\r\n");
}

static void ask_with(size_t i, const char *format, const char *cursor) {
        char text[6000];

        str_fit(text, sizeof(text), format, cursor);
        say_anew(i, text);
}

#define IF_NONE_MATCH "GET /v1/state HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"%s\"\r\n\r\n"
#define SINCE "GET /v1/state?since=%s HTTP/1.1\r\nHost: x\r\n\r\n"

static const Client *told(size_t i) {
        RUN_UNTIL(has(&world.clients[i], "]}\n") || has(&world.clients[i], "{}}\n") ||
                  has(&world.clients[i], "\"status\":"));
        return &world.clients[i];
}

static const Client *unchanged(size_t i) {
        RUN_UNTIL(has(&world.clients[i], "\r\n\r\n"));
        assert_true(has(&world.clients[i], "HTTP/1.1 304 "));
        return &world.clients[i];
}

// ---- tests

static void the_whole_is_asked_for_in_parts_and_answered_as_one_document(void **state) {
        char etag[EVENT_CURSOR_SIZE + 16];

        ask(0);
        const Client *c = told(0);
        str_fit(etag, sizeof(etag), "ETag: \"%s\"\r\n", tag());
        assert_true(has(c, "HTTP/1.1 200 "));
        assert_true(has(c, etag));
        assert_true(has(c, "Content-Type: application/json\r\n"));
        assert_true(has(c, "Cache-Control: no-store\r\n"));
        assert_true(has(c, "Content-Security-Policy: frame-ancestors 'none'\r\n"));
        assert_true(has(c, "u1.service"));
        assert_true(has(c, "u3.service"));
        assert_int_equal(w.n_places, 1);
        assert_int_equal(w.n_news, 2);
}

static void of_a_version_that_is_there_nothing_is_made(void **state) {
        for (size_t i = 0; i < 5; i++) {
                ask(i % 2);
                (void) told(i % 2);
        }
        assert_int_equal(w.n_places, 5);
        assert_int_equal(w.n_news, 2);
        w.now.seq++;
        ask(0);
        assert_true(has(told(0), "u4.service"));
        assert_true(has(&world.clients[0], "u1.service"));
        assert_int_equal(w.n_news, 3); // and no more than that is told
}

// What libmicrohttpd keeps for a connection has no room for a list of pieces beside a long header.
static void whoever_says_much_gets_the_same(void **state) {
        _cleanup_free_ char *text = NULL;
        Client *c = &world.clients[0];

        ask(0);
        (void) told(0);
        text = strndup((const char *) c->got.data, c->got.len);
        ask_with(0, "GET /v1/state HTTP/1.1\r\nHost: x\r\nX-Long: %5000s\r\n\r\n", "x");
        (void) told(0);
        assert_int_equal(c->got.len, strlen(text));
        assert_memory_equal(strstr((const char *) c->got.data, "\r\n\r\n{"), strstr(text, "\r\n\r\n{"),
                            strlen(strstr(text, "\r\n\r\n{")));
}

static void who_comes_while_it_is_made_waits_for_the_same(void **state) {
        w.holds = true;
        for (size_t i = 0; i < CLIENTS; i++)
                ask(i);
        RUN_UNTIL(w.n_held == CLIENTS);
        answer_held(); // all know where it is, and one asks
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        for (size_t i = 0; i < CLIENTS; i++)
                assert_true(has(told(i), "u3.service"));
        assert_int_equal(w.n_news, 2);
}

static void whoever_asks_for_the_others_and_is_refused_is_refused_alone(void **state) {
        w.holds = true;
        ask(0);
        ask(1);
        RUN_UNTIL(w.n_held == 2);
        answer_held();
        RUN_UNTIL(w.n_held == 1);
        HttpCall *refused = w.held[0];
        message_free(w.asked[0]);
        w.n_held = 0;
        w.holds = false;
        http_call_fail(refused, EACCES, "it says no");
        (void) told(0);
        (void) told(1);
        assert_true(has(&world.clients[0], "it says no") != has(&world.clients[1], "it says no"));
        assert_true(has(&world.clients[0], "u3.service") != has(&world.clients[1], "u3.service"));
}

static void who_has_the_newest_is_told_so(void **state) {
        ask(0);
        (void) told(0);
        ask_with(0, IF_NONE_MATCH, tag());
        (void) unchanged(0);
        assert_int_equal(w.n_places, 2);
        w.now.seq++;
        ask_with(0, IF_NONE_MATCH, "00");
        assert_true(has(told(0), "u4.service"));
}

// Who was found to see everything need not ask again as long as the leader says where it is.
static void what_is_known_to_be_unchanged_is_not_asked_for(void **state) {
        ask(0);
        (void) told(0);
        http_api_set_present(world.api, &w.now, 7, clock_boot_us() + 60 * USEC_PER_SEC);
        for (size_t i = 0; i < 3; i++) {
                ask_with(0, IF_NONE_MATCH, tag());
                (void) unchanged(0);
        }
        assert_int_equal(w.n_places, 2);   // it was not known when he asked first
        ask_with(1, IF_NONE_MATCH, tag()); // somebody else, who was never judged
        (void) unchanged(1);
        assert_int_equal(w.n_places, 3);
}

static void what_may_have_changed_is_asked_for(void **state) {
        static const struct {
                bool known;
                uint64_t revision;
                int seconds;
                unsigned places; // questions
        } cases[] = {{true, 7, 60, 0},  {true, 8, 60, 1}, {true, 8, -1, 1},
                     {false, 8, 60, 1}, {true, 8, 60, 1}, {true, 8, 60, 0}};

        ask(0);
        (void) told(0);
        http_api_set_present(world.api, &w.now, 7, clock_boot_us() + 60 * USEC_PER_SEC);
        ask_with(0, IF_NONE_MATCH, tag());
        (void) unchanged(0);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                unsigned before = w.n_places;

                http_api_set_present(world.api, cases[i].known ? &w.now : NULL, cases[i].revision,
                                     clock_boot_us() +
                                             (uint64_t) (cases[i].seconds * (int64_t) USEC_PER_SEC));
                ask_with(0, IF_NONE_MATCH, tag());
                (void) unchanged(0);
                assert_int_equal(w.n_places - before, cases[i].places);
        }
        w.now.seq++;
        http_api_set_present(world.api, &w.now, 8, clock_boot_us() + 60 * USEC_PER_SEC);
        ask_with(0, IF_NONE_MATCH, "00");
        assert_true(has(told(0), "u4.service"));
}

// Rights that change while a document is made are not those by which its reader was judged.
static void what_one_sees_is_as_it_was_when_he_was_judged(void **state) {
        char before[EVENT_CURSOR_SIZE];

        (void) str_copy(before, sizeof(before), tag());
        w.holds = true;
        for (size_t i = 0; i < 2; i++) {
                w.now.seq += 4;
                if (i == 0)
                        ask(i);
                else
                        ask_with(i, SINCE, before);
                RUN_UNTIL(w.n_held == 1);
                http_api_set_present(world.api, &w.now, 7, clock_boot_us() + 60 * USEC_PER_SEC);
                answer_held(); // that he may see everything, and of his own one the first part of it
                RUN_UNTIL(w.n_held == 1);
                http_api_set_present(world.api, &w.now, 8, clock_boot_us() + 60 * USEC_PER_SEC);
                w.holds = false;
                answer_held();
                (void) told(i);
                w.n_places = 0;
                ask_with(i, IF_NONE_MATCH, tag());
                (void) unchanged(i);
                assert_int_equal(w.n_places, 1);
                ask_with(i, IF_NONE_MATCH, tag());
                (void) unchanged(i);
                assert_int_equal(w.n_places, 1); // now it is known
                w.holds = true;
        }
}

static void since_a_cursor_only_what_is_new_is_told(void **state) {
        char before[EVENT_CURSOR_SIZE];

        (void) str_copy(before, sizeof(before), tag());
        ask_with(0, SINCE, before);
        assert_true(has(told(0), "\"gone\":{}}\n"));
        w.now.seq += 5;
        ask_with(0, SINCE, before);
        assert_true(has(told(0), "u4.service"));
        assert_true(has(&world.clients[0], "u8.service"));
        assert_false(has(&world.clients[0], "u3.service"));
        assert_true(has(&world.clients[0], tag()));
        assert_int_equal(w.n_places, 0);
}

static void who_may_not_see_everything_has_a_document_of_his_own(void **state) {
        ask(0);
        (void) told(0);
        w.now.scope = 9;
        ask(1);
        assert_true(has(told(1), tag()));
        assert_int_equal(w.n_news, 4); // from the beginning
        ask(1);
        (void) told(1);
        assert_int_equal(w.n_news, 6);
        http_api_set_present(world.api, &w.now, 7, clock_boot_us() + 60 * USEC_PER_SEC);
        for (size_t i = 0; i < 2; i++) {
                ask_with(1, IF_NONE_MATCH, tag());
                (void) unchanged(1);
        }
        assert_int_equal(w.n_places, 5); // he is judged each time
}

// Of those who share one, whose rights have changed in the middle is told to ask again, and the others get
// theirs.
static void whose_rights_change_in_the_middle_asks_again(void **state) {
        w.holds = true;
        ask(0);
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        RUN_UNTIL(w.n_held == 1);
        w.now.scope = 9;
        answer_held();
        assert_true(has(told(0), "\"status\":503"));
        assert_true(has(&world.clients[0], "has changed in the middle"));
        w.now.scope = 0;
        w.holds = false;
        ask(0);
        assert_true(has(told(0), "u3.service"));
}

static void the_next_leader_s_places_are_later_ones(void **state) {
        ask(0);
        (void) told(0);
        w.now.term++;
        w.now.seq = 1;
        ask(0);
        assert_true(has(told(0), tag()));
}

static void an_error_is_the_leader_s(void **state) {
        w.refuses = EACCES;
        ask(0);
        assert_true(has(told(0), "\"detail\":\"it says no\""));
        assert_true(has(&world.clients[0], "HTTP/1.1 403 "));
        ask_with(1, SINCE, tag());
        assert_true(has(told(1), "HTTP/1.1 403 "));
        w.refuses = 0;
        ask(0);
        assert_true(has(told(0), "HTTP/1.1 200 "));
}

// The time in which nobody asks for one is over.
static void let_it_pass(void) {
        uv_timer_set_repeat(&world.api->states.idle, 1);
        assert_int_equal(uv_timer_again(&world.api->states.idle), 0); // it runs, or has run
}

static void what_was_made_by_half_is_dropped_too(void **state) {
        w.holds = true;
        ask(0);
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        RUN_UNTIL(w.n_held == 1);
        answer_held(); // a part of it
        RUN_UNTIL(w.n_held == 1);
        w.refuses = EHOSTUNREACH; // no leader any more
        answer_held();
        assert_true(has(told(0), "HTTP/1.1 503 "));
        assert_non_null(world.api->states.shared);
        let_it_pass();
        RUN_UNTIL(world.api->states.n == 0);
        assert_int_equal(world.api->states.held, 0);
}

// That somebody waited just then does not keep it for ever.
static void who_waits_while_the_time_is_over_keeps_it_no_longer_than_others(void **state) {
        ask(0);
        (void) told(0);
        w.now.seq++;
        w.holds = true;
        ask(0);
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        RUN_UNTIL(w.n_held == 1);
        let_it_pass();
        for (unsigned i = 0; i < 3; i++)
                uv_run(&world.loop, UV_RUN_ONCE);
        assert_non_null(world.api->states.shared);
        uv_timer_stop(&world.api->states.idle);
        w.refuses = EHOSTUNREACH;
        answer_held();
        assert_true(has(told(0), "HTTP/1.1 503 "));
        assert_true(uv_is_active((uv_handle_t *) &world.api->states.idle));
        let_it_pass();
        RUN_UNTIL(world.api->states.n == 0);
}

// What others read slowly, or have copied, fills all the room, or all that is not the shared one's.
static void copies_have_a_room_that_is_everybody_s(void **state) {
        HttpStates *all = &world.api->states;
        Principal somebody = principal_of_user(0, 4711, false);
        Account *other = account_enter(world.accounts, &somebody);
        char before[EVENT_CURSOR_SIZE];

        (void) str_copy(before, sizeof(before), tag());
        *account_counted(other) = 2 * (size_t) COPIES_BYTES_PER_USER + 1;
        w.now.seq++;
        ask_with(0, SINCE, before);
        assert_true(has(told(0), "HTTP/1.1 503 ") &&
                    has(&world.clients[0], "too many documents wait to be read"));
        ask(1);
        assert_true(has(told(1), "HTTP/1.1 200 "));
        assert_true(all->held > 0);
        *account_counted(other) -= 2 * (size_t) COPIES_BYTES_PER_USER + 1;
        account_leave(other);
        assert_int_equal(accounts_counted(world.accounts), 0);
        all->held += HTTP_STATE_BYTES_MAX + 1;
        w.now.seq++;
        for (size_t i = 0; i < 2; i++) {
                ask_with(i, i == 0 ? "GET /v1/state HTTP/1.1\r\nHost: x%s\r\n\r\n" : SINCE, tag());
                assert_true(has(told(i), "HTTP/1.1 503 "));
        }
        all->held -= HTTP_STATE_BYTES_MAX + 1;
        ask(0);
        assert_true(has(told(0), "HTTP/1.1 200 "));
}

// Answers of the leader, too, before a worker has taken them in.
static void what_waits_to_be_copied_counts(void **state) {
        char before[EVENT_CURSOR_SIZE];

        w.holds = true;
        (void) str_copy(before, sizeof(before), tag());
        w.now.seq += 4;
        ask_with(0, SINCE, before);
        RUN_UNTIL(w.n_held == 1);
        assert_int_equal(accounts_counted(world.accounts), 0);
        answer_held();
        assert_true(accounts_counted(world.accounts) > 0);
        RUN_UNTIL(w.n_held == 1);
        answer_held();
        (void) told(0);
}

static void the_end_waits_for_no_leader_and_for_the_worker(void **state) {
        w.per_part = 1;
        w.holds = true;
        ask(0);
        ask_with(1, SINCE, tag());
        RUN_UNTIL(w.n_held == 2);
        w.now.seq = 100;
        answer_held();
        RUN_UNTIL(w.n_held == 2); // each has a part, which a worker may have
        world_close_api();
        for (size_t i = 0; i < w.n_held; i++)
                message_free(w.asked[i]);
        w.n_held = 0;
        RUN_UNTIL(world.api_closed);
}

static void the_end_of_the_last_copy_is_not_the_end_of_all(void **state) {
        w.holds = true;
        ask_with(0, SINCE, tag());
        RUN_UNTIL(w.n_held == 1);
        world_close_api();
        message_free(w.asked[0]);
        w.n_held = 0;
        RUN_UNTIL(world.api_closed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, world_end)

RUN_TESTS(
        TEST(the_whole_is_asked_for_in_parts_and_answered_as_one_document),
        TEST(of_a_version_that_is_there_nothing_is_made),
        TEST(whoever_says_much_gets_the_same),
        TEST(who_comes_while_it_is_made_waits_for_the_same),
        TEST(whoever_asks_for_the_others_and_is_refused_is_refused_alone),
        TEST(who_has_the_newest_is_told_so),
        TEST(what_is_known_to_be_unchanged_is_not_asked_for),
        TEST(what_may_have_changed_is_asked_for),
        TEST(what_one_sees_is_as_it_was_when_he_was_judged),
        TEST(since_a_cursor_only_what_is_new_is_told),
        TEST(who_may_not_see_everything_has_a_document_of_his_own),
        TEST(whose_rights_change_in_the_middle_asks_again),
        TEST(the_next_leader_s_places_are_later_ones),
        TEST(an_error_is_the_leader_s),
        TEST(what_was_made_by_half_is_dropped_too),
        TEST(who_waits_while_the_time_is_over_keeps_it_no_longer_than_others),
        TEST(copies_have_a_room_that_is_everybody_s),
        TEST(what_waits_to_be_copied_counts),
        TEST(the_end_of_the_last_copy_is_not_the_end_of_all),
        TEST(the_end_waits_for_no_leader_and_for_the_worker)
)
