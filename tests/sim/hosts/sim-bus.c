// SPDX-License-Identifier: LGPL-2.1-or-later
//
// fake-pid1.h on a bus: what a PID 1 in memory is for others is played by a systemd that speaks sd-bus
// (tests/lib/fake-systemd.h), and the product's src/sysd is connected to it, in the program hosts-sim-bus.
//
//      systemd_manager_new() of argosyd, as it is -> open_socket -> FakeSystemd on the host's own loop
//          | calls                                       | signals
//          +--> units by the content of their files -----+--> pid1_on_change()
//
// A content says how its unit behaves: "/bin/false" fails, Type=oneshot runs until pid1_finish(). What one
// unit's file says of others (Requires=, PartOf=) is nothing to it. Signals that are lost are found by the
// product's own check, once in CHECK_US.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "fake-pid1.h"
#include "fake-systemd.h"
#include "fileio.h"
#include "map.h"
#include "oom.h"
#include "sim-world.h"
#include "str.h"
#include "systemd-manager.h"
#include "unit-name.h"
#include "unit-pin.h"
#include "unit-state.h"

#define CHECK_US (5 * USEC_PER_SEC)
#define CHECK_ANSWER_US (20 * USEC_PER_SEC)

typedef struct Unit {
        char *content, *running; // that it was loaded with; with which it was started last
        int guard_sec;           // -1: none
        Argosy__ActiveState active;
        unsigned runs;
        bool slow; // its starts and stops wait for pid1_pass_on()
        char name[];
} Unit;

struct FakePid1 {
        FakeSystemd *systemd;
        uv_loop_t *loop; // of the newest connection
        char *dir, *cgroups;
        Map units;
        bool away, ended, takes_time;
        void (*changed)(const char *name, Argosy__ActiveState was, Argosy__ActiveState is, void *userdata);
        void *changed_data;
        unsigned (*below)(unsigned n);
};

static FakePid1 *current;
static FakePid1 *(*find)(const SystemdConfig *config);

// ------------------------------------------------------------------------------------------- contents

static Unit *unit_get(FakePid1 *p, const char *name) {
        Unit *u = map_find_str(&p->units, name);

        if (u)
                return u;
        u = oom_checked(calloc(1, sizeof(*u) + strlen(name) + 1));
        strcpy(u->name, name);
        u->guard_sec = -1;
        u->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        if (map_add_str(&p->units, u->name, u) < 0)
                abort();
        return u;
}

static char *read_file(const FakePid1 *p, const char *name, const char *behind) {
        _cleanup_free_ char *path = oom_checked(str_printf("%s/%s%s", p->dir, name, behind));
        Buf text = {};

        return file_read(AT_FDCWD, path, 1 << 20, &text) < 0 ? NULL : buf_take_string(&text);
}

// Its own, or that of its template.
static char *read_either(const FakePid1 *p, const char *name, const char *behind, const char *with) {
        _cleanup_free_ char *template = NULL;
        char *text = read_file(p, name, behind);

        if ((text && strstr(text, with)) || unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return text;
        free(text);
        template = oom_checked(unit_name_template(name));
        return read_file(p, template, behind);
}

static int read_guard_sec(const FakePid1 *p, const char *name) {
        _cleanup_free_ char *text = read_either(p, name, ".d/50-argosy.conf", "BindsTo=argosy-guard@");
        const char *line = text ? strstr(text, "BindsTo=argosy-guard@") : NULL;
        int sec;

        return line && sscanf(line, "BindsTo=argosy-guard@%d.target", &sec) == 1 ? sec : -1;
}

static FakeBehaviour judge(const char *name, void *userdata) {
        FakePid1 *p = userdata;
        Unit *u = unit_get(p, name);

        free(u->content);
        u->content = read_either(p, name, "", "");
        u->guard_sec = read_guard_sec(p, name);
        u->slow = false;
        if (!u->content)
                return FAKE_RUNS;
        if (strstr(u->content, "/bin/false"))
                return FAKE_FAILS;
        if (strstr(u->content, "Type=oneshot"))
                return FAKE_WAITS;
        u->slow = p->takes_time && str_has_suffix(name, ".service");
        return u->slow ? FAKE_HANGS : FAKE_RUNS;
}

static Argosy__ActiveState state_of(const char *word) {
        return active_state_from_string(word);
}

static void on_changed(const char *name, const char *was, const char *is, void *userdata) {
        FakePid1 *p = userdata;
        Unit *u = unit_get(p, name);
        char pinned[UNIT_NAME_MAX + 1];
        bool begins;

        u->active = state_of(is);
        begins = active_state_is_down(state_of(was)) && !active_state_is_down(u->active);
        if (begins) {
                u->runs++;
                free(u->running);
                u->running = u->content ? strdup(u->content) : NULL;
        }
        if (unit_pin_parse(name, pinned))
                fake_systemd_pin(p->systemd, pinned, !active_state_is_down(u->active));
        if (p->changed)
                p->changed(name, state_of(was), u->active, p->changed_data);
}

// -------------------------------------------------------------------------------------- the connection

static int open_bus(void *userdata) {
        FakePid1 *p = userdata;
        uv_loop_t *loop = sim_host_loop(sim_current());

        if (p->away || p->ended)
                return -ECONNREFUSED;
        if (p->loop != loop)
                fake_systemd_move(p->systemd, p->loop = loop);
        return fake_systemd_open(p->systemd);
}

int pid1_socket(FakePid1 *p) {
        return open_bus(p);
}

int __real_systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                               SystemdManager **ret);
int __wrap_systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                               SystemdManager **ret);

