// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the leader lets somebody do and see, with a whole leader.
#include <errno.h>

#include "printed.h"
#include "test.h"

#include "author.h"
#include "authorization.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"
#include "request-kind.h"
#include "request-rights.h"
#include "str.h"

#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define WEB "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRole=web\n"
#define DB "[Service]\nExecStart=/bin/sleep 1000\n"

static Rig g;
static Argosy__Author alice;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.author = NULL;
        alice = (Argosy__Author) AUTHOR_OF(.host = 2, .uid = 1000);
        alice.user = (char *) "alice";
}

RIG_TEARDOWN

// ------------------------------------------------------------------------------------------------ asking

static const Argosy__Response *change_access(bool revoke, Argosy__Right right, const char *user,
                                             const char *host, const char *role) {
        Argosy__Request__AccessChange change = ACCESS_CHANGE_OF(.revoke = revoke, .right = right,
                                                                .user = (char *) user, .host = (char *) host,
                                                                .role = (char *) role);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change));

        assert_true(a->final);
        return a->responses[0];
}

// By root on the leader's host.
static void give(Argosy__Right right, const char *role) {
        const Argosy__Author *asks = g.author;

        g.author = NULL;
        assert_int_equal(change_access(false, right, "alice", "", role)->status, 0);
        g.author = asks;
}

static void take(Argosy__Right right, const char *role) {
        const Argosy__Author *asks = g.author;

        g.author = NULL;
        assert_int_equal(change_access(true, right, "alice", "", role)->status, 0);
        g.author = asks;
}

static int status_of(RigAnswer *a) {
        rig_settle(&g);
        assert_true(a->final);
        return rig_last(a)->status;
}

static int change(Argosy__Verb verb, const char *name, const char *content) {
        return status_of(rig_change_with(&g, verb, name, content, false, NULL));
}

static void a_unit_of_each_role(void) {
        Argosy__Request__RoleChange role = MESSAGE_OF(request__role_change, .name = (char *) "web");

        assert_int_equal(status_of(rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &role))), 0);
        assert_int_equal(rig_change(&g, START, "web.service", WEB)->status, 0);
        assert_int_equal(rig_change(&g, START, "db.service", DB)->status, 0);
}

// ------------------------------------------------------------------------------------ all that can be asked

static bool refuses(const Argosy__Request *q) {
        char why[AUTHORIZATION_WHY_SIZE] = "";
        bool is = authorization_refuses(g.leader, &alice, q, why);

        if (is && !strstr(why, "the right '"))
                fail_msg("a refusal names no right: %s", why);
        return is;
}

static bool refuses_kind(const ProtobufCFieldDescriptor *field) {
        EmptyRequest q;

        empty_request(&q, field);
        bool is = refuses(&q.request);
        empty_request_done(&q);
        return is;
}

static void each_request_needs_its_right(void **state) {
        for (Argosy__Right given = NOTHING; given <= ADMIN; given++) {
                if (given > NOTHING)
                        give(given, "");
                request_kinds_foreach(
                        field,
                        kind) if ((kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES) &&
                                  refuses_kind(field) !=
                                          (given < right_needed_for((Argosy__Request__WhatCase) field->id)))
                        fail_msg("who has right %d and asks for %s is judged otherwise", (int) given,
                                 field->name);
        }
}

static void what_a_change_needs_depends_on_its_verb(void **state) {
        static const Argosy__Right rights[] = {[ARGOSY__VERB__VERB_SUBMIT] = DEPLOY,
                                               [ARGOSY__VERB__VERB_LOAD] = OPERATE,
                                               [START] = OPERATE,
                                               [STOP] = OPERATE,
                                               [ARGOSY__VERB__VERB_RESTART] = OPERATE,
                                               [ARGOSY__VERB__VERB_UNLOAD] = OPERATE,
                                               [ARGOSY__VERB__VERB_DESTROY] = DEPLOY};
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request q = REQUEST_OF(CHANGE, change, &m);

        give(OPERATE, "");
        for (unsigned verb = ARGOSY__VERB__VERB_SUBMIT; verb < ELEMENTSOF(rights); verb++) {
                m.verb = (Argosy__Verb) verb;
                m.replace = false;
                assert_int_equal(refuses(&q), rights[verb] > OPERATE);
                m.replace = true;
                assert_true(refuses(&q));
        }
}

