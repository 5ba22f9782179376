// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that depend on each other, on whatever hosts they are.
#include <errno.h>

#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"

#define ON(host) "[X-Argosy]\nMachineMetadata=on=" host "\n"
#define SERVICE "[Service]\nType=notify\nExecStart=/bin/sleep 1000\n"
#define STOP ARGOSY__VERB__VERB_STOP
#define START ARGOSY__VERB__VERB_START
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED
#define UP ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define DOWN ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define ACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED

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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_failed_blocks_who_requires_it_until_it_is_up, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_start_waits_for_the_start_of_another_one, setup, teardown),
        };

        return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
