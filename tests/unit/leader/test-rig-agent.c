// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The hosts of leader-rig.c are agents in a few lines, and most that is known about the leader is known with
// them. Here a real agent hears every word that the leader says to one of them, and must come to the same
// answers: after each request both report the same revision and state of every unit, or that it is gone.
// What the leader is told is what the simple one says.
#include "agent-rig.h"

#include "clock.h"
#include "fake-pid1.h"
#include "leader-rig.h"
#include "message.h"
#include "messages.h"

#define GOOD "[Service]\nExecStart=/bin/sleep 1\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2\n"
#define BAD "[Service]\nType=oneshot\nExecStart=/bin/false\n"

#define START ARGOSY__VERB__VERB_START

enum { STEPS = 60, SEEDS = 6 };

static const char *const names[] = {"a.service", "b.service", "c.service"};

static FakePid1 *pid1;
static Rig g;
static Map reported; // what the simple one reported last, by name

// ---- one leader, two agents

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        _cleanup_(message_freep) Argosy__ToHost *copied = message_copy(m);

        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME) {
                copied->welcome->seq = w.attach->attach->seq;
                copied->welcome->lease_ms = 60000;
        }
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME || m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                agent_on_message(w.agent, copied);
}

static void on_voter_message(Rig *rig, uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case != ARGOSY__TO_VOTER__MSG_REPORTS)
                return;
        for (size_t i = 0; i < m->reports->n_reports; i++) {
                const Argosy__UnitReport *r = m->reports->reports[i];
                Seen *seen = map_find_str(&reported, r->name);

                if (!seen) {
                        seen = calloc(1, sizeof(*seen) + strlen(r->name) + 1);
                        strcpy(seen->name, r->name);
                        assert_int_equal(map_add_str(&reported, seen->name, seen), 0);
                } else
                        message_free(seen->report);
                seen->report = message_copy(r);
        }
}

FIXTURE(world_up) {
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        agent_on_leader(w.agent, 1, 1);
        loop_until(w.n_attaches == 1);
        rig_start(&g, 1);
        g.bad = hash_of(BAD, strlen(BAD));
        g.on_host_message = on_host_message;
        g.on_voter_message = on_voter_message;
        rig_host_on(&g, 1, false); // it attaches again, and this Welcome both hear
        loop_until(w.attached);
}

static int world_down(void **state) {
        g.on_host_message = NULL;
        g.on_voter_message = NULL;
        rig_stop(&g);
        map_done_with(&reported, seen_free);
        agent_down();
        pid1 = pid1_free(pid1);
        return rig_down();
}

// ---- do they agree?

// What differs, in words; NULL: nothing.
static const char *difference(const char *name) {
        static char text[256];
        const Seen *simple = map_find_str(&reported, name);
        const Argosy__UnitReport *a = simple ? simple->report : NULL, *b = report_of(name);

        if (!a && !b)
                return NULL;
        if (!a || !b)
                snprintf(text, sizeof(text), "%s: only %s speaks of it", name, a ? "the rig" : "the agent");
        else if (a->gone != b->gone)
                snprintf(text, sizeof(text), "%s: gone, says only %s", name,
                         a->gone ? "the rig" : "the agent");
        else if (!a->gone &&
                 (a->revision != b->revision || a->active != b->active || a->refused != b->refused))
                snprintf(text, sizeof(text),
                         "%s: revision %u, state %d, refused %d by the rig; %u, %d, %d by the agent", name,
                         (unsigned) a->revision, a->active, a->refused, (unsigned) b->revision, b->active,
                         b->refused);
        else if (!a->gone && !a->refused &&
                 (a->spec.len != b->spec.len || memcmp(a->spec.data, b->spec.data, a->spec.len) != 0))
                snprintf(text, sizeof(text), "%s: other content", name);
        else
                return NULL;
        return text;
}

static bool they_agree(void) {
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (difference(names[i]))
                        return false;
        return true;
}

