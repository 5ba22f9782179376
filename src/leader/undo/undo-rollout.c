// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a job can be undone by a rollout (`undo --rolling`): one content for all instances of a template
// (undo-rollout.h). undo_rollout_find(): every unit that is due has to exist, keep its target, and get the
// same file -> the group. -EINVAL and *ret_why, the caller's: it cannot; -ENOMEM.

#include "undo-rollout.h"

#include <errno.h>
#include <inttypes.h>

#include "str.h"

static int cannot(const UndoList *list, char **ret_why, const char *why, const char *unit) {
        *ret_why = str_printf("job %" PRIu64
                              " (%s) cannot be undone a few units at a time, as an update: %s%s%s",
                              list->job->number, list->job->verb, unit, *unit ? " " : "", why);
        return *ret_why ? -EINVAL : -ENOMEM;
}

static bool is_about_content_only(const UndoItem *item) {
        const UndoState *now = &item->unit.now, *wanted = &item->wanted;

        return item->verdict == UNDO_PUT && now->exists && now->target == wanted->target &&
               !item->leaves_set;
}

static int add(const UndoList *list, const ClusterState *state, const UndoItem *item, RolloutGroup *ret,
               char **ret_why) {
        bool from_template = item->unit.now.from_template && item->wanted.from_template;
        const UnitEntry *e = cluster_state_find_unit(state, item->to.name);
        const char *why;
        int r;

        if (!is_about_content_only(item))
                return cannot(list, ret_why, "is to be something else again, too, or was not there",
                              item->to.name);
        r = rollout_group_add(ret, item->to.name, from_template, e && e->record->global, &item->wanted.spec,
                              &why);
        return r == -EINVAL ? cannot(list, ret_why, why, item->to.name) : r;
}

int undo_rollout_find(const UndoList *list, const ClusterState *state, RolloutGroup *ret, char **ret_why) {
        int r = 0;

        for (size_t i = 0; i < list->settings.n; i++)
                if (undo_setting_is_due(&list->settings.items[i]))
                        return cannot(list, ret_why, "it has changed more than units", "");
        for (size_t i = 0; r == 0 && i < list->n; i++)
                if (list->items[i].to.aimed)
                        r = add(list, state, &list->items[i], ret, ret_why);
        return r;
}
