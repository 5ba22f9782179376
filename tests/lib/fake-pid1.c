// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A PID 1 in memory: units, what jobs make of them, and what tests do.
#include "fake-pid1-private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "clock.h"
#include "fileio.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"
#include "uvx.h"

FakePid1 *pid1_current;

// ---- PID 1

FakeUnit *pid1_unit_get(FakePid1 *p, const char *name) {
        FakeUnit *u = map_find_str(&p->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u) + strlen(name) + 1);
        assert(u);
        strcpy(u->name, name);
        u->rt.active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        u->rt.sub = "dead";
        u->rt.result = "";
        u->guard_sec = -1;
        list_init(&u->stops);
        if (map_add_str(&p->units, u->name, u) < 0)
                abort();
        return u;
}

// To whoever watches it.
void pid1_show(FakeUnit *u) {
        if (!u->watched || !u->known || u->unheard)
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

// In NAME.d, and in that of its template.
static int read_guard_sec(FakePid1 *p, const char *name) {
        _cleanup_free_ char *own = str_printf("%s.d/50-argosy.conf", name), *template = NULL, *shared = NULL,
                            *text = read_file(p, own);
        const char *line = text ? strstr(text, "BindsTo=argosy-guard@") : NULL;
        int sec;

        if (!line && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                free(text);
                template = unit_name_template(name);
                shared = str_printf("%s.d/50-argosy.conf", template);
                text = read_file(p, shared);
                line = text ? strstr(text, "BindsTo=argosy-guard@") : NULL;
        }
        return line && sscanf(line, "BindsTo=argosy-guard@%d.target", &sec) == 1 ? sec : -1;
}

static bool is_outdated(FakePid1 *p, const FakeUnit *u) {
        _cleanup_free_ char *now = read_fragment(p, u->name);

        return !now || !u->content ? now != u->content : !streq(now, u->content);
}

void pid1_load_unit(FakePid1 *p, FakeUnit *u) {
        if (u->rt.loaded)
                return;
        u->n_wants = count_wants(p, u->name);
        u->content = read_fragment(p, u->name);
        u->guard_sec = read_guard_sec(p, u->name);
        u->rt.loaded = true;
        u->rt.load = !u->content                     ? ARGOSY__LOAD_STATE__LOAD_NOT_FOUND
                     : strstr(u->content, "[Broken") ? ARGOSY__LOAD_STATE__LOAD_BAD_SETTING
                                                     : ARGOSY__LOAD_STATE__LOAD_LOADED;
        pid1_show(u);
}

void pid1_notify(FakePid1 *p, FakeUnit *u) {
        SystemdManager *m = p->manager;

        if (m && m->synced && u->watched && u->known && !u->unheard)
                m->ops.unit_changed(u->name, &u->rt, m->userdata);
}

void pid1_collect(FakePid1 *p, FakeUnit *u) {
        SystemdManager *m = p->manager;

        if (!u->rt.loaded || u->pinned || u->held || u->rt.active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return;
        u->rt.loaded = false;
        u->rt.load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
        memset(u->rt.invocation_id, 0, sizeof(u->rt.invocation_id));
        free(u->content);
        u->content = NULL;
        u->unheard = !pid1_hears(p);
        pid1_show(u);
        if (m && m->synced && u->watched && u->known && !u->unheard)
                m->ops.unit_unloaded(u->name, m->userdata);
}

void pid1_set_state(FakePid1 *p, FakeUnit *u, Argosy__ActiveState active, const char *sub,
                    const char *result) {
        u->rt.was_reset = u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED &&
                          active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        if (!active_state_is_down(active))
                u->rt.end = UNIT_END_UNSEEN;
        else if (!active_state_is_down(u->rt.active))
                u->rt.end = p->foreign_job ? UNIT_END_BY_JOB : UNIT_END_BY_ITSELF;
        if (p->changed && u->rt.active != active)
                p->changed(u->name, u->rt.active, active, p->changed_data);
        u->rt.active = active;
        u->rt.sub = sub;
        u->rt.result = result;
        u->rt.since_us++;
        u->unheard = !pid1_hears(p);
        pid1_show(u);
        pid1_notify(p, u);
}

static bool is_oneshot(const FakeUnit *u) {
        return u->content && strstr(u->content, "Type=oneshot") != NULL;
}

static void tell_end(Job *j, SystemdJobKind kind, SystemdJobResult result) {
        j->done.job(j->name, kind, result,
                    result == SYSTEMD_JOB_REFUSED   ? "Unit is broken."
                    : result == SYSTEMD_JOB_NO_UNIT ? "Unit not found."
                                                    : "",
                    j->userdata);
        free(j);
}

// What its unit is now is known before its end is told. Whoever is gone is told nothing.
void pid1_job_ended(FakePid1 *p, Job *j, SystemdJobKind kind, SystemdJobResult result) {
        if (!p->manager) {
                free(j);
                return;
        }
        if (!pid1_hears(p)) {
                j->ended = kind;
                j->result = result;
                list_append(&p->manager->unheard, &j->link);
                return;
        }
        pid1_tell(p, pid1_unit_get(p, j->name));
        tell_end(j, kind, result);
}

static void end_start(FakePid1 *p, FakeUnit *u, SystemdJobResult result) {
        Job *j = TAKE_PTR(u->start);

        if (j)
                pid1_job_ended(p, j, j->kind == JOB_START ? SYSTEMD_START : SYSTEMD_RESTART, result);
}

static bool lacks_its_service(FakePid1 *p, const char *name) {
        _cleanup_free_ char *service = NULL, *content = NULL;

        if (!str_has_suffix(name, ".timer"))
                return false;
        service = str_printf("%.*s.service", (int) (strlen(name) - strlen(".timer")), name);
        content = read_file(p, service);
        return !content;
}

static bool run_start(FakePid1 *p, FakeUnit *u, SystemdJobResult *ret);

// In a section that systemd reads: those that begin with X- are others'.
static bool has_line(const FakeUnit *u, const char *line) {
        const char *found = u->content ? strstr(u->content, line) : NULL, *section = NULL;

        for (const char *at = u->content; found && at && at < found;
             at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
                if (*at == '[')
                        section = at;
        return found && !(section && str_has_prefix(section, "[X-"));
}

// Those that are known to it.
static bool start_required(FakePid1 *p, FakeUnit *u) {
        map_foreach (slot, &p->units) {
                FakeUnit *other = slot->value;
                _cleanup_free_ char *line = str_printf("Requires=%s\n", other->name);
                SystemdJobResult result;

                if (!has_line(u, line))
                        continue;
                if (!run_start(p, other, &result)) {
                        if (!other->passing)
                                return false;
                        pid1_pass(p, other);
                        result = SYSTEMD_JOB_DONE;
                }
                if (result != SYSTEMD_JOB_DONE)
                        return false;
        }
        return true;
}

// False: the job goes on.
static bool run_start(FakePid1 *p, FakeUnit *u, SystemdJobResult *ret) {
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                return *ret = SYSTEMD_JOB_DONE, true;
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING)
                return false;
        pid1_load_unit(p, u);
        if (u->rt.load != ARGOSY__LOAD_STATE__LOAD_LOADED) {
                bool found = u->content;

                pid1_collect(p, u);
                return *ret = found ? SYSTEMD_JOB_REFUSED : SYSTEMD_JOB_NO_UNIT, true;
        }
        if (!start_required(p, u)) {
                pid1_collect(p, u);
                return *ret = SYSTEMD_JOB_DEPENDENCY, true;
        }
        if (lacks_its_service(p, u->name)) {
                pid1_collect(p, u);
                return *ret = SYSTEMD_JOB_FAILED, true;
        }
        if (strstr(u->content, "Requires=nobody.service")) {
                pid1_collect(p, u);
                return *ret = SYSTEMD_JOB_DEPENDENCY, true;
        }
        u->rt.skipped = strstr(u->content, "ConditionPathExists=/nowhere") != NULL;
        if (u->rt.skipped) {
                pid1_show(u);
                pid1_notify(p, u);
                pid1_collect(p, u);
                return *ret = SYSTEMD_JOB_DONE, true;
        }
        u->runs++;
        p->last_invocation++;
        memcpy(u->rt.invocation_id, &p->last_invocation, sizeof(p->last_invocation));
        free(u->running);
        u->running = strdup(u->content);
        if (strstr(u->content, "/bin/false")) {
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code");
                return *ret = SYSTEMD_JOB_FAILED, true;
        }
        if (is_oneshot(u)) {
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start", "success");
                return false;
        }
        if (p->takes_time) {
                u->passing = true;
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start", "success");
                return false;
        }
        pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running", "success");
        return *ret = SYSTEMD_JOB_DONE, true;
}

// Whether that kind of dependency of the unit is on `name`.
static bool depends(const FakeUnit *u, const char *kind, const char *name) {
        _cleanup_free_ char *line = str_printf("%s=%s\n", kind, name);

        return has_line(u, line);
}

static bool stops_with(const FakeUnit *u, const char *name) {
        return depends(u, "Requires", name) || depends(u, "PartOf", name);
}

static void run_stop(FakePid1 *p, FakeUnit *u) {
        if (active_state_is_down(u->rt.active))
                return;
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING) {
                end_start(p, u, SYSTEMD_JOB_CANCELED); // that waits for its end
                return;
        }
        map_foreach (slot, &p->units) {
                FakeUnit *other = slot->value;

                if (!stops_with(other, u->name))
                        continue;
                run_stop(p, other);
                pid1_collect(p, other);
        }
        u->passing = p->takes_time;
        u->foreign_stop = p->foreign_job;
        pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, "stop-sigterm", "success");
        if (!u->passing)
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        end_start(p, u, SYSTEMD_JOB_CANCELED);
}

