// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A network that units share, which an update brings: it changes on one node after the other, and goes back
// with the update.
#include <errno.h>

#include "rollout-words.h"

#define NETWORK(subnet) "\n# front.network\n[Network]\nSubnet=" subnet "\n"
#define SHARER(image, subnet) \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n" NETWORK(subnet)

// A node has one network of that name.
static void assert_one_network(uint32_t host) {
        static const char *const with[2][2] = {{SHARER("web", "1"), SHARER("app", "1")},
                                               {SHARER("web", "2"), SHARER("app", "2")}};
        unsigned n[2] = {};

        map_foreach (slot, &rig_host(&g, host)->virtual.units)
                for (size_t i = 0; i < 4; i++) {
                        Hash hash = hash_of(with[i / 2][i % 2], strlen(with[i / 2][i % 2]));

                        n[i / 2] += hash_equal(&((VirtualUnit *) slot->value)->order.spec, &hash);
                }
        assert_true(n[0] == 0 || n[1] == 0);
}

static unsigned most_nodes_down(const RigAnswer *a) {
        unsigned most = 0;

        for (unsigned i = 0; i < 1000 && !a->final; i++) {
                unsigned n = 0;

                rig_pass_ms(&g, 250);
                for (uint32_t h = 1; h <= 3; h++) {
                        bool down = false;

                        assert_one_network(h);
                        map_foreach (slot, &rig_host(&g, h)->virtual.units)
                                down |= ((VirtualUnit *) slot->value)->active !=
                                        ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
                        n += down;
                }
                most = MAX_OF(most, n);
        }
        assert_true(a->final);
        return most;
}

static void start_sharers(void) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        start_instances(N_UNITS, SHARER("web", "1"));
        assert_int_equal(rig_change(&g, START, "app.service", SHARER("app", "1"))->status, 0);
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "idle.service", SHARER("idle", "1"));
}

static void a_network_changes_on_one_node_after_the_other(void **state) {
        RigAnswer *a;

        start_sharers();
        a = begin((RigRollout){UPDATE, "web@.service", SHARER("web", "2")});
        assert_int_equal(most_nodes_down(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(SHARER("web", "2")), N_UNITS);
        assert_true(rig_has_content(&g, "web@.service", SHARER("web", "2")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "idle.service", SHARER("idle", "2")));
}

static void a_network_goes_back_with_the_update_that_fails(void **state) {
        RigAnswer *a;

        start_sharers();
        g.bad = hash_of(SHARER("web", "2"), strlen(SHARER("web", "2")));
        a = begin((RigRollout){UPDATE, "web@.service", SHARER("web", "2")});
        watch(a);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_int_equal(count_running(SHARER("web", "1")), N_UNITS);
        assert_true(rig_has_content(&g, "web@.service", SHARER("web", "1")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "1")));
        assert_true(rig_has_content(&g, "idle.service", SHARER("idle", "1")));
}

enum { LATER_MS = 30000 };

#define MATE(image, subnet)                                                                       \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nMachineOf=" \
        "web.service\n" NETWORK(subnet)

static bool has_second_network(const Hash *spec) {
        static const char *const with[] = {SHARER("web", "2"), MATE("app", "2"), MATE("down", "2")};
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(with); i++) {
                Hash of = hash_of(with[i], strlen(with[i]));

                any |= hash_equal(spec, &of);
        }
        return any;
}

// Of two units that share a network on a node, one is updated to one that cannot be made. The start_rev of
// the other one before.
static uint64_t update_to_a_network_that_cannot_be(const char *mate, const char *content, bool sound) {
        uint64_t start;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", SHARER("web", "1"));
        g.bad = sound ? (Hash){} : hash_of(content, strlen(content));
        (void) rig_change(&g, START, mate, content);
        rig_pass_ms(&g, LATER_MS);
        start = rig_record(&g, mate)->start_rev;
        g.bad = (Hash){};
        g.is_bad = has_second_network;
        watch(begin((RigRollout){UPDATE, "web.service", SHARER("web", "2")}));
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "1")));
        assert_true(rig_has_content(&g, mate, content));
        assert_int_equal(count_running(SHARER("web", "1")), 1);
        return start;
}

