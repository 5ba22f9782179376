// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log has no room for is refused to who asks for it, in words, counting what else goes into the
// same entry. All that the leader puts into an entry is carried out: what is refused all the same shows as a
// job that has failed.

#include "leader-asks.h"
#include "leader-rig.h"
#include "printed.h"
#include "test.h"

#include "ca.h"
#include "cluster-state-limits.h"
#include "messages.h"
#include "registry.h"
#include "tables.h"
#include "voter-secrets.h"

#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define START ARGOSY__VERB__VERB_START
#define SERVICE "[Service]\nExecStart=/bin/web\n"
#define SERVICE2 "[Service]\nExecStart=/bin/web2\n"

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
}

static uint64_t n_refused(void) {
        return cluster_state_figures(g.state).state_operations_refused;
}

RIG_TEARDOWN

static RigAnswer *ask(Argosy__Request *request) {
        return rig_ask(&g, request);
}

// Of two in one turn there is room for one.
static void assert_one_of_two(const RigAnswer *a, const RigAnswer *b, const char *words) {
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(b)->status, ENOSPC);
        assert_string_equal(rig_last(b)->message, words);
        assert_int_equal(n_refused(), 0);
}

// ------------------------------------------------------------------------------------------------ units

static void the_last_unit_is_taken_and_the_next_refused(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        cluster_state_set_limit(g.state, REFUSAL_UNITS, 2);
        RigAnswer *a = rig_change_with(&g, START, "b.service", SERVICE, false, NULL);
        RigAnswer *b = rig_change_with_and_settle(&g, START, "c.service", SERVICE, false, NULL);
        assert_int_equal(a->responses[0]->change->units[0]->status, 0);
        const Argosy__Response__UnitResult *r = b->responses[0]->change->units[0];
        assert_int_equal(r->status, ENOSPC);
        assert_string_equal(r->message, "there are as many units as there may be (2)");
        assert_null(rig_record(&g, "c.service"));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);

        assert_int_equal(rig_change_with(&g, START, "a.service", SERVICE2, true, NULL) != NULL,
                         1); // one that is there
        rig_settle(&g);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "b.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, START, "c.service", SERVICE)->status, 0);
        assert_int_equal(n_refused(), 0);
}

static void of_many_units_those_beyond_the_last_are_refused(void **state) {
        unsigned n_taken = 0, n_full = 0;

        cluster_state_set_limit(g.state, REFUSAL_UNITS, 4);
        RigAnswer *a = rig_change_many(&g, START, "u", 10, SERVICE);
        rig_settle(&g);
        const Argosy__Response__Change *c = a->responses[0]->change;
        for (size_t i = 0; i < c->n_units; i++) {
                n_taken += c->units[i]->status == 0;
                n_full += c->units[i]->status == ENOSPC;
        }
        assert_int_equal(n_taken, 4);
        assert_int_equal(n_full, 6);
        assert_int_equal(cluster_state_n_units(g.state), 4);
        assert_int_equal(n_refused(), 0);
}

static void a_plan_says_that_there_is_no_room(void **state) {
        char *name = "a.service";
        uint8_t id[16] = {7};

        cluster_state_set_limit(g.state, REFUSAL_UNITS, 0);
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(id), id}, .verb = START,
                           .names = &name, .n_names = 1, .files = &files, .n_files = 1, .preview = true);
        RigAnswer *a = ask(A_REQUEST(CHANGE, change, &change));
        rig_settle(&g);
        assert_int_equal(a->responses[0]->change->units[0]->status, ENOSPC);
        assert_string_equal(a->responses[0]->change->units[0]->message,
                            "there are as many units as there may be (0)");
}

// --------------------------------------------------------------------------------------------- small tables

static RigAnswer *ask_role(const char *name) {
        Argosy__Request__RoleChange change =
                MESSAGE_OF(request__role_change, .name = (char *) name, .weight = 1);

        return ask(A_REQUEST(ROLE_CHANGE, role_change, &change));
}

static void roles_are_counted_with_those_of_the_entry(void **state) {
        cluster_state_set_limit(g.state, REFUSAL_ROLES, 1);
        RigAnswer *a = ask_role("web");
        RigAnswer *b = ask_role("batch");
        assert_one_of_two(a, b, "there are as many roles as there may be (1): nothing was changed");
}

static RigAnswer *ask_pool(const char *name) {
        char *host = "n1";
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) name, .hosts = &host, .n_hosts = 1);

        return ask(A_REQUEST(POOL_CHANGE, pool_change, &change));
}

static void pools_are_counted_with_those_of_the_entry(void **state) {
        cluster_state_set_limit(g.state, REFUSAL_POOLS, 1);
        RigAnswer *a = ask_pool("east");
        RigAnswer *b = ask_pool("west");
        assert_one_of_two(a, b, "there are as many pools as there may be (1): nothing was changed");
}

static RigAnswer *ask_join_token(void) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;

        return ask(A_REQUEST(CLUSTER_TOKEN, cluster_token, &token));
}

static void join_tokens_are_counted_until_they_expire(void **state) {
        _cleanup_(voter_secrets_done) VoterSecrets secrets = {};
        _cleanup_(ca_done) Ca ca = {};

        assert_int_equal(ca_create(&ca), 0); // by which a token knows the cluster
        rig_give_ca(&g, &ca, &secrets);
        cluster_state_set_limit(g.state, REFUSAL_JOIN_TOKENS, 1);
        RigAnswer *a = ask_join_token();
        RigAnswer *b = ask_join_token();
        assert_one_of_two(a, b,
                          "there are as many join tokens that have not expired as there may be (1): nothing "
                          "was changed");
        g.secrets = NULL;
}

