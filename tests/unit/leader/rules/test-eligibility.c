// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Options against hosts: case by case, and at random against a Placement that has the same terms and labels.
#include "test.h"

#include "batch.h"
#include "eligibility.h"
#include "messages.h"
#include "str.h"

enum { N_HOSTS = 12, N_FILES = 400 };

static Argosy__Label labels[] = {
        {PROTOBUF_C_MESSAGE_INIT(&argosy__label__descriptor), (char *) "disk", (char *) "ssd"},
        {PROTOBUF_C_MESSAGE_INIT(&argosy__label__descriptor), (char *) "disk", (char *) "hdd"},
        {PROTOBUF_C_MESSAGE_INIT(&argosy__label__descriptor), (char *) "podman", (char *) "5.4"},
        {PROTOBUF_C_MESSAGE_INIT(&argosy__label__descriptor), (char *) "pool", (char *) "own"},
};

typedef struct Machine {
        Argosy__HostRecord record;
        Argosy__Label *labels[ELEMENTSOF(labels)];
        char name[8], id[33];
} Machine;

// It has the labels whose bits are set.
static void machine_init(Machine *m, unsigned number, unsigned which) {
        argosy__host_record__init(&m->record);
        snprintf(m->name, sizeof m->name, "n%u", number);
        snprintf(m->id, sizeof m->id, "%032x", number);
        m->record.name = m->name;
        m->record.machine_id = m->id;
        m->record.labels = m->labels;
        for (size_t i = 0; i < ELEMENTSOF(labels); i++)
                if (which & 1U << i)
                        m->labels[m->record.n_labels++] = &labels[i];
}

// A pool of one host by name and all that have the label disk=ssd.
static ClusterState *state_with_pool(const char *name, const char *host) {
        ClusterState *s = cluster_state_new();
        _cleanup_(batch_done) Batch b = {0};
        Argosy__Label *wanted = &labels[0];
        Argosy__PoolRecord pool = MESSAGE_OF(pool_record, .name = (char *) name, .hosts = (char **) &host,
                                             .n_hosts = 1, .labels = &wanted, .n_labels = 1);

        batch_op(&b, ARGOSY__LOG_OP__OP_POOL)->pool = &pool;
        assert_int_equal(cluster_state_apply(s, &b.log), 0);
        return s;
}

// NULL: such a file is refused.
static UnitOptions *try_options_of(const char *text) {
        _cleanup_(unit_file_freep) UnitFile *f = NULL;
        UnitOptions *o = NULL;
        _cleanup_free_ char *content = str_printf("[Service]\nExecStart=/bin/true\n[X-Argosy]\n%s", text);

        if (unit_file_parse("a.service", content, strlen(content), &f, NULL) < 0)
                return NULL;
        return unit_file_expand(f, "a.service", "a.service", &o, NULL) < 0 ? NULL : o;
}

static UnitOptions *options_of(const char *text) {
        UnitOptions *o = try_options_of(text);

        assert_non_null(o);
        return o;
}

static bool admits(const ClusterState *s, const Machine *m, const char *manager, const char *text) {
        UnitOptions *o = options_of(text);
        bool yes = eligibility_admits(s, &m->record, manager, o);

        unit_options_unref(o);
        return yes;
}

static void nobody_gets_units_that_did_not_ask_for_him(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = state_with_pool("gold", "n1");
        const char *all = "Manager=*\n", *users = "Manager=user@* container@db\n";
        Machine m = {};

        machine_init(&m, 1, 0);
        assert_true(admits(s, &m, "system", ""));
        assert_false(admits(s, &m, "user@1000", ""));
        assert_false(admits(s, &m, "container@web", ""));
        assert_true(admits(s, &m, "system", all));
        assert_true(admits(s, &m, "user@1000", all));
        assert_false(admits(s, &m, "system", users));
        assert_true(admits(s, &m, "user@1000", users));
        assert_true(admits(s, &m, "container@db", users));
        assert_false(admits(s, &m, "container@web", users));
}

static void a_host_is_known_by_name_or_id_and_a_pool_by_who_is_in_it(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = state_with_pool("gold", "n1");
        Machine one = {}, two = {};

        machine_init(&one, 1, 0);
        machine_init(&two, 2, 1 << 1);
        assert_true(admits(s, &one, "system", "Host=n3 N1\n"));
        assert_false(admits(s, &two, "system", "Host=n3 n1\n"));
        assert_true(admits(s, &two, "system", "Host=00000000000000000000000000000002\n"));
        assert_true(admits(s, &two, "system", "MachineID=00000000000000000000000000000002\n"));
        assert_false(admits(s, &one, "system", "MachineID=00000000000000000000000000000002\n"));
        assert_true(admits(s, &one, "system", "Pool=gold\n"));
        assert_false(admits(s, &two, "system", "Pool=gold\n"));
        assert_true(admits(s, &two, "system", "RequireLabel=disk!=ssd\n"));
        assert_true(admits(s, &one, "system", "RequireLabel=disk!=ssd !disk\n"));
        assert_false(admits(s, &two, "system", "RequireLabel=disk=ssd|nvme\n"));
}

