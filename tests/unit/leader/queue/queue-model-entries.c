// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See queue-model.h: what an entry of the log may bring, by what was so before it. In one entry a job begins
// or not, ends as its units can have ended, and units change by the jobs that begin; then the model goes on
// as the entry says. A failure says the seed of its life, and the job.

#include "queue-model-private.h"

#include <inttypes.h>

#include "leader-private.h"
#include "message.h"
#include "test.h"

// ------------------------------------------------------------------------------------------------ units

static bool is_as_before(const ModelSeen *a, const ModelSeen *b) {
        return a->exists == b->exists && a->target == b->target && a->start_rev == b->start_rev &&
               a->restart_rev == b->restart_rev && a->stop_rev == b->stop_rev;
}

static bool is_refused(const Model *m, Argosy__Verb verb, size_t unit) {
        const ModelSeen *u = &m->seen[unit];

        if (model_units[unit].kind == UNIT_NOWHERE &&
            (verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD))
                return true;
        switch (verb) {
        case ARGOSY__VERB__VERB_STOP:
        case ARGOSY__VERB__VERB_RESTART:
                return !u->exists || u->target == ARGOSY__TARGET__TARGET_INACTIVE;
        case ARGOSY__VERB__VERB_DESTROY:
                return !u->exists;
        default:
                return false;
        }
}

static ModelSeen expected(Argosy__Verb verb, const ModelSeen *before) {
        ModelSeen to = {.exists = true, .target = before->target};

        switch (verb) {
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_RESTART:
                to.target = ARGOSY__TARGET__TARGET_LAUNCHED;
                break;
        case ARGOSY__VERB__VERB_LOAD:
                to.target = MAX_OF(before->target, ARGOSY__TARGET__TARGET_LOADED);
                break;
        case ARGOSY__VERB__VERB_STOP:
                to.target = ARGOSY__TARGET__TARGET_LOADED;
                break;
        case ARGOSY__VERB__VERB_DESTROY:
                return (ModelSeen){};
        default:
                break;
        }
        return to;
}

static bool names(const ModelAsk *a, size_t unit, size_t *ret) {
        for (size_t i = 0; i < a->n_units; i++)
                if (a->units[i] == unit) {
                        *ret = i;
                        return true;
                }
        return false;
}

// ------------------------------------------------------------------------------------------------ ends

enum { MAY_OK = 1, MAY_FAIL = 2, MAY_BE_OVERTAKEN = 4 };

static unsigned ends_of(const Model *m, const ModelAsk *a, size_t i) {
        ModelUnitKind kind = model_units[a->units[i]].kind;
        bool starts = a->verb == ARGOSY__VERB__VERB_START || a->verb == ARGOSY__VERB__VERB_RESTART;
        unsigned ends = MAY_OK;

        if (a->same[i] && !a->unsure[i])
                return 0;
        if (a->refused[i])
                return a->unsure[i] ? MAY_OK | MAY_FAIL | MAY_BE_OVERTAKEN : a->was_held ? MAY_FAIL : 0;
        if (kind == UNIT_BAD && starts)
                ends = MAY_FAIL;
        // it may still run there
        if (kind == UNIT_PINNED || (m->has_lost_hosts && !model_brings_file(a->verb)))
                ends = MAY_OK | MAY_FAIL;
        if (a->unsure[i])
                ends |= MAY_OK | MAY_FAIL;
        return ends | (a->taken[i] ? MAY_BE_OVERTAKEN : 0);
}

static bool may_end(const Model *m, const ModelAsk *a, Argosy__JobState state) {
        bool must_fail = false, can_fail = a->broken, can_ok = a->n_units == 0, can_lose = a->n_units > 0;

        for (size_t i = 0; i < a->n_units; i++) {
                unsigned ends = ends_of(m, a, i);

                if (ends == 0) // it was told so, and is not among the job's
                        continue;
                must_fail |= ends == MAY_FAIL;
                can_fail |= (ends & MAY_FAIL) != 0;
                can_ok |= (ends & MAY_OK) != 0;
                can_lose &= (ends & MAY_BE_OVERTAKEN) != 0;
        }
        switch (state) {
        case DONE:
                return !must_fail && can_ok && !a->called_off;
        case FAILED:
                return can_fail;
        case OVERTAKEN:
                return can_lose && !a->called_off;
        case CANCELLED:
                return a->called_off && !must_fail;
        default:
                return false;
        }
}

