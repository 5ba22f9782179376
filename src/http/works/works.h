// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The kinds of calls. What is done for one, by the loop and by the thread, is a row of functions (HttpWork)
// in its file.

#include "http-call.h"

// The work of a resource. Never NULL.
const HttpWork *http_work_of(HttpResource r);
