// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of requests that are bound to a revision (Request.job.if_revision): what such a request is about has
// not changed after that revision when the log has the first of it, and whoever is told that something has
// changed is told so of something that has.
//
// Of each thing it is kept by which entry it was changed last: the counter of revisions before that entry,
// behind which the thing's revision lies, and the counter behind it, which the revision does not exceed.
// Within an entry nothing is told apart: that is decided by what was there before it. Where a request is
// about more than is known here (parts of a large one, what matches a pattern) nothing is said of the rest.
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"

// Between these lies the revision of what was changed last.
typedef struct Changed {
        uint64_t above, up_to;
} Changed;

// What has one revision with all of its kind.
typedef enum Kind { KIND_NONE, KIND_HOSTS, KIND_ROLES, KIND_QUEUE, KIND_RIGHTS, KIND_SECRETS, _KINDS } Kind;

static struct {
        Changed kinds[_KINDS], kinds_before[_KINDS];
        Changed removed, removed_before;     // any unit
        Changed removed_of[WORLD_UNITS_MAX]; // this one, as it was before the entry
        Changed jobs[LOG_JOBS_MAX];
        Changed contents[WORLD_CONTENTS_MAX]; // by the last job that has found or left it
        char sets[WORLD_UNITS_MAX][24];       // of each unit, as they were before the entry
        bool has_begun[LOG_JOBS_MAX];         // some of it is in the log, and it is not held
        uint64_t revision, revision_before;
} bound;

void bound_begin(void) {
        memset(&bound, 0, sizeof(bound));
        bound.revision = cluster_state_revision(world.rig.state);
        for (size_t i = 0; i < _KINDS; i++)
                bound.kinds[i].up_to = bound.revision;
        bound.removed.up_to = bound.revision;
}

// --------------------------------------------------------------------------------------- what was changed

static Kind kind_of_op(const Argosy__LogOp *op) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_HOST:
        case ARGOSY__LOG_OP__OP_HOST_REMOVE:
        case ARGOSY__LOG_OP__OP_POOL:
        case ARGOSY__LOG_OP__OP_POOL_REMOVE:
        case ARGOSY__LOG_OP__OP_CLUSTER:
        case ARGOSY__LOG_OP__OP_TOKEN:
        case ARGOSY__LOG_OP__OP_TOKEN_REMOVE:
                return KIND_HOSTS;
        case ARGOSY__LOG_OP__OP_ROLE:
        case ARGOSY__LOG_OP__OP_ROLE_REMOVE:
                return KIND_ROLES;
        case ARGOSY__LOG_OP__OP_QUEUE:
                return KIND_QUEUE;
        case ARGOSY__LOG_OP__OP_GRANT:
        case ARGOSY__LOG_OP__OP_GRANT_REMOVE:
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN:
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_END:
        case ARGOSY__LOG_OP__OP_ACCESS_TOKEN_USES:
                return KIND_RIGHTS;
        case ARGOSY__LOG_OP__OP_SECRET:
        case ARGOSY__LOG_OP__OP_SECRET_REMOVE:
        case ARGOSY__LOG_OP__OP_SECRET_PRUNE:
        case ARGOSY__LOG_OP__OP_SECRET_RESEAL:
                return KIND_SECRETS;
        default:
                return KIND_NONE;
        }
}

// An operation that leaves its record as it was need not raise the counter, so of these the revision may be
// older than the entry; but it is no newer.
static bool is_certain(const Argosy__LogOp *op) {
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_ROLE:
        case ARGOSY__LOG_OP__OP_QUEUE:
        case ARGOSY__LOG_OP__OP_GRANT:
        case ARGOSY__LOG_OP__OP_SECRET:
                return true;
        default:
                return false;
        }
}

static Changed this_entry(void) {
        return (Changed){.above = bound.revision_before, .up_to = bound.revision};
}

// One that leaves a set has gone from that.
static void note_set(unsigned unit, const char *set) {
        if (strcmp(bound.sets[unit], set) != 0)
                bound.removed.up_to = bound.revision;
        snprintf(bound.sets[unit], sizeof(bound.sets[unit]), "%s", set);
}

