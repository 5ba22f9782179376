// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request that makes each of its units something of its own (undo, apply): one answer for all units, which
// says of each what it is to come to; then that is waited for, verb by verb, as start, stop and destroy do
// it.
//
// A unit that cannot be had is said, and the others are. Ctrl-C ends only our waiting.

#include <errno.h>
#include <inttypes.h>

#include "clock.h"
#include "ctl.h"
#include "event-cursor.h"
#include "failure-logs.h"
#include "json.h"
#include "mixed-change.h"
#include "str.h"
#include "terminal.h"
#include "unit-wait.h"

// In which order they are waited for: what is to go makes room.
static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_DESTROY, ARGOSY__VERB__VERB_UNLOAD,
                                     ARGOSY__VERB__VERB_STOP, ARGOSY__VERB__VERB_LOAD,
                                     ARGOSY__VERB__VERB_START};

typedef struct MixedChange {
        Ctl *ctl;
        const MixedVerb *verb;
        Json json;
        bool answered;
        size_t n_received; // rows of the answer; it may come in parts, and from the first of them again
        uint64_t job; // that it is; 0: none
        char cursor[EVENT_CURSOR_SIZE]; // its events come after this one; empty: none
        size_t n_failed;
        Map failed; // names of units, owned
        FailureLogs words; // of units that failed on a node
        WaitSet waiting[ELEMENTSOF(verbs)];
        UnitWait wait; // for one of these after the other
} MixedChange;

static bool plans(const MixedChange *c) {
        return c->ctl->opt.given[OPT_PLAN];
}

// ---- results

static void report_json(MixedChange *c, const Argosy__Response__UnitResult *result) {
        Json *j = &c->json;

        json_begin(j, '{');
        json_member_string(j, result->setting ? "setting" : "unit", result->name);
        json_member_bool(j, "ok", result->status == 0);
        json_member_string(j, "node", result->node);
        json_member_string(j, "message",
                           result->status != 0 ? status_text(result->status, result->message)
                                               : result->message);
        if (c->job > 0) {
                json_member_u64(j, "job", c->job);
        }
        if (*c->cursor) {
                json_member_string(j, "cursor", c->cursor);
        }
        json_end(j, '}');
}

// Without memory for that the unit is told of twice.
static void note_failed(MixedChange *c, const char *name) {
        char *copy = map_find_str(&c->failed, name) ? NULL : strdup(name);

        if (copy && map_add_str(&c->failed, copy, copy) < 0)
                free(copy);
}

static void report_wrong(const char *unit, const char *node, const char *message, void *userdata) {
        Argosy__Response__UnitResult result = ARGOSY__RESPONSE__UNIT_RESULT__INIT;
        MixedChange *c = userdata;

        if (map_find_str(&c->failed, unit))
                return;
        result.name = (char *) unit;
        result.node = (char *) node;
        result.message = (char *) message;
        result.status = EIO;
        report_json(c, &result);
}

// Whether the change starts units; for stops and removals a unit's journal is not shown.
static bool is_start(const MixedChange *c) {
        return c->wait.message.verb == ARGOSY__VERB__VERB_START ||
               c->wait.message.verb == ARGOSY__VERB__VERB_LOAD;
}

// A unit has come to its end, well or not.
static void report(MixedChange *c, const Argosy__Response__UnitResult *result) {
        Ctl *ctl = c->ctl;

        c->n_failed += result->status != 0;
        if (ctl->opt.json != JSON_OFF)
                report_json(c, result);
        if (ctl->opt.json != JSON_OFF && result->status != 0)
                note_failed(c, result->name);
        progress_clear(&ctl->term);
        if (result->status != 0) {
                fflush(ctl->term.out);
                ctl_fail(ctl, "%s %s%s%s: %s", c->verb->name, result->name, *result->node ? " on " : "",
                         result->node, status_text(result->status, result->message));
                ctl_refusals(ctl, ctl->term.err, result->refusals, result->n_refusals);
                if (*result->node && !result->setting && result->n_may_run_on == 0 && is_start(c))
                        failure_logs_note(&c->words, result->name);
        } else if (ctl->opt.json != JSON_OFF)
                return;
        else if (plans(c))
                ctl_say(ctl, "%s: %s", result->name, result->message);
        else if (*result->message)
                ctl_warn(ctl, "%s: %s", result->name, result->message);
        else if (ctl->opt.given[OPT_VERBOSE])
                ctl_say(ctl, "%s: %s%s%s", result->name, c->verb->past, *result->node ? ", on " : "",
                        result->node);
}

