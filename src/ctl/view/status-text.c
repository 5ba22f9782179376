// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `status` says of one unit: a head, one labelled line for each thing that is known, the newest journal
// lines; and the exit codes that systemctl would have. What is not known has no line. Everything that others
// chose is cleaned of what a terminal would obey.

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "exit-code.h"
#include "fields.h"
#include "quadlet.h"
#include "status-text.h"
#include "str.h"

enum { LABEL_WIDTH = 13 }; // columns of a label with its colon and blank

typedef struct StatusText {
        const Argosy__Response__Status *status;
        const TextStyle *style;
        uint64_t now_us;
        Buf *out;
        int error;
} StatusText;

static const char *property(const Argosy__Response__Status *s, const char *key) {
        for (size_t i = 0; i < s->n_properties; i++)
                if (streq(s->properties[i]->key, key))
                        return s->properties[i]->value;
        return "";
}

static bool property_number(const Argosy__Response__Status *s, const char *key, uint64_t *ret) {
        // systemd's "not set" and "infinity" are UINT64_MAX on the bus, words in `systemctl show`
        return parse_u64(property(s, key), UINT64_MAX - 1, ret);
}

uint64_t property_time_us(const char *value) {
        struct tm tm = {.tm_isdst = -1};
        const char *rest;
        uint64_t us;
        time_t t;

        if (parse_u64(value, UINT64_MAX - 1, &us))
                return us;
        rest = strchr(value, ' '); // behind the day of the week, which depends on the locale
        if (!rest || !(rest = strptime(rest + 1, "%Y-%m-%d %H:%M:%S", &tm)))
                return 0;
        t = streq(rest, " UTC") ? timegm(&tm) : mktime(&tm);
        return t > 0 ? (uint64_t) t * USEC_PER_SEC : 0;
}

// ---- lines

static void put(StatusText *t, const char *text) {
        if (t->error == 0)
                t->error = buf_append(t->out, text, strlen(text));
}

static void put_clean(StatusText *t, const char *text) {
        if (t->error == 0)
                t->error = text_append_clean(t->out, text, false);
}

static void put_coloured(StatusText *t, Colour c, const char *text) {
        put(t, colour_on(t->style, c));
        put_clean(t, text);
        put(t, colour_off(t->style, c));
}

static void put_label(StatusText *t, const char *label) {
        if (t->error == 0)
                t->error = buf_printf(t->out, "%*s: ", LABEL_WIDTH - 2, label);
}

// "NODE: TEXT", or the text alone, behind a label; broken into lines as the terminal wants them.
static void put_wrapped(StatusText *t, const char *node, const char *text, size_t indent) {
        _cleanup_buf_ Buf clean = {};
        _cleanup_free_ char *line = NULL;

        if (t->error < 0)
                return;
        t->error = -ENOMEM;
        if (text_append_clean(&clean, node, false) == 0 && buf_append(&clean, ": ", *node ? 2 : 0) == 0 &&
            text_append_clean(&clean, text, false) == 0 && (line = buf_take_string(&clean)))
                t->error = buf_append_wrapped(t->out, line, LABEL_WIDTH, indent, t->style->width);
}

static void put_line(StatusText *t, const char *label, const char *text) {
        if (!*text)
                return;
        put_label(t, label);
        put_clean(t, text);
        put(t, "\n");
}

static Colour active_colour(const char *active) {
        if (streq(active, "active") || streq(active, "reloading") || streq(active, "refreshing"))
                return COLOUR_GREEN;
        if (streq(active, "failed"))
                return COLOUR_RED;
        return streq(active, "inactive") ? COLOUR_NONE : COLOUR_YELLOW;
}

static const char *glyph(const char *active, bool utf8) {
        if (streq(active, "failed"))
                return utf8 ? "×" : "x";
        if (streq(active, "inactive"))
                return utf8 ? "○" : "o";
        return utf8 ? "●" : "*";
}

static void put_head(StatusText *t) {
        const Argosy__Response__UnitRow *row = t->status->row;
        const char *description = property(t->status, "Description");
        Colour c = active_colour(row->active);

        put(t, colour_on(t->style, c));
        put(t, glyph(row->active, t->style->utf8));
        put(t, colour_off(t->style, c));
        put(t, " ");
        put_clean(t, row->unit);
        if (*description && !streq(description, row->unit)) {
                put(t, " - ");
                put_clean(t, description);
        }
        put(t, "\n");
}

