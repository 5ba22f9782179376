// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Watches the events of a cluster over argosyd's local socket, while it submits instances of a template that
// the cluster knows, and measures when each watcher is told.
//
//   watch-client SOCKET TEMPLATE watch WATCHERS STOPPED RATE SECONDS
//       WATCHERS watchers, of whom STOPPED ask once and read nothing. RATE units are submitted each second,
//       one in each
//       request: two events each, of the unit and of its job. Beside it a question that needs no leader is
//       asked every 10 ms.
//       Prints how many events of units the others have been told of, and how many that should be; the
//       median and the
//       99th percentile of the microseconds from an event to its watcher, and of those questions; and the
//       most bytes that
//       wait for one who is stopped.
//   watch-client SOCKET TEMPLATE resume EVENTS ROUNDS
//       ROUNDS times: a watcher goes, EVENTS events happen, and he is back. Prints the median and the 99th
//       percentile of the
//       microseconds until he is told of all of them, and the least number of events that he was told.
//
// Watchers share connections, nine on each, since a user may have no more than 64; who is stopped has one of
// his own. An event says when it came to be, by the clock of this machine. Whatever is not a success ends
// the program.

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "clock.h"
#include "event-cursor.h"
#include "frame.h"
#include "macro.h"
#include "str.h"

enum {
        ID_BYTES = 16,
        READ_BYTES = 64 * 1024,
        PATIENCE_MS = 60 * 1000,
        ON_ONE_CONNECTION = 9,
        LEADER_LIMIT_watchers = 512,
        CONNECTIONS_MAX = 64,
        SAMPLES_MAX = 8 * 1000 * 1000,
        PING_US = 10 * 1000,
        QUIET_US = 3 * 1000 * 1000, // all that was to come has come by then
        IN_FLIGHT_MAX = 60,         // of what one connection may have (API_CALLS_MAX)
        EVENTS_OF_ONE = 2,          // that is submitted: its own, and its job's
        LOAD_ID = 1000,             // of requests that change something; watchers have smaller ones
        PING_ID = 999,
};

typedef struct Connection {
        int fd;
        bool stopped; // it is not read
        Buf in, out;
} Connection;

typedef struct Watcher {
        Connection *connection;
        char cursor[EVENT_CURSOR_SIZE];
        bool begun; // he has a cursor
        uint64_t n_units, n_events, n_answers;
} Watcher;

typedef struct Samples {
        uint32_t *us;
        size_t n, max;
} Samples;

static Connection connections[CONNECTIONS_MAX];
static size_t n_connections;
static Watcher watchers[LEADER_LIMIT_watchers];
static size_t n_watchers;
static Samples told, pings;
static char prefix[64]; // of the names of units of this run
static uint64_t n_submitted, n_answered, pinged_us;
static bool asks_again = true; // a watcher, as soon as he is answered

static void fail(const char *why) {
        fprintf(stderr, "watch-client: %s\n", why);
        exit(EXIT_FAILURE);
}

static void check(int r, const char *what) {
        if (r < 0) {
                fprintf(stderr, "watch-client: %s: %s\n", what, strerror(-r));
                exit(EXIT_FAILURE);
        }
}

static uint64_t wall_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

// ---- samples

static void samples_init(Samples *s, size_t max) {
        *s = (Samples){.us = calloc(max, sizeof(*s->us)), .max = max};
        if (!s->us)
                fail("out of memory");
}

static void samples_add(Samples *s, uint64_t us) {
        if (s->n == s->max)
                fail("there are more measurements than there is room for");
        s->us[s->n++] = (uint32_t) MIN_OF(us, (uint64_t) UINT32_MAX);
}

static int compare(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

        return x < y ? -1 : x > y;
}

static uint32_t samples_share(Samples *s, unsigned percent) {
        qsort(s->us, s->n, sizeof(*s->us), compare);
        return s->n > 0 ? s->us[s->n * percent / 100] : 0;
}

// ---- connections

static Connection *dial(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        Connection *c = &connections[n_connections++];

        if (n_connections > CONNECTIONS_MAX)
                fail("too many watchers");
        if (strlen(path) >= sizeof(a.sun_path))
                fail("the path of the socket is too long");
        memcpy(a.sun_path, path, strlen(path) + 1);
        c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        check(c->fd < 0 ? -errno : 0, "socket");
        check(connect(c->fd, (struct sockaddr *) &a, sizeof(a)) < 0 ? -errno : 0, path);
        return c;
}

static void flush(Connection *c) {
        while (c->out.len > 0) {
                ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL);

                if (n < 0 && errno == EAGAIN)
                        return;
                check(n < 0 ? -errno : 0, "send");
                buf_consume(&c->out, (size_t) n);
        }
}

static void ask(Connection *c, const Argosy__Request *request) {
        check(frame_append(&c->out, &request->base, FRAME_MAX_LOCAL), "packing");
        flush(c);
}

// ---- requests

