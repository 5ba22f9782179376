// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Trials: now and then a story is forked, and in the other process everything works again and comes to rest;
// then things are tried there, one by one, and what comes of each is compared with what has to. None of it
// is a part of the story: that goes on as if nothing had been. In the end what is looked at in the end of a
// story is looked at there, too.
//
//      another leader      finds nothing to do
//      plan and start      what a plan has said of its units and of others comes to be
//      change and undo     all is as it was before: units, nodes, labels, roles, pools, rules of the queue
//      two ways            the same is asked by two ways, and comes to the same (trials-ways.c)
//      failures            are counted and forgiven as the manual says (trials-retries.c)
//
// A trial says nothing where something else has a part: a job that goes on, a unit that fails, a host that
// refuses a name. What is red there ends the story as well.
#include <inttypes.h>
#include <stdarg.h>
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
#include "world-options.h"

enum { TRIALS = 4, LATER_LEASES = 2 };

void trials_pass(void) {
        rig_pass_ms(&world.rig, LATER_LEASES * asks.swarm.lease_ms + asks.swarm.start_ms +
                                        asks.swarm.stop_ms + 2 * world.rig.leader->limits.job_end_delay_ms);
}

const Argosy__Response *trials_ask(Argosy__Request *request) {
        WorldAsked *a = asks_ask_as_root(request);

        rig_settle(&world.rig);
        if (!a || a->answer->error || a->answer->n == 0 || !a->answer->final)
                return NULL;
        return a->answer->responses[a->answer->n - 1];
}

static const WorldContent *content_of(unsigned i) {
        return log_content(&log_truth.units[i]);
}

// It may be started elsewhere, some time after it has failed.
static bool retries(unsigned i) {
        return content_of(i) && content_of(i)->restart_elsewhere > 0 && heard_has_failed(i);
}

// Its next step may be further away than any calm is long.
static bool is_under_way(const LogRollout *o) {
        return *o->name && (o->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING ||
                            o->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING);
}

// Something changes units by itself, at any time.
static bool is_restless(bool refusals_count) {
        enum { ROUNDS = 3 };
        uint64_t n;
        unsigned rounds = 0;

        do {
                n = log_truth.n_entries;
                trials_pass();
        } while (log_truth.n_entries != n && ++rounds < ROUNDS);
        for (unsigned i = 0; i < asks.n_units; i++)
                if (places_has_deadline(log_truth.units[i].node) || retries(i) ||
                    (refusals_count && heard_was_refused(i)))
                        return true;
        for (size_t i = 0; i < log_truth.n_rollouts; i++)
                if (is_under_way(&log_truth.rollouts[i]))
                        return true;
        return log_truth.n_entries != n || !world_is_well();
}

// ------------------------------------------------------------------------------------------ plan and start

static Argosy__Request *make_start(Draw *d) {
        Argosy__Request *q = asks_make(d, ARGOSY__REQUEST__WHAT_CHANGE,
                                       draw_one_in(d, 3) ? ask_change_several : ask_change);

        if (!q)
                return NULL;
        q->change->verb = ARGOSY__VERB__VERB_START;
        q->change->preview = true;
        return q;
}

static const char *node_name(uint32_t node) {
        const Argosy__HostRecord *h = node ? cluster_state_find_host_by_node(world.rig.state, node) : NULL;

        for (size_t i = 0; h && i < h->n_nodes; i++)
                if (h->nodes[i]->node == node)
                        return !streq(h->nodes[i]->manager, "system") ? h->nodes[i]->manager : h->name;
        return "";
}

static const Argosy__Response__UnitResult *find(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; c && i < c->n_units; i++)
                if (streq(c->units[i]->name, name))
                        return c->units[i];
        return NULL;
}

// What comes to be depends on how a start ends, or on images that hosts may not get.
static bool is_uncertain(unsigned i) {
        return content_of(i) && (content_of(i)->bad || content_of(i)->image > 0);
}

static bool are_uncertain(const Argosy__Request__Change *m) {
        for (size_t i = 0; i < m->n_files; i++) {
                const WorldContent *c = world_content_sent(m->files[i]);

                if (!c || c->bad || c->image > 0)
                        return true;
        }
        return false;
}

