// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host's agent owns: one record per unit, append-only in /run/argosy/ledger, compacted by rename. It survives a restart of
// argosyd and nothing else; a reboot empties it.

#include <stdbool.h>

#include "hash.h"

typedef struct Ledger Ledger;

typedef struct LedgerRecord {
        const char *name;
        Hash spec;
        bool from_template;
        uint64_t revision;       // newest record revision acted on
        uint64_t start_rev, restart_rev, stop_rev; // of the last start, restart, stop carried out
        uint8_t invocation_id[16];
        uint32_t target;         // Argosy__Target
        char slice[32];          // empty: none of ours
        bool done;               // its run ended for good with start_rev, without failing
        bool failed;             // same, by failing
        bool pending;            // a run was promised and not seen yet; invocation_id is that of the run before
        bool interrupted;        // the run was cancelled by somebody else
} LedgerRecord;

// Reads `path` (missing: empty) and calls `each` for the last record of every unit that was not forgotten. A torn last record is cut off.
// -EBADMSG: not a ledger.
int ledger_open(const char *path, int (*each)(const LedgerRecord *record, void *userdata), void *userdata, Ledger **ret);
Ledger *ledger_close(Ledger *l);
DEFINE_CLEANUP(Ledger *, ledger_close)
// Appends; ledger_flush() writes all that was appended with one write(2).
int ledger_put(Ledger *l, const LedgerRecord *record);
int ledger_forget(Ledger *l, const char *name);
int ledger_flush(Ledger *l);
