// SPDX-License-Identifier: LGPL-2.1-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "fake-pid1.h"
#include "fileio.h"
#include "list.h"
#include "map.h"
#include "str.h"
#include "systemd-manager.h"
#include "unit-name.h"
#include "uvx.h"

typedef struct FakeUnit {
        UnitRuntime rt;
        char *content;
        bool pinned, known;
        bool held; // by argosy's pin
        SystemdUnit *watched; // or NULL
        unsigned runs;
        unsigned n_wants;
        struct Job *start; // waits for the end of a one-shot
        char name[];
} FakeUnit;

typedef enum JobKind {
        JOB_START,
        JOB_STOP,
        JOB_RESTART,
        JOB_RESET,
        JOB_LOAD,
        JOB_RELOAD,
        JOB_INSPECT,
        JOB_GROUP,
        JOB_OUTDATED,
        JOB_PIN,
        JOB_UNPIN
} JobKind;

typedef struct Job {
        ListNode link;
        JobKind kind;
        union {
                SystemdJobDone job;
                SystemdLoaded load;
                SystemdReloaded reload;
                SystemdInspected inspect;
                SystemdControlGroup group;
                SystemdOutdated outdated;
        } done;
        void *userdata;
        char name[];
} Job;

struct FakePid1 {
        char *dir;
        Map units;
        SystemdManager *manager;
        bool hold, stopping, refuse_pins;
        unsigned n_jobs, n_reloads, n_groups;
        uint64_t last_invocation;
};

struct SystemdManager {
        FakePid1 *pid1;
        SystemdOps ops;
        void *userdata;
        Drain drain;
        ListNode jobs;
        bool connected, synced;
        void (*closed)(void *userdata);
        void *closed_data;
};

static FakePid1 *current;

// ---- PID 1

static FakeUnit *unit_get(FakePid1 *p, const char *name) {
        FakeUnit *u = map_find_str(&p->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u) + strlen(name) + 1);
        assert(u);
        strcpy(u->name, name);
        u->rt.load = ARGOSY__LOAD_STATE__LOAD_STUB;
        u->rt.active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        u->rt.sub = "dead";
        u->rt.result = "";
        if (map_add_str(&p->units, u->name, u) < 0)
                abort();
        return u;
}

// To whoever watches it.
static void show(FakeUnit *u) {
        if (!u->watched || !u->known)
                return;
        u->watched->runtime = u->rt;
        u->watched->pinned = u->held;
}

static char *read_file(FakePid1 *p, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", p->dir, name);
        Buf b = {};

        if (file_read(AT_FDCWD, path, 1 << 20, &b) < 0)
                return NULL;
        return buf_take_string(&b);
}

static unsigned count_wants(FakePid1 *p, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s.wants", p->dir, name);
        DIR *dir = opendir(path);
        unsigned n = 0;

        for (struct dirent *e; dir && (e = readdir(dir));)
                n += e->d_name[0] != '.';
        if (dir)
                closedir(dir);
        return n;
}

static char *read_fragment(FakePid1 *p, const char *name) {
        char *content = read_file(p, name);

        if (!content && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                _cleanup_free_ char *template = unit_name_template(name);

                content = read_file(p, template);
        }
        return content;
}

static bool is_outdated(FakePid1 *p, const FakeUnit *u) {
        _cleanup_free_ char *now = read_fragment(p, u->name);

        return !now || !u->content ? now != u->content : !streq(now, u->content);
}

static void load_unit(FakePid1 *p, FakeUnit *u) {
        if (u->rt.loaded)
                return;
        u->n_wants = count_wants(p, u->name);
        u->content = read_fragment(p, u->name);
        u->rt.loaded = true;
        u->rt.load = !u->content                     ? ARGOSY__LOAD_STATE__LOAD_NOT_FOUND
                     : strstr(u->content, "[Broken") ? ARGOSY__LOAD_STATE__LOAD_BAD_SETTING
                                                     : ARGOSY__LOAD_STATE__LOAD_LOADED;
        show(u);
}

static void tell(FakePid1 *p, FakeUnit *u) {
        SystemdManager *m = p->manager;

        if (m && m->synced && u->watched && u->known)
                m->ops.unit_changed(u->name, &u->rt, m->userdata);
}

