// SPDX-License-Identifier: LGPL-2.1-or-later
//
// list-units, list-unit-files, list-nodes, list-jobs, history. Rows keep the order in which the leader
// sorted them. Nothing is printed before all are there: a table has to know how wide its columns are, and a
// list that comes in parts begins anew when the leader ends in the middle. Of jobs each answer is a page,
// and where the next one begins.

#include <errno.h>
#include <fnmatch.h>
#include <time.h>

#include "array.h"
#include "changes-between.h"
#include "clock.h"
#include "ctl.h"
#include "fields.h"
#include "job-state.h"
#include "message-of.h"
#include "message.h"
#include "state-words.h"
#include "str.h"
#include "terminal.h"
#include "unit-options.h"
#include "verbs.h"

static_assert(TABLE_COLUMNS_MAX > (size_t) FIELDS_MAX); // and one for notes

typedef struct List {
        const FieldList *kind;
        const Field *fields[FIELDS_MAX];
        size_t n_fields;
        bool notes; // a last column that says what is odd about a unit
        Table table;
        Json json;
        ProtobufCMessage **parts; // of the answer, owned: Units or UnitFiles
        size_t n_parts, n_kept; // rows in them
        size_t n_rows, n_errors;
        unsigned noted;  // of `notes`
        uint64_t before; // of jobs: where the next question is to go on; 0: there are no older ones
        bool keeps;      // rows are not for people yet
} List;

enum { STATE_WORD_SIZE = 64 };

// A word that no row can have would list nothing, without a word.
static int check_states(Ctl *ctl, StateWordsOf of) {
        for (const char *p = ctl->opt.states; p; p = *p ? p + 1 : NULL) {
                size_t len = strcspn(p, ",");
                _cleanup_free_ char *why = NULL;

                if (!state_word_is_known(of, p, len)) {
                        why = state_words_refusal(of, p, len);
                        return why ? ctl_usage(ctl, "--state: %s", why) : ctl_oom(ctl);
                }
                p += len;
        }
        return EXIT_OK;
}

// What is odd about units, in the order in which it is explained.
static const struct {
        const char *word, *legend;
} notes[] = {
        {"looping",
         "it fails again and again, and systemd restarts it each time; `argosyctl journal UNIT` says why."},
        {"drift", "changed on its node by somebody else; `argosyctl start UNIT` mends it."},
        {"skipped",
         "systemd skipped its start, since a condition is not met; `argosyctl why UNIT` says which."},
        {"ended", "it ended well by itself; `argosyctl start UNIT` starts it again."},
        {"unseen",
         "it is down, and argosyd was not there to see why; `argosyctl start UNIT` starts it again."},
        {"bound", "stopped with a unit that it is bound to, which `argosyctl why UNIT` names; `argosyctl "
                  "start UNIT` starts it again."},
        {"conflict", "stopped by systemd for a unit that conflicts with it, which `argosyctl why UNIT` "
                     "names; `argosyctl start UNIT` starts it again."},
        {"unneeded", "stopped, as systemd does when no unit needs it (StopWhenUnneeded=)."},
        {"reset", "it failed, and somebody reset that; `argosyctl start UNIT` starts it again."},
        {"cancelled", "its start was cancelled on its node; `argosyctl start UNIT` starts it."},
        {"unbegun", "its start failed before it began; `argosyctl start UNIT` tries again."},
        {"pulling", "the image of its container is being pulled."},
        {"mismatch",
         "its node does not match its file any more; `argosyctl rebalance UNIT` moves it to one that does."},
        {"stale", "systemd runs an older file of it; `argosyctl restart UNIT` takes up the new."},
        {"older-secret",
         "it has an older version of a secret; `argosyctl restart UNIT` gives it the newest."},
};

static bool is_word_of(const char *list, const char *word) {
        size_t len = strlen(word);

        for (const char *p = list;; p++) {
                size_t n = strcspn(p, ",");

                if (n == len && strncmp(p, word, n) == 0)
                        return true;
                p += n;
                if (!*p)
                        return false;
        }
}

static int add_note(List *l, const Argosy__Response__UnitRow *u) {
        _cleanup_buf_ Buf note = {};
        _cleanup_free_ char *text = NULL;
        int r;

        r = buf_printf(&note, "%s%s%s", u->note, *u->note && *u->error ? "," : "", *u->error ? "error" : "");
        if (r < 0)
                return r;
        text = buf_take_string(&note);
        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(notes); i++)
                l->noted |= is_word_of(u->note, notes[i].word) ? 1U << i : 0;
        l->n_errors += *u->error != 0;
        return table_add(&l->table, text, COLOUR_YELLOW);
}

