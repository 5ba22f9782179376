// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The directories of the machine's argosyd, which are fixed, and those of a user's, which follow XDG.
// Without a runtime directory or a home there is nowhere to be: -ENOENT and what to set. paths_make() makes
// what is missing, and refuses a runtime directory that belongs to another user.

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "macro.h"
#include "paths.h"
#include "str.h"

static const char *const system_config_dirs[] = {"/usr/lib/argosy", "/usr/local/lib/argosy", "/run/argosy",
                                                 "/etc/argosy"};

void paths_done(Paths *p) {
        free(p->state_dir);
        free(p->runtime_dir);
        for (char **d = p->config_dirs; d && *d; d++)
                free(*d);
        free(p->config_dirs);
        manager_paths_done(&p->manager);
        *p = (Paths){};
}

int paths_set(char **field, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*field);
        *field = copy;
        return 0;
}

static int init_system(Paths *p) {
        p->runtime_mode = 0755;
        p->socket_mode = 0660;
        p->config_dirs = calloc(ELEMENTSOF(system_config_dirs) + 1, sizeof(char *));
        if (!p->config_dirs)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(system_config_dirs); i++) {
                p->config_dirs[i] = strdup(system_config_dirs[i]);
                if (!p->config_dirs[i])
                        return -ENOMEM;
        }
        p->state_dir = strdup("/var/lib/argosy");
        p->runtime_dir = strdup("/run/argosy");
        return p->state_dir && p->runtime_dir ? manager_paths_init_system(&p->manager) : -ENOMEM;
}

// XDG names the most important first, we want it last; what is made at run time comes before the user's own.
static int user_config_dirs(Paths *p, const Xdg *xdg) {
        size_t n = 0, k = 0;

        while (xdg->config_dirs[n])
                n++;
        p->config_dirs = calloc(n + 3, sizeof(char *));
        if (!p->config_dirs)
                return -ENOMEM;
        while (n > 0) {
                p->config_dirs[k] = str_printf("%s/argosy", xdg->config_dirs[--n]);
                if (!p->config_dirs[k++])
                        return -ENOMEM;
        }
        p->config_dirs[k] = str_printf("%s/argosy", xdg->runtime_dir);
        if (!p->config_dirs[k++])
                return -ENOMEM;
        p->config_dirs[k] = str_printf("%s/argosy", xdg->config_home);
        return p->config_dirs[k] ? 0 : -ENOMEM;
}

static int init_user(Paths *p, const Xdg *xdg, char **ret_why) {
        int r;

        if (!xdg->runtime_dir) {
                *ret_why = strdup("XDG_RUNTIME_DIR is not set to a directory: argosyd --user runs beside a "
                                  "user's systemd, best as its argosyd.service");
                return -ENOENT;
        }
        if (!xdg->config_home || !xdg->data_home || !xdg->state_home) {
                *ret_why = strdup("This user has no home directory: set HOME, or each of XDG_CONFIG_HOME, "
                                  "XDG_DATA_HOME and XDG_STATE_HOME");
                return -ENOENT;
        }
        p->runtime_mode = 0700;
        p->socket_mode = 0600;
        p->state_dir = str_printf("%s/argosy", xdg->state_home);
        p->runtime_dir = str_printf("%s/argosy", xdg->runtime_dir);
        r = p->state_dir && p->runtime_dir ? user_config_dirs(p, xdg) : -ENOMEM;
        return r < 0 ? r : manager_paths_init_user(&p->manager, xdg);
}

int paths_init(Paths *ret, bool user, char *const *environment, const char *home, char **ret_why) {
        Paths p = {.user = user};
        Xdg xdg = {};
        int r = user ? xdg_init(&xdg, environment, home) : 0;

        if (r >= 0)
                r = user ? init_user(&p, &xdg, ret_why) : init_system(&p);
        xdg_done(&xdg);
        if (r < 0) {
                paths_done(&p);
                return r;
        }
        *ret = p;
        return 0;
}

// ---- on the disk

// By XDG the directories of a user are accessible to that user alone; so are the parents that are made on
// the way.
static int make_all(const char *path, mode_t mode) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy)
                return -ENOMEM;
        for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
                *p = 0;
                if (mkdir(copy, mode) < 0 && errno != EEXIST && access(copy, F_OK) < 0)
                        return -errno;
                *p = '/';
        }
        return mkdir(copy, mode) < 0 && errno != EEXIST ? -errno : 0;
}

static int make(const char *path, mode_t mode, char **ret_why) {
        int r = make_all(path, mode);

        if (r < 0)
                *ret_why = str_printf("Cannot make %s: %s", path, strerror(-r));
        return r;
}

int paths_make(const Paths *p, char **ret_why) {
        struct stat st;
        int r = make(p->runtime_dir, p->runtime_mode, ret_why);

        if (r >= 0 && p->user && stat(p->runtime_dir, &st) >= 0 && st.st_uid != geteuid()) {
                *ret_why = str_printf("%s belongs to another user: XDG_RUNTIME_DIR must be that of the user "
                                      "whose systemd is meant",
                                      p->runtime_dir);
                return -EPERM;
        }
        return r < 0 ? r : make(p->state_dir, 0700, ret_why);
}
