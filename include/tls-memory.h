// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <stdbool.h>

// From the call on, what the TLS library gives back of its memory in this process is overwritten first:
// records that it has decrypted, and keys, would otherwise be in a core until somebody else needs the
// memory. To be called once, by main(), before there are threads.
void tls_memory_wipe(void);

// The calling thread has memory for its next records where the last ones were, at most 40 KiB, and promises
// to have it overwritten soon.
void tls_memory_keep_records(void);
// Whether there are such records.
bool tls_memory_has_records(void);
// Overwrites them, and gives their memory back.
void tls_memory_wipe_records(void);
