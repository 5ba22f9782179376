// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The quorum is lost for good: this host's copy of the log becomes the cluster. The log's configuration is
// rewritten to this one server and the generation in the peers file is raised, both at once (recovery.h); at
// the next start the host leads alone, writes the new generation into the log, with revisions that no lost
// entry can have given, and makes the others voters again as they come back. Their agents obey nothing of
// the old generation any more.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "feature-level.h"
#include "message-of.h"
#include "message.h"
#include "recovery.h"
#include "run.h"
#include "state-dir.h"
#include "store.h"
#include "str.h"

static void free_peers(Argosy__PeersFile **peers) {
        argosy__peers_file__free_unpacked(*peers, NULL);
}

static int load(const char *dir, Identity *ret_identity, Argosy__PeersFile **ret, char **ret_why) {
        int r = state_dir_settle(dir, ret_why);

        if (r >= 0)
                r = recovery_settle(dir, ret_why);
        if (r >= 0)
                r = state_dir_load(dir, ret_identity, ret, ret_why);
        if (r < 0) {
                char *why = str_printf("cannot recover: %s", *ret_why ?: strerror(-r));

                free(*ret_why);
                *ret_why = why;
        }
        return r;
}

// Where it is its log says.
static int add_itself(Argosy__PeersFile *peers, const Hash *pin) {
        Argosy__Voter self = MESSAGE_OF(voter, .host = peers->host, .raft_id = peers->raft_id,
                                        .key_pin = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) pin->bytes});

        if (ARRAY_RESERVE(peers->voters, 1) < 0)
                return -ENOMEM;
        peers->voters[0] = message_copy(&self);
        peers->n_voters = peers->voters[0] != NULL;
        return peers->voters[0] ? 0 : -ENOMEM;
}

// Only itself until the log says more. Who was becoming a voter, or was to vote no more, may not be among
// those that were named.
static int leave_only_itself(Argosy__PeersFile *peers, const Hash *pin) {
        size_t n = 0;

        for (size_t i = 0; i < peers->n_voters; i++)
                if (peers->voters[i]->host == peers->host && n == 0)
                        peers->voters[n++] = peers->voters[i];
                else
                        argosy__voter__free_unpacked(peers->voters[i], NULL);
        peers->n_voters = n;
        return n > 0 ? 0 : add_itself(peers, pin);
}

static int recover(const char *dir, const char *log_dir, const Hash *pin, Argosy__PeersFile *peers,
                   char **ret_said) {
        _cleanup_free_ char *why = NULL;
        int r;

        if (peers->raft_id == 0) {
                *ret_said = strdup(
                        "this host is not a voter and holds no copy of the log; recover on one that was");
                return -ENODATA;
        }
        if (peers->feature_level > FEATURE_LEVEL) {
                *ret_said = str_printf(
                        "this argosyd is too old for the log in %s: install the newer one again", log_dir);
                return -EPROTONOSUPPORT;
        }
        peers->generation++;
        r = leave_only_itself(peers, pin);
        if (r >= 0)
                r = recovery_commit(dir, peers, &why);
        if (r < 0) {
                *ret_said = str_printf(
                        "cannot recover %s: %s; nothing was changed", log_dir,
                        why
                                ?: r == -EXDEV ? "it must lie on the file system of the directory above it"
                                               : strerror(-r));
                return r;
        }
        r = recovery_settle(dir, &why);
        *ret_said =
                r < 0 ? str_printf("%s; it will be tried again when argosyd is started", why ?: strerror(-r))
                      : str_printf(
                                "This host is the only voter now, cluster generation %" PRIu64
                                ". Start argosyd; the other hosts become spares and voters again by "
                                "themselves. "
                                "What other voters had acknowledged and this host had not received is lost.",
                                peers->generation);
        return r;
}

int recover_here(const RunOptions *options, char **ret_said) {
        _cleanup_(free_peers) Argosy__PeersFile *peers = NULL;
        _cleanup_(identity_done) Identity identity = {};
        const char *dir = options->paths.state_dir;
        _cleanup_free_ char *log_dir = str_printf("%s/log", dir);
        int r;

        *ret_said = NULL;
        if (!log_dir)
                return -ENOMEM;
        r = state_dir_lock(dir);
        if (r < 0) {
                *ret_said =
                        r == -EBUSY
                                ? strdup("argosyd is running; stop argosyd.socket and argosyd.service first")
                                : str_printf("cannot lock %s: %s", dir, strerror(-r));
                return r;
        }
        r = load(dir, &identity, &peers, ret_said);
        return r < 0 ? r : recover(dir, log_dir, &identity.pin, peers, ret_said);
}

int recover_run(const RunOptions *options) {
        _cleanup_free_ char *said = NULL;
        int r = recover_here(options, &said);

        if (r < 0)
                fprintf(stderr, "argosyd: %s\n", said ?: strerror(-r));
        else
                puts(said ?: "");
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
