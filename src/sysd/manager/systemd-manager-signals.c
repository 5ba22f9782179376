// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Signals of systemd: each one changes the cache of its unit and moves jobs on.
//
//      manager_on_signal() -> the row of its member -> the cache -> callbacks in the next drain
//
// A signal never causes a question about the unit that it names, as the question would cause signals of its
// own. Failures: a signal with another signature, or cut off, is -EBADMSG, and the connection is begun anew.

#include "clock.h"
#include "systemd-manager-private.h"
#include "unit-state.h"

// The job of a unit that goes down is reported only if it is foreign: our own job is no news.
static void forget_own_job(const SystemdManager *m, const SystemdUnit *w, UnitFacts *facts) {
        if (facts->has & UNIT_FACT_JOB && facts->job && facts->has & UNIT_FACT_ACTIVE &&
            active_state_is_down(facts->active) && manager_jobs_have(m, w->name, facts->job))
                facts->job = 0;
}

static int on_properties_changed(SystemdManager *m, BusSignal *signal) {
        char name[UNIT_NAME_MAX + 1];
        UnitFacts facts;
        SystemdUnit *w;
        int r;

        if (!unit_path_decode(signal->path, name))
                return 0;
        w = systemd_manager_find(m, name);
        if (!w)
                return 0;
        r = signal_read_changes(signal, &facts);
        if (r < 0)
                return r;
        manager_clear_suspect(w);
        if (facts.has & UNIT_FACT_INVOCATION)
                manager_want_no_more(m, w);
        forget_own_job(m, w, &facts);
        if (facts.has)
                manager_apply(m, w, &facts);
        if (facts.has & UNIT_FACT_ACTIVE)
                manager_set_known(m, w);
        return 0;
}

// While systemd reloads it signals the removal and return of all units; these signals are ignored.
static int on_unit_new(SystemdManager *m, BusSignal *signal) {
        const char *name = bus_read_string(&signal->body);
        SystemdUnit *w;

        if (signal->body.error < 0 || m->reloading)
                return signal->body.error;
        w = systemd_manager_find(m, name);
        if (!w || !w->known)
                return 0;
        if (!w->runtime.loaded)
                manager_clear_suspect(w);
        w->renewed = w->runtime.loaded;
        manager_note_change(m, w, unit_runtime_load(&w->runtime));
        return 0;
}

static int on_unit_removed(SystemdManager *m, BusSignal *signal) {
        const char *name = bus_read_string(&signal->body);
        SystemdUnit *w;

        if (signal->body.error < 0 || m->reloading)
                return signal->body.error;
        w = systemd_manager_find(m, name);
        if (!w)
                return 0;
        if (!w->renewed) // else it was loaded by the check's own question
                manager_clear_suspect(w);
        w->renewed = false;
        manager_apply_unloaded(m, w);
        manager_set_known(m, w);
        return 0;
}

static void note_foreign_job(SystemdManager *m, const char *unit) {
        m->foreign_jobs[m->foreign_job] = (ForeignJob){map_hash(unit, strlen(unit)), clock_monotonic_us()};
        m->foreign_job = (m->foreign_job + 1) % FOREIGN_JOBS;
}

bool systemd_manager_job_ended(const SystemdManager *m, const char *unit, uint64_t since_us) {
        uint64_t hash = map_hash(unit, strlen(unit));

        for (size_t i = 0; i < FOREIGN_JOBS; i++)
                if (m->foreign_jobs[i].unit == hash && m->foreign_jobs[i].at_us > 0 &&
                    m->foreign_jobs[i].at_us >= since_us)
                        return true;
        return false;
}

static int on_job_removed(SystemdManager *m, BusSignal *signal) {
        uint32_t id = bus_read_u32(&signal->body);
        const char *unit, *word;

        (void) bus_read_string(&signal->body); // the job's path
        unit = bus_read_string(&signal->body);
        word = bus_read_string(&signal->body);
        if (signal->body.error < 0)
                return signal->body.error;
        manager_jobs_removed(m, id, unit, word);
        if (streq(word, "done") && !systemd_manager_find(m, unit))
                note_foreign_job(m, unit);
        if (streq(unit, "shutdown.target"))
                manager_ask_stopping(m); // cancelled, or reached
        return 0;
}

// Every way to end the machine or the session goes through a job for shutdown.target. Its type is not in the
// signal; the manager's state is clear.
static int on_job_new(SystemdManager *m, BusSignal *signal) {
        const char *unit;

        (void) bus_read_u32(&signal->body);    // its number
        (void) bus_read_string(&signal->body); // and its path
        unit = bus_read_string(&signal->body);
        if (streq(unit, "shutdown.target")) {
                m->stopping_suspected = true;
                manager_ask_stopping(m);
        }
        return signal->body.error;
}

static int on_reloading(SystemdManager *m, BusSignal *signal) {
        bool begins = bus_read_u32(&signal->body) != 0;

        if (signal->body.error < 0)
                return signal->body.error;
        if (begins && !m->reloading) {
                m->reload_since_us = bus_link_drained_us(m->link);
                manager_note_reload(m);
        }
        if (!begins && m->reloading) {
                m->announce_reloaded = true;
                manager_sync(m, false);
        }
        m->reloading = begins;
        m->asked_ms = uv_now(m->loop); // no call is answered while it reloads
        m->asked_signals = m->stats.signals;
        return 0;
}

// The signal names no files, and systemd sends it only for changes that it made itself (enable, mask).
static int on_unit_files_changed(SystemdManager *m, BusSignal *signal) {
        m->announce_files = true;
        return 0;
}

static const struct {
        const char *interface, *member, *signature;
        int (*on)(SystemdManager *m, BusSignal *signal);
} signals[] = {
        {"org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", on_properties_changed},
        {SYSTEMD_MANAGER, "UnitNew", "so", on_unit_new},
        {SYSTEMD_MANAGER, "UnitRemoved", "so", on_unit_removed},
        {SYSTEMD_MANAGER, "JobRemoved", "uoss", on_job_removed},
        {SYSTEMD_MANAGER, "JobNew", "uos", on_job_new},
        {SYSTEMD_MANAGER, "Reloading", "b", on_reloading},
        {SYSTEMD_MANAGER, "UnitFilesChanged", "", on_unit_files_changed},
};

int manager_on_signal(BusSignal *signal, void *userdata) {
        SystemdManager *m = userdata;

        m->stats.signals++;
        manager_probe(m);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                if (streq(signal->member, signals[i].member) &&
                    streq(signal->interface, signals[i].interface))
                        return streq(signal->signature, signals[i].signature) ? signals[i].on(m, signal)
                                                                              : -EBADMSG;
        return 0;
}
