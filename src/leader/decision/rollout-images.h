// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Images of an update or a rolling restart, before it is decided. See rollout-images.c.

#include "pending-requests.h"

// Also of one that an undo or an apply begins. STEP_PASSED: hosts that will need the image have it, or are
// in PendingRequest.without; PLAN_SETTLED: hosts are asked, or the pending request was answered; -EBUSY: the
// rest of a large group in the next turn; -ENOMEM.
int rollout_images_admit(PendingRequest *t, const Argosy__Request__Rollout *m);
