// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Room in arrays that grow at their end. `array` is a variable of type T *, and `need` is how many elements
// it is to have room for. 0, or -ENOMEM, also for more bytes than can be counted; then the array is as it
// was. What is new in it is not initialised.

#include <stddef.h>

#include "macro.h"

// `allocated`, a size_t beside the array, says for how many there is room: for arrays that grow often.
#define ARRAY_GROW(array, allocated, need) array_grow(&(array), &(allocated), (need), sizeof(*(array)))
// For arrays without such a number: those that grow rarely, and those that somebody else has made as long as
// they are.
#define ARRAY_RESERVE(array, need) array_reserve(&(array), (need), sizeof(*(array)))

int array_grow(void *array, size_t *allocated, size_t need, size_t size) _warn_unused_;
int array_reserve(void *array, size_t need, size_t size) _warn_unused_;
