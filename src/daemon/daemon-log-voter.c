// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Becoming a voter, and no longer being one, as the leader says:
//
//   StoreOpen       -> forget an earlier raft id, keep the CA key, empty the log, open it, note the raft id
//                      -> StoreOpened
//   StoreClose      -> close, empty the log, forget the CA key
//
// A raft id in the peers file promises a log: a daemon that finds the one without the other does not start. So the id
// is the last that is written of a log, and the first that goes: killed in between, this host is a spare again, and is
// asked anew.
//
// One after the other: a log that is still being closed is opened again when it is. A host that cannot have one, since
// its disk is full perhaps, says so to the leader and stays a spare.

#include <errno.h>
#include <fcntl.h>

#include "daemon-log.h"
#include "daemon.h"
#include "fileio.h"
#include "log.h"
#include "mesh.h"
#include "message.h"
#include "paths.h"
#include "state-dir.h"

static void answer_store_open(Daemon *d, uint32_t raft_id, const char *error) {
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__StoreOpened opened = ARGOSY__TO_VOTER__STORE_OPENED__INIT;

        opened.raft_id = raft_id;
        opened.error = (char *) error;
        message.msg_case = ARGOSY__TO_VOTER__MSG_STORE_OPENED;
        message.store_opened = &opened;
        (void) mesh_to_leader(d->mesh, &message); // lost with the link: the leader asks again
}

static int save_raft_id(Daemon *d, uint32_t raft_id) {
        Argosy__PeersFile peers = *d->peers;

        peers.raft_id = raft_id;
        return state_dir_save_peers(d->paths->state_dir, &peers);
}

// Makes the disk ready for a log: the CA key, and nothing of an older log.
static int prepare_log(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        int r = 0;

        if (d->peers->raft_id > 0) // of that one not even the vote is left soon
                r = save_raft_id(d, 0);
        if (r >= 0)
                r = identity_install_ca_key(&d->identity, message->ca_key.data, message->ca_key.len);
        if (r >= 0)
                r = identity_save(d->paths->state_dir, &d->identity);
        return r < 0 ? r : dir_empty(AT_FDCWD, d->log_dir);
}

// What only a voter has.
static void clear_log(Daemon *d) {
        int r = dir_empty(AT_FDCWD, d->log_dir);

        buf_done(&d->identity.ca_key);
        if (r >= 0)
                r = identity_save(d->paths->state_dir, &d->identity);
        if (r < 0)
                log_error("Cannot clear the log under %s: %s", d->paths->state_dir, strerror(-r));
}

void daemon_log_tidy(Daemon *d) {
        if (d->peers->raft_id == 0 && (d->identity.ca_key.len > 0 || store_exists(d->log_dir)))
                clear_log(d);
}

static int become_voter(Daemon *d, const Argosy__ToHost__StoreOpen *message, char **ret_why) {
        int r = prepare_log(d, message);

        d->peers->raft_id = 0;
        if (r < 0)
                return r;
        d->peers->raft_id = message->raft_id;
        d->peers->generation = MAX_OF(d->peers->generation, message->generation);
        mesh_set_generation(d->mesh, d->peers->generation);
        r = daemon_log_open(d, false, ret_why);
        if (r >= 0)
                r = save_raft_id(d, message->raft_id);
        if (r < 0)
                d->peers->raft_id = 0; // as it is on the disk
        return r;
}

static void on_closed_for_reopen(Daemon *d);

static void open_for(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        _cleanup_free_ char *why = NULL;
        int r = become_voter(d, message, &why);

        if (r >= 0) {
                log_notice("This host is becoming a voter (raft id %u).", message->raft_id);
                answer_store_open(d, message->raft_id, "");
                return;
        }
        log_error("Cannot become a voter: %s", why ?: strerror(-r));
        answer_store_open(d, message->raft_id, why ?: strerror(-r));
        mesh_set_raft_id(d->mesh, 0);
        buf_done(&d->identity.ca_key);
        (void) identity_save(d->paths->state_dir, &d->identity); // a full disk has not taken the key either
        if (d->state) // what was begun of it
                daemon_log_close(d, on_closed_for_reopen);
}

static void on_closed_for_reopen(Daemon *d) {
        Argosy__ToHost *waiting = TAKE_PTR(d->store_open_waiting);

        if (!waiting)
                return;
        open_for(d, waiting->store_open);
        argosy__to_host__free_unpacked(waiting, NULL);
}

void daemon_log_on_store_open(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        Argosy__ToHost whole = ARGOSY__TO_HOST__INIT;

        if (d->store && !d->store_closing && d->peers->raft_id == message->raft_id) {
                answer_store_open(d, message->raft_id, ""); // asked again: the first answer was lost
                return;
        }
        if (!d->store && !d->store_closing) {
                open_for(d, message);
                return;
        }
        if (d->store_open_waiting)
                argosy__to_host__free_unpacked(d->store_open_waiting, NULL);
        whole.msg_case = ARGOSY__TO_HOST__MSG_STORE_OPEN;
        whole.store_open = (Argosy__ToHost__StoreOpen *) message;
        d->store_open_waiting = message_copy(&whole);
        if (!d->store_closing)
                daemon_log_close(d, on_closed_for_reopen);
}

// Hosts talk to voters only, and who is no voter any more is not told who was removed since.
static bool is_nobody(uint32_t host, const Hash *pin, void *userdata) {
        return false;
}

static void on_closed_for_good(Daemon *d) {
        Argosy__PeersFile peers = *d->peers;
        int r;

        if (d->store_open_waiting) { // asked back meanwhile
                on_closed_for_reopen(d);
                return;
        }
        peers.raft_id = peers.feature_level = 0;
        r = state_dir_save_peers(d->paths->state_dir, &peers);
        if (r >= 0) {
                d->peers->raft_id = d->peers->feature_level = 0;
                clear_log(d);
        } else
                log_error("Cannot write %s/peers: %s", d->paths->state_dir, strerror(-r));
        mesh_set_raft_id(d->mesh, 0);
        mesh_recheck(d->mesh, is_nobody, d);
        log_notice("This host is no longer a voter.");
        daemon_status(d);
}

void daemon_log_on_store_close(Daemon *d, uint32_t raft_id) {
        if (!d->store || d->store_closing || d->peers->raft_id != raft_id)
                return; // an older order, or obeyed already
        daemon_log_close(d, on_closed_for_good);
}
