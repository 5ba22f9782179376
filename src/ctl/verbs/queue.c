// SPDX-License-Identifier: LGPL-2.1-or-later
//
// queue: which requests may begin, and which are held back, refused, or limited. A rule is typed as what it
// does and then what it is about: `queue rule add hold unit='db@*' verb=update`. What is not named it does
// not ask for.
//
// job release: jobs that are held back may begin. job cancel: they never will, nor does what has not begun
// of those that run.

#include <errno.h>
#include <inttypes.h>

#include "cluster-setting.h"
#include "ctl.h"
#include "message-of.h"
#include "row-json.h"
#include "str.h"
#include "table.h"
#include "text.h"
#include "verbs.h"

enum { RULE_MAX = UINT32_MAX / 2 };

static const char *const actions[] = {"accept", "hold", "refuse", "limit"};

static int send_change(Ctl *ctl, Argosy__Request__QueueChange *m, ResponseFn f) {
        Argosy__Request request = REQUEST_OF(QUEUE_CHANGE, queue_change, m);

        return ctl_ask(ctl, &request, 0, f, NULL);
}

// ---- a rule that is typed

// As list-units takes it: of a service the type need not be typed. One pattern, which the caller frees.
static int read_unit(Ctl *ctl, char *word, char **ret) {
        char **names = NULL;
        size_t n;
        int code = ctl_patterns(ctl, &word, 1, &names, &n);

        if (code != EXIT_OK)
                return code;
        *ret = n == 1 ? names[0] : NULL;
        for (size_t i = n == 1; i < n; i++)
                free(names[i]);
        free(names);
        return *ret ? EXIT_OK : ctl_usage(ctl, "'%s' is more than one pattern: a rule has one", word);
}

static bool read_number(const char *text, uint32_t *ret) {
        uint64_t n;

        if (!parse_u64(text, RULE_MAX, &n) || n == 0)
                return false;
        *ret = (uint32_t) n;
        return true;
}

// KEY=VALUE. *ret_unit is what the rule's unit points to, to be freed.
static int read_condition(Ctl *ctl, char *word, Argosy__Request__QueueChange *m, char **ret_unit) {
        char *value = strchr(word, '='), **field = NULL;

        if (!value || !value[1])
                return ctl_usage(ctl,
                                 "'%s' is none of author=, verb=, unit=, role=, reason= and before=, with "
                                 "something behind it",
                                 word);
        *value++ = 0;
        if (streq(word, "author"))
                field = &m->add->author;
        else if (streq(word, "verb"))
                field = &m->add->verb;
        else if (streq(word, "role"))
                field = &m->add->role;
        else if (streq(word, "reason"))
                field = &m->add->reason;
        else if (streq(word, "before"))
                return read_number(value, &m->before)
                               ? EXIT_OK
                               : ctl_usage(ctl, "'%s' is not the number of a rule", value);
        else if (streq(word, "unit") && !*ret_unit) {
                int code = read_unit(ctl, value, ret_unit);

                m->add->unit = *ret_unit;
                return code;
        } else
                return ctl_usage(ctl,
                                 "a rule asks for author=, verb=, unit=, role= and reason=, each once, and "
                                 "not for '%s'",
                                 word);
        if (**field)
                return ctl_usage(ctl, "%s= stands there twice", word);
        *field = value;
        return EXIT_OK;
}

// What it does, and its word if that needs one. *ret_n: words that this took.
static int read_action(Ctl *ctl, char **words, size_t n, Argosy__QueueRule *rule, size_t *ret_n) {
        size_t action = 0;

        while (action < ELEMENTSOF(actions) && !streq(words[0], actions[action]))
                action++;
        if (action == ELEMENTSOF(actions))
                return ctl_usage(ctl, "'%s' is none of accept, hold, refuse TEXT and limit N", words[0]);
        rule->action = (Argosy__QueueAction) action;
        *ret_n = 1;
        if (rule->action != ARGOSY__QUEUE_ACTION__QUEUE_REFUSE &&
            rule->action != ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                return EXIT_OK;
        if (n < 2)
                return ctl_usage(ctl, rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT
                                              ? "limit needs a number: how many jobs at a time"
                                              : "refuse needs a text, which is what people are told");
        *ret_n = 2;
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                rule->text = words[1];
        else if (!read_number(words[1], &rule->limit))
                return ctl_usage(ctl, "'%s' is not a number of jobs", words[1]);
        return EXIT_OK;
}

static int on_added(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_QUEUE && r->queue->n_rows == 1 &&
            r->queue->rows[0]->rule && !ctl->opt.given[OPT_QUIET])
                fprintf(ctl->term.out, "Rule %" PRIu32 ".\n", r->queue->rows[0]->rule->number);
        return 0;
}

