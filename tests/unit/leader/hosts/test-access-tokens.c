// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens with a whole leader: who may make one, what it lets somebody do, and that it lets nobody do more.
#include <errno.h>

#include "printed.h"
#include "test.h"

#include "access-token.h"
#include "author.h"
#include "authorization.h"
#include "clock.h"
#include "event-asks.h"
#include "host-complaints.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "message.h"
#include "messages.h"

#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define OPERATE ARGOSY__RIGHT__RIGHT_OPERATE
#define DEPLOY ARGOSY__RIGHT__RIGHT_DEPLOY
#define ADMIN ARGOSY__RIGHT__RIGHT_ADMIN
#define WEB "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRole=web\n"
#define DB "[Service]\nExecStart=/bin/sleep 1000\n"

enum { HOUR = 3600, DAY = 24 * HOUR };

static Rig g;

// Somebody's own token: what he keeps, and who he is to a host that he has shown it.
typedef struct Key {
        Hash proof, hash;
        char id[ACCESS_TOKEN_ID_LEN + 1];
        Argosy__Author author;
} Key;

FIXTURE(setup) {
        Argosy__Request__RoleChange role = MESSAGE_OF(request__role_change, .name = (char *) "web");

        rig_start(&g, 3);
        g.author = NULL;
        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &role)))->status, 0);
}

RIG_TEARDOWN

static void key_init(Key *k, const char *secret) {
        *k = (Key){.proof = hash_of(secret, strlen(secret))};
        k->hash = access_token_hash(&k->proof);
        access_token_id(&k->hash, k->id);
        k->author = author_of_token(&k->proof);
        k->author.host = 2;
}

// ------------------------------------------------------------------------------------------------ asking

static const Argosy__Response *ask(Argosy__Request *request) {
        RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_true(a->final);
        return rig_last(a);
}

typedef struct Make {
        const char *name, *role;
        Argosy__Right right;
        uint64_t ttl_sec;
        size_t hash_len; // 0: as long as one is
} Make;

static const Argosy__Response *create(const Key *k, Make make) {
        Argosy__Request__TokenCreate m = MESSAGE_OF(
                request__token_create, .name = (char *) (make.name ?: "ci"),
                .hash = (ProtobufCBinaryData){make.hash_len ?: HASH_SIZE, (uint8_t *) k->hash.bytes},
                .right = make.right, .role = (char *) (make.role ?: ""), .ttl_sec = make.ttl_sec);

        return ask(A_REQUEST(TOKEN_CREATE, token_create, &m));
}

static void create_well(Key *k, const char *name, Argosy__Right right, const char *role, uint64_t ttl_sec) {
        key_init(k, name);
        assert_int_equal(
                create(k, (Make){.name = name, .right = right, .role = role, .ttl_sec = ttl_sec})->status,
                0);
}

static const Argosy__Response *end_token(const char *word) {
        Argosy__Request__TokenRevoke m =
                MESSAGE_OF(request__token_revoke, .tokens = (char **) &word, .n_tokens = 1);

        return ask(A_REQUEST(TOKEN_REVOKE, token_revoke, &m));
}

static const Argosy__Response *list(void) {
        Argosy__Request__TokenList m = ARGOSY__REQUEST__TOKEN_LIST__INIT;

        return ask(A_REQUEST(TOKEN_LIST, token_list, &m));
}

static const Argosy__Response *nodes(void) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;

        return ask(A_REQUEST(LIST_NODES, list_nodes, &m));
}

static const Argosy__Response *check(Argosy__Right right) {
        Argosy__Request__RightCheck m = MESSAGE_OF(request__right_check, .right = right);

        return ask(A_REQUEST(RIGHT_CHECK, right_check, &m));
}

static int change(Argosy__Verb verb, const char *name, const char *content) {
        RigAnswer *a = rig_change_with(&g, verb, name, content, false, NULL);

        rig_settle(&g);
        assert_true(a->final);
        return rig_last(a)->status;
}

