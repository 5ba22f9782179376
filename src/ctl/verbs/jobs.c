// SPDX-License-Identifier: LGPL-2.1-or-later
//
// job show: who asked for what and why, how it ended, each unit that it changed, as that was before, how it
// ended, and how it stands now with what was asked for. A job of thousands of units comes in several
// answers; each is judged when it is given. The first job that there is not, or not any more, ends it.

#include <errno.h>
#include <inttypes.h>

#include "ctl.h"
#include "fields.h"
#include "json.h"
#include "message-of.h"
#include "row-json.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"

enum { HEADER_WIDTH = 8 };

typedef struct Shown {
        Json json;
        Table table;
        bool began;     // its head has been printed
        uint32_t units; // that have come
        uint32_t more;  // targets that are not listed
} Shown;

// ---- for people

static int print_line(Ctl *ctl, const char *label, const char *text) {
        _cleanup_buf_ Buf clean = {};

        if (!*text)
                return 0;
        if (text_append_clean(&clean, text, false) < 0)
                return -ENOMEM;
        fprintf(ctl->term.out, "%*s: %.*s\n", HEADER_WIDTH, label, (int) clean.len,
                (const char *) clean.data);
        return 0;
}

static int print_state(Ctl *ctl, const Argosy__Response__JobRow *job) {
        _cleanup_buf_ Buf buf = {}, ended = {};
        _cleanup_free_ char *state = NULL, *when = NULL;

        if (job_state_append(job, &buf) < 0 ||
            (job->ended_us > 0 && text_append_time(&ended, job->ended_us) < 0))
                return -ENOMEM;
        state = buf_take_string(&buf);
        when = buf_take_string(&ended);
        if (!state || !when)
                return -ENOMEM;
        return print_line(ctl, "State", state) < 0 ? -ENOMEM : print_line(ctl, "Ended", when);
}

static int append_numbers(const uint64_t *numbers, size_t n, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = buf_printf(out, "%sjob %" PRIu64, i ? ", " : "", numbers[i]);
        return r;
}

static int print_numbers(Ctl *ctl, const char *label, const uint64_t *numbers, size_t n) {
        _cleanup_buf_ Buf buf = {};
        _cleanup_free_ char *text = NULL;

        if (append_numbers(numbers, n, &buf) < 0 || !(text = buf_take_string(&buf)))
                return -ENOMEM;
        return print_line(ctl, label, text);
}

// When it was asked for, if it was held back; for whom it waits, and who waits for it.
static int print_waiting(Ctl *ctl, const Argosy__Response__JobRow *job) {
        _cleanup_buf_ Buf time = {};
        _cleanup_free_ char *asked = NULL;

        if (job->asked_us > 0 && text_append_time(&time, job->asked_us) < 0)
                return -ENOMEM;
        asked = buf_take_string(&time);
        if (!asked || print_line(ctl, "Asked", asked) < 0 || print_line(ctl, "Waits", job->held_by) < 0)
                return -ENOMEM;
        return print_numbers(ctl, "After", job->after, job->n_after) < 0 ||
                               print_numbers(ctl, "Retries", &job->retries, job->retries > 0) < 0
                       ? -ENOMEM
                       : print_numbers(ctl, "Awaited", job->waiting, job->n_waiting);
}

static int print_groups(Ctl *ctl, const Argosy__Response__JobRow *job) {
        _cleanup_buf_ Buf buf = {};
        _cleanup_free_ char *text = NULL;

        if (job_groups_append(job, &buf) < 0 || !(text = buf_take_string(&buf)))
                return -ENOMEM;
        return print_line(ctl, "Groups", text);
}

// "label disk of n1: hdd -> ssd"
static int print_settings(Ctl *ctl, const Argosy__Response__JobRow *job) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < job->n_settings; i++) {
                const Argosy__Response__JobSettingRow *s = job->settings[i];
                _cleanup_free_ char *text =
                        str_printf("%s: %s -> %s", s->setting, *s->before ? s->before : "none",
                                   *s->after ? s->after : "none");

                r = text ? print_line(ctl, "Changed", text) : -ENOMEM;
        }
        return r;
}

