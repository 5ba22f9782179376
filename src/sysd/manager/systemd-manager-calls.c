// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Load, reload and inspect. Loading and reloading are idempotent, so they are asked again after a lost
// connection.
//
// Load: ListUnitsByNames of a chunk reads the files of all its units for 0.1 ms each; only for those that
// did not load the reason is asked for (LoadError), which makes systemd read that unit once more.

#include <errno.h>

#include "str.h"
#include "systemd-manager-private.h"

enum { LOAD_CALLS_MAX = 2, INSPECTIONS_MAX = 4 };

static bool is_open(const SystemdManager *m) {
        return m->closing == OPEN;
}

// ---- load

int systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                         void *userdata) {
        ListNode items;

        if (!is_open(m))
                return -ESHUTDOWN;
        list_init(&items);
        for (size_t i = 0; i < n; i++) {
                size_t len = strlen(names[i]);
                LoadItem *item = len <= UNIT_NAME_MAX ? calloc(1, sizeof(*item) + len + 1) : NULL;

                if (!item) {
                        while (!list_is_empty(&items)) {
                                item = CONTAINER_OF(items.next, LoadItem, link);
                                list_unlink(&item->link);
                                free(item);
                        }
                        return len <= UNIT_NAME_MAX ? -ENOMEM : -EINVAL;
                }
                *item = (LoadItem){.manager = m, .each = each, .userdata = userdata};
                memcpy(item->name, names[i], len);
                list_append(&items, &item->link);
        }
        list_splice(&m->loads_waiting, &items);
        drain_mark(&m->drain);
        return 0;
}

static void load_finish(LoadItem *item, Argosy__LoadState load, char *error) {
        item->load = load;
        item->error = error;
        list_unlink(&item->link);
        list_append(&item->manager->loads_finished, &item->link);
}

// LoadError is (name, text). For a file that is not there systemd has no more to say than the state.
static int on_load_error(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        LoadItem *item = userdata;
        const char *name = NULL, *text = NULL;
        char *reason;

        manager_received(item->manager);
        item->manager->n_load_calls--;
        if (!sd_bus_message_is_method_error(reply, NULL))
                (void) sd_bus_message_read(reply, "v", "(ss)", &name, &text);
        if (text && *text)
                reason = strdup(text);
        else if (item->load == ARGOSY__LOAD_STATE__LOAD_MASKED)
                reason = str_printf("Unit %s is masked.", item->name);
        else if (item->load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND)
                reason = str_printf("Unit %s not found.", item->name);
        else
                reason = str_printf("Unit %s could not be loaded.", item->name);
        load_finish(item, item->load, reason);
        return 1;
}

static void ask_reason(LoadItem *item) {
        SystemdManager *m = item->manager;
        sd_bus_message *call;
        int r = manager_new_property_call(m, item->name, SYSTEMD_UNIT, "LoadError", &call);

        if (r >= 0)
                r = manager_send(m, call, on_load_error, item);
        if (r < 0)
                load_finish(item, item->load, NULL);
        else
                m->n_load_calls++;
}

// One chunk under way. Its items are in loads_sent, `n` of them from `first` on.
typedef struct LoadChunk {
        SystemdManager *manager;
        size_t n;
        LoadItem *items[SYSTEMD_CHECK_CHUNK];
} LoadChunk;

static void refuse_chunk(LoadChunk *c, const char *text) {
        for (size_t i = 0; i < c->n; i++)
                load_finish(c->items[i], ARGOSY__LOAD_STATE__LOAD_UNKNOWN, strdup(text));
}

// A row for each name, in their order.
static int take_chunk(LoadChunk *c, sd_bus_message *reply) {
        SystemdManager *m = c->manager;
        UnitRow row;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        for (size_t i = 0; i < c->n && r >= 0; i++) {
                LoadItem *item = c->items[i];
                SystemdUnit *w = systemd_manager_find(m, item->name);

                r = message_read_row(reply, &row);
                if (r == 0)
                        r = -EBADMSG;
                if (r < 0)
                        return r;
                if (w && w->known && streq(row.name, item->name))
                        manager_apply(m, w, &row.facts);
                item->load = row.facts.load;
                if (item->load == ARGOSY__LOAD_STATE__LOAD_LOADED)
                        load_finish(item, item->load, NULL);
                else
                        ask_reason(item);
        }
        return r;
}

