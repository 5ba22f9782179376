// SPDX-License-Identifier: LGPL-2.1-or-later

// Clients that do what none should, or what few do, over the socket and over TCP: they connect and say
// nothing, end in the middle, never end, say more than was asked for, or shut their half of the connection
// down. They get an answer or their end, and all others theirs.

#include "test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "api-answers.h"
#include "author-names.h"
#include "buf.h"
#include "event-cursor.h"
#include "http-accounts.h"
#include "http-call.h"
#include "message.h"
#include "messages.h"
#include "str.h"
#include "stream.h"
#include "tmpdir.h"

#define TOKEN "argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"
#define HEADERS "Host: x\r\nAuthorization: Bearer " TOKEN "\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HEADERS "\r\n"

enum {
        OTHERS = CONNECTIONS_OTHERS / CONNECTIONS_PER_USER, // users that fill it
        FIRST_USER = 54321,
        CLIENTS = CONNECTIONS_ALL + CONNECTIONS_ALL,
};

typedef struct Client {
        int fd;
        uv_poll_t poll;
        Buf got;
        bool open, ended;
} Client;

static struct World {
        uv_loop_t loop;
        Accounts *accounts;
        AuthorNames *names;
        HttpApi *api;
        char *path;
        uint16_t port;
        bool api_closed, waits;
        HttpCall *calls[CONNECTIONS_ALL];
        size_t n_calls;
        int last_what;
        Client clients[CLIENTS];
        size_t n_clients;
} w;

// ---- the leader

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        w.last_what = (int) request->what_case;
        message_free(request);
        if (w.waits)
                w.calls[w.n_calls++] = call;
        else
                answer_nodes(call);
}

static void on_cancel(void *route, void *userdata) {
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .admits = answer_admits, .is_ready = answer_is_ready};

// ---- clients

// All that there is: of a connection that was reset libuv tells once.
static void on_readable(uv_poll_t *poll, int status, int events) {
        Client *c = poll->data;
        char buf[65536];
        ssize_t n;

        while ((n = read(c->fd, buf, sizeof(buf))) > 0)
                assert_int_equal(buf_append(&c->got, buf, (size_t) n), 0);
        if (n == 0 || errno != EAGAIN) {
                c->ended = true;
                uv_poll_stop(poll);
        }
}

static Client *take(int fd) {
        Client *c = &w.clients[w.n_clients++];

        assert_true(w.n_clients <= CLIENTS);
        c->fd = fd;
        c->open = true;
        c->poll.data = c;
        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(uv_poll_init(&w.loop, &c->poll, fd), 0);
        assert_int_equal(uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_readable), 0);
        return c;
}

static Client *dial_unix(void) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0 && str_copy(at.sun_path, sizeof(at.sun_path), w.path));
        while (connect(fd, (struct sockaddr *) &at, sizeof(at)) < 0) {
                assert_int_equal(errno, EAGAIN); // the backlog is full
                uv_run(&w.loop, UV_RUN_NOWAIT);
        }
        return take(fd);
}

static Client *dial_tcp(void) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(w.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        return take(fd);
}

static Client *dial(bool tcp) {
        return tcp ? dial_tcp() : dial_unix();
}

// As somebody else, whom the kernel attests: this thread alone, as argosyd's own asks who argosyd is.
static Client *dial_as(uid_t uid) {
        assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
        Client *c = dial_unix();
        assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
        return c;
}

// What the kernel does not take now goes nowhere: who floods is not to wait for those whom he floods.
static bool say_some(Client *c, const char *text, size_t len) {
        return send(c->fd, text, len, MSG_NOSIGNAL) > 0 || errno == EAGAIN;
}

static void say(Client *c, const char *text) {
        assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t) strlen(text));
}

static void hang_up(Client *c) {
        uv_close((uv_handle_t *) &c->poll, NULL);
        close(c->fd);
        c->open = false;
}

static bool has(const Client *c, const char *words) {
        return c->got.len > 0 && memmem(c->got.data, c->got.len, words, strlen(words));
}