// It has not started either by the time that the update goes back. systemd says of that start that a
// dependency failed, and of the unit that it is inactive: only an order starts it.
static void who_went_down_with_a_network_starts_again_with_the_former_one(void **state) {
        uint64_t start = update_to_a_network_that_cannot_be("app.service", MATE("app", "1"), true);

        assert_int_equal(count_running(MATE("app", "1")), 1);
        assert_true(rig_record(&g, "app.service")->start_rev > start);
}

static void what_was_down_before_is_not_ordered_to_start_as_a_network_goes_back(void **state) {
        uint64_t start = update_to_a_network_that_cannot_be("down.service", MATE("down", "1"), false);

        assert_int_equal(rig_record(&g, "down.service")->start_rev, start);
}

#define ON_N2(image, subnet)                                                                  \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n2\n" \
        NETWORK(subnet)
#define ON_N1(image, subnet)                                                                  \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n1\n" \
        NETWORK(subnet)

// A node changes as a whole, however few units an entry is to have.
static void more_sharers_on_a_node_than_an_entry_has_units_get_it_all_the_same(void **state) {
        RigAnswer *a;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", ON_N1("web", "1"));
        (void) rig_change(&g, START, "app.service", ON_N2("app", "1"));
        (void) rig_change(&g, START, "more.service", ON_N2("more", "1"));
        rig_pass_ms(&g, LATER_MS);
        g.leader->limits.entry_units = 1;
        a = begin((RigRollout){UPDATE, "web.service", ON_N1("web", "2")});
        rig_pass_ms(&g, LATER_MS);
        assert_final(a, 0);
        assert_true(rig_has_content(&g, "app.service", ON_N2("app", "2")));
        assert_true(rig_has_content(&g, "more.service", ON_N2("more", "2")));
}

#define ON_N3(image, subnet)                                                                  \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n3\n" \
        NETWORK(subnet)

// On a node where nobody has the file that changes.
static void who_has_a_third_file_keeps_it(void **state) {
        RigAnswer *a;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "else.service", ON_N3("else", "3"));
        start_sharers();
        assert_int_equal(rig_host_of(&g, "else.service"), 3);
        a = begin((RigRollout){UPDATE, "web@.service", SHARER("web", "2")});
        assert_int_equal(most_nodes_down(a), 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(SHARER("web", "2")), N_UNITS);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "else.service", ON_N3("else", "3")));
}

// The unit has not named the network so far.
static void who_comes_to_a_network_by_an_update_leaves_a_node_that_has_another_one(void **state) {
        RigAnswer *a;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "app.service", "[Container]\nImage=localhost/app:1\n");
        (void) rig_change(&g, START, "a.service", ON_N1("a", "3"));
        (void) rig_change(&g, START, "b.service", ON_N2("b", "3"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_not_equal(rig_host_of(&g, "app.service"), 3);
        a = begin((RigRollout){UPDATE, "app.service", SHARER("app", "2")});
        watch(a);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_host_of(&g, "app.service"), 3);
        assert_int_equal(count_running(SHARER("app", "2")), 1);
}

// Of one name: it is another network.
static void two_updates_change_two_networks_at_once(void **state) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "else.service", ON_N3("else", "3"));
        start_sharers();
        (void) begin((RigRollout){UPDATE, "web@.service", SHARER("web", "2")});
        assert_int_equal(
                rig_last(ask((RigRollout){UPDATE, "else.service", ON_N3("else", "4")}))->status, 0);
}

static void one_update_at_a_time_brings_a_network(void **state) {
        const Argosy__Response *r;

        start_sharers();
        (void) begin((RigRollout){UPDATE, "web@.service", SHARER("web", "2")});
        r = rig_last(ask((RigRollout){UPDATE, "app.service", SHARER("app", "3")}));
        assert_replies(r, EEXIST, "shares a network with it");
}

static void hold_an_entry(const char *name) {
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_SUBMIT, name, OLD, false, NULL);
        while (g.n_held == 0)
                rig_turns(&g, 1);
}