int __wrap_systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                               SystemdManager **ret) {
        FakePid1 *p = find ? find(config) : current;
        SystemdConfig own = *config;

        if (!own.open_socket) {
                own.open_socket = open_bus;
                own.open_userdata = p;
        }
        own.cgroup_root = p->cgroups;
        own.check_period_us = CHECK_US;
        own.check_answer_us = CHECK_ANSWER_US;
        return __real_systemd_manager_new(&own, ops, userdata, ret);
}

// --------------------------------------------------------------------------------------- the interface

FakePid1 *pid1_new(const char *unit_dir) {
        static unsigned n;
        FakePid1 *p = oom_checked(calloc(1, sizeof(*p)));

        sim_watch_kernel();
        p->dir = oom_checked(strdup(unit_dir));
        p->cgroups = oom_checked(str_printf("cgroup-%u", ++n));
        if (mkdir(p->cgroups, 0700) < 0)
                abort();
        p->systemd = fake_systemd_new(NULL, unit_dir);
        fake_systemd_cgroups(p->systemd, p->cgroups);
        fake_systemd_on(p->systemd, judge, on_changed, p);
        return current = p;
}

// Its memory stays: a connection of a loop that is not run any more may lead to it.
FakePid1 *pid1_free(FakePid1 *p) {
        current = NULL;
        return NULL;
}

void pid1_use(FakePid1 *p) {
        current = p;
}

void pid1_on_connection(FakePid1 *(*finds)(const struct SystemdConfig *config)) {
        find = finds;
}

void pid1_on_change(FakePid1 *p,
                    void (*changed)(const char *name, Argosy__ActiveState was, Argosy__ActiveState is,
                                    void *userdata),
                    void *userdata) {
        p->changed = changed;
        p->changed_data = userdata;
}

void pid1_set_chance(FakePid1 *p, unsigned (*below)(unsigned n)) {
        p->below = below;
}

// What argosyd has sent it reads in its own time; of a loop that is not run any more it reads nothing.
void pid1_read_what_was_sent(FakePid1 *p) {
}

void pid1_abandon(FakePid1 *p) {
        if (!p->loop)
                return;
        fake_systemd_abandon(p->systemd);
        p->loop = NULL;
}

Argosy__ActiveState pid1_active_state(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u ? u->active : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
}