static void a_rollout_of_content_is_no_restart(void **state) {
        Argosy__Request__Rollout m = ROLLOUT_OF(.name = (char *) "web.service",
                                                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART);
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;
        Argosy__Request q = REQUEST_OF(ROLLOUT, rollout, &m);

        give(OPERATE, "");
        assert_false(refuses(&q));
        m.file = &file;
        assert_true(refuses(&q));
        m.file = NULL;
        m.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        assert_true(refuses(&q));
}

// ------------------------------------------------------------------------------------------- what he brings

static void who_may_operate_brings_nothing(void **state) {
        a_unit_of_each_role();
        give(OPERATE, "");
        g.author = &alice;
        assert_int_equal(change(START, "new.service", DB), EACCES);
        assert_null(rig_record(&g, "new.service"));
        assert_int_equal(change(STOP, "db.service", NULL), 0);
        assert_int_equal(change(START, "db.service", WEB), 0); // his file is not looked at
        assert_int_equal(rig_record(&g, "db.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_string_equal(
                rig_last(rig_change_with(&g, START, "db.service", DB "#\n", true, NULL))->message,
                "this needs the right 'deploy', which alice does not have");
        give(DEPLOY, "");
        assert_int_equal(change(START, "new.service", DB), 0);
        assert_non_null(rig_record(&g, "new.service"));
}

// db.service, with a file and always by the same id.
static RigAnswer *ask_by_the_same_id(bool hold) {
        uint64_t id[2] = {4711, hold};
        char *name = (char *) "db.service";
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) WEB,
                                                                             .len = strlen(WEB)}),
                          *files[] = {&file};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .names = &name, .files = files, .n_names = 1, .n_files = 1);
        Argosy__Request__Job job = JOB_OF(.hold = hold);

        return rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m, .job = &job));
}

static void release_last(void) {
        uint64_t number = cluster_state_last_job(g.state);
        const Argosy__Author *asks = g.author;
        Argosy__Request__JobRelease release =
                MESSAGE_OF(request__job_release, .numbers = &number, .n_numbers = 1);

        g.author = NULL;
        assert_int_equal(status_of(rig_ask_and_settle(&g, A_REQUEST(JOB_RELEASE, job_release, &release))),
                         0);
        rig_pass_ms(&g, 1000);
        assert_int_equal(cluster_state_job_state(g.state, number), ARGOSY__JOB_STATE__JOB_DONE);
        g.author = asks;
}

// What was left out of it the first time is no reason to take it for another one.
static void what_he_asks_for_again_is_the_same_when_he_may_bring_files(void **state) {
        a_unit_of_each_role();
        give(OPERATE, "");
        g.author = &alice;
        assert_int_equal(status_of(ask_by_the_same_id(false)), 0);
        give(DEPLOY, "");
        assert_int_equal(status_of(ask_by_the_same_id(false)), 0);
        take(DEPLOY, "");
        assert_int_equal(status_of(ask_by_the_same_id(true)), 0);
        release_last();
        give(DEPLOY, "");
        assert_int_equal(status_of(ask_by_the_same_id(true)), 0);
}

static Argosy__NamedFile named(const char *name, const char *content) {
        Argosy__NamedFile file = MESSAGE_OF(
                named_file, .name = (char *) name, .path = (char *) name,
                .content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)});

        return file;
}

// one.service, with a file of its own or not, and the template of the unit that it needs.
static RigAnswer *ask_with_template(const char *own, const char *template, bool plan) {
        Argosy__NamedFile files[] = {named("two@.service", template), named("one.service", own ?: "")},
                          *pointers[] = {&files[0], &files[1]};
        char *name = (char *) "one.service";
        uint64_t id[2] = {++g.id, 55};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .names = &name, .n_names = 1, .files = pointers, .n_files = own ? 2 : 1,
                .preview = plan);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &m));
}

static RigAnswer *ask_to_start_with_template(const char *own, const char *template) {
        return ask_with_template(own, template, false);
}