static void pass(uint64_t sec) {
        if (sec >= 100)
                rig_age(&g, sec * USEC_PER_SEC);
        rig_pass_ms(&g, sec < 100 ? (unsigned) sec * 1000 : 10);
}

static const Argosy__AccessTokenRecord *record(const Key *k) {
        return access_token_find(cluster_state_access(g.state), k->id);
}

// ------------------------------------------------------------------------------------------------ making

static void one_is_made_and_listed(void **state) {
        Key k;

        key_init(&k, "a");
        const Argosy__Response *r = create(&k, (Make){.name = "ci", .right = OPERATE});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->what_case, ARGOSY__RESPONSE__WHAT_TOKENS);
        assert_string_equal(r->tokens->rows[0]->token->id, k.id);
        assert_int_equal(r->tokens->rows[0]->token->expires_us - r->tokens->rows[0]->token->created_us,
                         90ull * DAY * USEC_PER_SEC);
        key_init(&k, "b");
        assert_int_equal(
                create(&k, (Make){.name = "a first one", .right = VIEW, .role = "web", .ttl_sec = 60})
                        ->status,
                0);
        r = list();
        assert_int_equal(r->tokens->n_rows, 2);
        assert_string_equal(r->tokens->rows[0]->token->name, "a first one");
        assert_string_equal(r->tokens->rows[0]->token->role, "web");
        assert_string_equal(r->tokens->rows[0]->token->created_by, "root@n1");
        assert_string_equal(r->tokens->rows[0]->state, "active");
        assert_int_equal(r->tokens->rows[0]->token->hash.len, 0);
        assert_int_equal(r->tokens->rows[1]->token->right, OPERATE);
        assert_int_equal(r->tokens->rows[1]->token->used_us, 0);
}

static void what_can_be_none_is_refused(void **state) {
        const Make bad[] = {
                {.right = VIEW, .hash_len = 31},        {.right = VIEW, .name = ""},
                {.right = VIEW, .name = "0123abcd"},    {.right = ARGOSY__RIGHT__RIGHT_NONE},
                {.right = (Argosy__Right) 5},           {.right = DEPLOY, .role = "web"},
                {.right = VIEW, .role = "no role\n"},   {.right = VIEW, .ttl_sec = 5ull * 365 * DAY + 1},
                {.right = VIEW, .ttl_sec = UINT64_MAX},
        };
        Key k;

        key_init(&k, "a");
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(create(&k, bad[i])->status, EINVAL);
        assert_int_equal(create(&k, (Make){.right = VIEW, .ttl_sec = 5ull * 365 * DAY})->status, 0);
}

static void a_name_is_that_of_one_that_can_be_used(void **state) {
        Key a, b;

        key_init(&a, "a");
        key_init(&b, "b");
        assert_int_equal(create(&a, (Make){.right = VIEW})->status, 0);
        assert_int_equal(create(&b, (Make){.right = VIEW})->status, EEXIST);
        assert_int_equal(create(&a, (Make){.right = VIEW})->status,
                         0); // sent again, since the answer was lost
        assert_int_equal(create(&a, (Make){.right = OPERATE})->status, EEXIST);
        assert_int_equal(end_token("ci")->status, 0);
        assert_int_equal(create(&b, (Make){.right = VIEW})->status, 0);
        assert_int_equal(list()->tokens->n_rows, 2);
}

static void there_are_only_so_many(void **state) {
        Key k;

        for (unsigned i = 0; i < CLUSTER_ACCESS_TOKENS_MAX; i++) {
                create_well(&k, printed("t%u", i), VIEW, NULL, 0);
        }
        key_init(&k, "one more");
        assert_int_equal(create(&k, (Make){.right = VIEW})->status, ENOSPC);
        assert_int_equal(end_token("t7")->status, 0);
        assert_int_equal(create(&k, (Make){.right = VIEW})->status, 0);
        assert_int_equal(list()->tokens->n_rows, CLUSTER_ACCESS_TOKENS_MAX);
}