// ------------------------------------------------------------------------------------------------ an entry

typedef struct Entry {
        size_t begun[MODEL_RULES_MAX]; // jobs, by the rule that counts them
        ModelAsk *beginning[MODEL_ASKS_MAX], *coming[MODEL_ASKS_MAX]; // coming: with a new number
        size_t n_beginning, n_coming;
} Entry;

static void bind_job(Model *m, uint64_t number, Entry *e) {
        for (size_t i = 0; i < m->n_asks; i++) {
                ModelAsk *a = &m->asks[i];
                RequestKey key;

                if (!cluster_state_find_key(m->rig->state, (const uint8_t *) a->id, &key) ||
                    key.job != number)
                        continue;
                if (a->job > 0)
                        fail_job(m, a, "it is job %" PRIu64 " as well", number);
                a->job = number;
                e->coming[e->n_coming++] = a;
                return;
        }
        fail_msg("seed %u: nobody asked for job %" PRIu64, m->seed, number);
}

static void note_begin(Model *m, ModelAsk *a, uint32_t rule, Entry *e) {
        e->beginning[e->n_beginning++] = a;
        a->limited_by = model_is_limit(m, rule) ? rule : 0;
        for (size_t i = 0; i < m->n_rules && a->limited_by > 0; i++)
                e->begun[i] += m->rules[i].number == rule;
}

// Together with what waits for it, which comes first, and with what may go and has its place, though its
// author has not had his turn. As long as the log has no room that is not known.
static bool is_spoken_for(const Model *m, uint32_t rule, const Entry *e) {
        size_t n = model_n_running(m, rule) + model_n_waiting(m, rule);

        if (model_is_limit(m, rule) && m->rig->leader->n_held_going > 0)
                return true;
        if (model_is_limit(m, rule) && m->rig->leader->pause_us > 0 &&
            m->rig->leader->pause_us >= m->rig->now_us)
                return true;
        return model_is_limit(m, rule) &&
               n + e->begun[model_rule_find(m, rule) - m->rules] >= model_rule_find(m, rule)->limit;
}

static void judge_new(Model *m, ModelAsk *a, Argosy__JobState now, Entry *e) {
        uint32_t rule;
        ModelVerdict v = model_judge_all_but_limits(m, a, true, &rule);

        if (v == GOES && a->queue && model_is_beside_update(m, a))
                v = BEHIND;
        if (model_is_forbidden(m, a))
                fail_job(m, a, "its author may not ask for that");
        if (v == REFUSED || v == OVER)
                fail_job(m, a, "it is %s, and there is a job all the same", model_text_of(v));
        if (now == HELD) {
                if (v == GOES && !is_spoken_for(m, rule, e))
                        fail_job(m, a, "it is held by nothing");
                a->by_hand = a->hold;
                a->awaits = a->was_held = true;
                m->n_held++;
                return;
        }
        if (v != GOES)
                fail_job(m, a, "it begins in spite of %s", model_text_of(v));
        note_begin(m, a, rule, e);
}

static bool changes_nothing(const Model *m, const ModelAsk *a) {
        if (a->kind == ASK_ACCESS)
                return m->alice_may == !a->revokes;
        for (size_t i = 0; i < a->n_units; i++) {
                const ModelSeen *u = &m->seen[a->units[i]];
                ModelSeen to = expected(a->verb, u);

                if (model_units[a->units[i]].kind == UNIT_MANY)
                        return false;
                if (is_refused(m, a->verb, a->units[i]))
                        continue;
                if (a->verb != ARGOSY__VERB__VERB_LOAD && a->verb != ARGOSY__VERB__VERB_SUBMIT)
                        return false;
                if (!u->exists || to.target != u->target)
                        return false;
        }
        return a->n_units > 0;
}

