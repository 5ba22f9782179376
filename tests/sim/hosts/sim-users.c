// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-users.h.
#include "sim-users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fake-pid1.h"
#include "fileio.h"
#include "oom.h"
#include "process-birth.h"
#include "str.h"
#include "systemd-manager.h"

#define GATE SIM_USER_MANAGER ".service"

static char *runtime_dir(const SimMachine *m) {
        return oom_checked(str_printf("%s/user-1000", m->dir));
}

char *sim_user_unit_dir(const SimMachine *m) {
        return oom_checked(str_printf("%s/user-1000/systemd/user", m->dir));
}

// -------------------------------------------------------------------------------------- who is connected to

static FakePid1 *find_pid1(const SystemdConfig *config) {
        SimMachine *m = sim_machine(sim_host_number(sim_host_of_loop(config->loop)));

        return config->open_socket && m->user.pid1 ? m->user.pid1 : m->pid1;
}

void sim_users_begin(void) {
        pid1_on_connection(find_pid1);
}

// A manager is known by when its process was born; nobody else's is asked for here.
uint64_t process_birth(pid_t pid) {
        return sim_helper_connects ? sim_helper_connects->user.run : 0;
}

// ------------------------------------------------------------------------------------------- comes and goes

typedef struct Coming {
        SimMachine *machine;
        bool comes, in_order;
} Coming;

static void run_coming(void *data) {
        const Coming *c = data;

        if (c->comes)
                pid1_begin(c->machine->user.pid1);
        else
                pid1_end(c->machine->user.pid1, c->in_order);
        pid1_set_active(c->machine->pid1, GATE, c->comes);
}

static void let(SimMachine *m, bool comes, bool in_order) {
        Coming c = {m, comes, in_order};

        sim_machine_do(m, run_coming, &c);
}

static void make_dir(const SimMachine *m) {
        _cleanup_free_ char *dir = runtime_dir(m);

        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                abort();
}

static void remove_dir(const SimMachine *m) {
        _cleanup_free_ char *dir = runtime_dir(m);

        if (dir_empty(AT_FDCWD, dir) >= 0)
                (void) rmdir(dir);
}

void sim_user_log_in(SimMachine *m) {
        if (!m->powered || !m->user.pid1 || m->user.runs)
                return;
        m->user.runs = true;
        m->user.run++;
        make_dir(m);
        let(m, true, false);
}

void sim_user_log_out(SimMachine *m, bool in_order) {
        if (!m->user.pid1 || !m->user.runs)
                return;
        m->user.runs = false;
        let(m, false, in_order);
        remove_dir(m);
}

// Logged in from the beginning; after a power cut he is not.
void sim_user_make(SimMachine *m) {
        _cleanup_free_ char *dir = NULL;
        FakePid1 *own = m->pid1;
        uint64_t run = m->user.run;

        if (!m->settings.has_user)
                return;
        dir = sim_user_unit_dir(m);
        m->user = (SimUserManager){.pid1 = pid1_new(dir), .lingers = true, .run = run};
        pid1_end(m->user.pid1, false);
        pid1_set_active(own, GATE, false);
}

void sim_user_free(SimMachine *m) {
        if (!m->user.pid1)
                return;
        pid1_free(m->user.pid1);
        m->user = (SimUserManager){.run = m->user.run};
        remove_dir(m);
}

static void boot(void *data) {
        SimMachine *m = data;

        if (m->user.lingers)
                sim_user_log_in(m);
}

void sim_user_boot(SimMachine *m) {
        if (m->user.pid1)
                sim_at(sim_now_us() + draw_log(sim_draw(), 10 * USEC_PER_MSEC, 5 * USEC_PER_SEC), NULL, boot,
                       m);
}

void sim_user_abandon(SimMachine *m) {
        sim_helpers_abandon(m->host);
}
