// SPDX-License-Identifier: LGPL-2.1-or-later

// Jobs: what somebody asked for and the log has, with what it replaced. While a batch is applied, each operation on a
// unit leaves a note of what that unit was before; the JobPut behind its operations makes a record of the notes. So the
// record is about what was really there when the log came to it, which the leader need not know.
//
// A record is packed once and never changed: of a request that is several entries, each further one makes another with a
// packed JobRecord appended, which protobuf reads as one message with the lists of both. Units that were alike before
// (the instances of a template, new ones) stand in one JobUnits; so a job of one unit takes some 100 bytes, and each
// further one its name and revision.
//
// Numbers have no gaps: what is too much is dropped at the old end, while applying and by what the log says alone
// (how many, how long, how old by the log's own time), so every voter drops the same. One entry drops a bounded number.

#include <errno.h>

#include "cluster-state-private.h"
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
                         .n = s->jobs.n};
}

static uint32_t place_of(uint64_t base, uint64_t number) {
        return (uint32_t) ((number - base) % JOBS_RING);
}

const JobEntry *job_view_find(const JobView *v, uint64_t number) {
        if (number > v->last || number <= v->last - v->n)
                return NULL;
        return *(JobEntry *const *) paged_view_find(&v->entries, place_of(v->base, number));
}

static JobEntry *find(const ClusterState *s, uint64_t number) {
        JobView now = state_jobs_view(s);

        return (JobEntry *) job_view_find(&now, number);
}

uint64_t cluster_state_last_job(const ClusterState *s) {
        return s->jobs.last;
}

uint64_t cluster_state_first_job(const ClusterState *s) {
        return s->jobs.last - s->jobs.n + 1;
}

size_t cluster_state_jobs_bytes(const ClusterState *s) {
        return s->jobs.bytes;
}

uint64_t cluster_state_time_us(const ClusterState *s) {
        return s->time_us;
}

int cluster_state_read_job(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret) {
        const JobEntry *job = find(s, number);
        void *record;
        int r;

        if (!job)
                return -ENOENT;
        r = message_unpack(&argosy__job_record__descriptor, job->packed, job->len, &record);
        if (r == 0)
                *ret = record;
        return r;
}

// ------------------------------------------------------------------------------------------------ whose it was

enum { OVERLAPPING_MAX = 64 }; // jobs that are looked at because one of several entries may lie around them

static bool has_given(const JobEntry *job, const char *unit, uint64_t revision) {
        Argosy__JobRecord *record;
        void *message;
        bool found = false;

        if (message_unpack(&argosy__job_record__descriptor, job->packed, job->len, &message) < 0)
                return false;
        record = message;
        for (size_t g = 0; g < record->n_units && !found; g++)
                for (size_t i = 0; i < record->units[g]->n_revisions && i < record->units[g]->n_names && !found; i++)
                        found = record->units[g]->revisions[i] == revision && streq(record->units[g]->names[i], unit);
        message_free(record);
        return found;
}

