// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's key and certificate, and the cluster's CA where this host is a voter. Files in the state directory, each replaced
// by rename and synced:
//
//   host.key host.crt   key (PEM, 0600) and certificate of this host
//   ca.crt ca.key       the cluster's CA; the key only on voters, 0600

#include "buf.h"
#include "hash.h"

enum { CERT_DAYS = 90, CERT_RENEW_DAYS = 30, CA_DAYS = 36500 };

typedef struct Identity {
        Buf key;      // DER (PKCS#8), secret
        Buf cert;     // DER
        Buf ca_cert;  // DER
        Buf ca_key;   // DER, empty unless voter
        Hash pin;     // of our own public key
} Identity;

void identity_done(Identity *i);
// Loads from `dir`. -ENOENT: there is none yet. -EBADMSG: a file is damaged; *ret_why (malloc'd) names it.
int identity_load(const char *dir, Identity *ret, char **ret_why);
// A new CA, key and self-issued host certificate for a first host. Not saved yet.
int identity_create(const char *host_name, Identity *ret);
int identity_save(const char *dir, const Identity *i);
// A new key and certificate signing request for joining; `ret` has only the key.
int identity_request(const char *host_name, Identity *ret, Buf *ret_csr);
// Signs a request with the CA (voters). Takes name and key from the request, whose self-signature must verify. `ret_pin` is the new host's pin.
int identity_sign(const Identity *ca, const void *csr, size_t csr_len, const char *host_name, Buf *ret_cert, Hash *ret_pin);
// Days until our certificate expires; negative: expired.
int identity_days_left(const Identity *i);

// Join tokens: "argosy1.<sha256 of CA certificate, hex>.<id, 8 hex>.<secret, 32 hex>".
typedef struct JoinToken {
        Hash ca_hash;
        char id[9];
        uint8_t secret[16];
} JoinToken;

int join_token_new(const void *ca_cert, size_t len, JoinToken *ret);
char *join_token_format(const JoinToken *t);
// -EINVAL and *ret_why (static).
int join_token_parse(const char *text, JoinToken *ret, const char **ret_why);
