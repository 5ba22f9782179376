// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rules of the queue, with a whole leader: what they hold, refuse and limit, and what they are not for.
#include "ca.h"
#include "cluster-state-limits.h"
#include "carried-files.h"
#include "leader-asks.h"
#include "messages.h"
#include "queue-words.h"
#include "voter-secrets.h"

#define ACCEPT ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT
#define QUEUE_HOLD ARGOSY__QUEUE_ACTION__QUEUE_HOLD
#define REFUSE ARGOSY__QUEUE_ACTION__QUEUE_REFUSE
#define LIMIT ARGOSY__QUEUE_ACTION__QUEUE_LIMIT

static const Argosy__Response__Queue *list(void) {
        Argosy__Request__QueueList m = ARGOSY__REQUEST__QUEUE_LIST__INIT;

        return rig_last(rig_ask(&g, A_REQUEST(QUEUE_LIST, queue_list, &m)))->queue;
}

static void a_rule_holds_until_it_is_gone(void **state) {
        uint32_t number = add_rule(rule(QUEUE_HOLD, "db*"));

        assert_false(answer((Ask){START, "web.service", SERVICE})->held);
        uint64_t job = hold((Ask){START, "db.service", SERVICE});
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "rule 1"));
        assert_int_equal(list()->rows[0]->held, 1);
        assert_int_equal(list()->held, 1);
        assert_int_equal(delete_rule(number + 1), ENOENT);
        assert_int_equal(state_of(job), HELD);
        assert_int_equal(delete_rule(number), 0);
        assert_true(is_launched("db.service"));
        assert_int_equal(n_held(), 0);
}

static void a_rule_refuses_in_its_own_words(void **state) {
        Argosy__QueueRule frozen = rule(REFUSE, "");

        frozen.text = (char *) "frozen until Monday";
        frozen.verb = (char *) "start";
        (void) add_rule(frozen);
        uint64_t before = rig_last_job(&g);
        const Argosy__Response *r = answer((Ask){START, "a.service", SERVICE});
        assert_replies(r, EPERM, "frozen until Monday");
        assert_int_equal(answer((Ask){START, "a.service", SERVICE, .hold = true})->status,
                         EPERM); // not even later
        assert_int_equal(rig_last_job(&g), before);
        assert_int_equal(answer((Ask){SUBMIT, "a.service", SERVICE})->status, 0);
}

static void a_job_is_judged_by_the_rules_of_the_time_when_it_begins(void **state) {
        Argosy__QueueRule frozen = rule(REFUSE, "");
        uint64_t job = hold((Ask){START, "a.service", SERVICE,
                                  .after = hold((Ask){SUBMIT, "b.service", SERVICE, .hold = true})});

        frozen.text = (char *) "frozen";
        frozen.verb = (char *) "start";
        (void) add_rule(frozen);
        assert_int_equal(release(job - 1), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job - 1), DONE);
        assert_int_equal(state_of(job), CANCELLED);
        assert_string_equal(rig_show_job(&g, job)->message, "frozen");
}

static void rules_count_in_their_order(void **state) {
        Argosy__QueueRule accept = rule(ACCEPT, "db.service");
        uint32_t held = add_rule(rule(QUEUE_HOLD, "db*"));
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &accept, .before = held);

        assert_int_equal(change_queue(&m, "")->status, 0);
        assert_int_equal(list()->rows[0]->rule->number, held + 1);
        assert_false(answer((Ask){START, "db.service", SERVICE})->held);
        (void) hold((Ask){START, "db2.service", SERVICE});
        m.before = 77;
        assert_int_equal(change_queue(&m, "")->status, ENOENT);
}

