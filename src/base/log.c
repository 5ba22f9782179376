// SPDX-License-Identifier: LGPL-2.1-or-later
//
// To the journal natively if stderr is a journal stream ($JOURNAL_STREAM names its device and inode) and the
// program has a sender (log-journal.h), else as text. Never fails: a message that cannot be written is lost,
// as everywhere.
//
// An error without a field goes through the stream even so, with its level in front as sd-daemon(3) says: it
// may be the last word of this process, and whose a datagram is the journal finds out from its sender's
// /proc, which may be gone by then; `journalctl -u` would not show why a service did not start. What comes
// through the stream belongs to the unit that systemd connected it for.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "log.h"
#include "str.h"

static int max_level = LOG_INFO;
static const char *log_name = "argosyd";
static LogSender *log_sender;

void log_set_level(int level) {
        max_level = level;
}

void log_set_name(const char *name) {
        log_name = name;
}

void log_set_sender(LogSender *sender) {
        log_sender = sender;
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

void log_write(int level, const char *file, int line, const char *field, const char *value,
               const char *format, ...) {
        char message[LOG_MESSAGE_MAX];
        va_list ap;

        if (level > max_level)
                return;
        va_start(ap, format);
        str_vfit(message, sizeof(message), format, ap);
        va_end(ap);
        if (!stderr_is_journal())
                fprintf(stderr, "%s: %s\n", log_name, message);
        else if (!log_sender || (level <= LOG_ERR && !field))
                fprintf(stderr, "<%i>%s\n", level, message);
        else
                log_sender(level, log_name, file, line, field, value, message);
}
