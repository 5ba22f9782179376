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

static struct { Manager of[SIM_CLUSTER_MAX + 1]; } managers;

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
static void do_on(const SimMachine *m, void (*run)(void *data), Deed *deed) {
        if (!m->powered)
                return;
        deed->pid1 = m->pid1;
        if (m->daemon)
                (void) sim_host_do(m->host, run, deed);
        else
                run(deed);
}

// ------------------------------------------------------------------------------------------------ slowly

static void go_on(FakePid1 *p) {
        if (!pid1_let_go(p))
                (void) pid1_pass_on(p);
}

static void pass_on(FakePid1 *p) {
        (void) pid1_pass_on(p);
}

static bool any_passes(const SimMachine *m) {
        for (size_t i = 0; m->powered && i < asks.n_units; i++)
                if (pid1_is_passing(m->pid1, asks.units[i].name))
                        return true;
        return false;
}

static void tick(void *data);

static void tick_later(uint32_t number) {
        Manager *t = &managers.of[number];

        t->ticks = true;
        sim_at(sim_now_us() + draw_log(sim_draw(), 100, t->slow ? t->pace_us : QUICK_US), NULL, tick,
               (void *) (uintptr_t) number);
}

static void tick(void *data) {
        uint32_t number = (uint32_t) (uintptr_t) data;
        Manager *t = &managers.of[number];

        t->ticks = false;
        if (!t->slow && !any_passes(sim_machine(number)))
                return;
        do_on(sim_machine(number), run_deed, &(Deed){.run = draw_below(sim_draw(), 2) ? go_on : pass_on});
        tick_later(number);
}

// ------------------------------------------------------------------------------------------------ unheard

static void check(void *data);

static void check_later(uint32_t number) {
        Manager *t = &managers.of[number];

        t->checks = true;
        sim_at(sim_now_us() + t->check_us, NULL, check, (void *) (uintptr_t) number);
}

static void check(void *data) {
        uint32_t number = (uint32_t) (uintptr_t) data;
        Manager *t = &managers.of[number];

        t->checks = false;
        if (!t->deaf)
                return;
        do_on(sim_machine(number), run_deed, &(Deed){.run = pid1_hear});
        check_later(number);
}

// --------------------------------------------------------------------------------- what hosts-faults.c says

static void begin_slowness(uint32_t number, Draw *d) {
        Manager *t = &managers.of[number];

        t->slow = true;
        // contents have TimeoutStopSec=1 at least
        t->pace_us = draw_log(d, USEC_PER_MSEC, 800 * USEC_PER_MSEC);
        if (!t->ticks)
                tick_later(number);
}

static void begin_deafness(uint32_t number, Draw *d) {
        Manager *t = &managers.of[number];

        t->deaf = true;
        t->check_us = draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        pid1_lose_signals(sim_machine(number)->pid1, 1 + draw_below(d, 99));
        if (!t->checks)
                check_later(number);
}

uint64_t hosts_managers_trouble(HostsFault fault, uint32_t number, Draw *d) {
        const SimMachine *m = sim_machine(number);

        if (!m->powered)
                return 0;
        if (fault == HOSTS_FAULT_manager_deaf) {
                begin_deafness(number, d);
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        }
        do_on(m, do_trouble, &(Deed){.fault = fault, .begins = true});
        if (fault != HOSTS_FAULT_manager_slow)
                return draw_log(d, USEC_PER_MSEC, 10 * USEC_PER_SEC);
        begin_slowness(number, d);
        return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
}

void hosts_managers_end_trouble(HostsFault fault, uint32_t number) {
        Manager *t = &managers.of[number];

        if (fault == HOSTS_FAULT_manager_slow)
                t->slow = false;
        if (fault == HOSTS_FAULT_manager_deaf)
                t->deaf = false;
        do_on(sim_machine(number), do_trouble, &(Deed){.fault = fault});
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
