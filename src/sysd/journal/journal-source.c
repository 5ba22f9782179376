// SPDX-License-Identifier: LGPL-2.1-or-later
//
// sd-journal behind a small interface: open at the tail, go back, read forward batch by batch. What follows
// watches the journal's directories (journal-watch.c) from before they are read, so nothing that arrives in
// between is missed. When there are other files, after a rotation or when old ones were removed, the journal
// is opened again, behind the entry that was read last (whose place is noted before, since systemd empties
// files that it removes). Nothing is read ahead: a source that nobody asks has no lines, only its place in
// the journal. A damaged entry hides no others.

#include "journal-source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "journal-cause.h"
#include "journal-watch.h"
#include "local-time.h"
#include "str.h"

enum {
        DIR_SIZE = 64,
        N_DIRS = 4,
        CAUSE_ENTRIES = 256,   // newest ones, among which a cause is looked for
        CAUSE_LINES_MAX = 3,   // of one message
        CAUSE_TEXT_MAX = 1024, // bytes by which messages are compared
};

struct JournalSource {
        sd_journal *journal;
        uid_t manager;
        char *unit;
        char dirs[N_DIRS][DIR_SIZE];
        const char *watched[N_DIRS + 1];
        JournalWatch *watch; // NULL: it does not follow
        char *cursor;        // of one that follows: of the entry that was read last; NULL: of none
        bool on_unread; // it stands on an entry that was not read
        size_t batch_bytes;
        unsigned n_causes; // messages that say why it failed; 0: it is read line by line
        uint64_t since_us; // of these, wall clock
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
        struct tm tm;
        int n = 0;

        if (!local_time(at_us, &tm) || strftime(when, sizeof(when), "%b %d %H:%M:%S", &tm) == 0)
                *when = 0;
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

        for (size_t i = 0; i < MIN_OF(len, (size_t) JOURNAL_LINE_MAX); i++)
                n += text[i] == '\n';
        return ARRAY_GROW(s->lines, s->n_room, n);
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

static int open_files(const JournalSource *s, sd_journal **ret) {
        int r = sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY);

        if (r < 0)
                return r;
        return s->manager == JOURNAL_SYSTEM ? match_system_unit(*ret, s->unit)
                                            : match_user_unit(*ret, s->manager, s->unit);
}

static int seek_near_tail(sd_journal *j, unsigned n_lines) {
        int r = sd_journal_seek_tail(j);

        if (r < 0)
                return r;
        // One further back than wanted: reading begins with a step forward. At the very first entry that
        // step would skip it.
        r = sd_journal_previous_skip(j, (uint64_t) n_lines + 1);
        if (r >= 0 && (unsigned) r <= n_lines)
                r = sd_journal_seek_head(j);
        return MIN_OF(r, 0);
}

// ---- what follows

// Where sd-journal finds this machine's files.
static int watch_dirs(JournalSource *s) {
        static const char *const tops[] = {"/run/log/journal", "/var/log/journal"};
        char id[SD_ID128_STRING_MAX] = "";
        sd_id128_t machine;
        size_t n = 0;

        if (sd_id128_get_machine(&machine) >= 0)
                sd_id128_to_string(machine, id);
        for (size_t i = 0; i < ELEMENTSOF(tops); i++) {
                str_fit(s->dirs[n++], DIR_SIZE, "%s", tops[i]);
                if (*id)
                        str_fit(s->dirs[n++], DIR_SIZE, "%s/%s", tops[i], id);
        }
        for (size_t i = 0; i < n; i++)
                s->watched[i] = s->dirs[i];
        return journal_watch_new(s->watched, &s->watch);
}

// Nothing is known of what came after that entry, also if it is gone itself.
static int seek_behind(JournalSource *s, sd_journal *j) {
        int r;

        if (!s->cursor)
                return sd_journal_seek_head(j);
        r = sd_journal_seek_cursor(j, s->cursor);
        if (r >= 0)
                r = sd_journal_next(j);
        if (r <= 0)
                return r;
        r = sd_journal_test_cursor(j, s->cursor);
        s->on_unread = r == 0;
        return MIN_OF(r, 0);
}

