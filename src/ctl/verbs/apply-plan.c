// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See apply-plan.h. The plan comes in one answer, made in one turn of the leader: it is true of one moment. Whoever asks it
// needs the right to deploy, and thereby sees all units, so that no set is taken for smaller than it is.

#include "apply-plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "macro.h"
#include "message.h"
#include "set-file.h"

// The folder may not be there yet: then it is called as the path says.
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
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        int code;

        m->dry_run = true;
        request.what_case = ARGOSY__REQUEST__WHAT_APPLY;
        request.apply = m;
        code = ctl_ask(ctl, &request, 0, on_plan, ret);
        if (code == EXIT_OK && !*ret)
                return ctl_fail(ctl, "argosyd did not say how the set differs");
        return code;
}
