// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Machines of a cluster and what becomes of them (sim-host.h): guards, places, the life of argosyd. How the
// cluster begins is in sim-cluster.c. What the daemon asks the machine for is answered in sim-facts.c.
#include "sim-host-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "clock.h"
#include "daemon-listen.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "fileio.h"
#include "lease-file.h"
#include "oom.h"
#include "run-private.h"
#include "run.h"
#include "sim-disk.h"
#include "sim-users.h"
#include "str.h"
#include "tls-context.h"
#include "unit-state.h"

// ------------------------------------------------------------------------------------------------ guards

// As argosy-guard reads it; 0: there is none.
static uint64_t read_lease(const SimMachine *m) {
        _cleanup_free_ char *file = oom_checked(str_printf("%s/run/lease", m->dir));
        _cleanup_buf_ Buf content = {};
        const LeaseFile *lease;

        if (file_read(AT_FDCWD, file, 4096, &content) < 0 || content.len < sizeof(*lease))
                return 0;
        lease = (const LeaseFile *) content.data;
        return memcmp(lease->magic, LEASE_FILE_MAGIC, sizeof(lease->magic)) == 0
                       ? atomic_load(&lease->until_us)
                       : 0;
}

static void look_at_guards(void *data);

// Guards look when their time is over, by the lease as it is now.
static void set_guard(SimMachine *m) {
        int sec = pid1_least_guard_sec(m->pid1);
        uint64_t over_us = read_lease(m) + (uint64_t) MAX_OF(sec, 0) * USEC_PER_SEC,
                 now_us = sim_host_boot_us(m->host);
        uint64_t at_us = sim_now_us() + (over_us > now_us ? over_us - now_us : 0);

        if (sec < 0 || (m->guard_us > 0 && m->guard_us <= at_us && m->guard_us >= sim_now_us()))
                return;
        m->guard_us = at_us;
        sim_at(at_us, NULL, look_at_guards, m);
}

typedef struct GuardsEnd {
        FakePid1 *pid1;
        int sec;
} GuardsEnd;

static void run_guards_end(void *data) {
        const GuardsEnd *e = data;

        pid1_guards_fail(e->pid1, e->sec);
}

static void look_at_guards(void *data) {
        SimMachine *m = data;
        uint64_t until_us = read_lease(m), now_us = sim_host_boot_us(m->host);
        GuardsEnd e = {m->pid1, 0};

        if (m->guard_us != sim_now_us())
                return;
        m->guard_us = 0;
        if (!m->powered || pid1_least_guard_sec(m->pid1) < 0)
                return;
        if (until_us <= now_us) {
                e.sec = (int) ((now_us - until_us) / USEC_PER_SEC);
                sim_machine_do(m, run_guards_end, &e);
        }
        set_guard(m);
}

static void guard_soon(void *data) {
        SimMachine *m = data;

        if (m->powered)
                set_guard(m);
}

static void on_unit(const char *name, Argosy__ActiveState was, Argosy__ActiveState is, void *userdata) {
        SimMachine *m = userdata;

        if (active_state_is_down(was) && !active_state_is_down(is))
                sim_at(sim_now_us(), NULL, guard_soon, m);
        if (sim_cluster.changed)
                sim_cluster.changed(m, name, was, is);
}

void sim_cluster_on_unit(void (*changed)(SimMachine *m, const char *name, Argosy__ActiveState was,
                                         Argosy__ActiveState is)) {
        sim_cluster.changed = changed;
}

static unsigned draw_for_pid1(unsigned n) {
        return draw_below(sim_draw(), n);
}

static void look_on(SimMachine *m, FakePid1 *p) {
        pid1_on_change(p, on_unit, m);
        pid1_set_chance(p, draw_for_pid1);
}

void sim_machine_make_pid1(SimMachine *m) {
        _cleanup_free_ char *units = oom_checked(str_printf("%s/units", m->dir));

        m->pid1 = pid1_new(units);
        m->guard_us = 0;
        look_on(m, m->pid1);
        sim_user_make(m);
        if (m->user.pid1)
                look_on(m, m->user.pid1);
}

// ------------------------------------------------------------------------------------------------ places

uint32_t sim_next_place(uint32_t place) {
        uint32_t number = sim_place_number(place);

        if (number > 0 && place < SIM_USER_PLACE && sim_machine(number)->user.pid1)
                return number + SIM_USER_PLACE;
        return number < sim_cluster.n ? number + 1 : 0;
}