static void start_with_template(const char *own, const char *template) {
        assert_int_equal(status_of(ask_to_start_with_template(own, template)), 0);
}

// What is asked for brings it along, says the plan.
static bool plans_to_start(const char *unit) {
        RigAnswer *a = ask_with_template(NULL, DB, true);
        const Argosy__Response__Change *change;

        assert_int_equal(status_of(a), 0);
        change = a->responses[0]->change;
        for (size_t i = 0; i < change->n_units; i++)
                if (streq(change->units[i]->name, unit) && change->units[i]->status == 0)
                        return true;
        return false;
}

static void who_may_operate_brings_no_template_of_what_comes_along(void **state) {
        start_with_template("[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nWants=two@1.service\n", DB);
        assert_non_null(rig_record(&g, "two@1.service"));
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "two@1.service", NULL)->status, 0);
        rig_settle(&g);
        assert_null(rig_record(&g, "two@1.service"));
        give(OPERATE, "");
        g.author = &alice;
        start_with_template(NULL, DB);
        assert_null(rig_record(&g, "two@1.service"));
        assert_false(plans_to_start("two@1.service"));
        g.author = NULL; // who may deploy does
        assert_true(plans_to_start("two@1.service"));
        start_with_template(NULL, DB);
        assert_non_null(rig_record(&g, "two@1.service"));
}

// ---------------------------------------------------------------------------------------------- of one role

static void a_role_narrows_what_can_be_done(void **state) {
        a_unit_of_each_role();
        give(OPERATE, "web");
        g.author = &alice;
        assert_int_equal(change(STOP, "web.service", NULL), 0);
        assert_int_equal(change(START, "web.service", NULL), 0);
        assert_int_equal(change(STOP, "db.service", NULL), EACCES);
        assert_int_equal(change(STOP, "none.service", NULL), EACCES);
        assert_int_equal(change(START, "new.service", WEB), EACCES);
        assert_null(rig_record(&g, "new.service"));
        assert_int_equal(rig_record(&g, "db.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void a_plan_is_for_who_may_see_what_it_would_do_to_others(void **state) {
        char *unit = (char *) "web.service";

        a_unit_of_each_role();
        give(OPERATE, "web");
        Argosy__Request__Change m = MESSAGE_OF(request__change, .verb = START, .names = &unit, .n_names = 1);
        Argosy__Request q = REQUEST_OF(CHANGE, change, &m);
        assert_false(refuses(&q));
        m.preview = true;
        assert_true(refuses(&q));
        give(VIEW, "");
        assert_false(refuses(&q));
}

// There it may be the host's own.
static void a_journal_on_a_named_node_is_for_who_may_see_all(void **state) {
        Argosy__Request__Journal m = {
                .base = PROTOBUF_C_MESSAGE_INIT(&argosy__request__journal__descriptor)};
        Argosy__Request q = REQUEST_OF(JOURNAL, journal, &m);

        a_unit_of_each_role();
        give(VIEW, "web");
        m.name = (char *) "web.service";
        m.node = (char *) "";
        assert_false(refuses(&q));
        m.node = (char *) "n2";
        assert_true(refuses(&q));
        give(VIEW, "");
        assert_false(refuses(&q));
}

static void what_is_not_there_and_what_is_not_his_are_refused_alike(void **state) {
        a_unit_of_each_role();
        give(OPERATE, "web");
        g.author = &alice;
        const char *there = rig_last(rig_change_with(&g, START, "db.service", NULL, false, NULL))->message;
        const char *not_there =
                rig_last(rig_change_with(&g, START, "no.service", NULL, false, NULL))->message;
        assert_string_equal(strchr(there, ':'), strchr(not_there, ':'));
}

static void a_role_narrows_what_is_seen(void **state) {
        a_unit_of_each_role();
        give(VIEW, "web");
        g.author = &alice;
        assert_non_null(strstr(rig_list_units(&g), "web.service"));
        assert_null(strstr(rig_list_units(&g), "db.service"));
        assert_int_equal(status_of(rig_wait(&g, START, "web.service", 1)), 0);
        assert_int_equal(status_of(rig_wait(&g, START, "db.service", 1)), EACCES);
        assert_int_equal(change(STOP, "web.service", NULL), EACCES);
        give(VIEW, "");
        assert_non_null(strstr(rig_list_units(&g), "db.service"));
}

static const Argosy__Response *unit_files(void) {
        Argosy__Request__ListUnitFiles list = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(LIST_UNIT_FILES, list_unit_files, &list)));
}