static void note_moment(Model *m, ModelAsk *a) {
        uint32_t rule;
        ModelVerdict v = model_judge_all_but_limits(m, a, false, &rule);

        a->could_go |= v == GOES;
        a->was_over |= v == OVER;
        a->was_refused |= v == REFUSED;
        a->was_stale |= model_is_stale(m, a);
        a->was_forbidden |= model_is_forbidden(m, a);
        a->was_beside |= model_is_beside_update(m, a);
}

static bool is_cancelled_by(const Entry *e, const ModelAsk *a) {
        for (size_t i = 0; i < e->n_coming; i++)
                if (e->coming[i]->kind == ASK_CANCEL && e->coming[i]->target == a->job)
                        return true;
        return false;
}

static bool has_effect(const Model *m, const ModelAsk *a) {
        Argosy__JobRecord *r;

        if (a->kind == ASK_ACCESS) // which no record of a job names
                return cluster_state_access_revision(m->rig->state) != m->access_revision;
        assert_int_equal(cluster_state_read_job(m->rig->state, a->job, &r), 0);
        bool has = r->n_units > 0 || r->n_settings > 0;
        message_free(r);
        return has;
}

static void judge_held(Model *m, ModelAsk *a, Argosy__JobState now, Entry *e) {
        uint32_t rule;
        ModelVerdict v = model_judge_all_but_limits(m, a, false, &rule);

        if (now == CANCELLED) {
                if (!is_cancelled_by(e, a) && !a->was_over && !a->was_refused &&
                    !(a->could_go &&
                      (a->was_stale || a->was_forbidden || a->was_beside || a->kind == ASK_ACCESS)))
                        fail_job(m, a, "it is cancelled, and nobody knows why");
                m->n_over += a->was_over;
                m->n_cancelled++;
                return;
        }
        if (is_cancelled_by(e, a))
                fail_job(m, a, "it was cancelled, and is in state %d", now);
        if (now != RUNNING && !has_effect(m, a)) { // it had no effect, and ends for an earlier entry
                if (!a->could_go)
                        fail_job(m, a, "it has ended in spite of %s", model_text_of(v));
                return;
        }
        if (v != GOES || model_is_beside_update(m, a))
                fail_job(m, a, "it begins in spite of %s", model_text_of(v != GOES ? v : BEHIND));
        if (model_is_forbidden(m, a) || model_is_stale(m, a))
                fail_job(m, a, "it begins, and was to be refused");
        a->stands_behind = false;
        m->n_went++;
        note_begin(m, a, rule, e);
}

static void check_limits(Model *m, const Entry *e) {
        for (size_t i = 0; i < m->n_rules; i++) {
                const ModelRule *r = &m->rules[i];

                if (model_is_limit(m, r->number) && e->begun[i] > 0 &&
                    model_n_running(m, r->number) + e->begun[i] > r->limit)
                        fail_msg("seed %u: rule %u has %zu jobs and %zu more, and lets %u run", m->seed,
                                 r->number, model_n_running(m, r->number), e->begun[i], r->limit);
        }
}

static bool begins(const Entry *e, const ModelAsk *a) {
        for (size_t i = 0; i < e->n_beginning; i++)
                if (e->beginning[i] == a)
                        return true;
        return false;
}

static bool has_room(const Model *m, const Entry *e, uint32_t rule) {
        const ModelRule *r = model_rule_find(m, rule);

        return model_n_running(m, rule) + e->begun[r - m->rules] < r->limit;
}