static int add_row(Ctl *ctl, List *l, const void *row) {
        int r = 0;

        l->n_rows++;
        if (ctl->opt.json != JSON_OFF) {
                json_begin(&l->json, '{');
                for (size_t i = 0; i < l->n_fields; i++)
                        field_json(l->fields[i], row, &l->json);
                json_end(&l->json, '}');
                return 0;
        }
        for (size_t i = 0; i < l->n_fields && r == 0; i++) {
                _cleanup_buf_ Buf cell = {};
                _cleanup_free_ char *text = NULL;

                r = field_append(l->fields[i], row, &cell);
                if (r < 0)
                        return r;
                text = buf_take_string(&cell);
                if (!text)
                        return -ENOMEM;
                r = table_add(&l->table, text, l->kind->colour(l->fields[i], row));
        }
        return r == 0 && l->notes ? add_note(l, row) : r;
}

static bool is_wanted(const Ctl *ctl, const Argosy__Response__UnitRow *u) {
        char word[STATE_WORD_SIZE];
        const char *at = ctl->opt.states;

        if (!at)
                return true;
        do {
                size_t len = strcspn(at, ",");

                str_fit(word, sizeof(word), "%.*s", (int) len, at);
                if (state_word_fits_unit(word, u))
                        return true;
                at += len;
        } while (*at++);
        return false;
}

static bool is_wanted_file(const Ctl *ctl, const Argosy__Response__UnitFileRow *u) {
        const char *s = ctl->opt.states;

        return !s || is_word_of(s, u->desired) || is_word_of(s, u->state);
}

static bool is_wanted_node(const Ctl *ctl, const Argosy__Response__NodeRow *n) {
        const char *s = ctl->opt.states;

        return !s || is_word_of(s, n->state) || (*n->mode && is_word_of(s, n->mode));
}

static void drop_parts(List *l) {
        for (size_t i = 0; i < l->n_parts; i++)
                message_free(l->parts[i]);
        free(l->parts);
        l->parts = NULL;
        l->n_parts = l->n_kept = 0;
}

// Takes over what is in it. One with nothing before it begins the list, anew if there is something. If one
// before it is missing, another list is asked for.
static int keep_part(Ctl *ctl, List *l, ProtobufCMessage *part, uint32_t first, size_t n_rows) {
        if (first == 0)
                drop_parts(l);
        if (first != l->n_kept)
                return client_lose(&ctl->client, "a part of the list has not come");
        if (ARRAY_RESERVE(l->parts, l->n_parts + 1) < 0)
                return -ENOMEM;
        l->parts[l->n_parts] = message_take(part);
        if (!l->parts[l->n_parts])
                return -ENOMEM;
        l->n_parts++;
        l->n_kept += n_rows;
        return 0;
}

static int add_units(Ctl *ctl, List *l, const Argosy__Response__Units *units) {
        int e = 0;

        for (size_t i = 0; i < units->n_rows && e == 0; i++)
                if (is_wanted(ctl, units->rows[i]))
                        e = add_row(ctl, l, units->rows[i]);
        return e;
}

static int add_unit_files(Ctl *ctl, List *l, const Argosy__Response__UnitFiles *files) {
        int e = 0;

        for (size_t i = 0; i < files->n_rows && e == 0; i++)
                if (is_wanted_file(ctl, files->rows[i]))
                        e = add_row(ctl, l, files->rows[i]);
        return e;
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        List *l = userdata;
        int e = 0;

        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                e = keep_part(ctl, l, &r->units->base, r->units->first, r->units->n_rows);
                for (size_t i = 0; r->final && i < l->n_parts && e == 0; i++)
                        e = add_units(ctl, l, (const Argosy__Response__Units *) l->parts[i]);
                break;
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                e = keep_part(ctl, l, &r->unit_files->base, r->unit_files->first, r->unit_files->n_rows);
                for (size_t i = 0; r->final && !l->keeps && i < l->n_parts && e == 0; i++)
                        e = add_unit_files(ctl, l, (const Argosy__Response__UnitFiles *) l->parts[i]);
                break;
        case ARGOSY__RESPONSE__WHAT_NODES:
                for (size_t i = 0; i < r->nodes->n_rows && e == 0; i++)
                        if (is_wanted_node(ctl, r->nodes->rows[i]))
                                e = add_row(ctl, l, r->nodes->rows[i]);
                break;
        case ARGOSY__RESPONSE__WHAT_MANAGERS:
                for (size_t i = 0; i < r->managers->n_rows && e == 0; i++)
                        e = add_row(ctl, l, r->managers->rows[i]);
                break;
        case ARGOSY__RESPONSE__WHAT_JOBS:
                for (size_t i = 0; i < r->jobs->n_rows && e == 0; i++)
                        e = add_row(ctl, l, r->jobs->rows[i]);
                l->before = r->jobs->before;
                break;
        default:
                break;
        }
        return e;
}