static void note_op(const Argosy__LogOp *op) {
        Kind kind = kind_of_op(op);
        uint64_t place;
        int unit;

        if (kind != KIND_NONE) {
                bound.kinds[kind].up_to = bound.revision;
                if (is_certain(op))
                        bound.kinds[kind].above = bound.revision_before;
        }
        switch (op->op_case) {
        case ARGOSY__LOG_OP__OP_UNIT:
                unit = world_unit_index(op->unit->unit->name);
                if (unit >= 0 && asks_record(op->unit->unit->name))
                        note_set((unsigned) unit, asks_record(op->unit->unit->name)->set);
                break;
        case ARGOSY__LOG_OP__OP_UNIT_REMOVE:
                bound.removed = this_entry();
                unit = world_unit_index(op->unit_remove->name);
                if (unit >= 0)
                        bound.removed_of[unit] = this_entry();
                break;
        case ARGOSY__LOG_OP__OP_STORED_RELEASE:
                place = log_place(op->stored_release->job);
                if (place < LOG_JOBS_MAX)
                        bound.jobs[place] = this_entry();
                break;
        default:
                break;
        }
}

static void note_content(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        if (c)
                bound.contents[c - asks.contents] = this_entry();
}

static void note_job(uint64_t place) {
        // Its revision is the counter behind its last entry, which that need not have raised.
        if (bound.jobs[place].above < bound.revision_before)
                bound.jobs[place].above = bound.revision_before > 0 ? bound.revision_before - 1 : 0;
        bound.jobs[place].up_to = bound.revision;
        for (size_t i = 0; i < log_truth.n_touched; i++)
                if (log_truth.touched[i].job == place) {
                        note_content(&log_truth.touched[i].before.spec);
                        note_content(&log_truth.touched[i].after.spec);
                }
}

// ------------------------------------------------------------------------------- what a request is about

typedef struct About {
        const char *what; // that is newest, for people
        uint64_t above;   // its revision is greater than this
        uint64_t up_to;   // and of all that it is about none is greater than this
        bool unknown;     // it is about something of which nothing is known here
} About;

static void add(About *a, const char *what, Changed c) {
        if (c.above > a->above)
                *a = (About){.what = what, .above = c.above, .up_to = a->up_to, .unknown = a->unknown};
        a->up_to = MAX_OF(a->up_to, c.up_to);
}

// As it was before this entry. One that is not there stands for all that were removed.
static void add_unit(About *a, unsigned i, const LogUnit *units) {
        const LogUnit *u = &units[i];

        if (!u->exists)
                add(a, "a unit that is gone", bound.removed_before);
        else if (u->revision > 0)
                add(a, asks.units[i].name, (Changed){u->revision - 1, u->revision});
}

static void add_units_of_job(About *a, uint64_t number, const LogUnit *units) {
        uint64_t place = log_place(number);
        const LogJob *j = place > 0 && place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;

        a->unknown |= !j;
        for (unsigned i = 0; j && i < asks.n_units; i++)
                if (j->touched & 1u << i)
                        add_unit(a, i, units);
}

static void about_change(About *a, const Argosy__Request__Change *m, const LogUnit *units) {
        for (size_t i = 0; i < m->n_names; i++) {
                int unit = world_unit_index(m->names[i]);

                if (unit < 0)
                        a->unknown = true;
                else if (units[unit].exists)
                        add_unit(a, (unsigned) unit, units);
                else
                        add(a, "a unit that is not there", (Changed){UINT64_MAX - 1, UINT64_MAX});
        }
}

// An instance that runs on all nodes is of no group: it is updated by itself.
static bool is_of_group(const LogUnit *u, unsigned i, const char *name) {
        return strcmp(asks.units[i].name, name) == 0 ||
               (strcmp(asks.units[i].file, name) == 0 && !(u->exists && u->global));
}

static void about_group(About *a, const char *name, const LogUnit *units) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                if (is_of_group(&units[i], i, name) && units[i].exists)
                        add_unit(a, i, units);
                else if (strcmp(asks.units[i].file, name) == 0)
                        a->unknown = true; // whether it was of the group when it went, or came to all nodes
        }
        a->unknown |= strncmp(name, "c@", 2) == 0;
}

static void about_folder(About *a, const Argosy__Request__Apply *m, const LogUnit *units) {
        add(a, "a unit that is gone", bound.removed_before);
        for (size_t i = 0; i < m->n_units; i++) {
                int unit = world_unit_index(m->units[i]->name);

                if (unit >= 0 && units[unit].exists)
                        add_unit(a, (unsigned) unit, units);
                a->unknown |= unit < 0;
        }
        a->unknown |= asks.swarm.crowd > 0;
        for (unsigned i = 0; i < asks.n_units; i++)
                if (units[i].exists && *m->set && strcmp(bound.sets[i], m->set) == 0)
                        add_unit(a, i, units);
}

