// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The job window.
//
//   QUEUED --slot free--> SENT --reply--> RUNNING --JobRemoved--> SETTLING --unit's change--> FINISHED
//   --done--> freed
//
// A slot is free again at the unit's first change, after SYSTEMD_JOB_SLOT_MS, or when the job ends, so that
// one slow start does not stall the others; SYSTEMD_UNFINISHED_MAX bounds those that still run.
//
// Requests take turns (fair-queue.h), and so do starts and stops: a thousand starts delay the stop of
// somebody else by a job or two, and never use up all of SYSTEMD_UNFINISHED_MAX. The order of jobs for one
// unit stays: a stop cancels a start that is still queued, as systemd would, and whatever else comes for a
// unit lines up behind what is queued for it.
//
// systemd may send the end of a job before the change of its unit. The job then waits until what we know of
// the unit can be its end (job_is_settled()); if nothing comes for SYSTEMD_SETTLE_MS the unit is asked. So
// nobody is told "started" while the cache says otherwise.
//
// A lost connection makes SENT and RUNNING jobs orphans, and so does a ListUnits that does not name a
// RUNNING job: its JobRemoved was lost. ListUnits names the jobs that systemd still has; the others are
// LOST.

#include <errno.h>
#include <stdio.h>

#include "str.h"
#include "systemd-manager-private.h"
#include "unit-pin.h"

static const char *const job_methods[] = {
        [SYSTEMD_START] = "StartUnit",
        [SYSTEMD_STOP] = "StopUnit",
        [SYSTEMD_RESTART] = "RestartUnit",
        [SYSTEMD_RESET_FAILED] = "ResetFailedUnit",
        [SYSTEMD_RELOAD] = "ReloadUnit",
};

// It is not queued any more.
static void forget_queued(SystemdManager *m, const Job *j) {
        if (map_find_str(&m->jobs_queued, j->name) == j)
                map_take_str(&m->jobs_queued, j->name);
}

static void job_free(Job *j) {
        list_unlink(&j->link);
        forget_queued(j->manager, j);
        if (j->fair.group)
                fair_queue_end(j->queue, &j->fair);
        free(j->error);
        free(j);
}

static void release_slot(SystemdManager *m, Job *j) {
        if (!j->slot)
                return;
        j->slot = false;
        m->n_slots--;
}

static void note_pin(SystemdManager *m, const Job *j) {
        char unit[UNIT_NAME_MAX + 1];
        SystemdUnit *w = unit_pin_parse(j->name, unit) ? systemd_manager_find(m, unit) : NULL;

        if (w && j->result == SYSTEMD_JOB_DONE)
                w->pinned = j->kind == SYSTEMD_START;
        else if (w && j->kind == SYSTEMD_STOP && j->result != SYSTEMD_JOB_LOST)
                w->pinned = false; // something else keeps it in memory
}

// `error` may be NULL.
static void finish(SystemdManager *m, Job *j, SystemdJobResult result, const char *error) {
        release_slot(m, j);
        m->n_settling -= j->state == JOB_SETTLING;
        forget_queued(m, j);
        fair_queue_end(j->queue, &j->fair);
        j->state = JOB_FINISHED;
        j->result = result;
        note_pin(m, j);
        if (error && *error && !j->error)
                j->error = strdup(error);
        list_unlink(&j->link);
        list_append(&m->jobs_finished, &j->link);
}

static bool is_start(SystemdJobKind kind) {
        return kind == SYSTEMD_START || kind == SYSTEMD_RESTART || kind == SYSTEMD_RELOAD;
}

static int enqueue(SystemdManager *m, Job *j, uint64_t request) {
        Job *other = map_find_str(&m->jobs_queued, j->name);
        int r;

        if (other && is_start(other->kind) && j->kind == SYSTEMD_STOP) {
                finish(m, other, SYSTEMD_JOB_CANCELED, NULL);
                other = NULL;
        }
        j->queue = other ? other->queue : is_start(j->kind) ? &m->starts : &m->stops;
        r = fair_queue_add(j->queue, other ? fair_item_group(&other->fair) : request, &j->fair);
        if (r < 0)
                return r;
        if (other)
                forget_queued(m, other);
        return map_add_str(&m->jobs_queued, j->name, j);
}

int systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                           SystemdJobDone done, void *userdata) {
        size_t len = strlen(name);
        Job *j;
        int r;

        if (m->closing != OPEN)
                return -ESHUTDOWN;
        if (len > UNIT_NAME_MAX)
                return -EINVAL;
        j = calloc(1, sizeof(*j) + len + 1);
        if (!j)
                return -ENOMEM;
        *j = (Job){.manager = m, .kind = kind, .state = JOB_QUEUED, .done = done, .userdata = userdata};
        memcpy(j->name, name, len);
        r = enqueue(m, j, request);
        if (r < 0) {
                job_free(j);
                return r;
        }
        drain_mark(&m->drain);
        return 0;
}

int systemd_manager_job(SystemdManager *m, SystemdJobKind kind, const char *name, SystemdJobDone done,
                        void *userdata) {
        return systemd_manager_job_of(m, 0, kind, name, done, userdata);
}

int systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin, SystemdJobDone done,
                        void *userdata) {
        char name[UNIT_NAME_MAX + 1];
        int r = unit_pin_name(unit, name);

        return r < 0 ? r
                     : systemd_manager_job_of(m, request, pin ? SYSTEMD_START : SYSTEMD_STOP, name, done,
                                              userdata);
}

// systemd says that the job has ended.
static void settle(SystemdManager *m, Job *j, const char *word) {
        const SystemdUnit *w = systemd_manager_find(m, j->name);
        const char *reason = job_result_reason(word);
        SystemdJobResult result = job_result_from_string(word);

        if (!w || !w->known) {
                finish(m, j, result, reason);
                return;
        }
        release_slot(m, j);
        j->error = *reason ? strdup(reason) : NULL;
        j->result = result;
        j->state = JOB_SETTLING; // even if it is settled: the unit's change is told first
        m->n_settling++;
        j->deadline_ms = uv_now(m->loop) + SYSTEMD_SETTLE_MS;
        manager_arm_tick(m, j->deadline_ms);
}

void manager_jobs_settle(SystemdManager *m) {
        if (m->n_settling == 0)
                return;
        list_foreach_safe (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);
                const SystemdUnit *w;

                if (j->state != JOB_SETTLING)
                        continue;
                w = systemd_manager_find(m, j->name);
                if (w && manager_wanted(w)) // more about it is under way
                        continue;
                if (!w || job_is_settled(j->kind, j->result, j->before, &w->runtime) || j->verifying)
                        finish(m, j, j->result, NULL);
        }
}

// ---- talking to systemd

// ResetFailedUnit has done its work when it is answered, and what was told before is older; the change
// itself may be told later.
static void apply_reset(SystemdManager *m, const Job *j) {
        const UnitFacts reset = {
                .has = UNIT_FACT_ACTIVE | UNIT_FACT_SUB | UNIT_FACT_RESULT,
                .active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                .sub = "dead",
                .result = "success",
        };
        SystemdUnit *w = systemd_manager_find(m, j->name);

        if (w && w->known && w->runtime.loaded && w->runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                manager_apply(m, w, &reset);
}

// systemd has no such unit, so a stop or a reset has nothing to do. If the unit is believed to be there, its
// signals were late or lost: it is asked for before the end of the job is told, or its owner, who sees it
// up or failed still, would ask for the same again at once.
static void finish_without_unit(SystemdManager *m, Job *j) {
        SystemdUnit *w = systemd_manager_find(m, j->name);

        if (!w || !w->known || !w->runtime.loaded) {
                finish(m, j, SYSTEMD_JOB_DONE, NULL);
                return;
        }
        settle(m, j, "done");
        j->verifying = true;
        manager_want(m, w, WANT_LOADED);
}

static int on_job_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret) {
        Job *j = userdata;
        SystemdManager *m = j->manager;
        const sd_bus_error *error = sd_bus_message_get_error(reply);
        const char *path;
        int r;

        manager_received(m);
        if (error) {
                bool no_unit = sd_bus_error_has_name(error, SYSTEMD_NO_SUCH_UNIT),
                     gone = no_unit && (j->kind == SYSTEMD_STOP || j->kind == SYSTEMD_RESET_FAILED);

                if (gone)
                        finish_without_unit(m, j);
                else
                        finish(m, j, no_unit ? SYSTEMD_JOB_NO_UNIT : SYSTEMD_JOB_REFUSED,
                               error->message ?: error->name);
                return 1;
        }
        if (j->kind == SYSTEMD_RESET_FAILED) {
                apply_reset(m, j);
                finish(m, j, SYSTEMD_JOB_DONE, NULL);
                return 1;
        }
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0 || !job_path_decode(path, &j->id)) {
                finish(m, j, SYSTEMD_JOB_REFUSED, "systemd gave an answer that is not understood");
                manager_fail(m, r < 0 ? r : -EBADMSG);
                return 1;
        }
        j->state = JOB_RUNNING;
        if (j->early_id == j->id)
                settle(m, j, j->early_word);
        return 1;
}

