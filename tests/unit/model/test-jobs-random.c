// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of what the log keeps of jobs: records, ends, keys, former contents, requests of those that
// are held back, and what is dropped of all of them since there are too many, they are too old or too long.
// Three voters apply the same entries. One never takes a snapshot; one is written into its snapshot and read
// back at any moment; one joins at any moment, with a snapshot that was taken entries before and is encoded
// while more come. Whatever happens, all of them have the same digest.
//
// A failure prints its seed; `test-model-jobs-random SEED` plays that life alone.
#include "cluster-words.h"

#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "feature-level.h"
#include "job-state.h"
#include "printed.h"
#include "random-numbers.h"
#include "str.h"

enum {
        ENTRIES = 240,
        UNITS = 50,
        KEYS = 5000,         // that are used again and again
        CONTENT_MAX = 40000, // bytes
        OPEN_MAX = 64,       // running and held jobs that are remembered, to be gone on with, or ended
        REQUEST_MAX = 3000,  // bytes
        AFTER_MAX = 4,
        DIGEST_EVERY = 40,
};

typedef struct Life { // what kind of jobs there are
        const char *about;
        unsigned jobs_max;    // of an entry
        unsigned reason_max;  // bytes of each
        unsigned minutes_max; // between two entries
        bool contents;
} Life;

static const Life many_small = {"many small ones", 1000, 4, 10, false};
static const Life long_reasons = {"few, with long reasons", 120, 4000, 30, false};
static const Life of_months = {"of months", 120, 40, 3000, false};
static const Life large_contents = {"of large contents", 16, 100, 60, true};

static uint64_t seed;

static uint64_t next(void) {
        return xorshift64(&seed);
}

static uint64_t below(uint64_t n) {
        return next() % n;
}

// ------------------------------------------------------------------------------------------------ entries

static struct {
        uint64_t running[OPEN_MAX], going_on[OPEN_MAX], held[OPEN_MAX]; // numbers; 0: none
        unsigned n_held, n_held_begun, n_held_ended;
        uint64_t at_us;
} w;

static const void *some_key(Batch *b) {
        uint64_t id[2] = {1 + below(KEYS), 7};

        return batch_bytes(b, id, sizeof(id)).data;
}

static const char *some_content(Batch *b, const Life *life) {
        size_t len = life->contents ? below(CONTENT_MAX) : below(40);
        char *content = batch_own(b, malloc(len + 64));
        int n = snprintf(content, 64, "[Service]\nExecStart=/bin/%u\n#", (unsigned) below(40));

        memset(content + n, 'x', len);
        content[(size_t) n + len] = 0;
        return content;
}

static void put_unit(Batch *b, const Life *life) {
        _cleanup_free_ char *name = str_printf("u%u.service", (unsigned) below(UNITS));

        if (below(8) == 0)
                batch_unit_remove(b, name);
        else
                batch_unit(b, name, some_content(b, life),
                           (UnitPut){.target = (Argosy__Target) below(3), .node = 1, .start = below(2)});
}

// Kept whole: it waits for a person, or for some that came before it, which may be any, or not be there any
// more.
static Argosy__StoredRequest *some_request(Batch *b, uint64_t last) {
        Argosy__StoredRequest *m = BATCH_NEW(b, Argosy__StoredRequest, argosy__stored_request__init);
        char request[REQUEST_MAX] = "";

        m->author = BATCH_NEW(b, Argosy__Author, argosy__author__init);
        m->author->user = batch_own(b, strdup(below(2) ? "ann" : "bob"));
        m->author->uid = 1000;
        m->by_hand = below(2);
        m->request = batch_bytes(b, request, below(REQUEST_MAX));
        m->after = batch_own(b, calloc(AFTER_MAX, sizeof(*m->after)));
        for (uint64_t n = below(AFTER_MAX); n > 0 && last > 0; n--)
                m->after[m->n_after++] = below(2) ? last - MIN_OF(last - 1, below(20)) : 1 + below(last);
        return m;
}

static void put_held_job(Batch *b, uint64_t *last) {
        Argosy__JobRecord *record =
                batch_job(b, (JobPut){.content = below(3), .id = below(4) ? some_key(b) : NULL});

        record->state = ARGOSY__JOB_STATE__JOB_HELD;
        b->log.ops[b->log.n_ops - 1]->job->stored = some_request(b, *last);
        w.held[below(OPEN_MAX)] = ++*last;
        w.n_held++;
}

