// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A host's session from its Attach to its end: barriers, beats and leases, farewells. Nothing else of the
// leader runs.
#include "host-leases.h"
#include "messages.h"
#include "printed.h"
#include "session-words.h"
#include "str.h"

static void beat(uint32_t host, uint64_t seq) {
        Argosy__ToVoter__Beat b = MESSAGE_OF(to_voter__beat, .seq = seq);

        session_on_beat(t.leader, tables_host(&t, host), &b);
}

// seq of the acknowledgement that was sent last to this host; 0: none since.
static uint64_t acknowledged(uint32_t host) {
        uint64_t seq = 0;

        for (size_t i = 0; i < t.n_sent; i++)
                if (t.sent[i].host == host && t.sent[i].message->msg_case == ARGOSY__TO_HOST__MSG_BEAT_ACK)
                        seq = t.sent[i].message->beat_ack->seq;
        tables_forget_sent(&t);
        return seq;
}

static void pass_ms(unsigned ms) {
        t.now_us += ms * USEC_PER_MSEC;
        sessions_on_time(t.leader);
}

// ---- attach and barrier

static void a_host_is_welcomed_after_a_barrier_that_began_after_its_attach(void **state) {
        const Host *h = tables_host(&t, 2);

        attach(2);
        assert_true(h->attached && h->ever_attached);
        sessions_start_barrier(t.leader);
        assert_int_equal(t.n_barriers, 1);
        assert_false(h->ordering.welcoming);
        attach(2); // anew, while that barrier is on its way: it proves nothing about this one
        sessions_start_barrier(t.leader);
        assert_int_equal(t.n_barriers, 1);
        tables_end_barrier(&t, STORE_COMMITTED);
        assert_false(h->ordering.welcoming);
        sessions_start_barrier(t.leader);
        assert_int_equal(t.n_barriers, 2);
        tables_end_barrier(&t, STORE_COMMITTED);
        assert_true(h->ordering.welcoming);
        sessions_start_barrier(t.leader);
        assert_int_equal(t.n_barriers, 2);
}

static void one_barrier_is_for_all_who_attached_before_it(void **state) {
        attach(1);
        attach(2);
        sessions_start_barrier(t.leader);
        attach(3);
        tables_end_barrier(&t, STORE_COMMITTED);
        assert_true(tables_host(&t, 1)->ordering.welcoming && tables_host(&t, 2)->ordering.welcoming);
        assert_false(tables_host(&t, 3)->ordering.welcoming);
        sessions_start_barrier(t.leader);
        tables_end_barrier(&t, STORE_COMMITTED);
        assert_true(tables_host(&t, 3)->ordering.welcoming);
        assert_int_equal(t.n_barriers, 2);
}

