// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of folders that are applied: what an apply changes is what its plan has said, and nothing else.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"
#include "world-images.h"

// The request from whose answer that one goes on; NULL: none.
static const Argosy__Response__ApplyPlan *plan_of(const LogJob *j) {
        for (size_t i = asks.n_asked; j->has_id && i > 0; i--) {
                const WorldAsked *a = &asks.asked[i - 1];
                const uint8_t *id = log_request_id(a->request);
                const Argosy__Response *r;

                if (!id || memcmp(id, j->id, LOG_ID_SIZE) != 0 || a->follows == 0 ||
                    a->request->what_case != ARGOSY__REQUEST__WHAT_APPLY || a->request->apply->preview)
                        continue;
                r = asks_last_response(&asks.asked[a->follows - 1]);
                return r ? r->apply_plan : NULL;
        }
        return NULL;
}

static bool is_planned(const Argosy__Response__ApplyPlan *p, const char *name) {
        for (size_t i = 0; i < p->n_rows; i++)
                if (strcmp(p->rows[i]->unit, name) == 0)
                        return true;
        return false;
}

void applied_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogJob *j = t->job > 0 && t->job <= log_truth.n_jobs ? log_truth.jobs[t->job] : NULL;
                const Argosy__Response__ApplyPlan *p =
                        j && t->asked && strcmp(j->verb, "apply") == 0 && !*j->rollout ? plan_of(j) : NULL;

                if (!p)
                        continue;
                // It shares a network with one that is planned: a plan does not know the contents yet.
                if (t->before.exists && t->after.exists &&
                    world_images_same_but_network(t->before.spec.bytes, t->after.spec.bytes))
                        continue;
                check_says("applied-as-planned");
                if (!is_planned(p, asks.units[t->unit].name))
                        check_fail("applied-as-planned",
                                   "job %" PRIu64 " (apply) changes %s, of which its plan says nothing",
                                   t->job, asks.units[t->unit].name);
        }
}
