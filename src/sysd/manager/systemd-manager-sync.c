// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the cache becomes true and stays so.
//
//   sync    ListUnits; what it does not name is not in memory. Its rows lack the invocation id and the
//           result, so these are asked for, one unit at a time, of those that the listing found changed or
//           that a job waits for; then the cache counts as true. Where signals may have been missed (full),
//           the invocation ids of all others follow, a few at a time: a unit that came back up between two
//           looks has the same row as before.
//   watch   a new name between syncs: GetUnit says whether it is in memory without loading it; only then its
//           state is asked for.
//   loss    systemd numbers its messages on a connection, also those that it drops because too many wait for
//           us. A missing number begins a full sync; if a call is under way its reply may be what was
//           dropped, and only a new connection helps. Should the numbers of a systemd turn out to mean
//           something else (LOSS_TRUST times nothing had changed), they are not looked at any more.
//   behind  what waits for us in systemd is written ever more slowly the more it is (400,000 messages: 3,000
//           a second), and its replies stand behind it. So if a call is not answered for BEHIND_MS while
//           more
//           than PROBE_SIGNALS signals come in, the connection is dropped, and all that waited with it.

#include <errno.h>

#include "clock.h"
#include "log.h"
#include "str.h"
#include "systemd-manager-private.h"
#include "unit-pin.h"
#include "unit-state.h"

enum {
        LATER_MAX = 8, // questions about single units in flight for what is known well enough
        LOSS_TRUST = 3,
        PROBE_SIGNALS = 4096,
        BEHIND_MS = 2000,
};

// ---- questions about single units

static void forget_wants(SystemdManager *m, SystemdUnit *w) {
        SystemdUnitWork *work = w->work;

        w->listed = w->detailed = false;
        manager_want_no_more(m, w);
        if (!work)
                return;
        work->want = work->asked = 0;
        work->checking = false;
        list_unlink(&work->fetch);
        manager_work_done(w);
}

void manager_want(SystemdManager *m, SystemdUnit *w, unsigned want) {
        SystemdUnitWork *work = want ? manager_work(m, w) : w->work;

        if (!work)
                return;
        work->want |= (uint8_t) want;
        if (!work->want || work->asked || list_is_linked(&work->fetch))
                return;
        manager_want_no_more(m, w);
        list_append(&m->fetch, &work->fetch);
}

// The run is asked for when nothing else is; until then what is known is told.
static void want_later(SystemdManager *m, SystemdUnit *w) {
        if (manager_wanted(w) || w->later)
                return;
        w->later = true;
        m->n_later++;
}

void manager_want_no_more(SystemdManager *m, SystemdUnit *w) {
        m->n_later -= w->later;
        w->later = false;
}

static bool caused_by_check(const SystemdUnit *w) {
        return w->work && w->work->checking;
}

// A service that is inactive and still in memory may be a one-shot that has failed, and was reset since.
unsigned manager_wants_of_loaded(const SystemdUnit *w) {
        if (w->runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                return WANT_INVOCATION | WANT_RESULT;
        if (w->runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
            str_has_suffix(w->name, ".service"))
                return WANT_INVOCATION | WANT_ENTERED | WANT_CHANGED;
        return WANT_INVOCATION;
}

// What nothing waits for: how often systemd has restarted a service before we looked, and since when it is
// up.
static unsigned wants_of_details(const SystemdUnit *w) {
        const UnitRuntime *rt = &w->runtime;

        if (w->detailed || !rt->loaded || active_state_is_down(rt->active) ||
            !str_has_suffix(w->name, ".service"))
                return 0;
        return (rt->restarts_known ? 0 : WANT_RESTARTS) |
               (rt->since_us == 0 && active_state_is_up(rt->active) ? WANT_SINCE : 0);
}

// The property that is asked for.
static const char *property_of(Want want) {
        switch (want) {
        case WANT_INVOCATION:
                return "InvocationID";
        case WANT_ENTERED:
                return "InactiveEnterTimestamp";
        case WANT_CHANGED:
                return "StateChangeTimestamp";
        case WANT_RESTARTS:
                return "NRestarts";
        case WANT_SINCE:
                return "ActiveEnterTimestamp";
        default:
                return "Result";
        }
}

static void take_unloaded(SystemdManager *m, SystemdUnit *w) {
        manager_apply_unloaded(m, w);
        manager_set_known(m, w);
}

// GetUnit has answered: the path, or that there is none.
static int take_loaded(SystemdManager *m, SystemdUnit *w, sd_bus_message *reply) {
        if (sd_bus_message_is_method_error(reply, NULL)) {
                take_unloaded(m, w);
                return 0;
        }
        if (caused_by_check(w) && w->known && !w->runtime.loaded)
                manager_suspect(m, w);
        manager_note_change(m, w, unit_runtime_load(&w->runtime));
        manager_want(m, w, WANT_STATE);
        return 0;
}

static int take_state(SystemdManager *m, SystemdUnit *w, sd_bus_message *reply) {
        UnitRow row;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL)) { // not a name that systemd knows anything about
                take_unloaded(m, w);
                return 0;
        }
        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        r = message_read_row(reply, &row);
        if (r < 0)
                return r;
        if (r == 0) {
                take_unloaded(m, w);
                return 0;
        }
        manager_apply(m, w, &row.facts);
        manager_want(m, w, manager_wants_of_loaded(w));
        return 0;
}

