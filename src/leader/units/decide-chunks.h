// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A Change of so many units that it is several entries of the log.

#include "decision.h"

// CHANGE_WHOLE: it is to be planned at once; else as decide_change().
enum { CHANGE_WHOLE = 2 };
int decide_chunks(Decision *d, PendingRequest *t);
// As many units one entry has of a Change like that.
size_t change_chunk_units(const Leader *l, const Argosy__Request__Change *change);
// Names of the pending request's Change up to the end of the chunk that is planned. 0: it is none in chunks.
uint32_t decide_chunks_end(const PendingRequest *t);
// Whether the log has that chunk, by what is known of the whole request.
bool decide_chunk_is_done(const Leader *l, const PendingRequest *t);
