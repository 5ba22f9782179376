// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The directories of the XDG Base Directory Specification, out of an environment that is handed in. A value
// that is no absolute path counts as not set, as the specification wants it; what is then not known stays
// NULL. -ENOMEM leaves nothing behind.

#include <errno.h>

#include "macro.h"
#include "str.h"
#include "xdg.h"

static const char *find_value(char *const *environment, const char *name) {
        size_t len = strlen(name);

        for (char *const *e = environment; *e; e++)
                if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
                        return *e + len + 1;
        return NULL;
}

// A copy of the first `len` bytes; NULL if they are no absolute path or there is no memory.
static char *absolute(const char *path, size_t len) {
        if (len == 0 || *path != '/')
                return NULL;
        while (len > 1 && path[len - 1] == '/')
                len--;
        return strndup(path, len);
}

// 0, also if there is neither.
static int find_dir(char *const *environment, const char *name, const char *base, const char *below,
                    char **ret) {
        const char *value = find_value(environment, name);

        if (value && *value == '/')
                *ret = absolute(value, strlen(value));
        else if (base)
                *ret = str_printf("%s%s", streq(base, "/") ? "" : base, below);
        else
                return 0;
        return *ret ? 0 : -ENOMEM;
}

static int split_dirs(const char *list, char ***ret) {
        size_t n = 0, n_max = 1;

        for (const char *p = list; *p; p++)
                n_max += *p == ':';
        *ret = calloc(n_max + 1, sizeof(char *));
        if (!*ret)
                return -ENOMEM;
        for (const char *p = list, *end; *p; p = *end ? end + 1 : end) {
                end = strchrnul(p, ':');
                if (*p != '/')
                        continue;
                (*ret)[n] = absolute(p, (size_t) (end - p));
                if (!(*ret)[n++])
                        return -ENOMEM;
        }
        return 0;
}

static void free_dirs(char **dirs) {
        for (char **d = dirs; d && *d; d++)
                free(*d);
        free(dirs);
}

static int find_dirs(char *const *environment, const char *name, const char *fallback, char ***ret) {
        const char *value = find_value(environment, name);
        int r = split_dirs(value ?: "", ret);

        if (r < 0 || (*ret)[0])
                return r;
        free_dirs(*ret);
        return split_dirs(fallback, ret);
}

int xdg_init(Xdg *ret, char *const *environment, const char *home) {
        Xdg x = {};
        int r;

        r = find_dir(environment, "HOME", home && *home == '/' ? home : NULL, "", &x.home);
        if (r >= 0)
                r = find_dir(environment, "XDG_RUNTIME_DIR", NULL, "", &x.runtime_dir);
        if (r >= 0)
                r = find_dir(environment, "XDG_CONFIG_HOME", x.home, "/.config", &x.config_home);
        if (r >= 0)
                r = find_dir(environment, "XDG_DATA_HOME", x.home, "/.local/share", &x.data_home);
        if (r >= 0)
                r = find_dir(environment, "XDG_STATE_HOME", x.home, "/.local/state", &x.state_home);
        if (r >= 0)
                r = find_dirs(environment, "XDG_CONFIG_DIRS", "/etc/xdg", &x.config_dirs);
        if (r >= 0)
                r = find_dirs(environment, "XDG_DATA_DIRS", "/usr/local/share:/usr/share", &x.data_dirs);
        if (r < 0) {
                xdg_done(&x);
                return r;
        }
        *ret = x;
        return 0;
}

void xdg_done(Xdg *x) {
        free(x->runtime_dir);
        free(x->home);
        free(x->config_home);
        free(x->data_home);
        free(x->state_home);
        free_dirs(x->config_dirs);
        free_dirs(x->data_dirs);
        *x = (Xdg){};
}
