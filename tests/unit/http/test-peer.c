// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "http-limits.h"
#include "http-peer.h"
#include "macro.h"

static HttpPeer peers[HTTP_CONNECTIONS_MAX];
static ListNode list;
static size_t n_peers;

static void connect_as(uid_t uid, size_t n) {
        for (; n > 0; n--) {
                HttpPeer *p = &peers[n_peers++];

                assert_true(n_peers <= ELEMENTSOF(peers));
                p->uid = uid;
                list_init(&p->link);
                list_append(&list, &p->link);
        }
}

static int setup(void **state) {
        list_init(&list);
        n_peers = 0;
        return 0;
}

// Nobody's who runs this.
static uid_t other(unsigned n) {
        return geteuid() + 1000 + n;
}

static void each_user_has_a_share(void **state) {
        connect_as(other(0), HTTP_CONNECTIONS_PER_USER - 1);
        assert_false(http_peer_is_one_too_many(&list, other(0)));
        connect_as(other(0), 1);
        assert_true(http_peer_is_one_too_many(&list, other(0)));
        assert_false(http_peer_is_one_too_many(&list, other(1)));
}

static void all_others_together_leave_room_for_owners(void **state) {
        for (unsigned i = 0; i < HTTP_CONNECTIONS_OTHERS_MAX / HTTP_CONNECTIONS_PER_USER; i++) {
                assert_false(http_peer_is_one_too_many(&list, other(i)));
                connect_as(other(i), HTTP_CONNECTIONS_PER_USER);
        }
        assert_int_equal(n_peers, HTTP_CONNECTIONS_OTHERS_MAX);
        assert_true(http_peer_is_one_too_many(&list, other(1000)));
        assert_false(http_peer_is_one_too_many(&list, 0));
        assert_false(http_peer_is_one_too_many(&list, geteuid()));
}

static void owners_leave_room_for_others(void **state) {
        connect_as(geteuid(), HTTP_CONNECTIONS_PER_OWNER - 1);
        assert_false(http_peer_is_one_too_many(&list, geteuid()));
        connect_as(geteuid(), 1);
        assert_true(http_peer_is_one_too_many(&list, geteuid()));
        assert_false(http_peer_is_one_too_many(&list, other(0)));
}

// They wait to be told that they are.
static void who_is_one_too_many_takes_no_share(void **state) {
        connect_as(other(0), HTTP_CONNECTIONS_OTHERS_MAX);
        for (size_t i = HTTP_CONNECTIONS_PER_USER; i < n_peers; i++)
                peers[i].one_too_many = true;
        assert_true(http_peer_is_one_too_many(&list, other(0)));
        assert_false(http_peer_is_one_too_many(&list, other(1)));
        for (size_t i = 0; i < n_peers; i++)
                peers[i].one_too_many = false;
}

static void who_shuts_down_his_half_is_not_gone(void **state) {
        HttpPeer *p;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        p = http_peer_new_tcp(&list, fds[0], false);
        assert_non_null(p);
        p->tcp.listener = &list;
        assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
        assert_false(http_peer_is_gone(p));
        close(fds[1]);
        assert_true(http_peer_is_gone(p));
        http_peer_free(p);
        close(fds[0]);
}

static void who_connects_is_who_the_kernel_says(void **state) {
        HttpPeer *p;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        p = http_peer_new(&list, fds[0]);
        assert_non_null(p);
        assert_int_equal(p->uid, geteuid());
        assert_int_equal(p->gid, getegid());
        assert_int_equal(p->n_groups, getgroups(0, NULL));
        assert_ptr_equal(list.next, &p->link);
        http_peer_free(p);
        assert_true(list_is_empty(&list));
        close(fds[0]);
        close(fds[1]);
}

static void who_is_not_known_is_nobody(void **state) {
        int fds[2];

        assert_int_equal(pipe(fds), 0);
        assert_null(http_peer_new(&list, fds[0]));
        assert_true(list_is_empty(&list));
        close(fds[0]);
        close(fds[1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(each_user_has_a_share, setup),
                cmocka_unit_test_setup(all_others_together_leave_room_for_owners, setup),
                cmocka_unit_test_setup(owners_leave_room_for_others, setup),
                cmocka_unit_test_setup(who_is_one_too_many_takes_no_share, setup),
                cmocka_unit_test_setup(who_shuts_down_his_half_is_not_gone, setup),
                cmocka_unit_test_setup(who_connects_is_who_the_kernel_says, setup),
                cmocka_unit_test_setup(who_is_not_known_is_nobody, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
