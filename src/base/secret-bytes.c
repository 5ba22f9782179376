// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory for secrets: whole pages from the kernel that are locked, left out of cores and wiped on fork and
// when freed. They are not from the heap, where others' data is next to them and nothing can be kept out of
// a core. Failures: -ENOMEM without pages. Locking needs room in RLIMIT_MEMLOCK; without it the bytes may be
// swapped out.

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
        (void) madvise(pages, size, MADV_WIPEONFORK); // a forked child reads zeroes
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
