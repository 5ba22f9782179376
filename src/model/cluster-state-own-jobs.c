// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the cluster did by itself: a job without an author, for people who ask why something has happened.
//
//   the leader puts a record beside what it does (LogOp.JobPut with JobRecord.own, and no operations of its
//   own)
//   -> a new job, or a part of one that is kept -> by cause, host and unit it is found again
//   -> when there is too much: all but its number is dropped
//
// Such a job has ended when it is put, has no units and no settings, and gives no revision: so it overtakes
// nothing, and there is nothing in it to undo or to compare. The leader says what it moved, in the record;
// nothing is noted of the entry's operations.
//
// Of the bytes that are kept of jobs these have an eighth, and of their number. What is more goes at their
// old end, and they go first when all jobs together are too much. Numbers have no gaps, so what is left of
// one is its number, its time and its revisions (JobRecord.dropped), until its place in the ring is needed.
// That is judged while applying, by what the log says alone.
//
// Failures: none but memory. A part whose job is not kept whole any more, or has another cause, is a job of
// its own.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state-private.h"
#include "message.h"

enum { OWN_SHARE = 8 }; // one of so many bytes, and jobs

// The newest of both about a host. It is lost if that came last.
typedef struct OwnHost {
        uint32_t host;
        bool is_lost;
        uint64_t lost, back; // 0: none
} OwnHost;

typedef struct OwnUnit {
        OwnMove move; // its texts stand behind the name
        char name[];
} OwnUnit;

// ---------------------------------------------------------------------------------------------- found again

static bool is_about_host(uint32_t cause) {
        return cause == ARGOSY__OWN_CAUSE__OWN_LOST || cause == ARGOSY__OWN_CAUSE__OWN_BACK;
}

static OwnHost *host_of(const ClusterState *s, uint32_t host) {
        return map_find(&s->jobs.own.hosts, &host, sizeof(host));
}

static OwnHost *host_get(ClusterState *s, uint32_t host) {
        OwnHost *h = host_of(s, host);

        if (h)
                return h;
        h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->host = host;
        if (map_add(&s->jobs.own.hosts, &h->host, sizeof(h->host), h) == 0)
                return h;
        free(h);
        return NULL;
}

static int note_host(ClusterState *s, uint64_t number, uint32_t cause, uint32_t host) {
        OwnHost *h = host_get(s, host);

        if (!h)
                return -ENOMEM;
        h->is_lost = cause == ARGOSY__OWN_CAUSE__OWN_LOST;
        if (h->is_lost)
                h->lost = number;
        else
                h->back = number;
        return 0;
}

static char *append_text(char *at, const char *text, const char **ret) {
        size_t size = strlen(text) + 1;

        memcpy(at, text, size);
        *ret = at;
        return at + size;
}

static int note_unit(ClusterState *s, uint64_t number, const Argosy__JobMove *move, const char *name) {
        OwnUnit *u = malloc(sizeof(*u) + strlen(name) + strlen(move->from) + strlen(move->to) +
                            strlen(move->reason) + 4);
        const char *copy;
        char *end;

        if (!u)
                return -ENOMEM;
        u->move = (OwnMove){.job = number, .at_us = move->at_us, .counted_us = move->counted_us};
        end = append_text(u->name, name, &copy);
        end = append_text(end, move->from, &u->move.from);
        end = append_text(end, move->to, &u->move.to);
        (void) append_text(end, move->reason, &u->move.reason);
        free(map_take_str(&s->jobs.own.units, name));
        if (map_add_str(&s->jobs.own.units, u->name, u) == 0)
                return 0;
        free(u);
        return -ENOMEM;
}

// Another job, which was gone on with later than this one, has moved the unit since.
static bool has_moved_since(const ClusterState *s, const Argosy__JobMove *move, const char *name) {
        const OwnUnit *u = map_find_str(&s->jobs.own.units, name);

        return u && u->move.counted_us > move->counted_us;
}

// `loads`: by their numbers, which do not say which of them was gone on with last.
static int note_record(ClusterState *s, uint64_t number, const Argosy__JobRecord *record, bool loads) {
        uint32_t cause = record->own;
        int r = is_about_host(cause) ? note_host(s, number, cause, record->own_host) : 0;

        if (cause < OWN_CAUSES)
                s->jobs.own.last[cause] = number;
        for (size_t i = 0; r == 0 && i < record->n_moves; i++)
                for (size_t k = 0; r == 0 && k < record->moves[i]->n_names; k++)
                        if (!loads || !has_moved_since(s, record->moves[i], record->moves[i]->names[k]))
                                r = note_unit(s, number, record->moves[i], record->moves[i]->names[k]);
        return r;
}

