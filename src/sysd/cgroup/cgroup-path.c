// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the control group of a unit is, by the rules by which systemd makes it: slices nest at each `-`, and
// names that the kernel or systemd use themselves are escaped. So nobody has to ask systemd for each unit;
// where the rule does not hold, systemd's own word is taken (cgroup_resolve_path), if it stays below the
// manager's root.
//
// -ENAMETOOLONG: it does not fit. -EINVAL: no slice's name, or a path that leads out of the root.

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "buf.h"
#include "cgroup-path.h"
#include "fileio.h"
#include "str.h"

enum { PROC_CGROUP_MAX = 64 * 1024 };

#define MOUNT "/sys/fs/cgroup"
#define MOUNT_HYBRID "/sys/fs/cgroup/unified"

static int put(char *ret, size_t size, size_t *at, const char *s, size_t len) {
        if (len >= size - *at)
                return -ENAMETOOLONG;
        memcpy(ret + *at, s, len);
        *at += len;
        ret[*at] = 0;
        return 0;
}

bool cgroup_is_for(const char *unit) {
        static const char *const suffixes[] = {".service", ".socket", ".mount", ".swap", ".slice", ".scope"};

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (str_has_suffix(unit, suffixes[i]))
                        return true;
        return false;
}

// Files of the kernel are called CONTROLLER.NAME; systemd looks at what stands before the last dot of a
// unit.
static bool is_controller(const char *name, size_t len) {
        static const char *const controllers[] = {"cpu",
                                                  "cpuacct",
                                                  "cpuset",
                                                  "io",
                                                  "blkio",
                                                  "memory",
                                                  "devices",
                                                  "pids",
                                                  "bpf-firewall",
                                                  "bpf-devices",
                                                  "bpf-foreign",
                                                  "bpf-socket-bind",
                                                  "bpf-restrict-network-interfaces"};

        for (size_t i = 0; i < ELEMENTSOF(controllers); i++)
                if (strlen(controllers[i]) == len && strncmp(controllers[i], name, len) == 0)
                        return true;
        return false;
}

static bool needs_escape(const char *name) {
        const char *dot = strrchr(name, '.');

        return *name == 0 || *name == '_' || *name == '.' || streq(name, "notify_on_release") ||
               streq(name, "release_agent") || streq(name, "tasks") || str_has_prefix(name, "cgroup.") ||
               (dot && is_controller(name, (size_t) (dot - name)));
}

static int put_escaped(char *ret, size_t size, size_t *at, const char *name) {
        int r = needs_escape(name) ? put(ret, size, at, "_", 1) : 0;

        return r < 0 ? r : put(ret, size, at, name, strlen(name));
}

int cgroup_escape(const char *unit, char *ret, size_t size) {
        size_t at = 0;

        return put_escaped(ret, size, &at, unit);
}

const char *cgroup_unescape(const char *name) {
        return *name == '_' ? name + 1 : name;
}

// Appends the slice's directories, each but the first with a '/' before it.
static int put_slice(char *ret, size_t size, size_t *at, const char *slice) {
        const char *end;
        char part[CGROUP_PATH_MAX];
        size_t stem;

        if (!str_has_suffix(slice, ".slice") || strchr(slice, '/'))
                return -EINVAL;
        stem = strlen(slice) - strlen(".slice");
        if (stem == 1 && *slice == '-')
                return 0;
        if (stem == 0 || slice[stem - 1] == '-')
                return -EINVAL;
        for (const char *p = slice; p < slice + stem; p = end + 1) {
                int r;

                end = memchr(p, '-', (size_t) (slice + stem - p)) ?: slice + stem;
                if (end == p)
                        return -EINVAL; // "-a.slice", "a--b.slice"
                r = snprintf(part, sizeof(part), "%.*s.slice", (int) (end - slice), slice);
                if (r >= (int) sizeof(part))
                        return -ENAMETOOLONG;
                r = *at > 0 && ret[*at - 1] != '/' ? put(ret, size, at, "/", 1) : 0;
                if (r == 0)
                        r = put_escaped(ret, size, at, part);
                if (r < 0)
                        return r;
        }
        return 0;
}

int cgroup_slice_path(const char *slice, char *ret, size_t size) {
        size_t at = 0;

        if (size == 0)
                return -ENAMETOOLONG;
        ret[0] = 0;
        return put_slice(ret, size, &at, slice);
}

