// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request that comes again is not carried out twice, and one that is bound to a revision not too late.
#include "jobs-words.h"

static void a_request_that_comes_again_is_the_same_job(void **state) {
        const Argosy__Response *first = ask((Ask){START, "a.service", SERVICE, .id = 7777});
        uint64_t n = first->job;
        const Argosy__Response *again = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});

        assert_int_equal(again->status, 0);
        assert_int_equal(again->job, n);
        assert_int_equal(rig_last_job(&g), n);
        rig_elect_anew(&g);
        again = ask((Ask){START, "a.service", SERVICE, .id = 7777});
        assert_int_equal(again->job, n);
        assert_int_equal(rig_last_job(&g), n);
}

// Its answer is what its job did, and not what there would be to do now.
static void a_request_that_comes_again_hears_how_its_job_has_ended(void **state) {
        uint64_t n = ask((Ask){START, "a.service", SERVICE, .id = 7777})->job;

        (void) ask((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"});
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->n_units, 1);
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, 0); // there is nothing to wait for
        assert_null(rig_record(&g, "a.service"));

        g.bad = hash_of(OTHER, strlen(OTHER));
        n = ask((Ask){START, "b.service", OTHER, .id = 8888})->job;
        rig_pass_ms(&g, 2000); // its end is in the log
        (void) ask((Ask){ARGOSY__VERB__VERB_DESTROY, "b.service"});
        r = ask((Ask){START, "b.service", OTHER, .id = 8888, .age_ms = 10});
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->units[0]->status, EIO);
        assert_true(*r->change->units[0]->message);
        assert_null(rig_record(&g, "b.service"));
}

// As those who have asked for the first time.
static void a_request_that_comes_again_waits_while_its_job_runs(void **state) {
        uint64_t revision;

        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        revision = ask((Ask){START, "a.service", SERVICE, .id = 7777})->change->units[0]->revision;
        (void) ask((Ask){START, "b.service", SERVICE});
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, revision);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
}

static const Argosy__Response *replace(const char *name, const char *content, uint64_t number) {
        uint64_t id[2] = {number, 55};
        RigAnswer *a = rig_change_with(&g, START, name, content, true, (const uint8_t *) id);

        rig_settle(&g);
        return rig_last(a);
}

static void a_request_that_comes_again_during_an_update_is_not_refused(void **state) {
        uint64_t n = replace("a.service", SERVICE, 7777)->job;

        assert_int_equal(rig_last(rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                               "a.service", OTHER, .health_ms = 60000}))
                                 ->status,
                         0);
        // nobody else may
        assert_int_equal(replace("a.service", SERVICE, 9999)->change->units[0]->status, EEXIST);
        const Argosy__Response *r = replace("a.service", SERVICE, 7777);
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, 0);
}

// What was refused then has left nothing behind.
static void what_its_job_knows_nothing_of_is_planned_again(void **state) {
        restart_twice((const char *const[]){"nobody.service", "a.service", "no.service"}, 3);
}

// It was refused, since there was no such unit. Somebody else has made it before the request comes again:
// which has not restarted it.
static void what_was_refused_is_not_told_to_be_done_once_it_could_be(void **state) {
        char *names[] = {(char *) "a.service", (char *) "b.service"};
        uint64_t id[2] = {7777, 55}, revision;

        (void) ask((Ask){START, "a.service", SERVICE});
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_RESTART, .names = names, .n_names = 2);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        const Argosy__Response *r = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(r->change->units[1]->status, ENOENT);
        (void) ask((Ask){START, "b.service", SERVICE});
        revision = rig_record(&g, "b.service")->revision;
        r = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(r->change->units[0]->status, 0);
        assert_true(r->change->units[0]->repeated);
        assert_int_equal(r->change->units[1]->status, ECANCELED);
        assert_int_equal(r->change->units[1]->revision, 0);
        assert_int_equal(rig_record(&g, "b.service")->revision, revision);
}

static void a_key_is_not_used_for_two_things(void **state) {
        uint64_t n = ask((Ask){START, "a.service", SERVICE, .id = 7777})->job;
        assert_int_equal(ask((Ask){STOP, "a.service", .id = 7777})->status, EEXIST);
        assert_int_equal(rig_last_job(&g), n);
        assert_int_equal(rig_record(&g, "a.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static RigAnswer *set_mode(Argosy__NodeMode mode, const uint8_t id[16], uint64_t age_ms) {
        Argosy__Request__NodeChange change =
                NODE_CHANGE_OF(.nodes = (char *[]){(char *) "n2"}, .n_nodes = 1, .mode = mode);
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 16}, .age_ms = age_ms);

        return rig_ask_and_settle(&g, A_REQUEST(NODE_CHANGE, node_change, &change, .job = &job));
}

// Somebody has opened it meanwhile.
static void also_other_requests_are_not_carried_out_twice(void **state) {
        static const uint8_t id[16] = {1, 2, 3};
        uint64_t n = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 0))->job;

        assert_int_equal(n, rig_last_job(&g));
        assert_string_equal(rig_show_job(&g, n)->verb, "cordon");
        assert_string_equal(rig_show_job(&g, n)->targets[0], "n2");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_string_equal(rig_show_job(&g, n + 1)->verb, "uncordon");
        const Argosy__Response *r = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 0));
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, n);
        assert_non_null(strstr(r->message, "carried this out before"));
        assert_int_equal(rig_last_job(&g), n + 1);
        r = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 5)); // only the answer was lost
        assert_string_equal(r->message, "");
}

static void a_change_can_be_bound_to_a_revision(void **state) {
        uint64_t seen = ask((Ask){START, "a.service", SERVICE})->change->units[0]->revision;

        (void) ask((Ask){STOP, "a.service"});
        assert_int_equal(ask((Ask){START, "a.service", .if_revision = seen})->status, ESTALE);
        assert_int_equal(rig_record(&g, "a.service")->target, ARGOSY__TARGET__TARGET_LOADED);
        seen = rig_record(&g, "a.service")->revision;
        assert_int_equal(ask((Ask){START, "a.service", .if_revision = seen})->status, 0);
        assert_int_equal(ask((Ask){START, "b.service", SERVICE, .if_revision = seen})->status, ESTALE);
}

static const Argosy__Response *set_pool(uint64_t if_revision) {
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        char *host = (char *) "n1";
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) "fast", .hosts = &host, .n_hosts = 1);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(POOL_CHANGE, pool_change, &change, .job = &job)));
}

static void other_requests_too(void **state) {
        uint64_t seen = cluster_state_revision(g.state);

        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(set_pool(seen)->status, ESTALE);
        assert_int_equal(set_pool(cluster_state_revision(g.state))->status, 0);
}

RUN_TESTS(TEST(a_request_that_comes_again_is_the_same_job),
          TEST(a_request_that_comes_again_hears_how_its_job_has_ended),
          TEST(a_request_that_comes_again_waits_while_its_job_runs),
          TEST(a_request_that_comes_again_during_an_update_is_not_refused),
          TEST(what_its_job_knows_nothing_of_is_planned_again),
          TEST(what_was_refused_is_not_told_to_be_done_once_it_could_be),
          TEST(a_key_is_not_used_for_two_things), TEST(also_other_requests_are_not_carried_out_twice),
          TEST(a_change_can_be_bound_to_a_revision), TEST(other_requests_too))
