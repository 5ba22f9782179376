// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change, or a chunk of one, that the log has already, and that is asked for again: by a client that has
// lost the answer, or under a key. What is told of each unit is what its job did, and how it ended, by the
// record of the job, and not what there would be to do now: the unit may be gone since, or be updated. While
// the job runs, the answer is what it was the first time.
//
// Of what was refused then the record says nothing, nor of what was as asked for: these names are planned
// anew, and nothing of that goes into the log. Where the plan would change something, since others have
// changed the unit meanwhile, it is told that nothing was changed (ECANCELED): neither did the job do it,
// nor does this answer.
//
// The record is read whole for each chunk, of which there may be dozens: at 0.2 us for each unit that it
// names. So once those that were read make REPORTED_UNITS, further repeated requests wait for the next turn.
//
// Failures: of a job that is not kept any more it is said that the log has it, since its key is known, and
// that nobody knows how it ended (ENODATA).

#include "decide-repeats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "decide-changes.h"
#include "decide-complete.h"
#include "job-state.h"
#include "map.h"
#include "message.h"
#include "request.h"
#include "response.h"
#include "turn.h"

enum { REPORTED_UNITS = 1024 }; // of several records together; the first may have more

// What the record says of one of its names.
typedef struct Told {
        bool known;
        uint64_t revision;
        const Argosy__JobUnitEnd *end; // NULL: it has none, or has ended well
        bool unnamed;                  // the record has no room for it, so nobody knows how it has ended
} Told;

static const char *phrase_end(const Argosy__JobUnitEnd *end, char ret[64]) {
        if (*end->message)
                return end->message;
        if (end->by > 0)
                snprintf(ret, 64, "job %" PRIu64 " has %s it", end->by,
                         end->end == ARGOSY__UNIT_END__END_CANCELLED ? "called off" : "overtaken");
        else
                snprintf(ret, 64, "%s", unit_end_to_string(end->end));
        return ret;
}

static int status_of_end(Argosy__UnitEnd end) {
        switch (end) {
        case ARGOSY__UNIT_END__END_OK:
                return 0;
        case ARGOSY__UNIT_END__END_FAILED:
                return EIO;
        case ARGOSY__UNIT_END__END_UNPLACED:
                return EAGAIN;
        default:
                return ECANCELED;
        }
}

static int unknown_end(Argosy__Response__UnitResult *ret, const char *why) {
        ret->status = ENODATA;
        return field_set(&ret->message, why);
}

// Tells a unit's result. Of a job that is over nothing is waited for any more, whatever became of the unit
// since.
static int tell_unit(const Leader *l, const Argosy__JobRecord *job, const Told *told, bool all_named,
                     Argosy__Response__UnitResult *ret) {
        Argosy__JobState state = cluster_state_job_state(l->state, job->number);
        bool is_over = !job_state_is_open(state), is_done = state == ARGOSY__JOB_STATE__JOB_DONE;
        const UnitEntry *u = cluster_state_find_unit(l->state, ret->name);
        char text[64];

        ret->revision = is_over ? 0 : told->revision;
        ret->repeated = true;
        if (told->end) {
                ret->status = status_of_end(told->end->end);
                return field_set(&ret->node, told->end->node)
                               ?: field_set(&ret->message, phrase_end(told->end, text));
        }
        if (u && u->record->node && field_set(&ret->node, decide_node_name(u->record->node, (void *) l)) < 0)
                return -ENOMEM;
        if (is_over && told->unnamed && !is_done)
                return unknown_end(
                        ret,
                        "how it has ended is not kept, the job has changed more units than it can name");
        return is_over && !all_named ? unknown_end(ret, "how it has ended is not kept, the job has more "
                                                        "that did not end well than are")
                                     : 0;
}

static size_t units_of(const Argosy__JobRecord *job) {
        size_t n = 1; // what a record costs that names none

        for (size_t g = 0; g < job->n_units; g++)
                n += job->units[g]->n_names;
        return n;
}

static void look_up(const Argosy__JobRecord *job, const Map *by_name) {
        Told *told;

        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names && i < job->units[g]->n_revisions; i++) {
                        told = map_find_str(by_name, job->units[g]->names[i]);
                        if (!told)
                                continue;
                        told->known = true;
                        told->revision = MAX_OF(told->revision, job->units[g]->revisions[i]);
                }
        for (size_t i = 0; i < job->n_ends; i++) {
                told = map_find_str(by_name, job->ends[i]->unit);
                if (!told || job->ends[i]->end == ARGOSY__UNIT_END__END_OK)
                        continue;
                told->known = true;
                told->end = job->ends[i];
        }
}

