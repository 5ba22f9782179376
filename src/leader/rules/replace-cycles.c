// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cycles of Replaces=: a unit must not replace, over other units, itself.
//
//      replace_cycles_put() per unit
//          -> replace_cycles_find(): REPLACE_CYCLE_FOUND and the cycle in words, or 0
//
// Patterns are matched against every unit of the list, so a search costs at most the square of its length.
// The list holds references to options. Failure: -ENOMEM.

#include "replace-cycles.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cycles.h"
#include "str.h"

void replace_cycles_done(ReplaceCycles *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->of[i].name);
                unit_options_unref(l->of[i].options);
        }
        free(l->of);
        *l = (ReplaceCycles){};
}

// NULL: it is not among them.
static ReplaceUnit *find(const ReplaceCycles *l, const char *name) {
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->of[i].name, name))
                        return &l->of[i];
        return NULL;
}

bool replace_cycles_has(const ReplaceCycles *l, const char *name) {
        return find(l, name);
}

bool replace_cycles_names(const ReplaceCycles *l, size_t n, const char *glob) {
        for (size_t i = 0; i < n; i++)
                for (char **g = l->of[i].options->replaces; g && *g; g++)
                        if (streq(*g, glob))
                                return true;
        return false;
}

int replace_cycles_put(ReplaceCycles *l, const char *name, UnitOptions *options) {
        ReplaceUnit *known = find(l, name);
        char *copy;

        if (known) {
                options->refs++;
                unit_options_unref(known->options);
                known->options = options;
                return 0;
        }
        if (ARRAY_GROW(l->of, l->allocated, l->n + 1) < 0)
                return -ENOMEM;
        copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        options->refs++;
        l->of[l->n++] = (ReplaceUnit){copy, options};
        return 0;
}

static bool replaces(const UnitOptions *options, const char *name) {
        for (char **g = options->replaces; g && *g; g++)
                if (fnmatch(*g, name, 0) == 0)
                        return true;
        return false;
}

typedef struct Search {
        const ReplaceCycles *all;
        const char *name;
        const UnitOptions *options; // of `name`, in place of those in the list
        char *ret;
        size_t size;
} Search;

static const UnitOptions *find_options(const Search *s, const char *name) {
        const ReplaceUnit *known = name == s->name ? NULL : find(s->all, name);

        return name == s->name ? s->options : known ? known->options : NULL;
}

// A pattern that a unit's own name matches does not mean the unit itself.
static int each_replaced(CycleWalk *w, const char *name, void *userdata) {
        Search *s = userdata;
        const UnitOptions *options = find_options(s, name);
        int r = 0;

        if (name != s->name && replaces(options, s->name))
                r = cycles_edge(w, s->name, options->replaces_line, false);
        for (size_t i = 0; i < s->all->n && r >= 0; i++) {
                const char *other = s->all->of[i].name;

                if (!streq(other, name) && !streq(other, s->name) && replaces(options, other))
                        r = cycles_edge(w, other, options->replaces_line, false);
        }
        return r;
}

static int on_cycle(const Cycle *c, void *userdata) {
        Search *s = userdata;

        cycle_describe(c, " replaces ", s->ret, s->size);
        return REPLACE_CYCLE_FOUND;
}

int replace_cycles_find(const ReplaceCycles *l, const char *name, const UnitOptions *options, char *ret,
                        size_t size) {
        Search s = {.all = l, .name = name, .options = options, .ret = ret, .size = size};
        CycleWalk w = {.next = each_replaced, .found = on_cycle, .userdata = &s};

        return cycles_find(&w, &name, 1);
}
