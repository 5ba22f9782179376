// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests that name thousands of units, and rules that ask for some of them: what one turn compares is
// bounded, and a file is read once. What is counted are comparisons with patterns and files that are read,
// between two turns.
#include <fnmatch.h>

#include "messages.h"
#include "queue-words.h"
#include "unit-file.h"

#define LIMIT ARGOSY__QUEUE_ACTION__QUEUE_LIMIT
#define REFUSE ARGOSY__QUEUE_ACTION__QUEUE_REFUSE

enum { UNITS = 5000, COMPARED_MAX = 2048, TURNS_MAX = 200 };

static unsigned n_compared, n_read;

int __real_fnmatch(const char *pattern, const char *text, int flags);
int __wrap_fnmatch(const char *pattern, const char *text, int flags);
int __real_unit_file_parse(const char *path, const void *content, size_t len, UnitFile **ret,
                           char **ret_why);
int __wrap_unit_file_parse(const char *path, const void *content, size_t len, UnitFile **ret,
                           char **ret_why);

int __wrap_fnmatch(const char *pattern, const char *text, int flags) {
        n_compared++;
        return __real_fnmatch(pattern, text, flags);
}

int __wrap_unit_file_parse(const char *path, const void *content, size_t len, UnitFile **ret,
                           char **ret_why) {
        n_read++;
        return __real_unit_file_parse(path, content, len, ret, ret_why);
}

typedef struct Counted {
        unsigned n_turns, compared, read; // turns until it was answered, and the most of one of them
        unsigned read_late;               // in all behind the first few
} Counted;

static void count_turns(const RigAnswer *a, Counted *ret) {
        for (*ret = (Counted){}; !a->final && ret->n_turns < TURNS_MAX; ret->n_turns++) {
                n_compared = n_read = 0;
                rig_turns(&g, 1);
                ret->compared = MAX_OF(ret->compared, n_compared);
                ret->read = MAX_OF(ret->read, n_read);
                ret->read_late += ret->n_turns > 5 ? n_read : 0;
        }
        assert_true(a->final);
}

// Instances of a template, which comes with them; NULL: of the one that is there.
static RigAnswer *ask_for(Argosy__Verb verb, size_t n, const char *content) {
        static char names[UNITS][32], *pointers[UNITS];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {++g.id, 66};

        for (size_t i = 0; i < n; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content ?: "")}),
                          *files = &file;
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = verb;
        change.names = pointers;
        change.n_names = n;
        change.files = &files;
        change.n_files = content != NULL;
        return rig_ask(&g, &request);
}

static RigAnswer *ask_to_submit(size_t n, const char *content) {
        return ask_for(SUBMIT, n, content);
}

static const Argosy__Response *submit(size_t n, const char *content, Counted *ret) {
        RigAnswer *a = ask_to_submit(n, content);

        count_turns(a, ret);
        return rig_last(a);
}

static uint32_t add_role_rule(Argosy__QueueAction action, const char *role) {
        Argosy__QueueRule about = rule(action, "");

        about.role = (char *) role;
        about.limit = action == LIMIT ? 2 : 0;
        about.text = (char *) (action == REFUSE ? "frozen" : "");
        return add_rule(about);
}

static void thousands_are_compared_in_turns_and_their_file_is_read_once(void **state) {
        Counted counted;

        (void) add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "db@*"));
        (void) add_role_rule(LIMIT, "web");
        (void) add_role_rule(LIMIT, "cache");
        assert_int_equal(submit(UNITS, SERVICE, &counted)->status, 0);
        assert_non_null(rig_record(&g, "w@0.service"));
        assert_in_range(counted.compared, 1, COMPARED_MAX + 10); // and who asks, and what for
        assert_in_range(counted.read, 1, 10);
        assert_true(counted.n_turns > UNITS / COMPARED_MAX);
}

// Each name has to be asked then.
static void a_role_that_is_made_of_names_is_found_among_thousands(void **state) {
        Counted counted;

        (void) add_role_rule(REFUSE, "4999");
        const Argosy__Response *r = submit(UNITS, SERVICE "[X-Argosy]\nRole=%i\n", &counted);
        assert_replies(r, EPERM, "frozen");
        assert_int_equal(counted.read, 1);
        assert_null(rig_record(&g, "w@0.service"));
}

// What was found is asked for anew by other rules.
static void rules_that_change_meanwhile_count(void **state) {
        Argosy__QueueRule frozen = rule(REFUSE, "w@0.service"); // that was compared before
        Argosy__Request__QueueChange m = MESSAGE_OF(
                request__queue_change, .before = add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "db@*")),
                .add = &frozen);
        Counted counted;

        frozen.text = (char *) "frozen";
        (void) rig_ask(&g, A_REQUEST(QUEUE_CHANGE, queue_change,
                                     &m)); // is decided in the first turn of that which comes now
        assert_int_equal(submit(UNITS, SERVICE, &counted)->status, EPERM);
        assert_null(rig_record(&g, "w@0.service"));
}

