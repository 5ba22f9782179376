// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Becoming a voter, and no longer being one, as the leader says:
//
//   StoreOpen    -> [close the log under another raft id] -> the pool: forget that id, keep the voters'
//                secrets, empty the log's
//                   directory, make the log, note the raft id -> open the log -> StoreOpened
//   StoreClose   -> close the log -> the pool: forget the raft id, empty the log's directory, forget the
//                secrets
//
// A raft id in the peers file promises a log: a daemon that finds the one without the other does not start.
// So the id is the last that is written of a log, and the first that goes: killed in between, this host is a
// spare again, and is asked anew. And a log is opened when all of that is on the disk: what it acknowledges
// to others is not forgotten.
//
// The disk may be slow, so the pool does it, in the queue of whatever else is written of the same files
// (state-writer.h). `d->peers->raft_id` is what the file says, and changes when the pool is done. One after
// the other: what the leader says meanwhile waits for the end of that, and of two orders the newer counts.
// When the daemon ends, what is under way is finished on the disk and nothing follows from it: the next
// start finds a voter, or a spare and clears the rest away.
//
// A host that cannot have a log, since its disk is full perhaps, clears away what there is of one, says so
// to the leader and stays a spare. If that fails as well, it says in the journal what is left, secrets
// perhaps, and tries again each day; the next order begins with that anyhow.

#include <errno.h>
#include <fcntl.h>

#include "daemon-ca.h"
#include "daemon-log.h"
#include "daemon-voters.h"
#include "daemon.h"
#include "fileio.h"
#include "log.h"
#include "mesh.h"
#include "message-of.h"
#include "message.h"
#include "oom.h"
#include "paths.h"
#include "state-dir.h"
#include "str.h"

struct VoterJob { // handed over to the pool, and back
        WorkItem item;
        Daemon *daemon; // the loop's
        uint32_t raft_id; // of the log that is made; 0: what there is of one goes
        uint64_t generation;
        bool was_voter; // it goes because the leader says so
        const char *state_dir;
        char *log_dir;
        VoterSecrets secrets;
        Argosy__PeersFile *peers;
        bool numbered;  // the peers file has a raft id, or may have one
        bool forgotten; // that is not the one that it had before
        int error;
        int clear_error; // after that: something is left
        char *why; // malloc'd, may be NULL
};

static void answer_store_open(Daemon *d, uint32_t raft_id, const char *error) {
        Argosy__ToVoter__StoreOpened opened =
                MESSAGE_OF(to_voter__store_opened, .raft_id = raft_id, .error = (char *) error);
        Argosy__ToVoter message = TO_VOTER_OF(STORE_OPENED, store_opened, &opened);

        (void) mesh_to_leader(d->mesh, &message); // lost with the link: the leader asks again
}

static void refuse(Daemon *d, uint32_t raft_id, const char *why) {
        log_error("Cannot become a voter: %s", why);
        answer_store_open(d, raft_id, why);
}

// ---- on the disk: by a worker, or before the loop runs

static int forget_raft_id(VoterJob *j) {
        int r;

        j->peers->raft_id = j->peers->feature_level = 0;
        r = state_dir_save_peers(j->state_dir, j->peers);
        if (r >= 0) {
                j->numbered = false;
                j->forgotten = true;
        }
        return r;
}

// What only a voter has.
static int clear_log(VoterJob *j) {
        int r = j->numbered ? forget_raft_id(j) : 0, s;

        if (r < 0)
                return r; // it is a voter's still
        voter_secrets_done(&j->secrets);
        r = dir_empty(AT_FDCWD, j->log_dir);
        s = voter_secrets_save(j->state_dir, &j->secrets);
        return r < 0 ? r : s;
}

static int make_log(VoterJob *j) {
        int r = j->numbered ? forget_raft_id(j) : 0; // of that log not even the vote is left soon

        if (r >= 0)
                r = voter_secrets_save(j->state_dir, &j->secrets);
        if (r >= 0)
                r = dir_empty(AT_FDCWD, j->log_dir);
        if (r >= 0)
                r = store_make(j->log_dir, j->raft_id, &j->why);
        if (r < 0)
                return r;
        j->peers->raft_id = j->raft_id;
        j->peers->generation = MAX_OF(j->peers->generation, j->generation);
        j->numbered = true;
        return state_dir_save_peers(j->state_dir, j->peers);
}

