// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The cgroups of one manager's units, found below its root directory, slices within slices.
//
//      unit_cgroups_list() in the pool -> unit_cgroups_next() per unit -> unit_cgroups_done()
//
// A row is 4 bytes of identity (the inode, folded to 32 bits, never 0), the unit's name and a NUL. At most
// UNIT_CGROUPS_MAX rows and UNIT_CGROUPS_DEPTH slices deep; more is left out.
// Failures: errno of the root, -ENOMEM. A slice that cannot be opened has probably ended and is passed over.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cgroup-path.h"
#include "str.h"
#include "unit-cgroups.h"

static uint32_t fold(uint64_t inode) {
        uint32_t id = (uint32_t) (inode ^ inode >> 32);

        return id ?: 1;
}

static int add_row(UnitCgroups *list, const char *unit, uint64_t inode) {
        uint32_t id = fold(inode);
        int r = buf_append(&list->rows, &id, sizeof(id));

        if (r >= 0)
                r = buf_append(&list->rows, unit, strlen(unit) + 1);
        list->n += r >= 0;
        return r;
}

static int walk(int dir_fd, unsigned depth, UnitCgroups *list);

static int visit(int dir_fd, const char *name, uint64_t inode, unsigned depth, UnitCgroups *list) {
        const char *unit = cgroup_unescape(name);
        int fd;

        if (!str_has_suffix(unit, ".slice"))
                return cgroup_is_for(unit) ? add_row(list, unit, inode) : 0;
        if (depth == UNIT_CGROUPS_DEPTH)
                return 0;
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? 0 : walk(fd, depth + 1, list);
}

// Takes `dir_fd` and closes it.
static int walk(int dir_fd, unsigned depth, UnitCgroups *list) {
        DIR *dir = fdopendir(dir_fd);
        int r = 0;

        if (!dir) {
                r = -errno;
                close(dir_fd);
                return r;
        }
        for (struct dirent *e; r >= 0 && list->n < UNIT_CGROUPS_MAX && (e = readdir(dir));)
                if (e->d_type == DT_DIR && e->d_name[0] != '.')
                        r = visit(dirfd(dir), e->d_name, e->d_ino, depth, list);
        closedir(dir);
        return r;
}

int unit_cgroups_list(const char *root, UnitCgroups *ret) {
        int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = (UnitCgroups){};
        return fd < 0 ? -errno : walk(fd, 0, ret);
}

bool unit_cgroups_next(const UnitCgroups *list, size_t *at, const char **ret_name, uint32_t *ret_id) {
        if (*at >= list->rows.len)
                return false;
        memcpy(ret_id, list->rows.data + *at, sizeof(*ret_id));
        *ret_name = (const char *) list->rows.data + *at + sizeof(*ret_id);
        *at += sizeof(*ret_id) + strlen(*ret_name) + 1;
        return true;
}

void unit_cgroups_done(UnitCgroups *list) {
        buf_done(&list->rows);
        *list = (UnitCgroups){};
}
