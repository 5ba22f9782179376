// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log has no room for is refused before it is in an entry, and on every voter, aloud, if it is in
// one all the same. The tables here are as long as those that they are about: a limit, or a kind of
// operation, that nobody judges ends the test.

#include "cluster-words.h"

#include "access-token.h"
#include "cluster-state-limits.h"
#include "message.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

enum { SOME = 3 }; // a limit, for most of these

static char *name_of(Batch *b, const char *prefix, unsigned number) {
        return batch_own(b, strdup(printed("%s%u", prefix, number)));
}

// ------------------------------------------------------------------------------------ one more of each kind

static void add_unit(Batch *b, unsigned number) {
        Hash spec = hash_of(WEB, strlen(WEB));

        (void) batch_unit_only(b, name_of(b, "u.service", number), &spec, (UnitPut){.target = LOADED});
}

static void add_host(Batch *b, unsigned number) {
        (void) batch_host(b, 0, name_of(b, "h", number), 1);
}

static void add_rollout(Batch *b, unsigned number) {
        (void) batch_rollout(b, name_of(b, "r@.service", number), WEB, WEB);
}

static void add_role(Batch *b, unsigned number) {
        Argosy__RoleRecord *role = BATCH_NEW(b, Argosy__RoleRecord, argosy__role_record__init);

        role->name = name_of(b, "role", number);
        batch_op(b, ARGOSY__LOG_OP__OP_ROLE)->role = role;
}

static void add_pool(Batch *b, unsigned number) {
        Argosy__PoolRecord *pool = BATCH_NEW(b, Argosy__PoolRecord, argosy__pool_record__init);

        pool->name = name_of(b, "pool", number);
        batch_op(b, ARGOSY__LOG_OP__OP_POOL)->pool = pool;
}

static void add_grant(Batch *b, unsigned number) {
        Argosy__GrantRecord *grant = BATCH_NEW(b, Argosy__GrantRecord, argosy__grant_record__init);

        grant->user = name_of(b, "user", number);
        batch_op(b, ARGOSY__LOG_OP__OP_GRANT)->grant = grant;
}

static void add_join_token(Batch *b, unsigned number) {
        batch_token(b, name_of(b, "t", number), UINT64_MAX);
        b->log.ops[b->log.n_ops - 1]->token->ttl_us = UINT64_C(3600000000);
}

static void add_access_token(Batch *b, unsigned number) {
        Argosy__AccessTokenRecord *token =
                BATCH_NEW(b, Argosy__AccessTokenRecord, argosy__access_token_record__init);
        Hash hash = hash_of(&number, sizeof(number));
        char id[ACCESS_TOKEN_ID_LEN + 1];

        snprintf(id, sizeof(id), "%0*u", ACCESS_TOKEN_ID_LEN, number);
        token->id = batch_own(b, strdup(id));
        token->hash = batch_bytes(b, &hash, sizeof(hash));
        token->name = name_of(b, "program", number);
        token->expires_us = UINT64_MAX;
        batch_op(b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN)->access_token = token;
}

static void add_secret(Batch *b, unsigned number) {
        Argosy__LogOp__SecretPut *put =
                BATCH_NEW(b, Argosy__LogOp__SecretPut, argosy__log_op__secret_put__init);

        put->name = name_of(b, "secret", number);
        put->version = BATCH_NEW(b, Argosy__SecretVersion, argosy__secret_version__init);
        put->version->version = 1;
        put->version->sealed = batch_bytes(b, "x", 1);
        batch_op(b, ARGOSY__LOG_OP__OP_SECRET)->secret = put;
}

static void add_tombstone(Batch *b, unsigned number) {
        batch_tombstone(b, name_of(b, "gone.service", number), (uint32_t[]){1}, 1, 0);
}

static void add_queue_rules(Batch *b, unsigned n) {
        Argosy__QueueRecord *queue = BATCH_NEW(b, Argosy__QueueRecord, argosy__queue_record__init);

        queue->rules = batch_own(b, calloc(n + 1, sizeof(*queue->rules)));
        for (unsigned i = 0; i <= n; i++) {
                queue->rules[i] = BATCH_NEW(b, Argosy__QueueRule, argosy__queue_rule__init);
                queue->rules[i]->number = i + 1;
        }
        queue->n_rules = n + 1;
        batch_op(b, ARGOSY__LOG_OP__OP_QUEUE)->queue = queue;
}

