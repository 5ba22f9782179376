// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See queue-model.h. Which rule counts for a request, what holds it, and what is to be so when everything
// has settled. What an entry of the log may bring is in queue-model-entries.c. A failure says the seed of
// its life, and the job.

#include "printed.h"
#include "queue-model-private.h"

#include <errno.h>
#include <inttypes.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"

const ModelUnit model_units[MODEL_UNITS] = {
        {"a.service", "", UNIT_GOOD},     {"b.service", "", UNIT_GOOD},
        {"c.service", "", UNIT_GOOD},     {"d.service", "", UNIT_GOOD},
        {"db1.service", "db", UNIT_GOOD}, {"db2.service", "db", UNIT_GOOD},
        {"bad.service", "", UNIT_BAD},    {"never.service", "", UNIT_NOWHERE},
        {"n3.service", "", UNIT_PINNED},  {"m@0.service", "", UNIT_MANY},
};

static const char *const users[MODEL_AUTHORS] = {"root", "alice", "carol"};

const char *model_verb_of(const ModelAsk *a) {
        static const char *const verbs[] = {"",     "submit",  "load",   "start",
                                            "stop", "restart", "unload", "destroy"};
        static const char *const kinds[] = {"",
                                            "label",
                                            "",
                                            "update",
                                            "queue rule add",
                                            "queue rule delete",
                                            "queue close",
                                            "queue open",
                                            "job release",
                                            "job cancel"};

        if (a->kind == ASK_CHANGE)
                return verbs[a->verb];
        return a->kind == ASK_ACCESS ? (a->revokes ? "access revoke" : "access grant") : kinds[a->kind];
}

const char *model_text_of(ModelVerdict v) {
        static const char *const texts[] = {"nothing",          "a person", "a job",
                                            "the closed queue", "a rule",   "a full limit",
                                            "an update",        "refused",  "over"};

        return texts[v];
}

ModelAsk *model_job_find(Model *m, uint64_t number) {
        for (size_t i = 0; i < m->n_asks; i++)
                if (number > 0 && m->asks[i].job == number)
                        return &m->asks[i];
        return NULL;
}

// ------------------------------------------------------------------------------------------------ rules

// "": whatever; X*: what begins so; else the word itself.
static bool fits(const char *pattern, const char *text) {
        size_t len = strlen(pattern);

        if (len > 0 && pattern[len - 1] == '*')
                return strncmp(pattern, text, len - 1) == 0;
        return len == 0 || strcmp(pattern, text) == 0;
}

static bool is_by(const ModelAsk *a, const char *pattern) {
        return fits(pattern, users[a->author]) ||
               fits(pattern, printed("%s@%s", users[a->author], a->author == ROOT ? "n1" : "n2"));
}

bool model_brings_file(Argosy__Verb verb) {
        return verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD ||
               verb == ARGOSY__VERB__VERB_SUBMIT;
}

static bool rule_fits(const Model *m, const ModelRule *r, const ModelAsk *a) {
        bool unit = !*r->unit, role = !*r->role;

        for (size_t i = 0; i < a->n_units; i++) {
                const ModelUnit *u = &model_units[a->units[i]];

                unit |= fits(r->unit, u->name);
                if (m->seen[a->units[i]].exists || model_brings_file(a->verb)) // else nobody knows its role
                        role |= strcmp(r->role, *u->role ? u->role : "default") == 0;
        }
        if (a->kind == ASK_UPDATE) {
                unit |= fits(r->unit, "w@.service") || fits(r->unit, "w@1.service");
                role |= strcmp(r->role, "default") == 0;
        }
        return unit && role && is_by(a, r->author) && fits(r->verb, model_verb_of(a)) &&
               fits(r->reason, a->reason);
}

static bool is_never_matched(const ModelAsk *a) {
        if (a->kind >= ASK_RULE_ADD)
                return true;
        return a->author == ROOT && a->kind == ASK_CHANGE &&
               (a->verb == ARGOSY__VERB__VERB_STOP || a->verb == ARGOSY__VERB__VERB_DESTROY);
}