static void collect(FakePid1 *p, FakeUnit *u) {
        SystemdManager *m = p->manager;

        if (!u->rt.loaded || u->pinned || u->held || u->rt.active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return;
        u->rt.loaded = false;
        u->rt.load = ARGOSY__LOAD_STATE__LOAD_STUB;
        memset(u->rt.invocation_id, 0, sizeof(u->rt.invocation_id));
        free(u->content);
        u->content = NULL;
        show(u);
        if (m && m->synced && u->watched && u->known)
                m->ops.unit_unloaded(u->name, m->userdata);
}

static void set_state(FakePid1 *p, FakeUnit *u, Argosy__ActiveState active, const char *sub,
                      const char *result) {
        u->rt.was_reset = u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED &&
                          active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        u->rt.active = active;
        u->rt.sub = sub;
        u->rt.result = result;
        u->rt.since_us++;
        show(u);
        tell(p, u);
}

static bool is_oneshot(const FakeUnit *u) {
        return u->content && strstr(u->content, "Type=oneshot") != NULL;
}

static void end_start(FakeUnit *u, SystemdJobResult result) {
        Job *j = TAKE_PTR(u->start);

        if (!j)
                return;
        j->done.job(u->name, j->kind == JOB_START ? SYSTEMD_START : SYSTEMD_RESTART, result, "",
                    j->userdata);
        free(j);
}

static bool lacks_its_service(FakePid1 *p, const char *name) {
        _cleanup_free_ char *service = NULL, *content = NULL;

        if (!str_has_suffix(name, ".timer"))
                return false;
        service = str_printf("%.*s.service", (int) (strlen(name) - strlen(".timer")), name);
        content = read_file(p, service);
        return !content;
}

// False: the job goes on.
static bool run_start(FakePid1 *p, FakeUnit *u, SystemdJobResult *ret) {
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                return *ret = SYSTEMD_JOB_DONE, true;
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING)
                return false;
        load_unit(p, u);
        if (u->rt.load != ARGOSY__LOAD_STATE__LOAD_LOADED) {
                bool found = u->content;

                collect(p, u);
                return *ret = found ? SYSTEMD_JOB_REFUSED : SYSTEMD_JOB_NO_UNIT, true;
        }
        if (lacks_its_service(p, u->name)) {
                collect(p, u);
                return *ret = SYSTEMD_JOB_FAILED, true;
        }
        if (strstr(u->content, "Requires=nobody.service")) {
                collect(p, u);
                return *ret = SYSTEMD_JOB_DEPENDENCY, true;
        }
        u->runs++;
        p->last_invocation++;
        memcpy(u->rt.invocation_id, &p->last_invocation, sizeof(p->last_invocation));
        if (strstr(u->content, "/bin/false")) {
                set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code");
                return *ret = SYSTEMD_JOB_FAILED, true;
        }
        if (is_oneshot(u)) {
                set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start", "success");
                return false;
        }
        set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running", "success");
        return *ret = SYSTEMD_JOB_DONE, true;
}

static void run_stop(FakePid1 *p, FakeUnit *u) {
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ||
            u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return;
        set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, "stop-sigterm", "success");
        set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        end_start(u, SYSTEMD_JOB_CANCELED);
}

static void job_ended(Job *j, SystemdJobKind kind, SystemdJobResult result) {
        j->done.job(j->name, kind, result,
                    result == SYSTEMD_JOB_REFUSED   ? "Unit is broken."
                    : result == SYSTEMD_JOB_NO_UNIT ? "Unit not found."
                                                    : "",
                    j->userdata);
        free(j);
}

static void run_pin(FakePid1 *p, Job *j) {
        FakeUnit *u = unit_get(p, j->name);
        bool pin = j->kind == JOB_PIN, well = !pin || !p->refuse_pins;

        u->held = pin && well;
        if (u->held)
                load_unit(p, u);
        show(u);
        job_ended(j, pin ? SYSTEMD_START : SYSTEMD_STOP, well ? SYSTEMD_JOB_DONE : SYSTEMD_JOB_REFUSED);
        collect(p, u);
}

