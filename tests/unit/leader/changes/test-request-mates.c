// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change whose contents would have units be where each other is is refused.
#include "request-words.h"

#define WITH(unit) SERVICE "[X-Argosy]\n\nMachineOf=" unit "\n"

static void assert_cycle(const Argosy__Response__UnitResult *r, const char *why) {
        assert_non_null(r);
        assert_int_equal(r->status, EINVAL);
        assert_string_equal(r->message, why);
        assert_null(cluster_state_find_unit(w.state, r->name));
}

static void units_that_are_to_be_where_each_other_is_are_refused_whoever_comes_last(void **state) {
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "a.service", WITH("b.service"))->status, 0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "b.service", WITH("c.service x.service"))->status,
                         0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "d.service", WITH("a.service"))->status,
                         0); // leads into it, no cycle
        assert_cycle(change(ARGOSY__VERB__VERB_SUBMIT, "c.service", WITH("a.service")),
                     "c.service:5: units that are to be where each other is: c.service -> a.service -> "
                     "b.service -> c.service");
        assert_cycle(change(ARGOSY__VERB__VERB_SUBMIT, "e.service", WITH("e.service")),
                     "e.service:5: the unit is to be where it is itself (MachineOf=e.service)");
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "c.service", WITH("x.service"))->status, 0);
}

static void a_cycle_within_one_request_is_refused(void **state) {
        const char *const names[] = {"a.service", "b.service"};
        const File files[] = {{"a.service", WITH("b.service")}, {"b.service", WITH("a.service")}};

        change_all(ARGOSY__VERB__VERB_SUBMIT, names, 2, files, 2, false);
        assert_int_equal(w.response->change->units[0]->status, 0);
        assert_cycle(w.response->change->units[1],
                     "b.service:5: units that are to be where each other is: b.service -> a.service -> "
                     "b.service");
}

// What it would have been with it counts for nobody.
static void a_content_that_is_refused_breaks_no_cycle(void **state) {
        const char *const names[] = {"a.service", "b.service"};
        const File files[] = {{"a.service", SERVICE "[X-Argosy]\nMachineOf=x.service\nSecret=none\n"},
                              {"b.service", WITH("a.service")}};

        assert_int_equal(submit("a.service", WITH("b.service"))->status, 0);
        change_all(ARGOSY__VERB__VERB_START, names, 2, files, 2, true);
        assert_true(w.response->change->units[0]->status != 0); // there is no such secret
        assert_cycle(w.response->change->units[1],
                     "b.service:5: units that are to be where each other is: b.service -> a.service -> "
                     "b.service");
}

static void a_replaced_file_that_closes_a_cycle_is_refused(void **state) {
        const char *const name = "a.service";
        const File file = {"a.service", WITH("b.service")};

        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "a.service", SERVICE)->status, 0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "b.service", WITH("a.service"))->status, 0);
        assert_int_equal(change_all(ARGOSY__VERB__VERB_SUBMIT, &name, 1, &file, 1, true)->status, EINVAL);
        assert_int_equal(w.n_ops, 0);
}

// Fleet's client unloads a unit with its new content before it starts it: the unit goes on with the old one
// if the new one is no good.
static void a_content_that_an_unload_brings_is_looked_at_as_any_other(void **state) {
        static const char *const wrong[] = {
                WITH("b.service"), SERVICE "[X-Fleet]\nReplaces=c.service\n",
                SERVICE "[X-Argosy]\nRequires=nosuch.service\n",
        };

        assert_int_equal(start("a.service", SERVICE)->status, 0);
        assert_int_equal(submit("b.service", WITH("a.service"))->status, 0);
        assert_int_equal(submit("c.service", SERVICE "[X-Fleet]\nReplaces=a.service\n")->status, 0);
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                if (replace(ARGOSY__VERB__VERB_UNLOAD, "a.service", "a.service", wrong[i])->status != EINVAL)
                        fail_msg("taken: %s", wrong[i]);
                assert_int_equal(w.n_ops, 0);
                assert_int_equal(record("a.service")->target, LAUNCHED);
        }
}

static void templates_whose_instances_would_make_a_cycle_are_refused(void **state) {
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "web@.service", WITH("db@%i.service"))->status,
                         0);
        assert_cycle(
                change(ARGOSY__VERB__VERB_SUBMIT, "db@.service", WITH("web@%i.service")),
                "db@.service:5: units that are to be where each other is: db@1.service -> web@1.service "
                "-> db@1.service");
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "db@.service", WITH("log@%i.service"))->status,
                         0);
        assert_int_equal(change(ARGOSY__VERB__VERB_START, "web@7.service", NULL)->status, 0);
        assert_cycle(change(ARGOSY__VERB__VERB_START, "log@7.service", WITH("web@7.service")),
                     "log@7.service:5: units that are to be where each other is: log@7.service -> "
                     "web@7.service -> db@7.service -> log@7.service");
}

RUN_TESTS(
        REQUEST_TEST(units_that_are_to_be_where_each_other_is_are_refused_whoever_comes_last),
        REQUEST_TEST(a_cycle_within_one_request_is_refused),
        REQUEST_TEST(a_content_that_is_refused_breaks_no_cycle),
        REQUEST_TEST(a_content_that_an_unload_brings_is_looked_at_as_any_other),
        REQUEST_TEST(a_replaced_file_that_closes_a_cycle_is_refused),
        REQUEST_TEST(templates_whose_instances_would_make_a_cycle_are_refused)
)
