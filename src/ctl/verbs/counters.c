// SPDX-License-Identifier: LGPL-2.1-or-later
//
// counters: what this host's argosyd has counted. Needs no leader.
//
// A figure with labels is name{key="value"} for people, who are not shown those that are 0, and an object by
// value for programs. Of times there are only bounds: what is said of them is the bound that so many did not
// exceed.

#include <inttypes.h>

#include "clock.h"
#include "ctl.h"
#include "json.h"
#include "message-of.h"
#include "str.h"
#include "table.h"
#include "verbs.h"

enum { PATH_MAX_LABELS = 2 }; // a newer argosyd may have more: they are left out

typedef struct Counters {
        Table table, times;
        Json json;
        const char *path[1 + PATH_MAX_LABELS]; // objects that are open: a name, then values of labels
        size_t n_open;
} Counters;

typedef const Argosy__Response__Counter Row;
typedef const Argosy__Response__TurnTimes Turns;

static size_t n_labels_of(Row *row) {
        return MIN_OF(row->n_labels, (size_t) PATH_MAX_LABELS);
}

// ------------------------------------------------------------------------------------------------ programs

static void close_to(Counters *c, size_t n) {
        for (; c->n_open > n; c->n_open--)
                json_end(&c->json, '}');
}

static const char *step_of(Row *row, size_t i) {
        return i == 0 ? row->name : row->labels[i - 1]->value;
}

static void write_counter(Counters *c, Row *row) {
        size_t n = n_labels_of(row), same = 0;

        while (same < c->n_open && same < n && streq(c->path[same], step_of(row, same)))
                same++;
        close_to(c, same);
        for (; c->n_open < n; c->n_open++) {
                c->path[c->n_open] = step_of(row, c->n_open);
                json_member_begin(&c->json, c->path[c->n_open], '{');
        }
        json_member_u64(&c->json, step_of(row, n), row->value);
}

// ------------------------------------------------------------------------------------------------ people

static int add_counter(Counters *c, Row *row) {
        char name[256], value[32];
        size_t len = str_fit(name, sizeof(name), "%s", row->name);
        int r;

        if (row->n_labels > 0 && row->value == 0)
                return 0;
        for (size_t i = 0; i < n_labels_of(row) && len < sizeof(name); i++)
                len += str_fit(name + len, sizeof(name) - len, "%s%s=\"%s\"", i == 0 ? "{" : ",",
                               row->labels[i]->key, row->labels[i]->value);
        if (row->n_labels > 0 && len < sizeof(name))
                (void) str_fit(name + len, sizeof(name) - len, "}");
        snprintf(value, sizeof(value), "%" PRIu64, row->value);
        r = table_add(&c->table, name, COLOUR_NONE);
        if (r == 0)
                r = table_add(&c->table, value, COLOUR_NONE);
        return r < 0 ? r : table_add(&c->table, row->help, COLOUR_NONE);
}

// ------------------------------------------------------------------------------------------------ times

// The place of the bound that at least so many thousandths of all did not exceed: n_bounds_us if they are
// longer than all.
static size_t bound_of(Turns *t, uint64_t permille) {
        uint64_t all = t->counts[t->n_bounds_us];
        size_t i = 0;

        while (i < t->n_bounds_us && t->counts[i] * 1000 < all * permille)
                i++;
        return i;
}

static void write_bound(Json *j, const char *key, Turns *t, uint64_t permille) {
        size_t i = bound_of(t, permille);

        json_key(j, key);
        if (t->counts[t->n_bounds_us] == 0 || i == t->n_bounds_us)
                json_null(j);
        else
                json_u64(j, t->bounds_us[i]);
}

static void write_times(Counters *c, const char *name, Turns *t) {
        _cleanup_free_ char *key = str_printf("%s_seconds", name);

        close_to(c, 0);
        json_member_begin(&c->json, key ?: name, '{');
        json_member_u64(&c->json, "count", t->counts[t->n_bounds_us]);
        json_member_u64(&c->json, "sum_us", t->sum_us);
        write_bound(&c->json, "p50_us", t, 500);
        write_bound(&c->json, "p99_us", t, 990);
        write_bound(&c->json, "max_us", t, 1000);
        json_end(&c->json, '}');
}