static int rule_add(Ctl *ctl, char **words, size_t n) {
        Argosy__QueueRule rule = ARGOSY__QUEUE_RULE__INIT;
        _cleanup_free_ char *unit = NULL;
        size_t taken = 0;
        int code;

        if (n == 0)
                return ctl_usage(
                        ctl,
                        "queue rule add needs what the rule does: accept, hold, refuse TEXT or limit N");
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &rule);
        code = read_action(ctl, words, n, &rule, &taken);
        for (size_t i = taken; i < n && code == EXIT_OK; i++)
                code = read_condition(ctl, words[i], &m, &unit);
        return code == EXIT_OK ? send_change(ctl, &m, on_added) : code;
}

static int rule_delete(Ctl *ctl, char **words, size_t n) {
        int code = EXIT_OK;

        if (n == 0)
                return ctl_usage(
                        ctl, "queue rule delete needs the numbers of rules, as queue rule list prints them");
        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;

                if (!read_number(words[i], &m.remove))
                        return ctl_usage(ctl, "'%s' is not the number of a rule", words[i]);
                code = send_change(ctl, &m, NULL);
        }
        return code;
}

// ---- what is shown

typedef struct Show {
        Table table;
        Json json;
        bool closed;
        char *reason; // owned
        uint32_t held;
        uint32_t open_max;    // jobs of one author
        Argosy__Response__Queue limits; // numbers alone
} Show;

static char *action_text(const Argosy__QueueRule *rule) {
        size_t action = (size_t) rule->action;

        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                return str_printf("refuse \"%s\"", rule->text);
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                return str_printf("limit %" PRIu32, rule->limit);
        return strdup(action < ELEMENTSOF(actions) ? actions[action] : "?");
}

static int append_conditions(const Argosy__QueueRule *rule, Buf *out) {
        const char *const words[][2] = {{"author", rule->author},
                                        {"verb", rule->verb},
                                        {"unit", rule->unit},
                                        {"role", rule->role},
                                        {"reason", rule->reason}};
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(words) && r == 0; i++)
                if (*words[i][1])
                        r = buf_printf(out, "%s%s=%s", out->len ? " " : "", words[i][0], words[i][1]);
        return r == 0 && out->len == 0 ? buf_printf(out, "everything") : r;
}

static int table_row(Table *t, const Argosy__Response__QueueRow *row) {
        _cleanup_free_ char *number = str_printf("%" PRIu32, row->rule->number),
                            *action = action_text(row->rule),
                            *running = str_printf("%" PRIu32, row->running),
                            *held = str_printf("%" PRIu32, row->held), *about = NULL;
        _cleanup_buf_ Buf conditions = {};
        int r;

        if (!number || !action || !running || !held || append_conditions(row->rule, &conditions) < 0)
                return -ENOMEM;
        about = buf_take_string(&conditions);
        r = about ? table_add(t, number, COLOUR_NONE) : -ENOMEM;
        r = r < 0 ? r : table_add(t, action, COLOUR_NONE);
        r = r < 0 ? r : table_add(t, about, COLOUR_NONE);
        r = r < 0 ? r : table_add(t, running, COLOUR_NONE);
        return r < 0 ? r : table_add(t, held, COLOUR_NONE);
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Show *s = userdata;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_QUEUE)
                return 0;
        s->closed = r->queue->closed;
        s->held = r->queue->held;
        s->open_max = r->queue->open_max;
        s->limits = (Argosy__Response__Queue){.history_mib = r->queue->history_mib,
                                              .file_kib = r->queue->file_kib,
                                              .unit_files_kib = r->queue->unit_files_kib,
                                              .files_mib = r->queue->files_mib,
                                              .files_bytes = r->queue->files_bytes,
                                              .undo_from = r->queue->undo_from};
        s->reason = strdup(r->queue->reason);
        if (!s->reason)
                return -ENOMEM;
        for (size_t i = 0; i < r->queue->n_rows && e == 0; i++)
                if (r->queue->rows[i]->rule && ctl->opt.json != JSON_OFF)
                        row_json(&queue_rule_row, r->queue->rows[i], &s->json);
                else if (r->queue->rows[i]->rule)
                        e = table_row(&s->table, r->queue->rows[i]);
        return e;
}

