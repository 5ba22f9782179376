// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A start that failed: logged, counted, and the longer paused the more of them came in a row
// (start-failure.h).
//
//      start_failed() -> the file start-failures -> status for systemd -> clients of the socket are told
//          -> an exit status
//
// The pause is 0, 1, 2, 4 ... 30 s. Damage, or data of a newer version (EX_CONFIG), needs a person: no
// restart. Without a loop the signals that end a service end the process at once. If the count cannot be
// kept, FAILURES_UNKNOWN is used.

#include "start-failure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "fileio.h"
#include "exit-reason.h"
#include "log.h"
#include "str.h"

enum {
        PAUSE_FIRST_MS = 1000,
        PAUSE_MAX_MS = 30000,
        FAILURES_UNKNOWN = 4, // if the file cannot be written
        FAILURES_MAX = 1000,
};

unsigned start_failure_pause_ms(unsigned n) {
        unsigned ms = n > 1 ? PAUSE_FIRST_MS : 0;

        while (n-- > 2 && ms < PAUSE_MAX_MS)
                ms *= 2;
        return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

static char *path_in(const char *runtime_dir) {
        return runtime_dir ? str_printf("%s/start-failures", runtime_dir) : NULL;
}

// The number of failed starts in a row, with this one; kept in the file.
static unsigned count(const char *runtime_dir) {
        _cleanup_free_ char *path = path_in(runtime_dir);
        _cleanup_buf_ Buf before = {};
        char text[16] = "";
        unsigned long n = 0;

        if (!path)
                return FAILURES_UNKNOWN;
        if (file_read(AT_FDCWD, path, sizeof(text) - 1, &before) >= 0) {
                memcpy(text, before.data, before.len);
                n = strtoul(text, NULL, 10);
        }
        n = n < FAILURES_MAX ? n + 1 : FAILURES_MAX;
        snprintf(text, sizeof(text), "%lu\n", n);
        return file_replace(AT_FDCWD, path, text, strlen(text), 0600, 0) < 0 ? FAILURES_UNKNOWN
                                                                             : (unsigned) n;
}

static bool needs_a_person(int error) {
        return error == -EBADMSG || error == -EPROTONOSUPPORT; // damaged, or of a newer version
}

int start_failed(const char *runtime_dir, int error, const char *why, bool served) {
        unsigned pause_ms = needs_a_person(error) ? 0 : start_failure_pause_ms(count(runtime_dir));

        if (pause_ms > 0)
                log_error("%s (next try in %u s)", why, pause_ms / 1000);
        else
                log_error("%s", why);
        (void) sd_notifyf(0, "STATUS=Failed: %s\nERRNO=%i", why, -error);
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        if (!served && sd_listen_fds(0) > 0)
                exit_reason(SD_LISTEN_FDS_START, why, pause_ms);
        return needs_a_person(error) ? EX_CONFIG : EXIT_FAILURE;
}

void start_succeeded(const char *runtime_dir) {
        _cleanup_free_ char *path = path_in(runtime_dir);

        if (path)
                (void) unlink(path);
}
