// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units with Replaces=, and a walk over whom each one replaces until it comes back to where it began.
// Patterns have to be matched against every unit of the list, so the walk costs the square of its length at
// most.

#include "replacers.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "str.h"

void replacers_done(Replacers *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->of[i].name);
                unit_options_unref(l->of[i].options);
        }
        free(l->of);
        *l = (Replacers){};
}

int replacers_put(Replacers *l, const char *name, UnitOptions *options) {
        Replacer *longer;
        char *copy;

        for (size_t i = 0; i < l->n; i++)
                if (streq(l->of[i].name, name)) {
                        options->refs++;
                        unit_options_unref(l->of[i].options);
                        l->of[i].options = options;
                        return 0;
                }
        if (l->n == l->allocated) {
                longer = reallocarray(l->of, 2 * l->allocated + 8, sizeof *longer);
                if (!longer)
                        return -ENOMEM;
                l->of = longer;
                l->allocated = 2 * l->allocated + 8;
        }
        copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        options->refs++;
        l->of[l->n++] = (Replacer){copy, options};
        return 0;
}

static bool replaces(const UnitOptions *options, const char *name) {
        for (char **g = options->replaces; g && *g; g++)
                if (fnmatch(*g, name, 0) == 0)
                        return true;
        return false;
}

// A walk along whom each one replaces, nearest first. from[i]: who led to the i-th, counted from 1; 0: the
// unit itself; NONE: nobody yet.
#define NONE SIZE_MAX
typedef struct Walk {
        const Replacers *all;
        size_t *from, *queue, n;
} Walk;

static void expand(Walk *w, const char *name, const UnitOptions *options, size_t number) {
        for (size_t i = 0; i < w->all->n; i++)
                if (w->from[i] == NONE && !streq(w->all->of[i].name, name) &&
                    replaces(options, w->all->of[i].name)) {
                        w->from[i] = number;
                        w->queue[w->n++] = i;
                }
}

static void tell(const Walk *w, const char *name, size_t last, char *ret, size_t size) {
        _cleanup_free_ char *text = str_printf("%s", name);

        for (size_t i = last + 1; i > 0 && text; i = w->from[i - 1]) {
                char *longer = str_printf("%s replaces %s", w->all->of[i - 1].name, text);

                free(text);
                text = longer;
        }
        str_fit(ret, size, "%s replaces %s", name, text ? text : "...");
}

int replacers_circle(const Replacers *l, const char *name, const UnitOptions *options, char *ret,
                     size_t size) {
        _cleanup_free_ size_t *from = calloc(l->n + 1, sizeof *from),
                              *queue = calloc(l->n + 1, sizeof *queue);
        Walk w = {.all = l, .from = from, .queue = queue};

        if (!from || !queue)
                return -ENOMEM;
        for (size_t i = 0; i < l->n; i++)
                from[i] = streq(l->of[i].name, name) ? 0 : NONE;
        expand(&w, name, options, 0);
        for (size_t at = 0; at < w.n; at++) {
                const Replacer *r = &l->of[w.queue[at]];

                if (replaces(r->options, name)) {
                        tell(&w, name, w.queue[at], ret, size);
                        return 1;
                }
                expand(&w, r->name, r->options, w.queue[at] + 1);
        }
        return 0;
}
