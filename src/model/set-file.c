// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See set-file.h. Line by line, word by word; a name is completed and its ranges are expanded at once, so
// what comes out is names of units. The first thing that is wrong ends it, with the number of its line. A
// file may come from anywhere: its bytes, its units and its words are limited, and what is shown of a bad
// word is made harmless.

#include "set-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "map.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"

enum { SHOWN_MAX = 80 }; // bytes of a word in a message

typedef struct Parser {
        const char *path;
        SetFile *file;
        Map names;
        Buf *why;
        unsigned line;
        Argosy__Target target; // of the line
} Parser;

void set_file_done(SetFile *f) {
        for (size_t i = 0; i < f->n; i++)
                free(f->units[i].name);
        free(f->units);
        free(f->set);
        *f = (SetFile){};
}

bool set_name_is_valid(const char *name) {
        size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.");

        return len > 0 && !name[len] && len <= CLUSTER_SET_NAME_MAX && !strchr("-_.", *name);
}

static int fail(const Parser *p, int error, const char *word, const char *what) {
        _cleanup_free_ char *shown = str_printable(word, SHOWN_MAX);

        if (!shown || buf_printf(p->why, "%s:%u: '%s' %s", p->path, p->line, shown, what) < 0)
                return -ENOMEM;
        return error;
}

static int add_unit(void *userdata, const char *word) {
        Parser *p = userdata;
        _cleanup_free_ char *name = unit_name_mangle(word);
        SetFile *f = p->file;
        int r;

        if (!name)
                return -ENOMEM;
        switch (unit_name_kind(name, NULL)) {
        case UNIT_NAME_INVALID:
                return fail(p, -EINVAL, word, "is not the name of a unit");
        case UNIT_NAME_TEMPLATE:
                return fail(p, -EINVAL, word, "is a template; name instances of it");
        default:
                break;
        }
        if (map_find_str(&p->names, name))
                return fail(p, -EINVAL, name, "is named twice");
        if (f->n == SET_FILE_UNITS_MAX)
                return fail(p, -E2BIG, name, "is one unit more than a set may have");
        r = ARRAY_GROW(f->units, f->allocated, f->n + 1);
        if (r < 0)
                return r;
        r = map_add_str(&p->names, name, name);
        if (r < 0)
                return r;
        f->units[f->n++] = (SetFileUnit){.name = TAKE_PTR(name), .target = p->target, .line = p->line};
        return 0;
}

static int take_set(Parser *p, const char *word) {
        if (p->file->set)
                return fail(p, -EINVAL, word, "is a second name of the set");
        if (!set_name_is_valid(word))
                return fail(p, -EINVAL, word, "cannot be the name of a set");
        p->file->set = strdup(word);
        return p->file->set ? 0 : -ENOMEM;
}

static int take_units(Parser *p, const char *word) {
        size_t before = p->why->len;
        int r = unit_name_expand(word, SET_FILE_UNITS_MAX, add_unit, p);

        if (r == -EINVAL && p->why->len == before)
                return fail(p, -EINVAL, word, "is not a range like {1..100} or {a,b}");
        if (r == -E2BIG && p->why->len == before)
                return fail(p, -E2BIG, word, "makes more units than a set may have");
        return r;
}

static int take_line(Parser *p, char *text) {
        char *at = NULL, *keyword = strtok_r(text, " \t\r", &at), *word;
        bool is_set;
        size_t n = 0;
        int r = 0;

        if (!keyword || *keyword == '#')
                return 0;
        if (streq(keyword, SET_FILE_INCOMPLETE))
                return fail(p, -EINVAL, keyword,
                            "is what an export leaves that has not come to its end; export it again");
        is_set = streq(keyword, "set");
        if (!is_set && !target_from_string(keyword, &p->target))
                return fail(p, -EINVAL, keyword, "is none of set, launched, loaded and inactive");
        while (r == 0 && (word = strtok_r(NULL, " \t\r", &at)) && *word != '#') {
                r = is_set ? take_set(p, word) : take_units(p, word);
                n++;
        }
        return r == 0 && n == 0 ? fail(p, -EINVAL, keyword, "is followed by nothing") : r;
}

static int take_lines(Parser *p, char *text) {
        int r = 0;

        while (r == 0 && text) {
                char *line = strsep(&text, "\n");

                p->line++;
                r = take_line(p, line);
        }
        return r;
}

int set_file_parse(const char *path, const void *data, size_t len, SetFile *ret, Buf *why) {
        Parser p = {.path = path, .file = ret, .why = why};
        _cleanup_free_ char *text = NULL;
        int r;

        if (len > SET_FILE_BYTES_MAX || memchr(data, 0, len)) {
                r = buf_printf(why, "%s %s", path,
                               len > SET_FILE_BYTES_MAX ? "is longer than 1 MiB" : "is not a text");
                return r < 0 ? r : -EINVAL;
        }
        text = strndup(data, len);
        if (!text)
                return -ENOMEM;
        r = take_lines(&p, text);
        map_done(&p.names);
        return r;
}
