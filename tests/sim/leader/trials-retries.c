// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A trial (trials.c): a unit with RestartElsewhere= fails again and again, and what argosy-unit(5) says is
// worked out once more: how many failures count on each node by now, how long the pause is, and where the
// unit is started next. The unit is none of the story's, and has no other option.
//
//      a failure -> a pause -> the same node, or one where it has failed less
//
// Says nothing where the node that it would go to cannot be told for certain.
#include <stdio.h>
#include <string.h>

#include "asks-private.h"
#include "checks-private.h"
#include "leader-private.h"
#include "str.h"
#include "test.h"
#include "trials.h"

#define UNIT "retried.service"

enum { FAILURES = 6, EARLY_MS = 300, LATE_MS = 1500, LEASE_MAX_MS = 3000 };

static struct {
        unsigned n, half_ms;
        double points[WORLD_HOSTS_MAX + 1]; // by host, at that time
        uint64_t at_us[WORLD_HOSTS_MAX + 1];
} model;

// Half after one half-life, a quarter after two, in a straight line between.
static double points_of(uint32_t host, uint64_t now_us) {
        uint64_t age_us = now_us - model.at_us[host], half_us = model.half_ms * UINT64_C(1000);
        double points = model.points[host];

        for (; age_us >= half_us && points > 0.01; age_us -= half_us)
                points /= 2;
        return age_us >= half_us ? 0 : points * (1 - (double) age_us / (double) half_us / 2);
}

static unsigned count_of(uint32_t host, uint64_t now_us) {
        return (unsigned) (points_of(host, now_us) + 0.5);
}

static bool is_near_a_half(double points) {
        double rest = points + 0.5 - (double) (unsigned) (points + 0.5);

        return points > 0.1 && (rest < 0.05 || rest > 0.95);
}

static void note_failure(uint32_t host, uint64_t now_us) {
        model.points[host] = points_of(host, now_us) + 1;
        model.at_us[host] = now_us;
}

static void forget(void) {
        memset(model.points, 0, sizeof(model.points));
}

// All of them, wherever they happened.
static double points_of_all(uint64_t now_us) {
        double points = 0;

        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                points += points_of(i, now_us);
        return points;
}

static uint32_t host_now(void) {
        const Argosy__UnitRecord *r = rig_record(&world.rig, UNIT);

        return r ? places_host_of(r->node) : 0;
}

static VirtualUnit *unit_on(uint32_t host) {
        VirtualUnit *v = host ? virtual_host_find(&rig_host(&world.rig, host)->virtual, UNIT) : NULL;

        return v && v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ? v : NULL;
}

// Of other hosts that may have it the fewest failures that one of them has; UINT32_MAX: there is none, or it
// cannot be told.
static unsigned fewest_elsewhere(uint32_t host, uint64_t now_us) {
        unsigned fewest = UINT32_MAX;

        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                if (i == host)
                        continue;
                if (is_near_a_half(points_of(i, now_us)))
                        return UINT32_MAX;
                if (places_is_certain(i) && count_of(i, now_us) < fewest)
                        fewest = count_of(i, now_us);
        }
        return fewest;
}

static bool start(void) {
        char text[160];
        WorldUnit u = {.name = UNIT, .file = UNIT};
        WorldContent c = {.text = text};
        Argosy__Request *q;

        snprintf(text, sizeof(text),
                 "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRestartElsewhere=%u\n"
                 "RestartElsewhereDecaySec=%u\n",
                 model.n, model.half_ms / 1000);
        q = asks_make_start(&u, &c);
        return trials_ask(q) && host_now();
}

static uint64_t revision_now(void) {
        return rig_record(&world.rig, UNIT)->revision;
}

// False: what follows cannot be told.
static bool one_failure(void) {
        uint32_t host = host_now(), next;
        VirtualUnit *v = unit_on(host);
        uint64_t revision = revision_now(), at_us, due_us;
        unsigned all, here, fewest;

        if (!v || !places_is_certain(host))
                return false;
        story_tell("%s fails on n%u", UNIT, host);
        at_us = world.rig.now_us;
        rig_host_report(&world.rig, rig_host(&world.rig, host), v, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                        ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&world.rig);
        note_failure(host, at_us);
        if (is_near_a_half(points_of_all(at_us)))
                return false;
        all = (unsigned) (points_of_all(at_us) + 0.5);
        rig_pass_ms(&world.rig, 1000 * (1u << (all - 1)) - EARLY_MS);
        if (revision_now() != revision)
                check_fail("failures-are-counted",
                           "%u failures of %s count, and it is started again too soon", all, UNIT);
        due_us = world.rig.now_us + EARLY_MS * UINT64_C(1000);
        if (is_near_a_half(points_of(host, due_us)))
                return false;
        here = count_of(host, due_us);
        fewest = fewest_elsewhere(host, due_us);
        rig_pass_ms(&world.rig, EARLY_MS + LATE_MS);
        next = host_now();
        check_says("failures-are-counted");
        if (here < model.n && (revision_now() == revision || next != host))
                check_fail("failures-are-counted", "%u failures of %s on n%u count, of %u, and it is %s",
                           here, UNIT, host, model.n,
                           next == host ? "not started again" : "taken elsewhere");
        if (here < model.n)
                return true;
        if (fewest == UINT32_MAX)
                return false;
        if (fewest < model.n && next == host)
                check_fail("failures-are-counted", "%u failures of %s on n%u count, of %u, and it stays",
                           here, UNIT, host, model.n);
        if (fewest == 0 && next != host && next && count_of(next, world.rig.now_us) > 0)
                check_fail("failures-are-counted",
                           "%s goes to n%u, where it has failed, and could go where it has not", UNIT, next);
        return next != host;
}

// Its node is lost: it goes where it has not failed, as far as there is such a host.
static void lose_its_host(void) {
        uint32_t host = host_now(), next;
        unsigned fewest;

        if (host <= 1 || !unit_on(host))
                return;
        rig_host_off(&world.rig, host);
        rig_pass_ms(&world.rig, 3 * asks.swarm.lease_ms);
        next = host_now();
        fewest = fewest_elsewhere(host, world.rig.now_us);
        if (fewest == 0 && next && next != host && points_of(next, world.rig.now_us) > 0.6)
                check_fail(
                        "failures-are-counted",
                        "%s goes to n%u, where it has failed, as its node is lost, and could go elsewhere",
                        UNIT, next);
        rig_host_on(&world.rig, host, false);
        rig_pass_ms(&world.rig, asks.swarm.lease_ms);
}

void trials_fail_again(Draw *d) {
        if (asks.swarm.lease_ms > LEASE_MAX_MS || asks.swarm.start_ms > LATE_MS / 3 ||
            asks.swarm.stop_ms > LATE_MS / 3)
                return;
        memset(&model, 0, sizeof(model));
        model.n = 1 + draw_below(d, 3);
        model.half_ms = 1000 * (2 + draw_below(d, 30));
        if (!start())
                return;
        for (unsigned i = 0; i < FAILURES; i++) {
                rig_pass_ms(&world.rig, asks.swarm.start_ms + asks.swarm.stop_ms + 100);
                if (draw_one_in(d, 3))
                        rig_pass_ms(&world.rig, (unsigned) draw_log(d, 1, 2 * model.half_ms));
                if (draw_one_in(d, 6)) {
                        forget();
                        if (!start())
                                return;
                        rig_pass_ms(&world.rig, asks.swarm.start_ms + asks.swarm.stop_ms + 100);
                }
                if (!one_failure())
                        return;
                if (draw_one_in(d, 4)) {
                        lose_its_host();
                        return;
                }
        }
}