// A full disk passes, and so may a handover: then nobody else leads, and this leader goes on.
static void a_barrier_that_failed_is_proposed_again_as_long_as_we_lead(void **state) {
        static const struct {
                StoreOutcome outcome;
                bool unsure;
                bool later;
        } ends[] = {
                {STORE_NO_SPACE, false, true},
                {STORE_COMMITTED, true, false}, // somebody else may have been elected meanwhile
                {STORE_NOT_LEADER, false, true},
                {STORE_UNKNOWN, false, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                unsigned before;

                attach(2);
                sessions_start_barrier(t.leader);
                before = t.n_barriers;
                t.unsure = ends[i].unsure;
                tables_end_barrier(&t, ends[i].outcome);
                t.unsure = false;
                assert_false(tables_host(&t, 2)->ordering.welcoming);
                sessions_start_barrier(t.leader);
                assert_int_equal(t.n_barriers, before + !ends[i].later);
                t.now_us += USEC_PER_SEC;
                sessions_start_barrier(t.leader);
                assert_int_equal(t.n_barriers, before + 1);
                tables_end_barrier(&t, STORE_COMMITTED);
                assert_true(tables_host(&t, 2)->ordering.welcoming);
        }
}

static void who_has_not_attached_yet_is_counted(void **state) {
        attach(1);
        assert_int_equal(t.leader->n_hosts.unattached, 2);
        attach(2);
        assert_int_equal(t.leader->n_hosts.unattached, 1);
        pass_ms(TABLES_LEASE_MS); // the third is lost: nobody waits to hear it
        assert_int_equal(t.leader->n_hosts.unattached, 0);
}

// ---- beats and leases

static void a_beat_is_acknowledged_in_a_session_with_authority(void **state) {
        beat(2, 1); // it has not attached
        assert_int_equal(acknowledged(2), 0);
        attach(2);
        beat(2, 2);
        assert_int_equal(acknowledged(2), 2);
        t.unsure = true;
        beat(2, 3);
        beat(2, 4);
        assert_int_equal(acknowledged(2), 0);
        t.unsure = false;
        sessions_acknowledge(t.leader);
        assert_int_equal(acknowledged(2), 4); // the newest stands for all
        sessions_acknowledge(t.leader);
        assert_int_equal(acknowledged(2), 0);
        assert_int_equal(leader_stats(t.leader).beats_acknowledged, 2);
}

// The host says which: the leader's lease of it runs on from each all the same.
static void a_quiet_beat_holds_the_lease_up_and_is_not_answered(void **state) {
        Argosy__ToVoter__Beat b = MESSAGE_OF(to_voter__beat, .quiet = true, .reported_ms = 7);

        attach(2);
        for (b.seq = 1; b.seq < 10; b.seq++) {
                pass_ms(TABLES_LEASE_MS / 3);
                session_on_beat(t.leader, tables_host(&t, 2), &b);
        }
        assert_int_equal(tables_host(&t, 2)->lease.state, LEASE_ONLINE);
        assert_int_equal(tables_host(&t, 2)->reported_ms, 7);
        t.unsure = true;
        session_on_beat(t.leader, tables_host(&t, 2), &b);
        t.unsure = false;
        sessions_acknowledge(t.leader);
        assert_int_equal(acknowledged(2), 0);
        beat(2, b.seq);
        assert_int_equal(acknowledged(2), b.seq);
}

// What was kept for a session dies with it.
static void no_beat_of_an_earlier_session_is_acknowledged(void **state) {
        attach(2);
        t.unsure = true;
        beat(2, 3);
        attach(2);
        t.unsure = false;
        sessions_acknowledge(t.leader);
        assert_int_equal(acknowledged(2), 0);
}

static void silence_makes_a_host_suspect_and_then_lost(void **state) {
        Host *h = tables_host(&t, 2);

        attach(1);
        attach(2);
        pass_ms(TABLES_LEASE_MS / 2);
        assert_int_equal(h->lease.state, LEASE_SUSPECT);
        beat(2, 1);
        assert_int_equal(h->lease.state, LEASE_ONLINE);
        pass_ms(TABLES_LEASE_MS / 2);
        assert_false(host_is_lost(h));
        pass_ms(TABLES_LEASE_MS / 2);
        assert_true(host_is_lost(h));
        assert_false(h->attached || h->welcomed);
        assert_int_equal(t.dropped, 2);
        assert_int_equal(t.n_dropped, 1); // the one that never came has no link that could be dropped
        assert_false(host_is_lost(tables_host(&t, 1))); // our own: it lives and dies with us
        beat(2, 2); // a lost host has to attach
        assert_true(host_is_lost(h));
        attach(2);
        assert_false(host_is_lost(h));
}

static size_t count_lost(void) {
        size_t n = 0;

        map_foreach (slot, &t.leader->hosts)
                n += host_is_lost(slot->value);
        return n;
}

static void add_hosts(Batch *b, unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                batch_host(b, 0, printed("more%u", i), 1);
        }
        tables_apply(&t, b);
}

// Neither is the leader late by its own work, nor does its standing still in the middle of it make more of
// them lost.
static void how_long_the_turns_take_changes_nothing_about_who_is_lost(void **state) {
        enum { HOSTS = 700 };
        _cleanup_(batch_done) Batch b = {};

        add_hosts(&b, HOSTS);
        pass_ms(TABLES_LEASE_MS / 2);
        while (t.leader->leases_due_us)
                (void) sessions_expire_some(t.leader);
        attach(2);
        pass_ms(TABLES_LEASE_MS / 2);
        assert_int_not_equal(t.leader->leases_due_us, 0);
        while (t.leader->leases_due_us) {
                (void) lease_table_next(&t.leader->leases); // as the timer is armed between two turns
                t.now_us += TABLES_LEASE_MS * USEC_PER_MSEC;
                sessions_on_time(t.leader);
                (void) sessions_expire_some(t.leader);
        }
        // the third, too, and not the second, which was heard in time
        assert_int_equal(count_lost(), HOSTS + 1);
        assert_false(host_is_lost(tables_host(&t, 2)));
}

// Nobody decides before it is known how many they are.
static void of_many_that_are_lost_some_are_in_each_turn(void **state) {
        enum { HOSTS = 700, PER_TURN = 256 };
        size_t n_lost = 0;
        unsigned turns = 0;
        Batch b = {};

        add_hosts(&b, HOSTS);
        pass_ms(TABLES_LEASE_MS / 2);
        while (t.leader->leases_due_us) // suspect
                (void) sessions_expire_some(t.leader);
        pass_ms(TABLES_LEASE_MS / 2);
        for (; t.leader->leases_due_us; turns++) {
                assert_in_range(count_lost() - n_lost, 1, PER_TURN);
                n_lost = count_lost();
                assert_false(sessions_expire_some(t.leader) && count_lost() < HOSTS);
        }
        assert_true(turns >= HOSTS / PER_TURN);
        assert_true(count_lost() >= HOSTS);
}