static void run_pin(FakePid1 *p, Job *j) {
        FakeUnit *u = pid1_unit_get(p, j->name);
        bool pin = j->kind == JOB_PIN, well = !pin || !p->refuse_pins;

        u->held = pin && well;
        if (u->held)
                pid1_load_unit(p, u);
        pid1_show(u);
        pid1_job_ended(p, j, pin ? SYSTEMD_START : SYSTEMD_STOP,
                       well ? SYSTEMD_JOB_DONE : SYSTEMD_JOB_REFUSED);
        pid1_collect(p, u);
}

enum { DEPENDENTS_MAX = 16 };

static void add_dependents(FakePid1 *p, const char *name, bool needed, SystemdDependent *list, size_t *n) {
        map_foreach (slot, &p->units) {
                const FakeUnit *u = slot->value;
                bool needs = needed && depends(u, "Requires", name);

                if (!u->rt.loaded || !stops_with(u, name))
                        continue;
                assert(*n < DEPENDENTS_MAX);
                list[(*n)++] = (SystemdDependent){u->name, name, u->rt.active, needs};
                if (u->rt.active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                        add_dependents(p, u->name, needs, list, n);
        }
}

static void answer_survey(FakePid1 *p, Job *j) {
        SystemdDependent list[DEPENDENTS_MAX];
        size_t n = 0;

        add_dependents(p, j->name, true, list, &n);
        j->done.stopped_with(0, list, n, j->userdata);
        free(j);
}

void pid1_carry_out(FakePid1 *p, SystemdJobKind kind, const char *name) {
        FakeUnit *u = pid1_unit_get(p, name);
        SystemdJobResult result;

        if (kind != SYSTEMD_START)
                run_stop(p, u);
        if (kind != SYSTEMD_STOP && u->rt.active != ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING)
                (void) run_start(p, u, &result);
        pid1_collect(p, u);
}

// The reply says that the unit is not failed, whether its signals are heard or not.
static void run_reset(FakePid1 *p, FakeUnit *u, Job *j) {
        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        if (p->away) {
                j->ended = SYSTEMD_RESET_FAILED;
                j->result = SYSTEMD_JOB_DONE;
                list_append(&p->manager->unheard, &j->link);
        } else {
                pid1_tell(p, u);
                tell_end(j, SYSTEMD_RESET_FAILED, SYSTEMD_JOB_DONE);
        }
        pid1_collect(p, u);
}

void pid1_run_job(FakePid1 *p, Job *j) {
        FakeUnit *u = pid1_unit_get(p, j->name);
        SystemdJobResult result;

        switch (j->kind) {
        case JOB_RESTART:
                run_stop(p, u);
                __attribute__((fallthrough));
        case JOB_START:
                if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING || !run_start(p, u, &result)) {
                        assert(!u->start);
                        u->start = j;
                        return;
                }
                pid1_job_ended(p, j, j->kind == JOB_START ? SYSTEMD_START : SYSTEMD_RESTART, result);
                return;
        case JOB_STOP:
                run_stop(p, u);
                if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING) {
                        list_append(&u->stops, &j->link);
                        return;
                }
                pid1_job_ended(p, j, SYSTEMD_STOP, SYSTEMD_JOB_DONE);
                pid1_collect(p, u);
                return;
        case JOB_PIN:
        case JOB_UNPIN:
                run_pin(p, j);
                return;
        case JOB_RELOAD_UNIT:
                result = u->content && strstr(u->content, "ExecReload=false") ? SYSTEMD_JOB_FAILED
                                                                              : SYSTEMD_JOB_DONE;
                pid1_job_ended(p, j, SYSTEMD_RELOAD,
                               u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ? result
                                                                                   : SYSTEMD_JOB_REFUSED);
                return;
        case JOB_RESET:
                run_reset(p, u, j);
                return;
        case JOB_LOAD:
                pid1_load_unit(p, u);
                pid1_tell(p, u);
                j->done.load(j->name, u->rt.load,
                             u->rt.load == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING ? "no such section" : "",
                             j->userdata);
                free(j);
                pid1_collect(p, u);
                return;
        case JOB_RELOAD:
                p->n_reloads++;
                pid1_read_again(p);
                if (p->manager->ops.reloaded)
                        p->manager->ops.reloaded(clock_boot_us(), p->manager->userdata);
                j->done.reload(0, j->userdata);
                free(j);
                return;
        case JOB_INSPECT: {
                Argosy__Response__Property properties[] = {ARGOSY__RESPONSE__PROPERTY__INIT,
                                                           ARGOSY__RESPONSE__PROPERTY__INIT,
                                                           ARGOSY__RESPONSE__PROPERTY__INIT},
                                           *list[] = {&properties[0], &properties[1], &properties[2]};
                _cleanup_free_ char *group = str_printf("/told/%s", j->name);

                properties[0].key = (char *) "Id";
                properties[0].value = j->name;
                properties[1].key = (char *) "ControlGroup";
                properties[1].value = group;
                properties[2].key = (char *) "ActiveState";
                properties[2].value = (char *) active_state_to_string(u->rt.active);
                j->done.inspect(0, list, 3, j->userdata);
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
        case JOB_SURVEY:
                answer_survey(p, j);
                return;
        case JOB_OUTDATED:
                pid1_load_unit(p, u);
                j->done.outdated(is_outdated(p, u), j->userdata);
                free(j);
                pid1_collect(p, u);
                return;
        }
}

