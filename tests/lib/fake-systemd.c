// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The connection of a fake systemd, and what tests do with it.
#include "fake-systemd-private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "str.h"


void fake_must(int r) {
        if (r < 0) {
                fprintf(stderr, "fake systemd: %s\n", strerror(-r));
                abort();
        }
}

// ---- the connection

static void on_poll_closed(uv_handle_t *h) {
        FakeSystemd *f = h->data;

        f->n_handles--;
        free(h);
}

static void forget_late(FakeSystemd *f) {
        while (f->n_late > 0)
                sd_bus_message_unref(f->late[--f->n_late]);
}

static void drop(FakeSystemd *f) {
        if (!f->bus)
                return;
        forget_late(f);
        f->serial = 0;
        uv_close((uv_handle_t *) f->poll, on_poll_closed);
        f->poll = NULL;
        f->bus = sd_bus_close_unref(f->bus);
        f->cut = false;
        f->cut_after = -1;
}

static void process(FakeSystemd *f) {
        int r = 1;

        uv_idle_stop(&f->again);
        for (int i = 0; i < 64 && r > 0 && f->bus && !f->stall && !f->cut; i++)
                r = sd_bus_process(f->bus, NULL);
        if (r < 0 || f->cut)
                drop(f);
}

static void on_poll(uv_poll_t *h, int status, int events) {
        process(h->data);
}

static void on_again(uv_idle_t *h) {
        process(h->data);
}

static void on_prepare(uv_prepare_t *h) {
        FakeSystemd *f = h->data;
        uint64_t until;

        if (f->cut)
                drop(f);
        if (!f->bus)
                return;
        int events = sd_bus_get_events(f->bus);
        if (events < 0) {
                drop(f);
                return;
        }
        if (f->stall)
                events = 0;
        uv_poll_start(f->poll, (events & POLLIN ? UV_READABLE : 0) | (events & POLLOUT ? UV_WRITABLE : 0),
                      on_poll);
        if (!f->stall && sd_bus_get_timeout(f->bus, &until) > 0 && until == 0)
                uv_idle_start(&f->again, on_again);
}

// Owns `message`.
void fake_systemd_send(FakeSystemd *f, sd_bus_message *message) {
        if (f->mute && sd_bus_message_is_signal(message, NULL, NULL) <= 0) {
                sd_bus_message_unref(message);
                return;
        }
        if (f->bus && !f->cut)
                fake_must(sd_bus_message_seal(message, ++f->serial, 0));
        if (f->bus && !f->cut && !f->drop && sd_bus_send(f->bus, message, NULL) >= 0 && f->cut_after > 0 &&
            --f->cut_after == 0) {
                sd_bus_flush(f->bus);
                f->cut = true;
        }
        sd_bus_message_unref(message);
}

// xorshift64*
static unsigned chance(FakeSystemd *f, unsigned of) {
        f->fate_seed ^= f->fate_seed >> 12;
        f->fate_seed ^= f->fate_seed << 25;
        f->fate_seed ^= f->fate_seed >> 27;
        return (unsigned) (f->fate_seed * UINT64_C(2685821657736338717) >> 33) % of;
}

static void send_late(FakeSystemd *f) {
        size_t i = chance(f, (unsigned) f->n_late);
        sd_bus_message *message = f->late[i];

        f->late[i] = f->late[--f->n_late];
        fake_systemd_send(f, message);
}

// A signal of a unit. Owns `message`.
void fake_systemd_notify(FakeSystemd *f, sd_bus_message *message) {
        if (f->fate_seed == 0) {
                fake_systemd_send(f, message);
                return;
        }
        if (chance(f, 100) < f->fate.lost) {
                sd_bus_message_unref(message);
        } else if (chance(f, 100) < f->fate.late) {
                if (f->n_late == sizeof(f->late) / sizeof(*f->late))
                        send_late(f);
                f->late[f->n_late++] = message;
        } else {
                fake_systemd_send(f, message);
        }
        if (f->n_late > 0 && chance(f, 4) == 0)
                send_late(f);
}

// ---- what the test does

int fake_systemd_open(void *fake) {
        FakeSystemd *f = fake;
        sd_id128_t id = {.bytes = {1}};
        int fds[2];

        if (f->refuse)
                return -ECONNREFUSED;
        drop(f);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        fake_must(sd_bus_new(&f->bus));
        fake_must(sd_bus_set_fd(f->bus, fds[1], fds[1]));
        fake_must(sd_bus_set_server(f->bus, true, id));
        fake_must(sd_bus_set_trusted(f->bus, true));
        fake_must(sd_bus_add_filter(f->bus, NULL, fake_on_message, f));
        fake_must(sd_bus_start(f->bus));
        f->poll = calloc(1, sizeof(*f->poll));
        if (!f->poll)
                abort();
        fake_must(uv_poll_init(f->loop, f->poll, fds[1]));
        f->poll->data = f;
        uv_unref((uv_handle_t *) f->poll);
        f->n_handles++;
        return fds[0];
}

