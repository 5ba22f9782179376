// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where systemd keeps a unit's control group: a rule, so that nobody has to ask for it. Everything lies
// below the root of one manager, which is a directory (cgroup_manager_root()):
//
//      ROOT / one directory for each part of the slice's name / the unit's name
//
//      argosy-01.slice, web.service       ROOT/argosy.slice/argosy-01.slice/web.service
//      -.slice, web.service               ROOT/web.service
//      system-web.slice, memory.service   ROOT/system.slice/system-web.slice/_memory.service
//
// A name that the kernel could take for one of its own files gets a '_' before it, and so does one that
// begins with '_'. Pure, except where said.

#include <stdbool.h>
#include <stddef.h>

#include "macro.h"

enum { CGROUP_PATH_MAX = 1024 }; // bytes of a path with its NUL; longer ones are refused

// Service, socket, mount, swap, slice and scope units have a control group while they are active; others
// never.
bool cgroup_is_for(const char *unit);

// Name of the unit's directory. -ENAMETOOLONG: the buffer is too small.
int cgroup_escape(const char *unit, char *ret, size_t size);
// The other way: a pointer into `name`.
const char *cgroup_unescape(const char *name);

// Directories of a slice below the root, without a leading '/'; empty for "-.slice". -EINVAL: not a slice's
// name; -ENAMETOOLONG.
int cgroup_slice_path(const char *slice, char *ret, size_t size);
// The unit's directory: `root` (an absolute path, may be "/"), slice, unit. For a slice unit `slice` does
// not matter. Errors as above.
int cgroup_unit_path(const char *root, const char *slice, const char *unit, char *ret, size_t size);

// The slice of a unit that does not name one: system.slice, or one for all instances of a template,
// system-PREFIX.slice; of a user's manager app.slice and app-PREFIX.slice. -ENAMETOOLONG.
int cgroup_default_slice(const char *unit, bool user, char *ret, size_t size);

// What one line "0::/..." in the text of /proc/PID/cgroup of a manager means: its root below the mount
// point,
// "" for the top. PID 1 and users' managers put themselves into init.scope below their root. -ENOENT: no
// such line (a kernel without cgroup v2); -ENAMETOOLONG.
int cgroup_root_of_text(const char *text, char *ret, size_t size);
// Where a group is that the manager of that root told us, in `ret`: it says "/system.slice/web.service" if
// it sees its root as the top, as a container's does, or the whole path below the mount point, as a user's
// manager does. -EINVAL: not an absolute path, or one with ".." (not every manager is trusted).
int cgroup_resolve_path(const char *root, const char *control_group, char *ret, size_t size);
// The same as cgroup_root_of_text() for a process, with the mount point before it: "/sys/fs/cgroup" or,
// where version 1 holds the controllers, "/sys/fs/cgroup/unified". Reads /proc and asks for the file
// system's type; blocks for microseconds. -ENOENT: version 2 is not mounted there; or errors of open(2).
int cgroup_manager_root(int pid, char *ret, size_t size);
