// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of a cluster: requests, power cuts, returns, reboots, hung hosts, changes of the leader,
// time, all of it overlapping. Now and then it comes to rest, with whatever is down staying down, and then
//   every acknowledged change has been kept
//   every launched unit runs on exactly the one node that the log names, which is up, and nothing else runs
//   anywhere nobody was ordered to hold a unit whose content it could not know, and no order went back in
//   time (leader-rig.c)
//
// A failure prints its seed; `test-leader-leader-sim SEED` plays that life alone and tells it.
#include "leader-rig.h"
#include "log.h"
#include "macro.h"
#include "test.h"
#include "random-numbers.h"

enum { HOSTS = 5, UNITS = 12, STEPS = 200, LIVES = 300, CALM_EVERY = 40 };

typedef struct Wish {        // what was last acknowledged about a unit
        bool exists, unsure; // unsure: a request's outcome is not known
        Argosy__Target target;
} Wish;

static Rig g;
static Wish preferences[UNITS];
static unsigned seed, random_state;
static bool verbose;

static const char *name_of(unsigned unit) {
        static char name[32];

        snprintf(name, sizeof(name), "u%u.service", unit);
        return name;
}

static const char *content_of(unsigned unit) {
        static const char *const contents[] = {"[Service]\nExecStart=/bin/sleep 1\n",
                                               "[Service]\nExecStart=/bin/sleep 2\n",
                                               "[Service]\nExecStart=/bin/sleep 3\n"};

        return contents[unit % ELEMENTSOF(contents)];
}

typedef struct Asked { // requests in the order in which they were made, which is that of their answers
        unsigned unit;
        Argosy__Verb verb;
        RigAnswer *answer;
} Asked;

static Asked asked[STEPS];
static unsigned n_asked;

static void note(const Asked *q) {
        Wish *pending_record = &preferences[q->unit];
        const Argosy__Response *r = q->answer->n ? q->answer->responses[0] : NULL;

        story("  (verb %d of %s: %d)\n", q->verb, name_of(q->unit), r ? r->status : q->answer->error);
        if (q->answer->error == -EAGAIN)
                return;
        if (!r || r->status) {
                pending_record->unsure = true;
                return;
        }
        if (r->change->units[0]->status)
                return;
        if (q->verb == ARGOSY__VERB__VERB_DESTROY) {
                *pending_record = (Wish){};
                return;
        }
        pending_record->exists = true;
        pending_record->unsure = false;
        pending_record->target = q->verb == ARGOSY__VERB__VERB_STOP     ? ARGOSY__TARGET__TARGET_LOADED
                                 : q->verb == ARGOSY__VERB__VERB_UNLOAD ? ARGOSY__TARGET__TARGET_INACTIVE
                                                                        : ARGOSY__TARGET__TARGET_LAUNCHED;
}

static void request(void) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START,  ARGOSY__VERB__VERB_START,
                                             ARGOSY__VERB__VERB_START,  ARGOSY__VERB__VERB_STOP,
                                             ARGOSY__VERB__VERB_UNLOAD, ARGOSY__VERB__VERB_DESTROY};
        Asked *q = &asked[n_asked++];

        *q = (Asked){.unit = dice(UNITS), .verb = verbs[dice(ELEMENTSOF(verbs))]};
        bool with_file = q->verb == ARGOSY__VERB__VERB_START;
        story("  verb %d of %s\n", q->verb, name_of(q->unit));
        q->answer = rig_change_with(&g, q->verb, name_of(q->unit), with_file ? content_of(q->unit) : NULL,
                                    false, NULL);
}

// The leader's own host (1) only ever loses the leadership.
static void step(void) {
        uint32_t host = 2 + dice(HOSTS - 1);
        RigHost *h = rig_host(&g, host);

        switch (dice(24)) {
        case 0:
                story("  host %u loses power\n", host);
                rig_host_off(&g, host);
                break;
        case 1:
        case 2:
        case 9:
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
                story("  host %u %s\n", host, h->lazy ? "reports again" : "reports nothing");
                h->lazy = !h->lazy;
                break;
        case 5:
                story("  the link of host %u breaks\n", host);
                h->linked = false;
                break;
        case 6:
                story("  the leader is %s\n", g.led ? "deposed" : "elected");
                if (g.led)
                        rig_depose(&g);
                else
                        rig_elect(&g);
                break;
        case 7:
        case 8:
                story("  time passes\n");
                rig_pass_ms(&g, 500 + dice(RIG_LEASE_MS));
                break;
        default:
                request();
        }
        if (dice(3) == 0)
                rig_settle(&g);
        else
                rig_turn(&g);
}

static void assert_unit(unsigned unit) {
        const Argosy__UnitRecord *r = rig_record(&g, name_of(unit));
        const Wish *pending_record = &preferences[unit];
        unsigned holders = 0;

        if (!pending_record->unsure && pending_record->exists != (r != NULL))
                fail_msg("seed %u: %s %s", seed, name_of(unit),
                         r ? "exists although it was destroyed" : "is missing");
        if (!pending_record->unsure && r && r->target != pending_record->target)
                fail_msg("seed %u: %s has target %d, acknowledged was %d", seed, name_of(unit), r->target,
                         pending_record->target);
        for (uint32_t i = 1; i <= HOSTS; i++) {
                const VirtualUnit *u = rig_host(&g, i)->up ? rig_unit_on(&g, i, name_of(unit)) : NULL;

                holders += u != NULL;
                if (u && (!r || r->node != rig_host(&g, i)->virtual.node))
                        fail_msg("seed %u: %s is on host %u, where it does not belong", seed, name_of(unit),
                                 i);
                if (u && (u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE) !=
                                 (r->target == ARGOSY__TARGET__TARGET_LAUNCHED))
                        fail_msg("seed %u: %s does not do on host %u what it should", seed, name_of(unit),
                                 i);
        }
        if (holders != (r && r->target != ARGOSY__TARGET__TARGET_INACTIVE))
                fail_msg("seed %u: %s is held by %u hosts", seed, name_of(unit), holders);
}

// Whoever is up listens and speaks again; after two leases what is down is out of the game.
static void calm_down(bool everybody) {
        story("  %s heals\n", everybody ? "everything" : "what is up");
        for (uint32_t i = 1; i <= HOSTS; i++) {
                RigHost *h = rig_host(&g, i);

                h->lazy = h->deaf = false;
                if (everybody && !h->up)
                        rig_host_on(&g, i, false);
        }
        if (!g.led)
                rig_elect(&g);
        rig_settle(&g);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        for (unsigned i = 0; i < n_asked; i++)
                note(&asked[i]);
        n_asked = 0;
        for (unsigned u = 0; u < UNITS; u++)
                assert_unit(u);
}

static void live(unsigned s) {
        seed = random_state = s;
        memset(preferences, 0, sizeof(preferences));
        story("seed %u\n", s);
        rig_start(&g, HOSTS);
        for (int i = 0; i < STEPS; i++)
                if (i % CALM_EVERY == CALM_EVERY - 1)
                        calm_down(false);
                else
                        step();
        calm_down(true);
        rig_stop(&g);
}

static void every_life_ends_well(void **state) {
        for (unsigned s = 1; s <= LIVES; s++)
                live(s);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_life_ends_well),
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
