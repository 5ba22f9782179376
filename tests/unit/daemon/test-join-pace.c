// SPDX-License-Identifier: LGPL-2.1-or-later
#include <arpa/inet.h>
#include <netinet/in.h>

#include "test.h"

#include "clock.h"
#include "join-pace.h"
#include "map.h"

static JoinPace pace;

FIXTURE(begin) {
        pace = (JoinPace){};
}

static Principal address(unsigned n) {
        struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000000 + n)};

        return principal_of_address((struct sockaddr *) &from);
}

// How many of so many at once.
static unsigned heard(unsigned address_number, unsigned n, uint64_t now_us) {
        Principal from = address(address_number);
        unsigned heard = 0;

        for (unsigned i = 0; i < n; i++)
                heard += join_pace_takes(&pace, &from, now_us);
        return heard;
}

static void an_address_is_heard_at_its_pace(void **state) {
        uint64_t now_us = 5 * USEC_PER_SEC;

        assert_int_equal(heard(1, 1000, now_us), JOIN_BURST);
        assert_int_equal(heard(1, 1000, now_us), 0);
        assert_int_equal(heard(1, 1000, now_us + USEC_PER_SEC), JOIN_RATE_PER_SEC);
        assert_int_equal(heard(1, 1000, now_us + 100 * USEC_PER_SEC), JOIN_BURST);
}

static void who_asks_without_end_keeps_nobody_out(void **state) {
        uint64_t now_us = 5 * USEC_PER_SEC;
        Principal loud = address(1), other = address(2);

        // Two may share a slot by chance.
        for (unsigned n = 2; map_hash(&loud, sizeof(loud)) % JOIN_PACE_SLOTS ==
                             map_hash(&other, sizeof(other)) % JOIN_PACE_SLOTS;
             n++)
                other = address(n);
        for (unsigned i = 0; i < 1000; i++) {
                now_us += USEC_PER_MSEC;
                (void) join_pace_takes(&pace, &loud, now_us);
        }
        assert_true(join_pace_takes(&pace, &other, now_us));
}

static void all_together_have_a_pace_too(void **state) {
        uint64_t now_us = 5 * USEC_PER_SEC;
        unsigned n = 0;

        for (unsigned i = 0; i < 1000; i++)
                n += heard(i, 10, now_us);
        assert_int_equal(n, JOIN_BURST * JOIN_RATE_OF_ALL);
}

RUN_TESTS(
        cmocka_unit_test_setup(an_address_is_heard_at_its_pace, begin),
        cmocka_unit_test_setup(who_asks_without_end_keeps_nobody_out, begin),
        cmocka_unit_test_setup(all_together_have_a_pace_too, begin)
)
