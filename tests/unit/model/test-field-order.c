// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages that other builds have packed, in one order.
#include <errno.h>

#include "test.h"

#include "argosy.pb-c.h"
#include "field-order.h"
#include "macro.h"
#include "messages.h"

#define TYPE (&argosy__request__descriptor)

// A request of four fields, one of them a message with two, as who knows all of it packs it. In `ret` it is
// as one packs it who knows neither the field `unknown` of the request nor that of the message within.
static size_t pack(uint8_t *ret, bool old) {
        static const uint8_t id[] = {0x08, 0x07},                 // 1: 7
                inner_a[] = {0x0a, 0x01, 'a'},                    // 1: "a"
                inner_b[] = {0x12, 0x01, 'b'},                    // 2: "b"
                unknown[] = {0xa1, 0x7d, 1, 2, 3, 4, 5, 6, 7, 8}, // 2004: fixed64
                last[] = {0xfd, 0x7f, 1, 2, 3, 4};                // 2047: fixed32
        const uint32_t key = ARGOSY__REQUEST__WHAT_ROLE_CHANGE << 3 | 2;
        size_t n = 0;

#define PUT(bytes) (memcpy(ret + n, bytes, sizeof(bytes)), n += sizeof(bytes))
        if (!old)
                PUT(id);
        ret[n++] = (uint8_t) (key & 0x7f) | 0x80;
        ret[n++] = (uint8_t) (key >> 7);
        ret[n++] = sizeof(inner_a) + sizeof(inner_b);
        if (old) {
                PUT(inner_b);
                PUT(inner_a);
                PUT(last);
                PUT(unknown);
                PUT(id);
        } else {
                PUT(inner_a);
                PUT(inner_b);
                PUT(unknown);
                PUT(last);
        }
        return n;
#undef PUT
}

static void who_does_not_know_a_field_has_it_in_its_place(void **state) {
        uint8_t as_made[64], by_old[64];
        size_t len = pack(as_made, false);

        static_assert(ARGOSY__REQUEST__WHAT_ROLE_CHANGE > 15 && ARGOSY__REQUEST__WHAT_ROLE_CHANGE < 2004);
        assert_int_equal(pack(by_old, true), len);
        assert_int_equal(field_order_sort(TYPE, by_old, len), 0);
        assert_memory_equal(by_old, as_made, len);
        assert_int_equal(field_order_sort(TYPE, by_old, len), 0);
        assert_memory_equal(by_old, as_made, len);
}

static void what_is_repeated_keeps_its_order(void **state) {
        char *names[] = {"b.service", "a.service", "c.service"};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .names = names, .n_names = ELEMENTSOF(names),
                           .verb = ARGOSY__VERB__VERB_START);
        uint8_t packed[256], sorted[256];
        size_t len = argosy__request__pack(A_REQUEST(CHANGE, change, &change, .id = 1), packed);

        memcpy(sorted, packed, len);
        assert_int_equal(field_order_sort(TYPE, sorted, len), 0);
        assert_memory_equal(sorted, packed, len);
}

// No byte behind its end is looked at.
static void what_is_cut_off_is_no_message(void **state) {
        uint8_t packed[64], cut[64];
        size_t len = pack(packed, true), n_bad = 0;

        for (size_t i = 0; i < len; i++) {
                uint8_t *exact = malloc(i + 1);

                memcpy(exact, packed, i);
                n_bad += field_order_sort(TYPE, exact, i) == -EBADMSG;
                free(exact);
        }
        assert_true(n_bad > len / 2);
        memset(cut, 0xff, sizeof(cut));
        assert_int_equal(field_order_sort(TYPE, cut, sizeof(cut)), -EBADMSG);
        memset(cut, 0, sizeof(cut));
        assert_int_equal(field_order_sort(TYPE, cut, sizeof(cut)), -EBADMSG);
}

RUN_TESTS(
        cmocka_unit_test(who_does_not_know_a_field_has_it_in_its_place),
        cmocka_unit_test(what_is_repeated_keeps_its_order),
        cmocka_unit_test(what_is_cut_off_is_no_message)
)