static int list_as_json(Ctl *ctl, Argosy__Request *request, Show *s) {
        int code;

        json_begin(&s->json, '{');
        json_member_begin(&s->json, "rules", '[');
        code = ctl_ask(ctl, request, 0, on_rows, s);
        json_end(&s->json, ']');
        s->limits.closed = s->closed;
        s->limits.reason = s->reason ?: (char *) "";
        s->limits.held = s->held;
        s->limits.open_max = s->open_max;
        row_fields_json(&queue_row, &s->limits, &s->json);
        json_end(&s->json, '}');
        json_finish(&s->json);
        return code;
}

static int print_legend(Ctl *ctl, const Show *s) {
        _cleanup_buf_ Buf reason = {};

        if (ctl->opt.given[OPT_NO_LEGEND])
                return EXIT_OK;
        if (text_append_clean(&reason, s->reason ?: "", false) < 0)
                return ctl_oom(ctl);
        fprintf(ctl->term.out, "\nThe queue is %s%s%.*s; %" PRIu32 " job%s held back.\n",
                s->closed ? "closed" : "open", reason.len ? ": " : "", (int) reason.len,
                (const char *) reason.data, s->held, s->held == 1 ? " is" : "s are");
        if (s->open_max > 0)
                fprintf(ctl->term.out,
                        "An author has up to %" PRIu32 " jobs that are running or held back.\n",
                        s->open_max);
        fprintf(ctl->term.out, "Of jobs that are over %" PRIu32 " MiB are kept, and as many of their files",
                s->limits.history_mib);
        if (s->limits.undo_from > 0)
                fprintf(ctl->term.out,
                        ": what jobs before %" PRIu64 " have changed may not be there whole to be undone",
                        s->limits.undo_from);
        if (s->limits.file_kib > 0)
                fprintf(ctl->term.out,
                        ".\nA file of a unit may have %" PRIu32 " KiB, a unit with all of its files %" PRIu32
                        " KiB; all of them may have %" PRIu32 " MiB, and have %" PRIu64 " KiB",
                        s->limits.file_kib, s->limits.unit_files_kib, s->limits.files_mib,
                        (s->limits.files_bytes + 1023) / 1024);
        fprintf(ctl->term.out, ".\n");
        return EXIT_OK;
}

static int rule_list(Ctl *ctl) {
        static const char *const headers[] = {"RULE", "ACTION", "ABOUT", "RUNNING", "HELD"};
        Argosy__Request__QueueList list = ARGOSY__REQUEST__QUEUE_LIST__INIT;
        Show s = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        Argosy__Request request = REQUEST_OF(QUEUE_LIST, queue_list, &list);
        int code;

        if (ctl->opt.json != JSON_OFF)
                code = list_as_json(ctl, &request, &s);
        else {
                for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                        table_add_column(&s.table, headers[i], i == 2, false);
                code = ctl_ask(ctl, &request, 0, on_rows, &s);
                if (code == EXIT_OK)
                        code = ctl_print_table(ctl, &s.table);
                if (code == EXIT_OK)
                        code = print_legend(ctl, &s);
                table_done(&s.table);
        }
        free(s.reason);
        return code;
}

// ---- the verbs