const char *trials_place_of(unsigned i) {
        return log_truth.units[i].exists ? node_name(log_truth.units[i].node) : "";
}

static void compare(unsigned i, const Argosy__Response__UnitResult *planned,
                    const Argosy__Response__UnitResult *done, const char *before) {
        const char *name = asks.units[i].name, *now = trials_place_of(i);

        if (done && (!planned || planned->status != done->status))
                check_fail("planned-comes-to-be", "of %s a plan says '%s', and a start '%s'", name,
                           planned ? planned->message : "", done->message);
        if (planned && planned->status == 0 && !streq(planned->node, now))
                check_fail("planned-comes-to-be", "%s is planned on '%s' (%s), and comes to '%s'", name,
                           planned->node, planned->message, now);
        if (!planned && !streq(before, now))
                check_fail("planned-comes-to-be", "a plan says nothing of %s, which goes from '%s' to '%s'",
                           name, before, now);
}

// A unit that has a node is to be with another one from now on. A plan says what the start does there, and
// not that the unit goes to that one then.
static bool are_mates_new(const Argosy__Request__Change *m) {
        for (size_t i = 0; i < m->n_names; i++) {
                int k = world_unit_index(m->names[i]);

                for (size_t f = 0; k >= 0 && *trials_place_of((unsigned) k) && f < m->n_files; f++) {
                        const WorldContent *c = world_content_sent(m->files[f]);

                        if (streq(m->files[f]->name, asks.units[k].file) && c && c->same_node)
                                return true;
                }
        }
        return false;
}

static void plan_and_start(Draw *d) {
        Argosy__Request *plan = is_restless(true) ? NULL : make_start(d), *start;
        const Argosy__Response *said, *done;
        char before[WORLD_UNITS_MAX][WORLD_NAME_SIZE];
        size_t planned = asks.n_asked;
        uint64_t n = log_truth.n_entries;
        bool unsure;

        if (!plan)
                return;
        for (unsigned i = 0; i < asks.n_units; i++)
                snprintf(before[i], sizeof(before[i]), "%s", trials_place_of(i));
        start = message_copy(plan);
        assert_non_null(start);
        start->change->preview = false;
        (void) trials_ask(plan);
        trials_pass(); // nodes may be asked
        said = asks_last_response(&asks.asked[planned]);
        if (!said || said->status != 0 || !said->change || log_truth.n_entries != n) {
                message_free(start);
                return;
        }
        unsure = are_mates_new(start->change) || are_uncertain(start->change);
        done = trials_ask(start);
        if (!done || done->held || done->status != 0 || unsure)
                return;
        trials_pass();
        for (unsigned i = 0; i < asks.n_units; i++)
                if (is_uncertain(i))
                        return;
        for (unsigned i = 0; i < asks.n_units; i++)
                compare(i, find(said->change, asks.units[i].name), find(done->change, asks.units[i].name),
                        before[i]);
        check_says("planned-comes-to-be");
}

// ----------------------------------------------------------------------------------------- change and undo

