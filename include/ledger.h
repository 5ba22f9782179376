// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host's agent owns: one record per unit, append-only in /run/argosy/ledger, compacted by rename.
// It survives a restart of argosyd and nothing else; a reboot empties it.
//
// A record is an intention: it is flushed before the unit's files are written (so that a file of ours is
// never taken for somebody else's after a crash), and forgotten after they are gone. unit_dir_adopt() says
// which intentions did not come true; of a name that was `taking` unit_dir_has_content() says whether it
// became ours at all.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "hash.h"

typedef struct Ledger Ledger;

enum { LEDGER_SLICE_SIZE = 32 }; // with the NUL

// Files of a unit that runs were replaced, and it is to be reloaded (FileChange=reload).
typedef enum LedgerReload {
        LEDGER_RELOAD_NONE,
        LEDGER_RELOAD_DUE,
        LEDGER_RELOAD_FAILED, // the unit runs with what it read before; a start tries it again
} LedgerReload;

typedef struct LedgerRecord {
        const char *name; // at most UNIT_NAME_MAX bytes
        Hash spec;
        bool from_template;
        uint64_t revision;  // newest record revision acted on
        uint64_t start_rev; // of the last start, restart, stop carried out
        uint64_t restart_rev;
        uint64_t stop_rev;
        uint8_t invocation_id[16];
        uint32_t target;               // Argosy__Target
        uint8_t down;                  // Argosy__DownCause
        char slice[LEDGER_SLICE_SIZE]; // empty: none of ours
        bool done;                     // its run ended for good with start_rev, without failing
        bool failed;                   // same, by failing
        bool pending;     // a run was promised and not seen yet; invocation_id is that of the run before
        bool owed;        // same, and systemd certainly does not know of it yet
        bool interrupted; // the run was cancelled by somebody else
        bool unknown;     // the run's outcome cannot be known any more
        Argosy__LoadState load; // BAD_SETTING or ERROR if systemd could not use the content in place, else
                                // UNKNOWN
        LedgerReload reload;
        bool unread; // its content is about to be written, and then until systemd has read that
        // its name is about to become ours, and is somebody else's until our content is in place; and
        bool taking;
                          // then until systemd has read that.
} LedgerRecord;

// A unit, ours or not, that systemd is about to stop with `with`, and that is to be started again after that
// one is. Flushed before the stop.
typedef struct LedgerReturn {
        const char *name, *with; // each at most UNIT_NAME_MAX bytes
        // likewise: the unit by whose stop it is stopped, `with` or one that goes with it
        const char *through;
        bool needs;              // it cannot be started while `with` is down
        bool launched;           // it is ours and was to run
} LedgerReturn;

typedef int (*LedgerEach)(const LedgerRecord *record, void *userdata);
typedef int (*LedgerEachReturn)(const LedgerReturn *back, void *userdata);
// To put the record and the return of every unit into `l`: the file is written anew. Negative errno: it
// cannot.
typedef int (*LedgerPutAll)(Ledger *l, void *userdata);

// Reads `path` (missing: made) and calls `each` for the last record of every unit that was not forgotten, in
// no particular order, and then `each_return` likewise; names are valid during the call. A negative return
// of one of them ends it and is returned. A torn last record is cut off. -EBADMSG: the file is not a ledger;
// it is left alone.
//
// The ledger keeps no records: `tell` is called from ledger_flush() when most of the file is history.
int ledger_open(const char *path, LedgerEach each, LedgerEachReturn each_return, LedgerPutAll put_all,
                void *userdata, Ledger **ret);
// Drops what was not flushed. Takes NULL, returns NULL.
Ledger *ledger_close(Ledger *l);
DEFINE_CLEANUP(Ledger *, ledger_close)

// All of these only queue; the record is copied. -EINVAL: a name or slice too long; -ENOMEM: nothing queued.
int ledger_put(Ledger *l, const LedgerRecord *record);
// An unknown name is fine. At most UNIT_NAME_MAX bytes.
int ledger_forget(Ledger *l, const char *name);
// Takes the place of an earlier one of that name.
int ledger_put_return(Ledger *l, const LedgerReturn *back);
int ledger_forget_return(Ledger *l, const char *name); // likewise
// Writes all that was queued with one write(2), or rewrites the file when most of it is history. On error
// nothing of the queue is in the file, all of it stays queued, and the next flush tries again.
int ledger_flush(Ledger *l);
