// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A folder is the truth about a set: what is asked about changes nothing, what is then asked for is done as
// one job if it is still that, and what belongs to others is left alone. Twice the same does nothing, and
// all of it can be undone.
#include "apply-words.h"

// --------------------------------------------------------------------------------------------- what it does

static void a_folder_becomes_units(void **state) {
        const Argosy__Response *r = plan(whole);

        assert_int_equal(r->apply_plan->n_rows, ELEMENTSOF(shop));
        assert_true(r->apply_plan->rows[0]->made && r->apply_plan->rows[0]->need);
        assert_string_equal(r->apply_plan->refusal, "");
        assert_null(rig_record(&g, "a.service"));
        assert_int_equal(rig_last_job(&g), 0);

        r = apply(whole);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, ELEMENTSOF(shop));
        for (size_t i = 0; i < r->change->n_units; i++)
                assert_int_equal(r->change->units[i]->status, 0);
        assert_int_equal(r->job, 1);
        assert_int_equal(rig_last_job(&g), 1);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
        assert_unit("b.service", ONE, LOADED, "shop");
        assert_unit("w@.service", ONE, INACTIVE, "shop");
        assert_unit("w@1.service", ONE, LAUNCHED, "shop");
        assert_string_equal(rig_show_job(&g, 1)->verb, "apply");
        rig_pass_ms(&g, 3000);
        assert_string_equal(rig_show_job(&g, 1)->state, "done");
}

static void twice_the_same_does_nothing(void **state) {
        (void) apply(whole);
        uint64_t revision = cluster_state_revision(g.state);
        const Argosy__Response *r = plan(whole);
        assert_int_equal(r->apply_plan->n_rows, 0);
        assert_int_equal(r->apply_plan->same, ELEMENTSOF(shop));
        r = apply(whole);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 0);
        assert_int_equal(rig_last_job(&g), 1);
        assert_int_equal(cluster_state_revision(g.state), revision);
}

static void what_differs_is_changed_and_nothing_else(void **state) {
        static const Wanted next[] = {{"a.service", TWO, LAUNCHED},
                                      {"b.service", ONE, LAUNCHED},
                                      {"c.service", TWO, LAUNCHED},
                                      {"w@.service", ONE, INACTIVE},
                                      {"w@1.service", ONE, LOADED}};

        (void) apply(whole);
        uint64_t untouched = rig_record(&g, "c.service")->revision;
        assert_int_equal(apply((Folder){.units = next, .n = ELEMENTSOF(next)})->change->n_units, 3);
        assert_unit("a.service", TWO, LAUNCHED, "shop");
        assert_unit("b.service", ONE, LAUNCHED, "shop");
        assert_unit("w@1.service", ONE, LOADED, "shop");
        assert_int_equal(rig_record(&g, "c.service")->revision, untouched);
        assert_int_equal(rig_show_job(&g, 2)->changed, 3);
}

static void what_the_folder_has_no_more_goes_if_that_is_asked_for(void **state) {
        (void) apply(whole);
        (void) change(ARGOSY__VERB__VERB_START, "mine.service", ONE);
        const Argosy__Response *r = plan((Folder){.units = shop, .n = 3});
        assert_int_equal(r->apply_plan->n_rows, 0);
        assert_int_equal(r->apply_plan->left, 2);
        r = apply((Folder){.units = shop, .n = 3, .prune = true});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 2);
        assert_int_equal(r->change->units[0]->verb, ARGOSY__VERB__VERB_DESTROY);
        assert_null(rig_record(&g, "w@.service"));
        assert_null(rig_record(&g, "w@1.service"));
        assert_int_equal(rig_count_running(&g, "w@1.service"), 0);
        assert_unit("mine.service", ONE, LAUNCHED, "");
}

// ----------------------------------------------------------------------------------------- what it does not