static void a_limit_lets_so_many_run(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};
        Argosy__QueueRule two = rule(LIMIT, "");
        uint64_t jobs[5];

        two.limit = 2;
        two.verb = (char *) "start";
        (void) add_rule(two);
        rig_set_lazy(&g, true);
        for (size_t i = 0; i < 5; i++) {
                const Argosy__Response *r = answer((Ask){START, names[i], SERVICE});

                assert_int_equal(r->held, i >= 2);
                jobs[i] = r->job;
        }
        assert_int_equal(list()->rows[0]->running, 2);
        assert_int_equal(list()->rows[0]->held, 3);
        rig_depose(&g); // the next one counts the same
        rig_elect(&g);
        assert_int_equal(list()->rows[0]->running, 2);
        assert_int_equal(list()->rows[0]->held, 3);
        assert_false(answer((Ask){SUBMIT, "f.service", SERVICE})->held); // no matter of that rule
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 6 * LATER_MS);
        for (size_t i = 0; i < 5; i++)
                assert_int_equal(state_of(jobs[i]), DONE);
        assert_true(rig_record(&g, "d.service")->revision >
                    rig_record(&g, "c.service")->revision); // in their order
        assert_true(rig_record(&g, "e.service")->revision > rig_record(&g, "d.service")->revision);
        assert_int_equal(list()->rows[0]->running, 0);
}

static void requests_of_one_moment_do_not_slip_through_a_limit(void **state) {
        Argosy__QueueRule one = rule(LIMIT, "");
        RigAnswer *answers[3];
        size_t n = 0;

        one.limit = 1;
        (void) add_rule(one);
        rig_set_lazy(&g, true);
        for (size_t i = 0; i < 3; i++)
                answers[i] = rig_change_with(&g, START,
                                             (const char *[]){"a.service", "b.service", "c.service"}[i],
                                             SERVICE, false, NULL);
        rig_settle(&g);
        for (size_t i = 0; i < 3; i++)
                n += rig_last(answers[i])->held;
        assert_int_equal(n, 2);
        rig_set_lazy(&g, false);
}

static void a_request_does_not_pass_those_that_wait(void **state) {
        Argosy__QueueRule one = rule(LIMIT, "");

        one.limit = 1;
        (void) add_rule(one);
        rig_set_lazy(&g, true);
        uint64_t first = answer((Ask){START, "a.service", SERVICE})->job;
        (void) hold((Ask){START, "b.service", SERVICE});
        rig_set_lazy(&g, false);
        g.slow = true;
        (void) wait_for(first);                         // whose end is on its way
        (void) ask((Ask){START, "c.service", SERVICE}); // before the second knows that it may go
        rig_hurry_and_settle(&g);
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_true(is_launched("c.service"));
        assert_true(rig_record(&g, "c.service")->revision > rig_record(&g, "b.service")->revision);
}

static uint64_t revision_of(const char *unit) {
        const Argosy__UnitRecord *r = rig_record(&g, unit);

        return r ? r->revision : 0;
}

// One runs, and one waits for it to make room.
static uint64_t fill_limit_of_one(void) {
        Argosy__QueueRule one = rule(LIMIT, "");

        one.limit = 1;
        (void) add_rule(one);
        rig_set_lazy(&g, true);
        uint64_t first = answer((Ask){START, "a.service", SERVICE})->job;
        (void) hold((Ask){START, "b.service", SERVICE});
        return first;
}

static void who_has_waited_for_a_limit_is_not_passed_by_who_waited_for_the_same_job(void **state) {
        (void) hold((Ask){START, "c.service", SERVICE, .after = fill_limit_of_one()});
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_true(revision_of("b.service") > 0);
        assert_true(revision_of("c.service") > revision_of("b.service"));
}

static void who_has_waited_for_a_limit_is_not_passed_by_who_comes_with_its_end(void **state) {
        (void) fill_limit_of_one();
        rig_set_lazy(&g, false); // the log has yet to hear of it
        (void) answer((Ask){START, "c.service", SERVICE});
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_true(revision_of("b.service") > 0);
        assert_true(revision_of("c.service") > revision_of("b.service"));
}

