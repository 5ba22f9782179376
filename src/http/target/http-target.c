// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target is a path, and perhaps a query behind a question mark; nothing is decoded before it was taken
// apart, so an encoded slash is no slash. What was decoded must be text: %00 and bytes that are no UTF-8 are
// refused, as is a name that no unit can have, and with it all of "..". A parameter that is not known is an
// error, for one that is mistyped would otherwise filter nothing.

#include "http-target.h"

#include <errno.h>
#include <strings.h>

#include "event-cursor.h"
#include "http-filter.h"
#include "http-parameters.h"
#include "macro.h"
#include "str.h"

enum { PATH_NAMES_MAX = 2 }; // in braces, in one path

// ---- methods

static const char *const method_names[] = {"GET", "POST", "PUT", "DELETE"}; // by bit

HttpMethod http_method_from_string(const char *text) {
        if (streq(text, "HEAD"))
                return HTTP_GET;
        for (size_t i = 0; i < ELEMENTSOF(method_names); i++)
                if (streq(text, method_names[i]))
                        return (HttpMethod) (1U << i);
        return 0;
}

// ---- values

static bool is_text(const char *s) {
        for (const uint8_t *p = (const uint8_t *) s; *p;) {
                size_t n = str_utf8_len(p);

                if (n == 0 || *p < 0x20 || *p == 0x7f)
                        return false;
                p += n;
        }
        return true;
}

// 0, -EINVAL or -ENOMEM.
static int decode(const char *text, size_t len, char **ret) {
        _cleanup_free_ char *out = NULL;
        int r = percent_decode(text, len, false, &out);

        if (r < 0)
                return r;
        if (!is_text(out))
                return -EINVAL;
        *ret = TAKE_PTR(out);
        return 0;
}

void http_target_done(HttpTarget *t) {
        free(t->name);
        for (size_t i = 0; i < t->n_patterns; i++)
                free(t->patterns[i]);
        for (size_t i = 0; i < t->n_states; i++)
                free(t->states[i]);
        for (size_t i = 0; i < t->n_nodes; i++)
                free(t->nodes[i]);
        for (size_t i = 0; i < t->n_labels; i++)
                free(t->labels[i]);
        free(t->page_text);
        free(t->known);
        free(t->author);
        free(t->since);
        *t = (HttpTarget){};
}

// "key=value"
static int parse_parameter(const char *text, size_t len, HttpTarget *t, const char **ret_why) {
        const char *equals = memchr(text, '=', len);
        size_t key = equals ? (size_t) (equals - text) : len;
        const HttpParameter *p = http_parameter_find(t->resource, text, key);
        _cleanup_free_ char *value = NULL;
        int r;

        if (!p) {
                *ret_why = "there is no such parameter here";
                return -EINVAL;
        }
        r = equals ? decode(equals + 1, len - key - 1, &value) : -EINVAL;
        if (r == 0 && !*value)
                r = -EINVAL;
        if (r < 0) {
                *ret_why = "a parameter has no proper value";
                return r;
        }
        return p->read(t, &value, ret_why);
}

static int parse_query(const char *query, HttpTarget *t, const char **ret_why) {
        for (const char *p = query;; p++) {
                size_t len = strcspn(p, "&");
                int r = len > 0 ? parse_parameter(p, len, t, ret_why) : 0;

                if (r < 0)
                        return r;
                p += len;
                if (!*p)
                        return 0;
        }
}

static int read_page(HttpTarget *t, const char **ret_why) {
        int r = t->page_text ? http_page_parse(t->page_text, http_filter_question(t), &t->page) : 0;

        if (r == 0)
                return 0;
        *ret_why = r == -ESTALE ? "the page is one of another question: nothing but limit may change from "
                                  "one to the next"
                                : "page is what another page has as its next, and no cursor";
        return -EINVAL;
}

// ---- paths

// Where a name stands in a target, and of which kind it is.
typedef struct Place {
        const HttpParameter *name;
        const char *text;
        size_t len;
} Place;

// Whether the first `len` bytes of the text are that path; then places[] has the names in it.
static bool fits_path(const char *path, const char *text, size_t len, Place places[PATH_NAMES_MAX],
                      size_t *ret_n) {
        const char *end = text + len;

        for (*ret_n = 0;; ++*ret_n) {
                Place *p = &places[*ret_n];

                while (*path && *path != '{')
                        if (text == end || *text++ != *path++)
                                return false;
                if (!*path)
                        return text == end;
                *p = (Place){http_parameter_of_path(++path), text, 0};
                while (text < end && *text != '/')
                        text++;
                p->len = (size_t) (text - p->text);
                if (p->len == 0)
                        return false;
                path += strlen(p->name->kind) + 1;
        }
}