static void an_empty_folder_and_a_wrong_one_need_force(void **state) {
        (void) apply(whole);
        const Argosy__Response *r = apply((Folder){.prune = true});
        assert_replies(r, EEXIST, "no units in the folder");
        r = apply((Folder){.units = shop, .n = 1, .prune = true});
        assert_replies(r, EEXIST, "4 of the 5 units of the set shop would be destroyed");
        assert_unit("c.service", TWO, LAUNCHED, "shop");
        assert_int_equal(rig_last_job(&g), 1);
        assert_int_equal(apply((Folder){.prune = true, .force = true})->status, 0);
        for (size_t i = 0; i < ELEMENTSOF(shop); i++)
                assert_null(rig_record(&g, shop[i].name));
}

static void what_belongs_to_others_is_left_alone(void **state) {
        uint64_t start_rev;

        (void) change(ARGOSY__VERB__VERB_START, "a.service", ONE);
        const Argosy__Response *r = plan(whole);
        assert_non_null(strstr(r->apply_plan->refusal, "a.service is there and belongs to no set; --adopt"));
        r = apply(whole);
        assert_int_equal(r->status, EEXIST);
        assert_null(rig_record(&g, "c.service"));

        start_rev = rig_record(&g, "a.service")->start_rev;
        assert_int_equal(apply((Folder){.units = shop, .n = ELEMENTSOF(shop), .adopt = true})->status, 0);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
        assert_int_equal(rig_record(&g, "a.service")->start_rev,
                         start_rev); // what is only adopted goes on as it is

        r = apply((Folder){.set = "mail", .units = shop, .n = 2});
        assert_replies(r, EEXIST,
                       "a.service belongs to the set shop, and 1 more units are not of mail either");
}

static void what_changed_since_the_plan_ends_it(void **state) {
        static const Wanted next[] = {{"a.service", TWO, LAUNCHED}, {"b.service", ONE, LOADED}};
        Folder f = {.units = next, .n = 2};

        (void) apply(whole);
        const Argosy__Response *p = plan(f);
        (void) change(ARGOSY__VERB__VERB_START, "b.service", NULL); // that is not to change
        const Argosy__Response *r = apply_planned(f, p);
        assert_replies(r, ESTALE, "b.service has changed since the plan was made");
        assert_unit("a.service", ONE, LAUNCHED, "shop");

        p = plan(f);
        (void) change(ARGOSY__VERB__VERB_DESTROY, "c.service", NULL); // one of the set that is not named
        r = apply_planned(f, p);
        assert_int_equal(r->status, ESTALE);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
}

// What somebody was told of before is compared with what the plan looks at, and not with all that has
// happened since.
static void a_revision_binds_it_to_what_it_is_about(void **state) {
        Folder f = whole, part = {.units = shop, .n = 1};

        assert_int_equal(apply(whole)->status, 0);
        f.if_revision = part.if_revision = cluster_state_revision(g.state);
        change(ARGOSY__VERB__VERB_START, "other.service", ONE);
        assert_int_equal(apply(f)->status, 0);
        change(ARGOSY__VERB__VERB_STOP, "w@1.service", NULL);
        assert_int_equal(plan(f)->status, ESTALE);
        assert_int_equal(plan(part)->status, ESTALE); // it is of the set, although nobody names it
        f.if_revision = part.if_revision = cluster_state_revision(g.state);
        assert_int_equal(plan(f)->status, 0);
        assert_int_equal(plan(part)->status, 0);
        change(ARGOSY__VERB__VERB_DESTROY, "b.service", NULL);
        assert_int_equal(plan(f)->status, ESTALE);
        assert_int_equal(plan(part)->status, ESTALE);
}

static void the_clusters_own_moves_do_not(void **state) {
        static const Wanted next[] = {{"a.service", TWO, LAUNCHED}};
        Folder f = {.units = next, .n = 1};

        (void) apply(whole);
        const Argosy__Response *p = plan(f);
        uint32_t host = rig_host_of(&g, "a.service");
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_true(rig_host_of(&g, "a.service") != host);
        assert_int_equal(apply_planned(f, p)->status, 0);
        assert_unit("a.service", TWO, LAUNCHED, "shop");
}

