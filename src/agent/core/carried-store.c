// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of units on the disk: written once, linked into the folder of each unit that has them, and removed
// with the last.
//
// A folder is not changed: the next one is made as units/.NAME and exchanged with it, so an open() of a path
// below sees one or the other. A failure in between leaves the old folder and a part of the new one, which
// the next try or the next start removes.
//
// One that stays is changed in three steps, each over all folders that stay in it: what is new is made in
// "..1" or "..2", whichever is not in use; "..data" leads there; then links of files that are new come, and
// what is left of those before goes. A failure in the first step changes nothing that anybody sees, one
// later leaves links too many or too few, which the next try mends, or the next start.

#include "carried-store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "array.h"
#include "fileio.h"
#include "str.h"

enum {
        DEPTH_MAX = 16, // of folders in a folder; root may have made deeper ones than names allow
        FREE_SHARE = 4, // a quarter of the file system stays free: PID 1 needs it
        STORE_PAGE = 4096, // of /run, which is in memory
        STORE_NAME_SIZE = HASH_HEX_SIZE + 2,
};

static void store_name(const Hash *hash, bool executable, char ret[STORE_NAME_SIZE]) {
        hash_hex(hash, HASH_SIZE, ret);
        if (executable)
                strcat(ret, ".x");
}

// Made if need be; whatever the umask is, others may look into it.
static int open_dir_at(int dirfd, const char *name, bool make) {
        int fd;

        if (make && mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (make && fchmod(fd, 0755) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return fd;
}

static int open_below(const char *dir, const char *name, bool make) {
        _cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : open_dir_at(fd, name, make);
}

// ------------------------------------------------------------------------------------------------ contents

bool carried_store_has(const char *dir, const Hash *hash, bool executable) {
        char name[STORE_NAME_SIZE];
        _cleanup_free_ char *path = NULL;

        store_name(hash, executable, name);
        path = str_printf("%s/files/%s", dir, name);
        return path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// A file system that makes its inodes as they are needed counts none.
static int check_room(int fd, const CarriedRoom *room) {
        struct statvfs v;
        uint64_t needed;

        if (fstatvfs(fd, &v) < 0)
                return -errno;
        if (v.f_files > 0 && v.f_favail < room->n)
                return -ENOSPC;
        needed = (room->bytes + v.f_frsize - 1) / v.f_frsize + v.f_blocks / FREE_SHARE;
        return v.f_blocks == 0 || v.f_bavail >= needed ? 0 : -ENOSPC;
}

bool carried_store_has_room_for(const char *dir, const CarriedRoom *room) {
        _cleanup_(closep) int fd = room->n > 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        return fd < 0 || check_room(fd, room) != -ENOSPC;
}

// Each has whole pages for itself.
static void room_add(CarriedRoom *room, uint64_t len) {
        room->bytes += (len + STORE_PAGE - 1) / STORE_PAGE * STORE_PAGE;
        room->n++;
}

CarriedRoom carried_store_room_of(const CarriedFiles *files) {
        CarriedRoom room = {};

        for (size_t i = 0; i < files->n; i++)
                room_add(&room, files->list[i].size);
        return room;
}

bool carried_store_has_room(const char *dir, const CarriedFiles *files) {
        CarriedRoom room = {};

        for (size_t i = 0; i < files->n; i++)
                if (!carried_store_has(dir, &files->list[i].hash, files->list[i].executable))
                        room_add(&room, files->list[i].size);
        return carried_store_has_room_for(dir, &room);
}

int carried_store_put(const char *dir, const Hash *hash, bool executable, const void *bytes, size_t len) {
        _cleanup_(closep) int fd = open_below(dir, "files", true);
        Hash actual = hash_of(bytes, len);
        CarriedRoom room = {};
        char name[STORE_NAME_SIZE];
        int r = fd;

        room_add(&room, len);
        if (r >= 0)
                r = hash_equal(&actual, hash) ? check_room(fd, &room) : -EBADMSG;
        if (r < 0)
                return r;
        store_name(hash, executable, name);
        return file_replace(fd, name, bytes, len, executable ? 0555 : 0444, 0);
}

static void drop(int fd, const char *name) {
        struct stat st;

        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
                (void) unlinkat(fd, name, 0);
}

void carried_store_drop(const char *dir, const Hash *hash, bool executable) {
        _cleanup_(closep) int fd = open_below(dir, "files", false);
        char name[STORE_NAME_SIZE];

        store_name(hash, executable, name);
        if (fd >= 0)
                drop(fd, name);
}

// ------------------------------------------------------------------------------------------------ removing

static int remove_tree(int dirfd, const char *name, unsigned depth);

static int empty(int fd, unsigned depth) {
        DIR *d = fdopendir(fd);
        const struct dirent *e;
        int r = 0;

        if (!d) {
                r = -errno;
                close(fd);
                return r;
        }
        while (r == 0 && (e = readdir(d)))
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        r = remove_tree(dirfd(d), e->d_name, depth + 1);
        closedir(d);
        return r;
}

static int remove_tree(int dirfd, const char *name, unsigned depth) {
        int fd, r;

        if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR && errno != EPERM)
                return -errno;
        fd = depth < DEPTH_MAX + CARRIED_NAME_MAX / 2 ? open_dir_at(dirfd, name, false) : -ELOOP;
        if (fd < 0)
                return fd;
        r = empty(fd, depth);
        if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
                r = -errno;
        return r;
}

int carried_folders_open(const char *dir) {
        return open_below(dir, "units", false);
}

int carried_folder_remove(int folders, const char *unit) {
        _cleanup_free_ char *fresh = str_printf(".%s", unit);
        int r = fresh ? remove_tree(folders, fresh, 0) : -ENOMEM;

        return r < 0 ? r : remove_tree(folders, unit, 0);
}

// ------------------------------------------------------------------------------------------------ making

// "a/b" of "a/b/c": each part of it below fd.
static int make_folders(int fd, const char *name) {
        char path[CARRIED_NAME_MAX + 1];

        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                int made;

                str_fit(path, sizeof(path), "%.*s", (int) (slash - name), name);
                made = open_dir_at(fd, path, true);
                if (made < 0)
                        return made;
                close(made);
        }
        return 0;
}

static int link_file(int files, int folder, const CarriedFile *f) {
        char name[STORE_NAME_SIZE];
        int r = make_folders(folder, f->name);

        if (r < 0)
                return r;
        store_name(&f->hash, f->executable, name);
        if (linkat(files, name, folder, f->name, 0) == 0)
                return 0;
        return errno == ENOENT ? -ENODATA : -errno;
}

static int fill(int files, int folder, const CarriedFiles *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++)
                r = link_file(files, folder, &list->list[i]);
        return r;
}