// ---- what tests do

FakePid1 *pid1_new(const char *unit_dir) {
        FakePid1 *p = calloc(1, sizeof(*p));

        assert(p);
        p->dir = strdup(unit_dir);
        return pid1_current = p;
}

static void unit_free(void *value) {
        FakeUnit *u = value;

        free(u->content);
        free(u->running);
        free(u);
}

FakePid1 *pid1_free(FakePid1 *p) {
        map_done_with(&p->units, unit_free);
        free(p->dir);
        free(p);
        pid1_current = NULL;
        return NULL;
}

void pid1_use(FakePid1 *p) {
        pid1_current = p;
}

void pid1_abandon(FakePid1 *p) {
        p->manager = NULL;
        map_foreach (slot, &p->units) {
                FakeUnit *u = slot->value;

                u->watched = NULL;
                u->known = u->unheard = false;
                free(u->start);
                u->start = NULL;
                while (!list_is_empty(&u->stops)) {
                        Job *j = CONTAINER_OF(u->stops.next, Job, link);

                        list_unlink(&j->link);
                        free(j);
                }
        }
}

void pid1_start(FakePid1 *p, const char *name) {
        SystemdJobResult result;

        (void) run_start(p, pid1_unit_get(p, name), &result);
}

void pid1_stop(FakePid1 *p, const char *name) {
        FakeUnit *u = pid1_unit_get(p, name);

        p->foreign_job = true;
        run_stop(p, u);
        p->foreign_job = false;
        pid1_collect(p, u);
}