static void a_unit_that_cannot_be_has_its_own_error(void **state) {
        static const Wanted next[] = {{"a.service", ONE, LAUNCHED}, {"b.service", "[Service\n", LAUNCHED}};
        const Argosy__Response *r = apply((Folder){.units = next, .n = 2});

        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->units[1]->status, EINVAL);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
        assert_null(rig_record(&g, "b.service"));
}

// ---------------------------------------------------------------------------------------- undone, and again

#define SHARER(image, subnet)                                                                         \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n2\n\n"   \
        "# front.network\n[Network]\nSubnet=" subnet "\n"

// A node has one network of a name, whichever file its units come with.
static void who_is_refused_has_the_network_of_those_that_are_not(void **state) {
        const Wanted before[] = {{"a.service", SHARER("a", "1"), LAUNCHED},
                                 {"b.service", SHARER("b", "1"), LAUNCHED}},
                     after[] = {{"a.service", SHARER("a", "2"), LAUNCHED},
                                {"b.service", SHARER("b", "3"), LAUNCHED}};
        const Argosy__Response *r;

        rig_host_set_labels(&g, 2, "podman", "5.4");
        (void) apply((Folder){.units = before, .n = 2});
        assert_true(rig_has_content(&g, "b.service", SHARER("b", "1")));
        r = apply((Folder){.units = after, .n = 2});
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[1]->status, EINVAL);
        assert_true(rig_has_content(&g, "a.service", SHARER("a", "2")));
        assert_true(rig_has_content(&g, "b.service", SHARER("b", "2")));
}

static void undo_puts_back_what_it_changed(void **state) {
        static const Wanted next[] = {
                {"a.service", TWO, LAUNCHED}, {"d.service", ONE, LAUNCHED}, {"m.service", ONE, LAUNCHED}};

        (void) apply(whole);
        (void) change(ARGOSY__VERB__VERB_START, "m.service", ONE);
        assert_int_equal(
                apply((Folder){.units = next, .n = 3, .prune = true, .adopt = true, .force = true})->status,
                0);
        assert_null(rig_record(&g, "c.service"));
        assert_unit("m.service", ONE, LAUNCHED, "shop");
        assert_int_equal(undo(rig_last_job(&g))->status, 0);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
        assert_unit("c.service", TWO, LAUNCHED, "shop");
        assert_unit("m.service", ONE, LAUNCHED, "");
        assert_null(rig_record(&g, "d.service"));
        assert_int_equal(plan(whole)->apply_plan->n_rows, 0);
}

static void a_request_that_comes_again_does_nothing_twice(void **state) {
        Folder f = {.units = shop, .n = ELEMENTSOF(shop), .id = 4711};
        const Argosy__Response *p = plan(f);

        assert_int_equal(apply_planned(f, p)->job, 1);
        (void) change(ARGOSY__VERB__VERB_STOP, "a.service", NULL);
        const Argosy__Response *r = apply_planned(f, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, 1);
        assert_int_equal(r->change->n_units, ELEMENTSOF(shop));
        assert_unit("a.service", ONE, LOADED, "shop"); // that was later
}

// ------------------------------------------------------------------------------------------------ many

static char names[UNITS_MAX][32];
static Wanted many[UNITS_MAX];

static Folder many_units(const char *content) {
        for (size_t i = 0; i < UNITS_MAX; i++) {
                snprintf(names[i], sizeof(names[i]), "u%zu.service", i);
                many[i] = (Wanted){names[i], content, LAUNCHED};
        }
        return (Folder){.units = many, .n = UNITS_MAX};
}

static size_t count(const char *content) {
        size_t n = 0;

        for (size_t i = 0; i < UNITS_MAX; i++)
                n += rig_has_content(&g, names[i], content);
        return n;
}

