// SPDX-License-Identifier: LGPL-2.1-or-later

// What another program has left behind: fleet keeps its unit files in a directory of its own and has systemd link them. Once nobody
// keeps that program's books any more, such a link says for certain whose the name was; a plain file says nothing, and is never taken.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "str.h"
#include "unit-dir-private.h"

enum { TARGET_MAX = 4096 };

static bool leads_to(int dir, const char *name, const char *target) {
        char text[TARGET_MAX];
        ssize_t len = readlinkat(dir, name, text, sizeof(text));

        return len > 0 && (size_t) len == strlen(target) && memcmp(text, target, (size_t) len) == 0;
}

// Of [Install]: systemd has made them to the file itself, or to the link.
static int drop_below(UnitDir *d, const char *below, const char *name, const char *target) {
        _cleanup_free_ char *link = str_printf("../%s", name);
        int r = 0, dir;

        if (!link)
                return -ENOMEM;
        dir = openat(d->fd, below, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
        if ((leads_to(dir, name, target) || leads_to(dir, name, link)) && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
                r = -errno;
        close(dir);
        return r;
}

static bool has_links(const char *dir) {
        return str_has_suffix(dir, ".wants") || str_has_suffix(dir, ".requires") || str_has_suffix(dir, ".upholds");
}

static int drop_all_links(UnitDir *d, const char *name, const char *target) {
        int r = 0, copy = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = copy < 0 ? NULL : fdopendir(copy);
        const struct dirent *entry;

        if (!stream) {
                r = -errno;
                if (copy >= 0)
                        close(copy);
                return r;
        }
        while (r == 0 && (errno = 0, entry = readdir(stream)))
                if (has_links(entry->d_name))
                        r = drop_below(d, entry->d_name, name, target);
                else if (!streq(entry->d_name, name) && leads_to(d->fd, entry->d_name, target)) // an alias
                        r = unlinkat(d->fd, entry->d_name, 0) < 0 && errno != ENOENT ? -errno : 0;
        if (r == 0)
                r = -errno;
        closedir(stream);
        return r;
}

// The link of the name itself goes last: a crash before that leaves what is found again.
int unit_dir_take(UnitDir *d, const char *name, const char *from) {
        _cleanup_free_ char *target = str_printf("%s/%s", from, name);
        int r;

        if (!target)
                return -ENOMEM;
        if (!leads_to(d->fd, name, target))
                return 0;
        r = drop_all_links(d, name, target);
        if (r < 0)
                return r;
        d->changed = true;
        return unlinkat(d->fd, name, 0) < 0 && errno != ENOENT ? -errno : 1;
}
