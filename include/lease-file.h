// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long this host's lease lasts, in a file that others may map: /run/argosy/lease. The agent writes there
// what each acknowledged beat has bought; a guard (src/daemon/argosy-guard.c) sleeps until that is over and
// looks again. So neither a system call per beat nor a message passes between them, and it does not matter
// to the guard whether the agent is alive, stopped, or being replaced.
//
//      offset  bytes
//      0       8      "argosyL1"
//      8       8      end of the lease: boot clock, microseconds, in the machine's byte order; 0: none yet
//
// /run is emptied at boot, when that clock begins anew. The file is never replaced while guards may have it
// mapped, only written to.

#include <stdatomic.h>
#include <stdint.h>

#include "macro.h"

#define LEASE_FILE_MAGIC "argosyL1"

typedef struct LeaseFile {
        char magic[8];
        _Atomic uint64_t until_us;
} LeaseFile;

// Maps `path` for writing, made if it is not there or is not one. 0 and *ret, negative errno.
int lease_file_open(const char *path, LeaseFile **ret);
// Takes NULL, returns NULL. What is written stays.
LeaseFile *lease_file_close(LeaseFile *f);
DEFINE_CLEANUP(LeaseFile *, lease_file_close)
