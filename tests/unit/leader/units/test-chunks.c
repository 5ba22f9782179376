// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change of many units goes into the log in chunks, and nobody who asked sees them: one answer, each unit
// once. What a turn of the loop does is bounded, also by those who wait for all of them.
#include <errno.h>

#include "batch.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "request-ties.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define RESTART ARGOSY__VERB__VERB_RESTART

enum {
        UNITS = 1500,
        PART_MAX = 256,    // as in decide-chunks.c
        SUBMIT_MAX = 512,  // the same
        JUDGED_MAX = 1000, // as in waiters.c
        NOT_SOON = 1000000, // revisions
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static uint64_t revision, judged;
static size_t most_changed, most_judged;

FIXTURE(setup) {
        rig_start(&g, 3);
        most_changed = most_judged = 0;
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i + 1);
                pointers[i] = names[i];
        }
}

RIG_TEARDOWN

// Each record that is put raises the revision by one.
static void on_turn(Rig *rig) {
        uint64_t now = cluster_state_revision(rig->state), seen = rig->leader->n_waiters_judged;

        most_changed = MAX_OF(most_changed, (size_t) (now - revision));
        most_judged = MAX_OF(most_judged, (size_t) (seen - judged));
        revision = now;
        judged = seen;
}

static void watch(void) {
        revision = cluster_state_revision(g.state);
        judged = g.leader->n_waiters_judged;
        g.on_turn = on_turn;
}

// With a file that the client found for some of them; `content` NULL: it found none.
static RigAnswer *ask_with(Argosy__Verb verb, char **which, size_t n, const char *file_name,
                           const char *content, uint64_t id) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t words[2] = {id, 99};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change,
                           .id = (ProtobufCBinaryData){.data = (uint8_t *) words, .len = sizeof(words)},
                           .verb = verb, .names = which, .n_names = n);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        if (content) {
                file.name = file.path = (char *) file_name;
                file.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
                change.files = &files;
                change.n_files = 1;
        }
        return rig_ask(&g, &request);
}

static RigAnswer *ask(Argosy__Verb verb, size_t n, uint64_t id) {
        return ask_with(verb, pointers, n, NULL, NULL, id);
}

static RigAnswer *change(Argosy__Verb verb, size_t n, uint64_t id) {
        RigAnswer *a = ask(verb, n, id);

        rig_settle(&g);
        return a;
}

static void assert_answered(const RigAnswer *a, size_t n) {
        assert_true(a->final);
        assert_int_equal(a->n, 1);
        assert_int_equal(a->responses[0]->status, 0);
        assert_int_equal(a->responses[0]->change->n_units, n);
        for (size_t i = 0; i < n; i++) {
                const Argosy__Response__UnitResult *u = a->responses[0]->change->units[i];

                assert_string_equal(u->name, names[i]);
                assert_int_equal(u->status, 0);
                assert_int_equal(u->revision, rig_record(&g, names[i])->revision);
        }
}

static const VirtualUnit *unit(size_t i) {
        for (uint32_t h = 1; h <= g.n_hosts; h++)
                if (rig_unit_on(&g, h, names[i]))
                        return rig_unit_on(&g, h, names[i]);
        return NULL;
}

static void submit(const char *content) {
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", content)->status, 0);
}

// A turn of these is shorter than one of units that get nodes and orders.
static void units_that_are_only_submitted_are_fewer_entries(void **state) {
        submit(SERVICE);
        watch();
        assert_answered(change(ARGOSY__VERB__VERB_SUBMIT, UNITS, 1), UNITS);
        assert_int_equal(most_changed, SUBMIT_MAX);
        most_changed = 0;
        assert_answered(change(START, UNITS, 2), UNITS);
        assert_int_equal(most_changed, PART_MAX);
}

static void many_instances_are_several_entries_and_one_answer(void **state) {
        submit(SERVICE);
        watch();
        assert_answered(change(START, UNITS, 1), UNITS);
        assert_int_equal(most_changed, PART_MAX);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(rig_count_running(&g, names[i]), 1);
}

