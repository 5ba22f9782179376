// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a start that argosy asked for has succeeded, of a service that systemd calls active before its
// program has done anything (Type=simple, exec, idle): once its process has lived PROBATION_MS. Pure; times
// are boot time.
//
// Since version 256 systemd tells when the process has begun with its program: what it does before that,
// which takes its executor 100 ms and more where others work, is no life of the program. Of a process of
// which that is not told within PROBATION_EXEC_MS nobody waits for it.
//
// It begins when the job of the start has ended, and its first run counts alone:
//
//      up for PROBATION_MS, or `exited`      PASSED, whatever becomes of it later
//      systemd starts it again               RESTARTED, although it may be up
//      inactive, its process ended well      ENDED, if that is still so PROBATION_MS later: systemd says
//                                            `inactive` also of
//                                            what it is about to start again (Restart=always)
//      failed                                NONE: its state says that the start has failed
//
// A process that ends early and is waited for (ExecStopPost=) stays ON until its state says how it ended.
// Who is told "active" can see by PROBATION_ON that this is not all; that it has lived long enough needs no
// report for each unit, but one mark for all of a host (Reports.lived_ms), which costs nothing where reports
// are sent anyway, and leaves at most every PROBATION_TICK_MS by itself.

#include "argosy.pb-c.h"
#include "systemd-manager.h"

enum {
        PROBATION_MS = 100, // in the manual
        PROBATION_TICK_MS = 20,
        PROBATION_EXEC_MS = 10000, // Type=idle waits 5 s at most
};

typedef struct ProbationStart {
        // when it began, its process was seen to have begun with its program, or to have ended well
        uint64_t at_ms;
        uint64_t begin_ms; // when it began
        // systemd's stamp of when its run became active, or began with its program; 0: not known
        uint64_t since_us;
        bool left;         // that run is not up any more, and was so for too short a time
        bool before_exec;  // its process has not begun with its program yet
        bool waits;        // time alone decides: probation_on_time() PROBATION_MS after at_ms
} ProbationStart;

// The job of a start has ended well. `restarted`: systemd has started it again already.
Argosy__Probation probation_begin(const UnitRuntime *now, bool restarted, uint64_t now_ms,
                                  ProbationStart *ret);
// Something about a unit that is ON has changed. `restarted`: what is seen is not the run that was asked
// for.
Argosy__Probation probation_on_change(ProbationStart *start, const UnitRuntime *now, bool restarted,
                                      uint64_t now_ms);
// It is waited for that the process begins with its program, whatever the time.
bool probation_awaits_exec(const ProbationStart *start, uint64_t now_ms);
Argosy__Probation probation_on_time(const ProbationStart *start);
// When it is to be looked at which of them have passed; `last_ms`: when that was done last.
uint64_t probation_due_ms(const ProbationStart *first, uint64_t last_ms);
