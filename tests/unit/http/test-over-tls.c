// SPDX-License-Identifier: LGPL-2.1-or-later

// Browsers, over TLS: they log in with a token, and go on with a cookie. And clients of fleet's API, who
// show a certificate.

#include "api-answers.h"
#include "tmpdir.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "author-names.h"
#include "access-token.h"
#include "client-certificate.h"
#include "clock.h"
#include "error-response.h"
#include "event-cursor.h"
#include "http-accounts.h"
#include "http-bearer.h"
#include "http-call.h"
#include "http-tls.h"
#include "message.h"
#include "messages.h"
#include "str.h"
#include "web-certificate.h"

#define TOKEN "argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"
#define HOST "Host: here.example:1\r\n"
#define ORIGIN "Origin: https://here.example:1\r\n"
#define LOGIN_BODY "{\"token\":\"" TOKEN "\"}"
#define LOGIN(headers)                             \
        "POST /v1/login HTTP/1.1\r\n" HOST headers \
        "Content-Type: application/json\r\nContent-Length: 62\r\n\r\n" LOGIN_BODY
#define STOP "{\"verb\":\"stop\",\"units\":[\"a.service\"]}"

static_assert(sizeof(LOGIN_BODY) == 62 + 1, "as its Content-Length says");

static struct World {
        uv_loop_t loop;
        Accounts *accounts;
        AuthorNames *names;
        HttpApi *api;
        uint16_t port;
        bool api_closed;
        HttpCall *listens; // who waits for events
        HttpCall *reads;   // whose journal is followed
        int refusal;       // of every token
        size_t n_requests;
        Hash proof; // of the last one
        gnutls_certificate_credentials_t trusts;
        struct {
                gnutls_certificate_credentials_t credentials;
                Hash proof;
        } clients[2]; // with a certificate
        int shows;    // one of them; -1: none
        char behind[64]; // the list was asked for last
        char cookie[HTTP_SECRET_SIZE];
        char got[4096];
        int half; // a connection whose handshake has begun, until the end of the API
} w;

// Where the stream of events is.
static void answer_place(HttpCall *call) {
        EventCursor place = {.generation = 1, .term = 2, .mode = EVENT_CURSOR_RING, .seq = 7};
        char cursor[EVENT_CURSOR_SIZE];

        event_cursor_format(&place, cursor);
        Argosy__Response__Events events = MESSAGE_OF(response__events, .cursor = cursor);
        http_call_respond(call, A_RESPONSE(EVENTS, events, &events, .final = true));
}

// As for fleet's API: one machine, and 101 units; whose name begins with who asks.
static bool answer_list(HttpCall *call, const Argosy__Request *request) {
        enum { ROWS = 101 };
        Argosy__Response__NodeRow node = ARGOSY__RESPONSE__NODE_ROW__INIT, *node_rows = &node;
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;
        Argosy__Response__UnitRow rows[ROWS], *list[ROWS];
        Argosy__Response__Units units = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = RESPONSE_WITH(.final = true);
        char names[ROWS][32];

        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_NODES && w.shows >= 0) {
                node.node = node.machine_id = (char *) "n1";
                nodes.rows = &node_rows;
                nodes.n_rows = 1;
                r.what_case = ARGOSY__RESPONSE__WHAT_NODES;
                r.nodes = &nodes;
        } else if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                str_fit(w.behind, sizeof(w.behind), "%s", request->list_units->filter->after);
                for (size_t i = 0; i < ROWS; i++) {
                        str_fit(names[i], sizeof(names[i]), "%d-%03zu.service", w.shows, i);
                        rows[i] = (Argosy__Response__UnitRow) UNIT_ROW_OF(.unit = names[i],
                                                                          .node = (char *) "n1",
                                                                          .load = (char *) "loaded");
                        list[i] = &rows[i];
                }
                units.rows = list;
                units.n_rows = ROWS;
                r.what_case = ARGOSY__RESPONSE__WHAT_UNITS;
                r.units = &units;
        } else
                return false;
        http_call_respond(call, &r);
        return true;
}

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        bool is_events = request->what_case == ARGOSY__REQUEST__WHAT_EVENTS,
             waits = is_events && !request->events->no_wait,
             is_journal = request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL;
        Argosy__Response r = error_response(w.refusal, w.refusal ? "no" : "");

        assert_true(hash_from_bytes(author->token_proof.data, author->token_proof.len, &w.proof));
        w.n_requests++;
        if (answer_list(call, request)) {
                message_free(request);
                return;
        }
        message_free(request);
        r.final = true;
        if (is_journal) {
                w.reads = call;
                http_call_set_route(call, call);
        } else if (waits) {
                w.listens = call;
                http_call_set_route(call, call);
        } else if (is_events && !w.refusal)
                answer_place(call);
        else
                http_call_respond(call, &r);
}

