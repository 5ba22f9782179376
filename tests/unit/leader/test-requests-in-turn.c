// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several users ask for more than a turn has time for: none of them is kept waiting by how much the others
// ask for, and no turn is long.
#include <errno.h>

#include "author.h"
#include "decide-chunks.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "turn.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"

enum { HOSTS = 4, UNITS = 1500, BACKLOG = 12, SUBMIT_PART = 512, PLANNED_MAX = 500 };

static Rig g;
static Argosy__Author heavy, other;
static char names[UNITS][32], *pointers[UNITS];

FIXTURE(setup) {
        static char group[] = ACCESS_GROUP, *groups[] = {group};

        rig_start(&g, HOSTS);
        heavy = (Argosy__Author) AUTHOR_OF(.host = 1, .uid = 1001, .groups = groups, .n_groups = 1);
        other = heavy;
        other.uid = 1002;
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
}

RIG_TEARDOWN

static RigAnswer *ask(const Argosy__Author *author, const Argosy__Request *request) {
        g.author = author;
        RigAnswer *a = rig_ask(&g, request);
        g.author = NULL;
        return a;
}

// Of so many of the names; what of them is changed is for the content to say.
static RigAnswer *change(const Argosy__Author *author, Argosy__Verb verb, size_t n, const char *content,
                         bool preview) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        uint64_t id[2] = {++g.id, 91};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = verb, .names = pointers, .n_names = n, .preview = preview, .replace = true,
                .files = &files, .n_files = 1);

        return ask(author, A_REQUEST(CHANGE, change, &m));
}

static RigAnswer *submit(const Argosy__Author *author, size_t n, const char *content) {
        return change(author, ARGOSY__VERB__VERB_SUBMIT, n, content, false);
}

static RigAnswer *label(const Argosy__Author *author, const char *value) {
        Argosy__Label set = MESSAGE_OF(label, .key = (char *) "rack", .value = (char *) value), *sets = &set;
        Argosy__Request__LabelChange m =
                MESSAGE_OF(request__label_change, .node = (char *) "n2", .set = &sets, .n_set = 1);

        return ask(author, A_REQUEST(LABEL_CHANGE, label_change, &m));
}

static unsigned turns_until_final(const RigAnswer *a) {
        unsigned n = 0;

        for (; !a->final; n++) {
                assert_true(n < 1000);
                rig_turns(&g, 1);
        }
        return n;
}

static size_t count_final(RigAnswer *const *answers, size_t n) {
        size_t n_final = 0;

        for (size_t i = 0; i < n; i++)
                n_final += answers[i]->final;
        return n_final;
}

static void assert_all_done(RigAnswer *const *answers, size_t n) {
        rig_settle(&g);
        for (size_t i = 0; i < n; i++) {
                assert_true(answers[i]->final);
                assert_int_equal(rig_last(answers[i])->status, 0);
        }
}

// ---------------------------------------------------------------------------------------------- for the log

static void who_asks_for_little_overtakes_a_backlog(void **state) {
        RigAnswer *backlog[BACKLOG], *labels[2];

        for (size_t i = 0; i < BACKLOG; i++)
                backlog[i] = submit(&heavy, UNITS, i % 2 ? OTHER : SERVICE);
        rig_turns(&g, 2);
        labels[0] = label(NULL, "a");
        labels[1] = label(&other, "b");
        assert_in_range(turns_until_final(labels[0]), 1, 4);
        assert_in_range(turns_until_final(labels[1]), 0, 4);
        assert_int_equal(rig_last(labels[0])->status, 0);
        assert_in_range(count_final(backlog, BACKLOG), 0, 1);
        assert_all_done(backlog, BACKLOG);
}

static size_t most_begun;

static RigAnswer *call_off(const Argosy__Author *author, uint64_t job) {
        g.author = author;
        RigAnswer *a = rig_begin_job_cancel(&g, job);
        g.author = NULL;
        return a;
}

static void count_undone(Rig *r) {
        size_t n = 0;

        list_foreach (i, &r->leader->pending_requests)
                n += CONTAINER_OF(i, PendingRequest, all)->works != NULL;
        most_begun = MAX_OF(most_begun, n);
}

// A list of their units is kept until they are over: of requests that are no more than a number.
static void few_of_an_author_are_undone_at_a_time(void **state) {
        enum { MANY = 2 * LEADER_LIMIT_begun };
        uint64_t jobs[2];
        RigAnswer *backlog[MANY];

        g.author = &heavy;
        for (size_t i = 0; i < ELEMENTSOF(jobs); i++) {
                (void) rig_change_many(&g, ARGOSY__VERB__VERB_SUBMIT, i ? "x" : "w", UNITS, SERVICE);
                jobs[i] = rig_last_job(&g);
        }
        most_begun = 0;
        g.on_turn = count_undone;
        for (size_t i = 0; i < MANY; i++)
                backlog[i] = rig_begin_undo(&g, (RigUndo){.job = jobs[i % ELEMENTSOF(jobs)], .force = true});
        g.author = NULL;
        assert_all_done(backlog, MANY);
        assert_null(rig_record(&g, "w@0.service"));
        assert_in_range(most_begun, 1, LEADER_LIMIT_begun);
}