static int on_chunk(sd_bus_message *reply, void *userdata, sd_bus_error *ret) {
        LoadChunk *c = userdata;
        SystemdManager *m = c->manager;
        const sd_bus_error *error = sd_bus_message_get_error(reply);

        manager_received(m);
        m->n_load_calls--;
        if (error)
                refuse_chunk(c, error->message ?: error->name);
        else {
                int r = take_chunk(c, reply);

                if (r < 0)
                        manager_fail(m, r); // the rest is asked again on the next connection
        }
        return 1;
}

static int fill_chunk(SystemdManager *m, LoadChunk *c, sd_bus_message **ret) {
        const char *names[SYSTEMD_CHECK_CHUNK];

        list_foreach (n, &m->loads_waiting) {
                if (c->n == SYSTEMD_CHECK_CHUNK)
                        break;
                c->items[c->n] = CONTAINER_OF(n, LoadItem, link);
                names[c->n] = c->items[c->n]->name;
                c->n++;
        }
        return manager_new_list_call(m, names, c->n, ret);
}

static void pump_loads(SystemdManager *m) {
        while (m->n_load_calls < LOAD_CALLS_MAX && !list_is_empty(&m->loads_waiting)) {
                LoadChunk *c = calloc(1, sizeof(*c));
                sd_bus_message *call;
                int r = c ? 0 : -ENOMEM;

                if (r == 0) {
                        c->manager = m;
                        r = fill_chunk(m, c, &call);
                }
                if (r == 0)
                        r = manager_send_owned(m, call, on_chunk, c);
                if (r < 0) {
                        free(c);
                        manager_fail(m, r);
                        return;
                }
                m->n_load_calls++;
                for (size_t i = 0; i < c->n; i++) {
                        list_unlink(&c->items[i]->link);
                        list_append(&m->loads_sent, &c->items[i]->link);
                }
        }
}

static void notify_load(LoadItem *item, Argosy__LoadState load, const char *error) {
        list_unlink(&item->link);
        item->each(item->name, load, error, item->userdata);
        free(item->error);
        free(item);
}

// ---- reload

int systemd_manager_reload(SystemdManager *m, SystemdReloaded done, void *userdata) {
        ReloadWaiter *w;

        if (!is_open(m))
                return -ESHUTDOWN;
        w = malloc(sizeof(*w));
        if (!w)
                return -ENOMEM;
        *w = (ReloadWaiter){.done = done, .userdata = userdata};
        list_append(&m->reloads_waiting, &w->link);
        drain_mark(&m->drain);
        return 0;
}

static void reload_finish(SystemdManager *m, int error) {
        list_foreach (n, &m->reloads_running)
                CONTAINER_OF(n, ReloadWaiter, link)->error = error;
        list_splice(&m->reloads_finished, &m->reloads_running);
        m->reload_replied = false;
}

// Between our call and its reply systemd reloads once for us, and perhaps for others, too.
void manager_note_reload(SystemdManager *m) {
        m->reloads_begun++;
        if (list_is_empty(&m->reloads_running) || m->reload_replied)
                m->announce_files = true;
}

// The reply comes behind Reloading(false), whose sync is under way; `done` waits for its end.
static int on_reload_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        bool refused = sd_bus_message_is_method_error(reply, NULL);

        manager_received(m);
        m->announce_files |= m->reloads_begun > (refused ? 0 : 1);
        if (refused) {
                reload_finish(m, -sd_bus_message_get_errno(reply));
                return 1;
        }
        m->reload_replied = true;
        if (!m->syncing)
                manager_sync(m, false);
        return 1;
}