static int print_head(Ctl *ctl, const Argosy__Response__JobRow *job) {
        _cleanup_buf_ Buf what = {}, time = {}, clean = {};
        _cleanup_free_ char *text = NULL, *when = NULL;

        if (buf_printf(&what, "%s ", job->verb) < 0 || job_targets_append(job, &what) < 0 ||
            text_append_time(&time, job->at_us) < 0)
                return -ENOMEM;
        text = buf_take_string(&what);
        when = buf_take_string(&time);
        if (!text || !when || text_append_clean(&clean, text, false) < 0)
                return -ENOMEM;
        fprintf(ctl->term.out, "%sJob %" PRIu64 "%s: %.*s\n", colour_on(&ctl->term.style, COLOUR_BOLD),
                job->job, colour_off(&ctl->term.style, COLOUR_BOLD), (int) clean.len,
                (const char *) clean.data);
        if (print_line(ctl, "Time", when) < 0 || print_waiting(ctl, job) < 0 || print_state(ctl, job) < 0 ||
            print_line(ctl, "Author", *job->author ? job->author : "not known") < 0 ||
            print_groups(ctl, job) < 0 || print_line(ctl, "Reason", job->reason) < 0)
                return -ENOMEM;
        if (job->own) {
                fprintf(ctl->term.out, "%*s: %" PRIu32 " unit%s%s\n", HEADER_WIDTH, "Moved", job->changed,
                        job->changed == 1 ? "" : "s", job->cut ? ", and more than a job can name" : "");
                return 0;
        }
        fprintf(ctl->term.out, "%*s: %" PRIu64 ", before it %" PRIu64 "\n", HEADER_WIDTH, "Revision",
                job->revision, job->revision_before);
        fprintf(ctl->term.out, "%*s: %" PRIu32 " unit%s%s\n", HEADER_WIDTH, "Changed", job->changed,
                job->changed == 1 ? "" : "s", job->cut ? ", and more than a job can name" : "");
        return print_settings(ctl, job);
}

// Whether the job has changed the unit; else the unit was only named.
static bool is_changed(const Argosy__Response__JobUnitRow *u) {
        return u->revision > 0;
}

// "new", or what it was to be, with the first digits of its content.
static int add_before(Table *t, const Argosy__Response__JobUnitRow *u) {
        _cleanup_free_ char *text = *u->rev ? str_printf("%s %.*s", u->desired, HASH_SHOWN, u->rev)
                                            : strdup(is_changed(u) ? "new" : "-");

        return text ? table_add(t, text, COLOUR_NONE) : -ENOMEM;
}

static Colour unit_end_colour(const char *end) {
        return !*end ? COLOUR_NONE : streq(end, "ok") ? COLOUR_GREEN : COLOUR_RED;
}

// Why it ended so, and where; else why it stands now as it does.
static int add_why(Table *t, const Argosy__Response__JobUnitRow *u) {
        _cleanup_free_ char *text = NULL;

        if (!*u->end_message)
                return table_add(t, u->message, COLOUR_NONE);
        text = str_printf("%s%s%s", u->node, *u->node ? ": " : "", u->end_message);
        return text ? table_add(t, text, COLOUR_NONE) : -ENOMEM;
}

static int add_unit(Table *t, const Argosy__Response__JobUnitRow *u) {
        _cleanup_free_ char *revision = is_changed(u) ? str_printf("%" PRIu64, u->revision) : strdup("-");
        Colour colour = streq(u->now, "as asked")    ? COLOUR_GREEN
                        : streq(u->now, "otherwise") ? COLOUR_RED
                                                     : COLOUR_YELLOW;
        int r = revision ? table_add(t, u->unit, COLOUR_NONE) : -ENOMEM;

        r = r < 0 ? r : add_before(t, u);
        r = r < 0 ? r : table_add(t, revision, COLOUR_NONE);
        r = r < 0 ? r : table_add(t, u->end, unit_end_colour(u->end));
        r = r < 0 ? r : table_add(t, u->now, colour);
        return r < 0 ? r : add_why(t, u);
}

