// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Identity and peers file, written while the loop runs: by the pool, one write after the other. Each writes
// what the daemon has in memory when its turn comes, so the last one leaves the newest on the disk.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "identity.h"
#include "work-queue.h"

typedef struct Daemon Daemon;

typedef struct StateWriter {
        WorkQueue queue; // also for what else must be written between two of these
        struct {
                WorkItem item;
                Argosy__PeersFile *peers; // a copy, while it runs
                int error;
        } peers;
        struct {
                WorkItem item;
                Identity identity; // likewise
                int error;
                void (*done)(Daemon *d, int error);
        } identity;
} StateWriter;

void state_writer_init(Daemon *d);
// The peers file is to be as d->peers is. If that fails the journal says so; the next one tries again.
void state_writer_save_peers(Daemon *d);
// identity.pem is to be as d->identity is; `done` gets 0 or negative errno. If one waits already they are
// one.
void state_writer_save_identity(Daemon *d, void (*done)(Daemon *d, int error));
