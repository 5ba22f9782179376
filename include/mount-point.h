// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where the file system is mounted on which a path lies, by the kernel's table of mounts alone: no file
// system is asked, so one that does not answer holds up nobody. Symbolic links are not followed.

#include <sys/types.h>

#include "buf.h"

// The table as it is now, /proc/self/mountinfo, with a zero behind it. 0 or negative errno.
int mount_table_read(Buf *ret);
// A new string, and the device of what is mounted there; NULL: nothing in the table is mounted on or above
// the path, or out of memory.
char *mount_point_find(const char *table, const char *path, dev_t *ret_device);
