// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A trial (trials.c): the same is asked in two processes, by two ways between which nothing should differ
// but how much work it is. What is answered, what is wanted then, where units are, and what lists and
// reasons say is compared. No rule is worked out here: what one way keeps and the other one does not shows.
//
//      the plain way   everything at one moment, of the leader as it is
//      another way     with small limits, or the usual ones; planned before; asked twice; held, and let go;
//                      by somebody who has each right; while others look; while the log takes its time, or
//                      what hosts say; with orders that are lost; of another leader, or one who goes in the
//                      midst of it; when time has passed; when all hosts have attached anew; with each step
//                      of each turn; for each unit by itself; once more when it has come to be
//
// Says nothing where something goes on by itself, on either way.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks-private.h"
#include "checks-private.h"
#include "leader-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "test.h"
#include "trials.h"

enum { ASKED_MAX = 4, TEXT_MAX = 4 << 20 };

typedef enum Way {
        WAY_PLAIN,
        WAY_LIMITS,   // how much a turn does, and an entry holds
        WAY_PLANNED,  // it is planned before
        WAY_TWICE,    // each is asked again at once, and in the end
        WAY_LOOKS,    // others look, wait and watch meanwhile
        WAY_SLOW,     // the log takes its time
        WAY_NEXT,     // another leader is asked
        WAY_MIDST,    // and another one goes on with it
        WAY_LATER,    // much time has passed
        WAY_ATTACHED, // all hosts have told everything anew
        WAY_HELD,     // it is held, and let go
        WAY_ALICE,    // somebody asks who has each right
        WAY_TOKEN,    // or a token that gives it
        WAY_DELAYED,  // what hosts say takes its time
        WAY_FULL,     // hosts take nothing for some time
        WAY_LOST,     // what they are told is lost, and told anew
        WAY_DUE,      // each step of each turn is called, whether that has work or not
        WAY_LEADERS,  // leaders come and go, and each goes on with it
        WAY_SPLIT,    // a change of several units is one of each
        WAY_AGAIN,    // the same is asked for once more, by other requests, when it has come to be
        _WAYS,
} Way;

static const struct {
        const char *words;
        unsigned weight;
} ways[_WAYS] = {
        [WAY_PLAIN] = {"at once", 0},
        [WAY_LIMITS] = {"with other limits", 6},
        [WAY_PLANNED] = {"planned before", 2},
        [WAY_TWICE] = {"asked twice", 2},
        [WAY_LOOKS] = {"while others look", 1},
        [WAY_SLOW] = {"by a slow log", 1},
        [WAY_NEXT] = {"by another leader", 3},
        [WAY_MIDST] = {"by two leaders", 3},
        [WAY_LATER] = {"some time later", 1},
        [WAY_ATTACHED] = {"with hosts that attach anew", 1},
        [WAY_HELD] = {"held and let go", 3},
        [WAY_ALICE] = {"by alice", 1},
        [WAY_TOKEN] = {"by a token", 1},
        [WAY_DELAYED] = {"with slow reports", 1},
        [WAY_FULL] = {"with hosts that take nothing yet", 1},
        [WAY_LOST] = {"with orders that are lost", 2},
        [WAY_DUE] = {"with each step of each turn", 3},
        [WAY_LEADERS] = {"by many leaders", 2},
        [WAY_SPLIT] = {"for each unit by itself", 3},
        [WAY_AGAIN] = {"once more", 3},
};

static struct {
        Way way, other; // other: it, or that with which it is compared
        uint64_t word; // what a way draws
        size_t n, n_let_go;
        Argosy__Request *requests[ASKED_MAX]; // the story's when it is asked
        size_t asked[ASKED_MAX];              // the first of each, in asks.asked
        char *text; // of the other way; empty: it says nothing
} trial;

// -------------------------------------------------------------------------------------------- what is asked

static bool no_plan(Argosy__Request *q) {
        return false;
}

static bool plan_change(Argosy__Request *q) {
        q->change->preview = true;
        return true;
}

static bool plan_undo(Argosy__Request *q) {
        q->undo->preview = true;
        return true;
}

