// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A unit file as it was. By the loop.

#include "http-call.h"

// One after the other.
extern const HttpStep http_past_now_step, http_past_changes_step, http_past_text_step;