static WaitSet *set_of(MixedChange *c, Argosy__Verb verb) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (verbs[i] == verb)
                        return &c->waiting[i];
        return NULL;
}

static int take_result(MixedChange *c, const Argosy__Response__UnitResult *result, uint64_t job) {
        WaitSet *set = set_of(c, result->verb);
        int e;

        if (result->status != 0 || !set || c->ctl->opt.given[OPT_NO_BLOCK]) {
                report(c, result);
                return 0;
        }
        e = wait_set_add(set, result->name, result->revision, job);
        return e == -EEXIST ? 0 : e;
}

static int on_change(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        MixedChange *c = userdata;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        c->answered = r->final;
        c->job = r->job;
        if (!*c->cursor) // the first of several answers is before the others
                (void) str_copy(c->cursor, sizeof(c->cursor), r->cursor);
        for (size_t i = 0; i < r->change->n_units && e == 0; i++) {
                if (r->change->first + i < c->n_received)
                        continue;
                c->n_received = r->change->first + i + 1;
                e = take_result(c, r->change->units[i], r->job);
        }
        return e;
}

// ---- wait

static void on_ended(const Argosy__Response__UnitResult *u, void *userdata) {
        report(userdata, u);
}

static int wait_all(MixedChange *c) {
        int code = EXIT_OK;

        for (c->wait.at = 0; c->wait.at < ELEMENTSOF(verbs) && code == EXIT_OK; c->wait.at++) {
                c->wait.message.verb = verbs[c->wait.at];
                code = unit_wait_run(c->ctl, &c->wait);
        }
        return code;
}

// ---- the request

static int ask(MixedChange *c, Argosy__Request *request, MixedCheck check, void *userdata) {
        int code = ctl_ask(c->ctl, request, CALL_PARTS, on_change, c);

        if (code == EXIT_OK && c->answered)
                code = wait_all(c);
        if (code == EXIT_OK && c->answered && check)
                code = check(c->ctl, c->ctl->opt.json != JSON_OFF ? report_wrong : NULL, c, userdata);
        return code == EXIT_OK && c->n_failed > 0 ? EXIT_FAILED : code;
}

int mixed_change_run(Ctl *ctl, const MixedVerb *verb, Argosy__Request *request, MixedCheck check,
                     void *userdata) {
        MixedChange c = {.ctl = ctl,
                         .verb = verb,
                         .words.since_us = clock_boot_us(),
                         .json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        int code;

        unit_wait_init(&c.wait, verb->name, c.waiting, ELEMENTSOF(verbs));
        c.wait.ended = on_ended;
        c.wait.userdata = &c;
        ctl_catch_interrupt(ctl);
        if (ctl->opt.json != JSON_OFF)
                json_begin(&c.json, '[');
        code = ask(&c, request, check, userdata);
        if (ctl->opt.json != JSON_OFF) {
                json_end(&c.json, ']');
                json_finish(&c.json);
        } else if (c.words.n > 0 && code == EXIT_FAILED && !ctl->opt.given[OPT_QUIET])
                failure_logs_print(ctl, &c.words);
        failure_logs_done(&c.words);
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                wait_set_done(&c.waiting[i]);
        map_foreach (slot, &c.failed)
                free(slot->value);
        map_done(&c.failed);
        return code;
}
