// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The secrets of this host, where it is a voter:
//
//   ToHost.VoterSecrets -> the pool writes the file -> memory -> ToVoter.VoterSecretsKept
//
// The leader hears of what is on the disk and of nothing else: after each file that was written, and with
// each attach, so that a file which somebody has removed is handed over anew. A file that cannot be written
// is no answer, but for the journal; the leader tells it again with the next attach. What the log names no
// more goes when this host has applied that.
//
// It also hears whether the log's snapshot on the disk is one whose secrets are all sealed with the same
// key, which is when voters can do without the keys before that one.
//
// How secrets come with a log and go with it is in daemon-log-voter.c, and both write in one queue
// (state-writer.h).

#include "daemon-secrets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster-state.h"
#include "daemon.h"
#include "log.h"
#include "mesh.h"
#include "message-of.h"
#include "oom.h"
#include "paths.h"

typedef struct SecretsJob {
        WorkItem item;
        Daemon *daemon;
        VoterSecrets more;  // to be added; none: what is old goes
        VoterSecrets after; // what the file is to have
        const char *state_dir;
        int error;
} SecretsJob;

static bool is_voter(const Daemon *d) {
        return d->store && !d->store_closing && !d->voter_job && d->peers->raft_id > 0;
}

void daemon_secrets_report(Daemon *d) {
        Argosy__ToVoter__VoterSecretsKept kept = ARGOSY__TO_VOTER__VOTER_SECRETS_KEPT__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(VOTER_SECRETS_KEPT, voter_secrets_kept, &kept);
        Argosy__ToVoter__VoterSecretsKept__Kept rows[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];

        if (!is_voter(d))
                return;
        for (size_t i = 0; i < d->secrets.n; i++) {
                VoterSecret *s = &d->secrets.list[i];

                rows[i] = (Argosy__ToVoter__VoterSecretsKept__Kept) MESSAGE_OF(
                        to_voter__voter_secrets_kept__kept, .name = s->name, .number = s->number,
                        .fingerprint = (ProtobufCBinaryData){HASH_SIZE, s->fingerprint.bytes});
                pointers[i] = &rows[i];
        }
        kept.raft_id = d->peers->raft_id;
        kept.secrets = pointers;
        kept.n_secrets = d->secrets.n;
        kept.compacted = d->compacted;
        (void) mesh_to_leader(d->mesh, &message); // lost with the link: said again with the next attach
}

uint32_t daemon_secrets_only_key(const Daemon *d) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(d->state);
        const Argosy__SecretsKeyRecord *key = cluster ? cluster->secrets_key : NULL;

        if (!key || (key->phase != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT &&
                     key->phase != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED))
                return 0;
        return key->number;
}

void daemon_secrets_on_compacted(Daemon *d, uint32_t key) {
        if (d->compacted == key)
                return;
        d->compacted = key;
        daemon_secrets_report(d);
}

static void job_free(SecretsJob *j) {
        voter_secrets_done(&j->more);
        voter_secrets_done(&j->after);
        free(j);
}

static int put_all(VoterSecrets *to, const VoterSecrets *from) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < from->n; i++)
                r = voter_secrets_put(to, from->list[i].name, from->list[i].number, from->list[i].value.data,
                                      from->list[i].value.len);
        return r;
}

static bool drop_old(const Daemon *d, VoterSecrets *s) {
        const Argosy__ClusterRecord *cluster = d->state ? cluster_state_cluster(d->state) : NULL;

        return cluster && voter_secrets_drop_old(s, cluster->voter_secrets, cluster->n_voter_secrets);
}

// What is told and what is old changes memory when the disk has it.
static bool begin_job(WorkItem *item) {
        SecretsJob *j = CONTAINER_OF(item, SecretsJob, item);
        Daemon *d = j->daemon;
        int r = -ESHUTDOWN;

        if (is_voter(d) && d->end == DAEMON_RUNNING)
                r = oom_check(voter_secrets_copy(&d->secrets, &j->after));
        if (r == 0 && !drop_old(d, &j->after) && j->more.n == 0)
                r = -EALREADY;
        if (r == 0)
                r = oom_check(put_all(&j->after, &j->more));
        if (r == 0)
                return true;
        if (r == -ENOSPC)
                log_error(
                        "The leader hands over more secrets than %d, which is as many as a voter may have.",
                        VOTER_SECRETS_MAX);
        job_free(j);
        return false;
}

static void run_job(WorkItem *item) {
        SecretsJob *j = CONTAINER_OF(item, SecretsJob, item);

        j->error = voter_secrets_save(j->state_dir, &j->after);
}

static void on_job_done(WorkItem *item) {
        SecretsJob *j = CONTAINER_OF(item, SecretsJob, item);
        Daemon *d = j->daemon;

        if (j->error < 0)
                log_error("Cannot write %s/voter-secrets: %s", j->state_dir, strerror(-j->error));
        else {
                voter_secrets_done(&d->secrets);
                d->secrets = j->after;
                j->after = (VoterSecrets){};
        }
        if (d->end == DAEMON_RUNNING)
                daemon_secrets_report(d); // of what it has not the leader tells it again
        job_free(j);
}

static SecretsJob *job_new(Daemon *d) {
        SecretsJob *j = oom_checked(calloc(1, sizeof(*j)));

        j->item = (WorkItem){.begin = begin_job, .run = run_job, .done = on_job_done};
        j->daemon = d;
        j->state_dir = d->paths->state_dir;
        return j;
}

static bool has_all(const VoterSecrets *s, const VoterSecrets *more) {
        for (size_t i = 0; i < more->n; i++) {
                const SecretBytes *value = voter_secrets_find(s, more->list[i].name, more->list[i].number);

                if (!value || value->len != more->list[i].value.len ||
                    memcmp(value->data, more->list[i].value.data, value->len) != 0)
                        return false;
        }
        return true;
}

void daemon_secrets_on_message(Daemon *d, const Argosy__ToHost__VoterSecrets *message) {
        SecretsJob *j;
        bool changed;
        int r;

        if (!is_voter(d))
                return; // it gets them with its log
        j = job_new(d);
        r = oom_check(voter_secrets_put_all(&j->more, message->secrets, message->n_secrets, &changed));
        if (r == 0 && !has_all(&d->secrets, &j->more)) {
                work_queue_add(&d->writer.queue, &j->item);
                return;
        }
        if (r < 0)
                log_error("The leader hands over a secret that is none: %s", strerror(-r));
        else
                daemon_secrets_report(d);
        job_free(j);
}

void daemon_secrets_drop_old(Daemon *d) {
        _cleanup_(voter_secrets_done) VoterSecrets copy = {};

        if (!is_voter(d))
                return;
        (void) oom_check(voter_secrets_copy(&d->secrets, &copy));
        if (drop_old(d, &copy))
                work_queue_add(&d->writer.queue, &job_new(d)->item);
}
