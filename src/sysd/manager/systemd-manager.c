// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The object, its connection and its turn of the loop. See the private header for the other facets and for
// the order of a turn.
//
// Life of a connection: on_retry() connects -> Subscribe, ListUnits (sync) -> synced -> signals for ever ->
// on_broken() -> on_retry(). Everything that was asked and not answered is asked again or answered with its
// loss, see manager_disconnect().

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "systemd-manager-private.h"

enum { RETRY_MAX_MS = 1000, MANAGER_HANDLES = 4 };

// ---- calls

static void begin_waiting(SystemdManager *m) {
        m->asked_ms = uv_now(m->loop);
        m->asked_signals = m->stats.signals;
}

static void note_call(SystemdManager *m) {
        if (m->n_sent++ == m->n_received)
                begin_waiting(m);
}

int manager_send(SystemdManager *m, sd_bus_message *call, sd_bus_message_handler_t handler, void *userdata) {
        int r = sd_bus_call_async(bus_link_bus(m->link), NULL, call, handler, userdata, UINT64_MAX);

        sd_bus_message_unref(call);
        m->stats.calls += r >= 0;
        if (r >= 0)
                note_call(m);
        return r < 0 ? r : 0;
}

int manager_send_owned(SystemdManager *m, sd_bus_message *call, sd_bus_message_handler_t handler,
                       void *userdata) {
        sd_bus_slot *slot;
        int r = sd_bus_call_async(bus_link_bus(m->link), &slot, call, handler, userdata, UINT64_MAX);

        sd_bus_message_unref(call);
        if (r < 0)
                return r;
        m->stats.calls++;
        note_call(m);
        sd_bus_slot_set_destroy_callback(slot, free);
        sd_bus_slot_set_floating(slot, true);
        sd_bus_slot_unref(slot);
        return 0;
}

void manager_received(SystemdManager *m) {
        m->n_received++;
        begin_waiting(m);
}

int manager_new_call(SystemdManager *m, const char *member, sd_bus_message **ret) {
        return sd_bus_message_new_method_call(bus_link_bus(m->link), ret, SYSTEMD_NAME, SYSTEMD_PATH,
                                              SYSTEMD_MANAGER, member);
}

