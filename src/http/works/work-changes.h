// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What jobs have changed, page by page. By the loop.

#include "http-call.h"

// /v1/diff.
extern const HttpWork http_diff_work;

// The next question; NULL: out of memory.
Argosy__Request *http_changes_request(HttpCall *call);
// True: all is read. False: more is asked for, or the call has failed.
bool http_changes_read(HttpCall *call, const Argosy__Response *response);
// Called by the loop, or by the thread when it owns the call.
void http_changes_drop(HttpCall *call);
