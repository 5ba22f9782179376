// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Digests of the images of containers that a request brings (content-image.h), before it is decided. See
// image-pinning.c.

#include "pending-requests.h"

// A file of the request whose source a unit that it names has already has the digest that this unit has.
// Changes the request, as long as it is the pending request's own. 0 or -ENOMEM.
int image_pinning_adopt(PendingRequest *t);
// Behind the rules of the queue, before the request is decided: STEP_PASSED: its files have their digests;
// PLAN_SETTLED: a host is asked, or the pending request was answered; -ENOMEM.
int image_pinning_admit(PendingRequest *t);
// It has not the files any more that it came with: what there is now is listed anew.
void image_pinning_forget(PendingRequest *t);
// The content that a unit is to have whose folder says `source`: that which came with the request, with its
// digest, or that of `now`, if this has the same source. `now`: what the unit has; NULL: nothing.
Hash image_pinning_content(const PendingRequest *t, const SpecEntry *now, const Hash *source);
