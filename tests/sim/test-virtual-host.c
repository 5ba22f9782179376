// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A virtual host, and a test that is its leader: what it says to which message, and when. That it answers as
// a real agent does is leader/test-rig-agent.c's to show.
#include "virtual-host.h"

#include "attach.h"
#include "clock.h"
#include "message.h"
#include "test.h"

#define CONTENT "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"

enum { NODE = 7, BEAT_MS = 1000, LEASE_MS = 4000, SENT_MAX = 256 };

#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define ACTIVE ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE

typedef struct World {
        VirtualHost host;
        uint64_t now_us;
        uint64_t start_ms, stop_ms;
        const char *bad; // unit that fails
        bool deaf;       // what it says is not taken
        unsigned n_violations;
        Argosy__ToVoter *sent[SENT_MAX];
        size_t n_sent;
        uint64_t index, revision;
} World;

static World w;

// ---- what drives it

static uint64_t now_us(void *userdata) {
        return w.now_us;
}

static uint64_t reported_ms(uint64_t at_us, void *userdata) {
        return at_us / USEC_PER_MSEC;
}

static int send_to_leader(Argosy__ToVoter *message, void *userdata) {
        if (w.deaf)
                return -ENOTCONN;
        assert_true(w.n_sent < SENT_MAX);
        w.sent[w.n_sent++] = message_copy(message);
        return 0;
}

static void attaching(Argosy__ToVoter__Attach *ret, void *userdata) {
        ret->name = "v1";
}

static uint64_t takes_us(VirtualUnit *u, bool stop, void *userdata) {
        return (stop ? w.stop_ms : w.start_ms) * USEC_PER_MSEC;
}

static bool fails(const VirtualUnit *u, void *userdata) {
        return w.bad && streq(u->name, w.bad);
}

static void violation(const char *why, void *userdata) {
        w.n_violations++;
}

static const VirtualHostOps ops = {
        .now_us = now_us,
        .wall_us = now_us,
        .reported_ms = reported_ms,
        .send = send_to_leader,
        .attaching = attaching,
        .takes_us = takes_us,
        .fails = fails,
        .violation = violation,
};

static int setup(void **state) {
        w = (World){.now_us = 1000 * USEC_PER_SEC, .revision = 100};
        virtual_host_init(&w.host, &ops, &w);
        w.host.node = NODE;
        return 0;
}

static void forget_sent(void) {
        for (size_t i = 0; i < w.n_sent; i++)
                message_free(w.sent[i]);
        w.n_sent = 0;
}

static int teardown(void **state) {
        forget_sent();
        virtual_host_done(&w.host);
        return 0;
}

// Time passes until nothing is due for the rest of it.
static void pass_ms(uint64_t ms) {
        uint64_t end_us = w.now_us + ms * USEC_PER_MSEC;

        virtual_host_on_time(&w.host);
        for (uint64_t next_us; (next_us = virtual_host_next_us(&w.host)) <= end_us && !w.deaf;) {
                w.now_us = MAX_OF(w.now_us, next_us);
                virtual_host_on_time(&w.host);
        }
        w.now_us = end_us;
        virtual_host_on_time(&w.host);
}

// ---- what the leader says

static Argosy__UnitOrder order(const char *name, Argosy__Target target) {
        static Hash hash;
        Argosy__UnitOrder o = ARGOSY__UNIT_ORDER__INIT;

        hash = hash_of(CONTENT, strlen(CONTENT));
        o.node = NODE;
        o.name = (char *) name;
        o.spec = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        o.target = target;
        o.revision = o.start_rev = ++w.revision;
        return o;
}

static Argosy__Spec spec(const char *content, Hash *hash) {
        Argosy__Spec s = ARGOSY__SPEC__INIT;

        *hash = hash_of(content, strlen(content));
        s.hash = (ProtobufCBinaryData){HASH_SIZE, hash->bytes};
        s.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        return s;
}

static void receive(Argosy__ToHost__MsgCase what, void *message) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        m.msg_case = what;
        m.leader = message;
        virtual_host_on_message(&w.host, &m);
        virtual_host_on_time(&w.host);
}

static void give(Argosy__UnitOrder **orders, size_t n) {
        Argosy__ToHost__Orders m = ARGOSY__TO_HOST__ORDERS__INIT;
        Hash hash, other_hash;
        Argosy__Spec specs[] = {spec(CONTENT, &hash), spec(OTHER, &other_hash)},
                     *pointers[] = {&specs[0], &specs[1]};

        m.generation = m.term = 1;
        m.index = ++w.index;
        m.specs = pointers;
        m.n_specs = ELEMENTSOF(pointers);
        m.orders = orders;
        m.n_orders = n;
        receive(ARGOSY__TO_HOST__MSG_ORDERS, &m);
}