static void run_job(FakePid1 *p, Job *j) {
        FakeUnit *u = unit_get(p, j->name);
        SystemdJobResult result;

        switch (j->kind) {
        case JOB_RESTART:
                run_stop(p, u);
                __attribute__((fallthrough));
        case JOB_START:
                if (!run_start(p, u, &result)) {
                        assert(!u->start);
                        u->start = j;
                        return;
                }
                job_ended(j, j->kind == JOB_START ? SYSTEMD_START : SYSTEMD_RESTART, result);
                return;
        case JOB_STOP:
                run_stop(p, u);
                job_ended(j, SYSTEMD_STOP, SYSTEMD_JOB_DONE);
                collect(p, u);
                return;
        case JOB_PIN:
        case JOB_UNPIN:
                run_pin(p, j);
                return;
        case JOB_RESET:
                job_ended(j, SYSTEMD_RESET_FAILED, SYSTEMD_JOB_DONE); // the reply comes before the signal
                if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                        set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
                collect(p, u);
                return;
        case JOB_LOAD:
                load_unit(p, u);
                j->done.load(j->name, u->rt.load,
                             u->rt.load == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING ? "no such section" : "",
                             j->userdata);
                free(j);
                collect(p, u);
                return;
        case JOB_RELOAD:
                p->n_reloads++;
                map_foreach (slot, &p->units) {
                        FakeUnit *other = slot->value;
                        bool was = other->rt.loaded;

                        other->rt.loaded = false;
                        show(other);
                        free(other->content);
                        other->content = NULL;
                        if (was)
                                load_unit(p, other);
                }
                j->done.reload(0, j->userdata);
                free(j);
                return;
        case JOB_INSPECT: {
                Argosy__Response__Property properties[] = {ARGOSY__RESPONSE__PROPERTY__INIT,
                                                           ARGOSY__RESPONSE__PROPERTY__INIT},
                                           *list[] = {&properties[0], &properties[1]};
                _cleanup_free_ char *group = str_printf("/told/%s", j->name);

                properties[0].key = (char *) "Id";
                properties[0].value = j->name;
                properties[1].key = (char *) "ControlGroup";
                properties[1].value = group;
                j->done.inspect(0, list, 2, j->userdata);
                free(j);
                return;
        }
        case JOB_GROUP: {
                _cleanup_free_ char *group = str_printf("/told/%s", j->name);

                p->n_groups++;
                j->done.group(0, group, j->userdata);
                free(j);
                return;
        }
        case JOB_OUTDATED:
                load_unit(p, u);
                j->done.outdated(is_outdated(p, u), j->userdata);
                free(j);
                collect(p, u);
                return;
        }
}

// ---- the connection

static void answer_watches(SystemdManager *m) {
        map_foreach (slot, &m->pid1->units) {
                FakeUnit *u = slot->value;

                if (!u->watched || u->known)
                        continue;
                u->known = true;
                show(u);
                tell(m->pid1, u);
        }
}

static void manager_run(void *userdata) {
        SystemdManager *m = userdata;
        FakePid1 *p = m->pid1;
        ListNode jobs = LIST_INIT(jobs);

        if (!m->connected)
                return;
        if (!m->synced) {
                m->synced = true;
                answer_watches(m);
                m->ops.synced(m->userdata);
                if (m->ops.files_changed)
                        m->ops.files_changed(m->userdata);
        }
        answer_watches(m);
        if (p->stopping)
                m->ops.stopping(m->userdata);
        list_foreach_safe (n, &m->jobs) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->kind != JOB_PIN && j->kind != JOB_UNPIN)
                        continue;
                list_unlink(n);
                run_job(p, j);
        }
        if (p->hold)
                return;
        list_splice(&jobs, &m->jobs);
        while (!list_is_empty(&jobs)) {
                Job *j = CONTAINER_OF(jobs.next, Job, link);

                list_unlink(&j->link);
                run_job(p, j);
        }
}

int systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                        SystemdManager **ret) {
        SystemdManager *m = calloc(1, sizeof(*m));

        assert(m && current);
        *m = (SystemdManager){.pid1 = current, .ops = *ops, .userdata = userdata, .connected = true};
        current->manager = m;
        list_init(&m->jobs);
        drain_init(&m->drain, config->loop, manager_run, m);
        drain_mark(&m->drain);
        *ret = m;
        return 0;
}

static void lose(Job *j, SystemdManager *m) {
        switch (j->kind) {
        case JOB_LOAD:
                j->done.load(j->name, ARGOSY__LOAD_STATE__LOAD_UNKNOWN, "lost", j->userdata);
                break;
        case JOB_RELOAD:
                j->done.reload(-ECONNRESET, j->userdata);
                break;
        case JOB_INSPECT:
                j->done.inspect(-ECONNRESET, NULL, 0, j->userdata);
                break;
        case JOB_GROUP:
                j->done.group(-ECONNRESET, NULL, j->userdata);
                break;
        case JOB_OUTDATED:
                j->done.outdated(-ECONNRESET, j->userdata);
                break;
        case JOB_PIN:
        case JOB_UNPIN:
                j->done.job(j->name, j->kind == JOB_PIN ? SYSTEMD_START : SYSTEMD_STOP, SYSTEMD_JOB_LOST, "",
                            j->userdata);
                break;
        default:
                j->done.job(j->name, (SystemdJobKind) (int) j->kind, SYSTEMD_JOB_LOST, "", j->userdata);
        }
        free(j);
}

