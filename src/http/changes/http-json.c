// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What cJSON would let pass and we do not: NULs (its strings end there), bytes that are no UTF-8, more depth
// and more values than anybody needs, a member twice (who reads such a text differently from us sees another
// one). All of that but the last is found by a look at the text itself: it knows no more of JSON than where
// strings begin and end.

#include "http-json.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "macro.h"
#include "map.h"
#include "str.h"

typedef struct Look {
        const char *text;
        size_t len, at, depth, n_values;
} Look;

// The string whose first quote is at `at`; stands behind it then.
static int skip_string(Look *l, const char **ret_why) {
        for (l->at++; l->at < l->len; l->at++) {
                char c = l->text[l->at];

                if (c == '"') {
                        l->at++;
                        return 0;
                }
                if (c == '\\' && l->len - l->at > 5 && memcmp(l->text + l->at + 1, "u0000", 5) == 0) {
                        *ret_why = "a text has a NUL in it";
                        return -EINVAL;
                }
                if (c == '\\')
                        l->at++; // what it escapes ends no string
        }
        return 0; // no end: cJSON says so
}

static int look(Look *l, const char **ret_why) {
        int r = 0;

        while (r == 0 && l->at < l->len) {
                char c = l->text[l->at];

                if (c == '"') {
                        r = skip_string(l, ret_why);
                        continue;
                }
                l->n_values += c == ',' || c == '[' || c == '{';
                if (c == '[' || c == '{')
                        l->depth++;
                else if ((c == ']' || c == '}') && l->depth > 0)
                        l->depth--;
                l->at++;
                if (l->depth > HTTP_JSON_DEPTH_MAX || l->n_values > HTTP_JSON_VALUES_MAX) {
                        *ret_why = l->depth > HTTP_JSON_DEPTH_MAX ? "the JSON is nested too deep"
                                                                  : "the JSON has too many values";
                        return -E2BIG;
                }
        }
        return r;
}

static bool is_utf8(const char *text, size_t len) {
        const uint8_t *p = (const uint8_t *) text;
        size_t n;

        for (const uint8_t *end = p + len; p < end; p += n) {
                n = str_utf8_len(p);
                if (n == 0)
                        return false;
        }
        return true;
}

static int check_text(const char *text, size_t len, const char **ret_why) {
        Look l = {.text = text, .len = len};

        if (memchr(text, 0, len)) {
                *ret_why = "the body has a NUL in it";
                return -EINVAL;
        }
        if (!is_utf8(text, len)) {
                *ret_why = "the body is no UTF-8";
                return -EINVAL;
        }
        return look(&l, ret_why);
}

static int check_members(const cJSON *object, const char **ret_why) {
        Map seen = {};
        int r = 0;

        for (const cJSON *m = object->child; m && r == 0; m = m->next)
                if (*m->string) // a map has no empty keys
                        r = map_add_str(&seen, m->string, (void *) m);
        map_done(&seen);
        if (r == 0)
                return 0;
        *ret_why = r == -EEXIST ? "the JSON has a member twice" : "this host has no memory for the body";
        return r == -EEXIST ? -EINVAL : r;
}

// It is as deep as a text may be, so recursion is no danger.
static int check(const cJSON *value, const char **ret_why) {
        int r = cJSON_IsObject(value) ? check_members(value, ret_why) : 0;

        for (const cJSON *m = value->child; m && r == 0; m = m->next)
                r = m->child ? check(m, ret_why) : 0;
        return r;
}

static int parse(const char *text, size_t len, bool list, cJSON **ret, const char **ret_why) {
        const char *end = NULL;
        cJSON *value;
        int r;

        r = check_text(text, len, ret_why);
        if (r < 0)
                return r;
        value = cJSON_ParseWithLengthOpts(text, len, &end, false);
        if (value)
                end += strspn(end, " \t\r\n");
        if (!(list ? cJSON_IsArray(value) : cJSON_IsObject(value)) || end != text + len) {
                *ret_why = list ? "the body is no JSON array" : "the body is no JSON object";
                r = -EINVAL;
        } else
                r = check(value, ret_why);
        if (r < 0)
                cJSON_Delete(value);
        else
                *ret = value;
        return r;
}

int http_json_parse(const char *text, size_t len, cJSON **ret, const char **ret_why) {
        return parse(text, len, false, ret, ret_why);
}

int http_json_parse_list(const char *text, size_t len, cJSON **ret, const char **ret_why) {
        return parse(text, len, true, ret, ret_why);
}
