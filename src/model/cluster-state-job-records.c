// SPDX-License-Identifier: LGPL-2.1-or-later

// What a job's record says: what somebody asked for and the log has, with what it replaced. While a batch is
// applied, each operation on a unit leaves a note of what that unit was before, and of what else it changes
// (cluster-state-job-settings.c); the JobPut behind its operations makes a record of the notes. So the
// record is about what was really there when the log came to it, which the leader need not know.
//
// A record is packed once and never changed: of a request that is several entries, each further one makes
// another with a packed JobRecord appended, which protobuf reads as one message with the lists of both.
// Units that were alike before (the instances of a template, new ones) stand in one JobUnits; so a job of
// one unit takes some 100 bytes, and each further one its name and revision.
//
// The contents of before and after are kept for it (cluster-state-specs.c). Where records are found again is
// cluster-state-jobs.c.

#include <errno.h>

#include "cluster-state-private.h"
#include "job-state.h"
#include "str.h"

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
        free(notes->failure);
        notes->failure = NULL;
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
        // the record may be gone when the job comes
        note->set = *u->record->set ? strdup(u->record->set) : NULL;
        if (*u->record->set && !note->set)
                return -ENOMEM;
        note->existed = true;
        note->again = u->record->revision > notes->before[0];
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

// Notes a refused operation; of several of one job the last is kept.
int state_job_note_refused(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op, size_t place,
                           ClusterRefusal refusal) {
        char why[CLUSTER_REFUSAL_SIZE];

        if (!notes->notes || op->op_case == ARGOSY__LOG_OP__OP_JOB)
                return 0;
        free(notes->failure);
        notes->failed_op = place;
        notes->failure = str_printf("the log did not take all of it (%s): %s", cluster_op_subject(op),
                                    cluster_refusal_words(s, refusal, why));
        return notes->failure ? 0 : -ENOMEM;
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
               a->from_template == b->from_template && streq(a->set ?: "", b->set ?: "") &&
               streq(a->set_after, b->set_after) && a->gone == b->gone &&
               a->target_after == b->target_after && hash_equal(&a->spec_after, &b->spec_after);
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
        JobEntry *job = state_job_entry_new(so_far, record, len);

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
        record->asked_revision = put->asked_revision;
        record->if_revision = put->if_revision;
}

// What was refused of what it asked for, when nobody listens.
static void add_refused(Argosy__JobRecord *record, const Argosy__JobRecord *put) {
        record->ends = put->ends;
        record->n_ends = put->n_ends;
        record->failed = put->failed;
}

static Argosy__JobState state_of(const ClusterState *s, const Argosy__LogOp__JobPut *put,
                                 const JobEntry *so_far, const char *failure) {
        Argosy__JobState state = put->job->state;

        if (failure)
                return ARGOSY__JOB_STATE__JOB_FAILED;
        if (state == ARGOSY__JOB_STATE__JOB_HELD &&
            (so_far || !put->stored || !state_request_fits(s, put->stored)))
                return so_far ? ARGOSY__JOB_STATE__JOB_RUNNING : ARGOSY__JOB_STATE__JOB_CANCELLED;
        return is_held_back(so_far) && state == ARGOSY__JOB_STATE__JOB_UNKNOWN
                       ? ARGOSY__JOB_STATE__JOB_RUNNING
                       : state;
}

// The first part says who, why and what for, that with which the job begins says when; all say what they
// have changed, and whether it goes on.
static Argosy__JobRecord record_of(const ClusterState *s, const Argosy__LogOp__JobPut *put,
                                   const JobEntry *so_far, uint64_t revision_before, uint64_t at_us,
                                   char *failure) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        record.state = state_of(s, put, so_far, failure);
        if (!so_far) {
                Argosy__JobState state = record.state;

                record = *put->job;
                record.number = s->jobs.last + 1;
                record.revision_before = revision_before;
                record.cut = false;
                record.state = state;
                record.asked_us = state == ARGOSY__JOB_STATE__JOB_HELD ? at_us : 0;
                if (state == ARGOSY__JOB_STATE__JOB_CANCELLED &&
                    put->job->state == ARGOSY__JOB_STATE__JOB_HELD)
                        record.end_message = (char *) "there was no room for one more job that is held back";
        } else {
                if (is_held_back(so_far))
                        add_beginning(&record, put->job);
                add_refused(&record, put->job);
                record.end_message = put->job->end_message;
        }
        if (failure)
                record.end_message = failure;
        record.ended_us =
                record.state > ARGOSY__JOB_STATE__JOB_RUNNING && record.state != ARGOSY__JOB_STATE__JOB_HELD
                        ? at_us
                        : 0;
        if (!so_far || is_held_back(so_far)) {
                record.at_us = at_us;
                record.begun_counted_us = s->counted_us;
        }
        record.counted_us = s->counted_us;
        record.revision = s->revision;
        record.units = NULL;
        record.settings = NULL;
        record.n_units = record.n_settings = 0;
        return record;
}

