// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "scheduler.h"
#include "str.h"

enum { HOSTS_MAX = 16 };

// A cluster of one-node hosts, described in a line each.
typedef struct Cluster {
        SchedulerNode nodes[HOSTS_MAX];
        Argosy__HostRecord hosts[HOSTS_MAX];
        Argosy__Label labels[HOSTS_MAX][2], *label_pointers[HOSTS_MAX][2];
        size_t n;
} Cluster;

static SchedulerNode *add(Cluster *c, uint32_t node, size_t n_units) {
        Argosy__HostRecord *host = &c->hosts[c->n];
        SchedulerNode *n = &c->nodes[c->n++];

        argosy__host_record__init(host);
        *n = (SchedulerNode){.node = node, .host = host, .manager = "system", .n_units = n_units};
        return n;
}

static SchedulerNode *label(Cluster *c, SchedulerNode *node, const char *key, const char *value) {
        size_t i = (size_t) (node - c->nodes);
        Argosy__Label *l = &c->labels[i][c->hosts[i].n_labels];

        argosy__label__init(l);
        l->key = (char *) key;
        l->value = (char *) value;
        c->label_pointers[i][c->hosts[i].n_labels++] = l;
        c->hosts[i].labels = c->label_pointers[i];
        return node;
}

static UnitOptions *options(const char *lines) {
        _cleanup_free_ char *text = str_printf("[X-Argosy]\n%s\n", lines), *why = NULL;
        UnitOptions *o = NULL;
        UnitFile *f = NULL;

        if (unit_file_parse("x.service", text, strlen(text), &f, &why) < 0)
                fail_msg("%s", why);
        assert_int_equal(unit_file_expand(f, "x.service", "x.service", &o, NULL), 0);
        unit_file_free(f);
        return o;
}

static Scheduler *schedule(Cluster *c, SchedulerForeign foreign, void *userdata) {
        Scheduler *s = NULL;

        assert_int_equal(scheduler_new(c->nodes, c->n, foreign, userdata, &s), 0);
        return s;
}

// The node, or minus the outcome.
static int place(Scheduler *s, const char *unit, const char *lines) {
        _cleanup_(unit_options_unrefp) UnitOptions *o = options(lines);
        uint32_t node = 0;
        int r = scheduler_place(s, unit, o, &node);

        assert_true(r >= 0);
        return r > 0 ? -r : (int) node;
}

// "node: reason" of each refusal, joined by "; ".
static char *explain(Scheduler *s, const char *unit, const char *lines) {
        _cleanup_(unit_options_unrefp) UnitOptions *o = options(lines);
        SchedulerRefusal *refusals;
        char *text = strdup("");
        size_t n;

        assert_int_equal(scheduler_explain(s, unit, o, &refusals, &n), 0);
        for (size_t i = 0; i < n; i++) {
                char *longer = str_printf("%s%s%u: %s", text, i > 0 ? "; " : "", refusals[i].node,
                                          refusals[i].reason);

                free(text);
                text = longer;
        }
        scheduler_refusals_free(refusals, n);
        return text;
}

static void a_unit_goes_where_the_fewest_are(void **state) {
        Cluster c = {0};

        add(&c, 1, 7);
        add(&c, 2, 3);
        add(&c, 3, 5);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", ""), 2);
}

static void among_equals_the_lowest_number_wins(void **state) {
        Cluster c = {0};

        add(&c, 9, 3); // also when they come in another order
        add(&c, 4, 3);
        add(&c, 6, 3);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", ""), 4);
        assert_int_equal(place(s, "b.service", ""), 6);
        assert_int_equal(place(s, "c.service", ""), 9);
        assert_int_equal(place(s, "d.service", ""), 4);
}

static void what_is_placed_counts_at_once_for_all_kinds_of_units(void **state) {
        Cluster c = {0};

        label(&c, add(&c, 1, 0), "disk", "ssd");
        label(&c, add(&c, 2, 2), "disk", "ssd");
        add(&c, 3, 1);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", ""), 1);
        assert_int_equal(place(s, "b.service", "MachineMetadata=disk=ssd"), 1);
        assert_int_equal(place(s, "c.service", ""), 3);
        assert_int_equal(place(s, "d.service", "MachineMetadata=disk=ssd"), 1);
        assert_int_equal(place(s, "e.service", ""), 2);
        assert_int_equal(place(s, "f.service", ""), 3);
}