static void the_first_term_that_is_not_met_says_why(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = state_with_pool("gold", "n1");
        UnitOptions *o = options_of("Host=n1\nRequireLabel=podman disk\n");
        EligibilityTerms terms;
        Machine m = {};

        machine_init(&m, 1, 1);
        eligibility_terms(o, &terms);
        assert_string_equal(
                eligibility_unmet(&terms, &(NodeLabels){.state = s, .host = &m.record, .manager = "system"})
                        ->reason,
                "no Quadlet here: that takes podman 5.0 or newer");
        assert_string_equal(
                eligibility_unmet(&terms, &(NodeLabels){.state = s, .host = &m.record, .manager = "user@7"})
                        ->reason,
                "only units that ask for it by Manager= run in this manager");
        unit_options_unref(o);
}

// -------------------------------------------------------------------------------------------- the Placement

static void add_node(Placement *p, const ClusterState *s, const Machine *m, const char *manager) {
        NodeLabels walk = {.state = s, .host = &m->record, .manager = manager};
        PlacementLabel found[32];
        PlacementVector offers = {};
        uint32_t host, node;
        size_t n = 0;

        assert_true(node_labels_max(&walk) < ELEMENTSOF(found));
        while (node_labels_next(&walk, &found[n]))
                n++;
        placement_host_add(p, &offers, PLACEMENT_SIZE_ONE, &host);
        placement_node_add(p, host, found, n, &node);
}

static bool placement_admits(const ClusterState *s, const Machine *m, const char *manager,
                             const EligibilityTerms *terms) {
        Placement *p = placement_new();
        PlacementSpec spec = {.terms = terms->of, .n_terms = terms->n};
        uint32_t class;

        add_node(p, s, m, manager);
        assert_int_equal(placement_class_get(p, &spec, &class), 0);
        bool yes = placement_class_possible(p, class);
        placement_free(p);
        return yes;
}

// Some of these lines, each with a chance of a quarter.
static void random_file(unsigned *seed, char *to, size_t size) {
        static const char *const lines[] = {
                "Host=n1 n2 n3 n4 n5\n",
                "MachineID=00000000000000000000000000000004\n",
                "Manager=user@*\n",
                "Manager=system\n",
                "Pool=gold\n",
                "RequireLabel=pool!=gold\n",
                "RequireLabel=pool\n",
                "RequireLabel=disk\n",
                "RequireLabel=disk=ssd|nvme\n",
                "RequireLabel=disk!=hdd\n",
                "RequireLabel=!podman\n",
                "MachineMetadata=podman=5.4\n",
        };

        *to = 0;
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                if (rand_r(seed) % 4 == 0)
                        strncat(to, lines[i], size - strlen(to) - 1);
}

static void it_says_what_the_placement_says(void **state) {
        static const char *const managers[] = {"system", "user@1000"};
        _cleanup_(cluster_state_freep) ClusterState *s = state_with_pool("gold", "n1");
        unsigned seed = 1, n_judged = 0, n_admitted = 0;

        for (unsigned i = 0; i < N_FILES; i++) {
                const char *manager = managers[rand_r(&seed) % ELEMENTSOF(managers)];
                EligibilityTerms terms;
                char text[512];
                Machine m = {};

                random_file(&seed, text, sizeof text);
                machine_init(&m, 1 + (unsigned) rand_r(&seed) % N_HOSTS,
                             (unsigned) rand_r(&seed) % (1U << ELEMENTSOF(labels)));
                UnitOptions *o = try_options_of(text);
                if (!o)
                        continue;
                n_judged++;
                eligibility_terms(o, &terms);
                bool yes = eligibility_admits(s, &m.record, manager, o);
                if (yes != placement_admits(s, &m, manager, &terms))
                        fail_msg("%s with %zu labels, %s:\n%s", m.name, m.record.n_labels, manager, text);
                n_admitted += yes;
                unit_options_unref(o);
        }
        assert_in_range(n_judged, N_FILES / 4, N_FILES);
        assert_in_range(n_admitted, n_judged / 20, n_judged / 2);
}

RUN_TESTS(
        cmocka_unit_test(nobody_gets_units_that_did_not_ask_for_him),
        cmocka_unit_test(a_host_is_known_by_name_or_id_and_a_pool_by_who_is_in_it),
        cmocka_unit_test(the_first_term_that_is_not_met_says_why),
        cmocka_unit_test(it_says_what_the_placement_says)
)
