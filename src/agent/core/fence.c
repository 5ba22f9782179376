// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The file is one disk sector of 512 bytes:
//
//   0  4  CRC-32C (little-endian, as all numbers) of the rest
//   4  4  length of the message
//   8  .. FenceRecord message, then zeros
//
// It is written over in place, which needs no room: a host whose disk is full must still be able to obey,
// above all to stop what it is told to stop. A disk writes a sector whole or not at all, so after a power
// cut it is the old one or the new one. A damaged file is not taken for an empty one: that would let an old
// leader order again.

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "fence.h"
#include "fileio.h"
#include "hash.h"
#include "message-of.h"
#include "str.h"

enum {
        FENCE_FILE_BYTES = 512,
        FENCE_CRC_BYTES = 4,
        FENCE_HEAD_BYTES = 8, // CRC and length
};

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

int fence_compare(const Fence *a, const Fence *b) {
        int c = compare_u64(a->generation, b->generation);

        if (c == 0)
                c = compare_u64(a->term, b->term);
        return c ?: compare_u64(a->index, b->index);
}

static int decode(const Buf *b, Fence *ret) {
        Argosy__FenceRecord *record;
        uint32_t crc, len;

        if (b->len != FENCE_FILE_BYTES)
                return -EBADMSG;
        memcpy(&crc, b->data, sizeof(crc));
        memcpy(&len, b->data + FENCE_CRC_BYTES, sizeof(len));
        len = le32toh(len);
        if (le32toh(crc) != crc32c(0, b->data + FENCE_CRC_BYTES, FENCE_FILE_BYTES - FENCE_CRC_BYTES) ||
            len > FENCE_FILE_BYTES - FENCE_HEAD_BYTES)
                return -EBADMSG;
        record = argosy__fence_record__unpack(NULL, len, b->data + FENCE_HEAD_BYTES);
        if (!record)
                return -EBADMSG;
        *ret = (Fence){.generation = record->generation, .term = record->term, .index = record->index};
        argosy__fence_record__free_unpacked(record, NULL);
        return 0;
}

static void encode(const Fence *f, uint8_t bytes[static FENCE_FILE_BYTES]) {
        uint32_t crc, len;

        memset(bytes, 0, FENCE_FILE_BYTES);
        Argosy__FenceRecord record =
                MESSAGE_OF(fence_record, .generation = f->generation, .term = f->term, .index = f->index);
        len = htole32((uint32_t) argosy__fence_record__pack(&record, bytes + FENCE_HEAD_BYTES));
        memcpy(bytes + FENCE_CRC_BYTES, &len, sizeof(len)); // three integers: at most 33 bytes
        crc = htole32(crc32c(0, bytes + FENCE_CRC_BYTES, FENCE_FILE_BYTES - FENCE_CRC_BYTES));
        memcpy(bytes, &crc, sizeof(crc));
}

int fence_load(const char *state_dir, Fence *ret) {
        _cleanup_free_ char *path = str_printf("%s/fence", state_dir);
        _cleanup_buf_ Buf b = {};
        int r;

        *ret = (Fence){};
        if (!path)
                return -ENOMEM;
        r = file_read(AT_FDCWD, path, FENCE_FILE_BYTES, &b);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        return decode(&b, ret);
}

// -ENOENT: there is no file of the right size to write over.
static int overwrite(const char *path, const uint8_t bytes[static FENCE_FILE_BYTES]) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY), r = 0;
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                r = -errno;
        else if (!S_ISREG(st.st_mode) || st.st_size != FENCE_FILE_BYTES)
                r = -ENOENT;
        else {
                n = pwrite(fd, bytes, FENCE_FILE_BYTES, 0);
                if (n != FENCE_FILE_BYTES)
                        r = n < 0 ? -errno : -EIO;
                else if (fsync(fd) < 0)
                        r = -errno;
        }
        close(fd);
        return r;
}

int fence_save(const char *state_dir, const Fence *f) {
        _cleanup_free_ char *path = str_printf("%s/fence", state_dir);
        uint8_t bytes[FENCE_FILE_BYTES];
        int r;

        if (!path)
                return -ENOMEM;
        encode(f, bytes);
        r = overwrite(path, bytes);
        return r == -ENOENT ? file_replace(AT_FDCWD, path, bytes, sizeof(bytes), 0600, FILE_SYNC) : r;
}