static bool plan_rebalance(Argosy__Request *q) {
        q->rebalance->preview = true;
        return !q->rebalance->abort;
}

static const struct Kind {
        Argosy__Request__WhatCase what;
        bool (*make)(Draw *d, void *message);
        bool (*plan)(Argosy__Request *q); // makes a plan of it; false: there is none of such
        unsigned weight;
} kinds[] = {
        {ARGOSY__REQUEST__WHAT_CHANGE, ask_change, plan_change, 8},
        {ARGOSY__REQUEST__WHAT_CHANGE, ask_change_several, plan_change, 8},
        {ARGOSY__REQUEST__WHAT_CHANGE, ask_change_crowd, plan_change, 2},
        {ARGOSY__REQUEST__WHAT_APPLY, ask_apply, no_plan, 4},
        {ARGOSY__REQUEST__WHAT_UNDO, ask_undo, plan_undo, 5},
        {ARGOSY__REQUEST__WHAT_ROLLOUT, ask_rollout, no_plan, 4},
        {ARGOSY__REQUEST__WHAT_REBALANCE, ask_rebalance, plan_rebalance, 2},
        {ARGOSY__REQUEST__WHAT_NODE_CHANGE, ask_node_change, no_plan, 3},
        {ARGOSY__REQUEST__WHAT_NODE_CHANGE, ask_node_change_several, no_plan, 1},
        {ARGOSY__REQUEST__WHAT_LABEL_CHANGE, ask_label_change, no_plan, 3},
        {ARGOSY__REQUEST__WHAT_ROLE_CHANGE, ask_role_change, no_plan, 2},
        {ARGOSY__REQUEST__WHAT_POOL_CHANGE, ask_pool_change, no_plan, 2},
        {ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ask_queue_change, no_plan, 2},
        {ARGOSY__REQUEST__WHAT_ACCESS_CHANGE, ask_access_change, no_plan, 2},
        {ARGOSY__REQUEST__WHAT_TOKEN_REVOKE, ask_token_revoke, no_plan, 1},
        {ARGOSY__REQUEST__WHAT_SECRET_SET, ask_secret_set, no_plan, 3},
        {ARGOSY__REQUEST__WHAT_SECRET_DELETE, ask_secret_delete, no_plan, 1},
        {ARGOSY__REQUEST__WHAT_FORGET, ask_forget, no_plan, 1},
        {ARGOSY__REQUEST__WHAT_JOB_RELEASE, ask_job_release, no_plan, 1},
        {ARGOSY__REQUEST__WHAT_JOB_CANCEL, ask_job_cancel, no_plan, 1},
};

static const struct Kind *draw_kind(Draw *d) {
        unsigned weights[ELEMENTSOF(kinds)];

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                weights[i] = kinds[i].weight;
        return &kinds[draw_weighted(d, weights, ELEMENTSOF(kinds))];
}

// A folder is planned, and what follows goes on from that.
static void plan_folder(Draw *d) {
        Argosy__Request *q = asks_make(d, ARGOSY__REQUEST__WHAT_APPLY, ask_apply);

        if (q && q->apply->preview)
                (void) trials_ask(q);
        else
                message_free(q);
}

// What is asked together comes to one entry; what does not may be overtaken by what follows, or not.
static bool keeps_entries(Way way) {
        return way == WAY_PLANNED || way == WAY_LOOKS || way == WAY_NEXT || way == WAY_LATER ||
               way == WAY_ATTACHED || way == WAY_ALICE || way == WAY_TOKEN || way == WAY_DUE;
}

// Most often all of them are about the same few units.
static void draw_requests(Draw *d) {
        size_t n = 1 + (keeps_entries(trial.other) && draw_one_in(d, 2) ? draw_below(d, ASKED_MAX) : 0);

        trial.n = 0;
        if (draw_below(d, 4) > 0) {
                asks.focus_first = draw_below(d, (unsigned) asks.n_units);
                asks.focus_n = MIN_OF(1 + draw_below(d, 3), (unsigned) asks.n_units);
        }
        for (size_t i = 0; i < n; i++) {
                const struct Kind *kind = draw_kind(d);
                Argosy__Request *q;

                if (kind->what == ARGOSY__REQUEST__WHAT_APPLY)
                        plan_folder(d);
                q = asks_make(d, kind->what, kind->make);
                if (q)
                        trial.requests[trial.n++] = q;
        }
        asks.focus_n = 0;
}

