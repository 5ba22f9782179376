// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many questions nodes get at a time, and from whom: all of their agents' places are nobody's, and no
// turn is long for one who asks about thousands of units.
#include <errno.h>

#include "author.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define EVERYWHERE SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START

enum { MANY = 600, SOME = 100 };

static Rig g;
static char names[MANY][32], *pointers[MANY];

FIXTURE(setup) {
        rig_start(&g, 3);
        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
}

RIG_TEARDOWN

// None of them is there before.
static void change_all(Argosy__Verb verb, size_t n) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        uint64_t id[2] = {++g.id, 88};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = verb, .names = pointers, .n_names = n, .files = &files, .n_files = 1);

        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m));
        assert_final(a, 0);
}

static RigAnswer *ask_status(size_t n) {
        Argosy__Request__Status m = MESSAGE_OF(request__status, .names = pointers, .n_names = n);

        return rig_ask(&g, A_REQUEST(STATUS, status, &m));
}

static void set_deaf(bool deaf) {
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->deaf = deaf;
}

// ------------------------------------------------------------------------------------------------ status

static void assert_each_is_told_once(const RigAnswer *a, size_t n) {
        static bool told[MANY];

        memset(told, 0, sizeof(told));
        assert_true(a->final);
        assert_int_equal(a->n, n);
        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                assert_int_equal(a->responses[i]->status, 0);
                assert_int_equal(sscanf(a->responses[i]->status_reply->row->unit, "w@%zu.", &k), 1);
                assert_false(told[k]);
                told[k] = true;
        }
}

static void a_turn_looks_at_some_of_thousands(void **state) {
        change_all(START, MANY);
        set_deaf(true);
        RigAnswer *a = ask_status(MANY);
        assert_in_range(g.leader->calls_by_id.count, 1, MANY / 4);
        rig_turns(&g, 1);
        assert_in_range(g.leader->calls_by_id.count, MANY / 4, MANY - 1);
        set_deaf(false);
        rig_settle(&g);
        assert_each_is_told_once(a, MANY);
}

// However few looks a turn has.
static void a_unit_on_all_nodes_is_looked_for_in_the_end(void **state) {
        snprintf(names[0], sizeof(names[0]), "all.service");
        g.leader->limits.status_share = 1;
        assert_int_equal(rig_change(&g, START, names[0], EVERYWHERE)->status, 0);
        RigAnswer *a = ask_status(1);
        rig_turns(&g, 20);
        assert_true(a->final);
        assert_int_equal(a->n, 3);
}

static void who_asks_for_many_does_not_hold_up_who_asks_for_one(void **state) {
        change_all(ARGOSY__VERB__VERB_SUBMIT, MANY); // no node is asked about what is not loaded
        RigAnswer *many = ask_status(MANY);
        RigAnswer *one = ask_status(1);
        rig_turns(&g, 1);
        assert_true(one->final);
        assert_false(many->final);
        rig_settle(&g);
        assert_each_is_told_once(many, MANY);
}

static void whoever_goes_in_the_middle_is_forgotten(void **state) {
        change_all(START, SOME);
        set_deaf(true);
        RigAnswer *a = ask_status(SOME);
        assert_false(list_is_empty(&g.leader->asking));
        leader_cancel(g.leader, a->cancel);
        assert_int_equal(g.leader->calls_by_id.count, 0);
        assert_true(list_is_empty(&g.leader->asking));
        set_deaf(false);
        rig_settle(&g);
        assert_int_equal(a->n, 0);
        a = ask_status(SOME);
        rig_settle(&g);
        assert_each_is_told_once(a, SOME);
}

static void what_a_lost_host_does_not_answer_is_said(void **state) {
        size_t n_lost = 0;

        change_all(START, SOME);
        set_deaf(true);
        RigAnswer *a = ask_status(SOME);
        rig_turns(&g, 5);
        rig_host_off(&g, 3);
        set_deaf(false);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_each_is_told_once(a, SOME);
        for (size_t i = 0; i < SOME; i++)
                n_lost += *a->responses[i]->status_reply->why != 0;
        assert_true(n_lost > 0);
}

