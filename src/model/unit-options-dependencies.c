// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Dependencies between units on whatever nodes they run: After=, Before=, Requires=, BindsTo= and the like.
//
//      dependencies_add() per word -> dependencies_finish() -> dependencies_check() for one unit
//
// Sorted by name, so that files which say the same in another order mean the same.
// Failures: -EINVAL with file and line in *ret_why (no unit, a template, a contradiction, itself), -ENOMEM.

#include <errno.h>

#include "array.h"
#include "str.h"
#include "unit-options-private.h"

// Sorted by name, so that files which say the same in another order mean the same.
static UnitDependency *get(UnitOptions *o, const char *name) {
        size_t at = 0;
        UnitDependency *d;
        char *copy;

        while (at < o->n_dependencies && strcmp(o->dependencies[at].name, name) < 0)
                at++;
        if (at < o->n_dependencies && streq(o->dependencies[at].name, name))
                return &o->dependencies[at];
        copy = strdup(name);
        if (!copy || ARRAY_RESERVE(o->dependencies, o->n_dependencies + 1) < 0) {
                free(copy);
                return NULL;
        }
        d = &o->dependencies[at];
        memmove(d + 1, d, (o->n_dependencies++ - at) * sizeof *d);
        *d = (UnitDependency){.name = copy};
        return d;
}

int dependencies_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word,
                     bool of_template, char **ret_why) {
        const char *why = NULL;
        UnitNameKind kind = unit_name_kind(word, &why);
        UnitDependency *d;

        if (of_template && kind == UNIT_NAME_INVALID && strchr(raw->word, '%'))
                return 0; // checked when an instance fills in its specifiers
        if (kind == UNIT_NAME_INVALID)
                return option_refuse(ret_why, path, raw->line, "%s=%s is no unit: %s",
                                     option_kind(raw->kind)->name, word, why);
        if (kind == UNIT_NAME_TEMPLATE && !(of_template && strchr(raw->word, '%')))
                return option_refuse(ret_why, path, raw->line, "%s=%s is a template; name an instance of it",
                                     option_kind(raw->kind)->name, word);
        d = get(o, word);
        if (!d)
                return -ENOMEM;
        d->kinds |= option_kind(raw->kind)->dependency;
        if (!d->line)
                d->line = raw->line;
        if ((d->kinds & UNIT_BEFORE) && (d->kinds & (UNIT_AFTER | UNIT_BINDS_TO)))
                return option_refuse(ret_why, path, raw->line, "Before=%s and %s=%s exclude each other",
                                     word, d->kinds & UNIT_AFTER ? "After" : "BindsTo", word);
        return 0;
}

// A unit that requires another one is ordered after it, unless the file says Before=.
void dependencies_finish(UnitOptions *o) {
        for (size_t i = 0; i < o->n_dependencies; i++) {
                UnitDependency *d = &o->dependencies[i];

                if ((d->kinds & UNIT_REQUIRES) && !(d->kinds & UNIT_BEFORE))
                        d->kinds |= UNIT_AFTER;
        }
}

int dependencies_check(const UnitOptions *o, const char *path, const char *name, char **ret_why) {
        for (size_t i = 0; i < o->n_dependencies; i++)
                if (streq(o->dependencies[i].name, name))
                        return option_refuse(ret_why, path, o->dependencies[i].line,
                                             "the unit depends on itself (%s)", name);
        return 0;
}

void dependencies_done(UnitOptions *o) {
        for (size_t i = 0; i < o->n_dependencies; i++)
                free(o->dependencies[i].name);
        free(o->dependencies);
}