// It has begun: all of it, or a part.
static void begin_held_job(Batch *b, uint64_t *held, uint32_t n_ops) {
        bool more = below(3) == 0;
        Argosy__JobRecord *record =
                batch_job(b, (JobPut){.n_ops = n_ops,
                                      .number = *held,
                                      .more = more,
                                      .content = below(3),
                                      .id = below(4) ? some_key(b) : NULL});

        record->state = more || below(2) ? ARGOSY__JOB_STATE__JOB_RUNNING : ARGOSY__JOB_STATE__JOB_DONE;
        if (more)
                w.going_on[below(OPEN_MAX)] = *held;
        if (record->state == ARGOSY__JOB_STATE__JOB_RUNNING)
                w.running[below(OPEN_MAX)] = *held;
        *held = 0;
        w.n_held_begun++;
}

static void put_release(Batch *b) {
        Argosy__LogOp__StoredRelease *m =
                BATCH_NEW(b, Argosy__LogOp__StoredRelease, argosy__log_op__stored_release__init);

        m->job = w.held[below(OPEN_MAX)] ?: 1 + below(1000);
        m->past_rules = below(2);
        batch_op(b, ARGOSY__LOG_OP__OP_STORED_RELEASE)->stored_release = m;
}

// Of so many operations before it. `last`: the number of the last job before this entry, and those of this
// one count on.
static void put_job(Batch *b, const Life *life, uint32_t n_ops, uint64_t *last) {
        uint64_t *open = &w.going_on[below(OPEN_MAX)], *running = &w.running[below(OPEN_MAX)];
        bool goes_on = *open && below(3) == 0, more = below(9) == 0;
        size_t len = below(life->reason_max + 1);
        uint64_t *held = &w.held[below(OPEN_MAX)];

        if (*held && below(6) == 0) {
                begin_held_job(b, held, n_ops);
                return;
        }
        if (below(30) == 0) {
                put_held_job(b, last);
                return;
        }
        Argosy__JobRecord *record = batch_job(b, (JobPut){.n_ops = n_ops,
                                                          .number = goes_on ? *open : 0,
                                                          .more = more,
                                                          .content = below(3),
                                                          .id = below(4) ? some_key(b) : NULL});
        record->reason = batch_own(b, calloc(1, len + 1));
        memset(record->reason, 'r', len);
        record->state = below(4) ? ARGOSY__JOB_STATE__JOB_DONE : ARGOSY__JOB_STATE__JOB_RUNNING;
        if (!goes_on)
                ++*last;
        if (more)
                *open = goes_on ? *open : *last;
        else if (goes_on)
                *open = 0;
        if (record->state == ARGOSY__JOB_STATE__JOB_RUNNING)
                *running = goes_on ? *open : *last;
}

// What the cluster did by itself, or a further part of that.
static void put_own_job(Batch *b, const ClusterState *s, uint64_t *last) {
        Argosy__OwnCause cause = (Argosy__OwnCause) (1 + below(OWN_CAUSES - 1));
        uint32_t host = (uint32_t) below(4);
        OwnJob before;
        bool goes_on = below(2) && cluster_state_last_own_job(s, cause, host, &before);
        Argosy__JobRecord *record = batch_job(b, (JobPut){.number = goes_on ? before.number : 0});
        Argosy__JobMove *move = BATCH_NEW(b, Argosy__JobMove, argosy__job_move__init);
        size_t len = below(2000);

        record->own = cause;
        record->own_host = host;
        record->times = (uint32_t) below(3);
        record->moves = batch_own(b, malloc(sizeof(*record->moves)));
        record->moves[record->n_moves++] = move;
        move->reason = batch_own(b, calloc(1, len + 1));
        memset(move->reason, 'm', len);
        move->at_us = w.at_us;
        move->names = batch_own(b, calloc(4, sizeof(*move->names)));
        for (uint64_t n = below(5); n > 0; n--) {
                move->names[move->n_names++] =
                        batch_own(b, strdup(printed("u%u.service", (unsigned) below(UNITS))));
        }
        *last += !goes_on;
}