static void on_cancel(void *route, void *userdata) {
        assert_true(route == w.listens || route == w.reads);
        if (route == w.listens)
                w.listens = NULL;
        else
                w.reads = NULL;
}

static void on_taken(void *route, void *userdata) {
}

static const HttpApiOps ops = {.request = on_request,
                               .cancel = on_cancel,
                               .taken = on_taken,
                               .admits = answer_admits,
                               .is_ready = answer_is_ready};

static void on_api_closed(void *userdata) {
        w.api_closed = true;
}

static void listen_somewhere(bool fleet) {
        HttpListen l;
        char text[64];
        int r = -EADDRINUSE;

        for (unsigned i = 0; i < 100 && r == -EADDRINUSE; i++) {
                w.port = (uint16_t) (10000 + ((unsigned) getpid() * 7 + i) % 10000);
                str_fit(text, sizeof(text), "127.0.0.1:%u", (unsigned) w.port);
                assert_true(http_listen_parse(text, &l));
                r = fleet ? http_api_listen_fleet_tcp(w.api, &l) : http_api_listen(w.api, &l, true);
        }
        assert_int_equal(r, 0);
}

static void make_client(size_t i, const gnutls_x509_crt_t *trusted) {
        _cleanup_buf_ Buf certificate = {};
        _cleanup_(buf_wipe) Buf key = {};

        assert_int_equal(client_certificate_new("ci", 3600, &certificate, &key, &w.clients[i].proof), 0);
        gnutls_datum_t cert = (gnutls_datum_t){certificate.data, (unsigned) certificate.len};
        gnutls_datum_t secret = (gnutls_datum_t){key.data, (unsigned) key.len};
        assert_int_equal(gnutls_certificate_allocate_credentials(&w.clients[i].credentials), 0);
        assert_int_equal(gnutls_certificate_set_x509_trust(w.clients[i].credentials,
                                                           (gnutls_x509_crt_t *) trusted, 1),
                         1);
        assert_int_equal(gnutls_certificate_set_x509_key_mem(w.clients[i].credentials, &cert, &secret,
                                                             GNUTLS_X509_FMT_PEM),
                         0);
}

static int begin_at(void **state, bool fleet) {
        const char *const name = "here.example";
        WebCertificate c = {};
        HttpNames names = {};
        HttpName parsed;
        WebCertificateMade made;

        memset(&w, 0, sizeof(w));
        tmpdir_make(state);
        assert_int_equal(web_certificate_own(*state, &name, 1, clock_wall_us(), &c, &made), 0);
        assert_int_equal(gnutls_certificate_allocate_credentials(&w.trusts), 0);
        assert_int_equal(gnutls_certificate_set_x509_trust(w.trusts, c.chain, 1), 1);
        for (size_t i = 0; i < ELEMENTSOF(w.clients); i++)
                make_client(i, c.chain);
        w.shows = -1;
        http_tls_set_certificate(&c);
        w.accounts = accounts_new(&world_limits);
        assert_non_null(w.accounts);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(author_names_new(&w.loop, &account_source_system, &w.names), 0);
        assert_int_equal(http_api_new(&w.loop, -1, w.accounts, w.names, &ops, NULL, &w.api), 0);
        listen_somewhere(fleet);
        assert_true(http_name_parse(name, strlen(name), &parsed) && http_names_add(&names, &parsed));
        http_api_set_names(w.api, &names, false);
        return 0;
}

static int begin(void **state) {
        return begin_at(state, false);
}

static int begin_fleet(void **state) {
        return begin_at(state, true);
}