bool pid1_is_active(FakePid1 *p, const char *name) {
        return pid1_active_state(p, name) == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

const char *pid1_content(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u && fake_systemd_active(p->systemd, name) ? u->content : NULL;
}

const char *pid1_running(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u && !active_state_is_down(u->active) ? u->running : NULL;
}

unsigned pid1_runs(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u ? u->runs : 0;
}

void pid1_set_active(FakePid1 *p, const char *name, bool active) {
        fake_systemd_add(p->systemd, name, FAKE_RUNS);
        fake_systemd_pin(p->systemd, name, true);
        fake_systemd_set(p->systemd, name, active ? "active" : "inactive", active ? "running" : "dead",
                         NULL);
}

void pid1_finish(FakePid1 *p, const char *name, bool well) {
        fake_systemd_finish(p->systemd, name, well ? "done" : "failed");
}

static void stop(FakePid1 *p, const char *name) {
        fake_systemd_finish(p->systemd, name, "canceled");
        fake_systemd_stop(p->systemd, name);
}

// ------------------------------------------------------------------------------------------- guards

static bool is_guarded(const Unit *u) {
        return u->guard_sec >= 0 && !active_state_is_down(u->active);
}

int pid1_guard_sec(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u && is_guarded(u) ? u->guard_sec : -1;
}

int pid1_least_guard_sec(FakePid1 *p) {
        int least = -1;

        map_foreach (slot, &p->units) {
                const Unit *u = slot->value;

                if (is_guarded(u) && u->active != ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING &&
                    (least < 0 || u->guard_sec < least))
                        least = u->guard_sec;
        }
        return least;
}

void pid1_guards_fail(FakePid1 *p, int sec) {
        map_foreach (slot, &p->units) {
                const Unit *u = slot->value;

                if (is_guarded(u) && u->guard_sec <= sec)
                        stop(p, u->name);
        }
}

// ------------------------------------------------------------------------------------------- troubles

bool pid1_is_reachable(const FakePid1 *p) {
        return !p->ended && !p->away;
}

// Nothing is read meanwhile.
void pid1_reload(FakePid1 *p, bool begins) {
        if (begins == p->away || p->ended)
                return;
        p->away = begins;
        if (begins)
                fake_systemd_reload_begin(p->systemd);
        fake_systemd_stall(p->systemd, begins);
        if (!begins)
                fake_systemd_reload_end(p->systemd);
}

void pid1_reexecute(FakePid1 *p, bool begins) {
        if (begins == p->away || p->ended)
                return;
        p->away = begins;
        if (begins)
                fake_systemd_reexec(p->systemd);
        else {
                fake_systemd_stall(p->systemd, false); // if it was reading its files
                fake_systemd_reload_end(p->systemd);
        }
}

void pid1_lose_signals(FakePid1 *p, unsigned percent) {
        fake_systemd_fate(p->systemd, percent ? 1 + p->below(1000000) : 0, (FakeFate){.lost = percent});
}

void pid1_hear(FakePid1 *p) {
}

void pid1_hold_jobs(FakePid1 *p, bool hold) {
        fake_systemd_busy(p->systemd, hold);
}

bool pid1_let_go(FakePid1 *p) {
        return false;
}

bool pid1_is_passing(FakePid1 *p, const char *name) {
        const Unit *u = map_find_str(&p->units, name);

        return u && u->slow && fake_systemd_has_job(p->systemd, name);
}

static void set_slow(FakePid1 *p, Unit *u, bool slow) {
        u->slow = slow;
        fake_systemd_behave(p->systemd, u->name, slow ? FAKE_HANGS : FAKE_RUNS);
        if (!slow)
                fake_systemd_finish(p->systemd, u->name, "done");
}

void pid1_take_time(FakePid1 *p, bool takes) {
        if (takes == p->takes_time)
                return;
        p->takes_time = takes;
        map_foreach (slot, &p->units) {
                Unit *u = slot->value;

                if (takes && u->content && fake_systemd_active(p->systemd, u->name) &&
                    str_has_suffix(u->name, ".service") && !strstr(u->content, "/bin/false") &&
                    !strstr(u->content, "Type=oneshot"))
                        set_slow(p, u, true);
                else if (!takes && u->slow)
                        set_slow(p, u, false);
        }
}

bool pid1_pass_on(FakePid1 *p) {
        Unit *passing[32];
        unsigned n = 0;

        map_foreach (slot, &p->units) {
                Unit *u = slot->value;

                if (n < 32 && pid1_is_passing(p, u->name))
                        passing[n++] = u;
        }
        if (n > 0)
                fake_systemd_finish(p->systemd, passing[p->below(n)]->name, "done");
        return n > 0;
}

void pid1_end(FakePid1 *p, bool in_order) {
        if (p->ended)
                return;
        if (in_order && !p->away)
                fake_systemd_shutdown(p->systemd);
        else
                fake_systemd_cut(p->systemd);
        pid1_take_time(p, false);
        map_foreach (slot, &p->units) {
                const Unit *u = slot->value;

                fake_systemd_finish(p->systemd, u->name, "canceled");
                fake_systemd_pin(p->systemd, u->name, false);
                if (u->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                        fake_systemd_set(p->systemd, u->name, "inactive", "dead", NULL);
        }
        fake_systemd_busy(p->systemd, false);
        fake_systemd_stall(p->systemd, false);
        fake_systemd_fate(p->systemd, 0, (FakeFate){});
        fake_systemd_cut(p->systemd);
        fake_systemd_cancel_shutdown(p->systemd); // nobody hears of that
        p->away = false;
        p->ended = true;
}

void pid1_begin(FakePid1 *p) {
        p->ended = false;
}
