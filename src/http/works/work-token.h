// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Before a body has come.

#include "http-call.h"

// Whether there is such a token at all. Of whatever kind the call is.
extern const HttpStep http_token_step;
