// SPDX-License-Identifier: LGPL-2.1-or-later

// The units of fleet that the agent knows and watches while a cluster of fleet is taken over
// (fleet-units.h). agent_fleet_search() marks the next drain -> the units found are watched ->
// agent_fleet_drop() or _release() ends it. Only the system's node has any. If the watch of fleet's program
// fails, `other` stays false; nothing else fails here.

#include "fleet-units.h"

#include <stdlib.h>

#include "agent-core.h"
#include "str.h"

static void unwatch(AgentNode *node, SystemdUnit *watch) {
        if (watch->name)
                systemd_manager_unwatch(node->systemd, watch);
        *watch = (SystemdUnit){};
}

void agent_fleet_release(AgentNode *node, const char *name) {
        AgentFleetUnit *f =
                node == node->agent->system ? map_find_str(&node->agent->fleet.units, name) : NULL;

        if (f)
                unwatch(node, &f->watch);
        else if (node == node->agent->system && node->agent->fleet.program.name &&
                 streq(name, AGENT_FLEET_PROGRAM))
                unwatch(node, &node->agent->fleet.program);
}

void agent_fleet_watch_program(Agent *a, bool watch) {
        SystemdUnit *program = &a->fleet.program;

        if (!watch)
                unwatch(a->system, program);
        else if (!program->name)
                program->other =
                        systemd_manager_watch(a->system->systemd, program, AGENT_FLEET_PROGRAM) >= 0;
}

void agent_fleet_search(Agent *a) {
        a->fleet.search_due = true;
        drain_mark(&a->drain);
}

void agent_fleet_drop(AgentNode *node, AgentFleetUnit *f) {
        unwatch(node, &f->watch);
        list_unlink(&f->link);
        map_take_str(&node->agent->fleet.units, f->name);
        free(f);
}
