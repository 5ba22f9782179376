// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A large request goes into the log chunk by chunk. See log-chunks.c.

#include "decision.h"

typedef struct LogChunks {
        RequestWork work;
        // of what the request is about, as whoever plans it counts: the chunk under way
        size_t at, end;
        bool last;                // nothing is to be done behind it
        bool resumed;             // the log had a chunk of it when this leader began it
        size_t n_stored;          // units of the chunk, once they are in the batch
        Argosy__Response *answer; // what becomes of these; NULL: that is not planned
        size_t n_reported;            // rows of the answer that were in the chunks before
        LeaderWalk walk;                // a leader before this one has begun it
} LogChunks;

// Of a Change, an Apply, an Undo or a JobCancel that goes into the log in chunks, once it is begun; NULL: it
// is not.
LogChunks *log_chunk_of(const PendingRequest *t);
// They are there, at the beginning if they were not. 0 or -ENOMEM.
int log_chunk_begin(PendingRequest *t);
// What one chunk has room for: so much work, as whoever plans it counts that, and so many bytes of files.
// The first of a chunk has room in any case.
typedef struct LogChunkRoom {
        size_t most_work, most_bytes;
        size_t enough_bytes;   // one that has as much takes no more
        size_t n, work, bytes; // that it has
} LogChunkRoom;

bool log_chunk_is_full(const LogChunkRoom *room);
bool log_chunk_takes(LogChunkRoom *room, size_t work,
                    size_t bytes); // false: it has no room for that, and is as it was

// How many units the next chunk may have, where that of a request which no other leader has begun has
// `whole`.
size_t log_chunk_slice(const LogChunks *p, size_t whole);
// Up to there what is planned next goes. What was planned before for an entry that was not taken is dropped.
void log_chunk_take(LogChunks *p, size_t end, bool last);
// False: what is planned behind `mark` has no room beside what others have put into the entry: the next one
// has (-EBUSY).
bool log_chunk_fit(const Decision *d, BatchBuilderMark mark);
// The results of the units of the chunk that is planned. NULL: there is none.
const Argosy__Response__Change *log_chunk_results(const PendingRequest *t);
// A unit of it that somebody has changed since the request was asked for (ESTALE), or whose file is not kept
// any more (ENODATA): it is left as it is, which fails the job.
bool log_chunk_is_left(const Argosy__Response__UnitResult *result);
void log_chunk_count_kept(PendingRequest *t, size_t n_units); // that the log has of it
// The chunk is planned behind `mark`, and its `chunk` is there. PLAN_IN_BATCH; PLAN_SETTLED: there is
// nothing of it to store, so the pending request was answered if it was the last, and else waits for a later
// turn; -ENOMEM.
int log_chunk_put(Decision *d, PendingRequest *t, BatchBuilderMark mark);
