// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fileio.h"
#include "hash.h"
#include "http-limits.h"
#include "http-peer.h"
#include "macro.h"

enum { PER_USER = 2, STRANGERS = 3, OTHERS = 4, ALL = 8 };

static const AccountLimits limits = {[ACCOUNT_CONNECTIONS] = {PER_USER, STRANGERS, OTHERS, ALL}};

static Accounts *accounts;

static int setup(void **state) {
        accounts = accounts_new(&limits);
        return accounts ? 0 : -1;
}

static int teardown(void **state) {
        accounts_free(accounts);
        return 0;
}

static const struct sockaddr_in from = {.sin_family = AF_INET};

static HttpPeer *come_over_tcp(int fd) {
        return http_peer_new_tcp(accounts, (const struct sockaddr *) &from, fd, false, false);
}

static void who_shuts_down_his_half_is_not_gone(void **state) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        HttpPeer *p = come_over_tcp(fds[0]);
        assert_non_null(p);
        assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
        assert_false(http_peer_is_gone(p));
        close(fds[1]);
        assert_true(http_peer_is_gone(p));
        http_peer_free(accounts, p);
        close(fds[0]);
}

static void who_connects_is_who_the_kernel_says(void **state) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        HttpPeer *p = http_peer_new(accounts, fds[0]);
        assert_non_null(p);
        assert_int_equal(p->uid, geteuid());
        assert_int_equal(p->gid, getegid());
        assert_int_equal(p->n_groups, getgroups(0, NULL));
        assert_false(p->one_too_many);
        http_peer_free(accounts, p);
        close(fds[0]);
        close(fds[1]);
}

static void who_is_not_known_is_nobody(void **state) {
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_null(http_peer_new(accounts, fds[0]));
        close(fds[0]);
        close(fds[1]);
}

static bool has_ended(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char byte;

        return poll(&p, 1, 0) == 1 && read(fd, &byte, 1) == 0;
}

static void the_longest_idle_makes_room(void **state) {
        HttpPeer *p[PER_USER + 2];
        int fds[PER_USER + 2][2];

        for (size_t i = 0; i < ELEMENTSOF(p); i++)
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
        for (size_t i = 0; i < PER_USER; i++)
                p[i] = come_over_tcp(fds[i][0]);
        account_holding_busy(accounts, &p[0]->holding);
        p[PER_USER] = come_over_tcp(fds[PER_USER][0]);
        assert_non_null(p[PER_USER]);
        assert_true(has_ended(fds[1][1]));
        assert_false(has_ended(fds[0][1]));
        account_holding_busy(accounts, &p[PER_USER]->holding);
        assert_null(come_over_tcp(fds[PER_USER + 1][0]));
        for (size_t i = 0; i <= PER_USER; i++)
                http_peer_free(accounts, p[i]);
        for (size_t i = 0; i < ELEMENTSOF(p); i++) {
                close(fds[i][0]);
                close(fds[i][1]);
        }
}

static void who_has_shown_a_good_token_is_that(void **state) {
        Hash token = hash_of("token", 5), other = hash_of("other", 5);
        HttpPeer *p[PER_USER + 1];
        Principal address, of;

        for (size_t i = 0; i < PER_USER; i++) {
                p[i] = come_over_tcp(-1);
                assert_non_null(p[i]);
                account_holding_busy(accounts, &p[i]->holding);
        }
        assert_null(come_over_tcp(-1));
        address = http_peer_principal(p[0], &token, &p[0]->of);
        assert_int_equal(address.kind, PRINCIPAL_ADDRESS);
        http_peer_note_token(accounts, p[0], &token);
        of = http_peer_principal(p[0], &token, &p[0]->of);
        assert_int_equal(of.kind, PRINCIPAL_TOKEN);
        of = http_peer_principal(p[0], &other, &p[0]->of);
        assert_memory_equal(&of, &address, sizeof(of));
        p[PER_USER] = come_over_tcp(-1); // the address has a place again
        assert_non_null(p[PER_USER]);
        for (size_t i = 0; i < ELEMENTSOF(p); i++)
                http_peer_free(accounts, p[i]);
}

static int option_of(int fd, int level, int name) {
        socklen_t len = sizeof(int);
        int value;

        assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
        return value;
}

// Also of one to whom nothing is said for long.
static void who_is_gone_without_a_word_is_looked_for(void **state) {
        _cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        HttpPeer *p = come_over_tcp(fd);
        assert_non_null(p);
        assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), HTTP_TCP_SILENT_SEC);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), HTTP_TCP_SILENT_SEC);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), HTTP_TCP_UNANSWERED_SEC * 1000);
        http_peer_free(accounts, p);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(who_shuts_down_his_half_is_not_gone),
        CASE(who_connects_is_who_the_kernel_says),
        CASE(who_is_not_known_is_nobody),
        CASE(the_longest_idle_makes_room),
        CASE(who_has_shown_a_good_token_is_that),
        CASE(who_is_gone_without_a_word_is_looked_for)
)
