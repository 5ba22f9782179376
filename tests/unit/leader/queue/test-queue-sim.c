// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of a queue: requests of three authors, rules that come and go, the queue closed and open,
// jobs released, cancelled and asked for again; units that fail or find no place, hosts that say nothing or
// are lost, leaders that are lost with an entry on its way, and a log that takes nothing. A model
// (queue-model.h) says of each entry and of each answer whether it is right, and at rest whether anything is
// held that should not be.
//
// A failure prints its seed; `test-leader-queue-sim SEED` plays that life alone and tells it.
#include <errno.h>
#include <inttypes.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "messages.h"
#include "queue-model.h"
#include "random-numbers.h"

enum { HOSTS = 3, STEPS = 70, LIVES = 300, ENTRY_MS = 1100, PARTS_MS = 62 * 1000, RULES = 4 };

static Rig g;
static Model m;
static uint64_t random_state;
static bool verbose;

static unsigned draw(unsigned n) {
        return (unsigned) (xorshift64(&random_state) % n);
}

#define PICK(array) (array)[draw(ELEMENTSOF(array))]

static void on_entry(Rig *r) {
        size_t n = m.n_asks;
        Argosy__JobState before[MODEL_ASKS_MAX];

        for (size_t i = 0; i < n; i++)
                before[i] = m.asks[i].state;
        model_on_entry(&m);
        for (size_t i = 0; i < n; i++)
                if (before[i] != m.asks[i].state)
                        story("    job %" PRIu64 " (%d of %s): %d -> %d\n", m.asks[i].job, m.asks[i].kind,
                              model_units[m.asks[i].units[0]].name, before[i], m.asks[i].state);
        story("    --\n");
}

// -------------------------------------------------------------------------------------------- what is asked

static uint64_t some_job(Argosy__JobState state) {
        uint64_t found = 0;
        unsigned n = 0;

        for (size_t i = 0; i < m.n_asks; i++)
                if (m.asks[i].job > 0 && (m.asks[i].state == state || !state) && draw(++n) == 0)
                        found = m.asks[i].job;
        return found;
}

static ModelAsk *ask_new(ModelKind kind, ModelAuthor author) {
        static const char *const reasons[] = {"", "", "ticket 7", "night"};
        ModelAsk *a = &m.asks[m.n_asks++];

        assert_true(m.n_asks < MODEL_ASKS_MAX);
        *a = (ModelAsk){.kind = kind,
                        .author = author,
                        .id = {++g.id, 66},
                        .reason = kind < ASK_RULE_ADD ? PICK(reasons) : ""};
        return a;
}

static bool is_at_rest;

// As long as nothing else goes on, what becomes of it is known.
static void go(ModelAsk *a) {
        static const char *const kinds[] = {"change",      "label", "access", "update",  "rule add",
                                            "rule delete", "close", "open",   "release", "cancel"};

        model_foretell(&m, a);
        story("  %s by %d%s%s%s, to be answered %d\n", kinds[a->kind], a->author, a->hold ? " --hold" : "",
              a->queue ? " --queue" : "", a->n_after ? " --after" : "", a->expected_status);
        for (size_t i = 0; i < a->n_units; i++)
                story("    verb %d of %s\n", a->verb, model_units[a->units[i]].name);
        if (a->target > 0)
                story("    job %" PRIu64 "\n", a->target);
        model_send(&m, a);
        a->foretold = is_at_rest;
}

static bool is_failing; // the log

// The next thing comes before this one is over.
static void go_on(void) {
        is_at_rest = false;
        for (size_t i = 0; i < m.n_asks; i++)
                m.asks[i].foretold = false;
}

// As much as can happen now.
static void come_to_rest(void) {
        if (g.slow || !g.led || is_failing) {
                rig_turns(&g, 4);
                go_on();
                return;
        }
        rig_settle(&g);
        if (g.leader->pause_us > g.now_us) {
                go_on();
                return;
        }
        model_on_settled(&m);
        is_at_rest = true;
}