static void add_held_job(Batch *b, unsigned number) {
        Argosy__StoredRequest *stored = BATCH_NEW(b, Argosy__StoredRequest, argosy__stored_request__init);

        (void) number;
        stored->request = batch_bytes(b, "x", 1);
        batch_job(b, (JobPut){.verb = "start"})->state = ARGOSY__JOB_STATE__JOB_HELD;
        b->log.ops[b->log.n_ops - 1]->job->stored = stored;
}

typedef struct Kind {
        void (*add)(Batch *b, unsigned number);
        const char *what;  // the one beyond the limit, for people
        const char *words; // why it is not carried out
        bool is_new;       // each is one more, as alike as two of them may be
        bool elsewhere;    // no operation alone comes to it: another test has it
} Kind;

static const Kind kinds[CLUSTER_REFUSALS] = {
        [REFUSAL_UNITS] = {add_unit, "u.service3", "there are as many units as there may be (3)"},
        [REFUSAL_HOSTS] = {add_host, "h3", "there are as many hosts as there may be (3)", true},
        [REFUSAL_ROLLOUTS] = {add_rollout, "r@.service3",
                              "there are as many updates and restarts under way as there may be (3)"},
        [REFUSAL_ROLES] = {add_role, "role3", "there are as many roles as there may be (3)"},
        [REFUSAL_POOLS] = {add_pool, "pool3", "there are as many pools as there may be (3)"},
        [REFUSAL_GRANTS] = {add_grant, "user3",
                            "there are as many rights as there may be (4)"}, // one is there from the start
        [REFUSAL_JOIN_TOKENS] = {add_join_token, "a join token",
                                 "there are as many join tokens that have not expired as there may be (3)"},
        [REFUSAL_ACCESS_TOKENS] = {add_access_token, "program3",
                                   "there are as many access tokens that can be used as there may be (3)",
                                   true},
        [REFUSAL_SECRETS] = {add_secret, "secret3", "there are as many secrets as there may be (3)", true},
        [REFUSAL_SECRET_BYTES] = {add_secret, "secret3",
                                  "there are as many bytes of secrets as there may be (3)", true},
        [REFUSAL_TOMBSTONES] = {add_tombstone, "gone.service3",
                                "there are as many units that may still run on silent hosts (remove those "
                                "that are gone for good) as there may be (3)",
                                true},
        [REFUSAL_QUEUE_RULES] = {add_queue_rules, "the rules of the queue",
                                 "there are as many rules of the queue as there may be (3)"},
        [REFUSAL_QUEUE_BYTES] = {add_queue_rules, "the rules of the queue",
                                 "there are as many bytes of rules of the queue as there may be (12)"},
        [REFUSAL_STORED_REQUESTS] = {add_held_job, "a job",
                                     "there are as many jobs that are held back as there may be (3)", true},
        [REFUSAL_STORED_BYTES] =
                {add_held_job, "a job",
                 "there are as many bytes of requests of jobs that are held back as there may be (3)", true},
        [REFUSAL_FILES_BYTES] = {.elsewhere = true}, // test-carried-files.c
};

static size_t limit_of(const ClusterState *s, ClusterRefusal limit) {
        if (limit == REFUSAL_GRANTS)
                return SOME + cluster_state_access(s).n;
        return limit == REFUSAL_QUEUE_BYTES ? SOME * 4 : SOME; // a rule takes four bytes
}

static void begin(ClusterState *s, ClusterRefusal limit) {
        Batch b = {0};

        if (limit != REFUSAL_HOSTS)
                (void) batch_host(&b, 0, "one", 1);
        batch_unit(&b, "w.service", WEB, (UnitPut){.target = LOADED});
        if (limit == REFUSAL_UNITS)
                batch_unit_remove(&b, "w.service");
        batch_spec(&b, WEB);
        batch_rollout(&b, "keeps-its-content.service", WEB, WEB);
        b.log.at_us = 1000;
        apply(s, &b);
        cluster_state_set_limit(s, limit, limit_of(s, limit) + (limit == REFUSAL_ROLLOUTS));
}

static bool is_limit(ClusterRefusal refusal) {
        char words[CLUSTER_REFUSAL_SIZE];
        ClusterState *s = cluster_state_new();
        bool is = strstr(cluster_refusal_words(s, refusal, words), "there are as many") != NULL;

        cluster_state_free(s);
        return is;
}

static uint64_t n_refused(const ClusterState *s) {
        return cluster_state_figures(s).state_operations_refused;
}

// ---------------------------------------------------------------------------------------------- all of them

