// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// argosyd's end of a helper (manager-helper.h): a process that is started, asked and ended. To argosyd it is
// a stranger, since its user may have it do anything: its frames have a limit, it has HELPER_ANSWER_MS for
// each answer, and a connection that it brings must lead to a process of that user, or to the container's
// init.

#include <sys/types.h>
#include <uv.h>

#include "helper-frame.h"

typedef struct HelperLink HelperLink;

typedef struct HelperOps {
        // To the oldest request; of a connecting helper: what came of it. `fd`: the callee's; -1: none, and
        // never one that was not checked. Borrowed.
        void (*reply)(const Argosy__HelperReply *reply, int fd, void *userdata);
        // It has ended: 0 after it was idle, else negative errno (-ETIMEDOUT, -EBADMSG, -ECONNRESET). Last
        // one but `closed`; the owner closes the link (now or later).
        void (*ended)(int error, void *userdata);
        // The process is gone and the handles are closed.
        void (*closed)(void *userdata);
} HelperOps;

typedef struct HelperConfig {
        uv_loop_t *loop;
        const char *const
                *command;    // what to execute, up to the MODE; NULL: this program with --manager-helper;
                             // one word "@PATH": argosy-helper.service is asked on that socket
        const char *manager; // user@UID or container@NAME
        pid_t leader;        // of the container
        uint64_t born;       // its process_birth(): another process that has got its number is not entered
        HelperMode mode;
        unsigned answer_ms;  // 0: HELPER_ANSWER_MS
} HelperConfig;

// No callback fires before return. Everything is copied.
int helper_link_new(const HelperConfig *config, const HelperOps *ops, void *userdata, HelperLink **ret);
// -EMSGSIZE: more than a frame takes. Other negative errno: it will end, or has ended.
int helper_link_send(HelperLink *l, const Argosy__HelperRequest *request);
// While it is patient, nothing has to be answered in time, and it may idle for as long as it likes.
void helper_link_be_patient(HelperLink *l, bool patient);
// Ends the process at once. From any callback but `closed`.
void helper_link_close(HelperLink *l);