static void ask_for_units(void) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_START,
                                             ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_STOP,
                                             ARGOSY__VERB__VERB_LOAD,    ARGOSY__VERB__VERB_SUBMIT,
                                             ARGOSY__VERB__VERB_RESTART, ARGOSY__VERB__VERB_DESTROY};
        ModelAsk *a = ask_new(ASK_CHANGE, (ModelAuthor) draw(MODEL_AUTHORS));

        a->verb = PICK(verbs);
        a->units[a->n_units++] = draw(MODEL_UNITS - 1);
        if (draw(3) == 0) {
                a->units[a->n_units] = draw(MODEL_UNITS - 1);
                a->n_units += a->units[0] != a->units[1];
        }
        a->hold = draw(6) == 0;
        for (unsigned n = draw(4) == 0 ? 1 + draw(2) : 0; n > 0; n--) {
                uint64_t job =
                        some_job(draw(3) ? ARGOSY__JOB_STATE__JOB_HELD : ARGOSY__JOB_STATE__JOB_RUNNING);

                if (job > 0)
                        a->after[a->n_after++] = job;
        }
        if (draw(8) == 0)
                a->if_revision = cluster_state_revision(g.state);
        if (draw(10) == 0)
                a->retries = some_job(ARGOSY__JOB_STATE__JOB_FAILED);
        go(a);
}

static void depose(void) {
        bool kept = draw(2);

        story("  the leader is deposed%s\n", g.n_held == 0 ? ""
                                             : kept        ? ", and its entry is kept"
                                                           : ", and its entry is lost");
        if (g.slow)
                rig_depose_unknown(&g, kept);
        else
                rig_depose(&g);
        model_on_leader(&m);
}

static void log_goes_on(void) {
        story("  the log goes on\n");
        store_memory_fail(g.store, 0);
        is_failing = g.slow = false;
        rig_release(&g);
}

static ModelAsk *release(uint64_t job) {
        ModelAsk *a = ask_new(ASK_RELEASE, ROOT);

        a->target = job;
        go(a);
        return a;
}

// The log takes its time with it.
static void ask_for_many(void) {
        ModelAsk *a = ask_new(ASK_CHANGE, (ModelAuthor) draw(MODEL_AUTHORS));

        a->verb = ARGOSY__VERB__VERB_LOAD;
        a->units[a->n_units++] = MODEL_UNITS - 1;
        a->hold = draw(2);
        go(a);
        if (a->hold && is_at_rest) {
                come_to_rest();
                if (a->state == ARGOSY__JOB_STATE__JOB_HELD)
                        (void) release(a->job);
        }
        if (!g.led || is_failing || g.slow)
                return;
        story("  entry by entry\n");
        g.slow = true;
        for (unsigned n = draw(6); n > 0; n--) {
                rig_turns(&g, 4);
                rig_release(&g);
        }
        rig_turns(&g, 4);
        if (draw(2))
                depose();
        go_on();
}

static void ask_for_something_else(void) {
        ModelAsk *a = ask_new(draw(2) ? ASK_LABEL : draw(2) ? ASK_UPDATE : ASK_ACCESS, ROOT);

        a->hold = draw(4) == 0;
        a->queue = a->kind == ASK_UPDATE && draw(3);
        a->revokes = m.alice_may;
        go(a);
}

