// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Single files of the unit directory, drop-ins, and the directory's time.
//
//      unit_dir_put_content(), unit_dir_put_dropin() -> `changed`
//          -> unit_dir_advance_mtime() at the end of a batch
//
// A file is replaced by rename; one whose text is as wanted keeps its time, so systemd asks for no reload.
// Failures: errno; -EEXIST or -ENOTDIR where something that is not ours has the name. Links are never
// followed.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "carried-files.h"
#include "companion-file.h"
#include "fileio.h"
#include "quadlet.h"
#include "unit-dir-private.h"
#include "unit-dropin.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-pin.h"

int unit_dir_put_file(UnitDir *d, const char *name, const void *content, size_t len) {
        d->changed = true;
        return file_replace(d->fd, name, content, len, 0644, 0);
}

// A file that differs from the one before in nothing that systemd reads (carried-files.h) keeps its time:
// its units need no reload, and `systemctl status` would warn of each one whose file is newer.
static bool keeps_time(UnitDir *d, const char *before, const void *content, size_t len,
                       struct timespec *ret) {
        _cleanup_buf_ Buf b = {};
        struct stat st;

        if (carried_files_text_len(content, len) == len || file_read(d->fd, before, UNIT_FILE_MAX, &b) < 0 ||
            !carried_files_same_settings(b.data, b.len, content, len) ||
            fstatat(d->fd, before, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        *ret = st.st_mtim;
        return true;
}

int unit_dir_put_content(UnitDir *d, const char *name, const char *before, const void *content, size_t len) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
        bool keeps = keeps_time(d, before, content, len, &times[1]);
        int r = unit_dir_put_file(d, name, content, len);

        return r == 0 && keeps && utimensat(d->fd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : r;
}

int unit_dir_drop_unit(UnitDir *d, const char *name) {
        return unit_dir_drop_file(d, name) ?: unit_dir_drop_beside(d, name);
}

int unit_dir_drop_file(UnitDir *d, const char *name) {
        if (unlinkat(d->fd, name, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        d->changed = true;
        return 0;
}

enum { DROPIN_MAX = 32 * 1024 }; // bytes of our own drop-in, with all secrets that a unit may have

int unit_dir_vacant(UnitDir *d, const char *name) {
        struct stat st;

        // A template that stands beside units gives way to one of which instances are ours.
        if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return companion_file_is(d->fd, name) ? 0 : -EEXIST;
        return errno == ENOENT ? 0 : -errno;
}

int unit_dir_replaceable(UnitDir *d, const char *name) {
        struct stat st;

        if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

static void dropin_path(const char *name, char ret_dir[UNIT_NAME_MAX + 3],
                        char ret_file[UNIT_NAME_MAX + 32]) {
        snprintf(ret_dir, UNIT_NAME_MAX + 3, "%s.d", name);
        snprintf(ret_file, UNIT_NAME_MAX + 32, "%s.d/50-argosy.conf", name);
}

// A link in its place would lead to somebody else's files.
static bool is_directory(UnitDir *d, const char *dir) {
        struct stat st;

        return fstatat(d->fd, dir, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int unit_dir_drop_dropin(UnitDir *d, const char *name) {
        char dir[UNIT_NAME_MAX + 3], file[UNIT_NAME_MAX + 32];
        int r;

        dropin_path(name, dir, file);
        if (!is_directory(d, dir))
                return 0; // nothing of ours is there
        r = unit_dir_drop_file(d, file);
        if (r == 0 && unlinkat(d->fd, dir, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTEMPTY &&
            errno != EEXIST)
                r = -errno;
        return r;
}

int unit_dir_put_dropin(UnitDir *d, const char *name, const char *slice, const FailingOptions *failing,
                        const char *secrets) {
        char dir[UNIT_NAME_MAX + 3], file[UNIT_NAME_MAX + 32];
        _cleanup_buf_ Buf text = {}, have = {};
        bool made;
        int r;

        r = unit_dropin_text(unit_name_suffix(name), slice, failing, secrets, &text);
        if (r < 0)
                return r;
        if (text.len == 0)
                return unit_dir_drop_dropin(d, name);
        dropin_path(name, dir, file);
        made = mkdirat(d->fd, dir, 0755) == 0;
        if (!made && errno != EEXIST)
                return -errno;
        if (!is_directory(d, dir))
                return -ENOTDIR;
        // A drop-in whose text is as wanted is not written, and keeps its time.
        if (!made && file_read(d->fd, file, DROPIN_MAX, &have) == 0 && have.len == text.len &&
            memcmp(have.data, text.data, text.len) == 0)
                return 0;
        r = unit_dir_put_file(d, file, text.data, text.len);
        if (r < 0)
                (void) unlinkat(d->fd, dir, AT_REMOVEDIR);
        return r;
}

UnitFile *unit_dir_parse(const void *content, size_t len, const char *name) {
        static const char *const words[] = {"[Install]", "CutOff", "Secret"};
        UnitFile *f = NULL;
        bool worth_it = false;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                worth_it |= memmem(content, len, words[i], strlen(words[i])) != NULL;
        if (!worth_it || unit_file_parse(name, content, len, &f, NULL) < 0)
                return NULL;
        return f->n_install > 0 || f->failing.cut_off_stop || unit_file_has_secrets(f) ? f
                                                                                       : unit_file_free(f);
}

Hash unit_dir_inspect_file(UnitDir *d, const char *name, UnitFile **ret_file) {
        _cleanup_buf_ Buf b = {};
        Hash of;

        *ret_file = NULL;
        if (unit_dir_replaceable(d, name) < 0 || file_read(d->fd, name, UNIT_FILE_MAX, &b) < 0)
                return (Hash){};
        *ret_file = unit_dir_parse(b.data, b.len, name);
        return quadlet_made_of(b.data, b.len, &of) ? of : hash_of(b.data, b.len);
}

bool unit_dir_dropin_is(UnitDir *d, const char *name, const char *slice, const FailingOptions *failing,
                        const char *secrets) {
        char dir[UNIT_NAME_MAX + 3], file[UNIT_NAME_MAX + 32];
        _cleanup_buf_ Buf want = {}, have = {};
        int r;

        dropin_path(name, dir, file);
        if (unit_dropin_text(unit_name_suffix(name), slice, failing, secrets, &want) < 0)
                return false;
        r = file_read(d->fd, file, DROPIN_MAX, &have);
        if (want.len == 0)
                return r == -ENOENT;
        return r == 0 && have.len == want.len && memcmp(have.data, want.data, want.len) == 0;
}

int unit_dir_put_pin(UnitDir *d) {
        static const char text[] = UNIT_PIN_TEXT;
        _cleanup_buf_ Buf have = {};
        int r;

        if (d->has_pin)
                return 0;
        r = file_read(d->fd, UNIT_PIN_FILE, sizeof(text), &have);
        if (r < 0 || have.len != strlen(text) || memcmp(have.data, text, have.len) != 0)
                r = unit_dir_put_file(d, UNIT_PIN_FILE, text, strlen(text));
        d->has_pin = r == 0;
        return r;
}

void unit_dir_drop_pin(UnitDir *d) {
        d->has_pin = false;
        (void) unit_dir_drop_file(d, UNIT_PIN_FILE);
}

uint64_t unit_dir_mtime_us(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return 0;
        return (uint64_t) st.st_mtim.tv_sec * 1000000 + (uint64_t) st.st_mtim.tv_nsec / 1000;
}

// systemd compares the directory's mtime in microseconds with the one of its last scan, which may have been
// in the middle of this batch.
void unit_dir_advance_mtime(UnitDir *d) {
        uint64_t now = unit_dir_mtime_us(d->fd);

        d->mtime_us = MAX_OF(now, d->mtime_us) + 1;
        struct timespec times[2] = {
                {.tv_nsec = UTIME_OMIT},
                {.tv_sec = (time_t) (d->mtime_us / 1000000),
                 .tv_nsec = (long) (d->mtime_us % 1000000) * 1000},
        };
        if (futimens(d->fd, times) == 0)
                d->changed = false;
}
