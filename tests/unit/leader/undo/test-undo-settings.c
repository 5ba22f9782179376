// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a job changed besides units is put back, too: labels, what nodes are to do, roles, pools, rules of
// the queue; and that can be undone itself. Who may not change them cannot undo it either.
#include <errno.h>
#include <inttypes.h>

#include "cluster-setting.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"
#include "random-numbers.h"

#define OF_WEB "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRole=web\n"

enum { TEXT_MAX = 8192 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 4);
        g.author = NULL;
}

RIG_TEARDOWN

// ------------------------------------------------------------------------------------------------ asking

static uint64_t job_of(RigAnswer *a) {
        assert_final(a, 0);
        return rig_last(a)->job;
}

static uint64_t label(const char *node, const char *key, const char *value) {
        return job_of(rig_label(&g, node, key, value));
}

typedef struct Role {
        const char *name, *resource; // of the limit; NULL: none
        uint32_t weight;
        uint64_t limit;
        bool remove;
} Role;

static uint64_t role(Role w) {
        Argosy__Amount limit = MESSAGE_OF(amount, .resource = (char *) w.resource), *limits = &limit;

        limit.amount = w.limit;
        Argosy__Request__RoleChange change =
                MESSAGE_OF(request__role_change, .name = (char *) w.name, .weight = w.weight,
                           .remove = w.remove, .limit = &limits, .n_limit = w.resource ? 1 : 0);
        return job_of(rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &change)));
}

static uint64_t pool(const char *name, const char *host) {
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) name, .hosts = (char **) &host,
                           .n_hosts = host ? 1 : 0, .remove = !host);

        return job_of(rig_ask_and_settle(&g, A_REQUEST(POOL_CHANGE, pool_change, &change)));
}

static uint64_t change_queue(Argosy__Request__QueueChange change, const char *reason) {
        Argosy__Request__Job job = MESSAGE_OF(request__job, .reason = (char *) reason);

        return job_of(rig_ask_and_settle(&g, A_REQUEST(QUEUE_CHANGE, queue_change, &change, .job = &job)));
}

static uint64_t add_rule(const char *verb) {
        Argosy__QueueRule rule =
                QUEUE_RULE_OF(.action = ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT, .verb = (char *) verb);
        Argosy__Request__QueueChange change = MESSAGE_OF(request__queue_change, .add = &rule);

        return change_queue(change, "");
}

static uint64_t delete_rule(uint32_t number) {
        Argosy__Request__QueueChange change = MESSAGE_OF(request__queue_change, .remove = number);

        return change_queue(change, "");
}

static uint64_t close_queue(const char *reason) {
        Argosy__Request__QueueChange change = MESSAGE_OF(request__queue_change, .close = true);

        return change_queue(change, reason);
}

// The new job.
static uint64_t undone(uint64_t job) {
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});

        if (r->status != 0)
                fail_msg("%s", r->message);
        assert_int_equal(r->job, rig_last_job(&g));
        return r->job;
}

static const Argosy__Response__UnitResult *said_of(const Argosy__Response *r, const char *name) {
        assert_int_equal(r->status, 0);
        for (size_t i = 0; i < r->change->n_units; i++)
                if (streq(r->change->units[i]->name, name)) {
                        assert_true(r->change->units[i]->setting);
                        return r->change->units[i];
                }
        fail_msg("nothing is said of %s", name);
        return NULL;
}

// -------------------------------------------------------------------------------------------- what there is

// NULL: it has none of that key.
static const char *label_of(uint32_t host, const char *key) {
        const Argosy__HostRecord *record = cluster_state_find_host(g.state, host);

        for (size_t i = 0; i < record->n_labels; i++)
                if (streq(record->labels[i]->key, key))
                        return record->labels[i]->value;
        return NULL;
}

static const Argosy__NodeRecord *node_of(uint32_t host) {
        return cluster_state_find_host(g.state, host)->nodes[0];
}