static int end(void **state) {
        http_api_close(w.api, on_api_closed, NULL);
        author_names_close(w.names);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_true(w.api_closed);
        if (w.half > 0)
                close(w.half);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        accounts_free(w.accounts);
        gnutls_certificate_free_credentials(w.trusts);
        for (size_t i = 0; i < ELEMENTSOF(w.clients); i++)
                gnutls_certificate_free_credentials(w.clients[i].credentials);
        http_tls_set_certificate(&(WebCertificate){});
        return tmpdir_drop(state);
}

// The loop goes on meanwhile.
static bool again(ssize_t r) {
        assert_true(r >= 0 || !gnutls_error_is_fatal((int) r));
        uv_run(&w.loop, UV_RUN_NOWAIT);
        return r < 0;
}

typedef struct Client {
        gnutls_session_t tls;
        int fd;
        size_t len; // of w.got
} Client;

static int dial(void) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(w.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(connect(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        return fd;
}

static void say(Client *c, const char *text) {
        *c = (Client){.fd = dial()};
        assert_int_equal(gnutls_init(&c->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
        assert_int_equal(gnutls_set_default_priority(c->tls), 0);
        assert_int_equal(gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE,
                                                w.shows >= 0 ? w.clients[w.shows].credentials : w.trusts),
                         0);
        gnutls_session_set_verify_cert(c->tls, "here.example", 0);
        gnutls_transport_set_int(c->tls, c->fd);
        assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
        while (again(gnutls_handshake(c->tls)))
                ;
        assert_true(gnutls_protocol_get_version(c->tls) >= GNUTLS_TLS1_2);
        while (again(gnutls_record_send(c->tls, text, strlen(text))))
                ;
}

static void read_until(Client *c, const char *words) {
        ssize_t r;

        while (c->len == 0 || !memmem(w.got, c->len, words, strlen(words))) {
                while (again(r = gnutls_record_recv(c->tls, w.got + c->len, sizeof(w.got) - 1 - c->len)))
                        ;
                assert_true(r > 0);
                c->len += (size_t) r;
                w.got[c->len] = 0;
        }
}

static void hang_up(Client *c) {
        gnutls_deinit(c->tls);
        close(c->fd);
}

// What is answered, on a connection of its own: its status.
static int ask(const char *text) {
        int status;
        Client c;

        say(&c, text);
        read_until(&c, "\r\n\r\n");
        hang_up(&c);
        assert_int_equal(sscanf(w.got, "HTTP/1.1 %i ", &status), 1);
        return status;
}

static int ask_with_cookie(const char *line, const char *headers, const char *body) {
        char text[1024];

        str_fit(text, sizeof(text),
                "%s HTTP/1.1\r\n" HOST "Cookie: theme=dark; " HTTP_COOKIE "=%s\r\n%s\r\n%s", line, w.cookie,
                headers, body);
        return ask(text);
}

static void log_in(void) {
        assert_int_equal(ask(LOGIN(ORIGIN)), 204);
        const char *cookie = strstr(w.got, "Set-Cookie: " HTTP_COOKIE "=");
        assert_non_null(cookie);
        str_fit(w.cookie, sizeof(w.cookie), "%.43s", cookie + strlen("Set-Cookie: " HTTP_COOKIE "="));
        assert_non_null(strstr(cookie, "; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict\r\n"));
        assert_null(strstr(w.got, TOKEN));
}

static const Hash no_proof;

static void a_session_is_the_token_s_until_it_logs_out(void **state) {
        Hash proof = hash_of(TOKEN, strlen(TOKEN));

        log_in();
        assert_int_equal(w.n_requests, 1); // somebody was asked whether there is such a token
        w.proof = no_proof;
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 200);
        assert_true(hash_equal(&w.proof, &proof));
        assert_int_equal(ask_with_cookie("POST /v1/logout", ORIGIN, ""), 204);
        assert_non_null(strstr(w.got, HTTP_COOKIE "=; Path=/; Max-Age=0;"));
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 401);
        assert_int_equal(w.n_requests, 2);
}

static void who_logs_in_with_no_token_has_no_session(void **state) {
        w.refusal = EKEYREJECTED;
        assert_int_equal(ask(LOGIN(ORIGIN)), 401);
        assert_null(strstr(w.got, "Set-Cookie"));
        w.refusal = EHOSTUNREACH;
        assert_int_equal(ask(LOGIN(ORIGIN)), 503);
        assert_null(strstr(w.got, "Set-Cookie"));
        assert_int_equal(ask("POST /v1/login HTTP/1.1\r\n" HOST ORIGIN
                             "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
                         400);
        assert_int_equal(ask("POST /v1/login HTTP/1.1\r\n" HOST ORIGIN
                             "Content-Type: application/json\r\nContent-Length: 1025\r\n\r\n"),
                         413);
        assert_int_equal(ask("POST /v1/login HTTP/1.1\r\n" HOST ORIGIN "\r\n"), 411);
        assert_int_equal(w.n_requests, 2);
}

static void nobody_is_logged_in_by_a_page_of_somebody_else(void **state) {
        assert_int_equal(ask(LOGIN("Origin: https://evil.example\r\n")), 403);
        assert_int_equal(ask(LOGIN("Origin: http://here.example:1\r\n")), 403);
        assert_int_equal(w.n_requests, 0);
}

static void with_a_cookie_a_change_says_where_it_comes_from(void **state) {
        static const char line[] = "POST /v1/jobs",
                          type[] = "Content-Type: application/json\r\nContent-Length: 37\r\n";
        char headers[256];

        log_in();
        assert_int_equal(ask_with_cookie(line, type, STOP), 403);
        str_fit(headers, sizeof(headers), "%sOrigin: https://evil.example\r\n", type);
        assert_int_equal(ask_with_cookie(line, headers, STOP), 403);
        str_fit(headers, sizeof(headers), "%sOrigin: null\r\n", type);
        assert_int_equal(ask_with_cookie(line, headers, STOP), 403);
        assert_int_equal(ask_with_cookie("POST /v1/logout", "", ""), 403);
        assert_int_equal(w.n_requests, 1);
        str_fit(headers, sizeof(headers), "%s" ORIGIN, type);
        assert_int_equal(ask_with_cookie(line, headers, STOP), 200);
        assert_int_equal(w.n_requests, 2);
}

static void a_session_ends_with_its_token(void **state) {
        log_in();
        w.refusal = EACCES;
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 403);
        w.refusal = EKEYREVOKED;
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 401);
        w.refusal = 0;
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 401);
        assert_int_equal(w.n_requests, 3); // the last time nobody was asked
}

