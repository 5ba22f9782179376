// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a log is to be opened on a full disk -> the reserve goes -> libraft opens the log -> the reserve is made
//   again
//
// To open a log takes some bytes: libraft writes a block to learn what the file system can do, before it
// gives back what it has made ready and not used, term and vote to files that it empties first, and renames
// segments. A voter has to be able to do that on a disk without a free byte, since all that it does besides
// hangs on it: its units, its answers, and its log, which goes on when there is room.
//
// Without the file (its disk was full when the log was first opened, or somebody was quicker to take what it
// gave) a full disk is why the log cannot be opened, as it is said then: whether it is the disk or a quota,
// what has to be free, and what helps (reserve_full_words()).

#include "reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "log.h"
#include "str.h"

enum { RESERVE_LEAST_BYTES = RESERVE_BYTES / 4 };

#define RESERVE_FILE "reserve" // libraft leaves names alone that it does not know

static bool is_full(int error) {
        return error == ENOSPC || error == EDQUOT;
}

// What a quota leaves is in nobody's figures, and who asks for it hears. An errno, 0: it takes them.
static int ask_for(const char *dir, uint64_t bytes) {
        int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), error;

        if (fd < 0)
                return errno; // a file system without such files says nothing
        error = fallocate(fd, 0, 0, (off_t) bytes) < 0 ? errno : 0;
        close(fd);
        return error;
}

bool reserve_disk_takes(const char *dir, uint64_t bytes) {
        return !is_full(ask_for(dir, bytes));
}

#define TO_DO "; remove something there, or "

const char *reserve_full_words(const char *dir) {
        _Static_assert(RESERVE_BYTES == 1024 * 1024, "as it is said");
        if (ask_for(dir, RESERVE_BYTES) == EDQUOT)
                return "the quota there is used up, and 1 MiB has to be free to open it" TO_DO
                       "raise the quota";
        return "no space is left on the disk, and 1 MiB has to be free to open it" TO_DO
               "give it a larger disk";
}

// libraft makes a file to write its block to: what is kept is an inode, too.
static bool has_room(const char *dir) {
        struct statvfs v;

        if (statvfs(dir, &v) == 0 &&
            ((uint64_t) v.f_bavail * v.f_frsize < RESERVE_BYTES || (v.f_files > 0 && v.f_favail == 0)))
                return false;
        return reserve_disk_takes(dir, RESERVE_BYTES);
}

void reserve_give(const char *dir) {
        _cleanup_free_ char *path = str_printf("%s/" RESERVE_FILE, dir);

        if (path && !has_room(dir) && unlink(path) == 0)
                log_notice("The disk of %s, or a quota there, is full: the log is opened in what was kept "
                           "for that.",
                           dir);
}

// One that is there is whole, unless the machine failed as it was made, or the disk was full then. Of a full
// disk as much is kept as it has: a log that was opened in what was kept may have used a block of that for
// good, and the next opening needs no more than a few.
void reserve_keep(const char *dir) {
        _cleanup_free_ char *path = str_printf("%s/" RESERVE_FILE, dir);
        int fd = path ? open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
        int r = 0;

        for (off_t size = RESERVE_BYTES; fd >= 0 && size >= RESERVE_LEAST_BYTES; size /= 2) {
                r = posix_fallocate(fd, 0, size);
                if (r != ENOSPC && r != EDQUOT)
                        break;
        }
        if (fd >= 0)
                close(fd);
        if (r != 0)
                (void) unlink(path);
}