static void about_contents(About *a, const Argosy__Request__Forget *m) {
        for (size_t i = 0; i < m->n_revs; i++) {
                const WorldContent *c = NULL;
                Hash hash;

                if (hex_decode(m->revs[i], &hash, HASH_SIZE))
                        c = world_content_find(hash.bytes);
                a->unknown = true; // of others of these, and of what is not kept any more
                if (c && a->above == 0)
                        add(a, "a file", bound.contents[c - asks.contents]);
        }
}

static void about_jobs(About *a, const uint64_t *numbers, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t place = log_place(numbers[i]);

                if (place > 0 && place <= log_truth.n_jobs && log_truth.jobs[place])
                        add(a, "a job", bound.jobs[place]);
                else
                        a->unknown = true;
        }
}

// And what these have changed.
static void about_cancel(About *a, const Argosy__Request__JobCancel *m, const LogUnit *units) {
        about_jobs(a, m->numbers, m->n_numbers);
        for (size_t i = 0; i < m->n_numbers; i++)
                add_units_of_job(a, m->numbers[i], units);
        a->unknown = true; // of nodes and rollouts
}

static bool is_of_patterns(const char *name, const Argosy__Request__Rebalance *m) {
        for (size_t i = 0; i < m->n_patterns; i++)
                if (fnmatch(m->patterns[i], name, 0) == 0)
                        return true;
        return m->n_patterns == 0;
}

static void about_rebalance(About *a, const Argosy__Request__Rebalance *m, const LogUnit *units) {
        for (unsigned i = 0; !m->abort && i < asks.n_units; i++)
                if (units[i].exists && is_of_patterns(asks.units[i].name, m))
                        add_unit(a, i, units);
        a->unknown = true; // of nodes
}

static Kind kind_of_request(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_NODE_CHANGE:
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
                return KIND_HOSTS;
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
                return KIND_ROLES;
        case ARGOSY__REQUEST__WHAT_QUEUE_CHANGE:
                return KIND_QUEUE;
        case ARGOSY__REQUEST__WHAT_ACCESS_CHANGE:
        case ARGOSY__REQUEST__WHAT_TOKEN_CREATE:
        case ARGOSY__REQUEST__WHAT_TOKEN_REVOKE:
                return KIND_RIGHTS;
        case ARGOSY__REQUEST__WHAT_SECRET_DELETE:
                return KIND_SECRETS;
        default:
                return KIND_NONE;
        }
}

static const char *const kind_words[_KINDS] = {"nothing", "a host",  "a role",
                                               "a rule",  "a right", "a secret"};

// `units`, `kinds`: as they were when it was decided. False: nothing is known of such requests.
static bool find_about(const Argosy__Request *q, const LogUnit *units, const Changed *kinds, About *ret) {
        Kind kind = kind_of_request(q);

        *ret = (About){.what = "nothing"};
        if (kind != KIND_NONE) {
                add(ret, kind_words[kind], kinds[kind]);
                ret->unknown = kind == KIND_RIGHTS; // of tokens that have gone since they are over
                return true;
        }
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                about_change(ret, q->change, units);
                return true;
        case ARGOSY__REQUEST__WHAT_APPLY:
                about_folder(ret, q->apply, units);
                return true;
        case ARGOSY__REQUEST__WHAT_UNDO:
                add_units_of_job(ret, q->undo->job, units);
                ret->unknown = true; // of settings
                return true;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                about_group(ret, q->rollout->name, units);
                return true;
        case ARGOSY__REQUEST__WHAT_JOB_RELEASE:
                about_jobs(ret, q->job_release->numbers, q->job_release->n_numbers);
                return true;
        case ARGOSY__REQUEST__WHAT_JOB_CANCEL:
                about_cancel(ret, q->job_cancel, units);
                return true;
        case ARGOSY__REQUEST__WHAT_REBALANCE:
                about_rebalance(ret, q->rebalance, units);
                return true;
        case ARGOSY__REQUEST__WHAT_FORGET:
                about_contents(ret, q->forget);
                return true;
        default:
                return false;
        }
}

// ------------------------------------------------------------------------------------------------ an entry