static void what_is_said_of_a_part_comes_as_it_is_there(void **state) {
        size_t n = 0;

        submit(SERVICE);
        g.parts_apart = true;
        RigAnswer *a = change(START, UNITS, 1);
        assert_true(a->final);
        assert_int_equal(a->n, (UNITS + PART_MAX - 1) / PART_MAX);
        for (size_t k = 0; k < a->n; k++) {
                const Argosy__Response *r = a->responses[k];

                assert_int_equal(r->status, 0);
                assert_int_equal(r->final, k + 1 == a->n);
                assert_int_equal(r->change->first, n);
                assert_in_range(r->change->n_units, 1, PART_MAX);
                for (size_t i = 0; i < r->change->n_units; i++, n++) {
                        assert_string_equal(r->change->units[i]->name, names[n]);
                        assert_int_equal(r->change->units[i]->revision, rig_record(&g, names[n])->revision);
                }
        }
        assert_int_equal(n, UNITS);
        a = change(START, PART_MAX, 2); // one that is no more than a chunk has one answer
        assert_int_equal(a->n, 1);
        assert_int_equal(a->responses[0]->change->first, 0);
        assert_int_equal(a->responses[0]->change->n_units, PART_MAX);
}

// Who asks the next leader again is told from the beginning.
static void a_leader_that_ends_between_two_answers_leaves_the_rest_to_the_next(void **state) {
        size_t n = 0;

        submit(SERVICE);
        g.parts_apart = true;
        RigAnswer *a = ask(START, UNITS, 1);
        while (a->n == 0)
                (void) rig_turn(&g);
        assert_false(a->final);
        rig_depose(&g);
        assert_true(a->final);
        assert_true(a->responses[a->n - 1]->no_leader);
        rig_elect(&g);
        a = change(START, UNITS, 1);
        assert_true(a->final);
        for (size_t k = 0; k < a->n; k++)
                n += a->responses[k]->change->n_units;
        assert_int_equal(n, UNITS);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(rig_count_running(&g, names[i]), 1);
}

static void others_are_served_in_between(void **state) {
        submit(SERVICE);
        g.slow = true;
        RigAnswer *many = ask(START, UNITS, 1);
        rig_turns(&g, 4);
        assert_false(many->final);
        (void) rig_change_with(&g, START, "other.service", SERVICE, false, (uint8_t[16]){7});
        while (!rig_record(&g, "other.service")) {
                assert_false(many->final);
                rig_release(&g);
                rig_turns(&g, 2);
        }
        assert_false(many->final);
        rig_hurry_and_settle(&g);
        assert_answered(many, UNITS);
}

static void what_has_to_do_with_each_other_is_one_entry(void **state) {
        static const char *const tied[] = {
                SERVICE "[X-Argosy]\nAfter=db.service\n",
                SERVICE "[X-Argosy]\nMachineOf=db@%i.service\n",
                SERVICE "[X-Argosy]\nReplaces=old@%i.service\n",
                SERVICE "[Install]\nAlso=db.service\n",
                SERVICE "[X-Argosy]\nPriority=0%i\n",
                NULL,
        };

        assert_int_equal(rig_change(&g, START, "db.service", SERVICE)->status, 0);
        for (const char *const *content = tied; *content; content++) {
                submit(*content);
                uint64_t before = cluster_state_revision(g.state);
                most_changed = 0;
                watch();
                assert_answered(change(START, PART_MAX + 1, (uint64_t) (content - tied) + 1), PART_MAX + 1);
                g.on_turn = NULL;
                assert_true(most_changed > PART_MAX);
                assert_true(cluster_state_revision(g.state) > before + PART_MAX);
                assert_true(
                        change(ARGOSY__VERB__VERB_DESTROY, PART_MAX + 1, (uint64_t) (content - tied) + 50)
                                ->final);
                (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "load@.service", NULL);
        }
}

