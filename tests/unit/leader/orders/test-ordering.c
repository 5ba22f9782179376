// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that depend on each other, on whatever hosts they are: who waits for whom, and for how long.

#include "ordering-words.h"

#include "leader-asks.h"
#include "messages.h"
#include "printed.h"
#include "request-ties.h"
#include "str.h"

static bool is_up(uint32_t host, const char *name) {
        return on(host, name) == UP;
}

static void says(Argosy__ActiveState state, uint32_t host, const char *name) {
        rig_host_report_and_settle(&g, rig_host(&g, host), rig_unit_on(&g, host, name), state,
                                   ARGOSY__OUTCOME__KIND__NONE);
}

static void a_start_waits_for_the_start_of_another_one(void **state) {
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        rig_pass_ms(&g, 1500);
        rig_settle(&g);
        assert_true(is_up(2, "b.service"));
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service"));
}

// Its host was told to let go of it, and has not said yet that it has.
static void a_unit_that_comes_again_before_it_has_gone_waits_as_one_that_begins(void **state) {
        change(START, "a.service", SERVICE ON("one"));
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service"));
        rig_host(&g, 1)->delayed = true;
        change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        rig_host(&g, 1)->delayed = false;
        rig_pass_ms(&g, 1500);
        assert_true(is_up(2, "b.service"));
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service"));
}

// A systemd newer than its argosyd has words that nobody understands, and a manager that was just reached
// says nothing yet: neither is an end.
static void a_state_that_nobody_knows_is_no_end(void **state) {
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "BindsTo=b.service\nAfter=b.service\n");
        rig_pass_ms(&g, 3000);
        rig_settle(&g);
        assert_true(is_up(2, "b.service") && is_up(1, "a.service"));
        says(UNSEEN, 2, "b.service");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service")); // it goes down with what it is bound to, and with nothing less
        says(UNSEEN, 1, "a.service");
        rig_host(&g, 1)->lazy = true;
        change(STOP, "a.service", NULL);
        change(STOP, "b.service", NULL);
        assert_true(on(2, "b.service") == UNSEEN); // `a` may run: it ends first
        rig_host(&g, 1)->lazy = false;
        says(DOWN, 1, "a.service");
        rig_pass_ms(&g, 3000);
        assert_int_equal(on(2, "b.service"), DOWN);
}

#define ONE_SHOT "[Service]\nType=oneshot\nExecStart=/bin/true\n"

static void start_behind_a_one_shot(void) {
        change(START, "job.service", ONE_SHOT ON("two"));
        change(START, "after.service", SERVICE ON("one") "After=job.service\n");
        change(START, "needs.service", SERVICE ON("three") "Requires=job.service\n");
        assert_int_equal(on(2, "job.service"), ACTIVATING);
        assert_null(rig_unit_on(&g, 1, "after.service"));
        assert_null(rig_unit_on(&g, 3, "needs.service"));
}

static void who_comes_after_a_one_shot_begins_when_the_log_has_its_end(void **state) {
        static const struct {
                Argosy__ActiveState state;
                Argosy__Outcome__Kind outcome;
                bool both;
        } ways[] = {
                {DOWN, ARGOSY__OUTCOME__KIND__DONE, true},
                {FAILED, ARGOSY__OUTCOME__KIND__FAILED, false},
                {DOWN, ARGOSY__OUTCOME__KIND__UNKNOWN, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                start_behind_a_one_shot();
                g.slow = true;
                ends(2, "job.service", ways[i].state, ways[i].outcome);
                assert_int_equal(g.n_held, 1);
                assert_null(rig_unit_on(&g, 1, "after.service"));
                assert_null(rig_unit_on(&g, 3, "needs.service"));
                rig_hurry_and_settle(&g);
                assert_int_equal(rig_record(&g, "job.service")->outcomes[0]->kind, ways[i].outcome);
                assert_int_equal(on(1, "after.service"), ACTIVATING);
                assert_int_equal(rig_unit_on(&g, 3, "needs.service") != NULL, ways[i].both);
                teardown(NULL);
                setup(NULL);
        }
}

static void who_needs_a_one_shot_is_told_that_nobody_can_tell_how_it_ended(void **state) {
        RigAnswer *wait;
        unsigned starts;

        start_behind_a_one_shot();
        ends(2, "job.service", DOWN, ARGOSY__OUTCOME__KIND__UNKNOWN);
        rig_settle(&g);
        starts = rig_unit_on(&g, 2, "job.service")->starts;
        for (int i = 0; i < 2; i++) { // under the next leader, too
                wait = rig_wait(&g, START, "needs.service", rig_record(&g, "needs.service")->revision);
                assert_true(wait->final);
                assert_replies(wait->responses[0]->progress->done[0], EAGAIN,
                               "waiting for job.service on n2, of which nobody can tell how it ended");
                wait = rig_wait(&g, START, "job.service", rig_record(&g, "job.service")->revision);
                assert_replies(wait->responses[0]->progress->done[0], EIO, "its outcome is unknown");
                assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts);
                rig_elect_anew(&g);
        }
        change(START, "needs.service", NULL);
        // only who names it runs it again
        assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts);
        rig_unit_on(&g, 2, "job.service")->outcome = ARGOSY__OUTCOME__KIND__NONE;
        change(START, "job.service", NULL);
        assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts + 1);
        ends(2, "job.service", DOWN, ARGOSY__OUTCOME__KIND__DONE);
        rig_settle(&g);
        assert_int_equal(on(3, "needs.service"), ACTIVATING);
}

