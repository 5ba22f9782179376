// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lines of one unit from this host's journal, the newest ones and, if wanted, those that follow. Everything
// that touches the journal's files happens in the pool; the loop only watches its descriptor. Of a user
// manager only what journald itself says to be that user's is read: a name in the journal is anybody's.

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "macro.h"

enum {
        JOURNAL_BATCH_BYTES = 32 * 1024, // handed over at a time, and at most one message more
        JOURNAL_LINE_MAX = 4096,         // bytes of a message; the rest is cut off
};

// Whose units: those of the system manager, or of the user manager of that uid.
#define JOURNAL_SYSTEM ((uid_t) -1)

typedef struct JournalReader JournalReader;

typedef struct JournalOps {
        // In order, formatted like journalctl's short output. Borrowed.
        void (*lines)(char **lines, size_t n, void *userdata);
        // 0: there are no more (never while following). -EACCES: not one file of the journal may be read by
        // who we are. Nothing is called after it.
        void (*ended)(int error, void *userdata);
} JournalOps;

typedef struct JournalQuestion {
        uid_t manager;    // or JOURNAL_SYSTEM
        const char *unit; // copied
        unsigned n_lines; // the newest so many, oldest of them first
        bool follow;
        size_t batch_bytes; // 0: JOURNAL_BATCH_BYTES
} JournalQuestion;

// Callbacks fire from the loop, never before return.
int journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *ops, void *userdata,
                       JournalReader **ret);
// At any time, also from a callback: nothing is read while it is held, and then it goes on where it was. What
// had been read is still handed over.
void journal_reader_hold(JournalReader *r, bool hold);
// At any time, also from a callback; no callback but `closed` follows.
void journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata);

// One message as journalctl's short output has it: "Nov 21 02:10:56 host ident[pid]: text", in local time.
// `pid` may be NULL. Bytes that are not printable text make it a note about their number. Appends one string
// for each line of the text, at most `max`; returns how many, or -ENOMEM.
int journal_format(uint64_t at_us, const char *host, const char *ident, const char *pid, const char *text,
                   size_t len, char **ret, size_t max);