static void put_loaded(StatusText *t) {
        const Argosy__Response__UnitRow *row = t->status->row;
        const char *path = property(t->status, "FragmentPath");

        put_label(t, "Loaded");
        put_coloured(t, streq(row->load, "loaded") || !*row->load ? COLOUR_NONE : COLOUR_RED,
                     *row->load ? row->load : "-");
        if (*path) {
                put(t, " (");
                put_clean(t, path);
                put(t, ")");
        }
        if (row->file_stale)
                put_coloured(
                        t, COLOUR_YELLOW,
                        streq(row->active, "deactivating")
                                ? " - from an older file, which is being replaced"
                                : " - systemd runs an older file; argosyctl restart takes up the new one");
        if (row->note && strstr(row->note, "older-secret"))
                put_coloured(
                        t, COLOUR_YELLOW,
                        " - it has an older version of a secret; argosyctl restart gives it the newest");
        put(t, "\n");
}

static void put_path(StatusText *t, const char *label, bool first, const char *path, const char *whose) {
        if (first)
                put_label(t, label);
        else
                put(t, "             ");
        put_clean(t, path);
        put(t, whose);
        put(t, "\n");
}

// What argosy adds on the node is no news; whatever else systemd reads there is somebody else's.
static bool is_own_drop_in(const char *path) {
        return str_has_suffix(path, "/50-argosy.conf");
}

static void put_files(StatusText *t) {
        for (size_t i = 0; i < t->status->n_files; i++)
                put_path(t, "Files", i == 0, t->status->files[i], "");
}

static void put_image(StatusText *t) {
        const Argosy__Response__UnitRow *row = t->status->row;

        if (!row || !*row->image)
                return;
        put_label(t, "Image");
        put_clean(t, row->image);
        if (*row->digest && !strstr(row->image, row->digest)) {
                put(t, "@");
                put_clean(t, row->digest);
        }
        put(t, *row->digest ? "\n" : " (not pinned)\n");
}

// Those of the content, and behind them, as systemd reads them, those that the node has of its own.
static void put_drop_ins(StatusText *t) {
        _cleanup_free_ char *paths = strdup(property(t->status, "DropInPaths"));
        char *rest = paths, *path;
        bool first = true;

        for (size_t i = 0; i < t->status->n_drop_ins; i++) {
                path = t->status->drop_ins[i];
                if (quadlet_is_beside(path, strlen(path)))
                        continue;
                put_path(t, "Drop-In", first, path, "");
                first = false;
        }
        while ((path = strsep(&rest, " ")))
                if (*path && !is_own_drop_in(path)) {
                        put_path(t, "Drop-In", first, path, " (the node's own)");
                        first = false;
                }
        if (!paths && t->error == 0)
                t->error = -ENOMEM;
}

// What else is a part of a container's content: volumes, networks, the container whose network it has.
static void put_beside(StatusText *t) {
        bool first = true;

        for (size_t i = 0; i < t->status->n_drop_ins; i++) {
                const char *path = t->status->drop_ins[i];

                if (!quadlet_is_beside(path, strlen(path)))
                        continue;
                put_path(t, "Quadlet", first, path, "");
                first = false;
        }
}

static void put_since(StatusText *t, const char *active) {
        static const struct {
                const char *active, *key;
        } keys[] = {{"active", "ActiveEnterTimestamp"},     {"reloading", "ActiveEnterTimestamp"},
                    {"refreshing", "ActiveEnterTimestamp"}, {"inactive", "InactiveEnterTimestamp"},
                    {"failed", "InactiveEnterTimestamp"},   {"activating", "InactiveExitTimestamp"},
                    {"deactivating", "ActiveExitTimestamp"}};
        uint64_t since = 0;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (streq(active, keys[i].active))
                        since = property_time_us(property(t->status, keys[i].key));
        if (since == 0 || t->error < 0)
                return;
        put(t, " since ");
        t->error = text_append_time(t->out, since);
        if (t->now_us <= since || t->error < 0)
                return;
        put(t, "; ");
        if (t->error == 0)
                t->error = text_append_span(t->out, t->now_us - since);
        put(t, " ago");
}