static void add_line(Buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_line(Buf *b, const char *format, ...) {
        char line[512];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        assert_int_equal(buf_printf(b, "%s\n", line), 0);
}

typedef struct Words {
        char list[32][128];
        size_t n;
} Words;

static int by_words(const void *a, const void *b) {
        return strcmp(a, b);
}

// In any order.
static void add_sorted(Buf *b, const char *what, const char *of, Words *words) {
        qsort(words->list, words->n, sizeof(*words->list), by_words);
        for (size_t i = 0; i < words->n; i++)
                add_line(b, "%s %s %s", what, of, words->list[i]);
}

static char *next_word(Words *words) {
        assert_true(words->n < ELEMENTSOF(words->list));
        return words->list[words->n++];
}

static void add_labels(Buf *b, const char *of, Argosy__Label *const *labels, size_t n) {
        Words words = {};

        for (size_t i = 0; i < n; i++)
                snprintf(next_word(&words), sizeof(*words.list), "%s=%s", labels[i]->key, labels[i]->value);
        add_sorted(b, "label", of, &words);
}

static void add_amounts(Buf *b, const char *role, const char *what, Argosy__Amount *const *amounts,
                        size_t n) {
        Words words = {};

        for (size_t i = 0; i < n; i++)
                snprintf(next_word(&words), sizeof(*words.list), "%s %s=%" PRIu64, what,
                         amounts[i]->resource, (uint64_t) amounts[i]->amount);
        add_sorted(b, "role", role, &words);
}

static void add_role(Buf *b, const Argosy__RoleRecord *r) {
        add_line(b, "role %s weight %u", r->name, r->weight);
        add_amounts(b, r->name, "guarantee", r->guarantee, r->n_guarantee);
        add_amounts(b, r->name, "limit", r->limit, r->n_limit);
}

static void add_pool(Buf *b, const Argosy__PoolRecord *p) {
        for (size_t i = 0; i < p->n_hosts; i++)
                add_line(b, "pool %s host %s", p->name, p->hosts[i]);
        add_labels(b, p->name, p->labels, p->n_labels);
}

static void add_host(Buf *b, const Argosy__HostRecord *h) {
        add_labels(b, h->name, h->set_labels, h->n_set_labels);
        for (size_t i = 0; i < h->n_nodes; i++)
                add_line(b, "node %s %u mode %d '%s'", h->name, h->nodes[i]->node, (int) h->nodes[i]->mode,
                         h->nodes[i]->mode_reason);
}

static void add_units(Buf *b) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const Argosy__UnitRecord *r = asks_record(asks.units[i].name);
                char hex[HASH_HEX_SIZE];

                if (!r)
                        continue;
                hash_hex(&log_truth.units[i].spec, 8, hex);
                add_line(b, "unit %s %s target %d%s set '%s'", r->name, hex, (int) r->target,
                         r->global ? " on all nodes" : "", r->set);
        }
}

// What people have said how all is to be, as the log has it. `queue_alone`: jobs that rules have held may
// have begun, and nothing is said of what they change.
static char *read_wishes(bool queue_alone) {
        const Argosy__QueueRecord *queue = cluster_state_queue(world.rig.state);
        size_t n;
        Argosy__RoleRecord *const *roles = cluster_state_roles(world.rig.state, &n);
        Argosy__PoolRecord *const *pools;
        Buf b = {};

        for (size_t i = 0; i < queue->n_rules; i++)
                add_line(&b, "rule %d '%s' '%s' '%s' '%s' %u", (int) queue->rules[i]->action,
                         queue->rules[i]->author, queue->rules[i]->verb, queue->rules[i]->unit,
                         queue->rules[i]->role, queue->rules[i]->limit);
        add_line(&b, "queue %d '%s' %u", queue->closed, queue->reason, queue->open_max);
        for (size_t i = 0; i < n && !queue_alone; i++)
                add_role(&b, roles[i]);
        pools = cluster_state_pools(world.rig.state, &n);
        for (size_t i = 0; i < n && !queue_alone; i++)
                add_pool(&b, pools[i]);
        for (const Argosy__HostRecord *h = cluster_state_next_host(world.rig.state, 0); h && !queue_alone;
             h = cluster_state_next_host(world.rig.state, h->host))
                add_host(&b, h);
        if (!queue_alone)
                add_units(&b);
        return buf_take_string(&b);
}

static Argosy__Request *make_change(Draw *d) {
        static const struct {
                Argosy__Request__WhatCase what;
                bool (*make)(Draw *d, void *message);
        } kinds[] = {{ARGOSY__REQUEST__WHAT_CHANGE, ask_change},
                     {ARGOSY__REQUEST__WHAT_CHANGE, ask_change_several},
                     {ARGOSY__REQUEST__WHAT_CHANGE, ask_change_several},
                     {ARGOSY__REQUEST__WHAT_NODE_CHANGE, ask_node_change},
                     {ARGOSY__REQUEST__WHAT_NODE_CHANGE, ask_node_change_several},
                     {ARGOSY__REQUEST__WHAT_LABEL_CHANGE, ask_label_change},
                     {ARGOSY__REQUEST__WHAT_ROLE_CHANGE, ask_role_change},
                     {ARGOSY__REQUEST__WHAT_POOL_CHANGE, ask_pool_change},
                     {ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ask_queue_change}};
        unsigned kind = draw_below(d, ELEMENTSOF(kinds));
        Argosy__Request *q = asks_make(d, kinds[kind].what, kinds[kind].make);

        if (q && kind < 3)
                q->change->preview = false;
        return q;
}

