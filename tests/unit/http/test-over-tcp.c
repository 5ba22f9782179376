// SPDX-License-Identifier: LGPL-2.1-or-later

// Whom an HttpApi lets in over TCP, which is loopback here, without TLS: nobody who does not show a token.

#include "test.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api-answers.h"
#include "clock.h"
#include "error-response.h"
#include "event-cursor.h"
#include "http-limits.h"
#include "http-world.h"
#include "message.h"

#define TOKEN "argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"
#define OTHER_TOKEN "argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_56789"
#define HOST "Host: Here.example:1\r\n"
#define BEARER "Authorization: Bearer " TOKEN "\r\n"
#define GET(path, headers) "GET " path " HTTP/1.1\r\n" headers "\r\n"
#define STOP "{\"verb\":\"stop\",\"units\":[\"a.service\"]}"
#define POST(headers)                             \
        "POST /v1/jobs HTTP/1.1\r\n" HOST headers \
        "Content-Type: application/json\r\nContent-Length: 37\r\n\r\n" STOP

enum { CLIENTS = CONNECTIONS_PER_USER + 2 };

static struct World {
        bool waits;
        HttpCall *call; // that waits
        size_t n_requests;
        int last_what;
        Hash proof; // of the last one
} w;

// Since version 1.0 libmicrohttpd has one place for all that it says of a connection; so does every version
// here.
const union MHD_ConnectionInfo *__real_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...);
const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...);

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...) {
        static _Thread_local union MHD_ConnectionInfo said;
        const union MHD_ConnectionInfo *info = __real_MHD_get_connection_info(connection, type);

        if (info)
                said = *info;
        return info ? &said : NULL;
}

static _Atomic uint64_t ahead_us;

uint64_t __real_clock_boot_us(void);
uint64_t __wrap_clock_boot_us(void);

uint64_t __wrap_clock_boot_us(void) {
        return __real_clock_boot_us() + ahead_us;
}

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        assert_int_equal(author->uid, UINT32_MAX);
        assert_string_equal(author->user, "");
        assert_false(author->owner);
        assert_int_equal(author->n_groups, 0);
        assert_true(hash_from_bytes(author->token_proof.data, author->token_proof.len, &w.proof));
        w.n_requests++;
        w.last_what = (int) request->what_case;
        message_free(request);
        if (w.waits)
                w.call = call;
        else
                answer_nodes(call);
}

static void on_cancel(void *route, void *userdata) {
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .admits = answer_admits, .is_ready = answer_is_ready};

static void set_names(bool own_addresses) {
        HttpNames names = {};
        HttpName name;

        assert_true(http_name_parse("here.example", 12, &name) && http_names_add(&names, &name));
        http_api_set_names(world.api, &names, own_addresses);
}

// Of several tests at a time each has its own port.
static void listen_somewhere(void) {
        HttpListen l;
        char text[64];
        int r = -EADDRINUSE;

        for (unsigned i = 0; i < 100 && r == -EADDRINUSE; i++) {
                world.port = (uint16_t) (20000 + ((unsigned) getpid() * 7 + i) % 10000);
                str_fit(text, sizeof(text), "127.0.0.1:%u", (unsigned) world.port);
                assert_true(http_listen_parse(text, &l));
                r = http_api_listen(world.api, &l, false);
        }
        assert_int_equal(r, 0);
}

FIXTURE(begin) {
        memset(&w, 0, sizeof(w));
        world_begin(-1, CLIENTS, &ops);
        listen_somewhere();
        set_names(false);
}

// Each on a connection of its own, to its end.
static void is_answered(size_t i, const char *text, const char *status) {
        Client *c = say(i, text);
        char line[32];

        str_fit(line, sizeof(line), "HTTP/1.1 %s ", status);
        RUN_UNTIL(has(c, "\r\n\r\n"));
        assert_memory_equal(c->got.data, line, strlen(line));
}

