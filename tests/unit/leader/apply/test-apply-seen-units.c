// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What an apply does about units that are not as they are to be, and about those that others bring along.
#include "apply-words.h"

// -------------------------------------------------------------------------------------- what is, and is not

static void become(const char *name, Argosy__ActiveState active, bool by_hand) {
        for (uint32_t h = 1; h <= 3; h++) {
                VirtualUnit *u = rig_unit_on(&g, h, name);

                if (!u)
                        continue;
                u->drift = by_hand;
                rig_host_report(&g, rig_host(&g, h), u, active, ARGOSY__OUTCOME__KIND__NONE);
        }
        rig_settle(&g);
}

static const Argosy__Response__ApplyRow *row_of(const Argosy__Response *p, const char *name) {
        for (size_t i = 0; i < p->apply_plan->n_rows; i++)
                if (streq(p->apply_plan->rows[i]->unit, name))
                        return p->apply_plan->rows[i];
        return NULL;
}

static void what_failed_and_what_somebody_stopped_is_started_again(void **state) {
        (void) apply(whole);
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, true);
        const Argosy__Response *p = plan(whole);
        assert_int_equal(p->apply_plan->n_rows, 2);
        assert_int_equal(p->apply_plan->named, ELEMENTSOF(shop));
        assert_string_equal(row_of(p, "a.service")->state, "failed");
        assert_true(row_of(p, "a.service")->starts && row_of(p, "a.service")->wrong);
        assert_string_equal(row_of(p, "c.service")->state, "stopped");
        assert_true(row_of(p, "c.service")->starts);
        const Argosy__Response *r = apply_planned(whole, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 2);
        assert_int_equal(r->change->units[0]->verb, ARGOSY__VERB__VERB_START);
        assert_unit("a.service", ONE, LAUNCHED, "shop"); // it runs
        assert_unit("c.service", TWO, LAUNCHED, "shop");
        assert_int_equal(plan(whole)->apply_plan->n_rows, 0);
        assert_int_equal(rig_show_job(&g, rig_last_job(&g))->changed, 2);
}

// Not by what was seen when somebody asked.
static void how_units_are_is_judged_when_it_is_decided(void **state) {
        (void) apply(whole);
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        const Argosy__Response *p = plan(whole);
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, false);
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        const Argosy__Response *r = apply_planned(whole, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 1);
        assert_string_equal(r->change->units[0]->name, "c.service");
}

static void what_starting_again_does_not_help_is_only_named(void **state) {
        (void) apply(whole);
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, false);
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, false);
        const Argosy__Response *p = plan(whole);
        assert_int_equal(p->apply_plan->n_rows, 2);
        assert_string_equal(row_of(p, "a.service")->state, "ended");
        assert_false(row_of(p, "a.service")->starts || row_of(p, "a.service")->wrong);
        assert_string_equal(row_of(p, "c.service")->state, "starting");
        assert_true(row_of(p, "c.service")->wrong && !row_of(p, "c.service")->starts);
        assert_int_equal(apply_planned(whole, p)->change->n_units, 0);

        for (uint32_t h = 1; h <= 3; h++)
                if (rig_unit_on(&g, h, "c.service"))
                        rig_unit_on(&g, h, "c.service")->looping = true;
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, false);
        p = plan(whole);
        assert_string_equal(row_of(p, "c.service")->state, "looping");
        assert_true(row_of(p, "c.service")->wrong && !row_of(p, "c.service")->starts);
}

static void what_was_started_again_once_is_not_by_the_same_request(void **state) {
        Folder f = {.units = shop, .n = ELEMENTSOF(shop), .id = 4711};
        uint64_t start_rev;

        (void) apply(whole);
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        const Argosy__Response *p = plan(f);
        (void) apply_planned(f, p);
        start_rev = rig_record(&g, "a.service")->start_rev;
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        const Argosy__Response *r = apply_planned(f, p);
        assert_int_equal(r->change->n_units, 1);
        assert_int_equal(r->change->units[0]->verb, ARGOSY__VERB__VERB_START); // that is waited for
        assert_int_equal(rig_record(&g, "a.service")->start_rev, start_rev);
}

// The rollout brings the files, and the same entry starts the others.
static void a_rolling_apply_starts_again_what_failed_beside_it(void **state) {
        static const Wanted units[] = {{"a.service", ONE, LAUNCHED},
                                       {"b.service", ONE, LAUNCHED},
                                       {"c.service", ONE, LAUNCHED}},
                            next[] = {{"a.service", ONE, LAUNCHED},
                                      {"b.service", TWO, LAUNCHED},
                                      {"c.service", ONE, LAUNCHED}};
        const Folder one = {.units = units, .n = 3, .rolling = true},
                     two = {.units = next, .n = 3, .rolling = true};

        (void) apply((Folder){.units = units, .n = 3});
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        const Argosy__Response *r = apply(two);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->change->units[0]->name, "b.service");
        assert_unit("c.service", ONE, LAUNCHED, "shop");
        rig_pass_ms(&g, 60000);
        assert_string_equal(rig_show_job(&g, rig_last_job(&g))->state, "done");
        assert_unit("b.service", TWO, LAUNCHED, "shop");

        (void) apply((Folder){.units = units, .n = 3});
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        r = apply(one); // with nothing to bring it is an apply like others
        assert_int_equal(r->change->n_units, 1);
        assert_int_equal(r->change->units[0]->verb, ARGOSY__VERB__VERB_START);
        assert_unit("c.service", ONE, LAUNCHED, "shop");
}