static int new_job_call(SystemdManager *m, const Job *j, sd_bus_message **ret) {
        sd_bus_message *call;
        int r;

        r = manager_new_call(m, job_methods[j->kind], &call);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "s", j->name);
        if (r >= 0 && j->kind != SYSTEMD_RESET_FAILED)
                r = sd_bus_message_append(call, "s", "replace");
        if (r < 0) {
                sd_bus_message_unref(call);
                return r;
        }
        *ret = call;
        return 0;
}

static int send_job(SystemdManager *m, Job *j, sd_bus_message *call) {
        const SystemdUnit *w = systemd_manager_find(m, j->name);
        int r = manager_send(m, call, on_job_reply, j);

        if (r < 0)
                return r;
        if (w)
                memcpy(j->before, w->runtime.invocation_id, sizeof(j->before));
        j->state = JOB_SENT;
        j->slot = true;
        j->deadline_ms = uv_now(m->loop) + SYSTEMD_JOB_SLOT_MS;
        m->n_slots++;
        m->stats.jobs++;
        forget_queued(m, j);
        fair_queue_take(j->queue, &j->fair);
        list_append(&m->jobs_active, &j->link);
        manager_arm_tick(m, j->deadline_ms);
        return 0;
}

// Starts and stops alternate while there are both.
static Job *next_job(SystemdManager *m) {
        FairItem *start = fair_queue_next(&m->starts), *stop = fair_queue_next(&m->stops),
                 *item = (m->stops_turn && stop) || !start ? stop : start;

        m->stops_turn = item == start;
        return item ? CONTAINER_OF(item, Job, fair) : NULL;
}

void manager_pump_jobs(SystemdManager *m) {
        Job *j;

        while (m->n_slots < SYSTEMD_JOBS_MAX && (j = next_job(m))) {
                sd_bus_message *call;
                int r = new_job_call(m, j, &call);

                if (r < 0) { // a name that cannot even be said
                        finish(m, j, SYSTEMD_JOB_REFUSED, strerror(-r));
                        drain_mark(&m->drain);
                        continue;
                }
                r = send_job(m, j, call);
                if (r < 0) { // stays queued for the next connection
                        manager_fail(m, r);
                        return;
                }
        }
}

// ---- what the signals say

void manager_jobs_removed(SystemdManager *m, uint32_t id, const char *unit, const char *word) {
        list_foreach_safe (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->state == JOB_RUNNING && j->id == id)
                        settle(m, j, word);
                else if (j->state == JOB_SENT && streq(j->name, unit)) {
                        j->early_id = id;
                        snprintf(j->early_word, sizeof(j->early_word), "%s", word);
                }
        }
}

void manager_jobs_transition(SystemdManager *m, const SystemdUnit *w) {
        if (m->n_slots == 0)
                return;
        list_foreach (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->slot && j->state == JOB_RUNNING && streq(j->name, w->name))
                        release_slot(m, j);
        }
}

void manager_jobs_found(SystemdManager *m, uint32_t id) {
        list_foreach (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->id != id || (j->state != JOB_ORPHAN && j->state != JOB_RUNNING))
                        continue;
                j->state = JOB_RUNNING;
                j->listed = true;
        }
}

// One that was sent, and not answered yet, may be it.
bool manager_jobs_have(const SystemdManager *m, const char *unit, uint32_t id) {
        list_foreach (n, &m->jobs_active) {
                const Job *j = CONTAINER_OF(n, Job, link);

                if (j->id == id || (j->state == JOB_SENT && streq(j->name, unit)))
                        return true;
        }
        return false;
}

bool manager_jobs_miss(const SystemdManager *m, const char *unit, uint32_t id) {
        list_foreach (n, &m->jobs_active) {
                const Job *j = CONTAINER_OF(n, Job, link);

                if (j->state == JOB_RUNNING && j->id != id && streq(j->name, unit))
                        return true;
        }
        return false;
}

