// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What one message of systemd does to what we know about a unit, and when a job's end can be told. Pure.

#include "systemd-manager.h"

typedef enum UnitFact {
        UNIT_FACT_LOAD = 1 << 0,
        UNIT_FACT_ACTIVE = 1 << 1,
        UNIT_FACT_SUB = 1 << 2,
        UNIT_FACT_RESULT = 1 << 3,
        UNIT_FACT_INVOCATION = 1 << 4,
        UNIT_FACT_ENTERED = 1 << 5, // times[UNIT_TIME_INACTIVE_ENTER], asked for by itself
        UNIT_FACT_CHANGED = 1 << 6, // likewise UNIT_TIME_STATE_CHANGE, after that one
        UNIT_FACT_RESTARTS = 1 << 7,
        UNIT_FACT_JOB = 1 << 8,       // 0: it has none
        UNIT_FACT_CONDITION = 1 << 9, // ConditionResult, with times[UNIT_TIME_CONDITION]
        UNIT_FACT_EXIT = 1 << 10,     // ExecMainCode of a service
        UNIT_FACT_SINCE = 1 << 11,    // times[UNIT_TIME_ACTIVE_ENTER], asked for by itself
        UNIT_FACT_EXEC = 1 << 12,     // times[UNIT_TIME_EXEC] of a service
} UnitFact;

enum {
        UNIT_TIME_ACTIVE_ENTER,
        UNIT_TIME_ACTIVE_EXIT,
        UNIT_TIME_INACTIVE_ENTER,
        UNIT_TIME_INACTIVE_EXIT,
        UNIT_TIME_STATE_CHANGE,
        UNIT_TIME_CONDITION, // when its conditions were looked at; 0: never
        UNIT_TIME_EXEC,      // when its main process began with its program; 0: not yet
        UNIT_TIMES
};

// What a message says. Strings point into the message.
typedef struct UnitFacts {
        unsigned has; // UnitFact
        Argosy__LoadState load;
        Argosy__ActiveState active;
        const char *sub;
        const char *result;
        uint32_t job, exit_code; // as waitid(2) has codes
        bool condition;
        uint8_t invocation_id[16];
        uint32_t n_restarts;
        uint64_t times[UNIT_TIMES]; // wall clock, 0: not said
} UnitFacts;

void unit_runtime_init(UnitRuntime *rt);
// The unit is in memory and this is true of it. Returns whether anything is new. The strings of `facts` are
// kept as they are.
bool unit_runtime_apply(UnitRuntime *rt, const UnitFacts *facts, uint64_t wall_us);
// It has come into memory, with nothing else said.
bool unit_runtime_load(UnitRuntime *rt);
// It is not in memory.
bool unit_runtime_unload(UnitRuntime *rt, uint64_t wall_us);

// "done", "canceled", ... as in JobRemoved. A word that this version does not know is a failure.
SystemdJobResult job_result_from_string(const char *word);
// What the result alone does not say, for the user; often empty.
const char *job_result_reason(const char *word);
// Whether what we know about the unit can already be the state after that end of the job; if not, a change
// of the unit is still to come. `before`: the unit's invocation id when the job was sent.
bool job_is_settled(SystemdJobKind kind, SystemdJobResult result, const uint8_t before[16],
                    const UnitRuntime *now);
