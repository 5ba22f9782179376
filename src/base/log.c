// SPDX-License-Identifier: LGPL-2.1-or-later
//
// To the journal natively if stderr is a journal stream ($JOURNAL_STREAM names its device and inode), else
// as text. Never fails: a message that cannot be written is lost, as everywhere.
//
// An error without a field goes through the stream even so, with its level in front as sd-daemon(3) says: it
// may be the last word of this process, and whose a datagram is the journal finds out from its sender's
// /proc, which may be gone by then; `journalctl -u` would not show why a service did not start. What comes
// through the stream belongs to the unit that systemd connected it for.

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "log.h"
#include "str.h"

enum { MESSAGE_MAX = 2048 }; // bytes; longer messages are cut

static int max_level = LOG_INFO;
static const char *log_name = "argosyd";

void log_set_level(int level) {
        max_level = level;
}

void log_set_name(const char *name) {
        log_name = name;
}

static int stderr_is_journal(void) {
        static int cached = -1;
        unsigned long long dev, ino;
        const char *env;
        struct stat st;

        if (cached >= 0)
                return cached;
        env = getenv("JOURNAL_STREAM");
        cached = env && sscanf(env, "%llu:%llu", &dev, &ino) == 2 && fstat(2, &st) == 0 &&
                 st.st_dev == (dev_t) dev && st.st_ino == (ino_t) ino;
        return cached;
}

static void send_to_journal(int level, const char *file, int line, const char *field, const char *value,
                            const char *message) {
        char f_prio[32], f_file[256], f_line[32], f_name[64], f_extra[512], f_message[MESSAGE_MAX + 16];
        struct iovec iov[6];
        int n = 0;

        snprintf(f_prio, sizeof(f_prio), "PRIORITY=%i", level);
        snprintf(f_file, sizeof(f_file), "CODE_FILE=%s", file);
        snprintf(f_line, sizeof(f_line), "CODE_LINE=%i", line);
        snprintf(f_name, sizeof(f_name), "SYSLOG_IDENTIFIER=%s", log_name);
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

void log_write(int level, const char *file, int line, const char *field, const char *value,
               const char *format, ...) {
        char message[MESSAGE_MAX];
        va_list ap;

        if (level > max_level)
                return;
        va_start(ap, format);
        str_vfit(message, sizeof(message), format, ap);
        va_end(ap);
        if (level <= LOG_ERR && !field && stderr_is_journal())
                fprintf(stderr, "<%i>%s\n", level, message);
        else if (stderr_is_journal())
                send_to_journal(level, file, line, field, value, message);
        else
                fprintf(stderr, "%s: %s\n", log_name, message);
}
