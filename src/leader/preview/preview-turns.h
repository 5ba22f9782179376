// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Changes that are only asked about, over as many turns as that takes.

#include "decision.h"

// A Change that is only asked about, before anything is in the batch. 0: answered; PREVIEW_GOES_ON: a later
// turn goes on with it, and nothing is to be decided before; or a negative errno.
enum { PREVIEW_GOES_ON = 1 };
int decide_preview(Decision *d, PendingRequest *t);
// False while too many others wait for answers of nodes, of its author or of all but root. The leader is
// marked when there are fewer.
bool preview_may_begin(const PendingRequest *t);
// Those that wait for what nodes say wait no longer than PREVIEW_NODES_US. 0: none waits.
enum { PREVIEW_NODES_US = 5 * 1000 * 1000 };
uint64_t previews_next_deadline(const Leader *l);
void previews_on_time(Leader *l);