static void units_of_a_lost_host_move_unless_they_are_done(void **state) {
        Batch b = {};

        attach(2);
        put("web.service", 2);
        put("done.service", 2);
        put("other.service", 3);
        batch_outcome(&b, "done.service", 2, tables_entry(&t, "done.service")->record->start_rev,
                      ARGOSY__OUTCOME__KIND__DONE);
        tables_apply(&t, &b);
        host_lose(t.leader, tables_host(&t, 2));
        assert_true(is_moving("web.service"));
        assert_false(is_moving("done.service") || is_moving("other.service"));
        assert_int_equal(tables_host(&t, 2)->lost_us, t.now_us);
}

// ---- farewells

static void goodbye(uint32_t host, bool stopping, const char *unit, uint32_t node) {
        Argosy__ToVoter__Goodbye__Running r = MESSAGE_OF(to_voter__goodbye__running, .node = node,
                                                         .units = (char **) &unit, .n_units = 1),
                                          *running = &r;
        Argosy__ToVoter__Goodbye g = MESSAGE_OF(to_voter__goodbye, .stopping = stopping, .running = &running,
                                                .n_running = unit != NULL);

        session_on_goodbye(t.leader, tables_host(&t, host), &g);
}

static void a_shutdown_is_told_twice_a_restart_means_nothing(void **state) {
        Argosy__ToVoter__Goodbye restart =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__RESTART);
        Host *h = tables_host(&t, 2);

        attach(2);
        session_on_goodbye(t.leader, h, &restart);
        assert_false(h->leaving || h->down);
        goodbye(2, true, NULL, 0);
        assert_true(h->leaving);
        assert_false(h->down || host_is_lost(h));
        goodbye(2, false, NULL, 0);
        assert_true(h->down && host_is_lost(h));
        attach(2); // the machine is up again
        assert_false(h->leaving || h->down || host_is_lost(h));
}

static void only_what_a_goodbye_names_may_still_run(void **state) {
        put("web.service", 2);
        put("slow.service", 2);
        put("theirs.service", 3);
        attach(2);
        attach_holding(3, tables_report(&t, "theirs.service", 3));
        report(2, tables_report(&t, "web.service", 2));
        report(2, tables_report(&t, "slow.service", 2));
        goodbye(2, false, "slow.service", 2);
        assert_true(tables_unit_on_node(&t, "slow.service", 2)->lingers);
        assert_false(tables_unit_on_node(&t, "web.service", 2)->lingers);
        assert_int_equal(tables_host(&t, 2)->fencing.lingers_until_us,
                         t.now_us + TABLES_LEASE_MS * USEC_PER_MSEC);
        attach(2);
        goodbye(2, false, "theirs.service", 3); // not one of its nodes
        assert_false(tables_unit_on_node(&t, "theirs.service", 3)->lingers);
}

// What it names is not known to a leader that it has not attached to.
static void a_goodbye_with_names_counts_only_in_a_session(void **state) {
        put("slow.service", 2);
        tables_link(&t, 2);
        goodbye(2, false, "slow.service", 2);
        assert_false(tables_host(&t, 2)->down || host_is_lost(tables_host(&t, 2)));
}

RUN_TESTS(
        TEST(a_host_is_welcomed_after_a_barrier_that_began_after_its_attach),
        TEST(one_barrier_is_for_all_who_attached_before_it),
        TEST(a_barrier_that_failed_is_proposed_again_as_long_as_we_lead),
        TEST(who_has_not_attached_yet_is_counted),
        TEST(a_beat_is_acknowledged_in_a_session_with_authority),
        TEST(a_quiet_beat_holds_the_lease_up_and_is_not_answered),
        TEST(no_beat_of_an_earlier_session_is_acknowledged),
        TEST(silence_makes_a_host_suspect_and_then_lost),
        TEST(of_many_that_are_lost_some_are_in_each_turn),
        TEST(how_long_the_turns_take_changes_nothing_about_who_is_lost),
        TEST(units_of_a_lost_host_move_unless_they_are_done),
        TEST(a_shutdown_is_told_twice_a_restart_means_nothing),
        TEST(only_what_a_goodbye_names_may_still_run),
        TEST(a_goodbye_with_names_counts_only_in_a_session)
)