static void add_rule(void) {
        static const char *const
                authors[] = {"", "", "", "", "alice", "carol@n2", "root", "a*"},
                *const verbs[] = {"", "", "start", "st*"}, *const units[] = {"",    "",          "",
                                                                             "db*", "a.service", "b*"},
                *const roles[] = {"", "", "", "", "db"}, *const reasons[] = {"", "",      "",
                                                                             "", "night", "ticket*"};
        static const Argosy__QueueAction actions[] = {
                ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT, ARGOSY__QUEUE_ACTION__QUEUE_HOLD,
                ARGOSY__QUEUE_ACTION__QUEUE_REFUSE, ARGOSY__QUEUE_ACTION__QUEUE_LIMIT,
                ARGOSY__QUEUE_ACTION__QUEUE_LIMIT,  ARGOSY__QUEUE_ACTION__QUEUE_LIMIT};

        if (m.n_rules >= RULES)
                return;
        ModelAsk *a = ask_new(ASK_RULE_ADD, ROOT);
        a->rule = (ModelRule){.author = PICK(authors),
                              .verb = PICK(verbs),
                              .unit = PICK(units),
                              .role = PICK(roles),
                              .reason = PICK(reasons),
                              .action = PICK(actions)};
        a->rule.text = a->rule.action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE
                               ? (draw(2) ? "frozen" : "not today")
                               : "";
        a->rule.limit = a->rule.action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT ? 1 + draw(2) : 0;
        a->number = m.n_rules > 0 && draw(2) ? m.rules[draw((unsigned) m.n_rules)].number : 0;
        story("  rule %d by '%s' verb '%s' unit '%s' role '%s' reason '%s' limit %u before %u\n",
              a->rule.action, a->rule.author, a->rule.verb, a->rule.unit, a->rule.role, a->rule.reason,
              a->rule.limit, a->number);
        go(a);
}

static void delete_rule(void) {
        if (m.n_rules == 0)
                return;
        ModelAsk *a = ask_new(ASK_RULE_DELETE, ROOT);
        a->number = m.rules[draw((unsigned) m.n_rules)].number;
        story("  no rule %u any more\n", a->number);
        go(a);
}

static void ask_about_job(ModelKind kind) {
        uint64_t job = some_job(draw(4) ? ARGOSY__JOB_STATE__JOB_HELD : ARGOSY__JOB_STATE__JOB_RUNNING);

        if (job == 0)
                return;
        ModelAsk *a = ask_new(kind, (ModelAuthor) draw(MODEL_AUTHORS));
        a->target = job;
        go(a);
}

// Whoever has not heard what became of it, or does not believe it.
static void ask_again(void) {
        ModelAsk *a = &m.asks[draw((unsigned) m.n_asks + 1)];

        if (a >= m.asks + m.n_asks || a->kind != ASK_CHANGE)
                return;
        story("  again, of job %" PRIu64 "\n", a->job);
        model_send(&m, a);
}

// --------------------------------------------------------------------------------------------- what happens

static void set_lazy(bool lazy) {
        for (uint32_t h = 1; h <= HOSTS; h++)
                rig_host(&g, h)->lazy = lazy;
}

static void something_happens(void) {
        RigHost *h = rig_host(&g, 2 + draw(HOSTS - 1));

        switch (draw(8)) {
        case 0:
        case 1:
                set_lazy(draw(3) > 0);
                story("  hosts %s\n", rig_host(&g, 1)->lazy ? "say nothing" : "talk");
                break;
        case 2:
                story("  host %u is %s\n", h->number, h->up ? "lost" : "back");
                m.has_lost_hosts = true;
                if (h->up)
                        rig_host_off(&g, h->number);
                else if (!g.slow && !is_failing)
                        rig_host_on(&g, h->number, draw(2));
                break;
        case 3:
                if (g.led)
                        depose();
                else
                        rig_elect(&g);
                break;
        case 4:
                if (g.slow) {
                        story("  one entry more\n");
                        rig_release(&g);
                }
                if (!g.led || g.slow || is_failing)
                        break;
                story("  the log takes its time\n");
                g.slow = true;
                break;
        case 5:
                if (!g.led || g.slow || is_failing)
                        break;
                story("  the log takes nothing\n");
                is_failing = true;
                store_memory_fail(g.store, draw(2) ? -ENOSPC : -EBUSY);
                break;
        default:
                if (g.slow || is_failing)
                        break;
                story("  time passes\n");
                rig_pass_ms(&g, ENTRY_MS * (1 + draw(4)));
        }
}

