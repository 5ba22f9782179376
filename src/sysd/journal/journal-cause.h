// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which of a unit's newest lines say why it failed. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macro.h"

typedef struct JournalEntry {
        uint64_t at_us;        // wall clock
        unsigned priority;     // as syslog has it
        bool by_manager;       // systemd says it of the unit; else the unit does
        char invocation[33];   // of which run; "": it is not said
        const char *text;      // borrowed
} JournalEntry;

// Notes in *chosen which `most` of the entries, oldest first, are worth being read: those of the last run
// that wrote anything from `since_us` on; none twice. First what systemd says to be wrong, then the last
// words of the program, and only what room is left for has what follows from it ("Failed with result").
// Returns how many.
size_t journal_cause_choose(const JournalEntry *entries, size_t n, uint64_t since_us, size_t most,
                            bool *chosen);