int verb_queue_rule(Ctl *ctl, char **words, size_t n) {
        if (streq(words[0], "add"))
                return rule_add(ctl, words + 1, n - 1);
        if (streq(words[0], "delete"))
                return rule_delete(ctl, words + 1, n - 1);
        if (streq(words[0], "list") && n == 1)
                return rule_list(ctl);
        return ctl_usage(ctl, "it is: argosyctl queue rule add|list|delete");
}

int verb_queue_close(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .close = true);

        return send_change(ctl, &m, NULL);
}

int verb_queue_open(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .open = true);

        return send_change(ctl, &m, NULL);
}

int verb_queue_limit(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;

        if (!read_number(words[0], &m.open_max) || m.open_max == 0)
                return ctl_usage(ctl, "'%s' is no number of jobs", words[0]);
        return send_change(ctl, &m, NULL);
}

// It stands beside the limit of open jobs, in the same record.
int verb_history_limit(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;

        if (!history_size_parse(words[0], &m.history_mib))
                return ctl_usage(ctl, "'%s' is no size, such as 64M", words[0]);
        return send_change(ctl, &m, NULL);
}

int verb_files_limit(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;

        for (size_t i = 0; i < n; i++) {
                char *equals = strchr(words[i], '=');
                bool good = equals;

                if (equals) {
                        *equals = 0;
                        good = files_limit_parse(words[i], equals + 1, &m);
                        *equals = '=';
                }
                if (!good)
                        return ctl_usage(ctl,
                                         "'%s' is neither file=, unit= nor all= with a size, such as "
                                         "file=256K or all=32M",
                                         words[i]);
        }
        return send_change(ctl, &m, NULL);
}

// NULL after a complaint.
static uint64_t *read_jobs(Ctl *ctl, char **words, size_t n, int *ret_code) {
        uint64_t *numbers = calloc(n, sizeof(*numbers));

        *ret_code = numbers ? EXIT_OK : ctl_oom(ctl);
        for (size_t i = 0; numbers && i < n; i++)
                if (!parse_u64(words[i], INT64_MAX, &numbers[i]) || numbers[i] == 0) {
                        *ret_code = ctl_usage(ctl, "'%s' is not the number of a job", words[i]);
                        free(numbers);
                        return NULL;
                }
        return numbers;
}

int verb_job_release(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__JobRelease m = ARGOSY__REQUEST__JOB_RELEASE__INIT;
        Argosy__Request request = REQUEST_OF(JOB_RELEASE, job_release, &m);
        int code;
        _cleanup_free_ uint64_t *numbers = read_jobs(ctl, words, n, &code);

        m.numbers = numbers;
        m.n_numbers = n;
        return code == EXIT_OK ? ctl_ask(ctl, &request, 0, NULL, NULL) : code;
}

typedef struct Cancelled {
        size_t n_received; // rows of the answer; it may come in parts, and from the first of them again
        size_t n_failed;
} Cancelled;

// What was called off, and what goes on.
static int on_cancelled(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Cancelled *c = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        for (size_t i = 0; i < r->change->n_units; i++) {
                const Argosy__Response__UnitResult *u = r->change->units[i];

                if (r->change->first + i < c->n_received)
                        continue;
                c->n_received = r->change->first + i + 1;
                if (u->status != 0) {
                        c->n_failed++;
                        ctl_fail(ctl, "%s: %s", u->name, status_text(u->status, u->message));
                } else if (!ctl->opt.given[OPT_QUIET])
                        ctl_say(ctl, "%s: %s", u->name, *u->message ? u->message : "called off");
        }
        return 0;
}

int verb_job_cancel(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__JobCancel m = ARGOSY__REQUEST__JOB_CANCEL__INIT;
        Argosy__Request request = REQUEST_OF(JOB_CANCEL, job_cancel, &m);
        Cancelled c = {};
        int code;
        _cleanup_free_ uint64_t *numbers = read_jobs(ctl, words, n, &code);

        m.numbers = numbers;
        m.n_numbers = n;
        if (code == EXIT_OK)
                code = ctl_ask(ctl, &request, CALL_PARTS, on_cancelled, &c);
        return code == EXIT_OK && c.n_failed > 0 ? EXIT_FAILED : code;
}