static void a_lower_rank_is_taken_first(void **state) {
        Cluster c = {0};

        add(&c, 1, 0)->rank = 1;
        add(&c, 2, 100);
        add(&c, 3, 0)->refusal = "no";
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", ""), 2);
        assert_int_equal(place(s, "b.service", ""), 2);
}

static void a_pinned_unit_runs_on_that_machine_only(void **state) {
        Cluster c = {0};

        add(&c, 1, 0);
        add(&c, 2, 90);
        c.hosts[0].machine_id = (char *) "11111111111111111111111111111111";
        c.hosts[1].machine_id = (char *) "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);
        _cleanup_free_ char *why = explain(s, "a.service", "MachineID=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");

        assert_int_equal(place(s, "a.service", "MachineID=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), 2);
        assert_int_equal(place(s, "b.service", "MachineID=00000000000000000000000000000000"),
                         -SCHEDULER_NEVER);
        assert_string_equal(why, "1: MachineID= names another machine");
}

static void any_value_of_a_key_and_all_keys_must_match(void **state) {
        Cluster c = {0};
        SchedulerNode *n;

        label(&c, add(&c, 1, 0), "region", "eu");
        n = label(&c, add(&c, 2, 50), "region", "us");
        label(&c, n, "disk", "ssd");
        label(&c, add(&c, 3, 0), "disk", "ssd");
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", "MachineMetadata=region=us region=eu"), 1);
        assert_int_equal(place(s, "b.service", "MachineMetadata=region=us region=eu disk=ssd"), 2);
        assert_int_equal(place(s, "c.service", "MachineMetadata=region=asia"), -SCHEDULER_NEVER);
        assert_int_equal(place(s, "d.service", "MachineMetadata=rack=1"), -SCHEDULER_NEVER);
}

static void a_host_may_have_several_values_of_a_key(void **state) {
        Cluster c = {0};
        SchedulerNode *n = label(&c, add(&c, 1, 0), "role", "web");

        label(&c, n, "role", "db");
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);
        _cleanup_free_ char *why = explain(s, "b.service", "MachineMetadata=role=mail");

        assert_int_equal(place(s, "a.service", "MachineMetadata=role=db"), 1);
        assert_string_equal(why, "1: needs label role=mail, has role=web and role=db");
}

static void a_node_that_takes_nothing_now_is_passed_over(void **state) {
        Cluster c = {0};

        add(&c, 1, 0)->refusal = "the node is lost";
        add(&c, 2, 10);
        add(&c, 3, 0)->vacating = true;
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", ""), 2);
}

static void no_node_now_is_told_from_no_node_ever(void **state) {
        Cluster c = {0};
        SchedulerNode *n = label(&c, add(&c, 1, 0), "disk", "ssd");

        n->refusal = "the node is lost";
        add(&c, 2, 0);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);

        assert_int_equal(place(s, "a.service", "MachineMetadata=disk=ssd"), -SCHEDULER_LATER);
        assert_int_equal(place(s, "a.service", "MachineMetadata=disk=hdd"), -SCHEDULER_NEVER);
}

static void an_empty_cluster_takes_nothing(void **state) {
        Cluster c = {0};
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, NULL, NULL);
        _cleanup_free_ char *why = explain(s, "a.service", "");

        assert_int_equal(place(s, "a.service", ""), -SCHEDULER_NEVER);
        assert_string_equal(why, "");
}

static const char *belongs_to_others_on_1_and_2(const char *unit, uint32_t node, void *userdata) {
        ++*(int *) userdata;
        return node <= 2 && streq(unit, "sshd.service") ? "sshd.service belongs to the system" : NULL;
}

static void a_name_that_belongs_to_somebody_else_keeps_its_node_for_other_units(void **state) {
        Cluster c = {0};
        int asked = 0;

        add(&c, 1, 0);
        add(&c, 2, 1);
        add(&c, 3, 9);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, belongs_to_others_on_1_and_2, &asked);

        assert_int_equal(place(s, "sshd.service", ""), 3);
        assert_int_equal(place(s, "web.service", ""), 1);
        assert_int_equal(place(s, "sshd.service", ""), 3);
        assert_int_equal(place(s, "web.service", ""), 1);
        assert_int_equal(asked, 3 + 1 + 3 + 1); // only about nodes that were about to be taken
}

