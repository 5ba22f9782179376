// SPDX-License-Identifier: LGPL-2.1-or-later

// Events as they happen: how a stream begins, what ends it, and that it waits for the next leader.

#include "test.h"

#include "api-world.h"
#include "error-response.h"
#include "event-cursor.h"
#include "messages.h"

static const EventCursor place = {.cluster = "abcd", .generation = 1, .term = 1};

static void respond_events(HttpCall *call, uint64_t seq, const char *unit) {
        _cleanup_free_ uint8_t *bytes = NULL;
        EventCursor behind = place;
        char cursor[EVENT_CURSOR_SIZE], *values[] = {(char *) unit};

        behind.seq = seq;
        event_cursor_format(&behind, cursor);
        Argosy__Event event =
                MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_UNIT, .values = values, .n_values = 1);
        bytes = malloc(argosy__event__get_packed_size(&event));
        assert_non_null(bytes);
        ProtobufCBinaryData packed = (ProtobufCBinaryData){argosy__event__pack(&event, bytes), bytes};
        Argosy__Response__Events events =
                MESSAGE_OF(response__events, .cursor = cursor, .events = &packed, .n_events = unit ? 1 : 0);
        http_call_respond(call, A_RESPONSE(EVENTS, events, &events, .final = true));
}

static void events_come_as_they_happen(void **state) {
        Client *c = say_and_wait(GET("/v1/events"));

        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_EVENTS);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(has(c, "event: unit\ndata: {\"kind\":\"unit\",") && w.n_calls == 2);
        assert_true(has(c, "Content-Type: text/event-stream\r\n"));
        respond_events(w.calls[1], 2, "b.service");
        RUN_UNTIL(has(c, "b.service"));
        RUN_UNTIL(w.n_calls == 3);
}

static void a_program_may_have_lines(void **state) {
        Client *c = say_and_wait("GET /v1/events?kind=unit HTTP/1.1\r\nHost: x\r\n"
                                 "Accept: application/x-ndjson\r\n\r\n");

        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(has(c, "\r\n{\"kind\":\"unit\","));
        assert_true(has(c, "Content-Type: application/x-ndjson\r\n"));
        assert_false(has(c, "data:"));
}

static void a_stream_that_cannot_begin_is_a_problem(void **state) {
        Argosy__Response r = error_response(ESTALE, "this cursor is of another cluster");
        Client *c = say_and_wait(GET("/v1/events"));

        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "this cursor is of another cluster"));
        assert_true(has(c, "HTTP/1.1 412 "));
        c = say(1, "GET /v1/events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: nonsense\r\n\r\n");
        RUN_UNTIL(has(c, "HTTP/1.1 400 "));
}

static void a_stream_that_is_refused_later_says_so_and_ends(void **state) {
        Argosy__Response r = error_response(EACCES, "it needs the right 'view'");
        Client *c = say_and_wait(GET("/v1/events"));

        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(w.n_calls == 2);
        http_call_respond(w.calls[1], &r);
        RUN_UNTIL(has(c, "event: problem\ndata: {") && has(c, "0\r\n\r\n"));
}

static void a_stream_waits_for_the_next_leader(void **state) {
        Argosy__Response r = error_response(EHOSTUNREACH, "no leader can be reached");
        Client *c = say_and_wait(GET("/v1/events"));

        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(w.n_calls == 2);
        http_call_respond(w.calls[1], &r);
        RUN_UNTIL(w.n_calls == 3);
        respond_events(w.calls[2], 2, "b.service");
        RUN_UNTIL(has(c, "b.service"));
        assert_false(has(c, "problem"));
}

