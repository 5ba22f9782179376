// SPDX-License-Identifier: LGPL-2.1-or-later
//
// submit, load, start, stop, restart, unload, destroy.
//
// Two requests: a Change, answered when the cluster's log has it, then a Wait for the revisions that the
// answer named. Both may be repeated: the Change carries an id that the log remembers, the Wait asks for
// nothing that has been reported already. So a daemon that is restarted, or a leader that dies, between any
// two steps costs time and nothing else.
//
// Ctrl-C ends only our waiting. The cluster knows nothing of it.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/socket.h>

#include "change.h"
#include "clock.h"
#include "ctl-jobs.h"
#include "ctl.h"
#include "event-cursor.h"
#include "failure-logs.h"
#include "file-warnings.h"
#include "json.h"
#include "may-run.h"
#include "message-of.h"
#include "request-kind.h"
#include "rollouts.h"
#include "row-fields.h"
#include "str.h"
#include "terminal.h"
#include "unit-args.h"
#include "unit-wait.h"
#include "verbs.h"

enum { CHANGE_SPLIT = -1 }; // beside exit codes: the cluster wants less at a time

typedef struct ChangeVerb {
        Argosy__Verb verb;
        const char *name;
        const char *past; // "started"
        bool files;       // unit files on this disk may belong to its names
        bool templates;   // a glob also means templates
        bool waits;
        bool plans; // says what would happen, and does nothing
} ChangeVerb;

typedef struct Change {
        Ctl *ctl;
        const ChangeVerb *verb;
        WaitSet waiting;
        Json json;
        size_t n_failed;
        size_t n_reverted; // of these: they have their former file again
        size_t n_may_run; // of these: stopped or destroyed, but for hosts that are not heard
        bool answered; // the Change's answer has come, all of it
        size_t n_received; // of its units; the answer may come in parts, and from the first of them again
        uint64_t job;  // that the unit at hand is a part of; 0: none
        uint64_t asked_job; // that the last request has become; 0: none
        char cursor[EVENT_CURSOR_SIZE]; // the change's events come after this one; empty: none
        int status;    // of the Change as a whole, 0 or positive errno
        char message[512];
        FailureLogs words; // of units that failed on a node
} Change;

// ---- results

static void json_result(Json *j, const Argosy__Response__UnitResult *u, bool plans, uint64_t job,
                        const char *cursor) {
        json_begin(j, '{');
        json_member_string(j, "unit", u->name);
        json_member_bool(j, "ok", u->status == 0);
        json_member_string(j, "node", u->node);
        json_member_string(j, "message", u->status != 0 ? status_text(u->status, u->message) : u->message);
        json_key(j, "refusals");
        refusals_json(u->refusals, u->n_refusals, j);
        if (plans) {
                json_member_string(j, "from", u->from);
                json_member_string(j, "because_of", u->because_of);
                json_member_string(j, "file_change", u->file_change);
        }
        json_member_begin(j, "may_run_on", '[');
        for (size_t i = 0; i < u->n_may_run_on; i++)
                json_string(j, u->may_run_on[i]);
        json_end(j, ']');
        if (job > 0) {
                json_member_u64(j, "job", job);
        }
        if (*cursor) {
                json_member_string(j, "cursor", cursor);
        }
        json_end(j, '}');
}

static bool will_wait(const Change *c) {
        return c->verb->waits && !c->ctl->opt.given[OPT_NO_BLOCK];
}

// What systemd did not like, or the unit itself said, is in its log on that node: the first few are asked
// for it, when everything has ended.
static void note_failure(Change *c, const char *name) {
        Argosy__Verb verb = c->verb->verb;

        if (verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_RESTART ||
            verb == ARGOSY__VERB__VERB_LOAD)
                failure_logs_note(&c->words, name);
}

static void report_failure(Change *c, const Argosy__Response__UnitResult *u) {
        bool there = *u->node && u->status != EAGAIN && u->status != ECANCELED && // those are about no node
                     !u->n_may_run_on; // and this is about several

        ctl_fail(c->ctl, "%s %s%s%s: %s", c->verb->name, u->name, there ? " on " : "", there ? u->node : "",
                 status_text(u->status, u->message));
        if (there)
                note_failure(c, u->name);
}