static void who_shows_no_token_gets_nothing(void **state) {
        static const char *const headers[] = {
                "",
                "Authorization: Basic cm9vdDpyb290\r\n",
                "Authorization: Bearer\r\n",
                "Authorization: Bearer argosy_short\r\n",
                "Cookie: __Host-argosy=abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234\r\n",
                "X-Remote-User: root\r\n"};
        char text[512];

        for (size_t i = 0; i < ELEMENTSOF(headers); i++) {
                str_fit(text, sizeof(text), "GET /v1/nodes HTTP/1.1\r\n" HOST "%s\r\n", headers[i]);
                is_answered(i, text, "401");
                assert_true(has(&world.clients[i], "WWW-Authenticate: Bearer\r\n"));
        }
        is_answered(10, GET("/v1/no-such-thing", HOST), "401");
        is_answered(11, GET("/metrics", HOST), "401");
        is_answered(12, POST(""), "401");
        assert_int_equal(w.n_requests, 0);
}

static void a_token_says_who_asks_and_nothing_else_does(void **state) {
        Hash proof = hash_of(TOKEN, strlen(TOKEN));

        is_answered(0, GET("/v1/nodes", HOST BEARER), "200");
        assert_true(hash_equal(&w.proof, &proof));
        RUN_UNTIL(has(&world.clients[0], "0\r\n\r\n"));
        world.clients[0].got.len = 0;
        is_answered(0, GET("/v1/nodes", HOST), "401"); // on the same connection
        assert_int_equal(w.n_requests, 1);
}

static void a_header_that_is_there_twice_is_believed_never(void **state) {
        is_answered(0, GET("/v1/nodes", HOST BEARER BEARER), "400");
        is_answered(1, GET("/v1/nodes", HOST HOST BEARER), "400");
        is_answered(2, GET("/v1/nodes", BEARER), "400");
        assert_int_equal(w.n_requests, 0);
}

static void a_token_that_is_not_there_any_more_is_told_from_a_right_that_is_missing(void **state) {
        Argosy__Response gone = error_response(EKEYREJECTED, "there is no such token"),
                         no = error_response(EACCES, "no");

        w.waits = true;
        for (size_t i = 0; i < 2; i++) {
                Client *c = say(i, GET("/v1/nodes", HOST BEARER));

                RUN_UNTIL(w.n_requests == i + 1);
                http_call_respond(w.call, i == 0 ? &gone : &no);
                RUN_UNTIL(has(c, "\r\n\r\n"));
                assert_true(has(c, i == 0 ? "HTTP/1.1 401 " : "HTTP/1.1 403 "));
                assert_int_equal(has(c, "WWW-Authenticate: Bearer\r\n"), i == 0);
        }
}

