// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks, and what he may: what the router says of that to a leader, and what it judges itself of rights
// and tokens.
#include "router-world.h"

#include "access-token.h"
#include "author.h"
#include "messages.h"
#include "request-rights.h"

static void who_asks_is_said_to_the_leader(void **state) {
        Argosy__Author alice = AUTHOR_OF(.uid = 1000);

        alice.user = (char *) "alice";
        alice.host = 9; // whatever came with it
        w.author = &alice;
        leader_is(2);
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_true(w.attested);
        assert_string_equal(w.user, "alice");
        assert_int_equal(w.user_host, 3);
        reply(true, 0);
        w.daemon.leading = true;
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_string_equal(w.user, "alice");
        w.author = NULL; // the daemon itself, which is a user's
        w.daemon.user_name = "bob";
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_string_equal(w.user, "bob");
}

static int status_of(Argosy__Request__WhatCase what) {
        unsigned before = w.answers;

        submit(what);
        for (int i = 0; i < 8 && w.answers == before; i++)
                turn();
        assert_int_equal(w.answers, before + 1);
        return w.status;
}

static void what_this_host_answers_alone_needs_a_right(void **state) {
        Argosy__Author alice = AUTHOR_OF(.user = (char *) "alice"), member = author_unattested(0);

        w.author = &alice;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES);
        w.force = true;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE), EACCES);
        assert_int_equal(w.local, 0);
        assert_int_equal(w.resets, 0);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_VERSION), 0);
        w.author = &member; // as long as nobody has changed it
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        w.author = NULL;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
}

static bool refused_here(const ProtobufCFieldDescriptor *field) {
        EmptyRequest q;
        Route *route;

        empty_request(&q, field);
        if (q.request.what_case == ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE)
                q.request.cluster_leave->force = true; // otherwise the leader is asked
        w.status = 0;
        assert_int_equal(
                router_submit(w.daemon.router, message_copy(&q.request), w.author, on_answer, NULL, &route),
                0);
        empty_request_done(&q);
        for (int i = 0; i < 8; i++)
                turn();
        return w.status == EACCES;
}

static void whatever_this_host_answers_alone_needs_its_right(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = AUTHOR_OF(.user = grant.user = (char *) "alice");

        w.author = &alice;
        for (Argosy__Right given = NOTHING; given <= ADMIN; given++) {
                grant.right = given;
                w.access = (AccessList){.grants = &grants, .n = given > NOTHING};
                request_kinds_foreach(
                        field,
                        kind) if ((kind->by == REQUEST_BY_DAEMON || kind->by == REQUEST_BY_AGENT) &&
                                  refused_here(field) !=
                                          (given < right_needed_for((Argosy__Request__WhatCase) field->id)))
                        fail_msg("who has right %d and asks for %s is judged otherwise", (int) given,
                                 field->name);
        }
        assert_int_equal(w.forwarded, 0);
        assert_int_equal(w.resets, 1); // what is refused reaches nobody
        assert_int_equal(w.local, 3 + 4); // a stop from OPERATE on, the list of units from VIEW on
        assert_int_equal(w.others, 4 + 1 + 2 + 4); // counters, a join, two about managers, their list
}

static void this_host_judges_by_what_it_knows(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = ARGOSY__AUTHOR__INIT, member = author_unattested(0);

        alice.user = grant.user = (char *) "alice";
        grant.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        w.access = (AccessList){};
        w.author = &member;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES); // it was taken back
        w.access = (AccessList){.grants = &grants, .n = 1};
        w.author = &alice;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        grant.role = (char *) "web"; // of which units are, this host does not know
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES);
}

static void without_a_leader_only_who_may_see_all_is_answered_from_here(void **state) {
        Argosy__Author alice = AUTHOR_OF(.user = (char *) "alice");

        w.author = &alice;
        w.now_us += 3 * USEC_PER_SEC;
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, EACCES);
        assert_int_equal(w.local, 0);
        w.daemon.leader = (Leader *) &w; // whose tables know more
        submit(ARGOSY__REQUEST__WHAT_LIST_NODES);
        while (w.answers == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.asked_stale, 1);
        assert_string_equal(w.user, "alice");
        w.daemon.leader = NULL;
}

