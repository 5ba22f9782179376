// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where the file system is mounted on which a path lies, by the kernel's table of mounts alone: no file system is asked, so one that does
// not answer holds up nobody. Symbolic links are not followed.

// `table`: the text of /proc/self/mountinfo. A new string; NULL: nothing in it is mounted on or above the path, or out of memory.
char *mount_point_find(const char *table, const char *path);
// By the table as it is now; NULL, too, if that cannot be read.
char *mount_point_of(const char *path);
