// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where one user keeps what, by the XDG base directory specification: a variable counts if it holds an
// absolute path, else its default does. Pure: the environment is an argument, so it may be that of another
// user, of a manager, or of a test.

typedef struct Xdg {
        // Absolute, without '/' at the end. NULL: unknown; the three below `home` only without a home
        // directory.
        char *runtime_dir; // XDG_RUNTIME_DIR, which has no default
        char *home;
        char *config_home, *data_home, *state_home; // ~/.config, ~/.local/share, ~/.local/state
        char **config_dirs, **data_dirs;            // most important first, NULL-terminated, never empty
} Xdg;

// environment: "NAME=VALUE" strings, NULL-terminated. home: the home directory if the environment says none;
// may be NULL. 0, or -ENOMEM; then nothing is left in *ret.
int xdg_init(Xdg *ret, char *const *environment, const char *home);
void xdg_done(Xdg *x);
