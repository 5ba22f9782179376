// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Because of which other unit, or which condition, a unit is down: the words for `why` and reports.
//
//      agent_unit_set_down() -> the node's table `down_by`, the ledger, a report -> agent_unit_down_by()
//
// Few units have a name there, and a unit at rest stays small, so the names are in a table of the node. The
// condition of a skipped unit is read from its file, as systemd has forgotten it by then. Without memory
// only the name is lost.

#include "agent-down.h"

#include <stdlib.h>

#include "agent-unit.h"
#include "str.h"

// One allocation; agent_unit_free() frees it with the unit.
typedef struct AgentDownBy {
        const char *by; // points behind the name
        char name[];
} AgentDownBy;

void agent_unit_forget_down_by(AgentUnit *u) {
        free(map_take_str(&u->node->down_by, u->name));
}

// Without memory the cause is kept without this name.
static void keep_by(AgentUnit *u, const char *by) {
        size_t size = strlen(u->name) + 1;
        AgentDownBy *d = calloc(1, sizeof(*d) + size + strlen(by) + 1);

        if (!d)
                return;
        d->by = d->name + size;
        memcpy(d->name, u->name, size);
        strcpy(d->name + size, by);
        if (map_add_str(&u->node->down_by, d->name, d) < 0)
                free(d);
}

void agent_unit_set_down(AgentUnit *u, Argosy__DownCause down, const char *by) {
        agent_unit_forget_down_by(u);
        if (by)
                keep_by(u, by);
        u->held.down = down & 15;
        agent_unit_record(u);
        agent_unit_report_state(u);
}

const char *agent_unit_down_by(const AgentUnit *u) {
        const AgentDownBy *d = map_find_str(&u->node->down_by, u->name);
        const AgentSpec *content = agent_unit_content(u);
        const char *by = d ? d->by : NULL;

        if (u->held.down == ARGOSY__DOWN_CAUSE__DOWN_SKIPPED && content)
                by = streq(u->watch.runtime.result, "exec-condition") ? content->exec_condition
                                                                      : content->condition;
        return by ?: "";
}
