// SPDX-License-Identifier: LGPL-2.1-or-later
//
// sd-journal behind a small interface: open at the tail, go back, read forward batch by batch. The descriptor is
// asked for before the first read, so nothing that arrives in between is missed. Nothing is read ahead: a source
// that nobody asks has no lines, only its place in the journal. A damaged entry hides no others.

#include "journal-source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "str.h"

struct JournalSource {
        sd_journal *journal;
        int fd; // -1: it does not follow
        bool at_end;
        size_t batch_bytes;
        char **lines;
        size_t n, n_room, n_bytes;
};

// ---- format

static bool is_text(const char *s, size_t len) {
        for (size_t i = 0; i < len; i++)
                if ((unsigned char) s[i] < ' ' && s[i] != '\n' && s[i] != '\t')
                        return false;
        return true;
}

int journal_format(uint64_t at_us, const char *host, const char *ident, const char *pid, const char *text,
                   size_t len, char **ret, size_t max) {
        char when[32], note[64];
        time_t at = (time_t) (at_us / 1000000);
        struct tm tm;
        int n = 0;

        localtime_r(&at, &tm);
        strftime(when, sizeof(when), "%b %d %H:%M:%S", &tm);
        if (!is_text(text, len)) {
                snprintf(note, sizeof(note), "[%zuB blob data]", len);
                text = note;
                len = strlen(note);
        }
        while (len > 0 && text[len - 1] == '\n')
                len--;
        len = str_cut_bytes(text, len, JOURNAL_LINE_MAX);
        do {
                const char *end = memchr(text, '\n', len);
                int part = (int) (end ? (size_t) (end - text) : len);

                ret[n] = n == 0 ? str_printf("%s %s %s%s%s%s: %.*s", when, host, ident, pid ? "[" : "",
                                             pid ?: "", pid ? "]" : "", part, text)
                                : str_printf("    %.*s", part, text);
                if (!ret[n]) {
                        while (n > 0)
                                free(ret[--n]);
                        return -ENOMEM;
                }
                n++;
                text += part + (end ? 1 : 0);
                len -= (size_t) part + (end ? 1 : 0);
        } while (len > 0 && (size_t) n < max);
        return n;
}

// A field's value as a string (cut after 255 bytes), or the default. It is anybody's, too.
static void field(sd_journal *j, const char *name, const char *otherwise, char ret[static 256]) {
        const void *data;
        size_t len, skip = strlen(name) + 1;

        if (sd_journal_get_data(j, name, &data, &len) < 0 || len < skip) {
                snprintf(ret, 256, "%s", otherwise);
                return;
        }
        len = str_cut_bytes((const char *) data + skip, len - skip, 255);
        memcpy(ret, (const char *) data + skip, len);
        ret[len] = 0;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char) ret[i] < ' ')
                        ret[i] = '?';
}

