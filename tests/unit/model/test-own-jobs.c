// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the cluster did by itself: found again by cause, host and unit; an eighth of what is kept of jobs at
// most, and gone first.
#include "cluster-words.h"

#include "message.h"

#define LOST ARGOSY__OWN_CAUSE__OWN_LOST
#define BACK ARGOSY__OWN_CAUSE__OWN_BACK
#define MOVED ARGOSY__OWN_CAUSE__OWN_MOVED

enum { LONG = 20000 };

typedef struct Own {
        Argosy__OwnCause cause;
        uint32_t host, times;
        uint64_t number; // of the job that it goes on with
        const char *unit, *from, *to;
        size_t reason; // bytes
} Own;

static uint64_t now_us = 1000;

static uint64_t put(ClusterState *s, Own how) {
        Batch b = {};
        Argosy__JobRecord *record = batch_job(&b, (JobPut){.number = how.number, .verb = "move"});
        Argosy__JobMove *move = BATCH_NEW(&b, Argosy__JobMove, argosy__job_move__init);

        record->own = how.cause;
        record->own_host = how.host;
        record->times = how.times;
        record->reason = batch_own(&b, calloc(1, how.reason + 1));
        memset(record->reason, 'r', how.reason);
        if (how.unit) {
                move->names = batch_own(&b, malloc(sizeof(*move->names)));
                move->names[0] = batch_own(&b, strdup(how.unit));
                move->n_names = 1;
                move->from = batch_own(&b, strdup(how.from));
                move->to = batch_own(&b, strdup(how.to));
                move->at_us = now_us + 10;
                record->moves = batch_own(&b, malloc(sizeof(*record->moves)));
                record->moves[record->n_moves++] = move;
        }
        batch_set_time(&b, s, now_us += 10);
        apply(s, &b);
        return how.number ?: cluster_state_last_job(s);
}

static uint64_t put_asked(ClusterState *s, size_t reason) {
        Batch b = {};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        batch_job(&b, (JobPut){.n_ops = 2})->reason = batch_own(&b, calloc(1, reason + 1));
        memset(b.log.ops[b.log.n_ops - 1]->job->job->reason, 'a', reason);
        batch_set_time(&b, s, now_us += 10);
        apply(s, &b);
        return cluster_state_last_job(s);
}

static void it_is_found_by_host_and_unit_and_gives_no_revision(void **state) {
        Argosy__JobRecord *record;
        uint64_t asked = put_asked(g.s, 10), revision = cluster_state_revision(g.s), lost, back;
        OwnJob job;

        lost = put(g.s, (Own){LOST, 2, 1, 0, "a.service", "n2", "n3", 20});
        assert_true(cluster_state_host_was_lost(g.s, 2));
        assert_false(cluster_state_host_was_lost(g.s, 3));
        back = put(g.s, (Own){BACK, 2, 1});
        assert_false(cluster_state_host_was_lost(g.s, 2));
        assert_int_equal(put(g.s, (Own){LOST, 2, 2, lost, "b.service", "n2", "n1", 30}), lost);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(cluster_state_last_job(g.s), back);
                assert_int_equal(cluster_state_revision(g.s), revision);
                assert_int_equal(cluster_state_find_job_of(g.s, "a.service", revision), asked);
                assert_true(cluster_state_host_was_lost(g.s, 2));
                assert_true(cluster_state_last_own_job(g.s, LOST, 2, &job));
                assert_int_equal(job.number, lost);
                assert_int_equal(job.times, 2);
                assert_false(cluster_state_last_own_job(g.s, LOST, 3, &job));
                assert_string_equal(cluster_state_own_move_of(g.s, "a.service")->to, "n3");
                assert_string_equal(cluster_state_own_move_of(g.s, "b.service")->from, "n2");
                assert_int_equal(cluster_state_own_move_of(g.s, "b.service")->job, lost);
                assert_null(cluster_state_own_move_of(g.s, "c.service"));
                assert_int_equal(cluster_state_read_job(g.s, lost, &record), 0);
                assert_int_equal(record->n_moves, 2);
                assert_int_equal(record->n_units, 0);
                assert_int_equal(record->revision, record->revision_before);
                assert_int_equal(strlen(record->reason), 30);
                assert_int_equal(record->state, ARGOSY__JOB_STATE__JOB_DONE);
                message_free(record);
                pass_through_image(g.s);
        }
        assert_true(put_asked(g.s, 1) > back);
        assert_int_equal(cluster_state_find_job_of(g.s, "a.service", cluster_state_revision(g.s)), back + 1);
}

