// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule by which jobs end: what a job waits for of each unit, what the verdict of that wait makes of the
// unit, and what the units make of the job. One that failed makes it failed whatever the others did; it is
// overtaken only if nothing of it was left. Changes of hosts, nodes, roles and the cluster are done when the
// log has them.
#include "job-end.h"

#include <errno.h>

#include "request-kind.h"
#include "str.h"
#include "unit-state.h"

bool job_end_is_effect(const char *verb) {
        return streq(verb, verb_to_string(ARGOSY__VERB__VERB_SUBMIT)) || request_verb_never_runs(verb);
}

static Argosy__Verb verb_of(const char *word) {
        for (int v = ARGOSY__VERB__VERB_SUBMIT; v <= ARGOSY__VERB__VERB_DESTROY; v++)
                if (streq(word, verb_to_string((Argosy__Verb) v)))
                        return (Argosy__Verb) v;
        return ARGOSY__VERB__VERB_NONE;
}

// Jobs with a word of their own leave units as somebody would have left them who had asked for that.
static Argosy__Verb verb_of_record(const Argosy__UnitRecord *record, Argosy__Target before) {
        switch (record->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return before == ARGOSY__TARGET__TARGET_LAUNCHED ? ARGOSY__VERB__VERB_STOP
                                                                 : ARGOSY__VERB__VERB_LOAD;
        default:
                return before == ARGOSY__TARGET__TARGET_INACTIVE ? ARGOSY__VERB__VERB_NONE
                                                                 : ARGOSY__VERB__VERB_UNLOAD;
        }
}

// Whether a unit that is to be that now is as the verb leaves those that it is asked for.
static bool is_left_by(Argosy__Verb verb, Argosy__Target target) {
        switch (verb) {
        case ARGOSY__VERB__VERB_STOP:
                return target == ARGOSY__TARGET__TARGET_LOADED;
        case ARGOSY__VERB__VERB_LOAD:
                return target != ARGOSY__TARGET__TARGET_INACTIVE;
        case ARGOSY__VERB__VERB_UNLOAD:
                return target == ARGOSY__TARGET__TARGET_INACTIVE;
        default:
                return false;
        }
}

Argosy__Verb job_end_wait_verb(const char *verb, const Argosy__UnitRecord *record, Argosy__Target before) {
        Argosy__Verb own = verb_of(verb);

        if (own == ARGOSY__VERB__VERB_SUBMIT)
                return ARGOSY__VERB__VERB_NONE;
        // it was only taken along: loaded with its socket, stopped with what it depends on, or given another
        // content with those that share its network
        if (own != ARGOSY__VERB__VERB_NONE && record && record->target != ARGOSY__TARGET__TARGET_LAUNCHED &&
            !is_left_by(own, record->target))
                return verb_of_record(record, before);
        if (own != ARGOSY__VERB__VERB_NONE)
                return own;
        return record ? verb_of_record(record, before) : ARGOSY__VERB__VERB_DESTROY;
}

bool job_end_overtakes(const char *verb) {
        return !request_verb_only_moves(verb);
}

Argosy__UnitEnd job_end_of_unit(const WaitVerdict *v) {
        if (v->status == 0)
                return ARGOSY__UNIT_END__END_OK;
        if (v->unplaced)
                return ARGOSY__UNIT_END__END_UNPLACED;
        return v->status == ECANCELED ? ARGOSY__UNIT_END__END_OVERTAKEN : ARGOSY__UNIT_END__END_FAILED;
}

Argosy__JobState job_end_state(const JobCounts *counts, bool called_off) {
        const uint32_t *n = counts->n;

        if (n[ARGOSY__UNIT_END__END_FAILED] > 0 || n[ARGOSY__UNIT_END__END_UNPLACED] > 0)
                return ARGOSY__JOB_STATE__JOB_FAILED;
        if (called_off || n[ARGOSY__UNIT_END__END_CANCELLED] > 0)
                return ARGOSY__JOB_STATE__JOB_CANCELLED;
        if (n[ARGOSY__UNIT_END__END_OVERTAKEN] > 0 && n[ARGOSY__UNIT_END__END_OK] == 0)
                return ARGOSY__JOB_STATE__JOB_OVERTAKEN;
        return ARGOSY__JOB_STATE__JOB_DONE;
}
