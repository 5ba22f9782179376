// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The connection to a PID 1 in memory: all that systemd-manager.h promises, in the place of the real one.
#include "fake-pid1-private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "str.h"
#include "uvx.h"

// ---- the connection

static void answer_watches(SystemdManager *m) {
        map_foreach (slot, &m->pid1->units) {
                FakeUnit *u = slot->value;

                if (!u->watched || u->known)
                        continue;
                u->known = u->unheard = true;
                pid1_tell(m->pid1, u);
        }
}

static void manager_run(void *userdata) {
        SystemdManager *m = userdata;
        FakePid1 *p = m->pid1;
        ListNode jobs = LIST_INIT(jobs);

        if (!m->connected && m->open && !m->opening) {
                m->opening = true;
                (void) m->open(m->open_data);
        }
        if (!m->connected || p->away)
                return;
        if (!m->synced) {
                m->synced = true;
                answer_watches(m);
                pid1_find_unheard(p);
                if (m->announce_reloaded && m->ops.reloaded)
                        m->ops.reloaded(m->reload_since_us, m->userdata);
                m->announce_reloaded = false;
                m->ops.synced(m->userdata);
                pid1_end_unheard(p, true);
                if (m->ops.files_changed)
                        m->ops.files_changed(m->userdata);
        }
        answer_watches(m);
        if (p->stopping)
                m->ops.stopping(m->userdata);
        if (m->asked_stopping) {
                m->asked_stopping = false;
                m->ops.stopping_known(m->userdata);
        }
        list_foreach_safe (n, &m->jobs) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->kind != JOB_PIN && j->kind != JOB_UNPIN)
                        continue;
                list_unlink(n);
                pid1_run_job(p, j);
        }
        if (p->hold)
                return;
        list_splice(&jobs, &m->jobs);
        while (!list_is_empty(&jobs)) {
                Job *j = CONTAINER_OF(jobs.next, Job, link);

                list_unlink(&j->link);
                pid1_run_job(p, j);
        }
}

static FakePid1 *(*find_pid1)(const SystemdConfig *config);

void pid1_on_connection(FakePid1 *(*find)(const SystemdConfig *config)) {
        find_pid1 = find;
}

int systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                        SystemdManager **ret) {
        SystemdManager *m = calloc(1, sizeof(*m));
        FakePid1 *p = find_pid1 ? find_pid1(config) : pid1_current;

        assert(m && p);
        *m = (SystemdManager){.pid1 = p, .ops = *ops, .userdata = userdata};
        if (find_pid1) {
                m->open = config->open_socket;
                m->open_data = config->open_userdata;
        }
        m->connected = !m->open && !p->away;
        p->manager = m;
        list_init(&m->jobs);
        list_init(&m->unheard);
        drain_init(&m->drain, config->loop, manager_run, m);
        drain_mark(&m->drain);
        *ret = m;
        return 0;
}

void pid1_lose(Job *j) {
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
        case JOB_SURVEY:
                j->done.stopped_with(-ECONNRESET, NULL, 0, j->userdata);
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

void pid1_lose_all(SystemdManager *m) {
        static_assert((int) JOB_START == (int) SYSTEMD_START &&
                              (int) JOB_RELOAD_UNIT == (int) SYSTEMD_RELOAD,
                      "same order");

        m->connected = m->synced = false;
        map_foreach (slot, &m->pid1->units)
                ((FakeUnit *) slot->value)->known = false;
        while (!list_is_empty(&m->jobs)) {
                Job *j = CONTAINER_OF(m->jobs.next, Job, link);

                list_unlink(&j->link);
                pid1_lose(j);
        }
        pid1_end_unheard(m->pid1, true);
        map_foreach (slot, &m->pid1->units) {
                FakeUnit *u = slot->value;
                Job *j = TAKE_PTR(u->start);

                if (j)
                        pid1_lose(j);
                while (!list_is_empty(&u->stops)) {
                        j = CONTAINER_OF(u->stops.next, Job, link);
                        list_unlink(&j->link);
                        pid1_lose(j);
                }
        }
}

static void on_drain_closed(uv_handle_t *handle) {
        SystemdManager *m = CONTAINER_OF((uv_idle_t *) handle, SystemdManager, drain.idle);

        m->closed(m->closed_data);
        free(m);
}

void systemd_manager_close(SystemdManager *m, void (*closed)(void *userdata), void *userdata) {
        pid1_lose_all(m);
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
        FakeUnit *f = pid1_unit_get(m->pid1, name);

        if (f->watched)
                return -EEXIST;
        *u = (SystemdUnit){.name = name, .runtime = {.sub = "", .result = ""}};
        f->watched = u;
        drain_mark(&m->drain);
        return 0;
}

void systemd_manager_unwatch(SystemdManager *m, SystemdUnit *u) {
        FakeUnit *f = u->name ? pid1_unit_get(m->pid1, u->name) : NULL;

        if (!f)
                return;
        f->watched = NULL;
        f->known = false;
        u->name = NULL;
}

SystemdUnit *systemd_manager_find(const SystemdManager *m, const char *name) {
        return pid1_unit_get(m->pid1, name)->watched;
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

bool systemd_manager_job_ended(const SystemdManager *m, const char *unit, uint64_t since_us) {
        return false;
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

int systemd_manager_stopped_with(SystemdManager *m, const char *name, SystemdStoppedWith done,
                                 void *userdata) {
        if (!m->connected)
                return -ENOTCONN;
        m->pid1->n_surveys++;
        job_new(m, JOB_SURVEY, name, userdata)->done.stopped_with = done;
        return 0;
}

int pid1_socket(FakePid1 *p) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        close(fds[1]);
        return fds[0];
}

// Nothing is said over it. Where it leads to may have ended meanwhile.
int systemd_manager_take_socket(SystemdManager *m, int fd) {
        close(fd);
        if (!m->opening)
                return -EALREADY;
        m->opening = false;
        m->connected = pid1_is_reachable(m->pid1);
        m->synced = false;
        drain_mark(&m->drain);
        return 0;
}

bool systemd_manager_refresh(SystemdManager *m) {
        m->synced = false;
        drain_mark(&m->drain);
        return m->connected;
}

bool systemd_manager_ask_stopping(SystemdManager *m) {
        m->asked_stopping = true;
        drain_mark(&m->drain);
        return m->connected;
}

// What it says is said at once.
bool systemd_manager_catch_up(SystemdManager *m) {
        return true;
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