// An error says that the unit is gone again or has no such property: nothing to learn then.
static int take_property(SystemdManager *m, SystemdUnit *w, sd_bus_message *reply, const char *property) {
        UnitFacts facts;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return 0;
        r = message_read_value(reply, property, &facts);
        if (r < 0)
                return r;
        if (!w->runtime.loaded) // asking for a property of an unloaded unit loads it for a moment
                return 0;
        if (manager_apply(m, w, &facts) && caused_by_check(w) && facts.has & UNIT_FACT_INVOCATION)
                manager_suspect(m, w);
        return 0;
}

// One answer was taken in; what else is wanted is asked next.
static void ask_on(SystemdManager *m, SystemdUnit *w) {
        manager_want(m, w, 0);
        if (manager_wanted(w))
                return;
        if (w->work)
                w->work->checking = false;
        manager_work_done(w);
        manager_set_known(m, w);
        if (wants_of_details(w) != 0)
                want_later(m, w);
}

static int on_query_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Query *q = userdata;
        SystemdManager *m = q->manager;
        SystemdUnit *w = systemd_manager_find(m, q->name);
        int r = 0;

        manager_received(m);
        list_unlink(&q->link);
        m->n_queries--;
        if (w && w->work && w->work->asked == q->want) {
                w->work->want &= (uint8_t) ~q->want;
                w->work->asked = 0;
                if (q->want == WANT_LOADED)
                        r = take_loaded(m, w, reply);
                else if (q->want == WANT_STATE)
                        r = take_state(m, w, reply);
                else
                        r = take_property(m, w, reply, property_of(q->want));
                ask_on(m, w);
        }
        free(q);
        if (r < 0)
                manager_fail(m, r);
        return 1;
}

static int new_query_call(SystemdManager *m, const SystemdUnit *w, Want want, sd_bus_message **ret) {
        int r;

        if (want == WANT_RESULT || want == WANT_RESTARTS)
                return manager_new_property_call(m, w->name, unit_result_interface(w->name),
                                                 property_of(want), ret);
        if (want != WANT_LOADED && want != WANT_STATE)
                return manager_new_property_call(m, w->name, SYSTEMD_UNIT, property_of(want), ret);
        r = manager_new_call(m, want == WANT_LOADED ? "GetUnit" : "ListUnitsByNames", ret);
        if (r < 0)
                return r;
        r = want == WANT_LOADED ? sd_bus_message_append(*ret, "s", w->name)
                                : sd_bus_message_append(*ret, "as", 1, w->name);
        if (r < 0)
                sd_bus_message_unref(*ret);
        return r;
}

static int send_query(SystemdManager *m, SystemdUnit *w) {
        Want want = w->work->want & -w->work->want; // the lowest bit
        size_t len = strlen(w->name);
        sd_bus_message *call;
        Query *q;
        int r;

        q = calloc(1, sizeof(*q) + len + 1);
        if (!q)
                return -ENOMEM;
        *q = (Query){.manager = m, .want = want};
        memcpy(q->name, w->name, len);
        r = new_query_call(m, w, want, &call);
        if (r >= 0)
                r = manager_send(m, call, on_query_reply, q);
        if (r < 0) {
                free(q);
                return r;
        }
        list_append(&m->queries, &q->link);
        m->n_queries++;
        w->work->asked = (uint8_t) want;
        return 0;
}

void manager_pump_queries(SystemdManager *m) {
        while (m->link && m->n_queries < SYSTEMD_QUERIES_MAX && !list_is_empty(&m->fetch)) {
                SystemdUnitWork *work = CONTAINER_OF(m->fetch.next, SystemdUnitWork, fetch);
                SystemdUnit *w = work->unit;
                int r;

                list_unlink(&work->fetch);
                // What one cannot ask of this type, or of a unit that has gone meanwhile.
                if (!unit_result_interface(w->name))
                        work->want &= (uint8_t) ~WANT_RESULT;
                if (w->known && !w->runtime.loaded)
                        work->want = work->want & WANT_LOADED;
                if (!work->want) {
                        work->checking = false;
                        manager_work_done(w);
                        manager_set_known(m, w);
                        continue;
                }
                r = send_query(m, w);
                if (r < 0) {
                        manager_fail(m, r);
                        return;
                }
        }
}