// Jobs begin in the order of their numbers: the newest that began before the revision, and those before it that had
// not ended by then.
uint64_t cluster_state_find_job_of(const ClusterState *s, const char *unit, uint64_t revision) {
        uint64_t first = cluster_state_first_job(s), low = first, high = s->jobs.last + 1;

        while (low < high) { // `low`: the first that began at the revision or later
                uint64_t middle = low + (high - low) / 2;

                if (find(s, middle)->revision_before < revision)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (unsigned n = 0; n < OVERLAPPING_MAX && low > first; n++) {
                const JobEntry *job = find(s, --low);

                if (job->revision >= revision && has_given(job, unit, revision))
                        return low;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ kept

static void retire(ClusterState *s, JobEntry *job) {
        state_retire(s, job, sizeof *job + job->len);
}

static void drop_oldest(ClusterState *s) {
        JobEntry *job = find(s, cluster_state_first_job(s));

        s->jobs.bytes -= job->len;
        s->jobs.n--;
        retire(s, job);
}

// Takes the entry on success. Places are given in order, and again when the ring has come round.
static int append(ClusterState *s, JobEntry *job) {
        JobTable *t = &s->jobs;
        uint32_t n_places = paged_table_view(&t->entries).n_slots, place;
        int r;

        if (t->n == JOBS_RING) // so many in one entry
                drop_oldest(s);
        if (n_places == 0)
                t->base = t->last + 1;
        place = place_of(t->base, t->last + 1);
        r = place < n_places ? paged_table_set(&t->entries, place, &job) : paged_table_add(&t->entries, &job, &place);
        if (r < 0)
                return r;
        t->last++;
        t->n++;
        t->bytes += job->len;
        return 0;
}

static bool is_too_much(const ClusterState *s) {
        const JobTable *t = &s->jobs;

        if (t->n == 0)
                return false;
        return t->n > CLUSTER_JOBS_MAX || t->bytes > CLUSTER_JOBS_BYTES_MAX ||
               (s->time_us > JOB_AGE_MAX_US &&
                find(s, cluster_state_first_job(s))->at_us < s->time_us - JOB_AGE_MAX_US);
}

void state_drop_old_jobs(ClusterState *s, size_t n_brought) {
        size_t most = MAX_OF((size_t) CLUSTER_JOBS_DROPPED, 2 * n_brought);

        while (most-- > 0 && is_too_much(s))
                drop_oldest(s);
}

void state_jobs_done(ClusterState *s) {
        while (s->jobs.n > 0)
                drop_oldest(s);
        paged_table_done(&s->jobs.entries);
}

int state_load_job(ClusterState *s, const void *packed, size_t len) {
        _cleanup_free_ JobEntry *job = malloc(sizeof *job + len);
        Argosy__JobRecord *record;
        void *message;
        bool is_next;
        int r;

        if (!job)
                return -ENOMEM;
        r = message_unpack(&argosy__job_record__descriptor, packed, len, &message);
        if (r < 0)
                return r;
        record = message;
        is_next = record->number == s->jobs.last + 1 && record->revision <= s->revision;
        r = state_check_readable(s, &record->base);
        job->at_us = record->at_us;
        job->revision_before = record->revision_before;
        job->revision = record->revision;
        message_free(record);
        if (r < 0 || !is_next)
                return r < 0 ? r : -EBADMSG;
        job->len = len;
        memcpy(job->packed, packed, len);
        r = append(s, job);
        if (r == 0)
                (void) TAKE_PTR(job);
        return r;
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

void state_job_notes_done(JobNotes *notes) {
        free(notes->notes);
        free(notes->before);
        *notes = (JobNotes){};
}

static const char *unit_of(const Argosy__LogOp *op) {
        if (op->op_case == ARGOSY__LOG_OP__OP_UNIT)
                return op->unit->unit ? op->unit->unit->name : NULL;
        return op->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE ? op->unit_remove->name : NULL;
}

void state_job_note_before(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op, size_t place) {
        const char *name = notes->notes ? unit_of(op) : NULL;
        const UnitEntry *u;
        JobNote *note;

        if (notes->notes)
                notes->before[place] = s->revision;
        if (!name)
                return;
        note = &notes->notes[notes->n++];
        *note = (JobNote){.op = place, .name = name};
        u = cluster_state_find_unit(s, name);
        if (!u)
                return;
        note->existed = true;
        note->spec = u->spec->hash;
        note->target = u->record->target;
}

void state_job_note_after(const ClusterState *s, JobNotes *notes, size_t place) {
        JobNote *note = notes->n > 0 ? &notes->notes[notes->n - 1] : NULL;

        if (!note || note->op != place)
                return;
        if (s->revision == notes->before[place])
                notes->n--; // it was skipped
        note->revision = s->revision;
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
        return a->existed == b->existed && a->target == b->target && hash_equal(&a->spec, &b->spec);
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
                        argosy__job_units__init(group);
                        if (notes[i].existed)
                                group->spec = (ProtobufCBinaryData){HASH_SIZE, notes[i].spec.bytes};
                        group->target = notes[i].target;
                        group->names = &g->names[i];
                        group->revisions = &g->revisions[i];
                }
                group = &g->units[g->n - 1];
                group->n_names++;
                group->n_revisions++;
        }
        return 0;
}

// Packed behind what there is of it, or with `so_far` NULL as a new one.
static JobEntry *pack(const JobEntry *so_far, const Argosy__JobRecord *record) {
        size_t len = argosy__job_record__get_packed_size(record), before = so_far ? so_far->len : 0;
        JobEntry *job = malloc(sizeof *job + before + len);

        if (!job)
                return NULL;
        job->at_us = record->at_us;
        job->revision_before = so_far ? so_far->revision_before : record->revision_before;
        job->revision = record->revision;
        job->len = before + len;
        if (so_far)
                memcpy(job->packed, so_far->packed, before);
        argosy__job_record__pack(record, job->packed + before);
        return job;
}

// The first part says who, why and what for; all say what they have changed, and when.
static Argosy__JobRecord record_of(const ClusterState *s, const Argosy__LogOp__JobPut *put, const JobEntry *so_far,
                                   uint64_t revision_before, uint64_t at_us) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        if (!so_far) {
                record = *put->job;
                record.number = s->jobs.last + 1;
                record.revision_before = revision_before;
                record.cut = false;
        }
        record.at_us = at_us;
        record.revision = s->revision;
        record.units = NULL;
        record.n_units = 0;
        return record;
}

// Takes `job` on success.
static int replace(ClusterState *s, uint64_t number, JobEntry *so_far, JobEntry *job) {
        int r = paged_table_set(&s->jobs.entries, place_of(s->jobs.base, number), &job);

        if (r < 0)
                return r;
        s->jobs.bytes += job->len - so_far->len;
        retire(s, so_far);
        return 0;
}

static int put_record(ClusterState *s, const Argosy__LogOp__JobPut *put, JobNote *notes, size_t n,
                      uint64_t revision_before, uint64_t at_us) {
        JobEntry *so_far = put->number > 0 ? find(s, put->number) : NULL, *job;
        _cleanup_(groups_done) Groups groups = {};
        Argosy__JobRecord record = record_of(s, put, so_far, revision_before, at_us);
        int r = groups_make(&groups, notes, n);

        if (r < 0)
                return r;
        record.units = groups.pointers;
        record.n_units = groups.n;
        if (argosy__job_record__get_packed_size(&record) + (so_far ? so_far->len : 0) > CLUSTER_JOB_BYTES_MAX) {
                record.n_units = 0;
                record.cut = true;
        }
        job = pack(so_far, &record);
        if (!job)
                return -ENOMEM;
        r = so_far ? replace(s, put->number, so_far, job) : append(s, job);
        if (r < 0)
                free(job);
        return r;
}

int state_put_job(ClusterState *s, const Argosy__LogOp__JobPut *put, JobNotes *notes, size_t place, uint64_t at_us) {
        size_t first_op = place - MIN_OF((size_t) put->n_ops, place), first = notes->n, n;
        bool goes_on = put->number > 0 && find(s, put->number);
        RequestKey key = {.content = put->content, .more = put->more};
        int r;

        if (!put->job)
                return 0;
        while (first > 0 && notes->notes[first - 1].op >= first_op)
                first--;
        n = notes->n - first;
        notes->n = 0;
        r = put_record(s, put, notes->notes + first, n, notes->before[first_op], at_us);
        if (r < 0)
                return r;
        notes->n_jobs++;
        key.job = goes_on ? put->number : s->jobs.last;
        return put->id.len == REQUEST_ID_SIZE ? state_put_key(s, put->id.data, &key) : 0;
}
