// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pages straight from the kernel: what the heap hands out again is next to others' data and cannot be kept out of a core. Locking
// needs room in RLIMIT_MEMLOCK; where there is none the bytes are still out of cores and wiped, and may be swapped out.

#include "secret-bytes.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int secret_bytes_new(size_t len, SecretBytes *ret) {
        size_t page = (size_t) sysconf(_SC_PAGESIZE), size = (len + page - 1) / page * page;
        void *pages;

        if (len == 0 || size < len)
                return -ENOMEM;
        pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
                return -ENOMEM;
        (void) mlock(pages, size);
        (void) madvise(pages, size, MADV_DONTDUMP);
        (void) madvise(pages, size, MADV_WIPEONFORK); // a child that looks finds zeroes, and no hole
        *ret = (SecretBytes){.data = pages, .len = len, .size = size};
        return 0;
}

void secret_bytes_done(SecretBytes *s) {
        if (!s->data)
                return;
        explicit_bzero(s->data, s->size);
        (void) munmap(s->data, s->size);
        *s = (SecretBytes){};
}
