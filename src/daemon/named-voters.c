// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Voters as others name them, to who may speak as a voter to our log:
//
//      named, with a raft id that our log does not know yet -> kept until the log has come to that
//
// A voter that was cut off while others were replaced knows neither its leader's key nor a candidate's. Raft
// has it listen to both, whatever its own configuration says; but a key is a voter's only by somebody's
// word. Whom we dial is a voter by our log or our peers file, or was named by such a one, and has shown that
// key. So nobody lets others in who could not speak to our log himself. What the log says counts more than
// any word: it knows all raft ids up to its last one, whose they are and which are retired.
//
// A list that there is no memory for is left out, with what was named before: it is named again.
#include "named-voters.h"

#include <string.h>

#include "cluster-state.h"
#include "daemon.h"
#include "macro.h"
#include "mesh-peer.h"
#include "message.h"
#include "store.h"

enum { NAMED_MAX = 2 * STORE_MEMBERS_MAX };

static bool is_news(const Daemon *d, const Argosy__Voter *v) {
        return v->raft_id >= cluster_state_next_raft_id(d->state);
}

// A host votes with the last raft id that it was given. Of two words of one what is added first counts.
static size_t add_news(const Daemon *d, Argosy__Voter *const *voters, size_t n, Argosy__Voter **to,
                       size_t n_to) {
        MeshPeer peer;

        for (size_t i = 0; i < n; i++) {
                size_t at = 0;

                if (!is_news(d, voters[i]) || !mesh_peer_from_voter(voters[i], &peer))
                        continue;
                while (at < n_to && to[at]->host != voters[i]->host)
                        at++;
                if (at < n_to && to[at]->raft_id >= voters[i]->raft_id)
                        continue;
                if (at == NAMED_MAX)
                        break;
                to[at] = voters[i];
                n_to = MAX_OF(n_to, at + 1);
        }
        return n_to;
}

void named_voters_add(Daemon *d, Argosy__Voter *const *voters, size_t n) {
        Argosy__Voter *news[NAMED_MAX];
        Argosy__ToHost__Leader named = ARGOSY__TO_HOST__LEADER__INIT, *before = d->voters_named;

        if (!d->state)
                return;
        named.voters = news;
        named.n_voters = add_news(d, voters, n, news, 0);
        if (before)
                named.n_voters = add_news(d, before->voters, before->n_voters, news, named.n_voters);
        d->voters_named = named.n_voters > 0 ? message_copy(&named) : NULL;
        message_free(before);
}

const Argosy__Voter *named_voters_find_raft_id(const Daemon *d, uint32_t raft_id) {
        const Argosy__ToHost__Leader *named = d->state ? d->voters_named : NULL;

        for (size_t i = 0; named && i < named->n_voters; i++)
                if (named->voters[i]->raft_id == raft_id && is_news(d, named->voters[i]))
                        return named->voters[i];
        return NULL;
}

const Argosy__Voter *named_voters_find_pin(const Daemon *d, const Hash *pin) {
        const Argosy__ToHost__Leader *named = d->state ? d->voters_named : NULL;

        for (size_t i = 0; named && i < named->n_voters; i++)
                if (memcmp(named->voters[i]->key_pin.data, pin->bytes, HASH_SIZE) == 0 &&
                    is_news(d, named->voters[i]))
                        return named->voters[i];
        return NULL;
}

void named_voters_forget(Daemon *d) {
        message_free(TAKE_PTR(d->voters_named));
}
