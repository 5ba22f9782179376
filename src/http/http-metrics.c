// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A figure is three lines: what it is, its type, its value. The tables of counters (counter.h) do not say which of them only ever
// grow and which go up and down, and what is said to be a counter and falls is taken for a new beginning by those who compute
// rates. So the type is unknown, of all of them. What is no name of a metric is left out.

#include "http-metrics.h"

#include <inttypes.h>

#include "buf.h"
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

static int append_help(Buf *out, const char *s) {
        for (; *s; s++) {
                int r = *s == '\\'   ? buf_append(out, "\\\\", 2)
                        : *s == '"'  ? buf_append(out, "\\\"", 2)
                        : *s == '\n' ? buf_append(out, "\\n", 2)
                                     : buf_append(out, s, 1);

                if (r < 0)
                        return r;
        }
        return buf_append(out, "\n", 1);
}

static int append(Buf *out, const Argosy__Response__Counter *c) {
        int r;

        if (!is_name(c->name))
                return 0;
        r = buf_printf(out, "# TYPE " PREFIX "%s unknown\n# HELP " PREFIX "%s ", c->name, c->name);
        if (r == 0)
                r = append_help(out, c->help);
        return r < 0 ? r : buf_printf(out, PREFIX "%s %" PRIu64 "\n", c->name, c->value);
}

char *http_metrics(const HttpPart *part) {
        _cleanup_buf_ Buf out = {};
        Argosy__Response *response = NULL;
        int r = message_unpack(&argosy__response__descriptor, part->data, part->len, (void **) &response);

        if (r == 0 && response->what_case == ARGOSY__RESPONSE__WHAT_COUNTERS) {
                for (size_t i = 0; i < response->counters->n_rows && r == 0; i++)
                        r = append(&out, response->counters->rows[i]);
                if (r == 0)
                        r = buf_printf(&out, "# EOF\n");
        }
        message_free(response);
        return r == 0 && out.len > 0 ? buf_take_string(&out) : NULL;
}