static void who_has_waited_for_a_limit_is_not_passed_while_the_log_has_no_room(void **state) {
        (void) wait_for(fill_limit_of_one());
        g.slow = true;
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_turns(&g, 10);
        g.slow = false;
        rig_release(&g); // the end of the first one, behind which there is no room
        store_memory_fail(g.store, -ENOSPC);
        rig_settle(&g);
        store_memory_fail(g.store, 0);
        assert_int_equal(revision_of("b.service"), 0);
        (void) hold((Ask){START, "c.service", SERVICE});
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_true(revision_of("b.service") > 0);
        assert_true(revision_of("c.service") > revision_of("b.service"));
}

// Nobody knows yet of those that are due whether they want its place, and who asks would have to be told
// that it is taken.
static void what_cannot_be_held_is_not_refused_for_those_that_are_due(void **state) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request release = ARGOSY__REQUEST__INIT, request = ARGOSY__REQUEST__INIT;
        Argosy__QueueRule one = rule(LIMIT, "");
        _cleanup_(voter_secrets_done) VoterSecrets secrets = {};
        uint64_t jobs[90]; // more than go at a time
        _cleanup_(ca_done) Ca ca = {};

        assert_int_equal(ca_create(&ca), 0); // by which a token knows the cluster
        rig_give_ca(&g, &ca, &secrets);
        one.limit = 1;
        one.verb = (char *) "cluster token";
        (void) add_rule(one);
        for (size_t i = 0; i < ELEMENTSOF(jobs); i++)
                jobs[i] = hold((Ask){SUBMIT, "a.service", SERVICE, .hold = true});
        Argosy__Request__JobRelease m =
                MESSAGE_OF(request__job_release, .numbers = jobs, .n_numbers = ELEMENTSOF(jobs));
        release.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
        release.job_release = &m;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        request.cluster_token = &token;
        g.slow = true;
        (void) ask_and_go_on(&release);
        rig_release(&g);
        rig_turns(&g, 10);
        assert_true(g.leader->held_due.n > 0);
        RigAnswer *a = rig_ask(&g, &request);
        rig_hurry_and_settle(&g);
        assert_string_equal(rig_last(a)->message, "");
        assert_int_equal(rig_last(a)->status, 0);
        g.secrets = NULL;
}

static const Argosy__Response *set_secret(void) {
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) "db",
                                                  .value = (ProtobufCBinaryData){7, (uint8_t *) "hunter2"});

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(SECRET_SET, secret_set, &m)));
}

static void assert_no_secret(const Argosy__Response *r, int status, const char *words) {
        assert_replies(r, status, words);
        assert_null(strstr(r->message, "hunter2"));
        assert_null(cluster_state_find_secret(g.state, "db"));
        assert_int_equal(n_held(), 0);
}

// What is held back the log keeps as it came.
static void a_secret_is_refused_where_it_would_be_held(void **state) {
        _cleanup_(voter_secrets_done) VoterSecrets keys = {};
        Argosy__QueueRule one = rule(QUEUE_HOLD, ""), refused = rule(REFUSE, "");

        rig_give_secrets_key(&g, &keys, 1);
        set_closed(true, "moving racks");
        assert_no_secret(set_secret(), EEXIST, "moving racks");
        set_closed(false, "");
        one.verb = (char *) "secret set";
        uint32_t number = add_rule(one);
        assert_no_secret(set_secret(), EEXIST, "rule 1");
        assert_int_equal(delete_rule(number), 0);
        refused.verb = (char *) "secret set";
        refused.text = (char *) "frozen until Monday";
        number = add_rule(refused);
        assert_no_secret(set_secret(), EPERM, "frozen until Monday");
        assert_int_equal(delete_rule(number), 0);
        assert_int_equal(set_secret()->status, 0);
        assert_non_null(cluster_state_find_secret(g.state, "db"));
        g.secrets = NULL;
}

