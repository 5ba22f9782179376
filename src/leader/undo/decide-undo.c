// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Undo: a job that puts back what another one changed: units, and labels, nodes, roles, pools and the queue.
// What becomes of each unit is undo-policy.c's to say, from the job's record and from what the unit is now
// (undo-list.c); how it gets there is planned chunk by chunk as of an apply (decide-aims.c). What is no unit
// is put back as it was (undo-settings.c), which needs the right to change it.
//
//      1. of more than limits.undo_looks so many are looked at in each turn, to refuse early
//      2. in the turn of the first entry the first limits.undo_looks are judged, and what is no unit. If
//         somebody has changed one since, or its content of before is not kept any more, nothing is done,
//         unless the request says what is to become of those. What is no unit goes into that entry
//      3. limits.undo_chunk_units after limits.undo_chunk_units are judged, planned and committed in one
//         turn, as one job. What is as before already stays, also what an earlier leader has put back. What
//         somebody has changed since the undo was asked for (changed-since.h) is left, named, and fails the
//         job
//      4. the client is answered about each chunk as the log has it (log-chunks.c)
//
// Or, a few units at a time, by a rollout (undo-rollout.c), which is begun by one entry (decide-rolling.c):
// then all are judged in the turn of that entry, at about 0.3 us each, unless no other entry has come since
// they were looked at.
//
// A request that comes again when all of it is in the log is answered and changes nothing.

#include "decide-undo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "access.h"
#include "answer-jobs.h"
#include "author.h"
#include "authorization.h"
#include "changed-since.h"
#include "cluster-setting.h"
#include "decide-aims.h"
#include "decide-bound.h"
#include "decide-changes.h"
#include "decide-complete.h"
#include "decide-rolling.h"
#include "decision.h"
#include "log-chunks.h"
#include "message.h"
#include "request.h"
#include "response.h"
#include "setting-words.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "undo-list.h"
#include "undo-rollout.h"

enum {
        UNDO_TOLD_MAX = 2000,   // units that are named although nothing is done about them, or in a plan
};

// Where a pending request is with it.
typedef struct UndoWork {
        RequestWork work;
        PendingRequest *pending;
        UndoList list;
        AimList aims;     // its units
        size_t n_judged;  // of these, in the turn of a chunk: those before
        uint64_t own_job; // that an earlier leader has begun; 0: none has
        UndoList own;     // units of that: what the undo has put back already
        size_t n_looked, n_reported;
        uint64_t looked_index; // of the log, when it was begun to look at them
        uint64_t newest;    // revision of those that were looked at
        RolloutGroup rolls; // what gets its files back a few at a time
} UndoWork;

static void undo_free(PendingRequest *t, RequestWork *work) {
        UndoWork *w = CONTAINER_OF(work, UndoWork, work);

        undo_list_done(&w->list);
        map_done(&w->aims.by_name);
        undo_list_done(&w->own);
        rollout_group_done(&w->rolls);
        free(w);
}

static const RequestWorkKind undo_kind = {undo_free};

// NULL: it has not begun.
static UndoWork *undo_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &undo_kind);

        return work ? CONTAINER_OF(work, UndoWork, work) : NULL;
}

// ------------------------------------------------------------------------------------------------ refusing

// Of what is in the way the first, and how much more.
typedef struct Obstacles {
        size_t n;
        Buf name; // of the first one
        UndoPhrase phrase;
} Obstacles;

static void obstacles_done(Obstacles *o) {
        buf_done(&o->name);
}

static int find_units_in_the_way(const Leader *l, UndoList *list, Obstacles *o) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++) {
                const UndoItem *item = &list->items[i];

                if ((item->verdict != UNDO_TOUCHED && !item->lost) || o->n++ > 0)
                        continue;
                if (item->verdict == UNDO_TOUCHED)
                        undo_phrase_touched(list, l->state, item, o->phrase);
                else
                        str_fit(o->phrase, sizeof(o->phrase), "had a file before that is not kept any more");
                r = buf_printf(&o->name, "%s", item->to.name);
        }
        return r;
}

static int find_settings_in_the_way(const Leader *l, UndoList *list, Obstacles *o) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->settings.n; i++) {
                const UndoSetting *s = &list->settings.items[i];

                if ((s->verdict != UNDO_TOUCHED && !*s->why) || o->n++ > 0)
                        continue;
                if (s->verdict == UNDO_TOUCHED)
                        undo_phrase_setting_touched(list, l->state, s, o->phrase);
                else
                        str_fit(o->phrase, sizeof(o->phrase), "cannot be put back (%s)", s->why);
                r = setting_name_append(s->first, &o->name);
        }
        return r;
}

