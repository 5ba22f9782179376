// SPDX-License-Identifier: LGPL-2.1-or-later
//
// update, and restart --rolling: new content, or a restart, a few units at a time; and the same of an undo
// and of an apply, which the leader makes a rollout of.
//
// Two requests for each name, as for other changes: the rollout goes into the log, then its end is waited
// for. Both may be repeated.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "ctl.h"
#include "file-warnings.h"
#include "message-of.h"
#include "rollouts.h"
#include "terminal.h"
#include "unit-args.h"
#include "verbs.h"
#include "wait-loop.h"

// Agents tell about a unit that has changed often just before once a second only (report-pace.h): a failure
// right after the start is known within this time all the same.
enum { HEALTH_DEFAULT_US = 2000000 };

typedef struct Rollout {
        const char *verb, *name;
        // only those are restarted that have an older version of it; NULL: all
        char *secret;
        uint64_t revision;             // 0: there is nothing to wait for
        uint64_t job;                  // that has begun it; 0: none
        uint32_t most, left;           // units that are still to be changed: the most seen, and now
        bool failed;                   // there is nothing to change, and not all is well
        bool back;                     // it goes back
        char reason[WAIT_MESSAGE_MAX]; // and why
        char *own_name;                // that the answer has said; NULL: it was known
} Rollout;

static int on_begun(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rollout *o = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        o->job = r->job;
        for (size_t i = 0; i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];

                o->revision = u->revision;
                o->failed |= u->status != 0;
                if (u->status != 0)
                        ctl_fail(ctl, "%s %s: %s", o->verb, u->name, status_text(u->status, u->message));
                else if (*u->message)
                        ctl_warn(ctl, "%s: %s", u->name, u->message);
        }
        return 0;
}

bool rollouts_wanted(const Ctl *ctl) {
        return ctl->opt.given[OPT_ROLLING] || ctl->opt.given[OPT_MAX_UNAVAILABLE] ||
               ctl->opt.given[OPT_HEALTH];
}

uint64_t rollouts_health_us(const Ctl *ctl) {
        return ctl->opt.given[OPT_HEALTH] ? ctl->opt.health_us : HEALTH_DEFAULT_US;
}

static int begin(Ctl *ctl, Rollout *o, Argosy__RolloutKind kind, const UnitArgsFile *file) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request request = REQUEST_OF(ROLLOUT, rollout, &m);
        Argosy__NamedFile sent = ARGOSY__NAMED_FILE__INIT;
        uint8_t id[REQUEST_ID_SIZE];

        ctl_request_id(ctl, id);
        if (file) {
                sent.name = file->name;
                sent.path = file->path;
                sent.content = (ProtobufCBinaryData){.data = file->content.data, .len = file->content.len};
                sent.files = file->carried.list;
                sent.n_files = file->carried.n;
                m.file = &sent;
        }
        m.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        m.kind = kind;
        m.name = (char *) o->name;
        m.max_unavailable = ctl->opt.max_unavailable.value;
        m.percent = ctl->opt.max_unavailable.percent;
        m.health_us = rollouts_health_us(ctl);
        m.pull = ctl->opt.given[OPT_PULL];
        m.unpinned = ctl->opt.given[OPT_UNPINNED];
        m.abort = ctl->opt.given[OPT_ABORT];
        if (o->secret)
                m.secret = o->secret;
        return ctl_ask(ctl, &request, 0, on_begun, o);
}

static void goes_back(Ctl *ctl, Rollout *o, const char *reason) {
        ctl_warn(ctl, "%s goes back to the file of before: %s", o->name, reason);
        snprintf(o->reason, sizeof(o->reason), "%s", reason);
        o->back = true;
        o->most = 0;
}

static int rollout_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rollout *o = userdata;

        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS)
                return 0;
        if (*r->message && !o->back)
                goes_back(ctl, o, r->message);
        o->left = r->progress->remaining;
        o->most = MAX_OF(o->most, o->left);
        return WAIT_NEWS;
}

static void rollout_count(const void *userdata, ProgressState *ret) {
        const Rollout *o = userdata;

        *ret = (ProgressState){.verb = o->verb, .done = o->most - o->left, .total = o->most};
}

static WaitStep rollout_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        return end->error == 0 && end->status == 0 ? WAIT_FINISHED : wait_end_step(end);
}

static const char *goes_on(const WaitEnd *end) {
        return wait_end_is_open(end) ? "goes on" : "may go on, or have ended";
}

static int rollout_detach(const WaitEnd *end, const void *userdata, Buf *text) {
        const Rollout *o = userdata;

        if (o->job > 0)
                return buf_printf(text,
                                  "%s of %s %s (see argosyctl job wait %" PRIu64 "; update --abort ends it)",
                                  o->verb, o->name, goes_on(end), o->job);
        return buf_printf(text, "%s of %s %s (see argosyctl list-unit-files; update --abort ends it)",
                          o->verb, o->name, goes_on(end));
}