static void many_are_one_job_and_the_next_leader_goes_on_with_it(void **state) {
        Folder f = many_units(ONE);

        assert_int_equal(apply(f)->change->n_units, UNITS_MAX);
        assert_int_equal(rig_last_job(&g), 1);
        f = many_units(TWO);
        f.id = 4711;
        const Argosy__Response *p = plan(f);
        g.slow = true;
        (void) begin(f, p->apply_plan);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(count(TWO), 1, UNITS_MAX - 1);
        const Argosy__Response *r = apply_planned(f, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, 2);
        assert_int_equal(r->change->n_units, UNITS_MAX);
        for (size_t i = 0; i < UNITS_MAX; i++)
                assert_int_equal(r->change->units[i]->verb, ARGOSY__VERB__VERB_START);
        assert_int_equal(count(TWO), UNITS_MAX);
        assert_int_equal(rig_last_job(&g), 2);
}

// By its key: what is planned then is only the rest of it.
static void a_command_that_is_given_again_goes_on(void **state) {
        Folder f = many_units(ONE);

        assert_int_equal(apply(f)->change->n_units, UNITS_MAX);
        f = many_units(TWO);
        f.id = 4711;
        const Argosy__Response *p = plan(f);
        g.slow = true;
        (void) begin(f, p->apply_plan);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(count(TWO), 1, UNITS_MAX - 1);
        const Argosy__Response *r = apply(f);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, 2);
        assert_int_equal(count(TWO), UNITS_MAX);
        assert_int_equal(rig_last_job(&g), 2);
        f = many_units(ONE); // another folder
        f.id = 4711;
        assert_int_equal(apply(f)->status, EEXIST);
        assert_int_equal(count(TWO), UNITS_MAX);
}

// ------------------------------------------------------------------------------------ judged when it is put

// And nothing happens yet.
static void ask_start(const char *name, const char *content) {
        uint64_t id[2] = {++g.id, 33};

        (void) rig_change_with(&g, ARGOSY__VERB__VERB_START, name, content, true, (const uint8_t *) id);
}

// The change goes into an entry with which the apply of the same unit has to wait.
static void what_changes_while_it_waits_for_its_entry_ends_it(void **state) {
        static const Wanted next[] = {{"a.service", TWO, LAUNCHED}, {"b.service", ONE, LOADED}};
        const Folder f = {.units = next, .n = 2};

        (void) apply(whole);
        const Argosy__Response *p = plan(f);
        ask_start("a.service", THREE);
        RigAnswer *a = begin(f, p->apply_plan);
        rig_settle(&g);
        assert_replies(rig_last(a), ESTALE, "nothing was changed");
        assert_true(rig_has_content(&g, "a.service", THREE));
}

static void ask_destroy(const char *name) {
        uint64_t id[2] = {++g.id, 33};

        (void) rig_change_with(&g, ARGOSY__VERB__VERB_DESTROY, name, NULL, false, (const uint8_t *) id);
}

// When the second one has its turn, all is as it was planned once more.
static void what_is_asked_twice_is_refused_as_one(void **state) {
        static const Wanted next[] = {{"a.service", ONE, LOADED}};
        const Folder f = {.units = next, .n = 1, .id = 4711};
        const Argosy__Response *p = plan(f);

        (void) change(ARGOSY__VERB__VERB_START, "a.service", ONE);
        RigAnswer *first = begin(f, p->apply_plan);
        ask_destroy("a.service");
        RigAnswer *second = begin(f, p->apply_plan);
        rig_settle(&g);
        assert_int_equal(rig_last(first)->status, ESTALE);
        assert_int_equal(rig_last(second)->status, ESTALE);
        assert_null(rig_record(&g, "a.service"));
}

static void who_planned_it_anew_is_not_refused_with_it(void **state) {
        static const Wanted next[] = {{"a.service", ONE, LAUNCHED}};
        const Folder f = {.units = next, .n = 1, .id = 4711, .adopt = true};

        const Argosy__Response *old = plan(f);
        (void) change(ARGOSY__VERB__VERB_START, "a.service", ONE);
        const Argosy__Response *new = plan(f);
        RigAnswer *first = begin(f, old->apply_plan), *second = begin(f, new->apply_plan);
        rig_settle(&g);
        assert_int_equal(rig_last(first)->status, ESTALE);
        assert_int_equal(rig_last(second)->status, 0);
        assert_unit("a.service", ONE, LAUNCHED, "shop");
}

