// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units: made, found, marked, and freed; unit-core.h says what they are.

#include "ledger.h"
#include "quadlet.h"
#include "unit-core.h"

AgentUnit *agent_unit_find(AgentNode *node, const char *name);
AgentUnit *agent_unit_next(const AgentNode *node, size_t *iter); // *iter begins as 0
// The unit may be freed in the body, none may be made.
#define agent_foreach_unit(u, node)                         \
        for (size_t u##_i = 0, u##_b = 1; u##_b; u##_b = 0) \
                for (AgentUnit * u; (u = agent_unit_next((node), &u##_i));)
// -EINVAL: of all units, it is the one that runs another manager of ours.
int agent_unit_new(AgentNode *node, const char *name, AgentUnit **ret);
void agent_unit_free(AgentUnit *u);
AgentMade *agent_made_free(AgentMade *m); // takes NULL, returns NULL
// The next of the units beside the container's own, by the end of their names; *at begins as 0. False: there
// is none, or nothing was made (NULL).
bool agent_made_next(const AgentMade *m, const char *suffix, size_t *at, QuadletMade *ret);
void agent_unit_mark(AgentUnit *u);
// It is reported in this turn.
void agent_unit_report(AgentUnit *u);
// The same for what an order has come to on its way, which nobody waits for: with whatever is reported of
// the unit next, or after REPORT_INTERVAL_US.
void agent_unit_report_step(AgentUnit *u);
// The same for a state that systemd tells. While an order is carried out it is told at the next tick, unless
// the end is told before; else at once, unless the unit changes all the time (report-pace.h).
void agent_unit_report_state(AgentUnit *u);
void agent_unit_set_error(AgentUnit *u, const char *format, ...) _printf_(2, 3);
void agent_unit_clear_error(AgentUnit *u);

// What is under way, made if there is nothing yet; NULL: out of memory.
AgentUnitWork *agent_unit_work(AgentUnit *u);
// What is in place is another content's, or perhaps gone. Whoever keeps the directory in argosyd's place is
// to be told that it is ours all the same.
static inline void agent_unit_doubt_file(AgentUnit *u) {
        u->half_written |= u->file_present && !u->node->dir;
        u->file_present = false;
}
// To look at: all zero for a unit at rest.
static inline const AgentUnitWork *agent_unit_doing(const AgentUnit *u) {
        static const AgentUnitWork nothing;

        return u->work ?: &nothing;
}
// Before something is held that is not as ordered. Without memory for that the order is forgotten, and the
// leader will say it again.
void agent_unit_keep_order(AgentUnit *u);
// If nothing is under way any more, the unit is at rest from now on.
void agent_unit_settle(AgentUnit *u);

// The order: NULL if no leader has said anything yet. `buffer` is where it is for a unit at rest.
const PlanWanted *agent_unit_wanted(const AgentUnit *u, PlanWanted *buffer);
// The revision that was answered last.
uint64_t agent_unit_answered(const AgentUnit *u);
// The content that is in place; NULL: none, or not known.
const AgentSpec *agent_unit_content(const AgentUnit *u);
// Whether the content of the order is in place, so that nothing is to be made ready for it.
bool agent_unit_is_written(const AgentUnit *u);
// With which unit of ours that is not to run systemd stops it, or has stopped it; NULL: with none.
const AgentUnit *agent_unit_goes_along(const AgentUnit *u);
// Whether systemd has stopped it, if it is down, for a unit that conflicts with it, by either unit's
// Conflicts=.
bool agent_unit_has_conflict(const AgentUnit *u);
// Which one that is; NULL: it is not known.
const char *agent_unit_conflict(const AgentUnit *u);
// Marks those whom its own file conflicts with: it is about to start, or did not come to it.
void agent_unit_displace(AgentUnit *u, bool displaced);
// The lease is over, and for so long, that the guard has stopped this unit or will not let it start.
bool agent_is_cut_off(const AgentUnit *u, uint64_t now_us);
// As `systemctl show` on the node would say.
Argosy__LoadState agent_unit_load(const AgentUnit *u);
// systemd has said `load` of the unit, as it has it in memory; UNKNOWN: nothing. What does that say about
// the file?
void agent_unit_note_load(AgentUnit *u, Argosy__LoadState load);
// systemd could not use the content in place when it last read it.
bool agent_unit_is_bad(const AgentUnit *u);
// NULL while the unit is not in systemd's memory.
const UnitRuntime *agent_unit_runtime(const AgentUnit *u);
// Also what systemd does not have in memory.
bool agent_unit_is_down(const AgentUnit *u);
// Why it is down; not while there is an error that says more.
Argosy__DownCause agent_unit_down(const AgentUnit *u);
// Fills *ret in with what is held; its name is the unit's.
void agent_unit_fill_record(const AgentUnit *u, LedgerRecord *ret);
// Takes a record over, but for what it names.
void agent_unit_hold(AgentUnit *u, const LedgerRecord *record, AgentSpec *spec);
// It holds nothing any more, also no place in a slice.
void agent_unit_drop_held(AgentUnit *u);
// The same with the record: the name did not become ours.
void agent_unit_give_back(AgentUnit *u);
// systemd has in memory what is in place, or nothing. Returns true if the record was still waiting for that.
bool agent_unit_note_read(AgentUnit *u);
// A run was promised that systemd does not know of yet. Recorded, unless one was promised before.
void agent_unit_owe_run(AgentUnit *u);
// Puts the record as it is now; written at the end of the turn.
void agent_unit_record(AgentUnit *u);