static void each_kind_of_operation_is_judged(void **state) {
        const ProtobufCMessageDescriptor *d = &argosy__log_op__descriptor;

        for (unsigned i = 0; i < d->n_fields; i++)
                if (!cluster_op_is_judged((Argosy__LogOp__OpCase) d->fields[i].id))
                        fail_msg("nobody judges operations of the kind '%s' (cluster-state-limits.c)",
                                 d->fields[i].name);
        assert_true(d->n_fields > 20);
        assert_false(cluster_op_is_judged(ARGOSY__LOG_OP__OP__NOT_SET));
}

static void each_limit_has_a_test_here(void **state) {
        char words[CLUSTER_REFUSAL_SIZE];
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();

        for (unsigned i = REFUSAL_NONE + 1; i < CLUSTER_REFUSALS; i++) {
                assert_true(strlen(cluster_refusal_words(s, i, words)) > 0);
                if (is_limit(i) != (kinds[i].add || kinds[i].elsewhere))
                        fail_msg("no test of: %s", words);
        }
}

static void assert_refused(ClusterState *s, ClusterRefusal limit, uint64_t before) {
        char words[CLUSTER_REFUSAL_SIZE];
        const ClusterRefused *refused = cluster_state_next_refused(s);

        assert_int_equal(n_refused(s), before + 1);
        assert_non_null(refused);
        assert_string_equal(refused->what, kinds[limit].what);
        assert_null(cluster_state_next_refused(s));
        if (limit == REFUSAL_GRANTS || limit == REFUSAL_ROLLOUTS) // those that are there from the start
                assert_int_equal(refused->refusal, limit);
        else
                assert_string_equal(cluster_refusal_words(s, refused->refusal, words), kinds[limit].words);
}

static void apply_one(ClusterState *s, ClusterRefusal limit, unsigned number) {
        Batch b = {0};

        kinds[limit].add(&b, number);
        b.log.at_us = 1000;
        apply(s, &b);
}

static void what_is_applied_beyond_a_limit_is_left_out_and_told(void **state) {
        for (unsigned limit = REFUSAL_NONE + 1; limit < CLUSTER_REFUSALS; limit++) {
                ClusterState *s = cluster_state_new();
                uint64_t revision;

                if (kinds[limit].add) {
                        begin(s, limit);
                        for (unsigned i = 0; i < SOME; i++)
                                apply_one(s, limit, i);
                        assert_int_equal(n_refused(s), 0);
                        revision = cluster_state_revision(s);
                        apply_one(s, limit, SOME);
                        assert_int_equal(cluster_state_revision(s), revision);
                        assert_refused(s, limit, 0);
                        apply_one(s, limit, SOME - 1); // that one is there already
                        assert_int_equal(n_refused(s), kinds[limit].is_new ? 2 : 1);
                }
                cluster_state_free(s);
        }
}

// While an entry is made, what it holds already counts.
static void what_an_entry_holds_is_counted(void **state) {
        for (unsigned limit = REFUSAL_NONE + 1; limit < CLUSTER_REFUSALS; limit++) {
                ClusterState *s = cluster_state_new();
                ClusterHeld held = {.counted_us = cluster_state_counted_us(s)};
                Batch b = {0};

                if (kinds[limit].add) {
                        begin(s, limit);
                        apply_one(s, limit, 0);
                        for (unsigned i = 1; i <= SOME; i++) {
                                kinds[limit].add(&b, i);
                                assert_int_equal(cluster_state_judge(s, &held, b.log.ops[i - 1]),
                                                 i < SOME ? REFUSAL_NONE : limit);
                                cluster_held_add(&held, s, b.log.ops[i - 1]);
                        }
                        batch_done(&b);
                }
                cluster_state_free(s);
        }
}

static Argosy__JobRecord *job(ClusterState *s, uint64_t number) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_read_job(s, number, &record), 0);
        return record;
}

