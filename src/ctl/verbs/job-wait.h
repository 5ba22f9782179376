// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Waiting until jobs of any author have ended.

#include "ctl.h"

// One after the other. EXIT_OK: all are done; EXIT_FAILED: not all of them, which was said; or why waiting
// has ended.
int jobs_wait(Ctl *ctl, const uint64_t *numbers, size_t n);