static void forget_units(ClusterState *s, uint64_t number, const Argosy__JobRecord *record) {
        for (size_t i = 0; i < record->n_moves; i++)
                for (size_t k = 0; k < record->moves[i]->n_names; k++) {
                        const char *name = record->moves[i]->names[k];
                        OwnUnit *u = map_find_str(&s->jobs.own.units, name);

                        if (!u || u->move.job != number)
                                continue;
                        (void) map_take_str(&s->jobs.own.units, name);
                        free(u);
                }
}

static void forget_host(ClusterState *s, uint64_t number, uint32_t host) {
        OwnHost *h = host_of(s, host);

        if (!h)
                return;
        h->lost = h->lost == number ? 0 : h->lost;
        h->back = h->back == number ? 0 : h->back;
        if (h->lost > 0 || h->back > 0)
                return;
        (void) map_take(&s->jobs.own.hosts, &host, sizeof(host));
        free(h);
}

static bool find(const ClusterState *s, uint64_t number, OwnJob *ret) {
        const JobEntry *job = number > 0 ? state_find_job(s, number) : NULL;

        if (!job || job->dropped || !job->own)
                return false;
        *ret = (OwnJob){.number = number,
                        .cause = (Argosy__OwnCause) job->own,
                        .host = job->own_host,
                        .times = job->times,
                        .bytes = job->len,
                        .at_us = state_correct_date(s, job->counted_us, job->at_us),
                        .counted_us = job->counted_us};
        return true;
}

bool cluster_state_last_own_job(const ClusterState *s, Argosy__OwnCause cause, uint32_t host, OwnJob *ret) {
        const OwnHost *h = is_about_host(cause) ? host_of(s, host) : NULL;

        if (is_about_host(cause))
                return h && find(s, cause == ARGOSY__OWN_CAUSE__OWN_LOST ? h->lost : h->back, ret);
        return (size_t) cause < OWN_CAUSES && find(s, s->jobs.own.last[cause], ret);
}

bool cluster_state_host_was_lost(const ClusterState *s, uint32_t host) {
        const OwnHost *h = host_of(s, host);

        return h && h->is_lost;
}

const OwnMove *cluster_state_own_move_of(const ClusterState *s, const char *unit) {
        const OwnUnit *u = map_find_str(&s->jobs.own.units, unit);

        return u ? &u->move : NULL;
}

// ------------------------------------------------------------------------------------------------ kept

static int add_number(OwnJobs *own, uint64_t number) {
        if (own->first > 64 && own->first > own->n) { // what was taken from the front
                memmove(own->numbers, own->numbers + own->first, own->n * sizeof(*own->numbers));
                own->first = 0;
        }
        if (ARRAY_GROW(own->numbers, own->allocated, own->first + own->n + 1) < 0)
                return -ENOMEM;
        own->numbers[own->first + own->n++] = number;
        return 0;
}

bool state_own_jobs_are_too_many(const ClusterState *s) {
        const OwnJobs *own = &s->jobs.own;

        return own->bytes > cluster_state_history_bytes(s) / OWN_SHARE ||
               own->n > CLUSTER_JOBS_MAX / OWN_SHARE;
}

int state_forget_own_job(ClusterState *s, uint64_t number, const JobEntry *job) {
        OwnJobs *own = &s->jobs.own;
        Argosy__JobRecord *record;
        int r = cluster_state_read_job(s, number, &record);

        if (r < 0)
                return r;
        forget_units(s, number, record);
        message_free(record);
        if (is_about_host(job->own))
                forget_host(s, number, job->own_host);
        own->bytes -= job->len;
        own->first++; // the oldest of all is the oldest of these
        own->n--;
        return 0;
}