FakeSystemd *fake_systemd_new(uv_loop_t *loop, const char *dir) {
        FakeSystemd *f = calloc(1, sizeof(*f));

        if (!f)
                abort();
        f->dir = dir ? strdup(dir) : NULL;
        f->cut_after = -1;
        list_init(&f->waiting);
        if (loop)
                fake_systemd_move(f, loop);
        return f;
}

void fake_systemd_abandon(FakeSystemd *f) {
        forget_late(f);
        f->bus = NULL;
        f->poll = NULL;
        f->serial = 0;
        f->cut = false;
        f->cut_after = -1;
}

void fake_systemd_move(FakeSystemd *f, uv_loop_t *loop) {
        fake_systemd_abandon(f);
        f->loop = loop;
        uv_prepare_init(loop, &f->prepare);
        uv_idle_init(loop, &f->again);
        f->prepare.data = f->again.data = f;
        f->n_handles = 2;
        uv_prepare_start(&f->prepare, on_prepare);
        uv_unref((uv_handle_t *) &f->prepare);
        uv_unref((uv_handle_t *) &f->again);
}

void fake_systemd_on(FakeSystemd *f, FakeBehaviour (*judge)(const char *name, void *userdata),
                     void (*changed)(const char *name, const char *was, const char *is, void *userdata),
                     void *userdata) {
        f->judge = judge;
        f->changed = changed;
        f->on_data = userdata;
}

static void on_handle_closed(uv_handle_t *h) {
        FakeSystemd *f = h->data;

        f->n_handles--;
}

void fake_systemd_free(FakeSystemd *f) {
        drop(f);
        uv_close((uv_handle_t *) &f->prepare, on_handle_closed);
        uv_close((uv_handle_t *) &f->again, on_handle_closed);
        while (f->n_handles > 0)
                uv_run(f->loop, UV_RUN_NOWAIT);
        map_done_with(&f->units, free);
        map_done_with(&f->counts, free);
        free(f->dir);
        free(f->cgroups);
        free(f);
}

void fake_systemd_behave(FakeSystemd *f, const char *name, FakeBehaviour behaviour) {
        fake_unit_get(f, name)->behaviour = behaviour;
}

void fake_systemd_add(FakeSystemd *f, const char *name, FakeBehaviour behaviour) {
        fake_systemd_behave(f, name, behaviour);
        fake_unit_get(f, name)->exists = true;
}

void fake_systemd_list(FakeSystemd *f, const char *name, const char *property, const char *names) {
        FakeUnit *u = fake_unit_get(f, name);
        size_t i = 0;

        while (i < ELEMENTSOF(u->lists) && *u->lists[i].property)
                i++;
        assert(i < ELEMENTSOF(u->lists));
        snprintf(u->lists[i].property, sizeof(u->lists[i].property), "%s", property);
        snprintf(u->lists[i].names, sizeof(u->lists[i].names), "%s", names);
}

void fake_systemd_pin(FakeSystemd *f, const char *name, bool pinned) {
        FakeUnit *u = fake_unit_get(f, name);

        u->pinned = pinned;
        if (pinned)
                fake_unit_load(f, u);
        else
                fake_unit_collect(f, u);
}

void fake_systemd_set(FakeSystemd *f, const char *name, const char *active, const char *sub,
                      const char *result) {
        FakeUnit *u = fake_unit_get(f, name);

        fake_unit_load(f, u);
        fake_unit_change(f, u, active, sub, result);
        fake_unit_collect(f, u);
}

void fake_systemd_restart(FakeSystemd *f, const char *name, const char *result, bool told) {
        FakeUnit *u = fake_unit_get(f, name);
        bool busy = f->busy;

        f->busy = busy || !told; // what has not left is told as it is in the end
        fake_unit_change(f, u, "activating", "auto-restart", result);
        u->n_restarts++;
        fake_unit_change(f, u, "active", "running", "success");
        f->busy = busy;
        if (!told && !busy)
                fake_systemd_busy(f, false);
}

void fake_systemd_stop(FakeSystemd *f, const char *name) {
        FakeUnit *u = fake_unit_get(f, name);

        u->job = ++f->last_job;
        f->n_jobs++;
        snprintf(u->job_type, sizeof(u->job_type), "stop");
        fake_emit_job(f, u->job, name, "JobNew", NULL);
        fake_unit_run_job(f, u);
}

