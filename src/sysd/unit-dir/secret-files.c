// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See secret-files.h. What is on the ramfs outlives this program, so it is looked at and not remembered: a
// value is there if its file is, and a unit has what its links lead to. In memory is only what orders have
// said, of the units that have secrets.
//
//      order     put() the values, then want() for the unit
//      start     place(): links to the values, each by a name of its own that is moved over the one before
//      sweep     values that no want() names go; a unit that runs with such a one keeps it by its link
//
// Failures: a value or a link that is missing fails the start, with words, and the next order brings the
// value again.

#include "secret-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "map.h"
#include "secret-name.h"
#include "str.h"
#include "unit-name.h"

#define TEMPORARY ".new"

enum { VALUE_NAME_SIZE = SECRET_NAME_MAX + 24, LINK_NAME_SIZE = UNIT_NAME_MAX + SECRET_NAME_MAX + 16 };

typedef struct Item {
        char id[SECRET_NAME_MAX + 1]; // "": its registry is to see it, and the unit has no link
        char name[SECRET_NAME_MAX + 1];
        uint64_t version; // 0: there is no such secret
} Item;

typedef struct User {
        Item *items;
        size_t n;
        char name[];
} User;

typedef struct Ref { // to a value, of items
        size_t n;
        char value[VALUE_NAME_SIZE];
} Ref;

struct SecretFiles {
        int values, units; // directories
        Map users;         // by name
        Map linked;        // names of units that have a folder
        Map refs;          // by the value's name
        bool due, swept;
};

static void value_name(const char *name, uint64_t version, char ret[VALUE_NAME_SIZE]) {
        snprintf(ret, VALUE_NAME_SIZE, "%" PRIu64 "-%s", version, name);
}

// -------------------------------------------------------------------------------------------- the directory