static void lists_have_what_he_may_see(void **state) {
        a_unit_of_each_role();
        g.author = &alice;
        assert_int_equal(unit_files()->status, EACCES);
        give(VIEW, "web");
        assert_int_equal(unit_files()->unit_files->n_rows, 1);
        assert_string_equal(unit_files()->unit_files->rows[0]->unit, "web.service");
}

static RigAnswer *jobs_of(uint64_t number) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.number = number);

        return rig_list_jobs(&g, &list);
}

static void jobs_are_seen_whose_units_are(void **state) {
        a_unit_of_each_role();
        uint64_t role = cluster_state_first_job(g.state);
        uint64_t web = role + 1;
        uint64_t db = role + 2;
        assert_int_equal(rig_change(&g, START, "old.service", WEB)->status, 0);
        uint64_t destroyed = cluster_state_last_job(g.state);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "old.service", NULL)->status, 0);
        give(VIEW, "web");
        assert_int_equal(rig_last(jobs_of(0))->jobs->n_rows, cluster_state_last_job(g.state));
        g.author = &alice;
        assert_int_equal(rig_last(jobs_of(0))->jobs->n_rows, 1);
        assert_int_equal(rig_last(jobs_of(0))->jobs->rows[0]->job, web);
        assert_int_equal(rig_last(jobs_of(web))->status, 0);
        assert_int_equal(rig_last(jobs_of(web))->jobs->rows[0]->n_units, 1);
        assert_int_equal(rig_last(jobs_of(role))->status, EACCES);
        assert_int_equal(rig_last(jobs_of(db))->status, EACCES);
        assert_int_equal(rig_last(jobs_of(destroyed))->status, EACCES);
}

// Two units are named, and only one of them is changed by it.
static void what_was_typed_of_other_units_is_not_shown(void **state) {
        char *names[] = {(char *) "web.service", (char *) "secret.service"};
        uint64_t id[2] = {++g.id, 56};

        a_unit_of_each_role();
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = STOP, .names = names, .n_names = ELEMENTSOF(names));
        assert_int_equal(status_of(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m))), 0);
        give(VIEW, "web");
        g.author = &alice;
        const Argosy__Response__JobRow *row = rig_last(jobs_of(0))->jobs->rows[0];
        assert_string_equal(row->verb, "stop");
        assert_int_equal(row->n_targets, 1);
        assert_string_equal(row->targets[0], "web.service");
        assert_int_equal(row->more_targets, 0);
}

static void readings_have_what_he_may_see(void **state) {
        Argosy__Response__UsageRow rows[] = {ARGOSY__RESPONSE__USAGE_ROW__INIT,
                                             ARGOSY__RESPONSE__USAGE_ROW__INIT},
                                   *pointers[] = {&rows[0], &rows[1]};
        Argosy__Response response = ARGOSY__RESPONSE__INIT, *r;

        a_unit_of_each_role();
        give(VIEW, "web");
        rows[0].unit = (char *) "db.service";
        rows[1].unit = (char *) "web.service";
        Argosy__Response__Usage usage = USAGE_OF(.rows = pointers, .n_rows = ELEMENTSOF(pointers));
        response.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
        response.usage = &usage;
        r = message_copy(&response);
        authorization_filter(g.leader, &alice, r);
        assert_int_equal(r->usage->n_rows, 1);
        assert_string_equal(r->usage->rows[0]->unit, "web.service");
        message_free(r);
}

// By its hash it may be anybody's.
static void a_file_of_another_time_is_for_who_may_see_all(void **state) {
        char *unit = (char *) "web.service", *rev = (char *) "00";

        a_unit_of_each_role();
        give(VIEW, "web");
        Argosy__Request__Cat m = MESSAGE_OF(request__cat, .names = &unit, .n_names = 1, .revs = &rev);
        Argosy__Request q = REQUEST_OF(CAT, cat, &m);
        assert_false(refuses(&q));
        m.n_revs = 1;
        assert_true(refuses(&q));
        give(VIEW, "");
        assert_false(refuses(&q));
}

