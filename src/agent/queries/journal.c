// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A reader is a chain of jobs in the pool: open, read a batch, read a batch, ..., close. Between two of them
// the loop hands the lines over. The descriptor is asked for before the first read, so nothing that arrives
// in between is missed. Nothing is read ahead: a reader that is held has no lines, only its place in the
// journal.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "log.h"
#include "str.h"
#include "uvx.h"

struct JournalReader {
        uv_work_t work;
        uv_poll_t poll;
        uv_loop_t *loop;
        JournalOps ops;
        void *userdata;
        JournalQuestion question; // `unit` is ours

        sd_journal *journal; // used by the pool while `working`
        bool working, polling, closing, closed_journal;
        bool held, waiting; // waiting: for that to end
        int fd;
        int error; // of the last job
        bool at_end;
        char **lines;
        size_t n, n_room, n_bytes;

        void (*closed)(void *userdata);
        void *closed_data;
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

// A field's value as a string (cut after 255 bytes), or the default.
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
}

// Room for all lines of a message.
static int reserve(JournalReader *r, const char *text, size_t len) {
        size_t n = r->n + 1;
        char **grown;

        for (size_t i = 0; i < MIN_OF(len, (size_t) JOURNAL_LINE_MAX); i++)
                n += text[i] == '\n';
        if (n <= r->n_room)
                return 0;
        n = MAX_OF(n, 2 * r->n_room);
        grown = realloc(r->lines, n * sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        r->lines = grown;
        r->n_room = n;
        return 0;
}

static int take_entry(JournalReader *r) {
        sd_journal *j = r->journal;
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
        n = reserve(r, data, len);
        if (n < 0)
                return n;
        n = journal_format(at_us, host, ident, *pid ? pid : NULL, data, len, r->lines + r->n,
                           r->n_room - r->n);
        for (int i = 0; i < n; i++)
                r->n_bytes += strlen(r->lines[r->n++]) + 1;
        return MIN_OF(n, 0);
}

// ---- in the pool

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

static int open_at_tail(JournalReader *r) {
        int e;

        e = sd_journal_open(&r->journal, SD_JOURNAL_LOCAL_ONLY);
        if (e >= 0)
                e = check_access(r->journal);
        if (e < 0)
                return e;
        if (r->question.follow) {
                r->fd = sd_journal_get_fd(r->journal);
                if (r->fd < 0)
                        return r->fd;
        }
        e = r->question.manager == JOURNAL_SYSTEM
                    ? match_system_unit(r->journal, r->question.unit)
                    : match_user_unit(r->journal, r->question.manager, r->question.unit);
        if (e < 0)
                return e;
        e = sd_journal_seek_tail(r->journal);
        if (e < 0)
                return e;
        // One further back than wanted: reading begins with a step forward. At the very first entry that
        // step would skip it.
        e = sd_journal_previous_skip(r->journal, (uint64_t) r->question.n_lines + 1);
        if (e >= 0 && (unsigned) e <= r->question.n_lines)
                e = sd_journal_seek_head(r->journal);
        return e;
}

static int read_batch(JournalReader *r) {
        r->at_end = false;
        if (r->polling) {
                int e = sd_journal_process(r->journal);

                if (e < 0)
                        return e;
        }
        while (r->n_bytes < r->question.batch_bytes) {
                int e = sd_journal_next(r->journal);

                if (e < 0)
                        return e;
                if (e == 0) {
                        r->at_end = true;
                        return 0;
                }
                e = take_entry(r);
                if (e == -EBADMSG || e == -EADDRNOTAVAIL)
                        continue; // a damaged entry hides no others
                if (e < 0)
                        return e;
        }
        return 0;
}

static void run_read(uv_work_t *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        r->error = 0;
        if (!r->journal)
                r->error = open_at_tail(r);
        if (r->error >= 0)
                r->error = read_batch(r);
}

static void run_close(uv_work_t *work) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        sd_journal_close(r->journal);
        r->journal = NULL;
}

// ---- in the loop

static void next_read(JournalReader *r);
static void close_step(JournalReader *r);

static void drop_lines(JournalReader *r) {
        while (r->n > 0)
                free(r->lines[--r->n]);
        r->n_bytes = 0;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
        JournalReader *r = poll->data;

        uv_poll_stop(poll);
        next_read(r);
}

static int wait_for_more(JournalReader *r) {
        int e;

        if (!r->polling) {
                e = uvx_errno(uv_poll_init(r->loop, &r->poll, r->fd));
                if (e < 0)
                        return e;
                r->poll.data = r;
                r->polling = true;
        }
        return uvx_errno(uv_poll_start(&r->poll, UV_READABLE, on_readable));
}

static void on_read(uv_work_t *work, int status) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);
        int e = r->error;

        r->working = false;
        if (!r->closing && r->n > 0)
                r->ops.lines(r->lines, r->n, r->userdata);
        drop_lines(r);
        if (r->closing) {
                close_step(r);
                return;
        }
        if (e >= 0 && !r->at_end) {
                next_read(r);
                return;
        }
        if (e >= 0 && r->question.follow) {
                e = wait_for_more(r);
                if (e >= 0)
                        return;
        }
        r->ops.ended(MIN_OF(e, 0), r->userdata);
}

static void next_read(JournalReader *r) {
        r->waiting = r->held;
        if (r->held)
                return;
        r->working = true;
        if (uv_queue_work(r->loop, &r->work, run_read, on_read) < 0)
                abort(); // only for a NULL callback
}

int journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *ops, void *userdata,
                       JournalReader **ret) {
        JournalReader *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        *r = (JournalReader){.loop = loop, .ops = *ops, .userdata = userdata, .question = *q, .fd = -1};
        r->question.batch_bytes = q->batch_bytes ?: JOURNAL_BATCH_BYTES;
        r->question.unit = strdup(q->unit);
        if (!r->question.unit) {
                free(r);
                return -ENOMEM;
        }
        next_read(r);
        *ret = r;
        return 0;
}

void journal_reader_hold(JournalReader *r, bool hold) {
        r->held = hold;
        if (!hold && r->waiting && !r->closing)
                next_read(r);
}

// ---- close: the poll handle, then the journal, then the memory

static void reader_free(JournalReader *r) {
        void (*closed)(void *) = r->closed;
        void *data = r->closed_data;

        free((char *) r->question.unit);
        free(r->lines);
        free(r);
        if (closed)
                closed(data);
}

static void on_poll_closed(uv_handle_t *handle) {
        JournalReader *r = handle->data;

        r->polling = false;
        close_step(r);
}

static void on_journal_closed(uv_work_t *work, int status) {
        JournalReader *r = CONTAINER_OF(work, JournalReader, work);

        r->working = false;
        close_step(r);
}

static void close_step(JournalReader *r) {
        if (r->working)
                return;
        if (r->polling) {
                if (!uv_is_closing((uv_handle_t *) &r->poll))
                        uv_close((uv_handle_t *) &r->poll, on_poll_closed);
                return;
        }
        if (!r->closed_journal) {
                r->closed_journal = r->working = true;
                if (uv_queue_work(r->loop, &r->work, run_close, on_journal_closed) < 0)
                        abort(); // only for a NULL callback
                return;
        }
        reader_free(r);
}

void journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata) {
        r->closing = true;
        r->closed = closed;
        r->closed_data = userdata;
        close_step(r);
}