static size_t count(const Client *c, const char *words) {
        size_t n = 0;

        for (size_t i = 0; i + strlen(words) <= c->got.len; i++)
                n += memcmp(c->got.data + i, words, strlen(words)) == 0;
        return n;
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

static void is_served(Client *c) {
        say(c, GET("/healthz"));
        RUN_UNTIL(has(c, "ok\n") || c->ended);
        assert_true(has(c, "HTTP/1.1 200 "));
}

// ---- all of it

static void listen_tcp(void) {
        HttpNames names = {};
        HttpListen l;
        HttpName name;
        char text[64];
        int r = -EADDRINUSE;

        for (unsigned i = 0; i < 100 && r == -EADDRINUSE; i++) {
                w.port = (uint16_t) (20000 + ((unsigned) getpid() * 7 + i) % 10000);
                str_fit(text, sizeof(text), "127.0.0.1:%u", (unsigned) w.port);
                assert_true(http_listen_parse(text, &l));
                r = http_api_listen(w.api, &l, false);
        }
        assert_int_equal(r, 0);
        assert_true(http_name_parse("x", 1, &name) && http_names_add(&names, &name));
        http_api_set_names(w.api, &names, false);
}

static void on_api_closed(void *userdata) {
        w.api_closed = true;
}

FIXTURE(begin) {
        int fd;

        memset(&w, 0, sizeof(w));
        tmpdir_make(state);
        assert_int_equal(chmod((char *) *state, 0755), 0);
        w.path = str_printf("%s/http", (char *) *state);
        w.accounts = accounts_new(&world_limits);
        assert_non_null(w.accounts);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(author_names_new(&w.loop, &account_source_system, &w.names), 0);
        assert_int_equal(listener_bind_unix(w.path, 0666, (gid_t) -1, &fd), 0);
        assert_int_equal(http_api_new(&w.loop, fd, w.accounts, w.names, &ops, NULL, &w.api), 0);
        listen_tcp();
}

static int end(void **state) {
        http_api_close(w.api, on_api_closed, NULL);
        author_names_close(w.names);
        for (size_t i = 0; i < w.n_clients; i++)
                if (w.clients[i].open)
                        hang_up(&w.clients[i]);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_true(w.api_closed);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        accounts_free(w.accounts);
        for (size_t i = 0; i < w.n_clients; i++)
                buf_done(&w.clients[i].got);
        free(w.path);
        return tmpdir_drop(state);
}

// ---- who says nothing

static bool cannot_be_others(void) {
        return getuid() != 0;
}

static void of_two_thousand_connections_the_longest_idle_goes_for_another_one(void **state) {
        static Client *in[CONNECTIONS_ALL];
        size_t n = 0;

        if (cannot_be_others())
                skip();
        for (unsigned user = 0; user < OTHERS; user++)
                for (size_t i = 0; i < CONNECTIONS_PER_USER; i++)
                        is_served(in[n++] = dial_as(FIRST_USER + user));
        while (n < CONNECTIONS_ALL)
                is_served(in[n++] = dial(false));
        is_served(dial(false)); // for the oldest of its own,
        RUN_UNTIL(in[CONNECTIONS_OTHERS]->ended);
        is_served(dial_as(FIRST_USER)); // also this one,
        RUN_UNTIL(in[0]->ended);
        is_served(dial_as(FIRST_USER + OTHERS)); // and this for the oldest of all others
        RUN_UNTIL(in[1]->ended);
        for (size_t i = 2; i < n; i++)
                assert_true(i == CONNECTIONS_OTHERS || !in[i]->ended);
        in[2]->got.len = 0;
        is_served(in[2]);
}

static void who_is_one_too_many_is_told(void **state) {
        if (cannot_be_others())
                skip();
        w.waits = true;
        for (size_t i = 1; i <= CONNECTIONS_PER_OWNER; i++) {
                say(dial(false), GET("/v1/nodes"));
                RUN_UNTIL(w.n_calls == i);
        }
        Client *c = dial(false);
        say(c, GET("/healthz"));
        RUN_UNTIL(c->ended);
        assert_true(has(c, "HTTP/1.1 429 ") && has(c, "too many connections are open"));
        for (size_t i = 0; i <= HTTP_CONNECTIONS_REFUSED_MAX; i++) // who do not even ask
                c = dial(false);
        RUN_UNTIL(c->ended);
        assert_int_equal(c->got.len, 0);
        is_served(dial_as(FIRST_USER));
}

// They are let in in their order, so whoever comes behind them is served when they are.
static void who_connects_again_and_again_and_says_nothing_takes_the_room_of_nobody_else(void **state) {
        if (cannot_be_others())
                skip();
        for (size_t i = 0; i < CONNECTIONS_ALL + 2 * HTTP_CONNECTIONS_REFUSED_MAX; i++)
                (void) dial_as(FIRST_USER);
        is_served(dial(false));
        is_served(dial_as(FIRST_USER + 1));
        for (size_t i = 0; i < CONNECTIONS_PER_USER; i++) { // its newest
                Client *c = &w.clients[CONNECTIONS_ALL + 2 * HTTP_CONNECTIONS_REFUSED_MAX - 1 - i];

                assert_false(c->ended);
                is_served(c);
        }
}

// ---- who wants too much of what is made for him alone

static void one_user_has_some_of_the_copies_and_not_all(void **state) {
        EventCursor at = {.generation = 1, .term = 1, .mode = EVENT_CURSOR_RING, .seq = 7};
        char cursor[EVENT_CURSOR_SIZE], text[512];

        w.waits = true;
        event_cursor_format(&at, cursor);
        str_fit(text, sizeof(text), "GET /v1/state?since=%s HTTP/1.1\r\n" HEADERS "\r\n", cursor);
        for (size_t i = 1; i <= COPIES_PER_USER; i++) {
                say(dial_tcp(), text);
                RUN_UNTIL(w.n_calls == i);
        }
        Client *c = dial_tcp();
        say(c, text);
        RUN_UNTIL(has(c, "\"status\":"));
        assert_true(has(c, "HTTP/1.1 503 ") && has(c, "as many documents as one user may have"));
        say(dial_unix(), text); // and somebody else has his
        RUN_UNTIL(w.n_calls == COPIES_PER_USER + 1);
        http_call_fail(w.calls[0], EHOSTUNREACH, NULL);
        c->got.len = 0;
        say(c, text);
        RUN_UNTIL(w.n_calls == COPIES_PER_USER + 2);
}

// ---- who ends his half

// A part of job 17, and how many units are behind it.
static void respond_part(HttpCall *call, uint32_t more) {
        Argosy__Response__JobRow row = JOB_ROW_OF(.job = 17), *rows[] = {&row};
        Argosy__Response__JobUnitRow unit = ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT, *units[] = {&unit};
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = rows, .n_rows = 1);

        row.units = units;
        row.n_units = 1;
        row.more_units = more;
        http_call_respond(call, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

static void who_shuts_down_his_half_is_owed_his_answer(void **state) {
        w.waits = true;
        for (unsigned tcp = 0; tcp < 2; tcp++) {
                Client *now = dial(tcp), *later = dial(tcp), *in_parts = dial(tcp);

                w.n_calls = 0;
                say(now, GET("/healthz"));
                assert_int_equal(shutdown(now->fd, SHUT_WR), 0);
                RUN_UNTIL(now->ended);
                assert_true(has(now, "HTTP/1.1 200 ") && has(now, "ok\n"));
                say(later, GET("/v1/nodes"));
                assert_int_equal(shutdown(later->fd, SHUT_WR), 0);
                RUN_UNTIL(w.n_calls == 1);
                answer_nodes(w.calls[0]);
                RUN_UNTIL(later->ended);
                assert_true(has(later, "HTTP/1.1 200 ") && has(later, "\"nodes\":[]}\n"));
                say(in_parts, GET("/v1/jobs/17"));
                assert_int_equal(shutdown(in_parts->fd, SHUT_WR), 0);
                RUN_UNTIL(w.n_calls == 2);
                respond_part(w.calls[1], 1);
                RUN_UNTIL(w.n_calls == 3 || in_parts->ended);
                assert_int_equal(w.n_calls, 3);
                respond_part(w.calls[2], 0);
                RUN_UNTIL(in_parts->ended);
                assert_true(has(in_parts, "HTTP/1.1 200 ") && has(in_parts, "]}\n"));
        }
}

static void who_ends_in_the_middle_of_what_he_says_is_asked_for_nothing(void **state) {
        static const char *const halves[] = {
                "GET /v1/nodes HTTP/1.1\r\nHost: x\r\n",
                "POST /v1/jobs HTTP/1.1\r\n" HEADERS
                "Content-Type: application/json\r\nContent-Length: 37\r\n\r\n{\"verb\":"};

        for (unsigned tcp = 0; tcp < 2; tcp++)
                for (size_t i = 0; i < ELEMENTSOF(halves); i++) {
                        Client *c = dial(tcp);

                        say(c, halves[i]);
                        while (http_api_stats(w.api).http_requests_open == 0) // this far it was read
                                uv_run(&w.loop, UV_RUN_NOWAIT);
                        assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
                        RUN_UNTIL(c->ended);
                        assert_false(has(c, "HTTP/1.1 2"));
                        is_served(dial(tcp));
                }
        assert_int_equal(w.last_what, 0);
        assert_int_equal(http_api_stats(w.api).http_held_bytes, 0);
}

// ---- who says too much

static void is_refused(Client *c) {
        RUN_UNTIL(c->ended);
        assert_false(has(c, "HTTP/1.1 2"));
        assert_int_equal(w.last_what, 0);
}

// Until the other side has enough of it.
static void flood(Client *c, const char *beginning, const char *line) {
        char lines[1024] = "";

        for (size_t n = 0; n + strlen(line) < sizeof(lines); n += strlen(line))
                memcpy(lines + n, line, strlen(line) + 1);
        say(c, beginning);
        while (!c->ended && say_some(c, lines, strlen(lines)))
                uv_run(&w.loop, UV_RUN_NOWAIT);
        RUN_UNTIL(c->ended);
}

static void who_floods_with_headers_is_cut_off(void **state) {
        static const struct {
                const char *beginning, *line;
        } floods[] = {
                {"", "a"},                                     // a line that never ends
                {"GET /", "a"},                                // a target
                {"GET /healthz HTTP/1.1\r\n", "X: y\r\n"},    // very many headers
                {"GET /healthz HTTP/1.1\r\nX: ", "y"},         // a very long one
                {"GET /healthz HTTP/1.1\r\nX: y\r\n", " y\r\n"}, // one that is folded
                {"GET /healthz HTTP/1.1\r\nCookie: ", "a=b; "},
                {"GET /healthz?", "a=b&"},
        };

        for (unsigned tcp = 0; tcp < 2; tcp++)
                for (size_t i = 0; i < ELEMENTSOF(floods); i++) {
                        Client *c = dial(tcp);

                        flood(c, floods[i].beginning, floods[i].line);
                        is_refused(c);
                        is_served(dial(tcp));
                }
}

static void what_comes_behind_a_request_and_is_none_is_not_taken_for_one(void **state) {
        static const char *const garbage[] = {
                "\x16\x03\x01\x02\x01garbage\r\n\r\n",
                "GET\r\n\r\n",
                "\xff\xfe\xfd / HTTP/1.1\r\n\r\n",
                "GET /v1/nodes HTTP/9.9\r\nHost: x\r\n\r\n",
                "GET /v1/nodes\r\n\r\n",
                "GET /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"};
        char text[512];

        w.waits = true;
        for (unsigned tcp = 0; tcp < 2; tcp++)
                for (size_t i = 0; i < ELEMENTSOF(garbage); i++) {
                        Client *c = dial(tcp);

                        w.n_calls = 0;
                        str_fit(text, sizeof(text), "%s%s", GET("/v1/nodes"), garbage[i]);
                        say(c, text);
                        RUN_UNTIL(w.n_calls == 1);
                        answer_nodes(w.calls[0]);
                        RUN_UNTIL(c->ended || count(c, "HTTP/1.1 ") == 2);
                        assert_memory_equal(c->got.data, "HTTP/1.1 200 ", 13);
                        assert_int_equal(count(c, "\"nodes\":[]}\n"), 1);
                        assert_int_equal(count(c, "HTTP/1.1 2"), 1);
                        assert_int_equal(w.n_calls, 1);
                        is_served(dial(tcp));
                }
}

// ---- who is slow

#define STOP "{\"verb\":\"stop\",\"units\":[\"a.service\"]}"

static void who_says_a_byte_at_a_time_is_understood(void **state) {
        static const char text[] = "POST /v1/jobs HTTP/1.1\r\n" HEADERS
                                   "Content-Type: application/json\r\nContent-Length: 37\r\n\r\n" STOP;

        w.waits = true;
        for (unsigned tcp = 0; tcp < 2; tcp++) {
                Client *c = dial(tcp), *other = dial(tcp);
                int at_once = 1;

                w.n_calls = 0;
                if (tcp)
                        assert_int_equal(
                                setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)), 0);
                for (size_t i = 0; i < strlen(text); i++) {
                        assert_true(say_some(c, text + i, 1));
                        other->got.len = 0;
                        is_served(other);
                }
                RUN_UNTIL(w.n_calls == 1);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
                answer_nodes(w.calls[0]);
                RUN_UNTIL(has(c, "HTTP/1.1 200 "));
        }
}