// Who has less can make none, so nobody gives more than he has.
static void only_admin_makes_tokens(void **state) {
        Key deploy, admin, more;

        create_well(&deploy, "deploy", DEPLOY, NULL, 0);
        create_well(&admin, "admin", ADMIN, NULL, 0);
        key_init(&more, "more");
        g.author = &deploy.author;
        assert_int_equal(create(&more, (Make){.name = "more", .right = VIEW})->status, EACCES);
        assert_int_equal(end_token("admin")->status, EACCES);
        assert_int_equal(list()->status, EACCES);
        g.author = &admin.author;
        assert_int_equal(create(&more, (Make){.name = "more", .right = ADMIN})->status, 0);
        assert_string_equal(record(&more)->created_by, "token:admin@n2");
        assert_int_equal(list()->tokens->n_rows, 3);
}

static void one_is_revoked_by_name_or_id(void **state) {
        Key a, b;

        create_well(&a, "a", VIEW, NULL, 0);
        create_well(&b, "b", VIEW, NULL, 0);
        assert_int_equal(end_token("c")->status, ENOENT);
        assert_int_equal(end_token("a")->status, 0);
        assert_int_equal(end_token(b.id)->status, 0);
        assert_true(record(&a)->revoked_us > 0);
        assert_string_equal(record(&b)->revoked_by, "root@n1");
        assert_int_equal(end_token("a")->status, ENOENT);
        assert_int_equal(end_token(b.id)->status, EALREADY);
        assert_string_equal(list()->tokens->rows[1]->state, "revoked");
}

// ------------------------------------------------------------------------------------------ what it lets do

static void whoever_shows_it_may_do_what_was_given_with_it(void **state) {
        Key k;

        create_well(&k, "ci", OPERATE, NULL, 0);
        assert_int_equal(rig_change(&g, START, "web.service", WEB)->status, 0);
        g.author = &k.author;
        assert_int_equal(nodes()->status, 0);
        assert_int_equal(change(STOP, "web.service", NULL), 0);
        assert_int_equal(change(START, "new.service", DB), EACCES);
        assert_int_equal(check(OPERATE)->status, 0);
        assert_int_equal(check(DEPLOY)->status, EACCES);
}

static void a_role_narrows_it(void **state) {
        Key k;

        assert_int_equal(rig_change(&g, START, "web.service", WEB)->status, 0);
        assert_int_equal(rig_change(&g, START, "db.service", DB)->status, 0);
        create_well(&k, "ci", OPERATE, "web", 0);
        g.author = &k.author;
        assert_int_equal(change(STOP, "web.service", NULL), 0);
        assert_int_equal(change(STOP, "db.service", NULL), EACCES);
        assert_int_equal(check(VIEW)->status, EACCES);
        assert_null(strstr(rig_list_units(&g), "db.service"));
}

static void its_jobs_bear_its_name(void **state) {
        Argosy__JobRecord *job;
        Key k;

        create_well(&k, "ci", DEPLOY, NULL, 0);
        g.author = &k.author;
        assert_int_equal(change(START, "web.service", WEB), 0);
        assert_int_equal(cluster_state_read_job(g.state, cluster_state_last_job(g.state), &job), 0);
        assert_string_equal(job->user, "token:ci");
        assert_string_equal(job->host_name, "n2");
        assert_false(job->uid_known);
        message_free(job);
}

static void an_unknown_one_is_refused_by_that(void **state) {
        Key k;

        key_init(&k, "nobody's");
        g.author = &k.author;
        const Argosy__Response *r = nodes();
        assert_int_equal(r->status, EKEYREJECTED);
        assert_string_equal(r->message, "this token is not known");
        assert_int_equal(check(ARGOSY__RIGHT__RIGHT_NONE)->status, EKEYREJECTED); // even what needs no right
}

// ------------------------------------------------------------------------------------------------ its end