static bool all_well(const Argosy__Response *r) {
        for (size_t i = 0; r->change && i < r->change->n_units; i++)
                if (r->change->units[i]->status != 0)
                        return false;
        return r->status == 0 && !r->held;
}

static void no_difference(uint64_t job, char *before, char *after) {
        size_t at = 0, begin = 0;

        if (streq(before, after))
                return;
        for (; before[at] && before[at] == after[at]; at++)
                if (before[at] == '\n')
                        begin = at + 1;
        before[begin + strcspn(before + begin, "\n")] = after[begin + strcspn(after + begin, "\n")] = 0;
        check_fail("undone-is-as-before", "job %" PRIu64 " was undone, and it is '%s', which was '%s'", job,
                   after + begin, before + begin);
}

static bool any_is_bad(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (content_of(i) && content_of(i)->bad)
                        return true;
        return false;
}

bool trials_is_restless(void) {
        return is_restless(true) || any_is_bad();
}

char *trials_wishes(void) {
        return read_wishes(false);
}

// So many of them that one has its place among others.
static void add_rules(Draw *d) {
        for (unsigned n = 8; n > 0; n--) {
                Argosy__Request *q = asks_make(d, ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ask_queue_change);

                if (q && q->queue_change->add)
                        (void) trials_ask(q);
                else
                        message_free(q);
        }
}

// A content that does not start gives way to the one before.
static void change_and_undo(Draw *d) {
        Argosy__Request *q = is_restless(true) || any_is_bad() ? NULL : make_change(d),
                        undo = ARGOSY__REQUEST__INIT;
        Argosy__Request__Undo m = ARGOSY__REQUEST__UNDO__INIT;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        _cleanup_free_ char *before = NULL, *after = NULL;
        uint64_t id[2] = {++asks.n_ids, 29};
        bool queue_alone = q && q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_CHANGE;
        const Argosy__Response *r;

        if (queue_alone)
                add_rules(d);
        before = read_wishes(queue_alone);
        r = q ? trials_ask(q) : NULL;
        if (!r || !all_well(r) || r->job == 0)
                return;
        m.job = r->job;
        trials_pass();
        undo.what_case = ARGOSY__REQUEST__WHAT_UNDO;
        undo.undo = &m;
        undo.job = &job;
        job.keyed = true;
        job.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        r = trials_ask(message_copy(&undo));
        if (!r || !all_well(r) || any_is_bad())
                return;
        trials_pass();
        after = read_wishes(queue_alone);
        check_says("undone-is-as-before");
        no_difference(m.job, before, after);
}

// ------------------------------------------------------------------------------------------- another leader

// A leader remembers who has refused a name no longer than that one's session, and no host refuses any now.
static void attach_anew(void) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                rig_host(&world.rig, i)->linked = false;
        trials_pass();
}

// Who leads anew knows the log and what hosts say, and finds nothing to do: what a leader has overlooked, or
// does not know any more, would be done now.
static void lead_anew(void) {
        char before[WORLD_UNITS_MAX][WORLD_NAME_SIZE];
        _cleanup_free_ char *wishes = NULL, *after = NULL, *tables = NULL, *tables_after = NULL;

        attach_anew();
        if (is_restless(false) || any_is_bad())
                return;
        pace_at_rest();
        wishes = read_wishes(false);
        tables = tables_read();
        for (unsigned i = 0; i < asks.n_units; i++)
                snprintf(before[i], sizeof(before[i]), "%s", trials_place_of(i));
        story_tell("another one leads");
        rig_depose(&world.rig);
        rig_elect(&world.rig);
        trials_pass();
        if (!world_is_well())
                return;
        check_says("next-leader-finds-nothing");
        for (unsigned i = 0; i < asks.n_units; i++)
                if (!streq(before[i], trials_place_of(i)))
                        check_fail("next-leader-finds-nothing",
                                   "all was at rest, and another leader moves %s from '%s' to '%s'",
                                   asks.units[i].name, before[i], trials_place_of(i));
        after = read_wishes(false);
        if (!streq(wishes, after))
                check_fail("next-leader-finds-nothing",
                           "all was at rest, and another leader changes what is wanted");
        tables_are_in_order();
        tables_after = tables_read();
        tables_compare(tables, tables_after);
}

