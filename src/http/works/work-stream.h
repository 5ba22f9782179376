// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Answers that go on, by the thread.

#include "http-call.h"

// As the header Accept wants it; NULL: it has no wishes.
void http_stream_choose(HttpCall *call, const char *accept);
enum MHD_Result http_stream_send(HttpCall *call);
// Called when the call is freed.
void http_stream_done(HttpCall *call);
