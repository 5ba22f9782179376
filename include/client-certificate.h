// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a program without tokens is let in by over TLS: a certificate of its own, which is pinned. Nobody
// signs it but itself, and what it says of itself counts for nothing: the cluster has the hash of this one
// certificate (access-token.h), with the right and the end that any token has.

#include <stdint.h>

#include "buf.h"
#include "hash.h"

// Appends certificate and key in PEM; the key is secret, and its buffer is to be wiped. The certificate ends
// within a day after its token. 0, -ENOMEM, -EIO.
int client_certificate_new(const char *name, uint32_t ttl_sec, Buf *ret_certificate, Buf *ret_key,
                           Hash *ret_proof);