static void put_end(Batch *b) {
        bool is_held = below(6) == 0; // it never begins
        uint64_t *number = is_held ? &w.held[below(OPEN_MAX)] : &w.running[below(OPEN_MAX)];

        if (!*number)
                return;
        Argosy__LogOp__JobEnds *ends = BATCH_NEW(b, Argosy__LogOp__JobEnds, argosy__log_op__job_ends__init);
        Argosy__JobRecord *record = BATCH_NEW(b, Argosy__JobRecord, argosy__job_record__init);
        record->number = *number;
        record->state = is_held     ? ARGOSY__JOB_STATE__JOB_CANCELLED
                        : below(2) ? ARGOSY__JOB_STATE__JOB_DONE
                                   : ARGOSY__JOB_STATE__JOB_FAILED;
        record->ended_us = w.at_us;
        ends->ends = batch_own(b, malloc(sizeof(*ends->ends)));
        ends->ends[0] = record;
        ends->n_ends = 1;
        batch_op(b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = ends;
        *number = 0;
        w.n_held_ended += is_held;
}

static void some_entry(Batch *b, const ClusterState *s, const Life *life) {
        uint64_t last = cluster_state_last_job(s);

        argosy__log_batch__init(&b->log);
        for (uint64_t n = below(life->jobs_max + 1); n > 0; n--) {
                size_t before = b->log.n_ops;

                for (uint64_t ops = life->contents ? 1 + below(3) : below(20) == 0; ops > 0; ops--)
                        put_unit(b, life);
                put_job(b, life, (uint32_t) (b->log.n_ops - before), &last);
        }
        for (uint64_t n = below(12); n > 0; n--)
                put_own_job(b, s, &last);
        for (uint64_t n = below(6); n > 0; n--)
                put_end(b);
        if (below(3) == 0)
                put_release(b);
        if (below(12) == 0)
                batch_spec_forget(b, some_content(b, life));
        b->log.counted_us = below(life->minutes_max + 1) * 60 * 1000000;
        w.at_us += b->log.counted_us;
        b->log.at_us =
                below(10) ? w.at_us
                          : w.at_us - MIN_OF(w.at_us, below(UINT64_C(3600) * 1000000)); // of another leader
}

// ------------------------------------------------------------------------------------------------ voters

static Hash digest(const ClusterState *s) {
        _cleanup_buf_ Buf image = {};

        assert_int_equal(cluster_state_encode(s, &image), 0);
        return hash_of(image.data, image.len);
}

static void assert_same(const Life *life, const ClusterState *a, const ClusterState *b, const char *who) {
        Hash of_a = digest(a), of_b = digest(b);

        if (!hash_equal(&of_a, &of_b))
                fail_msg("%s: %s has another history: jobs %u to %u, not %u to %u", life->about, who,
                         (unsigned) cluster_state_first_job(b), (unsigned) cluster_state_last_job(b),
                         (unsigned) cluster_state_first_job(a), (unsigned) cluster_state_last_job(a));
}

// A snapshot that is on its way to a voter that joins, with the entries that came since.
typedef struct Joining {
        ClusterSnapshot *snapshot; // NULL: nobody joins
        Buf entries[8];
        size_t n;
} Joining;

static void note_entry(Joining *j, const Batch *b) {
        Buf *entry = &j->entries[j->n++];
        size_t len = argosy__log_batch__get_packed_size(&b->log);

        assert_non_null(buf_reserve(entry, len));
        entry->len = argosy__log_batch__pack(&b->log, entry->data);
}

static void join(Joining *j, ClusterState *s) {
        ClusterEncoder *e = cluster_encoder_new(j->snapshot);
        _cleanup_buf_ Buf image = {};
        int r;

        assert_non_null(e);
        while ((r = cluster_encoder_next(e, &image)) == CLUSTER_ENCODER_MORE)
                continue;
        assert_int_equal(r, 0);
        cluster_encoder_free(e);
        cluster_snapshot_unref(TAKE_PTR(j->snapshot));
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        for (size_t i = 0; i < j->n; i++) {
                Argosy__LogBatch *batch =
                        argosy__log_batch__unpack(NULL, j->entries[i].len, j->entries[i].data);

                assert_non_null(batch);
                assert_int_equal(cluster_state_apply(s, batch), 0);
                argosy__log_batch__free_unpacked(batch, NULL);
                buf_done(&j->entries[i]);
        }
        j->n = 0;
}

// What is held is never dropped, nor what it is to do.
static void assert_held_are_kept(const Life *life, const ClusterState *s) {
        size_t n;
        Argosy__StoredRequest *const *all = cluster_state_stored_requests(s, &n);

        for (size_t i = 0; i < n; i++) {
                Argosy__JobState state = cluster_state_job_state(s, all[i]->job);

                if (state != ARGOSY__JOB_STATE__JOB_HELD && state != ARGOSY__JOB_STATE__JOB_RUNNING)
                        fail_msg("%s: job %u is kept to be carried out, and is in state %d", life->about,
                                 (unsigned) all[i]->job, state);
        }
        for (size_t i = 0; i < OPEN_MAX; i++)
                if (w.held[i] > 0 && cluster_state_job_state(s, w.held[i]) == ARGOSY__JOB_STATE__JOB_HELD &&
                    !cluster_state_find_stored_request(s, w.held[i]))
                        fail_msg("%s: job %u is held, and nobody knows what it was to do", life->about,
                                 (unsigned) w.held[i]);
}

static void tell(const Life *life, uint64_t number) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new(), *written = cluster_state_new(),
                                                    *joined = cluster_state_new();
        ClusterState *all[] = {s, written, joined};
        Joining joining = {};

        seed = number * UINT64_C(0x9e3779b97f4a7c15);
        memset(&w, 0, sizeof(w));
        w.at_us = UINT64_C(1700000000) * 1000000;
        for (unsigned i = 0; i <= ENTRIES; i++) {
                _cleanup_(batch_done) Batch b = {};

                if (i == 0) {
                        batch_cluster(&b, 1);
                        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
                } else
                        some_entry(&b, s, life);
                for (size_t k = 0; k < ELEMENTSOF(all); k++) {
                        assert_int_equal(cluster_state_apply(all[k], &b.log), 0);
                        cluster_state_drop_dirty(all[k]);
                }
                if (joining.snapshot)
                        note_entry(&joining, &b);
                if (below(30) == 0)
                        pass_through_image(written);
                if (joining.n == ELEMENTSOF(joining.entries) || (joining.snapshot && below(4) == 0))
                        join(&joining, joined);
                else if (!joining.snapshot && below(30) == 0)
                        assert_int_equal(cluster_state_snapshot(s, &joining.snapshot), 0);
                if (i % DIGEST_EVERY == 0) {
                        assert_held_are_kept(life, s);
                        assert_same(life, s, written, "a voter that has read its snapshot");
                        assert_same(life, s, joined, "a voter that has joined");
                }
        }
        if (joining.snapshot)
                join(&joining, joined);
        assert_same(life, s, written, "a voter that has read its snapshot");
        assert_same(life, s, joined, "a voter that has joined");
        assert_true(w.n_held > 20 && w.n_held_begun > 5 && w.n_held_ended > 5);
        if (cluster_state_first_job(s) == 1 && !life->contents)
                fail_msg("%s: nothing was dropped", life->about);
}

static void too_many_jobs_go_alike_on_all_voters(void **state) {
        tell(&many_small, 1);
}

static void too_long_ones_go_alike_on_all_voters(void **state) {
        tell(&long_reasons, 2);
}

static void too_old_ones_go_alike_on_all_voters(void **state) {
        tell(&of_months, 3);
}

static void former_contents_go_alike_on_all_voters(void **state) {
        tell(&large_contents, 4);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(too_many_jobs_go_alike_on_all_voters),
                cmocka_unit_test(too_long_ones_go_alike_on_all_voters),
                cmocka_unit_test(too_old_ones_go_alike_on_all_voters),
                cmocka_unit_test(former_contents_go_alike_on_all_voters),
        };
        static const Life *const lives[] = {&many_small, &long_reasons, &of_months, &large_contents};

        if (argc > 1) {
                for (size_t i = 0; i < ELEMENTSOF(lives); i++)
                        tell(lives[i], (uint64_t) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