static void what_failed_blocks_who_requires_it_until_it_is_up(void **state) {
        g.bad = hash_of(SERVICE ON("two"), strlen(SERVICE ON("two")));
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        RigAnswer *wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_false(wait->final);
        rig_pass_ms(&g, 1500);
        assert_int_equal(on(2, "b.service"), FAILED);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        assert_true(wait->final);
        assert_replies(wait->responses[0]->progress->done[0], EAGAIN,
                       "waiting for b.service on n2, which failed");
        says(UP, 2, "b.service");
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service"));
        says(FAILED, 2, "b.service");
        assert_true(is_up(1, "a.service")); // it has begun: what happens now is nothing to it
}

// One request takes away what `b` needs; `c` needs `b` still, and `a` comes after one of them from now on.
// However many a turn has time to look at.
static void who_may_begin_at_last_comes_before_those_who_come_after_it(void **state) {
        char *names[] = {"a.service", "b.service"};

        for (int i = 0; i < 4; i++) {
                bool of_c = i % 2;
                char *contents[] = {of_c ? SERVICE ON("two") "After=c.service\n"
                                         : SERVICE ON("two") "After=b.service\n",
                                    SERVICE ON("two")};

                g.bad = hash_of(SERVICE ON("one"), strlen(SERVICE ON("one")));
                change(SUBMIT, "bad.service", SERVICE ON("one"));
                change(START, "b.service", SERVICE ON("two") "Requires=bad.service\n");
                change(START, "c.service", SERVICE ON("two") "Requires=b.service\n");
                change(START, "a.service", SERVICE ON("two") "Requires=bad.service\n");
                rig_pass_ms(&g, 1500);
                assert_int_equal(on(1, "bad.service"), FAILED);
                assert_true(!rig_unit_on(&g, 2, "a.service") && !rig_unit_on(&g, 2, "b.service") &&
                            !rig_unit_on(&g, 2, "c.service"));
                if (i >= 2)
                        g.leader->limits.drained_looks = 1;
                replace = true;
                change_many(START, 2, names, contents);
                replace = false;
                assert_int_equal(on(2, "b.service"), ACTIVATING);
                assert_true(!rig_unit_on(&g, 2, "a.service") && !rig_unit_on(&g, 2, "c.service"));
                rig_pass_ms(&g, 1500);
                assert_int_equal(on(2, "c.service"), ACTIVATING);
                assert_true(of_c ? !rig_unit_on(&g, 2, "a.service") : on(2, "a.service") == ACTIVATING);
                rig_pass_ms(&g, 1500);
                assert_true(is_up(2, "a.service") && is_up(2, "c.service"));
                teardown(NULL);
                setup(NULL);
        }
}

