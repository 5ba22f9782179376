// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What happens in a large cluster, each as one case: a function that makes it happen, in a process of its
// own.

#include <stddef.h>

typedef struct TurnCase {
        int kind; // of a request: Request.what; of a message: ToVoter.msg; of a loss: none
        const char *name;
        void (*happen)(void);
} TurnCase;

#define CASE(what, f) \
        { ARGOSY__REQUEST__WHAT_##what, #f, f }

// the first two: of requests
extern const TurnCase unit_cases[], request_cases[], message_cases[], loss_cases[];
extern const size_t n_unit_cases, n_request_cases, n_message_cases, n_loss_cases;