static void print_legend(Ctl *ctl, const List *l, const char *noun) {
        fprintf(ctl->term.out, "\n%zu %s%s listed%s.\n", l->n_rows, noun, l->n_rows == 1 ? "" : "s",
                l->before > 0 ? "; --limit=N lists more" : "");
        for (size_t i = 0; i < ELEMENTSOF(notes); i++)
                if (l->noted & 1U << i)
                        fprintf(ctl->term.out, "%s: %s\n", notes[i].word, notes[i].legend);
        if (l->n_errors > 0)
                fputs("error: `argosyctl status UNIT` says which.\n", ctl->term.out);
}

static int print_table(Ctl *ctl, const List *l, const char *noun) {
        int code;

        pager_open(&ctl->term);
        code = ctl_print_table(ctl, &l->table);
        if (code == EXIT_OK && !ctl->opt.given[OPT_NO_LEGEND])
                print_legend(ctl, l, noun);
        return code;
}

static int ask_once(Ctl *ctl, List *l, Argosy__Request *request) {
        return ctl_ask(ctl, request, CALL_PARTS, on_rows, l);
}

// A leader looks at so many jobs in one answer only.
static int ask_for_jobs(Ctl *ctl, List *l, Argosy__Request *request) {
        Argosy__Request__ListJobs *m = request->list_jobs;
        int code;

        do {
                m->limit = ctl->opt.given[OPT_ALL] ? 0 : (uint32_t) (ctl->opt.limit - l->n_rows);
                m->before = l->before;
                l->before = 0;
                code = ctl_ask(ctl, request, 0, on_rows, l);
        } while (code == EXIT_OK && l->before > 0 &&
                 (ctl->opt.given[OPT_ALL] || l->n_rows < ctl->opt.limit));
        return code;
}

// ---- as it was

static bool is_named(const Argosy__Request__ListUnitFiles *m, const char *unit) {
        for (size_t i = 0; i < m->n_patterns; i++)
                if (streq(m->patterns[i], unit) || fnmatch(m->patterns[i], unit, FNM_NOESCAPE) == 0)
                        return true;
        return m->n_patterns == 0;
}

// What is known of a unit at some time.
typedef struct PastUnit {
        const char *unit, *rev, *desired;
} PastUnit;

static int by_name(const void *a, const void *b) {
        return strcmp(((const PastUnit *) a)->unit, ((const PastUnit *) b)->unit);
}

static int print_past(Ctl *ctl, List *l, PastUnit *units, size_t n) {
        int e = 0;

        if (n > 0)
                qsort(units, n, sizeof(*units), by_name);
        for (size_t i = 0; e == 0 && i < n; i++) {
                Argosy__Response__UnitFileRow row = ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT;

                row.unit = (char *) units[i].unit;
                row.rev = (char *) units[i].rev;
                row.desired = (char *) units[i].desired;
                if (is_wanted_file(ctl, &row))
                        e = add_row(ctl, l, &row);
        }
        return e;
}

// Those that are there now and were not changed since; and those that were, as they were before.
static int list_past(Ctl *ctl, List *l, const Argosy__Request__ListUnitFiles *m, const JobChanges *changes) {
        _cleanup_free_ PastUnit *units = calloc(l->n_kept + changes->units.count + 1, sizeof(*units));
        size_t n = 0;

        if (!units)
                return -ENOMEM;
        for (size_t i = 0; i < l->n_parts; i++) {
                const Argosy__Response__UnitFiles *part = (const Argosy__Response__UnitFiles *) l->parts[i];

                for (size_t k = 0; k < part->n_rows; k++)
                        if (!map_find_str(&changes->units, part->rows[k]->unit))
                                units[n++] = (PastUnit){part->rows[k]->unit, part->rows[k]->rev,
                                                        part->rows[k]->desired};
        }
        map_foreach (slot, &changes->units) {
                const UnitChange *u = slot->value;

                if (*u->before.rev && is_named(m, u->unit))
                        units[n++] = (PastUnit){u->unit, u->before.rev, u->before.desired};
        }
        return print_past(ctl, l, units, n);
}

