// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of a cluster whose owners work on it while hosts come and go: cordons, drains, maintenance,
// labels at run time, rolling updates and restarts, a unit that replaces others, losses of many hosts at
// once, new leaders.
//
// After every turn
//   no unit runs on two hosts that have heard what they are to run
//   no two units that conflict have one node, and none has more of what its units reserve than it offers
//   no unit was given a node that lacks a label that it requires, or that its owner has closed
//   no unit was moved off a lost host while so many are lost that nothing is to move
//   in lives in which no host fails, no more of a group are down than it allows
// At rest, and with all hosts there
//   a new leader changes nothing
// At the end, with everything healed
//   what can be placed is, runs once, with the content that its record names
//
// A failure prints its seed; `test-leader-owners-sim SEED` plays that life alone and tells it.
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "macro.h"
#include "random-numbers.h"

enum {
        HOSTS = 5,
        STEPS = 120,
        LIVES = 60,
        CALM_EVERY = 40,
        START_MS = 500,
        HEALTH_MS = 1000,
        MASS_LOSS_PERCENT = 60
};

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define IN_GROUP "[X-Argosy]\nMaxUnavailable=1\n"
#define WEB(n) "[Service]\nExecStart=/bin/sleep " #n "\n" IN_GROUP
#define WEB_BAD "[Service]\nExecStart=/bin/false\n" IN_GROUP
#define ALL(n) "[Service]\nExecStart=/bin/sleep " #n "\n[X-Argosy]\nGlobal=true\n"
#define CONFLICT(others) SERVICE "[X-Argosy]\nConflicts=" others "\n"

typedef enum Kind { PLAIN, KEPT, FAST, RESERVING, CONFLICTING, MEMBER, EVERYWHERE } Kind;

static const struct UnitOfLife {
        const char *name, *content; // NULL: of its template
        Kind kind;
} units[] = {
        {"p1.service", SERVICE, PLAIN},
        {"p2.service", SERVICE, PLAIN},
        {"taker.service", SERVICE "[X-Argosy]\nReplaces=web@*\n", PLAIN},
        {"kept.service", SERVICE "[X-Argosy]\nNodeLost=keep\n", KEPT},
        {"f1.service", SERVICE "[X-Argosy]\nRequireLabel=disk=ssd\n", FAST},
        {"f2.service", SERVICE "[X-Argosy]\nRequireLabel=disk=ssd\n", FAST},
        {"g1.service", SERVICE "[X-Argosy]\nReserveResource=gpu\n", RESERVING},
        {"g2.service", SERVICE "[X-Argosy]\nReserveResource=gpu\n", RESERVING},
        {"g3.service", SERVICE "[X-Argosy]\nReserveResource=gpu\n", RESERVING},
        {"g4.service", SERVICE "[X-Argosy]\nReserveResource=gpu\n", RESERVING},
        {"c1.service", CONFLICT("c2* c3* c4* c5* c6*"), CONFLICTING},
        {"c2.service", CONFLICT("c1* c3* c4* c5* c6*"), CONFLICTING},
        {"c3.service", CONFLICT("c1* c2* c4* c5* c6*"), CONFLICTING},
        {"c4.service", CONFLICT("c1* c2* c3* c5* c6*"), CONFLICTING},
        {"c5.service", CONFLICT("c1* c2* c3* c4* c6*"), CONFLICTING},
        {"c6.service", CONFLICT("c1* c2* c3* c4* c5*"), CONFLICTING},
        {"web@1.service", NULL, MEMBER},
        {"web@2.service", NULL, MEMBER},
        {"web@3.service", NULL, MEMBER},
        {"web@4.service", NULL, MEMBER},
        {"all.service", ALL(1), EVERYWHERE},
};

enum { UNITS = ELEMENTSOF(units), GPU_HOSTS = 3, OWN_UNITS = 16 }; // the first ones are started and stopped

typedef struct Seen { // of a unit's record, in the turn before
        uint32_t node;
        uint64_t start_rev, stop_rev;
        Argosy__Target target;
} Seen;

static Rig g;
static Seen seen[UNITS];
static bool open_to_new[HOSTS + 1], has_ssd[HOSTS + 1]; // or may be just now
static bool emptied[HOSTS + 1];                         // or may be just now
static bool stormy, verbose, in_mass_loss;
static unsigned seed, random_state;

#define wrong(text, ...) fail_msg("seed %u: " text, seed, __VA_ARGS__)

static const char *node_name(uint32_t host) {
        static char name[16];

        snprintf(name, sizeof(name), "n%u", host);
        return name;
}