static void put_active(StatusText *t) {
        const Argosy__Response__UnitRow *row = t->status->row;
        const char *result = property(t->status, "Result");

        put_label(t, "Active");
        put(t, colour_on(t->style, active_colour(row->active)));
        put_clean(t, *row->active ? row->active : "-");
        if (*row->sub && !streq(row->sub, row->active)) {
                put(t, " (");
                put_clean(t, row->sub);
                put(t, ")");
        }
        put(t, colour_off(t->style, active_colour(row->active)));
        if (*result && !streq(result, "success")) {
                put(t, " (Result: ");
                put_clean(t, result);
                put(t, ")");
        }
        put_since(t, row->active);
        put(t, "\n");
}

static void put_revision(StatusText *t, const Argosy__Response__Status *s) {
        if (t->error == 0)
                t->error = buf_printf(t->out, " (revision %" PRIu64 "%s%.*s", s->revision,
                                      *s->row->spec ? ", file " : "", HASH_SHOWN, s->row->spec);
        if (t->error == 0 && s->job > 0)
                t->error = buf_printf(t->out, ", job %" PRIu64, s->job);
        put(t, ")");
}

static void put_placement(StatusText *t) {
        const Argosy__Response__Status *s = t->status;

        put_line(t, "Node", *s->row->node ? s->row->node : "-");
        put_label(t, "Desired");
        put_clean(t, *s->desired ? s->desired : "-");
        if (s->revision > 0)
                put_revision(t, s);
        put(t, "\n");
        if (s->row->drift) {
                put_label(t, "Drift");
                put_coloured(t, COLOUR_YELLOW,
                             "changed on the node by somebody else; argosyctl start brings it back");
                put(t, "\n");
        }
        if (*s->why || *s->row->error) {
                put_label(t, "Why");
                put(t, colour_on(t->style, COLOUR_RED));
                put_wrapped(t, "", *s->why ? s->why : s->row->error, LABEL_WIDTH);
                put(t, colour_off(t->style, COLOUR_RED));
                put(t, "\n");
        }
        for (size_t i = 0; i < s->n_refusals; i++) {
                put(t, "             ");
                put_wrapped(t, s->refusals[i]->node, s->refusals[i]->reason, LABEL_WIDTH + 2);
                put(t, "\n");
        }
}

// How a process ended: CLD_EXITED, CLD_KILLED and CLD_DUMPED of waitid(2), or their words.
static const char *exit_word(const char *code) {
        if (streq(code, "1") || streq(code, "exited"))
                return "exited";
        if (streq(code, "2") || streq(code, "killed"))
                return "killed";
        return streq(code, "3") || streq(code, "dumped") ? "dumped" : NULL;
}

static void put_main_pid(StatusText *t) {
        const Argosy__Response__Status *s = t->status;
        const char *code = exit_word(property(s, "ExecMainCode"));
        uint64_t pid, status = 0;

        if (property_number(s, "MainPID", &pid) && pid > 0)
                put_line(t, "Main PID", property(s, "MainPID"));
        else if (property_number(s, "ExecMainPID", &pid) && pid > 0 && code && t->error == 0) {
                const char *signal_name;

                (void) property_number(s, "ExecMainStatus", &status);
                signal_name =
                        streq(code, "exited") ? NULL : sigabbrev_np((int) MIN_OF(status, (uint64_t) 1000));
                t->error = buf_printf(t->out, "%11s: %" PRIu64 " (code=%s, %s=%" PRIu64 "%s%s)\n",
                                      "Main PID", pid, code, streq(code, "exited") ? "status" : "signal",
                                      status, signal_name ? "/" : "", signal_name ?: "");
        }
}

// As argosy.proto says.
enum { KNOWS_CPU = 1, KNOWS_TASKS = 2, KNOWS_MEMORY = 4, KNOWS_IO = 8 };