// A unit has come to its end, well or not.
static void report_end(Change *c, const Argosy__Response__UnitResult *u) {
        Ctl *ctl = c->ctl;

        if (u->status != 0)
                c->n_failed++;
        if (u->status != 0 && u->n_may_run_on > 0)
                c->n_may_run++;
        c->n_reverted += u->status != 0 && u->reverted;
        if (ctl->opt.json != JSON_OFF)
                json_result(&c->json, u, c->verb->plans, c->job, c->cursor);
        if (u->status == 0 && !ctl->opt.given[OPT_VERBOSE] && !c->verb->plans)
                return;
        progress_clear(&ctl->term);
        if (u->status != 0) {
                fflush(ctl->term.out); // what was said before stands before it, also in a pipe
                report_failure(c, u);
        } else if (ctl->opt.json == JSON_OFF && c->verb->plans)
                ctl_say(ctl, "%s: %s", u->name, u->message);
        else if (ctl->opt.json == JSON_OFF)
                ctl_say(ctl, "%s: %s%s%s%s", u->name, c->verb->waits && !will_wait(c) ? "to be " : "",
                        c->verb->past, *u->node ? " on " : "", u->node);
}

// Reasons stand below their unit: what a plan says of a unit goes to standard output, and so do they.
static void report_refusals(Change *c, const Argosy__Response__UnitResult *u) {
        Ctl *ctl = c->ctl;

        if (u->status == 0 && c->verb->plans) {
                if (ctl->opt.json == JSON_OFF)
                        ctl_refusals(ctl, ctl->term.out, u->refusals, u->n_refusals);
        } else if (!(ctl->opt.given[OPT_QUIET] && u->status == 0))
                ctl_refusals(ctl, ctl->term.err, u->refusals, u->n_refusals);
}

static void report_warning(Change *c, const Argosy__Response__UnitResult *u) {
        if (*u->message || u->n_refusals > 0)
                progress_clear(&c->ctl->term);
        if (u->status == 0 && *u->message && !c->verb->plans)
                ctl_warn(c->ctl, "%s: %s", u->name, u->message);
        if (u->n_refusals > 0)
                report_refusals(c, u);
}

static void note_status(Change *c, const Argosy__Response *r) {
        c->status = r->status;
        snprintf(c->message, sizeof(c->message), "%s", status_text(r->status, r->message));
}

// The change is in the log, and some node cannot be reached now. With a wait the wait reports that.
static int report_silent(Change *c, const Argosy__Response__UnitResult *u) {
        Argosy__Response__UnitResult failed = *u;
        char *phrase = may_run_phrase(u->may_run_on, u->n_may_run_on);

        if (!phrase)
                return -ENOMEM;
        if (will_wait(c)) {
                wait_set_note(&c->waiting, u->name, phrase);
                return 0;
        }
        failed.status = EHOSTDOWN;
        failed.message = phrase;
        report_end(c, &failed);
        free(phrase);
        return 0;
}

// There is nothing to wait for yet: see ctl-main.c.
static void report_held(Change *c, const Argosy__Response *r) {
        c->answered = true;
        if (c->ctl->opt.json != JSON_OFF)
                ctl_job_json_held(&c->json, r);
}

static int on_change(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Change *c = userdata;

        if (r->status != 0) {
                note_status(c, r);
                return 0;
        }
        if (r->held)
                report_held(c, r);
        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        c->answered = r->final;
        c->job = c->asked_job = r->job;
        if (!*c->cursor) // the first of several answers is before the others
                (void) str_copy(c->cursor, sizeof(c->cursor), r->cursor);
        for (size_t i = 0; i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];
                int e;

                if (r->change->first + i < c->n_received)
                        continue;
                c->n_received = r->change->first + i + 1;
                if (u->status == 0 && u->revision > 0 && will_wait(c)) {
                        e = wait_set_add(&c->waiting, u->name, u->revision, c->job);
                        if (e == 0 && u->n_may_run_on > 0)
                                e = report_silent(c, u);
                        if (e < 0 && e != -EEXIST)
                                return e;
                        if (u->n_refusals > 0) // the wait ends at once, and says it all
                                continue;
                } else if (u->status == 0 && u->n_may_run_on > 0) {
                        e = report_silent(c, u);
                        if (e < 0)
                                return e;
                } else
                        report_end(c, u);
                report_warning(c, u);
        }
        return 0;
}

// ---- change

