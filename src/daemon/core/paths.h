// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where one argosyd keeps what: the one of the machine (argosyd), or that of a user (argosyd --user). Made
// by main() from the environment, then only read; it is passed to all code that needs a directory.

#include <stdbool.h>
#include <sys/types.h>

#include "manager-paths.h"

typedef struct Paths {
        bool user;
        char *state_dir;    // the host's identity and its log: survives a reboot
        char *runtime_dir;  // local socket, ledger: gone with a reboot, or with the user's last session
        char **config_dirs; // argosy.conf and argosy.conf.d; the later one wins; NULL-terminated
        ManagerPaths manager;
        mode_t runtime_mode, socket_mode;
} Paths;

// environment, home: as for xdg_init(), for `user` only. 0; or negative errno with *ret_why (malloc'd), and
// nothing is left in *ret: -ENOENT: no home or no runtime directory is known.
int paths_init(Paths *ret, bool user, char *const *environment, const char *home, char **ret_why);
void paths_done(Paths *p);
// Puts something else into one of the fields. A copy is made.
int paths_set(char **field, const char *value);
// Makes state_dir and runtime_dir, with the parents that are missing; nobody else can enter what is made for
// a user. -EPERM and *ret_why: a user's runtime directory belongs to another user, as after su(1).
int paths_make(const Paths *p, char **ret_why);