// ----------------------------------------------------------------------------------------- what comes of it

static void add(Buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(Buf *b, const char *format, ...) {
        char line[768];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        assert_int_equal(buf_printf(b, "%s\n", line), 0);
}

// What is said at first is not all said again, by another leader, or to others; some ways have jobs of their
// own, and how far a job has come when something overtakes it is another thing where that takes its time.
static bool says_less(Way way) {
        return !(way == WAY_LIMITS || way == WAY_PLANNED || way == WAY_LOOKS || way == WAY_LATER ||
                 way == WAY_ATTACHED || way == WAY_DUE);
}

// Who asks again is told how each unit has ended since.
static bool is_asked_again(Way way) {
        return way == WAY_TWICE || way == WAY_MIDST || way == WAY_LEADERS;
}

static char *read_result(size_t i, const Argosy__Response__UnitResult *u, bool words) {
        char *line = NULL;

        assert_true(asprintf(&line,
                             "%zu: %s %d '%s' on '%s' from '%s' for '%s' verb %d, refusals %zu, may run %zu",
                             i, u->name, u->status, words ? u->message : "", words ? u->node : "", u->from,
                             u->because_of, (int) u->verb, words ? u->n_refusals : 0,
                             words ? u->n_may_run_on : 0) > 0);
        return line;
}

static int by_text(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

// In any order: parts have one of their own.
static void add_results(Buf *b, size_t i, const Argosy__Response__Change *c, bool words) {
        char **lines = calloc(c->n_units + 1, sizeof(*lines));

        assert_non_null(lines);
        for (size_t k = 0; k < c->n_units; k++)
                lines[k] = read_result(i, c->units[k], words);
        qsort(lines, c->n_units, sizeof(*lines), by_text);
        for (size_t k = 0; k < c->n_units; k++) {
                add(b, "%s", lines[k]);
                free(lines[k]);
        }
        free(lines);
}

static void add_answer(Buf *b, size_t i, bool less) {
        const WorldAsked *a = &asks.asked[trial.asked[i]];
        const Argosy__Response *r = asks_last_response(a);

        if (!r) {
                add(b, "%zu: no answer, %d", i, a->answer->error);
                return;
        }
        add(b, "%zu: %d held %d '%s'", i, r->status, r->held, less ? "" : r->message);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && !is_asked_again(trial.other))
                add_results(b, i, r->change, !less);
}

// To be freed; NULL: it says nothing. `less`: nothing of what only one of two ways can say.
static char *read_all(bool less) {
        _cleanup_free_ char *wishes = trials_wishes(), *said = next_said(less);
        Buf b = {};

        // who is held is told that alone
        for (size_t i = 0; i < trial.n && trial.other != WAY_HELD && trial.other != WAY_SPLIT; i++)
                add_answer(&b, i, less);
        assert_int_equal(buf_printf(&b, "%s", wishes), 0);
        for (unsigned i = 0; i < asks.n_units; i++)
                add(&b, "place of %s: '%s'", asks.units[i].name, trials_place_of(i));
        assert_int_equal(buf_printf(&b, "%s", said), 0);
        return buf_take_string(&b);
}

// ------------------------------------------------------------------------------------------------- the ways

// Those that say how much one answer holds, is kept, or taken on, are no matter of how it is done.
static bool is_of_answers(const char *limit) {
        static const char *const names[] = {"listing_turns", "jobs_looked", "job_units_listed"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(limit, names[i]))
                        return true;
        return false;
}

static bool are_usual(void) {
        for (size_t i = 0; i < swarm_n_limits; i++)
                if (*swarm_limit(&asks.swarm.limits, i) > 0)
                        return false;
        return true;
}

static void set_limits(Draw *d) {
        static const char first_kept[] = "events_gone";
        LeaderLimits *limits = &world.rig.leader->limits;
        unsigned of_16 = 1u << draw_below(d, 5);
        bool usual = !are_usual() && draw_one_in(d, 2);

        for (size_t i = 0; i < swarm_n_limits && !streq(swarm_limits_table[i].name, first_kept); i++) {
                const SwarmLimit *limit = &swarm_limits_table[i];

                if (is_of_answers(limit->name))
                        continue;
                if (usual)
                        *swarm_limit(limits, i) = limit->usual;
                else if (draw_below(d, 16) < of_16)
                        *swarm_limit(limits, i) =
                                (unsigned) draw_log(d, MAX_OF(limit->least, 1u), MAX_OF(limit->least, 4u));
        }
}

static void plan_all(void) {
        for (size_t i = 0; i < trial.n; i++) {
                Argosy__Request *q = message_copy(trial.requests[i]);
                uint64_t id[2] = {++asks.n_ids, 29};

                assert_non_null(q);
                for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                        if (kinds[k].what == q->what_case) {
                                if (q->job && kinds[k].plan(q)) {
                                        memcpy(q->job->id.data, id, sizeof(id));
                                        (void) trials_ask(q);
                                        q = NULL;
                                }
                                break;
                        }
                if (q)
                        message_free(q);
        }
        trials_pass();
}

static void lead_anew(void) {
        rig_depose(&world.rig);
        rig_elect(&world.rig);
        trials_pass();
}

static void attach_anew(Draw *d) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                rig_host(&world.rig, i)->linked = draw_one_in(d, 4);
        trials_pass();
}

