// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a story of a leader may contain. See swarm.h and swarm-faults.h.
#include "swarm-faults.h"
#include "macro.h"
#include "world-options.h"
#include "world.h"

#define SWARM_NAME(name, what) #name,
const char *const swarm_fault_names[] = {SWARM_FAULTS(SWARM_NAME)};
const unsigned swarm_n_faults = _FAULTS;
_Static_assert((unsigned) _FAULTS <= SWARM_FAULTS_MAX, "each fault has a weight");

// From a word of its own, so all else of a story is what it would be without them. Entries have to fit into
// batch_max.
static void draw_limits(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x6c696d697473));

        swarm_draw_limits(&d, &s->limits);
        if (draw_one_in(&d, 4))
                s->events_bytes = (unsigned) draw_log(&d, 512, 65536);
}

static void draw_age(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x616765));

        if (draw_one_in(&d, 4))
                s->faults[FAULT_age] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX);
}

static void draw_bursts(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x627572737473));

        if (draw_below(&d, 3) > 0)
                s->loads[LOAD_bursts] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX);
}

// Rarely there are many units, on some hosts more. Then little is asked, so that the story is no longer than
// others.
static void draw_crowd(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x63726f7764));

        if (!draw_one_in(&d, 16))
                return;
        s->crowd = (unsigned) draw_log(&d, 40, WORLD_CROWD_MAX);
        s->loads[LOAD_crowd] = (unsigned) draw_log(&d, 8, SWARM_WEIGHT_MAX);
        s->hosts = MIN_OF(s->hosts + draw_below(&d, 6), (unsigned) WORLD_HOSTS_MAX);
        s->n_steps = MIN_OF(s->n_steps, (unsigned) draw_log(&d, 12, 60));
        s->batch_max = 0; // a file that all of them have, and their names, are one request
}

static void draw_rules(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x72756c6573));

        if (draw_one_in(&d, 3))
                s->loads[LOAD_rules] = (unsigned) draw_log(&d, 2, SWARM_WEIGHT_MAX);
        if (draw_one_in(&d, 2))
                s->loads[LOAD_wrong] = (unsigned) draw_log(&d, 2, SWARM_WEIGHT_MAX / 2);
}

static void draw_containers(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x696d61676573));

        if (draw_one_in(&d, 4))
                s->containers = (unsigned) draw_log(&d, 8, 64);
}

// Options of units that have to do with each other meet only where few others are said.
static void draw_theme(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x7468656d65));

        if (draw_one_in(&d, 4))
                return;
        s->theme = world_options_draw_theme(&d);
        if (draw_one_in(&d, 2))
                s->loads[LOAD_options] = (unsigned) draw_log(&d, 32, SWARM_WEIGHT_MAX);
}

static void draw_focused(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x666f637573));

        s->focused = draw_one_in(&d, 2);
}

// What units are, and who may do what: each of these is seldom, so that most stories stay as simple as they
// are.
static void draw_kinds(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x6b696e6473));

        if (draw_one_in(&d, 4))
                s->parts = (unsigned) draw_log(&d, 4, 64);
        if (draw_one_in(&d, 2))
                s->places = (unsigned) draw_log(&d, 8, 64);
        if (draw_one_in(&d, 4))
                s->beside = (unsigned) draw_log(&d, 4, 32);
        if (draw_one_in(&d, 2))
                s->named = (unsigned) draw_log(&d, 4, 64);
        if (draw_one_in(&d, 6))
                s->fleet = (unsigned) draw_log(&d, 4, 64);
        if (draw_one_in(&d, 4))
                s->activators = (unsigned) draw_log(&d, 4, 32);
        if (draw_one_in(&d, 4))
                s->loads[LOAD_rights] = (unsigned) draw_log(&d, 2, SWARM_WEIGHT_MAX / 2);
        if (s->loads[LOAD_rights] > 0 && draw_one_in(&d, 3))
                s->groups = (unsigned) draw_log(&d, 1, 100);
        if (draw_one_in(&d, 3))
                s->siblings = (unsigned) draw_log(&d, 8, 56);
}

static void draw_terms(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x7465726d73));

        if (draw_one_in(&d, 6))
                s->faults[FAULT_lease] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 2);
        if (draw_one_in(&d, 8))
                s->faults[FAULT_recovery] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 8);
        if (draw_below(&d, 3) > 0)
                s->faults[FAULT_meet] = (unsigned) draw_log(&d, 4, SWARM_WEIGHT_MAX);
        if (draw_one_in(&d, 6))
                s->turn_us = (unsigned) draw_log(&d, 100, 200000);
        s->timed = draw_one_in(&d, 3);
}

static void draw_restarts(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x72657374617274));

        if (draw_one_in(&d, 5))
                s->faults[FAULT_restart] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 2);
}

