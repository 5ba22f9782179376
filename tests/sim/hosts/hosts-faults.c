// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-faults.h. Each fault is begun by a step of the story, and ends by an event of its own.
#include "hosts-faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "clock.h"
#include "coverage.h"
#include "daemon.h"
#include "hosts-addresses.h"
#include "hosts-at.h"
#include "hosts-managers.h"
#include "hosts-recover.h"
#include "hosts-rot.h"
#include "macro.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "story.h"

#define TROUBLE_SHOWS_US (60 * USEC_PER_SEC)

#define HOSTS_FAULT_NAME(name, what) #name,
const char *const swarm_fault_names[] = {HOSTS_FAULTS(HOSTS_FAULT_NAME)};
const unsigned swarm_n_faults = _HOSTS_FAULTS;
_Static_assert((unsigned) _HOSTS_FAULTS <= SWARM_FAULTS_MAX, "each fault has a weight");

typedef struct Ending {
        HostsFault fault;
        uint32_t from, to;
} Ending;

static struct {
        uint64_t last_us[SIM_CLUSTER_MAX + 1], well_us[SIM_CLUSTER_MAX + 1]; // well: since when its disk is
        uint64_t n;
} faults;

static SimHost *host(uint32_t number) {
        return sim_machine(number)->host;
}

static void set_cut(uint32_t from, uint32_t to, bool cut) {
        SimWay way = sim_net_way(host(from), host(to));

        way.cut = cut;
        sim_net_set_way(host(from), host(to), way);
}

static void set_slow(uint32_t from, uint32_t to, uint64_t delay_us, uint64_t bytes_per_s) {
        SimWay way = sim_net_way(host(from), host(to));

        way.delay_max_us = delay_us;
        way.bytes_per_s = bytes_per_s;
        sim_net_set_way(host(from), host(to), way);
}

static void set_clogged(uint32_t from, uint32_t to, bool clogged) {
        SimWay way = sim_net_way(host(from), host(to));

        way.clogged = clogged;
        sim_net_set_way(host(from), host(to), way);
}

static void set_alone(uint32_t number, bool alone) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != number) {
                        set_cut(i, number, alone);
                        set_cut(number, i, alone);
                }
}

static void look_again(void *data);

// One that is about to end is started when it has.
static void run_again(uint32_t number) {
        SimMachine *m = sim_machine(number);

        if (!m->daemon)
                sim_machine_start(m);
        else if (m->daemon->end != DAEMON_RUNNING)
                sim_at(sim_now_us() + 50 * USEC_PER_MSEC, NULL, look_again, (void *) (uintptr_t) number);
}

static void look_again(void *data) {
        run_again((uint32_t) (uintptr_t) data);
}

void hosts_faults_touch(uint32_t number) {
        faults.last_us[number] = sim_now_us();
}

static void end(void *data) {
        Ending *e = data;

        hosts_faults_touch(e->from);
        hosts_faults_touch(e->to);
        story_tell("it is over: %s %u %u", swarm_fault_names[e->fault], e->from, e->to);
        switch (e->fault) {
        case HOSTS_FAULT_kill:
        case HOSTS_FAULT_restart:
        case HOSTS_FAULT_power:
        case HOSTS_FAULT_rot:
                run_again(e->from);
                break;
        case HOSTS_FAULT_cut:
                set_cut(e->to, e->from, false);
                set_cut(e->from, e->to, false);
                break;
        case HOSTS_FAULT_one_way:
                set_cut(e->from, e->to, false);
                break;
        case HOSTS_FAULT_alone:
                set_alone(e->from, false);
                break;
        case HOSTS_FAULT_clog:
                set_clogged(e->from, e->to, false);
                break;
        case HOSTS_FAULT_slow:
                set_slow(e->from, e->to, SIM_NET_DELAY_MAX_US, 0);
                break;
        case HOSTS_FAULT_crash:
        case HOSTS_FAULT_outage:
                sim_machine_die_at(sim_machine(e->from), 0, false, 0);
                break;
        case HOSTS_FAULT_disk_error:
        case HOSTS_FAULT_disk_full:
        case HOSTS_FAULT_disk_slow:
                sim_disk_trouble(e->from, (SimDiskTrouble){});
                faults.well_us[e->from] = sim_now_us();
                break;
        case HOSTS_FAULT_manager_reload:
        case HOSTS_FAULT_manager_reexec:
        case HOSTS_FAULT_manager_deaf:
        case HOSTS_FAULT_manager_slow:
                hosts_managers_end_trouble(e->fault, e->from);
                break;
        case HOSTS_FAULT_address:
        case HOSTS_FAULT_no_network:
                hosts_addresses_end_trouble(e->from);
                run_again(e->from);
                break;
        case HOSTS_FAULT_user_leaves:
        case HOSTS_FAULT_user_killed:
        case HOSTS_FAULT_user_stuck:
                hosts_at_end_trouble(e->fault, e->from);
                break;
        default:
                break;
        }
        free(e);
}

static SimDiskTrouble draw_error(Draw *d) {
        unsigned which = draw_below(d, 3);

        return (SimDiskTrouble){
                .write_fails = which != 0, .sync_fails = which != 1, .once = draw_below(d, 2)};
}

static SimDiskTrouble draw_full(Draw *d) {
        unsigned which = draw_below(d, 3);

        return (SimDiskTrouble){.disk_full = which != 0, .run_full = which != 1};
}

static SimDiskTrouble draw_slowness(Draw *d) {
        return (SimDiskTrouble){.sync_us = draw_log(d, 100, USEC_PER_SEC),
                                .change_us = draw_log(d, 1, 10 * USEC_PER_MSEC)};
}