static void lose_all(SystemdManager *m) {
        static_assert((int) JOB_START == (int) SYSTEMD_START &&
                              (int) JOB_RESET == (int) SYSTEMD_RESET_FAILED,
                      "same order");

        m->connected = m->synced = false;
        map_foreach (slot, &m->pid1->units)
                ((FakeUnit *) slot->value)->known = false;
        while (!list_is_empty(&m->jobs)) {
                Job *j = CONTAINER_OF(m->jobs.next, Job, link);

                list_unlink(&j->link);
                lose(j, m);
        }
        map_foreach (slot, &m->pid1->units) {
                Job *j = TAKE_PTR(((FakeUnit *) slot->value)->start);

                if (j)
                        lose(j, m);
        }
}

static void on_drain_closed(uv_handle_t *handle) {
        SystemdManager *m = CONTAINER_OF((uv_idle_t *) handle, SystemdManager, drain.idle);

        m->closed(m->closed_data);
        free(m);
}

void systemd_manager_close(SystemdManager *m, void (*closed)(void *userdata), void *userdata) {
        lose_all(m);
        map_foreach (slot, &m->pid1->units) {
                FakeUnit *u = slot->value;

                u->watched = NULL;
                u->known = false;
        }
        m->pid1->manager = NULL;
        m->closed = closed;
        m->closed_data = userdata;
        drain_close(&m->drain, on_drain_closed);
}

bool systemd_manager_is_synced(const SystemdManager *m) {
        return m->synced;
}

int systemd_manager_watch(SystemdManager *m, SystemdUnit *u, const char *name) {
        FakeUnit *f = unit_get(m->pid1, name);

        if (f->watched)
                return -EEXIST;
        *u = (SystemdUnit){.name = name, .runtime = {.sub = "", .result = ""}};
        f->watched = u;
        drain_mark(&m->drain);
        return 0;
}

void systemd_manager_unwatch(SystemdManager *m, SystemdUnit *u) {
        FakeUnit *f = u->name ? unit_get(m->pid1, u->name) : NULL;

        if (!f)
                return;
        f->watched = NULL;
        f->known = false;
        u->name = NULL;
}

SystemdUnit *systemd_manager_find(const SystemdManager *m, const char *name) {
        return unit_get(m->pid1, name)->watched;
}

SystemdUnit *systemd_manager_next(const SystemdManager *m, size_t *iter) {
        MapSlot *slot = map_next(&m->pid1->units, iter);

        while (slot && !((FakeUnit *) slot->value)->watched)
                slot = map_next(&m->pid1->units, iter);
        return slot ? ((FakeUnit *) slot->value)->watched : NULL;
}

static Job *job_new(SystemdManager *m, JobKind kind, const char *name, void *userdata) {
        Job *j = calloc(1, sizeof(*j) + strlen(name) + 1);

        assert(j);
        j->kind = kind;
        j->userdata = userdata;
        strcpy(j->name, name);
        list_init(&j->link);
        list_append(&m->jobs, &j->link);
        drain_mark(&m->drain);
        return j;
}

int systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                           SystemdJobDone done, void *userdata) {
        return systemd_manager_job(m, kind, name, done, userdata);
}

int systemd_manager_job(SystemdManager *m, SystemdJobKind kind, const char *name, SystemdJobDone done,
                        void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, (JobKind) (int) kind, name, userdata)->done.job = done;
        m->pid1->n_jobs++;
        return 0;
}

int systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin, SystemdJobDone done,
                        void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, pin ? JOB_PIN : JOB_UNPIN, unit, userdata)->done.job = done;
        return 0;
}

int systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                         void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        for (size_t i = 0; i < n; i++)
                job_new(m, JOB_LOAD, names[i], userdata)->done.load = each;
        return 0;
}

int systemd_manager_reload(SystemdManager *m, SystemdReloaded done, void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, JOB_RELOAD, "", userdata)->done.reload = done;
        return 0;
}

int systemd_manager_inspect(SystemdManager *m, const char *name, SystemdInspected done, void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, JOB_INSPECT, name, userdata)->done.inspect = done;
        return 0;
}

int systemd_manager_control_group(SystemdManager *m, const char *name, SystemdControlGroup done,
                                  void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, JOB_GROUP, name, userdata)->done.group = done;
        return 0;
}

