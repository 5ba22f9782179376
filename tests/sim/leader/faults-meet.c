// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Things that meet: in one turn of the leader, or in turns that follow each other, a unit is asked for, its
// host breaks or is there again, others of its group go down, what was asked is undone. What is asked and
// what breaks is drawn as ever, but about these alone.
#include "asks-private.h"
#include "checks-log.h"
#include "macro.h"
#include "message.h"
#include "test.h"
#include "world.h"

static bool is_same_file(unsigned a, unsigned b) {
        return strcmp(asks.units[a].file, asks.units[b].file) == 0;
}

static uint32_t host_of(unsigned unit) {
        const LogUnit *u = &log_truth.units[unit];
        uint32_t host = u->exists && u->node > 0 ? u->node : 0;

        return host <= asks.swarm.hosts ? host : 0; // nodes of second managers have higher numbers
}

// A unit that has a node; `away`: whose host is not there. The number of units: there is none.
static unsigned find_unit(unsigned first, bool away) {
        unsigned n = (unsigned) asks.n_units;

        for (unsigned i = 0; i < n; i++) {
                unsigned unit = (first + i) % n;
                uint32_t host = host_of(unit);

                if (host > 0 && (!away || !rig_host(&world.rig, host)->up))
                        return unit;
        }
        return n;
}

// Of another one of the same file, wherever that runs.
static void mate_goes_down(unsigned unit, bool fails) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                uint32_t host = i != unit && is_same_file(i, unit) ? host_of(i) : 0;
                RigHost *h = host > 0 ? rig_host(&world.rig, host) : NULL;
                VirtualUnit *u = h && h->up ? virtual_host_find(&h->virtual, asks.units[i].name) : NULL;

                if (!u || u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                        continue;
                story_tell("%s on n%u %s", u->name, h->number, fails ? "fails" : "ends by itself");
                rig_host_report(&world.rig, h, u,
                                fails ? ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
                                      : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                                fails ? ARGOSY__OUTCOME__KIND__FAILED : ARGOSY__OUTCOME__KIND__DONE);
                return;
        }
}

static void ask(Draw *d, Argosy__Request__WhatCase what, bool (*make)(Draw *d, void *message)) {
        const AskKind kind = {what, _LOADS, 0, make};

        asks_make_and_ask(d, &kind, (WorldAsked){});
}

// That of the host of the unit, for a moment.
static void host_is_away(uint32_t host) {
        RigHost *h = rig_host(&world.rig, host);

        if (!h->up || !h->linked)
                return;
        story_tell("the link of n%u breaks", host);
        h->linked = false;
}

static void one_thing(Draw *d, unsigned unit, uint32_t host) {
        switch (draw_below(d, 12)) {
        case 0 ... 2:
                faults_step(d);
                break;
        case 3:
                if (asks.swarm.faults[FAULT_unit])
                        mate_goes_down(unit, draw_one_in(d, 2));
                break;
        case 4:
                if (asks.swarm.faults[FAULT_link])
                        host_is_away(host);
                break;
        case 5:
                if (asks.swarm.loads[LOAD_undo])
                        ask(d, ARGOSY__REQUEST__WHAT_UNDO, ask_undo);
                break;
        case 6:
                if (asks.swarm.loads[LOAD_rollout])
                        ask(d, ARGOSY__REQUEST__WHAT_ROLLOUT, ask_rollout);
                break;
        case 7:
                if (asks.swarm.loads[LOAD_nodes])
                        ask(d, ARGOSY__REQUEST__WHAT_NODE_CHANGE, ask_node_change);
                break;
        case 8 ... 9:
                ask(d, ARGOSY__REQUEST__WHAT_CHANGE, ask_change);
                break;
        default:
                asks_step(d);
        }
}

void fault_meet(Draw *d) {
        static bool is_met; // what breaks is drawn, too
        unsigned first = asks.focus_first, n = asks.focus_n, host = asks.focus_host,
                 drawn = draw_below(d, (unsigned) asks.n_units),
                 unit = draw_one_in(d, 2) ? find_unit(drawn, true) : (unsigned) asks.n_units;
        bool is_close = draw_one_in(d, 2); // all of it in one turn

        if (unit == asks.n_units)
                unit = find_unit(drawn, false);
        if (is_met || unit == asks.n_units)
                return;
        is_met = true;
        asks.focus_first = unit;
        asks.focus_n = draw_below(d, 3) > 0 ? 1 : MIN_OF(2u, (unsigned) asks.n_units);
        asks.focus_host = host_of(unit);
        for (unsigned k = 2 + draw_below(d, 4); k > 0; k--) {
                one_thing(d, unit, host_of(unit) > 0 ? host_of(unit) : asks.focus_host);
                if (!is_close)
                        rig_turns(&world.rig, draw_below(d, 3));
        }
        asks.focus_first = first;
        asks.focus_n = n;
        asks.focus_host = host;
        is_met = false;
}

static void ask_this(Argosy__Request *q) {
        if (q && asks.n_asked < WORLD_ASKED_MAX)
                (void) asks_ask_as_root(q);
        else
                message_free(q);
}

static Argosy__Request *make_restart(Draw *d) {
        for (unsigned tries = 8; tries > 0; tries--) {
                Argosy__Request *q = asks_make(d, ARGOSY__REQUEST__WHAT_ROLLOUT, ask_rollout);

                if (q && q->rollout->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART && !q->rollout->abort)
                        return q;
                message_free(q);
        }
        return NULL;
}

// A secret gets a new version, some of its users are started meanwhile, and then all of them are restarted
// for it that have not got it yet.
void fault_rotate(Draw *d) {
        const WorldContent *c = NULL;
        unsigned first = draw_below(d, (unsigned) asks.n_units), unit = first, focus = asks.focus_first,
                 n_focus = asks.focus_n;
        Argosy__Request *set, *restart;

        for (unsigned i = 0; i < asks.n_units && !(c && c->secret); i++) {
                unit = (first + i) % (unsigned) asks.n_units;
                c = log_content(&log_truth.units[unit]);
        }
        if (!c || !c->secret)
                return;
        asks.focus_first = unit;
        asks.focus_n = 1;
        set = draw_below(d, 4) > 0 ? asks_make(d, ARGOSY__REQUEST__WHAT_SECRET_SET, ask_secret_set) : NULL;
        if (set)
                assert_int_equal(field_set(&set->secret_set->name, c->secret), 0);
        ask_this(set);
        rig_turns(&world.rig, draw_below(d, 4));
        for (unsigned n = draw_below(d, 3); n > 0; n--)
                ask(d, ARGOSY__REQUEST__WHAT_CHANGE, ask_change);
        rig_turns(&world.rig, draw_below(d, 4));
        restart = make_restart(d);
        if (restart) {
                assert_int_equal(field_set(&restart->rollout->name, asks.units[unit].file), 0);
                assert_int_equal(field_set(&restart->rollout->secret, c->secret), 0);
        }
        ask_this(restart);
        asks.focus_first = focus;
        asks.focus_n = n_focus;
}