// Of those that have waited, and of them and what comes. Two of one unit are two entries.
static void check_order(Model *m, const Entry *e, const Argosy__JobState *now) {
        for (size_t k = 0; k < e->n_beginning; k++)
                for (size_t i = 0; i < m->n_asks && e->beginning[k]->limited_by > 0; i++) {
                        const ModelAsk *a = &m->asks[i], *b = e->beginning[k];
                        uint32_t rule;

                        if (a->waited && a->state == HELD && now[i] == HELD && !begins(e, a) &&
                            a->job < b->job && model_judge_all_but_limits(m, a, false, &rule) == GOES &&
                            rule == b->limited_by && !model_is_forbidden(m, a) && !model_is_stale(m, a) &&
                            !changes_nothing(m, a) && !(a->queue && model_is_another_update_running(m, a)) &&
                            !has_room(m, e, rule))
                                fail_job(m, b, "it passes job %" PRIu64 ", which has waited for rule %u",
                                         a->job, rule);
                }
}

static void check_units(Model *m, const Entry *e) {
        for (size_t u = 0; u < MODEL_UNITS; u++) {
                const ModelAsk *by = NULL;
                ModelSeen now = model_look(m, u), to;
                unsigned n = 0;
                size_t at = 0;

                for (size_t i = 0; i < e->n_beginning; i++)
                        if (names(e->beginning[i], u, &at) && !is_refused(m, e->beginning[i]->verb, u) &&
                            ++n)
                                by = e->beginning[i];
                for (size_t i = 0; i < e->n_coming; i++) {
                        ModelAsk *target = e->coming[i]->kind == ASK_CANCEL
                                                   ? model_job_find(m, e->coming[i]->target)
                                                   : NULL;

                        n += target && target->state == RUNNING && names(target, u, &at) ? 2 : 0;
                }
                if (n == 0 && !is_as_before(&now, &m->seen[u]) && model_units[u].kind != UNIT_MANY) {
                        bool called_off = false;

                        for (size_t i = 0; i < m->n_asks; i++)
                                called_off |= m->asks[i].called_off && names(&m->asks[i], u, &at);
                        if (!called_off)
                                fail_msg("seed %u: nobody has changed %s, and it is another one", m->seed,
                                         model_units[u].name);
                }
                if (n == 1 && by->kind == ASK_CHANGE) {
                        to = expected(by->verb, &m->seen[u]);
                        if (now.exists != to.exists || now.target != to.target)
                                fail_job(m, by, "%s is in state %d, not %d", model_units[u].name, now.target,
                                         to.target);
                }
        }
}

// What begins has its units from now on, and those that had them have lost them.
static void take_units(Model *m, ModelAsk *a, const Entry *e) {
        for (size_t i = 0; i < a->n_units; i++) {
                size_t at;

                a->refused[i] = is_refused(m, a->verb, a->units[i]);
                a->same[i] = a->verb == ARGOSY__VERB__VERB_LOAD &&
                             m->seen[a->units[i]].target >= ARGOSY__TARGET__TARGET_LOADED;
                for (size_t k = 0; k < e->n_beginning; k++)
                        a->unsure[i] |= e->beginning[k] != a && names(e->beginning[k], a->units[i], &at);
                a->taken[i] |= a->unsure[i];
                for (size_t k = 0; k < m->n_asks && (!(a->refused[i] || a->same[i]) || a->unsure[i]); k++)
                        if (&m->asks[k] != a && (m->asks[k].state == RUNNING || m->asks[k].state == HELD) &&
                            !begins(e, &m->asks[k]) && names(&m->asks[k], a->units[i], &at))
                                m->asks[k].taken[at] |= m->asks[k].state == RUNNING;
        }
}

static void add_rule(Model *m, const ModelAsk *a) {
        size_t at = m->n_rules;

        for (size_t i = 0; a->number > 0 && i < m->n_rules; i++)
                if (m->rules[i].number == a->number)
                        at = i;
        memmove(&m->rules[at + 1], &m->rules[at], (m->n_rules++ - at) * sizeof(*m->rules));
        m->rules[at] = a->rule;
        m->rules[at].number = ++m->last_rule;
}

