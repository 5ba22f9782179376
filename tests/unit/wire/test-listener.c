// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The listener must survive everybody: the proof is each time that a member still gets in.
#include "loop.h"
#include "members.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"
#include "stream.h"

enum { CROWD = LISTENER_HANDSHAKES_MAX + 10 };

static Listener *listener;
static bool listener_gone;
static unsigned n_accepted, n_refused, n_paused;
static char refused_why[200];
static Stream *taken[64];
static bool take;

static void on_taken_closed(Stream *s, int error, void *userdata) {
        *(Stream **) userdata = NULL;
}

static int on_taken_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return stream_write(s, data, len); // an echo
}

static const StreamOps taken_ops = {.data = on_taken_data, .closed = on_taken_closed};

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        if (take)
                for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                        if (!taken[i]) {
                                taken[i] = s;
                                stream_set_owner(s, &taken_ops, &taken[i]);
                                break;
                        }
        n_accepted++;
}

static void on_refused(Listener *l, const StreamPeer *peer, const char *why, void *userdata) {
        if (!*peer->address)
                n_paused++;
        else
                n_refused++;
        snprintf(refused_why, sizeof(refused_why), "%s", why);
}

static void on_closed(Listener *l, void *userdata) {
        listener_gone = true;
}

static const ListenerOps ops = {on_accepted, on_refused, on_closed};

FIXTURE(setup) {
        assert_int_equal(loop_setup(state), 0);
        n_accepted = n_refused = n_paused = 0;
        listener_gone = false;
        take = true;
        assert_int_equal(listener_new_tcp(&test_loop, 0, member_tls[0], &ops, NULL, &listener), 0);
}

static bool all_gone(void) {
        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                if (taken[i])
                        return false;
        return true;
}

static int teardown(void **state) {
        if (listener)
                listener_close(listener);
        loop_until(listener_gone);
        listener = NULL;
        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                if (taken[i])
                        stream_close(taken[i], 0, false);
        loop_until(all_gone());
        return loop_teardown(state);
}

// ---- visitors

// A plain connection, blocking; the listener is in the same process, so nothing may wait for its answer.
static int visit(void) {
        struct sockaddr_in to = {.sin_family = AF_INET,
                                 .sin_port = htons(listener_port(listener)),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *) &to, sizeof(to)), 0);
        return fd;
}

static bool has_ended(int fd) {
        uint8_t bytes[256];
        ssize_t n;

        while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
                ;
        return n == 0 || (n < 0 && errno != EAGAIN);
}

typedef struct Visit {
        bool opened, closed, echoed;
} Visit;

static void on_visit_opened(Stream *s, void *userdata) {
        ((Visit *) userdata)->opened = true;
        assert_int_equal(stream_write(s, "hello", 5), 0);
}

static int on_visit_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        ((Visit *) userdata)->echoed = true;
        return 0;
}

static void on_visit_closed(Stream *s, int error, void *userdata) {
        ((Visit *) userdata)->closed = true;
}

static const StreamOps visit_ops = {
        .opened = on_visit_opened, .data = on_visit_data, .closed = on_visit_closed};

static void a_member_still_gets_in(void) {
        Visit v = {};
        Stream *s;

        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &visit_ops, &v, &s),
                         0);
        loop_until(v.echoed || v.closed);
        assert_true(v.echoed);
        stream_close(s, 0, false);
        loop_until(v.closed);
}

// ---- what they do

static void garbage_ends_its_own_connection_only(void **state) {
        static const char *const garbage[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\xff\xff",
                                              "\xff\xff\xff\xff\xff\xff\xff\xff", "SSH-2.0-x\r\n"};
        uint8_t noise[4096];
        int fds[5];

        a_member_still_gets_in();
        for (size_t i = 0; i < 4; i++) {
                fds[i] = visit();
                assert_true(send(fds[i], garbage[i], strlen(garbage[i]), MSG_NOSIGNAL) > 0);
        }
        for (size_t i = 0; i < sizeof(noise); i++)
                noise[i] = (uint8_t) (i * 131 + 7);
        fds[4] = visit();
        assert_true(send(fds[4], noise, sizeof(noise), MSG_NOSIGNAL) > 0);
        shutdown(fds[1], SHUT_WR); // a record that never ends; the others must fail of themselves
        for (size_t i = 0; i < 5; i++) {
                loop_until(has_ended(fds[i]));
                close(fds[i]);
        }
        loop_until(n_refused == 5);
        assert_int_equal(n_accepted, 1);
        a_member_still_gets_in();
}