// One turn has to plan them.
static void more_of_these_than_one_turn_can_plan_are_refused(void **state) {
        assert_int_equal(rig_change(&g, START, "db.service", SERVICE)->status, 0);
        submit(SERVICE "[X-Argosy]\nAfter=db.service\n");
        const Argosy__Response *r = change(START, REQUEST_TIED_MAX + 1, 1)->responses[0];
        assert_replies(r, E2BIG, "no more than 512");
        assert_null(rig_record(&g, names[0]));
        assert_answered(change(START, REQUEST_TIED_MAX, 2), REQUEST_TIED_MAX);
}

// Whose turn it is is found among those of one chunk.
static void more_that_only_differ_in_priority_are_several_entries(void **state) {
        submit(SERVICE "[X-Argosy]\nPriority=0%i\n");
        most_changed = 0;
        watch();
        assert_int_equal(change(START, REQUEST_TIED_MAX + 1, 1)->responses[0]->change->n_units,
                         REQUEST_TIED_MAX + 1);
        assert_int_equal(rig_record(&g, names[PART_MAX])->target, LAUNCHED);
        assert_true(most_changed > 0 && most_changed <= PART_MAX);
}

static void hundreds_of_files_are_several_entries(void **state) {
        enum { FILES = 400 };
        static char own[FILES][32], contents[FILES][80];
        static Argosy__NamedFile files[FILES], *file_pointers[FILES];
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {4, 4};
        char *own_pointers[FILES];

        for (size_t i = 0; i < FILES; i++) {
                snprintf(own[i], sizeof(own[i]), "own%zu.service", i);
                snprintf(contents[i], sizeof(contents[i]), "%s# %zu\n", SERVICE, i);
                argosy__named_file__init(&files[i]);
                files[i].name = files[i].path = own_pointers[i] = own[i];
                files[i].content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]};
                file_pointers[i] = &files[i];
        }
        m.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        m.verb = START;
        m.names = own_pointers;
        m.n_names = m.n_files = FILES;
        m.files = file_pointers;
        most_changed = 0;
        watch();
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->change->n_units, FILES);
        assert_true(most_changed > 0 && most_changed <= PART_MAX / 2); // units and contents
        for (size_t i = 0; i < FILES; i++)
                assert_int_equal(rig_record(&g, own[i])->target, LAUNCHED);
}

static void those_that_others_need_are_one_entry(void **state) {
        submit(SERVICE);
        assert_answered(change(START, PART_MAX + 1, 1), PART_MAX + 1);
        assert_int_equal(
                rig_change(&g, START, "needs.service", SERVICE "[X-Argosy]\nAfter=load@200.service\n")
                        ->status,
                0);
        watch();
        assert_answered(change(RESTART, PART_MAX + 1, 2), PART_MAX + 1);
        assert_true(most_changed > PART_MAX);
}

static void a_name_that_is_there_twice_is_restarted_once(void **state) {
        char *last = pointers[PART_MAX + 1];

        submit(SERVICE);
        assert_answered(change(START, PART_MAX + 1, 1), PART_MAX + 1);
        pointers[PART_MAX + 1] = pointers[0];
        (void) change(RESTART, PART_MAX + 2, 2);
        pointers[PART_MAX + 1] = last;
        assert_int_equal(unit(0)->restarts, 1);
}

// As many as have lost the same leader: the record of the job is read for each chunk, and is of all of its
// units.
static void many_who_ask_again_are_answered_turn_by_turn(void **state) {
        RigAnswer *again[4];
        size_t n = 0, most = 0;

        submit(SERVICE);
        g.parts_apart = true;
        assert_true(change(START, UNITS, 1)->final);
        g.leader->limits.requests_units = UINT_MAX / 2; // all of them are looked at in one turn
        for (size_t i = 0; i < ELEMENTSOF(again); i++)
                again[i] = ask(START, UNITS, 1);
        for (unsigned turns = 0; turns < 100; turns++) {
                size_t before = n;

                rig_turns(&g, 1);
                n = 0;
                for (size_t i = 0; i < ELEMENTSOF(again); i++)
                        n += again[i]->n;
                most = MAX_OF(most, n - before);
        }
        assert_int_equal(most, 1);
        for (size_t i = 0; i < ELEMENTSOF(again); i++) {
                assert_true(again[i]->final);
                assert_int_equal(again[i]->n, (UNITS + PART_MAX - 1) / PART_MAX);
                assert_true(rig_last(again[i])->change->units[0]->repeated);
        }
}

