// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a systemd manager is reached, where argosy writes units for it, and where it looks for units: a name
// in any other of these directories belongs to somebody else. Order and directories are those of systemd 252
// (man systemd.unit, "Unit File Load Path"), which `systemd-analyze unit-paths` prints. Pure: nothing is
// looked up on a disk.

#include "xdg.h"

typedef struct ManagerPaths {
        char *socket;       // private socket
        char *unit_dir;     // for argosy's units: gone with the next boot, or the end of the user's sessions
        char **search_dirs; // all that the manager searches, unit_dir too, in its order; NULL-terminated
} ManagerPaths;

// The machine's manager.
int manager_paths_init_system(ManagerPaths *ret);
// A user's manager, with the directories that its environment says; where only uid and home directory are
// known, xdg_init() of {"XDG_RUNTIME_DIR=/run/user/UID"} makes them. -ENOENT: home or runtime directory are
// not known; -ENOMEM. Nothing is left in *ret then.
int manager_paths_init_user(ManagerPaths *ret, const Xdg *xdg);
void manager_paths_done(ManagerPaths *p);
