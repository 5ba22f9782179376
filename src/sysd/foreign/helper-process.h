// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The process of a helper, as argosyd sees it: it is started, and is gone some time after it was to end.
// argosy-helper.service starts it (helper-service.h), since argosyd's own service may not become a user or
// enter a container; or argosyd itself does, a user's or one that no systemd has started.

#include <stdbool.h>
#include <uv.h>

#include "helper-link.h"

typedef struct HelperProcess {
        uv_process_t process; // one of argosyd's own
        // one of the service's: it is gone when the service closes the connection that it was asked for on
        uv_poll_t poll;
        int fd;               // of that; -1: it is argosyd's own
        enum { HELPER_NONE, HELPER_RUNS, HELPER_IS_GONE } state;
        void (*closed)(void *userdata); // not NULL: it is to end
        void *userdata;
} HelperProcess;

// `link` becomes its descriptor 0 and stays the caller's. Also after an error, a negative errno, it must be
// closed.
int helper_process_start(HelperProcess *p, const HelperConfig *config, int link);
// Kills it. closed() fires when it is gone and the handle is closed: before return, if nothing could be
// started.
void helper_process_close(HelperProcess *p, void (*closed)(void *userdata), void *userdata);
