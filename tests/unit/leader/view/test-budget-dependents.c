// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A budget counts what goes down with other units: a@N takes b@N down, of which one may be down at a time.
#include "leader-asks.h"
#include "leader-private.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define BUDGET SERVICE "[X-Argosy]\nMaxUnavailable=1\n"
#define BOUND "[Unit]\nBindsTo=a@%i.service\nAfter=a@%i.service\n" BUDGET
#define PASSES_ON "[Unit]\nPropagatesStopTo=b@%i.service\n"
#define START ARGOSY__VERB__VERB_START

enum { HEALTH_MS = 2000 };

RIG_OF(3)

static void start_on(uint32_t host, const char *name, const char *content) {
        for (uint32_t h = 1; h <= 3; h++)
                (void) rig_set_host_mode(
                        &g, h, h == host ? ARGOSY__NODE_MODE__MODE_OPEN : ARGOSY__NODE_MODE__MODE_CORDONED,
                        0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT,
                                    name[0] == 'a' ? "a@.service" : "b@.service", content)
                                 ->status,
                         0);
        assert_int_equal(rig_change(&g, START, name, NULL)->status, 0);
        assert_int_equal(rig_host_of(&g, name), host);
        for (uint32_t h = 1; h <= 3; h++)
                (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_OPEN, 0);
}

// A pair on n2, and one on n3.
static void start_pairs(const char *a, const char *b) {
        start_on(2, "a@1.service", a);
        start_on(2, "b@1.service", b);
        start_on(3, "a@2.service", a);
        start_on(3, "b@2.service", b);
}

static void report(const char *name, Argosy__ActiveState active) {
        uint32_t host = rig_host_of(&g, name);

        rig_host_report_and_settle(&g, rig_host(&g, host), rig_unit_on(&g, host, name), active,
                                   ARGOSY__OUTCOME__KIND__NONE);
}

// ------------------------------------------------------------------------------------------------ drains

static void drain_2_while_the_other_is_down(void) {
        report("b@2.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
}

static void assert_waits_and_goes(void) {
        drain_2_while_the_other_is_down();
        assert_int_equal(rig_host_of(&g, "a@1.service"), 2);
        assert_int_equal(rig_host_of(&g, "b@1.service"), 2);
        assert_non_null(strstr(rig_why(&g, "a@1.service")->status_reply->why,
                               "b@.service, which would go down with it"));
        report("b@2.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        rig_pass_ms(&g, 1000);
        assert_int_not_equal(rig_host_of(&g, "a@1.service"), 2);
        assert_int_not_equal(rig_host_of(&g, "b@1.service"), 2);
}

static void a_drain_waits_for_what_goes_down_with_a_unit(void **state) {
        start_pairs(SERVICE, BOUND);
        assert_waits_and_goes();
}

static void so_it_does_if_the_unit_itself_says_so(void **state) {
        start_pairs(PASSES_ON SERVICE, BUDGET);
        assert_waits_and_goes();
}

// Without the link, a@1 has nothing to wait for.
static void what_stands_alone_waits_for_nobody(void **state) {
        start_pairs(SERVICE, BUDGET);
        drain_2_while_the_other_is_down();
        assert_int_not_equal(rig_host_of(&g, "a@1.service"), 2);
        assert_int_equal(rig_host_of(&g, "b@1.service"), 2);
}

// What is elsewhere, or down, systemd does not stop with it.
static void what_is_not_there_is_not_counted(void **state) {
        start_on(2, "a@1.service", SERVICE);
        start_on(3, "b@1.service", BOUND);
        start_on(3, "b@2.service", BOUND);
        drain_2_while_the_other_is_down();
        assert_int_not_equal(rig_host_of(&g, "a@1.service"), 2);
}

static void who_waits_goes_when_nobody_goes_down_with_it_any_more(void **state) {
        start_pairs(SERVICE, BOUND);
        drain_2_while_the_other_is_down();
        assert_int_equal(rig_host_of(&g, "a@1.service"), 2);
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "b@2.service", NULL);
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "b@1.service", NULL);
        rig_pass_ms(&g, 1000);
        assert_int_not_equal(rig_host_of(&g, "a@1.service"), 2);
}

// ------------------------------------------------------------------------------------------------ rollouts

static unsigned n_changed(void) {
        Hash other = hash_of(OTHER, strlen(OTHER));
        unsigned n = 0;

        for (unsigned i = 1; i <= 2; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, i == 1 ? "a@1.service" : "a@2.service");
                Hash is;

                n += hash_from_bytes(r->spec.data, r->spec.len, &is) && hash_equal(&is, &other);
        }
        return n;
}

// Hosts take what they are told, and do not say what became of it.
static void update_both(bool lazy) {
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = lazy;
        assert_int_equal(
                rig_last(rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "a@.service",
                                                      OTHER, .max = 2, .health_ms = HEALTH_MS}))
                        ->status,
                0);
        rig_pass_ms(&g, 500);
}

static void an_update_takes_no_more_down_than_may_go_down_with_it(void **state) {
        start_pairs(SERVICE, BOUND);
        update_both(true);
        assert_int_equal(n_changed(), 1);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_pass_ms(&g, 4 * HEALTH_MS);
        assert_int_equal(n_changed(), 2);
}

static void without_them_it_takes_as_many_as_it_may(void **state) {
        start_pairs(SERVICE, BUDGET);
        update_both(true);
        assert_int_equal(n_changed(), 2);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
}

static void an_update_waits_for_what_is_down(void **state) {
        start_pairs(SERVICE, BOUND);
        report("b@2.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        update_both(false);
        rig_pass_ms(&g, 4 * HEALTH_MS);
        assert_int_equal(n_changed(), 1); // a@2, with which nothing goes down
        report("b@2.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        rig_pass_ms(&g, 4 * HEALTH_MS);
        assert_int_equal(n_changed(), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_drain_waits_for_what_goes_down_with_a_unit),
        TEST(so_it_does_if_the_unit_itself_says_so),
        TEST(what_stands_alone_waits_for_nobody),
        TEST(what_is_not_there_is_not_counted),
        TEST(who_waits_goes_when_nobody_goes_down_with_it_any_more),
        TEST(an_update_takes_no_more_down_than_may_go_down_with_it),
        TEST(without_them_it_takes_as_many_as_it_may),
        TEST(an_update_waits_for_what_is_down)
)
