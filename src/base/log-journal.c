// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages go to the journal by its own protocol, with the level, the place in the source and one field. A
// message that the journal does not take is lost.
//
// This file alone of the log needs libsystemd: a program that does not call it is linked without.

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "log-journal.h"
#include "log.h"

static void send_to_journal(int level, const char *name, const char *file, int line, const char *field,
                            const char *value, const char *message) {
        char f_prio[32], f_file[256], f_line[32], f_name[64], f_extra[512], f_message[LOG_MESSAGE_MAX + 16];
        struct iovec iov[6];
        int n = 0;

        snprintf(f_prio, sizeof(f_prio), "PRIORITY=%i", level);
        snprintf(f_file, sizeof(f_file), "CODE_FILE=%s", file);
        snprintf(f_line, sizeof(f_line), "CODE_LINE=%i", line);
        snprintf(f_name, sizeof(f_name), "SYSLOG_IDENTIFIER=%s", name);
        snprintf(f_message, sizeof(f_message), "MESSAGE=%s", message);
        iov[n++] = (struct iovec){f_prio, strlen(f_prio)};
        iov[n++] = (struct iovec){f_file, strlen(f_file)};
        iov[n++] = (struct iovec){f_line, strlen(f_line)};
        iov[n++] = (struct iovec){f_name, strlen(f_name)};
        iov[n++] = (struct iovec){f_message, strlen(f_message)};
        if (field) {
                snprintf(f_extra, sizeof(f_extra), "%s=%s", field, value ?: "");
                iov[n++] = (struct iovec){f_extra, strlen(f_extra)};
        }
        (void) sd_journal_sendv(iov, n);
}

void log_journal_use(void) {
        log_set_sender(send_to_journal);
}
