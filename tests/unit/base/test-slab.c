// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "slab.h"

enum { OBJECTS = 3000, ROUNDS = 100000, SIZE_MAX_USED = SLAB_OBJECT_MAX + 64 };

static struct {
        uint8_t *bytes;
        size_t size;
        uint8_t fill;
} objects[OBJECTS];

static void begin(Slab *s, size_t i, size_t size, uint8_t fill) {
        objects[i].bytes = slab_alloc(s, size);
        objects[i].size = size;
        objects[i].fill = fill;
        assert_non_null(objects[i].bytes);
        assert_int_equal((uintptr_t) objects[i].bytes % sizeof(void *), 0);
        for (size_t k = 0; k < size; k++)
                assert_int_equal(objects[i].bytes[k], 0);
        memset(objects[i].bytes, fill, size);
}

static void end(Slab *s, size_t i) {
        for (size_t k = 0; k < objects[i].size; k++)
                assert_int_equal(objects[i].bytes[k], objects[i].fill);
        slab_free(s, objects[i].bytes, objects[i].size);
        objects[i].bytes = NULL;
}

// Objects of all sizes come and go; each has its bytes for itself, and they are zero when it begins.
static void objects_do_not_share_bytes(void **state) {
        unsigned seed = 1;
        Slab s = {};

        for (size_t round = 0; round < ROUNDS; round++) {
                size_t i = (size_t) rand_r(&seed) % OBJECTS,
                       size = 1 + (size_t) rand_r(&seed) % SIZE_MAX_USED;

                if (objects[i].bytes)
                        end(&s, i);
                else
                        begin(&s, i, size, (uint8_t) (1 + round % 255));
        }
        for (size_t i = 0; i < OBJECTS; i++)
                if (objects[i].bytes)
                        end(&s, i);
        for (size_t i = 0; i < ELEMENTSOF(s.chunks); i++)
                assert_null(s.chunks[i]); // nothing is kept for later
}

// What a chunk lost is used again before there is another one.
static void room_is_used_again(void **state) {
        enum { SIZE = 200, MANY = 10 * SLAB_CHUNK / SIZE };
        static void *many[MANY];
        Slab s = {};

        for (size_t i = 0; i < MANY; i++)
                many[i] = slab_alloc(&s, SIZE);
        for (size_t i = 0; i < MANY; i += 2)
                slab_free(&s, many[i], SIZE);
        for (size_t i = 0; i < MANY; i += 2) {
                many[i] = slab_alloc(&s, SIZE);
                assert_non_null(many[i]);
        }
        for (size_t i = 0; i < MANY; i++)
                slab_free(&s, many[i], SIZE);
        for (size_t i = 0; i < ELEMENTSOF(s.chunks); i++)
                assert_null(s.chunks[i]);
        slab_free(&s, NULL, SIZE);
}

static void it_counts_what_it_holds(void **state) {
        Slab s = {};
        void *a = slab_alloc(&s, 1), *b = slab_alloc(&s, SLAB_STEP + 1),
             *large = slab_alloc(&s, SLAB_OBJECT_MAX + 1);

        assert_non_null(a);
        assert_non_null(b);
        assert_non_null(large);
        assert_int_equal(s.bytes, 3 * SLAB_STEP + SLAB_OBJECT_MAX + SLAB_STEP);
        slab_free(&s, b, SLAB_STEP + 1);
        slab_free(&s, large, SLAB_OBJECT_MAX + 1);
        slab_free(&s, NULL, 100);
        assert_int_equal(s.bytes, SLAB_STEP);
        slab_free(&s, a, 1);
        assert_int_equal(s.bytes, 0);
}

RUN_TESTS(
        cmocka_unit_test(objects_do_not_share_bytes),
        cmocka_unit_test(room_is_used_again),
        cmocka_unit_test(it_counts_what_it_holds)
)