// From the unit's control group; what that does not tell, and what a unit used that has none any more, from
// systemd's properties.
static bool resource(const Argosy__Response__Status *s, uint32_t bit, const char *name, uint64_t *ret) {
        const Argosy__Response__UsageRow *u = s->usage;

        if (!u || !(u->known & bit))
                return property_number(s, name, ret);
        *ret = bit == KNOWS_CPU ? u->cpu_us * 1000 : bit == KNOWS_TASKS ? u->tasks : u->memory;
        return true;
}

static void put_io(StatusText *t) {
        const Argosy__Response__UsageRow *u = t->status->usage;

        if (!u || !(u->known & KNOWS_IO))
                return;
        put_label(t, "IO");
        if (t->error == 0)
                t->error = text_append_bytes(t->out, u->io_read);
        put(t, " read, ");
        if (t->error == 0)
                t->error = text_append_bytes(t->out, u->io_write);
        put(t, " written\n");
}

static void put_resources(StatusText *t) {
        const Argosy__Response__Status *s = t->status;
        uint64_t n, limit;

        put_io(t);
        if (resource(s, KNOWS_TASKS, "TasksCurrent", &n) && t->error == 0) {
                t->error = buf_printf(t->out, "%11s: %" PRIu64, "Tasks", n);
                if (property_number(s, "TasksMax", &limit) && t->error == 0)
                        t->error = buf_printf(t->out, " (limit: %" PRIu64 ")", limit);
                put(t, "\n");
        }
        if (resource(s, KNOWS_MEMORY, "MemoryCurrent", &n)) {
                put_label(t, "Memory");
                if (t->error == 0)
                        t->error = text_append_bytes(t->out, n);
                put(t, "\n");
        }
        if (resource(s, KNOWS_CPU, "CPUUsageNSec", &n)) {
                put_label(t, "CPU");
                if (t->error == 0)
                        t->error = text_append_span(t->out, n / 1000);
                put(t, "\n");
        }
        put_line(t, "CGroup", property(s, "ControlGroup"));
}

int status_format(const Argosy__Response__Status *s, const TextStyle *style, uint64_t now_wall_us,
                  Buf *out) {
        static const Argosy__Response__UnitRow none = ARGOSY__RESPONSE__UNIT_ROW__INIT;
        Argosy__Response__Status whole = *s;
        StatusText t = {&whole, style, now_wall_us, out, 0};

        if (!whole.row)
                whole.row = (Argosy__Response__UnitRow *) &none;
        put_head(&t);
        put_loaded(&t);
        put_drop_ins(&t);
        put_beside(&t);
        put_files(&t);
        put_image(&t);
        put_active(&t);
        put_placement(&t);
        put_line(&t, "TriggeredBy", property(s, "TriggeredBy"));
        put_line(&t, "Triggers", property(s, "Triggers"));
        put_line(&t, "Docs", property(s, "Documentation"));
        put_main_pid(&t);
        put_line(&t, "Status", property(s, "StatusText"));
        put_resources(&t);
        if (s->n_log > 0)
                put(&t, "\n");
        for (size_t i = 0; i < s->n_log; i++) {
                if (t.error == 0)
                        t.error = text_append_clean(out, s->log[i], true);
                put(&t, "\n");
        }
        return t.error;
}

// ---- exit codes

static bool is_active(const char *active) {
        return streq(active, "active") || streq(active, "reloading") || streq(active, "refreshing");
}

static bool is_unknown(const char *active) {
        return !*active || streq(active, "unknown");
}

int status_exit_code(const char *active) {
        return is_active(active) ? EXIT_OK : is_unknown(active) ? EXIT_UNKNOWN : EXIT_INACTIVE;
}

void active_tally_add(ActiveTally *t, const char *active) {
        if (is_active(active))
                t->active++;
        else if (is_unknown(active))
                t->unknown++;
        else
                t->inactive++;
}

int active_tally_exit_code(const ActiveTally *t) {
        return t->active > 0 ? EXIT_OK : t->inactive > 0 ? EXIT_INACTIVE : EXIT_UNKNOWN;
}

const char *active_state_of_two(const char *a, const char *b) {
        return status_exit_code(b) == EXIT_OK && status_exit_code(a) != EXIT_OK ? b
               : is_unknown(a) && !is_unknown(b)                                ? b
                                                                                : a;
}