SimMachine *sim_place_machine(uint32_t place) {
        return sim_machine(sim_place_number(place));
}

FakePid1 *sim_place_pid1(uint32_t place) {
        const SimMachine *m = sim_place_machine(place);

        if (!m || !m->powered)
                return NULL;
        return place >= SIM_USER_PLACE ? m->user.pid1 : m->pid1;
}

const char *sim_place_name(uint32_t place) {
        static char names[8][32];
        static unsigned next;
        char *ret = names[next++ % ELEMENTSOF(names)];

        str_fit(ret, sizeof(names[0]), "n%u%s", sim_place_number(place),
                place >= SIM_USER_PLACE ? "/" SIM_USER_MANAGER : "");
        return ret;
}

void sim_machine_do(const SimMachine *m, void (*run)(void *data), void *data) {
        if (m->daemon)
                (void) sim_host_do(m->host, run, data);
        else
                run(data);
}

// Nothing but the last word about it counts.
static void start_again(void *data) {
        SimMachine *m = data;

        if (m->start_us == sim_now_us() && !m->daemon)
                sim_machine_start(m);
}

static void start_later(SimMachine *m, uint64_t us) {
        m->start_us = sim_now_us() + us;
        sim_at(m->start_us, NULL, start_again, m);
}

// argosyd of it runs no more, and all that was its own is closed.
static void forget_daemon(SimMachine *m, bool silent) {
        sim_net_host_gone(m->host, silent);
        sim_user_abandon(m);
        sim_disk_let_go(m->number);
        sim_disk_die_at(m->number, 0);
        if (!silent) // its kernel has sent what it was given
                pid1_read_what_was_sent(m->pid1);
        if (!silent && m->user.pid1)
                pid1_read_what_was_sent(m->user.pid1);
        pid1_abandon(m->pid1);
        if (m->user.pid1)
                pid1_abandon(m->user.pid1);
        m->daemon = NULL;
}

static void on_died(SimMachine *m) {
        if (m->dies_with_power)
                sim_machine_power_off(m);
        if (sim_cluster.endings.died)
                sim_cluster.endings.died(m);
        start_later(m, m->back_us);
}

void sim_machine_on_end(SimHost *h, int status) {
        SimMachine *m = sim_machine(sim_host_number(h));

        if (!m)
                return;
        forget_daemon(m, status == SIM_DIED && m->dies_with_power);
        if (status == SIM_DIED) {
                on_died(m);
                return;
        }
        m->n_ends++;
        if (sim_cluster.endings.ended)
                sim_cluster.endings.ended(m, status);
        start_later(m, SIM_RESTART_US);
}

// As SIGHUP has it done.
static void run_hangup(void *data) {
        run_reload(((SimMachine *) data)->daemon);
}

void sim_machine_configure(SimMachine *m) {
        sim_machine_write_config(m);
        if (m->daemon && m->daemon->end == DAEMON_RUNNING)
                (void) sim_host_do(m->host, run_hangup, m);
}

bool sim_machine_knows_voter(const SimMachine *m, const Hash *pin) {
        return m->daemon && daemon_listen_judge(pin, ALPN_RAFT, m->daemon) == TLS_MEMBER;
}

// ------------------------------------------------------------------------------------------------ machines

typedef struct Stopping {
        SimMachine *machine;
        unsigned start; // of the daemon that ends
} Stopping;

enum { STOPPING_LOOK_US = 5000 };

static void look_if_stopped(void *data);

static bool has_ended(const Daemon *d) {
        return d->closing == 0 && d->end != DAEMON_RUNNING && (d->cut_short || run_is_over(d));
}

static void look_when_ended(SimMachine *m) {
        Stopping *s = oom_checked(malloc(sizeof(*s)));

        *s = (Stopping){m, m->n_starts};
        sim_at(sim_now_us() + STOPPING_LOOK_US, NULL, look_if_stopped, s);
}

static void end_stopped(SimMachine *m) {
        bool again = m->daemon->end == DAEMON_RESTART;

        sim_machine_kill(m);
        if (!again)
                return;
        if (sim_cluster.endings.executes)
                sim_cluster.endings.executes(m);
        start_later(m, SIM_EXECUTE_US);
}