// Says how long it lasts; 0: it is over.
static uint64_t begin(HostsFault fault, uint32_t from, uint32_t to, Draw *d) {
        switch (fault) {
        case HOSTS_FAULT_kill:
                sim_machine_kill(sim_machine(from));
                return draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        case HOSTS_FAULT_restart:
                sim_machine_stop(sim_machine(from));
                return draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        case HOSTS_FAULT_power:
                sim_machine_power_off(sim_machine(from));
                return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_cut:
                set_cut(from, to, true);
                set_cut(to, from, true);
                return draw_log(d, 50 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_one_way:
                set_cut(from, to, true);
                return draw_log(d, 50 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_alone:
                set_alone(from, true);
                return draw_log(d, 50 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_clog:
                set_clogged(from, to, true);
                return draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        case HOSTS_FAULT_reset:
                sim_net_reset(host(from), host(to));
                return 0;
        case HOSTS_FAULT_lose:
                sim_net_lose_behind_next(host(from), host(to));
                return 0;
        case HOSTS_FAULT_slow:
                set_slow(from, to, draw_log(d, USEC_PER_MSEC, 2 * USEC_PER_SEC),
                         draw_log(d, 10000, 10000000));
                return draw_log(d, USEC_PER_SEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_wall:
                sim_host_jump_wall(host(from), (int64_t) draw_log(d, 1000, 3600 * USEC_PER_SEC) *
                                                       (draw_below(d, 2) ? 1 : -1));
                return 0;
        case HOSTS_FAULT_crash:
        case HOSTS_FAULT_outage:
                sim_machine_die_at(sim_machine(from), (unsigned) draw_log(d, 1, 100),
                                   fault == HOSTS_FAULT_outage,
                                   draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC));
                return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_error:
                sim_disk_trouble(from, draw_error(d));
                faults.well_us[from] = sim_now_us(); // if it is once, that may be over before this ends
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_full:
                sim_disk_trouble(from, draw_full(d));
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_slow:
                sim_disk_trouble(from, draw_slowness(d));
                return draw_log(d, USEC_PER_SEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_rot:
                if (draw_below(d, 2))
                        sim_machine_power_off(sim_machine(from));
                else
                        sim_machine_kill(sim_machine(from));
                (void) hosts_rot(from, d);
                return draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        case HOSTS_FAULT_manager_reload:
        case HOSTS_FAULT_manager_reexec:
        case HOSTS_FAULT_manager_deaf:
        case HOSTS_FAULT_manager_slow:
                return hosts_managers_trouble(fault, from, d);
        case HOSTS_FAULT_address:
        case HOSTS_FAULT_no_network:
                return hosts_addresses_trouble(fault, from, d);
        case HOSTS_FAULT_user_leaves:
        case HOSTS_FAULT_user_killed:
        case HOSTS_FAULT_user_stuck:
                return hosts_at_trouble(fault, from, d);
        case _HOSTS_FAULTS:
                break;
        }
        abort();
}

void hosts_faults_step(Draw *d) {
        const unsigned *weights = asks.swarm.faults;
        uint32_t n = (uint32_t) sim_cluster_size(), from = 1 + draw_below(d, n),
                 to = 1 + (from - 1 + 1 + draw_below(d, n - 1)) % n;
        unsigned sum = 0;
        HostsFault fault;
        uint64_t lasts_us;
        Ending *e;

        for (unsigned i = 0; i < _HOSTS_FAULTS; i++)
                sum += weights[i];
        if (sum == 0)
                return;
        fault = (HostsFault) draw_weighted(d, weights, _HOSTS_FAULTS);
        faults.n++;
        coverage_note_fault(fault);
        hosts_faults_touch(from);
        hosts_faults_touch(to);
        lasts_us = begin(fault, from, to, d);
        story_tell("%s %u %u, for %" PRIu64 " ms", swarm_fault_names[fault], from, to,
                   lasts_us / USEC_PER_MSEC);
        story_event(swarm_fault_names[fault], from, to, "%" PRIu64, lasts_us);
        if (lasts_us == 0)
                return;
        e = malloc(sizeof(*e));
        if (!e)
                abort();
        *e = (Ending){fault, from, to};
        sim_at(sim_now_us() + lasts_us, NULL, end, e);
}

void hosts_faults_begin(void) {
        memset(&faults, 0, sizeof(faults));
        hosts_managers_begin();
}

void hosts_faults_mend(void) {
        hosts_managers_mend();
        hosts_recover_mend();
        hosts_addresses_mend();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                if (!sim_disk_is_well(i))
                        faults.well_us[i] = sim_now_us();
                sim_disk_trouble(i, (SimDiskTrouble){});
                sim_machine_die_at(sim_machine(i), 0, false, 0);
        }
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                for (uint32_t j = 1; j <= sim_cluster_size(); j++)
                        if (i != j)
                                sim_net_set_way(host(i), host(j),
                                                (SimWay){.delay_min_us = SIM_NET_DELAY_MIN_US,
                                                         .delay_max_us = SIM_NET_DELAY_MAX_US});
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                run_again(i);
        hosts_at_mend();
}

uint64_t hosts_faults_last_us(uint32_t number) {
        return faults.last_us[number];
}

bool hosts_faults_disk_was_in_trouble(uint32_t number) {
        return !sim_disk_is_well(number) ||
               (faults.well_us[number] > 0 && sim_now_us() < faults.well_us[number] + TROUBLE_SHOWS_US);
}

uint64_t hosts_faults_count(void) {
        return faults.n;
}