static void delete_rule(Model *m, uint32_t number) {
        for (size_t i = 0; i < m->n_rules; i++)
                if (m->rules[i].number == number) {
                        memmove(&m->rules[i], &m->rules[i + 1], (--m->n_rules - i) * sizeof(*m->rules));
                        return;
                }
}

static void follow(Model *m, const ModelAsk *a) {
        ModelAsk *target = model_job_find(m, a->target);

        if (a->kind == ASK_ACCESS)
                m->alice_may = !a->revokes;
        else if (a->kind == ASK_RULE_ADD)
                add_rule(m, a);
        else if (a->kind == ASK_RULE_DELETE)
                delete_rule(m, a->number);
        else if (a->kind == ASK_CLOSE || a->kind == ASK_OPEN)
                m->closed = a->kind == ASK_CLOSE;
        else if (a->kind == ASK_RELEASE && target) {
                target->by_hand = target->awaits = false;
                target->past_rules |= a->author == ROOT;
        } else if (a->kind == ASK_CANCEL && target && target->state == RUNNING)
                target->called_off = true;
}

static bool is_updating(const Model *m) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(m->rig->state, "w@.service");

        return r && rollout_is_under_way(r);
}

static void check_rules(const Model *m) {
        const Argosy__QueueRecord *queue = cluster_state_queue(m->rig->state);
        bool same = queue->n_rules == m->n_rules && queue->closed == m->closed;

        for (size_t i = 0; same && i < m->n_rules; i++)
                same = queue->rules[i]->number == m->rules[i].number;
        if (!same)
                fail_msg("seed %u: the rules are others than were asked for", m->seed);
}

static void judge(Model *m, ModelAsk *a, Argosy__JobState now, bool is_new, Entry *e) {
        if (is_new)
                judge_new(m, a, now, e);
        else if (a->state == HELD && now != HELD)
                judge_held(m, a, now, e);
        else if (a->state != now && a->state != RUNNING)
                fail_job(m, a, "it was over, in state %d, and is in state %d", a->state, now);
        else if (a->state != now && !may_end(m, a, now))
                fail_job(m, a, "it cannot end in state %d", now);
}

void model_on_entry(Model *m) {
        uint64_t last = cluster_state_last_job(m->rig->state);
        Argosy__JobState now[MODEL_ASKS_MAX];
        Entry e = {};

        for (size_t i = 0; i < m->n_asks; i++)
                if (m->asks[i].state == HELD)
                        note_moment(m, &m->asks[i]);
        for (uint64_t n = m->last_job + 1; n <= last; n++)
                if (!rig_job_is_own(m->rig, n))
                        bind_job(m, n, &e);
        for (size_t i = 0; i < m->n_asks; i++) {
                ModelAsk *a = &m->asks[i];

                now[i] = a->job > 0 ? cluster_state_job_state(m->rig->state, a->job) : UNKNOWN;
                if (a->job > 0 && a->job <= m->last_job)
                        judge(m, a, now[i], false, &e);
        }
        // in the order of their numbers: authors have turns, so that is not the one in which they asked
        for (size_t i = 0; i < e.n_coming; i++)
                judge(m, e.coming[i], cluster_state_job_state(m->rig->state, e.coming[i]->job), true, &e);
        check_limits(m, &e);
        check_order(m, &e, now);
        check_units(m, &e);
        for (size_t i = 0; i < e.n_beginning; i++)
                take_units(m, e.beginning[i], &e);
        for (size_t i = 0; i < e.n_beginning; i++)
                follow(m, e.beginning[i]);
        for (size_t i = 0; i < m->n_asks; i++) {
                m->n_ended[now[i]] += m->asks[i].state != now[i];
                m->asks[i].state = now[i];
        }
        for (size_t u = 0; u < MODEL_UNITS; u++)
                m->seen[u] = model_look(m, u);
        m->is_updating = is_updating(m);
        m->access_revision = cluster_state_access_revision(m->rig->state);
        m->last_job = last;
        check_rules(m);
}