static void a_closed_queue_holds_what_comes(void **state) {
        Argosy__Author alice = user("alice", 1000);

        (void) answer((Ask){START, "a.service", SERVICE});
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        (void) add_rule(rule(ACCEPT, ""));
        set_closed(true, "moving racks");
        assert_string_equal(list()->reason, "moving racks");
        uint64_t job = hold((Ask){START, "b.service", SERVICE});
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "moving racks"));
        g.author = &alice;
        (void) hold((Ask){STOP, "a.service"});
        g.author = NULL;
        assert_false(answer((Ask){STOP, "a.service"})->held); // root stops what is on fire
        assert_int_equal(rig_record(&g, "a.service")->target, ARGOSY__TARGET__TARGET_LOADED);
        set_closed(false, "");
        assert_true(is_launched("b.service"));
        assert_int_equal(n_held(), 0);
}

static void the_queue_is_closed_by_who_has_seen_it_as_it_is(void **state) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .close = true);
        Argosy__Request__Job job = JOB_OF(.if_revision = cluster_state_revision(g.state));
        Argosy__Request request = REQUEST_OF(QUEUE_CHANGE, queue_change, &m, .job = &job);

        (void) add_rule(rule(ACCEPT, "db.service"));
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, ESTALE);
        assert_false(list()->closed);
        job.if_revision = cluster_state_revision(g.state);
        (void) answer((Ask){START, "a.service", SERVICE}); // no rule, and no business of the queue's
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, 0);
        assert_true(list()->closed);
}

static void failover_does_not_ask_the_queue(void **state) {
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, ""); // the leader's own stays on
        (void) answer((Ask){START, "a.service", SERVICE});
        (void) add_rule(rule(QUEUE_HOLD, ""));
        set_closed(true, "");
        uint32_t host = rig_host_of(&g, "a.service");
        assert_int_not_equal(host, 1);
        rig_host_off_for(&g, host, 60 * 1000);
        assert_int_equal(rig_count_running(&g, "a.service"), 1);
        assert_int_equal(rig_host_of(&g, "a.service"), 5 - host);
}

static void releasing_from_the_rules_is_for_those_who_make_them(void **state) {
        Argosy__Author alice = user("alice", 1000);

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        (void) add_rule(rule(QUEUE_HOLD, ""));
        g.author = &alice;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        assert_int_equal(release(job), 0);
        assert_int_equal(state_of(job), HELD);
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "rule 1"));
        g.author = NULL;
        assert_int_equal(release(job), 0);
        assert_true(is_launched("a.service"));
}

static void a_rule_about_everything_is_warned_of(void **state) {
        Argosy__QueueRule all = rule(QUEUE_HOLD, ""), none = rule(REFUSE, "a*");
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &all);

        assert_non_null(strstr(change_queue(&m, "")->message, "every request"));
        m.add = &none; // refuses without a word
        assert_int_equal(change_queue(&m, "")->status, EINVAL);
        m.add = NULL;
        assert_int_equal(change_queue(&m, "")->status, EINVAL);
        assert_int_equal(list()->n_rows, 1);
}

static void a_rule_asks_for_the_role_of_what_comes_and_of_what_is_there(void **state) {
        Argosy__QueueRule about = rule(QUEUE_HOLD, "");

        rig_make_role(&g, "db");
        about.role = (char *) "db";
        (void) add_rule(about);
        assert_false(answer((Ask){START, "a.service", SERVICE})->held);
        uint64_t job = hold((Ask){START, "b.service", SERVICE "[X-Argosy]\nRole=db\n"});
        assert_int_equal(release(job), 0);
        assert_true(is_launched("b.service"));
        (void) hold((Ask){RESTART, "b.service"});
}

// A file need not come with it.
static void a_rule_asks_for_the_role_of_a_template_that_is_there(void **state) {
        Argosy__QueueRule about = rule(QUEUE_HOLD, "");

        rig_make_role(&g, "web"); // of the template itself
        rig_make_role(&g, "web1");
        rig_make_role(&g, "web2");
        assert_int_equal(answer((Ask){SUBMIT, "web@.service", SERVICE "[X-Argosy]\nRole=web%i\n"})->status,
                         0);
        about.role = (char *) "web2";
        (void) add_rule(about);
        assert_false(answer((Ask){START, "web@1.service"})->held);
        (void) hold((Ask){START, "web@2.service"});
}