static int note_place(JournalSource *s) {
        char *cursor;
        int r = s->watch ? sd_journal_get_cursor(s->journal, &cursor) : -EADDRNOTAVAIL;

        if (r < 0)
                return r == -EADDRNOTAVAIL ? 0 : r; // it stands nowhere
        free(s->cursor);
        s->cursor = cursor;
        return 0;
}

static int open_again(JournalSource *s) {
        sd_journal *j = NULL;
        int r = journal_watch_again(s->watch);

        if (r >= 0)
                r = open_files(s, &j);
        if (r >= 0)
                r = seek_behind(s, j);
        if (r < 0) {
                sd_journal_close(j);
                return r;
        }
        sd_journal_close(s->journal);
        s->journal = j;
        return 0;
}

static int take_changes(JournalSource *s) {
        int r = s->watch ? journal_watch_read(s->watch) : JOURNAL_AS_IT_WAS;

        return r == JOURNAL_OTHER_FILES ? open_again(s) : MIN_OF(r, 0);
}

// ---- the source

static int open_at_tail(JournalSource *s, const JournalQuestion *q) {
        int r = q->follow && !s->n_causes ? watch_dirs(s) : 0;

        if (r >= 0)
                r = open_files(s, &s->journal);
        if (r >= 0)
                r = check_access(s->journal);
        if (r >= 0)
                r = seek_near_tail(s->journal, s->n_causes ? CAUSE_ENTRIES : q->n_lines);
        return r < 0 ? r : note_place(s);
}

static uint64_t since(uint64_t within_us) {
        uint64_t now = clock_wall_us();

        return now > within_us ? now - within_us : 0;
}

