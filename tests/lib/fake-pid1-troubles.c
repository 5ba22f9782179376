// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a real systemd does to whoever is connected to it, as systemd-manager.h passes it on:
//
//      reads its files again   nothing is answered meanwhile; then all states are told anew, `reloaded`,
//                              `synced`
//      executes itself again   the connection is lost. Units and jobs that were under way go on. A job that
//                              was asked for was not sent, was not read, or is done; of the last two, the
//                              manager hears LOST behind `synced`
//      loses signals           of a unit: its state is an older one until the next one is heard. Of a job:
//                              it goes on for the manager. The rolling check, or the next sync, finds both
//                              (pid1_hear())
//      is slow                 jobs are begun later, and units take time to begin and to end
//      ends                    a user's: all of its units, and the connection
#include "fake-pid1-private.h"

#include <errno.h>

#include "clock.h"
#include "unit-state.h"

enum { WINDOW = SYSTEMD_JOBS_MAX }; // jobs that it has at a time; the others wait at whoever asks

void pid1_set_chance(FakePid1 *p, unsigned (*below)(unsigned n)) {
        p->below = below;
}

// ---- signals

bool pid1_hears(FakePid1 *p) {
        if (p->away)
                return false;
        return !p->manager || p->lost_percent == 0 || p->below(100) >= p->lost_percent;
}

void pid1_tell(FakePid1 *p, FakeUnit *u) {
        SystemdManager *m = p->manager;

        if (!u->unheard || p->away)
                return;
        u->unheard = false;
        if (!m || !m->synced || !u->watched || !u->known)
                return;
        bool was = u->watched->runtime.loaded;
        pid1_show(u);
        pid1_notify(p, u);
        if (was && !u->rt.loaded && u->watched)
                m->ops.unit_unloaded(u->name, m->userdata);
}

void pid1_find_unheard(FakePid1 *p) {
        map_foreach (slot, &p->units)
                pid1_tell(p, slot->value);
}

void pid1_end_unheard(FakePid1 *p, bool lost) {
        SystemdManager *m = p->manager;
        ListNode now;

        list_init(&now);
        list_splice(&now, &m->unheard);
        while (!list_is_empty(&now)) {
                Job *j = CONTAINER_OF(now.next, Job, link);

                list_unlink(&j->link);
                if (lost)
                        pid1_lose(j);
                else
                        pid1_job_ended(p, j, j->ended, j->result);
        }
}

void pid1_lose_signals(FakePid1 *p, unsigned percent) {
        p->lost_percent = percent;
}

void pid1_hear(FakePid1 *p) {
        SystemdManager *m = p->manager;

        if (p->away || !m || !m->synced)
                return; // the sync that is to come finds it
        m->synced = false;
        drain_mark(&m->drain);
}

// ---- it reads its files again

void pid1_read_again(FakePid1 *p) {
        map_foreach (slot, &p->units) {
                FakeUnit *u = slot->value;

                if (!u->rt.loaded)
                        continue;
                u->rt.loaded = false;
                free(u->content);
                u->content = NULL;
                pid1_load_unit(p, u);
        }
}

static void come_back(FakePid1 *p) {
        SystemdManager *m = p->manager;

        pid1_read_again(p);
        p->away = false;
        if (!m)
                return;
        m->connected |= !m->open;
        m->synced = false;
        m->announce_reloaded = m->reloading;
        m->reloading = false;
        drain_mark(&m->drain);
}

static void go_away(FakePid1 *p) {
        p->away = true;
        if (!p->manager)
                return;
        p->manager->reloading = true;
        p->manager->reload_since_us = clock_boot_us();
}

void pid1_reload(FakePid1 *p, bool begins) {
        if (begins && !p->away)
                go_away(p);
        else if (!begins && p->away)
                come_back(p);
}

// ---- it executes itself again

static bool is_question(const Job *j) {
        return j->kind == JOB_INSPECT || j->kind == JOB_GROUP || j->kind == JOB_SURVEY ||
               j->kind == JOB_OUTDATED;
}

// Asked again by whoever wants to know.
static bool is_repeated(const Job *j) {
        return j->kind == JOB_LOAD || j->kind == JOB_RELOAD;
}

// The ends of those that are not kept are told behind the next sync.
static void break_off_job(FakePid1 *p, Job *j) {
        SystemdManager *m = p->manager;

        enum { KEPT, NOT_READ, DONE, FATES } fate = p->below(FATES);

        if (is_repeated(j) || (!is_question(j) && fate == KEPT)) {
                list_append(&m->jobs, &j->link);
                return;
        }
        if (is_question(j) || fate == NOT_READ)
                list_append(&m->unheard, &j->link);
        else
                pid1_run_job(p, j); // nothing is heard: it is in `unheard` then, or under way
}

static void break_off_jobs(FakePid1 *p) {
        ListNode now;

        list_init(&now);
        list_splice(&now, &p->manager->jobs);
        while (!list_is_empty(&now)) {
                Job *j = CONTAINER_OF(now.next, Job, link);

                list_unlink(&j->link);
                break_off_job(p, j);
        }
}

void pid1_reexecute(FakePid1 *p, bool begins) {
        SystemdManager *m = p->manager;

        if (begins == p->away)
                return;
        if (!begins) {
                come_back(p);
                return;
        }
        go_away(p);
        if (!m || !m->connected)
                return;
        m->connected = m->synced = m->asked_stopping = false;
        map_foreach (slot, &p->units)
                ((FakeUnit *) slot->value)->known = false;
        break_off_jobs(p);
        m->ops.disconnected("it executes itself again", m->userdata);
        drain_mark(&m->drain);
}