static void assert_rules(const char *verbs) {
        const Argosy__QueueRecord *queue = cluster_state_queue(g.state);
        char now[256] = "";

        for (size_t i = 0; i < queue->n_rules; i++) {
                strcat(now, i ? " " : "");
                strcat(now, queue->rules[i]->verb);
        }
        assert_string_equal(now, verbs);
}

// --------------------------------------------------------------------------------------------- each of them

static void a_label_is_as_it_was(void **state) {
        uint64_t job = undone(label("n2", "disk", "ssd"));

        assert_null(label_of(2, "disk"));
        (void) undone(job);
        assert_string_equal(label_of(2, "disk"), "ssd");
        (void) undone(label("n2", "disk", "nvme"));
        assert_string_equal(label_of(2, "disk"), "ssd");
        job = undone(label("n2", "disk", NULL));
        assert_string_equal(label_of(2, "disk"), "ssd");
        assert_string_equal(rig_show_job(&g, job)->verb, "undo");
        assert_string_equal(rig_show_job(&g, job)->settings[0]->setting, "label disk of n2");
        assert_string_equal(rig_show_job(&g, job)->settings[0]->before, "");
        assert_string_equal(rig_show_job(&g, job)->settings[0]->after, "ssd");
}

static void what_another_job_labelled_beside_it_stays(void **state) {
        uint64_t job = label("n2", "disk", "ssd");

        (void) label("n2", "rack", "4");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) undone(job);
        assert_null(label_of(2, "disk"));
        assert_string_equal(label_of(2, "rack"), "4");
        assert_int_equal(node_of(2)->mode, ARGOSY__NODE_MODE__MODE_CORDONED);
}

static void nodes_are_open_or_closed_as_they_were(void **state) {
        static const char *const nodes[] = {"n2", "n3"};

        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "old disks");
        uint64_t job = job_of(rig_set_modes(&g, nodes, 2, ARGOSY__NODE_MODE__MODE_DRAINING));
        assert_int_equal(rig_show_job(&g, job)->n_settings, 2);
        job = undone(job);
        assert_int_equal(node_of(2)->mode, ARGOSY__NODE_MODE__MODE_OPEN);
        assert_int_equal(node_of(3)->mode, ARGOSY__NODE_MODE__MODE_CORDONED);
        assert_string_equal(node_of(3)->mode_reason, "old disks");
        (void) undone(job);
        assert_int_equal(node_of(2)->mode, ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_int_equal(node_of(3)->mode, ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_string_equal(node_of(3)->mode_reason, "");
}

// It would stop at once what nobody has been asked about.
static void a_time_that_is_over_is_not_put_back(void **state) {
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 60, "");
        assert_true(node_of(2)->mode_deadline_us > 0);
        uint64_t job = job_of(rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, ""));
        job = undone(job);
        assert_true(node_of(2)->mode_deadline_us > 0); // there is time left
        job = undone(job);
        rig_age(&g, 61 * USEC_PER_SEC);
        (void) undone(job);
        assert_int_equal(node_of(2)->mode, ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_int_equal(node_of(2)->mode_deadline_us, 0);
}

static void a_role_is_as_it_was(void **state) {
        uint64_t job = undone(role((Role){.name = "web", .weight = 3, .resource = "slot", .limit = 5}));

        assert_null(cluster_state_find_role(g.state, "web"));
        (void) undone(job);
        (void) role((Role){.name = "web", .resource = "gpu", .limit = 1});
        (void) undone(role((Role){.name = "web", .weight = 7, .resource = "slot", .limit = 9}));
        const Argosy__RoleRecord *web = cluster_state_find_role(g.state, "web");
        assert_int_equal(web->weight, 3);
        assert_int_equal(web->n_limit, 2);
        job = role((Role){.name = "web", .remove = true});
        (void) undone(job);
        assert_int_equal(cluster_state_find_role(g.state, "web")->weight, 3);
}

