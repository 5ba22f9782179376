// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Proofs of a join token (join-token.h): HMAC-SHA256 of the kind's words, the TLS channel and the bytes
// sent. join_proof_make() on one side -> join_proof_holds() on the other, in constant time. Each kind begins
// with words of its own, so no proof stands for another. Failures: -EINVAL (channel), -ENOMEM.

#include <errno.h>
#include <gnutls/crypto.h>

#include "buf.h"
#include "join-token.h"

static const char *const words[] = {
        [JOIN_BY_MEMBER] = "argosy join: by a member",
        [JOIN_BY_HOST] = "argosy join: by a host",
        [JOIN_ANSWER] = "argosy join: the answer",
};

Hash join_secret_hash(const JoinToken *t) {
        return hash_of(t->secret, sizeof(t->secret));
}

int join_proof_make(const Hash *secret_hash, JoinProof kind, const void *channel, size_t channel_len,
                    const void *bytes, size_t len, Hash *ret) {
        _cleanup_buf_ Buf text = {};

        if (channel_len != JOIN_CHANNEL_SIZE)
                return -EINVAL;
        if (buf_append(&text, words[kind], strlen(words[kind]) + 1) < 0 ||
            buf_append(&text, channel, channel_len) < 0 || buf_append(&text, bytes, len) < 0 ||
            gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret_hash->bytes, HASH_SIZE, text.data, text.len,
                             ret->bytes) < 0)
                return -ENOMEM;
        return 0;
}

bool join_proof_holds(const Hash *secret_hash, JoinProof kind, const void *channel, size_t channel_len,
                      const void *bytes, size_t len, const void *proof, size_t proof_len) {
        Hash right;

        return proof_len == HASH_SIZE &&
               join_proof_make(secret_hash, kind, channel, channel_len, bytes, len, &right) == 0 &&
               gnutls_memcmp(right.bytes, proof, HASH_SIZE) == 0;
}
