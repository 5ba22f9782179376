// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What calls have in common that ask for something once and keep what comes: by the loop, but for the last.

#include "http-call.h"

extern const HttpWork http_rows_work;

// What the call is about: its answers are kept, in their order.
extern const HttpStep http_rows_step;
// ?wait=: until its job has ended; and what became of that.
extern const HttpStep http_rows_wait_step, http_rows_job_step;

void http_rows_begin(HttpCall *call, const Argosy__Author *author);
bool http_rows_fail(HttpCall *call, int status, const char *message);
Argosy__Request *http_rows_ask_for_end(uint64_t job); // NULL: out of memory
// From now on, for so long as the client wants. False: out of memory, and the call has failed.
bool http_rows_wait_for(HttpCall *call);
// Called when the call is freed.
void http_rows_done(HttpCall *call);
