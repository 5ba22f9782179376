// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that depend on each other, on whatever hosts they are.
#include <errno.h>

#include "feature-level.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "test.h"
#include "unit-state.h"

#define ON(host) "[X-Argosy]\nMachineMetadata=on=" host "\n"
#define ON_TWO_OR_THREE "[X-Argosy]\nMachineMetadata=on=two on=three\n"
#define SERVICE "[Service]\nType=notify\nExecStart=/bin/sleep 1000\n"
#define STOP ARGOSY__VERB__VERB_STOP
#define START ARGOSY__VERB__VERB_START
#define RESTART ARGOSY__VERB__VERB_RESTART
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED
#define UP ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define DOWN ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define ACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define DEACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
#define UNSEEN ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN

static Rig g;

static int setup(void **state) {
        rig_start(&g, 3);
        rig_host_set_labels(&g, 1, "on", "one");
        rig_host_set_labels(&g, 2, "on", "two");
        rig_host_set_labels(&g, 3, "on", "three");
        rig_settle(&g);
        g.start_ms = 1000;
        return 0;
}

static int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

static void change(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        if (r->status)
                fail_msg("%s: %s", name, r->message);
}

static Argosy__ActiveState on(uint32_t host, const char *name) {
        const RigUnit *u = rig_unit_on(&g, host, name);

        return u ? u->active : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static bool is_up(uint32_t host, const char *name) {
        return on(host, name) == UP;
}

static void says(Argosy__ActiveState state, uint32_t host, const char *name) {
        rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, name), state,
                        ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
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

// A systemd newer than its argosyd has words that nobody understands, and a manager that was just reached says nothing
// yet: neither is an end.
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

// A one-shot has ended; its host says how with the same report.
static void ends(uint32_t host, const char *name, Argosy__ActiveState state, Argosy__Outcome__Kind outcome) {
        RigUnit *u = rig_unit_on(&g, host, name);

        u->ready_us = 0;
        u->answered = u->order->revision;
        u->outcome = outcome; // again with the next Attach
        rig_host_report(&g, rig_host(&g, host), u, state, outcome);
        rig_turns(&g, 10);
}

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
                g.slow = false;
                rig_release(&g);
                rig_settle(&g);
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
                rig_settle(&g);
                assert_true(wait->final);
                assert_int_equal(wait->responses[0]->progress->done[0]->status, EAGAIN);
                assert_non_null(strstr(wait->responses[0]->progress->done[0]->message,
                                       "waiting for job.service on n2, of which nobody can tell how it ended"));
                wait = rig_wait(&g, START, "job.service", rig_record(&g, "job.service")->revision);
                rig_settle(&g);
                assert_int_equal(wait->responses[0]->progress->done[0]->status, EIO);
                assert_non_null(strstr(wait->responses[0]->progress->done[0]->message, "its outcome is unknown"));
                assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts);
                rig_depose(&g);
                rig_elect(&g);
                rig_settle(&g);
        }
        change(START, "needs.service", NULL);
        assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts); // only who names it runs it again
        rig_unit_on(&g, 2, "job.service")->outcome = ARGOSY__OUTCOME__KIND__NONE;
        change(START, "job.service", NULL);
        assert_int_equal(rig_unit_on(&g, 2, "job.service")->starts, starts + 1);
        ends(2, "job.service", DOWN, ARGOSY__OUTCOME__KIND__DONE);
        rig_settle(&g);
        assert_int_equal(on(3, "needs.service"), ACTIVATING);
}

static void what_failed_blocks_who_requires_it_until_it_is_up(void **state) {
        RigAnswer *wait;

        g.bad = hash_of(SERVICE ON("two"), strlen(SERVICE ON("two")));
        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_false(wait->final);
        rig_pass_ms(&g, 1500);
        assert_int_equal(on(2, "b.service"), FAILED);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        assert_true(wait->final);
        assert_int_equal(wait->responses[0]->progress->done[0]->status, EAGAIN);
        assert_non_null(strstr(wait->responses[0]->progress->done[0]->message,
                               "waiting for b.service on n2, which failed"));
        says(UP, 2, "b.service");
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service"));
        says(FAILED, 2, "b.service");
        assert_true(is_up(1, "a.service")); // it has begun: what happens now is nothing to it
}

