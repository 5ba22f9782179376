// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which managers of users and containers are served beside the system's: those of Managers= and those that
// were attached at run time, whose names a small file keeps, synced before the request is answered. At the
// start what cannot be attached is logged and the others go on; at a request the answer says what is wrong.
//
// Detaching takes until the units there have gone. The file is without it before that begins, or nothing
// does: after a start in between the agent goes on with what nobody names any more. The request waits for
// the end; it goes on if the client disconnects. What the configuration names again meanwhile is attached
// when that is over.

#include "managers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent.h"
#include "daemon.h"
#include "error-response.h"
#include "fileio.h"
#include "log.h"
#include "manager-name.h"
#include "message-of.h"
#include "paths.h"
#include "str.h"

enum { MANAGERS_FILE_MAX = MANAGERS_PER_HOST * (MANAGER_NAME_MAX + 1) };

typedef void (*Done)(const Argosy__Response *response, void *userdata);

typedef struct Detaching { // userdata of agent_manager_detach(), until it is done
        Done done; // NULL: nobody listens any more
        void *userdata;
        ListNode link; // in Daemon.detaching
} Detaching;

static void respond(Done done, void *userdata, int error, const char *format, ...) _printf_(4, 5);
static void respond(Done done, void *userdata, int error, const char *format, ...) {
        Argosy__Response response;
        char text[512];
        va_list ap;

        va_start(ap, format);
        str_vfit(text, sizeof(text), format, ap);
        va_end(ap);
        response = error_response(-error, text);
        done(&response, userdata);
}

static bool is_configured(const Daemon *d, const char *manager) {
        for (size_t i = 0; i < d->config.n_managers; i++)
                if (streq(d->config.managers[i], manager))
                        return true;
        return false;
}

// ---- those that were attached at run time

static char *file_path(const Daemon *d) {
        return str_printf("%s/managers", d->paths->state_dir);
}

static int read_file(const Daemon *d, Buf *ret) {
        _cleanup_free_ char *path = file_path(d);
        int r = path ? file_read(AT_FDCWD, path, MANAGERS_FILE_MAX, ret) : -ENOMEM;

        if (r == -ENOENT)
                r = 0;
        return r < 0 ? r : buf_append(ret, "", 1); // lines as one string
}

// The file with that line or without it, synced.
static int keep(const Daemon *d, const char *manager, bool attached) {
        _cleanup_free_ char *path = file_path(d);
        _cleanup_buf_ Buf before = {}, now = {};
        char *save = NULL;
        int r = path ? read_file(d, &before) : -ENOMEM;

        if (r < 0)
                return r;
        for (char *line = strtok_r((char *) before.data, "\n", &save); r >= 0 && line;
             line = strtok_r(NULL, "\n", &save))
                if (!streq(line, manager))
                        r = buf_printf(&now, "%s\n", line);
        if (r >= 0 && attached)
                r = buf_printf(&now, "%s\n", manager);
        return r < 0 ? r : file_replace(AT_FDCWD, path, now.data, now.len, 0600, FILE_SYNC);
}

static void attach_or_complain(Daemon *d, const char *manager) {
        _cleanup_free_ char *why = NULL;
        int r = agent_manager_attach(d->agent, manager, 0, &why);

        if (r < 0 && r != -EEXIST)
                log_error("Cannot attach %s: %s", manager, why ?: strerror(-r));
}

