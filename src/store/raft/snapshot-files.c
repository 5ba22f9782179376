// SPDX-License-Identifier: LGPL-2.1-or-later

// The files of libraft's snapshots (snapshot-files.h): "snapshot-TERM-INDEX-TIMESTAMP" has the state, and
// the same name with ".meta" says which configuration goes with it. Both must be there.
//
//      snapshot_files_newest() -> the name that libraft would choose -> its description is whole
//          -> its index
//
// A description has four words of 64 bits, least byte first: format 1, CRC-32, index and length of the
// configuration; then the configuration. The CRC is of all behind it, with the polynomial 0x04C11DB7, the
// highest bit first, begun with 0. The state has a digest of ours (record.h). Failures: errno; -EBADMSG.

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "macro.h"
#include "snapshot-files.h"

#define META ".meta"

enum { WORD = 8, HEADER_SIZE = 4 * WORD, META_MAX = HEADER_SIZE + 1024 * 1024, FORMAT = 1 };

typedef struct Meta {
        SnapshotName of;
        char name[256];
} Meta;

bool snapshot_is_meta(const char *name, SnapshotName *ret) {
        int end = 0;

        return sscanf(name, "snapshot-%llu-%llu-%llu%n", &ret->term, &ret->index, &ret->stamp, &end) == 3 &&
               streq(name + end, META);
}

// Whether the name is that of a description whose state is there.
static bool parse(int fd, const char *name, Meta *ret) {
        struct stat st;
        char data[sizeof(ret->name)];

        if (!snapshot_is_meta(name, &ret->of))
                return false;
        snprintf(ret->name, sizeof(ret->name), "%s", name);
        snprintf(data, sizeof(data), "%.*s", (int) (strlen(name) - strlen(META)), name);
        return fstatat(fd, data, &st, 0) == 0 && st.st_size > 0;
}

static bool is_newer(const SnapshotName *a, const SnapshotName *b) {
        if (a->term != b->term)
                return a->term > b->term;
        return a->index != b->index ? a->index > b->index : a->stamp > b->stamp;
}

static uint64_t word_at(const Buf *b, size_t i) {
        uint64_t v;

        memcpy(&v, b->data + i * WORD, WORD);
        return le64toh(v);
}

static uint32_t crc32_of(const uint8_t *p, size_t len) {
        uint32_t crc = 0;

        for (size_t i = 0; i < len; i++) {
                crc ^= (uint32_t) p[i] << 24;
                for (int bit = 0; bit < 8; bit++)
                        crc = crc << 1 ^ (crc >> 31 ? 0x04C11DB7 : 0);
        }
        return crc;
}

static bool is_whole(const Buf *b) {
        return b->len > HEADER_SIZE && word_at(b, 0) == FORMAT && word_at(b, 3) == b->len - HEADER_SIZE &&
               (uint32_t) word_at(b, 1) == crc32_of(b->data + 2 * WORD, b->len - 2 * WORD);
}

static int read_meta(int fd, const Meta *meta) {
        _cleanup_buf_ Buf b = {};
        int r = file_read(fd, meta->name, META_MAX, &b);

        if (r == -EFBIG || (r == 0 && !is_whole(&b)))
                return -EBADMSG;
        return r;
}

int snapshot_files_newest(const char *dir, uint64_t *ret_index) {
        DIR *d = opendir(dir);
        Meta newest = {}, meta = {};
        struct dirent *e;
        int r = 0;

        if (!d)
                return -errno;
        while ((e = readdir(d)))
                if (parse(dirfd(d), e->d_name, &meta) && is_newer(&meta.of, &newest.of))
                        newest = meta;
        if (newest.of.index > 0)
                r = read_meta(dirfd(d), &newest);
        closedir(d);
        *ret_index = newest.of.index;
        return r;
}
