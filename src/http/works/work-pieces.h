// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Answers that come piece by piece, and what stands behind rows. By the loop.

#include "http-call.h"

extern const HttpStep http_aside_step, http_pieces_step;

// 0, -EBUSY, -E2BIG or -ENOMEM.
int http_asides_keep(HttpCall *call, const Argosy__Response *response);
// An answer to what is asked for an aside is whole: the call goes on, or fails. unseen: also if it is of no
// such thing.
void http_asides_end(HttpCall *call, const Argosy__Response *last);
// Called by the loop, or by the thread when it owns the call.
void http_asides_drop(HttpCall *call);