// Made in turns.
static void a_long_list_has_what_he_may_see(void **state) {
        enum { UNITS = 1200 };

        a_unit_of_each_role();
        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, printed("u%u.service", i), i == 7 ? WEB : DB);
        }
        give(VIEW, "web");
        g.author = &alice;
        assert_int_equal(unit_files()->unit_files->n_rows, 2);
        assert_string_equal(unit_files()->unit_files->rows[0]->unit, "u7.service");
}

// ----------------------------------------------------------------------------------------- rights of rights

static size_t listed_rights(void) {
        Argosy__Request__AccessList list = ARGOSY__REQUEST__ACCESS_LIST__INIT;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(ACCESS_LIST, access_list, &list));

        assert_int_equal(rig_last(a)->status, 0);
        return rig_last(a)->access->n_rows;
}

static void who_has_no_say_in_it_is_told_of_his_own_rights(void **state) {
        assert_int_equal(change_access(false, VIEW, "bob", "n3", "")->status, 0);
        give(DEPLOY, "");
        assert_int_equal(listed_rights(), 3); // the group's, too
        g.author = &alice;
        assert_int_equal(listed_rights(), 1);
        assert_int_equal(change_access(false, ADMIN, "alice", "", "")->status, EACCES);
        give(ADMIN, "");
        assert_int_equal(listed_rights(), 4);
}

static void what_nobody_can_have_is_refused(void **state) {
        assert_int_equal(change_access(false, VIEW, "", "", "")->status, EINVAL);
        assert_int_equal(change_access(false, ARGOSY__RIGHT__RIGHT_NONE, "alice", "", "")->status, EINVAL);
        assert_int_equal(change_access(false, DEPLOY, "alice", "", "web")->status, EINVAL);
        assert_int_equal(change_access(false, VIEW, "alice", "", "no role")->status, EINVAL);
        assert_int_equal(change_access(false, VIEW, "al\nice", "", "")->status, EINVAL);
        assert_int_equal(change_access(false, VIEW, "alice", "n9", "")->status, ENOENT);
        assert_int_equal(change_access(true, VIEW, "alice", "", "")->status, ENOENT);
        assert_int_equal(change_access(false, VIEW, "alice", "", "")->status, 0);
        assert_int_equal(change_access(false, VIEW, "alice", "", "")->status, 0); // it is so already
}

static void a_right_at_one_host_is_that_hosts_users(void **state) {
        assert_int_equal(change_access(false, ADMIN, "alice", "n2", "")->status, 0);
        g.author = &alice;
        assert_int_equal(listed_rights(), 2);
        alice.host = 3; // the same name somewhere else
        assert_int_equal(listed_rights(), 0);
}

static void a_change_of_rights_is_a_job(void **state) {
        give(OPERATE, "web");
        const Argosy__Response__JobRow *job = rig_show_job(&g, cluster_state_last_job(g.state));
        assert_string_equal(job->verb, "access grant");
        assert_int_equal(job->n_targets, 2);
        assert_string_equal(job->targets[1], "user:alice");
}

// ----------------------------------------------------------------------------------------------- taken back

static void who_loses_his_right_hears_no_more(void **state) {
        Argosy__Request__Journal journal = {
                .base = PROTOBUF_C_MESSAGE_INIT(&argosy__request__journal__descriptor)};

        a_unit_of_each_role();
        give(VIEW, "");
        g.author = &alice;
        journal.name = (char *) "db.service";
        journal.node = (char *) "";
        journal.follow = true;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(JOURNAL, journal, &journal));
        assert_false(a->final);
        take(VIEW, "");
        assert_int_equal(status_of(a), EACCES);
        assert_int_equal(change(STOP, "db.service", NULL), EACCES);
}

static RigAnswer *follow_journal(const char *unit) {
        Argosy__Request__Journal journal = {
                .base = PROTOBUF_C_MESSAGE_INIT(&argosy__request__journal__descriptor)};

        journal.name = (char *) unit;
        journal.node = (char *) "";
        journal.follow = true;
        return rig_ask_and_settle(&g, A_REQUEST(JOURNAL, journal, &journal));
}

