// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether podman's generator takes a container's file, before anything of it is stored. See
// container-check.c.

#include "pending-requests.h"

// Behind image_pinning_admit(): STEP_PASSED: files of the request are taken, or nobody could say;
// PLAN_SETTLED: hosts are asked, or the pending request was answered; -ENOMEM.
int container_check_admit(PendingRequest *t);
// It has not the files any more that it came with: what there is now is looked at anew.
void container_check_forget(PendingRequest *t);
// The answer says of which units' files nobody could say anything. 0 or -ENOMEM.
int container_check_note(PendingRequest *t);
