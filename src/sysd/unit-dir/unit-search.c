// SPDX-License-Identifier: LGPL-2.1-or-later
//
// inotify on each directory of the search path -> names that are unit names -> touched(). Our own writes
// cause events, too; for them one stat() says that there is a file, which is all that our own writes can
// mean, so a unit without a hidden file ignores them. Nothing of others is missed by that: what they leave
// behind is looked at after their event, and after ours.
//
// A directory that is not there, or goes, is watched from the next unit_search_again() on. When the queue of
// the kernel is full, lost() says so. unit_search_run() asks each directory for few names, and lists them
// for many, but for those that somebody has filled: what it costs follows from the names that are looked
// for.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "map.h"
#include "str.h"
#include "unit-name.h"
#include "unit-search.h"
#include "uvx.h"

enum {
        DIRS_MAX = 64,
        LIST_FROM = 32,    // names from which on the directories are listed
        LIST_PER_NAME = 8, // entries that are read for each of them, at most: about what asking for it costs
        READ_BYTES = 64 * 1024,
        MASK = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR,
};

struct UnitSearch {
        const UnitSearchOps *ops;
        void *userdata;
        const char *const *dirs;
        const char *own_dir;
        int fd;
        int watches[DIRS_MAX]; // by directory; -1: none
        uv_poll_t poll;
};

// ---- decision

Argosy__LoadState unit_search_judge(const UnitPresence *of_name, const UnitPresence *of_template, size_t n) {
        const UnitPresence *rows[] = {of_name, of_template};

        for (size_t k = 0; k < ELEMENTSOF(rows) && rows[k]; k++)
                for (size_t i = 0; i < n; i++)
                        if (rows[k][i] != UNIT_ABSENT)
                                return rows[k][i] == UNIT_EMPTY ? ARGOSY__LOAD_STATE__LOAD_MASKED
                                                                : ARGOSY__LOAD_STATE__LOAD_LOADED;
        return ARGOSY__LOAD_STATE__LOAD_NOT_FOUND;
}

// ---- the disk

static size_t count(const char *const *dirs) {
        size_t n = 0;

        while (dirs[n] && n < DIRS_MAX)
                n++;
        return n;
}

// Following links: one that leads nowhere is no file for systemd either.
static UnitPresence presence_of(const char *dir, const char *name) {
        char path[PATH_MAX];
        struct stat st;

        if ((size_t) snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) || stat(path, &st) < 0)
                return UNIT_ABSENT;
        if (S_ISCHR(st.st_mode))
                return UNIT_EMPTY;
        if (!S_ISREG(st.st_mode))
                return UNIT_ABSENT;
        return st.st_size == 0 ? UNIT_EMPTY : UNIT_PRESENT;
}

// Names that directories have. Of one that was not listed each name is asked for.
typedef struct Listing {
        const char *const *dirs;
        size_t n;
        Map names[DIRS_MAX];
        bool listed[DIRS_MAX];
} Listing;

static int keep_name(Map *names, const char *entry) {
        char *name = strdup(entry);
        int r = name ? map_add_str(names, name, name) : -ENOMEM;

        if (r < 0)
                free(name);
        return r == -EEXIST ? 0 : r;
}

static int list_one(Listing *l, size_t i, size_t max) {
        DIR *stream = opendir(l->dirs[i]);
        const struct dirent *entry;
        int r = 0;

        l->listed[i] = true;
        if (!stream)
                return 0;
        while (r == 0 && l->listed[i] && (entry = readdir(stream))) {
                l->listed[i] = l->names[i].count < max;
                r = keep_name(&l->names[i], entry->d_name);
        }
        closedir(stream);
        return r;
}

static void ask(const Listing *l, const char *name, UnitPresence *ret) {
        for (size_t i = 0; i < l->n; i++)
                ret[i] = l->listed[i] && !map_find_str(&l->names[i], name) ? UNIT_ABSENT
                                                                         : presence_of(l->dirs[i], name);
}

