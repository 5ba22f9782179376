// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a job is, and how its units have ended, as words. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

// "running", "done" ...; empty for JOB_UNKNOWN and numbers that this version does not know.
const char *job_state_to_string(Argosy__JobState state);
// False (and *ret untouched) if the first `len` bytes are no such word.
bool job_state_from_string(const char *word, size_t len, Argosy__JobState *ret);
bool job_state_is_open(Argosy__JobState state); // it has not ended
// "ok", "failed" ...; empty for numbers that this version does not know.
const char *unit_end_to_string(Argosy__UnitEnd end);
