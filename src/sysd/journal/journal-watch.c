// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a directory's events -> nothing, "there is more in the files", or "there are other files"
//
// journald rotates by renaming a file and creating the next under its name. A file that has just been
// created cannot be read: the first write to it is its header. So those that are empty when the journal is
// about to be opened are remembered, and the first write to one of them means other files, too. What the
// kernel had no room to say may have been anything.

#include "journal-watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "str.h"

enum {
        EVENTS_SIZE = 4096,
        READS_MAX = 16, // of that size, in one call
        EMPTY_MAX = 32,
        NAME_SIZE = 256,
};

struct JournalWatch {
        const char *const *dirs;
        int fd;
        char empty[EMPTY_MAX][NAME_SIZE]; // files, when they were looked at last
        unsigned n_empty;
        bool many; // there were more: each write may be the first
};

static bool has_ending(const char *name, const char *ending) {
        size_t len = strlen(name), n = strlen(ending);

        return len > n && streq(name + len - n, ending);
}

// What sd-journal takes for a file of a journal.
static bool is_file(const char *name) {
        return has_ending(name, ".journal") || has_ending(name, ".journal~");
}

static bool was_empty(const JournalWatch *w, const char *name) {
        for (unsigned i = 0; i < w->n_empty; i++)
                if (streq(w->empty[i], name))
                        return true;
        return w->many;
}

static JournalChange change_of(const JournalWatch *w, const struct inotify_event *e) {
        const char *name = e->len > 0 ? e->name : "";

        if (e->mask & (IN_Q_OVERFLOW | IN_ISDIR))
                return JOURNAL_OTHER_FILES;
        if (!is_file(name))
                return JOURNAL_AS_IT_WAS;
        return e->mask & IN_MODIFY && !was_empty(w, name) ? JOURNAL_LONGER : JOURNAL_OTHER_FILES;
}

int journal_watch_read(JournalWatch *w) {
        char events[EVENTS_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
        JournalChange change = JOURNAL_AS_IT_WAS;

        for (int i = 0; i < READS_MAX; i++) {
                ssize_t n = read(w->fd, events, sizeof(events));

                if (n < 0 && errno != EINTR)
                        return errno == EAGAIN ? (int) change : -errno;
                for (ssize_t at = 0; at < n;) {
                        const struct inotify_event *e = (const struct inotify_event *) (events + at);
                        JournalChange more = change_of(w, e);

                        change = MAX_OF(change, more);
                        at += (ssize_t) (sizeof(*e) + e->len);
                }
        }
        return (int) change;
}

static void note_empty(JournalWatch *w, const char *path) {
        DIR *dir = opendir(path);

        for (struct dirent *d; dir && (d = readdir(dir));) {
                struct stat st;

                if (!is_file(d->d_name) || fstatat(dirfd(dir), d->d_name, &st, 0) < 0 || st.st_size > 0)
                        continue;
                if (w->n_empty == EMPTY_MAX)
                        w->many = true;
                else
                        str_fit(w->empty[w->n_empty++], NAME_SIZE, "%s", d->d_name);
        }
        if (dir)
                closedir(dir);
}

int journal_watch_again(JournalWatch *w) {
        w->n_empty = 0;
        w->many = false;
        for (const char *const *dir = w->dirs; *dir; dir++) {
                if (inotify_add_watch(w->fd, *dir,
                                      IN_CREATE | IN_MOVE | IN_DELETE | IN_MODIFY | IN_ATTRIB |
                                              IN_ONLYDIR) >= 0)
                        note_empty(w, *dir);
                else if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
                        return -errno;
        }
        return 0;
}

int journal_watch_new(const char *const *dirs, JournalWatch **ret) {
        _cleanup_(journal_watch_freep) JournalWatch *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        w->dirs = dirs;
        w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (w->fd < 0)
                return -errno;
        r = journal_watch_again(w);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(w);
        return 0;
}

int journal_watch_fd(const JournalWatch *w) {
        return w->fd;
}

JournalWatch *journal_watch_free(JournalWatch *w) {
        if (!w)
                return NULL;
        if (w->fd >= 0)
                close(w->fd);
        free(w);
        return NULL;
}
