// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs of thousands that a leader finds running: their records are followed in pieces, and what they come to
// is the same.
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum { LATER_MS = 1100, MANY = 1200, KEPT = 50, PIECES = 4 };

static Rig g;
static char texts[MANY][96], *names[MANY];

FIXTURE(setup) {
        rig_start(&g, 3);
        for (size_t i = 0; i < MANY; i++) {
                snprintf(texts[i], sizeof(texts[i]), "w@%050zu.service", i);
                names[i] = texts[i];
        }
}

RIG_TEARDOWN

// The number of the job.
static uint64_t change_from(Argosy__Verb verb, size_t first) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        uint64_t id[2] = {++g.id, 99};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = verb, .names = names + first, .n_names = MANY - first, .files = &files,
                .n_files = verb == START);

        (void) rig_ask(&g, A_REQUEST(CHANGE, change, &m));
        rig_settle(&g);
        return rig_last_job(&g);
}

// In how many turns the new leader was in the middle of a record.
static unsigned turns_in_records(void) {
        unsigned n = 0;

        rig_depose(&g);
        store_memory_lead(g.store, true);
        while (!g.leader->leading) {
                (void) uv_run(&g.loop, UV_RUN_NOWAIT);
                n += g.leader->job_walk != NULL;
        }
        rig_settle(&g);
        return n;
}

static RigAnswer *wait_for(uint64_t number) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = number);

        return rig_ask_and_settle(&g, A_REQUEST(JOB_WAIT, job_wait, &m));
}

static void what_is_read_in_pieces_is_what_was_written(void **state) {
        Argosy__JobRecord *whole, *head, *piece;
        size_t at = 0, n_bytes, n_names = 0, n_pieces = 0;
        uint64_t job = change_from(START, 0);

        assert_int_equal(cluster_state_read_job(g.state, job, &whole), 0);
        assert_int_equal(cluster_state_read_job_head(g.state, job, &head, &n_bytes), 0);
        assert_int_equal(head->n_units, 0);
        assert_string_equal(head->verb, whole->verb);
        assert_int_equal(head->revision, whole->revision);
        assert_int_equal(head->revision_before, whole->revision_before);
        assert_int_equal(head->at_us, whole->at_us);
        for (; cluster_state_read_job_piece(g.state, job, &at, &piece) == 0; n_pieces++) {
                for (size_t k = 0; k < piece->n_units; k++)
                        n_names += piece->units[k]->n_names;
                message_free(piece);
        }
        assert_int_equal(at, n_bytes);
        assert_int_equal(n_names, MANY);
        assert_true(n_pieces >= PIECES);
        message_free(whole);
        message_free(head);
}

static void a_new_leader_follows_them_in_pieces(void **state) {
        Argosy__JobRecord *record;

        rig_set_deaf(&g, true);
        uint64_t start = change_from(START, 0);
        uint64_t stop = change_from(STOP, KEPT);
        assert_in_range(turns_in_records(), PIECES, 100);
        RigAnswer *a = wait_for(start);
        RigAnswer *b = wait_for(stop);
        assert_int_equal(rig_last(a)->progress->remaining, KEPT);
        assert_int_equal(rig_last(b)->progress->remaining, MANY - KEPT);
        rig_set_deaf(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_true(a->final && b->final);
        const Argosy__Response__JobRow *row = rig_show_job(&g, start);
        assert_string_equal(row->state, "done");
        assert_int_equal(row->overtaken, MANY - KEPT);
        assert_int_equal(cluster_state_read_job(g.state, start, &record), 0);
        assert_true(record->n_ends > 0);
        assert_int_equal(record->ends[0]->by, stop);
        message_free(record);
        assert_string_equal(rig_show_job(&g, stop)->state, "done");
}

// Which is lost in the middle of a record.
static void so_does_the_next_one_if_it_is_lost_meanwhile(void **state) {
        rig_set_deaf(&g, true);
        uint64_t start = change_from(START, 0);
        uint64_t stop = change_from(DESTROY, KEPT);
        rig_depose(&g);
        store_memory_lead(g.store, true);
        while (!g.leader->job_walk)
                (void) uv_run(&g.loop, UV_RUN_NOWAIT);
        assert_in_range(turns_in_records(), PIECES, 100);
        rig_set_deaf(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(rig_show_job(&g, start)->overtaken, MANY - KEPT);
        assert_string_equal(rig_show_job(&g, stop)->state, "done");
        assert_int_equal(rig_count_running(&g, names[0]), 1);
        assert_int_equal(rig_count_running(&g, names[KEPT]), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(what_is_read_in_pieces_is_what_was_written),
        TEST(a_new_leader_follows_them_in_pieces),
        TEST(so_does_the_next_one_if_it_is_lost_meanwhile)
)