// What is a request of several entries was compared before the first of them, which may be some turns ago.
static void judge_begun(const LogJob *j, uint64_t place) {
        const WorldAsked *a = log_asked_of(j);
        uint64_t revision = a && a->request->job ? a->request->job->if_revision : 0;
        About about;

        if (revision == 0 || j->parted ||
            !find_about(a->request, log_truth.units_before, bound.kinds_before, &about))
                return;
        check_says("bound-is-unchanged");
        if (about.above >= revision)
                check_fail("bound-is-unchanged",
                           "job %" PRIu64 " (%s) was asked for if nothing has changed since %" PRIu64
                           ", and %s has, behind %" PRIu64,
                           place, j->verb, revision, about.what, about.above);
}

// Jobs in the order of the batch: those without a number get the next ones.
static void each_job(const Argosy__LogBatch *batch,
                     void (*each)(const Argosy__LogOp__JobPut *put, uint64_t place)) {
        uint64_t next = log_truth.n_jobs;

        for (size_t i = 0; i < batch->n_ops; i++)
                next -= batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB && batch->ops[i]->job->number == 0;
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB) {
                        const Argosy__LogOp__JobPut *put = batch->ops[i]->job;

                        each(put, put->number == 0 ? ++next : log_place(put->number));
                }
}

static void judge_put(const Argosy__LogOp__JobPut *put, uint64_t place) {
        const LogJob *j = place > 0 && place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;

        if (!j || bound.has_begun[place] || put->job->state == ARGOSY__JOB_STATE__JOB_HELD)
                return;
        bound.has_begun[place] = true;
        judge_begun(j, place);
}

static void note_put(const Argosy__LogOp__JobPut *put, uint64_t place) {
        if (place > 0 && place <= log_truth.n_jobs)
                note_job(place);
        for (size_t i = 0; i < put->n_cancels; i++) {
                uint64_t called_off = log_place(put->cancels[i]);

                if (called_off < LOG_JOBS_MAX)
                        bound.jobs[called_off].up_to = bound.revision;
        }
}

void bound_on_entry(const Argosy__LogBatch *batch) {
        bound.revision_before = bound.revision;
        bound.revision = cluster_state_revision(world.rig.state);
        memcpy(bound.kinds_before, bound.kinds, sizeof(bound.kinds));
        bound.removed_before = bound.removed;
        each_job(batch, judge_put);
        for (size_t i = 0; i < batch->n_ops; i++)
                note_op(batch->ops[i]);
        each_job(batch, note_put);
}

// ------------------------------------------------------------------------------------------------ an answer

static bool only_asks(const Argosy__Request *q) {
        return (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->change->preview) ||
               (q->what_case == ARGOSY__REQUEST__WHAT_APPLY && q->apply->preview) ||
               (q->what_case == ARGOSY__REQUEST__WHAT_UNDO && q->undo->preview);
}

// Whoever asks what a change, a folder or an undo would do hears nothing of things that have changed. The
// last entry may have come behind the decision.
static void judge_reported(const WorldAsked *a, uint64_t revision) {
        About about, now;

        if (!find_about(a->request, log_truth.units_before, bound.kinds_before, &about) ||
            !find_about(a->request, log_truth.units, bound.kinds, &now) || now.above < revision)
                return;
        if (about.above >= revision)
                check_fail("bound-is-unchanged",
                           "request %zu asked what would be done if nothing has changed since %" PRIu64
                           ", and %s has, behind %" PRIu64,
                           (size_t) (a - asks.asked) + 1, revision, about.what, about.above);
}

// Nothing that it is about is newer than it knows of.
void bound_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t revision = a->request->job ? a->request->job->if_revision : 0;
        About about;

        if (revision > 0 && r->status == 0 && only_asks(a->request))
                judge_reported(a, revision);
        if (revision == 0 || r->status != ESTALE ||
            (!strstr(r->message, "since revision") && !strstr(r->message, "after revision")))
                return;
        bound.removed_before = bound.removed;
        // Which group a unit was of that has been removed the next leader does not know.
        if (a->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && bound.removed.up_to > revision)
                return;
        if (!find_about(a->request, log_truth.units, bound.kinds, &about) || about.unknown)
                return;
        if (about.up_to <= revision)
                check_fail("bound-is-unchanged",
                           "request %zu is told '%.200s', and nothing that it is about has changed "
                           "since %" PRIu64,
                           (size_t) (a - asks.asked) + 1, r->message, revision);
}
