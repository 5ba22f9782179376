// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "record.h"

static void a_batch_comes_back_as_it_was(void **state) {
        for (size_t len = 1; len < 40; len++) {
                uint8_t data[40], record[128];
                const uint8_t *got;
                size_t got_len;
                BatchId id;

                memset(data, (int) len, sizeof(data));
                batch_record_encode((BatchId){.run = 7, .seq = len}, data, len, record);
                assert_int_equal(batch_record_decode(record, batch_record_size(len), &id, &got, &got_len),
                                 0);
                assert_int_equal(got_len, len);
                assert_memory_equal(got, data, len);
                assert_true(batch_id_equal(id, (BatchId){.run = 7, .seq = len}));
        }
}

// libraft frees the buffer and refuses it otherwise.
static void guard_1_records_are_padded_to_eight(void **state) {
        for (size_t len = 1; len < 40; len++) {
                assert_int_equal(batch_record_size(len) % 8, 0);
                assert_in_range(batch_record_size(len), BATCH_HEADER_SIZE + len,
                                BATCH_HEADER_SIZE + len + 7);
        }
}

static void guard_1_every_damaged_bit_of_a_batch_is_noticed(void **state) {
        uint8_t record[64];
        const uint8_t *data;
        size_t len, size = batch_record_size(9);
        BatchId id;

        batch_record_encode((BatchId){.run = 1, .seq = 2}, "nine byte", 9, record);
        for (size_t bit = 0; bit < (BATCH_HEADER_SIZE + 9) * 8; bit++) {
                record[bit / 8] ^= 1 << bit % 8;
                assert_true(batch_record_decode(record, size, &id, &data, &len) < 0);
                record[bit / 8] ^= 1 << bit % 8;
        }
        assert_int_equal(batch_record_decode(record, size - 8, &id, &data, &len), -EBADMSG);
        assert_int_equal(batch_record_decode(record, 8, &id, &data, &len), -EBADMSG);
}

static void a_newer_batch_is_told_from_a_damaged_one(void **state) {
        uint8_t record[64];
        const uint8_t *data;
        size_t len;
        BatchId id;

        batch_record_encode((BatchId){}, "x", 1, record);
        record[4] = BATCH_VERSION + 1;
        assert_int_equal(batch_record_decode(record, batch_record_size(1), &id, &data, &len),
                         -EPROTONOSUPPORT);
}

static void guard_2_every_damaged_bit_of_a_snapshot_is_noticed(void **state) {
        uint8_t record[SNAPSHOT_HEADER_SIZE + 5] = {};
        const uint8_t *data;
        Hash digest = hash_of("state", 5);
        size_t len;

        memcpy(record + SNAPSHOT_HEADER_SIZE, "state", 5);
        snapshot_record_seal(record, 5, &digest);
        assert_int_equal(snapshot_record_open(record, sizeof(record), &data, &len), 0);
        assert_int_equal(len, 5);
        assert_memory_equal(data, "state", 5);
        for (size_t bit = 0; bit < sizeof(record) * 8; bit++) {
                record[bit / 8] ^= 1 << bit % 8;
                assert_true(snapshot_record_open(record, sizeof(record), &data, &len) < 0);
                record[bit / 8] ^= 1 << bit % 8;
        }
        assert_int_equal(snapshot_record_open(record, sizeof(record) - 1, &data, &len), -EBADMSG);
        record[4] = SNAPSHOT_SCHEMA + 1;
        assert_int_equal(snapshot_record_open(record, sizeof(record), &data, &len), -EPROTONOSUPPORT);
}

RUN_TESTS(
        cmocka_unit_test(a_batch_comes_back_as_it_was),
        cmocka_unit_test(guard_1_records_are_padded_to_eight),
        cmocka_unit_test(guard_1_every_damaged_bit_of_a_batch_is_noticed),
        cmocka_unit_test(a_newer_batch_is_told_from_a_damaged_one),
        cmocka_unit_test(guard_2_every_damaged_bit_of_a_snapshot_is_noticed)
)
