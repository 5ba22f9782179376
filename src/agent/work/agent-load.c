// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd says of a unit's file when it reads it:
//
//   a load has ended, or a start was refused -> systemd's word -> AgentUnit.load, in the record if systemd
//   cannot use
//   the file; reported if that is news
//
// That systemd finds no file, or a mask, is the directories' word: after a load they are looked at
// (agent-search.h), and their changes are heard. An answer that does not come leaves what is known, until
// the next start or load.

#include "agent-core.h"
#include "agent-load.h"
#include "agent-search.h"
#include "agent-unit.h"

void agent_load_said(AgentUnit *u, Argosy__LoadState load) {
        if (load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND || load == ARGOSY__LOAD_STATE__LOAD_MASKED)
                agent_search_name(u->node, u->name);
        else
                agent_unit_note_load(u, load);
}

static void on_looked(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);
        Argosy__LoadState before;

        if (!u)
                return;
        before = agent_unit_load(u);
        agent_unit_note_load(u, load);
        if (agent_unit_load(u) != before)
                agent_unit_report_state(u);
        agent_unit_mark(u); // writes the record
}

void agent_load_look(AgentUnit *u) {
        const char *name = u->name;

        (void) systemd_manager_load(u->node->systemd, &name, 1, on_looked, u->node);
}