static void listen_with_cookie(Client *c) {
        char text[512];

        str_fit(text, sizeof(text), "GET /v1/events HTTP/1.1\r\n" HOST "Cookie: " HTTP_COOKIE "=%s\r\n\r\n",
                w.cookie);
        say(c, text);
        read_until(c, "200 OK");
        while (!w.listens)
                uv_run(&w.loop, UV_RUN_ONCE);
}

static void a_stream_ends_with_its_session(void **state) {
        char other[HTTP_SECRET_SIZE], its[HTTP_SECRET_SIZE];
        Client c, kept;

        log_in();
        memcpy(other, w.cookie, sizeof(other));
        log_in(); // again, with the same token
        memcpy(its, w.cookie, sizeof(its));
        listen_with_cookie(&c);
        memcpy(w.cookie, other, sizeof(other));
        listen_with_cookie(&kept);
        memcpy(w.cookie, its, sizeof(its));
        assert_int_equal(ask_with_cookie("POST /v1/logout", ORIGIN, ""), 204);
        c.len = 0;
        read_until(&c, "the session has ended");
        while (!w.listens) // the other goes on
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 401);
        memcpy(w.cookie, other, sizeof(other));
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""), 200);
        hang_up(&c);
        hang_up(&kept);
}

static void tell_line(const char *text) {
        char *lines[] = {(char *) text};
        Argosy__Response__Journal journal =
                MESSAGE_OF(response__journal, .node = (char *) "n1", .lines = lines, .n_lines = 1);

        http_call_respond(w.reads, A_RESPONSE(JOURNAL, journal, &journal));
}

static void follow_with_cookie(Client *c) {
        char text[512];

        str_fit(text, sizeof(text),
                "GET /v1/journal/a.service?follow=true HTTP/1.1\r\n" HOST "Cookie: " HTTP_COOKIE
                "=%s\r\n\r\n",
                w.cookie);
        say(c, text);
        while (!w.reads)
                uv_run(&w.loop, UV_RUN_ONCE);
}

