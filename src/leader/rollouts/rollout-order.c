// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The request of a rollout was judged by the order of that day. Until a unit has its turn, others may get an
// order that goes in a cycle with it, also by the same entry.
//
//      the turn of a unit, or the end of that of a global one -> orders/ordering.c -> 0, or the words
//
// Before a turn takes down what runs it is asked, too, whether that would start again
// (rollout_order_blocks()).
//
// What becomes of the rollout then, rollout-end.c says. Fails with -ENOMEM alone.

#include "rollout-order.h"

#include <errno.h>

#include "ordering.h"
#include "rollout-content.h"
#include "rollout-private.h"
#include "str.h"
#include "unit-file.h"

typedef int (*Judge)(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                     SpecEntry *spec, char **ret_why);

static int judge_with(Judge judge, const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                      SpecEntry *spec, char *ret, size_t size) {
        _cleanup_free_ char *why = NULL;
        int r = judge(l, planned, b, name, spec, &why);

        if (r != -EINVAL)
                return r;
        str_fit(ret, size, "%s", why ?: "the order goes in a cycle");
        return ROLLOUT_IN_CYCLE;
}

static int judge_global(Judge judge, const Leader *l, Dependencies *planned, BatchBuilder *b,
                        const Argosy__RolloutRecord *r, char *ret, size_t size) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        bool forward = rollout_is_update(r) && !rollout_is_returning(r);
        SpecEntry *spec = forward ? rollout_spec(l, &r->spec) : NULL;

        return e && e->record->global && spec && spec != e->spec
                       ? judge_with(judge, l, planned, b, r->name, spec, ret, size)
                       : 0;
}

int rollout_order_take(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                       SpecEntry *spec, char *ret, size_t size) {
        return judge_with(ordering_take, l, planned, b, name, spec, ret, size);
}

int rollout_order_settle(const Leader *l, Dependencies *planned, BatchBuilder *b,
                         const Argosy__RolloutRecord *r, char *ret, size_t size) {
        return judge_global(ordering_take, l, planned, b, r, ret, size);
}

int rollout_order_judge(const Leader *l, Dependencies *planned, BatchBuilder *b,
                        const Argosy__RolloutRecord *r, char *ret, size_t size) {
        return judge_global(ordering_judge, l, planned, b, r, ret, size);
}

int rollout_order_blocks(const Leader *l, const BatchBuilder *b, const char *name, SpecEntry *spec,
                         char *ret, size_t size) {
        UnitOptions *options = NULL;
        const UnitFile *file;
        bool blocks;
        int r = spec ? spec_entry_file(spec, &file) : 0;

        if (spec && r >= 0)
                r = unit_file_expand(file, name, name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        blocks = ordering_would_block(l, b, name, options, ret, size);
        unit_options_unref(options);
        return blocks ? ROLLOUT_BLOCKED : 0;
}
