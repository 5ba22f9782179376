// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random bytes and numbers from the kernel (random.h), at most RANDOM_BYTES_MAX bytes a call. Early in the
// boot of a machine without a stored seed the first call blocks until the kernel has enough entropy. If a
// sandbox forbids getrandom() the process ends: an id or a key that can be guessed would be worse.

#include "random.h"

#include <assert.h>
#include <sys/random.h>

#include "process-end.h"

void random_bytes(void *ret, size_t len) {
        assert(len <= RANDOM_BYTES_MAX);
        if (getrandom(ret, len, 0) != (ssize_t) len)
                process_abort("the kernel gives no random bytes");
}

uint32_t random_below(uint32_t n) {
        uint32_t random;

        random_bytes(&random, sizeof(random));
        return (uint32_t) (((uint64_t) random * n) >> 32);
}