// ------------------------------------------------------------------------------------------------ listeners

static int follow(const Argosy__Author *author) {
        Argosy__Request__Journal m = JOURNAL_OF(.name = (char *) "all.service", .follow = true);

        g.author = author;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(JOURNAL, journal, &m));
        g.author = NULL;
        return rig_last(a)->status;
}

static void users_who_listen_leave_root_a_place(void **state) {
        char group[] = ACCESS_GROUP, *groups[] = {group};
        Argosy__Author member = AUTHOR_OF(.host = 1, .groups = groups, .n_groups = 1);
        size_t n = 0;

        rig_change(&g, START, "all.service", EVERYWHERE);
        for (member.uid = 1000; follow(&member) == 0; n++) // another one, when one has enough
                member.uid += n % LEADER_LIMIT_node_questions == LEADER_LIMIT_node_questions - 1;
        assert_int_equal(n, LEADER_LIMIT_node_listeners);
        assert_int_equal(follow(&member), EBUSY);
        assert_int_equal(follow(NULL), 0);
}

static RigAnswer *ask_top(const Argosy__Author *author) {
        Argosy__Request__Top top = TOP_OF(.interval_ms = 1000);

        g.author = author;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(TOP, top, &top));
        g.author = NULL;
        return a;
}

static void who_asks_no_more_may_ask_again(void **state) {
        char group[] = ACCESS_GROUP, *groups[] = {group};
        Argosy__Author member = AUTHOR_OF(.host = 1, .uid = 1000, .groups = groups, .n_groups = 1);
        RigAnswer *asked[LEADER_LIMIT_node_questions];

        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                asked[i] = ask_top(&member);
        assert_int_equal(rig_last(ask_top(&member))->status, EBUSY);
        rig_cancel(&g, asked[0]);
        asked[0] = ask_top(&member);
        assert_false(asked[0]->final);
        assert_int_equal(rig_last(ask_top(&member))->status, EBUSY);
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                rig_cancel(&g, asked[i]);
        assert_int_equal(g.leader->author_questions.count, 0);
}

static RigAnswer *ask_verify(const char *name, size_t n, const char *node) {
        enum { FILES_MAX = 40 };
        Argosy__NamedFile file = NAMED_FILE_OF(.name = (char *) name,
                                               .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                                .len = strlen(SERVICE)}),
                          *files[FILES_MAX];
        Argosy__Request__Verify m = ARGOSY__REQUEST__VERIFY__INIT;
        Argosy__Request request = REQUEST_OF(VERIFY, verify, &m);

        for (size_t i = 0; i < n; i++)
                files[i] = &file;
        m.files = files;
        m.n_files = n;
        m.node = (char *) node;
        return rig_ask_and_settle(&g, &request);
}

static void contents_are_looked_at_by_each_node(void **state) {
        RigAnswer *a = ask_verify("a.service", 2, "");
        size_t n = 0;

        assert_true(a->final);
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Response__Verify *v = a->responses[i]->verify;

                if (a->responses[i]->what_case != ARGOSY__RESPONSE__WHAT_VERIFY)
                        continue;
                n++;
                assert_true(*v->node);
                assert_int_equal(v->nodes, 3);
                assert_int_equal(v->n_files, 2);
                assert_string_equal(v->files[1]->findings[0]->text, "a.service");
        }
        assert_int_equal(n, 3);
        assert_int_equal(g.leader->calls_by_id.count, 0);
}

enum { LARGE = 700 * 1024, MOST_PER_TURN = 1024 * 1024 };

// contents, by host; in this turn, and in the one in which most were
static size_t n_sent[4], bytes_sent, most_sent;

