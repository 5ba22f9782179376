// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Refuses units that replace each other in a cycle. Units with Replaces= are looked up among all records,
// once in a request that brings such a unit, and never else. What this request and others of the same batch
// are about to put is not in the records: this one's units are noted, and one batch takes such units from
// one request only.
#include <errno.h>

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

int replace_cycles_of_state(ClusterState *state, ReplaceCycles *ret) {
        UnitEntry **units;
        size_t n;
        int r = cluster_state_units(state, &units, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const char *name = units[i]->record->name;
                const UnitFile *file;
                UnitOptions *options;

                if (spec_entry_file(units[i]->spec, &file) < 0 || !file->replaces ||
                    unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE ||
                    unit_options_of(units[i], &options) < 0)
                        continue;
                r = replace_cycles_put(ret, name, options);
                unit_options_unref(options);
        }
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
        r = p->replacers_known ? 0 : replace_cycles_of_state(p->state, &p->replacers);
        p->replacers_known = true;
        r = r < 0 ? r : replace_cycles_check(&p->replacers, name, source->path ?: name, options, &why);
        if (r == -EINVAL) {
                r = unit_result_fail(result, EINVAL, why);
                return r < 0 ? r : UNIT_REFUSED;
        }
        p->replacers_planned = true;
        return r < 0 ? r : replace_cycles_put(&p->replacers, name, options);
}
