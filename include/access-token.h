// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Tokens by which programs are let in: who shows one may do what was given with it, from whatever host.
//
//      the text       "argosy_" and 43 characters of base64url: 32 random bytes. Only its author has it;
//                     argosy keeps no copy
//      the proof      SHA-256 of the text, which a host sends of the client that showed it
//                     (Author.token_proof), or of the certificate (DER) of a client of fleet's API, whose
//                     key only the client has
//      the hash       SHA-256 of the proof: what the log has (AccessTokenRecord.hash), which is no access
//      the id         8 hex digits, the beginning of the hash: by which people may name it
//
// Pure: rules of records and texts. Whether a right is enough for somebody is said by access.h, for tokens,
// too.

#include <stdbool.h>
#include <stddef.h>

#include "access.h"
#include "hash.h"

#define ACCESS_TOKEN_PREFIX "argosy_"
#define ACCESS_TOKEN_UNKNOWN "-" // Author.token of one whose token is not in the log

enum {
        ACCESS_TOKEN_SECRET_SIZE = 32, // random bytes
        ACCESS_TOKEN_SECRET_LEN = 43, // characters of base64url
        ACCESS_TOKEN_TEXT_LEN = 7 + ACCESS_TOKEN_SECRET_LEN,
        ACCESS_TOKEN_ID_LEN = 8,
        ACCESS_TOKEN_NAME_MAX =
                240, // bytes, of 64 characters: "token:NAME" stands where users have their names
        ACCESS_TOKEN_TTL_SEC = 90 * 24 * 3600, // unless somebody says otherwise
        ACCESS_TOKEN_TTL_MAX_SEC = 5 * 365 * 24 * 3600,
        ACCESS_TOKEN_WHY_SIZE = 160,
};

// ---- texts

// base64url (RFC 4648, 5) without what fills the end: the secret alone.
void access_token_secret_text(const uint8_t secret[ACCESS_TOKEN_SECRET_SIZE],
                              char ret[ACCESS_TOKEN_SECRET_LEN + 1]);
// Whether it looks like one.
bool access_token_is_secret(const char *text, size_t len);
void access_token_text(const uint8_t secret[ACCESS_TOKEN_SECRET_SIZE], char ret[ACCESS_TOKEN_TEXT_LEN + 1]);
// False: no token looks like that, and *ret is untouched.
bool access_token_proof(const char *text, Hash *ret);
// The proof of a client's certificate, in DER: it stands where the text of a token stands, and is never
// mistaken for one.
Hash access_token_certificate_proof(const void *der, size_t len);
Hash access_token_hash(const Hash *proof);
void access_token_id(const Hash *hash, char ret[ACCESS_TOKEN_ID_LEN + 1]);
// 1 to 64 characters of plain text, as a key of a job, that cannot be mistaken for an id.
bool access_token_name_is_valid(const char *name);

// ---- records

typedef enum AccessTokenState {
        ACCESS_TOKEN_ACTIVE,
        ACCESS_TOKEN_EXPIRED,
        ACCESS_TOKEN_REVOKED
} AccessTokenState;

AccessTokenState access_token_state(const Argosy__AccessTokenRecord *token, AccessTime now);
const char *access_token_state_to_string(AccessTokenState state); // "active", "expired", "revoked"
// Since when it lets nobody in, or will, by counted time alone (cluster_state_counted_us()).
uint64_t access_token_end_counted_us(const Argosy__AccessTokenRecord *token);

// How long an active one will be that, if no clock is set.
uint64_t access_token_left_us(const Argosy__AccessTokenRecord *token, AccessTime now);

// The record of this id, active or not; NULL: none.
const Argosy__AccessTokenRecord *access_token_find(AccessList list, const char *id);
// The record of an id, or of the name of an active token. NULL: there is none.
const Argosy__AccessTokenRecord *access_token_resolve(AccessList list, const char *word);
// The record of the author's token, active or not; NULL: the author has no token, or the list has no record
// of it.
const Argosy__AccessTokenRecord *access_token_of(AccessList list, const Argosy__Author *author);

// ---- who shows one

// The author as the leader has it: with the token's id if the proof was found in the list. It borrows from
// `shown`, which has a proof, and from the list and `user`, and keeps nothing of the proof.
Argosy__Author access_token_author(AccessList list, const Argosy__Author *shown,
                                   char user[ACCESS_TOKEN_NAME_MAX + 16]);
// 0, or why the author's token is not accepted: EKEYREJECTED, EKEYEXPIRED or EKEYREVOKED, and a sentence.
int access_token_error(AccessList list, const Argosy__Author *author, char why[ACCESS_TOKEN_WHY_SIZE]);
