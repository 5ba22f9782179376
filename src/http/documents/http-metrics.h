// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What was counted, in the text format of OpenMetrics 1.0. Pure.

#include "http-body.h"

// The text for Prometheus of a Response with counters; the caller frees it. NULL: no counters, or out of
// memory.
char *http_metrics(const HttpPart *part);
