// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks, when a host forwards it.
#include <errno.h>

#include "test.h"

#include "author.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "message.h"
#include "messages.h"
#include "request-rights.h"
#include "pending-requests.h"

static Rig g;
static int status; // of the last ForwardReply
static unsigned n_replies, n_refused;

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_FORWARD_REPLY)
                return;
        n_replies++;
        status = m->forward_reply->response->status;
        n_refused += status == EACCES && strstr(m->forward_reply->response->message, "the right '");
}

FIXTURE(setup) {
        rig_start(&g, 3);
        g.on_host_message = on_host_message;
        n_replies = n_refused = 0;
}

RIG_TEARDOWN

static void forward_request(uint32_t host, uint64_t id, const Argosy__Author *author,
                            Argosy__Request *request) {
        Argosy__ToVoter__Forward f = MESSAGE_OF(to_voter__forward, .id = id, .request = request,
                                                .author = (Argosy__Author *) author);
        Argosy__ToVoter m = TO_VOTER_OF(FORWARD, forward, &f);
        _cleanup_(message_freep) Argosy__ToVoter *copy = message_copy(&m);

        leader_on_message(g.leader, host, copy);
}

// A wait for a change that never comes: it stays a pending request.
static void forward(uint32_t host, uint64_t id, const Argosy__Author *author) {
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = (char *) "nobody");

        forward_request(host, id, author, A_REQUEST(DRAIN_WAIT, drain_wait, &wait));
}

// The same, and it takes so many bytes.
static void forward_long(uint32_t host, uint64_t id, size_t bytes) {
        _cleanup_free_ char *node = calloc(1, bytes + 1);

        assert_non_null(node);
        memset(node, 'n', bytes);
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = node);
        forward_request(host, id, NULL, A_REQUEST(DRAIN_WAIT, drain_wait, &wait));
}

static void long_requests_of_a_host_have_a_limit_together(void **state) {
        enum { MIB = 1024 * 1024 };

        forward_long(2, 1, 20 * MIB);
        forward_long(2, 2, 20 * MIB);
        assert_int_equal(n_replies, 0);
        forward_long(2, 3, 20 * MIB);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EBUSY);
        forward_long(3, 3, 20 * MIB); // another host's
        forward(2, 4, NULL);          // a short one
        assert_int_equal(n_replies, 1);
        leader_on_host_link(g.leader, 2, NULL);
}

static const Argosy__Author *last_author(void) {
        assert_false(list_is_empty(&g.leader->pending_requests));
        return CONTAINER_OF(g.leader->pending_requests.prev, PendingRequest, all)->author;
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
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_VIEW, .user = (char *) "alice",
                                 .host = (char *) "n1");
        Argosy__Author alice = AUTHOR_OF(.uid = 1000, .user = (char *) "alice");

        forward(1, 1, &alice);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EACCES);
        assert_int_equal(g.leader->n_pending_requests, 0);
        assert_int_equal(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change))
                                 ->responses[0]
                                 ->status,
                         0);
        alice.host = 1;
        forward(2, 2, &alice);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 2);
        assert_int_equal(status, EACCES);
        forward(1, 3, &alice);
        assert_int_equal(last_author()->host, 1);
}

// ------------------------------------------------------------------------------------ all that can be asked

static void cancel(uint32_t host, uint64_t id) {
        Argosy__ToVoter__ForwardCancel c = MESSAGE_OF(to_voter__forward_cancel, .id = id);

        leader_on_message(g.leader, host, A_TO_VOTER(FORWARD_CANCEL, forward_cancel, &c));
}

// For somebody whom the host calls `author`.
static bool refused(uint32_t host, const Argosy__Author *author, const ProtobufCFieldDescriptor *field) {
        static uint64_t id = 1000;
        unsigned before = n_refused;
        EmptyRequest q;

        empty_request(&q, field);
        forward_request(host, ++id, author, &q.request);
        empty_request_done(&q);
        rig_settle(&g);
        cancel(host, id); // of what waits
        return n_refused > before;
}

static void grant(Argosy__Right right, const char *user, const char *host) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.right = right, .user = (char *) user, .host = (char *) host);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change)))->status,
                0);
}

// What alice of one host may do, nobody of another host may, whatever that one says of him.
static void each_request_that_is_forwarded_needs_its_right(void **state) {
        Argosy__Author alice = AUTHOR_OF(.uid = 1000, .user = (char *) "alice", .host = 2);

        for (Argosy__Right given = NOTHING; given <= ADMIN; given++) {
                if (given > NOTHING)
                        grant(given, "alice", "n2");
                request_kinds_foreach (field, kind) {
                        Argosy__Right needed = right_needed_for((Argosy__Request__WhatCase) field->id);

                        if (kind->by != REQUEST_BY_LEADER && kind->by != REQUEST_BY_NODES)
                                continue;
                        if (refused(3, &alice, field) != (needed > NOTHING))
                                fail_msg("a host that lies about who asks for %s is judged otherwise",
                                         field->name);
                        if (refused(2, &alice, field) != (needed > given))
                                fail_msg("who has right %d and has %s forwarded is judged otherwise",
                                         (int) given, field->name);
                }
        }
}