static void a_stop_takes_those_along_that_require_the_unit_and_is_the_last(void **state) {
        const Argosy__Response__UnitResult *r;

        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
        g.stop_ms = 1000;
        r = rig_change(&g, STOP, "b.service", NULL);
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
        const Argosy__Response__UnitResult *r;

        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(SUBMIT, "a@.service", SERVICE ON("one") "PartOf=b.service\n");
        change(START, "b.service", NULL);
        change(START, "a@1.service", NULL);
        change(START, "a@2.service", NULL);
        change(SUBMIT, "a@3.service", NULL);
        rig_pass_ms(&g, 3000);
        r = rig_change(&g, RESTART, "b.service", NULL);
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

// Both go down and up in order; while `a` waits for `b`, its host has an order that answers no change.
static void restart_a_pair(bool says_stay) {
        const Argosy__UnitOrder *o;

        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        change(RESTART, "b.service", NULL);
        rig_pass_ms(&g, 500);
        o = rig_unit_on(&g, 1, "a.service")->order;
        assert_int_equal(on(1, "a.service"), DOWN);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        assert_int_equal(o->stay, says_stay);
        assert_int_equal(o->revision, says_stay ? 0 : UNIT_REVISION_STAY);
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service") && is_up(2, "b.service"));
        assert_false(rig_unit_on(&g, 1, "a.service")->order->stay);
}

static void who_waits_for_another_is_told_to_stay(void **state) {
        restart_a_pair(FEATURE_LEVEL >= FEATURE_STAYING);
}

static void a_host_that_does_not_know_how_to_stay_hears_a_revision_that_no_unit_has(void **state) {
        rig_start_at(&g, 2, FEATURE_BASE);
        rig_host_set_labels(&g, 1, "on", "one");
        rig_host_set_labels(&g, 2, "on", "two");
        rig_settle(&g);
        g.start_ms = 1000;
        restart_a_pair(false);
        rig_stop(&g);
}

static void start_bound_pair(void) {
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "BindsTo=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
}

static void what_is_bound_is_down_as_long_as_the_other_one_is(void **state) {
        uint32_t b;

        start_bound_pair();
        b = rig_record(&g, "b.service")->node;
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
        rig_host_off(&g, 2);
        rig_pass_ms(&g, 1500);
        assert_true(is_up(1, "a.service")); // silent is not lost
        rig_pass_ms(&g, 3000);
        assert_int_not_equal(rig_record(&g, "b.service")->node, 2);
        rig_pass_ms(&g, 4000);
        assert_true(is_up(1, "a.service"));
        assert_int_equal(rig_unit_on(&g, 1, "a.service")->starts, 2);
}

static void what_only_requires_does_not_mind_the_loss(void **state) {
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host_off(&g, 2);
        rig_pass_ms(&g, 8000);
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
        rig_depose(&g);
        rig_elect(&g);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        assert_null(rig_unit_on(&g, 2, "b.service"));
        rig_pass_ms(&g, 1250);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
        rig_depose(&g);
        rig_elect(&g);
        assert_null(rig_unit_on(&g, 1, "a.service"));
        rig_pass_ms(&g, 2500);
        assert_true(is_up(1, "a.service"));
        g.stop_ms = 1000;
        change(STOP, "c.service", NULL);
        rig_depose(&g);
        rig_elect(&g);
        assert_int_equal(on(2, "b.service"), UP);
        rig_pass_ms(&g, 1250);
        rig_depose(&g);
        rig_elect(&g);
        assert_int_equal(on(2, "b.service"), DEACTIVATING);
        assert_int_equal(on(3, "c.service"), UP);
        rig_pass_ms(&g, 2500);
        assert_int_equal(on(3, "c.service"), DOWN);
}

static const char *refusal(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        assert_int_equal(r->status, EINVAL);
        return r->message;
}

static void circles_are_refused_however_they_come_about(void **state) {
        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        change(SUBMIT, "b.service", SERVICE "[X-Argosy]\nAfter=c.service\n");
        assert_string_equal(
                refusal(SUBMIT, "c.service", SERVICE "[X-Argosy]\nWants=x.service\nAfter=a.service\n"),
                "c.service:6: the order goes in a circle: c.service after a.service after b.service after "
                "c.service");
        assert_null(rig_record(&g, "c.service"));
        assert_string_equal(
                refusal(SUBMIT, "d.service", SERVICE "[X-Argosy]\nAfter=a.service\nBefore=b.service\n"),
                "d.service:5: the order goes in a circle: d.service after a.service after b.service after "
                "d.service");
        assert_string_equal(refusal(SUBMIT, "e.service", SERVICE "[X-Argosy]\nRequires=%n\n"),
                            "e.service:5: the unit depends on itself (e.service)");
        // A template that could have no instance.
        change(SUBMIT, "x@.service", SERVICE "[X-Argosy]\nRequires=y@%i.service\n");
        assert_string_equal(
                refusal(SUBMIT, "y@.service", SERVICE "[X-Argosy]\nAfter=x@%i.service\n"),
                "y@.service:5: the order goes in a circle: y@.service after x@.service after y@.service");
        change(SUBMIT, "y@.service", SERVICE);
        change(START, "x@1.service", NULL);
        assert_int_equal(rig_record(&g, "y@1.service")->target, LAUNCHED);
        // One that only some instance closes.
        change(SUBMIT, "n@.service", SERVICE "[X-Argosy]\nAfter=n@1.service\n");
        change(START, "n@2.service", NULL);
        assert_string_equal(refusal(START, "n@1.service", NULL),
                            "n@1.service:5: the unit depends on itself (n@1.service)");
}

static bool replace; // what has other content

// All of a request that has several units.
static RigAnswer *change_many(Argosy__Verb verb, size_t n, char **names, char **contents) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile files[32], *pointers[32];
        uint8_t id[16] = {};
        RigAnswer *a;

        g.id++;
        memcpy(id, &g.id, sizeof(g.id));
        change.id = (ProtobufCBinaryData){.data = id, .len = 16};
        change.verb = verb;
        change.names = names;
        change.n_names = n;
        for (size_t i = 0; contents && i < n; i++) {
                files[i] = (Argosy__NamedFile) ARGOSY__NAMED_FILE__INIT;
                files[i].name = files[i].path = names[i];
                files[i].content =
                        (ProtobufCBinaryData){.data = (uint8_t *) contents[i], .len = strlen(contents[i])};
                pointers[i] = &files[i];
        }
        change.files = pointers;
        change.n_files = contents ? n : 0;
        change.replace = replace;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        a = rig_ask(&g, &request);
        rig_settle(&g);
        assert_true(a->final && a->responses[0]->status == 0);
        return a;
}

