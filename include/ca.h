// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The CA of a cluster: it signs the certificates of members. Its certificate is in the log and with every
// member, its key is a secret of the voters (voter-secrets.h).

#include "argosy.pb-c.h"
#include "buf.h"
#include "hash.h"

enum { CA_DAYS = 36500 };

typedef struct Ca {
        Buf cert; // DER
        Buf key;  // DER (PKCS#8), secret; empty: it cannot sign
} Ca;

// The key is wiped.
void ca_done(Ca *ca);
// A new one. `ret` must be empty.
int ca_create(Ca *ret);
// Signs a request. Takes the public key from the request, whose self-signature must verify, and the name
// from `host_name`. -ENOKEY: the CA has no key here; -EBADMSG: not a request, or a forged one;
// -EKEYREJECTED: a kind of key that we do not use. The certificate (DER) is appended to *ret_cert; `ret_pin`
// (may be NULL) is the pin of the key.
int ca_sign(const Ca *ca, const void *csr, size_t csr_len, const char *host_name, Buf *ret_cert,
            Hash *ret_pin);

typedef struct VoterSecrets VoterSecrets; // include/voter-secrets.h

// The same by the CA that the log names (NULL: none), with its key if that is among the secrets.
int ca_record_sign(const Argosy__CaRecord *record, const VoterSecrets *secrets, ProtobufCBinaryData csr,
                   const char *host_name, Buf *ret_cert, Hash *ret_pin);