int cgroup_unit_path(const char *root, const char *slice, const char *unit, char *ret, size_t size) {
        bool is_slice = str_has_suffix(unit, ".slice");
        size_t at = 0;
        int r;

        r = put(ret, size, &at, root, strlen(root));
        if (r == 0 && (at == 0 || ret[at - 1] != '/'))
                r = put(ret, size, &at, "/", 1);
        if (r == 0)
                r = put_slice(ret, size, &at, is_slice ? unit : slice);
        if (r < 0 || is_slice)
                return r;
        if (ret[at - 1] != '/')
                r = put(ret, size, &at, "/", 1);
        return r < 0 ? r : put_escaped(ret, size, &at, unit);
}

// A prefix as a part of a slice's name: '-' would be a level of its own.
static int put_prefix(char *ret, size_t size, size_t *at, const char *prefix, size_t len) {
        int r = 0;

        for (size_t i = 0; i < len && r == 0; i++) {
                char hex[8];
                unsigned char c = (unsigned char) prefix[i];
                bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             c == ':' || c == '_' || (c == '.' && i > 0);

                snprintf(hex, sizeof(hex), plain ? "%c" : "\\x%02x", c);
                r = put(ret, size, at, hex, strlen(hex));
        }
        return r;
}

int cgroup_default_slice(const char *unit, bool user, char *ret, size_t size) {
        const char *sign = strchr(unit, '@'), *top = user ? "app" : "system";
        size_t at = 0;
        int r = put(ret, size, &at, top, strlen(top));

        if (r == 0 && sign)
                r = put(ret, size, &at, "-", 1);
        if (r == 0 && sign)
                r = put_prefix(ret, size, &at, unit, (size_t) (sign - unit));
        return r < 0 ? r : put(ret, size, &at, ".slice", strlen(".slice"));
}

int cgroup_root_of_text(const char *text, char *ret, size_t size) {
        static const char scope[] = "/init.scope";

        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t len = strcspn(line, "\n"), at = 0;

                if (!str_has_prefix(line, "0::/"))
                        continue;
                line += strlen("0::");
                len -= strlen("0::");
                if (len >= strlen(scope) && strncmp(line + len - strlen(scope), scope, strlen(scope)) == 0)
                        len -= strlen(scope);
                if (len == 1)
                        len = 0; // "/": PID 1 of a system that does not move itself
                return put(ret, size, &at, line, len);
        }
        return -ENOENT;
}

// Whether `path` is `parent` or below it.
static bool is_below(const char *path, const char *parent) {
        size_t len = strlen(parent);

        while (len > 0 && parent[len - 1] == '/')
                len--;
        return strncmp(path, parent, len) == 0 && (path[len] == 0 || path[len] == '/');
}

static bool has_parent_step(const char *path) {
        for (const char *p = path; (p = strstr(p, "..")); p++)
                if (p > path && p[-1] == '/' && (p[2] == '/' || p[2] == 0))
                        return true;
        return false;
}

int cgroup_resolve_path(const char *root, const char *control_group, char *ret, size_t size) {
        const char *mount = is_below(root, MOUNT_HYBRID) ? MOUNT_HYBRID
                            : is_below(root, MOUNT)      ? MOUNT
                                                         : root;
        size_t at = 0;
        int r;

        if (*control_group != '/' || has_parent_step(control_group))
                return -EINVAL;
        r = put(ret, size, &at, mount, strlen(mount));
        if (r == 0)
                r = put(ret, size, &at, control_group, strlen(control_group));
        if (r == 0 && is_below(ret, root))
                return 0;
        at = 0;
        r = put(ret, size, &at, root, strlen(root));
        return r < 0 ? r : put(ret, size, &at, control_group, strlen(control_group));
}

static bool is_cgroup2(const char *path) {
        struct statfs fs;

        return statfs(path, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

int cgroup_manager_root(int pid, char *ret, size_t size) {
        const char *mount = is_cgroup2(MOUNT) ? MOUNT : MOUNT_HYBRID;
        char path[64], below[CGROUP_PATH_MAX];
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf content = {};
        size_t at = 0;
        int r;

        if (!is_cgroup2(mount))
                return -ENOENT;
        snprintf(path, sizeof(path), "/proc/%i/cgroup", pid);
        r = file_read(AT_FDCWD, path, PROC_CGROUP_MAX, &content);
        if (r < 0)
                return r;
        text = buf_take_string(&content);
        if (!text)
                return -ENOMEM;
        r = cgroup_root_of_text(text, below, sizeof(below));
        if (r == 0)
                r = put(ret, size, &at, mount, strlen(mount));
        return r < 0 ? r : put(ret, size, &at, below, strlen(below));
}