static int send_change(Change *c, Argosy__Request__Change *change) {
        Argosy__Request request = REQUEST_OF(CHANGE, change, change);
        Patience patience = {};
        Ctl *ctl = c->ctl;
        int r;

        r = ctl_call_until_answered(ctl, &request, CALL_PARTS, on_change, c, &patience);
        if (r == -EINTR || r == -ENOMEM || (r < 0 && !c->answered))
                return ctl_unanswered(ctl, &request, r, &patience);
        if (c->status == E2BIG && change->n_names > 1)
                return CHANGE_SPLIT;
        if (c->status != 0)
                return ctl_fail(ctl, "%s: %s", c->verb->name, c->message);
        if (!c->answered)
                return ctl_fail(ctl, "argosyd gave no answer to %s", c->verb->name);
        return EXIT_OK;
}

// ---- wait

static void on_ended(const Argosy__Response__UnitResult *u, void *userdata) {
        Change *c = userdata;

        c->job = wait_set_job(&c->waiting, u->name);
        report_end(c, u);
        report_warning(c, u);
}

// Stops waiting for units on hosts that are not heard. EXIT_MAY_RUN: all that were still open are such
// units.
static int leave_the_silent(Change *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->waiting.n_items; i++) {
                const WaitItem *item = c->waiting.items[i];

                if (item->done || !item->note)
                        continue;
                ctl_fail(c->ctl, "%s %s: %s", c->verb->name, item->name, item->note);
                n++;
        }
        return n == wait_set_open(&c->waiting) ? EXIT_MAY_RUN : EXIT_OK;
}

static int leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        return end->error == -ETIMEDOUT ? leave_the_silent(userdata) : EXIT_OK;
}

static int wait_all(Change *c) {
        UnitWait wait;

        unit_wait_init(&wait, c->verb->name, &c->waiting, 1);
        wait.message.verb = c->verb->verb;
        wait.ended = on_ended;
        wait.leave = leave;
        wait.userdata = c;
        return unit_wait_run(c->ctl, &wait);
}

// ---- the verbs

static int collect_besides(Change *c, UnitArgs *a) {
        _cleanup_buf_ Buf why = {};
        int r = unit_args_add_besides(a, AT_FDCWD, &why);

        return r < 0 ? ctl_bad_word(c->ctl, r, &why) : EXIT_OK;
}

// Patterns are those names of the cluster that match, as if they stood there.
static int collect(Change *c, char **args, size_t n, UnitArgs *a) {
        unsigned flags = c->verb->templates ? 0 : NAMES_NO_TEMPLATES;

        for (size_t i = 0; i < n; i++) {
                _cleanup_strv_ char **names = NULL;
                char **words = &args[i];
                size_t n_words = 1;
                int code;

                if (!c->verb->files || unit_arg_is_glob(args[i])) {
                        if (c->verb->verb == ARGOSY__VERB__VERB_SUBMIT)
                                return ctl_usage(c->ctl, "'%s': submit takes files and names, no patterns",
                                                 args[i]);
                        code = ctl_names(c->ctl, &args[i], 1, flags, &names, &n_words);
                        if (code != EXIT_OK)
                                return code;
                        words = names;
                }
                for (size_t k = 0; k < n_words; k++) {
                        _cleanup_buf_ Buf why = {};
                        int r = unit_args_add(a, words[k], c->verb->files ? UNIT_ARGS_READ_FILES : 0,
                                              AT_FDCWD, &why);

                        if (r < 0)
                                return ctl_bad_word(c->ctl, r, &why);
                }
        }
        if (c->verb->files && c->verb->verb != ARGOSY__VERB__VERB_SUBMIT) {
                int code = collect_besides(c, a);

                if (code != EXIT_OK)
                        return code;
        }
        ctl_tell_taken(c->ctl, a);
        return EXIT_OK;
}

// The files of `names`, as the message wants them. One block, freed by the caller; everything in it is
// borrowed.
static Argosy__NamedFile **named_files(const UnitArgs *a, char **names, size_t n_names, size_t *ret_n) {
        _cleanup_free_ const UnitArgsFile **found = NULL;
        Argosy__NamedFile **pointers, *files;
        size_t n;

        if (unit_args_files_of(a, names, n_names, &found, &n) < 0)
                return NULL;
        pointers = calloc(n + 1, sizeof(*pointers) + sizeof(*files));
        if (!pointers)
                return NULL;
        files = (Argosy__NamedFile *) (pointers + n + 1);
        for (size_t i = 0; i < n; i++) {
                files[i] = (Argosy__NamedFile) ARGOSY__NAMED_FILE__INIT;
                files[i].name = found[i]->name;
                files[i].path = found[i]->path;
                files[i].content.data = found[i]->content.data;
                files[i].content.len = found[i]->content.len;
                files[i].files = found[i]->carried.list;
                files[i].n_files = found[i]->carried.n;
                pointers[i] = &files[i];
        }
        *ret_n = n;
        return pointers;
}

