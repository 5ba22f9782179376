// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Secrets that only voters have: keys of the cluster's CA, and keys that encrypt what the log holds. The log
// names them and says which voters have them on their disks (VoterSecretRecord); the values are in one file
// of the state directory,
//
//   voter-secrets  0600: 8 bytes "argsecr1", CRC-32C (little-endian) of the rest, a VoterSecretsFile
//
// and go from the leader to other voters over the mesh. A host that stops being a voter wipes the file.
//
// A set of them owns its values, in memory of their own (secret-bytes.h), and wipes them when it lets them
// go.

#include <stdint.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "hash.h"
#include "secret-bytes.h"

// with which the log's SecretVersions are sealed: SECRET_KEY_SIZE bytes
#define VOTER_SECRET_SECRETS "secrets"
#define VOTER_SECRET_CA "ca" // DER (PKCS#8) of a CA's key; CaRecord.number says which

enum {
        VOTER_SECRETS_MAX = 16,
        VOTER_SECRET_NAME_MAX = 31, // characters
        VOTER_SECRET_VALUE_MAX = 4096,
        VOTER_SECRET_KEY_SIZE = 32, // bytes of a symmetric key
};

typedef struct VoterSecret {
        char name[VOTER_SECRET_NAME_MAX + 1];
        uint32_t number; // greater than 0
        SecretBytes value;
        Hash fingerprint; // SHA-256 of it
} VoterSecret;

typedef struct VoterSecrets VoterSecrets;
struct VoterSecrets { // zero-initialised: none
        VoterSecret list[VOTER_SECRETS_MAX];
        size_t n;
};

void voter_secrets_done(VoterSecrets *s);
// A copy of its own. `ret` must be empty, and is on error (-ENOMEM).
int voter_secrets_copy(const VoterSecrets *s, VoterSecrets *ret);

// The value, borrowed until the set changes; NULL: it is not there.
const SecretBytes *voter_secrets_find(const VoterSecrets *s, const char *name, uint32_t number);
// Whether the very secret that the log means is there.
bool voter_secrets_has(const VoterSecrets *s, const Argosy__VoterSecretRecord *record);
// Copies it, in place of one of that name and number. -EINVAL: no name, no number, or a value of no or too
// many bytes; -ENOSPC: there are as many as can be; -ENOMEM. Nothing changed then.
int voter_secrets_put(VoterSecrets *s, const char *name, uint32_t number, const void *value, size_t len);
// All of a message, or on error perhaps some. *ret_changed: one is other than it was before.
int voter_secrets_put_all(VoterSecrets *s, Argosy__VoterSecret *const *secrets, size_t n, bool *ret_changed);
void voter_secrets_drop(VoterSecrets *s, const char *name, uint32_t number); // if it is there
// Drops what the log has had and has no more: of each name that a record has, those that no record has and
// that came before the newest of its records. What is newer may be on its way into the log. True: there was
// some.
bool voter_secrets_drop_old(VoterSecrets *s, Argosy__VoterSecretRecord *const *records, size_t n);

// Borrowed from the set, for a message; each of `ret` is initialised.
void voter_secrets_to_message(const VoterSecrets *s, Argosy__VoterSecret ret[VOTER_SECRETS_MAX]);

// What such a file has. -EBADMSG: it is damaged; -ENOMEM. `ret` must be empty, and may have some on error.
int voter_secrets_parse(const uint8_t *data, size_t len, VoterSecrets *ret);
// -EBADMSG: the file is damaged, and *ret_why (malloc'd, may be NULL) says so. No file is an empty set.
// `ret` must be empty, and stays so on error.
int voter_secrets_load(const char *dir, VoterSecrets *ret, char **ret_why);
// Survives a power cut when it returns 0; on error what was saved before still stands. Of an empty set no
// file is left.
int voter_secrets_save(const char *dir, const VoterSecrets *s);