static void look_if_stopped(void *data) {
        Stopping *s = data;
        SimMachine *m = s->machine;
        bool is_it = m->daemon && m->n_starts == s->start;

        if (is_it && !has_ended(m->daemon)) {
                sim_at(sim_now_us() + STOPPING_LOOK_US, NULL, look_if_stopped, s);
                return;
        }
        if (is_it)
                end_stopped(m);
        free(s);
}

typedef struct Starting {
        SimMachine *machine;
        int error;
        char *why;
} Starting;

static void note_identity(SimMachine *m) {
        const Daemon *d = m->daemon;

        if (d->identity.key.len > 0)
                m->pin = d->identity.pin;
        if (!d->peers) // it could not read who it is, and is it still
                return;
        m->in_cluster =
                d->peers->cluster_id.len == sizeof(sim_cluster.cluster_id) &&
                memcmp(d->peers->cluster_id.data, sim_cluster.cluster_id,
                       sizeof(sim_cluster.cluster_id)) == 0;
}

static void on_identity_replaced(Daemon *d) {
        run_on_identity_replaced(d);
        look_when_ended(sim_machine(sim_host_number(sim_current())));
}

static void run_start(void *data) {
        Starting *s = data;
        const Member *b = &sim_cluster.members[s->machine->number];
        Daemon *d = s->machine->daemon;

        s->error = daemon_start(d, sim_host_loop(s->machine->host), &b->options, &s->why);
        d->identity_replaced = on_identity_replaced;
        note_identity(s->machine);
}

static void on_refused(SimMachine *m, const Starting *s) {
        m->n_refusals++;
        sim_host_kill(m->host);
        forget_daemon(m, false);
        if (sim_cluster.endings.refused)
                sim_cluster.endings.refused(m, s->why);
        else {
                fprintf(stderr, "host%u does not start: %s\n", m->number, s->why ?: strerror(-s->error));
                abort();
        }
        start_later(m, SIM_RESTART_US);
}

void sim_machine_start(SimMachine *m) {
        Starting s = {.machine = m};

        if (m->held)
                return;
        if (!m->powered)
                sim_user_boot(m);
        m->powered = true;
        m->start_us = 0;
        m->n_starts++;
        m->daemon = oom_checked(calloc(1, sizeof(*m->daemon)));
        pid1_use(m->pid1);
        sim_host_start(m->host);
        if (sim_host_do(m->host, run_start, &s) && s.error < 0)
                on_refused(m, &s);
        free(s.why);
}

void sim_machine_die_at(SimMachine *m, unsigned n, bool power, uint64_t back_us) {
        m->dies_with_power = power;
        m->back_us = back_us;
        sim_disk_die_at(m->number, n);
}

void sim_machine_kill(SimMachine *m) {
        if (!m->daemon)
                return;
        sim_host_kill(m->host);
        forget_daemon(m, false);
}

static void run_stop(void *data) {
        SimMachine *m = data;

        run_end(m->daemon, DAEMON_EXIT);
}

void sim_machine_stop(SimMachine *m) {
        if (m->daemon && sim_host_do(m->host, run_stop, m))
                look_when_ended(m);
}

static void empty(const SimMachine *m, const char *name) {
        _cleanup_free_ char *dir = sim_machine_path(m, name);

        sim_check(dir_empty(AT_FDCWD, dir), dir);
}

void sim_machine_empty(SimMachine *m) {
        empty(m, "state");
        m->in_cluster = false;
        m->pin = (Hash){};
}

typedef struct Recovering {
        const RunOptions *options;
        int r;
        char *said;
} Recovering;

static void run_recover(void *data) {
        Recovering *r = data;

        r->r = recover_here(r->options, &r->said);
}

int sim_machine_recover(SimMachine *m, char **ret_said) {
        Recovering r = {.options = &sim_cluster.members[m->number].options};

        *ret_said = NULL;
        m->powered = true;
        sim_host_start(m->host);
        if (!sim_host_do(m->host, run_recover, &r))
                return 1;
        sim_host_kill(m->host);
        sim_disk_let_go(m->number);
        *ret_said = r.said;
        return r.r;
}

void sim_machine_power_off(SimMachine *m) {
        if (m->daemon) {
                sim_host_kill(m->host);
                forget_daemon(m, true);
        }
        sim_host_boot(m->host);
        sim_disk_cut(m->number);
        m->powered = false;
        sim_user_free(m);
        pid1_free(m->pid1);
        sim_machine_make_pid1(m);
        empty(m, "run");
        empty(m, "units");
}
