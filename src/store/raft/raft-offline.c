// SPDX-License-Identifier: LGPL-2.1-or-later

// What is done to a log while no store has it open: first log, empty log of a new voter, recovery to one
// voter.
//
//      store_make(), store_recover(), raft_offline_bootstrap() -> libraft on a loop of its own
//          -> synced to the disk
//
// A bootstrap is made in DIR.new and renamed, so an interrupted one leaves no half log. These functions
// block. Failures: errno and *ret_why, which the caller frees; -ENOENT without a log, -ENODATA if it is
// empty, -ENOSPC.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "log-marker.h"
#include "raft-store.h"
#include "segments.h"
#include "str.h"

bool store_exists(const char *dir) {
        static const char *const names[] = {"metadata1", "metadata2"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", dir, names[i]);

                if (path && access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

// A libraft instance without a store: just enough to read and extend a log.
typedef struct Offline {
        uv_loop_t loop;
        Transport transport;
        struct raft_io io;
        struct raft_fsm fsm;
        struct raft raft;
} Offline;

static int offline_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **ret_result) {
        return 0;
}
static int offline_snapshot(struct raft_fsm *fsm, struct raft_buffer *ret_bufs[], unsigned *ret_n) {
        return RAFT_BUSY;
}
static int offline_restore(struct raft_fsm *fsm, struct raft_buffer *buf) {
        return RAFT_BUSY;
}

static int offline_init(Offline *o, const char *dir, uint32_t raft_id) {
        char address[TRANSPORT_ADDRESS_SIZE];
        int r;

        o->fsm = (struct raft_fsm){
                .version = 1,
                .apply = offline_apply,
                .snapshot = offline_snapshot,
                .restore = offline_restore,
        };
        transport_init(&o->transport, &o->loop, NULL, NULL);
        transport_address(raft_id, address);
        r = raft_uv_init(&o->io, &o->loop, dir, &o->transport.uv);
        if (r != 0)
                return r;
        raft_uv_set_auto_recovery(&o->io, false);
        r = raft_init(&o->raft, &o->io, &o->fsm, raft_id, address);
        if (r != 0)
                raft_uv_close(&o->io);
        return r;
}

static void on_offline_closed(struct raft *raft) {
        raft_uv_close(raft->io);
}

// raft_bootstrap(), raft_recover() or make() with a configuration that has only this server. libraft's code;
// *ret_why on failure.
static int offline_run(const char *dir, uint32_t raft_id,
                       int (*act)(struct raft *, const struct raft_configuration *), char **ret_why) {
        char address[TRANSPORT_ADDRESS_SIZE];
        struct raft_configuration c;
        Offline o = {};
        int r;

        r = uv_loop_init(&o.loop);
        if (r < 0)
                return uvx_errno(r);
        r = offline_init(&o, dir, raft_id);
        if (r == 0) {
                transport_address(raft_id, address);
                raft_configuration_init(&c);
                r = raft_configuration_add(&c, raft_id, address, RAFT_VOTER);
                if (r == 0)
                        r = act(&o.raft, &c);
                raft_configuration_close(&c);
                raft_close(&o.raft, on_offline_closed);
                uv_run(&o.loop, UV_RUN_DEFAULT);
        }
        uv_loop_close(&o.loop);
        if (r == 0)
                return 0;
        *ret_why = str_printf("cannot write the log in %s: %s", dir,
                              *o.io.errmsg ? o.io.errmsg : raft_strerror(r));
        r = raft_store_errno(r);
        return r == -EIO && raft_disk_is_full(dir) ? -ENOSPC : r;
}

// The first bytes of a segment are zero while libraft has only prepared it and written nothing.
static bool open_segment_is_empty(int dir_fd, const char *name) {
        int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
        uint64_t format = 0;
        bool empty = fd >= 0 && read(fd, &format, sizeof(format)) >= 0 && format == 0;

        if (fd >= 0)
                close(fd);
        return empty;
}

// Whether the file has entries or is a snapshot.
static bool is_data(int dir_fd, const char *name) {
        if (str_has_prefix(name, "open-"))
                return !open_segment_is_empty(dir_fd, name);
        return (*name >= '0' && *name <= '9') || str_has_prefix(name, "snapshot-");
}

// A log that was made for a new voter which has received nothing yet: a cluster recovered from it would be
// empty.
static int refuse_if_empty(const char *dir, char **ret_why) {
        bool empty = true;
        struct dirent *e;
        DIR *d = opendir(dir);

        if (!d) {
                int r = -errno;

                *ret_why = str_printf("cannot read %s: %s", dir, strerror(-r));
                return r;
        }
        while ((e = readdir(d)))
                empty = empty && !is_data(dirfd(d), e->d_name);
        closedir(d);
        if (!empty)
                return 0;
        *ret_why = strdup(
                "this copy of the log is empty: the host was on its way to be a voter and had received "
                "nothing yet; recover on another one");
        return -ENODATA;
}

int store_recover(const char *dir, uint32_t raft_id, char **ret_why) {
        int r;

        assert(raft_id > 0);

        *ret_why = NULL;
        if (!store_exists(dir)) {
                *ret_why = str_printf("there is no log in %s", dir);
                return -ENOENT;
        }
        r = log_markers_finish(dir);
        if (r >= 0)
                r = segments_undo_truncation(dir);
        if (r < 0) {
                *ret_why = str_printf("cannot prepare %s: %s", dir, strerror(-r));
                return r;
        }
        r = refuse_if_empty(dir, ret_why);
        return r < 0 ? r : offline_run(dir, raft_id, raft_recover, ret_why);
}

// Writes both metadata files with term 0 and no vote; libraft writes them in turns and expects both.
static int make(struct raft *raft, const struct raft_configuration *c) {
        int r = raft->io->set_term(raft->io, 0);

        return r == 0 ? raft->io->set_term(raft->io, 0) : r;
}

static int sync_parent(const char *path) {
        _cleanup_free_ char *parent = strdup(path);
        char *slash = parent ? strrchr(parent, '/') : NULL;

        if (!parent)
                return -ENOMEM;
        if (slash)
                *slash = 0;
        return dir_sync(AT_FDCWD, !slash ? "." : *parent ? parent : "/");
}

int store_make(const char *dir, uint32_t raft_id, char **ret_why) {
        int r = mkdir(dir, 0700) < 0 && errno != EEXIST ? -errno : 0;

        *ret_why = NULL;
        if (r >= 0)
                r = offline_run(dir, raft_id, make, ret_why);
        if (r >= 0)
                r = dir_sync(AT_FDCWD, dir);
        if (r >= 0) // before anything names the log
                r = sync_parent(dir);
        if (r < 0 && !*ret_why)
                *ret_why = str_printf("cannot make %s: %s", dir, strerror(-r));
        return r;
}

int raft_offline_bootstrap(const char *dir, uint32_t raft_id, char **ret_why) {
        _cleanup_free_ char *fresh = str_printf("%s.new", dir);
        int r;

        if (!fresh)
                return -ENOMEM;
        r = dir_empty(AT_FDCWD, fresh); // left by an interrupted start
        if (r >= 0 && mkdir(fresh, 0700) < 0 && errno != EEXIST)
                r = -errno;
        if (r >= 0)
                r = offline_run(fresh, raft_id, raft_bootstrap, ret_why);
        if (r >= 0)
                r = dir_sync(AT_FDCWD, fresh);
        if (r >= 0 && rename(fresh, dir) < 0) // `dir` may be an empty directory
                r = -errno;
        if (r >= 0)
                r = sync_parent(dir);
        if (r < 0 && !*ret_why)
                *ret_why = str_printf("cannot make %s: %s", dir, strerror(-r));
        return r;
}
