// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Refuses a request whose MachineOf= and SameNodeAs= close a cycle, together with those that the cluster
// has.
//
//      request_check_affinity() per unit
//          -> affinity_check() follows options: the request's, else the records' -> 0
//
// A template is checked by an instance that stands for all. Failures: UNIT_REFUSED and a result; -EBUSY:
// another request of this batch changes a unit on the way; -ENOMEM.

#include <errno.h>

#include "affinity.h"
#include "planner.h"
#include "response.h"
#include "str.h"
#include "unit-name.h"

typedef struct Content { // the content that this request gives a unit
        const UnitFile *file;
        char name[];
} Content;

// The unit gets this content. 0 or -ENOMEM.
static int request_note_content(Planner *p, const char *name, const UnitFile *file) {
        Content *c = map_find_str(&p->contents, name);
        int r;

        if (c) {
                c->file = file;
                return 0;
        }
        c = malloc(sizeof(*c) + strlen(name) + 1);
        if (!c)
                return -ENOMEM;
        c->file = file;
        strcpy(c->name, name);
        r = map_add_str(&p->contents, c->name, c);
        if (r < 0)
                free(c);
        return r;
}

void request_content_take_back(Planner *p, const char *name) {
        free(map_take_str(&p->contents, name));
}

void request_contents_done(Planner *p) {
        map_done_with(&p->contents, free);
}

// The options that the unit would have after this request, else those of its record.
static int find_options(const char *name, UnitOptions **ret, void *userdata) {
        Planner *p = userdata;
        const Content *c = map_find_str(&p->contents, name);
        _cleanup_free_ char *template = NULL;
        int r;

        if (!c && batch_builder_has_unit(p->batch, name) &&
            !batch_builder_has_unit_since(p->batch, name, p->start))
                return -EBUSY; // another request changes it in this batch
        if (!c && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE &&
            !cluster_state_find_unit(p->state, name)) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
                c = map_find_str(&p->contents, template);
        }
        if (!c)
                return affinity_of_records(name, ret, p->state);
        r = unit_file_expand(c->file, name, name, ret, NULL);
        return r == -EINVAL ? AFFINITY_UNKNOWN : r;
}

static int check(Planner *p, const char *name, const Source *source, const UnitOptions *options,
                 Argosy__Response__UnitResult *result) {
        char way[512];
        unsigned line = 1;
        int r = affinity_check(name, options, find_options, p, way, sizeof(way), &line);

        if (r != -ELOOP && r != -E2BIG)
                return r;
        result->status = EINVAL;
        if (r == -ELOOP)
                r = field_printf(&result->message, "%s:%u: units that are to be where each other is: %s",
                                 source->path ?: name, line, way);
        else
                r = field_printf(&result->message, "%s: more than %d units are to be where each other is",
                                 source->path ?: name, AFFINITY_MAX);
        return r < 0 ? r : UNIT_REFUSED;
}

int request_check_affinity(Planner *p, const char *name, const Source *source, const UnitOptions *options,
                           Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *instance = NULL;
        UnitOptions *own = NULL;
        size_t len;
        const char *prefix;
        int r;

        if (unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE)
                r = options->same_node ? check(p, name, source, options, result) : 0;
        else {
                prefix = unit_name_prefix(name, &len);
                instance = str_printf("%.*s@1%s", (int) len, prefix, unit_name_suffix(name));
                if (!instance)
                        return -ENOMEM;
                r = unit_file_expand(source->file, name, instance, &own, NULL);
                if (r == 0)
                        r = check(p, instance, source, own, result);
                unit_options_unref(own);
                r = r == -EINVAL ? 0 : r;
        }
        return r != 0 ? r : request_note_content(p, name, source->file);
}