int unit_search_run(const char *const *dirs, char *const *names, size_t n, Argosy__LoadState *ret) {
        Listing l = {.dirs = dirs, .n = count(dirs)};
        int r = 0;

        for (size_t i = 0; i < l.n && n >= LIST_FROM && r == 0; i++)
                r = list_one(&l, i, n * LIST_PER_NAME);
        for (size_t i = 0; i < n && r == 0; i++) {
                UnitPresence of_name[DIRS_MAX], of_template[DIRS_MAX];
                bool instance = unit_name_kind(names[i], NULL) == UNIT_NAME_INSTANCE;
                _cleanup_free_ char *template = instance ? unit_name_template(names[i]) : NULL;

                ask(&l, names[i], of_name);
                if (template)
                        ask(&l, template, of_template);
                ret[i] = unit_search_judge(of_name, template ? of_template : NULL, l.n);
        }
        for (size_t i = 0; i < l.n; i++)
                map_done_with(&l.names[i], free);
        return r;
}

// ---- watching

static const char *dir_of(const UnitSearch *s, int watch) {
        for (size_t i = 0; s->dirs[i] && i < DIRS_MAX; i++)
                if (s->watches[i] == watch)
                        return s->dirs[i];
        return NULL;
}

static void on_event(UnitSearch *s, const struct inotify_event *e) {
        const char *dir = dir_of(s, e->wd);
        bool present;

        if (e->mask & IN_Q_OVERFLOW) {
                s->ops->lost(s->userdata);
                return;
        }
        if (!dir)
                return;
        if (e->mask & IN_IGNORED) { // it has gone
                for (size_t i = 0; s->dirs[i] && i < DIRS_MAX; i++)
                        if (s->watches[i] == e->wd)
                                s->watches[i] = -1;
                s->ops->lost(s->userdata);
                return;
        }
        if (e->len == 0 || e->name[0] == '.' || unit_name_kind(e->name, NULL) == UNIT_NAME_INVALID)
                return;
        present = streq(dir, s->own_dir) && presence_of(dir, e->name) == UNIT_PRESENT;
        s->ops->touched(e->name, present, s->userdata);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
        static _Alignas(struct inotify_event) char bytes[READ_BYTES]; // of the loop's thread alone
        UnitSearch *s = poll->data;
        ssize_t n = read(s->fd, bytes, sizeof(bytes));

        for (ssize_t at = 0; n > 0 && at < n;) {
                const struct inotify_event *e = (const void *) (bytes + at);

                at += (ssize_t) (sizeof(*e) + e->len);
                on_event(s, e);
        }
}

void unit_search_again(UnitSearch *s) {
        for (size_t i = 0; s->dirs[i] && i < DIRS_MAX; i++)
                if (s->watches[i] < 0)
                        s->watches[i] = inotify_add_watch(s->fd, s->dirs[i], MASK);
}

int unit_search_new(uv_loop_t *loop, const char *const *dirs, const char *own_dir, const UnitSearchOps *ops,
                    void *userdata, UnitSearch **ret) {
        UnitSearch *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        *s = (UnitSearch){.ops = ops, .userdata = userdata, .dirs = dirs, .own_dir = own_dir};
        for (size_t i = 0; i < DIRS_MAX; i++)
                s->watches[i] = -1;
        s->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        r = s->fd < 0 ? -errno : uvx_errno(uv_poll_init(loop, &s->poll, s->fd));
        if (r < 0) {
                if (s->fd >= 0)
                        close(s->fd);
                free(s);
                return r;
        }
        s->poll.data = s;
        unit_search_again(s);
        (void) uv_poll_start(&s->poll, UV_READABLE, on_readable); // fails for a closing handle only
        *ret = s;
        return 0;
}

static void on_poll_closed(uv_handle_t *handle) {
        UnitSearch *s = handle->data;

        close(s->fd);
        s->ops->closed(s->userdata);
        free(s);
}

void unit_search_close(UnitSearch *s) {
        uv_close((uv_handle_t *) &s->poll, on_poll_closed);
}