static void who_listens_with_one_that_is_revoked_hears_no_more(void **state) {
        Asked a = {.from_now = true, .kind = ARGOSY__EVENT_KIND__EVENT_POOL}, other = a;
        Key k, l;

        create_well(&k, "ci", VIEW, NULL, 0);
        create_well(&l, "other", VIEW, NULL, 0);
        a.author = &k.author;
        other.author = &l.author;
        assert_true(asked_pull(&g, &a));
        assert_true(asked_pull(&g, &other));
        asked_ask(&g, &a);
        asked_ask(&g, &other);
        rig_settle(&g);
        assert_false(a.answered);
        assert_int_equal(end_token("ci")->status, 0);
        assert_true(a.answered); // without any time passing
        assert_int_equal(a.status, EKEYREVOKED);
        assert_false(other.answered);
        g.author = &k.author;
        assert_non_null(strstr(nodes()->message, "this token was revoked at "));
        asked_cancel(&g, &other);
}

static void who_listens_with_one_that_expires_hears_no_more(void **state) {
        Key k;

        create_well(&k, "ci", VIEW, NULL, 60);
        Asked a = {.from_now = true, .author = &k.author};
        assert_true(asked_pull(&g, &a));
        asked_ask(&g, &a);
        pass(59);
        assert_false(a.answered);
        uint64_t revision = authorization_revision(g.leader);
        pass(2);
        assert_true(a.answered);
        assert_int_equal(a.status, EKEYEXPIRED);
        assert_true(authorization_revision(g.leader) >
                    revision); // for those who keep what they were found to see
        g.author = &k.author;
        assert_non_null(strstr(nodes()->message, "this token has expired at "));
        assert_int_equal(change(START, "web.service", WEB), EKEYEXPIRED);
}

// As when the batteries of all clocks are empty. How long a token was there is counted.
static void a_clock_that_is_set_back_lets_nobody_in_again(void **state) {
        Key k;

        create_well(&k, "ci", VIEW, NULL, HOUR);
        pass(DAY);
        assert_int_equal(rig_change(&g, START, "web.service", WEB)->status,
                         0); // the log hears what time it is
        rig_set_wall(&g, g.wall_us - 2ull * DAY * USEC_PER_SEC);
        g.author = &k.author;
        assert_int_equal(nodes()->status, EKEYEXPIRED);
}

static void what_waits_for_its_turn_is_judged_again(void **state) {
        Key k;

        create_well(&k, "ci", DEPLOY, NULL, 0);
        g.slow = true; // the revocation is on its way
        {
                char *name = (char *) "ci";
                Argosy__Request__TokenRevoke m =
                        MESSAGE_OF(request__token_revoke, .tokens = &name, .n_tokens = 1);

                rig_ask(&g, A_REQUEST(TOKEN_REVOKE, token_revoke, &m));
                rig_turns(&g, 3);
        }
        g.author = &k.author;
        RigAnswer *a = rig_change_with(&g, START, "web.service", WEB, false, NULL);
        rig_turns(&g, 3);
        assert_false(a->final);
        rig_hurry_and_settle(&g);
        assert_final(a, EKEYREVOKED);
}