void pid1_on_change(FakePid1 *p,
                    void (*changed)(const char *name, Argosy__ActiveState was, Argosy__ActiveState is,
                                    void *userdata),
                    void *userdata) {
        p->changed = changed;
        p->changed_data = userdata;
}

static bool is_guarded(const FakeUnit *u) {
        return u && u->guard_sec >= 0 && !active_state_is_down(u->rt.active);
}

int pid1_guard_sec(FakePid1 *p, const char *name) {
        const FakeUnit *u = map_find_str(&p->units, name);

        return is_guarded(u) ? u->guard_sec : -1;
}

int pid1_least_guard_sec(FakePid1 *p) {
        int least = -1;

        map_foreach (slot, &p->units) {
                const FakeUnit *u = slot->value;

                if (is_guarded(u) && u->rt.active != ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING &&
                    (least < 0 || u->guard_sec < least))
                        least = u->guard_sec;
        }
        return least;
}

void pid1_guards_fail(FakePid1 *p, int sec) {
        map_foreach (slot, &p->units) {
                FakeUnit *u = slot->value;

                if (is_guarded(u) && u->guard_sec <= sec)
                        pid1_stop(p, u->name);
        }
}

void pid1_finish(FakePid1 *p, const char *name, bool well) {
        FakeUnit *u = pid1_unit_get(p, name);

        pid1_set_state(p, u,
                       well ? ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE : ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                       well ? "dead" : "failed", well ? "success" : "exit-code");
        end_start(p, u, well ? SYSTEMD_JOB_DONE : SYSTEMD_JOB_FAILED);
        pid1_collect(p, u);
}

