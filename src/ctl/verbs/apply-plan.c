// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The plan of `apply`: asked for, judged, and put into words (apply-plan.h).
//
//      apply_plan_name_set() -> apply_plan_ask() (preview) -> apply_plan_has_work(), apply_plan_code()
//          -> warnings
//
// The plan is one answer, made in one turn of the leader, so it is true of one moment. It needs the right to
// deploy, and thereby shows all units, so that no set looks smaller than it is. Failures: an exit code after
// its message.

#include "apply-plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "ctl.h"
#include "macro.h"
#include "message-of.h"
#include "message.h"
#include "set-file.h"

// The last part of a path, for a folder that may not exist yet. Cuts trailing slashes off `path`.
static char *last_name(char *path) {
        size_t len = strlen(path);
        char *slash;

        while (len > 1 && path[len - 1] == '/')
                path[--len] = 0;
        slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

int apply_plan_name_set(Ctl *ctl, const char *dir, const char *said, char **ret) {
        _cleanup_free_ char *path = NULL;
        const char *name = ctl->opt.set ?: said;

        if (!name) {
                path = realpath(dir, NULL);
                if (!path && errno == ENOENT)
                        path = strdup(dir);
                if (!path)
                        return ctl_fail(ctl, "%s: %s", dir, strerror(errno));
                name = last_name(path);
        }
        if (!set_name_is_valid(name))
                return ctl_usage(
                        ctl, "'%s' cannot be the name of a set; --set= or a line in argosy.set gives it one",
                        name);
        *ret = strdup(name);
        return *ret ? EXIT_OK : ctl_oom(ctl);
}

static int on_plan(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Argosy__Response **answer = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_APPLY_PLAN)
                return 0;
        message_free(*answer);
        *answer = message_copy(r);
        return *answer ? 0 : -ENOMEM;
}

int apply_plan_ask(Ctl *ctl, Argosy__Request__Apply *m, Argosy__Response **ret) {
        Argosy__Request request = REQUEST_OF(APPLY, apply, m);
        int code;

        m->preview = true;
        code = ctl_ask(ctl, &request, 0, on_plan, ret);
        if (code == EXIT_OK && !*ret)
                return ctl_fail(ctl, "argosyd did not say how the set differs");
        return code;
}

// ---- what it says

bool apply_row_changes(const Argosy__Response__ApplyRow *row) {
        return row->made || row->removed || row->adopted || !streq(row->rev, row->rev_after) ||
               !streq(row->desired, row->desired_after);
}

static bool is_restart(const Argosy__Response__ApplyRow *row) {
        return row->starts && streq(row->state, "failed") && !apply_row_changes(row);
}

// Whether applying the row does something; other rows are only listed.
static bool is_work(const Argosy__Response__ApplyRow *row) {
        return row->starts || apply_row_changes(row);
}

bool apply_plan_has_work(const Argosy__Response__ApplyPlan *plan) {
        for (size_t i = 0; i < plan->n_rows; i++)
                if (is_work(plan->rows[i]))
                        return true;
        return false;
}

bool apply_plan_has_wrong(const Argosy__Response__ApplyPlan *plan) {
        for (size_t i = 0; i < plan->n_rows; i++)
                if (plan->rows[i]->wrong)
                        return true;
        return false;
}

int apply_plan_code(const Argosy__Response__ApplyPlan *plan) {
        bool restarts = false;

        for (size_t i = 0; i < plan->n_rows; i++) {
                if (is_work(plan->rows[i]) && !is_restart(plan->rows[i]))
                        return EXIT_DIFFERS;
                restarts |= is_restart(plan->rows[i]);
        }
        if (restarts)
                return EXIT_RESTARTS;
        return *plan->refusal ? EXIT_DIFFERS : apply_plan_has_wrong(plan) ? EXIT_FAILED : EXIT_OK;
}

const char *apply_state_phrase(const char *state) {
        static const char *const phrases[][2] = {
                {"failed", "failed"},
                {"stopped", "was stopped by hand"},
                {"down", "is down, and argosyd was not there to see why"},
                {"looping", "fails again and again"},
                {"restarting", "failed, and systemd starts it again"},
                {"queued", "waits"},
                {"starting", "is being started"},
                {"lost", "cannot be asked about"},
                {"bound", "was stopped with another unit"},
                {"conflict", "was stopped for another unit"},
                {"unneeded", "was stopped, since nothing needed it"},
                {"unknown", "has ended, nobody knows how"},
                {"error", "has an error"},
                {"skipped", "was skipped"},
                {"ended", "has ended"},
                {"finished", "has finished"},
        };

        for (size_t i = 0; i < ELEMENTSOF(phrases); i++)
                if (streq(state, phrases[i][0]))
                        return phrases[i][1];
        return state;
}

enum { NAMED_MAX = 8 }; // units of which a warning says how they are

static int name_wrong(const Argosy__Response__ApplyPlan *plan, size_t n, Buf *text) {
        size_t named = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < plan->n_rows && named < NAMED_MAX; i++)
                if (plan->rows[i]->wrong)
                        r = buf_printf(text, "%s%s %s", named++ > 0 ? ", " : "", plan->rows[i]->unit,
                                       apply_state_phrase(plan->rows[i]->state));
        return r < 0 || n <= named ? r : buf_printf(text, ", and %zu more", n - named);
}

int apply_plan_say_wrong(Ctl *ctl, const Argosy__Response__ApplyPlan *plan) {
        _cleanup_buf_ Buf text = {};
        size_t n = 0;

        for (size_t i = 0; i < plan->n_rows; i++)
                n += plan->rows[i]->wrong;
        if (n == 0)
                return 0;
        if (name_wrong(plan, n, &text) < 0)
                return -ENOMEM;
        ctl_warn(ctl, "%zu of %" PRIu32 " units %s not as %s to be: %.*s", n, plan->named,
                 n == 1 ? "is" : "are", n == 1 ? "it is" : "they are", (int) text.len,
                 (const char *) text.data);
        return 0;
}