static const ModelRule *rule_of(const Model *m, const ModelAsk *a) {
        for (size_t i = 0; i < m->n_rules && !is_never_matched(a) && !a->past_rules; i++)
                if (rule_fits(m, &m->rules[i], a))
                        return &m->rules[i];
        return NULL;
}

const ModelRule *model_rule_find(const Model *m, uint32_t number) {
        for (size_t i = 0; i < m->n_rules; i++)
                if (m->rules[i].number == number)
                        return &m->rules[i];
        return NULL;
}

size_t model_n_running(const Model *m, uint32_t rule) {
        size_t n = 0;

        for (size_t i = 0; i < m->n_asks; i++)
                n += m->asks[i].state == RUNNING && m->asks[i].limited_by == rule;
        return n;
}

// -------------------------------------------------------------------------------------------- what holds it

static Argosy__JobState state_of(const Model *m, uint64_t number) {
        for (size_t i = 0; i < m->n_asks; i++)
                if (m->asks[i].job == number)
                        return m->asks[i].state;
        return UNKNOWN;
}

bool model_is_another_update_running(const Model *m, const ModelAsk *a) {
        for (size_t i = 0; i < m->n_asks; i++)
                if (m->asks[i].kind == ASK_UPDATE && m->asks[i].state == RUNNING && &m->asks[i] != a)
                        return true;
        return false;
}

bool model_is_beside_update(const Model *m, const ModelAsk *a) {
        return a->kind == ASK_UPDATE && m->is_updating && model_is_another_update_running(m, a);
}

bool model_is_forbidden(const Model *m, const ModelAsk *a) {
        return a->author == ALICE && !m->alice_may;
}

bool model_is_stale(const Model *m, const ModelAsk *a) {
        for (size_t i = 0; a->if_revision > 0 && i < a->n_units; i++) {
                const ModelSeen *u = &m->seen[a->units[i]];

                if (!u->exists || u->revision > a->if_revision)
                        return true;
        }
        return false;
}

// But for a limit that is full.
ModelVerdict model_judge_all_but_limits(const Model *m, const ModelAsk *a, bool is_new, uint32_t *ret_rule) {
        bool is_free = is_never_matched(a) || a->past_rules, open = false, over = false;
        const ModelRule *r = rule_of(m, a);
        bool refuses = r && r->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE;

        for (size_t i = 0; i < a->n_after && (is_new || a->awaits); i++) {
                Argosy__JobState state = state_of(m, a->after[i]);

                open |= state == RUNNING || state == HELD;
                over |= state != RUNNING && state != HELD && state != DONE;
        }
        *ret_rule = r ? r->number : 0;
        if (is_new && refuses)
                return REFUSED;
        if (over)
                return OVER;
        if (is_new ? a->hold : a->by_hand)
                return BY_HAND;
        if (open)
                return AFTER;
        if (refuses)
                return REFUSED;
        if (m->closed && !is_free)
                return CLOSED;
        if (r && r->action == ARGOSY__QUEUE_ACTION__QUEUE_HOLD)
                return BY_RULE;
        return GOES;
}

bool model_is_limit(const Model *m, uint32_t number) {
        const ModelRule *r = model_rule_find(m, number);

        return r && r->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT;
}

// Held jobs that nothing but this limit holds.
size_t model_n_waiting(const Model *m, uint32_t rule) {
        size_t n = 0;
        uint32_t own;

        for (size_t i = 0; i < m->n_asks; i++)
                n += m->asks[i].state == HELD && !m->asks[i].stands_behind &&
                     model_judge_all_but_limits(m, &m->asks[i], false, &own) == GOES && own == rule;
        return n;
}

