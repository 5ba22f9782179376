// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is too long for one message: it goes in parts, as fast as the host takes them, or somebody is told
// why it does not.
#include <errno.h>

#include "feature-level.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "printed.h"
#include "response.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum { FILE_BYTES = 200 * 1024, N_FILES = 20 }; // of one host: four pieces

static Rig g;
static size_t answer_max; // bytes of an answer that fits; 0: as many as the leader says

int __real_response_fit(Argosy__Response *r, size_t max);
int __wrap_response_fit(Argosy__Response *r, size_t max);

int __wrap_response_fit(Argosy__Response *r, size_t max) {
        return __real_response_fit(r, answer_max ?: max);
}

FIXTURE(setup) {
        rig_start(&g, 2);
}

FIXTURE(teardown) {
        answer_max = 0;
        rig_stop(&g);
}

// A unit file of FILE_BYTES, unlike all others.
static void start_big(unsigned i, const char *options) {
        static char content[FILE_BYTES + 1];
        _cleanup_free_ char *name = str_printf("big%u.service", i);
        size_t n = (size_t) snprintf(content, sizeof(content), SERVICE "%s# %u ", options, i);

        memset(content + n, 'x', FILE_BYTES - n);
        rig_change(&g, START, name, content);
}

static void start_files(const char *options) {
        for (unsigned i = 0; i < N_FILES; i++)
                start_big(i, options);
}

#define ON_TWO "[X-Argosy]\nMachineMetadata=where=here\n"

static void reboot_two(bool full) {
        rig_host_off(&g, 2);
        rig_host(&g, 2)->full = full;
        rig_host_on(&g, 2, true);
}

static void a_long_welcome_comes_in_parts_and_nothing_goes_before_the_last(void **state) {
        RigHost *h = rig_host(&g, 2);

        rig_host_set_labels(&g, 2, "where", "here");
        start_files(ON_TWO);
        reboot_two(false);
        rig_settle(&g);
        assert_int_equal(h->virtual.all_parts, 3);
        assert_true(h->virtual.welcomed);
        assert_int_equal(h->virtual.units.count, N_FILES);
        for (unsigned i = 0; i < N_FILES; i++) {
                assert_int_equal(rig_count_running(&g, printed("big%u.service", i)), 1);
        }
}

static void a_host_that_takes_no_more_gets_the_next_part_when_it_does(void **state) {
        RigHost *h = rig_host(&g, 2);

        rig_host_set_labels(&g, 2, "where", "here");
        start_files(ON_TWO);
        reboot_two(true);
        assert_int_equal(h->virtual.all_parts, 0);
        assert_int_equal(h->n_inbox, 0);
        // Meanwhile one more is wanted and one goes: the rest of the Welcome says so.
        start_big(N_FILES, ON_TWO);
        rig_change(&g, DESTROY, "big3.service", NULL);
        assert_false(h->virtual.welcomed);
        rig_host_drain(&g, 2);
        assert_true(h->virtual.welcomed);
        assert_int_equal(h->virtual.units.count, N_FILES);
        assert_null(rig_unit_on(&g, 2, "big3.service"));
        assert_int_equal(rig_count_running(&g, "big20.service"), 1);
}

static void orders_wait_for_a_host_that_takes_no_more(void **state) {
        RigHost *h = rig_host(&g, 2);
        size_t bytes = 0;

        rig_host_set_labels(&g, 2, "where", "here");
        h->full = true;
        start_files(ON_TWO);
        assert_int_equal(h->virtual.units.count, 0);
        h->deaf = true; // they stay where the test sees them
        rig_host_drain(&g, 2);
        rig_turns(&g, 10);
        assert_in_range(h->n_inbox, 4, 6);
        for (size_t i = 0; i < h->n_inbox; i++) {
                bytes = argosy__to_host__get_packed_size(h->inbox[i]);
                assert_in_range(bytes, 1, LEADER_LIMIT_orders_bytes + 2 * FILE_BYTES);
        }
        h->deaf = false;
        rig_settle(&g);
        assert_int_equal(h->virtual.units.count, N_FILES);
}

// The host's Attach arrives while a batch is on its way: its new manager's number comes after the Welcome,
// with no order beside it.
static void a_host_hears_the_number_of_a_manager_without_any_order(void **state) {
        RigHost *h = rig_host(&g, 2);

        g.slow = true;
        rig_change_with(&g, START, "web.service", SERVICE "[X-Argosy]\nMachineID=n1\n", false, NULL);
        rig_turns(&g, 3);
        h->virtual.manager = "user@1000";
        h->attached = false;
        rig_turns(&g, 3);
        assert_int_equal(g.n_held, 2); // the change, and the barrier for the Welcome
        rig_hurry_and_settle(&g);
        assert_true(h->virtual.welcomed);
        assert_true(h->virtual.manager_node > 2);
}

