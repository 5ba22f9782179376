// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is tried in a process of its own (trials.c).

#include "world.h"

// Root asks it, and all that follows happens without time passing. NULL: it is not answered yet. `request`:
// from the heap, the story's from now on.
const Argosy__Response *trials_ask(Argosy__Request *request);

// What follows by itself has happened.
void trials_pass(void);
// Something changes units by itself, at any time, or a unit does not start.
bool trials_is_restless(void);
// What people have said how all is to be, as the log has it, to be freed.
char *trials_wishes(void);
const char *trials_place_of(unsigned unit); // its node; "": it has none

// trials-ways.c
void trials_two_ways(Draw *d);

// trials-tags.c
void trials_look_at_tags(void);

// trials-retries.c
void trials_fail_again(Draw *d);
