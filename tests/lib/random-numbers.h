// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Numbers that follow from a seed, for tests that play something again and again; what they play is told if
// the test's `verbose` is set.

#include <stdint.h>
#include <stdio.h>

// The next one, and the state that it is made of; no state may be 0.
static inline uint64_t xorshift64(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        return *state ^= *state << 17;
}

// Below n; *state: the seed, or what the last call has made of it.
static inline unsigned dice_of(unsigned *state, unsigned n) {
        *state = *state * 1103515245u + 12345u;
        return (*state >> 16) % n;
}

#define dice(n) dice_of(&random_state, n)

#define story(...)                                    \
        do {                                          \
                if (verbose)                          \
                        fprintf(stderr, __VA_ARGS__); \
        } while (0)