static bool is_wanted(const Argosy__UnitRecord *r) {
        return r && r->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

static bool is_launched(const Argosy__UnitRecord *r) {
        return r && r->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

// ----------------------------------------------------------------------------------------- after every turn

// It has been told what it is to run, and does it.
static bool is_steady(const RigHost *h) {
        return h->up && h->linked && h->virtual.welcomed && !h->deaf;
}

static bool runs_on(uint32_t host, const char *name) {
        const VirtualUnit *u = rig_unit_on(&g, host, name);

        return u && (u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
                     u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
}

static void check_runs_once(size_t unit) {
        uint32_t first = 0;

        for (uint32_t i = 1; i <= HOSTS; i++) {
                if (!is_steady(rig_host(&g, i)) || !runs_on(i, units[unit].name))
                        continue;
                if (first)
                        wrong("%s runs on hosts %u and %u", units[unit].name, first, i);
                first = i;
        }
}

static void check_new_node(size_t unit, const Argosy__UnitRecord *r) {
        const Seen *before = &seen[unit];

        if (r->node == before->node)
                return;
        story("    %s: n%u -> n%u\n", r->name, before->node, r->node);
        if (r->node == 0)
                return;

        if (!open_to_new[r->node])
                wrong("%s was given n%u, which is closed", r->name, r->node);
        if (units[unit].kind == FAST && !has_ssd[r->node])
                wrong("%s was given n%u, which is not labelled", r->name, r->node);
        if (in_mass_loss && before->node && !emptied[before->node] && before->target == r->target &&
            before->start_rev == r->start_rev && before->stop_rev == r->stop_rev &&
            host_is_lost(host_find(g.leader, before->node)))
                wrong("%s was moved off a lost host although nothing is to move", r->name);
}

static void check_affinity(void) {
        unsigned gpus[HOSTS + 1] = {}, conflicting[HOSTS + 1] = {};

        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, units[i].name);

                if (!is_wanted(r) || r->node == 0)
                        continue;
                if (units[i].kind == RESERVING && ++gpus[r->node] > (r->node <= GPU_HOSTS))
                        wrong("n%u has more than it offers", r->node);
                if (units[i].kind == CONFLICTING && ++conflicting[r->node] > 1)
                        wrong("n%u has two units that conflict", r->node);
        }
}

static void check_budget(void) {
        unsigned down = 0;

        for (size_t i = 0; i < UNITS; i++) {
                bool up = false;

                if (units[i].kind != MEMBER || !is_launched(rig_record(&g, units[i].name)))
                        continue;
                for (uint32_t h = 1; h <= HOSTS; h++) {
                        const VirtualUnit *u = rig_unit_on(&g, h, units[i].name);

                        up |= u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
                }
                down += !up;
        }
        if (down > 1)
                wrong("%u of the group are down", down);
}

static void check_turn(Rig *rig) {
        bool was_in_mass_loss = in_mass_loss;

        in_mass_loss = was_in_mass_loss && g.leader->in_mass_loss; // what was decided before may still be on
                                                                   // its way
        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, units[i].name);

                if (units[i].kind == EVERYWHERE || !r) {
                        seen[i] = (Seen){};
                        continue;
                }
                check_runs_once(i);
                check_new_node(i, r);
                seen[i] = (Seen){r->node, r->start_rev, r->stop_rev, r->target};
        }
        check_affinity();
        if (!stormy)
                check_budget();
        in_mass_loss = g.leader->in_mass_loss;
}

// ------------------------------------------------------------------------------------------- what owners do

static void set_mode(uint32_t host, Argosy__NodeMode mode) {
        rig_settle(&g);
        open_to_new[host] |= mode == ARGOSY__NODE_MODE__MODE_OPEN;
        emptied[host] |= mode >= ARGOSY__NODE_MODE__MODE_DRAINING;
        if (rig_last(rig_set_mode(&g, node_name(host), mode, 0, ""))->status)
                return;
        open_to_new[host] = mode == ARGOSY__NODE_MODE__MODE_OPEN;
        emptied[host] = mode >= ARGOSY__NODE_MODE__MODE_DRAINING;
}

static void set_ssd(uint32_t host, bool on) {
        rig_settle(&g);
        has_ssd[host] |= on;
        if (rig_last(rig_label(&g, node_name(host), "disk", on ? "ssd" : NULL))->status == 0)
                has_ssd[host] = on;
}

