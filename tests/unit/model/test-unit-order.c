// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The order of units' names, as thousands of them come and go: whoever goes from one to the next meets each
// once.

#include "messages.h"
#include "str.h"
#include "test.h"
#include "unit-order.h"

enum { UNITS = 3000, ROUNDS = 20000, LOOKS = 40 };

static UnitEntry units[UNITS];
static Argosy__UnitRecord records[UNITS];
static char names[UNITS][32];
static bool is_in[UNITS];

static int by_name(const void *a, const void *b) {
        return strcmp(a, b);
}

FIXTURE(setup) {
        srand(7);
        for (size_t i = 0; i < UNITS; i++)
                snprintf(names[i], sizeof(names[i]), "%c%d@%zu.service", 'a' + rand() % 3, rand() % 50, i);
        qsort(names, UNITS, sizeof(*names), by_name);
        for (size_t i = 0; i < UNITS; i++) {
                records[i] = (Argosy__UnitRecord) UNIT_RECORD_OF(.name = names[i]);
                units[i].record = &records[i];
                is_in[i] = false;
        }
}

typedef struct Round {
        const char *prefix;
        size_t at, n, last; // of `units`: the next one that may come; how many have come, and may
} Round;

static int next_of(UnitEntry *u, void *userdata) {
        Round *r = userdata;

        while (r->at < UNITS && !(is_in[r->at] && strncmp(names[r->at], r->prefix, strlen(r->prefix)) == 0))
                r->at++;
        assert_in_range(r->at, 0, UNITS - 1);
        assert_ptr_equal(u, &units[r->at++]);
        return ++r->n == r->last ? -ECANCELED : 0;
}

static void check_each(const UnitOrder *o, const char *prefix) {
        Round all = {.prefix = prefix}, some = {.prefix = prefix};
        size_t n = 0;

        for (size_t i = 0; i < UNITS; i++)
                n += is_in[i] && strncmp(names[i], prefix, strlen(prefix)) == 0;
        assert_int_equal(unit_order_each(o, prefix, next_of, &all), 0);
        assert_int_equal(all.n, n);
        some.last = n / 2;
        assert_int_equal(unit_order_each(o, prefix, next_of, &some), some.last > 0 ? -ECANCELED : 0);
}

static void check_all(const UnitOrder *o) {
        const UnitEntry *at = NULL;

        for (size_t i = 0; i < UNITS; i++) {
                if (!is_in[i])
                        continue;
                at = unit_order_next(o, at ? at->record->name : "");
                assert_ptr_equal(at, &units[i]);
        }
        assert_null(unit_order_next(o, at ? at->record->name : ""));
        static const char *const prefixes[] = {"", "a", "b4", "c49@", "c9", "d"};
        for (size_t i = 0; i < ELEMENTSOF(prefixes); i++)
                check_each(o, prefixes[i]);
}

// Also behind a name that is not there.
static void check_one(const UnitOrder *o, size_t i) {
        size_t next = i + 1;

        while (next < UNITS && !is_in[next])
                next++;
        assert_ptr_equal(unit_order_next(o, names[i]), next < UNITS ? &units[next] : NULL);
}

// The one behind a unit, whatever place it is said to have.
static void check_behind(const UnitOrder *o, size_t i) {
        size_t next = i + 1;
        UnitPlace places[] = {{}, {.block = (size_t) rand() % 20, .at = (size_t) rand() % 200}};

        while (next < UNITS && !is_in[next])
                next++;
        for (size_t k = 0; k < ELEMENTSOF(places); k++) {
                UnitEntry *behind = unit_order_behind(o, &units[i], &places[k]);

                assert_ptr_equal(behind, next < UNITS ? &units[next] : NULL);
                if (behind)
                        assert_ptr_equal(unit_order_behind(o, behind, &places[k]),
                                         unit_order_next(o, names[next]));
        }
}

static void units_come_and_go_and_are_in_order(void **state) {
        _cleanup_(unit_order_done) UnitOrder o = {};

        check_all(&o);
        for (size_t round = 0; round < ROUNDS; round++) {
                // first more come, then more go
                size_t i = (size_t) rand() % UNITS, among = round < ROUNDS / 2 ? 3 : 1;

                if (is_in[i] && (size_t) rand() % 4 >= among)
                        unit_order_remove(&o, &units[i]);
                else if (!is_in[i] && (size_t) rand() % 4 < among)
                        assert_int_equal(unit_order_add(&o, &units[i]), 0);
                else
                        continue;
                is_in[i] = !is_in[i];
                check_one(&o, i);
                if (is_in[i])
                        check_behind(&o, i);
                if (round % (ROUNDS / LOOKS) == 0)
                        check_all(&o);
        }
        check_all(&o);
        for (size_t i = 0; i < UNITS; i++)
                if (is_in[i]) {
                        unit_order_remove(&o, &units[i]);
                        is_in[i] = false;
                }
        check_all(&o);
        assert_int_equal(o.n_blocks, 0);
}

static void units_that_come_in_order_leave_full_blocks(void **state) {
        _cleanup_(unit_order_done) UnitOrder o = {};

        for (size_t i = 0; i < UNITS; i++) {
                assert_int_equal(unit_order_add(&o, &units[i]), 0);
                is_in[i] = true;
        }
        check_all(&o);
        assert_int_equal(o.n_blocks, (UNITS + 255) / 256);
}

RUN_TESTS(
        cmocka_unit_test_setup(units_come_and_go_and_are_in_order, setup),
        cmocka_unit_test_setup(units_that_come_in_order_leave_full_blocks, setup)
)