// By the file that comes for it a unit is of another role, in the first turn of a request about thousands.
static const Argosy__Response *load_while_changed(const char *name, Counted *ret) {
        Argosy__Request__RoleChange change =
                MESSAGE_OF(request__role_change, .name = (char *) "db", .weight = 1);
        Argosy__QueueRule about = rule(REFUSE, "");
        uint64_t id[2] = {++g.id, 67};

        about.role = (char *) "db";
        about.verb = (char *) "load";
        about.text = (char *) "frozen";
        (void) add_rule(about);
        (void) rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &change));
        (void) rig_change_with(&g, SUBMIT, name, SERVICE "[X-Argosy]\nRole=db\n", true,
                               (const uint8_t *) id);
        RigAnswer *a = ask_for(ARGOSY__VERB__VERB_LOAD, UNITS, NULL);
        count_turns(a, ret);
        return rig_last(a);
}

static void a_unit_that_comes_to_another_role_meanwhile_counts(void **state) {
        Counted counted;

        assert_int_equal(submit(UNITS, SERVICE, &counted)->status, 0);
        assert_int_equal(load_while_changed("w@0.service", &counted)->status, EPERM);
        assert_in_range(counted.n_turns, 2, TURNS_MAX - 1);
        assert_int_equal(rig_record(&g, "w@1.service")->target, ARGOSY__TARGET__TARGET_INACTIVE);
}

// What others do to other units, and what leaves the file as it is, begins nothing anew.
static void what_leaves_roles_as_they_are_costs_no_turn(void **state) {
        Counted alone, beside;

        (void) add_role_rule(REFUSE, "nobody");
        assert_int_equal(submit(UNITS, SERVICE, &alone)->status, 0);
        count_turns(ask_for(ARGOSY__VERB__VERB_LOAD, UNITS, NULL), &alone);
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_LOAD, "w@0.service", NULL, false, NULL);
        (void) rig_change_with(&g, SUBMIT, "other.service", SERVICE, false, NULL);
        count_turns(ask_for(ARGOSY__VERB__VERB_LOAD, UNITS, NULL), &beside);
        assert_in_range(beside.n_turns, 1, alone.n_turns + 1);
}

// Two templates in turn, whose roles are made of names: each of them is read again and again.
static RigAnswer *restart_what_is_not_there(void) {
        static char names[UNITS][24], *pointers[UNITS];
        Argosy__NamedFile files[2], *file_pointers[2] = {&files[0], &files[1]};
        static char content[] = SERVICE "[X-Argosy]\nRole=%i\n", *templates[] = {"v@.service", "w@.service"};
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {++g.id, 66};

        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "%c@%zu.service", i % 2 ? 'v' : 'w', i);
                pointers[i] = names[i];
        }
        for (size_t i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = templates[i], .path = templates[i],
                        .content =
                                (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)});
        }
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = RESTART;
        change.names = pointers;
        change.n_names = UNITS;
        change.files = file_pointers;
        change.n_files = 2;
        return rig_ask(&g, &request);
}

static void files_that_he_may_not_bring_any_more_are_not_read(void **state) {
        Argosy__Request__AccessChange revoke =
                ACCESS_CHANGE_OF(.revoke = true, .right = ARGOSY__RIGHT__RIGHT_DEPLOY,
                                 .user = (char *) "bob");
        Argosy__Author bob = user("bob", 1001);
        Counted counted;

        (void) add_role_rule(REFUSE, "nobody");
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "bob", false);
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "bob", false);
        (void) rig_ask(&g, A_REQUEST(ACCESS_CHANGE, access_change,
                                     &revoke)); // is decided in the first turn of that which comes now
        g.author = &bob;
        count_turns(restart_what_is_not_there(), &counted);
        g.author = NULL;
        assert_true(counted.read > 0);
        assert_int_equal(counted.read_late, 0);
}

// Of jobs that may go now as of requests that come; and several of them have one turn together.
static void those_that_are_due_are_compared_in_turns(void **state) {
        enum { JOBS = 3 };
        Argosy__Request__QueueChange open_queue = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(QUEUE_CHANGE, queue_change, &open_queue);
        unsigned most = 0, turns = 0;
        uint64_t jobs[JOBS];

        set_closed(true, "");
        for (size_t i = 0; i < JOBS; i++) {
                (void) ask_to_submit(UNITS, SERVICE);
                rig_settle(&g);
                jobs[i] = rig_last_job(&g);
                assert_int_equal(state_of(jobs[i]), HELD);
        }
        (void) add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "db@*"));
        (void) add_role_rule(LIMIT, "web");
        open_queue.open = true;
        (void) rig_ask(&g, &request);
        for (; state_of(jobs[JOBS - 1]) == HELD && turns < TURNS_MAX; turns++) {
                n_compared = 0;
                rig_turns(&g, 1);
                most = MAX_OF(most, n_compared);
        }
        assert_in_range(most, 1, COMPARED_MAX + 10);
        rig_settle(&g);
        for (size_t i = 0; i < JOBS; i++)
                assert_int_equal(state_of(jobs[i]), DONE);
        assert_int_equal(n_held(), 0);
}

RUN_TESTS(
        RIG_TEST(thousands_are_compared_in_turns_and_their_file_is_read_once),
        RIG_TEST(a_role_that_is_made_of_names_is_found_among_thousands),
        RIG_TEST(rules_that_change_meanwhile_count),
        RIG_TEST(what_leaves_roles_as_they_are_costs_no_turn),
        RIG_TEST(a_unit_that_comes_to_another_role_meanwhile_counts),
        RIG_TEST(files_that_he_may_not_bring_any_more_are_not_read),
        RIG_TEST(those_that_are_due_are_compared_in_turns)
)
