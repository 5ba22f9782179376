// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cycles of MachineOf= and SameNodeAs=: of all ways from one unit back to it the shortest one, in words.
//
//      affinity_check() -> find() gives the options of each unit on the way -> -ELOOP and the way, or 0
//
// Units that find() does not know lead nowhere. Failures: -E2BIG above AFFINITY_MAX units, -ENOMEM, find()'s
// errno.

#include "affinity.h"

#include <errno.h>

#include "cycles.h"
#include "unit-name.h"

typedef struct Search {
        const char *name;
        const UnitOptions *options; // of `name`
        AffinityFind find;
        void *userdata;
        UnitOptions *seen[AFFINITY_MAX]; // references: the walk borrows their words
        size_t n_seen;
        char *ret; // the cycle in words
        size_t size;
        unsigned *ret_line;
} Search;

static int each_of(CycleWalk *w, const UnitOptions *o) {
        int r = 0;

        for (char **m = o->same_node; m && *m && r >= 0; m++)
                r = cycles_edge(w, *m, o->same_node_lines[m - o->same_node], false);
        return r;
}

static int each_activator(CycleWalk *w, const char *name, void *userdata) {
        Search *s = userdata;
        UnitOptions *o = NULL;
        int r;

        if (name == s->name)
                return each_of(w, s->options);
        r = s->find(name, &o, s->userdata);
        if (r != 0)
                return MIN_OF(r, 0);
        s->seen[s->n_seen++] = o;
        return each_of(w, o);
}

static int on_cycle(const Cycle *c, void *userdata) {
        Search *s = userdata;

        cycle_describe(c, " -> ", s->ret, s->size);
        *s->ret_line = c->line;
        return -ELOOP;
}

int affinity_of_records(const char *name, UnitOptions **ret, void *state) {
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
                return AFFINITY_UNKNOWN;
        r = spec_entry_file(e->spec, &file);
        r = r < 0 ? r : unit_file_expand(file, name, name, ret, NULL);
        return r == -EINVAL ? AFFINITY_UNKNOWN : r;
}

int affinity_check(const char *name, const UnitOptions *options, AffinityFind find, void *userdata,
                   char *ret, size_t size, unsigned *ret_line) {
        Search s = {.name = name,
                    .options = options,
                    .find = find,
                    .userdata = userdata,
                    .ret = ret,
                    .size = size,
                    .ret_line = ret_line};
        CycleWalk w = {.next = each_activator, .found = on_cycle, .userdata = &s, .max = AFFINITY_MAX + 1};
        int r = cycles_find(&w, &name, 1);

        for (size_t i = 0; i < s.n_seen; i++)
                unit_options_unref(s.seen[i]);
        return r;
}