static void respond_lead(HttpCall *call, uint64_t seq, const char *leader) {
        EventCursor behind = place;
        char cursor[EVENT_CURSOR_SIZE],
                *values[] = {(char *) leader, (char *) "7",
                             (char *) (*leader ? "" : "n2 reaches no host that leads")};
        uint8_t bytes[256];

        behind.seq = seq;
        event_cursor_format(&behind, cursor);
        Argosy__Event event = MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_LEADER,
                                         .mark = ARGOSY__EVENT_MARK__EVENT_HERE, .values = values,
                                         .n_values = ELEMENTSOF(values));
        Argosy__Response__Events events =
                MESSAGE_OF(response__events, .cursor = cursor,
                           .here = (ProtobufCBinaryData){argosy__event__pack(&event, bytes), bytes});
        http_call_respond(call, A_RESPONSE(EVENTS, events, &events, .final = true));
}

#define NOBODY "event: leader\ndata: {\"kind\":\"leader\","

static void a_stream_says_that_nobody_leads_and_stays_where_it_is(void **state) {
        Client *c = say_and_wait(GET("/v1/events?kind=unit"));

        assert_int_equal(w.last_lead, ARGOSY__REQUEST__EVENTS__LEAD__UNSAID);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_lead, ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        respond_lead(w.calls[1], 1, "");
        RUN_UNTIL(has(c, NOBODY) && w.n_calls == 3);
        assert_int_equal(w.last_lead, ARGOSY__REQUEST__EVENTS__LEAD__NOBODY);
        const char *said = strstr((const char *) c->got.data, NOBODY);
        assert_non_null(strstr(said, "\"mark\":\"here\",\"gone\":false,\"changed\":[],\"leader\":\"\","
                                     "\"term\":7,\"reason\":\"n2 reaches no host that leads\"}\n\n"));
        assert_null(strstr(said, "id: "));
        respond_lead(w.calls[2], 1, "n3");
        RUN_UNTIL(has(c, "\"leader\":\"n3\"") && w.n_calls == 4);
        assert_int_equal(w.last_lead, ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        respond_events(w.calls[3], 2, "b.service");
        RUN_UNTIL(has(c, "b.service"));
}

static void streams_end_with_the_daemon(void **state) {
        w.waits = true;
        for (size_t i = 0; i < 8; i++)
                (void) say(i, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 8);
        for (size_t i = 0; i < 4; i++)
                respond_events(w.calls[i], 1, "a.service");
        RUN_UNTIL(w.n_calls == 9); // one for all four
        world_close_api();
        RUN_UNTIL(world.api_closed);
        for (size_t i = 0; i < 8; i++) {
                Client *c = &world.clients[i];

                RUN_UNTIL(c->closed);
                assert_true(has(c, "argosyd is ending"));
                assert_true(has(c, " 503 ") || (has(c, "a.service") && has(c, "event: problem\ndata: {") &&
                                                has(c, "\r\n0\r\n\r\n")));
        }
}

// More than a socket holds waits for him: what follows cannot have left before he reads on.
static void who_has_yet_to_read_a_stream_has_its_end_too(void **state) {
        enum { LONG = 4 * 1024 * 1024 };
        _cleanup_free_ char *unit = malloc(LONG);

        assert_non_null(unit);
        memset(unit, 'a', LONG - 1);
        unit[LONG - 1] = '\0';
        Client *c = say_and_wait(GET("/v1/events"));
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(has(c, "a.service") && w.n_calls == 2);
        stream_pause(c->stream, true);
        respond_events(w.calls[1], 2, unit);
        world_close_api();
        stream_pause(c->stream, false);
        RUN_UNTIL(world.api_closed && c->closed);
        assert_true(c->got.len > LONG);
        assert_true(has(c, "event: problem\ndata: {") && has(c, "argosyd is ending") &&
                    has(c, "\r\n0\r\n\r\n"));
}

RUN_TESTS(
        API_TEST(events_come_as_they_happen),
        API_TEST(a_program_may_have_lines),
        API_TEST(a_stream_that_cannot_begin_is_a_problem),
        API_TEST(a_stream_that_is_refused_later_says_so_and_ends),
        API_TEST(a_stream_waits_for_the_next_leader),
        API_TEST(a_stream_says_that_nobody_leads_and_stays_where_it_is),
        API_TEST(streams_end_with_the_daemon),
        API_TEST(who_has_yet_to_read_a_stream_has_its_end_too)
)