static void a_name_taken_everywhere_may_become_free(void **state) {
        Cluster c = {0};
        int asked = 0;

        add(&c, 1, 0);
        add(&c, 2, 0);
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, belongs_to_others_on_1_and_2, &asked);

        assert_int_equal(place(s, "sshd.service", ""), -SCHEDULER_LATER);
        assert_int_equal(place(s, "web.service", ""), 1);
        assert_int_equal(place(s, "web.service", ""), 2);
}

static void every_refusal_says_why(void **state) {
        Cluster c = {0};
        int asked = 0;

        label(&c, add(&c, 1, 0), "disk", "ssd");
        label(&c, add(&c, 3, 0), "disk", "hdd");
        add(&c, 4, 0);
        label(&c, add(&c, 5, 0), "disk", "nvme")->refusal = "the node is lost";
        label(&c, add(&c, 6, 0), "disk", "ssd")->vacating = true;
        label(&c, add(&c, 7, 0), "disk", "ssd");
        add(&c, 8, 0)->refusal = "the node is lost"; // but also does not match: that will not pass
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, belongs_to_others_on_1_and_2, &asked);
        _cleanup_free_ char *why = explain(s, "sshd.service", "MachineMetadata=disk=nvme disk=ssd");

        assert_string_equal(why, "1: sshd.service belongs to the system; "
                                 "3: needs label disk=nvme or ssd, has disk=hdd; "
                                 "4: needs label disk=nvme or ssd, has no label disk; "
                                 "5: the node is lost; "
                                 "6: the node is leaving; "
                                 "8: needs label disk=nvme or ssd, has no label disk");
}

