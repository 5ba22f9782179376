// SPDX-License-Identifier: LGPL-2.1-or-later

// The table of jobs: by number, by revision, and what is dropped of it. What a job's record says is made in
// cluster-state-job-records.c.
//
// Numbers have no gaps, but for one behind a recovery of the cluster, which has lost nobody knows how many:
// they are given to no other jobs. What is too much is dropped at the old end, while applying and by what
// the log says alone (how many, how long, how old by the log's own time; how long is a setting that is in
// the log, too), so every voter drops the same. One entry drops a bounded number. A job that has not ended
// is not dropped but held beside the others (cluster-state-job-ends.c).
//
// Jobs begin in the order of their numbers, and so do the revisions that they give: whose a revision was is
// found by halves. What further entries give comes later than the number says: those of updates, of requests
// that are several entries, of what was held back (cluster-state-stored-requests.c). These have an index of
// their own, which is made while applying, and again of the spans in the records when an image is loaded.

#include <errno.h>

#include "carried-files.h"
#include "cluster-state-private.h"
#include "job-state.h"
#include "message.h"
#include "packed-field.h"
#include "request-kind.h"
#include "sorted.h"

// ------------------------------------------------------------------------------------------------ the table

void state_jobs_init(ClusterState *s) {
        paged_table_init(&s->jobs.entries, s->clock, sizeof(JobEntry *));
}

JobView state_jobs_view(const ClusterState *s) {
        return (JobView){.entries = paged_table_view(&s->jobs.entries),
                         .base = s->jobs.base,
                         .last = s->jobs.last,
                         .gap = s->jobs.gap,
                         .n = s->jobs.n,
                         .held = s->jobs.held,
                         .n_held = s->jobs.n_held,
                         .complete_from = s->jobs.complete_from,
                         .undo_from = s->jobs.undo_from};
}

static uint32_t place_of(uint64_t base, uint64_t rank) {
        return (uint32_t) ((rank - base) % JOBS_RING);
}

const JobEntry *job_view_find(const JobView *v, uint64_t number) {
        uint64_t rank = job_rank(v->gap, number);

        if (number > v->last || job_of_rank(v->gap, rank) != number)
                return NULL;
        if (rank <= job_rank(v->gap, v->last) - v->n)
                return held_job_find(v->held, v->n_held, number);
        return *(JobEntry *const *) paged_view_find(&v->entries, place_of(v->base, rank));
}

uint64_t job_view_number(const JobView *v, size_t i) {
        return job_of_rank(v->gap, job_rank(v->gap, v->last) - v->n + 1 + i);
}

JobEntry *state_find_job(const ClusterState *s, uint64_t number) {
        JobView now = state_jobs_view(s);

        return (JobEntry *) job_view_find(&now, number);
}

uint64_t cluster_state_last_job(const ClusterState *s) {
        return s->jobs.last;
}

uint64_t cluster_state_first_job(const ClusterState *s) {
        JobView now = state_jobs_view(s);

        return job_view_number(&now, 0);
}

static size_t units_bytes(const ClusterState *s) {
        return s->units.count * (sizeof(UnitEntry) + sizeof(Argosy__UnitRecord)) +
               name_table_bytes(&s->units) + paged_table_bytes(&s->unit_records);
}

StateFigures cluster_state_figures(const ClusterState *s) {
        return (StateFigures){.state_units_bytes = units_bytes(s),
                              .state_jobs_bytes = cluster_state_jobs_bytes(s),
                              .state_former_files_bytes = cluster_state_former_specs_bytes(s),
                              .state_operations_refused = s->refused.n};
}

size_t cluster_state_history_bytes(const ClusterState *s) {
        uint32_t mib = cluster_state_queue(s)->history_mib ?: CLUSTER_HISTORY_MIB_DEFAULT;

        return (size_t) MIN_OF(mib, (uint32_t) CLUSTER_HISTORY_MIB_MAX) * 1024 * 1024;
}

size_t cluster_state_file_limit(const ClusterState *s) {
        uint32_t kib = cluster_state_queue(s)->file_kib;

        return kib > 0 ? MIN_OF((size_t) kib * 1024, (size_t) CARRIED_FILE_MAX) : CARRIED_FILE_MAX;
}