// Each has come to stand otherwise when the other one is looked at.
static void two_that_are_blocked_and_name_each_other_come_to_rest(void **state) {
        char *names[] = {"a.service", "b.service"},
             *contents[] = {SERVICE ON("two") "Requires=bad.service\nAfter=b.service\n",
                            SERVICE ON("three") "Requires=bad.service\nWants=a.service\n"};

        g.bad = hash_of(SERVICE ON("one"), strlen(SERVICE ON("one")));
        change(SUBMIT, "bad.service", SERVICE ON("one"));
        g.leader->limits.drained_looks = 4;
        change_many(START, 2, names, contents);
        rig_pass_ms(&g, 1500);
        assert_int_equal(on(1, "bad.service"), FAILED);
        assert_true(!rig_unit_on(&g, 2, "a.service") && !rig_unit_on(&g, 3, "b.service"));
        says(UP, 1, "bad.service");
        assert_int_equal(on(3, "b.service"), ACTIVATING);
        rig_pass_ms(&g, 3000);
        assert_true(is_up(2, "a.service") && is_up(3, "b.service"));
}

static void a_stop_takes_those_along_that_require_the_unit_and_is_the_last(void **state) {
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
        g.stop_ms = 1000;
        const Argosy__Response__UnitResult *r = rig_change(&g, STOP, "b.service", NULL);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "a.service is stopped too, since it depends on it");
        assert_int_equal(rig_record(&g, "a.service")->target, LOADED);
        assert_int_equal(on(1, "a.service"), DEACTIVATING);
        assert_int_equal(on(2, "b.service"), UP);
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(on(2, "b.service"), DEACTIVATING);
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(2, "b.service"), DOWN);
}

static void all_that_go_along_are_counted(void **state) {
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(SUBMIT, "a@.service", SERVICE ON("one") "PartOf=b.service\n");
        change(START, "b.service", NULL);
        change(START, "a@1.service", NULL);
        change(START, "a@2.service", NULL);
        change(SUBMIT, "a@3.service", NULL);
        rig_pass_ms(&g, 3000);
        const Argosy__Response__UnitResult *r = rig_change(&g, RESTART, "b.service", NULL);
        assert_string_equal(r->message, "a@1.service and 1 more are restarted too, since they depend on it");
        r = rig_change(&g, STOP, "b.service", NULL);
        assert_string_equal(r->message, "a@1.service and 1 more are stopped too, since they depend on it");
        assert_int_equal(rig_record(&g, "a@2.service")->target, LOADED);
        assert_int_equal(rig_record(&g, "a@3.service")->target, ARGOSY__TARGET__TARGET_INACTIVE);
}

static void a_stop_waits_for_nobody_who_goes_on(void **state) {
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        rig_pass_ms(&g, 3000);
        change(STOP, "b.service", NULL);
        assert_int_equal(on(2, "b.service"), DOWN);
        assert_true(is_up(1, "a.service"));
        change(STOP, "a.service", NULL); // and one that was started by other hands is nobody's stop
        says(UP, 1, "a.service");
        change(START, "b.service", NULL);
        rig_pass_ms(&g, 1500);
        change(STOP, "b.service", NULL);
        assert_int_equal(on(2, "b.service"), DOWN);
}

static void a_restart_goes_down_and_up_in_order(void **state) {
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        g.stop_ms = 1000;
        change(RESTART, "b.service", NULL);
        assert_int_equal(on(1, "a.service"), DEACTIVATING);
        assert_int_equal(on(2, "b.service"), UP);
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_int_equal(rig_unit_on(&g, 2, "b.service")->restarts, 1);
        rig_pass_ms(&g, 1250);
        assert_true(is_up(2, "b.service"));
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        rig_pass_ms(&g, 1250);
        assert_true(is_up(1, "a.service"));
        change(RESTART, "a.service", NULL); // alone it is done at once
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->restarts, 1);
        assert_int_equal(rig_unit_on(&g, 2, "b.service")->restarts, 1);
        rig_pass_ms(&g, 1250);
        change(START, "a.service", NULL); // and what runs goes on
        assert_true(is_up(1, "a.service"));
}