// A request of its own for each half of what is too much for one entry of the log.
static int change_some(Change *c, const UnitArgs *a, char **names, size_t n_names) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        _cleanup_free_ Argosy__NamedFile **files = NULL;
        uint8_t id[REQUEST_ID_SIZE];
        int code;

        ctl_request_id(c->ctl, id);
        files = named_files(a, names, n_names, &change.n_files);
        if (!files)
                return ctl_oom(c->ctl);
        change.id.data = id;
        change.id.len = sizeof(id);
        change.verb = c->verb->verb;
        change.names = names;
        change.n_names = n_names;
        change.files = files;
        change.replace = c->ctl->opt.given[OPT_REPLACE];
        change.unpinned = c->ctl->opt.given[OPT_UNPINNED];
        change.preview = c->verb->plans;
        c->status = 0;
        c->answered = false;
        c->n_received = 0;
        code = send_change(c, &change);
        if (code != CHANGE_SPLIT)
                return code;
        // Under that key the whole may fit when it is asked for again, since the cluster has the contents
        // then.
        if (c->ctl->opt.key)
                return ctl_fail(c->ctl, "%s: %s; with --key it is not asked for in halves", c->verb->name,
                                c->message);
        code = change_some(c, a, names, n_names / 2);
        return code != EXIT_OK ? code : change_some(c, a, names + n_names / 2, n_names - n_names / 2);
}

// More than one request may name would be read as a whole, in one turn of the leader's loop, only to be
// refused.
static int change_all(Change *c, const UnitArgs *a) {
        size_t most = c->ctl->opt.key ? a->n_names : (size_t) CHANGE_UNITS_MAX, at = 0, n;
        int code;

        do {
                n = MIN_OF(a->n_names - at, most);
                code = change_some(c, a, a->names + at, n);
                at += n;
        } while (code == EXIT_OK && at < a->n_names);
        return code;
}

static int change_units(Change *c, const UnitArgs *a) {
        int code, waited;

        code = change_all(c, a);
        if (code == EXIT_DETACHED)
                return code;
        waited = wait_all(c); // also if a later part was refused: what was taken is waited for
        if (code == EXIT_OK)
                code = waited;
        if ((code == EXIT_OK || code == EXIT_MAY_RUN) && c->n_failed > c->n_may_run)
                return EXIT_FAILED;
        return code == EXIT_OK && c->n_may_run > 0 ? EXIT_MAY_RUN : code;
}

// Says how to go back, for units that were down before; running ones go back by themselves.
static void say_way_back(const Change *c) {
        if (c->asked_job > 0 && c->waiting.n_failed > c->n_reverted && c->ctl->opt.given[OPT_REPLACE] &&
            c->verb->verb == ARGOSY__VERB__VERB_START)
                ctl_warn(c->ctl, "argosyctl undo %" PRIu64 " puts the files of before back", c->asked_job);
}

