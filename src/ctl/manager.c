// SPDX-License-Identifier: LGPL-2.1-or-later
//
// manager attach, manager detach: of the host whose argosyd is asked. A detach is answered when nothing of
// the manager is left; Ctrl-C ends only our waiting. The list is in list.c.

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

#include "ctl.h"
#include "manager-name.h"
#include "str.h"

// "user@alice" is "user@1000". The name as argosyd knows it, in `buf`; or NULL, after a complaint.
static char *read_name(Ctl *ctl, const char *word, char buf[static MANAGER_NAME_MAX]) {
        const char *name = word + strlen("user@");
        const struct passwd *pw;

        if (!str_copy(buf, MANAGER_NAME_MAX, word)) {
                ctl_fail(ctl, "'%.*s...' is too long for a manager", 32, word);
                return NULL;
        }
        if (str_has_prefix(word, "user@") && *name && manager_name_kind(word) == MANAGER_INVALID) {
                pw = getpwnam(name);
                if (!pw) {
                        ctl_fail(ctl, "%s: this host has no user %s", word, name);
                        return NULL;
                }
                snprintf(buf, MANAGER_NAME_MAX, "user@%u", (unsigned) pw->pw_uid);
        }
        switch (manager_name_kind(buf)) {
        case MANAGER_USER:
        case MANAGER_CONTAINER:
                return buf;
        default:
                ctl_fail(ctl, "'%s' is neither user@USER nor container@NAME", word);
                return NULL;
        }
}

static int each_name(Ctl *ctl, char **args, size_t n, int (*ask)(Ctl *ctl, char *manager)) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n; i++) {
                char buf[MANAGER_NAME_MAX], *name = read_name(ctl, args[i], buf);
                int one = name ? ask(ctl, name) : EXIT_USAGE;

                code = MAX_OF(code, one);
        }
        return code;
}

static int attach(Ctl *ctl, char *manager) {
        Argosy__Request__ManagerAttach q = ARGOSY__REQUEST__MANAGER_ATTACH__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        q.manager = manager;
        q.leader = ctl->opt.leader;
        request.what_case = ARGOSY__REQUEST__WHAT_MANAGER_ATTACH;
        request.manager_attach = &q;
        return ctl_ask(ctl, &request, CALL_ONCE, NULL, NULL);
}

int verb_manager_attach(Ctl *ctl, char **args, size_t n) {
        if (ctl->opt.leader && n > 1) {
                return ctl_usage(ctl, "--leader is about one container");
        }
        return each_name(ctl, args, n, attach);
}

static int detach(Ctl *ctl, char *manager) {
        Argosy__Request__ManagerDetach q = ARGOSY__REQUEST__MANAGER_DETACH__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        q.manager = manager;
        q.force = ctl->opt.given & OPT_FORCE;
        request.what_case = ARGOSY__REQUEST__WHAT_MANAGER_DETACH;
        request.manager_detach = &q;
        return ctl_ask(ctl, &request, CALL_ONCE | CALL_PATIENT, NULL, NULL);
}

int verb_manager_detach(Ctl *ctl, char **args, size_t n) {
        return each_name(ctl, args, n, detach);
}