// Of what the folder brings, and of what the cluster has of it.
static void a_rule_asks_for_the_role_of_what_a_folder_makes(void **state) {
        static const char content[] = SERVICE "[X-Argosy]\nRole=db\n";
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Hash hash = hash_of(content, strlen(content));
        Argosy__QueueRule about = rule(REFUSE, "");
        uint64_t id[2] = {7, 99};
        Argosy__Request__Apply__Unit unit = MESSAGE_OF(request__apply__unit,
                                                       .name = file.name = file.path = (char *) "a.service",
                                                       .spec = (ProtobufCBinaryData){.data = hash.bytes,
                                                                                     .len = HASH_SIZE},
                                                       .file = 1),
                                     *units = &unit;

        about.role = (char *) "db";
        about.text = (char *) "frozen";
        file.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
        Argosy__Request__Apply apply = MESSAGE_OF(request__apply, .set = (char *) "prod", .units = &units,
                                                  .n_units = 1, .files = &files, .n_files = 1);
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)});
        Argosy__Request request = REQUEST_OF(APPLY, apply, &apply, .job = &job);
        (void) add_rule(about);
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, EPERM);
        (void) delete_rule(1);
        rig_make_role(&g, "db");
        (void) answer((Ask){SUBMIT, "other.service", content});
        assert_non_null(rig_record(&g, "other.service"));
        (void) add_rule(about);
        unit.file = 0;
        apply.n_files = 0;
        id[0]++;
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, EPERM);
}

// ------------------------------------------------------------------------------------------------ open jobs

static int set_open_max(uint32_t max) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .open_max = max);

        return change_queue(&m, "")->status;
}

// ------------------------------------------------------------------------------------ what its units become

static uint64_t hold_restart_of_web(void) {
        const RigRollout restart = {.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "web@.service"};
        const Argosy__Response *r = rig_last(rig_rollout(&g, restart));

        assert_int_equal(r->status, 0);
        assert_true(r->held);
        return r->job;
}

// No rule is about it any more when the last one is gone that one was about.
static void a_restart_whose_units_are_gone_is_held_no_longer(void **state) {
        (void) answer((Ask){SUBMIT, "web@.service", SERVICE});
        (void) answer((Ask){START, "web@1.service", NULL});
        (void) answer((Ask){START, "web@2.service", NULL});
        (void) add_rule(rule(QUEUE_HOLD, "web@?.service"));
        uint64_t job = hold_restart_of_web();
        assert_int_equal(answer((Ask){ARGOSY__VERB__VERB_DESTROY, "web@1.service"})->status, 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), HELD);
        assert_int_equal(answer((Ask){ARGOSY__VERB__VERB_DESTROY, "web@2.service"})->status, 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

static void a_job_whose_unit_comes_to_another_role_is_judged_by_that(void **state) {
        Argosy__QueueRule about = rule(QUEUE_HOLD, "");

        rig_make_role(&g, "db");
        (void) answer((Ask){SUBMIT, "b.service", SERVICE "[X-Argosy]\nRole=db\n"});
        about.role = (char *) "db";
        (void) add_rule(about);
        (void) hold((Ask){START, "b.service"});
        RigAnswer *a = rig_change_with_and_settle(&g, SUBMIT, "b.service", SERVICE, true, NULL);
        assert_false(is_launched("b.service"));
        assert_int_equal(release(rig_last(a)->job), 0);
        assert_true(is_launched("b.service"));
        assert_int_equal(n_held(), 0);
}

// A rule that refuses comes before a queue that is closed.
static void a_job_that_waits_for_the_queue_is_refused_when_its_unit_comes_to_a_role_that_is(void **state) {
        Argosy__QueueRule about = rule(REFUSE, "");

        rig_make_role(&g, "db");
        (void) answer((Ask){SUBMIT, "b.service", SERVICE});
        about.role = (char *) "db";
        about.text = (char *) "frozen";
        (void) add_rule(about);
        set_closed(true, "");
        uint64_t job = hold((Ask){START, "b.service"});
        RigAnswer *a = rig_change_with_and_settle(&g, SUBMIT, "b.service", SERVICE "[X-Argosy]\nRole=db\n",
                                                  true, NULL);
        assert_int_equal(state_of(job), HELD);
        assert_int_equal(release(rig_last(a)->job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
}

// It waits for a place of one rule, and for another rule when an instance has come that this is about.
static void a_restart_to_which_a_unit_comes_is_judged_with_it(void **state) {
        Argosy__QueueRule one = rule(LIMIT, "");
        uint64_t running, job;

        (void) answer((Ask){SUBMIT, "web@.service", SERVICE});
        (void) answer((Ask){START, "web@1.service", NULL});
        one.limit = 1;
        one.verb = (char *) "restart*";
        (void) add_rule(rule(QUEUE_HOLD, "web@9.service"));
        (void) add_rule(one);
        rig_set_lazy(&g, true);
        running = answer((Ask){RESTART, "web@1.service", NULL})->job;
        job = hold_restart_of_web();
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "rule 2"));
        assert_int_equal(release(hold((Ask){START, "web@9.service", NULL})), 0);
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "rule 1"));
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_int_equal(state_of(running), DONE);
        assert_int_equal(state_of(job), HELD);
}