// Notes the newest revision of units that are there. A unit that is gone has none: the last removal of any
// unit stands for it.
static void note_newest(const ClusterState *state, UndoWork *w, size_t from, size_t to) {
        for (size_t i = from; i < to; i++) {
                const UnitEntry *u = cluster_state_find_unit(state, w->list.items[i].to.name);

                w->newest = MAX_OF(w->newest, u ? u->record->revision : cluster_state_left_revision(state));
        }
}

static uint64_t revision_of_setting(const ClusterState *state, Argosy__SettingKind kind) {
        switch (kind) {
        case ARGOSY__SETTING_KIND__SETTING_ROLE:
                return cluster_state_roles_revision(state);
        case ARGOSY__SETTING_KIND__SETTING_RULE:
        case ARGOSY__SETTING_KIND__SETTING_QUEUE:
                return cluster_state_queue_revision(state);
        default:
                return cluster_state_hosts_revision(state);
        }
}

// STEP_PASSED: nothing that the job changed has changed after the revision that the request names.
static int refuse_if_changed(const Leader *l, PendingRequest *t) {
        const UndoSettings *settings = &undo_of(t)->list.settings;
        uint64_t newest = undo_of(t)->newest;

        for (size_t i = 0; i < settings->n; i++)
                newest = MAX_OF(newest, revision_of_setting(l->state, settings->items[i].first->kind));
        return decide_bound_check_revision(t, "what the job changed", newest);
}

static int refuse_if_in_the_way(const Leader *l, PendingRequest *t, UndoList *list) {
        const Argosy__Request__Undo *m = t->request->undo;
        _cleanup_(obstacles_done) Obstacles o = {};

        if (find_units_in_the_way(l, list, &o) < 0 || find_settings_in_the_way(l, list, &o) < 0)
                return -ENOMEM;
        if (o.n == 0 || m->only_untouched || m->force)
                return STEP_PASSED;
        return request_settle(
                t,
                o.n == 1 ? response_error(
                                   EEXIST,
                                   "%.*s %s; --only-untouched leaves it as it is, --force overrules that; "
                                   "nothing was changed",
                                   (int) o.name.len, (const char *) o.name.data, o.phrase)
                         : response_error(EEXIST,
                                          "%.*s %s, and so it is with %zu more of them; --only-untouched "
                                          "leaves them as "
                                          "they are, --force overrules that; nothing was changed",
                                          (int) o.name.len, (const char *) o.name.data, o.phrase, o.n - 1));
}

// STEP_PASSED: there may be something to do.
static int refuse_hopeless(const Leader *l, PendingRequest *t, UndoList *list) {
        const Argosy__JobRecord *job = list->job;

        if (list->n == 0 && list->settings.n == 0)
                return request_refuse(
                        t, EOPNOTSUPP,
                        "job %" PRIu64
                        " (%s) has changed nothing that can be put back: these are units, labels, "
                        "what nodes are to do, roles, pools and rules of the queue",
                        job->number, job->verb);
        if (list->settings.n == 0 && undo_list_count(list, UNDO_RAN) == list->n)
                return request_refuse(t, EOPNOTSUPP,
                                     "job %" PRIu64
                                     " (%s) has changed neither the files of its units nor what "
                                     "these are to be, and that something ran cannot be undone",
                                     job->number, job->verb);
        return refuse_if_in_the_way(l, t, list);
}

// Refuses an author without the rights for the settings: the right to bring files is not enough to close
// nodes.
static int refuse_unauthorised(const Leader *l, PendingRequest *t, const UndoList *list) {
        char who[AUTHOR_TEXT_SIZE];

        if (list->settings.n == 0 ||
            access_has(authorization_list(l), t->author, ARGOSY__RIGHT__RIGHT_ADMIN, NULL))
                return STEP_PASSED;
        return request_refuse(t, EACCES,
                             "job %" PRIu64
                             " (%s) has changed more than units, and to put that back needs the right "
                             "'admin', which %s does not have",
                             list->job->number, list->job->verb, author_text(t->author, who));
}

// ------------------------------------------------------------------------------------------------ telling

// The verb for a unit that the same request has put back before, under another leader.
static Argosy__Verb verb_of_done(const UndoState *now) {
        if (!now->exists)
                return ARGOSY__VERB__VERB_DESTROY;
        return now->target == ARGOSY__TARGET__TARGET_LAUNCHED ? ARGOSY__VERB__VERB_START
               : now->target == ARGOSY__TARGET__TARGET_LOADED ? ARGOSY__VERB__VERB_STOP
                                                              : ARGOSY__VERB__VERB_NONE;
}

