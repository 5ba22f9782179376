// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// By which raft id a host is asked to open a log: by one that no other host was ever asked by.

#include "batch-builder.h"
#include "leader-core.h"

// 0: the log has none for it yet (voters_number_put()).
uint32_t voters_number_of(const Leader *l, const Host *h);
int voters_number_put(Leader *l, BatchBuilder *b, Host *h);