int journal_source_open(const JournalQuestion *q, JournalSource **ret) {
        JournalSource *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        *s = (JournalSource){.manager = q->manager,
                             .unit = strdup(q->unit),
                             .batch_bytes = q->batch_bytes ?: JOURNAL_BATCH_BYTES,
                             .n_causes = q->cause_within_us ? q->n_lines : 0,
                             .since_us = since(q->cause_within_us)};
        r = s->unit ? open_at_tail(s, q) : -ENOMEM;
        if (r < 0) {
                journal_source_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

int journal_source_fd(const JournalSource *s) {
        return s->watch ? journal_watch_fd(s->watch) : -1;
}

// Whether there is an entry that was not read. What has been damaged may have been removed meanwhile.
static int step(JournalSource *s) {
        int r = s->on_unread ? 1 : sd_journal_next(s->journal);

        if (r == -EBADMSG && s->watch && journal_watch_read(s->watch) == JOURNAL_OTHER_FILES) {
                r = open_again(s);
                if (r >= 0)
                        r = s->on_unread ? 1 : sd_journal_next(s->journal);
        }
        s->on_unread = false;
        return r;
}

static int read_batch(JournalSource *s) {
        int r;

        r = take_changes(s);
        if (r < 0)
                return r;
        while (s->n_bytes < s->batch_bytes) {
                r = step(s);
                if (r < 0)
                        return r;
                if (r == 0)
                        return JOURNAL_END;
                r = note_place(s);
                if (r >= 0)
                        r = take_entry(s);
                if (r < 0 && r != -EBADMSG && r != -EADDRNOTAVAIL)
                        return r;
        }
        return JOURNAL_MORE;
}

// ---- why it failed

// An entry that was read, and where its lines are.
typedef struct Candidate {
        JournalEntry entry;
        char text[CAUSE_TEXT_MAX];
        size_t first, n; // in lines
} Candidate;

static bool has_field(sd_journal *j, const char *name) {
        const void *data;
        size_t len;

        return sd_journal_get_data(j, name, &data, &len) >= 0;
}

// systemd names the run in a field of its own; of what a unit says journald does.
static void take_invocation(JournalSource *s, JournalEntry *e) {
        static const char *const of_manager[] = {"INVOCATION_ID", "USER_INVOCATION_ID"},
                                        *const of_unit[] = {"_SYSTEMD_INVOCATION_ID"};
        const char *const *names = e->by_manager ? of_manager : of_unit;
        char value[256];

        for (size_t i = 0;
             i < (e->by_manager ? ELEMENTSOF(of_manager) : ELEMENTSOF(of_unit)) && !*e->invocation; i++) {
                field(s->journal, names[i], "", value);
                str_fit(e->invocation, sizeof(e->invocation), "%s", value);
        }
}

static int take_candidate(JournalSource *s, Candidate *c) {
        char priority[256];
        const void *data;
        size_t len;
        int r;

        *c = (Candidate){.first = s->n};
        r = take_entry(s);
        c->n = s->n - c->first;
        if (r < 0 || c->n == 0)
                return r;
        c->entry.by_manager = has_field(s->journal, "UNIT") || has_field(s->journal, "USER_UNIT");
        take_invocation(s, &c->entry);
        field(s->journal, "PRIORITY", "6", priority);
        c->entry.priority = (unsigned) strtoul(priority, NULL, 10);
        r = sd_journal_get_realtime_usec(s->journal, &c->entry.at_us);
        if (r >= 0)
                r = sd_journal_get_data(s->journal, "MESSAGE", &data, &len);
        if (r < 0)
                return r;
        str_fit(c->text, sizeof(c->text), "%.*s",
                (int) MIN_OF(len - strlen("MESSAGE="), (size_t) CAUSE_TEXT_MAX),
                (const char *) data + strlen("MESSAGE="));
        return 0;
}

static void keep_chosen(JournalSource *s, const Candidate *all, size_t n, const bool *chosen) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < all[i].n; k++) {
                        char *line = s->lines[all[i].first + k];

                        if (chosen[i] && k < CAUSE_LINES_MAX)
                                s->lines[kept++] = line;
                        else
                                free(line);
                }
        s->n = kept;
}

static int read_candidates(JournalSource *s, Candidate *all, size_t *n) {
        int r;

        while (*n < CAUSE_ENTRIES && (r = step(s)) != 0) {
                if (r < 0)
                        return r;
                r = take_candidate(s, &all[*n]);
                // also of one that could not be read to its end: keep_chosen() frees its lines
                *n += all[*n].n > 0;
                if (r < 0 && r != -EBADMSG && r != -EADDRNOTAVAIL)
                        return r;
        }
        return 0;
}

static int read_causes(JournalSource *s) {
        _cleanup_free_ Candidate *all = calloc(CAUSE_ENTRIES, sizeof(*all));
        _cleanup_free_ JournalEntry *entries = calloc(CAUSE_ENTRIES, sizeof(*entries));
        bool chosen[CAUSE_ENTRIES] = {};
        size_t n = 0;
        int r;

        if (!all || !entries)
                return -ENOMEM;
        r = read_candidates(s, all, &n);
        for (size_t i = 0; i < n; i++) {
                entries[i] = all[i].entry;
                entries[i].text = all[i].text;
        }
        (void) journal_cause_choose(entries, n, s->since_us, s->n_causes, chosen);
        keep_chosen(s, all, n, chosen);
        return r < 0 ? r : JOURNAL_END;
}

int journal_source_read(JournalSource *s, char ***ret, size_t *ret_n) {
        int r;

        journal_source_drop_lines(s);
        r = s->n_causes ? read_causes(s) : read_batch(s);
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
        journal_watch_free(s->watch);
        journal_source_drop_lines(s);
        free(s->cursor);
        free(s->unit);
        free(s->lines);
        free(s);
        return NULL;
}