// What the plan from `mark` on would do is not done.
static int tell_undone(const Decision *d, uint64_t job, BatchBuilderMark mark,
                       Argosy__Response__Change *planned) {
        for (size_t i = 0; i < planned->n_units; i++) {
                Argosy__Response__UnitResult *result = planned->units[i];

                if (result->status != 0 || !batch_builder_has_unit_since(&d->batch, result->name, mark))
                        continue;
                result->status = ECANCELED;
                if (field_printf(&result->message,
                                 "job %" PRIu64
                                 " has not changed it, and it is not as asked for any more: nothing was "
                                 "changed; ask for it as a new request",
                                 job) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// The names that the record has nothing of: they were refused, or were as asked for, and are planned anew,
// for the answer. *ret is NULL if there are none.
static int plan_others(Decision *d, const Argosy__Request__Change *change, uint64_t job, const Told *told,
                       Argosy__Response **ret) {
        _cleanup_free_ char **names = calloc(change->n_names + 1, sizeof(*names));
        DecisionMark mark = decision_mark(d);
        Argosy__Request__Change others = *change;
        int r;

        *ret = NULL;
        if (!names)
                return -ENOMEM;
        others.names = names;
        others.n_names = 0;
        for (size_t i = 0; i < change->n_names; i++)
                if (!told[i].known)
                        names[others.n_names++] = change->names[i];
        if (others.n_names == 0)
                return 0;
        r = decision_plan_change(d, &others, ret);
        if (r < 0)
                return r;
        r = tell_undone(d, job, mark.batch, (*ret)->change);
        decision_rollback(d, mark);
        if (r < 0)
                return r;
        change_repeat(&others, *ret);
        change_complete(d->leader->state, *ret, decide_node_name, d->leader);
        return 0;
}

// In the order of the names.
static int tell_all(Decision *d, const Argosy__Request__Change *change, const Argosy__JobRecord *job,
                    const Told *told, Argosy__Response *ret) {
        bool all_named = job->n_ends >= job->failed + job->unplaced + job->overtaken + job->cancelled;
        _cleanup_response_ Argosy__Response *others = NULL;
        int r = plan_others(d, change, job->number, told, &others);
        size_t n = 0;

        for (size_t i = 0; r == 0 && i < change->n_names; i++) {
                Argosy__Response__UnitResult *result;

                if (told[i].known)
                        result = unit_result_new(change->names[i]);
                else if (n < others->change->n_units)
                        result = TAKE_PTR(others->change->units[n++]);
                else
                        continue;
                r = FIELD_APPEND(ret->change->units, ret->change->n_units, result);
                if (r == 0 && told[i].known)
                        r = tell_unit(d->leader, job, &told[i], all_named, result);
        }
        for (size_t i = n; others && i < others->change->n_units; i++)
                others->change->units[i - n] = others->change->units[i];
        if (others)
                others->change->n_units -= n;
        return r;
}

// Its job is so old that nobody knows how it ended.
static int tell_forgotten(const Argosy__Request__Change *change, uint64_t job, Argosy__Response *ret) {
        for (size_t i = 0; i < change->n_names; i++) {
                Argosy__Response__UnitResult *result = unit_result_new(change->names[i]);

                if (FIELD_APPEND(ret->change->units, ret->change->n_units, result) < 0 ||
                    field_printf(&result->message,
                                 "the cluster was asked for this before, as job %" PRIu64
                                 ", which is not kept any more: how it ended is not known",
                                 job) < 0)
                        return -ENOMEM;
                result->status = ENODATA;
                result->repeated = true;
        }
        return 0;
}

// The record names as many units as it can: the job may have changed each of the others, too.
static void take_for_changed(const ClusterState *state, const Argosy__Request__Change *change, Told *told) {
        for (size_t i = 0; i < change->n_names; i++) {
                const UnitEntry *u = cluster_state_find_unit(state, change->names[i]);

                if (!told[i].known)
                        told[i] = (Told){
                                .known = true, .unnamed = true, .revision = u ? u->record->revision : 0};
        }
}

// A name that is given twice counts once, as it did the first time. *once borrows the names.
static int name_once(const Argosy__Request__Change *change, Told *told, Map *by_name,
                     Argosy__Request__Change *once) {
        size_t n = 0;

        for (size_t i = 0; i < change->n_names; i++) {
                int r = map_add_str(by_name, change->names[i], &told[n]);

                if (r == 0)
                        once->names[n++] = change->names[i];
                else if (r != -EEXIST)
                        return r;
        }
        once->n_names = n;
        return 0;
}

int decide_repeat(Decision *d, const PendingRequest *t, const Argosy__Request__Change *asked,
                  Argosy__Response **ret) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        _cleanup_free_ Told *told = calloc(asked->n_names + 1, sizeof(*told));
        _cleanup_free_ char **names = calloc(asked->n_names + 1, sizeof(*names));
        _cleanup_(map_done) Map by_name = {};
        Argosy__Request__Change once = *asked, *change = &once;
        Argosy__JobRecord *job = NULL;
        int r = response && told && names ? 0 : -ENOMEM;

        *ret = NULL;
        if (d->n_reported >= REPORTED_UNITS) {
                leader_mark(d->leader);
                return 0;
        }
        once.names = names;
        if (r == 0)
                r = name_once(asked, told, &by_name, &once);
        r = r < 0 ? r : cluster_state_read_job(d->leader->state, t->job, &job);
        if (r == -ENOENT)
                r = tell_forgotten(change, t->job, response);
        else if (r == 0) {
                d->n_reported += units_of(job);
                look_up(job, &by_name);
                if (job->cut)
                        take_for_changed(d->leader->state, change, told);
                r = tell_all(d, change, job, told, response);
        }
        message_free(job);
        if (r == 0)
                *ret = TAKE_PTR(response);
        return r;
}