static void line_from(uint32_t host) {
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response response = RESPONSE_OF(JOURNAL, journal, &journal);
        Argosy__ToVoter__CallReply reply =
                MESSAGE_OF(to_voter__call_reply, .id = rig_host(&g, host)->last_call, .response = &response);

        leader_on_message(g.leader, host, A_TO_VOTER(CALL_REPLY, call_reply, &reply));
        rig_settle(&g);
}

static void lines_of_a_unit_that_is_of_another_role_now_are_not_for_him(void **state) {
        a_unit_of_each_role();
        give(VIEW, "web");
        uint32_t host = rig_host_of(&g, "web.service");
        g.author = &alice;
        RigAnswer *a = follow_journal("web.service");
        size_t before = a->n;
        line_from(host);
        assert_int_equal(a->n, before + 1);
        assert_int_equal(rig_last(a)->what_case, ARGOSY__RESPONSE__WHAT_JOURNAL);
        g.author = NULL;
        assert_int_equal(status_of(rig_change_with(&g, START, "web.service", DB, true, NULL)), 0);
        line_from(host);
        assert_final(a, EACCES);
        assert_int_equal(a->n, before + 2);
}

static void a_request_is_judged_by_what_holds_when_its_turn_comes(void **state) {
        a_unit_of_each_role();
        give(OPERATE, "");
        g.slow = true; // the log has an entry on its way
        RigAnswer *first = rig_change_with(&g, STOP, "web.service", NULL, false, NULL);
        rig_turns(&g, 2);
        {
                Argosy__Request__AccessChange m =
                        ACCESS_CHANGE_OF(.revoke = true, .right = OPERATE, .user = (char *) "alice");

                (void) rig_ask(&g, A_REQUEST(ACCESS_CHANGE, access_change, &m));
        }
        rig_turns(&g, 2);
        rig_release(&g); // now the next entry is made, with that
        rig_turns(&g, 2);
        g.author = &alice;
        RigAnswer *second = rig_change_with(&g, STOP, "db.service", NULL, false, NULL);
        rig_turns(&g, 2);
        assert_false(second->final); // he may still, and waits for his turn
        rig_hurry(&g);
        assert_int_equal(status_of(second), EACCES);
        assert_int_equal(status_of(first), 0);
        assert_int_equal(rig_record(&g, "db.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void what_he_brings_is_judged_when_its_turn_comes(void **state) {
        Argosy__Request__AccessChange m =
                ACCESS_CHANGE_OF(.revoke = true, .right = DEPLOY, .user = (char *) "alice");

        start_with_template("[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nWants=two@1.service\n", DB);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "two@1.service", NULL)->status, 0);
        rig_settle(&g);
        give(OPERATE, "");
        give(DEPLOY, "");
        g.slow = true;
        (void) rig_ask(&g, A_REQUEST(ACCESS_CHANGE, access_change, &m));
        rig_turns(&g, 2); // the entry is on its way
        g.author = &alice;
        RigAnswer *a = ask_to_start_with_template(NULL, DB);
        rig_turns(&g, 2);
        assert_false(a->final);
        rig_hurry(&g);
        assert_int_equal(status_of(a), 0);
        assert_null(rig_record(&g, "two@1.service"));
}

// -------------------------------------------------------------------------------------- hosts without a log

static unsigned n_reported;
static size_t n_grants;
static uint64_t reported_revision;

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (host != 3 || m->msg_case != ARGOSY__TO_HOST__MSG_ACCESS)
                return;
        n_reported++;
        n_grants = m->access->n_grants;
        reported_revision = m->access->revision;
}

static void a_host_is_told_when_it_comes_and_when_something_has_changed(void **state) {
        g.on_host_message = on_host_message;
        n_reported = 0;
        give(VIEW, "");
        assert_int_equal(n_reported, 1);
        assert_int_equal(n_grants, 2);
        assert_int_equal(reported_revision, cluster_state_revision(g.state));
        a_unit_of_each_role(); // nothing of that is said to it
        assert_int_equal(n_reported, 1);
        rig_host_off(&g, 3);
        take(VIEW, "");
        n_reported = 0;
        rig_host_on(&g, 3, false);
        assert_int_equal(n_reported, 1);
        assert_int_equal(n_grants, 1);
}