static SystemdUnit *next_later(SystemdManager *m) {
        SystemdUnit *w;

        while (m->n_later > 0) {
                while ((w = systemd_manager_next(m, &m->later_at)))
                        if (w->later)
                                return w;
                m->later_at = 0; // the table has changed meanwhile, or there are new ones
        }
        return NULL;
}

void manager_pump_later(SystemdManager *m) {
        SystemdUnit *w;

        while (m->link && m->synced && m->n_queries < LATER_MAX && (w = next_later(m))) {
                unsigned details = wants_of_details(w);

                manager_want_no_more(m, w);
                w->detailed |= details != 0;
                manager_want(m, w, w->runtime.loaded ? manager_wants_of_loaded(w) | details : 0);
                manager_pump_queries(m);
        }
}

// ---- sync

static int on_listing(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        int r;

        manager_received(m);
        if (sd_bus_message_is_method_error(reply, NULL)) {
                manager_fail(m, -sd_bus_message_get_errno(reply));
                return 1;
        }
        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        if (r < 0) {
                manager_fail(m, r);
                return 1;
        }
        m->listing = sd_bus_message_ref(reply);
        bus_link_pause(m->link, true); // later messages must not overtake the rows
        drain_mark(&m->drain);
        return 1;
}

void manager_sync(SystemdManager *m, bool full) {
        sd_bus_message *call;
        int r;

        if (!m->link)
                return;
        if (m->syncing) {
                m->sync_again = true;
                m->sync_again_full |= full;
                return;
        }
        m->synced = m->announce_synced = false;
        m->syncing = true;
        m->sync_full = full;
        m->sync_since_us = clock_boot_us();
        m->sync_changes = 0;
        r = manager_new_call(m, "ListUnits", &call);
        if (r >= 0)
                r = manager_send(m, call, on_listing, m);
        if (r < 0)
                manager_fail(m, r);
}

void manager_sync_lost(SystemdManager *m) {
        m->listing = sd_bus_message_unref(m->listing);
        m->syncing = m->synced = m->announce_synced = m->sync_again = m->sync_again_full = false;
        m->sync_listed = false;
        list_foreach_safe (n, &m->queries) {
                list_unlink(n);
                free(CONTAINER_OF(n, Query, link));
        }
        m->n_queries = 0;
        manager_foreach_unit(w, m) forget_wants(m, w);
}

// The listing that is asked for and not answered yet will show what was lost before its answer.
static void sync_after_loss(SystemdManager *m) {
        m->announce_files = true;
        if (m->syncing && !m->listing && !m->sync_listed)
                m->sync_full = true;
        else
                manager_sync(m, true);
}

static int on_pong(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        manager_received(userdata);
        return 1;
}

void manager_probe(SystemdManager *m) {
        sd_bus_message *call;
        int r;

        if (m->n_sent > m->n_received || m->stats.signals - m->asked_signals < PROBE_SIGNALS)
                return;
        r = sd_bus_message_new_method_call(bus_link_bus(m->link), &call, SYSTEMD_NAME, SYSTEMD_PATH,
                                           "org.freedesktop.DBus.Peer", "Ping");
        if (r >= 0)
                r = manager_send(m, call, on_pong, m);
        if (r < 0)
                manager_fail(m, r);
}

static void check_lag(SystemdManager *m) {
        if (m->n_sent == m->n_received || m->reloading ||
            m->stats.signals - m->asked_signals < PROBE_SIGNALS || uv_now(m->loop) - m->asked_ms < BEHIND_MS)
                return;
        log_notice("Too much that systemd has to tell waits for us. Beginning anew.");
        m->stats.losses++;
        manager_fail(m, -ENOBUFS);
}

void manager_check_losses(SystemdManager *m) {
        if (m->link)
                check_lag(m);
        if (!m->link || !bus_link_take_loss(m->link) || m->vain_losses >= LOSS_TRUST)
                return;
        m->stats.losses++;
        m->after_loss = true;
        log_warning("systemd dropped messages for us. Asking it for everything again.");
        if (m->n_sent > m->n_received)
                manager_fail(m, -ENOBUFS);
        else
                sync_after_loss(m);
}

