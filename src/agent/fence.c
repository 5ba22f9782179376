// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file holds one FenceRecord message behind its CRC-32C (4 bytes, little-endian), replaced whole by
// rename: after a power cut it is the old one or the new one. A damaged file is not taken for an empty one:
// that would let an old leader order again.

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "fence.h"
#include "fileio.h"
#include "hash.h"
#include "str.h"

enum { FENCE_FILE_MAX = 256 }; // bytes

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

int fence_compare(const Fence *a, const Fence *b) {
        int c = compare_u64(a->generation, b->generation);

        if (c == 0)
                c = compare_u64(a->term, b->term);
        return c ?: compare_u64(a->index, b->index);
}

int fence_load(const char *state_dir, Fence *ret) {
        _cleanup_free_ char *path = str_printf("%s/fence", state_dir);
        _cleanup_buf_ Buf b = {};
        Argosy__FenceRecord *record;
        uint32_t crc;
        int r;

        *ret = (Fence){};
        if (!path)
                return -ENOMEM;
        r = file_read(AT_FDCWD, path, FENCE_FILE_MAX, &b);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        if (b.len < sizeof(crc))
                return -EBADMSG;
        memcpy(&crc, b.data, sizeof(crc));
        if (le32toh(crc) != crc32c(0, b.data + sizeof(crc), b.len - sizeof(crc)))
                return -EBADMSG;
        record = argosy__fence_record__unpack(NULL, b.len - sizeof(crc), b.data + sizeof(crc));
        if (!record)
                return -EBADMSG;
        *ret = (Fence){.generation = record->generation, .term = record->term, .index = record->index};
        argosy__fence_record__free_unpacked(record, NULL);
        return 0;
}

int fence_save(const char *state_dir, const Fence *f) {
        _cleanup_free_ char *path = str_printf("%s/fence", state_dir);
        Argosy__FenceRecord record = ARGOSY__FENCE_RECORD__INIT;
        uint8_t bytes[FENCE_FILE_MAX];
        uint32_t crc;
        size_t len;

        if (!path)
                return -ENOMEM;
        record.generation = f->generation;
        record.term = f->term;
        record.index = f->index;
        len = argosy__fence_record__pack(&record, bytes + sizeof(crc)); // three integers: at most 33 bytes
        crc = htole32(crc32c(0, bytes + sizeof(crc), len));
        memcpy(bytes, &crc, sizeof(crc));
        return file_replace(AT_FDCWD, path, bytes, sizeof(crc) + len, 0600, FILE_SYNC);
}

int fence_remove(const char *state_dir) {
        _cleanup_free_ char *path = str_printf("%s/fence", state_dir);

        if (!path)
                return -ENOMEM;
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        return dir_sync(AT_FDCWD, state_dir);
}
