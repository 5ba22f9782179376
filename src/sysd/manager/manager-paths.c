// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a systemd manager is reached and where it looks for unit files, for the machine's and for a user's
// own. The directories stand in tables, in systemd's order of precedence; one that is named twice counts
// where it was named first. -ENOMEM leaves nothing behind.

#include <errno.h>

#include "array.h"
#include "macro.h"
#include "manager-paths.h"
#include "str.h"

static const char *const system_dirs[] = {
        "/etc/systemd/system.control", "/run/systemd/system.control",
        "/run/systemd/transient",      "/run/systemd/generator.early",
        "/etc/systemd/system",         "/etc/systemd/system.attached",
        "/run/systemd/system",         "/run/systemd/system.attached",
        "/run/systemd/generator",      "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",     "/lib/systemd/system",
        "/run/systemd/generator.late", NULL,
};

// Each row is one directory, or with an `XDG_..._DIRS` one for each of these.
typedef enum Base { NOTHING, RUNTIME, CONFIG_HOME, CONFIG_DIRS, DATA_HOME, DATA_DIRS } Base;

static const struct {
        Base base;
        const char *below;
} user_dirs[] = {
        {CONFIG_HOME, "/systemd/user.control"},
        {RUNTIME, "/systemd/user.control"},
        {RUNTIME, "/systemd/transient"},
        {RUNTIME, "/systemd/generator.early"},
        {CONFIG_HOME, "/systemd/user"},
        {CONFIG_DIRS, "/systemd/user"},
        {NOTHING, "/etc/systemd/user"},
        {RUNTIME, "/systemd/user"},
        {NOTHING, "/run/systemd/user"},
        {RUNTIME, "/systemd/generator"},
        {DATA_HOME, "/systemd/user"},
        {DATA_DIRS, "/systemd/user"},
        {NOTHING, "/usr/local/lib/systemd/user"},
        {NOTHING, "/usr/local/share/systemd/user"},
        {NOTHING, "/usr/lib/systemd/user"},
        {NOTHING, "/usr/share/systemd/user"},
        {RUNTIME, "/systemd/generator.late"},
};

void manager_paths_done(ManagerPaths *p) {
        free(p->socket);
        free(p->unit_dir);
        for (char **d = p->search_dirs; d && *d; d++)
                free(*d);
        free(p->search_dirs);
        *p = (ManagerPaths){};
}

static bool has_dir(const ManagerPaths *p, const char *path) {
        for (char **d = p->search_dirs; *d; d++)
                if (streq(*d, path))
                        return true;
        return false;
}

// A directory that was named before counts there alone.
static int add_dir(ManagerPaths *p, size_t *n, const char *base, const char *below) {
        _cleanup_free_ char *path = str_printf("%s%s", base, below);

        if (!path)
                return -ENOMEM;
        if (has_dir(p, path))
                return 0;
        if (ARRAY_RESERVE(p->search_dirs, *n + 2) < 0)
                return -ENOMEM;
        p->search_dirs[(*n)++] = TAKE_PTR(path);
        p->search_dirs[*n] = NULL;
        return 0;
}

static int begin(ManagerPaths *p, const char *run, const char *unit_dir) {
        p->socket = str_printf("%s/systemd/private", run);
        p->unit_dir = str_printf("%s/systemd/%s", run, unit_dir);
        p->search_dirs = calloc(1, sizeof(char *));
        return p->socket && p->unit_dir && p->search_dirs ? 0 : -ENOMEM;
}

static int finish(ManagerPaths *p, int r, ManagerPaths *ret) {
        if (r < 0) {
                manager_paths_done(p);
                return r;
        }
        *ret = *p;
        return 0;
}

int manager_paths_init_system(ManagerPaths *ret) {
        ManagerPaths p = {};
        size_t n = 0;
        int r = begin(&p, "/run", "system");

        for (const char *const *d = system_dirs; r >= 0 && *d; d++)
                r = add_dir(&p, &n, "", *d);
        return finish(&p, r, ret);
}

static int add_user_dirs(ManagerPaths *p, size_t *n, const Xdg *xdg, Base base, const char *below) {
        int r = 0;

        switch (base) {
        case NOTHING:
                return add_dir(p, n, "", below);
        case RUNTIME:
                return add_dir(p, n, xdg->runtime_dir, below);
        case CONFIG_HOME:
                return add_dir(p, n, xdg->config_home, below);
        case DATA_HOME:
                return add_dir(p, n, xdg->data_home, below);
        case CONFIG_DIRS:
        case DATA_DIRS:
                for (char **d = base == CONFIG_DIRS ? xdg->config_dirs : xdg->data_dirs; r >= 0 && *d; d++)
                        r = add_dir(p, n, *d, below);
                return r;
        }
        return -EINVAL;
}

int manager_paths_init_user(ManagerPaths *ret, const Xdg *xdg) {
        ManagerPaths p = {};
        size_t n = 0;
        int r;

        if (!xdg->runtime_dir || !xdg->config_home || !xdg->data_home)
                return -ENOENT;
        r = begin(&p, xdg->runtime_dir, "user");
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(user_dirs); i++)
                r = add_user_dirs(&p, &n, xdg, user_dirs[i].base, user_dirs[i].below);
        return finish(&p, r, ret);
}