static void ask_events(Watcher *w) {
        Argosy__Request__Events events = ARGOSY__REQUEST__EVENTS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        events.cursor = w->cursor;
        events.from_now = !w->begun;
        request.id = (uint64_t) (w - watchers) + 1;
        request.what_case = ARGOSY__REQUEST__WHAT_EVENTS;
        request.events = &events;
        ask(w->connection, &request);
}

static void submit(Connection *c) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char name[96], *names = name;
        uint8_t id[ID_BYTES];

        snprintf(name, sizeof(name), "%s%" PRIu64 ".service", prefix, n_submitted);
        if (getrandom(id, sizeof(id), 0) != sizeof(id))
                fail("no random bytes");
        change.verb = ARGOSY__VERB__VERB_SUBMIT;
        change.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        change.names = &names;
        change.n_names = 1;
        request.id = LOAD_ID + n_submitted++;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        ask(c, &request);
}

static void ping(Connection *c) {
        Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        request.id = PING_ID;
        request.what_case = ARGOSY__REQUEST__WHAT_VERSION;
        request.version = &version;
        pinged_us = clock_monotonic_us();
        ask(c, &request);
}

// ---- answers

static void take_event(Watcher *w, const ProtobufCBinaryData *packed, uint64_t now_us) {
        Argosy__Event *e = argosy__event__unpack(NULL, packed->len, packed->data);

        if (!e)
                fail("an event that cannot be read");
        w->n_events++;
        if (e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && e->n_values > 0 &&
            str_has_prefix(e->values[0], prefix)) {
                w->n_units++;
                if (e->mark == ARGOSY__EVENT_MARK__EVENT_NEW)
                        samples_add(&told, now_us > e->at_us ? now_us - e->at_us : 0);
        }
        argosy__event__free_unpacked(e, NULL);
}

static void take_events(Watcher *w, const Argosy__Response *m) {
        uint64_t now_us = wall_us();

        for (size_t i = 0; i < m->events->n_events; i++)
                take_event(w, &m->events->events[i], now_us);
        if (!str_copy(w->cursor, sizeof(w->cursor), m->events->cursor))
                fail("a cursor that is too long");
        w->begun = true;
        w->n_answers++;
}

static void take(const Argosy__Response *m) {
        if (m->status != 0)
                fail(m->message);
        if (m->what_case == ARGOSY__RESPONSE__WHAT_EVENTS) {
                Watcher *w = &watchers[m->id - 1];

                take_events(w, m);
                if (asks_again)
                        ask_events(w);
        } else if (m->id == PING_ID) {
                samples_add(&pings, clock_monotonic_us() - pinged_us);
                pinged_us = 0;
        } else if (m->final)
                n_answered++;
}

static void take_all(Connection *c) {
        const uint8_t *payload;
        size_t len, used = 0;
        int r;

        for (; (r = frame_peek(c->in.data + used, c->in.len - used, FRAME_MAX_LOCAL, &payload, &len)) > 0;
             used += FRAME_HEADER_SIZE + len) {
                Argosy__Response *m = argosy__response__unpack(NULL, len, payload);

                if (!m)
                        fail("an answer that cannot be read");
                take(m);
                argosy__response__free_unpacked(m, NULL);
        }
        check(r, "the front of an answer");
        buf_consume(&c->in, used);
}

static void receive_some(Connection *c) {
        uint8_t *p = buf_reserve(&c->in, READ_BYTES);
        ssize_t n;

        if (!p)
                fail("out of memory");
        n = recv(c->fd, p, READ_BYTES, 0);
        if (n < 0 && errno == EAGAIN)
                return;
        check(n < 0 ? -errno : n == 0 ? -ECONNRESET : 0, "recv");
        c->in.len += (size_t) n;
        take_all(c);
}

// Until something comes, or so long.
static void turn(uint64_t wait_us) {
        const struct timespec wait = {.tv_sec = (time_t) (wait_us / 1000000),
                                      .tv_nsec = (long) (wait_us % 1000000) * 1000};
        struct pollfd fds[CONNECTIONS_MAX];

        for (size_t i = 0; i < n_connections; i++)
                fds[i] = (struct pollfd){
                        .fd = connections[i].stopped ? -1 : connections[i].fd,
                        .events = (short) (POLLIN | (connections[i].out.len > 0 ? POLLOUT : 0))};
        check(ppoll(fds, n_connections, &wait, NULL) < 0 ? -errno : 0, "poll");
        for (size_t i = 0; i < n_connections; i++) {
                if (fds[i].revents & POLLOUT)
                        flush(&connections[i]);
                if (fds[i].revents & ~POLLOUT)
                        receive_some(&connections[i]);
        }
}

// ---- many watchers

static void begin_watchers(const char *path, size_t n, size_t n_stopped) {
        Connection *c = NULL;

        n_watchers = n;
        for (size_t i = 0; i < n; i++) {
                if (i < n_stopped || (i - n_stopped) % ON_ONE_CONNECTION == 0)
                        c = dial(path);
                watchers[i].connection = c;
                ask_events(&watchers[i]);
        }
        for (size_t i = 0; i < n; i++)
                for (uint64_t began_us = clock_monotonic_us(); !watchers[i].begun; turn(PING_US))
                        if (clock_monotonic_us() - began_us > PATIENCE_MS * UINT64_C(1000))
                                fail("a watcher got no cursor");
        for (size_t i = 0; i < n_stopped; i++) // his next question is under way
                watchers[i].connection->stopped = true;
}