static RigAnswer *ask_stop(const char *name, uint64_t if_revision) {
        uint64_t id[2] = {4711, 33};
        char *names_of[] = {(char *) name};
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_STOP, .names = names_of, .n_names = 1);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &m, .job = &job));
}

static void what_asks_for_something_else_is_not_refused_with_it(void **state) {
        (void) apply(whole);
        uint64_t revision = cluster_state_revision(g.state);
        (void) change(ARGOSY__VERB__VERB_START, "a.service", NULL);
        RigAnswer *first = ask_stop("a.service", revision), *second = ask_stop("c.service", revision);
        rig_settle(&g);
        assert_int_equal(rig_last(first)->status, ESTALE);
        assert_int_equal(rig_last(second)->status, 0);
        assert_unit("c.service", TWO, LOADED, "shop");
}

static const Argosy__Response *plan_many(Folder *f) {
        *f = many_units(ONE);
        (void) apply(*f);
        *f = many_units(TWO);
        f->id = 4711;
        return plan(*f);
}

static const Argosy__Response__UnitResult *result_of(const Argosy__Response *r, const char *name) {
        for (size_t i = 0; i < r->change->n_units; i++)
                if (streq(r->change->units[i]->name, name))
                        return r->change->units[i];
        fail_msg("nothing is said of %s", name);
        return NULL;
}

static void assert_last_is_left(const Argosy__Response *r, size_t n_left) {
        const Argosy__Response__UnitResult *last = result_of(r, names[UNITS_MAX - 1]);

        assert_replies(last, ESTALE, "was changed since by job");
        assert_true(rig_has_content(&g, names[UNITS_MAX - 1], THREE));
        assert_int_equal(count(TWO), UNITS_MAX - n_left);
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, 2)->state, "failed");
        assert_int_equal(rig_show_job(&g, 2)->failed, 1);
}

static void what_changes_between_two_parts_is_left(void **state) {
        Folder f;
        const Argosy__Response *p = plan_many(&f);

        g.slow = true;
        RigAnswer *a = begin(f, p->apply_plan);
        while (g.n_held == 0)
                rig_turns(&g, 1);
        ask_start(names[UNITS_MAX - 1], THREE);
        rig_hurry_and_settle(&g);
        assert_last_is_left(rig_last(a), 1);
}

static void begin_and_lose_the_leader(Folder f, const Argosy__Response *p) {
        g.slow = true;
        (void) begin(f, p->apply_plan);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(count(TWO), 1, UNITS_MAX - 1);
}

// Neither what it has not come to nor what it has brought there.
static void what_changes_between_two_leaders_is_left(void **state) {
        Folder f;
        const Argosy__Response *p = plan_many(&f);

        begin_and_lose_the_leader(f, p);
        (void) change(ARGOSY__VERB__VERB_START, names[0], THREE);
        (void) change(ARGOSY__VERB__VERB_START, names[UNITS_MAX - 1], THREE);
        const Argosy__Response *r = apply_planned(f, p);
        assert_int_equal(r->job, 2);
        assert_true(rig_has_content(&g, names[0], THREE));
        assert_non_null(strstr(result_of(r, names[0])->message, "somebody has changed it again since"));
        assert_last_is_left(r, 2);
}

// Who has seen what others did, and asks again, overwrites that.
static void who_plans_it_anew_is_asked_about_what_is_then(void **state) {
        Folder f;
        const Argosy__Response *p = plan_many(&f);

        begin_and_lose_the_leader(f, p);
        (void) change(ARGOSY__VERB__VERB_START, names[0], THREE);
        (void) change(ARGOSY__VERB__VERB_START, names[UNITS_MAX - 1], THREE);
        const Argosy__Response *r = apply(f);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, 2);
        assert_int_equal(count(TWO), UNITS_MAX);
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, 2)->state, "done");
}