static void say_long(size_t i, const char *headers, size_t n) {
        _cleanup_free_ char *body = malloc(n + 1);
        char text[512];

        assert_non_null(body);
        memset(body, ' ', n);
        memcpy(body, STOP, strlen(STOP));
        body[n] = 0;
        str_fit(text, sizeof(text),
                "POST /v1/jobs HTTP/1.1\r\n" HOST
                "%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                headers, n);
        (void) say(i, text);
        (void) say(i, body);
}

static void a_long_body_is_not_read_for_a_token_that_is_none(void **state) {
        Argosy__Response gone = error_response(EKEYREJECTED, "there is no such token");

        w.waits = true;
        Client *c = say(0, "POST /v1/jobs HTTP/1.1\r\n" HOST BEARER
                           "Content-Type: application/x-ndjson\r\nContent-Length: 8000000\r\n\r\n");
        RUN_UNTIL(w.n_requests == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
        http_call_respond(w.call, &gone);
        RUN_UNTIL(has(c, "\r\n\r\n")); // though nothing of it has come
        assert_true(has(c, "HTTP/1.1 401 ") && has(c, "WWW-Authenticate: Bearer\r\n"));
        say_long(1, BEARER, HTTP_TCP_UNJUDGED_MAX + 1);
        RUN_UNTIL(w.n_requests == 2);
        http_call_respond(w.call, &gone);
        RUN_UNTIL(has(&world.clients[1], "HTTP/1.1 401 "));
        assert_int_equal(w.n_requests, 2);
}

static void a_long_body_of_somebody_is_read_and_judged_by_what_it_says(void **state) {
        Argosy__Response yes = ARGOSY__RESPONSE__INIT, no = error_response(EACCES, "not on all units");

        yes.final = true;
        w.waits = true;
        for (size_t i = 0; i < 2; i++) {
                say_long(i, BEARER, HTTP_TCP_UNJUDGED_MAX + 1);
                RUN_UNTIL(w.n_requests == 2 * i + 1);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
                http_call_respond(w.call, i == 0 ? &yes : &no);
                RUN_UNTIL(w.n_requests == 2 * i + 2);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
                answer_nodes(w.call);
                RUN_UNTIL(has(&world.clients[i], "HTTP/1.1 200 "));
        }
        say_long(2, BEARER, HTTP_TCP_UNJUDGED_MAX); // costs no question
        RUN_UNTIL(w.n_requests == 5);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
        answer_nodes(w.call);
        RUN_UNTIL(has(&world.clients[2], "HTTP/1.1 200 "));
}

// Something else, on the same connection.
static void say_more(size_t i, const char *text) {
        world.clients[i].got.len = 0;
        assert_int_equal(stream_write(world.clients[i].stream, text, strlen(text)), 0);
}

// Who reads his answers slowly, or sends bodies slowly, takes room from himself.
static void a_token_has_no_more_than_its_share(void **state) {
        static const char other[] = GET("/v1/nodes", HOST "Authorization: Bearer " OTHER_TOKEN "\r\n");

        for (size_t i = 0; i < 3; i++)
                is_answered(i, GET("/v1/nodes", HOST BEARER), "200"); // so it is known
        unsigned n = w.n_requests;
        w.waits = true;
        say_more(0, GET("/v1/nodes", HOST BEARER));
        RUN_UNTIL(w.n_requests == n + 1);
        HttpCall *slow = w.call;
        assert_true(http_api_hold(slow, HELD_PER_USER));
        w.waits = false;
        say_more(1, GET("/v1/nodes", HOST BEARER));
        RUN_UNTIL(has(&world.clients[1], "too many long answers wait to be read"));
        say_more(2, POST(BEARER));
        RUN_UNTIL(has(&world.clients[2], "HTTP/1.1 503 "));
        is_answered(3, other, "200");
        http_api_release(slow, HELD_PER_USER);
        is_answered(4, GET("/v1/nodes", HOST BEARER), "200");
        is_answered(5, POST(BEARER), "200");
        answer_nodes(slow);
        RUN_UNTIL(has(&world.clients[0], "HTTP/1.1 200 "));
}

static void who_asks_for_another_host_is_not_answered(void **state) {
        is_answered(0, GET("/v1/nodes", "Host: rebound.example\r\n" BEARER), "421");
        is_answered(1, GET("/healthz", "Host: rebound.example\r\n"), "421");
        is_answered(2, GET("/healthz", "Host: 127.0.0.1\r\n"), "421");
        is_answered(3, GET("/healthz", "Host: a b\r\n"), "400");
        set_names(true);
        is_answered(4, GET("/healthz", "Host: 127.0.0.1:99\r\n"), "200");
        is_answered(5, GET("/healthz", "Host: 127.0.0.2\r\n"), "421");
        assert_int_equal(w.n_requests, 0);
}

static void how_it_is_anybody_may_ask(void **state) {
        is_answered(0, GET("/healthz", HOST), "200");
        is_answered(1, GET("/readyz", HOST), "200");
        is_answered(2, GET("/healthz?a=b", HOST), "400");
        assert_int_equal(w.n_requests, 0);
}

static void the_page_is_anybody_s_who_asks_by_our_name(void **state) {
        is_answered(0, GET("/", HOST), "200");
        is_answered(1, GET("/dashboard/main.js", HOST), "200");
        is_answered(2, GET("/dashboard/nothing.js", HOST), "404");
        is_answered(3, GET("/", "Host: rebound.example\r\n"), "421");
        is_answered(4, GET("/dashboard/main.js", "Host: rebound.example\r\n"), "421");
        is_answered(5, GET("/dashboard/a/b", HOST), "401");
        assert_int_equal(w.n_requests, 0);
}

static void a_token_in_a_url_is_refused(void **state) {
        is_answered(0, GET("/v1/nodes?access_token=" TOKEN, HOST BEARER), "400");
        is_answered(1, GET("/v1/nodes?access_token=" TOKEN, HOST), "400");
        assert_false(has(&world.clients[0], TOKEN));
        assert_int_equal(w.n_requests, 0);
}

static void a_page_of_another_origin_changes_nothing(void **state) {
        is_answered(0, POST(BEARER "Origin: http://evil.example\r\n"), "403");
        is_answered(1, POST(BEARER "Origin: https://here.example:1\r\n"), "403");
        is_answered(2, POST(BEARER "Origin: null\r\n"), "403");
        assert_int_equal(w.n_requests, 0);
        is_answered(3, POST(BEARER "Origin: http://here.example:1\r\n"), "200");
        is_answered(4, POST(BEARER), "200");
}

static void without_tls_there_are_no_sessions(void **state) {
        is_answered(0,
                    "POST /v1/login HTTP/1.1\r\n" HOST
                    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
                    "403");
        is_answered(1, "POST /v1/logout HTTP/1.1\r\n" HOST BEARER "\r\n", "403");
        assert_int_equal(w.n_requests, 0);
}

// Of one address: the longest idle one, and where all are waited for, the new one.
static void who_is_one_too_many_is_closed(void **state) {
        for (size_t i = 0; i < CONNECTIONS_PER_USER; i++)
                is_answered(i, GET("/healthz", HOST), "200");
        is_answered(CONNECTIONS_PER_USER, GET("/healthz", HOST), "200");
        RUN_UNTIL(world.clients[0].closed);
        for (size_t i = 1; i < CONNECTIONS_PER_USER; i++)
                assert_false(world.clients[i].closed);
}

// By us: libmicrohttpd would wait for HTTP_IDLE_SEC by its own clock, and again after each byte.
static void who_says_no_whole_head_is_ended(void **state) {
        uint64_t begin_us = __real_clock_boot_us();

        (void) say(0, "GET /healthz HTTP/1.1\r\n");
        is_answered(1, GET("/healthz", HOST), "200"); // behind the first one
        ahead_us += (HTTP_HEAD_SEC + 1) * (uint64_t) USEC_PER_SEC;
        RUN_UNTIL(world.clients[0].closed);
        assert_true(__real_clock_boot_us() - begin_us < HTTP_IDLE_SEC * (uint64_t) USEC_PER_SEC);
}

static void who_has_shown_a_good_token_is_no_stranger_any_more(void **state) {
        for (size_t i = 0; i < CONNECTIONS_PER_USER; i++)
                is_answered(i, i == 0 ? GET("/v1/nodes", HOST BEARER) : GET("/healthz", HOST), "200");
        is_answered(CONNECTIONS_PER_USER, GET("/healthz", HOST), "200"); // the address has one place more
        for (size_t i = 0; i < CONNECTIONS_PER_USER; i++)
                assert_false(world.clients[i].closed);
        is_answered(CONNECTIONS_PER_USER + 1, GET("/healthz", HOST), "200");
        RUN_UNTIL(world.clients[1].closed);
        assert_false(world.clients[0].closed);
}

// Nobody has said that there are such tokens, and whoever shows them may be slow for as long as he likes.
static void strangers_who_ask_keep_nobody_out(void **state) {
        static const char other[] = GET("/v1/nodes", HOST "Authorization: Bearer " OTHER_TOKEN "\r\n");

        w.waits = true;
        for (size_t i = 0; i < CONNECTIONS_PER_USER; i++) {
                (void) say(i, GET("/v1/nodes", HOST BEARER));
                RUN_UNTIL(w.n_requests == i + 1);
        }
        w.waits = false;
        is_answered(CONNECTIONS_PER_USER, other, "200");
        RUN_UNTIL(world.clients[0].closed); // for the one that has been waiting for longest
        for (size_t i = 1; i <= CONNECTIONS_PER_USER; i++)
                assert_false(world.clients[i].closed);
}

static void who_is_known_and_asks_keeps_its_place(void **state) {
        is_answered(0, GET("/v1/nodes", HOST BEARER), "200");
        RUN_UNTIL(has(&world.clients[0], "0\r\n\r\n"));
        w.waits = true;
        say_more(0, GET("/v1/nodes", HOST BEARER));
        RUN_UNTIL(w.n_requests == 2);
        for (size_t i = 1; i < CLIENTS; i++)
                is_answered(i, GET("/healthz", HOST), "200");
        RUN_UNTIL(world.clients[1].closed);
        assert_false(world.clients[0].closed);
        answer_nodes(w.call);
        RUN_UNTIL(has(&world.clients[0], "HTTP/1.1 200 "));
}

// ---- behind a proxy, which is on loopback here

static void trust_loopback(void) {
        HttpProxies all = {};
        HttpProxy p;

        assert_true(http_proxy_parse("127.0.0.0/8", &p) && http_proxies_add(&all, &p));
        http_api_set_proxies(world.api, &all);
}

// How many requests are put down to that address now.
static size_t requests_of(uint32_t address) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
        Principal of = principal_of_address((struct sockaddr *) &at);
        Account *u = account_enter(world.accounts, &of);

        assert_non_null(u);
        size_t n = account_has(u, ACCOUNT_REQUESTS);
        account_leave(u);
        return n;
}

#define FORWARDED_FOR "X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n"
#define CLIENT_BY_PROXY 0xc0000207 // 192.0.2.7

static void only_a_trusted_proxy_is_believed_for_whom_it_asks(void **state) {
        w.waits = true;
        (void) say(0, GET("/v1/nodes", HOST BEARER FORWARDED_FOR));
        RUN_UNTIL(w.n_requests == 1);
        assert_int_equal(requests_of(CLIENT_BY_PROXY), 0);
        assert_int_equal(requests_of(INADDR_LOOPBACK), 1);
        trust_loopback(); // from the next connection on
        (void) say(1, GET("/v1/nodes", HOST BEARER FORWARDED_FOR));
        RUN_UNTIL(w.n_requests == 2);
        assert_int_equal(requests_of(CLIENT_BY_PROXY), 1);
        assert_int_equal(requests_of(INADDR_LOOPBACK), 1);
        (void) say(2, GET("/v1/nodes", HOST BEARER)); // for itself
        RUN_UNTIL(w.n_requests == 3);
        assert_int_equal(requests_of(INADDR_LOOPBACK), 2);
}

static void a_proxy_says_what_it_was_asked_for_and_how(void **state) {
#define LOGIN(headers)                                                                             \
        "POST /v1/login HTTP/1.1\r\n" headers "Content-Type: application/json\r\nContent-Length: " \
                                              "2\r\n\r\n{}"
#define BY_PROXY "Host: 127.0.0.1:1\r\nX-Forwarded-Host: here.example:2\r\n"
#define HTTPS "X-Forwarded-Proto: https\r\n"
        is_answered(0, GET("/healthz", BY_PROXY), "421");
        is_answered(1, LOGIN(HOST HTTPS), "403");
        is_answered(2, POST(BEARER HTTPS "Origin: https://here.example:1\r\n"), "403");
        trust_loopback();
        is_answered(3, GET("/healthz", BY_PROXY), "200");
        is_answered(4, GET("/healthz", HOST "X-Forwarded-Host: rebound.example\r\n"), "421");
        is_answered(5, LOGIN(HOST HTTPS), "400"); // and no longer for want of TLS
        is_answered(6, LOGIN(HOST HTTPS HTTPS), "403");
        is_answered(7, LOGIN(HOST "X-Forwarded-Proto: http\r\n"), "403");
        is_answered(8, LOGIN(HOST), "403");
        is_answered(9, POST(BEARER HTTPS "Origin: https://here.example:1\r\n"), "200");
        is_answered(
                10,
                POST(BEARER HTTPS "X-Forwarded-Host: here.example:2\r\nOrigin: https://here.example:2\r\n"),
                "200");
        is_answered(11, POST(BEARER HTTPS "Origin: http://here.example:1\r\n"), "403");
        is_answered(12, POST(BEARER HTTPS "Origin: https://evil.example\r\n"), "403");
}

// Whoever else is at its address has what any address has.
static void a_proxy_has_more_connections_than_an_address(void **state) {
        trust_loopback();
        for (size_t i = 0; i < CLIENTS; i++)
                is_answered(i, GET("/healthz", HOST FORWARDED_FOR), "200");
        for (size_t i = 0; i < CLIENTS; i++)
                assert_false(world.clients[i].closed);
}

static void what_was_seen_by_one_token_is_not_known_to_the_next(void **state) {
        EventCursor place = {.generation = 1, .term = 2, .mode = EVENT_CURSOR_RING, .seq = 7};
        char cursor[EVENT_CURSOR_SIZE], text[512];

        memset(place.cluster, 3, sizeof(place.cluster));
        event_cursor_format(&place, cursor);
        w.waits = true;
        (void) say(1, GET("/healthz", HOST)); // there is a thread
        RUN_UNTIL(has(&world.clients[1], "ok\n"));
        http_api_set_present(world.api, &place, 0, UINT64_MAX);
        str_fit(text, sizeof(text), "GET /v1/state HTTP/1.1\r\n" HOST BEARER "If-None-Match: \"%s\"\r\n\r\n",
                cursor);
        Argosy__Response__Events events = MESSAGE_OF(response__events, .cursor = cursor);
        Argosy__Response r = RESPONSE_OF(EVENTS, events, &events, .final = true);
        for (size_t i = 1; i <= 2; i++) {
                (void) say(0, text);
                RUN_UNTIL(w.n_requests == i); // each time
                http_call_respond(w.call, &r);
                RUN_UNTIL(has(&world.clients[0], "\r\n\r\n"));
                assert_true(has(&world.clients[0], "HTTP/1.1 304 "));
                world.clients[0].got.len = 0;
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, world_end)

RUN_TESTS(
        TEST(who_shows_no_token_gets_nothing),
        TEST(a_token_says_who_asks_and_nothing_else_does),
        TEST(a_header_that_is_there_twice_is_believed_never),
        TEST(a_token_that_is_not_there_any_more_is_told_from_a_right_that_is_missing),
        TEST(a_long_body_is_not_read_for_a_token_that_is_none),
        TEST(a_long_body_of_somebody_is_read_and_judged_by_what_it_says),
        TEST(a_token_has_no_more_than_its_share),
        TEST(who_asks_for_another_host_is_not_answered),
        TEST(how_it_is_anybody_may_ask),
        TEST(the_page_is_anybody_s_who_asks_by_our_name),
        TEST(a_token_in_a_url_is_refused),
        TEST(a_page_of_another_origin_changes_nothing),
        TEST(without_tls_there_are_no_sessions),
        TEST(who_is_one_too_many_is_closed),
        TEST(who_says_no_whole_head_is_ended),
        TEST(who_has_shown_a_good_token_is_no_stranger_any_more),
        TEST(strangers_who_ask_keep_nobody_out),
        TEST(who_is_known_and_asks_keeps_its_place),
        TEST(what_was_seen_by_one_token_is_not_known_to_the_next),
        TEST(only_a_trusted_proxy_is_believed_for_whom_it_asks),
        TEST(a_proxy_says_what_it_was_asked_for_and_how),
        TEST(a_proxy_has_more_connections_than_an_address)
)