// What there is now is asked for first: what is changed in between stands among the changes.
static int ask_at(Ctl *ctl, List *l, Argosy__Request *request) {
        JobChanges changes = {};
        int code;

        l->keeps = true;
        code = ask_once(ctl, l, request);
        if (code == EXIT_OK)
                code = changes_between(ctl, NULL, ctl->opt.at, 0, &changes);
        if (code == EXIT_OK && list_past(ctl, l, request->list_unit_files, &changes) < 0)
                code = ctl_oom(ctl);
        job_changes_done(&changes);
        return code;
}

// ---- the verbs

static int run_list(Ctl *ctl, const FieldList *kind, const char *noun, Argosy__Request *request) {
        int (*ask)(Ctl *ctl, List *l, Argosy__Request *request) =
                request->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS ? ask_for_jobs
                : ctl->opt.at > 0                                     ? ask_at
                                                                      : ask_once;
        bool is_json = ctl->opt.json != JSON_OFF;
        List l = {.kind = kind, .json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_buf_ Buf why = {};
        int code;

        if (fields_select(kind, ctl->opt.fields, ctl->opt.json != JSON_OFF, l.fields, &l.n_fields, &why) <
            0) {
                return ctl_usage(ctl, "%.*s", (int) why.len, (const char *) why.data);
        }
        l.notes = kind == &unit_fields && !ctl->opt.fields;
        for (size_t i = 0; i < l.n_fields; i++)
                table_add_column(&l.table, l.fields[i]->header, l.fields[i]->shrink, false);
        if (l.notes)
                table_add_column(&l.table, "NOTE", false, true);
        if (is_json)
                json_begin(&l.json, '[');
        code = ask(ctl, &l, request);
        if (is_json) {
                json_end(&l.json, ']');
                json_finish(&l.json);
        } else if (code == EXIT_OK)
                code = print_table(ctl, &l, noun);
        table_done(&l.table);
        drop_parts(&l);
        return code;
}

enum { LABELS_MAX = 16 };

// What the leader is asked for.
typedef struct LabelFilter {
        Argosy__ListFilter m;
        Argosy__Label labels[LABELS_MAX], *pointers[LABELS_MAX]; // keys and values are owned
} LabelFilter;

static void label_filter_done(LabelFilter *f) {
        for (size_t i = 0; i < f->m.n_labels; i++) {
                free(f->labels[i].key);
                free(f->labels[i].value);
        }
}
#define _cleanup_labels_ _cleanup_(label_filter_done)

static int add_label(LabelFilter *f, const char *text, size_t len) {
        _cleanup_free_ char *word = strndup(text, len);
        Argosy__Label *label = &f->labels[f->m.n_labels];
        int r;

        if (!word)
                return -ENOMEM;
        argosy__label__init(label);
        r = label_parse(word, &label->key, &label->value);
        if (r == 0)
                f->pointers[f->m.n_labels++] = label;
        return r;
}

// What is in *ret is to be freed, however it ends; *ret_m is NULL if there are none.
static int read_labels(Ctl *ctl, LabelFilter *ret, Argosy__ListFilter **ret_m) {
        argosy__list_filter__init(&ret->m);
        ret->m.labels = ret->pointers;
        *ret_m = ctl->opt.labels ? &ret->m : NULL;
        for (const char *p = ctl->opt.labels; p; p = *p ? p + 1 : NULL) {
                size_t len = strcspn(p, ",");
                int r = ret->m.n_labels < LABELS_MAX ? add_label(ret, p, len) : -EINVAL;

                if (r == -ENOMEM)
                        return ctl_oom(ctl);
                if (r < 0)
                        return ctl_usage(ctl,
                                         "--label takes up to %d labels, KEY=VALUE, separated by commas, "
                                         "and not '%.*s'",
                                         LABELS_MAX, (int) len, p);
                p += len;
        }
        return EXIT_OK;
}

static int list_local(Ctl *ctl, size_t n_args) {
        Argosy__Request__LocalUnits local = ARGOSY__REQUEST__LOCAL_UNITS__INIT;
        Argosy__Request request = REQUEST_OF(LOCAL_UNITS, local_units, &local);

        if (n_args > 0) {
                return ctl_usage(ctl, "--local takes no patterns");
        }
        if (ctl->opt.labels)
                return ctl_usage(ctl, "--local takes no --label");
        ctl->warned_stale = true; // what was asked for needs no leader
        return run_list(ctl, &unit_fields, "unit", &request);
}

int verb_list_units(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_UNITS, list_units, &list);
        _cleanup_strv_ char **patterns = NULL;
        _cleanup_labels_ LabelFilter labels = {};
        int code;

        code = check_states(ctl, STATE_WORDS_OF_UNITS);
        if (code == EXIT_OK && ctl->opt.given[OPT_LOCAL])
                return list_local(ctl, n);
        if (code == EXIT_OK)
                code = read_labels(ctl, &labels, &list.filter);
        if (code == EXIT_OK)
                code = ctl_patterns(ctl, args, n, &patterns, &list.n_patterns);
        if (code != EXIT_OK)
                return code;
        list.patterns = patterns;
        list.parts = true;
        return run_list(ctl, &unit_fields, "unit", &request);
}