static void visitors_who_leave_at_once_are_no_news(void **state) {
        struct linger reset = {1, 0};

        for (int i = 0; i < 40; i++) {
                int fd = visit();

                if (i % 2)
                        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
                close(fd);
        }
        a_member_still_gets_in();
        loop_until(n_refused == 40);
}

// Both ends at once, since each takes STREAM_HANDSHAKE_MS: a visitor who says nothing, and a server that
// does not answer.
static void half_open_connections_end_in_time(void **state) {
        struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t len = sizeof(any);
        uint64_t since = uv_hrtime() / 1000000;
        int silent = visit(), mute = socket(AF_INET, SOCK_STREAM, 0);
        Visit v = {};
        Stream *s;

        assert_int_equal(bind(mute, (struct sockaddr *) &any, sizeof(any)), 0);
        assert_int_equal(listen(mute, 1), 0);
        assert_int_equal(getsockname(mute, (struct sockaddr *) &any, &len), 0);
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", ntohs(any.sin_port), member_tls[1], ALPN_MESH,
                                     NULL, &visit_ops, &v, &s),
                         0);
        loop_until(n_refused == 1 && v.closed);
        assert_true(uv_hrtime() / 1000000 - since >= STREAM_HANDSHAKE_MS - 100);
        assert_string_equal(refused_why, "no TLS handshake within 5000 ms");
        assert_false(v.opened);
        loop_until(has_ended(silent));
        close(silent);
        close(mute);
        a_member_still_gets_in();
}

static void a_silent_crowd_cannot_keep_members_out(void **state) {
        int fds[CROWD];

        for (int i = 0; i < CROWD; i++)
                fds[i] = visit();
        a_member_still_gets_in();
        assert_string_equal(refused_why, "too slow with its handshake while others wait");
        for (int i = 0; i < CROWD; i++)
                close(fds[i]);
}

// After a voter's restart everybody dials it at once; the loop has other things to do as well.
static void a_crowd_of_members_gets_in_a_few_at_a_time(void **state) {
        enum { MEMBERS = 40 };
        Visit v[MEMBERS] = {};
        Stream *s[MEMBERS];
        unsigned before;

        for (int i = 0; i < MEMBERS; i++)
                assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                             ALPN_MESH, &member[0].pin, &visit_ops, &v[i], &s[i]),
                                 0);
        while (n_accepted < MEMBERS) {
                before = n_accepted;
                uv_run(&test_loop, UV_RUN_ONCE);
                assert_true(n_accepted - before <= LISTENER_STEPS_PER_TURN);
        }
        for (int i = 0; i < MEMBERS; i++) {
                loop_until(v[i].echoed);
                stream_close(s[i], 0, false);
        }
        for (int i = 0; i < MEMBERS; i++)
                loop_until(v[i].closed);
        assert_int_equal(n_refused, 0);
}

static void running_out_of_descriptors_is_a_pause(void **state) {
        struct rlimit before, none;
        int fd = visit(), high = dup(fd);

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = before;
        none.rlim_cur = (rlim_t) high; // accept4() would need one more than that
        close(high);
        while ((high = dup(fd)) >= 0 && (rlim_t) high < none.rlim_cur)
                ;
        close(high);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        loop_until(n_paused >= 2); // and it tries again, and again
        assert_string_equal(refused_why, "accepting pauses: Too many open files");
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        a_member_still_gets_in();
        close(fd);
}