// ---- time, gaps and the end

void manager_jobs_tick(SystemdManager *m, uint64_t now_ms) {
        uint64_t next = UINT64_MAX;

        list_foreach (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);
                SystemdUnit *w;

                if ((!j->slot && j->state != JOB_SETTLING) || j->verifying)
                        continue;
                if (j->deadline_ms > now_ms) {
                        next = MIN_OF(next, j->deadline_ms);
                        continue;
                }
                if (j->slot)
                        release_slot(m, j);
                else if (m->synced) {
                        j->verifying = true;
                        w = systemd_manager_find(m, j->name);
                        if (w) // a name that is not loaded is not asked for its state
                                manager_want(m, w, w->runtime.loaded ? WANT_STATE : WANT_LOADED);
                }
        }
        if (next != UINT64_MAX)
                manager_arm_tick(m, next);
}

void manager_jobs_lost(SystemdManager *m) {
        list_foreach (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);

                release_slot(m, j);
                if (j->state == JOB_SENT || j->state == JOB_RUNNING)
                        j->state = JOB_ORPHAN;
        }
}

void manager_jobs_suspect(SystemdManager *m) {
        list_foreach (n, &m->jobs_active) {
                const Job *j = CONTAINER_OF(n, Job, link);
                SystemdUnit *w = j->state == JOB_RUNNING ? systemd_manager_find(m, j->name) : NULL;

                if (w && w->known && !w->runtime.loaded)
                        manager_suspect(m, w);
        }
}

// The listing has been taken in, and nothing behind it. A job that was running and that it did not name has
// ended without a word. What a job came to is told from the unit's run.
void manager_jobs_listed(SystemdManager *m) {
        list_foreach (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);
                SystemdUnit *w = systemd_manager_find(m, j->name);

                if (j->state == JOB_RUNNING && !j->listed) {
                        j->state = JOB_ORPHAN;
                        j->end_missed = true;
                }
                j->listed = false;
                if (w && w->runtime.loaded)
                        manager_want(m, w, manager_wants_of_loaded(w));
        }
}

// After the sync: the state of every unit is true, so what was settling is settled, and systemd has
// forgotten the orphans that it did not name.
void manager_jobs_synced(SystemdManager *m) {
        list_foreach_safe (n, &m->jobs_active) {
                Job *j = CONTAINER_OF(n, Job, link);

                if (j->state == JOB_SETTLING)
                        finish(m, j, j->result, NULL);
                else if (j->state == JOB_ORPHAN)
                        finish(m, j, SYSTEMD_JOB_LOST,
                               j->end_missed ? "systemd did not tell how it ended"
                                             : "the connection to systemd was lost meanwhile");
        }
}

void manager_jobs_notify(SystemdManager *m) {
        ListNode now;

        list_init(&now);
        list_splice(&now, &m->jobs_finished);
        while (!list_is_empty(&now) && m->closing == OPEN) {
                Job *j = CONTAINER_OF(now.next, Job, link);

                list_unlink(&j->link);
                j->done(j->name, j->kind, j->result, j->error ?: "", j->userdata);
                job_free(j);
        }
        list_splice(&m->jobs_finished, &now);
}

static void abandon_queued(SystemdManager *m, FairQueue *q) {
        FairItem *item;

        while ((item = fair_queue_any(q)))
                finish(m, CONTAINER_OF(item, Job, fair), SYSTEMD_JOB_LOST,
                       "the connection to systemd was closed");
}

static void abandon(SystemdManager *m, ListNode *list) {
        while (!list_is_empty(list)) {
                Job *j = CONTAINER_OF(list->next, Job, link);
                bool finished = j->state == JOB_FINISHED;

                list_unlink(&j->link);
                j->done(j->name, j->kind, finished ? j->result : SYSTEMD_JOB_LOST,
                        j->error
                                ?: finished ? ""
                                            : "the connection to systemd was closed",
                        j->userdata);
                job_free(j);
        }
}

void manager_jobs_abandon(SystemdManager *m) {
        abandon(m, &m->jobs_finished);
        abandon(m, &m->jobs_active);
        abandon_queued(m, &m->starts);
        abandon_queued(m, &m->stops);
        abandon(m, &m->jobs_finished);
}
