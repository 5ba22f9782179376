// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a job is about that is called off, and who may call it off.

#include "leader-core.h"

typedef enum CancelKind {
        CANCEL_KIND_HELD,
        CANCEL_KIND_ROLLOUT,
        CANCEL_KIND_DRAIN,
        CANCEL_KIND_REBALANCE,
        CANCEL_KIND_UNITS,
} CancelKind;

// Of one that has begun.
CancelKind cancel_kind_of(const Argosy__JobRecord *record);
// An answer if the author may not ask for what that job does; NULL: it may.
Argosy__Response *cancel_forbid_running(const Leader *l, const Argosy__Author *author,
                                        const Argosy__JobRecord *job) _warn_unused_;
