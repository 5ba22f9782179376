// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See changed-since.h. A request that is several entries is asked against one state of the cluster, and what
// others change between its entries is not what it was asked about. So its first entry says the revision of
// that state, and to which one the request is bound (JobRecord.asked_revision and if_revision), and each
// unit is compared with these in the turn in which it is put into an entry, by whichever leader.
//
// Happy path: the record of the unit is as old as that. Else whose its revision is: the own job's, or
// another job's. A revision that is no job's is the cluster's own (a move, a restart elsewhere), and may
// have come behind a change that somebody asked for: then the explicit start, restart and stop tell, and at
// last the records of the jobs that have begun since.
//
// Jobs that had begun before that and have changed something since (what was held back, updates) are among
// those.
//
// Failures: when more jobs are to be looked at than are (CHANGED_SINCE_LOOKS), or one that has changed
// something since is not kept any more (cluster_state_jobs_complete_from()), the unit counts as changed.

#include "changed-since.h"

#include <errno.h>
#include <inttypes.h>

#include "author.h"
#include "message.h"
#include "str.h"

int changed_since_begin(const Leader *l, PendingRequest *t) {
        Argosy__JobRecord *job;
        int r;

        if (t->asked.revision > 0)
                return 0;
        t->asked.revision = cluster_state_revision(l->state);
        t->asked.if_revision = t->request->job ? t->request->job->if_revision : 0;
        r = t->job > 0 ? cluster_state_read_job(l->state, t->job, &job) : -ENOENT;
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (job->asked_revision > 0) {
                t->asked.revision = job->asked_revision;
                t->asked.if_revision = job->if_revision;
        }
        message_free(job);
        return 0;
}

void changed_since_renew(const Leader *l, PendingRequest *t) {
        t->asked.revision = cluster_state_revision(l->state);
}

enum { LATE_MAX = 64 }; // so many that went on are looked at

static uint64_t bound_of(const PendingRequest *t) {
        return t->asked.if_revision > 0 ? MIN_OF(t->asked.if_revision, t->asked.revision)
                                        : t->asked.revision;
}

static bool names(const Argosy__JobRecord *job, const char *unit) {
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++)
                        if (streq(job->units[g]->names[i], unit))
                                return true;
        return false;
}

// A record is read in 10 us and more, and a name in it compared in a tenth of a look.
static size_t looks_of(const Argosy__JobRecord *job) {
        size_t n = 100;

        for (size_t g = 0; g < job->n_units; g++)
                n += job->units[g]->n_names / 10;
        return n;
}

typedef enum Search {
        SEARCH_NONE,
        SEARCH_FOUND,
        // there are too many to be looked at, one cannot name all of its units, or one is not remembered
        SEARCH_UNKNOWN,
} Search;

// SEARCH_NONE: the job has not changed it.
static Search search_job(const ClusterState *state, PendingRequest *t, uint64_t number, const char *unit,
                         uint64_t *ret_job) {
        Argosy__JobRecord *job;
        bool found, cut;

        if (t->asked.n_looks++ >= CHANGED_SINCE_LOOKS)
                return SEARCH_UNKNOWN;
        if (number == t->job || cluster_state_read_job(state, number, &job) < 0)
                return SEARCH_NONE;
        found = names(job, unit);
        cut = job->cut;
        t->asked.n_looks += looks_of(job);
        message_free(job);
        *ret_job = found ? number : 0;
        return found ? SEARCH_FOUND : cut ? SEARCH_UNKNOWN : SEARCH_NONE;
}

// A search among jobs that began no later than `newest` and have changed something since.
static Search search_late(const ClusterState *state, PendingRequest *t, uint64_t newest, const char *unit,
                          uint64_t *ret_job) {
        uint64_t late[LATE_MAX];
        size_t n = cluster_state_late_jobs(state, bound_of(t), newest + 1, late, LATE_MAX);

        for (size_t i = 0; i < n; i++) {
                Search found = search_job(state, t, late[i], unit, ret_job);

                if (found != SEARCH_NONE)
                        return found;
        }
        return n < LATE_MAX ? SEARCH_NONE : SEARCH_UNKNOWN;
}

// The newest of the jobs that have begun since and have changed the unit, or of those that went on.
static Search search_jobs(const ClusterState *state, PendingRequest *t, const char *unit,
                          uint64_t *ret_job) {
        uint64_t newest = cluster_state_job_begun_before(state, bound_of(t));
        uint64_t number = cluster_state_job_before(state, UINT64_MAX);
        Search found;

        for (; number > newest; number = cluster_state_job_before(state, number)) {
                found = search_job(state, t, number, unit, ret_job);
                if (found != SEARCH_NONE)
                        return found;
        }
        found = search_late(state, t, newest, unit, ret_job);
        return found == SEARCH_NONE && cluster_state_jobs_complete_from(state) > bound_of(t) ? SEARCH_UNKNOWN
                                                                                             : found;
}

// Another job that has given the unit this revision, behind what was asked against. 0: none has.
static uint64_t job_of(const ClusterState *state, const PendingRequest *t, const char *unit,
                       uint64_t revision) {
        uint64_t job = revision > bound_of(t) ? cluster_state_find_job_of(state, unit, revision) : 0;

        return job == t->job ? 0 : job;
}

// Whether the unit was destroyed since, and by which job.
static bool is_gone_since(const ClusterState *state, PendingRequest *t, const char *unit,
                          uint64_t *ret_job) {
        return cluster_state_left_revision(state) > bound_of(t) &&
               search_jobs(state, t, unit, ret_job) != SEARCH_NONE;
}

static bool find_change(const ClusterState *state, PendingRequest *t, const char *unit, uint64_t *ret_job) {
        const UnitEntry *u = cluster_state_find_unit(state, unit);
        const Argosy__UnitRecord *r = u ? u->record : NULL;

        *ret_job = 0;
        if (!r)
                return is_gone_since(state, t, unit, ret_job);
        if (r->revision <= bound_of(t))
                return false;
        *ret_job = cluster_state_find_job_of(state, unit, r->revision);
        if (*ret_job > 0)
                return *ret_job != t->job;
        if (t->asked.if_revision > 0)
                return true;
        *ret_job = job_of(state, t, unit, r->start_rev)
                ?: job_of(state, t, unit, r->restart_rev)
                ?: job_of(state, t, unit, r->stop_rev);
        return *ret_job > 0 || search_jobs(state, t, unit, ret_job) != SEARCH_NONE;
}

bool changed_since(const Leader *l, PendingRequest *t, const char *unit) {
        uint64_t job;

        return find_change(l->state, t, unit, &job);
}

uint64_t changed_since_by(const Leader *l, PendingRequest *t, const char *unit) {
        uint64_t job;

        return find_change(l->state, t, unit, &job) ? job : 0;
}

void changed_since_phrase(const ClusterState *state, uint64_t number, ChangedPhrase ret) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;
        char text[AUTHOR_TEXT_SIZE];
        Argosy__JobRecord *job;

        if (number == 0 || cluster_state_read_job(state, number, &job) < 0) {
                str_fit(ret, sizeof(ChangedPhrase), "was changed since");
                return;
        }
        author.user = job->user;
        author.uid = job->uid_known ? job->uid : UINT32_MAX;
        str_fit(ret, sizeof(ChangedPhrase), "was changed since by job %" PRIu64 " (%s, %s%s%s)", number,
                job->verb, author_text(&author, text), *job->host_name ? "@" : "", job->host_name);
        message_free(job);
}
