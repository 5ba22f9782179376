// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of lists of jobs: each record of the log is compared with what was asked for once more, so the list
// has all of those that fit, and no other one. Where a record alone does not say whether it fits (whether it
// has ended by now, which node a number was) nothing is said of it.
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "test.h"

typedef enum Fit { FIT_NO, FIT_UNKNOWN, FIT_YES } Fit;

static Fit fits_if(bool so) {
        return so ? FIT_YES : FIT_NO;
}

static bool is_one_of(const char *word, char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(words[i], word))
                        return true;
        return false;
}

static Fit has_state(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r) {
        if (m->n_states == 0)
                return FIT_YES;
        if (r->state == ARGOSY__JOB_STATE__JOB_RUNNING)
                return FIT_UNKNOWN; // the leader may know of its end
        for (size_t i = 0; i < m->n_states; i++)
                if (m->states[i] == r->state)
                        return FIT_YES;
        return FIT_NO;
}

static Fit has_author(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r) {
        char whole[1024];

        if (!*m->author)
                return FIT_YES;
        if (r->own || !*r->user)
                return FIT_UNKNOWN;
        str_fit(whole, sizeof(whole), "%s@%s", r->user, r->host_name);
        return fits_if(fnmatch(m->author, r->user, FNM_NOESCAPE) == 0 ||
                       fnmatch(m->author, whole, FNM_NOESCAPE) == 0);
}

static bool is_named(const Argosy__Request__ListJobs *m, const char *unit) {
        for (size_t i = 0; i < m->n_patterns; i++)
                if (streq(m->patterns[i], unit) || fnmatch(m->patterns[i], unit, 0) == 0)
                        return true;
        return false;
}

static Fit has_unit(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r) {
        if (m->n_patterns == 0)
                return FIT_YES;
        for (size_t g = 0; g < r->n_units; g++)
                for (size_t i = 0; i < r->units[g]->n_names; i++)
                        if (is_named(m, r->units[g]->names[i]))
                                return FIT_YES;
        for (size_t g = 0; g < r->n_moves; g++)
                for (size_t i = 0; i < r->moves[g]->n_names; i++)
                        if (is_named(m, r->moves[g]->names[i]))
                                return FIT_YES;
        return r->cut ? FIT_UNKNOWN : FIT_NO;
}

static Fit has_node(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r) {
        bool maybe = r->n_drains > 0 || r->state == ARGOSY__JOB_STATE__JOB_RUNNING; // it may have ended

        if (m->n_nodes == 0)
                return FIT_YES;
        for (size_t i = 0; i < r->n_ends; i++)
                if (is_one_of(r->ends[i]->node, m->nodes, m->n_nodes))
                        return FIT_YES;
        for (size_t i = 0; i < r->n_moves; i++)
                if (is_one_of(r->moves[i]->from, m->nodes, m->n_nodes) ||
                    is_one_of(r->moves[i]->to, m->nodes, m->n_nodes))
                        return FIT_YES;
        for (size_t i = 0; i < r->n_settings; i++)
                maybe |= is_one_of(r->settings[i]->where, m->nodes, m->n_nodes);
        for (size_t i = 0; i < r->n_targets; i++)
                maybe |= is_one_of(r->targets[i], m->nodes, m->n_nodes);
        return maybe ? FIT_UNKNOWN : FIT_NO;
}

static Fit has_begun(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r) {
        if (m->begun_before == 0 || r->revision_before + 1 < m->begun_before)
                return FIT_YES;
        return r->revision_before > m->begun_before ? FIT_NO : FIT_UNKNOWN;
}

static Fit fits(const Argosy__Request__ListJobs *m, const Argosy__JobRecord *r, const char **ret_why) {
        const struct {
                const char *what;
                Fit fit;
        } all[] = {{"its state", has_state(m, r)},     {"its author", has_author(m, r)},
                   {"its units", has_unit(m, r)},      {"its nodes", has_node(m, r)},
                   {"when it began", has_begun(m, r)}, {"its time", fits_if(r->at_us >= m->since_us)}};
        Fit least = FIT_YES;

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (all[i].fit < least) {
                        least = all[i].fit;
                        *ret_why = all[i].what;
                }
        return least;
}

static bool is_listed(const Argosy__Response__Jobs *jobs, uint64_t number) {
        for (size_t i = 0; i < jobs->n_rows; i++)
                if (jobs->rows[i]->job == number)
                        return true;
        return false;
}

static void one_job(const Argosy__Request__ListJobs *m, const Argosy__Response__Jobs *jobs,
                    uint64_t number) {
        Argosy__JobRecord *r = NULL;
        const char *why = "";
        bool listed = is_listed(jobs, number);
        Fit fit;

        if (cluster_state_read_job(world.rig.state, number, &r) < 0)
                return;
        fit = r->dropped ? FIT_UNKNOWN : fits(m, r, &why);
        message_free(r);
        check_says("job-lists-are-whole");
        if (fit == FIT_NO && listed)
                check_fail("job-lists-are-whole", "job %" PRIu64 " is listed, and %s is not asked for",
                           number, why);
        if (fit == FIT_YES && !listed && m->late_after == 0)
                check_fail("job-lists-are-whole", "job %" PRIu64 " is not listed, and fits", number);
}

// Root sees them all. The list says down to which it has come.
void job_lists_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const Argosy__Request__ListJobs *m = a->request->list_jobs;
        uint64_t number, last;

        if (a->request->what_case != ARGOSY__REQUEST__WHAT_LIST_JOBS || r->status != 0 ||
            r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || a->author != AUTHOR_ROOT || m->number > 0)
                return;
        for (size_t i = 0; m->late_after > 0 && i < r->jobs->n_rows; i++)
                one_job(m, r->jobs, r->jobs->rows[i]->job);
        if (m->late_after > 0)
                return;
        last = MAX_OF(r->jobs->before, UINT64_C(1));
        number = cluster_state_job_before(world.rig.state, m->before ?: UINT64_MAX);
        for (; number >= last; number = cluster_state_job_before(world.rig.state, number))
                one_job(m, r->jobs, number);
}