static void an_answer_that_no_queue_would_hold_ends_with_a_reason(void **state) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request q = REQUEST_OF(CAT, cat, &cat);
        char *names[ANSWER_BYTES_MAX / FILE_BYTES + 10];
        size_t fit = ANSWER_BYTES_MAX / FILE_BYTES;

        start_big(0, "");
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                names[i] = "big0.service";
        cat.names = names;
        cat.n_names = ELEMENTSOF(names);
        RigAnswer *a = rig_ask(&g, &q);
        assert_true(a->final);
        assert_in_range(a->n, fit - 1, fit + 1);
        assert_int_equal(a->responses[0]->status, 0);
        assert_replies(a->responses[a->n - 1], E2BIG, "ask about fewer");
        cat.n_names = 10;
        a = rig_ask(&g, &q);
        assert_int_equal(a->n, 10);
        assert_int_equal(a->responses[9]->status, 0);
}

static const Argosy__Response *change(const char *name, const uint8_t id[16]) {
        RigAnswer *a = rig_change_with(&g, START, name, SERVICE, false, id);

        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(a->n, 1);
        return a->responses[0];
}

// With E2BIG the client would ask for it once more, in parts.
static void a_change_whose_answer_is_too_long_was_made_and_says_so(void **state) {
        const uint8_t id[16] = {7};
        const Argosy__Response *r;

        answer_max = 1;
        for (unsigned i = 0; i < 2; i++) { // asked again, since the answer was lost
                r = change("web.service", id);
                assert_replies(r, EMSGSIZE, "the change was made");
                assert_int_equal(rig_record(&g, "web.service")->start_rev,
                                 rig_record(&g, "web.service")->revision);
        }
        r = change("no name", NULL); // nothing was made
        assert_replies(r, E2BIG, "ask about fewer");
}

// Why each of a thousand nodes refuses each of ten thousand units is left out before anything else.
static void a_long_answer_is_shortened_where_it_says_the_least(void **state) {
        _cleanup_(message_freep) Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);

        for (unsigned i = 0; i < 3; i++) {
                Argosy__Response__UnitResult *u = unit_result_new("web.service");

                assert_int_equal(FIELD_APPEND(r->change->units, r->change->n_units, u), 0);
                for (unsigned k = 0; k < 10; k++)
                        assert_int_equal(FIELD_APPEND(u->refusals, u->n_refusals,
                                                      refusal_new("n1", "needs a label that it has not")),
                                         0);
        }
        assert_int_equal(response_fit(r, 100000), 0);
        assert_int_equal(r->change->units[2]->n_refusals, 10);
        assert_int_equal(response_fit(r, 1000), 0);
        assert_int_equal(r->change->units[0]->n_refusals, 10);
        assert_int_equal(r->change->units[2]->n_refusals, 0);
        assert_in_range(argosy__response__get_packed_size(r), 1, 1000);
        assert_int_equal(response_fit(r, 10), -EMSGSIZE);
}

static void what_is_no_name_makes_no_long_answer(void **state) {
        enum { LONG = 1000000 };
        _cleanup_free_ char *name = calloc(1, LONG + 1);

        memset(name, 'n', UNIT_NAME_MAX);
        _cleanup_(message_freep) Argosy__Response__UnitResult *u = unit_result_new(name);
        assert_string_equal(u->name, name);
        message_free(u);
        memset(name, 'n', LONG);
        u = unit_result_new(name);
        assert_int_equal(strlen(u->name), UNIT_NAME_MAX + 3);
        assert_string_equal(u->name + UNIT_NAME_MAX, "...");
}

RUN_TESTS(
        RIG_TEST(a_long_welcome_comes_in_parts_and_nothing_goes_before_the_last),
        RIG_TEST(a_host_that_takes_no_more_gets_the_next_part_when_it_does),
        RIG_TEST(orders_wait_for_a_host_that_takes_no_more),
        RIG_TEST(a_host_hears_the_number_of_a_manager_without_any_order),
        RIG_TEST(an_answer_that_no_queue_would_hold_ends_with_a_reason),
        RIG_TEST(a_change_whose_answer_is_too_long_was_made_and_says_so),
        cmocka_unit_test(a_long_answer_is_shortened_where_it_says_the_least),
        cmocka_unit_test(what_is_no_name_makes_no_long_answer)
)
