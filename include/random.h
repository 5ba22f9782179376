// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// All randomness of the program: keys, ids, nonces, and when to try again. It is drawn nowhere else, so that
// the simulator (tests/sim) replaces one file. What GnuTLS draws for itself, in a handshake or a signature,
// is its own.

#include <stddef.h>
#include <stdint.h>

// From the kernel, good enough for keys. Never fails: a kernel that has booted gives up to RANDOM_BYTES_MAX
// whole and without waiting (getrandom(2)), one that boots may let the first call wait; without them the
// process ends.
void random_bytes(void *ret, size_t len);
// A number from 0 to n-1, each as likely as another one; n > 0. For jitter: with n not a power of 2 some are
// rarer by n in 2^32.
uint32_t random_below(uint32_t n);

enum { RANDOM_BYTES_MAX = 256 };
