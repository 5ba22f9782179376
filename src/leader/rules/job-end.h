// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a job ends. Pure.
//
// A job ends when nobody would wait for it any longer: each of its units is judged as a wait for what was
// asked of it, until that is done, fails, or is no longer this job's because another one has changed the
// unit.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "wait-condition.h"

// How many units of a job have ended how.
typedef struct JobCounts {
        uint32_t n[ARGOSY__UNIT_END__END_CANCELLED + 1]; // by Argosy__UnitEnd
} JobCounts;

// Whether a job of this verb is done when the log has all of its effect, which may be several entries,
// however its units are.
bool job_end_is_effect(const char *verb);
// For what a job of this verb waits of a unit that has this record now and was to be that before. `record`
// NULL: it has none any more, or another one than the job's. VERB_NONE: for nothing.
Argosy__Verb job_end_wait_verb(const char *verb, const Argosy__UnitRecord *record, Argosy__Target before);
// Whether units that a job of this verb changes are its own from then on. Moves take nothing from anybody.
bool job_end_overtakes(const char *verb);
// The end of a unit by a verdict that is final.
Argosy__UnitEnd job_end_of_unit(const WaitVerdict *v);
// `called_off`: somebody has called off what had not begun of it.
Argosy__JobState job_end_state(const JobCounts *counts, bool called_off);
