// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The quorum is lost for good: this host's copy of the log becomes the cluster. The log's configuration is
// rewritten to this one server and the generation in the peers file is raised, both at once (recovery.h); at the
// next start the host leads alone, writes the new generation into the log, with revisions that no lost entry can
// have given, and makes the others voters again as they come back. Their agents obey nothing of the old generation
// any more.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "feature-level.h"
#include "recovery.h"
#include "run.h"
#include "state-dir.h"
#include "store.h"
#include "str.h"

static int fail(const char *format, const char *a, const char *b) {
        fputs("argosyd: ", stderr);
        fprintf(stderr, format, a, b);
        fputc('\n', stderr);
        return EXIT_FAILURE;
}

int recover_run(const RunOptions *options) {
        _cleanup_free_ char *why = NULL, *log_dir = str_printf("%s/log", options->paths.state_dir);
        Argosy__PeersFile *peers = NULL;
        Identity identity = {};
        int r;

        if (!log_dir)
                return EXIT_FAILURE;
        r = state_dir_lock(options->paths.state_dir);
        if (r == -EBUSY)
                return fail("argosyd is running%s%s; stop argosyd.socket and argosyd.service first", "", "");
        if (r < 0)
                return fail("cannot lock %s: %s", options->paths.state_dir, strerror(-r));
        r = state_dir_settle(options->paths.state_dir, &why);
        if (r >= 0)
                r = recovery_settle(options->paths.state_dir, &why);
        if (r >= 0)
                r = state_dir_load(options->paths.state_dir, &identity, &peers, &why);
        if (r < 0)
                return fail("cannot recover: %s%s", why ?: "", why ? "" : strerror(-r));
        if (peers->raft_id == 0)
                return fail(
                        "this host is not a voter and holds no copy of the log; recover on one that was%s%s",
                        "", "");
        if (peers->feature_level > FEATURE_LEVEL)
                return fail("this argosyd is too old for the log in %s%s: install the newer one again", log_dir, "");
        peers->generation++;
        while (peers->n_voters > 1) // only ourselves until the log says more
                for (size_t i = 0; i < peers->n_voters; i++)
                        if (peers->voters[i]->host != peers->host) {
                                argosy__voter__free_unpacked(peers->voters[i], NULL);
                                peers->voters[i] = peers->voters[--peers->n_voters];
                                break;
                        }
        r = recovery_commit(options->paths.state_dir, peers, &why);
        if (r < 0)
                return fail("cannot recover %s: %s; nothing was changed", log_dir,
                            why ?: r == -EXDEV ? "it must lie on the file system of the directory above it" : strerror(-r));
        r = recovery_settle(options->paths.state_dir, &why);
        if (r < 0)
                return fail("%s%s; it will be tried again when argosyd is started", why ?: strerror(-r), "");
        printf("This host is the only voter now, cluster generation %llu. Start argosyd; the other hosts "
               "become spares and voters again by "
               "themselves. What other voters had acknowledged and this host had not received is lost.\n",
               (unsigned long long) peers->generation);
        argosy__peers_file__free_unpacked(peers, NULL);
        identity_done(&identity);
        return EXIT_SUCCESS;
}