// Its host says only then that it has begun, and has not been told of the restart, which waited for no more
// than a start does.
static void one_that_is_first_seen_while_it_is_to_restart_ends_too(void **state) {
        change(SUBMIT, "c.service", SERVICE ON("three"));
        change(SUBMIT, "b.service", SERVICE ON("two") "Requires=c.service\n");
        change(START, "a.service", SERVICE ON("one") "Requires=c.service\n");
        rig_pass_ms(&g, 3000);
        rig_host(&g, 2)->lazy = true;
        change(START, "b.service", NULL);
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service") && is_up(3, "c.service"));
        g.stop_ms = 1000;
        change(RESTART, "c.service", NULL);
        rig_host(&g, 2)->lazy = false;
        rig_settle(&g);
        assert_int_equal(on(1, "a.service"), DEACTIVATING);
        assert_int_equal(on(2, "b.service"), DEACTIVATING);
        rig_pass_ms(&g, 5000);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service") && is_up(3, "c.service"));
        assert_int_equal(rig_unit_on(&g, 3, "c.service")->restarts, 1);
        assert_int_equal(rig_unit_on(&g, 2, "b.service")->starts, 2);
}

// What a new leader knows are the records, and what hosts hold: the stop that a restart begins with is held
// back by these, too. (Hosts that have no word for it are told to restart with the Welcome.)
static void a_restart_that_waits_for_a_stop_waits_under_the_next_leader(void **state) {
        change(SUBMIT, "c.service", SERVICE ON("three"));
        change(SUBMIT, "b.service", SERVICE ON("two") "Requires=c.service\n");
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 4500);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service") && is_up(3, "c.service"));
        g.stop_ms = 1000;
        change(RESTART, "c.service", NULL);
        assert_int_equal(on(1, "a.service"), DEACTIVATING);
        for (unsigned i = 0; i < 3; i++) {
                rig_depose(&g);
                rig_host(&g, 1)->deaf = i == 1; // what it still has to stop is not known
                rig_elect(&g);
                assert_true(is_up(2, "b.service") && is_up(3, "c.service"));
                rig_host(&g, 1)->deaf = false;
                rig_pass_ms(&g, 250);
        }
        rig_pass_ms(&g, 500);
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(on(2, "b.service"), DEACTIVATING);
        rig_elect_anew(&g);
        assert_true(is_up(3, "c.service"));
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(2, "b.service"), DOWN);
        assert_int_equal(on(3, "c.service"), ACTIVATING);
        rig_pass_ms(&g, 4500);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service") && is_up(3, "c.service"));
        assert_int_equal(rig_unit_on(&g, 3, "c.service")->restarts, 1);
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 2);
}

// And one whose host is never heard holds nobody back.
static void a_restart_waits_for_the_stop_of_a_lost_one_no_longer(void **state) {
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("three") "NodeLost=keep\nRequires=b.service\n");
        rig_pass_ms(&g, 3000);
        change(RESTART, "b.service", NULL);
        rig_pass_ms(&g, 3000);
        g.stop_ms = 60000;
        change(RESTART, "b.service", NULL);
        assert_int_equal(on(3, "a.service"), DEACTIVATING);
        rig_depose(&g);
        rig_host(&g, 3)->deaf = true;
        rig_host(&g, 3)->linked = false;
        rig_elect(&g);
        assert_true(is_up(2, "b.service"));
        assert_int_equal(rig_unit_on(&g, 2, "b.service")->restarts, 1);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS + 1500);
        assert_int_equal(rig_unit_on(&g, 2, "b.service")->restarts, 2);
}

// Both go down and up in order; while `a` waits for `b`, its host has an order that answers no change.
static void who_waits_for_another_is_told_to_stay(void **state) {
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        change(RESTART, "b.service", NULL);
        rig_pass_ms(&g, 500);
        VirtualOrder o = rig_unit_on(&g, 1, "a.service")->order;
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_true(o.stay);
        assert_int_equal(o.revision, 0);
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service"));
        assert_false(rig_unit_on(&g, 1, "a.service")->order.stay);
}

static void start_bound_pair(void) {
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "BindsTo=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
}

static void what_is_bound_is_down_as_long_as_the_other_one_is(void **state) {
        start_bound_pair();
        uint32_t b = rig_record(&g, "b.service")->node;
        says(FAILED, b, "b.service");
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(rig_record(&g, "a.service")->target, LAUNCHED);
        says(ACTIVATING, b, "b.service"); // systemd restarts it
        assert_int_equal(on(1, "a.service"), DOWN);
        says(UP, b, "b.service");
        rig_pass_ms(&g, 1250);
        assert_true(is_up(1, "a.service"));
        says(ACTIVATING, b, "b.service");
        assert_true(is_up(1, "a.service")); // it was not seen to end
}