// The leader dies when two chunks are in the log; the client asks again.
static void who_asks_again_has_nothing_done_twice(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        g.slow = true;
        RigAnswer *first = ask(RESTART, UNITS, 2);
        for (unsigned committed = g.batches; g.batches < committed + 2;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        assert_false(first->final);
        rig_depose(&g);
        rig_hurry_and_settle(&g);
        assert_true(first->final && rig_last(first)->no_leader);
        rig_elect(&g);
        watch();
        assert_answered(change(RESTART, UNITS, 2), UNITS);
        assert_int_equal(most_changed, PART_MAX);
        assert_answered(change(RESTART, UNITS, 2), UNITS); // and once more, when all of it is there
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(unit(i)->restarts, 1);
}

// The request is begun: one chunk of it is in the log, then another leader is elected.
static void restart_until_deposed(size_t n) {
        g.slow = true;
        (void) ask(RESTART, n, 2);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
}

// What it resumes may be what the leader before it was lost for; what is asked of it is not.
static void what_the_next_leader_resumes_begins_with_small_parts(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        restart_until_deposed(UNITS);
        g.turn_us = 20000;
        watch();
        assert_answered(change(RESTART, UNITS, 2), UNITS);
        assert_in_range(most_changed, 1, PART_MAX / 16);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(unit(i)->restarts, 1);
        most_changed = 0;
        assert_answered(change(RESTART, UNITS, 3), UNITS);
        assert_int_equal(most_changed, PART_MAX);
}

static void ask_for_thousands_of_others(void) {
        enum { OTHERS = 5000 };
        _cleanup_(batch_done) Batch b = {};

        for (uint64_t i = 0; i < OTHERS; i++) {
                uint64_t id[2] = {i, 97};

                (void) batch_job(&b, (JobPut){.id = id});
        }
        assert_int_equal(cluster_state_apply(g.state, &b.log), 0);
}

// So many others were begun and not ended that it is not remembered how far this one came.
static void give_up_the_oldest(void) {
        enum { MORE = 1100 };
        _cleanup_(batch_done) Batch b = {};

        for (uint64_t i = 0; i < MORE; i++) {
                uint64_t id[2] = {i, 98};

                batch_job(&b, (JobPut){.id = id, .more = true})->state = ARGOSY__JOB_STATE__JOB_RUNNING;
        }
        assert_int_equal(cluster_state_apply(g.state, &b.log), 0);
}

static void what_nobody_can_go_on_with_is_not_done_again(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        restart_until_deposed(UNITS);
        rig_pass_ms(&g, 62 * 1000); // nobody has asked for the rest, so its job has ended
        give_up_the_oldest();
        const Argosy__Response *r = rig_last(change(RESTART, UNITS, 2));
        assert_replies(r, ECANCELED, "only a part of this was carried out, as job");
        for (size_t i = 0; i < UNITS; i++)
                assert_in_range(unit(i)->restarts, 0, 1);
        r = rig_last(change(RESTART, UNITS, 3)); // one that is new is not begun: all of those are under way
        assert_replies(r, EAGAIN, "nothing was changed");
}

static void nor_when_thousands_of_others_asked_in_between(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        restart_until_deposed(UNITS);
        ask_for_thousands_of_others();
        assert_answered(change(RESTART, UNITS, 2), UNITS);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(unit(i)->restarts, 1);
}

static void what_was_begun_in_parts_is_gone_on_with_in_parts(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        restart_until_deposed(UNITS);
        // Asked anew, it would be planned at once now.
        assert_int_equal(
                rig_change(&g, START, "needs.service", SERVICE "[X-Argosy]\nAfter=load@9.service\n")->status,
                0);
        assert_answered(change(RESTART, UNITS, 2), UNITS);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(unit(i)->restarts, 1);
}

// The first chunk has nothing to store, so it leaves no id.
static void what_was_begun_is_known_by_any_of_its_parts(void **state) {
        enum { SOME = 600 };

        submit(SERVICE);
        (void) ask_with(START, pointers + PART_MAX, SOME - PART_MAX, NULL, NULL, 1);
        rig_settle(&g);
        restart_until_deposed(SOME);
        assert_int_equal(
                rig_change(&g, START, "needs.service", SERVICE "[X-Argosy]\nAfter=load@300.service\n")
                        ->status,
                0);
        assert_true(change(RESTART, SOME, 2)->final);
        for (size_t i = PART_MAX; i < SOME; i++)
                assert_int_equal(unit(i)->restarts, 1);
}

// What the siblings have says whether new instances are tied, also if files of others were sent.
static void instances_like_their_siblings_are_one_entry(void **state) {
        enum { EACH = 250 };
        static char many[2 * EACH][32];
        char *which[2 * EACH], *sibling = (char *) "db@1000.service";

        assert_int_equal(rig_change(&g, START, "x.service", SERVICE)->status, 0);
        (void) ask_with(START, &sibling, 1, "db@.service", SERVICE "[X-Argosy]\nWants=x.service\n", 1);
        rig_settle(&g);
        assert_null(rig_record(&g, "db@.service"));
        for (size_t i = 0; i < 2 * EACH; i++) {
                snprintf(many[i], sizeof(many[i]), "%s@%zu.service", i < EACH ? "web" : "db", i % EACH + 1);
                which[i] = many[i];
        }
        watch();
        (void) ask_with(START, which, 2 * EACH, "web@.service", SERVICE, 2);
        rig_settle(&g);
        assert_true(rig_record(&g, "web@1.service") && rig_record(&g, "db@250.service"));
        assert_true(most_changed > PART_MAX);
        most_changed = 0;
        (void) ask_with(START, pointers, UNITS, "load@.service", SERVICE, 3);
        rig_settle(&g);
        assert_true(rig_record(&g, names[UNITS - 1]));
        assert_int_equal(most_changed, PART_MAX); // a file that was sent is for those of its template
}

static void a_sent_file_whose_instances_differ_in_priority_is_one_entry(void **state) {
        watch();
        (void) ask_with(START, pointers, 2 * PART_MAX, "load@.service", SERVICE "[X-Argosy]\nPriority=0%i\n",
                        1);
        rig_settle(&g);
        assert_true(rig_record(&g, names[2 * PART_MAX - 1]));
        assert_true(most_changed >= 2 * PART_MAX);
}

// Some names of the first chunk are unknown, and the log takes no second one.
static void who_fails_in_the_middle_hears_how_many_were_changed(void **state) {
        enum { SOME = 600, UNKNOWN = 10 };

        submit(SERVICE);
        (void) ask_with(START, pointers + UNKNOWN, SOME - UNKNOWN, NULL, NULL, 1);
        rig_settle(&g);
        g.slow = true;
        RigAnswer *a = ask(RESTART, SOME, 2);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                g.batch_max = 1;
                rig_release(&g);
        }
        g.slow = false;
        rig_settle(&g);
        assert_true(a->final);
        assert_replies(rig_last(a), E2BIG, ": 246 units were changed before, the others were not");
}