static void change_unit(void) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START, ARGOSY__VERB__VERB_START,
                                             ARGOSY__VERB__VERB_STOP, ARGOSY__VERB__VERB_UNLOAD,
                                             ARGOSY__VERB__VERB_DESTROY};
        Argosy__Verb verb = verbs[dice(ELEMENTSOF(verbs))];
        size_t unit = dice(OWN_UNITS);

        story("  verb %d of %s\n", verb, units[unit].name);
        (void) rig_change_with(&g, verb, units[unit].name,
                               verb == ARGOSY__VERB__VERB_START ? units[unit].content : NULL, false, NULL);
}

static void roll(void) {
        static const char *const members[] = {WEB(1), WEB(2), WEB(3), WEB_BAD, NULL};
        static const char *const everywhere[] = {ALL(1), ALL(2), ALL(3), NULL};
        bool member = dice(3) > 0;
        RigRollout w = {.name = member ? "web@.service" : "all.service",
                        .content = member ? members[dice(ELEMENTSOF(members))]
                                          : everywhere[dice(ELEMENTSOF(everywhere))],
                        .health_ms = HEALTH_MS};

        w.kind = w.content ? ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE : ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART;
        w.abort = dice(5) == 0;
        if (w.abort)
                w.content = NULL;
        story("  rollout of %s: %s\n", w.name, w.abort ? "given up" : w.content ?: "restart");
        (void) rig_rollout(&g, w);
}

static void new_leader(void) {
        story("  another leader\n");
        rig_elect_anew(&g);
}

// ------------------------------------------------------------------------------------ what happens to hosts

static void befall(uint32_t host) {
        RigHost *h = rig_host(&g, host);

        switch (dice(6)) {
        case 0:
                story("  host %u loses power\n", host);
                rig_host_off(&g, host);
                break;
        case 1:
        case 2:
                if (h->up)
                        break;
                story("  host %u is back\n", host);
                rig_host_on(&g, host, dice(2));
                break;
        case 3:
                story("  host %u %s\n", host, h->deaf ? "listens again" : "does not listen");
                h->deaf = !h->deaf;
                break;
        case 4:
                story("  the link of host %u breaks\n", host);
                h->linked = false;
                break;
        default:
                if (dice(3))
                        break;
                story("  all but one lose power\n");
                for (uint32_t i = 2; i <= HOSTS; i++)
                        rig_host_off(&g, i);
                rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        }
}

static void step(void) {
        uint32_t host = 1 + dice(HOSTS);

        switch (dice(10)) {
        case 0:
        case 1:
                story("  time passes\n");
                rig_pass_ms(&g, 250 + dice(RIG_LEASE_MS));
                break;
        case 2:
        case 3: {
                Argosy__NodeMode mode = dice(2) ? ARGOSY__NODE_MODE__MODE_OPEN : dice(4);

                story("  mode of n%u: %d\n", host, mode);
                set_mode(host, mode);
                break;
        }
        case 4:
                story("  n%u %s ssd\n", host, has_ssd[host] ? "loses" : "gets");
                set_ssd(host, !has_ssd[host]);
                break;
        case 5:
                roll();
                break;
        case 6:
                new_leader();
                break;
        case 7:
                if (stormy)
                        befall(2 + dice(HOSTS - 1)); // host 1 leads
                break;
        default:
                change_unit();
        }
        if (dice(3) == 0)
                rig_settle(&g);
        else
                (void) rig_turn(&g);
}

// ------------------------------------------------------------------------------------------------ at rest

typedef struct State { // of everything that a leader could have touched
        Hash hash;
        Buf text;
} State;

static State take_state(void) {
        State s = {};

        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, units[i].name);

                if (r)
                        assert_int_equal(buf_printf(&s.text, "%s: n%u, revision %llu\n", r->name, r->node,
                                                    (unsigned long long) r->revision),
                                         0);
                for (uint32_t h = 1; h <= HOSTS; h++) {
                        const VirtualUnit *u =
                                rig_host(&g, h)->up ? rig_unit_on(&g, h, units[i].name) : NULL;

                        if (u)
                                assert_int_equal(buf_printf(&s.text,
                                                            "  n%u: %d after %u starts, %u restarts\n", h,
                                                            u->active, u->starts, u->restarts),
                                                 0);
                }
        }
        s.hash = hash_of(s.text.data, s.text.len);
        return s;
}

static void come_to_rest(bool everybody) {
        story("  %s heals\n", everybody ? "everything" : "what is up");
        for (uint32_t i = 1; i <= HOSTS; i++) {
                RigHost *h = rig_host(&g, i);

                h->deaf = false;
                if (everybody && !h->up)
                        rig_host_on(&g, i, false);
                if (everybody)
                        set_mode(i, ARGOSY__NODE_MODE__MODE_OPEN);
        }
        rig_settle(&g);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        rig_pass_ms(&g, 2 * UNITS * (START_MS + HEALTH_MS));
}

