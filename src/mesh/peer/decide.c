// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whom a host talks to: of the voters that say that they lead the one with the newest term, but none that is
// older than what was heard already; when to dial again, with a random half so that not all come at once;
// and whether a voter serves the host that says Hello, with the reason why not.

#include <string.h>

#include "decide.h"

const LeaderClaim *decide_leader(const LeaderClaim *claims, size_t n, uint64_t *newest_term) {
        const LeaderClaim *best = NULL;

        for (size_t i = 0; i < n; i++)
                if (claims[i].leading && claims[i].term >= *newest_term) {
                        best = &claims[i];
                        *newest_term = claims[i].term;
                }
        return best;
}

unsigned decide_redial_ms(unsigned failures, unsigned min_ms, unsigned max_ms, uint32_t random) {
        uint64_t delay = min_ms;

        while (failures-- > 0 && delay < max_ms)
                delay *= 2;
        if (delay > max_ms)
                delay = max_ms;
        return (unsigned) (delay - delay / 2 + (((delay / 2) * random) >> 32));
}

const char *decide_hello(const Argosy__ToVoter__Hello *hello, uint32_t host, const uint8_t cluster_id[16],
                         uint64_t generation) {
        if (hello->host != host)
                return "it says that it is another host than its key belongs to";
        if (hello->cluster_id.len != 16 || memcmp(hello->cluster_id.data, cluster_id, 16) != 0)
                return "it belongs to another cluster";
        if (hello->generation > generation)
                return "the cluster was recovered without this voter: its generation is older than the "
                       "host's";
        return NULL;
}
