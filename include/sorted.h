// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Search by halving.

#include <stddef.h>

// How many of `n` elements stand before a place: `before`, an expression in `i`, the index of an element,
// says whether that one does. Those that do stand in front of all others.
#define SORTED_COUNT(n, i, before)                                    \
        ({                                                            \
                size_t _low = 0, _high = (n);                         \
                                                                      \
                while (_low < _high) {                                \
                        size_t i = _low + (_high - _low) / 2;         \
                                                                      \
                        if (before)                                   \
                                _low = i + 1;                         \
                        else                                          \
                                _high = i;                            \
                }                                                     \
                _low;                                                 \
        })
