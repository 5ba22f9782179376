// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of one job: what it did to each, how each ended, and how it is now; see answer-jobs.h.
//
// How a unit ended is in the job's record, and that is all that is known of a job whose units do something
// else by now. Beside it stands how the unit is with what the job asked of it at present: judged by what is
// seen, as a wait would be, if nobody has changed the unit since. Without a leader that is not known. Where
// the look itself takes long it is left to the caller (job-show.c).
#include "answer-job-units.h"

#include <errno.h>
#include <inttypes.h>

#include "array.h"
#include "job-state.h"
#include "map.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "unit-state.h"
#include "wait-seen.h"
#include "waiters.h"

// What of the units is asked for.
typedef struct JobAsk {
        uint32_t first;
        JobLooks *later;
        const Map *ends;
} JobAsk;

typedef struct UnitNow {
        const char *word;
        char message[256];
} UnitNow;

static void say(UnitNow *ret, const char *word, const char *message) {
        ret->word = word;
        str_fit(ret->message, sizeof(ret->message), "%s", message);
}

// What somebody would wait for who wants the unit to be as its record says. VERB_NONE: there is nothing to
// wait for.
static Argosy__Verb verb_to_wait_for(const char *verb, const Argosy__UnitRecord *record,
                                     Argosy__Target before) {
        switch (record->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return streq(verb, verb_to_string(ARGOSY__VERB__VERB_STOP)) ? ARGOSY__VERB__VERB_STOP
                                                                             : ARGOSY__VERB__VERB_LOAD;
        default:
                return before == ARGOSY__TARGET__TARGET_INACTIVE ? ARGOSY__VERB__VERB_NONE
                                                                 : ARGOSY__VERB__VERB_UNLOAD;
        }
}

static void say_verdict(UnitNow *ret, const WaitVerdict *v) {
        say(ret, !v->done ? "under way" : v->status == 0 ? "as asked" : "otherwise", v->message);
        if (v->silent)
                say(ret, ret->word, "it may still run on a host that is not heard");
}

static void say_changed_since(const Leader *l, const UnitEntry *e, UnitNow *ret) {
        uint64_t by = cluster_state_find_job_of(l->state, e->record->name, e->record->revision);

        ret->word = "changed since";
        str_fit(ret->message, sizeof(ret->message), "%s %" PRIu64, by ? "by job" : "it is at revision",
                by ?: e->record->revision);
}

// As far as the log knows. What somebody would wait for whom that does not tell enough; VERB_NONE: it does.
static Argosy__Verb judge_record(const Leader *l, const Argosy__JobRecord *job,
                                 const Argosy__JobUnits *group, size_t i, UnitNow *ret) {
        const UnitEntry *e = cluster_state_find_unit(l->state, group->names[i]);
        Argosy__Verb verb = ARGOSY__VERB__VERB_NONE;

        *ret = (UnitNow){.word = ""};
        if (!l->leading)
                return verb;
        if (!e && group->gone) // the job has destroyed the unit, whatever its verb
                return ARGOSY__VERB__VERB_DESTROY;
        if (!e)
                say(ret, "changed since", "it is not in the cluster any more");
        else if (e->record->revision != group->revisions[i])
                say_changed_since(l, e, ret);
        else if ((verb = verb_to_wait_for(job->verb, e->record, group->target)) == ARGOSY__VERB__VERB_NONE)
                say(ret, "as asked", "");
        return verb;
}

// `seen` NULL: it is looked at now.
static void judge_seen(const Leader *l, Argosy__Verb verb, const char *name, uint64_t revision,
                       const WaitSeen *seen, UnitNow *ret) {
        const Unit *u = unit_find(l, name);
        WaitVerdict v;
        WaitDue due;

        if (u) {
                v = waiter_judge(l, verb, revision, u, seen, &due);
                say_verdict(ret, &v);
        } else if (verb == ARGOSY__VERB__VERB_DESTROY) // a host that is not heard may hold it
                say(ret, l->n_hosts.unattached > 0 ? "under way" : "as asked", "");
}

static int set_now(Argosy__Response__JobUnitRow *unit, const UnitNow *now) {
        return field_set(&unit->now, now->word) ?: field_set(&unit->message, now->message);
}

int job_unit_judge(const Leader *l, const JobLook *look, const WaitSeen *seen) {
        const UnitEntry *e = cluster_state_find_unit(l->state, look->row->unit);
        UnitNow now = {.word = ""};

        if (e && e->record->revision != look->row->revision)
                say_changed_since(l, e, &now);
        else
                judge_seen(l, look->verb, look->row->unit, look->row->revision, seen, &now);
        return set_now(look->row, &now);
}

// One side of the change: the content's hash, and what the unit was to be. Without content there was no
// unit.
static int fill_side(char **rev, char **desired, const ProtobufCBinaryData *spec, Argosy__Target target) {
        char hex[HASH_HEX_SIZE];
        Hash hash;

        if (!hash_from_bytes(spec->data, spec->len, &hash))
                return 0;
        hash_hex(&hash, HASH_SIZE, hex);
        return field_set(rev, hex) ?: field_set(desired, target_to_string(target));
}

Argosy__Response__JobUnitRow *job_add_change(Argosy__Response__JobRow *row, const Argosy__JobUnits *group,
                                             size_t i) {
        Argosy__Response__JobUnitRow *unit = calloc(1, sizeof(*unit));

        if (!unit)
                return NULL;
        argosy__response__job_unit_row__init(unit);
        if (FIELD_APPEND(row->units, row->n_units, unit) < 0)
                return NULL;
        unit->revision = group->revisions[i];
        unit->gone = group->gone;
        if (field_set(&unit->unit, group->names[i]) < 0 ||
            fill_side(&unit->rev, &unit->desired, &group->spec, group->target) < 0)
                return NULL;
        if (!group->gone && fill_side(&unit->rev_after, &unit->desired_after,
                                      group->spec_after.len > 0 ? &group->spec_after : &group->spec,
                                      group->target_after) < 0)
                return NULL;
        return unit;
}

