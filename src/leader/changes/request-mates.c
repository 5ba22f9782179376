// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Timers, sockets, paths and automounts are placed after what they activate (request-turns.c), since that
// demands more than they do. So what they ask for themselves has to be known before: the activated unit gets
// a node that admits both.
//
// Happy path: each activator of the request whose options are about nodes is noted under the name of what it
// activates, before any unit is placed; one that brings its service along, before that one is planned. Of
// several activators of one unit the first counts.
//
// Failures: none but memory.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eligibility.h"
#include "planner.h"
#include "unit-name.h"

typedef struct Mate {
        UnitOptions *options; // with a reference
        char name[];          // of what it activates
} Mate;

static bool is_about_nodes(const UnitOptions *o) {
        return eligibility_narrows(o) || (o->same_node && *o->same_node);
}

int request_note_mate(Planner *p, const char *name, const UnitFile *file, const UnitOptions *options) {
        _cleanup_free_ char *activated = NULL;
        Mate *m;
        int r;

        if (!unit_name_activated_type(name) || options->global || !is_about_nodes(options))
                return 0;
        r = unit_file_activates(file, name, &activated);
        if (r < 0 || !activated || map_find_str(&p->mates, activated))
                return r;
        m = malloc(sizeof(*m) + strlen(activated) + 1);
        if (!m)
                return -ENOMEM;
        strcpy(m->name, activated);
        m->options = unit_options_ref(options);
        r = map_add_str(&p->mates, m->name, m);
        if (r < 0) {
                unit_options_unref(m->options);
                free(m);
        }
        return r;
}

const UnitOptions *request_mate(const Planner *p, const char *name) {
        const Mate *m = map_find_str(&p->mates, name);

        return m ? m->options : NULL;
}

static void mate_free(void *mate) {
        Mate *m = mate;

        unit_options_unref(m->options);
        free(m);
}

void request_mates_done(Planner *p) {
        map_done_with(&p->mates, mate_free);
}
