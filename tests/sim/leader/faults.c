// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What breaks, and works again. One function for each row of SWARM_FAULTS (swarm.h).

#include <errno.h>

#include "test.h"
#include "world.h"

static RigHost *draw_host(Draw *d) {
        return rig_host(&world.rig, 1 + draw_below(d, world.swarm.hosts));
}

// That of the leader only ever loses the leadership.
static RigHost *draw_other_host(Draw *d) {
        return world.swarm.hosts > 1 ? rig_host(&world.rig, 2 + draw_below(d, world.swarm.hosts - 1)) : NULL;
}

static void fault_power(Draw *d) {
        RigHost *h = draw_other_host(d);
        bool forget = draw_one_in(d, 2);

        if (!h || (!h->up && !world_is_well()))
                return;
        story_tell("n%u %s", h->number, h->up ? "loses its power" : forget ? "is switched on" : "is there again, with its units");
        if (h->up)
                rig_host_off(&world.rig, h->number);
        else
                rig_host_on(&world.rig, h->number, forget);
}

static void fault_deaf(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("n%u %s", h->number, h->deaf ? "listens again" : "does not listen");
        h->deaf = !h->deaf;
}

static void fault_lazy(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("n%u %s", h->number, h->lazy ? "reports again" : "reports nothing");
        h->lazy = !h->lazy;
}

static void fault_link(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("the link of n%u breaks", h->number);
        h->linked = false;
}

static void fault_full(Draw *d) {
        RigHost *h = draw_host(d);

        if (h->full && !world_is_well())
                return;
        story_tell("n%u %s", h->number, h->full ? "takes more again" : "takes no more");
        if (h->full)
                rig_host_drain(&world.rig, h->number);
        else
                h->full = true;
}

static void depose(void) {
        story_tell("the leader is deposed");
        rig_depose(&world.rig);
}

static void elect(void) {
        if (world.rig.led)
                return;
        story_tell("a leader is elected");
        rig_elect(&world.rig);
}

static void log_goes_on(void) {
        if (!world.is_failing && !world.rig.slow)
                return;
        story_tell("the log goes on");
        store_memory_fail(world.rig.store, 0);
        world.is_failing = world.rig.slow = false;
        rig_release(&world.rig);
}

static void fault_leader(Draw *d) {
        if (world.rig.slow || world.is_failing)
                return;
        if (world.rig.led)
                depose();
        else
                elect();
}

static void fault_unknown(Draw *d) {
        bool kept = draw_one_in(d, 2);

        if (!world_is_well())
                return;
        world.rig.slow = true;
        rig_turns(&world.rig, 1 + draw_below(d, 6));
        story_tell("the leader is deposed, with %zu on its way, which is %s", world.rig.n_held, kept ? "kept" : "lost");
        rig_depose_unknown(&world.rig, kept);
}

static void fault_slow(Draw *d) {
        if (world.is_failing || !world.rig.led)
                return;
        if (world.rig.slow) {
                story_tell("one entry more");
                rig_release(&world.rig);
                return;
        }
        story_tell("the log takes its time");
        world.rig.slow = true;
}

static void fault_disk(Draw *d) {
        if (!world_is_well()) {
                log_goes_on();
                return;
        }
        story_tell("the log takes nothing");
        world.is_failing = true;
        store_memory_fail(world.rig.store, draw_one_in(d, 2) ? -ENOSPC : -EBUSY);
}

// A unit that the host has.
static VirtualUnit *draw_unit(Draw *d, RigHost *h) {
        const WorldUnit *u = world_unit_draw(d);

        return virtual_host_find(&h->virtual, u->name);
}

static void fault_unit(Draw *d) {
        RigHost *h = draw_host(d);
        VirtualUnit *u = draw_unit(d, h);
        bool fails = draw_one_in(d, 2);

        if (!u || !h->up || u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                return;
        story_tell("%s on n%u %s", u->name, h->number, fails ? "fails" : "ends by itself");
        rig_host_report(&world.rig, h, u, fails ? ARGOSY__ACTIVE_STATE__ACTIVE_FAILED : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                        fails ? ARGOSY__OUTCOME__KIND__FAILED : ARGOSY__OUTCOME__KIND__DONE);
}

static void fault_foreign(Draw *d) {
        RigHost *h = draw_host(d);

        story_tell("n%u %s", h->number, h->refuses ? "has no units of its own any more" : "has units of these names of its own");
        h->refuses = !h->refuses;
}

static void fault_clock(Draw *d) {
        RigHost *h = draw_host(d);
        int64_t by = (int64_t) draw_log(d, 1000, UINT64_C(40) * 86400 * 1000000);

        h->clock_ahead_us = draw_one_in(d, 4) ? 0 : draw_one_in(d, 2) ? by : -by;
        story_tell("the clock of n%u is %lld s ahead", h->number, (long long) h->clock_ahead_us / 1000000);
}

static void fault_labels(Draw *d) {
        RigHost *h = draw_host(d);
        static const char *const zones[] = {"a", "b", "c"};

        if (!world_is_well())
                return;
        story_tell("n%u comes with other labels", h->number);
        rig_host_set_labels(&world.rig, h->number, "zone", DRAW_PICK(d, zones));
}

static void fault_goodbye(Draw *d) {
        RigHost *h = draw_other_host(d);

        if (!h || !h->up || !h->attached || !world.rig.led)
                return;
        story_tell("n%u shuts down", h->number);
        rig_host_goodbye(&world.rig, h->number);
}

static void nothing(Draw *d) {
}

static void (*const faults[_FAULTS])(Draw *d) = {
        [FAULT_power] = fault_power,     [FAULT_deaf] = fault_deaf,       [FAULT_lazy] = fault_lazy,   [FAULT_link] = fault_link,
        [FAULT_full] = fault_full,       [FAULT_leader] = fault_leader,   [FAULT_unknown] = fault_unknown, [FAULT_slow] = fault_slow,
        [FAULT_disk] = fault_disk,       [FAULT_unit] = fault_unit,       [FAULT_foreign] = fault_foreign, [FAULT_clock] = fault_clock,
        [FAULT_labels] = fault_labels,   [FAULT_goodbye] = fault_goodbye, [FAULT_repeat] = nothing,    [FAULT_garbage] = nothing,
};

void faults_step(Draw *d) {
        unsigned all = 0;

        for (unsigned i = 0; i < _FAULTS; i++)
                all += world.swarm.faults[i];
        if (all > 0)
                faults[draw_weighted(d, world.swarm.faults, _FAULTS)](d);
}

void faults_heal(void) {
        log_goes_on();
        elect();
        for (uint32_t i = 1; i <= world.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);

                h->deaf = h->lazy = h->refuses = false;
                h->clock_ahead_us = 0;
                if (h->full)
                        rig_host_drain(&world.rig, i);
                if (!h->up)
                        rig_host_on(&world.rig, i, false);
        }
}
