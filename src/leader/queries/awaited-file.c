// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a unit that is being started waits on its node for the file of another one, whose image is pulled.
//
//      what the unit's [Unit] names, and what it activates -> the first of these whose image its node pulls
//
// Failures: without memory nothing is said.

#include "awaited-file.h"

#include <stdlib.h>
#include <string.h>

#include "cluster-state.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-state.h"

static bool is_pulled_there(const Leader *l, const UnitOnNode *s, const char *name) {
        const Unit *other = unit_find(l, name);
        const UnitOnNode *o = other && other != s->unit ? unit_on_node_find(other, s->node) : NULL;

        return o && o->pulling && !active_state_is_up(o->active);
}

static char *find(const Leader *l, const UnitOnNode *s, const UnitFile *file) {
        _cleanup_free_ char *names = file->needs ? unit_file_fill_in(file->needs, s->unit->name) : NULL,
                            *activated = NULL;
        char *save = NULL;

        for (char *name = names ? strtok_r(names, " \t", &save) : NULL; name;
             name = strtok_r(NULL, " \t", &save))
                if (is_pulled_there(l, s, name))
                        return strdup(name);
        if (unit_file_activates(file, s->unit->name, &activated) < 0 || !activated)
                return NULL;
        return is_pulled_there(l, s, activated) ? TAKE_PTR(activated) : NULL;
}

bool awaited_file_phrase(const Leader *l, const UnitOnNode *s, const char *phrase, char *ret, size_t size) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);
        _cleanup_free_ char *name = NULL;
        const UnitFile *file;

        if (!e || !e->spec || spec_entry_file(e->spec, &file) < 0)
                return false;
        name = find(l, s, file);
        if (name)
                str_fit(ret, size, "%s as soon as %s is there, whose image is being pulled", phrase, name);
        return name;
}
