// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's key and certificate, and the certificate of the CA that signed it. All in one file of the
// state directory, so that every change is one rename and no crash can leave a key without its certificate:
//
//   identity.pem   0600: host key, host certificate, CA certificate
//
// Keys are ECDSA on P-256.

#include "buf.h"
#include "hash.h"

enum {
        CERT_DAYS = 90,
        CERT_RENEW_DAYS = 30, // renew when fewer are left
        IDENTITY_CSR_MAX = 8192, // bytes of a signing request
};

typedef struct Ca Ca; // include/ca.h

typedef struct Identity {
        Buf key;     // DER (PKCS#8), secret
        Buf cert;    // DER; empty while a joiner waits for it
        Buf ca_cert; // DER; empty while a joiner waits for it
        Hash pin;    // of our own public key
} Identity;

// A zero-initialised Identity is empty and valid. Secrets are wiped.
void identity_done(Identity *i);

// A copy of its own, for a thread of its own. `ret` must be empty, and is on error (-ENOMEM).
int identity_copy(const Identity *i, Identity *ret);

// Loads from `dir`. -ENOENT: there is none yet. -EBADMSG: the file is damaged or its parts do not belong
// together; *ret_why (malloc'd, may be NULL) names it, or why it cannot be read. `ret` must be empty, and
// stays so on error.
int identity_load(const char *dir, Identity *ret, char **ret_why);
// Survives a power cut when it returns 0; on error what was saved before still stands. Needs key,
// certificate and CA certificate.
int identity_save(const char *dir, const Identity *i);
// Forgets it (leaving a cluster); 0 also if there was none.
int identity_remove(const char *dir);

// A key and a certificate for a first host, signed by its CA (ca.h). Not saved yet. `ret` must be empty.
int identity_create(const char *host_name, const Ca *ca, Identity *ret);
// A new key and a certificate signing request (DER, appended to *ret_csr) for joining; `ret` has key and pin
// only.
int identity_request(const char *host_name, Identity *ret, Buf *ret_csr);
// A request with the key that we have, to renew the certificate: the pin stays.
int identity_renew(const Identity *i, const char *host_name, Buf *ret_csr);
// The answer to either: takes over the certificate, and the CA's certificate unless NULL. -EKEYREJECTED and
// nothing changed if it is not for our key, or not signed by that CA; -EBADMSG if it cannot be read.
int identity_install(Identity *i, const void *cert, size_t cert_len, const void *ca_cert,
                     size_t ca_cert_len);
// Whole days until our certificate expires at wall-clock time `wall_us`; negative: it has expired.
int identity_days_left(const Identity *i, uint64_t wall_us);
