// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See name-patterns.h. A pattern without wildcards is a name: `web@{1..1000}` is a thousand of them, and
// comparing each unit with each would take as long as all units times that. A name that stands there twice
// counts once; one with wildcards is what fnmatch() takes it for, without escapes.

#include "name-patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool is_glob(const char *pattern) {
        return strpbrk(pattern, "*?[");
}

const char *name_patterns_error(char *const *patterns, size_t n) {
        size_t n_globs = 0;

        for (size_t i = 0; i < n; i++) {
                if (strnlen(patterns[i], NAME_GLOB_MAX + 1) > NAME_GLOB_MAX)
                        return "a pattern is longer than 255 bytes";
                n_globs += is_glob(patterns[i]);
        }
        return n_globs > NAME_GLOBS_MAX ? "more than 64 patterns have wildcards: ask for fewer at once"
                                        : NULL;
}

static int add(NamePatterns *p, const char *pattern) {
        int r;

        if (is_glob(pattern)) {
                p->globs[p->n_globs++] = pattern;
                return 0;
        }
        r = map_add_str(&p->names, pattern, (void *) pattern);
        return r == -EEXIST ? 0 : r;
}

int name_patterns_init(NamePatterns *p, char *const *patterns, size_t n) {
        int r = 0;

        *p = (NamePatterns){.n = n};
        if (n == 0)
                return 0;
        p->globs = calloc(n, sizeof(*p->globs));
        if (!p->globs)
                return -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
                r = add(p, patterns[i]);
        if (r < 0)
                name_patterns_done(p);
        return r;
}

void name_patterns_done(NamePatterns *p) {
        map_done(&p->names);
        free(p->globs);
        *p = (NamePatterns){};
}

bool name_patterns_match(const NamePatterns *p, const char *name) {
        if (p->n == 0 || map_find_str(&p->names, name))
                return true;
        for (size_t i = 0; i < p->n_globs; i++)
                if (fnmatch(p->globs[i], name, FNM_NOESCAPE) == 0)
                        return true;
        return false;
}
