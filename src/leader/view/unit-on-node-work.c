// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is under way about a unit on a node (orders, awaited reports, outcomes), apart from the object at
// rest. unit_on_node_work() makes it on demand -> _unlink(), _forget_outcome(): freed when nothing is under
// way any more. The UnitOnNode owns it. Without memory the process ends (oom.h).

#include "unit-on-node-work.h"

#include "message.h"
#include "oom.h"

const UnitOnNodeWork unit_on_node_work_none = {};

UnitOnNodeWork *unit_on_node_work(UnitOnNode *s) {
        if (!s->work) {
                s->work = oom_checked(calloc(1, sizeof(*s->work)));
                s->work->on_node = s;
        }
        return s->work;
}

static void settle(UnitOnNodeWork *w) {
        if (list_is_linked(&w->order) || list_is_linked(&w->awaiting) || list_is_linked(&w->outcome_due) ||
            w->outcome)
                return;
        w->on_node->work = NULL;
        free(w);
}

void unit_on_node_work_unlink(UnitOnNodeWork *w, ListNode *member) {
        list_unlink(member);
        settle(w);
}

void unit_on_node_work_stop_awaiting(UnitOnNode *s) {
        if (s->work)
                unit_on_node_work_unlink(s->work, &s->work->awaiting);
}

void unit_on_node_work_forget_outcome(UnitOnNode *s) {
        if (!s->work)
                return;
        message_free(s->work->outcome);
        s->work->outcome = NULL;
        settle(s->work);
}

void unit_on_node_work_free(UnitOnNode *s) {
        UnitOnNodeWork *w = s->work;

        if (!w)
                return;
        list_unlink(&w->order);
        list_unlink(&w->awaiting);
        list_unlink(&w->outcome_due);
        s->work = NULL;
        unit_on_node_work_discard(w);
}

void unit_on_node_work_discard(UnitOnNodeWork *w) {
        if (!w)
                return;
        message_free(w->outcome);
        free(w);
}