// One that has ended makes room.
static void updates_under_way_are_counted(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        cluster_state_set_limit(g.state, REFUSAL_ROLLOUTS, 1);
        RigAnswer *a = rig_rollout(
                &g, (RigRollout){UPDATE, .name = "a.service", .content = SERVICE2, .health_ms = 5000});
        assert_int_equal(rig_last(a)->status, 0);
        a = rig_rollout(&g, (RigRollout){UPDATE, .name = "b.service", .content = SERVICE2});
        assert_int_equal(rig_last(a)->status, ENOSPC);
        assert_string_equal(
                rig_last(a)->message,
                "there are as many updates and restarts under way as there may be (1): nothing was changed");
        rig_pass_ms(&g, 10000);
        assert_false(rollout_is_under_way(cluster_state_find_rollout(g.state, "a.service")));
        a = rig_rollout(&g, (RigRollout){UPDATE, .name = "b.service", .content = SERVICE2});
        assert_int_equal(rig_last(a)->status, 0);
        assert_null(cluster_state_find_rollout(g.state, "a.service"));
        assert_int_equal(n_refused(), 0);
}

// ------------------------------------------------------------------------------------- refused all the same

static void end_full(ClusterRefusal limit) {
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        g.slow = false;
        cluster_state_set_limit(g.state, limit, 0);
        rig_release(&g);
        rig_settle(&g);
        assert_int_equal(n_refused(), 1);
}

// The unit is not there, which is no word about a destroy.
static void a_unit_that_the_log_did_not_take_is_told_so(void **state) {
        g.slow = true;
        RigAnswer *a = rig_change_with(&g, START, "a.service", SERVICE, false, NULL);
        end_full(REFUSAL_UNITS);
        const Argosy__Response__UnitResult *r = a->responses[0]->change->units[0];
        assert_int_equal(r->status, EIO);
        assert_string_equal(r->message, "the log did not take it");
        const Argosy__Response__JobRow *row = rig_show_job(&g, rig_last_job(&g));
        assert_string_equal(row->state, "failed");
        assert_non_null(
                strstr(row->message, "the log did not take all of it (a.service): there are as many units"));
}

// The rest of a large request would make its job look whole.
static void a_request_of_many_parts_ends_with_the_one_that_the_log_did_not_take(void **state) {
        enum { MANY = 1000 };
        static char names[MANY][32];
        static char *pointers[MANY];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint8_t id[16] = {7};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "u@.service", SERVICE);
        for (unsigned i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "u@%u.service", i);
                pointers[i] = names[i];
        }
        change.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        change.verb = START;
        change.names = pointers;
        change.n_names = MANY;
        g.slow = true;
        RigAnswer *a = ask(&request);
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        cluster_state_set_limit(g.state, REFUSAL_UNITS, 10);
        rig_hurry_and_settle(&g);
        assert_true(n_refused() > 0);
        assert_true(a->final);
        assert_replies(rig_last(a), EIO, "the log did not take all of it");
        assert_string_equal(rig_show_job(&g, rig_last_job(&g))->state, "failed");
        assert_int_equal(cluster_state_n_units(g.state), 10);
}

static void an_update_that_the_log_did_not_take_is_told_so(void **state) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        uint8_t id[16] = {7};

        rig_change(&g, START, "a.service", SERVICE);
        Argosy__NamedFile file = NAMED_FILE_OF(.name = m.name = "a.service",
                                               .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE2,
                                                                                .len = strlen(SERVICE2)});
        m.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        m.kind = UPDATE;
        m.file = &file;
        g.slow = true;
        RigAnswer *a = ask(A_REQUEST(ROLLOUT, rollout, &m));
        end_full(REFUSAL_ROLLOUTS);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_string_equal(rig_last(a)->message, "a.service: the log did not take it");
}

// ----------------------------------------------------------------------------------- templates beside units

static void templates_that_a_host_cannot_be_told_of_are_said(void **state) {
        char text[256];

        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        for (unsigned i = 0; i < 70; i++) {
                rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, printed("alert%u@.service", i), SERVICE);
                snprintf(text, sizeof(text),
                         "[Unit]\nOnFailure=alert%u@%%n.service\n[Service]\nExecStart=/bin/web\n", i);
                rig_change(&g, START, printed("w%u.service", i), text);
        }
        assert_int_equal(rig_host_of(&g, "w0.service"), 1);
        assert_non_null(host_find(g.leader, 1)->complaint);
        assert_non_null(strstr(host_find(g.leader, 1)->complaint,
                               "more templates than it can be told of (64, or 1 MiB)"));
        for (unsigned i = 0; i < 10; i++) {
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, printed("w%u.service", i), NULL);
        }
        assert_null(host_find(g.leader, 1)->complaint);
}

#define X(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        X(the_last_unit_is_taken_and_the_next_refused),
        X(of_many_units_those_beyond_the_last_are_refused),
        X(a_plan_says_that_there_is_no_room),
        X(roles_are_counted_with_those_of_the_entry),
        X(pools_are_counted_with_those_of_the_entry),
        X(join_tokens_are_counted_until_they_expire),
        X(updates_under_way_are_counted),
        X(a_unit_that_the_log_did_not_take_is_told_so),
        X(a_request_of_many_parts_ends_with_the_one_that_the_log_did_not_take),
        X(an_update_that_the_log_did_not_take_is_told_so),
        X(templates_that_a_host_cannot_be_told_of_are_said)
)