// Whether the numbers of messages can be believed.
static void judge_loss(SystemdManager *m) {
        if (!m->after_loss)
                return;
        m->after_loss = false;
        m->vain_losses = m->sync_changes > 0 ? 0 : m->vain_losses + 1;
        if (m->vain_losses == LOSS_TRUST)
                log_notice("Nothing had changed %i times: this systemd's message numbers say nothing.",
                           LOSS_TRUST);
}

static void take_pin(SystemdManager *m, const UnitRow *row) {
        char unit[UNIT_NAME_MAX + 1];
        SystemdUnit *w = unit_pin_parse(row->name, unit) ? systemd_manager_find(m, unit) : NULL;

        if (w) // with a job it is on its way there, or leaves by our own hand
                w->pin_listed = row->job || row->facts.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

static void take_row(SystemdManager *m, const UnitRow *row) {
        SystemdUnit *w = systemd_manager_find(m, row->name);
        bool changed;

        take_pin(m, row);
        if (row->job)
                manager_jobs_found(m, row->job);
        if (!w)
                return;
        w->listed = true;
        changed = manager_apply(m, w, &row->facts);
        m->sync_changes += changed;
        if (changed || !w->known)
                manager_want(m, w, manager_wants_of_loaded(w));
        else if (m->sync_full)
                want_later(m, w);
}

// What the listing did not name is not in memory. What was watched while it was read has a question of its
// own under way.
static void sweep(SystemdManager *m) {
        manager_foreach_unit(w, m) {
                bool listed = w->listed;

                w->listed = false;
                w->pinned = w->pin_listed;
                w->pin_listed = false;
                if (listed || manager_wanted(w) & WANT_LOADED)
                        continue;
                m->sync_changes += w->runtime.loaded;
                manager_apply_unloaded(m, w);
                manager_set_known(m, w);
        }
}

static void take_rows(SystemdManager *m) {
        UnitRow row;
        int r = 1;

        for (int i = 0; i < SYSTEMD_ROWS_PER_TURN; i++) {
                r = message_read_row(m->listing, &row);
                if (r <= 0)
                        break;
                take_row(m, &row);
        }
        if (r > 0) {
                drain_mark(&m->drain);
                return;
        }
        m->listing = sd_bus_message_unref(m->listing);
        bus_link_pause(m->link, false);
        if (r < 0) {
                manager_fail(m, r);
                return;
        }
        sweep(m);
        manager_jobs_listed(m);
}

static void sync_finish(SystemdManager *m) {
        bool again = m->sync_again, full = m->sync_again_full;

        m->syncing = m->sync_again = m->sync_again_full = false;
        m->stats.resyncs++;
        m->stats.resync_us = clock_boot_us() - m->sync_since_us;
        if (again) {
                manager_sync(m, full);
                return;
        }
        m->synced = m->announce_synced = true;
        m->retry_ms = RETRY_MIN_MS;
        judge_loss(m);
        manager_jobs_synced(m);
        manager_calls_synced(m);
        manager_arm_check(m);
}

void manager_sync_step(SystemdManager *m) {
        if (!m->link || !m->syncing)
                return;
        if (m->listing) {
                take_rows(m);
                manager_pump_queries(m);
                m->sync_listed = !m->listing;
        }
        if (m->sync_listed && m->n_queries == 0 && list_is_empty(&m->fetch)) {
                m->sync_listed = false;
                sync_finish(m);
        }
}

// ---- is the machine going down?

// Called when the newest question was answered, or none will be.
void manager_note_stopping_known(SystemdManager *m) {
        if (!m->stopping_awaited || m->stopping_questions > 0)
                return;
        m->stopping_awaited = false;
        m->announce_stopping_known = true;
}

static int on_system_state(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        const char *state;
        int r;

        manager_received(m);
        m->stopping_suspected = false;
        m->stopping_questions--;
        manager_note_stopping_known(m);
        if (sd_bus_message_is_method_error(reply, NULL))
                return 1;
        r = sd_bus_message_read(reply, "v", "s", &state);
        if (r < 0)
                manager_fail(m, r);
        else if (streq(state, "stopping")) {
                m->announce_stopping = !m->stopping;
                m->announce_resumed = false;
        } else {
                m->announce_stopping = false;
                m->announce_resumed = m->stopping;
        }
        return 1;
}

void manager_ask_stopping(SystemdManager *m) {
        sd_bus_message *call;
        int r;

        r = manager_new_property_call(m, NULL, SYSTEMD_MANAGER, "SystemState", &call);
        if (r >= 0)
                r = manager_send(m, call, on_system_state, m);
        if (r < 0)
                manager_fail(m, r);
        else
                m->stopping_questions++;
}
