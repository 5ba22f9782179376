// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <stddef.h>

typedef struct Ctl Ctl;

// Prints the last lines of the units' logs on err, if their nodes tell them soon.
void last_words_print(Ctl *ctl, char **names, size_t n);
