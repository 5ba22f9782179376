// SPDX-License-Identifier: LGPL-2.1-or-later

// A paged table against an array that is copied whenever a snapshot is taken. The records point to heap
// blocks, which are retired when they are replaced: what a view reaches too late or too early is found by
// AddressSanitizer, and what the loop writes where a thread reads by ThreadSanitizer.

#include "test.h"

#include <pthread.h>

#include "macro.h"
#include "paged-table.h"
#include "random-numbers.h"

enum { ROUNDS = 300, CHANGES = 60, NUMBERS = 9000, SCANS = 20 };

typedef struct Record {
        uint64_t *value;
        uint64_t same, pad; // so that records do not fill a page
} Record;

typedef struct Snapshot {
        bool alive;
        SnapshotMark mark;
        PagedView view;
        uint64_t values[NUMBERS]; // 0: not in use
} Snapshot;

typedef struct Fixture {
        SnapshotClock clock;
        PagedTable table;
        uint64_t values[NUMBERS], n_used;
        Snapshot snapshots[SNAPSHOTS_MAX];
} Fixture;

static Fixture f;

static Record make(uint64_t value) {
        Record r = {.value = malloc(sizeof(*r.value)), .same = value};

        *r.value = value;
        return r;
}

static void begin(void) {
        memset(&f, 0, sizeof(f));
        snapshot_clock_init(&f.clock);
        paged_table_init(&f.table, &f.clock, sizeof(Record));
}

static void retire_value(uint32_t number) {
        PagedView now = paged_table_view(&f.table);
        const Record *r = paged_view_find(&now, number);

        snapshot_clock_retire(&f.clock, r->value, free, sizeof(*r->value));
}

static void add(uint64_t value) {
        Record r = make(value);
        uint32_t number;

        assert_int_equal(paged_table_add(&f.table, &r, &number), 0);
        assert_true(number < NUMBERS && f.values[number] == 0);
        f.values[number] = value;
        f.n_used++;
}

static void set(uint32_t number, uint64_t value) {
        Record r = make(value);

        retire_value(number);
        assert_int_equal(paged_table_set(&f.table, number, &r), 0);
        f.values[number] = value;
}

static void take_out(uint32_t number) {
        retire_value(number);
        assert_int_equal(paged_table_remove(&f.table, number), 0);
        f.values[number] = 0;
        f.n_used--;
}

static void end(void) {
        for (uint32_t i = 0; i < NUMBERS; i++)
                if (f.values[i])
                        take_out(i);
        paged_table_done(&f.table);
        snapshot_clock_done(&f.clock);
}

static void assert_same(const PagedView *v, const uint64_t values[NUMBERS]) {
        uint32_t iter = 0, n = 0;
        const Record *r;

        while ((r = paged_view_next(v, &iter))) {
                assert_int_equal(*r->value, values[iter - 1]);
                assert_int_equal(r->same, values[iter - 1]);
                n++;
        }
        assert_int_equal(n, v->n_used);
        for (uint32_t i = 0; i < NUMBERS; i++)
                n -= values[i] != 0;
        assert_int_equal(n, 0);
}

static void change(uint64_t *seed, uint64_t value) {
        uint32_t number = (uint32_t) (xorshift64(seed) % NUMBERS);

        if (!f.values[number] && f.n_used < NUMBERS)
                add(value);
        else if (xorshift64(seed) % 3)
                set(number, value);
        else
                take_out(number);
}

static void snapshot_take(Snapshot *s) {
        assert_int_equal(snapshot_clock_take(&f.clock, &s->mark), 0);
        s->view = paged_table_view(&f.table);
        memcpy(s->values, f.values, sizeof(s->values));
        s->alive = true;
}

static void snapshot_end(Snapshot *s) {
        assert_same(&s->view, s->values);
        snapshot_clock_release(&f.clock, &s->mark);
        s->alive = false;
}

static void every_view_stays_as_it_was(void **state) {
        uint64_t seed = UINT64_C(0x9e3779b97f4a7c15), value = 0;

        begin();
        for (size_t i = 0; i < 6000; i++)
                add(++value);
        for (size_t round = 0; round < ROUNDS; round++) {
                Snapshot *s = &f.snapshots[xorshift64(&seed) % SNAPSHOTS_MAX];

                if (s->alive)
                        snapshot_end(s);
                else
                        snapshot_take(s);
                for (size_t i = xorshift64(&seed) % CHANGES; i > 0; i--)
                        change(&seed, ++value);
                (void) snapshot_clock_reclaim(&f.clock, xorshift64(&seed) % CHANGES);
        }
        for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
                if (f.snapshots[i].alive)
                        snapshot_end(&f.snapshots[i]);
        f.snapshots[0].view = paged_table_view(&f.table);
        assert_same(&f.snapshots[0].view, f.values);
        end();
}

