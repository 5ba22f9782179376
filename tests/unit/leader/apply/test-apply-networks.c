// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A folder that changes a network changes it for all units that have its former file: its plan names them.
#include <errno.h>

#include "apply-words.h"
#include "str.h"

#define NETWORK(name, subnet) "\n# " name ".network\n[Network]\nSubnet=" subnet "\n"
#define OF(image, network, subnet)                                                 \
        "[Container]\nImage=localhost/" image ":1\nNetwork=" network ".network\n" \
        "[X-Argosy]\nHost=n2\n" NETWORK(network, subnet)
#define SHARER(image, subnet) OF(image, "front", subnet)

static const Wanted one[] = {{"app.service", SHARER("app", "1"), LAUNCHED},
                             {"web.service", SHARER("web", "1"), LAUNCHED}};
static const Wanted two[] = {{"app.service", SHARER("app", "2"), LAUNCHED},
                             {"web.service", SHARER("web", "2"), LAUNCHED}};
static const Folder before = {.units = one, .n = ELEMENTSOF(one)},
                    after = {.units = two, .n = ELEMENTSOF(two)};

FIXTURE(setup_networks) {
        setup(state);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        assert_int_equal(apply(before)->status, 0);
}

// With all files, as the client asks again.
static const Argosy__Response__ApplyPlan *plan_with_files(Folder f) {
        Argosy__Request__Apply m = message_of(&f);

        m.preview = true;
        add_files(&m, &f);
        RigAnswer *a = ask(&m, 0, 0);
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        return rig_last(a)->apply_plan;
}

static const Argosy__Response__ApplySharer *sharer(const Argosy__Response__ApplyPlan *p, const char *name) {
        for (size_t i = 0; i < p->n_sharers; i++)
                if (streq(p->sharers[i]->unit, name))
                        return p->sharers[i];
        return NULL;
}

static void a_plan_names_who_shares_a_network_that_changes(void **state) {
        static const Argosy__Verb start = ARGOSY__VERB__VERB_START, load = ARGOSY__VERB__VERB_LOAD;
        const Argosy__Response__ApplyPlan *p;
        uint64_t side_start;

        (void) change(start, "side.service", SHARER("side", "1"));
        (void) change(load, "idle.service", SHARER("idle", "1"));
        (void) change(start, "back.service", OF("back", "back", "1"));
        side_start = rig_record(&g, "side.service")->revision;
        p = plan_with_files(after);
        assert_int_equal(p->n_rows, 2);
        assert_int_equal(p->n_sharers, 2);
        assert_string_equal(sharer(p, "side.service")->networks, "front.network");
        assert_string_equal(sharer(p, "side.service")->node, "n2");
        assert_string_equal(sharer(p, "side.service")->set, "");
        assert_true(sharer(p, "side.service")->restarts);
        assert_false(sharer(p, "idle.service")->restarts);
        assert_int_equal(apply(after)->status, 0);
        assert_true(rig_record(&g, "side.service")->revision > side_start);
        assert_unit("side.service", SHARER("side", "2"), LAUNCHED, "");
        assert_unit("idle.service", SHARER("idle", "2"), LOADED, "");
        assert_unit("back.service", OF("back", "back", "1"), LAUNCHED, "");
}

// The folder gives them that file itself, or has the network as it is.
static void a_plan_names_nobody_whose_network_stays_or_whom_it_changes(void **state) {
        assert_int_equal(plan_with_files(after)->n_sharers, 0);
        (void) change(ARGOSY__VERB__VERB_START, "side.service", SHARER("side", "1"));
        assert_int_equal(plan_with_files(before)->n_sharers, 0);
        assert_int_equal(plan(after)->apply_plan->n_sharers, 0); // its content did not come
        assert_int_equal(apply(after)->status, 0);
        assert_int_equal(apply(before)->status, 0);
        assert_int_equal(plan(after)->apply_plan->n_sharers, 1); // the cluster has it by now
}

// It comes to a network of its own, on another node.
static void a_new_unit_that_brings_another_network_of_a_name_changes_nobody(void **state) {
        static const Wanted comes[] = {
                {"new.service",
                 "[Container]\nImage=localhost/new:1\nNetwork=front.network\n" NETWORK("front", "3"),
                 LAUNCHED}};
        const Folder more = {.set = "more", .units = comes, .n = 1};
        const Argosy__Response__ApplyPlan *p = plan_with_files(more);

        assert_int_equal(p->n_sharers, 0);
        assert_int_equal(apply(more)->status, 0);
        assert_unit("web.service", SHARER("web", "1"), LAUNCHED, "shop");
        assert_unit("new.service", comes[0].content, LAUNCHED, "more");
        assert_int_not_equal(rig_record(&g, "new.service")->node, 0);
        assert_int_not_equal(rig_record(&g, "new.service")->node, rig_record(&g, "web.service")->node);
}

// Another folder has another network of that name.
static void a_plan_names_nobody_who_has_a_third_file(void **state) {
        static const char other[] =
                "[Container]\nImage=localhost/side:1\nNetwork=front.network\n" NETWORK("front", "3");

        (void) change(ARGOSY__VERB__VERB_START, "side.service", other);
        assert_int_equal(plan_with_files(after)->n_sharers, 0);
        assert_int_equal(apply(after)->status, 0);
        assert_unit("side.service", other, LAUNCHED, "");
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_networks, teardown)
RUN_TESTS(TEST(a_plan_names_who_shares_a_network_that_changes),
          TEST(a_plan_names_nobody_whose_network_stays_or_whom_it_changes),
          TEST(a_new_unit_that_brings_another_network_of_a_name_changes_nobody),
          TEST(a_plan_names_nobody_who_has_a_third_file))