// What is kept of who asked is judged when its time comes, and is no way in.
static void a_job_that_is_held_goes_with_its_token(void **state) {
        Argosy__Request__Job job = JOB_OF(.hold = true);
        _cleanup_buf_ Buf image = {};
        char *name = (char *) "web.service";
        uint64_t id[2] = {4, 5}, number;
        Key k;

        create_well(&k, "ci", DEPLOY, NULL, 0);
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content = (ProtobufCBinaryData){strlen(WEB), (uint8_t *) WEB}),
                          *files = &file;
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id},
                           .verb = START, .names = &name, .n_names = 1, .files = &files, .n_files = 1);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m, .job = &job);
        g.author = &k.author;
        assert_int_equal(ask(&request)->status, 0);
        number = cluster_state_last_job(g.state);
        assert_int_equal(cluster_state_job_state(g.state, number), ARGOSY__JOB_STATE__JOB_HELD);
        assert_int_equal(cluster_state_encode(g.state, &image), 0);
        assert_null(memmem(image.data, image.len, k.proof.bytes, HASH_SIZE));
        assert_non_null(memmem(image.data, image.len, k.hash.bytes, HASH_SIZE));
        g.author = NULL;
        assert_int_equal(end_token("ci")->status, 0);
        Argosy__Request__JobRelease release =
                MESSAGE_OF(request__job_release, .numbers = &number, .n_numbers = 1);
        request = (Argosy__Request) REQUEST_OF(JOB_RELEASE, job_release, &release);
        assert_int_equal(ask(&request)->status, 0);
        rig_pass_ms(&g, 2000);
        assert_null(rig_record(&g, "web.service"));
        assert_int_equal(cluster_state_job_state(g.state, number), ARGOSY__JOB_STATE__JOB_CANCELLED);
}

// ------------------------------------------------------------------------------------------------ its use

static void the_log_hears_of_its_use_once_a_day(void **state) {
        unsigned batches;
        Key k;

        create_well(&k, "ci", VIEW, NULL, 0);
        g.author = &k.author;
        assert_int_equal(nodes()->status, 0);
        rig_settle(&g);
        uint64_t first = record(&k)->used_us;
        assert_true(first > 0);
        batches = g.batches;
        for (unsigned i = 0; i < 20; i++) {
                rig_age(&g, (uint64_t) HOUR * USEC_PER_SEC);
                assert_int_equal(nodes()->status, 0);
                rig_settle(&g);
        }
        assert_int_equal(g.batches, batches);
        assert_int_equal(record(&k)->used_us, first);
        g.author = NULL;
        assert_true(list()->tokens->rows[0]->token->used_us >=
                    first + 20ull * HOUR * USEC_PER_SEC); // as the leader knows
        g.author = &k.author;
        rig_age(&g, 4ull * HOUR * USEC_PER_SEC);
        assert_int_equal(nodes()->status, 0);
        rig_settle(&g);
        assert_int_equal(g.batches, batches + 1);
        assert_true(record(&k)->used_us >= first + 24ull * HOUR * USEC_PER_SEC);
}

static void it_outlives_its_leader(void **state) {
        Key k, l;

        create_well(&k, "ci", VIEW, NULL, 0);
        create_well(&l, "gone", VIEW, NULL, 0);
        assert_int_equal(end_token("gone")->status, 0);
        rig_depose(&g);
        rig_turns(&g, 3);
        rig_elect(&g);
        g.author = &k.author;
        assert_int_equal(nodes()->status, 0);
        g.author = &l.author;
        assert_int_equal(nodes()->status, EKEYREVOKED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(one_is_made_and_listed),
                RIG_TEST(what_can_be_none_is_refused),
                RIG_TEST(a_name_is_that_of_one_that_can_be_used),
                RIG_TEST(there_are_only_so_many),
                RIG_TEST(only_admin_makes_tokens),
                RIG_TEST(one_is_revoked_by_name_or_id),
                RIG_TEST(whoever_shows_it_may_do_what_was_given_with_it),
                RIG_TEST(a_role_narrows_it),
                RIG_TEST(its_jobs_bear_its_name),
                RIG_TEST(an_unknown_one_is_refused_by_that),
                RIG_TEST(who_listens_with_one_that_is_revoked_hears_no_more),
                RIG_TEST(who_listens_with_one_that_expires_hears_no_more),
                RIG_TEST(a_clock_that_is_set_back_lets_nobody_in_again),
                RIG_TEST(what_waits_for_its_turn_is_judged_again),
                RIG_TEST(a_job_that_is_held_goes_with_its_token),
                RIG_TEST(the_log_hears_of_its_use_once_a_day),
                RIG_TEST(it_outlives_its_leader),
        };

        log_set_level(LOG_ERR);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
