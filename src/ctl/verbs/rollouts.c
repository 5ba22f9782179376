// SPDX-License-Identifier: LGPL-2.1-or-later
//
// update, and restart --rolling: new content, or a restart, a few units at a time.
//
// Two requests for each name, as for other changes: the rollout goes into the log, then its end is waited
// for. Both may be repeated. Ctrl-C ends only our waiting.

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>

#include "clock.h"
#include "ctl.h"
#include "rollouts.h"
#include "terminal.h"
#include "unit-args.h"
#include "verbs.h"

// Agents tell about a unit that has changed often just before once a second only (report-pace.h): a failure
// right after the start is known within this time all the same.
enum { HEALTH_DEFAULT_US = 2000000 };

typedef struct Rollout {
        const char *name;
        Progress progress;
        uint64_t revision;   // 0: there is nothing to wait for
        uint32_t most, left; // units that are still to be changed: the most seen, and now
        bool told, back;     // something was said; it goes back
        int status;          // of the final response
        bool no_leader;
        char message[512], reason[512]; // of the final response; why it goes back
} Rollout;

static int on_begun(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rollout *o = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        for (size_t i = 0; i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];

                o->revision = u->revision;
                if (*u->message)
                        ctl_warn(ctl, "%s: %s", u->name, u->message);
        }
        return 0;
}

static int begin(Ctl *ctl, Rollout *o, Argosy__RolloutKind kind, const UnitArgsFile *file) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__NamedFile sent = ARGOSY__NAMED_FILE__INIT;
        uint8_t id[16];

        if (getrandom(id, sizeof(id), 0) != sizeof(id))
                return ctl_fail(ctl, "no random numbers: %s", strerror(errno));
        if (file) {
                sent.name = file->name;
                sent.path = file->path;
                sent.content = (ProtobufCBinaryData){.data = file->content.data, .len = file->content.len};
                m.file = &sent;
        }
        m.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        m.kind = kind;
        m.name = (char *) o->name;
        m.max_unavailable = ctl->opt.max_unavailable.value;
        m.percent = ctl->opt.max_unavailable.percent;
        m.health_us = ctl->opt.given & OPT_HEALTH ? ctl->opt.health_us : HEALTH_DEFAULT_US;
        m.abort = (ctl->opt.given & OPT_ABORT) != 0; // too great for its type
        request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        request.rollout = &m;
        return ctl_ask(ctl, &request, 0, on_begun, o);
}

static int on_progress(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rollout *o = userdata;

        if (r && r->status != 0) {
                o->status = r->status;
                o->no_leader = r->no_leader;
                snprintf(o->message, sizeof(o->message), "%s", status_text(r->status, r->message));
                return 0;
        }
        if (r && r->what_case == ARGOSY__RESPONSE__WHAT_PROGRESS) {
                o->told = true;
                if (*r->message && !o->back) {
                        progress_clear(&ctl->term, &o->progress);
                        ctl_warn(ctl, "%s goes back to the file of before: %s", o->name, r->message);
                        snprintf(o->reason, sizeof(o->reason), "%s", r->message);
                        o->back = true;
                        o->most = 0;
                }
                o->left = r->progress->remaining;
                o->most = MAX_OF(o->most, o->left);
        }
        if (o->most > 0)
                progress_draw(&ctl->term, &o->progress, o->most - o->left, 0, o->most);
        return 0;
}

// The final message without the reason, if that was told when it turned back.
static const char *news(const Rollout *o) {
        size_t len = strlen(o->reason);

        if (len == 0 || strncmp(o->message, o->reason, len) != 0 || strncmp(o->message + len, "; ", 2) != 0)
                return o->message;
        return o->message + len + 2;
}

static int leave(Ctl *ctl, const Rollout *o, int error) {
        if (error == -ENOMEM)
                return ctl_oom(ctl);
        if (error == -EINTR) {
                fprintf(ctl->term.err,
                        "argosyctl: detached; %s of %s goes on (see argosyctl list-unit-files; update "
                        "--abort "
                        "ends it)\n",
                        o->progress.verb, o->name);
                return EXIT_DETACHED;
        }
        if (error == 0 && !o->no_leader)
                return ctl_fail(ctl, "%s %s: %s", o->progress.verb, o->name, news(o));
        return ctl_fail(ctl, "%s: %s; it goes on (see argosyctl list-unit-files)", o->name,
                        error == -ETIMEDOUT ? "timed out waiting"
                        : error < 0         ? ctl->client.why
                                            : o->message);
}

static bool may_ask_again(const Rollout *o, Ctl *ctl, int error) {
        if (error < 0)
                return client_is_lost(&ctl->client, error);
        return o->no_leader || o->status == EAGAIN || o->status == ETIMEDOUT;
}

static int wait_for_end(Ctl *ctl, Rollout *o) {
        Argosy__Request__RolloutWait wait = ARGOSY__REQUEST__ROLLOUT_WAIT__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Patience patience = {};

        wait.name = (char *) o->name;
        wait.revision = o->revision;
        request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT;
        request.rollout_wait = &wait;
        for (;;) {
                int r;

                o->status = 0;
                o->told = o->no_leader = false;
                r = ctl_call(ctl, &request, CALL_PATIENT | CALL_NOTE | (ctl->term.err_tty ? CALL_TICK : 0), on_progress,
                             o);
                progress_clear(&ctl->term, &o->progress);
                if (r == 0 && o->status == 0)
                        return EXIT_OK;
                if (o->told)
                        patience = (Patience){};
                if (!may_ask_again(o, ctl, r) || !ctl_try_again(ctl, &patience, &r))
                        return leave(ctl, o, r);
        }
}

static int roll_one(Ctl *ctl, Rollout *o, Argosy__RolloutKind kind, const UnitArgs *a) {
        _cleanup_free_ const UnitArgsFile **files = NULL;
        char *name = (char *) o->name;
        size_t n_files = 0;
        int code;

        if (kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE && !(ctl->opt.given & OPT_ABORT) &&
            unit_args_files_of(a, &name, 1, &files, &n_files) < 0)
                return ctl_oom(ctl);
        code = begin(ctl, o, kind, n_files ? files[0] : NULL);
        if (code != EXIT_OK || ctl->opt.given & (OPT_NO_BLOCK | OPT_ABORT) || !o->revision)
                return code;
        code = wait_for_end(ctl, o);
        if (code == EXIT_OK && ctl->opt.given & OPT_VERBOSE)
                fprintf(ctl->term.out, "%s: %s\n", o->name,
                        kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ? "updated" : "restarted");
        return code;
}

int rollouts_run(Ctl *ctl, Argosy__RolloutKind kind, char **args, size_t n) {
        bool update = kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        _cleanup_unit_args_ UnitArgs a = {};
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
        ctl_catch_interrupt(ctl);
        for (size_t i = 0; i < a.n_names && code == EXIT_OK; i++) {
                Rollout o = {.name = a.names[i], .progress.verb = update ? "update" : "restart"};

                code = roll_one(ctl, &o, kind, &a);
        }
        return code;
}

int verb_update(Ctl *ctl, char **args, size_t n) {
        return rollouts_run(ctl, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, args, n);
}