// At once, and not when there is something to say the next time; nothing more of it is told.
static void a_journal_ends_with_its_session(void **state) {
        Client c;

        log_in();
        follow_with_cookie(&c);
        tell_line("one");
        read_until(&c, "one");
        while (w.reads->journal.away) // until that is read
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(ask_with_cookie("POST /v1/logout", ORIGIN, ""), 204);
        if (w.reads)
                tell_line("two");
        c.len = 0;
        read_until(&c, "the session has ended");
        assert_null(strstr(w.got, "two"));
        assert_null(w.reads);
        hang_up(&c);
        log_in();
        follow_with_cookie(&c); // there is nothing to be told of it yet
        assert_int_equal(ask_with_cookie("POST /v1/logout", ORIGIN, ""), 204);
        assert_null(w.reads);
        c.len = 0;
        read_until(&c, "the session has ended");
        assert_non_null(strstr(w.got, "HTTP/1.1 401 "));
        hang_up(&c);
}

// As one that was logged out.
static void a_journal_ends_with_its_session_that_gives_way(void **state) {
        Client c;

        log_in();
        follow_with_cookie(&c);
        for (unsigned i = 1; i < HTTP_SESSIONS_PER_TOKEN; i++)
                log_in();
        assert_non_null(w.reads);
        log_in();
        assert_null(w.reads);
        read_until(&c, "the session has ended");
        hang_up(&c);
}

static void a_token_in_a_header_counts_and_not_the_cookie_beside_it(void **state) {
        log_in();
        w.proof = no_proof;
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "Authorization: Bearer argosy_short\r\n", ""),
                         401);
        assert_true(hash_equal(&w.proof, &no_proof));
        assert_int_equal(
                ask_with_cookie("POST /v1/logout", "Authorization: Bearer " TOKEN "\r\n" ORIGIN, ""), 204);
        assert_int_equal(ask_with_cookie("GET /v1/nodes", "", ""),
                         200); // it was not this session that logged out
}

static int ask_fleet(int client, const char *target, const char *headers) {
        char text[512];

        w.shows = client;
        str_fit(text, sizeof(text), "GET %s HTTP/1.1\r\n" HOST "%s\r\n", target, headers);
        return ask(text);
}

static void fleet_s_api_asks_for_a_certificate_and_nothing_else(void **state) {
        assert_int_equal(ask_fleet(-1, "/fleet/v1/units", ""), 401);
        assert_non_null(strstr(w.got, "Server: fleetd/"));
        assert_int_equal(ask_fleet(-1, "/fleet/v1/discovery", ""), 401);
        assert_int_equal(ask_fleet(-1, "/fleet/v1/units", "Authorization: Bearer " TOKEN "\r\n"), 401);
        assert_int_equal(w.n_requests, 0);
        assert_int_equal(ask_fleet(0, "/fleet/v1/units", ""), 200);
        assert_true(hash_equal(&w.proof, &w.clients[0].proof));
        assert_int_equal(ask_fleet(1, "/fleet/v1/units", "Authorization: Bearer " TOKEN "\r\n"), 200);
        assert_true(hash_equal(&w.proof, &w.clients[1].proof)); // it is the certificate that counts
        assert_int_equal(ask_fleet(0, "/v1/nodes", ""), 404);
        w.refusal = EKEYREVOKED;
        assert_int_equal(ask_fleet(0, "/fleet/v1/units", ""), 401);
}

static void each_reader_has_pages_of_his_own(void **state) {
        assert_int_equal(ask_fleet(0, "/fleet/v1/state", ""), 200);
        assert_string_equal(w.behind, "");
        assert_int_equal(ask_fleet(1, "/fleet/v1/state", ""), 200);
        assert_int_equal(ask_fleet(0, "/fleet/v1/state?nextPageToken=ZAACAA%3D%3D", ""), 200);
        assert_string_equal(w.behind, "0-099.service");
        assert_int_equal(ask_fleet(1, "/fleet/v1/state?nextPageToken=ZAACAA%3D%3D", ""), 200);
        assert_string_equal(w.behind, "1-099.service");
}

