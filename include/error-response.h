// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The last response to a request that failed. Pure.

#include "argosy.pb-c.h"

// `status`: a positive errno; 0: it did not fail, and there is nothing more to it than `message`. Borrows
// that.
Argosy__Response error_response(int status, const char *message);