// AIM_SAID; 0: so many were named already; -ENOMEM.
static int on_describe(const Leader *l, const PendingRequest *t, const AimList *aims,
                       const AimItem *aim_item, Argosy__Response__UnitResult *ret) {
        const UndoItem *item = CONTAINER_OF(aim_item, const UndoItem, to);
        UndoWork *w = undo_of(t);

        if (w->n_reported == UNDO_TOLD_MAX)
                return 0;
        w->n_reported++;
        if (undo_item_describe(&w->list, l->state, item, ret) < 0)
                return -ENOMEM;
        if (item->verdict == UNDO_DONE && undo_list_find(&w->own, item->to.name))
                ret->verb = verb_of_done(&item->unit.now);
        return AIM_SAID;
}

// Whether an earlier leader has put the setting back, by the entry that began the job.
static bool was_put_back(const UndoWork *w, const UndoSetting *s) {
        for (size_t i = 0; i < w->own.settings.n; i++)
                if (setting_is_same(w->own.settings.items[i].first, s->first))
                        return true;
        return false;
}

// Adds a setting's result, unless it goes into the log, or for a plan.
static int add_setting_result(const Leader *l, UndoWork *w, const UndoSetting *s, bool plans,
                              Argosy__Response *ret) {
        Argosy__Response__UnitResult *result = undo_setting_result(s);
        UndoPhrase phrase;

        if (FIELD_APPEND(ret->change->units, ret->change->n_units, result) < 0)
                return -ENOMEM;
        if (s->verdict != UNDO_DONE && was_put_back(w, s))
                return field_set(&result->message,
                                 "it was put back, and somebody has changed it again since");
        if (w->own_job > 0 && undo_setting_is_due(s)) // all that was due then is in the first entry
                return field_set(&result->message, "it was changed since, and stays as it is");
        if (undo_setting_is_due(s) && !plans)
                return 0;
        if (s->verdict != UNDO_TOUCHED)
                return undo_setting_describe(s, result);
        undo_phrase_setting_touched(&w->list, l->state, s, phrase);
        return field_printf(&result->message, "it %s, and stays as it is", phrase);
}

static int add_settings(const Leader *l, UndoWork *w, bool plans, Argosy__Response *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < w->list.settings.n; i++)
                r = add_setting_result(l, w, &w->list.settings.items[i], plans, ret);
        return r;
}

static int tell_units(const Leader *l, const PendingRequest *t, Argosy__Response *ret) {
        UndoWork *w = undo_of(t);
        int r = 0;

        for (size_t i = 0; r >= 0 && i < w->list.n && w->n_reported < UNDO_TOLD_MAX; i++) {
                const UndoItem *item = &w->list.items[i];
                Argosy__Response__UnitResult *result = unit_result_new(item->to.name);

                r = FIELD_APPEND(ret->change->units, ret->change->n_units, result);
                if (r == 0)
                        r = on_describe(l, t, &w->aims, &item->to, result);
        }
        return MIN_OF(r, 0);
}

// All that is to be said without doing anything. NULL: out of memory.
static Argosy__Response *tell(Leader *l, PendingRequest *t) {
        UndoWork *w = undo_of(t);
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);

        if (!response || add_settings(l, w, true, response) < 0 || tell_units(l, t, response) < 0)
                return NULL;
        if (w->list.n > w->n_reported &&
            field_printf(&response->message, "and %zu more units", w->list.n - w->n_reported) < 0)
                return NULL;
        decide_complete(l, t, response);
        return TAKE_PTR(response);
}

// ------------------------------------------------------------------------------------------------ parts

// Judged by its content alone: a stop and start in between has changed nothing that undoing takes away.
static bool is_changed(const Leader *l, PendingRequest *t, const UndoItem *item) {
        const Argosy__Request__Undo *m = t->request->undo;

        if (item->verdict == UNDO_TOUCHED)
                return !m->only_untouched;
        return (m->force || t->asked.if_revision > 0) && changed_since(l, t, item->to.name);
}

// What becomes of it in this turn.
static void judge_item(const Leader *l, PendingRequest *t, size_t i) {
        UndoWork *w = undo_of(t);
        UndoItem *item = &w->list.items[i];

        undo_list_judge(&w->list, l->state, i, i + 1, t->request->undo->force);
        if (item->verdict == UNDO_DONE || item->verdict == UNDO_RAN)
                return;
        if (undo_list_find(&w->own, item->to.name))
                undo_item_stays(item, UNDO_BACK);
        else if (is_changed(l, t, item))
                undo_item_stays(item, UNDO_CHANGED);
        item->lost &= item->verdict == UNDO_PUT;
}