static bool all_are_reported(size_t n_stopped) {
        for (size_t i = n_stopped; i < n_watchers; i++)
                if (watchers[i].n_units < n_submitted)
                        return false;
        return n_answered == n_submitted;
}

static void load_and_watch(Connection *loader, Connection *other, uint64_t rate, uint64_t seconds,
                           size_t n_stopped) {
        uint64_t began_us = clock_monotonic_us(), next_us = began_us, ping_us = began_us, n = rate * seconds,
                 done_us = 0;

        while (!done_us || clock_monotonic_us() - done_us < QUIET_US) {
                uint64_t now_us = clock_monotonic_us();

                for (; n_submitted < n && next_us <= now_us && n_submitted - n_answered < IN_FLIGHT_MAX;
                     next_us = began_us + n_submitted * 1000000 / rate)
                        submit(loader);
                if (ping_us <= now_us && pinged_us == 0 && n_submitted < n) {
                        ping(other);
                        ping_us = now_us + PING_US;
                }
                if (!done_us && n_submitted == n && all_are_reported(n_stopped))
                        done_us = now_us;
                if (now_us - began_us > (seconds + PATIENCE_MS / 1000) * 1000000)
                        return; // some are not
                turn(n_submitted < n ? MIN_OF(next_us > now_us ? next_us - now_us : 0, (uint64_t) PING_US)
                                     : PING_US);
        }
}

static void watch(const char *path, uint64_t n, uint64_t n_stopped, uint64_t rate, uint64_t seconds) {
        uint64_t n_reported = 0;
        int waiting = 0;

        samples_init(&told, SAMPLES_MAX);
        samples_init(&pings, SAMPLES_MAX / 100);
        begin_watchers(path, n, n_stopped);
        load_and_watch(dial(path), dial(path), rate, seconds, n_stopped);
        for (size_t i = n_stopped; i < n; i++)
                n_reported += watchers[i].n_units;
        for (size_t i = 0; i < n_stopped; i++) {
                int bytes = 0;

                check(ioctl(watchers[i].connection->fd, FIONREAD, &bytes) < 0 ? -errno : 0, "FIONREAD");
                waiting = MAX_OF(waiting, bytes);
        }
        printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32, n_reported, (n - n_stopped) * n_submitted,
               samples_share(&told, 50), samples_share(&told, 99));
        printf(" %" PRIu32 " %" PRIu32 " %d\n", samples_share(&pings, 50), samples_share(&pings, 99),
               waiting);
}

// ---- one who comes back

// Until he has been told of everything that was submitted. Between two of these calls he asks for nothing.
static void catch_up(Watcher *w) {
        do {
                uint64_t before = w->n_answers;

                ask_events(w);
                while (w->n_answers == before)
                        turn(PING_US);
        } while (w->n_units < n_submitted);
}

static void submit_all(Connection *loader, uint64_t n) {
        for (uint64_t last = n_submitted + n; n_answered < last; turn(PING_US))
                while (n_submitted < last && n_submitted - n_answered < IN_FLIGHT_MAX)
                        submit(loader);
}

static void resume(const char *path, uint64_t n, uint64_t rounds) {
        Watcher *w = &watchers[0];
        uint64_t least = UINT64_MAX;
        Connection *loader;

        samples_init(&told, SAMPLES_MAX / 100);
        samples_init(&pings, rounds);
        asks_again = false;
        w->connection = dial(path);
        loader = dial(path);
        catch_up(w);
        for (uint64_t i = 0; i < rounds; i++) {
                uint64_t before = w->n_events, began_us;

                submit_all(loader, n / EVENTS_OF_ONE);
                began_us = clock_monotonic_us();
                catch_up(w);
                samples_add(&pings, clock_monotonic_us() - began_us);
                least = MIN_OF(least, w->n_events - before);
        }
        printf("%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", samples_share(&pings, 50), samples_share(&pings, 99),
               least);
}

int main(int argc, char **argv) {
        uint64_t n[4];

        if (argc < 6 || argc > 8)
                fail("usage: watch-client SOCKET TEMPLATE watch WATCHERS STOPPED RATE SECONDS | resume "
                     "EVENTS ROUNDS");
        for (int i = 4; i < argc; i++)
                if (!parse_u64(argv[i], 1000000, &n[i - 4]))
                        fail("that is no number");
        snprintf(prefix, sizeof(prefix), "%s%" PRIu64 "-", argv[2], wall_us());
        if (streq(argv[3], "watch") && argc == 8 && n[0] <= LEADER_LIMIT_watchers && n[1] < n[0] && n[2] > 0)
                watch(argv[1], n[0], n[1], n[2], n[3]);
        else if (streq(argv[3], "resume") && argc == 6 && n[1] > 0)
                resume(argv[1], n[0], n[1]);
        else
                fail("that is none of watch and resume, or there are too many watchers");
        return EXIT_SUCCESS;
}
