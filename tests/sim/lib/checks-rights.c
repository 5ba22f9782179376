// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of rights, of what an undo puts back, and of questions: what somebody is told or does against the
// grants and jobs of that moment.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-log.h"
#include "macro.h"
#include "request-kind.h"
#include "test.h"

// ------------------------------------------------------------------------------------------------ rights

// when each had each of the rights last, of some units at least
static uint64_t had_us[WORLD_AUTHORS][ARGOSY__RIGHT__RIGHT_ADMIN + 1];

static void note_rights(void) {
        for (WorldAuthor who = 0; who < AUTHOR_TOKEN; who++)
                for (Argosy__Right right = 0; right <= ARGOSY__RIGHT__RIGHT_ADMIN; right++)
                        if (log_has_some_right(log_truth.grants, log_truth.n_grants, who, right) ||
                            log_has_some_right(log_truth.grants_before, log_truth.n_grants_before, who,
                                               right))
                                had_us[who][right] = asks.port->now_us();
}

// Likewise the right to see units of each role; and when each unit was changed last, since its role may have
// been another one.
static uint64_t had_view_us[WORLD_AUTHORS][ELEMENTSOF(world_roles)], touched_us[WORLD_UNITS_MAX];

static bool may_view(const LogGrant *grants, size_t n, WorldAuthor who, const char *role) {
        return log_has_right(grants, n, who, ARGOSY__RIGHT__RIGHT_VIEW, role);
}

static void note_views(void) {
        for (WorldAuthor who = 0; who < AUTHOR_TOKEN; who++)
                for (size_t i = 0; i < ELEMENTSOF(world_roles); i++)
                        if (may_view(log_truth.grants, log_truth.n_grants, who, world_roles[i]) ||
                            may_view(log_truth.grants_before, log_truth.n_grants_before, who,
                                     world_roles[i]))
                                had_view_us[who][i] = asks.port->now_us();
        for (size_t i = 0; i < log_truth.n_touched; i++)
                touched_us[log_truth.touched[i].unit] = asks.port->now_us();
}

void rights_begin(void) {
        memset(had_us, 0, sizeof(had_us));
        memset(had_view_us, 0, sizeof(had_view_us));
        memset(touched_us, 0, sizeof(touched_us));
}

static bool is_work(const LogJob *j) {
        return j && j->own == ARGOSY__OWN_CAUSE__OWN_NONE && j->entry == log_truth.n_entries;
}

// Whoever makes units may deploy something.
static void made_units_are_deployed(const LogJob *j, uint64_t number, WorldAuthor who) {
        if (!j->has_id || had_us[who][ARGOSY__RIGHT__RIGHT_DEPLOY] == asks.port->now_us())
                return;
        for (unsigned i = 0; i < asks.n_units; i++)
                if (j->touched >> i & 1 && !j->before[i].exists && j->after[i].exists)
                        check_fail("work-is-allowed",
                                   "job %" PRIu64 " (%s) makes %s, and is %s's, who may not deploy anything",
                                   number, j->verb, asks.units[i].name, world_authors[who]);
}

// Whoever changes something may operate something.
void rights_on_entry(const Argosy__LogBatch *batch) {
        note_rights();
        note_views();
        for (uint64_t i = log_truth.n_jobs; i >= log_truth.first_job && log_truth.jobs[i] &&
                                            log_truth.jobs[i]->entry == log_truth.n_entries;
             i--)
                for (WorldAuthor who = AUTHOR_ALICE; is_work(log_truth.jobs[i]) && who < AUTHOR_TOKEN;
                     who++) {
                        if (strcmp(log_truth.jobs[i]->user, world_authors[who]) != 0)
                                continue;
                        check_says("work-is-allowed");
                        if (had_us[who][ARGOSY__RIGHT__RIGHT_OPERATE] != asks.port->now_us() &&
                            log_truth.jobs[i]->has_id)
                                check_fail("work-is-allowed",
                                           "job %" PRIu64 " (%s) is %s's, who may not operate anything", i,
                                           log_truth.jobs[i]->verb, world_authors[who]);
                        made_units_are_deployed(log_truth.jobs[i], i, who);
                }
}