const char *fake_systemd_active(FakeSystemd *f, const char *name) {
        const FakeUnit *u = fake_unit_get(f, name);

        return u->loaded ? u->active : NULL;
}

FakeState fake_systemd_state(FakeSystemd *f, const char *name) {
        const FakeUnit *u = fake_unit_get(f, name);

        return (FakeState){u->loaded, u->active, u->sub, u->result, u->invocation};
}

bool fake_systemd_is_current(FakeSystemd *f, const char *name) {
        return fake_unit_get(f, name)->file == fake_unit_file(f, name);
}

bool fake_systemd_has_job(FakeSystemd *f, const char *name) {
        return fake_unit_get(f, name)->job > 0;
}

void fake_systemd_lose_signals(FakeSystemd *f, bool lose) {
        f->lose = lose;
}

void fake_systemd_drop(FakeSystemd *f, bool drop) {
        f->drop = drop;
}

void fake_systemd_busy(FakeSystemd *f, bool busy) {
        f->busy = busy;
        while (!busy && !list_is_empty(&f->waiting))
                fake_emit_waiting(f, CONTAINER_OF(f->waiting.next, FakeUnit, waiting));
}

void fake_systemd_fate(FakeSystemd *f, uint64_t seed, FakeFate fate) {
        while (f->n_late > 0)
                send_late(f);
        f->fate_seed = seed;
        f->fate = fate;
}

void fake_systemd_cgroups(FakeSystemd *f, const char *root) {
        f->cgroups = strdup(root);
}

void fake_systemd_only_jobs(FakeSystemd *f, bool only) {
        f->only_jobs = only;
}

void fake_systemd_job_first(FakeSystemd *f, bool first) {
        f->job_first = first;
}

void fake_systemd_end_before_reply(FakeSystemd *f, bool early) {
        f->early = early;
}

void fake_systemd_mute(FakeSystemd *f, bool mute) {
        f->mute = mute;
}

void fake_systemd_stall(FakeSystemd *f, bool stall) {
        f->stall = stall;
}

void fake_systemd_cut(FakeSystemd *f) {
        drop(f);
}

void fake_systemd_send_long(FakeSystemd *f, size_t bytes) {
        sd_bus_message *m = fake_signal_new(f, PATH, NAME ".Manager", "Long");
        char *text;

        if (!m)
                return;
        fake_must(sd_bus_message_append_string_space(m, bytes, &text));
        memset(text, 'x', bytes);
        fake_systemd_notify(f, m);
}

void fake_systemd_cut_after(FakeSystemd *f, int n_messages) {
        f->cut_after = n_messages;
}

void fake_systemd_complain_long(FakeSystemd *f, size_t bytes) {
        f->complaint_bytes = bytes;
}

void fake_systemd_refuse(FakeSystemd *f, bool refuse) {
        f->refuse = refuse;
}

static void emit_all(FakeSystemd *f, const char *member) {
        map_foreach (slot, &f->units) {
                FakeUnit *u = slot->value;

                if (u->loaded && streq(member, "UnitNew"))
                        fake_emit_new(f, u);
                else if (u->loaded)
                        fake_emit_removed(f, u);
        }
}

void fake_systemd_reload_begin(FakeSystemd *f) {
        fake_emit_reloading(f, true);
        emit_all(f, "UnitRemoved");
}

void fake_systemd_reload_end(FakeSystemd *f) {
        map_foreach (slot, &f->units) {
                FakeUnit *u = slot->value;

                if (u->loaded)
                        fake_unit_read(f, u);
                else
                        u->file = fake_unit_file(f, u->name);
        }
        emit_all(f, "UnitNew");
        fake_emit_reloading(f, false);
}

void fake_systemd_files_changed(FakeSystemd *f) {
        sd_bus_message *m = fake_signal_new(f, PATH, NAME ".Manager", "UnitFilesChanged");

        if (m)
                fake_systemd_send(f, m);
}

void fake_systemd_reexec(FakeSystemd *f) {
        fake_systemd_reload_begin(f);
        if (f->bus)
                sd_bus_flush(f->bus);
        drop(f);
}

void fake_systemd_shutdown(FakeSystemd *f) {
        f->stopping = true;
        fake_emit_job(f, ++f->last_job, "shutdown.target", "JobNew", NULL);
}

void fake_systemd_cancel_shutdown(FakeSystemd *f) {
        f->stopping = false;
        fake_emit_job(f, f->last_job, "shutdown.target", "JobRemoved", "canceled");
}

unsigned fake_systemd_calls(FakeSystemd *f, const char *member) {
        const Count *c = map_find_str(&f->counts, member);

        return c ? c->n : 0;
}

unsigned fake_systemd_jobs_peak(FakeSystemd *f) {
        return f->jobs_peak;
}