static void who_loses_his_right_follows_nothing_here_any_more(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = AUTHOR_OF(.user = grant.user = (char *) "alice");

        grant.right = ARGOSY__RIGHT__RIGHT_VIEW;
        w.access = (AccessList){.grants = &grants, .n = 1};
        w.author = &alice;
        w.now_us += 3 * USEC_PER_SEC;
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        while (w.local == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        router_on_access_changed(w.daemon.router);
        assert_int_equal(w.answers, 0); // he has it still
        grant.role = (char *) "web";
        router_on_access_changed(w.daemon.router);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EACCES);
}

// ---- tokens

static const Hash proof = {{7}};

// As this host knows them.
static void know_token(uint64_t expires_us) {
        static Argosy__AccessTokenRecord token = ARGOSY__ACCESS_TOKEN_RECORD__INIT, *const tokens[] = {
                                                                                            &token};
        static char id[ACCESS_TOKEN_ID_LEN + 1];
        static Hash hash;

        hash = access_token_hash(&proof);
        access_token_id(&hash, id);
        token.id = id;
        token.name = (char *) "ci";
        token.hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        token.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        token.expires_us = expires_us;
        w.access = (AccessList){.tokens = tokens, .n_tokens = 1, .now = {.wall_us = 100}};
}

static void a_host_that_knows_no_tokens_asks_the_leader(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.answers + w.forwarded, 0); // nobody leads
        leader_is(2);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
        assert_int_equal(w.checked_right, ARGOSY__RIGHT__RIGHT_OPERATE);
        assert_true(w.attested);
        assert_int_equal(w.local, 0);
        leader_is(1); // before the first has answered
        assert_int_equal(w.forwarded, 2);
        reply(true, 0);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.forwarded, 2);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP); // each is asked about
        turn();
        reply(true, EKEYREVOKED);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, EKEYREVOKED);
}

static void a_host_that_no_leader_tells_judges_a_token_that_it_knows(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        know_token(101);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        know_token(100);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EKEYEXPIRED);
        assert_int_equal(w.forwarded, 0);
        w.access = (AccessList){};
        w.daemon.leading = true; // there is nobody who knows more
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EKEYREJECTED);
}

// That it was revoked comes to a copy of the log a little after the leader has said so.
static void a_token_that_a_host_still_knows_is_what_the_leader_says(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        know_token(101);
        leader_is(2);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
        reply(true, EKEYREVOKED);
        assert_int_equal(w.status, EKEYREVOKED);
        assert_int_equal(w.local, 0);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        leader_is(0); // he did not come to answer, so it is what this host knows
        assert_int_equal(w.local, 1);
        w.link_down = true;
        leader_is(2); // who is not known to be gone, and is told nothing
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.local, 1);
        advance(ROUTER_CHANGE_MS);
        while (w.local == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, 0);
}

RUN_TESTS(
        ROUTER_TEST(who_asks_is_said_to_the_leader),
        ROUTER_TEST(what_this_host_answers_alone_needs_a_right),
        ROUTER_TEST(whatever_this_host_answers_alone_needs_its_right),
        ROUTER_TEST(this_host_judges_by_what_it_knows),
        ROUTER_TEST(without_a_leader_only_who_may_see_all_is_answered_from_here),
        ROUTER_TEST(who_loses_his_right_follows_nothing_here_any_more),
        ROUTER_TEST(a_host_that_knows_no_tokens_asks_the_leader),
        ROUTER_TEST(a_host_that_no_leader_tells_judges_a_token_that_it_knows),
        ROUTER_TEST(a_token_that_a_host_still_knows_is_what_the_leader_says)
)