// Every other unit stays as it is, and the log takes no second entry.
static void who_fails_in_the_middle_hears_how_many_were_changed(void **state) {
        Folder f = many_units(ONE);

        assert_int_equal(apply(f)->change->n_units, UNITS_MAX);
        for (size_t i = 0; i < UNITS_MAX; i += 2)
                many[i].content = TWO;
        const Argosy__Response *p = plan(f);
        g.slow = true;
        RigAnswer *a = begin(f, p->apply_plan);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                g.batch_max = 1;
                rig_release(&g);
        }
        g.slow = false;
        rig_settle(&g);
        assert_true(a->final);
        assert_replies(rig_last(a), E2BIG, ": 256 units were changed before, the others were not");
        assert_int_equal(count(TWO), 256);
}

// ------------------------------------------------------------------------------------------ a few at a time

#define WEB(file)                                                                                       \
        {                                                                                               \
                {"w@.service", file, INACTIVE}, {"w@1.service", file, LAUNCHED, .from_template = true}, \
                        {"w@2.service", file, LAUNCHED, .from_template = true}, {                       \
                        "w@3.service", file, LAUNCHED, .from_template = true                            \
                }                                                                                       \
        }

static const Wanted web_before[] = WEB(ONE), web_after[] = WEB(TWO);
static const Folder before = {.units = web_before, .n = ELEMENTSOF(web_before)},
                    after = {.units = web_after, .n = ELEMENTSOF(web_after), .rolling = true, .id = 4711};

static size_t count_web(const char *content) {
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(web_before); i++)
                n += rig_has_content(&g, web_before[i].name, content);
        return n;
}

static void files_are_put_in_place_a_few_at_a_time(void **state) {
        assert_int_equal(apply(before)->status, 0);
        uint64_t job = rig_last_job(&g) + 1;
        const Argosy__Response *p = plan(after);
        assert_int_equal(p->apply_plan->n_rows, 4);
        assert_string_equal(p->apply_plan->refusal, "");
        const Argosy__Response *r = apply_planned(after, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job);
        assert_int_equal(r->change->n_units, 1);
        assert_string_equal(r->change->units[0]->name, "w@.service");
        const Argosy__RolloutRecord *rollout = cluster_state_find_rollout(g.state, "w@.service");
        assert_int_equal(r->change->units[0]->revision, rollout->revision);
        assert_true(rollout->health_us == 5 * USEC_PER_SEC);
        assert_in_range(count_web(TWO), 1, 3); // not all at once
        assert_int_equal(cluster_state_job_state(g.state, job), ARGOSY__JOB_STATE__JOB_RUNNING);
        r = apply_planned(after, p); // who asks again waits for the same
        assert_int_equal(r->job, job);
        assert_int_equal(r->change->units[0]->revision,
                         cluster_state_find_rollout(g.state, "w@.service")->revision);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count_web(TWO), 4);
        assert_unit("w@2.service", TWO, LAUNCHED, "shop");
        assert_unit("w@.service", TWO, INACTIVE, "shop");
        assert_int_equal(rig_last_job(&g), job);
        assert_int_equal(rig_show_job(&g, job)->changed, 4);
        assert_string_equal(rig_show_job(&g, job)->state, "done");
        assert_int_equal(plan(after)->apply_plan->n_rows, 0);
        r = apply((Folder){.units = web_after, .n = ELEMENTSOF(web_after), .rolling = true});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 0); // nothing to wait for
        assert_int_equal(rig_last_job(&g), job);
}

// Not even after another one has taken the place of its rollout.
static void a_rolling_apply_that_comes_again_begins_nothing(void **state) {
        assert_int_equal(apply(before)->status, 0);
        const Argosy__Response *p = plan(after);
        assert_int_equal(apply_planned(after, p)->status, 0);
        rig_pass_ms(&g, 60000);
        (void) rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "w@.service", ONE});
        rig_pass_ms(&g, 60000);
        assert_int_equal(count_web(ONE), 4);
        const Argosy__Response *r = apply_planned(after, p);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, 0); // nothing to wait for
        rig_pass_ms(&g, 60000);
        assert_int_equal(count_web(ONE), 4);
}

