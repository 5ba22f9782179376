// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that have an older version of a secret than the newest are listed and noted; what restarts and
// updates do about that.
#include "buf.h"
#include "carried-files.h"
#include "event-asks.h"
#include "printed.h"
#include "str.h"
#include "../hosts/secret-words.h"

static int setup(void **state) {
        return begin(3);
}

static const Argosy__Response__SecretRow *stale_row(const char *name) {
        Argosy__Request__SecretList m =
                MESSAGE_OF(request__secret_list, .names = (char **) &name, .n_names = 1, .stale = true);

        return ask(A_REQUEST(SECRET_LIST, secret_list, &m))->secrets->rows[0];
}

// What `secret set --restart` restarts.
static void those_that_run_with_an_older_version_are_found(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", APP);
        do_well(START, "c.service", APP);
        do_well(SUBMIT, "d.service", APP);
        do_well(STOP, "b.service", NULL);
        assert_int_equal(stale_row("db")->n_uses, 0);
        set("db", "two");
        do_well(RESTART, "c.service", NULL);
        assert_int_equal(stale_row("db")->n_uses, 1);
        assert_string_equal(stale_row("db")->uses[0]->unit, "a.service");
        assert_true(stale_row("db")->uses[0]->launched);
        assert_int_equal(stale_row("db")->units, 4);
}

static const char *note_of(const char *unit) {
        return rig_why(&g, unit)->status_reply->row->note;
}

static void thousands_that_have_an_older_version_are_noted_in_turns(void **state) {
        enum { MANY = 3000 };
        unsigned n_turns = 0;

        set("db", "one");
        (void) rig_change_many(&g, START, "m", MANY, APP);
        RigAnswer *a = begin_set("db", "two", 3);
        while (!a->final)
                rig_turns(&g, 1);
        for (; g.leader->secret_users.due; n_turns++)
                rig_turns(&g, 1);
        assert_in_range(n_turns, 2, 4);
        assert_string_equal(note_of("m@2999.service"), "older-secret");
}

// As whoever watches is told.
static const char *told_note(Asked *a, const char *unit) {
        const Argosy__Event *e =
                asked_pull(&g, a) ? asked_find(a, ARGOSY__EVENT_KIND__EVENT_STATE, unit) : NULL;

        return e ? event_field(e, "note") : "nothing";
}

static void what_has_an_older_version_is_noted_and_told(void **state) {
        Asked a = {.from_now = true};

        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", APP);
        do_well(STOP, "b.service", NULL);
        do_well(START, "c.service", PLAIN);
        rig_settle(&g);
        assert_string_equal(note_of("a.service"), "");
        (void) asked_pull(&g, &a);
        set("db", "two");
        assert_string_equal(told_note(&a, "a.service"), "older-secret");
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "c.service"));
        assert_string_equal(note_of("a.service"), "older-secret");
        assert_string_equal(rig_why(&g, "a.service")->status_reply->why,
                            "its secret db has a newer version; `restart` gives it that");
        assert_string_equal(note_of("b.service"), ""); // its next start has it
        assert_string_equal(note_of("c.service"), "");
        do_well(RESTART, "a.service", NULL);
        assert_string_equal(told_note(&a, "a.service"), "");
        assert_string_equal(note_of("a.service"), "");
        assert_string_equal(rig_why(&g, "a.service")->status_reply->why, "");
        asked_forget(&a);
}

static void an_update_wants_all_that_its_file_names(void **state) {
        do_well(START, "a.service", PLAIN);
        RigAnswer *a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                    .name = "a.service",
                                                    .content = APP});
        assert_replies(rig_last(a), EINVAL,
                       "Secret=db: there is no such secret; `argosyctl secret set db` makes it");
        set("db", "hunter2");
        a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                         .name = "a.service",
                                         .content = APP});
        assert_int_equal(rig_last(a)->status, 0);
        rig_settle(&g);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
}

#define WITH_FILE                          \
        "[Service]\nExecStart=/bin/sleep " \
        "1000\n[X-Argosy]\nSecret=db:password\nFile=a\nFileChange=none\nGlobal=yes\n"