static void streams_that_nobody_takes_are_closed(void **state) {
        Visit v = {};
        Stream *s;

        take = false;
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &visit_ops, &v, &s),
                         0);
        loop_until(v.closed);
        assert_int_equal(n_accepted, 1);
        assert_false(v.echoed);
}

static void closing_ends_handshakes_and_leaves_taken_streams(void **state) {
        Visit v = {};
        Stream *s;
        int silent = visit();

        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &visit_ops, &v, &s),
                         0);
        loop_until(v.opened && taken[0]);
        listener_close(listener);
        loop_until(listener_gone && has_ended(silent));
        listener = NULL;
        close(silent);
        assert_int_equal(n_refused, 0); // nobody's fault
        v.echoed = false;
        assert_int_equal(stream_write(s, "again", 5), 0);
        loop_until(v.echoed);
        stream_close(s, 0, false);
        loop_until(v.closed && all_gone());
}

static void a_port_in_use_is_said(void **state) {
        Listener *second;

        assert_int_equal(
                listener_new_tcp(&test_loop, listener_port(listener), member_tls[0], &ops, NULL, &second),
                -EADDRINUSE);
}

static bool connects(uint16_t port) {
        struct sockaddr_in to = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        bool yes = connect(fd, (struct sockaddr *) &to, sizeof(to)) == 0;

        assert_true(yes || errno == ECONNREFUSED);
        close(fd);
        return yes;
}

static void a_bound_port_is_taken_but_closed_until_it_is_listened_on(void **state) {
        uint16_t port, other;
        int fd, other_fd;

        assert_int_equal(listener_bind_tcp(0, &fd, &port), 0);
        assert_false(connects(port));
        assert_int_equal(listener_bind_tcp(0, &other_fd, &other), 0);
        assert_int_not_equal(port, other);
        close(other_fd);
        listener_close(listener);
        loop_until(listener_gone);
        listener_gone = false;
        assert_int_equal(listener_new_bound(&test_loop, fd, member_tls[0], &ops, NULL, &listener), 0);
        assert_int_equal(listener_port(listener), port);
        assert_int_equal(listener_bind_tcp(port, &other_fd, &other), -EADDRINUSE);
        a_member_still_gets_in();
}

static void ipv6_is_served_by_the_same_socket(void **state) {
        struct sockaddr_in6 lo = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        int probe = socket(AF_INET6, SOCK_STREAM, 0);
        bool here = probe >= 0 && bind(probe, (struct sockaddr *) &lo, sizeof(lo)) == 0;
        Visit v = {};
        Stream *s;

        if (probe >= 0)
                close(probe);
        if (!here) { // without IPv6 the listener must still serve IPv4
                a_member_still_gets_in();
                return;
        }
        assert_int_equal(stream_dial(&test_loop, "::1", listener_port(listener), member_tls[1], ALPN_MESH,
                                     &member[0].pin, &visit_ops, &v, &s),
                         0);
        loop_until(v.echoed);
        assert_string_equal(stream_peer(taken[0])->address, "::1");
        stream_close(s, 0, false);
        loop_until(v.closed);
}

int main(void) {
        struct rlimit files;
        const struct CMUnitTest tests[] = {
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOOP_TEST(garbage_ends_its_own_connection_only),
                LOOP_TEST(visitors_who_leave_at_once_are_no_news),
                LOOP_TEST(half_open_connections_end_in_time),
                LOOP_TEST(a_silent_crowd_cannot_keep_members_out),
                LOOP_TEST(a_crowd_of_members_gets_in_a_few_at_a_time),
                LOOP_TEST(running_out_of_descriptors_is_a_pause),
                LOOP_TEST(streams_that_nobody_takes_are_closed),
                LOOP_TEST(closing_ends_handshakes_and_leaves_taken_streams),
                LOOP_TEST(a_port_in_use_is_said),
                LOOP_TEST(a_bound_port_is_taken_but_closed_until_it_is_listened_on),
                LOOP_TEST(ipv6_is_served_by_the_same_socket),
        };

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0); // a crowd has both ends here
        files.rlim_cur = files.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