static const void *where_is(uint32_t number) {
        PagedView now = paged_table_view(&f.table);

        return paged_view_find(&now, number);
}

// Without a snapshot nothing moves; with one each page does once.
static void a_page_is_copied_once_for_a_snapshot(void **state) {
        Snapshot *s = &f.snapshots[0];

        begin();
        for (size_t i = 0; i < 1000; i++)
                add(1);
        const void *before = where_is(0);
        set(0, 2);
        assert_ptr_equal(where_is(0), before);
        snapshot_take(s);
        set(0, 3);
        assert_ptr_not_equal(where_is(0), before);
        assert_int_equal(f.clock.n_retired, 4); // value, root, directory, page
        before = where_is(0);
        set(1, 3);
        take_out(2);
        assert_ptr_equal(where_is(0), before);
        assert_int_equal(f.clock.n_retired, 6);
        set(999, 3);
        assert_int_equal(f.clock.n_retired, 8); // and another page
        snapshot_end(s);
        assert_false(snapshot_clock_reclaim(&f.clock, SIZE_MAX));
        before = where_is(500);
        set(500, 4);
        assert_ptr_equal(where_is(500), before);
        end();
}

static void numbers_are_given_again(void **state) {
        begin();
        for (size_t i = 0; i < 300; i++)
                add(1);
        for (uint32_t i = 0; i < 300; i += 3)
                take_out(i);
        assert_null(where_is(3));
        assert_non_null(where_is(4));
        assert_null(where_is(300));
        for (uint32_t i = 0; i < 300; i += 3)
                add(2);
        assert_int_equal(paged_table_view(&f.table).n_slots, 300);
        end();
}

static void *scan(void *userdata) {
        const Snapshot *s = userdata;
        uint64_t sum = 0;

        for (size_t i = 0; i < SCANS; i++) {
                uint32_t iter = 0;
                const Record *r;

                while ((r = paged_view_next(&s->view, &iter)))
                        sum += *r->value;
        }
        return (void *) (uintptr_t) sum;
}

static void a_thread_reads_while_the_loop_changes(void **state) {
        uint64_t seed = 7, expected = 0;
        Snapshot *s = &f.snapshots[0];
        pthread_t reader;
        void *sum;

        begin();
        for (size_t i = 1; i <= 5000; i++)
                add(i);
        snapshot_take(s);
        for (size_t i = 0; i < NUMBERS; i++)
                expected += SCANS * s->values[i];
        assert_int_equal(pthread_create(&reader, NULL, scan, s), 0);
        for (size_t i = 0; i < 20000; i++) {
                change(&seed, i + 1);
                (void) snapshot_clock_reclaim(&f.clock, 10);
        }
        assert_int_equal(pthread_join(reader, &sum), 0);
        assert_int_equal((uintptr_t) sum, expected);
        snapshot_end(s);
        end();
}

// Records of any size, also those that do not fill a page evenly.
static void pages_have_room_for_records_of_any_size(void **state) {
        for (size_t size = sizeof(uint32_t); size <= PAGED_TABLE_PAGE; size += 1 + size / 3) {
                uint8_t record[PAGED_TABLE_PAGE];
                SnapshotClock clock;
                PagedTable table;

                snapshot_clock_init(&clock);
                paged_table_init(&table, &clock, size);
                for (uint32_t i = 0; i < 600; i++) {
                        uint32_t number;

                        memset(record, (int) (i % 251), sizeof(record));
                        assert_int_equal(paged_table_add(&table, record, &number), 0);
                        assert_int_equal(number, i);
                }
                PagedView now = paged_table_view(&table);
                for (uint32_t i = 0; i < 600; i++) {
                        memset(record, (int) (i % 251), sizeof(record));
                        assert_memory_equal(paged_view_find(&now, i), record, size);
                }
                paged_table_done(&table);
                snapshot_clock_done(&clock);
        }
}

RUN_TESTS(
        cmocka_unit_test(every_view_stays_as_it_was),
        cmocka_unit_test(a_page_is_copied_once_for_a_snapshot),
        cmocka_unit_test(numbers_are_given_again),
        cmocka_unit_test(a_thread_reads_while_the_loop_changes),
        cmocka_unit_test(pages_have_room_for_records_of_any_size)
)