// Whichever comes first by name.
static void the_file_of_an_update_is_not_that_of_what_is_started_again_beside_it(void **state) {
        static const Wanted units[] = {{"a.service", ONE, LAUNCHED}, {"b.service", ONE, LAUNCHED}},
                            next[] = {{"a.service", ONE, LAUNCHED}, {"b.service", TWO, LAUNCHED}};

        (void) apply((Folder){.units = units, .n = 2});
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        assert_int_equal(apply((Folder){.units = next, .n = 2, .rolling = true})->status, 0);
        rig_pass_ms(&g, 60000);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
        assert_unit("b.service", TWO, LAUNCHED, "shop");
}

// Nothing of it is done, and who asks is told: they would stay down without a word.
static void a_rolling_apply_with_more_to_start_again_than_an_entry_has_is_refused(void **state) {
        static const Wanted units[] = {{"a.service", ONE, LAUNCHED},
                                       {"b.service", ONE, LAUNCHED},
                                       {"c.service", ONE, LAUNCHED}},
                            next[] = {{"a.service", ONE, LAUNCHED},
                                      {"b.service", TWO, LAUNCHED},
                                      {"c.service", ONE, LAUNCHED}};
        const Folder f = {.units = next, .n = 3, .rolling = true};

        (void) apply((Folder){.units = units, .n = 3});
        become("a.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        become("c.service", ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, false);
        g.leader->limits.apply_chunk_units = 1;
        const Argosy__Response *p = plan(f);
        assert_non_null(strstr(p->apply_plan->refusal,
                               ": c.service is not up, and neither are more than can be started again"));
        assert_int_equal(apply_planned(f, p)->status, EEXIST);
        assert_unit("b.service", ONE, LAUNCHED, "shop");
        g.leader->limits.apply_chunk_units = 2;
        assert_int_equal(apply(f)->status, 0);
        rig_pass_ms(&g, 60000);
        assert_unit("b.service", TWO, LAUNCHED, "shop");
        assert_true(rig_unit_on(&g, rig_host_of(&g, "c.service"), "c.service")->active ==
                    ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

// -------------------------------------------------------------------------------------------- brought along

#define TIMER "[Timer]\nOnActiveSec=1h\n"
static const Wanted sweeps[] = {{"s@.service", ONE, INACTIVE},
                                {"s@.timer", TIMER, INACTIVE},
                                {"s@a.service", ONE, LOADED, true, true},
                                {"s@a.timer", TIMER, LAUNCHED, true}};
static const Folder swept = {.units = sweeps, .n = ELEMENTSOF(sweeps), .prune = true};

static void what_a_unit_activates_is_made_with_it(void **state) {
        const Argosy__Response *p = plan(swept);

        assert_true(row_of(p, "s@a.service")->made);
        assert_string_equal(row_of(p, "s@a.service")->desired_after, "loaded");
        assert_int_equal(apply_planned(swept, p)->change->n_units, 4);
        assert_unit("s@a.service", ONE, LOADED, "shop");
        assert_true(rig_record(&g, "s@a.service")->from_template);
        assert_int_equal(rig_record(&g, "s@a.service")->node, rig_record(&g, "s@a.timer")->node);
        p = plan(swept);
        assert_int_equal(p->apply_plan->n_rows + p->apply_plan->left, 0);
        assert_int_equal(undo(rig_last_job(&g))->status, 0);
        assert_null(rig_record(&g, "s@a.service"));
}

// With the file of the cluster's template, if it has one; what others have of it stays theirs, and what is
// not to be is not made.
static void what_the_folder_has_no_file_for_is_as_at_a_start(void **state) {
        Wanted units[] = {{"s@a.service", NULL, LOADED, true, true}, {"s@a.timer", TIMER, LAUNCHED}};
        const Folder f = {.units = units, .n = 2};

        assert_int_equal(apply(f)->change->n_units, 1);
        assert_null(rig_record(&g, "s@a.service"));
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "s@.service", TWO);
        assert_int_equal(apply(f)->change->n_units, 1);
        assert_unit("s@a.service", TWO, LOADED, "shop");

        (void) change(ARGOSY__VERB__VERB_SUBMIT, "s@b.service", ONE);
        units[0].name = "s@b.service";
        assert_int_equal(apply(f)->status, 0);
        assert_unit("s@b.service", ONE, LOADED, "");
        units[0] = (Wanted){"s@c.service", NULL, INACTIVE, true, true};
        assert_int_equal(apply(f)->status, 0);
        assert_null(rig_record(&g, "s@c.service"));
}

// A host could not write it, and would try for ever.
static void a_unit_that_is_no_instance_has_a_file_of_its_own(void **state) {
        Wanted units[] = {{"w.service", ONE, LOADED, .brought = true}, {"w.timer", TIMER, LAUNCHED}};
        const Folder f = {.units = units, .n = 2};

        assert_int_equal(apply(f)->status, 0);
        assert_unit("w.service", ONE, LOADED, "shop");
        assert_false(rig_record(&g, "w.service")->from_template);
        units[0] = (Wanted){"v.service", ONE, LOADED, true};
        assert_int_equal(plan(f)->status, EINVAL);
        assert_null(rig_record(&g, "v.service"));
}

RUN_TESTS(
        TEST(what_failed_and_what_somebody_stopped_is_started_again),
        TEST(how_units_are_is_judged_when_it_is_decided),
        TEST(what_starting_again_does_not_help_is_only_named),
        TEST(what_was_started_again_once_is_not_by_the_same_request),
        TEST(a_rolling_apply_starts_again_what_failed_beside_it),
        TEST(the_file_of_an_update_is_not_that_of_what_is_started_again_beside_it),
        TEST(a_rolling_apply_with_more_to_start_again_than_an_entry_has_is_refused),
        TEST(what_a_unit_activates_is_made_with_it),
        TEST(what_the_folder_has_no_file_for_is_as_at_a_start),
        TEST(a_unit_that_is_no_instance_has_a_file_of_its_own)
)