static void pump_reload(SystemdManager *m) {
        sd_bus_message *call;
        int r;

        if (list_is_empty(&m->reloads_waiting) || !list_is_empty(&m->reloads_running))
                return;
        r = manager_new_call(m, "Reload", &call);
        if (r >= 0)
                r = manager_send(m, call, on_reload_reply, m);
        if (r < 0) {
                manager_fail(m, r);
                return;
        }
        list_splice(&m->reloads_running, &m->reloads_waiting);
        m->reloads_begun = m->reloading;
}

// ---- inspect

static int inspect(SystemdManager *m, const char *name, const Inspection *what) {
        size_t len = strlen(name);
        Inspection *i;

        if (!is_open(m))
                return -ESHUTDOWN;
        if (len > UNIT_NAME_MAX)
                return -EINVAL;
        i = calloc(1, sizeof(*i) + len + 1);
        if (!i)
                return -ENOMEM;
        *i = *what;
        i->manager = m;
        memcpy(i->name, name, len);
        list_append(&m->inspections_waiting, &i->link);
        drain_mark(&m->drain);
        return 0;
}

int systemd_manager_inspect(SystemdManager *m, const char *name, SystemdInspected done, void *userdata) {
        return inspect(m, name, &(Inspection){.done = done, .userdata = userdata});
}

int systemd_manager_control_group(SystemdManager *m, const char *name, SystemdControlGroup done,
                                  void *userdata) {
        return inspect(m, name, &(Inspection){.done_one = done, .userdata = userdata});
}

int systemd_manager_outdated(SystemdManager *m, const char *name, SystemdOutdated done, void *userdata) {
        return inspect(m, name, &(Inspection){.done_outdated = done, .userdata = userdata});
}

// The interface of the unit's type, which alone has its ControlGroup. NULL: it has none.
static const char *control_group_interface(const char *name) {
        static const char *const types[][2] = {{".service", "Service"}, {".socket", "Socket"},
                                               {".mount", "Mount"},     {".swap", "Swap"},
                                               {".slice", "Slice"},     {".scope", "Scope"}};
        static char interface[64];

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (str_has_suffix(name, types[i][0])) {
                        snprintf(interface, sizeof(interface), "%s.%s", SYSTEMD_NAME, types[i][1]);
                        return interface;
                }
        return NULL;
}

static int new_inspection_call(SystemdManager *m, const Inspection *i, sd_bus_message **ret) {
        const char *interface = i->done_one ? control_group_interface(i->name) : "";

        if (i->done_outdated)
                return manager_new_property_call(m, i->name, SYSTEMD_UNIT, "NeedDaemonReload", ret);
        if (!interface)
                return -EOPNOTSUPP;
        return manager_new_property_call(m, i->name, interface, i->done_one ? "ControlGroup" : NULL, ret);
}

static void inspection_finish(Inspection *i, int error, sd_bus_message *reply) {
        i->error = error;
        i->reply = sd_bus_message_ref(reply);
        list_unlink(&i->link);
        list_append(&i->manager->inspections_finished, &i->link);
}

static int on_properties(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Inspection *i = userdata;

        manager_received(i->manager);
        if (sd_bus_message_is_method_error(reply, NULL))
                inspection_finish(i, -sd_bus_message_get_errno(reply), NULL);
        else
                inspection_finish(i, 0, reply);
        return 1;
}

static size_t list_length(const ListNode *head) {
        size_t n = 0;

        list_foreach (node, head)
                n++;
        return n;
}

static void pump_inspections(SystemdManager *m) {
        while (!list_is_empty(&m->inspections_waiting) &&
               list_length(&m->inspections_sent) < INSPECTIONS_MAX) {
                Inspection *i = CONTAINER_OF(m->inspections_waiting.next, Inspection, link);
                sd_bus_message *call;
                int r;

                r = new_inspection_call(m, i, &call);
                if (r >= 0)
                        r = manager_send(m, call, on_properties, i);
                if (r < 0) {
                        inspection_finish(i, r, NULL);
                        drain_mark(&m->drain);
                        continue;
                }
                list_unlink(&i->link);
                list_append(&m->inspections_sent, &i->link);
        }
}