// The final message without the reason, if that was told when it turned back.
static const char *news(const Rollout *o, const char *message) {
        size_t len = strlen(o->reason);

        if (len == 0 || strncmp(message, o->reason, len) != 0 || strncmp(message + len, "; ", 2) != 0)
                return message;
        return message + len + 2;
}

static int rollout_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Rollout *o = userdata;

        if (end->error == 0 && !end->no_leader)
                return ctl_fail(ctl, "%s %s: %s", o->verb, o->name, news(o, end->message));
        return ctl_fail(ctl, "%s: %s; it %s (see argosyctl list-unit-files)", o->name,
                        wait_loop_reason(ctl, end), goes_on(end));
}

static const WaitKind rollout_wait = {
        .flags = CALL_NOTE,
        .take = rollout_take,
        .count = rollout_count,
        .judge = rollout_judge,
        .detach = rollout_detach,
        .leave = rollout_leave,
};

static int wait_for_end(Ctl *ctl, Rollout *o) {
        Argosy__Request__RolloutWait wait =
                MESSAGE_OF(request__rollout_wait, .name = (char *) o->name, .revision = o->revision);
        Argosy__Request request = REQUEST_OF(ROLLOUT_WAIT, rollout_wait, &wait);

        return wait_loop_run(ctl, &rollout_wait, &request, o);
}

static int roll_one(Ctl *ctl, Rollout *o, Argosy__RolloutKind kind, const UnitArgs *a) {
        _cleanup_free_ const UnitArgsFile **files = NULL;
        char *name = (char *) o->name;
        size_t n_files = 0;
        int code;

        if (kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE && !ctl->opt.given[OPT_ABORT] &&
            unit_args_files_of(a, &name, 1, &files, &n_files) < 0)
                return ctl_oom(ctl);
        code = begin(ctl, o, kind, n_files ? files[0] : NULL);
        if (code == EXIT_OK && o->failed)
                return EXIT_FAILED;
        if (code != EXIT_OK || ctl->opt.given[OPT_NO_BLOCK] || ctl->opt.given[OPT_ABORT] || !o->revision)
                return code;
        code = wait_for_end(ctl, o);
        if (code == EXIT_OK && ctl->opt.given[OPT_VERBOSE])
                ctl_say(ctl, "%s: %s", o->name,
                        kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ? "updated" : "restarted");
        return code;
}

static int run(Ctl *ctl, Argosy__RolloutKind kind, char *secret, char **args, size_t n) {
        bool update = kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        _cleanup_unit_args_ UnitArgs a = {};
        FileWarnings *warnings;
        int code = EXIT_OK;

        for (size_t i = 0; i < n; i++) {
                _cleanup_buf_ Buf why = {};
                int r;

                if (unit_arg_is_glob(args[i]))
                        return ctl_usage(ctl, "'%s': name the template instead, for example web@.service",
                                        args[i]);
                r = unit_args_add(&a, args[i], update ? UNIT_ARGS_READ_FILES : 0, AT_FDCWD, &why);
                if (r < 0)
                        return ctl_bad_word(ctl, r, &why);
        }
        ctl_tell_taken(ctl, &a);
        warnings = file_warnings_begin_args(ctl, &a);
        ctl_catch_interrupt(ctl);
        for (size_t i = 0; i < a.n_names && (code == EXIT_OK || code == CTL_HELD); i++) {
                Rollout o = {.name = a.names[i], .verb = update ? "update" : "restart", .secret = secret};

                code = roll_one(ctl, &o, kind, &a);
        }
        file_warnings_end(ctl, warnings);
        return code;
}

int rollouts_run(Ctl *ctl, Argosy__RolloutKind kind, char **args, size_t n) {
        return run(ctl, kind, NULL, args, n);
}

int rollouts_restart_for_secret(Ctl *ctl, char *secret, char **args, size_t n) {
        return run(ctl, ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, secret, args, n);
}

// What gets another file, the leader says.
static int on_named(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rollout *o = userdata;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && r->change->n_units == 1 && !o->own_name) {
                o->own_name = strdup(r->change->units[0]->name);
                if (!o->own_name)
                        return -ENOMEM;
                o->name = o->own_name;
        }
        return on_begun(ctl, r, userdata);
}

int rollouts_ask(Ctl *ctl, Argosy__Request *request, const char *verb, const char *past) {
        Rollout o = {.name = "", .verb = verb};
        int code;

        ctl_catch_interrupt(ctl);
        code = ctl_ask(ctl, request, 0, on_named, &o);
        if (code == EXIT_OK && o.own_name && o.revision && !ctl->opt.given[OPT_NO_BLOCK]) {
                code = wait_for_end(ctl, &o);
                if (code == EXIT_OK && ctl->opt.given[OPT_VERBOSE])
                        ctl_say(ctl, "%s: %s", o.name, past);
        }
        free(o.own_name);
        return code;
}

int verb_update(Ctl *ctl, char **args, size_t n) {
        return rollouts_run(ctl, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, args, n);
}