// Room for all lines of a message.
static int reserve(JournalSource *s, const char *text, size_t len) {
        size_t n = s->n + 1;
        char **grown;

        for (size_t i = 0; i < MIN_OF(len, (size_t) JOURNAL_LINE_MAX); i++)
                n += text[i] == '\n';
        if (n <= s->n_room)
                return 0;
        n = MAX_OF(n, 2 * s->n_room);
        grown = realloc(s->lines, n * sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        s->lines = grown;
        s->n_room = n;
        return 0;
}

static int take_entry(JournalSource *s) {
        sd_journal *j = s->journal;
        char host[256], ident[256], pid[256];
        const void *data;
        uint64_t at_us;
        size_t len;
        int n;

        n = sd_journal_get_data(j, "MESSAGE", &data, &len);
        if (n == -ENOENT)
                return 0;
        if (n < 0)
                return n;
        n = sd_journal_get_realtime_usec(j, &at_us);
        if (n < 0)
                return n;
        // `data` is valid until the next look at the same field, so MESSAGE comes last.
        field(j, "_HOSTNAME", "localhost", host);
        field(j, "SYSLOG_IDENTIFIER", "", ident);
        if (!*ident)
                field(j, "_COMM", "unknown", ident);
        field(j, "_PID", "", pid);
        n = sd_journal_get_data(j, "MESSAGE", &data, &len);
        if (n < 0)
                return n;
        data = (const char *) data + strlen("MESSAGE=");
        len -= strlen("MESSAGE=");
        n = reserve(s, data, len);
        if (n < 0)
                return n;
        n = journal_format(at_us, host, ident, *pid ? pid : NULL, data, len, s->lines + s->n,
                           s->n_room - s->n);
        for (int i = 0; i < n; i++)
                s->n_bytes += strlen(s->lines[s->n++]) + 1;
        return MIN_OF(n, 0);
}

// ---- what is wanted

static int match(sd_journal *j, const char *field_name, const char *value) {
        _cleanup_free_ char *text = str_printf("%s=%s", field_name, value);

        return text ? sd_journal_add_match(j, text, 0) : -ENOMEM;
}

// What the unit says and what systemd says about it, as `journalctl -u` selects it.
static int match_system_unit(sd_journal *j, const char *unit) {
        int r;

        r = match(j, "_SYSTEMD_UNIT", unit);
        if (r >= 0)
                r = sd_journal_add_disjunction(j);
        if (r >= 0)
                r = match(j, "_PID", "1");
        if (r >= 0)
                r = match(j, "UNIT", unit);
        if (r >= 0)
                r = sd_journal_add_disjunction(j);
        if (r >= 0)
                r = match(j, "_UID", "0");
        if (r >= 0)
                r = match(j, "OBJECT_SYSTEMD_UNIT", unit);
        return r;
}

static int match_user_unit(sd_journal *j, uid_t manager, const char *unit) {
        char uid[16];
        int r;

        snprintf(uid, sizeof(uid), "%u", (unsigned) manager);
        r = match(j, "_UID", uid);
        if (r >= 0)
                r = match(j, "_SYSTEMD_USER_UNIT", unit);
        if (r >= 0)
                r = sd_journal_add_disjunction(j);
        if (r >= 0)
                r = match(j, "_UID", uid);
        if (r >= 0)
                r = match(j, "USER_UNIT", unit);
        if (r >= 0)
                r = sd_journal_add_disjunction(j);
        if (r >= 0)
                r = match(j, "_UID", "0");
        if (r >= 0)
                r = match(j, "OBJECT_UID", uid);
        if (r >= 0)
                r = match(j, "OBJECT_SYSTEMD_USER_UNIT", unit);
        return r;
}

// An ordinary user who may read no file at all would otherwise get an empty answer.
static int check_access(sd_journal *j) {
        int r = sd_journal_has_persistent_files(j);

        if (r == 0)
                r = sd_journal_has_runtime_files(j);
        return r == 0 && geteuid() != 0 ? -EACCES : MIN_OF(r, 0);
}

static int open_at_tail(JournalSource *s, const JournalQuestion *q) {
        int r;

        r = sd_journal_open(&s->journal, SD_JOURNAL_LOCAL_ONLY);
        if (r >= 0)
                r = check_access(s->journal);
        if (r < 0)
                return r;
        if (q->follow) {
                s->fd = sd_journal_get_fd(s->journal);
                if (s->fd < 0)
                        return s->fd;
        }
        r = q->manager == JOURNAL_SYSTEM ? match_system_unit(s->journal, q->unit)
                                         : match_user_unit(s->journal, q->manager, q->unit);
        if (r < 0)
                return r;
        r = sd_journal_seek_tail(s->journal);
        if (r < 0)
                return r;
        // One further back than wanted: reading begins with a step forward. At the very first entry that
        // step would skip it.
        r = sd_journal_previous_skip(s->journal, (uint64_t) q->n_lines + 1);
        if (r >= 0 && (unsigned) r <= q->n_lines)
                r = sd_journal_seek_head(s->journal);
        return MIN_OF(r, 0);
}

// ---- the source

int journal_source_open(const JournalQuestion *q, JournalSource **ret) {
        JournalSource *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        *s = (JournalSource){.fd = -1, .batch_bytes = q->batch_bytes ?: JOURNAL_BATCH_BYTES};
        r = open_at_tail(s, q);
        if (r < 0) {
                journal_source_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

int journal_source_fd(const JournalSource *s) {
        return s->fd;
}

static int read_batch(JournalSource *s) {
        int r;

        if (s->at_end && s->fd >= 0) {
                r = sd_journal_process(s->journal);
                if (r < 0)
                        return r;
        }
        s->at_end = false;
        while (s->n_bytes < s->batch_bytes) {
                r = sd_journal_next(s->journal);
                if (r < 0)
                        return r;
                if (r == 0) {
                        s->at_end = true;
                        return JOURNAL_END;
                }
                r = take_entry(s);
                if (r < 0 && r != -EBADMSG && r != -EADDRNOTAVAIL)
                        return r;
        }
        return JOURNAL_MORE;
}

int journal_source_read(JournalSource *s, char ***ret, size_t *ret_n) {
        int r;

        journal_source_drop_lines(s);
        r = read_batch(s);
        *ret = s->lines;
        *ret_n = s->n;
        return r;
}

void journal_source_drop_lines(JournalSource *s) {
        while (s->n > 0)
                free(s->lines[--s->n]);
        s->n_bytes = 0;
}

JournalSource *journal_source_close(JournalSource *s) {
        if (!s)
                return NULL;
        sd_journal_close(s->journal);
        journal_source_drop_lines(s);
        free(s->lines);
        free(s);
        return NULL;
}