static void an_image_knows_which_move_was_the_last(void **state) {
        ClusterState *s = cluster_state_new(), *restored = cluster_state_new();
        _cleanup_buf_ Buf image = {};
        uint64_t first = put(s, (Own){.cause = MOVED, .unit = "u.service", .from = "n1", .to = "n2"});

        put(s, (Own){.cause = ARGOSY__OWN_CAUSE__OWN_PLACED, .unit = "u.service", .from = "", .to = "n3"});
        put(s, (Own){.cause = MOVED, .number = first, .unit = "u.service", .from = "n3", .to = "n1"});
        assert_int_equal(cluster_state_own_move_of(s, "u.service")->job, first);
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(restored, image.data, image.len), 0);
        assert_int_equal(cluster_state_own_move_of(restored, "u.service")->job, first);
        assert_string_equal(cluster_state_own_move_of(restored, "u.service")->to, "n1");
        cluster_state_free(restored);
        cluster_state_free(s);
}

// Dates may be the same, or lie ahead of what comes later, as when a clock was set back.
static void an_image_goes_by_no_date_of_a_move(void **state) {
        for (uint64_t back_us = 0; back_us <= 1000; back_us += 500) {
                uint64_t first =
                        put(g.s, (Own){.cause = MOVED, .unit = "u.service", .from = "n1", .to = "n2"});

                put(g.s, (Own){.cause = ARGOSY__OWN_CAUSE__OWN_PLACED, .unit = "u.service", .from = "",
                               .to = "n3"});
                now_us -= back_us + 10;
                put(g.s, (Own){.cause = MOVED, .number = first, .unit = "u.service", .from = "n3",
                               .to = "n1"});
                pass_through_image(g.s);
                assert_int_equal(cluster_state_own_move_of(g.s, "u.service")->job, first);
                assert_string_equal(cluster_state_own_move_of(g.s, "u.service")->to, "n1");
                now_us += 2 * back_us;
        }
}

static void a_part_of_something_else_is_a_job_of_its_own(void **state) {
        uint64_t asked = put_asked(g.s, 1), moved;

        moved = put(g.s, (Own){MOVED, 1, 1});
        (void) put(g.s, (Own){LOST, 2, 1, moved});
        assert_int_equal(cluster_state_last_job(g.s), moved + 1);
        (void) put(g.s, (Own){LOST, 2, 1, asked});
        assert_int_equal(cluster_state_last_job(g.s), moved + 2);
}

// What people asked for is not pushed out by hosts that come and go.
static void it_has_an_eighth_of_what_is_kept(void **state) {
        size_t most = cluster_state_history_bytes(g.s) / 8;
        uint64_t asked = put_asked(g.s, 10),
                 first = put(g.s, (Own){MOVED, 1, 1, 0, "a.service", "n1", "n2", LONG});
        Argosy__JobRecord *record;
        size_t own = 0;

        for (size_t i = 0; i < 3 * most / LONG; i++)
                (void) put(g.s, (Own){MOVED, 1, 1, 0, "b.service", "n1", "n2", LONG});
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(cluster_state_first_job(g.s), asked);
                assert_true(cluster_state_job_is_dropped(g.s, first));
                assert_int_equal(cluster_state_read_job(g.s, first, &record), -ENOENT);
                assert_int_equal(cluster_state_job_before(g.s, first + 1), asked);
                assert_null(cluster_state_own_move_of(g.s, "a.service"));
                own = 0;
                for (uint64_t n = cluster_state_job_after(g.s, asked); n > 0;
                     n = cluster_state_job_after(g.s, n))
                        own++;
                assert_in_range(own * LONG, most - 2 * LONG, most);
                pass_through_image(g.s);
        }
}

static void it_goes_first(void **state) {
        size_t most = cluster_state_history_bytes(g.s);
        uint64_t asked = put_asked(g.s, LONG), moved[10];

        for (size_t i = 0; i < ELEMENTSOF(moved); i++)
                moved[i] = put(g.s, (Own){MOVED, 1, 1, 0, "a.service", "n1", "n2", LONG});
        while (!cluster_state_job_is_dropped(g.s, moved[9]))
                (void) put_asked(g.s, LONG);
        assert_int_equal(cluster_state_first_job(g.s), asked);
        assert_in_range(cluster_state_jobs_bytes(g.s), most - 2 * LONG, most);
        for (unsigned i = 0; i < 20; i++)
                (void) put_asked(g.s, LONG);
        assert_true(cluster_state_first_job(g.s) > moved[9]);
        pass_through_image(g.s);
        assert_true(cluster_state_first_job(g.s) > moved[9]);
}

RUN_TESTS(
        TEST(it_is_found_by_host_and_unit_and_gives_no_revision),
        TEST(an_image_knows_which_move_was_the_last),
        TEST(an_image_goes_by_no_date_of_a_move),
        TEST(a_part_of_something_else_is_a_job_of_its_own),
        TEST(it_has_an_eighth_of_what_is_kept),
        TEST(it_goes_first)
)