static void what_is_bound_follows_the_other_one_over_the_loss_of_its_node(void **state) {
        start_bound_pair();
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host_off_for(&g, 2, 1500);
        assert_true(is_up(1, "a.service")); // silent is not lost
        rig_pass_ms(&g, 3000);
        assert_int_not_equal(rig_record(&g, "b.service")->node, 2);
        rig_pass_ms(&g, 4000);
        assert_true(is_up(1, "a.service"));
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 2);
}

static void what_a_lost_host_has_kept_ends_though_others_are_bound_to_the_unit(void **state) {
        start_bound_pair();
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host(&g, 2)->deaf = true;
        rig_host(&g, 2)->linked = false;
        rig_pass_ms(&g, 10000);
        assert_true(is_up(2, "b.service") && is_up(3, "b.service") && is_up(1, "a.service"));
        rig_host(&g, 2)->deaf = false;
        rig_pass_ms(&g, 3000);
        assert_null(rig_unit_on(&g, 2, "b.service"));
        assert_true(is_up(3, "b.service") && is_up(1, "a.service"));
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 2); // once because of the loss
}

static void what_only_requires_does_not_mind_the_loss(void **state) {
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host_off_for(&g, 2, 8000);
        assert_true(is_up(1, "a.service"));
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 1);
}

static void what_was_stopped_by_hand_stays_stopped_when_the_other_one_is_back(void **state) {
        start_bound_pair();
        says(DOWN, 1, "a.service");
        says(FAILED, 2, "b.service");
        says(UP, 2, "b.service");
        rig_pass_ms(&g, 2000);
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 1);
}

static void a_new_leader_holds_back_the_same(void **state) {
        change(SUBMIT, "c.service", SERVICE ON("three"));
        change(SUBMIT, "b.service", SERVICE ON("two") "Requires=c.service\n");
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_elect_anew(&g);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        assert_null(rig_unit_on(&g, 2, "b.service"));
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        rig_elect_anew(&g);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        rig_pass_ms(&g, 2500);
        assert_true(is_up(1, "a.service"));
        g.stop_ms = 1000;
        change(STOP, "c.service", NULL);
        rig_elect_anew(&g);
        assert_int_equal(on(2, "b.service"), UP);
        rig_pass_ms(&g, 1250);
        rig_elect_anew(&g);
        assert_int_equal(on(2, "b.service"), DEACTIVATING);
        assert_int_equal(on(3, "c.service"), UP);
        rig_pass_ms(&g, 2500);
        assert_int_equal(on(3, "c.service"), DOWN);
}

static void what_is_required_is_started_too_unless_it_runs(void **state) {
        uint64_t start_rev;

        change(SUBMIT, "c.service", SERVICE);
        change(SUBMIT, "b.service", SERVICE "[X-Argosy]\nRequires=c.service\n");
        change(SUBMIT, "w.service", SERVICE);
        change(START, "a.service", SERVICE "[X-Argosy]\nRequires=b.service\nWants=w.service\n");
        assert_int_equal(rig_record(&g, "c.service")->target, LAUNCHED);
        assert_int_equal(rig_record(&g, "w.service")->target, LAUNCHED);
        rig_pass_ms(&g, 4000);
        assert_int_equal(rig_count_running(&g, "a.service"), 1);
        start_rev = rig_record(&g, "b.service")->start_rev;
        change(START, "a.service", NULL);
        assert_int_equal(rig_record(&g, "b.service")->start_rev, start_rev);
        says(DOWN, (uint32_t) rig_record(&g, "b.service")->node, "b.service");
        change(START, "a.service", NULL); // down by somebody's hand: that is over now
        assert_true(rig_record(&g, "b.service")->start_rev > start_rev);
}

static void both_keep_their_order_when_their_node_is_lost(void **state) {
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE "[X-Argosy]\nRequires=b.service\nSameNodeAs=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, "a.service")->node, rig_record(&g, "b.service")->node);
        rig_host_off(&g, rig_record(&g, "b.service")->node);
        for (unsigned i = 0; i < 40 && rig_count_running(&g, "a.service") < 1; i++) {
                rig_pass_ms(&g, 250);
                if (rig_count_running(&g, "b.service") == 0)
                        assert_int_equal(rig_count_running(&g, "a.service"), 0);
        }
        assert_int_equal(rig_count_running(&g, "a.service"), 1);
}

