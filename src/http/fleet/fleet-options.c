// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reading and writing are those of the library that fleet's client is made with, so that this host reads a
// user's file as the client reads it. A file that came by another way, with lines that the client would not
// read, is shown without them.

#include "fleet-options.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"
#include "str.h"

enum { SHA1_BYTES = 20 };

void fleet_options_done(FleetOptions *o) {
        for (size_t i = 0; i < o->n; i++) {
                free(o->list[i].section);
                free(o->list[i].name);
                free(o->list[i].value);
        }
        free(o->list);
        *o = (FleetOptions){};
}

int fleet_options_add(FleetOptions *o, const char *section, const char *name, const char *value) {
        FleetOption *new;

        if (ARRAY_GROW(o->list, o->allocated, o->n + 1) < 0)
                return -ENOMEM;
        new = &o->list[o->n++];
        *new = (FleetOption){strdup(section), strdup(name), strdup(value)};
        return new->section &&new->name &&new->value ? 0 : -ENOMEM;
}

// ---- reading

typedef struct Lines {
        const char *at, *end;
} Lines;

// Without its line feed. False: there are no more.
static bool next_line(Lines *l, const char **ret, size_t *ret_len) {
        const char *feed;

        if (l->at == l->end)
                return false;
        feed = memchr(l->at, '\n', (size_t) (l->end - l->at));
        *ret = l->at;
        *ret_len = (size_t) ((feed ?: l->end) - l->at);
        l->at = feed ? feed + 1 : l->end;
        return true;
}

static bool is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const char **text, size_t *len) {
        while (*len > 0 && is_blank(**text)) {
                (*text)++;
                (*len)--;
        }
        while (*len > 0 && is_blank((*text)[*len - 1]))
                (*len)--;
}

static void skip_comment(Lines *l, const char *line, size_t len) {
        do {
                len -= len > 0 && line[len - 1] == ' ';
                if (len == 0 || line[len - 1] != '\\')
                        return;
        } while (next_line(l, &line, &len));
}

// Its first line, and those in which it goes on. 0 or -ENOMEM.
static int read_value(Lines *l, const char *line, size_t len, char **ret) {
        _cleanup_buf_ Buf text = {};
        const char *value;
        size_t n;
        bool ends_open;

        for (;;) {
                const char *word = line;
                size_t word_len = len;

                trim(&word, &word_len);
                if (word_len == 0)
                        break;
                if (buf_append(&text, line, len) < 0)
                        return -ENOMEM;
                if (line[len - 1] != '\\' || l->at == l->end)
                        break;
                if (buf_append(&text, "\n", 1) < 0)
                        return -ENOMEM;
                if (!next_line(l, &line, &len))
                        break;
        }
        value = (const char *) text.data;
        n = text.len;
        ends_open = n > 0 && value[n - 1] == '\n';
        trim(&value, &n);
        *ret = str_printf("%.*s%s", (int) n, n > 0 ? value : "", ends_open ? "\n" : "");
        return *ret ? 0 : -ENOMEM;
}

static int read_option(Lines *l, const char *section, const char *line, size_t len, FleetOptions *ret) {
        const char *equals = memchr(line, '=', len), *word = line;
        _cleanup_free_ char *name = NULL, *value = NULL;
        size_t n = equals ? (size_t) (equals - line) : 0;

        if (!equals)
                return 0;
        trim(&word, &n);
        name = strndup(word, n);
        if (!name || read_value(l, equals + 1, len - (size_t) (equals + 1 - line), &value) < 0)
                return -ENOMEM;
        return fleet_options_add(ret, section, name, value);
}

int fleet_options_read(const char *text, size_t len, FleetOptions *ret) {
        Lines l = {text, text + len};
        _cleanup_free_ char *section = NULL;
        const char *line;
        size_t n;
        int r = 0;

        *ret = (FleetOptions){};
        while (r == 0 && next_line(&l, &line, &n)) {
                const char *close;

                while (n > 0 && is_blank(*line)) {
                        line++;
                        n--;
                }
                if (n == 0)
                        continue;
                close = *line == '[' ? memchr(line, ']', n) : NULL;
                if (*line == '#' || *line == ';')
                        skip_comment(&l, line, n);
                else if (close) {
                        free(section);
                        section = strndup(line + 1, (size_t) (close - line - 1));
                        r = section ? 0 : -ENOMEM;
                } else if (section)
                        r = read_option(&l, section, line, n, ret);
        }
        if (r < 0)
                fleet_options_done(ret);
        return r;
}

// ---- writing

static bool is_first_of_section(const FleetOptions *o, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (streq(o->list[k].section, o->list[i].section))
                        return false;
        return true;
}

int fleet_options_write(const FleetOptions *o, Buf *ret) {
        int r = 0;

        for (size_t i = 0; i < o->n && r == 0; i++) {
                if (!is_first_of_section(o, i))
                        continue;
                r = buf_printf(ret, "%s[%s]\n", ret->len > 0 ? "\n" : "", o->list[i].section);
                for (size_t k = i; k < o->n && r == 0; k++)
                        if (streq(o->list[k].section, o->list[i].section))
                                r = buf_printf(ret, "%s=%s\n", o->list[k].name, o->list[k].value);
        }
        return r;
}

int fleet_options_hash(const FleetOptions *o, char ret[FLEET_HASH_SIZE]) {
        _cleanup_buf_ Buf text = {};
        uint8_t digest[SHA1_BYTES];

        if (fleet_options_write(o, &text) < 0 ||
            gnutls_hash_fast(GNUTLS_DIG_SHA1, text.data, text.len, digest) < 0)
                return -ENOMEM;
        hex_encode(digest, sizeof(digest), ret);
        return 0;
}

int fleet_options_equal(const FleetOptions *a, const FleetOptions *b) {
        _cleanup_buf_ Buf one = {}, other = {};

        if (fleet_options_write(a, &one) < 0 || fleet_options_write(b, &other) < 0)
                return -ENOMEM;
        return one.len == other.len && (one.len == 0 || memcmp(one.data, other.data, one.len) == 0);
}

void fleet_options_show(const FleetOptions *o, Json *j) {
        json_begin(j, '[');
        for (size_t i = 0; i < o->n; i++) {
                json_begin(j, '{');
                json_strings(j,
                             (const char *const[][2]){{"section", o->list[i].section},
                                                      {"name", o->list[i].name},
                                                      {"value", o->list[i].value}},
                             3);
                json_end(j, '}');
        }
        json_end(j, ']');
}

// A line feed in a value would begin an option, or a section, that nobody has judged.
int fleet_options_check(const FleetOptions *o, const char **ret_why) {
        _cleanup_buf_ Buf text = {};
        FleetOptions again;
        int r = fleet_options_write(o, &text);

        if (r < 0)
                return r;
        r = fleet_options_read((const char *) text.data, text.len, &again);
        if (r < 0)
                return r;
        r = again.n == o->n ? fleet_options_equal(o, &again) : 0;
        for (size_t i = 0; i < o->n && r > 0; i++)
                r = *o->list[i].section && *o->list[i].name && !strpbrk(o->list[i].section, "]\n\r");
        fleet_options_done(&again);
        *ret_why = "an option has a section, a name or a value that cannot stand in a unit file";
        return r > 0 ? 0 : r < 0 ? r : -EINVAL;
}
