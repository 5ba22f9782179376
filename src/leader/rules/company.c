// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A walk over MachineOf= and SameNodeAs=, nearest first, from one unit until it comes back to it (-ELOOP and
// the way, in words) or nothing new is reached. More than COMPANY_MAX units are not looked at: -E2BIG. Units
// that nobody knows lead nowhere.

#include "company.h"

#include <errno.h>
#include <stdio.h>

#include "str.h"
#include "unit-name.h"

typedef struct Step { // one that was reached, in the order in which they were
        char *name;
        size_t from; // the step that named it
} Step;

typedef struct Search {
        Step steps[COMPANY_MAX];
        size_t n;
        const char *name;
} Search;

static bool was_reached(const Search *s, const char *name) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->steps[i].name, name))
                        return true;
        return false;
}

// Adds those that step `from` is to be with. -ELOOP: one of them is where we began.
static int reach(Search *s, const UnitOptions *o, size_t from) {
        for (char **m = o->same_node; m && *m; m++) {
                if (streq(*m, s->name))
                        return -ELOOP;
                if (was_reached(s, *m))
                        continue;
                if (s->n == COMPANY_MAX)
                        return -E2BIG;
                s->steps[s->n] = (Step){strdup(*m), from};
                if (!s->steps[s->n].name)
                        return -ENOMEM;
                s->n++;
        }
        return 0;
}

static unsigned line_of(const UnitOptions *o, const char *mate) {
        for (char **m = o->same_node; m && *m; m++)
                if (streq(*m, mate))
                        return o->same_node_lines[m - o->same_node];
        return 1;
}

// The way to `last` and back to the beginning. Returns its first step.
static size_t tell(const Search *s, size_t last, char *ret, size_t size) {
        size_t way[COMPANY_MAX], n = 0;
        int len;

        for (size_t i = last;; i = s->steps[i].from) {
                way[n++] = i;
                if (s->steps[i].from == i)
                        break;
        }
        len = snprintf(ret, size, "%s", s->name);
        for (size_t i = n; i-- > 0 && len > 0 && (size_t) len < size;)
                len += snprintf(ret + len, size - (size_t) len, " -> %s", s->steps[way[i]].name);
        if (len > 0 && (size_t) len < size)
                snprintf(ret + len, size - (size_t) len, " -> %s", s->name);
        return way[n - 1];
}

static int follow(Search *s, CompanyFind find, void *userdata, size_t *ret_last) {
        int r = 0;

        for (size_t i = 0; i < s->n && r == 0; i++) {
                UnitOptions *o = NULL;

                *ret_last = i;
                r = find(s->steps[i].name, &o, userdata);
                if (r != 0)
                        r = MIN_OF(r, 0);
                else {
                        r = reach(s, o, i);
                        unit_options_unref(o);
                }
        }
        return r;
}

int company_of_records(const char *name, UnitOptions **ret, void *state) {
        UnitEntry *e = cluster_state_find_unit(state, name);
        _cleanup_free_ char *template = NULL;
        const UnitFile *file;
        int r;

        if (!e && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
                e = cluster_state_find_unit(state, template);
        }
        if (!e)
                return 1;
        r = spec_entry_file(e->spec, &file);
        r = r < 0 ? r : unit_file_expand(file, name, name, ret, NULL);
        return r == -EINVAL ? 1 : r;
}

int company_check(const char *name, const UnitOptions *options, CompanyFind find, void *userdata, char *ret,
                  size_t size, unsigned *ret_line) {
        Search s = {.name = name};
        size_t last = 0;
        int r = reach(&s, options, 0);

        for (size_t i = 0; i < s.n; i++)
                s.steps[i].from = i; // where the ways begin
        if (r == -ELOOP) {
                snprintf(ret, size, "%s -> %s", name, name);
                *ret_line = line_of(options, name);
        } else if (r == 0) {
                r = follow(&s, find, userdata, &last);
                if (r == -ELOOP)
                        *ret_line = line_of(options, s.steps[tell(&s, last, ret, size)].name);
        }
        for (size_t i = 0; i < s.n; i++)
                free(s.steps[i].name);
        return r;
}
