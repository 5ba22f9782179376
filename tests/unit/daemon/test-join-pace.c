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

static void ask_without_end(unsigned address_number, uint64_t *now_us) {
        Principal loud = address(address_number);

        for (unsigned i = 0; i < 1000; i++) {
                *now_us += USEC_PER_MSEC;
                (void) join_pace_takes(&pace, &loud, *now_us);
        }
}

static unsigned slot_of(unsigned address_number, unsigned row) {
        Principal from = address(address_number);
        uint64_t hash = map_hash(&from, sizeof(from));

        return (row == 0 ? hash : hash / JOIN_PACE_SLOTS) % JOIN_PACE_SLOTS;
}

// Another address that has one slot, and not both, with the first one.
static unsigned who_shares(unsigned row) {
        unsigned n = 2;

        while (slot_of(n, row) != slot_of(1, row) || slot_of(n, !row) == slot_of(1, !row))
                n++;
        return n;
}

static void who_asks_without_end_keeps_nobody_out(void **state) {
        uint64_t now_us = 5 * USEC_PER_SEC;

        for (unsigned row = 0; row < 2; row++) {
                ask_without_end(1, &now_us);
                assert_int_equal(heard(who_shares(row), 5, now_us), 5);
                assert_int_equal(heard(1, 5, now_us), 0);
        }
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