int manager_new_list_call(SystemdManager *m, const char *const *names, size_t n, sd_bus_message **ret) {
        sd_bus_message *call;
        int r = manager_new_call(m, "ListUnitsByNames", &call);

        if (r < 0)
                return r;
        r = sd_bus_message_open_container(call, 'a', "s");
        for (size_t i = 0; i < n && r >= 0; i++)
                r = sd_bus_message_append_basic(call, 's', names[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(call);
        if (r < 0) {
                sd_bus_message_unref(call);
                return r;
        }
        *ret = call;
        return 0;
}

int manager_new_property_call(SystemdManager *m, const char *unit, const char *interface,
                              const char *property, sd_bus_message **ret) {
        _cleanup_free_ char *path = unit ? unit_path_encode(unit) : strdup(SYSTEMD_PATH);
        sd_bus_message *call;
        int r;

        if (!path)
                return -ENOMEM;
        r = sd_bus_message_new_method_call(bus_link_bus(m->link), &call, SYSTEMD_NAME, path,
                                           "org.freedesktop.DBus.Properties", property ? "Get" : "GetAll");
        if (r < 0)
                return r;
        r = property ? sd_bus_message_append(call, "ss", interface, property)
                     : sd_bus_message_append(call, "s", interface);
        if (r < 0) {
                sd_bus_message_unref(call);
                return r;
        }
        *ret = call;
        return 0;
}

int systemd_manager_pid(const SystemdManager *m) {
        int fd = m->link ? bus_link_fd(m->link) : -1;
        struct ucred peer;
        socklen_t len = sizeof(peer);

        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0)
                return -ENOTCONN;
        return peer.pid;
}

void manager_fail(SystemdManager *m, int error) {
        if (m->link)
                bus_link_fail(m->link, error);
}

// ---- units

SystemdUnitWork *manager_work(SystemdManager *m, SystemdUnit *w) {
        SystemdUnitWork *work = w->work;

        if (work)
                return work;
        work = calloc(1, sizeof(*work));
        if (!work) {
                m->unnoted_change = true;
                manager_fail(m, -ENOMEM);
                return NULL;
        }
        work->unit = w;
        list_init(&work->dirty);
        list_init(&work->fetch);
        list_init(&work->suspect);
        w->work = work;
        return work;
}

static void work_free(SystemdUnit *w) {
        SystemdUnitWork *work = TAKE_PTR(w->work);

        if (!work)
                return;
        list_unlink(&work->dirty);
        list_unlink(&work->fetch);
        list_unlink(&work->suspect);
        free(work);
}

void manager_work_done(SystemdUnit *w) {
        const SystemdUnitWork *work = w->work;

        if (work && !work->want && !list_is_linked(&work->dirty) && !list_is_linked(&work->fetch) &&
            !list_is_linked(&work->suspect))
                work_free(w);
}

static void mark_dirty(SystemdManager *m, SystemdUnit *w, bool changed, bool unloaded) {
        SystemdUnitWork *work = manager_work(m, w);

        if (!work)
                return;
        work->changed |= changed;
        work->unloaded |= unloaded;
        if (!list_is_linked(&work->dirty))
                list_append(&m->dirty, &work->dirty);
}

void manager_set_known(SystemdManager *m, SystemdUnit *w) {
        if (w->known)
                return;
        w->known = true;
        mark_dirty(m, w, true, false);
}

void manager_note_change(SystemdManager *m, SystemdUnit *w, bool changed) {
        if (!changed)
                return;
        mark_dirty(m, w, true, false);
        manager_jobs_transition(m, w);
}

// The time of the event, as far as a process can tell that may have been held up itself.
static void note_time(UnitRuntime *rt, const UnitRuntime *before) {
        bool same_run = memcmp(rt->invocation_id, before->invocation_id, sizeof(rt->invocation_id)) == 0;

        if (rt->active != before->active || (!same_run && rt->since_us != before->since_us))
                rt->changed_ms = (uint32_t) (clock_boot_us() / USEC_PER_MSEC) ?: 1;
}

bool manager_apply(SystemdManager *m, SystemdUnit *w, const UnitFacts *facts) {
        UnitFacts kept = *facts;
        UnitRuntime before = w->runtime;
        bool changed;

        if (kept.has & UNIT_FACT_SUB)
                kept.sub = string_interner_get(&m->words, facts->sub);
        if (kept.has & UNIT_FACT_RESULT)
                kept.result = string_interner_get(&m->words, facts->result);
        changed = unit_runtime_apply(&w->runtime, &kept, clock_wall_us());
        note_time(&w->runtime, &before);
        manager_note_change(m, w, changed);
        return changed;
}

void manager_apply_unloaded(SystemdManager *m, SystemdUnit *w) {
        w->pinned = false; // or it would be there
        if (w->runtime.loaded)
                mark_dirty(m, w, false, true);
        manager_note_change(m, w, unit_runtime_unload(&w->runtime, clock_wall_us()));
}

int systemd_manager_watch(SystemdManager *m, SystemdUnit *w, const char *name) {
        int r;

        if (strlen(name) > UNIT_NAME_MAX)
                return -EINVAL;
        if (name_table_find(&m->units, name))
                return -EEXIST;
        *w = (SystemdUnit){.name = name, .checked = m->check_round}; // its turn comes in the next round
        r = name_table_add(&m->units, w);
        if (r < 0) {
                w->name = NULL;
                return r;
        }
        unit_runtime_init(&w->runtime);
        if (m->units.count % SYSTEMD_CHECK_CHUNK == 1)
                manager_hasten_check(m);
        if (m->link)
                manager_want(m, w, WANT_LOADED);
        drain_mark(&m->drain);
        return 0;
}

void systemd_manager_unwatch(SystemdManager *m, SystemdUnit *w) {
        if (!w->name)
                return;
        name_table_take(&m->units, w->name);
        manager_want_no_more(m, w);
        work_free(w);
        w->name = NULL;
}

SystemdUnit *systemd_manager_find(const SystemdManager *m, const char *name) {
        return name_table_find(&m->units, name);
}

SystemdUnit *systemd_manager_next(const SystemdManager *m, size_t *iter) {
        return name_table_next(&m->units, iter);
}

// ---- connection

static int connect_unix(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd, r;

        if (strlen(path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        strcpy(a.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) <
            0) { // at once for unix sockets; EAGAIN: too many are waiting there
                r = -errno;
                close(fd);
                return r;
        }
        return fd;
}

static void on_retry(uv_timer_t *timer);

static void retry_later(SystemdManager *m) {
        uv_timer_start(&m->retry, on_retry, m->retry_ms, 0);
        m->retry_ms = MIN_OF(m->retry_ms * 2, (uint64_t) RETRY_MAX_MS);
}

static void manager_disconnect(SystemdManager *m) {
        bus_link_close(m->link);
        m->link = NULL;
        m->n_sent = m->n_received = 0;
        manager_sync_lost(m);
        manager_check_lost(m);
        manager_jobs_lost(m);
        manager_calls_lost(m);
        manager_stops_lost(m);
        if (m->stopping_suspected) { // gone before it could answer
                m->stopping_suspected = false;
                m->announce_stopping = !m->stopping;
        }
        m->stopping_questions = 0;
        manager_note_stopping_known(m);
        if (m->reloading) { // a re-exec: it reads all files too
                m->reloading = false;
                m->announce_reloaded = true;
        }
}

static void on_broken(int error, void *userdata) {
        SystemdManager *m = userdata;

        log_notice("Lost the connection to systemd: %s. Connecting again.", strerror(-error));
        manager_disconnect(m);
        retry_later(m);
        drain_mark(&m->drain);
        m->ops.disconnected(strerror(-error), m->userdata);
}

static void on_turn(void *userdata) {
        manager_flush(userdata);
}

static void on_link_closed(void *userdata) {
        manager_unref(userdata);
}

// The manager answers: from now on the time until we know everything is ours.
static int on_subscribed(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;

        m->sync_since_us = clock_boot_us();
        manager_received(userdata);
        if (sd_bus_message_is_method_error(reply, NULL))
                manager_fail(m, -sd_bus_message_get_errno(reply));
        return 1;
}

static int subscribe(SystemdManager *m) {
        sd_bus_message *call;
        int r = manager_new_call(m, "Subscribe", &call);

        return r < 0 ? r : manager_send(m, call, on_subscribed, m);
}

static int manager_begin(SystemdManager *m, int fd) {
        static const BusLinkOps ops = {
                .signal = manager_on_signal,
                .turn = on_turn,
                .broken = on_broken,
                .closed = on_link_closed,
        };
        int r = bus_link_new(m->loop, fd, m->message_max, &ops, m, &m->link);
        if (r < 0)
                return r;
        bus_link_set_share(m->link, m->share);
        manager_ref(m);
        m->stats.connects++;
        m->announce_files = true;
        r = subscribe(m);
        if (r < 0)
                manager_fail(m, r);
        manager_sync(m, true);
        manager_ask_stopping(m);
        return 0;
}

static int manager_connect(SystemdManager *m) {
        int fd = m->open_socket ? m->open_socket(m->open_userdata) : connect_unix(m->socket_path);

        return fd < 0 ? fd : manager_begin(m, fd);
}

int systemd_manager_take_socket(SystemdManager *m, int fd) {
        int r;

        if (m->closing != OPEN || !m->opening) {
                close(fd);
                return -EALREADY;
        }
        m->opening = false;
        r = manager_begin(m, fd);
        if (r < 0)
                retry_later(m);
        return r;
}

static void on_retry(uv_timer_t *timer) {
        SystemdManager *m = timer->data;
        int r = manager_connect(m);

        m->opening = r == -EINPROGRESS;
        if (m->opening)
                return;

        if (r < 0) {
                log_write(m->complained ? LOG_DEBUG : LOG_NOTICE, __FILE__, __LINE__, NULL, NULL,
                          "Cannot connect to systemd: %s. Trying again.", strerror(-r));
                m->complained = true;
                retry_later(m);
        } else
                m->complained = false;
}

// ---- the turn of the loop

// Nobody noted what changed, so all of it may have.
static void mark_all_dirty(SystemdManager *m) {
        m->unnoted_change = false;
        manager_foreach_unit(w, m) mark_dirty(m, w, true, true);
}

static void notify_units(SystemdManager *m) {
        ListNode now;

        if (m->unnoted_change)
                mark_all_dirty(m);
        list_init(&now);
        list_splice(&now, &m->dirty);
        while (!list_is_empty(&now) && m->closing == OPEN) {
                SystemdUnitWork *work = CONTAINER_OF(now.next, SystemdUnitWork, dirty);
                SystemdUnit *w = work->unit;
                bool changed = work->changed && w->known, unloaded = work->unloaded && w->known;
                char name[UNIT_NAME_MAX + 1];

                list_unlink(&work->dirty);
                if (work->want && m->link) { // more about it is under way: told once, complete
                        list_append(&m->dirty, &work->dirty);
                        continue;
                }
                work->changed = work->unloaded = false;
                manager_work_done(w);
                strcpy(name, w->name);
                if (changed)
                        m->ops.unit_changed(name, &w->runtime, m->userdata);
                if (unloaded && m->closing == OPEN && systemd_manager_find(m, name))
                        m->ops.unit_unloaded(name, m->userdata);
        }
        if (!list_is_empty(&now)) // closed meanwhile: put them back where unwatching finds a valid list
                list_splice(&m->dirty, &now);
}

// While systemd reloads there is more to come.
static void notify_files(SystemdManager *m) {
        if (!m->announce_files || !m->synced || m->reloading || m->closing != OPEN)
                return;
        m->announce_files = false;
        if (m->ops.files_changed)
                m->ops.files_changed(m->userdata);
}

static void notify_gaps(SystemdManager *m) {
        if (m->announce_stopping && m->closing == OPEN) {
                m->announce_stopping = false;
                m->stopping = true;
                m->ops.stopping(m->userdata);
        }
        if (m->announce_resumed && m->closing == OPEN) {
                m->announce_resumed = m->stopping = false;
                if (m->ops.resumed)
                        m->ops.resumed(m->userdata);
        }
        if (m->announce_stopping_known && m->closing == OPEN) {
                m->announce_stopping_known = false;
                if (m->ops.stopping_known)
                        m->ops.stopping_known(m->userdata);
        }
        if (!m->announce_synced)
                return;
        m->announce_synced = false;
        if (m->announce_reloaded && m->closing == OPEN) {
                m->announce_reloaded = false;
                if (m->ops.reloaded)
                        m->ops.reloaded(m->reload_since_us, m->userdata);
        }
        if (m->closing == OPEN)
                m->ops.synced(m->userdata);
}

static void pump(SystemdManager *m) {
        if (!m->link || m->closing != OPEN)
                return;
        manager_pump_queries(m);
        if (m->synced) {
                manager_pump_jobs(m);
                manager_pump_calls(m);
                manager_pump_stops(m);
                manager_pump_later(m);
        }
        // systemd has work for a while, and what it says about it meanwhile may come together.
        bus_link_allow_rest(m->link, m->n_slots >= SYSTEMD_JOBS_MAX / 2);
}

void manager_flush(SystemdManager *m) {
        if (m->closing != OPEN)
                return;
        manager_check_losses(m);
        manager_pump_queries(m);
        manager_sync_step(m);
        manager_check_step(m);
        notify_units(m);
        notify_gaps(m);
        notify_files(m);
        manager_jobs_settle(m);
        manager_jobs_notify(m);
        manager_calls_notify(m);
        manager_stops_notify(m);
        pump(m);
}

static void on_drain(void *userdata) {
        manager_flush(userdata);
}

static void on_tick(uv_timer_t *timer) {
        SystemdManager *m = timer->data;

        manager_jobs_tick(m, uv_now(m->loop));
        manager_flush(m);
}

void manager_arm_tick(SystemdManager *m, uint64_t deadline_ms) {
        uint64_t now = uv_now(m->loop), delay = deadline_ms > now ? deadline_ms - now : 0;

        if (uv_is_active((uv_handle_t *) &m->tick) && uv_timer_get_due_in(&m->tick) <= delay)
                return;
        uv_timer_start(&m->tick, on_tick, delay, 0);
}

// ---- the object

static void manager_free(SystemdManager *m) {
        manager_foreach_unit(w, m) { // their owners', but not their work
                work_free(w);
                w->name = NULL;
        }
        name_table_done(&m->units);
        string_interner_done(&m->words);
        map_done(&m->jobs_queued);
        fair_queue_done(&m->starts);
        fair_queue_done(&m->stops);
        free(m->socket_path);
        manager_walk_free(m->walk);
        free(m->cgroup_root);
        free(m);
}

void manager_ref(SystemdManager *m) {
        m->n_handles++;
}

void manager_unref(SystemdManager *m) {
        if (--m->n_handles > 0)
                return;
        if (m->closed)
                m->closed(m->closed_userdata);
        manager_free(m);
}

static void on_handle_closed(uv_handle_t *h) {
        manager_unref(h->data);
}

static void on_drain_closed(uv_handle_t *h) {
        manager_unref(CONTAINER_OF(h, SystemdManager, drain.idle));
}

static void init_lists(SystemdManager *m) {
        ListNode *const lists[] = {
                &m->dirty,
                &m->fetch,
                &m->suspects,
                &m->queries,
                &m->jobs_active,
                &m->jobs_finished,
                &m->loads_waiting,
                &m->loads_sent,
                &m->loads_finished,
                &m->reloads_waiting,
                &m->reloads_running,
                &m->reloads_finished,
                &m->inspections_waiting,
                &m->inspections_sent,
                &m->inspections_finished,
                &m->surveys_waiting,
                &m->surveys_sent,
                &m->surveys_finished,
        };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                list_init(lists[i]);
        fair_queue_init(&m->starts, SYSTEMD_UNFINISHED_MAX, SYSTEMD_UNFINISHED_OF_ONE);
        fair_queue_init(&m->stops, SYSTEMD_UNFINISHED_MAX, SYSTEMD_UNFINISHED_OF_ONE);
}

static int init_timer(SystemdManager *m, uv_timer_t *timer) {
        int r = uvx_errno(uv_timer_init(m->loop, timer));

        timer->data = m;
        m->n_handles++;
        return r;
}

static const char *unit_name_of(const void *unit) {
        return ((const SystemdUnit *) unit)->name;
}

int systemd_manager_new(const SystemdConfig *config, const SystemdOps *ops, void *userdata,
                        SystemdManager **ret) {
        uint64_t period_us = config->check_period_us ?: SYSTEMD_CHECK_PERIOD_S * UINT64_C(1000000);
        SystemdManager *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        *m = (SystemdManager){
                .loop = config->loop,
                .socket_path = strdup(config->socket_path ?: "/run/systemd/private"),
                .message_max = config->message_max,
                .open_socket = config->open_socket,
                .open_userdata = config->open_userdata,
                .share = config->share,
                .check_period_us = period_us,
                .check_answer_us = config->check_answer_us
                                           ?: MAX_OF(period_us, SYSTEMD_CHECK_ANSWER_S * UINT64_C(1000000)),
                .ops = *ops,
                .userdata = userdata,
                .retry_ms = RETRY_MIN_MS,
                .units = {.name_of = unit_name_of},
        };
        if (config->cgroup_root)
                m->cgroup_root = strdup(config->cgroup_root);
        if (!m->socket_path || (config->cgroup_root && !m->cgroup_root)) {
                free(m->socket_path);
                free(m);
                return -ENOMEM;
        }
        init_lists(m);
        init_timer(m, &m->retry); // initialising timers and idle handles cannot fail
        init_timer(m, &m->tick);
        init_timer(m, &m->check);
        drain_init(&m->drain, m->loop, on_drain, m);
        m->n_handles++;
        assert(m->n_handles == MANAGER_HANDLES);
        uv_timer_start(&m->retry, on_retry, 0, 0);
        *ret = m;
        return 0;
}

static void on_close(void *userdata) {
        SystemdManager *m = userdata;

        manager_jobs_abandon(m);
        manager_calls_abandon(m);
        manager_stops_abandon(m);
        m->closing = CLOSED;
        drain_close(&m->drain, on_drain_closed);
}

void systemd_manager_close(SystemdManager *m, void (*closed)(void *userdata), void *userdata) {
        assert(m->closing == OPEN);
        m->closing = CLOSING;
        m->closed = closed;
        m->closed_userdata = userdata;
        uv_close((uv_handle_t *) &m->retry, on_handle_closed);
        uv_close((uv_handle_t *) &m->tick, on_handle_closed);
        uv_close((uv_handle_t *) &m->check, on_handle_closed);
        if (m->link)
                manager_disconnect(m);
        m->drain.run = on_close; // the callbacks that are still owed come from the loop
        drain_mark(&m->drain);
}

bool systemd_manager_is_synced(const SystemdManager *m) {
        return m->synced;
}

bool systemd_manager_refresh(SystemdManager *m) {
        if (m->link && !m->syncing)
                manager_sync(m, false);
        return m->link;
}

bool systemd_manager_ask_stopping(SystemdManager *m) {
        if (!m->link)
                return false;
        m->stopping_awaited = true;
        manager_ask_stopping(m);
        return true;
}

bool systemd_manager_catch_up(SystemdManager *m) {
        return m->link && bus_link_catch_up(m->link);
}

bool systemd_manager_is_stopping(const SystemdManager *m) {
        return m->stopping;
}

void systemd_manager_stats(const SystemdManager *m, SystemdStats *ret) {
        *ret = m->stats;
        ret->managers = 1;
        ret->job_slots = m->n_slots;
        ret->job_slots_waiting = m->jobs_queued.count;
}