// The content of all.service, which comes with a file of that one byte.
static char *with_file(uint8_t *byte) {
        static ProtobufCBinaryData file;
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        _cleanup_buf_ Buf content = {};
        Hash hash = hash_of(byte, 1);
        char *why = NULL;

        file = (ProtobufCBinaryData){1, byte};
        g.sent = &file;
        g.n_sent = 1;
        assert_int_equal(unit_file_parse("all.service", WITH_FILE, strlen(WITH_FILE), &parsed, NULL), 0);
        assert_int_equal(carried_files_add(&files, "a", false, 1, &hash), 0);
        assert_int_equal(buf_append(&content, WITH_FILE, strlen(WITH_FILE)), 0);
        assert_int_equal(carried_files_compose("all.service", parsed, &files, &content, &why), 0);
        return buf_take_string(&content);
}

// Its nodes have one version when it is over, and those that ran all the time have the one that they were
// started with.
static void a_node_that_starts_with_new_files_gets_the_version_of_the_others(void **state) {
        uint8_t bytes[] = {'1', '2'};
        _cleanup_free_ char *old = with_file(&bytes[0]), *new = NULL;

        set("db", "first");
        do_well(START, "all.service", old);
        set("db", "second");
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        new = with_file(&bytes[1]);
        RigAnswer *a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                    .name = "all.service",
                                                    .content = new});
        assert_int_equal(rig_last(a)->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(rig_unit_on(&g, 2, "all.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        for (unsigned i = 1; i <= 3; i++)
                assert_int_equal(sent[i].latest, 1);
}

static unsigned restarts(const char *unit) {
        return rig_unit_on(&g, rig_host_of(&g, unit), unit)->restarts;
}

#define EACH "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nSecret=db-%i:password\n"

// Of a template whose instances have secrets of their own, those go on that have the newest version,
// whatever else they have that is older.
static void a_restart_for_a_secret_is_of_units_that_have_an_older_version_of_it(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "r@.service", .secret = "db-1"};

        set("db-1", "one");
        set("db-2", "one");
        set("db-3", "one");
        do_well(SUBMIT, "r@.service", EACH);
        for (unsigned i = 1; i <= 3; i++) {
                do_well(START, printed("r@%u.service", i), NULL);
        }
        set("db-1", "two");
        set("db-3", "two");
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(cluster_state_find_rollout(g.state, "r@.service")->phase,
                         ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE);
        assert_int_equal(restarts("r@1.service"), 1);
        assert_int_equal(restarts("r@2.service"), 0);
        assert_int_equal(restarts("r@3.service"), 0);
        assert_int_equal(row("db-1")->stale, 0);
        assert_int_equal(row("db-3")->stale, 1);
        w.secret = NULL;
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(restarts("r@1.service"), 2);
        assert_int_equal(restarts("r@2.service"), 1);
}

static void a_global_unit_is_restarted_for_a_secret_if_it_has_an_older_version(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "all.service", .secret = "db"};

        set("db", "one");
        do_well(START, "all.service", APP "Global=yes\n");
        for (unsigned expected = 0; expected < 2; expected++) {
                assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
                rig_pass_ms(&g, 60000);
                for (uint32_t i = 1; i <= 3; i++)
                        assert_int_equal(rig_unit_on(&g, i, "all.service")->restarts, expected);
                set("db", "two");
        }
}

static void a_restart_is_for_a_secret_that_there_is_and_an_update_for_none(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "a.service", .secret = "none"};

        set("db", "one");
        do_well(START, "a.service", APP);
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, EINVAL);
        w.secret = "db";
        w.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        w.content = OTHER;
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, EINVAL);
        assert_int_equal(restarts("a.service"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(a_restart_for_a_secret_is_of_units_that_have_an_older_version_of_it),
                RIG_TEST(a_global_unit_is_restarted_for_a_secret_if_it_has_an_older_version),
                RIG_TEST(a_restart_is_for_a_secret_that_there_is_and_an_update_for_none),
                RIG_TEST(thousands_that_have_an_older_version_are_noted_in_turns),
                RIG_TEST(those_that_run_with_an_older_version_are_found),
                RIG_TEST(what_has_an_older_version_is_noted_and_told),
                RIG_TEST(an_update_wants_all_that_its_file_names),
                RIG_TEST(a_node_that_starts_with_new_files_gets_the_version_of_the_others),
        };

        log_set_level(LOG_CRIT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