// For all of them, as they are `later` revisions from now.
static RigAnswer *wait_for_all(uint64_t later) {
        Argosy__Request__Wait__Item items[UNITS], *item_pointers[UNITS];
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request request = REQUEST_OF(WAIT, wait, &wait);

        for (size_t i = 0; i < UNITS; i++) {
                items[i] = (Argosy__Request__Wait__Item) MESSAGE_OF(
                        request__wait__item, .name = names[i],
                        .revision = rig_record(&g, names[i])->revision + later);
                item_pointers[i] = &items[i];
        }
        wait.verb = START;
        wait.items = item_pointers;
        wait.n_items = UNITS;
        watch();
        return rig_ask_and_settle(&g, &request);
}

static void a_wait_for_many_begins_with_some_in_each_turn(void **state) {
        size_t n = 0;

        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        RigAnswer *a = wait_for_all(0);
        assert_true(a->final);
        for (size_t i = 0; i < a->n; i++)
                n += a->responses[i]->progress->n_done;
        assert_int_equal(n, UNITS);
        assert_int_equal(a->responses[0]->progress->remaining, UNITS - JUDGED_MAX);
        assert_int_equal(most_judged, JUDGED_MAX);
}

// What is known of a host bears on each of them.
static void a_wait_for_many_is_judged_again_some_in_each_turn(void **state) {
        submit(SERVICE);
        assert_answered(change(START, UNITS, 1), UNITS);
        RigAnswer *a = wait_for_all(NOT_SOON);
        uint64_t before = g.leader->n_waiters_judged;
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        rig_host_on(&g, 2, false);
        assert_false(a->final);
        assert_true(g.leader->n_waiters_judged >= before + UNITS);
        assert_true(most_judged <= JUDGED_MAX);
}

