// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the cache becomes true and stays so.
//
//   sync    ListUnits; what it does not name is not in memory. Its rows lack the invocation id and the
//   result, so these are asked for, one unit at a
//           time: of all loaded units after a lost connection (full), else only of those that the listing
//           found changed.
//   watch   a new name between syncs: GetUnit says whether it is in memory without loading it; only then its
//   state is asked for. check   every now and then ListUnitsByNames of the next SYSTEMD_CHECK_CHUNK loaded
//   units. A row that differs from the cache is applied at
//           once; if no signal has told of it by the next tick, one was lost: that is counted, logged, and a
//           full sync begins.

#include <errno.h>

#include "clock.h"
#include "log.h"
#include "systemd-manager-private.h"

enum { CHECK_TICK_MIN_MS = 10 };

// ---- questions about single units

static void forget_wants(Watched *w) {
        w->want = w->asked = 0;
        list_unlink(&w->fetch);
}

void manager_want(SystemdManager *m, Watched *w, unsigned want) {
        w->want |= (uint8_t) want;
        if (w->want && !w->asked && !list_is_linked(&w->fetch))
                list_append(&m->fetch, &w->fetch);
}

static unsigned wants_of_loaded(const Watched *w) {
        return WANT_INVOCATION |
               (w->runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ? WANT_RESULT : 0);
}

static void take_unloaded(SystemdManager *m, Watched *w) {
        manager_apply_unloaded(m, w);
        manager_set_known(m, w);
}

// GetUnit has answered: the path, or that there is none.
static int take_loaded(SystemdManager *m, Watched *w, sd_bus_message *reply) {
        if (sd_bus_message_is_method_error(reply, NULL)) {
                take_unloaded(m, w);
                return 0;
        }
        manager_note_change(m, w, unit_runtime_load(&w->runtime));
        manager_want(m, w, WANT_STATE);
        return 0;
}

static int take_state(SystemdManager *m, Watched *w, sd_bus_message *reply) {
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
        manager_want(m, w, wants_of_loaded(w));
        return 0;
}

// An error says that the unit is gone again or has no such property: nothing to learn then.
static int take_property(SystemdManager *m, Watched *w, sd_bus_message *reply, const char *property) {
        UnitFacts facts;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return 0;
        r = message_read_value(reply, property, &facts);
        if (r < 0)
                return r;
        if (w->runtime.loaded) // asking for a property of an unloaded unit loads it for a moment
                manager_apply(m, w, &facts);
        return 0;
}

static int on_query_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Query *q = userdata;
        SystemdManager *m = q->manager;
        Watched *w = manager_find(m, q->name);
        int r = 0;

        list_unlink(&q->link);
        m->n_queries--;
        if (w && w->asked == q->want) {
                w->want &= (uint8_t) ~q->want;
                w->asked = 0;
                if (q->want == WANT_LOADED)
                        r = take_loaded(m, w, reply);
                else if (q->want == WANT_STATE)
                        r = take_state(m, w, reply);
                else
                        r = take_property(m, w, reply,
                                          q->want == WANT_INVOCATION ? "InvocationID" : "Result");
                manager_want(m, w, 0);
                if (w->want == 0)
                        manager_set_known(m, w);
        }
        free(q);
        if (r < 0)
                manager_fail(m, r);
        return 1;
}

static int new_query_call(SystemdManager *m, const Watched *w, Want want, sd_bus_message **ret) {
        int r;

        if (want == WANT_INVOCATION)
                return manager_new_property_call(m, w->name, SYSTEMD_UNIT, "InvocationID", ret);
        if (want == WANT_RESULT)
                return manager_new_property_call(m, w->name, unit_result_interface(w->name), "Result", ret);
        r = manager_new_call(m, want == WANT_LOADED ? "GetUnit" : "ListUnitsByNames", ret);
        if (r < 0)
                return r;
        r = want == WANT_LOADED ? sd_bus_message_append(*ret, "s", w->name)
                                : sd_bus_message_append(*ret, "as", 1, w->name);
        if (r < 0)
                sd_bus_message_unref(*ret);
        return r;
}

static int send_query(SystemdManager *m, Watched *w) {
        Want want = w->want & -w->want; // the lowest bit
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
        w->asked = (uint8_t) want;
        return 0;
}

