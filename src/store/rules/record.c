// SPDX-License-Identifier: LGPL-2.1-or-later

// Records that wrap log entries and snapshots with length and checksum (record.h; guards 1 and 2), as
// libraft accepts bit rot in snapshots.
//
//      batch_record_encode() -> libraft -> batch_record_decode()        CRC-32C
//      snapshot_record_seal() -> libraft -> snapshot_record_open()      SHA-256
//
// Failures: -EBADMSG for damage, -EPROTONOSUPPORT for a newer format. Tests: store/record, store/snapshot.

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "record.h"

enum { BATCH_MAGIC = 0x42594741, SNAPSHOT_MAGIC = 0x53594741 }; // "AGYB", "AGYS"

static void put_u32(uint8_t *p, uint32_t v) {
        v = htole32(v);
        memcpy(p, &v, sizeof(v));
}

static void put_u64(uint8_t *p, uint64_t v) {
        v = htole64(v);
        memcpy(p, &v, sizeof(v));
}

static uint32_t get_u32(const uint8_t *p) {
        uint32_t v;

        memcpy(&v, p, sizeof(v));
        return le32toh(v);
}

static uint64_t get_u64(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        return le64toh(v);
}

size_t batch_record_size(size_t len) {
        return (BATCH_HEADER_SIZE + len + 7) & ~(size_t) 7;
}

static uint32_t batch_crc(const uint8_t *record, size_t len) {
        uint32_t crc = crc32c(0, record, 12);

        return crc32c(crc, record + 16, BATCH_HEADER_SIZE - 16 + len);
}

void batch_record_encode(BatchId id, const void *data, size_t len, void *ret) {
        uint8_t *p = ret;
        size_t size = batch_record_size(len);

        put_u32(p, BATCH_MAGIC);
        put_u32(p + 4, BATCH_VERSION);
        put_u32(p + 8, len);
        put_u64(p + 16, id.run);
        put_u64(p + 24, id.seq);
        memcpy(p + BATCH_HEADER_SIZE, data, len);
        memset(p + BATCH_HEADER_SIZE + len, 0, size - BATCH_HEADER_SIZE - len);
        put_u32(p + 12, batch_crc(p, len));
}

int batch_record_decode(const void *record, size_t size, BatchId *ret_id, const uint8_t **ret_data,
                        size_t *ret_len) {
        const uint8_t *p = record;
        size_t len;

        if (size < BATCH_HEADER_SIZE || get_u32(p) != BATCH_MAGIC)
                return -EBADMSG;
        if (get_u32(p + 4) > BATCH_VERSION)
                return -EPROTONOSUPPORT;
        len = get_u32(p + 8);
        if (size != batch_record_size(len) || get_u32(p + 12) != batch_crc(p, len))
                return -EBADMSG;
        *ret_id = (BatchId){.run = get_u64(p + 16), .seq = get_u64(p + 24)};
        *ret_data = p + BATCH_HEADER_SIZE;
        *ret_len = len;
        return 0;
}

void snapshot_record_seal(uint8_t ret[SNAPSHOT_HEADER_SIZE], uint64_t len, const Hash *digest) {
        put_u32(ret, SNAPSHOT_MAGIC);
        put_u32(ret + 4, SNAPSHOT_SCHEMA);
        put_u64(ret + 8, len);
        memcpy(ret + 16, digest->bytes, HASH_SIZE);
}

int snapshot_record_open(const void *record, size_t size, const uint8_t **ret_data, size_t *ret_len) {
        const uint8_t *p = record;
        Hash digest;

        if (size < SNAPSHOT_HEADER_SIZE || get_u32(p) != SNAPSHOT_MAGIC)
                return -EBADMSG;
        if (get_u32(p + 4) > SNAPSHOT_SCHEMA)
                return -EPROTONOSUPPORT;
        if (get_u32(p + 4) != SNAPSHOT_SCHEMA || get_u64(p + 8) != size - SNAPSHOT_HEADER_SIZE)
                return -EBADMSG;
        digest = hash_of(p + SNAPSHOT_HEADER_SIZE, size - SNAPSHOT_HEADER_SIZE);
        if (memcmp(digest.bytes, p + 16, HASH_SIZE) != 0)
                return -EBADMSG;
        *ret_data = p + SNAPSHOT_HEADER_SIZE;
        *ret_len = size - SNAPSHOT_HEADER_SIZE;
        return 0;
}