// A host that is asked alone answers alone: no leader does what only it can.
static void what_a_host_answers_alone_no_leader_does(void **state) {
        Argosy__Author root = author_of_host(2);
        unsigned n_jobs = (unsigned) cluster_state_last_job(g.state);

        request_kinds_foreach (field, kind) {
                if (kind->by != REQUEST_BY_DAEMON && kind->by != REQUEST_BY_AGENT)
                        continue;
                status = 0;
                n_replies = 0;
                (void) refused(2, &root, field);
                if (n_replies != 1 || status == 0)
                        fail_msg("the leader answers %s with %d", field->name, status);
        }
        assert_int_equal(cluster_state_last_job(g.state), n_jobs);
}

static void strange_words_of_a_host_are_refused(void **state) {
        Argosy__Author strange = AUTHOR_OF(.owner = true, .user = (char *) "root\n");

        forward(2, 1, &strange);
        rig_turns(&g, 2);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EINVAL);
        assert_int_equal(g.leader->n_pending_requests, 0);
}

static Argosy__Author a_member(void) {
        static char *groups[] = {(char *) ACCESS_GROUP};

        return (Argosy__Author) AUTHOR_OF(.uid = 1000, .user = (char *) "alice", .groups = groups,
                                          .n_groups = 1);
}

static void what_users_wait_for_leaves_root_of_their_host_a_place(void **state) {
        Argosy__Author member = a_member(), other = a_member(), root = author_of_host(2);
        size_t each = account_limits[ACCOUNT_FORWARDS].each;

        for (uint64_t id = 1; id <= each; id++)
                forward(2, id, &member);
        assert_int_equal(g.leader->n_pending_requests, each);
        n_replies = 0;
        forward(2, 5000, &member); // no more of these
        assert_int_equal(g.leader->n_pending_requests, each);
        assert_int_equal(n_replies, 1);
        assert_int_equal(status, EBUSY);
        forward(2, 5001, &root);
        assert_true(last_author()->owner);
        forward(3, 1, &member); // who is somebody else there
        other.uid++;
        forward(2, 5002, &other);
        assert_int_equal(g.leader->n_pending_requests, each + 3);
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
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = (char *) "nobody");
        Argosy__Author member = a_member(), root = author_of_host(1);
        Argosy__Request request = REQUEST_OF(DRAIN_WAIT, drain_wait, &wait);

        member.host = 1;
        for (size_t i = 0; i < LEADER_LIMIT_pending_requests_others; i++)
                assert_int_equal(ask_for(&member, &request), 0);
        assert_int_equal(ask_for(&member, &request), EBUSY);
        assert_int_equal(ask_for(&root, &request), 0);
}

static void one_user_does_not_ask_nodes_for_all(void **state) {
        Argosy__Request__Top top = TOP_OF(.interval_ms = 1000);
        Argosy__Author member = a_member(), other = a_member(), root = author_of_host(1);
        Argosy__Request request = REQUEST_OF(TOP, top, &top);

        member.host = other.host = 1;
        other.uid = 1001;
        for (size_t i = 0; i < LEADER_LIMIT_node_questions; i++)
                assert_int_equal(ask_for(&member, &request), 0);
        assert_int_equal(ask_for(&member, &request), EBUSY);
        assert_int_equal(ask_for(&other, &request), 0);
        assert_int_equal(ask_for(&root, &request), 0);
}

static void what_the_leaders_own_host_asks_is_asked_by_that_host(void **state) {
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = (char *) "nobody");

        rig_ask(&g, A_REQUEST(DRAIN_WAIT, drain_wait, &wait));
        assert_int_equal(last_author()->host, 1);
        assert_true(last_author()->owner);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(long_requests_of_a_host_have_a_limit_together),
        CASE(a_host_that_lies_speaks_for_its_own_users),
        CASE(a_host_that_says_nothing_of_who_asks_has_the_group_of_the_socket),
        CASE(who_has_no_right_is_refused_wherever_he_comes_from),
        CASE(each_request_that_is_forwarded_needs_its_right),
        CASE(what_a_host_answers_alone_no_leader_does),
        CASE(strange_words_of_a_host_are_refused),
        CASE(what_users_wait_for_leaves_root_of_their_host_a_place),
        CASE(what_users_wait_for_leaves_root_a_place),
        CASE(one_user_does_not_ask_nodes_for_all),
        CASE(what_the_leaders_own_host_asks_is_asked_by_that_host)
)