static ModelVerdict judge_all(const Model *m, const ModelAsk *a, bool is_new, uint32_t *ret_rule) {
        ModelVerdict v = model_judge_all_but_limits(m, a, is_new, ret_rule);
        size_t n;

        // Who stands there already is asked for its limit when that job has ended, which may be an entry
        // later.
        if (a->stands_behind && model_is_another_update_running(m, a) && v == GOES)
                return BEHIND;
        if (v == GOES && model_is_limit(m, *ret_rule)) {
                n = model_n_running(m, *ret_rule) + (is_new ? model_n_waiting(m, *ret_rule) : 0);
                if (n >= model_rule_find(m, *ret_rule)->limit)
                        return AT_LIMIT;
        }
        return v == GOES && a->queue && model_is_beside_update(m, a) ? BEHIND : v;
}

ModelSeen model_look(const Model *m, size_t unit) {
        const Argosy__UnitRecord *r = rig_record(m->rig, model_units[unit].name);

        return r ? (ModelSeen){true, r->target, r->revision, r->start_rev, r->restart_rev, r->stop_rev}
                 : (ModelSeen){};
}

// ------------------------------------------------------------------------------------------ between entries

void model_begin(Model *m, Rig *g, unsigned seed) {
        m->rig = g;
        m->seed = seed;
        m->n_asks = m->n_rules = 0;
        m->last_rule = 0;
        m->closed = m->is_updating = m->has_lost_hosts = false;
        m->alice_may = true;
        m->last_job = cluster_state_last_job(g->state);
        m->access_revision = cluster_state_access_revision(g->state);
        for (size_t u = 0; u < MODEL_UNITS; u++)
                m->seen[u] = model_look(m, u);
}

// Nobody goes on with what it has a part of, but for one that is kept whole, or if it is asked for again.
void model_on_leader(Model *m) {
        for (size_t i = 0; i < m->n_asks; i++) {
                ModelAsk *a = &m->asks[i];

                if (a->job == 0 || a->broken || !cluster_state_job_is_partial(m->rig->state, a->job))
                        continue;
                a->broken = true;
                m->n_broken++;
        }
}

static const char *word_of(ModelVerdict v, uint32_t rule, char ret[64]) {
        switch (v) {
        case BY_HAND:
                return "release";
        case AFTER:
                return "job ";
        case CLOSED:
                return "the queue to open";
        case BY_RULE:
                snprintf(ret, 64, "rule %u of the queue to let it go", rule);
                return ret;
        case AT_LIMIT:
                snprintf(ret, 64, "jobs of rule %u of the queue to end", rule);
                return ret;
        case BEHIND:
                return "beside which";
        default:
                return "?";
        }
}

static void check_held(Model *m, ModelAsk *a) {
        const Argosy__Response__JobRow *row = rig_show_job(m->rig, a->job);
        uint32_t rule;
        char word[64];

        a->stands_behind = strstr(row->held_by, "beside which") != NULL;
        ModelVerdict v = judge_all(m, a, false, &rule);
        if (v == GOES || v == REFUSED || v == OVER)
                fail_job(m, a, "it is held, and by %s", model_text_of(v));
        if (!strstr(row->held_by, word_of(v, rule, word)))
                fail_job(m, a, "it waits for %s %u, and is said to wait for %s", model_text_of(v), rule,
                         row->held_by);
        a->waited = v == AT_LIMIT;
        m->n_limited += a->waited;
        a->could_go = a->was_stale = a->was_forbidden = a->was_beside = a->was_over = a->was_refused = false;
}