// ---- a user's ends

// Whoever ends in order says so first, and of each unit what becomes of it.
static void stop_all(FakePid1 *p) {
        map_foreach (slot, &p->units) {
                FakeUnit *u = slot->value;

                u->passing = u->held = u->pinned = false;
                if (!active_state_is_down(u->rt.active)) {
                        p->foreign_job = true;
                        pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
                        p->foreign_job = false;
                } else if (u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                        pid1_reset_failed(p, u->name);
                pid1_collect(p, u);
                u->unheard = false;
        }
}

void pid1_end(FakePid1 *p, bool in_order) {
        SystemdManager *m = p->manager;
        bool was_connected = m && m->connected;

        if (p->ended)
                return;
        if (in_order && was_connected && m->synced && !p->away)
                m->ops.stopping(m->userdata);
        if (!in_order)
                p->away = true; // nothing is told
        stop_all(p);
        if (m)
                pid1_lose_all(m);
        p->away = p->takes_time = p->hold = false;
        p->lost_percent = 0;
        p->ended = true;
        if (!was_connected)
                return;
        m->ops.disconnected("it has ended", m->userdata);
        drain_mark(&m->drain);
}

void pid1_begin(FakePid1 *p) {
        p->ended = false;
}

bool pid1_is_reachable(const FakePid1 *p) {
        return !p->ended && !p->away;
}

void pid1_set_active(FakePid1 *p, const char *name, bool active) {
        FakeUnit *u = pid1_unit_get(p, name);

        u->pinned = u->rt.loaded = true;
        u->rt.load = ARGOSY__LOAD_STATE__LOAD_LOADED;
        pid1_set_state(p, u,
                       active ? ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                       active ? "running" : "dead", "success");
}

// ---- it is slow

void pid1_take_time(FakePid1 *p, bool takes) {
        p->takes_time = takes;
}

bool pid1_is_passing(FakePid1 *p, const char *name) {
        const FakeUnit *u = map_find_str(&p->units, name);

        return u && u->passing;
}

static void end_stops(FakePid1 *p, FakeUnit *u) {
        ListNode now;

        list_init(&now);
        list_splice(&now, &u->stops);
        while (!list_is_empty(&now)) {
                Job *j = CONTAINER_OF(now.next, Job, link);

                list_unlink(&j->link);
                pid1_job_ended(p, j, SYSTEMD_STOP, SYSTEMD_JOB_DONE);
        }
}

void pid1_pass(FakePid1 *p, FakeUnit *u) {
        bool begins = u->rt.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING;
        Job *start = TAKE_PTR(u->start);

        u->passing = false;
        if (begins) {
                pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running", "success");
                if (start)
                        pid1_job_ended(p, start, start->kind == JOB_START ? SYSTEMD_START : SYSTEMD_RESTART,
                                       SYSTEMD_JOB_DONE);
                return;
        }
        p->foreign_job = u->foreign_stop;
        pid1_set_state(p, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success");
        p->foreign_job = false;
        end_stops(p, u);
        if (start)
                pid1_run_job(p, start);
        else
                pid1_collect(p, u);
}

bool pid1_pass_on(FakePid1 *p) {
        FakeUnit *passing[WINDOW];
        size_t n = 0;

        map_foreach (slot, &p->units) {
                FakeUnit *u = slot->value;

                if (u->passing && n < WINDOW)
                        passing[n++] = u;
        }
        // A job that ends before a sync has found its unit would end for nobody.
        if (n > 0 && !p->away && !(p->manager && !p->manager->synced))
                pid1_pass(p, passing[p->below((unsigned) n)]);
        return n > 0;
}

static bool is_behind_one_of_its_unit(const SystemdManager *m, const Job *j) {
        list_foreach (n, &m->jobs) {
                const Job *other = CONTAINER_OF(n, Job, link);

                if (other == j)
                        return false;
                if (strcmp(other->name, j->name) == 0)
                        return true;
        }
        return false;
}

bool pid1_let_go(FakePid1 *p) {
        SystemdManager *m = p->manager;
        Job *may[WINDOW], *j;
        size_t n = 0;

        if (!m || !m->connected || !m->synced || p->away)
                return false;
        list_foreach (at, &m->jobs) {
                j = CONTAINER_OF(at, Job, link);
                if (n < WINDOW && !is_behind_one_of_its_unit(m, j))
                        may[n++] = j;
        }
        if (n == 0)
                return false;
        j = may[p->below((unsigned) n)];
        list_unlink(&j->link);
        pid1_run_job(p, j);
        return true;
}

// ---- whoever asked is gone

static bool is_job(const Job *j) {
        return j->kind == JOB_START || j->kind == JOB_STOP || j->kind == JOB_RESTART;
}

void pid1_read_what_was_sent(FakePid1 *p) {
        SystemdManager *m = p->manager;

        p->manager = NULL;
        while (m && m->connected && !list_is_empty(&m->jobs)) {
                Job *j = CONTAINER_OF(m->jobs.next, Job, link);

                list_unlink(&j->link);
                if (is_job(j) && p->below(2))
                        pid1_carry_out(p, (SystemdJobKind) (int) j->kind, j->name);
                free(j);
        }
}