static void nothing_of_a_circle_within_one_request_is_stored(void **state) {
        char *names[] = {"a.service", "b.service", "c.service", "d.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=b.service\n", SERVICE "[X-Argosy]\nAfter=c.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n"};
        const Argosy__Response__Change *c = change_many(SUBMIT, 4, names, contents)->responses[0]->change;

        assert_int_equal(c->n_units, 4);
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(c->units[i]->status, EINVAL);
                assert_string_equal(c->units[i]->message,
                                    "c.service:5: the order goes in a circle: c.service "
                                    "after a.service after b.service after c.service");
                assert_null(rig_record(&g, names[i]));
        }
        assert_int_equal(c->units[3]->status, 0);
        assert_non_null(rig_record(&g, "d.service"));
}

// One turns around what the other one said until now: only together they are no circle, whoever is named
// first.
static void a_request_may_turn_an_order_around(void **state) {
        char *names[] = {"b.service", "a.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE};
        Argosy__Response__Change *c;

        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        replace = true;
        c = change_many(SUBMIT, 2, names, contents)->responses[0]->change;
        assert_int_equal(c->units[0]->status | c->units[1]->status, 0);
        contents[0] = SERVICE; // and back, now the one that drops its word comes first
        contents[1] = SERVICE "[X-Argosy]\nAfter=b.service\n";
        c = change_many(SUBMIT, 2, names, contents)->responses[0]->change;
        replace = false;
        assert_int_equal(c->units[0]->status | c->units[1]->status, 0);
        assert_string_equal(
                refusal(SUBMIT, "c.service", SERVICE "[X-Argosy]\nAfter=a.service\nBefore=b.service\n"),
                "c.service:5: the order goes in a circle: c.service after a.service after b.service after "
                "c.service");
}

// b turns its order around, but a cannot drop its own: b's new word would close the circle with a's old one.
static void who_is_refused_keeps_its_old_word(void **state) {
        char *names[] = {"b.service", "a.service", "x.service", "y.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE "[X-Argosy]\nAfter=x.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE};
        Argosy__Response__Change *c;

        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        replace = true;
        c = change_many(SUBMIT, 4, names, contents)->responses[0]->change;
        replace = false;
        assert_string_equal(c->units[1]->message,
                            "x.service:5: the order goes in a circle: x.service after a.service after "
                            "x.service");
        assert_string_equal(c->units[2]->message, c->units[1]->message);
        assert_string_equal(c->units[0]->message,
                            "b.service:5: the order goes in a circle: b.service after a.service after "
                            "b.service");
        assert_int_equal(c->units[3]->status, 0);
        assert_null(rig_record(&g, "b.service"));
}

// Each one that is refused lets its old order close a circle with the new one of the next.
static void circles_one_after_the_other_are_not_followed_for_ever(void **state) {
        enum { CHAIN = 12 };
        char names[CHAIN + 1][16], old[128], new[CHAIN + 1][128];
        char *name[CHAIN + 1], *content[CHAIN + 1];
        Argosy__Response__Change *c;

        for (int i = 0; i <= CHAIN; i++) {
                snprintf(names[i], sizeof(names[i]), "u%d.service", i);
                name[i] = names[i];
                content[i] = new[i];
        }
        for (int i = 0; i < CHAIN; i++) {
                snprintf(old, sizeof(old), SERVICE "[X-Argosy]\n%sAfter=u%d.service\n", i ? "" : "#", i - 1);
                change(SUBMIT, names[i], old);
                snprintf(new[i], sizeof(new[i]), SERVICE "[X-Argosy]\nAfter=u%d.service\n", i + 1);
        }
        snprintf(new[CHAIN], sizeof(new[CHAIN]), SERVICE "[X-Argosy]\nAfter=u%d.service\n", CHAIN - 1);
        replace = true;
        c = change_many(SUBMIT, CHAIN + 1, name, content)->responses[0]->change;
        replace = false;
        for (int i = 0; i <= CHAIN; i++) {
                assert_int_equal(c->units[i]->status, EINVAL);
                assert_true(i < CHAIN ? rig_record(&g, names[i]) != NULL : !rig_record(&g, names[i]));
        }
        assert_non_null(strstr(c->units[CHAIN]->message, "goes in a circle: u12.service after u11.service"));
        assert_non_null(strstr(c->units[CHAIN - 5]->message, "one circle after the other"));
}

static void what_is_required_must_be_known(void **state) {
        char *names[] = {"a.service", "b.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nRequires=b.service\n", SERVICE};

        assert_string_equal(refusal(SUBMIT, "a.service", contents[0]),
                            "a.service:5: it requires b.service, which the cluster does not know");
        assert_null(rig_record(&g, "a.service"));
        change_many(SUBMIT, 2, names, contents); // named in the same request
        assert_non_null(rig_record(&g, "a.service"));
        change(START, "c.service",
               SERVICE "[X-Argosy]\nAfter=x.service\nWants=y.service\nPartOf=z.service\n");
        rig_pass_ms(&g, 1250);
        assert_int_equal(rig_count_running(&g, "c.service"), 1);
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
        Argosy__Request__NodeChange drain = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON_TWO_OR_THREE "Requires=b.service\nSameNodeAs=b.service\n");
        rig_pass_ms(&g, 3000);
        assert_true(is_up(2, "a.service") && is_up(2, "b.service"));
        drain.node = (char *) "n2";
        drain.mode = ARGOSY__NODE_MODE__MODE_DRAINING;
        request.what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
        request.node_change = &drain;
        rig_ask(&g, &request);
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

static void an_update_may_close_no_circle_either(void **state) {
        static const char content[] = SERVICE "[X-Argosy]\nAfter=a.service\n";
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        uint8_t id[16] = {1};
        RigAnswer *a;

        change(SUBMIT, "w@.service", SERVICE);
        change(START, "w@1.service", NULL);
        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=w@1.service\n");
        file.name = file.path = (char *) "w@.service";
        file.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
        rollout.name = (char *) "w@.service";
        rollout.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        rollout.file = &file;
        rollout.id = (ProtobufCBinaryData){.data = id, .len = 16};
        request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        request.rollout = &rollout;
        a = rig_ask(&g, &request);
        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, EINVAL);
        assert_non_null(strstr(a->responses[0]->message,
                               "w@1.service:5: the order goes in a circle: w@1.service "
                               "after a.service after w@1.service"));
}

