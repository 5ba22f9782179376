// SPDX-License-Identifier: LGPL-2.1-or-later
//
// log/ -> copied to recovery.new/log -> rewritten there -> peers beside it -> all of it synced
//      -> renamed to recovery/: from here on it is done
//      -> log/ to recovery/old, recovery/log to log/, recovery/peers to peers -> recovery/ goes
//
// libraft rewrites in place and in several steps, so it is given a copy. Each step of settling is one rename
// that is on the disk before the next begins, and what is there says which is next.
#include "recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "state-dir.h"
#include "store.h"
#include "str.h"

typedef struct Places {
        char *dir, *log, *peers, *fresh, *fresh_log, *done, *done_log, *done_peers, *old;
} Places;

static void places_done(Places *p) {
        char *all[] = {p->dir,  p->log,      p->peers,      p->fresh, p->fresh_log,
                       p->done, p->done_log, p->done_peers, p->old};

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                free(all[i]);
}

static int places_init(Places *p, const char *dir) {
        *p = (Places){
                .dir = strdup(dir),
                .log = str_printf("%s/log", dir),
                .peers = str_printf("%s/peers", dir),
                .fresh = str_printf("%s/recovery.new", dir),
                .fresh_log = str_printf("%s/recovery.new/log", dir),
                .done = str_printf("%s/recovery", dir),
                .done_log = str_printf("%s/recovery/log", dir),
                .done_peers = str_printf("%s/recovery/peers", dir),
                .old = str_printf("%s/recovery/old", dir),
        };
        return p->dir && p->log && p->peers && p->fresh && p->fresh_log && p->done && p->done_log &&
                               p->done_peers && p->old
                       ? 0
                       : -ENOMEM;
}

static bool exists(const char *path) {
        return access(path, F_OK) == 0;
}

// A log that somebody mounted there could not be renamed.
static int same_file_system(const Places *p) {
        struct stat dir, log;

        if (stat(p->dir, &dir) < 0 || lstat(p->log, &log) < 0)
                return -errno;
        return dir.st_dev == log.st_dev && S_ISDIR(log.st_mode) ? 0 : -EXDEV;
}

static int make_fresh(const Places *p) {
        int r = dir_empty(AT_FDCWD, p->fresh);

        if (r >= 0 && mkdir(p->fresh, 0700) < 0 && errno != EEXIST)
                r = -errno;
        if (r >= 0 && mkdir(p->fresh_log, 0700) < 0)
                r = -errno;
        return r < 0 ? r : dir_copy_files(AT_FDCWD, p->log, p->fresh_log);
}

static int drop_fresh(const Places *p) {
        int r = dir_empty(AT_FDCWD, p->fresh);

        return r >= 0 && rmdir(p->fresh) < 0 && errno != ENOENT ? -errno : r;
}

static int commit(const Places *p, const Argosy__PeersFile *peers, char **ret_why) {
        int r = same_file_system(p);

        if (r >= 0)
                r = make_fresh(p);
        if (r >= 0)
                r = store_recover(p->fresh_log, peers->raft_id, ret_why);
        if (r >= 0)
                r = state_dir_save_peers(p->fresh, peers);
        if (r >= 0)
                r = dir_sync(AT_FDCWD, p->fresh_log);
        if (r >= 0)
                r = dir_sync(AT_FDCWD, p->fresh);
        if (r >= 0 && rename(p->fresh, p->done) < 0)
                r = -errno;
        if (r >= 0) {
                r = dir_sync(AT_FDCWD, p->dir);
                if (r < 0) // it may be on the disk or not: remove it
                        (void) rename(p->done, p->fresh);
        }
        if (r < 0)
                (void) drop_fresh(p); // it means nothing, but it may be why the disk is full
        return r;
}

int recovery_commit(const char *dir, const Argosy__PeersFile *peers, char **ret_why) {
        Places p;
        int r = places_init(&p, dir);

        if (r >= 0)
                r = commit(&p, peers, ret_why);
        places_done(&p);
        return r;
}

// One step, on the disk when it returns.
static int move(const Places *p, const char *from, const char *to) {
        int r;

        if (rename(from, to) < 0)
                return -errno;
        r = dir_sync(AT_FDCWD, p->done);
        return r < 0 ? r : dir_sync(AT_FDCWD, p->dir);
}

static int settle(const Places *p) {
        int r = 0;

        if (!exists(p->done))
                return exists(p->fresh) ? drop_fresh(p) : 0;
        if (exists(p->done_log)) {
                if (!exists(p->old))
                        r = move(p, p->log, p->old);
                if (r >= 0)
                        r = move(p, p->done_log, p->log);
        }
        if (r >= 0 && exists(p->done_peers))
                r = move(p, p->done_peers, p->peers);
        if (r >= 0 && rename(p->done, p->fresh) < 0)
                r = -errno;
        if (r >= 0)
                r = dir_sync(AT_FDCWD, p->dir);
        return r < 0 ? r : drop_fresh(p);
}

int recovery_settle(const char *dir, char **ret_why) {
        Places p;
        int r = places_init(&p, dir);

        if (r >= 0)
                r = settle(&p);
        places_done(&p);
        if (r < 0)
                *ret_why =
                        str_printf("Cannot put the recovered log in place under %s: %s", dir, strerror(-r));
        return r;
}