// The same amounts in another order are the same.
static void the_order_of_amounts_is_no_change(void **state) {
        (void) role((Role){.name = "web", .weight = 1, .resource = "slot", .limit = 5});
        (void) role((Role){.name = "web", .resource = "gpu", .limit = 1});
        uint64_t job = role((Role){.name = "web", .weight = 9});
        (void) role((Role){.name = "web", .resource = "slot", .limit = 6});
        (void) role((Role){.name = "web", .resource = "slot", .limit = 5});
        (void) undone(job);
        assert_int_equal(cluster_state_find_role(g.state, "web")->weight, 1);
}

static void a_role_that_units_are_of_stays(void **state) {
        uint64_t job = role((Role){.name = "web", .weight = 3});

        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, "a.service", OF_WEB)->status, 0);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_replies(r, EEXIST, "role web cannot be put back (1 unit is of it)");
        r = rig_undo(&g, (RigUndo){job, .force = true});
        assert_int_equal(said_of(r, "role web")->status, EEXIST);
        assert_non_null(cluster_state_find_role(g.state, "web"));
}

static void a_pool_is_as_it_was(void **state) {
        uint64_t job = undone(pool("ssd", "n1"));

        assert_null(cluster_state_find_pool(g.state, "ssd"));
        (void) undone(job);
        (void) undone(pool("ssd", "n2"));
        assert_string_equal(cluster_state_find_pool(g.state, "ssd")->hosts[0], "n1");
        (void) undone(pool("ssd", NULL));
        assert_string_equal(cluster_state_find_pool(g.state, "ssd")->hosts[0], "n1");
}

static void a_rule_comes_to_its_place_again(void **state) {
        (void) undone(add_rule("start"));
        assert_rules("");
        (void) add_rule("stop");
        (void) add_rule("load");
        (void) add_rule("update");
        uint64_t first = delete_rule(2);
        uint64_t second = delete_rule(3);
        assert_rules("update");
        (void) undone(second);
        assert_rules("load update");
        uint64_t job = undone(first);
        assert_rules("stop load update");
        assert_int_equal(cluster_state_queue(g.state)->rules[0]->number,
                         2); // as whoever has seen it knows it
        (void) undone(job);
        assert_rules("load update");
        (void) add_rule("drain");
        assert_int_equal(cluster_state_queue(g.state)->rules[2]->number, 5); // no number is given twice
}

// Else it would wait for what it is to end.
static void a_queue_that_was_closed_opens_again(void **state) {
        uint64_t job = undone(close_queue("moving racks"));

        assert_false(cluster_state_queue(g.state)->closed);
        (void) undone(job);
        assert_true(cluster_state_queue(g.state)->closed);
        assert_string_equal(cluster_state_queue(g.state)->reason, "moving racks");
}

// --------------------------------------------------------------------------------------- what is in the way

static void what_a_later_job_changed_is_named(void **state) {
        char text[64];

        (void) label("n2", "disk", "hdd");
        uint64_t job = label("n2", "disk", "ssd");
        uint64_t later = label("n2", "disk", "nvme");
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_int_equal(r->status, EEXIST);
        snprintf(text, sizeof(text),
                 "label disk of n2 was changed since by job %" PRIu64 " (label, root@n1)", later);
        assert_non_null(strstr(r->message, text));
        assert_string_equal(label_of(2, "disk"), "nvme");

        r = rig_undo(&g, (RigUndo){job, .only_untouched = true});
        assert_non_null(strstr(said_of(r, "label disk of n2")->message, "stays as it is"));
        assert_string_equal(label_of(2, "disk"), "nvme");
        assert_int_equal(rig_last_job(&g), later);

        r = rig_undo(&g, (RigUndo){job, .force = true});
        assert_int_equal(said_of(r, "label disk of n2")->status, 0);
        assert_string_equal(label_of(2, "disk"), "hdd");
        r = rig_undo(&g, (RigUndo){job});
        assert_string_equal(said_of(r, "label disk of n2")->message, "it is as it was before already");
}

