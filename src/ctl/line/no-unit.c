// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A word is looked at before ".service" is added to it and before its folder is cut off. A bare word is only
// refused if it can be no name at all, or if it names a file that is known to be something else: a unit of
// that name may be in the cluster all the same. A path is what it is: a folder, or a file of another type.
// Whatever the disk does not tell is left to those who look for the file.

#include "no-unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quadlet.h"
#include "str.h"
#include "unit-name-hint.h"

#define TYPES ".service, .socket, .target, .timer, .path, .mount, .automount, .swap or .slice"

static mode_t type_of(int dirfd, const char *path) {
        struct stat st;

        return fstatat(dirfd, path, &st, 0) == 0 ? st.st_mode & S_IFMT : 0;
}

static bool is_folder(int dirfd, const char *word, const char *end) {
        _cleanup_free_ char *path = strndup(word, (size_t) (end - word));

        return path && type_of(dirfd, path) == S_IFDIR;
}

// "backup@/srv/data", unless backup@/srv is a folder.
static int check_escape(const char *word, int dirfd, Buf *why) {
        _cleanup_free_ char *escaped = NULL;
        int r = unit_name_escape(word, &escaped);

        if (r < 0 || !escaped || is_folder(dirfd, word, strrchr(word, '/')))
                return r;
        r = buf_printf(why,
                       "'%s' is no unit name: what stands behind the '@' is escaped, as by systemd-escape; "
                       "say '%s'",
                       word, escaped);
        return r < 0 ? r : -EINVAL;
}

static int say_folder(const char *word, const char *base, Buf *why) {
        UnitNameMistake m;
        int r = unit_name_mistake(base, &m)
                        ? buf_printf(why, "%s is %s, not a unit file; %s", word, m.is, m.advice)
                        : buf_printf(why,
                                     "%s is a folder; `argosyctl apply %s` takes all unit files in it, and "
                                     "one of them is "
                                     "named as %s%sNAME.service",
                                     word, word, word, str_has_suffix(word, "/") ? "" : "/");

        return r < 0 ? r : -EINVAL;
}

static int say_file(const char *word, const char *base, Buf *why) {
        UnitNameMistake m;
        int r;

        if (unit_name_mistake(base, &m))
                r = buf_printf(why, "%s is %s, not a unit file; %s", word, m.is, m.advice);
        else
                r = buf_printf(why, "%s is not a unit file: the name of one ends in its type, " TYPES, word);
        return r < 0 ? r : -EINVAL;
}

int no_unit_check(const char *word, bool reads, int dirfd, Buf *why) {
        const char *slash = strrchr(word, '/'), *base = slash ? slash + 1 : word;
        bool path = slash || streq(word, ".") || streq(word, "..");
        _cleanup_free_ char *unit = NULL;
        UnitNameMistake m;
        mode_t type;
        int r;

        r = check_escape(word, dirfd, why);
        if (r < 0 || unit_name_suffix(base) || quadlet_is_container(base))
                return r;
        unit = str_printf("%s.service", word);
        if (!unit)
                return -ENOMEM;
        type = type_of(dirfd, word);
        if (type_of(dirfd, unit) == S_IFREG) // "dir/web" for dir/web.service
                return 0;
        if (path && type == S_IFDIR)
                return say_folder(word, base, why);
        if (type != 0 && unit_name_mistake(base, &m))
                return say_file(word, base, why);
        return path && reads && type != 0 ? say_file(word, base, why) : 0;
}

char *no_unit_nearest(const char *dir, const char *name, int dirfd) {
        int fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *entry;
        char *best = NULL;
        int least = -1;

        if (!d && fd >= 0)
                close(fd);
        while (d && (entry = readdir(d))) {
                int n = unit_name_distance(name, entry->d_name);

                if (n < 0 || (least >= 0 && n >= least))
                        continue;
                least = n;
                free(best);
                best = strdup(entry->d_name);
        }
        if (d)
                closedir(d);
        return best;
}

int no_unit_missing(const char *dir, const char *base, const char *name, const char *template, int dirfd,
                    Buf *why) {
        _cleanup_free_ char *meant = NULL;
        bool typed = streq(base, name);
        int r;

        if (type_of(dirfd, dir) != S_IFDIR)
                return buf_printf(why, "there is no folder %s", dir);
        if (template)
                r = buf_printf(why, "there is neither %s%s nor %s%s", dir, name, dir, template);
        else
                r = typed ? buf_printf(why, "there is no %s%s", dir, name)
                          : buf_printf(why, "there is neither %s%s nor %s%s", dir, base, dir, name);
        meant = r == 0 ? no_unit_nearest(dir, name, dirfd) : NULL;
        if (!meant && r == 0 && template)
                meant = no_unit_nearest(dir, template, dirfd);
        return meant ? buf_printf(why, "; did you mean %s%s?", dir, meant) : r;
}