void rights_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        Argosy__Right right = request_right(a->request);

        if (r->status != 0 || a->author == AUTHOR_ROOT || a->author == AUTHOR_TOKEN)
                return;
        if (a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && right > ARGOSY__RIGHT__RIGHT_OPERATE)
                right = ARGOSY__RIGHT__RIGHT_OPERATE; // of some units it is enough
        check_says("answers-are-allowed");
        if (!log_has_some_right(log_truth.grants, log_truth.n_grants, a->author, right) &&
            had_us[a->author][right] < a->asked_us)
                check_fail("answers-are-allowed", "%s is answered %s (%zu), and has not the right",
                           world_authors[a->author], request_kind(a->request->what_case)->name,
                           (size_t) (a - asks.asked) + 1);
}

static void one_name(const WorldAsked *a, const char *name) {
        int i = world_unit_index(name);
        const WorldContent *c = i >= 0 ? log_content(&log_truth.units[i]) : NULL;
        const char *role = c && c->role ? c->role : "default";

        if (!c || touched_us[i] >= a->asked_us)
                return;
        check_says("lists-are-ones-own");
        for (size_t k = 0; k < ELEMENTSOF(world_roles); k++)
                if (strcmp(world_roles[k], role) == 0 &&
                    !may_view(log_truth.grants, log_truth.n_grants, a->author, role) &&
                    had_view_us[a->author][k] < a->asked_us)
                        check_fail("lists-are-ones-own", "%s is told of %s, whose role is %s (%zu)",
                                   world_authors[a->author], name, role, (size_t) (a - asks.asked) + 1);
}

// Lists leave out what whoever asks may not see.
void own_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (r->status != 0 || a->author == AUTHOR_ROOT || a->author == AUTHOR_TOKEN)
                return;
        if (r->what_case == ARGOSY__RESPONSE__WHAT_UNITS)
                for (size_t i = 0; i < r->units->n_rows; i++)
                        one_name(a, r->units->rows[i]->unit);
        else if (r->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES)
                for (size_t i = 0; i < r->unit_files->n_rows; i++)
                        one_name(a, r->unit_files->rows[i]->unit);
}

// ------------------------------------------------------------------------------------------------ undo

// Those that one entry did, and that name all of their units.
static bool can_be_compared(const LogJob *j) {
        static const char *const verbs[] = {"start", "stop", "load", "unload", "submit", "destroy"};

        for (size_t i = 0; j && !j->parted && i < ELEMENTSOF(verbs); i++)
                if (strcmp(j->verb, verbs[i]) == 0)
                        return true;
        return false;
}

// Whether a job before `to`, but for these two, has changed the unit behind `undone`. It may have begun
// before that: a rollout goes on, and what has failed gets its former file back.
static bool was_touched_by_others(uint64_t undone, uint64_t by, uint64_t to, unsigned unit) {
        for (uint64_t i = log_truth.first_job; i < to; i++) {
                const LogJob *j = i == undone || i == by ? NULL : log_truth.jobs[i];

                if (j && j->own == ARGOSY__OWN_CAUSE__OWN_NONE &&
                    j->touched_at[unit] > log_truth.jobs[undone]->touched_at[unit])
                        return true;
        }
        return false;
}

static bool was_refused_there(const Argosy__Response__Change *change, const char *name) {
        for (size_t i = 0; i < change->n_units; i++)
                if (strcmp(change->units[i]->name, name) == 0)
                        return change->units[i]->status != 0;
        return true; // it is not said
}

static bool are_same_wish(const LogUnit *a, const LogUnit *b) {
        return a->exists == b->exists &&
               (!a->exists || (a->target == b->target && memcmp(&a->spec, &b->spec, sizeof(Hash)) == 0));
}

// The job that it undoes, if that can be compared with what it has come to. NULL: it cannot.
static const LogJob *find_undone(const WorldAsked *a, const Argosy__Response *r) {
        const Argosy__Request__Undo *q = a->request->undo;

        if (a->request->what_case != ARGOSY__REQUEST__WHAT_UNDO || !r || r->status != 0 || r->held ||
            q->preview || q->force || q->only_untouched || !r->change)
                return NULL;
        if (r->job == 0 || log_place(r->job) > log_truth.n_jobs || log_place(q->job) == 0 ||
            q->job >= r->job)
                return NULL;
        return can_be_compared(log_truth.jobs[log_place(q->job)]) ? log_truth.jobs[log_place(q->job)] : NULL;
}

