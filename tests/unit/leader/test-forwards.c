// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks, when a host forwards it.
#include <errno.h>

#include "test.h"

#include "author.h"
#include "feature-skip.h"
#include "leader-asks.h"
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
        char *groups[] = {(char *) ACCESS_GROUP};

        alice.host = 1; // of another host
        alice.uid = 1000;
        alice.user = (char *) "alice";
        alice.groups = groups;
        alice.n_groups = 1;
        forward(2, 1, &alice);
        assert_int_equal(last_author()->host, 2);
        assert_string_equal(last_author()->user, "alice");
        assert_string_equal(last_author()->groups[0], ACCESS_GROUP);
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

// Rights at one host are not for another host to speak of.
static void who_has_no_right_is_refused_wherever_he_comes_from(void **state) {
        Argosy__Request__AccessChange change = ARGOSY__REQUEST__ACCESS_CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;

        SKIP_BELOW(FEATURE_ACCESS);
        alice.uid = 1000;
        alice.user = (char *) "alice";
        forward(1, 1, &alice);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EACCES);
        assert_int_equal(g.leader->n_tickets, 0);
        change.right = ARGOSY__RIGHT__RIGHT_VIEW;
        change.user = (char *) "alice";
        change.host = (char *) "n1";
        request.what_case = ARGOSY__REQUEST__WHAT_ACCESS_CHANGE;
        request.access_change = &change;
        assert_int_equal(rig_ask_and_settle(&g, &request)->responses[0]->status, 0);
        alice.host = 1;
        forward(2, 2, &alice);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 2);
        assert_int_equal(status, EACCES);
        forward(1, 3, &alice);
        assert_int_equal(last_author()->host, 1);
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

static Argosy__Author a_member(void) {
        static char *groups[] = {(char *) ACCESS_GROUP};
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.uid = 1000;
        author.user = (char *) "alice";
        author.groups = groups;
        author.n_groups = 1;
        return author;
}

static void what_users_wait_for_leaves_root_of_their_host_a_place(void **state) {
        Argosy__Author member = a_member(), root = author_of_host(2);

        for (uint64_t id = 1; id <= FORWARDS_OTHERS_MAX; id++)
                forward(2, id, &member);
        assert_int_equal(g.leader->n_tickets, FORWARDS_OTHERS_MAX);
        forward(2, 5000, &member); // no more of these
        assert_int_equal(g.leader->n_tickets, FORWARDS_OTHERS_MAX);
        forward(2, 5001, &root);
        assert_true(last_author()->owner);
        forward(3, 1, &member);
        assert_int_equal(g.leader->n_tickets, FORWARDS_OTHERS_MAX + 2);
}

static void on_response(const Argosy__Response *response, void *userdata) {
        *(int *) userdata = response->status;
}

static int ask_for(const Argosy__Author *author, const Argosy__Request *request) {
        static int last;
        uint64_t cancel;

        last = 0;
        assert_int_equal(leader_request(g.leader, author, request, on_response, &last, &cancel), 0);
        return last;
}

static void what_users_wait_for_leaves_root_a_place(void **state) {
        Argosy__Request__DrainWait wait = ARGOSY__REQUEST__DRAIN_WAIT__INIT;
        Argosy__Author member = a_member(), root = author_of_host(1);
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        member.host = 1;
        wait.node = (char *) "nobody";
        request.what_case = ARGOSY__REQUEST__WHAT_DRAIN_WAIT;
        request.drain_wait = &wait;
        for (size_t i = 0; i < TICKETS_OTHERS_MAX; i++)
                assert_int_equal(ask_for(&member, &request), 0);
        assert_int_equal(ask_for(&member, &request), EBUSY);
        assert_int_equal(ask_for(&root, &request), 0);
}

static void one_user_does_not_ask_nodes_for_all(void **state) {
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Author member = a_member(), other = a_member(), root = author_of_host(1);
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        member.host = other.host = 1;
        other.uid = 1001;
        top.interval_ms = 1000;
        request.what_case = ARGOSY__REQUEST__WHAT_TOP;
        request.top = &top;
        for (size_t i = 0; i < NODE_QUESTIONS_PER_USER; i++)
                assert_int_equal(ask_for(&member, &request), 0);
        assert_int_equal(ask_for(&member, &request), EBUSY);
        assert_int_equal(ask_for(&other, &request), 0);
        assert_int_equal(ask_for(&root, &request), 0);
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
                CASE(who_has_no_right_is_refused_wherever_he_comes_from),
                CASE(strange_words_of_a_host_are_refused),
                CASE(what_users_wait_for_leaves_root_of_their_host_a_place),
                CASE(what_users_wait_for_leaves_root_a_place),
                CASE(one_user_does_not_ask_nodes_for_all),
                CASE(what_the_leaders_own_host_asks_is_asked_by_that_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
