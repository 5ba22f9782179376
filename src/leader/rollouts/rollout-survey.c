// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See rollout-survey.h. What each unit was found to be is kept in the sums of RolloutMembers: `wanted`
// counts units, `left` the different ones, `failed` has those that are not well, and a kind stands for a
// content. Contents beyond ROLLOUT_KINDS are counted as different, and never as the one that most have.
#include "rollout-survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disruption-budget.h"
#include "oom.h"
#include "turn.h"

enum { LOOKS = 512 }; // looks in one turn, at about 8 us each, if a file is expanded for it

struct RolloutSurvey {
        DisruptionBudget *budget;
        RolloutMembers members;
        uint8_t id[ROLLOUT_ID_SIZE];
        Hash contents[ROLLOUT_KINDS]; // of kind 1...
        unsigned n_contents;
};

void rollout_survey_clear(Leader *l) {
        RolloutSurvey *s = TAKE_PTR(l->rollout_survey);

        if (!s)
                return;
        s->budget->survey = NULL;
        disruption_budget_drop_if_unused(l, s->budget);
        rollout_members_done(&s->members);
        free(s);
}

static RolloutSurvey *survey_of(Leader *l, DisruptionBudget *g, const uint8_t *id) {
        RolloutSurvey *s = l->rollout_survey;

        if (s && s->budget == g && memcmp(s->id, id, ROLLOUT_ID_SIZE) == 0)
                return s;
        rollout_survey_clear(l);
        s = l->rollout_survey = oom_checked(calloc(1, sizeof(*s)));
        s->budget = g;
        memcpy(s->id, id, ROLLOUT_ID_SIZE);
        rollout_members_init(&s->members, &g->units);
        g->survey = &s->members;
        return s;
}

// 0: it is one too many.
static unsigned kind_of(RolloutSurvey *s, const Hash *hash) {
        for (unsigned i = 0; i < s->n_contents; i++)
                if (hash_equal(&s->contents[i], hash))
                        return i + 1;
        if (s->n_contents == ROLLOUT_KINDS)
                return 0;
        s->contents[s->n_contents++] = *hash;
        return s->n_contents;
}

static int look_at(RolloutSurvey *s, RolloutMember *m, SurveyLook look, void *userdata) {
        SurveyedUnit u = {};
        RolloutSums counts;
        int r = look(m->unit, &u, userdata);

        if (r != 0)
                return r;
        counts = (RolloutSums){.wanted = u.counts, .left = u.counts && !u.same};
        rollout_members_put(&s->members, m, &counts, ROLLOUT_TURN_NONE, u.counts && u.same && u.not_well, 0);
        if (counts.left)
                rollout_members_set_kind(&s->members, m, kind_of(s, u.hash));
        return 0;
}

static void tell(const RolloutSurvey *s, Surveyed *ret) {
        const RolloutMembers *m = &s->members;
        unsigned most = 1;

        for (unsigned i = 2; i <= s->n_contents; i++)
                if (m->kinds[i] > m->kinds[most])
                        most = i;
        *ret = (Surveyed){
                .n_units = m->sums.wanted,
                .n_different = m->sums.left,
                .before = s->contents[most - 1],
                .not_well = list_is_empty(&m->failed)
                                    ? NULL
                                    : CONTAINER_OF(m->failed.next, RolloutMember, failed)->unit,
        };
}

int rollout_survey(Leader *l, DisruptionBudget *g, const uint8_t *id, SurveyLook look, void *userdata,
                   Surveyed *ret) {
        RolloutSurvey *s = survey_of(l, g, id);

        for (unsigned n = 0;; n++) {
                RolloutMember *m = rollout_members_next_due(&s->members, 0);
                int r;

                if (!m)
                        break;
                if (n == LOOKS) {
                        rollout_members_mark(&s->members, m->unit); // the walk has passed it
                        leader_mark(l);
                        return -EBUSY;
                }
                r = look_at(s, m, look, userdata);
                if (r != 0) {
                        rollout_survey_clear(l);
                        return r;
                }
        }
        tell(s, ret);
        rollout_survey_clear(l);
        return 0;
}
