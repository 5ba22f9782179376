// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "event-ring.h"

enum { EVENT_BYTES = 100 };

static void add(EventRing *r, uint8_t content) {
        EventEntry *e = event_ring_add(r, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service", EVENT_BYTES);

        assert_non_null(e);
        memset(e->bytes, content, EVENT_BYTES);
}

static void assert_has(const EventRing *r, uint64_t seq, uint8_t content) {
        const EventEntry *e = event_ring_find(r, seq);

        assert_non_null(e);
        assert_int_equal(e->len, EVENT_BYTES);
        assert_int_equal(e->bytes[0], content);
        assert_int_equal(e->bytes[EVENT_BYTES - 1], content);
        assert_string_equal(e->name, "web.service");
}

static void the_oldest_go_and_the_others_stay(void **state) {
        _cleanup_(event_ring_done) EventRing r = {.bytes_max = 100 * 1024};

        event_ring_clear(&r, 1000);
        for (unsigned i = 0; i < 10000; i++)
                add(&r, (uint8_t) i);
        assert_true(r.bytes <= r.bytes_max);
        assert_true(r.n > 500 && r.n < 1024);
        assert_int_equal(r.first + r.n, 11000);
        assert_null(event_ring_find(&r, r.first - 1));
        assert_null(event_ring_find(&r, 11000));
        for (uint64_t seq = r.first; seq < 11000; seq++)
                assert_has(&r, seq, (uint8_t) (seq - 1000));
}

static void one_that_is_longer_than_all_is_kept(void **state) {
        _cleanup_(event_ring_done) EventRing r = {.bytes_max = 10};

        add(&r, 1);
        assert_has(&r, 0, 1);
        add(&r, 2);
        assert_null(event_ring_find(&r, 0));
        assert_has(&r, 1, 2);
}

static void it_begins_anew_where_it_is_told(void **state) {
        _cleanup_(event_ring_done) EventRing r = {.bytes_max = 100 * 1024};

        add(&r, 1);
        event_ring_clear(&r, 50);
        assert_int_equal(r.bytes, 0);
        assert_null(event_ring_find(&r, 0));
        add(&r, 2);
        assert_has(&r, 50, 2);
}

RUN_TESTS(
        cmocka_unit_test(the_oldest_go_and_the_others_stay),
        cmocka_unit_test(one_that_is_longer_than_all_is_kept),
        cmocka_unit_test(it_begins_anew_where_it_is_told)
)