static void what_calls_off_does_not_wait_for_those(void **state) {
        enum { OTHERS = LEADER_LIMIT_begun - 1 };
        RigAnswer *first = submit(&heavy, UNITS, SERVICE), *later, *off;
        AuthorTurn *turn;

        assert_all_done(&first, 1);
        g.author = &heavy;
        first = rig_begin_undo(&g, (RigUndo){.job = 1, .force = true});
        g.author = NULL;
        while (!CONTAINER_OF(g.leader->pending_requests.next, PendingRequest, all)->begun)
                rig_turns(&g, 1);
        turn = CONTAINER_OF(g.leader->pending_requests.next, PendingRequest, all)->turn;
        for (unsigned i = 0; i < OTHERS; i++) // that take longer
                author_turn_begins(turn, AUTHOR_CHANGES);
        g.author = &heavy;
        later = rig_begin_undo(&g, (RigUndo){.job = 1, .force = true});
        g.author = NULL;
        off = call_off(&heavy, UINT64_MAX);
        (void) turns_until_final(off);
        assert_int_equal(rig_last(off)->status, ENOENT);
        assert_false(first->final || later->final);
        for (unsigned i = 0; i < OTHERS; i++)
                author_turn_begun_over(turn, AUTHOR_CHANGES);
        assert_all_done(&first, 1);
        assert_true(later->final);
}

// It may wait for just these: until they have begun, or all of them is in the log.
static void nothing_waits_for_what_calls_off(void **state) {
        RigAnswer *first = submit(&heavy, UNITS, SERVICE), *off;
        AuthorTurn *turn = CONTAINER_OF(g.leader->pending_requests.next, PendingRequest, all)->turn;

        for (unsigned i = 0; i < LEADER_LIMIT_begun; i++)
                author_turn_begins(turn, AUTHOR_CALLS_OFF);
        off = call_off(&heavy, UINT64_MAX);
        assert_all_done(&first, 1);
        assert_false(off->final);
        for (unsigned i = 0; i < LEADER_LIMIT_begun; i++)
                author_turn_begun_over(turn, AUTHOR_CALLS_OFF);
        leader_mark(g.leader);
        rig_settle(&g);
        assert_true(off->final);
}

static void two_who_ask_for_much_are_served_in_turn(void **state) {
        RigAnswer *backlog[BACKLOG], *one;

        for (size_t i = 0; i < BACKLOG; i++)
                backlog[i] = submit(&heavy, UNITS, i % 2 ? OTHER : SERVICE);
        rig_turns(&g, 2);
        one = submit(&other, UNITS, SERVICE);
        (void) turns_until_final(one);
        // of parts of his it has waited for as many as it has
        assert_in_range(count_final(backlog, BACKLOG), 0, 3);
        assert_all_done(backlog, BACKLOG);
}

// What puts nothing into the log fills no entry, and takes its time all the same.
static void what_changes_nothing_takes_no_longer_turns(void **state) {
        RigAnswer *backlog[BACKLOG];
        unsigned n_turns = 0;

        backlog[0] = submit(&heavy, SUBMIT_PART, SERVICE);
        assert_all_done(backlog, 1);
        for (size_t i = 0; i < BACKLOG; i++)
                backlog[i] = submit(&heavy, SUBMIT_PART, SERVICE);
        for (size_t before = 0, now; before < BACKLOG; before = now, n_turns++) {
                rig_turns(&g, 1);
                now = count_final(backlog, BACKLOG);
                assert_in_range(now - before, 0, 1);
        }
        assert_in_range(n_turns, BACKLOG, 4 * BACKLOG);
        assert_all_done(backlog, BACKLOG);
}

// Of a unit that nobody has yet.
static RigAnswer *submit_new(const Argosy__Author *author, char *name, const char *content) {
        uint64_t id[2] = {++g.id, 91};
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_SUBMIT, .names = &name, .n_names = 1, .files = &files,
                .n_files = 1);

        return ask(author, A_REQUEST(CHANGE, change, &m));
}

