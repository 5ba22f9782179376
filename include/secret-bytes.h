// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Memory for what nobody but its user is to see: pages of its own that are never swapped out, not in a core
// of this process and not in what it forks, and wiped before they are given back. Whole pages, so for few
// things at a time, and for a short while.

#include <stddef.h>
#include <stdint.h>

#include "macro.h"

typedef struct SecretBytes { // zero-initialised: none
        uint8_t *data;
        size_t len;
        size_t size; // private
} SecretBytes;

// Room for so many bytes, zeroes. -ENOMEM: also if `len` is 0. That they cannot be locked for want of a
// right is no error.
int secret_bytes_new(size_t len, SecretBytes *ret) _warn_unused_;
void secret_bytes_done(SecretBytes *s);
