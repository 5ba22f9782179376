// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Arrays that grow. The room is a power of two, so what is appended one by one is moved only as often as its
// length doubles. array_reserve() does not know how much room there is and asks the allocator each time, to
// which the size that it has already costs little.

#include "array.h"

#include <errno.h>
#include <stdint.h>

enum { ARRAY_ROOM_MIN = 8 }; // of those that grow often

static int resize(void **array, size_t need, size_t size, size_t *ret_room) {
        size_t room = 1;
        void *longer;

        if (need > PTRDIFF_MAX / 2 / size) // twice as many can still be counted
                return -ENOMEM;
        while (room < need)
                room *= 2;
        longer = realloc(*array, room * size);
        if (!longer)
                return -ENOMEM;
        *array = longer;
        *ret_room = room;
        return 0;
}

int array_grow(void *array, size_t *allocated, size_t need, size_t size) {
        if (need <= *allocated)
                return 0;
        return resize(array, MAX_OF(need, (size_t) ARRAY_ROOM_MIN), size, allocated);
}

int array_reserve(void *array, size_t need, size_t size) {
        size_t room;

        return resize(array, need, size, &room);
}
