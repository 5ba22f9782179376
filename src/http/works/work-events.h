// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Streams of events. By the loop.

#include "http-call.h"

extern const HttpWork http_events_work;

// Ends streams of sessions that have logged out. A stream that the thread has is judged when it comes back.
void http_events_on_logout(HttpApi *a);
