// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit that has failed wrote to its journal before: shown below the complaint, to whoever waited for it.

#include <stddef.h>

typedef struct Ctl Ctl;

// Prints the last lines of the units' logs on err, if their nodes tell them soon.
void last_words_print(Ctl *ctl, char **names, size_t n);