static void count_sent(Rig *r, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_CALL ||
            m->call->request->what_case != ARGOSY__REQUEST__WHAT_VERIFY)
                return;
        n_sent[host]++;
        bytes_sent += m->call->request->verify->files[0]->content.len;
}

static void end_turn(Rig *r) {
        most_sent = bytes_sent > most_sent ? bytes_sent : most_sent;
        bytes_sent = 0;
}

static RigAnswer *ask_verify_large(void) {
        static uint8_t content[LARGE];
        Argosy__NamedFile file = NAMED_FILE_OF(.name = (char *) "a.service",
                                               .content = (ProtobufCBinaryData){.data = memset(content, '\n',
                                                                                               LARGE),
                                                                                .len = LARGE}),
                          *files = &file;
        Argosy__Request__Verify m = VERIFY_OF(.files = &files, .n_files = 1);

        return rig_ask(&g, A_REQUEST(VERIFY, verify, &m));
}

static void large_contents_leave_one_after_the_other(void **state) {
        memset(n_sent, 0, sizeof(n_sent));
        bytes_sent = most_sent = 0;
        g.on_host_message = count_sent;
        g.on_turn = end_turn;
        RigAnswer *first = ask_verify_large();
        RigAnswer *second = ask_verify_large();
        rig_settle(&g);
        assert_true(first->final && second->final);
        for (size_t h = 1; h <= 3; h++)
                assert_int_equal(n_sent[h], 2);
        assert_in_range(most_sent, LARGE, MOST_PER_TURN);
}

static void a_host_that_is_behind_gets_them_when_it_is_not(void **state) {
        memset(n_sent, 0, sizeof(n_sent));
        g.on_host_message = count_sent;
        rig_host(&g, 2)->full = true;
        RigAnswer *a = ask_verify_large();
        rig_settle(&g);
        assert_int_equal(n_sent[1] + n_sent[3], 2);
        assert_int_equal(n_sent[2], 0);
        assert_false(a->final);
        rig_host_drain(&g, 2);
        assert_int_equal(n_sent[2], 1);
        assert_true(a->final);
}

static void contents_that_nobody_waits_for_do_not_leave(void **state) {
        memset(n_sent, 0, sizeof(n_sent));
        g.on_host_message = count_sent;
        rig_host(&g, 2)->full = true;
        RigAnswer *a = ask_verify_large();
        rig_settle(&g);
        rig_cancel(&g, a);
        rig_host_drain(&g, 2);
        assert_int_equal(n_sent[2], 0);
        assert_int_equal(g.leader->calls_by_id.count, 0);
        assert_int_equal(g.leader->n_pending_requests, 0);
}

static void what_cannot_be_looked_at_is_refused(void **state) {
        assert_int_equal(rig_last(ask_verify("a.service", 0, ""))->status, EINVAL);
        assert_int_equal(rig_last(ask_verify("../a.service", 1, ""))->status, EINVAL);
        assert_int_equal(rig_last(ask_verify("a.service", 33, ""))->status, E2BIG);
        assert_int_equal(rig_last(ask_verify("a.service", 1, "nowhere"))->status, ENOENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(a_turn_looks_at_some_of_thousands),
        CASE(a_unit_on_all_nodes_is_looked_for_in_the_end),
        CASE(who_asks_for_many_does_not_hold_up_who_asks_for_one),
        CASE(whoever_goes_in_the_middle_is_forgotten),
        CASE(what_a_lost_host_does_not_answer_is_said),
        CASE(users_who_listen_leave_root_a_place),
        CASE(who_asks_no_more_may_ask_again),
        CASE(contents_are_looked_at_by_each_node),
        CASE(large_contents_leave_one_after_the_other),
        CASE(a_host_that_is_behind_gets_them_when_it_is_not),
        CASE(contents_that_nobody_waits_for_do_not_leave),
        CASE(what_cannot_be_looked_at_is_refused)
)