static void count_told(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        n_reported += m->msg_case == ARGOSY__TO_HOST__MSG_ACCESS;
}

static void of_hundreds_of_hosts_some_are_told_in_each_turn(void **state) {
        enum { HOSTS = 600, AT_ONCE = 256 };
        Argosy__Request__AccessChange change = ACCESS_CHANGE_OF(.right = VIEW, .user = (char *) "alice");
        unsigned most = 0;

        rig_stop(&g);
        rig_start(&g, HOSTS);
        g.on_host_message = count_told;
        n_reported = 0;
        (void) rig_ask(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change));
        for (unsigned i = 0; i < 50; i++) {
                unsigned before = n_reported;

                rig_turns(&g, 1);
                most = MAX_OF(most, n_reported - before);
        }
        assert_int_equal(n_reported, HOSTS);
        assert_in_range(most, 1, AT_ONCE);
}

// A person is told by which of his groups somebody could do that, also when he is in it no more.
static void a_job_has_the_groups_that_something_was_given_to(void **state) {
        Argosy__Request__AccessChange to_staff = ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_DEPLOY,
                                                                  .group = (char *) "staff");
        char *groups[] = {(char *) "video", (char *) "staff"};
        Argosy__Author bob = alice;

        g.author = NULL;
        assert_int_equal(
                status_of(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &to_staff))), 0);
        bob.user = (char *) "bob";
        bob.groups = groups;
        bob.n_groups = ELEMENTSOF(groups);
        g.author = &bob;
        assert_int_equal(change(START, "bobs.service", "[Service]\nExecStart=/bin/sleep 1000\n"), 0);
        g.author = NULL;
        assert_int_equal(rig_show_job(&g, cluster_state_last_job(g.state))->n_groups, 1);
        assert_string_equal(rig_show_job(&g, cluster_state_last_job(g.state))->groups[0], "staff");
        assert_int_equal(change(START, "roots.service", "[Service]\nExecStart=/bin/sleep 1000\n"), 0);
        assert_int_equal(rig_show_job(&g, cluster_state_last_job(g.state))->n_groups, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(each_request_needs_its_right),
        CASE(what_a_change_needs_depends_on_its_verb),
        CASE(a_rollout_of_content_is_no_restart),
        CASE(who_may_operate_brings_nothing),
        CASE(what_he_asks_for_again_is_the_same_when_he_may_bring_files),
        CASE(who_may_operate_brings_no_template_of_what_comes_along),
        CASE(a_role_narrows_what_can_be_done),
        CASE(a_plan_is_for_who_may_see_what_it_would_do_to_others),
        CASE(a_journal_on_a_named_node_is_for_who_may_see_all),
        CASE(what_is_not_there_and_what_is_not_his_are_refused_alike),
        CASE(a_role_narrows_what_is_seen),
        CASE(lists_have_what_he_may_see),
        CASE(a_file_of_another_time_is_for_who_may_see_all),
        CASE(jobs_are_seen_whose_units_are),
        CASE(what_was_typed_of_other_units_is_not_shown),
        CASE(readings_have_what_he_may_see),
        CASE(a_long_list_has_what_he_may_see),
        CASE(who_has_no_say_in_it_is_told_of_his_own_rights),
        CASE(what_nobody_can_have_is_refused),
        CASE(a_right_at_one_host_is_that_hosts_users),
        CASE(a_change_of_rights_is_a_job),
        CASE(a_job_has_the_groups_that_something_was_given_to),
        CASE(who_loses_his_right_hears_no_more),
        CASE(lines_of_a_unit_that_is_of_another_role_now_are_not_for_him),
        CASE(a_request_is_judged_by_what_holds_when_its_turn_comes),
        CASE(what_he_brings_is_judged_when_its_turn_comes),
        CASE(a_host_is_told_when_it_comes_and_when_something_has_changed),
        CASE(of_hundreds_of_hosts_some_are_told_in_each_turn)
)