int systemd_manager_outdated(SystemdManager *m, const char *name, SystemdOutdated done, void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        job_new(m, JOB_OUTDATED, name, userdata)->done.outdated = done;
        return 0;
}

// Nobody here waits for a socket.
int systemd_manager_take_socket(SystemdManager *m, int fd) {
        close(fd);
        return -EALREADY;
}

void systemd_manager_look_again(SystemdManager *m) {
        m->synced = false;
        drain_mark(&m->drain);
}

int systemd_manager_pid(const SystemdManager *m) {
        return -ENOTCONN; // there is no process
}

unsigned pid1_n_groups(FakePid1 *p) {
        return p->n_groups;
}

void systemd_manager_stats(const SystemdManager *m, SystemdStats *ret) {
        *ret = (SystemdStats){.jobs = m->pid1->n_jobs};
}

// ---- what tests do

FakePid1 *pid1_new(const char *unit_dir) {
        FakePid1 *p = calloc(1, sizeof(*p));

        assert(p);
        p->dir = strdup(unit_dir);
        return current = p;
}

static void unit_free(void *value) {
        FakeUnit *u = value;

        free(u->content);
        free(u);
}

FakePid1 *pid1_free(FakePid1 *p) {
        map_done_with(&p->units, unit_free);
        free(p->dir);
        free(p);
        current = NULL;
        return NULL;
}

void pid1_start(FakePid1 *p, const char *name) {
        SystemdJobResult result;

        (void) run_start(p, unit_get(p, name), &result);
}

void pid1_stop(FakePid1 *p, const char *name) {
        FakeUnit *u = unit_get(p, name);

        run_stop(p, u);
        collect(p, u);
}

void pid1_finish(FakePid1 *p, const char *name, bool well) {
        FakeUnit *u = unit_get(p, name);

        set_state(p, u, well ? ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE : ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                  well ? "dead" : "failed", well ? "success" : "exit-code");
        end_start(u, well ? SYSTEMD_JOB_DONE : SYSTEMD_JOB_FAILED);
        collect(p, u);
}

void pid1_reset_failed(FakePid1 *p, const char *name) {
        FakeUnit *u = unit_get(p, name);

        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        collect(p, u);
}

void pid1_pin(FakePid1 *p, const char *name) {
        unit_get(p, name)->pinned = true;
}

void pid1_lose_pin(FakePid1 *p, const char *name) {
        FakeUnit *u = unit_get(p, name);

        u->held = false;
        show(u);
        collect(p, u);
}

void pid1_refuse_pins(FakePid1 *p) {
        p->refuse_pins = true;
}

bool pid1_is_held(FakePid1 *p, const char *name) {
        return unit_get(p, name)->held;
}

void pid1_shut_down(FakePid1 *p) {
        p->stopping = true;
        drain_mark(&p->manager->drain);
}

void pid1_boot(FakePid1 *p) {
        p->stopping = false;
        map_foreach (slot, &p->units)
                pid1_lose_pin(p, ((FakeUnit *) slot->value)->name);
}

unsigned pid1_runs(FakePid1 *p, const char *name) {
        return unit_get(p, name)->runs;
}

bool pid1_is_active(FakePid1 *p, const char *name) {
        return unit_get(p, name)->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

const char *pid1_content(FakePid1 *p, const char *name) {
        return unit_get(p, name)->content;
}

void pid1_hold_jobs(FakePid1 *p, bool hold) {
        p->hold = hold;
        if (!hold && p->manager)
                drain_mark(&p->manager->drain);
}

unsigned pid1_n_held(FakePid1 *p) {
        unsigned n = 0;

        list_foreach (l, &p->manager->jobs) {
                const Job *j = CONTAINER_OF(l, Job, link);

                n += j->kind != JOB_PIN && j->kind != JOB_UNPIN;
        }
        return n;
}

unsigned pid1_n_jobs(FakePid1 *p) {
        return p->n_jobs;
}

unsigned pid1_wants(FakePid1 *p, const char *name) {
        return unit_get(p, name)->n_wants;
}

unsigned pid1_n_reloads(FakePid1 *p) {
        return p->n_reloads;
}

void pid1_disconnect(FakePid1 *p) {
        SystemdManager *m = p->manager;

        lose_all(m);
        m->ops.disconnected("test", m->userdata);
}

void pid1_reconnect(FakePid1 *p) {
        p->manager->connected = true;
        drain_mark(&p->manager->drain);
}