// Both come to rest, in their own time, and then say the same.
static void assert_agreement(const char *after) {
        const uint64_t until_us = clock_boot_us() + 20 * USEC_PER_SEC;

        while (!they_agree() && clock_boot_us() < until_us) {
                uv_timer_start(&test_loop_patience, loop_on_patience, 10, 0);
                uv_run(&test_loop, UV_RUN_ONCE);
                uv_timer_stop(&test_loop_patience);
        }
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (difference(names[i]))
                        fail_msg("after %s: %s", after, difference(names[i]));
}

static void change(Argosy__Verb verb, const char *name, const char *content) {
        char text[128];

        snprintf(text, sizeof(text), "verb %d of %s, %s", verb, name,
                 !content               ? "as it is"
                 : streq(content, GOOD) ? "good"
                 : streq(content, BAD)  ? "bad"
                                        : "another content");
        (void) rig_change_with_and_settle(&g, verb, name, content, true, NULL);
        assert_agreement(text);
}

// ---- stories

typedef struct Step {
        Argosy__Verb verb;
        const char *content; // NULL: no file
} Step;

static void live(const Step *steps, size_t n) {
        for (size_t i = 0; i < n; i++)
                change(steps[i].verb, "a.service", steps[i].content);
}

static void a_life(void **state) {
        static const Step steps[] = {
                {ARGOSY__VERB__VERB_LOAD, GOOD},
                {START},
                {START},
                {ARGOSY__VERB__VERB_RESTART},
                {START, OTHER},
                {ARGOSY__VERB__VERB_STOP},
                {START},
                {ARGOSY__VERB__VERB_UNLOAD},
                {START},
                {ARGOSY__VERB__VERB_DESTROY},
                {START, GOOD},
        };

        live(steps, ELEMENTSOF(steps));
}

static void one_that_fails(void **state) {
        static const Step steps[] = {
                {START, BAD}, {START},       {ARGOSY__VERB__VERB_STOP},
                {START},      {START, GOOD}, {ARGOSY__VERB__VERB_DESTROY},
        };

        live(steps, ELEMENTSOF(steps));
}

static void a_name_of_somebody_else(void **state) {
        write_foreign("b.service");
        rig_host(&g, 1)->refuses = true;
        change(START, "b.service", GOOD);
}

static void a_new_leader_finds_the_same(void **state) {
        change(START, "a.service", GOOD);
        change(ARGOSY__VERB__VERB_LOAD, "b.service", GOOD);
        rig_depose(&g);
        w.attached = false;
        agent_on_leader(w.agent, 1, 2);
        loop_until(w.n_attaches == 2);
        rig_elect(&g);
        loop_until(w.attached);
        assert_agreement("an election");
        change(ARGOSY__VERB__VERB_STOP, "a.service", NULL);
        change(START, "b.service", NULL);
        assert_int_equal(pid1_runs(pid1, "a.service"), rig_unit_on(&g, 1, "a.service")->starts);
}

// xorshift64*
static unsigned chance(uint64_t *seed, unsigned of) {
        *seed ^= *seed >> 12;
        *seed ^= *seed << 25;
        *seed ^= *seed >> 27;
        return (unsigned) (*seed * UINT64_C(2685821657736338717) >> 33) % of;
}

static void whatever_is_asked(uint64_t seed) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_LOAD,    ARGOSY__VERB__VERB_START,
                                             ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_STOP,
                                             ARGOSY__VERB__VERB_RESTART, ARGOSY__VERB__VERB_UNLOAD,
                                             ARGOSY__VERB__VERB_DESTROY};
        static const char *const contents[] = {NULL, NULL, GOOD, OTHER, BAD};

        for (unsigned i = 0; i < STEPS; i++)
                change(verbs[chance(&seed, ELEMENTSOF(verbs))], names[chance(&seed, ELEMENTSOF(names))],
                       contents[chance(&seed, ELEMENTSOF(contents))]);
}

static void whatever_is_asked_they_agree(void **state) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
                whatever_is_asked(seed * UINT64_C(0x9e3779b97f4a7c15));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

RUN_TESTS(
        TEST(a_life),
        TEST(one_that_fails),
        TEST(a_name_of_somebody_else),
        TEST(a_new_leader_finds_the_same),
        TEST(whatever_is_asked_they_agree)
)
