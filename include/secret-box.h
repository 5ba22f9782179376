// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A secret's value as the log has it: AES-256-GCM, which nobody reads or changes who has not the key, and
// which is the value of no other secret, version or key, since these are part of what is authenticated.
//
//      sealed   12 bytes nonce, random each time
//               as many bytes as the value has
//               16 bytes tag
//      beside   "argosy secret\0", number of the key (4 bytes, big-endian), version (8 bytes, big-endian),
//               name
//
// A random nonce of 96 bits is good for 2^32 values under one key; a cluster sets thousands.

#include <stdint.h>

#include "buf.h"
#include "secret-bytes.h"

enum {
        SECRET_KEY_SIZE = 32,
        SECRET_BOX_EXTRA = 12 + 16, // bytes by which the sealed value is longer
};

typedef struct SecretLabel { // what is authenticated beside the value
        const char *name;
        uint64_t version;
        uint32_t key; // its number
} SecretLabel;

// Appends to *ret. -ENOMEM; -EIO: there is no randomness.
int secret_box_seal(const uint8_t key[static SECRET_KEY_SIZE], const SecretLabel *label, const void *value,
                    size_t len, Buf *ret) _warn_unused_;
// -EBADMSG: it was sealed with another key, for something else, or was changed since; -ENOMEM. `ret` must be
// empty, and stays so on error.
int secret_box_open(const uint8_t key[static SECRET_KEY_SIZE], const SecretLabel *label, const void *sealed,
                    size_t len, SecretBytes *ret) _warn_unused_;
