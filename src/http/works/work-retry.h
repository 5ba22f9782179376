// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of a job that are asked for again. By the loop.

#include "http-call.h"

// Before it is asked for: what became of them. Then the call's Request has their names.
extern const HttpStep http_retry_step;

bool http_retry_is_asked(const HttpCall *call);
// Called by the loop, or by the thread when it owns the call.
void http_retry_drop(HttpCall *call);