static void status_says_what_a_unit_waits_for(void **state) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        char *name = (char *) "a.service";
        RigAnswer *a;

        change(SUBMIT, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        status.names = &name;
        status.n_names = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_STATUS;
        request.status = &status;
        a = rig_ask(&g, &request);
        rig_settle(&g);
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
        RigAnswer *wait;

        rig_host(&g, 2)->refuses = true;
        change(SUBMIT, "b.service", SERVICE ON_TWO_OR_THREE);
        change(START, "a.service", SERVICE ON("one") "Requires=b.service\n");
        wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        assert_int_equal(on(3, "b.service"), ACTIVATING);
        assert_false(wait->final);
        rig_pass_ms(&g, 3000);
        assert_true(is_up(1, "a.service"));
        assert_int_equal(wait->responses[wait->n - 1]->progress->done[0]->status, 0);
}

static void what_is_wanted_or_destroyed_meanwhile_is_not_waited_for(void **state) {
        RigAnswer *wait;

        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        wait = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        change(ARGOSY__VERB__VERB_DESTROY, "b.service", NULL);
        rig_pass_ms(&g, 1250);
        assert_true(is_up(1, "a.service"));
        assert_true(wait->final);
        change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        assert_int_equal(g.leader->dependencies.names.count, 0); // nothing stays behind
}