static uint64_t give_one(const char *name, Argosy__Target target) {
        Argosy__UnitOrder o = order(name, target), *list = &o;

        give(&list, 1);
        return o.revision;
}

static void welcome_of(uint64_t seq, Argosy__UnitOrder **orders, size_t n) {
        Argosy__ToHost__Welcome m = ARGOSY__TO_HOST__WELCOME__INIT;

        m.seq = seq;
        m.generation = m.term = 1;
        m.index = ++w.index;
        m.beat_ms = BEAT_MS;
        m.lease_ms = LEASE_MS;
        m.orders = orders;
        m.n_orders = n;
        receive(ARGOSY__TO_HOST__MSG_WELCOME, &m);
}

static void welcome(Argosy__UnitOrder **orders, size_t n) {
        welcome_of(w.host.seq, orders, n);
}

static void acknowledge(void) {
        Argosy__ToHost__BeatAck m = ARGOSY__TO_HOST__BEAT_ACK__INIT;

        m.seq = w.host.beat_seq;
        receive(ARGOSY__TO_HOST__MSG_BEAT_ACK, &m);
}

static void begin_session(void) {
        virtual_host_on_leader(&w.host, true);
        virtual_host_on_time(&w.host);
        welcome(NULL, 0);
        forget_sent();
}

// ---- what it has sent

static size_t count(Argosy__ToVoter__MsgCase what) {
        size_t n = 0;

        for (size_t i = 0; i < w.n_sent; i++)
                n += w.sent[i]->msg_case == what;
        return n;
}

// Its last word about a unit; NULL: none.
static const Argosy__UnitReport *report_of(const char *name) {
        const Argosy__UnitReport *last = NULL;

        for (size_t i = 0; i < w.n_sent; i++)
                if (w.sent[i]->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                        for (size_t k = 0; k < w.sent[i]->reports->n_reports; k++)
                                if (streq(w.sent[i]->reports->reports[k]->name, name))
                                        last = w.sent[i]->reports->reports[k];
        return last;
}

static void assert_reported(const char *name, Argosy__ActiveState active, uint64_t revision) {
        const Argosy__UnitReport *r = report_of(name);

        assert_non_null(r);
        assert_int_equal(r->node, NODE);
        assert_int_equal(r->active, active);
        assert_int_equal(r->revision, revision);
        assert_false(r->gone || r->refused);
}

// ---- the session

static void it_attaches_to_a_leader_and_asks_again_until_it_is_welcomed(void **state) {
        assert_true(virtual_host_next_us(&w.host) == UINT64_MAX);
        virtual_host_on_leader(&w.host, true);
        virtual_host_on_time(&w.host);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_ATTACH), 1);
        pass_ms(VIRTUAL_ATTACH_RETRY_MS);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_ATTACH), 2);
        welcome(NULL, 0);
        assert_true(w.host.welcomed);
        pass_ms(LEASE_MS - 1);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_ATTACH), 2);
        assert_int_equal(w.n_violations, 0);
}

static void a_welcome_for_an_older_attach_is_none(void **state) {
        virtual_host_on_leader(&w.host, true);
        virtual_host_on_time(&w.host);
        virtual_host_attach(&w.host);
        welcome_of(w.host.seq - 1, NULL, 0);
        assert_false(w.host.welcomed);
        welcome(NULL, 0);
        assert_true(w.host.welcomed);
}

static void it_beats_and_attaches_anew_when_nobody_has_acknowledged_for_a_lease(void **state) {
        begin_session();
        pass_ms(BEAT_MS);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_BEAT), 1);
        assert_int_equal(w.sent[0]->beat->reported_ms, w.now_us / USEC_PER_MSEC);
        acknowledge();
        pass_ms(LEASE_MS - 1);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_ATTACH), 0);
        pass_ms(1);
        assert_int_equal(count(ARGOSY__TO_VOTER__MSG_ATTACH), 1);
        assert_false(w.host.welcomed);
}

// As an agent: of three beats one, and each from the first that lacks its answer on.
static void most_of_its_beats_need_no_answer(void **state) {
        unsigned asked = 0;

        begin_session();
        w.host.lease_ms = 5 * BEAT_MS;
        for (unsigned i = 0; i < 30; i++) {
                forget_sent();
                pass_ms(BEAT_MS);
                assert_int_equal(count(ARGOSY__TO_VOTER__MSG_BEAT), 1);
                if (w.sent[0]->beat->quiet)
                        continue;
                asked++;
                acknowledge();
        }
        assert_int_equal(asked, 10);
        do {
                forget_sent();
                pass_ms(BEAT_MS);
        } while (w.sent[0]->beat->quiet);
        forget_sent();
        pass_ms(BEAT_MS);
        assert_false(w.sent[0]->beat->quiet);
        acknowledge();
        w.host.watches = true;
        forget_sent();
        pass_ms(BEAT_MS);
        assert_false(w.sent[0]->beat->quiet);
}