static void run_job(WorkItem *item) {
        VoterJob *j = CONTAINER_OF(item, VoterJob, item);

        j->error = j->raft_id ? make_log(j) : clear_log(j);
        if (!j->raft_id)
                j->clear_error = j->error;
        else if (j->error < 0)
                j->clear_error = clear_log(j);
}

// error 0: nothing is.
static void note_left(Daemon *d, int error) {
        d->log_untidy = error < 0;
        if (error < 0)
                log_error("This host does not vote, but the log or the secrets of a voter are still under "
                          "%s: %s. It will be "
                          "tried again.",
                          d->paths->state_dir, strerror(-error));
}

void daemon_log_tidy(Daemon *d) {
        VoterJob j = {
                .state_dir = d->paths->state_dir,
                .log_dir = d->log_dir,
                .secrets = d->secrets,
                .peers = d->peers,
        };
        int r;

        if (d->peers->raft_id > 0 || (d->secrets.n == 0 && !store_exists(d->log_dir)))
                return;
        r = clear_log(&j);
        d->secrets = j.secrets;
        note_left(d, r);
}

// ---- its way to the disk and back

static void job_free(VoterJob *j) {
        voter_secrets_done(&j->secrets);
        message_free(j->peers);
        free(j->log_dir);
        free(j->why);
        free(j);
}

// Files and memory are the same until it is done: nothing else changes them in between.
static bool begin_job(WorkItem *item) {
        VoterJob *j = CONTAINER_OF(item, VoterJob, item);
        Daemon *d = j->daemon;

        if (d->end != DAEMON_RUNNING) {
                d->voter_job = NULL;
                job_free(j);
                return false;
        }
        (void) oom_check(voter_secrets_copy(&d->secrets, &j->secrets));
        j->peers = oom_checked(message_copy(d->peers));
        j->numbered = d->peers->raft_id > 0 || d->raft_id_unsure;
        j->forgotten = d->peers->raft_id == 0;
        return true;
}

static void on_job_done(WorkItem *item);

static VoterJob *job_new(Daemon *d) {
        VoterJob *j = oom_checked(calloc(1, sizeof(*j)));

        *j = (VoterJob){
                .item = {.begin = begin_job, .run = run_job, .done = on_job_done},
                .daemon = d,
                .state_dir = d->paths->state_dir,
                .log_dir = oom_checked(strdup(d->log_dir)),
        };
        d->voter_job = j;
        return j;
}

static void begin_to_clear(Daemon *d, bool was_voter) {
        VoterJob *j = job_new(d);

        j->was_voter = was_voter;
        work_queue_add(&d->writer.queue, &j->item);
}

static void begin_to_make(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        VoterJob *j = job_new(d);

        j->raft_id = message->raft_id;
        j->generation = message->generation;
        work_queue_add(&d->writer.queue, &j->item);
}

// ---- what follows from it

static void obey_waiting(Daemon *d);

static void on_closed(Daemon *d) {
        obey_waiting(d); // asked back meanwhile
        if (!d->voter_job)
                begin_to_clear(d, true);
}

static void on_closed_in_vain(Daemon *d) {
        obey_waiting(d);
        if (!d->voter_job)
                begin_to_clear(d, false);
}

static void on_made(Daemon *d, const VoterJob *j) {
        _cleanup_free_ char *why = NULL;
        int r;

        d->peers->raft_id = j->raft_id;
        d->peers->generation = MAX_OF(d->peers->generation, j->generation);
        mesh_set_generation(d->mesh, d->peers->generation);
        r = daemon_log_open(d, false, &why);
        if (r >= 0) {
                log_notice("This host is becoming a voter (raft id %u).", j->raft_id);
                answer_store_open(d, j->raft_id, "");
                return;
        }
        refuse(d, j->raft_id, why ?: strerror(-r));
        mesh_set_raft_id(d->mesh, 0);
        daemon_log_close(d, on_closed_in_vain); // what was begun of it
}

// Without a raft id in the peers file this host is a spare, whatever else failed. Where it may have one,
// nobody knows which: not the one whose log is gone.
static void note_spare(Daemon *d, const VoterJob *j) {
        if (j->forgotten)
                d->peers->raft_id = d->peers->feature_level = 0;
        if (!j->numbered)
                voter_secrets_done(&d->secrets);
}

// Hosts talk to voters only, and who is no voter any more is not told who was removed since.
static bool is_nobody(uint32_t host, const Hash *pin, void *userdata) {
        return false;
}