static bool is_path_of(const HttpResourceRow *row, const char *text, size_t len) {
        Place places[PATH_NAMES_MAX];
        size_t n;

        return fits_path(row->path, text, len, places, &n);
}

bool http_target_is_public(const char *text) {
        const HttpResourceRow *rows = http_resource(0);
        size_t len = strcspn(text, "?");

        for (HttpResource r = 0; r < HTTP_RESOURCES; r++)
                if (is_path_of(&rows[r], text, len))
                        return rows[r].is & (HTTP_IS_OPEN | HTTP_IS_PUBLIC);
        return false;
}

static unsigned find_methods(const char *text) {
        const HttpResourceRow *rows = http_resource(0);
        size_t len = strcspn(text, "?");
        unsigned methods = 0;

        for (HttpResource r = 0; r < HTTP_RESOURCES; r++)
                if (is_path_of(&rows[r], text, len))
                        methods |= rows[r].method;
        return methods;
}

void http_target_methods(const char *text, char ret[HTTP_METHODS_SIZE]) {
        unsigned methods = find_methods(text);

        *ret = 0;
        for (size_t i = 0; i < ELEMENTSOF(method_names); i++)
                if (methods & (1U << i))
                        str_fit(ret + strlen(ret), HTTP_METHODS_SIZE - strlen(ret), "%s%s", *ret ? ", " : "",
                                i == 0 ? "GET, HEAD" : method_names[i]);
}

static int read_name(HttpTarget *t, const Place *p, const char **ret_why) {
        _cleanup_free_ char *value = NULL;
        int r = 0;

        if (p->name->is_encoded)
                r = decode(p->text, p->len, &value);
        else if (!(value = strndup(p->text, p->len)))
                r = -ENOMEM;
        if (r == -EINVAL)
                *ret_why = p->name->refusal;
        return r < 0 ? r : p->name->read(t, &value, ret_why);
}

static int parse_as(HttpResource resource, const char *text, size_t len, HttpTarget *t,
                    const char **ret_why) {
        Place places[PATH_NAMES_MAX];
        size_t n;
        int r = 0;

        t->resource = resource;
        t->lines = HTTP_JOURNAL_LINES;
        (void) fits_path(http_resource(resource)->path, text, len, places, &n);
        for (size_t i = 0; i < n && r == 0; i++)
                r = read_name(t, &places[i], ret_why);
        if (resource == HTTP_DASHBOARD)
                t->file = http_static_find("", 0);
        if (r == 0 && text[len] == '?')
                r = parse_query(text + len + 1, t, ret_why);
        return r == 0 ? read_page(t, ret_why) : r;
}

static int parse(const char *text, HttpMethod method, HttpTarget *t, const char **ret_why) {
        const HttpResourceRow *rows = http_resource(0);
        size_t len = strcspn(text, "?");

        for (HttpResource r = 0; r < HTTP_RESOURCES; r++)
                if (rows[r].method == method && is_path_of(&rows[r], text, len))
                        return parse_as(r, text, len, t, ret_why);
        if (find_methods(text) > 0) {
                *ret_why = "that is not to be done with this";
                return -EPERM;
        }
        *ret_why = "there is no such thing here";
        return -ENOENT;
}

int http_target_parse(const char *text, HttpMethod method, HttpTarget *ret, const char **ret_why) {
        HttpTarget t = {};
        int r;

        *ret_why = "";
        r = parse(text, method, &t, ret_why);
        if (r == 0 && t.resource == HTTP_DIFF && t.job == 0) {
                *ret_why = "from is missing: the number of the job behind which changes count";
                r = -EINVAL;
        }
        if (r == 0 && t.resource == HTTP_UNIT_FILE && t.job > 0 && *t.rev) {
                *ret_why = "at and rev exclude each other";
                r = -EINVAL;
        }
        if (r < 0)
                http_target_done(&t);
        *ret = t;
        return r;
}

bool http_target_has_aside(const HttpTarget *t) {
        HttpAside aside = http_resource(t->resource)->aside;

        return (aside == HTTP_ASIDE_WHY || aside == HTTP_ASIDE_FILE) && !http_target_is_past(t);
}

bool http_target_is_past(const HttpTarget *t) {
        return t->resource == HTTP_UNIT_FILE && t->job > 0;
}

bool http_origin_is_ours(const char *origin, const char *host) {
        if (!origin)
                return true;
        if (!host)
                return false;
        return (str_has_prefix(origin, "http://") && strcasecmp(origin + strlen("http://"), host) == 0) ||
               (str_has_prefix(origin, "https://") && strcasecmp(origin + strlen("https://"), host) == 0);
}