int verb_list_unit_files(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ListUnitFiles list = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &list);
        _cleanup_strv_ char **patterns = NULL;
        _cleanup_labels_ LabelFilter labels = {};
        int code;

        if (ctl->opt.at > 0 && ctl->opt.labels)
                return ctl_usage(ctl, "--at takes no --label: on which nodes units were then is not known");
        code = check_states(ctl, STATE_WORDS_OF_FILES);
        if (code == EXIT_OK)
                code = read_labels(ctl, &labels, &list.filter);
        if (code == EXIT_OK)
                code = ctl_patterns(ctl, args, n, &patterns, &list.n_patterns);
        if (code != EXIT_OK)
                return code;
        if (ctl->opt.at > 0 && !ctl->opt.fields)
                ctl->opt.fields = "unit,rev,desired"; // of the past nothing else is known
        list.patterns = patterns;
        list.parts = true;
        return run_list(ctl, &unit_file_fields, "unit file", &request);
}

int verb_manager_list(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ManagerList list = ARGOSY__REQUEST__MANAGER_LIST__INIT;
        Argosy__Request request = REQUEST_OF(MANAGER_LIST, manager_list, &list);

        return run_list(ctl, &manager_fields, "manager", &request);
}

int verb_list_nodes(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request request = REQUEST_OF(LIST_NODES, list_nodes, &list);
        _cleanup_labels_ LabelFilter labels = {};
        int code = check_states(ctl, STATE_WORDS_OF_NODES);

        if (code == EXIT_OK)
                code = read_labels(ctl, &labels, &list.filter);
        if (code != EXIT_OK)
                return code;
        return run_list(ctl, &node_fields, "node", &request);
}

enum { STATES_MAX = 8 };

static int read_states(Ctl *ctl, Argosy__JobState ret[STATES_MAX], size_t *ret_n) {
        for (const char *p = ctl->opt.states; p; p = *p ? p + 1 : NULL) {
                size_t len = strcspn(p, ",");

                if (*ret_n == STATES_MAX)
                        return ctl_usage(ctl, "--state: more than %d words", STATES_MAX);
                (void) job_state_from_string(p, len, &ret[*ret_n]); // it is one
                ++*ret_n;
                p += len;
        }
        return EXIT_OK;
}

static int read_since(Ctl *ctl, uint64_t *ret_us) {
        uint64_t span_us, now_us = clock_wall_us();

        if (!ctl->opt.since || text_parse_date(ctl->opt.since, ret_us))
                return EXIT_OK;
        if (!parse_span_us(ctl->opt.since, &span_us) || span_us > now_us)
                return ctl_usage(
                        ctl, "--since: '%s' is neither a time span like 2h nor a date like 2026-01-31 22:00",
                        ctl->opt.since);
        *ret_us = now_us - span_us;
        return EXIT_OK;
}

int verb_list_jobs(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, &list);
        _cleanup_strv_ char **patterns = NULL;
        char *unit = (char *) ctl->opt.unit;
        Argosy__JobState states[STATES_MAX];
        int code = check_states(ctl, STATE_WORDS_OF_JOBS);

        if (code == EXIT_OK)
                code = read_states(ctl, states, &list.n_states);
        if (code == EXIT_OK)
                code = read_since(ctl, &list.since_us);
        if (code != EXIT_OK)
                return code;
        list.states = states;
        if (unit) {
                code = ctl_patterns(ctl, &unit, 1, &patterns, &list.n_patterns);
                if (code != EXIT_OK)
                        return code;
                list.patterns = patterns;
        }
        list.author = (char *) (ctl->opt.author ?: "");
        list.nodes = (char **) &ctl->opt.node;
        list.n_nodes = ctl->opt.node != NULL;
        return run_list(ctl, &job_fields, "job", &request);
}

// The jobs that changed a unit, with what they did to it.
int verb_history(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, &list);
        _cleanup_strv_ char **patterns = NULL;
        int code = ctl_patterns(ctl, args, n, &patterns, &list.n_patterns);

        if (code != EXIT_OK)
                return code;
        list.patterns = patterns;
        list.changes = true;
        list.author = (char *) (ctl->opt.author ?: "");
        return run_list(ctl, &history_fields, "job", &request);
}