static void it_says_nothing_without_a_leader(void **state) {
        begin_session();
        virtual_host_on_leader(&w.host, false);
        pass_ms(10 * LEASE_MS);
        assert_int_equal(w.n_sent, 0);
}

static void the_attach_has_all_that_it_holds_and_the_welcome_removes_what_it_does_not_name(void **state) {
        Argosy__UnitOrder kept, *list = &kept;

        begin_session();
        (void) give_one("a.service", LAUNCHED);
        (void) give_one("b.service", LAUNCHED);
        forget_sent();
        virtual_host_on_leader(&w.host, true);
        virtual_host_on_time(&w.host);
        assert_int_equal(w.sent[0]->attach->n_held, 2);
        kept = order("a.service", LAUNCHED);
        welcome(&list, 1);
        assert_int_equal(w.host.units.count, 1);
        assert_int_equal(virtual_host_find(&w.host, "a.service")->starts, 1); // it ran on
        assert_true(report_of("b.service")->gone);
        assert_int_equal(w.n_violations, 0);
}

// As an agent says it.
static void what_it_holds_comes_in_parts(void **state) {
        enum { UNITS = 2 * ATTACH_HELD_MAX + 1 };
        char name[32];
        size_t n_held = 0;

        begin_session();
        for (unsigned i = 0; i < UNITS; i++) {
                snprintf(name, sizeof(name), "u%u.service", i);
                (void) give_one(name, LAUNCHED);
                forget_sent();
        }
        virtual_host_on_leader(&w.host, true);
        virtual_host_on_time(&w.host);
        assert_int_equal(w.n_sent, 3);
        assert_true(w.sent[0]->attach->parts);
        n_held = w.sent[0]->attach->n_held;
        for (unsigned i = 1; i < 3; i++) {
                const Argosy__ToVoter__AttachPart *p = w.sent[i]->attach_part;

                assert_int_equal(p->seq, w.sent[0]->attach->seq);
                assert_in_range(p->n_held, 1, ATTACH_HELD_MAX);
                assert_int_equal(p->last, i == 2);
                n_held += p->n_held;
        }
        assert_int_equal(n_held, UNITS);
}

// ---- units

