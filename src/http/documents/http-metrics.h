// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What was counted, in the text format of OpenMetrics 1.0. Pure.

#include "http-body.h"

// Of a Response with counters. NULL: it is none, or out of memory. To be freed.
char *http_metrics(const HttpPart *part);
