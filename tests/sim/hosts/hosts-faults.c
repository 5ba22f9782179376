// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-plan.h. Each kind of fault is an event that comes again and again, and each fault ends by an event of its own.
#include "hosts-plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "macro.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "story.h"

#define TROUBLE_SHOWS_US (60 * USEC_PER_SEC)

const char *const hosts_fault_names[_HOSTS_FAULTS] = {
#define HOSTS_FAULT_NAME(name, what) [HOSTS_FAULT_##name] = #name,
        HOSTS_FAULTS(HOSTS_FAULT_NAME)
#undef HOSTS_FAULT_NAME
};

const char *const hosts_verb_names[_HOSTS_VERBS] = {
#define HOSTS_VERB_NAME(name) [HOSTS_VERB_##name] = #name,
        HOSTS_VERBS(HOSTS_VERB_NAME)
#undef HOSTS_VERB_NAME
};

typedef struct Ending {
        HostsFault fault;
        uint32_t from, to;
} Ending;

static struct {
        HostsPlan plan;
        uint64_t until_us;
        uint64_t last_us[SIM_CLUSTER_MAX + 1], well_us[SIM_CLUSTER_MAX + 1]; // well: since when its disk is
        uint64_t n[_HOSTS_FAULTS];
} faults;

HostsPlan hosts_plan_draw(uint64_t word) {
        static const unsigned sizes[] = {3, 3, 3, 5};
        Draw d = draw_from(word);
        HostsPlan p = {.hosts = DRAW_PICK(&d, sizes),
                       .units = 1 + draw_below(&d, 12),
                       .length_us = draw_log(&d, 20, 300) * USEC_PER_SEC,
                       .ask_us = draw_log(&d, 20, 4000) * USEC_PER_MSEC,
                       .again_percent = draw_below(&d, 101)};

        for (size_t i = 0; i < _HOSTS_FAULTS; i++) {
                bool left_out = draw_below(&d, 2);

                p.fault_us[i] = left_out ? 0 : draw_log(&d, 500, 60000) * USEC_PER_MSEC;
        }
        for (size_t i = 0; i < _HOSTS_VERBS; i++)
                p.verbs[i] = draw_below(&d, 3) ? (unsigned) draw_log(&d, 1, 50) : 0;
        p.verbs[HOSTS_VERB_START] = MAX_OF(p.verbs[HOSTS_VERB_START], 10U);
        return p;
}

void hosts_plan_print(const HostsPlan *p) {
        printf("hosts=%u units=%u length=%" PRIu64 "s ask=%" PRIu64 "ms again=%u%%", p->hosts, p->units, p->length_us / USEC_PER_SEC,
               p->ask_us / USEC_PER_MSEC, p->again_percent);
        for (size_t i = 0; i < _HOSTS_FAULTS; i++)
                if (p->fault_us[i])
                        printf(" %s=%" PRIu64 "ms", hosts_fault_names[i], p->fault_us[i] / USEC_PER_MSEC);
        for (size_t i = 0; i < _HOSTS_VERBS; i++)
                if (p->verbs[i])
                        printf(" %s=%u", hosts_verb_names[i], p->verbs[i]);
        putchar('\n');
}

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
        story_tell("it is over: %s %u %u", hosts_fault_names[e->fault], e->from, e->to);
        switch (e->fault) {
        case HOSTS_FAULT_kill:
        case HOSTS_FAULT_restart:
        case HOSTS_FAULT_power:
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
        default:
                break;
        }
        free(e);
}

static SimDiskTrouble draw_error(Draw *d) {
        unsigned which = draw_below(d, 3);

        return (SimDiskTrouble){.write_fails = which != 0, .sync_fails = which != 1, .once = draw_below(d, 2)};
}

static SimDiskTrouble draw_full(Draw *d) {
        unsigned which = draw_below(d, 3);

        return (SimDiskTrouble){.disk_full = which != 0, .run_full = which != 1};
}

