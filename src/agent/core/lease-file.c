// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The lease of this host as guards see it: one page, mapped by the agent, which writes it, and by the
// guards, which read. A file that is not one of ours begins with a lease that is over. Errors are errno;
// without the file the agent does not begin.

#include "lease-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(int fd, LeaseFile **ret) {
        LeaseFile *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (f == MAP_FAILED)
                return -errno;
        *ret = f;
        return 0;
}

int lease_file_open(const char *path, LeaseFile **ret) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;
        struct stat st;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0 || (st.st_size < (off_t) sizeof(**ret) && ftruncate(fd, sizeof(**ret)) < 0))
                r = -errno;
        if (r == 0)
                r = map(fd, ret);
        close(fd);
        if (r < 0)
                return r;
        if (memcmp((*ret)->magic, LEASE_FILE_MAGIC, sizeof((*ret)->magic)) != 0) {
                atomic_store(&(*ret)->until_us, 0);
                memcpy((*ret)->magic, LEASE_FILE_MAGIC, sizeof((*ret)->magic));
        }
        return 0;
}

LeaseFile *lease_file_close(LeaseFile *f) {
        if (f)
                munmap(f, sizeof(*f));
        return NULL;
}
