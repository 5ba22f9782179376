// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd tells without being asked. A signal changes the cache and moves jobs on; it never causes a
// question about the unit that it names (the question would cause signals of its own).

#include "systemd-manager-private.h"

static int on_properties_changed(SystemdManager *m, sd_bus_message *message) {
        char name[UNIT_NAME_MAX + 1];
        UnitFacts facts;
        SystemdUnit *w;
        int r;

        if (!unit_path_decode(sd_bus_message_get_path(message), name))
                return 0;
        w = systemd_manager_find(m, name);
        if (!w)
                return 0;
        r = message_read_changes(message, &facts);
        if (r < 0)
                return r;
        manager_clear_suspect(w);
        if (facts.has & UNIT_FACT_INVOCATION)
                manager_want_no_more(m, w);
        if (facts.has)
                manager_apply(m, w, &facts);
        if (facts.has & UNIT_FACT_ACTIVE)
                manager_set_known(m, w);
        return 0;
}

// While systemd reloads, it announces the removal and return of everything: those mean nothing.
static int on_unit_new(SystemdManager *m, sd_bus_message *message) {
        const char *name;
        SystemdUnit *w;
        int r = sd_bus_message_read(message, "s", &name);

        if (r < 0 || m->reloading)
                return r;
        w = systemd_manager_find(m, name);
        if (!w || !w->known)
                return 0;
        if (!w->runtime.loaded)
                manager_clear_suspect(w);
        w->renewed = w->runtime.loaded;
        manager_note_change(m, w, unit_runtime_load(&w->runtime));
        return 0;
}

static int on_unit_removed(SystemdManager *m, sd_bus_message *message) {
        const char *name;
        SystemdUnit *w;
        int r = sd_bus_message_read(message, "s", &name);

        if (r < 0 || m->reloading)
                return r;
        w = systemd_manager_find(m, name);
        if (!w)
                return 0;
        if (!w->renewed) // the check's own question loads what had left memory, unheard
                manager_clear_suspect(w);
        w->renewed = false;
        manager_apply_unloaded(m, w);
        manager_set_known(m, w);
        return 0;
}

static int on_job_removed(SystemdManager *m, sd_bus_message *message) {
        const char *unit, *word;
        uint32_t id;
        int r = sd_bus_message_read(message, "uoss", &id, NULL, &unit, &word);

        if (r >= 0)
                manager_jobs_removed(m, id, unit, word);
        if (r >= 0 && streq(unit, "shutdown.target"))
                manager_ask_stopping(m); // cancelled, or reached
        return r;
}

// Every way to end the machine or the session goes through a job for shutdown.target. Its type is not in the
// signal; the manager's state is clear.
static int on_job_new(SystemdManager *m, sd_bus_message *message) {
        const char *unit;
        int r = sd_bus_message_read(message, "uos", NULL, NULL, &unit);

        if (r >= 0 && streq(unit, "shutdown.target")) {
                m->stopping_suspected = true;
                manager_ask_stopping(m);
        }
        return r;
}

static int on_reloading(SystemdManager *m, sd_bus_message *message) {
        int begins, r = sd_bus_message_read(message, "b", &begins);

        if (r < 0)
                return r;
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

// It names no files, and comes only when somebody had systemd change them.
static int on_unit_files_changed(SystemdManager *m, sd_bus_message *message) {
        m->announce_files = true;
        return 0;
}

static const struct {
        const char *interface, *member;
        int (*on)(SystemdManager *m, sd_bus_message *message);
} signals[] = {
        {"org.freedesktop.DBus.Properties", "PropertiesChanged", on_properties_changed},
        {SYSTEMD_MANAGER, "UnitNew", on_unit_new},
        {SYSTEMD_MANAGER, "UnitRemoved", on_unit_removed},
        {SYSTEMD_MANAGER, "JobRemoved", on_job_removed},
        {SYSTEMD_MANAGER, "JobNew", on_job_new},
        {SYSTEMD_MANAGER, "Reloading", on_reloading},
        {SYSTEMD_MANAGER, "UnitFilesChanged", on_unit_files_changed},
};

int manager_on_message(sd_bus_message *message, void *userdata) {
        SystemdManager *m = userdata;
        const char *interface = sd_bus_message_get_interface(message),
                   *member = sd_bus_message_get_member(message);

        if (!interface || !member)
                return 0;
        m->stats.signals++;
        manager_probe(m);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                if (streq(member, signals[i].member) && streq(interface, signals[i].interface))
                        return signals[i].on(m, message);
        return 0;
}