// Each is judged once in the turn of its chunk.
static const AimItem *item_at(const AimList *list, size_t i) {
        UndoWork *w = (UndoWork *) CONTAINER_OF(list, const UndoWork, aims);

        for (; w->n_judged <= i; w->n_judged++)
                judge_item(w->pending->leader, w->pending, w->n_judged);
        return &w->list.items[i].to;
}

static bool has_begun(const PendingRequest *t) {
        return t->job > 0;
}

// Settings go with the first chunk, unless they are in the log.
static int put_settings(Decision *d, PendingRequest *t) {
        UndoSettings *settings = &undo_of(t)->list.settings;
        int r = undo_settings_judge(settings, d->leader, t->request->undo->force);

        return r < 0 || has_begun(t) ? r : undo_settings_put(settings, d->leader, &d->batch);
}

static int describe_settings(const Leader *l, const PendingRequest *t, Argosy__Response *ret) {
        return add_settings(l, undo_of(t), false, ret);
}

static int decide_chunks_of(Decision *d, PendingRequest *t) {
        UndoWork *w = undo_of(t);

        w->aims.n = w->list.n;
        w->n_judged = log_chunk_of(t) ? log_chunk_of(t)->at : 0;
        return decide_aims(d, t, &w->aims);
}

// ---------------------------------------------------------------------------------------------- the request

static int work_new(PendingRequest *t, const ClusterState *state) {
        UndoWork *w = calloc(1, sizeof(*w));

        if (!w)
                return -ENOMEM;
        request_add_work(t, &undo_kind, &w->work);
        w->own_job = t->job;
        w->pending = t;
        w->aims = (AimList){.item = item_at,
                            .looks = t->leader->limits.undo_looks,
                            .part_units = t->leader->limits.undo_chunk_units,
                            .describe = on_describe,
                            .put_rest = put_settings,
                            .describe_rest = describe_settings};
        return changed_since_begin(t->leader, t) ?: undo_list_read(&w->list, state, t->request->undo->job);
}

static int later(Leader *l) {
        leader_mark(l);
        return PLAN_SETTLED;
}

// Reads which units the job itself has changed. If its record names too many, or is not kept, a change is
// attributed by its revision.
static int read_own(Leader *l, UndoWork *w) {
        int r = undo_list_read(&w->own, l->state, w->own_job);

        if (r == -ENOENT || r == -E2BIG)
                w->own_job = 0;
        else if (r < 0)
                return r;
        return later(l);
}

// STEP_PASSED: all are listed, and those for which the turn of an entry has no time were looked at.
static int look(Leader *l, PendingRequest *t) {
        UndoWork *w = undo_of(t);
        size_t to;
        int r;

        if (w->own_job > 0 && !w->own.job)
                return read_own(l, w);
        r = undo_list_fill(&w->list, l->limits.undo_looks);
        if (r == 0 && w->own_job > 0)
                r = undo_list_fill(&w->own, l->limits.undo_looks);
        if (r != 0)
                return r == UNDO_LIST_MORE ? later(l) : r;
        if (w->list.n <= l->limits.undo_looks || w->n_looked == w->list.n)
                return STEP_PASSED;
        if (w->n_looked == 0)
                w->looked_index = l->index;
        to = MIN_OF(w->list.n, w->n_looked + l->limits.undo_looks);
        undo_list_judge(&w->list, l->state, w->n_looked, to, t->request->undo->force);
        note_newest(l->state, w, w->n_looked, to);
        w->n_looked = to;
        return later(l);
}

// No entry has come since it was begun to look at them, so they are as they were judged then.
static bool is_looked_at(const Leader *l, const UndoWork *w) {
        return w->n_looked > 0 && w->n_looked == w->list.n && w->looked_index == l->index;
}

// As it is in this turn, before anything of it is in the log: all that an entry of this turn may be about.
// Each chunk behind that is judged when it is put.
static int judge(Leader *l, PendingRequest *t) {
        UndoWork *w = undo_of(t);
        size_t n = t->request->undo->rolling ? w->list.n : MIN_OF(w->list.n, (size_t) l->limits.undo_looks);
        int r;

        if (log_chunk_of(t) && log_chunk_of(t)->at > 0)
                return STEP_PASSED;
        if (n == w->list.n && !has_begun(t))
                changed_since_renew(l, t);
        if (!is_looked_at(l, w)) {
                w->newest = n == w->list.n ? 0 : w->newest;
                undo_list_judge(&w->list, l->state, 0, n, t->request->undo->force);
                note_newest(l->state, w, 0, n);
        }
        r = undo_settings_judge(&w->list.settings, l, t->request->undo->force);
        return r < 0 ? r : STEP_PASSED;
}