// The new one takes the name, and what had it goes.
static int exchange(int units, const char *fresh, const char *unit) {
        if (renameat2(units, fresh, units, unit, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EEXIST || renameat2(units, fresh, units, unit, RENAME_EXCHANGE) < 0)
                return -errno;
        return remove_tree(units, fresh, 0);
}

// ---------------------------------------------------------------------------------------- folders that stay

#define DATA_LINK "..data"
#define DATA_LINK_FRESH "..next"
static const char *const data_names[] = {"..1", "..2"};

typedef struct Staying {
        int files, root;
        const CarriedFiles *list;
        char **folders; // sorted, so those above come before those in them; "" is the unit's own
        size_t n, allocated;
} Staying;

static void staying_done(Staying *s) {
        for (size_t i = 0; i < s->n; i++)
                free(s->folders[i]);
        free(s->folders);
}

static int add_staying(const char *folder, size_t len, void *userdata) {
        Staying *s = userdata;
        char *copy = strndup(folder, len);

        if (!copy || ARRAY_GROW(s->folders, s->allocated, s->n + 1) < 0) {
                free(copy);
                return -ENOMEM;
        }
        s->folders[s->n++] = copy;
        return 0;
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int collect_staying(const CarriedFolder *folder, Staying *s) {
        int r = carried_folders_that_stay(folder->sources, folder->n_sources, folder->files, add_staying, s);
        size_t n = 0;

        if (r < 0)
                return r;
        qsort(s->folders, s->n, sizeof(*s->folders), compare_names);
        for (size_t i = 0; i < s->n; i++)
                if (n > 0 && streq(s->folders[n - 1], s->folders[i]))
                        free(s->folders[i]);
                else
                        s->folders[n++] = s->folders[i];
        s->n = n;
        return 0;
}

static bool is_in(const char *name, const char *folder) {
        size_t len = strlen(folder);

        return len == 0 || (str_has_prefix(name, folder) && name[len] == '/');
}

// The name below the innermost folder that stays, which is *ret_folder.
static const char *name_below(const Staying *s, const char *name, size_t *ret_folder) {
        size_t best = 0;

        for (size_t i = 1; i < s->n; i++)
                if (is_in(name, s->folders[i]) && strlen(s->folders[i]) > strlen(s->folders[best]))
                        best = i;
        *ret_folder = best;
        return name + strlen(s->folders[best]) + (best > 0);
}

static int open_staying(const Staying *s, size_t i, bool make) {
        return open_dir_at(s->root, *s->folders[i] ? s->folders[i] : ".", make && *s->folders[i]);
}

// Index of the one of the two that is not in use.
static size_t free_data(int fd) {
        char to[8];
        ssize_t len = readlinkat(fd, DATA_LINK, to, sizeof(to));

        return len == (ssize_t) strlen(data_names[0]) && memcmp(to, data_names[0], (size_t) len) == 0;
}

static int make_data(const Staying *s, size_t i, size_t *ret_next) {
        _cleanup_(closep) int fd = open_staying(s, i, true), data = -1;
        int r = fd;

        if (r >= 0) {
                *ret_next = free_data(fd);
                r = remove_tree(fd, data_names[*ret_next], 0);
        }
        if (r < 0)
                return r;
        data = open_dir_at(fd, data_names[*ret_next], true);
        r = data < 0 ? data : 0;
        for (size_t k = 0; r == 0 && k < s->list->n; k++) {
                CarriedFile f = s->list->list[k];
                size_t folder;

                f.name = (char *) name_below(s, f.name, &folder);
                if (folder == i)
                        r = link_file(s->files, data, &f);
        }
        return r;
}

static int put_link(int fd, const char *to, const char *name) {
        if (unlinkat(fd, DATA_LINK_FRESH, 0) < 0 && errno != ENOENT)
                return -errno;
        if (symlinkat(to, fd, DATA_LINK_FRESH) < 0 || renameat(fd, DATA_LINK_FRESH, fd, name) < 0)
                return -errno;
        return 0;
}

static int switch_data(const Staying *s, size_t i, size_t next) {
        _cleanup_(closep) int fd = open_staying(s, i, false);

        return fd < 0 ? fd : put_link(fd, data_names[next], DATA_LINK);
}

static bool leads_to(int fd, const char *name, const char *to) {
        char there[CARRIED_NAME_MAX + sizeof(DATA_LINK) + 2];
        ssize_t len = readlinkat(fd, name, there, sizeof(there));

        return len == (ssize_t) strlen(to) && memcmp(there, to, (size_t) len) == 0;
}

static int put_links(const Staying *s, size_t i, int fd) {
        int r = 0;

        for (size_t k = 0; r == 0 && k < s->list->n; k++) {
                char name[CARRIED_NAME_MAX + 1], to[CARRIED_NAME_MAX + sizeof(DATA_LINK) + 2];
                size_t folder;
                const char *below = name_below(s, s->list->list[k].name, &folder);

                if (folder != i)
                        continue;
                str_fit(name, sizeof(name), "%.*s", (int) strcspn(below, "/"), below);
                str_fit(to, sizeof(to), DATA_LINK "/%s", name);
                if (!leads_to(fd, name, to))
                        r = remove_tree(fd, name, 0) ?: put_link(fd, to, name);
        }
        return r;
}

// Whether an entry of a folder that stays belongs there.
static bool belongs(const Staying *s, size_t i, const char *entry, size_t data) {
        char path[2 * CARRIED_NAME_MAX + 2];

        if (streq(entry, ".") || streq(entry, "..") || streq(entry, DATA_LINK) ||
            streq(entry, data_names[data]))
                return true;
        str_fit(path, sizeof(path), "%s%s%s", s->folders[i], *s->folders[i] ? "/" : "", entry);
        for (size_t k = 1; k < s->n; k++)
                if (streq(s->folders[k], path))
                        return true;
        for (size_t k = 0; k < s->list->n; k++)
                if (streq(s->list->list[k].name, path) || is_in(s->list->list[k].name, path))
                        return true;
        return false;
}

static int clean(const Staying *s, size_t i, size_t data) {
        int fd = open_staying(s, i, false), r;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *e;

        if (!d) {
                r = fd < 0 ? fd : -errno;
                closep(&fd);
                return r;
        }
        r = put_links(s, i, fd);
        while (r == 0 && (e = readdir(d)))
                if (!belongs(s, i, e->d_name, data))
                        r = remove_tree(fd, e->d_name, 1);
        closedir(d);
        return r;
}

static int change_in_place(const Staying *s) {
        _cleanup_free_ size_t *next = calloc(s->n, sizeof(*next));
        int r = next ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = make_data(s, i, &next[i]);
        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = switch_data(s, i, next[i]);
        for (size_t i = 0; r == 0 && i < s->n; i++)
                r = clean(s, i, next[i]);
        return r;
}

// Whether all of them stand there already, made in that way.
static bool can_stay(const Staying *s) {
        for (size_t i = 0; i < s->n; i++) {
                _cleanup_(closep) int fd = open_staying(s, i, false);
                struct stat st;

                if (fd < 0 || fstatat(fd, DATA_LINK, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return false;
        }
        return true;
}

// ----------------------------------------------------------------------------------------------- one folder

// How many entries that are no folders are in it; below 0: it cannot be told.
static ssize_t count_entries(int fd, unsigned depth) {
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *e;
        ssize_t n = 0;

        if (!d) {
                closep(&fd);
                return -1;
        }
        while (n >= 0 && (e = readdir(d))) {
                ssize_t more = 1;
                int below;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                below = open_dir_at(dirfd(d), e->d_name, false);
                if (below >= 0)
                        more = depth < DEPTH_MAX + CARRIED_NAME_MAX / 2 ? count_entries(below, depth + 1)
                                                                        : (close(below), -1);
                n = more < 0 ? -1 : n + more;
        }
        closedir(d);
        return n;
}

// Whether the unit, which may run, has these files there already and no others. (A swap would leave what
// runs without any.)
static bool has_them(int files, int units, const char *unit, const CarriedFiles *list) {
        _cleanup_(closep) int folder = open_dir_at(units, unit, false);
        struct stat a, b;

        for (size_t i = 0; folder >= 0 && i < list->n; i++) {
                char name[STORE_NAME_SIZE];

                store_name(&list->list[i].hash, list->list[i].executable, name);
                if (fstatat(files, name, &a, AT_SYMLINK_NOFOLLOW) < 0 ||
                    fstatat(folder, list->list[i].name, &b, AT_SYMLINK_NOFOLLOW) < 0 ||
                    a.st_ino != b.st_ino || a.st_dev != b.st_dev)
                        return false;
        }
        return folder >= 0 && count_entries(open_dir_at(units, unit, false), 0) == (ssize_t) list->n;
}

// What stands there stays as it is if the files change in it.
static int put_staying(Staying *s, int units, const char *fresh, const char *unit) {
        _cleanup_(closep) int there = open_dir_at(units, unit, false), made = -1;
        int r;

        s->root = there;
        if (there >= 0 && can_stay(s))
                return change_in_place(s);
        s->root = made = open_dir_at(units, fresh, true);
        r = made < 0 ? made : change_in_place(s);
        return r < 0 ? r : exchange(units, fresh, unit);
}

static int put_plain(int files, int units, const char *fresh, const char *unit, const CarriedFiles *list) {
        _cleanup_(closep) int folder = -1;
        int r;

        if (has_them(files, units, unit, list))
                return 0;
        folder = open_dir_at(units, fresh, true);
        r = folder < 0 ? folder : fill(files, folder, list);
        return r < 0 ? r : exchange(units, fresh, unit);
}

int carried_folder_put(const char *dir, const char *unit, const CarriedFolder *folder) {
        _cleanup_(closep) int files = open_below(dir, "files", true), units = open_below(dir, "units", true);
        _cleanup_free_ char *fresh = str_printf(".%s", unit);
        _cleanup_(staying_done) Staying staying = {.files = files, .list = folder->files};
        int r = files < 0 ? files : units < 0 ? units : fresh ? 0 : -ENOMEM;

        if (r == 0)
                r = remove_tree(units, fresh, 0);
        if (r == 0 && folder->stays)
                r = collect_staying(folder, &staying);
        if (r < 0)
                return r;
        return folder->stays ? put_staying(&staying, units, fresh, unit)
                             : put_plain(files, units, fresh, unit, folder->files);
}

bool carried_folder_has(const char *dir, const char *unit, const CarriedFiles *list) {
        _cleanup_(closep) int files = open_below(dir, "files", false),
                              units = open_below(dir, "units", false), folder = -1;
        struct stat a, b;

        if (files < 0 || units < 0)
                return false;
        folder = open_dir_at(units, unit, false);
        for (size_t i = 0; folder >= 0 && i < list->n; i++) {
                char name[STORE_NAME_SIZE];

                store_name(&list->list[i].hash, list->list[i].executable, name);
                if (fstatat(files, name, &a, AT_SYMLINK_NOFOLLOW) < 0 ||
                    fstatat(folder, list->list[i].name, &b, 0) < 0 || a.st_ino != b.st_ino ||
                    a.st_dev != b.st_dev)
                        return false;
        }
        return folder >= 0;
}

// ------------------------------------------------------------------------------------------------ sweeping

typedef struct Sweep {
        bool (*kept)(const char *unit, void *userdata);
        void *userdata;
} Sweep;

// Closes fd.
static void each_entry(int fd, void (*each)(int fd, const char *name, const void *userdata),
                       const void *userdata) {
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *e;

        if (!d) {
                closep(&fd);
                return;
        }
        while ((e = readdir(d)))
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        each(dirfd(d), e->d_name, userdata);
        closedir(d);
}

// `userdata`: the folder that is to lead there.
static void mend_link(int data, const char *name, const void *userdata) {
        char to[CARRIED_NAME_MAX + sizeof(DATA_LINK) + 2];
        int fd = *(const int *) userdata;

        str_fit(to, sizeof(to), DATA_LINK "/%s", name);
        if (!leads_to(fd, name, to) && remove_tree(fd, name, 0) == 0)
                (void) put_link(fd, to, name);
}

static void mend(int fd, unsigned depth);

// `userdata`: how deep it lies.
static void mend_entry(int fd, const char *name, const void *userdata) {
        unsigned depth = *(const unsigned *) userdata;
        int below = open_dir_at(fd, name, false);

        if (below >= 0 && depth < DEPTH_MAX)
                mend(below, depth + 1);
        else
                closep(&below);
        if (below < 0 && faccessat(fd, name, F_OK, 0) < 0 && errno == ENOENT)
                (void) unlinkat(fd, name, 0);
}

// A folder that stays, and those in it that do, after a crash in the middle of a change: nobody knows which
// files it was to have, but what it leads to is whole. Closes fd.
static void mend(int fd, unsigned depth) {
        size_t unused = free_data(fd);
        const char *used = data_names[!unused];

        if (!leads_to(fd, DATA_LINK, used)) {
                close(fd);
                return;
        }
        (void) remove_tree(fd, data_names[unused], 0);
        (void) remove_tree(fd, DATA_LINK_FRESH, 0);
        each_entry(open_dir_at(fd, used, false), mend_link, &fd);
        each_entry(fd, mend_entry, &depth);
}

static void sweep_unit(int fd, const char *name, const void *userdata) {
        const Sweep *s = userdata;
        int folder;

        if (*name == '.' || !s->kept(name, s->userdata)) {
                (void) remove_tree(fd, name, 0);
                return;
        }
        folder = open_dir_at(fd, name, false);
        if (folder >= 0)
                mend(folder, 0);
}

static void sweep_file(int fd, const char *name, const void *userdata) {
        drop(fd, name);
}

void carried_store_sweep(const char *dir, bool (*kept)(const char *unit, void *userdata), void *userdata) {
        const Sweep s = {kept, userdata};

        each_entry(open_below(dir, "units", false), sweep_unit, &s);
        each_entry(open_below(dir, "files", false), sweep_file, &s);
}

// ------------------------------------------------------------------------------------------ what nobody has

// The other way round of store_name().
static bool read_store_name(const char *name, Hash *ret, bool *ret_executable) {
        char hex[2 * HASH_SIZE + 1];
        size_t len = strcspn(name, ".");

        if (len != 2 * HASH_SIZE)
                return false;
        memcpy(hex, name, len);
        hex[len] = 0;
        *ret_executable = streq(name + len, ".x");
        return (!name[len] || *ret_executable) && hex_decode(hex, ret->bytes, HASH_SIZE);
}

void carried_store_list_unused(const char *dir, CarriedFiles *ret) {
        int fd = open_below(dir, "files", false);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *e;

        if (!d) {
                closep(&fd);
                return;
        }
        while ((e = readdir(d))) {
                struct stat st;
                bool executable;
                Hash hash;

                if (read_store_name(e->d_name, &hash, &executable) &&
                    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1 &&
                    carried_files_add(ret, e->d_name, executable, 0, &hash) < 0)
                        break;
        }
        closedir(d);
}
