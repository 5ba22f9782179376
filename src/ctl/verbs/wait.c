// SPDX-License-Identifier: LGPL-2.1-or-later
//
// wait: until units are seen to be active, inactive, failed or gone, for whatever reason.
//
// One Wait with a goal instead of a verb, asked again for those that are open (unit-wait.h) over as many
// daemons and leaders as it takes. Nothing is wanted, so Ctrl-C and --timeout leave nothing behind. A unit
// that there is not ends at once, with its name, unless it is to be gone.

#include <errno.h>

#include "json.h"
#include "unit-state.h"
#include "unit-wait.h"
#include "verbs.h"

typedef struct Wait {
        Ctl *ctl;
        WaitSet units;
        Argosy__UnitGoal goal;
        Json json;
        size_t n_unknown; // of those that failed: there are no such units
        size_t n_may_run; // and: they may run on hosts that are not heard
} Wait;

static const char *goal_word(const Wait *w) {
        return unit_goal_to_string(w->goal);
}

// ---- results

static void json_result(Json *j, const Argosy__Response__UnitResult *u) {
        json_begin(j, '{');
        json_member_string(j, "unit", u->name);
        json_member_bool(j, "ok", u->status == 0);
        json_member_string(j, "node", u->node);
        json_member_string(j, "message", u->status != 0 ? status_text(u->status, u->message) : u->message);
        json_end(j, '}');
}

static void report_end(Wait *w, const Argosy__Response__UnitResult *u) {
        Ctl *ctl = w->ctl;

        w->n_unknown += u->status == ENOENT;
        w->n_may_run += u->status != 0 && u->n_may_run_on > 0;
        if (ctl->opt.json != JSON_OFF)
                json_result(&w->json, u);
        if (u->status == 0 && !ctl->opt.given[OPT_VERBOSE])
                return;
        progress_clear(&ctl->term);
        if (u->status != 0) {
                fflush(ctl->term.out); // what was said before stands before it, also in a pipe
                ctl_fail(ctl, "%s: %s", u->name, status_text(u->status, u->message));
        } else if (ctl->opt.json == JSON_OFF)
                ctl_say(ctl, "%s: %s%s%s", u->name, goal_word(w), *u->node ? " on " : "", u->node);
}

// ---- the wait

static void on_ended(const Argosy__Response__UnitResult *u, void *userdata) {
        report_end(userdata, u);
}

static const char *first_open(const Wait *w) {
        for (size_t i = 0; i < w->units.n_items; i++)
                if (!w->units.items[i]->done)
                        return w->units.items[i]->name;
        return "";
}

static int leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const char *why = wait_loop_reason(ctl, end);
        const Wait *w = userdata;
        size_t open = wait_set_open(&w->units);

        if (open == 1)
                return ctl_fail(ctl, "%s; %s was not seen to be %s", why, first_open(w), goal_word(w));
        return ctl_fail(ctl, "%s; %zu units were not seen to be %s, the first of them %s", why, open,
                        goal_word(w), first_open(w));
}

static int exit_code(const Wait *w, int code) {
        if (code != EXIT_OK || w->units.n_failed == 0)
                return code;
        if (w->units.n_failed == w->n_unknown)
                return EXIT_UNKNOWN;
        return w->units.n_failed == w->n_may_run ? EXIT_MAY_RUN : EXIT_FAILED;
}

static int wait_all(Wait *w) {
        Ctl *ctl = w->ctl;
        UnitWait wait;
        int code;

        unit_wait_init(&wait, "wait", &w->units, 1);
        wait.message.goal = w->goal;
        wait.ended = on_ended;
        wait.leave = leave;
        wait.userdata = w;
        ctl_catch_interrupt(ctl);
        if (ctl->opt.json != JSON_OFF)
                json_begin(&w->json, '[');
        code = unit_wait_run(ctl, &wait);
        if (ctl->opt.json != JSON_OFF) {
                json_end(&w->json, ']');
                json_finish(&w->json);
        }
        return exit_code(w, code);
}

int verb_wait(Ctl *ctl, char **args, size_t n) {
        Wait w = {.ctl = ctl, .json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_strv_ char **names = NULL;
        size_t n_names;
        int code, r = 0;

        if (!ctl->opt.given[OPT_FOR])
                return ctl_usage(ctl, "wait: --for= says for what: active, inactive, failed or gone");
        if (!unit_goal_from_string(ctl->opt.for_what, &w.goal))
                return ctl_usage(ctl, "--for: '%s' is not one of active, inactive, failed and gone",
                                 ctl->opt.for_what);
        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &n_names);
        if (code != EXIT_OK)
                return code;
        for (size_t i = 0; i < n_names && r == 0; i++) {
                r = wait_set_add(&w.units, names[i], 0, 0);
                r = r == -EEXIST ? 0 : r;
        }
        code = r < 0 ? ctl_oom(ctl) : wait_all(&w);
        wait_set_done(&w.units);
        return code;
}