// ------------------------------------------------------------------------------------------ a few at a time

// STEP_PASSED: it may be done so.
static int refuse_rolling(PendingRequest *t) {
        _cleanup_free_ char *why = NULL;
        UndoWork *w = undo_of(t);
        int r;

        rollout_group_done(&w->rolls);
        r = undo_rollout_find(&w->list, t->leader->state, &w->rolls, &why);
        if (r == -EINVAL)
                return request_refuse(t, EOPNOTSUPP, "%s; nothing was changed", why);
        return r < 0 ? r : STEP_PASSED;
}

// There is no rollout that could be waited for. NULL: out of memory.
static Argosy__Response *tell_nothing_to_roll(Leader *l, PendingRequest *t) {
        Argosy__Response *response = tell(l, t);

        for (size_t i = 0; response && i < response->change->n_units; i++)
                response->change->units[i]->revision = 0;
        return response;
}

// As an update that somebody asks for, with the file of before; all is in one entry then.
static int decide_rolling(Decision *d, PendingRequest *t) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;
        const Argosy__Request__Undo *undo = t->request->undo;
        const RolloutGroup *g = &undo_of(t)->rolls;
        const SpecEntry *spec = g->name ? cluster_state_find_spec(d->leader->state, &g->spec) : NULL;

        if (!spec)
                return request_settle(t, tell_nothing_to_roll(d->leader, t));
        file.name = g->name;
        file.content = (ProtobufCBinaryData){spec->len, spec->content};
        m.name = g->name;
        m.file = &file;
        m.max_unavailable = undo->max_unavailable;
        m.percent = undo->percent;
        m.health_us = undo->health_us;
        return decide_rolling_begin(d, t, &m);
}

// Before anything of it is in the log. STEP_PASSED: it may be done.
static int refuse(Leader *l, PendingRequest *t) {
        UndoWork *w = undo_of(t);
        int r = refuse_unauthorised(l, t, &w->list);

        if (r == STEP_PASSED)
                r = refuse_if_changed(l, t);
        if (r == STEP_PASSED)
                r = refuse_hopeless(l, t, &w->list);
        if (r == STEP_PASSED && t->request->undo->rolling)
                r = refuse_rolling(t);
        return r;
}

// STEP_PASSED: it is to be done.
static int check(Leader *l, PendingRequest *t) {
        int r = STEP_PASSED;

        if (log_chunk_of(t) && log_chunk_of(t)->at > 0)
                return STEP_PASSED;
        if (!has_begun(t))
                r = refuse(l, t);
        if (r != STEP_PASSED)
                return r;
        if (t->request->undo->preview || request_was_carried_out(t))
                return request_settle(t, t->request->undo->rolling && has_begun(t)
                                                ? decide_rolling_response(l, t)
                                                : tell(l, t));
        return STEP_PASSED;
}

// A chunk of it is in the log, and what it would go on by is gone from there: that ends it.
static int end_half_done(PendingRequest *t) {
        request_drop_work(t, &undo_kind);
        t->job_failed = "the job that it undoes was not kept until all of it was put back";
        return request_prepare(
                t, response_error(ENODATA,
                                  "job %" PRIu64
                                  " is not kept any more, and was not put back whole: what job %" PRIu64
                                  " has put back stays so, and the rest stays as it is",
                                  t->request->undo->job, t->job));
}

int decide_undo(Decision *d, PendingRequest *t) {
        const Argosy__Request__Undo *m = t->request->undo;
        Leader *l = d->leader;
        int r = undo_of(t) ? 0 : work_new(t, l->state);

        if (r == -ENOENT && request_has_open_job(t))
                return end_half_done(t);
        if (r == -ENOENT)
                return request_settle(t, answer_no_such_job(l, m->job));
        if (r == -E2BIG)
                return request_refuse(t, E2BIG,
                                     "job %" PRIu64 " has changed more units than can be undone at once",
                                     m->job);
        if (r < 0)
                return r;
        r = look(l, t);
        if (r == STEP_PASSED)
                r = judge(l, t);
        if (r == STEP_PASSED)
                r = check(l, t);
        if (r != STEP_PASSED)
                return r;
        if (m->rolling)
                return decide_rolling(d, t);
        return decide_chunks_of(d, t);
}