// Half of them are about units that have much to do with each other, whatever the story is about.
static void draw_theme(Draw *d) {
        if (draw_one_in(d, 2))
                return;
        asks.swarm.theme = world_options_draw_theme(d);
        asks.swarm.loads[LOAD_options] = SWARM_WEIGHT_MAX;
        world_offer();
}

// What happens is about one or two units, and the host of one of them: so that things meet.
static void focus(Draw *d) {
        unsigned unit = draw_below(d, (unsigned) asks.n_units);
        uint32_t host = places_host_of(log_truth.units[unit].node);

        asks.focus_first = unit;
        asks.focus_n = MIN_OF(1 + draw_below(d, 2), (unsigned) asks.n_units);
        asks.focus_host = host ?: 1 + draw_below(d, asks.swarm.hosts);
}

// Few kinds of faults, and often of what is asked, of which each comes often.
static void draw_kinds(Draw *d) {
        memset(asks.swarm.faults, 0, sizeof(asks.swarm.faults));
        for (unsigned kinds = 1 + draw_below(d, 3); kinds > 0; kinds--)
                asks.swarm.faults[draw_below(d, SWARM_FAULTS_DRAWN)] = 1;
        if (draw_one_in(d, 2))
                return;
        for (unsigned i = 0; i < LOAD_bound; i++)
                asks.swarm.loads[i] = i == LOAD_units;
        for (unsigned kinds = 1 + draw_below(d, 3); kinds > 0; kinds--)
                asks.swarm.loads[draw_below(d, LOAD_bound)] = 1;
}

// Whatever is broken: nothing more happens unless time passes.
static void look(void) {
        if (world_is_well())
                rig_settle(&world.rig);
        if (world_is_well())
                checks_on_look();
}

// Some steps of another story, and then all works again.
static void play_more(Draw *d) {
        draw_kinds(d);
        if (draw_below(d, 4) > 0)
                focus(d);
        for (unsigned n = 4 + draw_below(d, 12); n > 0; n--) {
                if (draw_one_in(d, 2))
                        faults_step(d);
                else
                        asks_step(d);
                if (!world_is_well())
                        rig_turns(&world.rig, 1 + draw_below(d, 4));
                else if (draw_one_in(d, 3))
                        rig_turns(&world.rig, draw_below(d, 3));
                else if (draw_one_in(d, 2))
                        rig_pass_ms(&world.rig, (unsigned) draw_log(d, 1, 3 * asks.swarm.lease_ms));
                else
                        rig_settle(&world.rig);
                if (draw_one_in(d, 8))
                        look();
        }
        asks.focus_n = asks.focus_host = 0;
        world_calm_down();
}

void trials_play(void) {
        Draw d = draw_from(world.plan.steps[world.step].word ^ UINT64_C(0x747269616c73));

        look();
        world_calm_down();
        draw_theme(&d);
        if (draw_one_in(&d, 2))
                play_more(&d);
        trials_look_at_tags();
        lead_anew();
        for (unsigned i = 0; i < TRIALS; i++) {
                trials_look_at_tags();
                switch (draw_below(&d, 7)) {
                case 0 ... 1:
                        plan_and_start(&d);
                        break;
                case 2:
                        change_and_undo(&d);
                        break;
                default:
                        trials_two_ways(&d);
                }
        }
        trials_look_at_tags();
        if (draw_one_in(&d, 3)) { // which goes on failing
                trials_fail_again(&d);
                return;
        }
        world_calm_down();
        if (draw_one_in(&d, 2))
                world_finish();
}