static void a_global_unit_runs_on_every_node_that_fits_also_when_that_is_away(void **state) {
        _cleanup_(unit_options_unrefp) UnitOptions *all = options("Global=yes"),
                                                   *ssd = options("Global=yes\nMachineMetadata=disk=ssd"),
                                                   *none = options("Global=yes\nMachineMetadata=disk=tape");
        uint32_t *nodes = NULL;
        int asked = 0;
        Cluster c = {0};
        size_t n = 0;

        add(&c, 5, 0)->refusal = "the node is lost";
        label(&c, add(&c, 1, 0), "disk", "ssd");
        add(&c, 4, 0)->vacating = true;
        label(&c, add(&c, 3, 0), "disk", "ssd");
        _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, belongs_to_others_on_1_and_2, &asked);

        assert_int_equal(scheduler_global(s, "agent.service", all, &nodes, &n), 0);
        assert_int_equal(n, 3);
        assert_true(nodes[0] == 1 && nodes[1] == 3 && nodes[2] == 5);
        free(nodes);
        assert_int_equal(scheduler_global(s, "sshd.service", ssd, &nodes, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(nodes[0], 3);
        free(nodes);
        assert_int_equal(scheduler_global(s, "agent.service", none, &nodes, &n), 0);
        assert_int_equal(n, 0);
        assert_null(nodes);

        assert_true(scheduler_wants_global(s, "agent.service", all, 5));
        assert_false(scheduler_wants_global(s, "agent.service", all, 4));
        assert_false(scheduler_wants_global(s, "agent.service", ssd, 5));
        assert_false(scheduler_wants_global(s, "sshd.service", all, 1));
        assert_false(scheduler_wants_global(s, "agent.service", all, 99));
}

// ------------------------------------------------------------------------------------------------ against
// brute force

static uint64_t next(uint64_t *seed) { // xorshift64
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        return *seed ^= *seed << 17;
}

static const char *sometimes(const char *unit, uint32_t node, void *userdata) {
        return ((unsigned) unit[0] * 31 + node * 17) % 5 == 0 ? "taken" : NULL;
}

// What the rules say, read off the page.
static int expected(const Cluster *c, const size_t *counts, const char *unit, const UnitOptions *o) {
        int best = -SCHEDULER_NEVER;
        size_t best_i = 0;

        for (size_t i = 0; i < c->n; i++) {
                const SchedulerNode *n = &c->nodes[i], *b = &c->nodes[best_i];

                if (!scheduler_admits(n->host, n->manager, o))
                        continue;
                if (best == -SCHEDULER_NEVER)
                        best = -SCHEDULER_LATER;
                if (n->refusal || n->vacating || sometimes(unit, n->node, NULL))
                        continue;
                if (best < 0 || n->rank < b->rank || (n->rank == b->rank && counts[i] < counts[best_i]) ||
                    (n->rank == b->rank && counts[i] == counts[best_i] && n->node < b->node)) {
                        best = (int) n->node;
                        best_i = i;
                }
        }
        return best;
}

static void random_cluster(Cluster *c, uint64_t *seed) {
        static const char *const values[] = {"a", "b", "c"};
        size_t n = next(seed) % (HOSTS_MAX + 1);
        uint32_t number = (uint32_t) (n * 3 + 1);

        *c = (Cluster){0};
        for (size_t i = 0; i < n; i++) {
                SchedulerNode *node = add(c, number, next(seed) % 6);

                number -= 1 + next(seed) % 3;
                node->rank = next(seed) % 4 == 0;
                node->refusal = next(seed) % 5 == 0 ? "no" : NULL;
                node->vacating = next(seed) % 9 == 0;
                if (next(seed) % 2)
                        label(c, node, "k", values[next(seed) % 3]);
                if (next(seed) % 2)
                        label(c, node, "l", values[next(seed) % 3]);
        }
}

static void the_answer_is_that_of_brute_force(void **state) {
        static const char *const demands[] = {"", "MachineMetadata=k=a", "MachineMetadata=k=a k=b",
                                              "MachineMetadata=k=c l=a", "MachineMetadata=l=b l=c"};
        UnitOptions *o[ELEMENTSOF(demands)];
        uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

        for (size_t i = 0; i < ELEMENTSOF(demands); i++)
                o[i] = options(demands[i]);
        for (int round = 0; round < 400; round++) {
                size_t counts[HOSTS_MAX];
                Cluster c;

                random_cluster(&c, &seed);
                for (size_t i = 0; i < c.n; i++)
                        counts[i] = c.nodes[i].n_units;
                _cleanup_(scheduler_freep) Scheduler *s = schedule(&c, sometimes, NULL);

                for (int k = 0; k < 60; k++) {
                        char unit[] = {(char) ('a' + next(&seed) % 26), 0};
                        const UnitOptions *wanted = o[next(&seed) % ELEMENTSOF(o)];
                        int should = expected(&c, counts, unit, wanted), r;
                        uint32_t node = 0;

                        r = scheduler_place(s, unit, wanted, &node);
                        assert_int_equal(r == SCHEDULER_PLACED ? (int) node : -r, should);
                        for (size_t i = 0; i < c.n; i++)
                                counts[i] += r == SCHEDULER_PLACED && c.nodes[i].node == node;
                }
        }
        for (size_t i = 0; i < ELEMENTSOF(demands); i++)
                unit_options_unref(o[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_unit_goes_where_the_fewest_are),
                cmocka_unit_test(among_equals_the_lowest_number_wins),
                cmocka_unit_test(what_is_placed_counts_at_once_for_all_kinds_of_units),
                cmocka_unit_test(a_lower_rank_is_taken_first),
                cmocka_unit_test(a_pinned_unit_runs_on_that_machine_only),
                cmocka_unit_test(any_value_of_a_key_and_all_keys_must_match),
                cmocka_unit_test(a_host_may_have_several_values_of_a_key),
                cmocka_unit_test(a_node_that_takes_nothing_now_is_passed_over),
                cmocka_unit_test(no_node_now_is_told_from_no_node_ever),
                cmocka_unit_test(an_empty_cluster_takes_nothing),
                cmocka_unit_test(a_name_that_belongs_to_somebody_else_keeps_its_node_for_other_units),
                cmocka_unit_test(a_name_taken_everywhere_may_become_free),
                cmocka_unit_test(every_refusal_says_why),
                cmocka_unit_test(a_global_unit_runs_on_every_node_that_fits_also_when_that_is_away),
                cmocka_unit_test(the_answer_is_that_of_brute_force),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
