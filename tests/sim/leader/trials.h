// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is tried in a process of its own (trials.c).

#include "world.h"

// Root asks it, and all that follows happens without time passing. NULL: it is not answered yet. `request`:
// from the heap, the story's from now on.
const Argosy__Response *trials_ask(Argosy__Request *request);

// trials-retries.c
void trials_fail_again(Draw *d);