static void both_keep_their_order_when_their_node_is_emptied(void **state) {
        Argosy__Request__NodeChange drain = NODE_CHANGE_OF(.nodes = (char *[]){(char *) "n2"}, .n_nodes = 1,
                                                           .mode = ARGOSY__NODE_MODE__MODE_DRAINING);

        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON_TWO_OR_THREE "Requires=b.service\nSameNodeAs=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(2, "a.service") && is_up(2, "b.service"));
        rig_ask(&g, A_REQUEST(NODE_CHANGE, node_change, &drain));
        rig_host(&g, 2)->deaf = true; // the orders to leave arrive one by one
        rig_settle(&g);
        assert_int_equal(rig_host(&g, 2)->n_inbox, 1);
        rig_host(&g, 2)->deaf = false;
        for (unsigned i = 0; rig_unit_on(&g, 2, "b.service") && i < 100; i++) {
                rig_turn(&g);
                assert_true(!rig_unit_on(&g, 2, "a.service") || is_up(2, "b.service"));
        }
        rig_settle(&g);
        assert_int_equal(on(3, "b.service"), ACTIVATING);
        assert_null(rig_unit_on(&g, 3, "a.service"));
        rig_pass_ms(&g, 2500);
        assert_true(is_up(3, "a.service"));
}

static void who_is_bound_ends_before_the_other_one_moves(void **state) {
        start_bound_pair();
        g.stop_ms = 1000;
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(on(1, "a.service"), DEACTIVATING);
        assert_true(is_up(2, "b.service"));
        rig_pass_ms(&g, 1250);
        assert_null(rig_unit_on(&g, 2, "b.service"));
        rig_pass_ms(&g, 2500);
        assert_true(is_up(3, "b.service"));
        assert_true(is_up(1, "a.service"));
}

static void status_says_what_a_unit_waits_for(void **state) {
        char *name = (char *) "a.service";

        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = &name, .n_names = 1);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(STATUS, status, &status));
        assert_true(a->n > 0);
        assert_string_equal(a->responses[0]->status_reply->why,
                            "waiting for b.service on n2, which is being started");
        assert_string_equal(a->responses[0]->status_reply->row->active, "inactive");
}

static void a_global_unit_is_up_when_it_is_up_everywhere_that_it_can(void **state) {
        change(SUBMIT, "b.service", SERVICE "[X-Argosy]\nGlobal=yes\n");
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        assert_null(rig_unit_on(&g, 1, "a.service"));
        assert_int_equal(on(3, "b.service"), ACTIVATING);
        rig_pass_ms(&g, 1250);
        assert_int_equal(rig_count_running(&g, "b.service"), 3);
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        rig_pass_ms(&g, 1250);
        g.stop_ms = 1000;
        change(STOP, "b.service", NULL);
        assert_int_equal(rig_count_running(&g, "b.service"), 3);
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(rig_count_running(&g, "b.service"), 0);
}

static void one_whose_name_is_taken_on_a_node_is_waited_for_elsewhere(void **state) {
        rig_host(&g, 2)->refuses = true;
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        RigAnswer *wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        assert_int_equal(on(3, "b.service"), ACTIVATING);
        assert_false(wait->final);
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
        assert_int_equal(wait->responses[wait->n - 1]->progress->done[0]->status, 0);
}

static void what_is_wanted_or_destroyed_meanwhile_is_not_waited_for(void **state) {
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        RigAnswer *wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        change(ARGOSY__VERB__VERB_DESTROY, "b.service", NULL);
        rig_pass_ms(&g, 1250);
        assert_true(is_up(1, "a.service"));
        assert_true(wait->final);
        change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        assert_int_equal(g.leader->dependencies.names.count, 0); // nothing stays behind
}

static void a_file_without_the_dependency_ends_the_waiting(void **state) {
        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        assert_null(rig_unit_on(&g, 1, "a.service"));
        RigAnswer *a = rig_change_with_and_settle(&g, START, "a.service", SERVICE ON("one"), true, NULL);
        assert_int_equal(a->responses[0]->change->units[0]->status, 0);
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
}