void pid1_reset_failed(FakePid1 *p, const char *name) {
        FakeUnit *u = pid1_unit_get(p, name);

        if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        pid1_collect(p, u);
}

void pid1_pin(FakePid1 *p, const char *name) {
        pid1_unit_get(p, name)->pinned = true;
}

void pid1_lose_pin(FakePid1 *p, const char *name) {
        FakeUnit *u = pid1_unit_get(p, name);

        u->held = false;
        pid1_show(u);
        pid1_collect(p, u);
}

void pid1_refuse_pins(FakePid1 *p) {
        p->refuse_pins = true;
}

bool pid1_is_held(FakePid1 *p, const char *name) {
        return pid1_unit_get(p, name)->held;
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
        const FakeUnit *u = map_find_str(&p->units, name);

        return u ? u->runs : 0;
}

bool pid1_is_active(FakePid1 *p, const char *name) {
        return pid1_unit_get(p, name)->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

Argosy__ActiveState pid1_active_state(FakePid1 *p, const char *name) {
        const FakeUnit *u = map_find_str(&p->units, name);

        return u ? u->rt.active : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
}

const char *pid1_content(FakePid1 *p, const char *name) {
        return pid1_unit_get(p, name)->content;
}

const char *pid1_running(FakePid1 *p, const char *name) {
        const FakeUnit *u = map_find_str(&p->units, name);

        return u && !active_state_is_down(u->rt.active) ? u->running : NULL;
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
        return pid1_unit_get(p, name)->n_wants;
}

unsigned pid1_n_surveys(FakePid1 *p) {
        return p->n_surveys;
}

unsigned pid1_n_reloads(FakePid1 *p) {
        return p->n_reloads;
}

void pid1_disconnect(FakePid1 *p) {
        SystemdManager *m = p->manager;

        pid1_lose_all(m);
        m->ops.disconnected("test", m->userdata);
}

void pid1_reconnect(FakePid1 *p) {
        p->manager->connected = true;
        drain_mark(&p->manager->drain);
}
