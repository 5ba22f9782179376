// SPDX-License-Identifier: LGPL-2.1-or-later

// Jobs: what somebody asked for and the log has, with what it replaced. While a batch is applied, each operation on a
// unit leaves a note of what that unit was before, and of what else it changes (cluster-state-job-settings.c); the JobPut behind its operations makes a record of the notes. So the
// record is about what was really there when the log came to it, which the leader need not know.
//
// A record is packed once and never changed: of a request that is several entries, each further one makes another with a
// packed JobRecord appended, which protobuf reads as one message with the lists of both. Units that were alike before
// (the instances of a template, new ones) stand in one JobUnits; so a job of one unit takes some 100 bytes, and each
// further one its name and revision.
//
// The contents of before and after are kept for it (cluster-state-specs.c).
//
// Numbers have no gaps, but for one behind a recovery of the cluster, which has lost nobody knows how many: they are given
// to no other jobs. What is too much is dropped at the old end, while applying and by what the log says alone
// (how many, how long, how old by the log's own time; how long is a setting that is in the log, too), so every voter drops
// the same. One entry drops a bounded number.
// A job that has not ended is not dropped but held beside the others (cluster-state-job-ends.c).
//
// Jobs begin in the order of their numbers, and so do the revisions that they give: whose a revision was is found by
// halves. What further entries give comes later than the number says: those of updates, of requests that are several
// entries, of what was held back (cluster-state-stored-requests.c). These have an index of their own, which is made
// while applying, and again of the spans in the records when an image is loaded.

#include <errno.h>

#include "array.h"
#include "cluster-state-private.h"
#include "job-state.h"
#include "message.h"

#define JOB_AGE_MAX_US (CLUSTER_JOB_DAYS_MAX * UINT64_C(86400) * UINT64_C(1000000))

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
                         .n_held = s->jobs.n_held};
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

static JobEntry *find(const ClusterState *s, uint64_t number) {
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
        return s->units.count * (sizeof(UnitEntry) + sizeof(Argosy__UnitRecord)) + map_bytes(&s->units) +
               paged_table_bytes(&s->unit_records);
}

StateFigures cluster_state_figures(const ClusterState *s) {
        return (StateFigures){.state_units_bytes = units_bytes(s),
                              .state_jobs_bytes = cluster_state_jobs_bytes(s),
                              .state_former_files_bytes = cluster_state_former_specs_bytes(s)};
}

size_t cluster_state_history_bytes(const ClusterState *s) {
        uint32_t mib = cluster_state_queue(s)->history_mib ?: CLUSTER_HISTORY_MIB_DEFAULT;

        return (size_t) MIN_OF(mib, (uint32_t) CLUSTER_HISTORY_MIB_MAX) * 1024 * 1024;
}

size_t cluster_state_jobs_bytes(const ClusterState *s) {
        return s->jobs.bytes;
}

uint64_t cluster_state_time_us(const ClusterState *s) {
        return s->time_us;
}

// As the clocks of leaders say. If one of them was years ahead, time goes on behind that as the others say that it
// passes: standing still until their clocks get there it would age nothing, and know of no request whether it is older
// than what was forgotten.
void state_pass_time(ClusterState *s, uint64_t at_us) {
        uint64_t passed = s->clock_us > 0 && at_us > s->clock_us ? at_us - s->clock_us : 0;

        s->time_us = at_us >= s->time_us ? at_us : s->time_us + MIN_OF(passed, UINT64_MAX - s->time_us);
        s->clock_us = at_us;
}

uint64_t cluster_state_job_revision(const ClusterState *s, uint64_t number) {
        const Argosy__StoredRequest *held = cluster_state_find_stored_request(s, number);
        const JobEntry *job = find(s, number);

        return job ? MAX_OF(job->revision, held ? held->revision : 0) : 0;
}

int cluster_state_read_job(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret) {
        return cluster_state_read_job_from(s, number, 0, ret);
}

int cluster_state_read_job_from(const ClusterState *s, uint64_t number, size_t from, Argosy__JobRecord **ret) {
        const JobEntry *job = find(s, number);
        void *record;
        int r;

        if (!job)
                return -ENOENT;
        from = MIN_OF(from, (size_t) job->len);
        r = message_unpack(&argosy__job_record__descriptor, job->packed + from, job->len - from, &record);
        if (r == 0)
                *ret = record;
        return r;
}