static void assert_not_taken_along(Argosy__Verb verb, const char *why) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, "hub@0.service", NULL);

        assert_int_equal(r->status, E2BIG);
        assert_string_equal(r->message, why);
        assert_int_equal(rig_record(&g, "hub@0.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_int_equal(rig_record(&g, "dep0.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void more_than_a_turn_has_time_for_do_not_go_along(void **state) {
        (void) rig_change_many(&g, START, "hub", 2, SERVICE);
        for (unsigned i = 0; i <= REQUEST_ALONG_MAX; i++) {
                assert_int_equal(rig_change(&g, START, printed("dep%u.service", i),
                                            SERVICE "[X-Argosy]\nRequires=hub@0.service\n")
                                         ->status,
                                 0);
        }
        assert_not_taken_along(STOP, "more than 2048 units would be stopped too, since they depend on it: "
                                     "stop units that depend on it first");
        assert_not_taken_along(ARGOSY__VERB__VERB_DESTROY,
                               "more than 2048 units would be stopped too, since they depend on it: stop "
                               "units that depend on it first");
        assert_not_taken_along(ARGOSY__VERB__VERB_RESTART,
                               "more than 2048 units would be restarted too, since they depend on it: stop "
                               "units that depend on it first");
        (void) rig_change(&g, STOP, "dep2048.service", NULL);
        (void) rig_change(&g, START, "one.service", SERVICE "[X-Argosy]\nRequires=hub@1.service\n");
        Argosy__Response__UnitResult *const *r =
                rig_change_many(&g, STOP, "hub", 2, NULL)->responses[0]->change->units;
        assert_replies(r[0], 0, "and 2047 more are stopped too, since they depend on it");
        assert_int_equal(r[1]->status, E2BIG);
        assert_string_equal(r[1]->message, "with those that depend on other units of this request, more "
                                           "than 2048 units would be stopped too: ask for it by itself");
        assert_int_equal(rig_record(&g, "one.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_int_equal(rig_record(&g, "dep0.service")->target, ARGOSY__TARGET__TARGET_LOADED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(a_unit_that_comes_again_before_it_has_gone_waits_as_one_that_begins),
                T(a_start_waits_for_the_start_of_another_one),
                T(a_state_that_nobody_knows_is_no_end),
                T(who_comes_after_a_one_shot_begins_when_the_log_has_its_end),
                T(who_needs_a_one_shot_is_told_that_nobody_can_tell_how_it_ended),
                T(what_failed_blocks_who_requires_it_until_it_is_up),
                T(who_may_begin_at_last_comes_before_those_who_come_after_it),
                T(two_that_are_blocked_and_name_each_other_come_to_rest),
                T(a_stop_takes_those_along_that_require_the_unit_and_is_the_last),
                T(all_that_go_along_are_counted),
                T(a_stop_waits_for_nobody_who_goes_on),
                T(a_restart_goes_down_and_up_in_order),
                T(one_that_is_first_seen_while_it_is_to_restart_ends_too),
                T(a_restart_that_waits_for_a_stop_waits_under_the_next_leader),
                T(a_restart_waits_for_the_stop_of_a_lost_one_no_longer),
                T(who_waits_for_another_is_told_to_stay),
                T(what_is_bound_is_down_as_long_as_the_other_one_is),
                T(what_is_bound_follows_the_other_one_over_the_loss_of_its_node),
                T(what_a_lost_host_has_kept_ends_though_others_are_bound_to_the_unit),
                T(what_only_requires_does_not_mind_the_loss),
                T(what_was_stopped_by_hand_stays_stopped_when_the_other_one_is_back),
                T(a_new_leader_holds_back_the_same),
                T(what_is_required_is_started_too_unless_it_runs),
                T(both_keep_their_order_when_their_node_is_lost),
                T(both_keep_their_order_when_their_node_is_emptied),
                T(who_is_bound_ends_before_the_other_one_moves),
                T(status_says_what_a_unit_waits_for),
                T(a_global_unit_is_up_when_it_is_up_everywhere_that_it_can),
                T(one_whose_name_is_taken_on_a_node_is_waited_for_elsewhere),
                T(what_is_wanted_or_destroyed_meanwhile_is_not_waited_for),
                T(a_file_without_the_dependency_ends_the_waiting),
                T(more_than_a_turn_has_time_for_do_not_go_along),
#undef T
        };

        return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