static void on_cleared(Daemon *d, const VoterJob *j) {
        mesh_set_raft_id(d->mesh, 0);
        daemon_ca_update(d);
        daemon_voters_on_log_gone(d);
        if (!j->was_voter)
                return;
        mesh_recheck(d->mesh, is_nobody, d);
        if (j->error >= 0)
                log_notice("This host is no longer a voter.");
        daemon_status(d);
}

static void on_done(Daemon *d, const VoterJob *j) {
        bool made = j->raft_id && j->error >= 0;

        if (!made)
                note_spare(d, j);
        d->raft_id_unsure = !made && j->numbered;
        note_left(d, j->clear_error);
        if (d->end != DAEMON_RUNNING)
                return; // the next start begins with what is on the disk
        if (made)
                on_made(d, j);
        else if (!j->raft_id)
                on_cleared(d, j);
        else {
                refuse(d, j->raft_id, j->why ?: strerror(-j->error));
                mesh_set_raft_id(d->mesh, 0); // of a log that was closed for it
        }
}

static void on_job_done(WorkItem *item) {
        VoterJob *j = CONTAINER_OF(item, VoterJob, item);
        Daemon *d = j->daemon;

        d->voter_job = NULL;
        on_done(d, j);
        job_free(j);
        obey_waiting(d);
}

// ---- what the leader says

static bool is_busy(const Daemon *d) {
        return d->voter_job || d->store_closing;
}

static void wait_with(Daemon *d, const Argosy__ToHost *order) {
        message_free(d->voter_order);
        d->voter_order = oom_checked(message_copy(order));
}

static void wait_with_open(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        Argosy__ToHost order = TO_HOST_OF(STORE_OPEN, store_open, (Argosy__ToHost__StoreOpen *) message);

        wait_with(d, &order);
}

static void wait_with_close(Daemon *d, uint32_t raft_id) {
        Argosy__ToHost__StoreClose close = MESSAGE_OF(to_host__store_close, .raft_id = raft_id);
        Argosy__ToHost order = TO_HOST_OF(STORE_CLOSE, store_close, &close);

        wait_with(d, &order);
}

static void obey_open(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        bool changed;
        int r;

        if (d->store && d->peers->raft_id == message->raft_id) {
                answer_store_open(d, message->raft_id, ""); // asked again: the first answer was lost
                return;
        }
        r = voter_secrets_put_all(&d->secrets, message->secrets, message->n_secrets, &changed);
        if (r < 0)
                refuse(d, message->raft_id, strerror(-r));
        else if (d->store) {
                wait_with_open(d, message);
                daemon_log_close(d, on_closed);
        } else
                begin_to_make(d, message);
}

static void obey_close(Daemon *d, uint32_t raft_id) {
        if (d->store && d->peers->raft_id == raft_id) // else an older order, or obeyed already
                daemon_log_close(d, on_closed);
}

static void obey_waiting(Daemon *d) {
        Argosy__ToHost *order;

        if (is_busy(d) || d->end != DAEMON_RUNNING)
                return;
        order = TAKE_PTR(d->voter_order);
        if (!order)
                return;
        if (order->msg_case == ARGOSY__TO_HOST__MSG_STORE_OPEN)
                obey_open(d, order->store_open);
        else
                obey_close(d, order->store_close->raft_id);
        message_free(order);
}

void daemon_log_on_store_open(Daemon *d, const Argosy__ToHost__StoreOpen *message) {
        if (is_busy(d))
                wait_with_open(d, message);
        else
                obey_open(d, message);
}

void daemon_log_tidy_again(Daemon *d) {
        if (d->log_untidy && !d->store && !is_busy(d) && d->end == DAEMON_RUNNING)
                begin_to_clear(d, false);
}

// The number of the log that waits to be opened, or is being made. 0: none.
static uint32_t coming_raft_id(const Daemon *d) {
        if (d->voter_order && d->voter_order->msg_case == ARGOSY__TO_HOST__MSG_STORE_OPEN)
                return d->voter_order->store_open->raft_id;
        return d->voter_job ? d->voter_job->raft_id : 0;
}

void daemon_log_on_store_close(Daemon *d, uint32_t raft_id) {
        if (!is_busy(d))
                obey_close(d, raft_id);
        else if (raft_id > 0 && coming_raft_id(d) == raft_id)
                wait_with_close(d, raft_id);
}