size_t cluster_state_unit_files_limit(const ClusterState *s) {
        uint32_t kib = cluster_state_queue(s)->unit_files_kib;

        return kib > 0 ? MIN_OF((size_t) kib * 1024, (size_t) CARRIED_UNIT_MAX) : CARRIED_UNIT_MAX;
}

size_t cluster_state_files_limit(const ClusterState *s) {
        uint32_t mib = cluster_state_queue(s)->files_mib;

        return mib > 0 ? MIN_OF((size_t) mib * 1024 * 1024, (size_t) CLUSTER_FILES_BYTES_MAX)
                       : CLUSTER_FILES_BYTES_MAX;
}

size_t cluster_state_jobs_bytes(const ClusterState *s) {
        return s->jobs.bytes;
}

uint64_t cluster_state_job_revision(const ClusterState *s, uint64_t number) {
        const Argosy__StoredRequest *held = cluster_state_find_stored_request(s, number);
        const JobEntry *job = state_find_job(s, number);

        return job ? MAX_OF(job->revision, held ? held->revision : 0) : 0;
}

int cluster_state_read_job(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret) {
        return cluster_state_read_job_from(s, number, 0, ret);
}

// As they are told, and not as they were written. Nobody asked for a job after it began, nor did the cluster
// move a unit after what it records of that.
static void correct_dates(const ClusterState *s, Argosy__JobRecord *record) {
        record->at_us = state_correct_date(s, record->begun_counted_us, record->at_us);
        record->ended_us = state_correct_date(s, record->counted_us, record->ended_us);
        if (record->at_us == 0) // of a later part
                return;
        if (record->ended_us > 0)
                record->at_us = MIN_OF(record->at_us, record->ended_us);
        record->asked_us = MIN_OF(record->asked_us, record->at_us);
        for (size_t i = 0; i < record->n_moves; i++)
                record->moves[i]->at_us = MIN_OF(record->moves[i]->at_us, record->at_us);
}

int cluster_state_read_job_from(const ClusterState *s, uint64_t number, size_t from,
                                Argosy__JobRecord **ret) {
        const JobEntry *job = state_find_job(s, number);
        void *record;
        int r;

        if (!job || job->dropped)
                return -ENOENT;
        from = MIN_OF(from, (size_t) job->len);
        r = message_unpack(&argosy__job_record__descriptor, job->packed + from, job->len - from, &record);
        if (r < 0)
                return r;
        *ret = record;
        correct_dates(s, *ret);
        return 0;
}

bool cluster_state_job_takes_units(const ClusterState *s, uint64_t number) {
        const JobEntry *job = state_find_job(s, number);

        return job && !job->dropped && !job->moves;
}

// ------------------------------------------------------------------------------------ a long one, in pieces

enum { PIECE_BYTES = 16 * 1024 };