void managers_open(Daemon *d) {
        _cleanup_buf_ Buf lines = {};
        char *save = NULL;
        int r;

        if (d->paths->user)
                return;
        for (size_t i = 0; i < d->config.n_managers; i++)
                attach_or_complain(d, d->config.managers[i]);
        r = read_file(d, &lines);
        if (r < 0) { // which of them are to be let go cannot be told
                log_error("Cannot read %s/managers: %s", d->paths->state_dir, strerror(-r));
                return;
        }
        for (char *line = strtok_r((char *) lines.data, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
                attach_or_complain(d, line);
        agent_managers_let_go(d->agent);
}

static bool is_kept(const Daemon *d, const char *manager) {
        _cleanup_buf_ Buf lines = {};
        char *save = NULL;

        if (read_file(d, &lines) < 0)
                return false;
        for (char *line = strtok_r((char *) lines.data, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
                if (streq(line, manager))
                        return true;
        return false;
}

void managers_on_config(Daemon *d, char *const *before, size_t n_before) {
        if (d->paths->user)
                return;
        for (size_t i = 0; i < n_before; i++)
                if (!is_configured(d, before[i]) && !is_kept(d, before[i]))
                        (void) agent_manager_detach(d->agent, before[i], false, NULL, NULL);
        for (size_t i = 0; i < d->config.n_managers; i++)
                attach_or_complain(d, d->config.managers[i]);
}

void managers_on_gone(Daemon *d, const char *manager) {
        if (is_configured(d, manager))
                attach_or_complain(d, manager);
}

// ---- requests

static void attach(Daemon *d, const Argosy__Request__ManagerAttach *q, Done done, void *userdata) {
        _cleanup_free_ char *why = NULL;
        int r = agent_manager_attach(d->agent, q->manager, (pid_t) MIN_OF(q->leader, (uint32_t) INT32_MAX),
                                     &why);

        // A pid means nothing after a reboot, so what was attached by one is not kept.
        if (r >= 0 && q->leader == 0 && !is_configured(d, q->manager)) {
                r = keep(d, q->manager, true);
                if (r < 0) {
                        (void) agent_manager_detach(d->agent, q->manager, false, NULL, NULL);
                        respond(done, userdata, r, "cannot write %s/managers: %s", d->paths->state_dir,
                                strerror(-r));
                        return;
                }
        }
        respond(done, userdata, r < 0 ? r : 0, "%s", r < 0 ? why ?: strerror(-r) : "");
}

static void on_detached(int error, void *userdata) {
        Detaching *t = userdata;

        list_unlink(&t->link);
        if (t->done)
                respond(t->done, t->userdata, error, "%s",
                        error == -ECANCELED ? "somebody else has asked for the same"
                        : error < 0         ? strerror(-error)
                                            : "");
        free(t);
}

// What was kept is kept on where the agent does not let it go.
static int let_go(Daemon *d, const Argosy__Request__ManagerDetach *q, bool was_kept, Done done,
                  void *userdata) {
        Detaching *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return -ENOMEM;
        *t = (Detaching){.done = done, .userdata = userdata};
        list_append(&d->detaching, &t->link);
        r = agent_manager_detach(d->agent, q->manager, q->force, on_detached, t);
        if (r >= 0)
                return 0;
        list_unlink(&t->link);
        free(t);
        if (r != -ENOENT && was_kept)
                (void) keep(d, q->manager, true);
        return r;
}

static void detach(Daemon *d, const Argosy__Request__ManagerDetach *q, Done done, void *userdata) {
        bool was_kept = is_kept(d, q->manager);
        int r;

        if (is_configured(d, q->manager)) {
                respond(done, userdata, -EBUSY,
                        "%s is in Managers= of argosy.conf: take it out there and run `systemctl reload "
                        "argosyd`",
                        q->manager);
                return;
        }
        r = was_kept ? keep(d, q->manager, false) : 0;
        if (r < 0) {
                respond(done, userdata, r, "cannot write %s/managers: %s", d->paths->state_dir,
                        strerror(-r));
                return;
        }
        r = let_go(d, q, was_kept, done, userdata);
        if (r == -ENOENT && was_kept) // it could not be attached
                respond(done, userdata, 0, "%s", "");
        else if (r < 0)
                respond(done, userdata, r,
                        r == -ENOENT   ? "%s is not attached"
                        : r == -EINVAL ? "%s is what argosyd itself is there for"
                        : r == -ENOMEM ? "%s is not detached: out of memory"
                                       : "that %s is let go by force cannot be kept: there is no room in "
                                         "/run/argosy",
                        q->manager);
}

static void fill_row(const Daemon *d, const AgentManagerInfo *m, Argosy__Response__ManagerRow *row) {
        argosy__response__manager_row__init(row);
        row->manager = (char *) m->manager;
        row->node = manager_node_name(d->config.name, m->manager) ?: (char *) protobuf_c_empty_string;
        row->state = (char *) m->state;
        row->reason = (char *) (m->reason ?: "");
        row->units = (uint32_t) m->n_units;
        row->origin = streq(m->manager, "system")    ? "host"
                      : is_configured(d, m->manager) ? "argosy.conf"
                                                     : "attached";
}

static void list(Daemon *d, Done done, void *userdata) {
        AgentManagerInfo infos[MANAGERS_PER_HOST];
        Argosy__Response__ManagerRow rows[MANAGERS_PER_HOST], *pointers[MANAGERS_PER_HOST];
        Argosy__Response__Managers managers = ARGOSY__RESPONSE__MANAGERS__INIT;
        Argosy__Response response = RESPONSE_OF(MANAGERS, managers, &managers);
        size_t n = agent_managers(d->agent, infos, MANAGERS_PER_HOST);

        n = MIN_OF(n, (size_t) MANAGERS_PER_HOST);
        for (size_t i = 0; i < n; i++) {
                fill_row(d, &infos[i], &rows[i]);
                pointers[i] = &rows[i];
        }
        managers.rows = pointers;
        managers.n_rows = n;
        response.final = true;
        done(&response, userdata);
        for (size_t i = 0; i < n; i++)
                if (rows[i].node != (char *) protobuf_c_empty_string)
                        free(rows[i].node);
}

void managers_request(Daemon *d, const Argosy__Request *q, Done done, void *userdata) {
        if (d->paths->user && q->what_case != ARGOSY__REQUEST__WHAT_MANAGER_LIST) {
                respond(done, userdata, -EPERM, "a user's argosyd serves that user's systemd only");
                return;
        }
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_MANAGER_ATTACH:
                attach(d, q->manager_attach, done, userdata);
                return;
        case ARGOSY__REQUEST__WHAT_MANAGER_DETACH:
                detach(d, q->manager_detach, done, userdata);
                return;
        default:
                list(d, done, userdata);
        }
}

void managers_abandon(Daemon *d, void *userdata) {
        list_foreach (n, &d->detaching) {
                Detaching *t = CONTAINER_OF(n, Detaching, link);

                if (t->userdata == userdata)
                        t->done = NULL;
        }
}