static void an_order_is_answered_when_it_is_carried_out(void **state) {
        uint64_t revision;

        begin_session();
        w.start_ms = 300;
        revision = give_one("a.service", LAUNCHED);
        assert_reported("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, 0);
        pass_ms(299);
        assert_reported("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, 0);
        pass_ms(1);
        assert_reported("a.service", ACTIVE, revision);
        assert_int_equal(w.host.n_active, 1);
        w.stop_ms = 200;
        (void) give_one("a.service", LOADED);
        assert_reported("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, revision);
        pass_ms(200);
        assert_reported("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, w.revision);
        assert_int_equal(w.host.n_active, 0);
}

static void a_start_that_fails_is_over_and_says_so(void **state) {
        begin_session();
        w.bad = "a.service";
        (void) give_one("a.service", LAUNCHED);
        assert_reported("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, w.revision);
        (void) give_one("b.service", LAUNCHED);
        assert_reported("b.service", ACTIVE, w.revision);
}

static void new_content_is_a_restart(void **state) {
        Argosy__UnitOrder o, *list = &o;
        Hash hash = hash_of(OTHER, strlen(OTHER));

        begin_session();
        (void) give_one("a.service", LAUNCHED);
        o = order("a.service", LAUNCHED);
        o.start_rev--;
        o.spec.data = hash.bytes;
        give(&list, 1);
        assert_int_equal(virtual_host_find(&w.host, "a.service")->restarts, 1);
        assert_int_equal(virtual_host_find(&w.host, "a.service")->starts, 1);
        assert_reported("a.service", ACTIVE, w.revision);
}

static void what_is_removed_is_gone_also_if_it_was_never_there(void **state) {
        Argosy__UnitOrder a, b, *list[] = {&a, &b};

        begin_session();
        (void) give_one("a.service", LAUNCHED);
        a = order("a.service", LAUNCHED);
        b = order("b.service", LAUNCHED);
        a.remove = b.remove = true;
        give(list, 2);
        assert_int_equal(w.host.units.count, 0);
        assert_int_equal(w.host.n_active, 0);
        assert_true(report_of("a.service")->gone);
        assert_true(report_of("b.service")->gone);
        assert_int_equal(report_of("a.service")->revision, a.revision);
}

static void what_no_agent_could_obey_is_a_violation_and_left_undone(void **state) {
        Argosy__UnitOrder o, *list = &o;
        Hash nobodys = hash_of("?", 1);
        uint64_t newest;

        begin_session();
        (void) give_one("a.service", LAUNCHED);
        o = order("b.service", LAUNCHED);
        o.node = NODE + 1;
        give(&list, 1);
        assert_int_equal(w.n_violations, 1);
        o = order("b.service", LAUNCHED);
        o.spec.data = nobodys.bytes;
        give(&list, 1);
        assert_int_equal(w.n_violations, 2);
        o = order("a.service", LOADED);
        newest = give_one("a.service", LAUNCHED);
        give(&list, 1);
        assert_int_equal(w.n_violations, 3);
        w.index = 0;
        (void) give_one("b.service", LAUNCHED); // of a leader that has been replaced
        assert_int_equal(w.n_violations, 4);
        assert_int_equal(w.host.units.count, 1);
        assert_reported("a.service", ACTIVE, newest);
}

static void what_changes_in_one_turn_is_told_in_few_messages(void **state) {
        enum { N = 2 * VIRTUAL_REPORTS_PER_MESSAGE + 1 };
        static Argosy__UnitOrder orders[N], *list[N];
        static char names[N][32];

        begin_session();
        for (size_t i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "u%zu.service", i);
                orders[i] = order(names[i], LAUNCHED);
                list[i] = &orders[i];
        }
        give(list, N);
        assert_int_equal(w.n_sent, 3);
        assert_int_equal(w.host.n_reports, N);
        assert_int_equal(w.host.n_active, N);
}

static void what_was_not_taken_is_sent_again(void **state) {
        begin_session();
        w.deaf = true;
        (void) give_one("a.service", LAUNCHED);
        assert_int_equal(w.host.n_reports, 0);
        assert_true(virtual_host_next_us(&w.host) <= w.now_us);
        w.deaf = false;
        virtual_host_on_time(&w.host);
        assert_reported("a.service", ACTIVE, w.revision);
}

// ---- questions

static const Argosy__Response *ask(Argosy__Request__WhatCase what, void *question) {
        Argosy__ToHost__Call call = ARGOSY__TO_HOST__CALL__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;

        q.what_case = what;
        q.change = question;
        call.id = 3;
        call.request = &q;
        forget_sent();
        receive(ARGOSY__TO_HOST__MSG_CALL, &call);
        assert_int_equal(w.n_sent, 1);
        assert_int_equal(w.sent[0]->call_reply->id, 3);
        return w.sent[0]->call_reply->response;
}

static void it_answers_with_what_is_true(void **state) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request__Journal journal = ARGOSY__REQUEST__JOURNAL__INIT;
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request__ListNodes nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        char *names[] = {"a.service"};
        const Argosy__Response *r;

        begin_session();
        status.names = names;
        status.n_names = 1;
        r = ask(ARGOSY__REQUEST__WHAT_STATUS, &status);
        assert_true(r->final);
        assert_string_equal(r->status_reply->why, "this node does not hold it");
        (void) give_one("a.service", LAUNCHED);
        r = ask(ARGOSY__REQUEST__WHAT_STATUS, &status);
        assert_string_equal(r->status_reply->row->active, "active");
        assert_string_equal(r->status_reply->desired, "launched");
        assert_int_equal(r->status_reply->revision, w.revision);
        journal.name = "a.service";
        r = ask(ARGOSY__REQUEST__WHAT_JOURNAL, &journal);
        assert_true(r->final);
        assert_string_equal(r->journal->lines[0],
                            "a.service: virtual, active after 1 starts and 0 restarts");
        journal.follow = true;
        assert_false(ask(ARGOSY__REQUEST__WHAT_JOURNAL, &journal)->final);
        assert_int_equal(ask(ARGOSY__REQUEST__WHAT_TOP, &top)->usage->n_rows, 0);
        assert_int_equal(ask(ARGOSY__REQUEST__WHAT_LIST_NODES, &nodes)->status, EOPNOTSUPP);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        const struct CMUnitTest tests[] = {
                TEST(it_attaches_to_a_leader_and_asks_again_until_it_is_welcomed),
                TEST(a_welcome_for_an_older_attach_is_none),
                TEST(it_beats_and_attaches_anew_when_nobody_has_acknowledged_for_a_lease),
                TEST(most_of_its_beats_need_no_answer),
                TEST(it_says_nothing_without_a_leader),
                TEST(the_attach_has_all_that_it_holds_and_the_welcome_removes_what_it_does_not_name),
                TEST(what_it_holds_comes_in_parts),
                TEST(an_order_is_answered_when_it_is_carried_out),
                TEST(a_start_that_fails_is_over_and_says_so),
                TEST(new_content_is_a_restart),
                TEST(what_is_removed_is_gone_also_if_it_was_never_there),
                TEST(what_no_agent_could_obey_is_a_violation_and_left_undone),
                TEST(what_changes_in_one_turn_is_told_in_few_messages),
                TEST(what_was_not_taken_is_sent_again),
                TEST(it_answers_with_what_is_true),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