static void grant(void) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__AccessChange m = ARGOSY__REQUEST__ACCESS_CHANGE__INIT;

        request.what_case = ARGOSY__REQUEST__WHAT_ACCESS_CHANGE;
        request.access_change = &m;
        m.right = ARGOSY__RIGHT__RIGHT_ADMIN;
        m.user = (char *) world_authors[AUTHOR_ALICE];
        (void) trials_ask(message_copy(&request));
}

static void make_token(Draw *d) {
        Argosy__Request *q = asks_make(d, ARGOSY__REQUEST__WHAT_TOKEN_CREATE, ask_token_create);

        assert_non_null(q);
        strcpy(q->token_create->name, "t"); // nobody else's
        q->token_create->right = ARGOSY__RIGHT__RIGHT_ADMIN;
        if (*q->token_create->role)
                *q->token_create->role = 0; // of all units
        q->token_create->ttl_sec = 0;
        (void) trials_ask(q);
}

static void before(Draw *d) {
        switch (trial.way) {
        case WAY_LIMITS:
                set_limits(d);
                break;
        case WAY_PLANNED:
                plan_all();
                break;
        case WAY_NEXT:
                lead_anew();
                break;
        case WAY_LATER:
                rig_pass_ms(&world.rig, (1 + draw_below(d, 8)) * asks.swarm.lease_ms);
                break;
        case WAY_ATTACHED:
                attach_anew(d);
                break;
        case WAY_SLOW:
                world.rig.slow = true;
                break;
        case WAY_DUE:
                world.rig.leader->all_due = true;
                break;
        case WAY_ALICE:
                grant();
                break;
        case WAY_TOKEN:
                make_token(d);
                break;
        case WAY_DELAYED:
        case WAY_FULL:
        case WAY_LOST:
                for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                        rig_host(&world.rig, i)->delayed = trial.way == WAY_DELAYED;
                        rig_host(&world.rig, i)->full = trial.way == WAY_FULL;
                        rig_host(&world.rig, i)->deaf = trial.way == WAY_LOST;
                }
                break;
        default:
                break;
        }
}

static void ask_again(void) {
        for (size_t i = 0; i < trial.n; i++)
                trial.asked[i] = asks_ask_again(trial.asked[i]);
}

// They go on, one after the other.
static void let_hosts_go(Draw *d) {
        rig_settle(&world.rig);
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                h->linked &= !h->deaf;
                h->delayed = h->deaf = false;
                if (h->full)
                        rig_host_drain(&world.rig, i);
                rig_turns(&world.rig, draw_below(d, 3));
        }
}