void manager_pump_queries(SystemdManager *m) {
        while (m->link && m->n_queries < SYSTEMD_QUERIES_MAX && !list_is_empty(&m->fetch)) {
                Watched *w = CONTAINER_OF(m->fetch.next, Watched, fetch);
                int r;

                list_unlink(&w->fetch);
                // What one cannot ask of this type, or of a unit that has gone meanwhile.
                if (!unit_result_interface(w->name))
                        w->want &= (uint8_t) ~WANT_RESULT;
                if (w->known && !w->runtime.loaded)
                        w->want &= (uint8_t) ~(WANT_STATE | WANT_INVOCATION | WANT_RESULT);
                if (!w->want) {
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

// ---- sync

static int on_listing(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        int r;

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
        m->generation++;
        r = manager_new_call(m, "ListUnits", &call);
        if (r >= 0)
                r = manager_send(m, call, on_listing, m);
        if (r < 0)
                manager_fail(m, r);
}

void manager_sync_lost(SystemdManager *m) {
        m->listing = sd_bus_message_unref(m->listing);
        m->syncing = m->synced = m->announce_synced = m->sync_again = m->sync_again_full = false;
        m->sync_listed = m->check_sent = false;
        list_foreach_safe (n, &m->queries) {
                list_unlink(n);
                free(CONTAINER_OF(n, Query, link));
        }
        m->n_queries = 0;
        list_foreach (n, &m->ring)
                forget_wants(CONTAINER_OF(n, Watched, ring));
        while (!list_is_empty(&m->suspects))
                list_unlink(m->suspects.next);
}

static void take_row(SystemdManager *m, const UnitRow *row) {
        Watched *w = manager_find(m, row->name);
        bool changed;

        if (row->job)
                manager_jobs_found(m, row->job);
        if (!w)
                return;
        w->generation = m->generation;
        changed = manager_apply(m, w, &row->facts);
        if (changed || m->sync_full || !w->known)
                manager_want(m, w, wants_of_loaded(w));
        else
                manager_set_known(m, w);
}

// What the listing did not name is not in memory. What was watched while it was read has a question of its
// own under way.
static void sweep(SystemdManager *m) {
        list_foreach (n, &m->ring) {
                Watched *w = CONTAINER_OF(n, Watched, ring);

                if (w->generation == m->generation || (w->want | w->asked) & WANT_LOADED)
                        continue;
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
        if (r < 0)
                manager_fail(m, r);
        else
                sweep(m);
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

static int on_system_state(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        const char *state;
        int r;

        m->stopping_suspected = false;
        if (sd_bus_message_is_method_error(reply, NULL))
                return 1;
        r = sd_bus_message_read(reply, "v", "s", &state);
        if (r < 0)
                manager_fail(m, r);
        else if (streq(state, "stopping") && !m->stopping)
                m->announce_stopping = true;
        return 1;
}

void manager_ask_stopping(SystemdManager *m) {
        sd_bus_message *call;
        int r;

        if (m->stopping)
                return;
        r = manager_new_property_call(m, NULL, SYSTEMD_MANAGER, "SystemState", &call);
        if (r >= 0)
                r = manager_send(m, call, on_system_state, m);
        if (r < 0)
                manager_fail(m, r);
}

// ---- the rolling check

static bool row_differs(const UnitRuntime *rt, const UnitRow *row) {
        return rt->active != row->facts.active || strncmp(rt->sub, row->facts.sub, sizeof(rt->sub) - 1) != 0;
}

static int take_check(SystemdManager *m, sd_bus_message *reply) {
        UnitRow row;
        int r;

        if (sd_bus_message_is_method_error(reply,
                                           NULL)) // e.g. too many units loaded: the next chunk comes anyway
                return 0;
        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        while ((r = message_read_row(reply, &row)) > 0) {
                Watched *w = manager_find(m, row.name);

                if (!w || !w->known || !w->runtime.loaded)
                        continue;
                if (row_differs(&w->runtime, &row) && !list_is_linked(&w->suspect))
                        list_append(&m->suspects, &w->suspect);
                if (manager_apply(m, w, &row.facts))
                        manager_want(m, w, wants_of_loaded(w));
        }
        return r;
}

static int on_check_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        int r;

        m->check_sent = false;
        r = take_check(m, reply);
        if (r < 0)
                manager_fail(m, r);
        return 1;
}

// The rest of the suspects were not explained by a signal in the meantime.
static void judge_suspects(SystemdManager *m) {
        bool lost = !list_is_empty(&m->suspects);

        while (!list_is_empty(&m->suspects)) {
                Watched *w = CONTAINER_OF(m->suspects.next, Watched, suspect);

                list_unlink(&w->suspect);
                m->stats.discrepancies++;
                log_unit(LOG_WARNING, w->name, "systemd lost a signal: %s changed without one.", w->name);
        }
        if (lost)
                manager_sync(m, true);
}

// Moves the next loaded units to the end of the ring. Returns how many there are in `ret`.
static size_t next_chunk(SystemdManager *m, const char *ret[static SYSTEMD_CHECK_CHUNK]) {
        size_t n = 0;

        for (size_t i = m->units.count; i > 0 && n < SYSTEMD_CHECK_CHUNK; i--) {
                Watched *w = CONTAINER_OF(m->ring.next, Watched, ring);

                if (w->checked == m->check_round)
                        break;
                w->checked = m->check_round;
                list_unlink(&w->ring);
                list_append(&m->ring, &w->ring);
                if (w->known && w->runtime.loaded)
                        ret[n++] = w->name;
        }
        return n;
}

static int send_check(SystemdManager *m, const char *const *names, size_t n) {
        sd_bus_message *call;
        int r;

        r = manager_new_call(m, "ListUnitsByNames", &call);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "s");
        for (size_t i = 0; i < n && r >= 0; i++)
                r = sd_bus_message_append(call, "s", names[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r < 0) {
                sd_bus_message_unref(call);
                return r;
        }
        return manager_send(m, call, on_check_reply, m);
}

static uint64_t check_interval_ms(const SystemdManager *m) {
        size_t chunks = (m->units.count + SYSTEMD_CHECK_CHUNK - 1) / SYSTEMD_CHECK_CHUNK;

        return MAX_OF(m->check_period_us / 1000 / (chunks + 1), (uint64_t) CHECK_TICK_MIN_MS);
}

void manager_arm_check(SystemdManager *m) {
        if (!uv_is_active((uv_handle_t *) &m->check))
                uv_timer_start(&m->check, manager_on_check, check_interval_ms(m), 0);
}

void manager_on_check(uv_timer_t *timer) {
        SystemdManager *m = timer->data;
        const char *names[SYSTEMD_CHECK_CHUNK];
        size_t n;

        if (!m->synced) // the end of the sync starts it again
                return;
        judge_suspects(m);
        if (m->synced && !m->reloading && !m->check_sent) {
                n = next_chunk(m, names);
                if (n == 0) {
                        m->stats.check_rounds++;
                        m->check_round ^= 1;
                } else {
                        int r = send_check(m, names, n);

                        m->check_sent = true;
                        if (r < 0)
                                manager_fail(m, r);
                }
        }
        manager_arm_check(m);
        manager_flush(m);
}
