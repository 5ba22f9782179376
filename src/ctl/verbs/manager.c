// SPDX-License-Identifier: LGPL-2.1-or-later
//
// manager attach, manager detach: of the host whose argosyd is asked.
//
//   the host does it (of a detach: nothing of the manager is left) -> the leader's list of nodes agrees, so
//   that the next question, on any host, has the same answer
//
// What the host has done stays so if the leader cannot be waited for, and that is said. The list is in
// list.c.

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

#include "ctl.h"
#include "manager-name.h"
#include "message-of.h"
#include "str.h"
#include "verbs.h"
#include "wait-loop.h"

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

static WaitStep manager_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        if (end->error < 0)
                return wait_end_step(end);
        if (end->status == 0)
                return WAIT_FINISHED;
        return end->no_leader || end->status == EAGAIN ? WAIT_REDIAL : WAIT_GIVE_UP;
}

static int manager_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Argosy__Request__ManagerWait *q = userdata;

        return ctl_fail(ctl, "%s is %s on this host, but the cluster %s: %s", q->manager,
                        q->detached ? "detached" : "attached",
                        q->detached ? "may still show it" : "may not show it yet",
                        wait_loop_reason(ctl, end));
}

static const WaitKind manager_wait = {.judge = manager_judge, .leave = manager_leave};

static int wait_for_leader(Ctl *ctl, char *manager, bool detached) {
        Argosy__Request__ManagerWait q = ARGOSY__REQUEST__MANAGER_WAIT__INIT;
        Argosy__Request request = REQUEST_OF(MANAGER_WAIT, manager_wait, &q);

        q.manager = manager;
        q.detached = detached;
        return wait_loop_run(ctl, &manager_wait, &request, &q);
}

// The leader is waited for when the host has done all of them: many are one change of the log then.
static int each_name(Ctl *ctl, char **args, size_t n, int (*ask)(Ctl *ctl, char *manager), bool detached) {
        _cleanup_free_ char(*names)[MANAGER_NAME_MAX] = calloc(n, sizeof(*names));
        bool waits = !ctl->opt.given[OPT_NO_BLOCK];
        size_t n_done = 0;
        int code = EXIT_OK;

        if (!names)
                return ctl_oom(ctl);
        for (size_t i = 0; i < n; i++) {
                char *name = read_name(ctl, args[i], names[n_done]);
                int one = name ? ask(ctl, name) : EXIT_USAGE;

                n_done += one == EXIT_OK;
                code = MAX_OF(code, one);
        }
        for (size_t i = 0; waits && i < n_done; i++) {
                int one = wait_for_leader(ctl, names[i], detached);

                code = MAX_OF(code, one);
        }
        return code;
}

static int attach(Ctl *ctl, char *manager) {
        Argosy__Request__ManagerAttach q =
                MESSAGE_OF(request__manager_attach, .manager = manager, .leader = ctl->opt.leader);
        Argosy__Request request = REQUEST_OF(MANAGER_ATTACH, manager_attach, &q);

        return ctl_ask(ctl, &request, CALL_ONCE, NULL, NULL);
}

int verb_manager_attach(Ctl *ctl, char **args, size_t n) {
        if (ctl->opt.leader && n > 1) {
                return ctl_usage(ctl, "--leader is about one container");
        }
        return each_name(ctl, args, n, attach, false);
}

static int detach(Ctl *ctl, char *manager) {
        Argosy__Request__ManagerDetach q =
                MESSAGE_OF(request__manager_detach, .manager = manager, .force = ctl->opt.given[OPT_FORCE]);
        Argosy__Request request = REQUEST_OF(MANAGER_DETACH, manager_detach, &q);

        return ctl_ask(ctl, &request, CALL_ONCE | CALL_PATIENT, NULL, NULL);
}

int verb_manager_detach(Ctl *ctl, char **args, size_t n) {
        return each_name(ctl, args, n, detach, true);
}