// Not all kinds can be held; then nothing is let go, and nothing compared.
static void release(void) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__JobRelease m = ARGOSY__REQUEST__JOB_RELEASE__INIT;
        uint64_t numbers[ASKED_MAX];

        rig_settle(&world.rig);
        request.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
        request.job_release = &m;
        m.numbers = numbers;
        for (size_t i = 0; i < trial.n; i++) {
                const Argosy__Response *r = asks_last_response(&asks.asked[trial.asked[i]]);

                if (r && r->held)
                        numbers[m.n_numbers++] = r->job;
        }
        trial.n_let_go = m.n_numbers;
        if (m.n_numbers == trial.n)
                (void) trials_ask(message_copy(&request));
}

static void meanwhile(Draw *d) {
        switch (trial.way) {
        case WAY_TWICE:
                rig_turns(&world.rig, draw_below(d, 3));
                ask_again();
                break;
        case WAY_LOOKS:
                for (unsigned n = 2 + draw_below(d, 8); n > 0; n--) {
                        rig_turns(&world.rig, draw_below(d, 2));
                        asks_look(d);
                }
                break;
        case WAY_SLOW:
                for (unsigned n = 4 + draw_below(d, 12); n > 0; n--) {
                        rig_turns(&world.rig, 1 + draw_below(d, 2));
                        rig_release(&world.rig);
                }
                rig_hurry(&world.rig);
                break;
        case WAY_MIDST:
                rig_turns(&world.rig, draw_below(d, 6));
                rig_depose(&world.rig);
                rig_elect(&world.rig);
                ask_again();
                break;
        case WAY_LEADERS:
                for (unsigned n = 2 + draw_below(d, 4); n > 0; n--) {
                        rig_turns(&world.rig, draw_below(d, 4));
                        rig_depose(&world.rig);
                        rig_elect(&world.rig);
                        ask_again();
                }
                break;
        case WAY_DELAYED:
        case WAY_FULL:
        case WAY_LOST:
                let_hosts_go(d);
                break;
        case WAY_HELD:
                release();
                break;
        default:
                break;
        }
}

// By a request of its own.
static void give_id(Argosy__Request *q) {
        uint64_t id[2] = {++asks.n_ids, 29};

        assert_true(q->job && q->job->id.len == sizeof(id));
        memcpy(q->job->id.data, id, sizeof(id));
        if (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE) {
                id[0] = ++asks.n_ids;
                memcpy(q->change->id.data, id, sizeof(id));
        }
}

// Of the names of a change this one alone; all files stay, since units have one in common.
static void keep_name(Argosy__Request__Change *m, size_t at) {
        for (size_t i = 0; i < m->n_names; i++)
                if (i != at)
                        free(m->names[i]);
        m->names[0] = m->names[at];
        m->n_names = 1;
}

static void ask_for_each(const Argosy__Request *of) {
        for (size_t i = 0; i < of->change->n_names; i++) {
                Argosy__Request *q = message_copy(of);

                assert_non_null(q);
                give_id(q);
                keep_name(q->change, i);
                (void) asks_ask_as_root(q);
        }
}

// What is so already needs nothing. Who restarts, or removes, does so again.
static bool may_be_repeated(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return q->change->verb == ARGOSY__VERB__VERB_LOAD ||
                       q->change->verb == ARGOSY__VERB__VERB_STOP ||
                       q->change->verb == ARGOSY__VERB__VERB_UNLOAD ||
                       q->change->verb == ARGOSY__VERB__VERB_SUBMIT ||
                       q->change->verb == ARGOSY__VERB__VERB_START;
        case ARGOSY__REQUEST__WHAT_NODE_CHANGE:
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
        case ARGOSY__REQUEST__WHAT_ACCESS_CHANGE:
                return true;
        default:
                return false;
        }
}

// The last one of them: what comes before that may be undone by it.
static void ask_once_more(void) {
        Argosy__Request *q = message_copy(trial.requests[trial.n - 1]);

        assert_non_null(q);
        give_id(q);
        (void) trials_ask(q);
        trials_pass();
}