// Of what it has put back otherwise than of what it has left.
static void what_became_of_each_is_said_again_as_it_was(void **state) {
        static const char *const nodes[] = {"n1", "n2", "n3"};
        uint64_t job = job_of(rig_set_modes(&g, nodes, 3, ARGOSY__NODE_MODE__MODE_CORDONED));

        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .only_untouched = true, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_non_null(strstr(said_of(r, "node n2")->message, "stays as it is"));
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0);
        r = rig_undo(&g, (RigUndo){job, .only_untouched = true, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_string_equal(said_of(r, "node n1")->message, "it is as it was before already");
        assert_non_null(strstr(said_of(r, "node n2")->message, "was changed since by job"));
        assert_string_equal(said_of(r, "node n3")->message,
                            "it was put back, and somebody has changed it again since");
}

static void a_plan_says_it_and_does_nothing(void **state) {
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "old disks");
        uint64_t job = job_of(rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, ""));
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .preview = true});
        assert_string_equal(said_of(r, "node n2")->message, "is cordoned (old disks) again");
        r = rig_undo(&g, (RigUndo){label("n2", "disk", "ssd"), .preview = true});
        assert_string_equal(said_of(r, "label disk of n2")->message, "is taken back");
        assert_int_equal(r->job, 0);
        assert_int_equal(node_of(2)->mode, ARGOSY__NODE_MODE__MODE_OPEN);
}

static void a_host_that_is_gone_is_in_nobodys_way(void **state) {
        Argosy__Request__ClusterRemove m =
                MESSAGE_OF(request__cluster_remove, .host = (char *) "n4", .force = true);

        (void) label("n4", "disk", "hdd");
        uint64_t job = label("n4", "disk", "ssd");
        uint64_t second = job_of(rig_set_mode(&g, "n4", ARGOSY__NODE_MODE__MODE_CORDONED, 0, ""));
        (void) job_of(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m)));
        const Argosy__Response *r = rig_undo(&g, (RigUndo){rig_last_job(&g)});
        assert_int_equal(r->status, EOPNOTSUPP);
        r = rig_undo(&g, (RigUndo){job, .force = true});
        assert_non_null(strstr(said_of(r, "label disk of n4")->message, "the host is no member any more"));
        r = rig_undo(&g, (RigUndo){second, .force = true});
        assert_non_null(strstr(said_of(r, "node n4")->message, "there is no such node any more"));
}

static void who_may_not_change_it_cannot_undo_it(void **state) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_DEPLOY, .user = (char *) "alice");
        Argosy__Author alice = AUTHOR_OF(.host = 2, .uid = 1000, .user = (char *) "alice");

        (void) job_of(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change)));
        uint64_t job = label("n2", "disk", "ssd");
        g.author = &alice;
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_replies(r, EACCES, "the right 'admin', which alice does not have");
        assert_string_equal(label_of(2, "disk"), "ssd");
}

// ------------------------------------------------------------------------------------------------ at random

static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

// All that can be put back, in an order of its own.
static void digest(char ret[TEXT_MAX]) {
        const Argosy__QueueRecord *queue = cluster_state_queue(g.state);
        char lines[128][64];
        size_t n = 0, n_roles, n_pools;
        Argosy__RoleRecord *const *roles = cluster_state_roles(g.state, &n_roles);
        Argosy__PoolRecord *const *pools = cluster_state_pools(g.state, &n_pools);

        for (uint32_t host = 1; host <= 3; host++) {
                const Argosy__HostRecord *record = cluster_state_find_host(g.state, host);

                for (size_t i = 0; i < record->n_set_labels; i++)
                        snprintf(lines[n++], 64, "%u %s=%s\n", host, record->set_labels[i]->key,
                                 record->set_labels[i]->value);
                snprintf(lines[n++], 64, "%u %d %s\n", host, record->nodes[0]->mode,
                         record->nodes[0]->mode_reason);
        }
        for (size_t i = 0; i < n_roles; i++) {
                snprintf(lines[n++], 64, "role %s %u\n", roles[i]->name, roles[i]->weight);
                for (size_t k = 0; k < roles[i]->n_limit; k++)
                        snprintf(lines[n++], 64, "role %s %s %" PRIu64 "\n", roles[i]->name,
                                 roles[i]->limit[k]->resource, roles[i]->limit[k]->amount);
        }
        for (size_t i = 0; i < n_pools; i++)
                snprintf(lines[n++], 64, "pool %s %s\n", pools[i]->name, pools[i]->hosts[0]);
        for (size_t i = 0; i < queue->n_rules; i++)
                snprintf(lines[n++], 64, "rule %zu %u %s\n", i, queue->rules[i]->number,
                         queue->rules[i]->verb);
        snprintf(lines[n++], 64, "queue %d %s\n", queue->closed, queue->reason);
        qsort(lines, n, sizeof(*lines), compare);
        *ret = 0;
        for (size_t i = 0; i < n; i++)
                strcat(ret, lines[i]);
}

