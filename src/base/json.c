// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JSON, written as it comes, in one line or indented. Commas and line breaks stand before a value, so nobody
// has to know which is the last one. Strings are escaped as RFC 8259 wants. Errors of the file are its
// owner's to look at.

#include <inttypes.h>

#include "json.h"
#include "str.h"

static void newline(Json *j) {
        if (j->pretty)
                fprintf(j->f, "\n%*s", (int) (2 * j->depth), "");
}

// What must stand before a value: a comma behind its neighbour, a line break.
static void before(Json *j) {
        if (j->after_key) {
                j->after_key = false;
                return;
        }
        if (j->used[j->depth])
                fputc(',', j->f);
        j->used[j->depth] = true;
        if (j->depth > 0)
                newline(j);
}

void json_begin(Json *j, char bracket) {
        before(j);
        fputc(bracket, j->f);
        assert(j->depth + 1 < JSON_DEPTH_MAX);
        j->used[++j->depth] = false;
}

void json_end(Json *j, char bracket) {
        bool empty = !j->used[j->depth];

        assert(j->depth > 0);
        j->depth--;
        if (!empty)
                newline(j);
        fputc(bracket, j->f);
}

static void put_string(FILE *f, const char *s) {
        fputc('"', f);
        for (const uint8_t *p = (const uint8_t *) s; *p;) {
                size_t n = str_utf8_len(p);

                if (n == 0) {
                        fputs("\\ufffd", f);
                        p++;
                } else if (n > 1) {
                        fwrite(p, 1, n, f);
                        p += n;
                } else {
                        if (*p == '"' || *p == '\\')
                                fprintf(f, "\\%c", *p);
                        else if (*p == '\n')
                                fputs("\\n", f);
                        else if (*p == '\t')
                                fputs("\\t", f);
                        else if (*p < 0x20 || *p == 0x7f)
                                fprintf(f, "\\u%04x", *p);
                        else
                                fputc(*p, f);
                        p++;
                }
        }
        fputc('"', f);
}

void json_key(Json *j, const char *key) {
        before(j);
        put_string(j->f, key);
        fputs(j->pretty ? ": " : ":", j->f);
        j->after_key = true;
}

void json_string(Json *j, const char *value) {
        before(j);
        put_string(j->f, value);
}

void json_strings(Json *j, const char *const pairs[][2], size_t n) {
        for (size_t i = 0; i < n; i++) {
                json_key(j, pairs[i][0]);
                json_string(j, pairs[i][1]);
        }
}

void json_u64(Json *j, uint64_t value) {
        before(j);
        fprintf(j->f, "%" PRIu64, value);
}

void json_i64(Json *j, int64_t value) {
        before(j);
        fprintf(j->f, "%" PRIi64, value);
}

void json_bool(Json *j, bool value) {
        before(j);
        fputs(value ? "true" : "false", j->f);
}

void json_tenths(Json *j, uint64_t tenths) {
        before(j);
        fprintf(j->f, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
}

void json_null(Json *j) {
        before(j);
        fputs("null", j->f);
}

void json_finish(Json *j) {
        assert(j->depth == 0);
        fputc('\n', j->f);
}