int state_append_to_job(ClusterState *s, uint64_t number, Argosy__JobRecord part) {
        JobEntry *so_far = state_find_job(s, number), *job;
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
        r = state_replace_job(s, number, so_far, job);
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

// What the first one of two replaced, the second one has made something else of.
static bool add_to_earlier(JobNote *notes, size_t n, const JobNote *later) {
        for (size_t i = n; i-- > 0;)
                if (streq(notes[i].name, later->name)) {
                        notes[i].set_after = later->set_after;
                        notes[i].gone = later->gone;
                        notes[i].spec_after = later->spec_after;
                        notes[i].target_after = later->target_after;
                        notes[i].revision = later->revision;
                        return true;
                }
        return false;
}

// A unit that the job has put twice, as it goes along with another one and then has its own turn, is one of
// its units all the same.
static void merge_again(JobNotes *notes, size_t first) {
        size_t n = first;

        for (size_t i = first; i < notes->n; i++)
                if (notes->notes[i].again &&
                    add_to_earlier(notes->notes + first, n - first, &notes->notes[i]))
                        free(notes->notes[i].set);
                else
                        notes->notes[n++] = notes->notes[i];
        notes->n = n;
}

static int changes_since(JobNotes *notes, size_t first_op, Changes *ret) {
        size_t unit = notes->n, setting = notes->n_settings;

        while (unit > 0 && notes->notes[unit - 1].op >= first_op)
                unit--;
        while (setting > 0 && notes->settings[setting - 1].op >= first_op)
                setting--;
        merge_again(notes, unit);
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
                      uint64_t revision_before, uint64_t at_us, char *failure) {
        JobEntry *so_far = put->number > 0 ? state_find_job(s, put->number) : NULL, *job;
        _cleanup_(groups_done) Groups groups = {};
        Argosy__JobRecord record = record_of(s, put, so_far, revision_before, at_us, failure);
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
        r = so_far ? state_replace_job(s, put->number, so_far, job) : state_append_job(s, job);
        if (r < 0) {
                free(job);
                return r;
        }
        return record.cut ? 0 : name_specs(s, &groups, so_far ? put->number : s->jobs.last);
}

// What is held back was not there before; else it has begun, and when all of it is in the log its request
// has gone.
static int put_request(ClusterState *s, const Argosy__LogOp__JobPut *put, uint64_t number, bool goes_on) {
        Argosy__JobState state = cluster_state_job_state(s, number);

        if (!goes_on)
                return state == ARGOSY__JOB_STATE__JOB_HELD ? state_store_request(s, put->stored, number)
                                                            : 0;
        if (!put->more || state != ARGOSY__JOB_STATE__JOB_RUNNING)
                state_drop_stored_request(s, number);
        return 0;
}

// Notes, for a running job, which job cancelled what had not begun.
static int note_cancel(ClusterState *s, uint64_t number, uint64_t by) {
        const JobEntry *job = state_find_job(s, number);
        Argosy__JobRecord part = ARGOSY__JOB_RECORD__INIT;
        size_t before;

        if (!job || job->state != ARGOSY__JOB_STATE__JOB_RUNNING || number == by)
                return 0;
        before = job->len;
        part.cancelled_by = &by;
        part.n_cancelled_by = 1;
        return state_append_to_job(s, number, part)
                       ?: state_note_job(s, (JobNews){.number = number, .from = before});
}

// Before the job itself is news: whose a change is that calls off is known by then.
static int note_cancels(ClusterState *s, const Argosy__LogOp__JobPut *put, uint64_t by) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < put->n_cancels; i++)
                r = note_cancel(s, put->cancels[i], by);
        return r;
}

// Whoever follows jobs is told of it: by a part, or by what says its end (state_end_jobs()).
static bool has_ended(const ClusterState *s, uint64_t number) {
        return !job_state_is_open(cluster_state_job_state(s, number));
}

int state_put_job(ClusterState *s, const Argosy__LogOp__JobPut *put, JobNotes *notes, size_t place,
                  uint64_t at_us) {
        size_t first_op = place - MIN_OF((size_t) put->n_ops, place), before;
        JobEntry *so_far = put->number > 0 ? state_find_job(s, put->number) : NULL;
        bool goes_on = so_far != NULL, begins = is_held_back(so_far);
        bool was_open = goes_on && job_state_is_open((Argosy__JobState) so_far->state);
        RequestKey key = {.content = put->content, .more = put->more, .done = put->done};
        _cleanup_(changes_done) Changes changes = {};
        uint64_t revision_before;
        bool failed;
        int r;

        if (!put->job)
                return 0;
        if (put->job->own) {
                drop_notes(notes);
                return state_put_own_job(s, put, &notes->n_jobs, at_us);
        }
        before = so_far ? so_far->len : 0;
        revision_before = notes->before[first_op];
        failed = notes->failure && notes->failed_op >= first_op;
        r = changes_since(notes, first_op, &changes);
        if (r == 0)
                r = put_record(s, put, &changes, revision_before, at_us, failed ? notes->failure : NULL);
        drop_notes(notes);
        if (r < 0)
                return r;
        notes->n_jobs++;
        key.job = goes_on ? put->number : s->jobs.last;
        if (goes_on)
                r = state_note_late_job(s, key.job, (JobSpan){revision_before, s->revision});
        if (r == 0 && (begins || (was_open && has_ended(s, key.job))))
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