static void assert_not_rolled(const Wanted *units, size_t n, bool prune, const char *why) {
        Folder f = {.units = units, .n = n, .prune = prune, .force = true, .rolling = true};
        const Argosy__Response *p = plan(f), *r;
        uint64_t job = rig_last_job(&g);

        if (!strstr(p->apply_plan->refusal, why))
                fail_msg("'%s', not '%s'", p->apply_plan->refusal, why);
        r = apply_planned(f, p);
        assert_replies(r, EEXIST, why);
        assert_int_equal(rig_last_job(&g), job);
}

static void what_is_no_update_is_not_applied_a_few_at_a_time(void **state) {
        Wanted units[] = WEB(TWO), more[] = {{"a.service", TWO, LAUNCHED}, {"b.service", TWO, LAUNCHED}};
        const Wanted two[] = {{"a.service", ONE, LAUNCHED}, {"b.service", ONE, LAUNCHED}};

        assert_int_equal(apply(before)->status, 0);
        assert_not_rolled(units, 3, false, "w@3.service is an instance that the folder does not name");
        assert_not_rolled(units, 3, true, "w@3.service is new, goes");
        units[3].target = LOADED;
        assert_not_rolled(units, 4, false, "w@3.service is new, goes, or is to be something else");
        units[3] = (Wanted){"w@4.service", TWO, LAUNCHED, true};
        assert_not_rolled(units, 4, false, "w@4.service is new");
        units[3] = (Wanted){"w@3.service", TWO, LAUNCHED, false}; // from a file of its own
        assert_not_rolled(units, 4, false, "w@3.service is of another template, or of none");
        assert_int_equal(apply((Folder){.set = "more", .units = two, .n = 2})->status, 0);
        assert_non_null(strstr(
                plan((Folder){.set = "more", .units = more, .n = 2, .rolling = true})->apply_plan->refusal,
                "b.service is of another template"));
        assert_int_equal(count_web(ONE), 4);
}

RUN_TESTS(
        TEST(a_folder_becomes_units),
        TEST(twice_the_same_does_nothing),
        TEST(what_differs_is_changed_and_nothing_else),
        TEST(what_the_folder_has_no_more_goes_if_that_is_asked_for),
        TEST(an_empty_folder_and_a_wrong_one_need_force),
        TEST(what_belongs_to_others_is_left_alone),
        TEST(what_changed_since_the_plan_ends_it),
        TEST(a_revision_binds_it_to_what_it_is_about),
        TEST(the_clusters_own_moves_do_not),
        TEST(a_unit_that_cannot_be_has_its_own_error),
        TEST(who_is_refused_has_the_network_of_those_that_are_not),
        TEST(undo_puts_back_what_it_changed),
        TEST(a_request_that_comes_again_does_nothing_twice),
        TEST(many_are_one_job_and_the_next_leader_goes_on_with_it),
        TEST(a_command_that_is_given_again_goes_on),
        TEST(what_changes_while_it_waits_for_its_entry_ends_it),
        TEST(what_is_asked_twice_is_refused_as_one),
        TEST(who_planned_it_anew_is_not_refused_with_it),
        TEST(what_asks_for_something_else_is_not_refused_with_it),
        TEST(what_changes_between_two_parts_is_left),
        TEST(what_changes_between_two_leaders_is_left),
        TEST(who_plans_it_anew_is_asked_about_what_is_then),
        TEST(who_fails_in_the_middle_hears_how_many_were_changed),
        TEST(files_are_put_in_place_a_few_at_a_time),
        TEST(a_rolling_apply_that_comes_again_begins_nothing),
        TEST(what_is_no_update_is_not_applied_a_few_at_a_time)
)