static void a_job_of_which_something_is_refused_has_failed(void **state) {
        for (unsigned limit = REFUSAL_NONE + 1; limit < REFUSAL_STORED_REQUESTS; limit++) {
                if (!kinds[limit].add)
                        continue;
                ClusterState *s = cluster_state_new();
                char why[CLUSTER_REFUSAL_SIZE + 128], words[CLUSTER_REFUSAL_SIZE];
                Batch b = {0};

                begin(s, limit);
                for (unsigned i = 0; i < SOME; i++)
                        apply_one(s, limit, i);
                kinds[limit].add(&b, SOME);
                batch_job(&b, (JobPut){.n_ops = 1, .verb = "start"})->state = ARGOSY__JOB_STATE__JOB_RUNNING;
                batch_job(&b, (JobPut){.n_ops = 0, .verb = "stop"})->state = ARGOSY__JOB_STATE__JOB_RUNNING;
                apply(s, &b);
                Argosy__JobRecord *record = job(s, 1);
                snprintf(why, sizeof(why), "the log did not take all of it (%s): %s", kinds[limit].what,
                         cluster_refusal_words(s, limit, words));
                assert_int_equal(record->state, ARGOSY__JOB_STATE__JOB_FAILED);
                assert_string_equal(record->end_message, why);
                assert_int_equal(cluster_state_job_state(s, 2), ARGOSY__JOB_STATE__JOB_RUNNING);
                message_free(record);
                cluster_state_free(s);
        }
}

static void a_part_that_is_refused_ends_the_job(void **state) {
        begin(g.s, REFUSAL_UNITS);
        add_unit(&g.b, 0);
        batch_job(&g.b, (JobPut){.n_ops = 1, .more = true})->state = ARGOSY__JOB_STATE__JOB_RUNNING;
        apply(g.s, &g.b);
        for (unsigned i = 1; i < SOME; i++)
                apply_one(g.s, REFUSAL_UNITS, i);
        assert_int_equal(cluster_state_next_ended_job(g.s), 0);
        add_unit(&g.b, SOME);
        batch_job(&g.b, (JobPut){.n_ops = 1, .number = 1, .more = true})->state =
                ARGOSY__JOB_STATE__JOB_RUNNING;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_next_ended_job(g.s), 1);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->state, ARGOSY__JOB_STATE__JOB_FAILED);
        assert_non_null(strstr(record->end_message, "there are as many units"));
}

// ------------------------------------------------------------------------------------------- contradictions

static void what_contradicts_what_is_there_is_told_too(void **state) {
        static const Hash nowhere = {{7}};

        begin(g.s, REFUSAL_UNITS);
        (void) batch_unit_only(&g.b, "u.service", &nowhere, (UnitPut){.target = LOADED});
        (void) batch_host(&g.b, 77, "nobody", 1);
        batch_unit(&g.b, "", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        assert_int_equal(n_refused(g.s), 3);
        assert_int_equal(cluster_state_next_refused(g.s)->refusal, REFUSAL_CONTENT);
        assert_int_equal(cluster_state_next_refused(g.s)->refusal, REFUSAL_HOST);
        assert_int_equal(cluster_state_next_refused(g.s)->refusal, REFUSAL_LENGTH);
        assert_null(cluster_state_next_refused(g.s));
}

static void what_is_skipped_on_purpose_is_not(void **state) {
        begin(g.s, REFUSAL_HOSTS);
        batch_unit(&g.b, "w.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 1});
        batch_outcome(&g.b, "w.service", 1, 77, ARGOSY__OUTCOME__KIND__DONE);
        batch_unit_remove(&g.b, "nobody.service");
        batch_host_remove(&g.b, 77);
        batch_token_remove(&g.b, "none");
        batch_spec(&g.b, WEB);
        apply(g.s, &g.b);
        assert_int_equal(n_refused(g.s), 0);
}

// Nobody asked for a long time: the oldest are not named any more, but counted.
static void of_many_the_last_are_named(void **state) {
        unsigned n = 0;

        begin(g.s, REFUSAL_ROLES);
        for (unsigned i = 0; i < SOME + 100; i++)
                apply_one(g.s, REFUSAL_ROLES, i);
        assert_int_equal(n_refused(g.s), 100);
        for (const ClusterRefused *r; (r = cluster_state_next_refused(g.s)); n++)
                if (n == 0)
                        assert_string_equal(r->what, "role87"); // 16 are kept
        assert_int_equal(n, 16);
}

RUN_TESTS(
        cmocka_unit_test(each_kind_of_operation_is_judged),
        cmocka_unit_test(each_limit_has_a_test_here),
        cmocka_unit_test(what_is_applied_beyond_a_limit_is_left_out_and_told),
        cmocka_unit_test(what_an_entry_holds_is_counted),
        cmocka_unit_test(a_job_of_which_something_is_refused_has_failed),
        TEST(a_part_that_is_refused_ends_the_job),
        TEST(what_contradicts_what_is_there_is_told_too),
        TEST(what_is_skipped_on_purpose_is_not),
        TEST(of_many_the_last_are_named)
)
