// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How the instances of a template stand before a rollout of them is begun: how many there are, what contents
// they have, and whether the new content is valid for each. Of thousands that takes some turns, while the
// request waits with -EBUSY; what changes of them meanwhile is looked at again. There is one survey at a
// time, that of the request whose turn it is.

#include "leader-core.h"
#include "tables.h"

typedef struct RolloutSurvey RolloutSurvey;

typedef struct SurveyedUnit {
        bool counts;      // it has the template's content, this or another one
        bool same;        // it has the new one
        const Hash *hash; // that it has
        bool not_well;    // of one that has the new one: it has failed, or is down
} SurveyedUnit;

enum { ROLLOUT_ID_SIZE = 16 }; // bytes of a rollout request's id

// Looks at one unit. 0, or what the survey is to end with.
typedef int (*SurveyLook)(const Unit *u, SurveyedUnit *ret, void *userdata);

typedef struct Surveyed {
        size_t n_units, n_different;
        Hash before;          // what most of the different ones have; if there are any
        const Unit *not_well; // one of those; NULL: all are well
} Surveyed;

// Looks at all units of the group, for the request with that id of 16 bytes. 0: all have been looked at;
// -EBUSY: call it again in the next turn; else what `look` has returned. But for -EBUSY nothing is kept.
int rollout_survey(Leader *l, DisruptionBudget *g, const uint8_t *id, SurveyLook look, void *userdata,
                   Surveyed *ret);
// Whatever is kept of one.
void rollout_survey_clear(Leader *l);