// However few units bring them.
static void a_turn_reads_few_long_files(void **state) {
        enum { LONG = 64 * 1024, COUNTS = LONG * LEADER_LIMIT_entry_units / LEADER_LIMIT_change_file_bytes };
        enum { PER_TURN = LEADER_LIMIT_requests_units / COUNTS };
        static char contents[BACKLOG][LONG + 1], long_names[BACKLOG][32];
        RigAnswer *backlog[BACKLOG];

        for (size_t i = 0; i < BACKLOG; i++) {
                int n = snprintf(contents[i], LONG, SERVICE "# %zu ", i);

                memset(contents[i] + n, 'x', LONG - 1 - (size_t) n);
                contents[i][LONG - 1] = '\n';
                snprintf(long_names[i], sizeof(long_names[i]), "long-%zu.service", i);
                backlog[i] = submit_new(&heavy, long_names[i], contents[i]);
        }
        for (size_t before = 0, now; before < BACKLOG; before = now) {
                rig_turns(&g, 1);
                now = count_final(backlog, BACKLOG);
                assert_in_range(now - before, 0, PER_TURN);
        }
        assert_all_done(backlog, BACKLOG);
}

// ------------------------------------------------------------------------------------------------ plans

static RigAnswer *plan(const Argosy__Author *author, size_t n) {
        return change(author, ARGOSY__VERB__VERB_START, n, SERVICE, true);
}

static void plans_have_turns_of_their_own(void **state) {
        RigAnswer *backlog[BACKLOG], *first, *changed;

        for (size_t i = 0; i < BACKLOG; i++)
                backlog[i] = plan(&heavy, 200);
        first = plan(&other, 1);
        changed = label(NULL, "a");
        assert_in_range(turns_until_final(changed), 1, 8);
        assert_in_range(turns_until_final(first), 0, 4);
        assert_in_range(count_final(backlog, BACKLOG), 0, 2 * (PLANNED_MAX / 200));
        assert_all_done(backlog, BACKLOG);
}

static void a_plan_for_nobody_is_not_made(void **state) {
        RigAnswer *asked = plan(&heavy, UNITS), *waits = plan(&heavy, UNITS);

        rig_turns(&g, 4);
        rig_cancel(&g, waits);
        rig_cancel(&g, asked);
        uint64_t planned = g.leader->n_planned;
        rig_settle(&g);
        assert_int_equal(g.leader->n_planned, planned);
        assert_int_equal(g.leader->n_pending_requests, 0);
        (void) turns_until_final(plan(&heavy, 1));
}

static void a_change_goes_on_when_its_client_is_gone(void **state) {
        RigAnswer *a = submit(&heavy, UNITS, SERVICE);

        rig_cancel(&g, a);
        rig_settle(&g);
        assert_non_null(rig_record(&g, names[UNITS - 1]));
        assert_int_equal(g.leader->n_pending_requests, 0);
}

// They take memory that is on nobody's account.
static void users_leave_few_requests_behind(void **state) {
        enum { LEFT = 2 * AUTHOR_ORPHANS_MAX };
        RigAnswer *a[LEFT];

        for (size_t i = 0; i < LEFT; i++)
                a[i] = submit(&heavy, UNITS, i % 2 ? OTHER : SERVICE);
        for (size_t i = 0; i < LEFT; i++)
                rig_cancel(&g, a[i]);
        assert_int_equal(g.leader->n_pending_requests, AUTHOR_ORPHANS_MAX);
        rig_settle(&g);
        assert_int_equal(g.leader->n_pending_requests, 0);
        for (size_t i = 0; i < LEFT; i++)
                a[i] = submit(NULL, UNITS, i % 2 ? OTHER : SERVICE);
        for (size_t i = 0; i < LEFT; i++)
                rig_cancel(&g, a[i]);
        assert_int_equal(g.leader->n_pending_requests, LEFT);
        rig_settle(&g);
        assert_int_equal(g.leader->n_pending_requests, 0);
}

static void what_was_left_in_the_middle_is_over_before_others_begin(void **state) {
        RigAnswer *left = submit(&heavy, UNITS, SERVICE), *next;

        rig_turns(&g, 2);
        rig_cancel(&g, left);
        next = submit(&heavy, UNITS, OTHER);
        while (g.leader->n_pending_requests > 1) {
                assert_int_equal(next->n, 0);
                rig_turns(&g, 1);
        }
        assert_false(next->final);
        assert_all_done(&next, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(who_asks_for_little_overtakes_a_backlog),
        CASE(few_of_an_author_are_undone_at_a_time),
        CASE(what_calls_off_does_not_wait_for_those),
        CASE(nothing_waits_for_what_calls_off),
        CASE(two_who_ask_for_much_are_served_in_turn),
        CASE(what_changes_nothing_takes_no_longer_turns),
        CASE(a_turn_reads_few_long_files),
        CASE(plans_have_turns_of_their_own),
        CASE(a_plan_for_nobody_is_not_made),
        CASE(a_change_goes_on_when_its_client_is_gone),
        CASE(users_leave_few_requests_behind),
        CASE(what_was_left_in_the_middle_is_over_before_others_begin)
)