int state_drop_own_job(ClusterState *s) {
        uint64_t number = s->jobs.own.numbers[s->jobs.own.first];
        JobEntry *so_far = state_find_job(s, number), *job;
        Argosy__JobRecord left = ARGOSY__JOB_RECORD__INIT;
        size_t len;
        int r = state_forget_own_job(s, number, so_far);

        if (r < 0)
                return r;
        left.number = number;
        left.revision_before = so_far->revision_before;
        left.revision = so_far->revision;
        left.at_us = so_far->at_us;
        left.counted_us = left.begun_counted_us = so_far->counted_us;
        left.state = ARGOSY__JOB_STATE__JOB_DONE;
        left.own = (Argosy__OwnCause) so_far->own;
        left.dropped = true;
        len = argosy__job_record__get_packed_size(&left);
        job = state_job_entry_new(NULL, &left, len);
        if (!job)
                return -ENOMEM;
        argosy__job_record__pack(&left, job->packed);
        r = state_replace_job(s, number, so_far, job);
        if (r < 0) {
                free(job);
                return r;
        }
        s->jobs.n_dropped++;
        return 0;
}

// ------------------------------------------------------------------------------------------------ put

// NULL: it is not kept whole, or there is none.
static JobEntry *continued_by(const ClusterState *s, const Argosy__LogOp__JobPut *put) {
        JobEntry *job = put->number >= cluster_state_first_job(s) ? state_find_job(s, put->number) : NULL;

        return job && job->own == (uint32_t) put->job->own && !job->dropped ? job : NULL;
}

static Argosy__JobRecord first_of(const ClusterState *s, const Argosy__JobRecord *put) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        record.number = s->jobs.last + 1;
        record.revision_before = record.revision = s->revision;
        record.verb = put->verb;
        record.targets = put->targets;
        record.n_targets = put->n_targets;
        return record;
}

static Argosy__JobRecord record_of(const ClusterState *s, const Argosy__JobRecord *put, bool goes_on,
                                   uint64_t at_us) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        if (!goes_on)
                record = first_of(s, put);
        record.own = put->own;
        record.own_host = put->own_host;
        record.times = put->times;
        record.reason = put->reason;
        record.moves = put->moves;
        record.n_moves = put->n_moves;
        for (size_t i = 0; i < put->n_moves; i++)
                put->moves[i]->counted_us = s->counted_us;
        record.state = ARGOSY__JOB_STATE__JOB_DONE;
        record.at_us = record.ended_us = at_us;
        record.counted_us = record.begun_counted_us = s->counted_us;
        return record;
}

int state_put_own_job(ClusterState *s, const Argosy__LogOp__JobPut *put, size_t *n_jobs, uint64_t at_us) {
        JobEntry *so_far = continued_by(s, put), *job;
        Argosy__JobRecord record = record_of(s, put->job, so_far, at_us);
        size_t len = argosy__job_record__get_packed_size(&record), before = so_far ? so_far->len : 0;
        uint64_t number = so_far ? put->number : s->jobs.last + 1;
        int r;

        if (len + before > CLUSTER_JOB_BYTES_MAX) {
                record.n_moves = 0;
                record.cut = true;
                len = argosy__job_record__get_packed_size(&record);
        }
        job = state_job_entry_new(so_far, &record, len);
        if (!job)
                return -ENOMEM;
        argosy__job_record__pack(&record, job->packed + before);
        r = so_far ? state_replace_job(s, number, so_far, job) : state_append_job(s, job);
        if (r < 0) {
                free(job);
                return r;
        }
        s->jobs.own.bytes += len;
        *n_jobs += !so_far;
        r = so_far ? 0 : add_number(&s->jobs.own, number);
        if (r == 0)
                r = note_record(s, number, &record, false);
        return r < 0 ? r : state_note_job(s, (JobNews){.number = number, .from = before});
}

int state_load_own_job(ClusterState *s, uint64_t number, const JobEntry *job) {
        Argosy__JobRecord *record;
        int r = cluster_state_read_job(s, number, &record);
        OwnHost *h;

        if (r < 0)
                return r;
        s->jobs.own.bytes += job->len;
        r = add_number(&s->jobs.own, number);
        if (r == 0)
                r = note_record(s, number, record, true);
        message_free(record);
        if (r < 0 || !is_about_host(job->own))
                return r;
        h = host_of(s, job->own_host); // numbers do not say which of the two was gone on with last
        if (h && h->lost > 0 && h->back > 0)
                h->is_lost = state_find_job(s, h->lost)->counted_us > state_find_job(s, h->back)->counted_us;
        return 0;
}

void state_own_jobs_done(ClusterState *s) {
        map_done_with(&s->jobs.own.units, free);
        map_done_with(&s->jobs.own.hosts, free);
        free(s->jobs.own.numbers);
        s->jobs.own = (OwnJobs){};
}
