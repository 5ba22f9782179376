// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit has failed, by its journal: shown below the errors of a wait.

#include <stddef.h>
#include <stdint.h>

typedef struct Ctl Ctl;

enum { LAST_WORDS_UNITS = 3 }; // of so many it is shown

// Zero-initialised but for `since_us`.
typedef struct LastWords {
        uint64_t since_us; // boot time at which the verb began: what units wrote before is not about it
        char *names[LAST_WORDS_UNITS];
        size_t n;
} LastWords;

// The unit has failed on a node. Counts if there is room.
void last_words_note(LastWords *w, const char *name);
// Prints lines of the noted units' logs on err, if their nodes tell them soon.
void last_words_print(Ctl *ctl, const LastWords *w);
void last_words_done(LastWords *w);