static void an_author_has_so_many_open_jobs(void **state) {
        Argosy__Author ann = user("ann", 1001);

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "ann", false);
        assert_int_equal(list()->open_max, CLUSTER_OPEN_JOBS_DEFAULT);
        assert_int_equal(set_open_max(CLUSTER_OPEN_JOBS_MAX + 1), EINVAL);
        assert_int_equal(set_open_max(2), 0);
        assert_int_equal(list()->open_max, 2);
        g.author = &ann;
        rig_set_lazy(&g, true);
        uint64_t first = answer((Ask){START, "a.service", SERVICE})->job;
        (void) hold((Ask){START, "b.service", SERVICE, .hold = true}); // one that is held is open, too
        const Argosy__Response *r = answer((Ask){START, "c.service", SERVICE});
        assert_replies(r, EDQUOT, "ann has 2 jobs");
        assert_int_equal(answer((Ask){START, "c.service", SERVICE, .hold = true})->status, EDQUOT);
        assert_null(rig_record(&g, "c.service"));
        assert_int_equal(answer((Ask){SUBMIT, "c.service", SERVICE})->status, 0); // is done at once
        g.author = NULL;
        assert_int_equal(set_open_max(1), 0);
        rig_elect_anew(&g);
        g.author = &ann;
        assert_int_equal(answer((Ask){START, "c.service"})->status, EDQUOT); // a new leader counts the same
        assert_int_equal(cancel(first + 1), 0);
        assert_int_equal(answer((Ask){START, "c.service"})->status, 0);
        assert_int_equal(answer((Ask){STOP, "a.service"})->status, 0); // whoever has how many
        assert_int_equal(answer((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"})->status, 0);
        g.author = NULL;
        assert_int_equal(answer((Ask){START, "d.service", SERVICE})->status, 0); // somebody else
        rig_set_lazy(&g, false);
        g.author = &ann;
        // the log need not know of the ends yet
        assert_int_equal(answer((Ask){START, "e.service", SERVICE})->status, 0);
        g.author = NULL;
}

// They are decided before one of them is in the log.
static int set_history(uint32_t mib) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .history_mib = mib);

        return change_queue(&m, "")->status;
}