// What the cluster did by itself.
static int add_move(Table *t, const Argosy__Response__JobUnitRow *u) {
        _cleanup_buf_ Buf time = {};
        _cleanup_free_ char *when = NULL;
        int r = text_append_time(&time, u->at_us);

        when = r < 0 ? NULL : buf_take_string(&time);
        r = when ? table_add(t, u->unit, COLOUR_NONE) : -ENOMEM;
        r = r < 0 ? r : table_add(t, *u->from ? u->from : "-", COLOUR_NONE);
        r = r < 0 ? r : table_add(t, *u->node ? u->node : "-", COLOUR_NONE);
        r = r < 0 ? r : table_add(t, when, COLOUR_NONE);
        return r < 0 ? r : table_add(t, u->message, COLOUR_NONE);
}

static void begin_moves(Shown *s) {
        table_add_column(&s->table, "UNIT", true, false);
        table_add_column(&s->table, "FROM", false, false);
        table_add_column(&s->table, "TO", false, false);
        table_add_column(&s->table, "TIME", false, false);
        table_add_column(&s->table, "WHY", true, true);
}

static void begin_table(Shown *s) {
        table_add_column(&s->table, "UNIT", true, false);
        table_add_column(&s->table, "BEFORE", false, false);
        table_add_column(&s->table, "REVISION", false, false);
        table_add_column(&s->table, "END", false, false);
        table_add_column(&s->table, "NOW", false, false);
        table_add_column(&s->table, "WHY", true, true);
}

// ---- one job

static int on_job(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        const Argosy__Response__JobRow *job;
        bool json = ctl->opt.json != JSON_OFF;
        Shown *s = userdata;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || r->jobs->n_rows != 1)
                return 0;
        job = r->jobs->rows[0];
        if (!s->began && json) {
                json_begin(&s->json, '{');
                job_json_fields(job, &s->json);
                json_member_begin(&s->json, "units", '[');
        } else if (!s->began) {
                (job->own ? begin_moves : begin_table)(s);
                e = print_head(ctl, job);
        }
        s->began = true;
        for (size_t i = 0; i < job->n_units && e == 0; i++)
                if (json)
                        job_unit_json(job->units[i], &s->json);
                else
                        e = (job->own ? add_move : add_unit)(&s->table, job->units[i]);
        s->units += (uint32_t) job->n_units;
        s->more = job->n_units > 0 ? job->more_units : 0;
        return e;
}

static int print_units(Ctl *ctl, Shown *s) {
        if (table_rows(&s->table) == 0)
                return EXIT_OK;
        fputc('\n', ctl->term.out);
        return ctl_print_table(ctl, &s->table);
}

static int show(Ctl *ctl, Json *json, uint64_t number) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, &list);
        Shown s = {.json = *json};
        int code;

        list.number = number;
        do {
                list.first_unit = s.units;
                s.more = 0;
                code = ctl_ask(ctl, &request, 0, on_job, &s);
        } while (code == EXIT_OK && s.more > 0);
        if (s.began && ctl->opt.json != JSON_OFF) {
                json_end(&s.json, ']');
                json_end(&s.json, '}');
        } else if (code == EXIT_OK)
                code = print_units(ctl, &s);
        *json = s.json;
        table_done(&s.table);
        return code;
}

static int show_all(Ctl *ctl, Json *json, char **args, size_t n) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                uint64_t number;

                if (!parse_u64(args[i], INT64_MAX, &number) || number == 0)
                        return ctl_usage(ctl, "'%s' is not the number of a job", args[i]);
                if (i > 0 && ctl->opt.json == JSON_OFF)
                        fputc('\n', ctl->term.out);
                code = show(ctl, json, number);
        }
        return code;
}

int verb_job_show(Ctl *ctl, char **args, size_t n) {
        Json json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};
        int code;

        if (ctl->opt.json == JSON_OFF) {
                pager_open(&ctl->term);
                return show_all(ctl, &json, args, n);
        }
        json_begin(&json, '[');
        code = show_all(ctl, &json, args, n);
        json_end(&json, ']');
        json_finish(&json);
        return code;
}