// Both requests are in one entry, and what follows from them in the next one.
static void update_web_and_set_mode(const char *to, const char *node, Argosy__NodeMode mode) {
        Argosy__Request__NodeChange m = NODE_CHANGE_OF(.nodes = (char **) &node, .n_nodes = 1, .mode = mode);

        g.slow = true;
        hold_an_entry("a.service");
        (void) rig_begin_rollout(&g, (RigRollout){UPDATE, "web.service", to});
        rig_turns(&g, 5);
        rig_release(&g); // the node is asked for the image
        hold_an_entry("b.service");
        (void) rig_ask(&g, A_REQUEST(NODE_CHANGE, node_change, &m));
        rig_turns(&g, 5);
}

static void assert_never_beside(const char *name, const char *to, const char *next) {
        while (!rig_has_content(&g, "late.service", next)) {
                rig_turns(&g, 5);
                assert_true(rig_host_of(&g, "late.service") != 1 ||
                            rig_has_content(&g, "late.service", next) ==
                                    rig_has_content(&g, name, to));
                rig_release(&g);
                if (rig_has_content(&g, name, to))
                        rig_hurry(&g);
        }
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(rig_host_of(&g, "late.service"), 1);
        assert_true(rig_has_content(&g, name, to));
}

static void who_waits_does_not_come_to_the_former_network_as_an_update_changes_it(void **state) {
        rig_host_set_labels(&g, 1, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", ON_N1("web", "1"));
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_change(&g, START, "late.service", ON_N1("late", "1"));
        assert_int_equal(rig_host_of(&g, "late.service"), 0);
        update_web_and_set_mode(ON_N1("web", "2"), "n1", ARGOSY__NODE_MODE__MODE_OPEN);
        assert_never_beside("web.service", ON_N1("web", "2"), ON_N1("late", "2"));
}

#define EVERYWHERE(image, subnet) \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n" GLOBAL NETWORK(subnet)

// The update is of a unit that runs on every node, and has no place of its own there.
static void who_waits_does_not_come_beside_those_who_share_a_network_that_changes(void **state) {
        rig_host_set_labels(&g, 1, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", EVERYWHERE("web", "1"));
        (void) rig_change(&g, START, "app.service", ON_N1("app", "1"));
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_change(&g, START, "late.service", ON_N1("late", "1"));
        update_web_and_set_mode(EVERYWHERE("web", "2"), "n1", ARGOSY__NODE_MODE__MODE_OPEN);
        assert_never_beside("app.service", ON_N1("app", "2"), ON_N1("late", "2"));
}

static void a_network_does_not_change_as_somebody_moves_to_the_former_one(void **state) {
        for (uint32_t i = 1; i <= 2; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", ON_N1("web", "1"));
        (void) rig_change(&g, START, "late.service", SHARER("late", "1"));
        assert_int_equal(rig_host_of(&g, "late.service"), 2);
        update_web_and_set_mode(ON_N1("web", "2"), "n2", ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_never_beside("web.service", ON_N1("web", "2"), SHARER("late", "2"));
}

RUN_TESTS(
        RIG_TEST(who_waits_does_not_come_to_the_former_network_as_an_update_changes_it),
        RIG_TEST(who_waits_does_not_come_beside_those_who_share_a_network_that_changes),
        RIG_TEST(a_network_does_not_change_as_somebody_moves_to_the_former_one),
        RIG_TEST(a_network_changes_on_one_node_after_the_other),
        RIG_TEST(a_network_goes_back_with_the_update_that_fails),
        RIG_TEST(who_went_down_with_a_network_starts_again_with_the_former_one),
        RIG_TEST(what_was_down_before_is_not_ordered_to_start_as_a_network_goes_back),
        RIG_TEST(more_sharers_on_a_node_than_an_entry_has_units_get_it_all_the_same),
        RIG_TEST(who_has_a_third_file_keeps_it),
        RIG_TEST(who_comes_to_a_network_by_an_update_leaves_a_node_that_has_another_one),
        RIG_TEST(two_updates_change_two_networks_at_once),
        RIG_TEST(one_update_at_a_time_brings_a_network)
)