static int add_bound(Counters *c, Turns *t, uint64_t permille) {
        size_t i = bound_of(t, permille);
        uint64_t us = t->n_bounds_us == 0 ? 0 : t->bounds_us[MIN_OF(i, t->n_bounds_us - 1)];
        const char *over = i == t->n_bounds_us ? ">" : "";
        char text[32] = "-";

        if (t->counts[t->n_bounds_us] == 0)
                ;
        else if (us < USEC_PER_MSEC)
                snprintf(text, sizeof(text), "%s%" PRIu64 "us", over, us);
        else if (us < USEC_PER_SEC)
                snprintf(text, sizeof(text), "%s%.15gms", over, (double) us / USEC_PER_MSEC);
        else
                snprintf(text, sizeof(text), "%s%.15gs", over, (double) us / USEC_PER_SEC);
        return table_add(&c->times, text, COLOUR_NONE);
}

static int add_times(Counters *c, const char *name, const char *help, Turns *t) {
        char count[32];
        int r = table_add(&c->times, name, COLOUR_NONE);

        snprintf(count, sizeof(count), "%" PRIu64, t->counts[t->n_bounds_us]);
        if (r == 0)
                r = table_add(&c->times, count, COLOUR_NONE);
        if (r == 0)
                r = add_bound(c, t, 500);
        if (r == 0)
                r = add_bound(c, t, 990);
        if (r == 0)
                r = add_bound(c, t, 1000);
        return r < 0 ? r : table_add(&c->times, help, COLOUR_NONE);
}

// One that has no number for each bound is of another version, and left out.
static int show_times(Ctl *ctl, Counters *c, const char *name, const char *help, Turns *t) {
        if (!t || t->n_counts != t->n_bounds_us + 1)
                return 0;
        if (ctl->opt.json == JSON_OFF)
                return add_times(c, name, help, t);
        write_times(c, name, t);
        return 0;
}

// ------------------------------------------------------------------------------------------------ both

static int on_counters(Ctl *ctl, const Argosy__Response *response, void *userdata) {
        const Argosy__Response__Counters *m = response->counters;
        Counters *c = userdata;
        int r = 0;

        if (response->what_case != ARGOSY__RESPONSE__WHAT_COUNTERS)
                return 0;
        for (size_t i = 0; i < m->n_rows && r == 0; i++)
                if (ctl->opt.json == JSON_OFF)
                        r = add_counter(c, m->rows[i]);
                else
                        write_counter(c, m->rows[i]);
        if (r == 0)
                r = show_times(ctl, c, "turn", "how long turns of the loop took", m->turns);
        for (size_t i = 0; i < m->n_times && r == 0; i++)
                r = show_times(ctl, c, m->times[i]->name, m->times[i]->help, m->times[i]->times);
        close_to(c, 0); // its path is the message's
        return r;
}

static int ask(Ctl *ctl, Counters *c) {
        Argosy__Request__Counters counters = ARGOSY__REQUEST__COUNTERS__INIT;
        Argosy__Request request = REQUEST_OF(COUNTERS, counters, &counters);

        ctl->warned_stale = true; // they have nothing to do with a leader
        return ctl_ask(ctl, &request, 0, on_counters, c);
}

static int print(Ctl *ctl, Counters *c) {
        int code = ctl_print_table(ctl, &c->table);

        if (code != EXIT_OK || c->times.n_cells == 0)
                return code;
        if (!ctl->opt.given[OPT_NO_LEGEND])
                fputc('\n', ctl->term.out);
        return ctl_print_table(ctl, &c->times);
}

int verb_counters(Ctl *ctl, char **args, size_t n) {
        Counters c = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        int code;

        if (ctl->opt.json != JSON_OFF) {
                json_begin(&c.json, '{');
                code = ask(ctl, &c);
                json_end(&c.json, '}');
                json_finish(&c.json);
                return code;
        }
        table_add_column(&c.table, "COUNTER", false, false);
        table_add_column(&c.table, "VALUE", false, false);
        table_add_column(&c.table, "WHAT", true, false);
        table_add_column(&c.times, "TIMES", false, false);
        table_add_column(&c.times, "COUNT", false, false);
        table_add_column(&c.times, "HALF", false, false);
        table_add_column(&c.times, "99%", false, false);
        table_add_column(&c.times, "LONGEST", false, false);
        table_add_column(&c.times, "WHAT", true, false);
        code = ask(ctl, &c);
        if (code == EXIT_OK)
                code = print(ctl, &c);
        table_done(&c.table);
        table_done(&c.times);
        return code;
}