// As if it had been in an entry of its own, before the others.
static void what_runs_on_all_nodes_from_now_on_leaves_room_for_others_of_its_entry(void **state) {
        char *both[] = {(char *) "web@1.service", (char *) "web@2.service", (char *) "c.service"};
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t id[2] = {7, 99};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change,
                           .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                           .verb = START, .names = both, .n_names = 3, .replace = true, .files = &files,
                           .n_files = 1);
        static const char everywhere[] = SERVICE "[X-Argosy]\nGlobal=yes\n";

        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", SERVICE "[X-Argosy]\nHost=n3\n");
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "c.service", SERVICE);
        (void) rig_change(&g, START, "web@1.service", NULL);
        (void) rig_change(&g, START, "web@2.service", NULL);
        (void) rig_change(&g, START, "x.service", SERVICE "[X-Argosy]\nHost=n1\n");
        (void) rig_change(&g, START, "y.service", SERVICE "[X-Argosy]\nHost=n2\n");
        file.name = file.path = (char *) "web@.service";
        file.content = (ProtobufCBinaryData){.data = (uint8_t *) everywhere, .len = strlen(everywhere)};
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change));
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(rig_record(&g, "web@1.service")->global);
        assert_int_equal(rig_host_of(&g, "c.service"), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(many_instances_are_several_entries_and_one_answer),
        TEST(units_that_are_only_submitted_are_fewer_entries),
        TEST(what_is_said_of_a_part_comes_as_it_is_there),
        TEST(a_leader_that_ends_between_two_answers_leaves_the_rest_to_the_next),
        TEST(others_are_served_in_between),
        TEST(what_has_to_do_with_each_other_is_one_entry),
        TEST(more_of_these_than_one_turn_can_plan_are_refused),
        TEST(more_that_only_differ_in_priority_are_several_entries),
        TEST(hundreds_of_files_are_several_entries),
        TEST(those_that_others_need_are_one_entry),
        TEST(a_name_that_is_there_twice_is_restarted_once),
        TEST(many_who_ask_again_are_answered_turn_by_turn),
        TEST(what_the_next_leader_resumes_begins_with_small_parts),
        TEST(who_asks_again_has_nothing_done_twice),
        TEST(nor_when_thousands_of_others_asked_in_between),
        TEST(what_nobody_can_go_on_with_is_not_done_again),
        TEST(what_was_begun_in_parts_is_gone_on_with_in_parts),
        TEST(what_was_begun_is_known_by_any_of_its_parts),
        TEST(instances_like_their_siblings_are_one_entry),
        TEST(a_sent_file_whose_instances_differ_in_priority_is_one_entry),
        TEST(who_fails_in_the_middle_hears_how_many_were_changed),
        TEST(a_wait_for_many_begins_with_some_in_each_turn),
        TEST(a_wait_for_many_is_judged_again_some_in_each_turn),
        TEST(what_runs_on_all_nodes_from_now_on_leaves_room_for_others_of_its_entry)
)
