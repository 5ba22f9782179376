// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether something is on the disk before it counts. Tests that link sync-trace.c with
// -Wl,--wrap=fsync,--wrap=renameat see what was synced and renamed, in order: "f" a file was synced, "r"
// something was renamed, "d" a directory was synced. The calls are carried out.

void sync_trace_clear(void);
const char *sync_trace(void);