static void ask(const Argosy__Request *of) {
        Argosy__Request *q = message_copy(of);

        assert_non_null(q);
        if (trial.way == WAY_HELD && q->job)
                q->job->hold = true;
        (void) asks_ask_as(q,
                           trial.way == WAY_ALICE   ? AUTHOR_ALICE
                           : trial.way == WAY_TOKEN ? AUTHOR_TOKEN
                                                    : AUTHOR_ROOT,
                           asks.n_tokens);
}

// NULL: it says nothing.
static char *play(bool less) {
        Draw d = draw_from(trial.word);

        before(&d);
        if (!world_is_well() && trial.way != WAY_SLOW)
                return NULL;
        for (size_t i = 0; i < trial.n; i++) {
                if (trial.way == WAY_SPLIT)
                        ask_for_each(trial.requests[i]);
                else
                        ask(trial.requests[i]);
                trial.asked[i] = asks.n_asked - 1;
        }
        meanwhile(&d);
        rig_settle(&world.rig);
        trials_pass();
        if (trial.way == WAY_TWICE)
                ask_again();
        if (trial.way == WAY_AGAIN)
                ask_once_more();
        if (trial.way == WAY_HELD && trial.n_let_go < trial.n)
                return NULL;
        return trials_is_restless() ? NULL : read_all(less);
}

static void play_other_way(void) {
        _cleanup_free_ char *text = play(says_less(trial.way));

        if (text && strlen(text) < TEXT_MAX)
                strcpy(trial.text, text);
}

// By who asks, and how much of that is held.
static bool queue_judges(void) {
        return log_truth.queue_has_rules || log_truth.queue_is_closed ||
               cluster_state_queue(world.rig.state)->open_max > 0;
}

// A file says something of a unit that comes along and is not there yet: by itself it may be refused.
static bool names_who_comes_along(const Argosy__Request__Change *m) {
        for (size_t i = 0; i < m->n_names; i++)
                for (size_t k = 0; k < m->n_files && !asks_record(m->names[i]); k++)
                        if (memmem(m->files[k]->content.data, m->files[k]->content.len, m->names[i],
                                   strlen(m->names[i])))
                                return true;
        return false;
}

static bool can_go(Way way) {
        const Argosy__Request *q = trial.n > 0 ? trial.requests[trial.n - 1] : NULL;

        if (way == WAY_SPLIT)
                return trial.n == 1 && q->what_case == ARGOSY__REQUEST__WHAT_CHANGE &&
                       q->change->n_names > 1 && !names_who_comes_along(q->change);
        return way != WAY_AGAIN || (q && may_be_repeated(q));
}

static void forget_requests(void) {
        for (size_t i = 0; i < trial.n; i++)
                message_free(trial.requests[i]);
        trial.n = 0;
}

void trials_two_ways(Draw *d) {
        unsigned weights[_WAYS];
        const char *here, *there;
        char *text;
        Way way;

        if (!trial.text)
                trial.text = world_share(TEXT_MAX);
        for (unsigned i = 0; i < _WAYS; i++)
                weights[i] = ways[i].weight;
        way = (Way) draw_weighted(d, weights, _WAYS);
        // what a registry says of an image it may say otherwise at another moment
        if (asks.swarm.containers > 0 || trials_is_restless() || (says_less(way) && queue_judges()))
                return;
        trial.way = trial.other = way;
        draw_requests(d);
        if (!can_go(way)) {
                forget_requests();
                return;
        }
        trial.word = draw_word(d);
        story_tell("it is asked in another process %s", ways[way].words);
        world.is_telling = true;
        do {
                *trial.text = 0;
                world_play_apart(play_other_way);
        } while (world_is_told_again && world_is_told_again());
        world.is_telling = false;
        trial.way = WAY_PLAIN;
        text = *trial.text ? play(says_less(way)) : NULL;
        if (text) {
                check_says("ways-are-one");
                if (check_texts_differ(text, trial.text, &here, &there))
                        check_fail("ways-are-one", "asked at once it says '%s', and %s '%s'", here,
                                   ways[way].words, there);
        }
        free(text);
        forget_requests();
}