// From 1.0 on libmicrohttpd refuses such heads by itself, when it is told to be strict, and in its own
// words; a NUL in the first line without a word.
static bool library_refuses(void) {
        return strncmp(MHD_get_version(), "0.", 2) != 0;
}

// What stands behind it would be taken for the next request.
static void is_refused_whole(const char *text, size_t len) {
        for (unsigned tcp = 0; tcp < 2; tcp++) {
                Client *c = dial(tcp);

                assert_int_equal(send(c->fd, text, len, MSG_NOSIGNAL), (ssize_t) len);
                RUN_UNTIL(c->ended);
                if (c->got.len > 0 || !library_refuses()) {
                        assert_true(has(c, "HTTP/1.1 400 "));
                        assert_true(has(c, "application/problem+json") || library_refuses());
                        assert_int_equal(count(c, "HTTP/1.1 "), 1);
                }
                assert_int_equal(count(c, "ok\n"), 0);
        }
        assert_int_equal(w.n_calls, 0);
}

// As others read it, or as we do: the one is as good as the other until somebody reads it in the other way.
static void a_head_that_others_read_otherwise_is_refused(void **state) {
#define REQUEST "GET /healthz HTTP/1.1\r\n"
#define NEXT GET("/healthz")
#define TEXT(s) {s, sizeof(s) - 1}
        static const struct {
                const char *text;
                size_t len;
        } texts[] = {
                TEXT("GET /healthz HTTP/1.1\n" HEADERS "\r\n" NEXT), // bare LF,
                TEXT(REQUEST "Host: x\nX: y\r\n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\n\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\n\n"),
                TEXT(REQUEST HEADERS "X: y\n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\r\n\n" NEXT),
                TEXT(REQUEST HEADERS "X: \n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y \n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\rZ: a\r\n\r\n" NEXT), // bare CR,
                TEXT(REQUEST HEADERS "X: y\r\r\n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\0z\r\n\r\n" NEXT), // NUL,
                TEXT(REQUEST HEADERS "X: y\0\r\n\r\n" NEXT),
                TEXT(REQUEST HEADERS "\0: y\r\n\r\n" NEXT), // for libmicrohttpd the end of the head
                TEXT("GET /healthz\0a HTTP/1.1\r\n" HEADERS "\r\n" NEXT),
                TEXT("GET\0 /healthz HTTP/1.1\r\n" HEADERS "\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\r\n z\r\n\r\n" NEXT), // a folded line,
                TEXT(REQUEST HEADERS "X: y\r\n\tz\r\n\r\n" NEXT),
                TEXT(REQUEST HEADERS "X: y\r\n \r\n\r\n" NEXT),
                TEXT(REQUEST " Host: x\r\n" HEADERS "\r\n" NEXT), // a blank in front,
                TEXT(REQUEST "\tX: y\r\n" HEADERS "\r\n" NEXT),
                TEXT("GET  /healthz HTTP/1.1\r\n" HEADERS "\r\n" NEXT), // or one too many,
                TEXT("GET /healthz  HTTP/1.1\r\n" HEADERS "\r\n" NEXT),
                TEXT(REQUEST HEADERS "Host: x\r\n\r\n" NEXT), // and what says twice who is asked,
                TEXT(REQUEST HEADERS "Host: y\r\n\r\n" NEXT),
                TEXT("POST /v1/jobs HTTP/1.1\r\n" HEADERS
                     "Content-Length: 37\r\nContent-Length: 3\r\n\r\n" NEXT), // or where a body ends
                TEXT("POST /v1/jobs HTTP/1.1\r\n" HEADERS
                     "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT),
                TEXT("POST /v1/jobs HTTP/1.1\r\n" HEADERS
                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" NEXT),
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                is_refused_whole(texts[i].text, texts[i].len);
}

// And what is a head to all is one to us, whatever blanks stand where they may.
static void a_head_that_all_read_alike_is_taken(void **state) {
        static const char *const texts[] = {
                REQUEST "Host:x\r\n\r\n",
                REQUEST "Host: \t x\r\nX:\r\nY: \r\nZ:z z\r\n\r\n",
                REQUEST "Host: x\r\nX: a:b\r\nX: \xc3\xa4\r\n\r\n",
                "\r\n" REQUEST "Host: x\r\n\r\n",
                "GET /%68ealthz HTTP/1.1\r\n" HEADERS "Cookie: a=b; c=\"d\"\r\n\r\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                for (unsigned tcp = 0; tcp < 2; tcp++) {
                        Client *c = dial(tcp);

                        // one after the other, and the next one behind each
                        for (unsigned n = 1; n <= 2; n++) {
                                say(c, texts[i]);
                                RUN_UNTIL(count(c, "HTTP/1.1 ") == n || c->ended);
                                assert_int_equal(count(c, "HTTP/1.1 200 ") + count(c, "HTTP/1.1 404 "), n);
                        }
                }
}

// For each of them libmicrohttpd would take memory that the connection does not have, and then say nothing
// for half a minute.
static void any_number_of_parameters_is_answered_at_once(void **state) {
        static const unsigned numbers[] = {1, 64, 65, 108, 500, 2000};
        char text[8192];

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                for (unsigned tcp = 0; tcp < 2; tcp++) {
                        Client *c = dial(tcp);
                        size_t len = (size_t) snprintf(text, sizeof(text), "GET /v1/units?");

                        for (unsigned n = 0; n < numbers[i]; n++)
                                len += (size_t) snprintf(text + len, sizeof(text) - len, "a=&");
                        snprintf(text + len - 1, sizeof(text) - len, " HTTP/1.1\r\n" HEADERS "\r\n");
                        say(c, text);
                        RUN_UNTIL(has(c, "}"));
                        assert_true(has(c, "HTTP/1.1 400 ") && has(c, "application/problem+json"));
                        assert_false(c->ended); // and the connection goes on
                        c->got.len = 0;
                        is_served(c);
                }
        assert_int_equal(w.n_calls, 0);
}

static void a_header_that_is_none_is_refused_before_the_body(void **state) {
        static const char *const texts[] = {
                "POST /v1/jobs HTTP/1.1\r\n" HEADERS
                "Content-Type: application/json\r\nContent-Length : 39\r\n\r\n" GET("/healthz"),
                "GET /healthz HTTP/1.1\r\n" HEADERS "X Y: 1\r\n\r\n" GET("/healthz"),
                "GET /healthz HTTP/1.1\r\n" HEADERS "X: \x01\r\n\r\n" GET("/healthz"),
                "GET /healthz HTTP/1.1\r\n" HEADERS "(): 1\r\n\r\n" GET("/healthz"),
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                is_refused_whole(texts[i], strlen(texts[i]));
}

int main(void) {
        struct rlimit files;
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
                TEST(of_two_thousand_connections_the_longest_idle_goes_for_another_one),
                TEST(who_is_one_too_many_is_told),
                TEST(who_connects_again_and_again_and_says_nothing_takes_the_room_of_nobody_else),
                TEST(one_user_has_some_of_the_copies_and_not_all),
                TEST(who_shuts_down_his_half_is_owed_his_answer),
                TEST(who_ends_in_the_middle_of_what_he_says_is_asked_for_nothing),
                TEST(who_floods_with_headers_is_cut_off),
                TEST(what_comes_behind_a_request_and_is_none_is_not_taken_for_one),
                TEST(who_says_a_byte_at_a_time_is_understood),
                TEST(a_header_that_is_none_is_refused_before_the_body),
                TEST(a_head_that_others_read_otherwise_is_refused),
                TEST(a_head_that_all_read_alike_is_taken),
                TEST(any_number_of_parameters_is_answered_at_once),
        };

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = files.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
