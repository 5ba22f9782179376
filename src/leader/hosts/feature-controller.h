// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Raises the feature level as feature-policy.h says.

#include "batch-builder.h"
#include "leader-core.h"

int feature_controller_decide(Leader *l, BatchBuilder *b); // 0 or -ENOMEM
// Whether its build has less than the log: it can hold no copy of it.
bool feature_controller_host_is_too_old(const Leader *l, const Host *h);
// Which level the log does not have yet although somebody does, and because of whom; *notice stays empty
// else.
int feature_controller_notice(const Leader *l, char **notice);