// Groups of instances with budgets, and others that have them give way: by their priority, or in their
// place.
static void draw_contention(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x6275646765747321));

        if (s->crowd > 0 || !draw_one_in(&d, 8))
                return;
        s->theme = WORLD_THEME_CONTENTION;
        s->siblings = 24 + draw_below(&d, 24);
        s->units = MAX_OF(s->units, 6 + draw_below(&d, 10));
        s->hosts = MAX_OF(s->hosts, 2u);
        s->loads[LOAD_options] = (unsigned) draw_log(&d, 32, SWARM_WEIGHT_MAX);
}

static void draw_rotations(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x726f74617465));

        if (s->crowd > 0 || !draw_one_in(&d, 8))
                return;
        s->faults[FAULT_rotate] = (unsigned) draw_log(&d, 4, SWARM_WEIGHT_MAX);
        s->theme = WORLD_THEME_CARRIED;
        s->loads[LOAD_options] = (unsigned) draw_log(&d, 32, SWARM_WEIGHT_MAX);
        s->siblings = MAX_OF(s->siblings, draw_below(&d, 48));
}

// Guards of several lengths, and hosts that are away for longer than some of them.
static void draw_guards(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x677561726473));

        if (s->crowd > 0 || !draw_one_in(&d, 8))
                return;
        s->guarded = (unsigned) draw_log(&d, 16, 60);
        s->stops_within = (unsigned) draw_log(&d, 1, 20);
        s->hosts = MAX_OF(s->hosts, 3u);
        s->mass_loss_percent = 100;
        s->faults[FAULT_power] = MAX_OF(s->faults[FAULT_power], 4u);
        s->faults[FAULT_age] = MAX_OF(s->faults[FAULT_age], 4u);
}

// As often in a long story as in a short one.
static void set_tried(Swarm *s) {
        enum { TRIED = 2 };
        unsigned all = 0;

        for (unsigned i = 0; i < _STEP_KINDS; i++)
                all += s->steps[i];
        s->tried = MAX_OF(s->n_steps * s->steps[STEP_SETTLE] / all / TRIED, 1u);
}

Swarm swarm_draw(uint64_t word) {
        Draw d = draw_from(word);
        Swarm s = {.hosts = 1 + draw_below(&d, 7), .units = (unsigned) draw_log(&d, 3, WORLD_UNITS_MAX)};
        bool slow = draw_one_in(&d, 20); // little happens in much time

        swarm_draw_weights(&d, s.faults, SWARM_FAULTS_DRAWN);
        swarm_draw_weights(&d, s.loads, SWARM_LOADS_DRAWN);
        if (s.loads[LOAD_units] < SWARM_WEIGHT_MAX / 4)
                s.loads[LOAD_units] = SWARM_WEIGHT_MAX / 4; // without units there is nothing to look at
        if (s.loads[LOAD_several] < SWARM_WEIGHT_MAX && draw_below(&d, 4) > 0)
                s.loads[LOAD_several] = SWARM_WEIGHT_MAX;
        s.steps[STEP_ASK] = (unsigned) draw_log(&d, 8, SWARM_WEIGHT_MAX);
        s.steps[STEP_FAULT] = draw_one_in(&d, 6) ? 0 : (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX);
        s.steps[STEP_TIME] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX);
        s.steps[STEP_SETTLE] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX);
        s.steps[STEP_CALM] = draw_one_in(&d, 2) ? 0 : 1;
        s.n_steps = (unsigned) draw_log(&d, 96, 1600);
        s.lease_ms = (unsigned) draw_log(&d, 500, slow ? 60000 : 2500);
        s.start_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, slow ? 10000 : 500);
        s.stop_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, slow ? 10000 : 500);
        s.mass_loss_percent = draw_one_in(&d, 2) ? 100 : 20 + draw_below(&d, 80);
        // What the leader decides about all units that wait has to fit, as it does in an entry of
        // limits.entry_bytes.
        s.batch_max = draw_one_in(&d, 4) ? (unsigned) draw_log(&d, 16384, 65536) : 0;
        s.time_max_ms = (unsigned) draw_log(&d, 100, slow ? 30000 : 1000);
        draw_limits(word, &s);
        draw_age(word, &s);
        draw_bursts(word, &s);
        draw_crowd(word, &s);
        draw_containers(word, &s);
        draw_rules(word, &s);
        draw_theme(word, &s);
        draw_focused(word, &s);
        draw_kinds(word, &s);
        draw_terms(word, &s);
        draw_restarts(word, &s);
        draw_contention(word, &s);
        draw_guards(word, &s);
        draw_rotations(word, &s);
        set_tried(&s);
        return s;
}