static void how_much_of_the_past_is_kept_can_be_changed_and_undone(void **state) {
        uint64_t id[2] = {++g.id, 66};

        assert_int_equal(list()->history_mib, CLUSTER_HISTORY_MIB_DEFAULT);
        assert_int_equal(set_history(CLUSTER_HISTORY_MIB_MAX + 1), EINVAL);
        assert_int_equal(set_history(64), 0);
        assert_int_equal(list()->history_mib, 64);
        assert_int_equal(cluster_state_history_bytes(g.state), 64 * 1024 * 1024);
        const Argosy__Response__JobRow *row = rig_show_job(&g, rig_last_job(&g));
        assert_string_equal(row->verb, "history limit");
        assert_string_equal(row->targets[0], "64M");
        assert_non_null(strstr(row->settings[0]->after, "64M of history"));
        rig_elect_anew(&g);
        assert_int_equal(list()->history_mib, 64);
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)});
        Argosy__Request__Undo undo = MESSAGE_OF(request__undo, .job = rig_last_job(&g));
        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(UNDO, undo, &undo, .job = &job)))->status,
                         0);
        assert_int_equal(list()->history_mib, CLUSTER_HISTORY_MIB_DEFAULT);
}

static int limit_files(uint32_t file_kib, uint32_t unit_kib, uint32_t all_mib) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .file_kib = file_kib,
                                                    .unit_files_kib = unit_kib, .files_mib = all_mib);

        return change_queue(&m, "")->status;
}

static void how_much_files_of_units_may_have_can_be_less(void **state) {
        assert_int_equal(list()->file_kib, 512);
        assert_int_equal(list()->unit_files_kib, 768);
        assert_int_equal(list()->files_mib, 64);
        assert_int_equal(limit_files(513, 0, 0), EINVAL);
        assert_int_equal(limit_files(0, 769, 0), EINVAL);
        assert_int_equal(limit_files(0, 0, 65), EINVAL);
        assert_int_equal(limit_files(256, 0, 32), 0);
        assert_int_equal(list()->file_kib, 256);
        assert_int_equal(list()->unit_files_kib, 768);
        assert_int_equal(list()->files_mib, 32);
        const Argosy__Response__JobRow *row = rig_show_job(&g, rig_last_job(&g));
        assert_string_equal(row->verb, "files limit");
        assert_string_equal(row->targets[0], "file=256K");
        assert_string_equal(row->targets[1], "all=32M");
        assert_non_null(strstr(row->settings[0]->after, "256K in a file, 32M of files"));
        assert_int_equal(limit_files(512, 768, 64), 0); // as it was
        assert_int_equal(list()->file_kib, 512);
}

// A unit with one file of that size.
static const Argosy__Response__UnitResult *submit_with_file(const char *name, size_t size) {
        static const char text[] = "[Service]\nExecStart=/bin/web\n[X-Argosy]\nFile=a\n";
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        _cleanup_free_ uint8_t *bytes = calloc(1, size);
        ProtobufCBinaryData sent = {size, bytes};
        Hash hash = hash_of(bytes, size);
        UnitFile *parsed = NULL;
        char *why = NULL;

        assert_int_equal(unit_file_parse(name, text, strlen(text), &parsed, NULL), 0);
        assert_int_equal(carried_files_add(&c, "a", false, size, &hash), 0);
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose(name, parsed, &c, &content, &why), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        unit_file_free(parsed);
        g.sent = &sent;
        g.n_sent = 1;
        const Argosy__Response__UnitResult *result =
                rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, name, (const char *) content.data);
        g.n_sent = 0;
        return result;
}

static void a_unit_with_larger_files_is_refused_with_its_name(void **state) {
        assert_int_equal(submit_with_file("a.service", 4096)->status, 0);
        assert_int_equal(limit_files(2, 3, 0), 0);
        assert_int_equal(submit_with_file("a.service", 4096)->status, 0); // the cluster has it
        const Argosy__Response__UnitResult *result = submit_with_file("b.service", 4097);
        assert_int_equal(result->status, EINVAL);
        assert_string_equal(result->message, "its file a has 5 KiB, and may have 2 (argosyctl files limit): "
                                             "larger things are images or packages");
        assert_int_equal(limit_files(4, 1, 0), 0);
        result = submit_with_file("b.service", 2048);
        assert_replies(result, EINVAL, "with its files, and may have 1 (argosyctl files limit)");
        assert_int_equal(submit_with_file("b.service", 512)->status, 0);
}