// Whether the field may occur once per unit.
static bool is_long_field(const PackedField *f) {
        static const char *const names[] = {"units", "settings", "ends", "moves"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (protobuf_c_message_descriptor_get_field_by_name(&argosy__job_record__descriptor,
                                                                    names[i])
                            ->id == f->number)
                        return true;
        return false;
}

int cluster_state_read_job_head(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret,
                                size_t *ret_bytes) {
        const JobEntry *job = state_find_job(s, number);
        _cleanup_free_ uint8_t *head = NULL;
        size_t at = 0, len = 0;
        PackedField f;
        void *record;
        int r;

        if (!job || job->dropped)
                return -ENOENT;
        head = malloc(job->len + 1);
        if (!head)
                return -ENOMEM;
        while (packed_field_take(job->packed, job->len, &at, &f)) {
                if (is_long_field(&f))
                        continue;
                memcpy(head + len, job->packed + f.at, f.len);
                len += f.len;
        }
        r = message_unpack(&argosy__job_record__descriptor, head, len, &record);
        if (r < 0)
                return r;
        *ret = record;
        *ret_bytes = job->len;
        correct_dates(s, *ret);
        return 0;
}

int cluster_state_read_job_piece(const ClusterState *s, uint64_t number, size_t *at,
                                 Argosy__JobRecord **ret) {
        const JobEntry *job = state_find_job(s, number);
        size_t end = *at;
        PackedField f;
        void *record;
        int r;

        if (!job || job->dropped || *at >= job->len)
                return -ENOENT;
        while (end - *at < PIECE_BYTES && packed_field_take(job->packed, job->len, &end, &f))
                ;
        r = message_unpack(&argosy__job_record__descriptor, job->packed + *at, end - *at, &record);
        if (r < 0)
                return r;
        *ret = record;
        *at = end;
        return 0;
}

// --------------------------------------------------------------------------------------------- whose it was

static JobSpan span_at(const JobEntry *job, size_t i) {
        JobSpan span;

        memcpy(&span, job->packed + job->len + i * sizeof span, sizeof span);
        return span;
}

// All operations of an entry between its first and its last one are its own, so nobody need look at their
// names.
static bool has_given_at_first(const JobEntry *job, uint64_t revision) {
        uint64_t last = job->n_spans > 0 ? span_at(job, 0).last : job->revision;

        return job->revision_before < revision && revision <= last;
}

// The i-th job by number; jobs that are kept beside the ring come first.
static const JobEntry *entry_at(const JobView *v, size_t i, uint64_t *ret_number) {
        bool is_held = i < v->n_held;

        *ret_number = is_held ? v->held[i]->number : job_view_number(v, i - v->n_held);
        return is_held ? v->held[i]->entry : job_view_find(v, *ret_number);
}

// Jobs begin in the order of their numbers. NULL: none that is kept began before it.
static const JobEntry *find_begun_before(const ClusterState *s, uint64_t revision, uint64_t *ret_number) {
        JobView now = state_jobs_view(s);
        size_t n = SORTED_COUNT(now.n_held + now.n, i,
                                entry_at(&now, i, ret_number)->revision_before < revision);

        return n > 0 ? entry_at(&now, n - 1, ret_number) : NULL;
}

uint64_t cluster_state_job_begun_before(const ClusterState *s, uint64_t revision) {
        uint64_t number;

        return find_begun_before(s, revision, &number) ? number : 0;
}

uint64_t cluster_state_find_job_of(const ClusterState *s, const char *unit, uint64_t revision) {
        uint64_t late = state_late_job_of(s, revision), number;
        const JobEntry *job;

        if (late > 0)
                return late;
        job = find_begun_before(s, revision, &number);
        return job && has_given_at_first(job, revision) ? number : 0;
}

// ------------------------------------------------------------------------------------------------ kept

static size_t entry_size(size_t len, size_t n_spans) {
        return sizeof(JobEntry) + len + n_spans * sizeof(JobSpan);
}

JobEntry *state_job_entry_new(const JobEntry *so_far, const Argosy__JobRecord *record, size_t len) {
        size_t before = so_far ? so_far->len : 0, n_before = so_far ? so_far->n_spans : 0,
               n = record->n_spans / 2;
        JobEntry *job = malloc(entry_size(before + len, n_before + n));
        uint8_t *spans;

        if (!job)
                return NULL;
        *job = so_far ? *so_far
                      : (JobEntry){.revision_before = record->revision_before,
                                   .moves = request_verb_only_moves(record->verb)};
        job->at_us = record->at_us ?: job->at_us; // a later part has no time
        job->counted_us = record->counted_us ?: job->counted_us;
        job->revision = record->revision ?: job->revision;
        job->state = record->state ? (uint32_t) record->state : job->state;
        job->own = record->own ? (uint32_t) record->own : job->own;
        job->own_host = record->own_host ?: job->own_host;
        job->times = record->times ?: job->times;
        job->dropped |= record->dropped;
        job->len = (uint32_t) (before + len);
        job->n_spans = (uint32_t) (n_before + n);
        spans = job->packed + job->len;
        if (so_far) {
                memcpy(job->packed, so_far->packed, before);
                memcpy(spans, so_far->packed + before, n_before * sizeof(JobSpan));
        }
        if (n > 0)
                memcpy(spans + n_before * sizeof(JobSpan), record->spans, n * sizeof(JobSpan));
        return job;
}

static void retire(ClusterState *s, JobEntry *job) {
        state_retire(s, job, entry_size(job->len, job->n_spans));
}

// What the cluster does by itself gives no revision, and what has changed nothing is not missed.
void state_note_forgotten_job(ClusterState *s, const JobEntry *job) {
        if (!job->own && job->revision > job->revision_before)
                s->jobs.complete_from = MAX_OF(s->jobs.complete_from, job->revision);
}

uint64_t cluster_state_undo_from(const ClusterState *s) {
        return s->jobs.undo_from >= cluster_state_first_job(s) ? s->jobs.undo_from : 0;
}

uint64_t cluster_state_jobs_complete_from(const ClusterState *s) {
        return s->jobs.complete_from;
}

static int drop_oldest(ClusterState *s) {
        uint64_t number = cluster_state_first_job(s);
        JobEntry *job = state_find_job(s, number);
        int r = job->own && !job->dropped ? state_forget_own_job(s, number, job) : 0;

        if (r < 0)
                return r;
        s->jobs.n_dropped -= job->dropped;
        s->jobs.bytes -= job->len;
        s->jobs.n--;
        if (job_state_is_open((Argosy__JobState) job->state) || state_job_is_awaited(s, number))
                return state_hold_job(s, number, job);
        state_note_forgotten_job(s, job);
        retire(s, job);
        return 0;
}

// Places are given in order, and again when the ring has come round.
int state_append_job(ClusterState *s, JobEntry *job) {
        JobTable *t = &s->jobs;
        uint32_t n_places = paged_table_view(&t->entries).n_slots, place;
        uint64_t rank = job_rank(t->gap, t->last) + 1;
        int r = t->n == JOBS_RING ? drop_oldest(s) : 0; // so many in one entry

        if (r < 0)
                return r;
        if (n_places == 0)
                t->base = rank;
        place = place_of(t->base, rank);
        r = place < n_places ? paged_table_set(&t->entries, place, &job)
                             : paged_table_add(&t->entries, &job, &place);
        if (r < 0)
                return r;
        t->last++;
        t->n++;
        t->bytes += job->len;
        return 0;
}

int state_replace_job(ClusterState *s, uint64_t number, JobEntry *so_far, JobEntry *job) {
        bool is_held = number < cluster_state_first_job(s);
        int r = is_held ? state_replace_held_job(s, number, job)
                        : paged_table_set(&s->jobs.entries,
                                          place_of(s->jobs.base, job_rank(s->jobs.gap, number)), &job);

        if (r < 0)
                return r;
        if (!is_held)
                s->jobs.bytes = s->jobs.bytes + job->len - so_far->len;
        retire(s, so_far);
        return 0;
}

// Two gaps are more than is kept account of: then those before the first one are dropped.
int state_raise_jobs(ClusterState *s, uint64_t floor) {
        JobTable *t = &s->jobs;
        int r = 0;

        if (floor <= t->last || floor > REVISION_MAX)
                return 0;
        if (t->gap.size > 0 && t->last < t->gap.first) { // no job since
                t->gap.size += floor - t->last;
                t->gap.first = floor + 1;
                t->last = floor;
                return 0;
        }
        while (r == 0 && t->gap.size > 0 && t->n > 0 && cluster_state_first_job(s) < t->gap.first)
                r = drop_oldest(s);
        t->base += t->gap.size;
        t->gap = (JobGap){.first = floor + 1, .size = floor - t->last};
        t->last = floor;
        return r;
}

static bool is_too_much(const ClusterState *s) {
        const JobTable *t = &s->jobs;

        if (t->n == 0)
                return false;
        return t->n - t->n_dropped > CLUSTER_JOBS_MAX || t->bytes > cluster_state_history_bytes(s) ||
               (s->counted_us > JOB_AGE_MAX_US &&
                state_find_job(s, cluster_state_first_job(s))->counted_us < s->counted_us - JOB_AGE_MAX_US);
}

int state_drop_old_jobs(ClusterState *s, size_t n_brought) {
        size_t most = MAX_OF((size_t) CLUSTER_JOBS_DROPPED, 2 * n_brought);
        int r = 0;

        for (; r == 0 && most > 0 && state_own_jobs_are_too_many(s); most--)
                r = state_drop_own_job(s);
        for (; r == 0 && most > 0 && is_too_much(s); most--)
                r = s->jobs.own.n > 0 && s->jobs.bytes > cluster_state_history_bytes(s)
                            ? state_drop_own_job(s)
                            : drop_oldest(s);
        return r;
}

void state_jobs_done(ClusterState *s) {
        for (; s->jobs.n > 0; s->jobs.n--)
                retire(s, state_find_job(s, cluster_state_first_job(s)));
        state_held_jobs_done(s);
        state_late_jobs_done(s);
        state_own_jobs_done(s);
        paged_table_done(&s->jobs.entries);
}

// -------------------------------------------------------------------------------------------- from an image

// Notes the entries of a job, but for the first one, which gives its number.
static int note_spans(ClusterState *s, uint64_t number) {
        const JobEntry *job = state_find_job(s, number);
        int r = 0;

        for (size_t i = 1; r == 0 && i < job->n_spans; i++)
                r = state_note_late_job(s, number, span_at(job, i));
        return r;
}

int state_jobs_loaded(ClusterState *s) {
        state_late_jobs_loaded(s);
        for (size_t i = 0; i < s->jobs.n_held; i++)
                if (!job_state_is_open((Argosy__JobState) s->jobs.held[i]->entry->state) &&
                    !state_job_is_awaited(s, s->jobs.held[i]->number))
                        return -EBADMSG;
        return 0;
}

// -EBADMSG: it is none that there can be.
static int unpack_entry(ClusterState *s, const void *packed, size_t len, JobEntry **ret,
                        uint64_t *ret_number) {
        JobEntry *job = NULL;
        Argosy__JobRecord *record;
        void *message;
        bool fits;
        int r = message_unpack(&argosy__job_record__descriptor, packed, len, &message);

        if (r < 0)
                return r;
        record = message;
        *ret_number = record->number;
        fits = record->revision <= s->revision && len <= UINT32_MAX;
        r = state_check_readable(s, &record->base);
        if (r == 0 && fits)
                job = state_job_entry_new(NULL, record, len);
        message_free(record);
        if (r < 0 || !fits)
                return r < 0 ? r : -EBADMSG;
        if (!job)
                return -ENOMEM;
        memcpy(job->packed, packed, len);
        *ret = job;
        return 0;
}

int state_load_job(ClusterState *s, const void *packed, size_t len) {
        uint64_t number;
        JobEntry *job;
        int r = unpack_entry(s, packed, len, &job, &number);

        if (r < 0)
                return r;
        r = number > s->jobs.last && number <= REVISION_MAX ? state_load_last_job(s, number - 1) : -EBADMSG;
        if (r == 0)
                r = state_append_job(s, job);
        if (r < 0) {
                free(job);
                return r;
        }
        s->jobs.n_dropped += job->dropped;
        if (job->own && !job->dropped)
                r = state_load_own_job(s, number, job);
        return r < 0 ? r : note_spans(s, number);
}

int state_load_last_job(ClusterState *s, uint64_t last) {
        if (last < s->jobs.last || (last > s->jobs.last && s->jobs.gap.size > 0))
                return -EBADMSG;
        if (s->jobs.n == 0)
                s->jobs.last = last;
        return state_raise_jobs(s, last);
}

int state_load_held_job(ClusterState *s, const void *packed, size_t len) {
        uint64_t number;
        JobEntry *job;
        int r = unpack_entry(s, packed, len, &job, &number);

        if (r < 0)
                return r;
        if (number == 0 || number >= cluster_state_first_job(s) ||
            (s->jobs.n_held > 0 && s->jobs.held[s->jobs.n_held - 1]->number >= number))
                r = -EBADMSG;
        else
                r = state_hold_job(s, number, job);
        if (r < 0) {
                free(job);
                return r;
        }
        return note_spans(s, number);
}