static bool is_everybody_up(void) {
        bool all = true;

        for (uint32_t i = 1; i <= HOSTS; i++)
                all &= rig_host(&g, i)->up;
        return all;
}

// But that who is off has to be lost to the new one again, before which that may be given units.
static void a_new_leader_changes_nothing(void) {
        if (!is_everybody_up())
                return;
        State before = take_state();
        new_leader();
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        State after = take_state();
        if (!hash_equal(&before.hash, &after.hash)) {
                fprintf(stderr, "before:\n%.*sand then:\n%.*s", (int) before.text.len,
                        (char *) before.text.data, (int) after.text.len, (char *) after.text.data);
                wrong("%s", "a new leader changed something");
        }
        buf_done(&before.text);
        buf_done(&after.text);
}

static void check_runs_as_recorded(size_t unit) {
        const Argosy__UnitRecord *r = rig_record(&g, units[unit].name);

        for (uint32_t i = 1; i <= HOSTS; i++) {
                const VirtualUnit *u = rig_unit_on(&g, i, units[unit].name);
                bool there = is_wanted(r) && (units[unit].kind == EVERYWHERE || r->node == i);

                if (!u != !there)
                        wrong("%s is %son n%u", units[unit].name, u ? "" : "not ", i);
                if (!u)
                        continue;
                if (u->active != (is_launched(r) ? ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
                                                 : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE))
                        wrong("%s does not do on n%u what it should", units[unit].name, i);
                if (r->spec.len != HASH_SIZE || memcmp(u->order.spec.bytes, r->spec.data, HASH_SIZE) != 0)
                        wrong("%s runs with another content on n%u", units[unit].name, i);
        }
}

static void check_end(void) {
        unsigned wanted[EVERYWHERE + 1] = {}, placed[EVERYWHERE + 1] = {}, ssds = 0;

        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, units[i].name);

                check_runs_as_recorded(i);
                wanted[units[i].kind] += is_wanted(r);
                placed[units[i].kind] += is_wanted(r) && r->node;
        }
        for (uint32_t i = 1; i <= HOSTS; i++)
                ssds += has_ssd[i];
        for (Kind k = PLAIN; k < EVERYWHERE; k++) {
                unsigned room = k == RESERVING       ? GPU_HOSTS
                                : k == CONFLICTING   ? HOSTS
                                : k == FAST && !ssds ? 0
                                                     : UNITS;

                if (placed[k] < MIN_OF(wanted[k], room))
                        wrong("of kind %d %u are wanted, %u could have a node, %u have", k, wanted[k], room,
                              placed[k]);
        }
}

// ------------------------------------------------------------------------------------------------ lives

static void be_born(void) {
        rig_start(&g, HOSTS);
        g.leader->config.mass_loss_percent = MASS_LOSS_PERCENT;
        g.bad = hash_of(WEB_BAD, strlen(WEB_BAD));
        for (uint32_t i = 1; i <= HOSTS; i++) {
                open_to_new[i] = true;
                has_ssd[i] = emptied[i] = false;
                if (i <= GPU_HOSTS)
                        (void) rig_label(&g, node_name(i), "offers/gpu", "1");
        }
        set_ssd(2, true);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", WEB(1));
        for (size_t i = 0; i < UNITS; i++)
                (void) rig_change(&g, ARGOSY__VERB__VERB_START, units[i].name, units[i].content);
        g.start_ms = START_MS;
        memset(seen, 0, sizeof(seen));
        in_mass_loss = false;
        g.on_turn = check_turn;
}

static void live(unsigned s) {
        seed = random_state = s;
        stormy = s % 2;
        story("seed %u\n", s);
        be_born();
        for (int i = 0; i < STEPS; i++)
                if (i % CALM_EVERY == CALM_EVERY - 1) {
                        come_to_rest(false);
                        a_new_leader_changes_nothing();
                } else
                        step();
        come_to_rest(true);
        a_new_leader_changes_nothing();
        check_end();
        g.on_turn = NULL;
        rig_stop(&g);
}

static void every_life_keeps_the_rules(void **state) {
        for (unsigned s = 1; s <= LIVES; s++)
                live(s);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_life_keeps_the_rules),
        };

        log_set_level(LOG_ERR);
        if (argc > 1) {
                verbose = true;
                log_set_level(LOG_INFO);
                live((unsigned) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
