// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a story of whole hosts may contain. See swarm.h and hosts-faults.h.
#include "hosts-faults.h"
#include "world-units.h"

// From a word of its own.
static void draw_members(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x686f737473));

        if (!draw_one_in(&d, 3))
                return;
        s->fresh = draw_below(&d, 3);
        s->n_member_steps = (unsigned) draw_log(&d, 1, 32);
}

// Likewise, so that what came before is as it was.
static void draw_managers(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x6d616e6167657273));
        unsigned *weights = &s->faults[HOSTS_FAULT_manager_reload];

        if (draw_one_in(&d, 2))
                swarm_draw_weights(&d, weights, HOSTS_FAULT_address - HOSTS_FAULT_manager_reload);
}

static void draw_recoveries(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x7265636f766572));

        if (draw_one_in(&d, 6))
                s->n_recover_steps = 1 + draw_below(&d, 2);
}

static void draw_addresses(uint64_t word, Swarm *s) {
        static const unsigned found[] = {64, 64, 32, 0};
        Draw d = draw_from(word ^ UINT64_C(0x616464726573));

        if (!draw_one_in(&d, 3))
                return;
        s->found = DRAW_PICK(&d, found);
        s->names = draw_below(&d, 2);
        swarm_draw_weights(&d, &s->faults[HOSTS_FAULT_address],
                           HOSTS_FAULT_user_leaves - HOSTS_FAULT_address);
}

static void draw_leases(uint64_t word, Swarm *s) {
        static const unsigned leases[] = {64, 32};
        Draw d = draw_from(word ^ UINT64_C(0x6c6561736573));

        if (draw_one_in(&d, 4))
                s->leases = DRAW_PICK(&d, leases);
}

static void draw_users(uint64_t word, Swarm *s) {
        static const unsigned users[] = {64, 64, 32};
        Draw d = draw_from(word ^ UINT64_C(0x7573657273));

        if (!draw_one_in(&d, 4))
                return;
        s->users = DRAW_PICK(&d, users);
        s->of_users = (unsigned) draw_log(&d, 4, 64);
        swarm_draw_weights(&d, &s->faults[HOSTS_FAULT_user_leaves], _HOSTS_FAULTS - HOSTS_FAULT_user_leaves);
}

// Somebody at a host: users' managers, and configurations.
static void draw_at(uint64_t word, Swarm *s) {
        Draw d = draw_from(word ^ UINT64_C(0x6174));

        if (!draw_one_in(&d, 3))
                return;
        s->configs = 32;
        s->n_at_steps = (unsigned) draw_log(&d, 1, 32);
}

Swarm swarm_draw(uint64_t word) {
        static const unsigned sizes[] = {3, 3, 3, 5};
        static const unsigned voters[] = {0, 0, 3, 3, 3, 1};
        Draw d = draw_from(word);
        Swarm s = {.hosts = DRAW_PICK(&d, sizes), .units = (unsigned) draw_log(&d, 1, WORLD_UNITS_MAX)};

        swarm_draw_weights(&d, s.faults, HOSTS_FAULT_manager_reload);
        swarm_draw_weights(&d, s.loads, SWARM_LOADS_DRAWN);
        s.loads[LOAD_members] = 0; // STEP_MEMBER has them (hosts-members.h)
        if (s.loads[LOAD_units] < SWARM_WEIGHT_MAX / 4)
                s.loads[LOAD_units] = SWARM_WEIGHT_MAX / 4; // without units there is nothing to look at
        if (s.loads[LOAD_several] < SWARM_WEIGHT_MAX && draw_below(&d, 4) > 0)
                s.loads[LOAD_several] = SWARM_WEIGHT_MAX;
        if (draw_one_in(&d, 3))
                s.loads[LOAD_options] = 0; // of what is not picky is known where it runs
        s.voters = DRAW_PICK(&d, voters);
        s.guarded = draw_one_in(&d, 3) ? (unsigned) draw_log(&d, 1, 64) : 0;
        s.steps[STEP_ASK] = (unsigned) draw_log(&d, 8, SWARM_WEIGHT_MAX);
        s.steps[STEP_FAULT] = draw_one_in(&d, 6) ? 0 : (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 3);
        s.steps[STEP_TIME] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 2);
        s.steps[STEP_SETTLE] = (unsigned) draw_log(&d, 1, SWARM_WEIGHT_MAX / 4);
        s.steps[STEP_CALM] = draw_one_in(&d, 4) ? 1 : 0;
        s.n_steps = (unsigned) draw_log(&d, 24, 400);
        s.time_max_ms = (unsigned) draw_log(&d, 200, 40000);
        draw_members(word, &s);
        draw_managers(word, &s);
        draw_recoveries(word, &s);
        draw_addresses(word, &s);
        draw_leases(word, &s);
        draw_users(word, &s);
        draw_at(word, &s);
        return s;
}