static void a_file_without_the_dependency_ends_the_waiting(void **state) {
        RigAnswer *a;

        change(START, "b.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "After=b.service\n");
        assert_null(rig_unit_on(&g, 1, "a.service"));
        a = rig_change_with(&g, START, "a.service", SERVICE ON("one"), true, NULL);
        rig_settle(&g);
        assert_int_equal(a->responses[0]->change->units[0]->status, 0);
        assert_int_equal(on(1, "a.service"), ACTIVATING);
        assert_int_equal(on(2, "b.service"), ACTIVATING);
}

// ------------------------------------------------------------------------------------------------ lives

enum { UNITS = 10, LIVES = 60, STEP_MS = 250 };

static unsigned random_state;

static unsigned draw(unsigned n) {
        random_state = random_state * 1103515245u + 12345u;
        return (random_state >> 16) % n;
}

typedef struct Life {
        unsigned seed;
        char names[UNITS][16], contents[UNITS][1024];
        bool after[UNITS][UNITS]; // the first one after the second
        Argosy__ActiveState was[UNITS];
} Life;

static Argosy__ActiveState state_of(const char *name) {
        for (uint32_t i = 1; i <= 3; i++)
                if (on(i, name) != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN)
                        return on(i, name);
        return DOWN;
}

// Who has begun to start finds everybody up that it comes after; who has begun to stop finds everybody down
// that comes after it.
static void check_step(Life *v, bool stops) {
        for (unsigned a = 0; a < UNITS; a++) {
                Argosy__ActiveState now = state_of(v->names[a]), was = v->was[a];
                bool began = !stops && was == DOWN && now != DOWN, ends = stops && was == UP && now != UP;

                for (unsigned b = 0; b < UNITS; b++) {
                        if (began && v->after[a][b] && state_of(v->names[b]) != UP)
                                fail_msg("seed %u: %s began before %s was up", v->seed, v->names[a],
                                         v->names[b]);
                        if (ends && v->after[b][a] && state_of(v->names[b]) != DOWN)
                                fail_msg("seed %u: %s is stopped before %s", v->seed, v->names[a],
                                         v->names[b]);
                }
        }
        for (unsigned a = 0; a < UNITS; a++)
                v->was[a] = state_of(v->names[a]);
}

static void play(Life *v, bool stops) {
        Argosy__ActiveState goal = stops ? DOWN : UP;
        unsigned left = UNITS;

        check_step(v, stops);
        for (unsigned step = 0; left > 0; step++) {
                if (step > UNITS * 8)
                        fail_msg("seed %u: %u units have not got there", v->seed, left);
                if (draw(8) == 0) {
                        rig_depose(&g);
                        rig_elect(&g);
                        check_step(v, stops);
                }
                g.start_ms = STEP_MS * (1 + draw(4));
                g.stop_ms = STEP_MS * (1 + draw(4));
                rig_pass_ms(&g, STEP_MS);
                check_step(v, stops);
                left = 0;
                for (unsigned a = 0; a < UNITS; a++)
                        left += state_of(v->names[a]) != goal;
        }
}

static void invent(Life *v) {
        static const char *const keys[] = {"After", "Requires", "BindsTo"}, *const places[] = {"one", "two",
                                                                                               "three"};

        for (unsigned a = 0; a < UNITS; a++) {
                char *text = v->contents[a];

                // Not in the order of their numbers, so that the order of the request is no help.
                snprintf(v->names[a], sizeof(v->names[a]), "u%u.service", (a * 7 + v->seed) % UNITS);
                sprintf(text, "[Service]\nExecStart=/bin/sleep 1\n[X-Argosy]\nMachineMetadata=on=%s\n",
                        places[draw(3)]);
                for (unsigned b = 0; b < a; b++) {
                        if (draw(3))
                                continue;
                        if (draw(5) == 0) // said by the other one
                                sprintf(v->contents[b] + strlen(v->contents[b]), "Before=%s\n", v->names[a]);
                        else
                                sprintf(text + strlen(text), "%s=%s\n", keys[draw(3)], v->names[b]);
                        v->after[a][b] = true;
                }
        }
}

static void starts_are_in_order_and_stops_in_reverse_whatever_happens(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++) {
                Life v = {.seed = seed};
                char *names[UNITS], *contents[UNITS];

                setup(NULL);
                random_state = seed;
                invent(&v);
                for (unsigned i = 0; i < UNITS; i++) {
                        names[i] = v.names[i];
                        contents[i] = v.contents[i];
                        v.was[i] = DOWN;
                }
                g.start_ms = g.stop_ms = STEP_MS;
                change_many(START, UNITS, names, contents);
                play(&v, false);
                change_many(STOP, UNITS, names, NULL);
                play(&v, true);
                change_many(START, UNITS, names, NULL);
                play(&v, false);
                rig_stop(&g);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_start_waits_for_the_start_of_another_one, setup, teardown),
                cmocka_unit_test_setup_teardown(a_state_that_nobody_knows_is_no_end, setup, teardown),
                cmocka_unit_test_setup_teardown(who_waits_for_another_is_told_to_stay, setup, teardown),
                cmocka_unit_test(a_host_that_does_not_know_how_to_stay_hears_a_revision_that_no_unit_has),
                cmocka_unit_test_setup_teardown(who_comes_after_a_one_shot_begins_when_the_log_has_its_end,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(
                        who_needs_a_one_shot_is_told_that_nobody_can_tell_how_it_ended, setup, teardown),
                cmocka_unit_test_setup_teardown(what_failed_blocks_who_requires_it_until_it_is_up, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(
                        a_stop_takes_those_along_that_require_the_unit_and_is_the_last, setup, teardown),
                cmocka_unit_test_setup_teardown(all_that_go_along_are_counted, setup, teardown),
                cmocka_unit_test_setup_teardown(a_stop_waits_for_nobody_who_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(a_restart_goes_down_and_up_in_order, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_bound_is_down_as_long_as_the_other_one_is, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(
                        what_is_bound_follows_the_other_one_over_the_loss_of_its_node, setup, teardown),
                cmocka_unit_test_setup_teardown(what_only_requires_does_not_mind_the_loss, setup, teardown),
                cmocka_unit_test_setup_teardown(
                        what_was_stopped_by_hand_stays_stopped_when_the_other_one_is_back, setup, teardown),
                cmocka_unit_test_setup_teardown(a_new_leader_holds_back_the_same, setup, teardown),
                cmocka_unit_test_setup_teardown(circles_are_refused_however_they_come_about, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(who_is_refused_keeps_its_old_word, setup, teardown),
                cmocka_unit_test_setup_teardown(circles_one_after_the_other_are_not_followed_for_ever, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(nothing_of_a_circle_within_one_request_is_stored, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_request_may_turn_an_order_around, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_required_must_be_known, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_required_is_started_too_unless_it_runs, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(both_keep_their_order_when_their_node_is_lost, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(both_keep_their_order_when_their_node_is_emptied, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(who_is_bound_ends_before_the_other_one_moves, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(an_update_may_close_no_circle_either, setup, teardown),
                cmocka_unit_test_setup_teardown(status_says_what_a_unit_waits_for, setup, teardown),
                cmocka_unit_test_setup_teardown(a_global_unit_is_up_when_it_is_up_everywhere_that_it_can,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(one_whose_name_is_taken_on_a_node_is_waited_for_elsewhere,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_wanted_or_destroyed_meanwhile_is_not_waited_for,
                                                setup, teardown),
                cmocka_unit_test_setup_teardown(a_file_without_the_dependency_ends_the_waiting, setup,
                                                teardown),
                cmocka_unit_test(starts_are_in_order_and_stops_in_reverse_whatever_happens),
        };

        return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
