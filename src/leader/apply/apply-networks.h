// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who else gets another network with what a folder changes, for its plan.

#include "apply-list.h"
#include "buf.h"

// Adds to the plan the units and templates that the apply does not change itself, and that share a network
// which it changes. Of what the cluster does not have, and did not come with the request, nothing is known.
// The list is judged. 0 or -ENOMEM.
int apply_networks_tell(const ApplyList *list, Argosy__Response__ApplyPlan *plan) _warn_unused_;
// Appends why the apply cannot be, if these are more than one request may change with it. The same.
int apply_networks_refuse(const ApplyList *list, Buf *b) _warn_unused_;