static void step(void) {
        if ((g.slow || is_failing) && draw(4) == 0)
                log_goes_on();
        if (!g.led && draw(4) == 0)
                rig_elect(&g);
        switch (draw(16)) {
        case 0:
        case 1:
                add_rule();
                break;
        case 2:
                delete_rule();
                break;
        case 3:
                go(ask_new(draw(3) ? ASK_OPEN : ASK_CLOSE, ROOT));
                break;
        case 4:
                ask_about_job(ASK_RELEASE);
                break;
        case 5:
                ask_about_job(ASK_CANCEL);
                break;
        case 6:
                ask_for_something_else();
                break;
        case 7:
                ask_again();
                break;
        case 8:
        case 9:
        case 10:
                something_happens();
                break;
        default:
                ask_for_units();
        }
        if (draw(3)) {
                come_to_rest();
                return;
        }
        rig_turns(&g, draw(3));
        go_on();
}

// ------------------------------------------------------------------------------------------------ a life

static void give(const char *user) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_DEPLOY, .user = (char *) user);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change)))->status,
                0);
}

static void begin(unsigned seed) {
        random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        story("seed %u\n", seed);
        rig_start(&g, HOSTS);
        g.bad = hash_of(MODEL_BAD, strlen(MODEL_BAD));
        give("alice");
        give("carol");
        rig_make_role(&g, "db");
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "w", 2, MODEL_SERVICE);
        rig_pass_ms(&g, 2 * ENTRY_MS);
        model_begin(&m, &g, seed);
        g.on_entry = on_entry;
        is_at_rest = true;
        is_failing = false;
}

// Everything works again, and nothing holds but people and what waits for them.
static void calm_down(void) {
        story("  everything heals\n");
        log_goes_on();
        if (!g.led)
                rig_elect(&g);
        set_lazy(false);
        for (uint32_t h = 2; h <= HOSTS; h++)
                if (!rig_host(&g, h)->up)
                        rig_host_on(&g, h, false);
        rig_pass_ms(&g, 4 * ENTRY_MS);
        come_to_rest();
}

static void end(void) {
        calm_down();
        while (m.n_rules > 0) {
                delete_rule();
                rig_settle(&g);
        }
        go(ask_new(ASK_OPEN, ROOT));
        for (uint64_t job; come_to_rest(), (job = some_job(ARGOSY__JOB_STATE__JOB_HELD)) > 0;) {
                (void) release(job);
                rig_pass_ms(&g, ENTRY_MS);
        }
        rig_pass_ms(&g, PARTS_MS);
        come_to_rest();
        model_on_calm(&m);
        g.on_entry = NULL;
        rig_stop(&g);
}

// In every other life little may be done at a time, and nobody hears that it is done.
static void begin_with_limit(void) {
        ModelAsk *a = ask_new(ASK_RULE_ADD, ROOT);

        a->rule = (ModelRule){.author = "",
                              .verb = "",
                              .unit = "",
                              .role = "",
                              .reason = "",
                              .text = "",
                              .limit = 1 + draw(2)};
        a->rule.action = ARGOSY__QUEUE_ACTION__QUEUE_LIMIT;
        go(a);
        set_lazy(true);
        come_to_rest();
}

static void live(unsigned seed) {
        unsigned many = seed % 12 == 0 ? draw(STEPS / 2) : STEPS;

        begin(seed);
        if (seed % 2 == 0)
                begin_with_limit();
        for (unsigned i = 0; i < STEPS; i++) {
                if (i == many)
                        ask_for_many();
                step();
        }
        end();
}

static void the_leader_and_the_model_agree(void **state) {
        m = (Model){};
        for (unsigned seed = 1; seed <= LIVES; seed++)
                live(seed);
        assert_true(m.n_went > 3 * LIVES && m.n_limited > LIVES && m.n_refused > LIVES / 6 &&
                    m.n_over > LIVES / 2);
        assert_true(m.n_broken > 0 && m.n_ended[ARGOSY__JOB_STATE__JOB_OVERTAKEN] > LIVES / 6);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_leader_and_the_model_agree),
        };

        log_set_level(LOG_ERR);
        if (argc > 1) {
                verbose = true;
                live((unsigned) strtoul(argv[1], NULL, 10));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
