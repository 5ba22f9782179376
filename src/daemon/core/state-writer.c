// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What belongs to identity and peers file is changed in memory first; then it is written here: its turn
// comes -> a copy is taken -> a worker replaces the file -> done. While one waits for its turn, more changes
// cost nothing.
//
// A write that fails leaves the file as it was (file_replace()). Memory is what counts until the next start,
// whose older peers file is only less fresh. Where more than that hangs on the disk, as on the raft id in
// the peers file, the change has a piece of its own in this queue (daemon-log-voter.c), and memory is
// changed when it is done.

#include "state-writer.h"

#include <string.h>

#include "daemon.h"
#include "log.h"
#include "message.h"
#include "oom.h"
#include "paths.h"
#include "state-dir.h"

static bool begin_peers(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.peers.item);

        d->writer.peers.peers = oom_checked(message_copy(d->peers));
        return true;
}

static void run_peers(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.peers.item);

        d->writer.peers.error = state_dir_save_peers(d->paths->state_dir, d->writer.peers.peers);
}

static void on_peers_done(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.peers.item);

        message_free(TAKE_PTR(d->writer.peers.peers));
        if (d->writer.peers.error < 0)
                log_error("Cannot write %s/peers: %s", d->paths->state_dir,
                          strerror(-d->writer.peers.error));
}

static bool begin_identity(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.identity.item);

        (void) oom_check(identity_copy(&d->identity, &d->writer.identity.identity));
        return true;
}

static void run_identity(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.identity.item);

        d->writer.identity.error = identity_save(d->paths->state_dir, &d->writer.identity.identity);
}

static void on_identity_done(WorkItem *item) {
        Daemon *d = CONTAINER_OF(item, Daemon, writer.identity.item);

        identity_done(&d->writer.identity.identity);
        d->writer.identity.done(d, d->writer.identity.error);
}

void state_writer_init(Daemon *d) {
        d->writer = (StateWriter){
                .peers.item = {.begin = begin_peers, .run = run_peers, .done = on_peers_done},
                .identity.item = {.begin = begin_identity, .run = run_identity, .done = on_identity_done},
        };
        work_queue_init(&d->writer.queue, d->loop);
}

void state_writer_save_peers(Daemon *d) {
        work_queue_add(&d->writer.queue, &d->writer.peers.item);
}

void state_writer_save_identity(Daemon *d, void (*done)(Daemon *d, int error)) {
        d->writer.identity.done = done;
        work_queue_add(&d->writer.queue, &d->writer.identity.item);
}
