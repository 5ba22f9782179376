// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A figure is three lines: its type, what it is, its value; of what has labels the first two are said once
// for all values. What only ever grows is a counter, and OpenMetrics wants its name to end in _total; what
// goes up and down is a gauge, and said to be one, since what falls would be taken for a new beginning by
// those who compute rates. What is no name of a metric is left out.

#include "http-metrics.h"

#include <inttypes.h>

#include "buf.h"
#include "clock.h"
#include "macro.h"
#include "message.h"

#define PREFIX "argosy_"

static bool is_name(const char *s) {
        if (!*s)
                return false;
        for (; *s; s++)
                if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_'))
                        return false;
        return true;
}

static int append_escaped(Buf *out, const char *s) {
        int r = 0;

        for (; *s && r == 0; s++)
                r = *s == '\\'   ? buf_append(out, "\\\\", 2)
                        : *s == '"'  ? buf_append(out, "\\\"", 2)
                        : *s == '\n' ? buf_append(out, "\\n", 2)
                                     : buf_append(out, s, 1);
        return r;
}

static int append_help(Buf *out, const char *s) {
        int r = append_escaped(out, s);

        return r < 0 ? r : buf_append(out, "\n", 1);
}

static int append_labels(Buf *out, const Argosy__Response__Counter *c) {
        int r = 0;

        for (size_t i = 0; i < c->n_labels && r == 0; i++) {
                r = buf_printf(out, "%s%s=\"", i == 0 ? "{" : ",", c->labels[i]->key);
                if (r == 0)
                        r = append_escaped(out, c->labels[i]->value);
                if (r == 0)
                        r = buf_append(out, "\"", 1);
        }
        return r == 0 && c->n_labels > 0 ? buf_append(out, "}", 1) : r;
}

static int append_family(Buf *out, const Argosy__Response__Counter *c) {
        int r = buf_printf(out, "# TYPE " PREFIX "%s %s\n# HELP " PREFIX "%s ", c->name,
                           c->gauge ? "gauge" : "counter", c->name);

        return r < 0 ? r : append_help(out, c->help);
}

static bool is_figure(const Argosy__Response__Counter *c) {
        for (size_t i = 0; i < c->n_labels; i++)
                if (!is_name(c->labels[i]->key))
                        return false;
        return is_name(c->name);
}

// `before`: the name of the row before, which has said what all of that name are; NULL: none.
static int append(Buf *out, const Argosy__Response__Counter *c, const char *before) {
        int r = before && streq(before, c->name) ? 0 : append_family(out, c);

        if (r == 0)
                r = buf_printf(out, PREFIX "%s%s", c->name, c->gauge ? "" : "_total");
        if (r == 0)
                r = append_labels(out, c);
        return r < 0 ? r : buf_printf(out, " %" PRIu64 "\n", c->value);
}

static int append_all(Buf *out, const Argosy__Response__Counters *counters) {
        const char *before = NULL;
        int r = 0;

        for (size_t i = 0; i < counters->n_rows && r == 0; i++) {
                const Argosy__Response__Counter *c = counters->rows[i];

                if (!is_figure(c))
                        continue;
                r = append(out, c, before);
                before = c->name;
        }
        return r;
}

static int append_seconds(Buf *out, uint64_t us) {
        return buf_printf(out, "%" PRIu64 ".%06" PRIu64, us / USEC_PER_SEC, us % USEC_PER_SEC);
}

// The sender may be of another version: a histogram without a number for each bound is left out.
static int append_times(Buf *out, const char *name, const char *help, const Argosy__Response__TurnTimes *t) {
        int r;

        if (!t || !is_name(name) || t->n_counts != t->n_bounds_us + 1)
                return 0;
        r = buf_printf(out,
                       "# TYPE " PREFIX "%s_seconds histogram\n# UNIT " PREFIX "%s_seconds seconds\n"
                       "# HELP " PREFIX "%s_seconds ",
                       name, name, name);
        if (r == 0)
                r = append_help(out, help);
        for (size_t i = 0; r == 0 && i < t->n_bounds_us; i++) {
                r = buf_printf(out, PREFIX "%s_seconds_bucket{le=\"", name);
                if (r == 0)
                        r = append_seconds(out, t->bounds_us[i]);
                if (r == 0)
                        r = buf_printf(out, "\"} %" PRIu64 "\n", t->counts[i]);
        }
        if (r == 0)
                r = buf_printf(out,
                               PREFIX "%s_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n" PREFIX
                                      "%s_seconds_count %" PRIu64 "\n" PREFIX "%s_seconds_sum ",
                               name, t->counts[t->n_counts - 1], name, t->counts[t->n_counts - 1], name);
        if (r == 0)
                r = append_seconds(out, t->sum_us);
        return r < 0 ? r : buf_append(out, "\n", 1);
}

char *http_metrics(const HttpPart *part) {
        _cleanup_buf_ Buf out = {};
        Argosy__Response *response = NULL;
        int r = message_unpack(&argosy__response__descriptor, part->data, part->len, (void **) &response);

        if (r == 0 && response->what_case == ARGOSY__RESPONSE__WHAT_COUNTERS) {
                r = append_all(&out, response->counters);
                if (r == 0)
                        r = append_times(&out, "turn",
                                         "How long turns of the loop took, in which all waits for one.",
                                         response->counters->turns);
                for (size_t i = 0; i < response->counters->n_times && r == 0; i++) {
                        const Argosy__Response__Times *t = response->counters->times[i];

                        r = append_times(&out, t->name, t->help, t->times);
                }
                if (r == 0)
                        r = buf_printf(&out, "# EOF\n");
        }
        message_free(response);
        return r == 0 && out.len > 0 ? buf_take_string(&out) : NULL;
}
