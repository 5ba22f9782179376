// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of undoing, when the log has it: of each unit and each setting that it puts back, what the job has
// changed is as the job found it, and everything else as it is. What is no more as the job left it somebody
// has changed since, and nobody puts that back who does not say so (Request.Undo.force).
//
// Units are read from the log (checks-log.c); of settings the records of both jobs say what each has found
// and left.
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "message.h"
#include "str.h"
#include "test.h"

static const WorldAsked *find_undo(const LogJob *j) {
        const WorldAsked *a = log_asked_of(j);

        return a && a->request->what_case == ARGOSY__REQUEST__WHAT_UNDO ? a : NULL;
}

// ------------------------------------------------------------------------------------------------ units

static bool same_content(const LogUnit *a, const LogUnit *b) {
        return a->exists == b->exists && (!a->exists || memcmp(&a->spec, &b->spec, sizeof(Hash)) == 0);
}

static bool same_target(const LogUnit *a, const LogUnit *b) {
        return a->exists == b->exists && (!a->exists || a->target == b->target);
}

// One part of it: its content, or what it is to be. `found`, `left`: by the job; `now`, `then`: by the undo.
static void judge_part(const char *unit, const char *what, bool (*same)(const LogUnit *a, const LogUnit *b),
                       const LogUnit *found, const LogUnit *left, const LogUnit *now, const LogUnit *then,
                       bool force) {
        check_says("undone-is-what-was-done");
        if (same(found, left)) {
                if (now->exists && then->exists && !same(now, then))
                        check_fail("undone-is-what-was-done",
                                   "%s has another %s, which the job that is undone has not changed", unit,
                                   what);
                return;
        }
        if (!same(found, then))
                check_fail("undone-is-what-was-done", "%s has not the %s that the job has found", unit,
                           what);
        if (!force && !same(now, left) && !same(now, found))
                check_fail("undone-is-what-was-done",
                           "%s gets its former %s back, and somebody has changed that since the job", unit,
                           what);
}

// Who goes along with another one for its network is put once more in its own turn, of this entry or of a
// later one (`more`).
static void judge_unit(unsigned unit, const LogJob *by, const LogJob *undone, bool force, bool more) {
        const LogUnit *found = &undone->before[unit], *left = &undone->after[unit],
                      *now = &by->before[unit], *then = &by->after[unit];
        const char *name = asks.units[unit].name;

        if (!(undone->touched & 1u << unit) || found->global || left->global || now->global ||
            then->global || (more && !same_content(found, then)))
                return;
        judge_part(name, "content", same_content, found, left, now, then, force);
        judge_part(name, "state", same_target, found, left, now, then, force);
}

// ------------------------------------------------------------------------------------------------ settings

static bool is_same(const Argosy__SettingValue *a, const Argosy__SettingValue *b) {
        uint8_t packed[2][4096];
        size_t len;

        if (!a || !b)
                return a == b;
        len = argosy__setting_value__get_packed_size(a);
        if (len > sizeof(packed[0]) || len != argosy__setting_value__get_packed_size(b))
                return false;
        argosy__setting_value__pack(a, packed[0]);
        argosy__setting_value__pack(b, packed[1]);
        return memcmp(packed[0], packed[1], len) == 0;
}

// What a job of several entries has found, and what it has left.
static bool find_setting(const Argosy__JobRecord *r, const Argosy__JobSetting *of,
                         const Argosy__JobSetting **ret_first, const Argosy__JobSetting **ret_last) {
        *ret_first = *ret_last = NULL;
        for (size_t i = 0; i < r->n_settings; i++)
                if (r->settings[i]->kind == of->kind && r->settings[i]->number == of->number &&
                    streq(r->settings[i]->name, of->name)) {
                        *ret_first = *ret_first ?: r->settings[i];
                        *ret_last = r->settings[i];
                }
        return *ret_first;
}

// A drain goes back without its time, if that is over by now.
static bool is_put_back(const Argosy__SettingValue *then, const Argosy__SettingValue *found) {
        Argosy__SettingValue timeless;

        if (is_same(then, found))
                return true;
        if (!then || !found || found->deadline_us == 0)
                return false;
        timeless = *found;
        timeless.deadline_us = 0;
        return is_same(then, &timeless);
}

static void judge_setting(const Argosy__JobSetting *by, const Argosy__JobRecord *undone, bool force) {
        const Argosy__JobSetting *first, *last;

        check_says("undone-is-what-was-done");
        if (!find_setting(undone, by, &first, &last))
                check_fail("undone-is-what-was-done",
                           "setting '%s' is put back, which the job that is undone has not changed",
                           by->name);
        if (!is_put_back(by->after, first->before))
                check_fail("undone-is-what-was-done", "setting '%s' is not as the job has found it",
                           by->name);
        if (!force && !is_same(by->before, last->after))
                check_fail("undone-is-what-was-done",
                           "setting '%s' is put back, and somebody has changed that since the job",
                           by->name);
}

static void judge_settings(uint64_t by, uint64_t undone, bool force) {
        Argosy__JobRecord *r = NULL, *of = NULL;

        if (cluster_state_read_job(world.rig.state, by, &r) == 0 &&
            cluster_state_read_job(world.rig.state, undone, &of) == 0 && !of->dropped)
                for (size_t i = 0; i < r->n_settings; i++)
                        judge_setting(r->settings[i], of, force);
        message_free(r);
        message_free(of);
}

// ------------------------------------------------------------------------------------------------ an entry

static void on_job(uint64_t place, uint64_t number, bool more) {
        const LogJob *j = place > 0 && place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;
        const WorldAsked *a = j && strcmp(j->verb, "undo") == 0 ? find_undo(j) : NULL;
        const Argosy__Request__Undo *m = a ? a->request->undo : NULL;
        uint64_t undone = m ? log_place(m->job) : 0;

        if (!m || undone == 0 || undone >= place || !log_truth.jobs[undone])
                return;
        for (size_t i = 0; i < log_truth.n_touched && !m->rolling; i++)
                if (log_truth.touched[i].job == place)
                        judge_unit(log_truth.touched[i].unit, j, log_truth.jobs[undone], m->force, more);
        judge_settings(number, m->job, m->force);
}

void undone_on_entry(const Argosy__LogBatch *batch) {
        uint64_t next = log_truth.n_jobs;

        for (size_t i = 0; i < batch->n_ops; i++)
                next -= batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB && batch->ops[i]->job->number == 0;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp__JobPut *put =
                        batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB ? batch->ops[i]->job : NULL;

                if (!put)
                        continue;
                if (put->number == 0)
                        next++;
                // What did not start goes back as a part of the job that has no words of its own.
                if (put->job->state == ARGOSY__JOB_STATE__JOB_HELD || !*put->job->verb)
                        continue;
                on_job(put->number == 0 ? next : log_place(put->number), put->number ?: next, put->more);
        }
}
