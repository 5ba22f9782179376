// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-managers.h. A trouble is begun and ended by hosts-faults.c; what goes on in between is events of
// the world.
#include "hosts-managers.h"

#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "clock.h"
#include "fake-pid1.h"
#include "hosts-checks.h"
#include "hosts-story.h"
#include "sim-host.h"
#include "test.h"
#include "verdict.h"

// that what still begins or ends takes when systemd is not slow any more
#define QUICK_US (20 * USEC_PER_MSEC)

typedef struct Manager {
        bool slow, ticks;
        uint64_t pace_us; // between two things that a slow one does, at most
        bool deaf, checks;
        uint64_t check_us; // between two rounds of the check
} Manager;

static struct { Manager of[2 * SIM_USER_PLACE]; } managers; // by place

typedef struct Deed {
        FakePid1 *pid1;
        void (*run)(FakePid1 *p);
        HostsFault fault;
        bool begins;
} Deed;

static void run_deed(void *data) {
        const Deed *deed = data;

        deed->run(deed->pid1);
}

static void do_trouble(void *data) {
        const Deed *deed = data;
        FakePid1 *p = deed->pid1;

        switch (deed->fault) {
        case HOSTS_FAULT_manager_reload:
                pid1_reload(p, deed->begins);
                break;
        case HOSTS_FAULT_manager_reexec:
                pid1_reexecute(p, deed->begins);
                break;
        case HOSTS_FAULT_manager_deaf:
                pid1_lose_signals(p, 0);
                pid1_hear(p);
                break;
        case HOSTS_FAULT_manager_slow:
                pid1_take_time(p, deed->begins);
                pid1_hold_jobs(p, deed->begins);
                break;
        default:
                abort();
        }
}

// What argosyd hears of it, it hears in a turn of its own.
static void do_on(uint32_t place, void (*run)(void *data), Deed *deed) {
        deed->pid1 = sim_place_pid1(place);
        if (deed->pid1)
                sim_machine_do(sim_place_machine(place), run, deed);
}

// ------------------------------------------------------------------------------------------------ slowly

static void go_on(FakePid1 *p) {
        if (!pid1_let_go(p))
                (void) pid1_pass_on(p);
}

static void pass_on(FakePid1 *p) {
        (void) pid1_pass_on(p);
}

static bool any_passes(uint32_t place) {
        FakePid1 *p = sim_place_pid1(place);

        for (size_t i = 0; p && i < asks.n_units; i++)
                if (pid1_is_passing(p, asks.units[i].name))
                        return true;
        return false;
}

static void tick(void *data);

static void tick_later(uint32_t place) {
        Manager *t = &managers.of[place];

        t->ticks = true;
        sim_at(sim_now_us() + draw_log(sim_draw(), 100, t->slow ? t->pace_us : QUICK_US), NULL, tick,
               (void *) (uintptr_t) place);
}

static void tick(void *data) {
        uint32_t place = (uint32_t) (uintptr_t) data;
        Manager *t = &managers.of[place];

        t->ticks = false;
        if (!t->slow && !any_passes(place))
                return;
        do_on(place, run_deed, &(Deed){.run = draw_below(sim_draw(), 2) ? go_on : pass_on});
        tick_later(place);
}

// ------------------------------------------------------------------------------------------------ unheard

static void check(void *data);

static void check_later(uint32_t place) {
        Manager *t = &managers.of[place];

        t->checks = true;
        sim_at(sim_now_us() + t->check_us, NULL, check, (void *) (uintptr_t) place);
}

static void check(void *data) {
        uint32_t place = (uint32_t) (uintptr_t) data;
        Manager *t = &managers.of[place];

        t->checks = false;
        if (!t->deaf)
                return;
        do_on(place, run_deed, &(Deed){.run = pid1_hear});
        check_later(place);
}

// --------------------------------------------------------------------------------- what hosts-faults.c says

static void begin_slowness(uint32_t place, Draw *d) {
        Manager *t = &managers.of[place];

        t->slow = true;
        // contents have TimeoutStopSec=1 at least
        t->pace_us = draw_log(d, USEC_PER_MSEC, 800 * USEC_PER_MSEC);
        if (!t->ticks)
                tick_later(place);
}

static void begin_deafness(uint32_t place, Draw *d) {
        Manager *t = &managers.of[place];

        t->deaf = true;
        t->check_us = draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        pid1_lose_signals(sim_place_pid1(place), 1 + draw_below(d, 99));
        if (!t->checks)
                check_later(place);
}

uint64_t hosts_managers_trouble(HostsFault fault, uint32_t number, Draw *d) {
        const SimMachine *m = sim_machine(number);
        uint32_t place = number + (m->user.pid1 && draw_below(d, 2) ? SIM_USER_PLACE : 0);

        if (!m->powered || (place >= SIM_USER_PLACE && !m->user.runs))
                return 0;
        if (fault == HOSTS_FAULT_manager_deaf) {
                begin_deafness(place, d);
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        }
        do_on(place, do_trouble, &(Deed){.fault = fault, .begins = true});
        if (fault != HOSTS_FAULT_manager_slow)
                return draw_log(d, USEC_PER_MSEC, 10 * USEC_PER_SEC);
        begin_slowness(place, d);
        return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
}

static void end_trouble(HostsFault fault, uint32_t place) {
        Manager *t = &managers.of[place];

        if (fault == HOSTS_FAULT_manager_slow)
                t->slow = false;
        if (fault == HOSTS_FAULT_manager_deaf)
                t->deaf = false;
        do_on(place, do_trouble, &(Deed){.fault = fault});
}

void hosts_managers_end_trouble(HostsFault fault, uint32_t number) {
        end_trouble(fault, number);
        if (sim_machine(number)->user.pid1)
                end_trouble(fault, number + SIM_USER_PLACE);
}

void hosts_managers_mend(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                for (HostsFault fault = HOSTS_FAULT_manager_reload; fault <= HOSTS_FAULT_manager_slow;
                     fault++)
                        hosts_managers_end_trouble(fault, i);
}

void hosts_managers_begin(void) {
        memset(&managers, 0, sizeof(managers));
}