static void notify_control_group(const Inspection *i, int error) {
        const char *path = NULL;

        if (error == 0)
                error = sd_bus_message_read(i->reply, "v", "s", &path);
        i->done_one(MIN_OF(error, 0), error < 0 ? NULL : path, i->userdata);
}

static void notify_outdated(const Inspection *i, int error) {
        int outdated = 0;

        if (error == 0)
                error = sd_bus_message_read(i->reply, "v", "b", &outdated);
        i->done_outdated(error < 0 ? error : outdated, i->userdata);
}

static void notify_inspection(Inspection *i, int error) {
        Argosy__Response__Property **properties = NULL;
        size_t n = 0;

        if (i->done_one || i->done_outdated) {
                list_unlink(&i->link);
                if (i->done_one)
                        notify_control_group(i, error);
                else
                        notify_outdated(i, error);
                sd_bus_message_unref(i->reply);
                free(i);
                return;
        }
        if (error == 0)
                error = properties_format(i->reply, &properties, &n);
        list_unlink(&i->link);
        i->done(error, properties, n, i->userdata);
        properties_free(properties, n);
        sd_bus_message_unref(i->reply);
        free(i);
}

// ---- all of them

void manager_pump_calls(SystemdManager *m) {
        pump_reload(m);
        pump_loads(m);
        pump_inspections(m);
}

void manager_calls_lost(SystemdManager *m) {
        ListNode again;

        list_init(&again);
        list_splice(&again, &m->loads_sent);
        list_splice(&again, &m->loads_waiting);
        list_splice(&m->loads_waiting, &again);
        m->n_load_calls = 0;
        list_splice(&m->reloads_waiting, &m->reloads_running);
        m->reload_replied = false;
        list_foreach_safe (n, &m->inspections_sent)
                inspection_finish(CONTAINER_OF(n, Inspection, link), -ECONNRESET, NULL);
        list_foreach_safe (n, &m->inspections_waiting)
                inspection_finish(CONTAINER_OF(n, Inspection, link), -ECONNRESET, NULL);
}

void manager_calls_synced(SystemdManager *m) {
        if (m->reload_replied)
                reload_finish(m, 0);
}

void manager_calls_notify(SystemdManager *m) {
        while (!list_is_empty(&m->loads_finished) && m->closing == OPEN) {
                LoadItem *item = CONTAINER_OF(m->loads_finished.next, LoadItem, link);

                notify_load(item, item->load, item->error ?: "");
        }
        while (!list_is_empty(&m->reloads_finished) && m->closing == OPEN) {
                ReloadWaiter *w = CONTAINER_OF(m->reloads_finished.next, ReloadWaiter, link);

                list_unlink(&w->link);
                w->done(w->error, w->userdata);
                free(w);
        }
        while (!list_is_empty(&m->inspections_finished) && m->closing == OPEN) {
                Inspection *i = CONTAINER_OF(m->inspections_finished.next, Inspection, link);

                notify_inspection(i, i->error);
        }
}

void manager_calls_abandon(SystemdManager *m) {
        list_splice(&m->loads_finished, &m->loads_waiting);
        list_splice(&m->reloads_finished, &m->reloads_waiting);
        list_splice(&m->inspections_finished, &m->inspections_waiting);
        while (!list_is_empty(&m->loads_finished))
                notify_load(CONTAINER_OF(m->loads_finished.next, LoadItem, link),
                            ARGOSY__LOAD_STATE__LOAD_UNKNOWN, "the connection to systemd was closed");
        while (!list_is_empty(&m->reloads_finished)) {
                ReloadWaiter *w = CONTAINER_OF(m->reloads_finished.next, ReloadWaiter, link);

                list_unlink(&w->link);
                w->done(-ECANCELED, w->userdata);
                free(w);
        }
        while (!list_is_empty(&m->inspections_finished))
                notify_inspection(CONTAINER_OF(m->inspections_finished.next, Inspection, link), -ECANCELED);
}