static int open_folder(int dir, const char *name, mode_t mode) {
        int fd;

        if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int open_folders(int dir, bool any_fs, SecretFiles *f) {
        struct statfs fs;

        if (fstatfs(dir, &fs) < 0)
                return -errno;
        if (!any_fs && fs.f_type != RAMFS_MAGIC)
                return -EMEDIUMTYPE;
        f->values = open_folder(dir, "values", 0700);
        f->units = f->values < 0 ? f->values : open_folder(dir, "units", 0700);
        return MIN_OF(f->units, 0);
}

static DIR *list(int dir) {
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? NULL : fdopendir(fd);
}

static int add_linked(SecretFiles *f, const char *unit) {
        char *name;

        if (map_find_str(&f->linked, unit))
                return 0;
        name = strdup(unit);
        if (name && map_add_str(&f->linked, name, name) == 0)
                return 0;
        free(name);
        return -ENOMEM;
}

static int find_linked(SecretFiles *f) {
        DIR *dir = list(f->units);
        struct dirent *d;
        int r = 0;

        while (dir && r == 0 && (d = readdir(dir)))
                if (!streq(d->d_name, ".") && !streq(d->d_name, ".."))
                        r = add_linked(f, d->d_name);
        if (dir)
                closedir(dir);
        return r;
}

int secret_files_new(const char *dir, bool any_fs, SecretFiles **ret) {
        _cleanup_(secret_files_freep) SecretFiles *f = calloc(1, sizeof(*f));
        int fd, r;

        if (!f)
                return -ENOMEM;
        f->values = f->units = -1;
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = open_folders(fd, any_fs, f);
        close(fd);
        if (r == 0)
                r = find_linked(f);
        if (r < 0)
                return r;
        f->due = true;
        *ret = TAKE_PTR(f);
        return 0;
}

static void user_free(void *user) {
        free(((User *) user)->items);
        free(user);
}

SecretFiles *secret_files_free(SecretFiles *f) {
        if (!f)
                return NULL;
        map_done_with(&f->users, user_free);
        map_done_with(&f->refs, free);
        map_done_with(&f->linked, free);
        if (f->values >= 0)
                close(f->values);
        if (f->units >= 0)
                close(f->units);
        free(f);
        return NULL;
}

// ------------------------------------------------------------------------------------------------ values

static int write_all(int fd, const uint8_t *data, size_t len) {
        while (len > 0) {
                ssize_t n = write(fd, data, len);

                if (n < 0 && errno != EINTR)
                        return -errno;
                data += MAX_OF(n, 0);
                len -= (size_t) MAX_OF(n, 0);
        }
        return 0;
}

static bool says(int dir, const char *name, const ProtobufCBinaryData *value) {
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        char part[1024];
        size_t at = 0;
        ssize_t n;

        if (fd < 0)
                return false;
        while ((n = read(fd, part, sizeof(part))) > 0 && (size_t) n <= value->len - at &&
               memcmp(part, value->data + at, (size_t) n) == 0)
                at += (size_t) n;
        explicit_bzero(part, sizeof(part));
        close(fd);
        return n == 0 && at == value->len;
}

// Versions are counted anew when a secret was deleted and is set again, and this host may have missed both:
// so the number is not all that counts.
int secret_files_put(SecretFiles *f, const Argosy__SecretValue *value) {
        char name[VALUE_NAME_SIZE];
        int fd, r;

        if (!secret_name_is_valid(value->name) || value->version == 0 || value->value.len > SECRET_VALUE_MAX)
                return -EINVAL;
        value_name(value->name, value->version, name);
        if (says(f->values, name, &value->value))
                return 0;
        fd = openat(f->values, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = write_all(fd, value->value.data, value->value.len);
        if (r == 0 && fchmod(fd, 0444) < 0) // the folders above are root's alone
                r = -errno;
        close(fd);
        if (r == 0 && renameat(f->values, TEMPORARY, f->values, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(f->values, TEMPORARY, 0);
        f->due = true;
        return r;
}

static int add_ref(SecretFiles *f, const Item *item) {
        char name[VALUE_NAME_SIZE];
        Ref *ref;

        value_name(item->name, item->version, name);
        ref = map_find_str(&f->refs, name);
        if (!ref) {
                ref = calloc(1, sizeof(*ref));
                if (!ref)
                        return -ENOMEM;
                memcpy(ref->value, name, sizeof(name));
                if (map_add_str(&f->refs, ref->value, ref) < 0) {
                        free(ref);
                        return -ENOMEM;
                }
        }
        ref->n++;
        return 0;
}

static void drop_refs(SecretFiles *f, const User *u, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char name[VALUE_NAME_SIZE];
                Ref *ref;

                value_name(u->items[i].name, u->items[i].version, name);
                ref = map_find_str(&f->refs, name);
                if (--ref->n > 0)
                        continue;
                map_take_str(&f->refs, name);
                free(ref);
                f->due = true;
        }
}

static int add_refs(SecretFiles *f, const User *u) {
        for (size_t i = 0; i < u->n; i++)
                if (add_ref(f, &u->items[i]) < 0) {
                        drop_refs(f, u, i);
                        return -ENOMEM;
                }
        return 0;
}

// ------------------------------------------------------------------------------------------------ units

static bool item_fits(const Argosy__OrderSecret *s) {
        return (!*s->id || secret_name_is_valid(s->id)) && secret_name_is_valid(s->name);
}

static User *user_new(const char *unit, Argosy__OrderSecret *const *secrets, size_t n) {
        User *u = NEW_WITH_TEXT(User, name, unit);

        if (u)
                u->items = calloc(n, sizeof(*u->items));
        if (!u || !u->items) {
                free(u);
                return NULL;
        }
        for (; u->n < n; u->n++) {
                (void) str_copy(u->items[u->n].id, sizeof(u->items[u->n].id), secrets[u->n]->id);
                (void) str_copy(u->items[u->n].name, sizeof(u->items[u->n].name), secrets[u->n]->name);
                u->items[u->n].version = secrets[u->n]->version;
        }
        return u;
}

// All but those that it is to have; `u` NULL: all, and its folder.
static void drop_links(SecretFiles *f, const char *unit, const User *u) {
        int fd = openat(f->units, unit, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *d;

        if (!dir)
                return;
        while ((d = readdir(dir))) {
                bool kept = *d->d_name == '.' && !streq(d->d_name, TEMPORARY);

                for (size_t i = 0; u && i < u->n; i++)
                        kept |= streq(u->items[i].id, d->d_name);
                if (!kept)
                        (void) unlinkat(fd, d->d_name, 0);
        }
        closedir(dir);
        if (!u)
                (void) unlinkat(f->units, unit, AT_REMOVEDIR);
}

static int add_user(SecretFiles *f, User *u) {
        int r = add_refs(f, u);

        if (r == 0) {
                r = map_add_str(&f->users, u->name, u);
                if (r < 0)
                        drop_refs(f, u, u->n);
        }
        if (r < 0)
                user_free(u);
        return r;
}

int secret_files_want(SecretFiles *f, const char *unit, Argosy__OrderSecret *const *secrets, size_t n) {
        User *before = map_take_str(&f->users, unit), *u = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = item_fits(secrets[i]) ? 0 : -EINVAL;
        if (r == 0 && n > 0) {
                u = user_new(unit, secrets, n);
                r = u ? add_user(f, u) : -ENOMEM;
        }
        if (before) {
                drop_refs(f, before, before->n);
                user_free(before);
        }
        return r;
}

void secret_files_drop(SecretFiles *f, const char *unit) {
        _cleanup_free_ char *name = map_take_str(&f->linked, unit);

        if (name)
                drop_links(f, name, NULL);
}

// What leads to the same already stays: a rename of one link over another of one file would leave both.
static bool is_linked(int value_dir, const char *value, int folder, const char *id) {
        struct stat a, b;

        return fstatat(value_dir, value, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
               fstatat(folder, id, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino &&
               a.st_dev == b.st_dev;
}

static int place_one(SecretFiles *f, int folder, const Item *item) {
        char value[VALUE_NAME_SIZE];

        value_name(item->name, item->version, value);
        if (!*item->id || is_linked(f->values, value, folder, item->id))
                return 0;
        (void) unlinkat(folder, TEMPORARY, 0);
        if (linkat(f->values, value, folder, TEMPORARY, 0) < 0 ||
            renameat(folder, TEMPORARY, folder, item->id) < 0)
                return -errno;
        return 0;
}

static bool has_same_bytes(int a, int b) {
        char of_a[1024], of_b[1024];
        ssize_t n, m;

        do {
                n = read(a, of_a, sizeof(of_a));
                m = n < 0 ? -1 : read(b, of_b, sizeof(of_b));
        } while (n > 0 && n == m && memcmp(of_a, of_b, (size_t) n) == 0);
        explicit_bzero(of_a, sizeof(of_a));
        explicit_bzero(of_b, sizeof(of_b));
        return n == 0 && m == 0;
}

// A version that no unit was to have has gone from the values, and is another file when it comes again.
static bool has_value(int value_dir, const char *value, int folder, const char *id) {
        int a, b;
        bool same;

        if (is_linked(value_dir, value, folder, id))
                return true;
        a = openat(value_dir, value, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        b = openat(folder, id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        same = a >= 0 && b >= 0 && has_same_bytes(a, b);
        if (a >= 0)
                close(a);
        if (b >= 0)
                close(b);
        return same;
}

bool secret_files_is_placed(const SecretFiles *f, const char *unit) {
        const User *u = map_find_str(&f->users, unit);
        int folder = u ? openat(f->units, unit, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        bool placed = !u || folder >= 0;

        for (size_t i = 0; placed && u && i < u->n; i++) {
                char value[VALUE_NAME_SIZE];

                value_name(u->items[i].name, u->items[i].version, value);
                placed = !*u->items[i].id || has_value(f->values, value, folder, u->items[i].id);
        }
        if (folder >= 0)
                close(folder);
        return placed;
}

static int explain(int r, const Item *item, char why[SECRET_FILES_WHY_SIZE]) {
        if (item->version == 0)
                str_fit(why, SECRET_FILES_WHY_SIZE, "there is no secret %s", item->name);
        else if (r == -ENOENT)
                str_fit(why, SECRET_FILES_WHY_SIZE,
                        "it waits for its secret %s (version %" PRIu64 "), which no leader has sent",
                        item->name, item->version);
        else
                str_fit(why, SECRET_FILES_WHY_SIZE, "its secret %s cannot be put in place: %s", item->name,
                        strerror(-r));
        return r;
}

int secret_files_place(SecretFiles *f, const char *unit, char why[SECRET_FILES_WHY_SIZE]) {
        const User *u = map_find_str(&f->users, unit);
        int folder, r = 0;

        if (!u)
                return 0;
        folder = add_linked(f, unit);
        if (folder == 0)
                folder = open_folder(f->units, unit, 0755); // others look into it from inside a container
        if (folder >= 0)
                (void) fchmod(folder, 0755);
        if (folder < 0)
                return explain(folder, u->items, why);
        for (size_t i = 0; r == 0 && i < u->n; i++) {
                r = place_one(f, folder, &u->items[i]);
                if (r < 0)
                        explain(r, &u->items[i], why);
        }
        close(folder);
        if (r == 0)
                drop_links(f, unit, u);
        return r;
}

// ---------------------------------------------------------------------------------------------- registries

static int read_value(int fd, SecretBytes *ret) {
        struct stat st;
        ssize_t n;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size <= 0 || st.st_size > SECRET_VALUE_MAX)
                return -EINVAL;
        r = secret_bytes_new((size_t) st.st_size, ret);
        if (r < 0)
                return r;
        n = read(fd, ret->data, ret->len);
        if (n == (ssize_t) ret->len)
                return 0;
        r = n < 0 ? -errno : -EIO;
        secret_bytes_done(ret);
        return r;
}

static int read_item(const SecretFiles *f, const Item *item, SecretBytes *ret) {
        char value[VALUE_NAME_SIZE];
        int fd, r;

        value_name(item->name, item->version, value);
        fd = openat(f->values, value, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = read_value(fd, ret);
        close(fd);
        return r;
}

int secret_files_registry_auth(const SecretFiles *f, const char *unit, SecretBytes *ret,
                               char why[SECRET_FILES_WHY_SIZE]) {
        const User *u = map_find_str(&f->users, unit);
        int r;

        for (size_t i = 0; u && i < u->n; i++)
                if (!*u->items[i].id) {
                        r = read_item(f, &u->items[i], ret);
                        return r < 0 ? explain(r, &u->items[i], why) : 0;
                }
        str_fit(why, SECRET_FILES_WHY_SIZE, "no leader has said yet what its registry is to see");
        return -ENOENT;
}

// ------------------------------------------------------------------------------------------------ sweeping

static void sweep_values(SecretFiles *f) {
        DIR *dir = list(f->values);
        struct dirent *d;

        while (dir && (d = readdir(dir)))
                if (!streq(d->d_name, ".") && !streq(d->d_name, "..") && !map_find_str(&f->refs, d->d_name))
                        (void) unlinkat(f->values, d->d_name, 0);
        if (dir)
                closedir(dir);
}

static void sweep_units(SecretFiles *f, bool (*is_here)(const char *unit, void *userdata), void *userdata) {
        map_foreach (slot, &f->linked) {
                if (!is_here(slot->value, userdata))
                        secret_files_drop(f, slot->value);
        }
}

void secret_files_sweep(SecretFiles *f, bool (*is_here)(const char *unit, void *userdata), void *userdata) {
        if (!f->swept)
                sweep_units(f, is_here, userdata);
        sweep_values(f);
        f->swept = true;
        f->due = false;
}

bool secret_files_is_due(const SecretFiles *f) {
        return f->due;
}