static int set_end(Argosy__Response__JobUnitRow *unit, const Argosy__JobUnitEnd *end) {
        unit->by = end->by;
        if (field_set(&unit->end, unit_end_to_string(end->end)) < 0 || field_set(&unit->node, end->node) < 0)
                return -ENOMEM;
        if (*end->message || end->by == 0)
                return field_set(&unit->end_message, end->message);
        return field_printf(&unit->end_message, "by job %" PRIu64, end->by);
}

// Ends of units by their names, the last one of each.
static int index_ends(const Argosy__JobRecord *job, Map *ret) {
        for (size_t i = 0; i < job->n_ends; i++) {
                (void) map_take_str(ret, job->ends[i]->unit);
                if (map_add_str(ret, job->ends[i]->unit, job->ends[i]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// A job that names all that are not as they were to be says so of the others that they are.
static int add_end(Argosy__Response__JobUnitRow *unit, const Argosy__JobRecord *job, const Map *ends) {
        const Argosy__JobUnitEnd *end = map_find_str(ends, unit->unit);

        if (end)
                return set_end(unit, end);
        if (job->state <= ARGOSY__JOB_STATE__JOB_RUNNING || job->state == ARGOSY__JOB_STATE__JOB_HELD ||
            (job->state != ARGOSY__JOB_STATE__JOB_DONE && *job->end_message) ||
            job->n_ends < (size_t) job->failed + job->unplaced + job->overtaken + job->cancelled)
                return 0;
        return field_set(&unit->end, unit_end_to_string(ARGOSY__UNIT_END__END_OK));
}

static bool takes_long(const Leader *l, const char *name) {
        const Unit *u = unit_find(l, name);

        return u && wait_seen_is_wide(l, u);
}

static int look_later(JobLooks *later, Argosy__Response__JobUnitRow *unit, Argosy__Verb verb) {
        int r = ARRAY_GROW(later->looks, later->allocated, later->n + 1);

        if (r < 0)
                return r;
        later->looks[later->n++] = (JobLook){unit, verb};
        return 0;
}

static int add_unit(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job,
                    const Argosy__JobUnits *group, size_t i, const JobAsk *ask) {
        Argosy__Response__JobUnitRow *unit = job_add_change(row, group, i);
        Argosy__Verb verb;
        UnitNow now;

        if (!unit)
                return -ENOMEM;
        verb = judge_record(l, job, group, i, &now);
        if (verb != ARGOSY__VERB__VERB_NONE && ask->later && takes_long(l, unit->unit))
                return look_later(ask->later, unit, verb) ?: add_end(unit, job, ask->ends);
        if (verb != ARGOSY__VERB__VERB_NONE)
                judge_seen(l, verb, unit->unit, unit->revision, NULL, &now);
        return set_now(unit, &now) ?: add_end(unit, job, ask->ends);
}

// Those that it was asked for and has not changed: they were refused, or somebody else has changed them
// meanwhile.
static int find_left(const Argosy__JobRecord *job, Map *ret) {
        int r = job->cut ? 0 : index_ends(job, ret);

        for (size_t g = 0; r == 0 && ret->count > 0 && g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++)
                        (void) map_take_str(ret, job->units[g]->names[i]);
        return r;
}

static int add_left(Argosy__Response__JobRow *row, const Argosy__JobUnitEnd *end) {
        Argosy__Response__JobUnitRow *unit = malloc(sizeof(*unit));

        if (!unit)
                return -ENOMEM;
        argosy__response__job_unit_row__init(unit);
        if (FIELD_APPEND(row->units, row->n_units, unit) < 0)
                return -ENOMEM;
        return field_set(&unit->unit, end->unit) ?: set_end(unit, end);
}

// They stand before the others.
static int add_left_from(Argosy__Response__JobRow *row, const Argosy__JobRecord *job, uint32_t first,
                         uint32_t *ret_at) {
        Map left = {};
        int r = find_left(job, &left);

        for (size_t i = 0; r == 0 && left.count > 0 && i < job->n_ends; i++) {
                const Argosy__JobUnitEnd *end = map_take_str(&left, job->ends[i]->unit);

                if (end && (*ret_at)++ >= first)
                        r = add_left(row, end);
        }
        map_done(&left);
        return r;
}

static int add_units_from(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job,
                          const JobAsk *ask) {
        uint32_t at = 0;

        if (add_left_from(row, job, ask->first, &at) < 0)
                return -ENOMEM;
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++, at++) {
                        if (at < ask->first)
                                continue;
                        if (at - ask->first >= l->limits.job_units_listed)
                                row->more_units++;
                        else if (add_unit(l, row, job, job->units[g], i, ask) < 0)
                                return -ENOMEM;
                }
        return 0;
}

int job_add_units(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job, uint32_t first,
                  JobLooks *later) {
        Map ends = {};
        int r = index_ends(job, &ends);

        if (r == 0)
                r = add_units_from(l, row, job, &(JobAsk){first, later, &ends});
        map_done(&ends);
        return r;
}

int job_add_failed_units(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_ends; i++) {
                Argosy__Response__JobUnitRow *unit = calloc(1, sizeof(*unit));

                if (!unit)
                        return -ENOMEM;
                argosy__response__job_unit_row__init(unit);
                if (FIELD_APPEND(row->ends, row->n_ends, unit) < 0 ||
                    field_set(&unit->unit, job->ends[i]->unit) < 0 || set_end(unit, job->ends[i]) < 0)
                        return -ENOMEM;
        }
        return 0;
}
