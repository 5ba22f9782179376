// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes on which a unit has failed, as the Placement is to see them: no choice for it, as long as there is
// another one.
//
// A bar is set while a unit is being placed and taken away when that has been done (scheduler_free()), so
// what counts is what has not been forgiven at that moment. A node that refuses the unit stays refused,
// whatever the bar.
#include "retry-bars.h"

#include <stdio.h>

#include "registry.h"
#include "scheduler-units.h"
#include "turn.h"
#include "unit-record.h"
#include "unit-work.h"

uint64_t retry_half_us(const UnitEntry *e) {
        return failing_options_of(e)->restart_decay_us;
}

unsigned retry_failures_on(const Leader *l, const Unit *u, const UnitEntry *e, uint32_t node) {
        return retry_policy_failures(&unit_work_seen(u)->retry->log, node, retry_half_us(e), leader_now(l));
}

RetryBar retry_bars_first(const Unit *u) {
        return u && unit_work_seen(u)->retry ? RETRY_BAR_ANY : RETRY_BAR_NONE;
}

RetryBar retry_bars_last(const Unit *u) {
        return u && unit_work_seen(u)->retry && unit_work_seen(u)->retry->asking ? RETRY_BAR_LIMIT
                                                                                 : RETRY_BAR_NONE;
}

void retry_bars_set(Leader *l, const Unit *u, RetryBar bar) {
        const Retry *retry = u ? unit_work_seen(u)->retry : NULL;
        const UnitEntry *e = retry ? cluster_state_find_unit(l->state, u->name) : NULL;
        unsigned limit = bar == RETRY_BAR_ANY || !e ? 1 : failing_options_of(e)->restart_elsewhere;

        for (size_t i = 0; retry && i < retry->log.n; i++) {
                uint32_t node = retry->log.nodes[i].node;
                bool barred = e && bar != RETRY_BAR_NONE && retry_failures_on(l, u, e, node) >= limit;

                if (!unit_exclusion(u, node) && node_find(l, node))
                        scheduler_on_exclusion(l, u, node, barred);
        }
}

bool retry_bars_why(const Leader *l, const Unit *u, uint32_t node, char *ret, size_t size) {
        const UnitEntry *e = unit_work_seen(u)->retry ? cluster_state_find_unit(l->state, u->name) : NULL;
        unsigned n = e ? retry_failures_on(l, u, e, node) : 0;

        if (n)
                snprintf(ret, size, "it failed there%s", n > 1 ? " again and again" : "");
        return n;
}

bool retry_is_stuck(const Unit *u) {
        return u && unit_work_seen(u)->retry && unit_work_seen(u)->retry->stuck;
}
