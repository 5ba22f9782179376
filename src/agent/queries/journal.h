// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A JournalSource under the loop. Everything that touches the journal's files happens in the pool, or in a
// helper inside the container whose they are; the loop only watches a descriptor.

#include <uv.h>

#include "foreign-journal.h"
#include "journal-source.h"

typedef struct JournalReader JournalReader;

// Callbacks fire from the loop, never before return. The question is copied.
int journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *ops, void *userdata,
                       JournalReader **ret);
int journal_reader_new_foreign(const HelperConfig *config, const JournalQuestion *q, const JournalOps *ops,
                               void *userdata, JournalReader **ret);
// For a foreign journal, after ended(0): lines of another unit, by the same helper, with the same callbacks.
// -EPIPE: the helper is gone, and another reader is needed.
int journal_reader_again(JournalReader *r, const JournalQuestion *q);
// At any time, also from a callback: nothing is read while it is held, and then it goes on where it was.
// What had been read is still handed over.
void journal_reader_hold(JournalReader *r, bool hold);
// At any time, also from a callback; no callback but `closed` follows.
void journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata);
