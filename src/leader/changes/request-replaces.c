// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Refuses units that replace each other in a cycle. Of the records those count that the unit would replace,
// and whom these replace: a name is looked up, a pattern is compared with the names that begin as it does.
// What this request and others of the same batch are about to put is not in the records: this one's units
// are noted, and one batch takes such units from one request only.
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "replace-cycles.h"
#include "planner.h"
#include "request-replaces.h"
#include "response.h"
#include "scheduler.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-record.h"

static const char claim[] = "replaces";

typedef struct Replaced {
        ReplaceCycles *all;
        const char *glob;
} Replaced;

// What the request puts in its place is noted already.
static int take_on(UnitEntry *u, void *userdata) {
        const Replaced *w = userdata;
        const char *name = u->record->name;
        const UnitFile *file;
        UnitOptions *options;
        int r;

        if (spec_entry_file(u->spec, &file) < 0 || !file->replaces || fnmatch(w->glob, name, 0) != 0 ||
            unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE || replace_cycles_has(w->all, name) ||
            unit_options_of(u, &options) < 0)
                return 0;
        r = replace_cycles_put(w->all, name, options);
        unit_options_unref(options);
        return r;
}

static int take_on_named(const ClusterState *state, ReplaceCycles *all, const char *glob) {
        Replaced w = {all, glob};
        size_t plain = strcspn(glob, "*?[\\");
        _cleanup_free_ char *prefix = NULL;
        UnitEntry *u;

        if (!glob[plain]) {
                u = cluster_state_find_unit(state, glob);
                return u ? take_on(u, &w) : 0;
        }
        prefix = strndup(glob, plain);
        return prefix ? cluster_state_each_unit(state, prefix, take_on, &w) : -ENOMEM;
}

// Of the first `n` all are known whom they replace, and so is then whom these options do.
static int follow(const ClusterState *state, ReplaceCycles *all, size_t n, char *const *globs) {
        int r = 0;

        for (; globs && *globs && r == 0; globs++)
                if (!replace_cycles_names(all, n, *globs))
                        r = take_on_named(state, all, *globs);
        return r;
}

int replace_cycles_add_replaced(const ClusterState *state, const UnitOptions *options, ReplaceCycles *all) {
        size_t n = all->n;
        int r = follow(state, all, n, options->replaces);

        for (; r == 0 && n < all->n; n++)
                r = follow(state, all, n, all->of[n].options->replaces);
        return r;
}

int replace_cycles_check(const ReplaceCycles *l, const char *name, const char *path,
                         const UnitOptions *options, char **ret_why) {
        char way[512];
        int r = replace_cycles_find(l, name, options, way, sizeof(way));

        if (r <= 0)
                return r;
        *ret_why = str_printf("%s:%u: units replace each other in a cycle: %s", path,
                              options->replaces_line, way);
        return *ret_why ? -EINVAL : -ENOMEM;
}

int request_check_replaces(Planner *p, const char *name, const Source *source, UnitOptions *options,
                           Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *why = NULL;
        int r;

        if (!options->replaces || unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return 0;
        r = batch_builder_claim(p->batch, claim, sizeof(claim));
        if (r < 0 && (r != -EBUSY || !p->replacers_planned))
                return r;
        r = replace_cycles_add_replaced(p->state, options, &p->replacers);
        r = r < 0 ? r : replace_cycles_check(&p->replacers, name, source->path ?: name, options, &why);
        if (r == -EINVAL) {
                r = unit_result_fail(result, EINVAL, why);
                return r < 0 ? r : UNIT_REFUSED;
        }
        p->replacers_planned = true;
        return r < 0 ? r : replace_cycles_put(&p->replacers, name, options);
}
