// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks, when a host forwards it.
#include <errno.h>

#include "test.h"

#include "author.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "message.h"

static Rig g;
static int status; // of the last ForwardReply
static unsigned n_replies;

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_FORWARD_REPLY)
                return;
        n_replies++;
        status = m->forward_reply->response->status;
}

static int setup(void **state) {
        rig_start(&g, 3);
        g.on_host_message = on_host_message;
        n_replies = 0;
        return 0;
}

static int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

// A wait for a change that never comes: it stays a ticket.
static void forward(uint32_t host, uint64_t id, const Argosy__Author *author) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__Forward f = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__DrainWait wait = ARGOSY__REQUEST__DRAIN_WAIT__INIT;
        Argosy__ToVoter *copy;

        wait.node = (char *) "nobody";
        request.what_case = ARGOSY__REQUEST__WHAT_DRAIN_WAIT;
        request.drain_wait = &wait;
        f.id = id;
        f.request = &request;
        f.author = (Argosy__Author *) author;
        m.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        m.forward = &f;
        copy = message_copy(&m);
        leader_on_message(g.leader, host, copy);
        message_free(copy);
}

static const Argosy__Author *last_author(void) {
        assert_false(list_is_empty(&g.leader->tickets));
        return CONTAINER_OF(g.leader->tickets.prev, Ticket, all)->author;
}

static void a_host_that_lies_speaks_for_its_own_users(void **state) {
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;
        char *groups[] = {(char *) "users"};

        alice.host = 1; // of another host
        alice.uid = 1000;
        alice.user = (char *) "alice";
        alice.groups = groups;
        alice.n_groups = 1;
        forward(2, 1, &alice);
        assert_int_equal(last_author()->host, 2);
        assert_string_equal(last_author()->user, "alice");
        assert_string_equal(last_author()->groups[0], "users");
        assert_false(last_author()->owner);
}

static void a_host_that_says_nothing_of_who_asks_has_the_group_of_the_socket(void **state) {
        forward(3, 1, NULL);
        assert_int_equal(last_author()->host, 3);
        assert_string_equal(last_author()->user, "");
        assert_int_equal(last_author()->n_groups, 1);
        assert_string_equal(last_author()->groups[0], ACCESS_GROUP);
        assert_false(last_author()->owner);
}

static void strange_words_of_a_host_are_refused(void **state) {
        Argosy__Author strange = ARGOSY__AUTHOR__INIT;

        strange.owner = true;
        strange.user = (char *) "root\n";
        forward(2, 1, &strange);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EINVAL);
        assert_int_equal(g.leader->n_tickets, 0);
}

static void what_the_leaders_own_host_asks_is_asked_by_that_host(void **state) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__DrainWait wait = ARGOSY__REQUEST__DRAIN_WAIT__INIT;

        wait.node = (char *) "nobody";
        request.what_case = ARGOSY__REQUEST__WHAT_DRAIN_WAIT;
        request.drain_wait = &wait;
        rig_ask(&g, &request);
        assert_int_equal(last_author()->host, 1);
        assert_true(last_author()->owner);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        const struct CMUnitTest tests[] = {
                CASE(a_host_that_lies_speaks_for_its_own_users),
                CASE(a_host_that_says_nothing_of_who_asks_has_the_group_of_the_socket),
                CASE(strange_words_of_a_host_are_refused),
                CASE(what_the_leaders_own_host_asks_is_asked_by_that_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