// Of all threads.
static uint64_t cpu_us(void) {
        struct rusage u;

        assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
        return (uint64_t) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * USEC_PER_SEC +
               (uint64_t) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// How often the loop turns is no matter: what is looked at is what the thread does while nothing comes.
static void costs_nothing_for_a_while(void) {
        const struct timespec settles = {.tv_nsec = 50 * 1000 * 1000},
                              lasts = {.tv_nsec = 400 * 1000 * 1000};

        nanosleep(&settles, NULL);
        uint64_t before = cpu_us();
        nanosleep(&lasts, NULL);
        assert_true(cpu_us() - before < 10 * USEC_PER_MSEC);
}

static ssize_t keep_flight(gnutls_transport_ptr_t to, const void *data, size_t len) {
        Buf *flight = to;

        return buf_append(flight, data, len) < 0 ? -1 : (ssize_t) len;
}

static ssize_t hear_nothing(gnutls_transport_ptr_t from, void *data, size_t len) {
        errno = EAGAIN;
        return -1;
}

// What a client says first.
static void hello(Buf *ret) {
        gnutls_session_t tls;

        assert_int_equal(gnutls_init(&tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
        assert_int_equal(gnutls_set_default_priority(tls), 0);
        assert_int_equal(gnutls_credentials_set(tls, GNUTLS_CRD_CERTIFICATE, w.trusts), 0);
        gnutls_transport_set_ptr(tls, ret);
        gnutls_transport_set_push_function(tls, keep_flight);
        gnutls_transport_set_pull_function(tls, hear_nothing);
        assert_int_equal(gnutls_handshake(tls), GNUTLS_E_AGAIN);
        gnutls_deinit(tls);
}

static void a_handshake_that_does_not_go_on_costs_nothing(void **state) {
        _cleanup_buf_ Buf first = {};
        size_t parts[4];
        int fds[ELEMENTSOF(parts)];

        // the thread is there from then on
        assert_int_equal(ask("GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200);
        hello(&first);
        parts[0] = 1;
        parts[1] = 5; // the head of a record
        parts[2] = first.len / 2;
        parts[3] = first.len; // and nothing behind it
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                fds[i] = dial();
                assert_int_equal(write(fds[i], first.data, parts[i]), parts[i]);
                costs_nothing_for_a_while();
        }
        assert_int_equal(ask("GET /healthz HTTP/1.1\r\n" HOST "\r\n"), 200); // nobody is kept out
        for (size_t i = 1; i < ELEMENTSOF(parts); i++)
                close(fds[i]);
        w.half = fds[0];
}

// As that of a request.
static void a_part_of_a_record_costs_nothing(void **state) {
        Client c;

        say(&c, "GET /healthz HTTP/1.1\r\n");
        costs_nothing_for_a_while();
        assert_int_equal(write(c.fd, "\x17\x03\x03\x00\x40 begins", 12), 12);
        costs_nothing_for_a_while();
        hang_up(&c);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_handshake_that_does_not_go_on_costs_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_part_of_a_record_costs_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_session_is_the_token_s_until_it_logs_out, begin, end),
        cmocka_unit_test_setup_teardown(who_logs_in_with_no_token_has_no_session, begin, end),
        cmocka_unit_test_setup_teardown(nobody_is_logged_in_by_a_page_of_somebody_else, begin, end),
        cmocka_unit_test_setup_teardown(with_a_cookie_a_change_says_where_it_comes_from, begin, end),
        cmocka_unit_test_setup_teardown(a_session_ends_with_its_token, begin, end),
        cmocka_unit_test_setup_teardown(a_stream_ends_with_its_session, begin, end),
        cmocka_unit_test_setup_teardown(a_journal_ends_with_its_session, begin, end),
        cmocka_unit_test_setup_teardown(a_journal_ends_with_its_session_that_gives_way, begin, end),
        cmocka_unit_test_setup_teardown(fleet_s_api_asks_for_a_certificate_and_nothing_else,
                                        begin_fleet, end),
        cmocka_unit_test_setup_teardown(each_reader_has_pages_of_his_own, begin_fleet, end),
        cmocka_unit_test_setup_teardown(a_token_in_a_header_counts_and_not_the_cookie_beside_it,
                                        begin, end)
)
