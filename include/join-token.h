// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Join tokens, and how both ends of a connection show each other that they know one without saying it.
//
//   joiner   JoinRequest: the token's id                          who serves has the CA's certificate, as a
//                                                                 removed host has
//   member   JoinReply:   JOIN_BY_MEMBER                          it is a member today, for it can ask the
//                                                                 leader
//   joiner   JoinRequest: the body, and JOIN_BY_HOST of it        who asks has the token
//   member   JoinReply:   the answer, and JOIN_ANSWER of it       what is installed is what the leader
//                                                                 answered
//
// A proof is an HMAC of these bytes with the hash of the secret, which is what the cluster keeps, over a
// secret of this one TLS connection (stream_channel()). So it is worth nothing on another connection, and an
// attacker between two of them has none.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

enum { JOIN_CHANNEL_SIZE = 32 };

// Join tokens: "argosy1.<sha256 of the CA certificate, 64 hex>.<id, 8 hex>.<secret, 32 hex>".
typedef struct JoinToken {
        Hash ca_hash;
        char id[9];
        uint8_t secret[16];
} JoinToken;

void join_token_new(const void *ca_cert, size_t len, JoinToken *ret);
// malloc'd; NULL: out of memory.
char *join_token_format(const JoinToken *t);
// Blanks around it are forgiven. -EINVAL and *ret_why (static).
int join_token_parse(const char *text, JoinToken *ret, const char **ret_why);

typedef enum JoinProof {
        JOIN_BY_MEMBER, // of no bytes
        JOIN_BY_HOST,   // of JoinRequest.body
        JOIN_ANSWER,    // of JoinReply.answer
} JoinProof;

// What the cluster keeps of a token's secret, and what proofs are made with.
Hash join_secret_hash(const JoinToken *t);
// 0, -EINVAL (`channel_len` is not JOIN_CHANNEL_SIZE) or -ENOMEM.
int join_proof_make(const Hash *secret_hash, JoinProof kind, const void *channel, size_t channel_len,
                    const void *bytes, size_t len, Hash *ret);
// False also if that cannot be found out.
bool join_proof_holds(const Hash *secret_hash, JoinProof kind, const void *channel, size_t channel_len,
                      const void *bytes, size_t len, const void *proof, size_t proof_len);