static void check_counts(Model *m) {
        Argosy__Request__QueueList list = ARGOSY__REQUEST__QUEUE_LIST__INIT;
        const Argosy__Author *asks = m->rig->author;
        const Argosy__Response__Queue *queue;

        m->rig->author = NULL;
        queue = rig_last(rig_ask(m->rig, A_REQUEST(QUEUE_LIST, queue_list, &list)))->queue;
        m->rig->author = asks;
        for (size_t i = 0; i < m->n_rules; i++) {
                size_t held = 0;

                for (size_t k = 0; k < m->n_asks; k++) {
                        uint32_t rule;
                        ModelVerdict v =
                                m->asks[k].state == HELD ? judge_all(m, &m->asks[k], false, &rule) : GOES;

                        held += (v == BY_RULE || v == AT_LIMIT) && rule == m->rules[i].number;
                }
                if (queue->rows[i]->running != model_n_running(m, m->rules[i].number) ||
                    queue->rows[i]->held != held)
                        fail_msg("seed %u: rule %u counts %u and holds %u, not %zu and %zu", m->seed,
                                 m->rules[i].number, queue->rows[i]->running, queue->rows[i]->held,
                                 model_n_running(m, m->rules[i].number), held);
        }
}

// 0: it is taken.
static int32_t foretold_status(const Model *m, const ModelAsk *a) {
        if (a->kind >= ASK_RULE_ADD)
                return -1; // whatever it says
        if (model_is_forbidden(m, a))
                return EACCES;
        if (model_is_stale(m, a))
                return ESTALE;
        if (a->expected == REFUSED)
                return EPERM;
        if (a->expected == OVER)
                return ECANCELED;
        return a->expected == GOES && model_is_beside_update(m, a) ? EEXIST : 0;
}

void model_foretell(const Model *m, ModelAsk *a) {
        uint32_t rule;

        a->expected = a->kind < ASK_RULE_ADD ? judge_all(m, a, true, &rule) : GOES;
        a->expected_text = a->expected == REFUSED ? model_rule_find(m, rule)->text : NULL;
        a->expected_status = foretold_status(m, a);
}

static void check_foretold(Model *m, ModelAsk *a, const Argosy__Response *r) {
        int32_t status = a->expected_status;

        if (status >= 0 && r->status != status)
                fail_job(m, a, "the answer is %d and not %d: %s", r->status, status, r->message);
        if (status == EPERM && !strstr(r->message, a->expected_text))
                fail_job(m, a, "it is refused by another rule: %s", r->message);
        if (r->status == 0 && r->held != (a->expected != GOES))
                fail_job(m, a, "%s holds it, and it is %sheld: %s", model_text_of(a->expected),
                         r->held ? "" : "not ", r->message);
        m->n_refused += status == EPERM;
}

static void note_answer(Model *m, ModelAsk *a) {
        if (a->noted || !a->answer || !a->answer->final)
                return;
        const Argosy__Response *r = rig_last(a->answer);
        a->noted = true;
        if (r->status == 0 && r->job > 0 && r->job != a->job)
                fail_job(m, a, "it was acknowledged as job %" PRIu64, r->job);
        if (r->status == 0 && r->held && a->job == 0)
                fail_job(m, a, "it was held, and there is no such job");
        if (a->foretold)
                check_foretold(m, a, r);
}

void model_on_settled(Model *m) {
        for (size_t i = 0; i < m->n_asks; i++)
                note_answer(m, &m->asks[i]);
        for (size_t i = 0; i < m->n_asks; i++)
                if (m->asks[i].state == HELD)
                        check_held(m, &m->asks[i]);
        check_counts(m);
}

void model_on_calm(Model *m) {
        for (size_t i = 0; i < m->n_asks; i++)
                if (m->asks[i].state == RUNNING && m->asks[i].kind != ASK_UPDATE)
                        fail_job(m, &m->asks[i], "it does not end");
        for (size_t u = 0; u < MODEL_UNITS; u++) {
                bool runs = m->seen[u].exists && m->seen[u].target == ARGOSY__TARGET__TARGET_LAUNCHED;
                ModelUnitKind kind = model_units[u].kind;

                if (rig_count_running(m->rig, model_units[u].name) != (runs && kind != UNIT_BAD))
                        fail_msg("seed %u: %s runs on %u hosts", m->seed, model_units[u].name,
                                 rig_count_running(m->rig, model_units[u].name));
        }
}