// ------------------------------------------------------------------------------------------------ whose it was

static JobSpan span_at(const JobEntry *job, size_t i) {
        JobSpan span;

        memcpy(&span, job->packed + job->len + i * sizeof span, sizeof span);
        return span;
}

// All operations of an entry between its first and its last one are its own, so nobody need look at their names.
static bool has_given_at_first(const JobEntry *job, uint64_t revision) {
        uint64_t last = job->n_spans > 0 ? span_at(job, 0).last : job->revision;

        return job->revision_before < revision && revision <= last;
}

// By number, those first that are kept beside the others.
static const JobEntry *entry_at(const JobView *v, size_t i, uint64_t *ret_number) {
        bool is_held = i < v->n_held;

        *ret_number = is_held ? v->held[i]->number : job_view_number(v, i - v->n_held);
        return is_held ? v->held[i]->entry : job_view_find(v, *ret_number);
}

// Jobs begin in the order of their numbers. NULL: none that is kept began before it.
static const JobEntry *find_begun_before(const ClusterState *s, uint64_t revision, uint64_t *ret_number) {
        JobView now = state_jobs_view(s);
        size_t low = 0, high = now.n_held + now.n;

        while (low < high) { // `low`: the first that began at the revision or later
                size_t middle = low + (high - low) / 2;

                if (entry_at(&now, middle, ret_number)->revision_before < revision)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low > 0 ? entry_at(&now, low - 1, ret_number) : NULL;
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

// The log's time never goes back. The clock of a leader may, after one that was wrong: what such a leader brings is as
// young as the log then is, or it would be too old at once.
static uint64_t log_time_of(const Argosy__JobRecord *record) {
        return MAX_OF(record->at_us, record->log_us);
}

static size_t entry_size(size_t len, size_t n_spans) {
        return sizeof(JobEntry) + len + n_spans * sizeof(JobSpan);
}

// What there is of it, NULL: nothing, and the record of one more entry, whose bytes the caller writes behind the others.
static JobEntry *entry_new(const JobEntry *so_far, const Argosy__JobRecord *record, size_t len) {
        size_t before = so_far ? so_far->len : 0, n_before = so_far ? so_far->n_spans : 0, n = record->n_spans / 2;
        JobEntry *job = malloc(entry_size(before + len, n_before + n));
        uint8_t *spans;

        if (!job)
                return NULL;
        *job = so_far ? *so_far : (JobEntry){.revision_before = record->revision_before};
        job->log_us = log_time_of(record) ?: job->log_us; // who says how it ended says nothing else
        job->revision = record->revision ?: job->revision;
        job->state = record->state ? (uint32_t) record->state : job->state;
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

static int drop_oldest(ClusterState *s) {
        uint64_t number = cluster_state_first_job(s);
        JobEntry *job = find(s, number);

        s->jobs.bytes -= job->len;
        s->jobs.n--;
        if (job_state_is_open((Argosy__JobState) job->state) || state_job_is_awaited(s, number))
                return state_hold_job(s, number, job);
        retire(s, job);
        return 0;
}

// Takes the entry on success. Places are given in order, and again when the ring has come round.
static int append(ClusterState *s, JobEntry *job) {
        JobTable *t = &s->jobs;
        uint32_t n_places = paged_table_view(&t->entries).n_slots, place;
        uint64_t rank = job_rank(t->gap, t->last) + 1;
        int r = t->n == JOBS_RING ? drop_oldest(s) : 0; // so many in one entry

        if (r < 0)
                return r;
        if (n_places == 0)
                t->base = rank;
        place = place_of(t->base, rank);
        r = place < n_places ? paged_table_set(&t->entries, place, &job) : paged_table_add(&t->entries, &job, &place);
        if (r < 0)
                return r;
        t->last++;
        t->n++;
        t->bytes += job->len;
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
        return t->n > CLUSTER_JOBS_MAX || t->bytes > cluster_state_history_bytes(s) ||
               (s->time_us > JOB_AGE_MAX_US &&
                find(s, cluster_state_first_job(s))->log_us < s->time_us - JOB_AGE_MAX_US);
}

int state_drop_old_jobs(ClusterState *s, size_t n_brought) {
        size_t most = MAX_OF((size_t) CLUSTER_JOBS_DROPPED, 2 * n_brought);
        int r = 0;

        while (r == 0 && most-- > 0 && is_too_much(s))
                r = drop_oldest(s);
        return r;
}

void state_jobs_done(ClusterState *s) {
        for (; s->jobs.n > 0; s->jobs.n--)
                retire(s, find(s, cluster_state_first_job(s)));
        state_held_jobs_done(s);
        state_late_jobs_done(s);
        paged_table_done(&s->jobs.entries);
}

// ------------------------------------------------------------------------------------------------ from an image

// But of its first entry, which its number is from.
static int note_spans(ClusterState *s, uint64_t number) {
        const JobEntry *job = find(s, number);
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
static int unpack_entry(ClusterState *s, const void *packed, size_t len, JobEntry **ret, uint64_t *ret_number) {
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
                job = entry_new(NULL, record, len);
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
                r = append(s, job);
        if (r < 0) {
                free(job);
                return r;
        }
        return note_spans(s, number);
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

// ------------------------------------------------------------------------------------------------ notes

int state_job_notes_init(JobNotes *notes, const Argosy__LogBatch *batch) {
        bool any = false;

        *notes = (JobNotes){};
        for (size_t i = 0; i < batch->n_ops && !any; i++)
                any = batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB;
        if (!any)
                return 0;
        notes->notes = calloc(batch->n_ops, sizeof *notes->notes);
        notes->before = calloc(batch->n_ops, sizeof *notes->before);
        if (notes->notes && notes->before)
                return 0;
        state_job_notes_done(notes);
        return -ENOMEM;
}

static void drop_notes(JobNotes *notes) {
        for (size_t i = 0; i < notes->n; i++)
                free(notes->notes[i].set);
        notes->n = 0;
        state_settings_drop(notes);
}

void state_job_notes_done(JobNotes *notes) {
        drop_notes(notes);
        free(notes->notes);
        free(notes->settings);
        free(notes->before);
        *notes = (JobNotes){};
}

static const char *unit_of(const Argosy__LogOp *op) {
        if (op->op_case == ARGOSY__LOG_OP__OP_UNIT)
                return op->unit->unit ? op->unit->unit->name : NULL;
        return op->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE ? op->unit_remove->name : NULL;
}

int state_job_note_before(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op, size_t place) {
        const char *name = notes->notes ? unit_of(op) : NULL;
        const UnitEntry *u;
        JobNote *note;

        if (notes->notes)
                notes->before[place] = s->revision;
        if (!name)
                return notes->notes ? state_settings_note_before(s, notes, op, place) : 0;
        note = &notes->notes[notes->n++];
        *note = (JobNote){.op = place, .name = name, .set_after = ""};
        if (op->op_case == ARGOSY__LOG_OP__OP_UNIT)
                note->set_after = op->unit->unit->set;
        u = cluster_state_find_unit(s, name);
        if (!u)
                return 0;
        note->set = *u->record->set ? strdup(u->record->set) : NULL; // the record may be gone when the job comes
        if (*u->record->set && !note->set)
                return -ENOMEM;
        note->existed = true;
        note->from_template = u->record->from_template;
        note->spec = u->spec->hash;
        note->target = u->record->target;
        return 0;
}

static void note_what_became(const ClusterState *s, JobNote *note) {
        const UnitEntry *u = cluster_state_find_unit(s, note->name);

        note->revision = s->revision;
        note->gone = !u;
        if (!u)
                return;
        note->spec_after = u->spec->hash;
        note->target_after = u->record->target;
}

int state_job_note_after(const ClusterState *s, JobNotes *notes, size_t place) {
        JobNote *note = notes->n > 0 ? &notes->notes[notes->n - 1] : NULL;

        if (!note || note->op != place)
                return state_settings_note_after(s, notes, place);
        if (s->revision == notes->before[place])
                free(notes->notes[--notes->n].set); // it was skipped
        else
                note_what_became(s, note);
        return 0;
}

// ------------------------------------------------------------------------------------------------ records

// The groups of one record, and all that they point to.
typedef struct Groups {
        Argosy__JobUnits *units, **pointers;
        char **names;
        uint64_t *revisions;
        size_t n;
} Groups;

static void groups_done(Groups *g) {
        free(g->units);
        free(g->pointers);
        free(g->names);
        free(g->revisions);
}

static bool are_alike(const JobNote *a, const JobNote *b) {
        return a->existed == b->existed && a->target == b->target && hash_equal(&a->spec, &b->spec) &&
               a->from_template == b->from_template && streq(a->set ?: "", b->set ?: "") && streq(a->set_after, b->set_after) && a->gone == b->gone && a->target_after == b->target_after &&
               hash_equal(&a->spec_after, &b->spec_after);
}

static void group_init(Argosy__JobUnits *group, JobNote *note) {
        argosy__job_units__init(group);
        if (note->existed)
                group->spec = (ProtobufCBinaryData){HASH_SIZE, note->spec.bytes};
        group->target = note->target;
        group->set = note->set ?: group->set;
        group->set_after = (char *) note->set_after;
        group->from_template = note->from_template;
        if (!note->gone && !(note->existed && hash_equal(&note->spec, &note->spec_after)))
                group->spec_after = (ProtobufCBinaryData){HASH_SIZE, note->spec_after.bytes};
        group->target_after = note->target_after;
        group->gone = note->gone;
}

static int groups_make(Groups *g, JobNote *notes, size_t n) {
        g->units = calloc(n + 1, sizeof *g->units); // + 1: calloc(0) may return NULL
        g->pointers = calloc(n + 1, sizeof *g->pointers);
        g->names = calloc(n + 1, sizeof *g->names);
        g->revisions = calloc(n + 1, sizeof *g->revisions);
        if (!g->units || !g->pointers || !g->names || !g->revisions)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                Argosy__JobUnits *group;

                g->names[i] = (char *) notes[i].name;
                g->revisions[i] = notes[i].revision;
                if (i == 0 || !are_alike(&notes[i - 1], &notes[i])) {
                        group = g->pointers[g->n] = &g->units[g->n];
                        g->n++;
                        group_init(group, &notes[i]);
                        group->names = &g->names[i];
                        group->revisions = &g->revisions[i];
                }
                group = &g->units[g->n - 1];
                group->n_names++;
                group->n_revisions++;
        }
        return 0;
}

// Packed, in `len` bytes, behind what there is of it, or with `so_far` NULL as a new one.
static JobEntry *pack(const JobEntry *so_far, const Argosy__JobRecord *record, size_t len) {
        JobEntry *job = entry_new(so_far, record, len);

        if (job)
                argosy__job_record__pack(record, job->packed + job->len - len);
        return job;
}

enum { SPANS_AT_ONCE = 2 }; // that of an entry, and of the first one when it proves not to be the only one

static void name_spans(const JobEntry *so_far, uint64_t revision_before, uint64_t spans[2 * SPANS_AT_ONCE],
                       Argosy__JobRecord *record) {
        size_t n = 0;

        if (so_far->n_spans == 0) {
                spans[n++] = so_far->revision_before;
                spans[n++] = so_far->revision;
        }
        spans[n++] = revision_before;
        spans[n++] = record->revision;
        record->spans = spans;
        record->n_spans = n;
}

static bool is_held_back(const JobEntry *job) {
        return job && job->state == ARGOSY__JOB_STATE__JOB_HELD;
}

// What a job begins with that is held back no more.
static void add_beginning(Argosy__JobRecord *record, const Argosy__JobRecord *put) {
        record->rollout = put->rollout;
        record->drains = put->drains;
        record->n_drains = put->n_drains;
        record->limited_by = put->limited_by;
}

// What was refused of what it asked for, when nobody listens.
static void add_refused(Argosy__JobRecord *record, const Argosy__JobRecord *put) {
        record->ends = put->ends;
        record->n_ends = put->n_ends;
        record->failed = put->failed;
}

static Argosy__JobState state_of(const ClusterState *s, const Argosy__LogOp__JobPut *put, const JobEntry *so_far) {
        Argosy__JobState state = put->job->state;

        if (state == ARGOSY__JOB_STATE__JOB_HELD && (so_far || !put->stored || !state_request_fits(s, put->stored)))
                return so_far ? ARGOSY__JOB_STATE__JOB_RUNNING : ARGOSY__JOB_STATE__JOB_CANCELLED;
        return is_held_back(so_far) && state == ARGOSY__JOB_STATE__JOB_UNKNOWN ? ARGOSY__JOB_STATE__JOB_RUNNING : state;
}

// The first part says who, why and what for; all say what they have changed, and when, and whether it goes on.
static Argosy__JobRecord record_of(const ClusterState *s, const Argosy__LogOp__JobPut *put, const JobEntry *so_far,
                                   uint64_t revision_before, uint64_t at_us) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        record.state = state_of(s, put, so_far);
        if (!so_far) {
                Argosy__JobState state = record.state;

                record = *put->job;
                record.number = s->jobs.last + 1;
                record.revision_before = revision_before;
                record.cut = false;
                record.state = state;
                record.asked_us = state == ARGOSY__JOB_STATE__JOB_HELD ? at_us : 0;
                if (state == ARGOSY__JOB_STATE__JOB_CANCELLED && put->job->state == ARGOSY__JOB_STATE__JOB_HELD)
                        record.end_message = (char *) "there was no room for one more job that is held back";
        } else {
                if (is_held_back(so_far))
                        add_beginning(&record, put->job);
                add_refused(&record, put->job);
                record.end_message = put->job->end_message;
        }
        record.ended_us = record.state > ARGOSY__JOB_STATE__JOB_RUNNING && record.state != ARGOSY__JOB_STATE__JOB_HELD ? at_us : 0;
        record.at_us = at_us;
        record.log_us = s->time_us > at_us ? s->time_us : 0;
        record.revision = s->revision;
        record.units = NULL;
        record.settings = NULL;
        record.n_units = record.n_settings = 0;
        return record;
}

// Takes `job` on success.
static int replace(ClusterState *s, uint64_t number, JobEntry *so_far, JobEntry *job) {
        bool is_held = number < cluster_state_first_job(s);
        int r = is_held ? state_replace_held_job(s, number, job)
                        : paged_table_set(&s->jobs.entries, place_of(s->jobs.base, job_rank(s->jobs.gap, number)), &job);

        if (r < 0)
                return r;
        if (!is_held)
                s->jobs.bytes += job->len - so_far->len;
        retire(s, so_far);
        return 0;
}

int state_append_to_job(ClusterState *s, uint64_t number, Argosy__JobRecord part) {
        JobEntry *so_far = find(s, number), *job;
        size_t len;
        int r;

        len = argosy__job_record__get_packed_size(&part);
        if (len + so_far->len > CLUSTER_JOB_BYTES_MAX) {
                part.n_ends = 0;
                len = argosy__job_record__get_packed_size(&part);
        }
        job = pack(so_far, &part, len);
        if (!job)
                return -ENOMEM;
        r = replace(s, number, so_far, job);
        if (r < 0)
                free(job);
        return r;
}

static int name_spec(ClusterState *s, const ProtobufCBinaryData *field, uint64_t job) {
        Hash hash;

        return hash_from_bytes(field->data, field->len, &hash) ? state_name_spec(s, &hash, job) : 0;
}

static int name_specs(ClusterState *s, const Groups *g, uint64_t job) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < g->n; i++)
                r = name_spec(s, &g->units[i].spec, job) ?: name_spec(s, &g->units[i].spec_after, job);
        return r;
}

// What the operations from that one on have changed.
typedef struct Changes {
        JobNote *units;
        size_t n_units;
        Argosy__JobSetting **settings; // owned; what they point to is the notes'
        size_t n_settings;
} Changes;

static void changes_done(Changes *c) {
        free(c->settings);
}

static int changes_since(const JobNotes *notes, size_t first_op, Changes *ret) {
        size_t unit = notes->n, setting = notes->n_settings;

        while (unit > 0 && notes->notes[unit - 1].op >= first_op)
                unit--;
        while (setting > 0 && notes->settings[setting - 1].op >= first_op)
                setting--;
        *ret = (Changes){.units = notes->notes + unit, .n_units = notes->n - unit};
        if (setting == notes->n_settings)
                return 0;
        ret->settings = calloc(notes->n_settings - setting, sizeof(*ret->settings));
        if (!ret->settings)
                return -ENOMEM;
        for (; setting < notes->n_settings; setting++)
                ret->settings[ret->n_settings++] = notes->settings[setting].setting;
        return 0;
}

static int put_record(ClusterState *s, const Argosy__LogOp__JobPut *put, const Changes *changes,
                      uint64_t revision_before, uint64_t at_us) {
        JobEntry *so_far = put->number > 0 ? find(s, put->number) : NULL, *job;
        _cleanup_(groups_done) Groups groups = {};
        Argosy__JobRecord record = record_of(s, put, so_far, revision_before, at_us);
        uint64_t spans[2 * SPANS_AT_ONCE];
        size_t len;
        int r = groups_make(&groups, changes->units, changes->n_units);

        if (r < 0)
                return r;
        if (so_far)
                name_spans(so_far, revision_before, spans, &record);
        record.units = groups.pointers;
        record.n_units = groups.n;
        record.settings = changes->settings;
        record.n_settings = changes->n_settings;
        len = argosy__job_record__get_packed_size(&record);
        if (len + (so_far ? so_far->len : 0) > CLUSTER_JOB_BYTES_MAX) {
                record.n_units = record.n_settings = 0;
                record.cut = true;
                len = argosy__job_record__get_packed_size(&record);
        }
        job = pack(so_far, &record, len);
        if (!job)
                return -ENOMEM;
        r = so_far ? replace(s, put->number, so_far, job) : append(s, job);
        if (r < 0) {
                free(job);
                return r;
        }
        return record.cut ? 0 : name_specs(s, &groups, so_far ? put->number : s->jobs.last);
}

// What is held back was not there before; else it has begun, and when all of it is in the log its request has gone.
static int put_request(ClusterState *s, const Argosy__LogOp__JobPut *put, uint64_t number, bool goes_on) {
        Argosy__JobState state = cluster_state_job_state(s, number);

        if (!goes_on)
                return state == ARGOSY__JOB_STATE__JOB_HELD ? state_store_request(s, put->stored, number) : 0;
        if (!put->more || state != ARGOSY__JOB_STATE__JOB_RUNNING)
                state_drop_stored_request(s, number);
        return 0;
}

// Of a job that is running it is said who has called off what had not begun.
static int note_cancel(ClusterState *s, uint64_t number, uint64_t by) {
        const JobEntry *job = find(s, number);
        Argosy__JobRecord part = ARGOSY__JOB_RECORD__INIT;
        size_t before;

        if (!job || job->state != ARGOSY__JOB_STATE__JOB_RUNNING || number == by)
                return 0;
        before = job->len;
        part.cancelled_by = &by;
        part.n_cancelled_by = 1;
        return state_append_to_job(s, number, part) ?: state_note_job(s, (JobNews){.number = number, .from = before});
}

// Before the job itself is news: whose a change is that calls off is known by then.
static int note_cancels(ClusterState *s, const Argosy__LogOp__JobPut *put, uint64_t by) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < put->n_cancels; i++)
                r = note_cancel(s, put->cancels[i], by);
        return r;
}