static void random_change(uint64_t *seed) {
        static const char *const values[] = {"a", "b", NULL};
        static const char *const resources[] = {"slot", "gpu", NULL};
        static const char *const nodes[] = {"n1", "n2", "n3"};
        const Argosy__QueueRecord *queue = cluster_state_queue(g.state);
        const char *name = nodes[xorshift64(seed) % 3], *word = values[xorshift64(seed) % 2];

        switch (xorshift64(seed) % 6) {
        case 0:
                (void) label(name, word, values[xorshift64(seed) % 3]);
                break;
        case 1:
                (void) rig_set_mode(&g, name, (Argosy__NodeMode) (xorshift64(seed) % 4), 0, word);
                break;
        case 2:
                if (cluster_state_find_role(g.state, word) && xorshift64(seed) % 3 == 0)
                        (void) role((Role){.name = word, .remove = true});
                else
                        (void) role((Role){.name = word,
                                           .weight = (uint32_t) (xorshift64(seed) % 4),
                                           .resource = resources[xorshift64(seed) % 3],
                                           .limit = 1 + xorshift64(seed) % 3});
                break;
        case 3:
                if (cluster_state_find_pool(g.state, word) && xorshift64(seed) % 3 == 0)
                        (void) pool(word, NULL);
                else
                        (void) pool(word, name);
                break;
        case 4:
                (void) add_rule(word);
                break;
        default:
                if (queue->n_rules > 0)
                        (void) delete_rule(queue->rules[xorshift64(seed) % queue->n_rules]->number);
                break;
        }
}

static void whatever_was_set_is_undone_step_by_step(void **state) {
        enum { STEPS = 50 };
        static char before[STEPS][TEXT_MAX], now[TEXT_MAX];
        uint64_t job[STEPS];

        for (uint64_t seed = 1; seed <= 4; seed++) {
                uint64_t s = seed * 7919;

                for (size_t i = 0; i < STEPS; i++) {
                        uint64_t last = rig_last_job(&g);

                        digest(before[i]);
                        random_change(&s);
                        job[i] = rig_last_job(&g) > last ? rig_last_job(&g) : 0;
                }
                for (size_t i = STEPS; i-- > 0;) {
                        const Argosy__Response *r = job[i] > 0 ? rig_undo(&g, (RigUndo){job[i]}) : NULL;

                        digest(now);
                        if (r && r->status != 0 &&
                            r->status != EOPNOTSUPP) // a label that it had already, for one
                                fail_msg("%s", r->message);
                        assert_string_equal(now, before[i]);
                }
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_label_is_as_it_was),
        TEST(what_another_job_labelled_beside_it_stays),
        TEST(nodes_are_open_or_closed_as_they_were),
        TEST(a_time_that_is_over_is_not_put_back),
        TEST(a_role_is_as_it_was),
        TEST(the_order_of_amounts_is_no_change),
        TEST(a_role_that_units_are_of_stays),
        TEST(a_pool_is_as_it_was),
        TEST(a_rule_comes_to_its_place_again),
        TEST(a_queue_that_was_closed_opens_again),
        TEST(what_a_later_job_changed_is_named),
        TEST(what_became_of_each_is_said_again_as_it_was),
        TEST(a_plan_says_it_and_does_nothing),
        TEST(a_host_that_is_gone_is_in_nobodys_way),
        TEST(who_may_not_change_it_cannot_undo_it),
        TEST(whatever_was_set_is_undone_step_by_step)
)