static SimDiskTrouble draw_slowness(Draw *d) {
        return (SimDiskTrouble){.sync_us = draw_log(d, 100, USEC_PER_SEC), .change_us = draw_log(d, 1, 10 * USEC_PER_MSEC)};
}

// Says how long it lasts; 0: it is over.
static uint64_t begin(HostsFault fault, uint32_t from, uint32_t to) {
        Draw *d = sim_draw();

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
                set_slow(from, to, draw_log(d, USEC_PER_MSEC, 2 * USEC_PER_SEC), draw_log(d, 10000, 10000000));
                return draw_log(d, USEC_PER_SEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_wall:
                sim_host_jump_wall(host(from), (int64_t) draw_log(d, 1000, 3600 * USEC_PER_SEC) * (draw_below(d, 2) ? 1 : -1));
                return 0;
        case HOSTS_FAULT_crash:
        case HOSTS_FAULT_outage:
                sim_machine_die_at(sim_machine(from), (unsigned) draw_log(d, 1, 100), fault == HOSTS_FAULT_outage,
                                   draw_log(d, 10 * USEC_PER_MSEC, 20 * USEC_PER_SEC));
                return draw_log(d, 100 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_error:
                sim_disk_trouble(from, draw_error(d));
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_full:
                sim_disk_trouble(from, draw_full(d));
                return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
        case HOSTS_FAULT_disk_slow:
                sim_disk_trouble(from, draw_slowness(d));
                return draw_log(d, USEC_PER_SEC, 60 * USEC_PER_SEC);
        case _HOSTS_FAULTS:
                break;
        }
        abort();
}

static void on_fault(void *data) {
        HostsFault fault = (HostsFault) (uintptr_t) data;
        uint32_t n = (uint32_t) sim_cluster_size(), from = 1 + draw_below(sim_draw(), n), to = 1 + (from - 1 + 1 + draw_below(sim_draw(), n - 1)) % n;
        uint64_t lasts_us;
        Ending *e;

        if (sim_now_us() >= faults.until_us)
                return;
        faults.n[fault]++;
        hosts_faults_touch(from);
        hosts_faults_touch(to);
        lasts_us = begin(fault, from, to);
        story_tell("%s %u %u, for %" PRIu64 " ms", hosts_fault_names[fault], from, to, lasts_us / USEC_PER_MSEC);
        story_event(hosts_fault_names[fault], from, to, "%" PRIu64, lasts_us);
        if (lasts_us > 0) {
                e = malloc(sizeof(*e));
                if (!e)
                        abort();
                *e = (Ending){fault, from, to};
                sim_at(sim_now_us() + lasts_us, NULL, end, e);
        }
        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) (2 * faults.plan.fault_us[fault])), NULL, on_fault, data);
}

void hosts_faults_begin(const HostsPlan *p, uint64_t until_us) {
        memset(&faults, 0, sizeof(faults));
        faults.plan = *p;
        faults.until_us = until_us;
        for (size_t i = 0; i < _HOSTS_FAULTS; i++)
                if (p->fault_us[i] > 0)
                        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) (2 * p->fault_us[i])), NULL, on_fault, (void *) (uintptr_t) i);
}

void hosts_faults_mend(void) {
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
                                                (SimWay){.delay_min_us = SIM_NET_DELAY_MIN_US, .delay_max_us = SIM_NET_DELAY_MAX_US});
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                run_again(i);
}

uint64_t hosts_faults_last_us(uint32_t number) {
        return faults.last_us[number];
}

bool hosts_faults_disk_was_in_trouble(uint32_t number) {
        return !sim_disk_is_well(number) || (faults.well_us[number] > 0 && sim_now_us() < faults.well_us[number] + TROUBLE_SHOWS_US);
}

uint64_t hosts_faults_count(HostsFault fault) {
        return faults.n[fault];
}