// The unit as the job left it: another one of the same entry may have changed it behind that.
static const LogUnit *unit_behind(uint64_t job, unsigned unit) {
        const LogJob *j = log_truth.jobs[job];

        if (j->touched & 1u << unit)
                return &j->after[unit];
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];

                if (t->unit == unit && t->job > job)
                        return &t->before;
        }
        return &log_truth.units[unit];
}

void undo_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const LogJob *undone = find_undone(a, r), *by = undone ? log_truth.jobs[log_place(r->job)] : NULL;
        const Argosy__Request__Undo *q = undone ? a->request->undo : NULL; // else it asks for anything
        uint64_t from, to;

        if (!by || q->rolling || by->parted || by->entry != log_truth.n_entries)
                return;
        from = log_place(q->job);
        to = log_place(r->job);
        for (unsigned i = 0; i < asks.n_units; i++) {
                if (!(undone->touched & 1u << i) || was_touched_by_others(from, to, to, i) ||
                    was_refused_there(r->change, asks.units[i].name))
                        continue;
                check_says("undo-puts-back");
                if (!are_same_wish(&undone->before[i], unit_behind(to, i)))
                        check_fail("undo-puts-back",
                                   "%s is not as it was before job %" PRIu64 ", which job %" PRIu64
                                   " undoes",
                                   asks.units[i].name, q->job, r->job);
        }
}

// A few units at a time: the answer says only that it has begun.
static bool has_rolled_back(const WorldAsked *a) {
        const uint8_t *id = log_request_id(a->request);
        Argosy__RolloutRecord *const *rollouts;
        size_t n;

        rollouts = cluster_state_rollouts(asks.port->state(), &n);
        for (size_t i = 0; id && i < n; i++)
                if (rollouts[i]->request.len == LOG_ID_SIZE &&
                    memcmp(rollouts[i]->request.data, id, LOG_ID_SIZE) == 0)
                        return rollouts[i]->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
        return false;
}

static void one_rolled_back(const WorldAsked *a, const Argosy__Response *r, const LogJob *undone) {
        const uint64_t job = log_place(a->request->undo->job), by = log_place(r->job);

        for (unsigned i = 0; i < asks.n_units; i++) {
                if (!(undone->touched & 1u << i) ||
                    was_touched_by_others(job, by, log_truth.n_jobs + 1, i))
                        continue;
                check_says("undo-puts-back");
                if (!are_same_wish(&undone->before[i], &log_truth.units[i]))
                        check_fail("undo-puts-back",
                                   "%s is not as it was before job %" PRIu64 ", which job %" PRIu64
                                   " has undone by and by",
                                   asks.units[i].name, a->request->undo->job, r->job);
        }
}

void undo_on_calm(void) {
        for (size_t i = 0; i < asks.n_asked; i++) {
                const WorldAsked *a = &asks.asked[i];
                const Argosy__Response *r = asks_last_response(a);
                const LogJob *undone = find_undone(a, r);

                if (undone && a->request->undo->rolling && has_rolled_back(a))
                        one_rolled_back(a, r, undone);
        }
}

// ------------------------------------------------------------------------------------------------ previews

// A question has no job.
void dry_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const Argosy__Request *q = a->request;
        bool dry = (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->change->preview) ||
                   (q->what_case == ARGOSY__REQUEST__WHAT_UNDO && q->undo->preview) ||
                   (q->what_case == ARGOSY__REQUEST__WHAT_REBALANCE && q->rebalance->preview);
        const uint8_t *id = dry ? log_request_id(q) : NULL;

        if (!dry || r->status != 0)
                return;
        check_says("dry-runs-change-nothing");
        if (r->job != 0 || (id && log_job_of(id)))
                check_fail("dry-runs-change-nothing", "request %zu was only a question, and is a job",
                           (size_t) (a - asks.asked) + 1);
}
