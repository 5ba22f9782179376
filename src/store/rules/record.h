// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a batch and a snapshot look inside libraft's files and messages. Pure; no I/O. Integers are
// little-endian.
//
// Batch, one per log entry (guard 1):          Snapshot (guard 2):
//    0  u32  "AGYB"                                0  u32  "AGYS"
//    4  u32  version, 1                            4  u32  schema version, 1
//    8  u32  payload length                        8  u64  payload length
//   12  u32  CRC-32C of all but these four bytes  16  32   SHA-256 of the payload
//   16  u64  run: random, one per process life    48       payload
//   24  u64  sequence number within the run
//   32       payload, zeroes up to a multiple of 8

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

enum {
        BATCH_HEADER_SIZE = 32,
        BATCH_VERSION = 1,
        SNAPSHOT_HEADER_SIZE = 48,
        SNAPSHOT_SCHEMA = 1,
};

typedef struct BatchId {
        uint64_t run, seq;
} BatchId;

static inline bool batch_id_equal(BatchId a, BatchId b) {
        return a.run == b.run && a.seq == b.seq;
}

// Bytes of the record of a payload of `len` bytes: always a multiple of 8, since libraft refuses anything
// else after it has already freed the buffer.
size_t batch_record_size(size_t len);
// `ret` has room for batch_record_size(len).
void batch_record_encode(BatchId id, const void *data, size_t len, void *ret);
// *ret_data points into the record. -EBADMSG: damaged. -EPROTONOSUPPORT: written by a newer program.
int batch_record_decode(const void *record, size_t size, BatchId *ret_id, const uint8_t **ret_data,
                        size_t *ret_len);

// The header that stands before a payload of `len` bytes with this digest.
void snapshot_record_seal(uint8_t ret[SNAPSHOT_HEADER_SIZE], uint64_t len, const Hash *digest);
// Same errors as batch_record_decode().
int snapshot_record_open(const void *record, size_t size, const uint8_t **ret_data, size_t *ret_len);
