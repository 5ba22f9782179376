// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-disk.h: a disk of before. What it has is copied to a directory beside it, with the log or without;
// at the end of a later power cut that takes the place of what is there, all of it synced.
#include "sim-disk-nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "str.h"

enum { CONTENT_MAX = 64 * 1024 * 1024 };

static bool is_left(const char *name, bool log) {
        return streq(name, ".") || streq(name, "..") || (!log && streq(name, "log"));
}

static void copy_all(const char *from, const char *to, bool log) {
        DIR *stream = sim_disk_checked(opendir(from));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *a = sim_disk_checked(str_printf("%s/%s", from, e->d_name)),
                                    *b = sim_disk_checked(str_printf("%s/%s", to, e->d_name));
                _cleanup_buf_ Buf content = {};
                struct stat st;

                if (is_left(e->d_name, log))
                        continue;
                sim_disk_must(lstat(a, &st) < 0 ? -errno : 0, a);
                if (S_ISDIR(st.st_mode)) {
                        sim_disk_must(mkdir(b, 0700) < 0 && errno != EEXIST ? -errno : 0, b);
                        copy_all(a, b, log);
                        continue;
                }
                sim_disk_must(file_read(AT_FDCWD, a, CONTENT_MAX, &content), a);
                sim_disk_must(file_replace(AT_FDCWD, b, content.data, content.len, 0600, 0), b);
        }
        closedir(stream);
}

static void remove_all(const char *dir, bool log) {
        DIR *stream = sim_disk_checked(opendir(dir));

        for (struct dirent *e; (e = readdir(stream));) {
                _cleanup_free_ char *below = sim_disk_checked(str_printf("%s/%s", dir, e->d_name));
                struct stat st;

                if (is_left(e->d_name, log))
                        continue;
                sim_disk_must(lstat(below, &st) < 0 ? -errno : 0, below);
                if (S_ISDIR(st.st_mode))
                        sim_disk_must(dir_empty(AT_FDCWD, below), below);
                sim_disk_must((S_ISDIR(st.st_mode) ? rmdir(below) : unlink(below)) < 0 ? -errno : 0, below);
        }
        closedir(stream);
}

static char *remembered_of(uint32_t number) {
        return sim_disk_checked(str_printf("%s/%u/remembered", sim_disks.dir, number));
}

// What is kept of the disk is made anew from the files; nothing of the host runs.
static void adopt_again(uint32_t number) {
        Disk before = sim_disks.disks[number], *d = &sim_disks.disks[number];

        sim_disk_clear(d);
        d->trouble = before.trouble;
        d->n_begun = before.n_begun;
        d->n_operations = before.n_operations;
        d->is_of_before = true;
        sim_disk_adopt(number);
}

void sim_disk_remember(uint32_t number, bool log) {
        _cleanup_free_ char *state = sim_disk_state_of(number), *to = remembered_of(number);
        Disk *d = &sim_disks.disks[number];
        Node *root = d->root;

        d->root = NULL;
        sim_disk_must(mkdir(to, 0700) < 0 && errno != EEXIST ? -errno : 0, to);
        sim_disk_must(dir_empty(AT_FDCWD, to), to);
        copy_all(state, to, log);
        d->root = root;
        d->remembers = true;
        d->with_log = log;
}

void sim_disk_bring_back(uint32_t number) {
        sim_disks.disks[number].brings_back = sim_disks.disks[number].remembers;
}

bool sim_disk_is_of_before(uint32_t number) {
        return sim_disks.disks[number].is_of_before;
}

void sim_disk_be_of_before(uint32_t number) {
        _cleanup_free_ char *state = sim_disk_state_of(number), *from = remembered_of(number);
        bool log = sim_disks.disks[number].with_log;

        sim_disks.disks[number].root = NULL;
        remove_all(state, log);
        copy_all(from, state, log);
        adopt_again(number);
}
