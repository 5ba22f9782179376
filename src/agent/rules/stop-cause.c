// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether another unit's stop or start took a unit down, by the tie between the two and the other's state.
//
//      stop_tie(): systemd's property -> a tie -> stop_cause(): BOUND, CONFLICT or not
//
// A unit that takes others along mostly stops after them, so it may still have its job. A required unit may
// have ended by itself long ago, which stops nothing, so there its time counts. Pure functions that cannot
// fail.

#include "stop-cause.h"

#include "macro.h"
#include "str.h"
#include "unit-state.h"

// Nearly all units depend on these by default, and they go down only with the machine.
static bool is_of_all(const char *unit) {
        static const char *const names[] = {"shutdown.target", "sysinit.target", "basic.target", "-.mount"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(unit, names[i]))
                        return true;
        return str_has_suffix(unit, ".slice");
}

StopTie stop_tie(const char *property, const char *other) {
        static const struct {
                const char *property;
                StopTie tie;
        } ties[] = {
                {"Conflicts", STOP_TIE_CONFLICT},      {"ConflictedBy", STOP_TIE_CONFLICT},
                {"BindsTo", STOP_TIE_BINDING},         {"Requires", STOP_TIE_STOP},
                {"Requisite", STOP_TIE_STOP},          {"PartOf", STOP_TIE_STOP},
                {"StopPropagatedFrom", STOP_TIE_STOP},
        };

        for (size_t i = 0; i < ELEMENTSOF(ties); i++)
                if (streq(ties[i].property, property))
                        return is_of_all(other) ? STOP_TIE_NONE : ties[i].tie;
        return STOP_TIE_NONE;
}

static bool comes_up(const StopOther *o) {
        return active_state_is_up(o->active) || o->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING ||
               // as both were not up, that was a start
               (active_state_is_down(o->active) && (o->has_job || o->had_job));
}

static bool goes_down(const StopOther *o, uint64_t from_us) {
        if (o->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING ||
            (active_state_is_up(o->active) && o->has_job))
                return true;
        if (o->down_at_us == 0)
                return active_state_is_down(o->active) && o->had_job;
        return o->down_at_us >= from_us;
}

Argosy__DownCause stop_cause(const StopOther *o, uint64_t from_us) {
        bool bound = false;

        if (o->tie == STOP_TIE_CONFLICT)
                return comes_up(o) ? ARGOSY__DOWN_CAUSE__DOWN_CONFLICT : ARGOSY__DOWN_CAUSE__DOWN_NOT;
        if (o->tie == STOP_TIE_BINDING)
                bound = active_state_is_down(o->active) || goes_down(o, from_us);
        else if (o->tie == STOP_TIE_STOP)
                bound = goes_down(o, from_us);
        return bound ? ARGOSY__DOWN_CAUSE__DOWN_BOUND : ARGOSY__DOWN_CAUSE__DOWN_NOT;
}