static void jobs_of_one_entry_count_as_well(void **state) {
        unsigned n_refused = 0;
        RigAnswer *answers[4];
        char name[] = "a.service";

        assert_int_equal(set_open_max(2), 0);
        rig_set_lazy(&g, true);
        g.slow = true;
        (void) ask((Ask){SUBMIT, "z.service", SERVICE});
        for (size_t i = 0; i < ELEMENTSOF(answers); i++, name[0]++)
                answers[i] = ask((Ask){START, name, SERVICE});
        rig_hurry_and_settle(&g);
        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                n_refused += rig_last(answers[i])->status == EDQUOT;
        assert_int_equal(n_refused, 2);
        rig_set_lazy(&g, false);
}

// Also of two in one entry.
static void one_job_too_many_is_not_held_back(void **state) {
        cluster_state_set_limit(g.state, REFUSAL_STORED_REQUESTS, 1);
        RigAnswer *a = ask((Ask){START, "a.service", SERVICE, .hold = true});
        RigAnswer *b = ask((Ask){START, "b.service", SERVICE, .hold = true});
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(rig_last(a)->held);
        assert_int_equal(rig_last(b)->status, ENOSPC);
        assert_string_equal(
                rig_last(b)->message,
                "there are as many jobs that are held back as there may be (1): nothing was changed");
        assert_int_equal(cluster_state_figures(g.state).state_operations_refused, 0);
}

RUN_TESTS(
        RIG_TEST(a_rule_holds_until_it_is_gone),
        RIG_TEST(one_job_too_many_is_not_held_back),
        RIG_TEST(a_rule_refuses_in_its_own_words),
        RIG_TEST(a_job_is_judged_by_the_rules_of_the_time_when_it_begins),
        RIG_TEST(rules_count_in_their_order),
        RIG_TEST(a_limit_lets_so_many_run),
        RIG_TEST(requests_of_one_moment_do_not_slip_through_a_limit),
        RIG_TEST(a_request_does_not_pass_those_that_wait),
        RIG_TEST(who_has_waited_for_a_limit_is_not_passed_by_who_waited_for_the_same_job),
        RIG_TEST(who_has_waited_for_a_limit_is_not_passed_by_who_comes_with_its_end),
        RIG_TEST(who_has_waited_for_a_limit_is_not_passed_while_the_log_has_no_room),
        RIG_TEST(what_cannot_be_held_is_not_refused_for_those_that_are_due),
        RIG_TEST(a_secret_is_refused_where_it_would_be_held),
        RIG_TEST(a_closed_queue_holds_what_comes),
        RIG_TEST(the_queue_is_closed_by_who_has_seen_it_as_it_is),
        RIG_TEST(failover_does_not_ask_the_queue),
        RIG_TEST(releasing_from_the_rules_is_for_those_who_make_them),
        RIG_TEST(a_rule_about_everything_is_warned_of),
        RIG_TEST(a_rule_asks_for_the_role_of_what_comes_and_of_what_is_there),
        RIG_TEST(a_rule_asks_for_the_role_of_a_template_that_is_there),
        RIG_TEST(a_rule_asks_for_the_role_of_what_a_folder_makes),
        RIG_TEST(a_restart_whose_units_are_gone_is_held_no_longer),
        RIG_TEST(a_job_that_waits_for_the_queue_is_refused_when_its_unit_comes_to_a_role_that_is),
        RIG_TEST(a_job_whose_unit_comes_to_another_role_is_judged_by_that),
        RIG_TEST(a_restart_to_which_a_unit_comes_is_judged_with_it),
        RIG_TEST(an_author_has_so_many_open_jobs),
        RIG_TEST(how_much_of_the_past_is_kept_can_be_changed_and_undone),
        RIG_TEST(how_much_files_of_units_may_have_can_be_less),
        RIG_TEST(a_unit_with_larger_files_is_refused_with_its_name),
        RIG_TEST(jobs_of_one_entry_count_as_well)
)