static int run_change(Ctl *ctl, const ChangeVerb *verb, char **args, size_t n) {
        Change c = {.ctl = ctl,
                    .verb = verb,
                    .words.since_us = clock_boot_us(),
                    .json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_unit_args_ UnitArgs a = {};
        FileWarnings *warnings;
        int code;

        code = collect(&c, args, n, &a);
        if (code != EXIT_OK)
                return code;
        warnings = file_warnings_begin_args(ctl, &a);
        ctl_catch_interrupt(ctl);
        if (ctl->opt.json != JSON_OFF)
                json_begin(&c.json, '[');
        code = change_units(&c, &a);
        file_warnings_end(ctl, warnings);
        if (code == EXIT_FAILED)
                say_way_back(&c);
        if (ctl->opt.json != JSON_OFF) {
                json_end(&c.json, ']');
                json_finish(&c.json);
        } else if (c.words.n > 0 && code == EXIT_FAILED && !ctl->opt.given[OPT_QUIET])
                failure_logs_print(ctl, &c.words);
        failure_logs_done(&c.words);
        wait_set_done(&c.waiting);
        return code;
}

#define CHANGE_VERB(word, upper, past, files, templates, waits)                                   \
        int verb_##word(Ctl *ctl, char **args, size_t n) {                                        \
                static const ChangeVerb v = {                                                     \
                        ARGOSY__VERB__VERB_##upper, #word, past, files, templates, waits, false}; \
                return run_change(ctl, &v, args, n);                                              \
        }

CHANGE_VERB(submit, SUBMIT, "submitted", true, true, false)
CHANGE_VERB(load, LOAD, "loaded", true, false, true)
CHANGE_VERB(start, START, "started", true, false, true)
CHANGE_VERB(unload, UNLOAD, "unloaded", false, false, true)
CHANGE_VERB(destroy, DESTROY, "destroyed", false, true, true)

// What `start` would do.
int verb_plan(Ctl *ctl, char **args, size_t n) {
        static const ChangeVerb v = {ARGOSY__VERB__VERB_START, "plan", "planned", true, false, false, true};

        return run_change(ctl, &v, args, n);
}

int verb_restart(Ctl *ctl, char **args, size_t n) {
        static const ChangeVerb v = {ARGOSY__VERB__VERB_RESTART, "restart", "restarted", false, false, true};

        if (ctl->opt.given[OPT_ROLLING] || ctl->opt.given[OPT_MAX_UNAVAILABLE] || ctl->opt.given[OPT_HEALTH])
                return rollouts_run(ctl, ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, args, n);
        return run_change(ctl, &v, args, n);
}

int change_again(Ctl *ctl, Argosy__Verb verb, char **names, size_t n) {
        static const ChangeVerb verbs[] = {
                {ARGOSY__VERB__VERB_LOAD, "load", "loaded", .waits = true},
                {ARGOSY__VERB__VERB_START, "start", "started", .waits = true},
                {ARGOSY__VERB__VERB_STOP, "stop", "stopped", .waits = true},
                {ARGOSY__VERB__VERB_RESTART, "restart", "restarted", .waits = true},
                {ARGOSY__VERB__VERB_UNLOAD, "unload", "unloaded", .waits = true},
                {ARGOSY__VERB__VERB_DESTROY, "destroy", "destroyed", .templates = true, .waits = true},
        };
        size_t i = 0;

        while (i + 1 < ELEMENTSOF(verbs) && verbs[i].verb != verb)
                i++;
        return run_change(ctl, &verbs[i], names, n);
}

// The units of this host, stopped by its own daemon without the cluster: for the time when there is no
// leader.
static int stop_local(Ctl *ctl, char **args, size_t n) {
        static const ChangeVerb verb = {
                ARGOSY__VERB__VERB_STOP, "stop", "stopped", false, false, false, false};
        Argosy__Request__LocalStop stop = ARGOSY__REQUEST__LOCAL_STOP__INIT;
        Argosy__Request request = REQUEST_OF(LOCAL_STOP, local_stop, &stop);
        Change c = {.ctl = ctl,
                    .verb = &verb,
                    .json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_strv_ char **names = NULL;
        int code, r;

        code = ctl_patterns(ctl, args, n, &names, &stop.n_names);
        if (code != EXIT_OK)
                return code;
        stop.names = names;
        ctl->warned_stale = true; // it does not matter here whether there is a leader
        if (ctl->opt.json != JSON_OFF)
                json_begin(&c.json, '[');
        r = ctl_call(ctl, &request, CALL_PATIENT, on_change, &c);
        if (ctl->opt.json != JSON_OFF) {
                json_end(&c.json, ']');
                json_finish(&c.json);
        }
        if (r < 0)
                return ctl_fail(ctl, "%s", r == -ENOMEM ? strerror(ENOMEM) : ctl->client.why);
        if (c.status != 0)
                return ctl_fail(ctl, "stop: %s", c.message);
        return c.n_failed > 0 ? EXIT_FAILED : EXIT_OK;
}

int verb_stop(Ctl *ctl, char **args, size_t n) {
        static const ChangeVerb v = {ARGOSY__VERB__VERB_STOP, "stop", "stopped", false, false, true, false};

        return ctl->opt.given[OPT_LOCAL] ? stop_local(ctl, args, n) : run_change(ctl, &v, args, n);
}