int state_put_job(ClusterState *s, const Argosy__LogOp__JobPut *put, JobNotes *notes, size_t place, uint64_t at_us) {
        size_t first_op = place - MIN_OF((size_t) put->n_ops, place), before;
        JobEntry *so_far = put->number > 0 ? find(s, put->number) : NULL;
        bool goes_on = so_far != NULL, begins = is_held_back(so_far);
        RequestKey key = {.content = put->content, .more = put->more, .done = put->done};
        _cleanup_(changes_done) Changes changes = {};
        uint64_t revision_before;
        int r;

        if (!put->job)
                return 0;
        before = so_far ? so_far->len : 0;
        revision_before = notes->before[first_op];
        r = changes_since(notes, first_op, &changes);
        if (r == 0)
                r = put_record(s, put, &changes, revision_before, at_us);
        drop_notes(notes);
        if (r < 0)
                return r;
        notes->n_jobs++;
        key.job = goes_on ? put->number : s->jobs.last;
        if (goes_on)
                r = state_note_late_job(s, key.job, (JobSpan){revision_before, s->revision});
        if (r == 0 && begins)
                r = state_note_job_state(s, key.job);
        if (r == 0)
                r = put_request(s, put, key.job, goes_on);
        if (r == 0)
                r = note_cancels(s, put, key.job);
        if (r == 0)
                r = state_note_job(s, (JobNews){.number = key.job, .from = before});
        if (r < 0)
                return r;
        state_unhold_job(s, key.job);
        return put->id.len == REQUEST_ID_SIZE ? state_put_key(s, put->id.data, &key) : 0;
}
